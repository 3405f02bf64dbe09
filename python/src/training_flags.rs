//! The options of training by name: the flags of all types of models, and those that byte-level BPE
//! has alone, which are known here so that an error can name the type that they are for.

use std::ffi::CString;

use pyo3::exceptions::{PyUserWarning, PyValueError};
use pyo3::prelude::*;
use spiece::formats::FileFormat;
use spiece::train::OptionError;
use spiece::{Model, TrainFlags};

use crate::errors;

/// The options of byte-level BPE alone: name, description and default.
const BYTE_LEVEL_OPTIONS: [(&str, &str, &str); 8] = [
    (
        "pattern",
        "byte_bpe: how text is cut into the parts that no token crosses: a name such as cl100k, an expression, or none",
        "gpt2",
    ),
    (
        "tie_order",
        "byte_bpe: whose tokens and ids: hf (the library tokenizers), rustbpe, minbpe, or greatest (of pairs that occur equally often, the one with the greatest bytes)",
        "hf",
    ),
    (
        "min_frequency",
        "byte_bpe: merge only pairs that occur so often",
        "0",
    ),
    (
        "max_token_length",
        "byte_bpe: tokens have fewer bytes than this; two are always allowed",
        "",
    ),
    (
        "special_tokens",
        "byte_bpe: the special tokens; with the order hf they have the first ids, otherwise the last",
        "",
    ),
    (
        "split_special_tokens",
        "byte_bpe: cut the special tokens out of the texts, so that they are not learned and no token crosses them",
        "false",
    ),
    (
        "required_tokens",
        "byte_bpe: tokens that the vocabulary has whatever the texts; the merges that make them come first",
        "",
    ),
    (
        "forbidden_tokens",
        "byte_bpe: lines 'never_made TOKEN' for tokens that no merge makes, and 'never_merged TOKEN' for those that are never a part of another, with \\n, \\t, \\\\ and \\x20 for bytes",
        "",
    ),
];

/// Sets flags by name.
pub fn set_flags(
    py: Python<'_>,
    flags: &mut TrainFlags,
    values: &[(String, String)],
) -> PyResult<()> {
    for (name, value) in values {
        set_flag(py, flags, name, value)?;
    }
    Ok(())
}

/// Sets one flag by name.
pub fn set_flag(py: Python<'_>, flags: &mut TrainFlags, name: &str, value: &str) -> PyResult<()> {
    flags.set(name, value).map_err(|error| of_set(py, &error))
}

/// The exception for an option that cannot be set.
fn of_set(py: Python<'_>, error: &OptionError) -> PyErr {
    match error {
        OptionError::Unknown { option } if is_of_byte_level(option) => {
            of_byte_level_alone(py, option)
        }
        error => errors::of_option(py, error),
    }
}

/// The flags that train a model like the one of a file with these bytes, and others by name in their
/// place. What cannot be like it is a warning.
pub fn flags_like(
    py: Python<'_>,
    file: &[u8],
    values: &[(String, String)],
) -> PyResult<TrainFlags> {
    let format = FileFormat::of_content(file);
    if format != FileFormat::Model {
        let message = format!(
            "like: a file of the format {format} does not say how it was trained; pass a .model of SentencePiece"
        );
        return Err(PyValueError::new_err(message));
    }
    let model = Model::from_bytes(file).map_err(|error| errors::of_open(py, &error))?;
    let mut record = model.training_like();
    let values = values.iter().map(|(name, value)| (&**name, &**value));
    record
        .set_flags(values)
        .map_err(|error| of_set(py, &error))?;
    for gap in &record.gaps {
        let message = CString::new(gap.to_string())?;
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, 3)?;
    }
    Ok(record.flags)
}

fn is_of_byte_level(name: &str) -> bool {
    BYTE_LEVEL_OPTIONS
        .iter()
        .any(|(option, ..)| *option == name)
}

/// The exception for an option that only byte-level BPE has.
fn of_byte_level_alone(py: Python<'_>, name: &str) -> PyErr {
    let message = format!("{name} is for byte-level BPE; add model_type='byte_bpe'");
    errors::exception(py, "TrainingOptionError", (message,))
}

/// The options of training: name, description and default; at last those of byte-level BPE alone.
#[pyfunction]
pub fn _options() -> Vec<(&'static str, &'static str, String)> {
    let defaults = TrainFlags::default();
    let options = TrainFlags::DESCRIPTORS.iter();
    let default = |name| defaults.get(name).unwrap_or_default();
    let options = options.map(|option| (option.name, option.help, default(option.name)));
    let own = BYTE_LEVEL_OPTIONS.iter();
    let own = own.map(|(name, help, default)| (*name, *help, (*default).to_owned()));
    options.chain(own).collect()
}
