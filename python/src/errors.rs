//! Errors of the library as Python exceptions.
//!
//! Input: the typed errors of the library. Output: instances of the classes of `spiece/_errors.py`.
//! Those classes derive from the built-in classes that both generations of the reference's package
//! raise: a file that cannot be read is both an `OSError` (0.1.99 to 0.2.1) and a `RuntimeError`
//! (from 0.2.2 on).
//!
//! | error | classes beside `spiece.SpieceError` |
//! |---|---|
//! | a file that is missing or cannot be read or written | `OSError`, `RuntimeError` |
//! | a model that is refused, options that the model cannot satisfy | `RuntimeError` |
//! | an id that the model does not have | `IndexError` |
//! | a wrong value of an option | `ValueError` or `RuntimeError`, as in the reference |

use std::io;
use std::path::Path;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyType;
use spiece::{DecodeError, EncodeError, ModelError, OptionError, TrainError, WriteError};

/// A part of the message for a refused model that transformers searches for.
const REFERENCE_SOURCE: &str = "sentencepiece_processor.cc";

/// An instance of a class of `spiece/_errors.py`.
pub fn exception<A>(py: Python<'_>, class: &str, arguments: A) -> PyErr
where
    A: for<'py> pyo3::call::PyCallArgs<'py>,
{
    let make = || -> PyResult<PyErr> {
        let class = py.import("spiece._errors")?.getattr(class)?;
        let class = class.cast_into::<PyType>()?;
        Ok(PyErr::from_value(class.call1(arguments)?))
    };
    make().unwrap_or_else(|error| error)
}

/// An exception for a file for which the operating system returned `error`.
fn file_error(py: Python<'_>, path: &Path, error: &io::Error, message: String) -> PyErr {
    let class = match error.kind() {
        io::ErrorKind::NotFound => "MissingFileError",
        _ => "FileError",
    };
    let path = path.display().to_string();
    match error.raw_os_error() {
        Some(code) => exception(py, class, (code, message, path)),
        None => exception(py, class, (message,)),
    }
}

/// A model that cannot be loaded.
pub fn of_model(py: Python<'_>, error: &ModelError) -> PyErr {
    match error {
        ModelError::Read { path, source } => file_error(py, path, source, source.to_string()),
        _ => {
            let message = format!("{error} [{REFERENCE_SOURCE}]");
            exception(py, "ModelError", (message,))
        }
    }
}

pub fn of_write(py: Python<'_>, error: &WriteError) -> PyErr {
    file_error(py, &error.path, &error.source, error.to_string())
}

/// Ids that the model does not have.
pub fn of_decode(py: Python<'_>, error: &DecodeError) -> PyErr {
    exception(py, "IdError", (error.to_string(),))
}

/// The exception for an id that the model does not have.
pub fn id_out_of_range(py: Python<'_>, id: i64, pieces: usize) -> PyErr {
    let message = format!(
        "piece id is out of range: the model has no piece with id {id}; it has {pieces} pieces"
    );
    exception(py, "IdError", (message,))
}

pub fn of_encode(py: Python<'_>, error: &EncodeError) -> PyErr {
    let class = match error {
        EncodeError::NoSuchPiece { .. } | EncodeError::NotControl { .. } => "OptionValueError",
        _ => "EncodeError",
    };
    exception(py, class, (error.to_string(),))
}

pub fn of_option(py: Python<'_>, error: &OptionError) -> PyErr {
    exception(py, "TrainingOptionError", (error.to_string(),))
}

pub fn of_train(py: Python<'_>, error: &TrainError) -> PyErr {
    match error {
        TrainError::Read { path, source } => file_error(py, path, source, source.to_string()),
        TrainError::Option(error) => of_option(py, error),
        _ => exception(py, "TrainingError", (error.to_string(),)),
    }
}

/// The exception of calls that need a model.
pub fn not_loaded() -> PyErr {
    PyRuntimeError::new_err(
        "INTERNAL: Model is not initialized. Load one: sp.load(\"some.model\") or sp.load_from_serialized_proto(bytes)",
    )
}
