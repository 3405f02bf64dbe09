//! Errors of the library as Python exceptions: instances of the classes of `spiece/_errors.py`.
//! Those classes derive from the built-in classes that both generations of the reference's package
//! raise: a file that cannot be read is both an `OSError` (0.1.99 to 0.2.1) and a `RuntimeError`
//! (from 0.2.2 on).
//!
//! | error | classes beside `spiece.SpieceError` |
//! |---|---|
//! | a file that is missing or cannot be read or written | `OSError` and its subclass for the error, `RuntimeError` |
//! | a model that is refused, options that the model cannot satisfy | `RuntimeError` |
//! | an id that the model does not have | `IndexError` |
//! | a wrong value of an option | `ValueError` or `RuntimeError`, as in the reference |

use std::fmt::Display;
use std::io;
use std::path::Path;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use spiece::adapt::{EditError, ExtendError, MergeError, PruneError};
use spiece::model::OtherContent;
use spiece::output::WriteError;
use spiece::pipeline::TruncationError;
use spiece::train::OptionError;
use spiece::{DecodeError, EncodeError, ModelError, OpenError, TrainError, TrainFlags};

/// A part of the message for a refused model that transformers searches for.
const REFERENCE_SOURCE: &str = "sentencepiece_processor.cc";

/// What a class or function of `spiece/_errors.py` makes.
pub fn exception<A>(py: Python<'_>, class: &str, arguments: A) -> PyErr
where
    A: for<'py> pyo3::call::PyCallArgs<'py>,
{
    let make = || -> PyResult<PyErr> {
        let class = py.import("spiece._errors")?.getattr(class)?;
        Ok(PyErr::from_value(class.call1(arguments)?))
    };
    make().unwrap_or_else(|error| error)
}

/// The exception for a file for which the operating system, or a decompressor, returned `error`;
/// `message` says what is wrong if there is no code of the operating system.
fn file_error(py: Python<'_>, path: &Path, error: &io::Error, message: String) -> PyErr {
    let make = || -> PyResult<PyErr> {
        let make = py.import("spiece._errors")?.getattr("file_error")?;
        let code = match error.raw_os_error() {
            Some(code) => code,
            None => {
                // The library has noticed it before the operating system, or an error of a temporary
                // file has the kind alone.
                let name = match error.kind() {
                    io::ErrorKind::IsADirectory => "EISDIR",
                    io::ErrorKind::NotADirectory => "ENOTDIR",
                    io::ErrorKind::NotFound => "ENOENT",
                    io::ErrorKind::PermissionDenied => "EACCES",
                    _ => return Ok(PyErr::from_value(make.call1((message,))?)),
                };
                py.import("errno")?.getattr(name)?.extract()?
            }
        };
        let path = path.as_os_str();
        // Windows has codes of its own, from which Python computes `errno`.
        let error = if cfg!(windows) && error.raw_os_error().is_some() {
            make.call1((0, error.to_string(), path, code))?
        } else {
            let text = py.import("os")?.call_method1("strerror", (code,))?;
            make.call1((code, text, path))?
        };
        Ok(PyErr::from_value(error))
    };
    make().unwrap_or_else(|error| error)
}

/// A file that cannot be opened.
pub fn of_open(py: Python<'_>, error: &OpenError) -> PyErr {
    match (error, error.without_path()) {
        (OpenError::Read { path, source }, _) => file_error(py, path, source, error.to_string()),
        (
            OpenError::InFile { path, .. },
            OpenError::NotATokenizer {
                content: OtherContent::Folder { .. },
            },
        ) => {
            let cause = io::ErrorKind::IsADirectory.into();
            file_error(py, path, &cause, error.to_string())
        }
        // The reference does not read such a file.
        (_, OpenError::Format(_)) => refused(py, error),
        _ => refused_by_reference(py, error),
    }
}

/// A model that is refused.
pub fn of_model(py: Python<'_>, error: &ModelError) -> PyErr {
    refused_by_reference(py, error)
}

fn refused_by_reference(py: Python<'_>, error: &dyn std::error::Error) -> PyErr {
    let message = format!("{error} [{REFERENCE_SOURCE}]");
    exception(py, "ModelError", (message,))
}

pub fn of_write(py: Python<'_>, error: &WriteError) -> PyErr {
    file_error(py, &error.path, &error.source, error.to_string())
}

/// Ids that the model does not have.
pub fn of_decode(py: Python<'_>, error: &DecodeError) -> PyErr {
    exception(py, "IdError", (error.to_string(),))
}

/// The exception for an id that the model does not have, of the drop-in.
pub fn id_out_of_range(py: Python<'_>, id: impl Display, pieces: usize) -> PyErr {
    no_piece(py, "piece id is out of range: ", id, pieces)
}

/// The exception for an id that the model does not have; `place` says where it was given.
pub fn no_piece(py: Python<'_>, place: &str, id: impl Display, pieces: usize) -> PyErr {
    let message = format!("{place}the model has no piece with id {id}; it has {pieces} pieces");
    exception(py, "IdError", (message,))
}

pub fn of_encode(py: Python<'_>, error: &EncodeError) -> PyErr {
    let class = match error {
        EncodeError::NoSuchPiece { .. } | EncodeError::NotControl { .. } => "OptionValueError",
        _ => "EncodeError",
    };
    exception(py, class, (error.to_string(),))
}

pub fn of_truncation(py: Python<'_>, error: &TruncationError) -> PyErr {
    let message = match error {
        TruncationError::NoSecondText => {
            "truncation: strategy is only_second, and there is one text; use longest_first"
                .to_owned()
        }
        _ => error.to_string(),
    };
    exception(py, "OptionValueError", (message,))
}

pub fn of_option(py: Python<'_>, error: &OptionError) -> PyErr {
    let OptionError::Unknown { option } = error else {
        return exception(py, "TrainingOptionError", (error.to_string(),));
    };
    let names = TrainFlags::DESCRIPTORS.iter().map(|option| option.name);
    let names: Vec<&str> = names.collect();
    exception(py, "unknown_option", (option, names))
}

pub fn of_train(py: Python<'_>, error: &TrainError) -> PyErr {
    match error {
        TrainError::Read { path, source } => file_error(py, path, source, error.to_string()),
        TrainError::Option(error) => of_option(py, error),
        _ => exception(py, "TrainingError", (error.to_string(),)),
    }
}

pub fn of_edit(py: Python<'_>, error: &EditError) -> PyErr {
    match error {
        EditError::NoSuchPiece { piece } => {
            let message = format!(
                "there is no piece {piece:?}; Model.pieces() lists all pieces with their texts"
            );
            exception(py, "ModelError", (message,))
        }
        _ => refused(py, error),
    }
}

pub fn of_extend(py: Python<'_>, error: &ExtendError) -> PyErr {
    let message = match error {
        ExtendError::Train(error) => return of_train(py, error),
        ExtendError::Type { model_type } => format!(
            "a {model_type} model cannot be extended by continued training; BPE models can. \
             Model.edit(('add', text, kind)) adds single pieces"
        ),
        ExtendError::PartOfCharacter { id, piece } => format!(
            "the user-defined symbol {id} {piece:?} is not UTF-8 and can be a part of characters, \
             which then cannot be learned; remove it with Model.edit()"
        ),
        ExtendError::PieceExists { piece, kind } => {
            format!(
                "special_tokens: there is a piece {piece:?} already, of the kind {kind}; leave it out"
            )
        }
        ExtendError::NotReusable { id, piece } => format!(
            "reuse: the id {id} of {piece:?} cannot be reused; only those of control, unused and \
             user-defined pieces that are not the unknown, bos, eos or pad piece can"
        ),
        ExtendError::NotSpecial { id } => {
            format!(
                "reuse: no special token has the id {id}; Tokenizer.special_tokens has their ids"
            )
        }
        _ => return refused(py, error),
    };
    exception(py, "ModelError", (message,))
}

pub fn of_merge(py: Python<'_>, error: &MergeError) -> PyErr {
    let difference = match error {
        MergeError::Normalizer => {
            "the models normalize text differently (rules, dummy prefix or whitespace)"
        }
        MergeError::Pretokens => {
            "the vocabularies cut text differently (pattern, normalization or space before the text)"
        }
        _ => return refused(py, error),
    };
    let message = format!(
        "{difference}, so that pieces of the second may never match; allow_other_normalizer=True \
         keeps what the first does all the same"
    );
    exception(py, "ModelError", (message,))
}

pub fn of_prune(py: Python<'_>, error: &PruneError) -> PyErr {
    let PruneError::TooSmall {
        size,
        smallest,
        keeps_chars,
    } = error
    else {
        return refused(py, error);
    };
    let remedy = match keeps_chars {
        true => ", or pass keep_chars=False to allow that pieces of one character are removed",
        false => "",
    };
    let message =
        format!("size {size} is too small; {smallest} pieces cannot be removed. Raise it{remedy}");
    exception(py, "ModelError", (message,))
}

/// An error of a change of a model, which names the piece or option.
pub fn refused(py: Python<'_>, error: &dyn std::error::Error) -> PyErr {
    exception(py, "ModelError", (error.to_string(),))
}

/// The exception of calls that need a model.
pub fn not_loaded() -> PyErr {
    PyRuntimeError::new_err(
        "INTERNAL: Model is not initialized. Load one: sp.load(\"some.model\") or sp.load_from_serialized_proto(bytes)",
    )
}
