//! The options of training by name: the flags of all types of models, and those that byte-level BPE
//! has alone, which are known here so that an error can name the type that they are for.

use pyo3::prelude::*;
use spiece::TrainFlags;
use spiece::train::OptionError;

use crate::errors;

/// The options of byte-level BPE alone: name, description and default.
const BYTE_LEVEL_OPTIONS: [(&str, &str, &str); 6] = [
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
    flags.set(name, value).map_err(|error| match error {
        OptionError::Unknown { .. } if is_of_byte_level(name) => of_byte_level_alone(py, name),
        error => errors::of_option(py, &error),
    })
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
