//! The options of training by name: the flags of all types of models, and those that byte-level BPE or
//! training like a pipeline has alone, which are known here so that an error can say what they are for.

use std::ffi::CString;

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
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

/// The options of training like a pipeline alone: name, description and default.
const LIKE_OPTIONS: [(&str, &str, &str); 5] = [
    (
        "limit_alphabet",
        "like a tokenizer.json: at most so many characters become tokens, the most frequent ones",
        "",
    ),
    (
        "initial_alphabet",
        "like a tokenizer.json: characters that become tokens although the texts lack them",
        "",
    ),
    (
        "continuing_subword_prefix",
        "like a tokenizer.json: what tokens within words begin with, for example ##",
        "",
    ),
    (
        "end_of_word_suffix",
        "like a tokenizer.json: what tokens at the end of words end with, for example </w>",
        "",
    ),
    (
        "special_ids_first",
        "like a tokenizer.json: number the special tokens from 0, as train_new_from_iterator of transformers does",
        "false",
    ),
];

/// The flags of all types of models that mean the same for trainers with [`OwnOptions`].
const SHARED_OPTIONS: [&str; 6] = [
    "input",
    "input_format",
    "vocab_size",
    "num_threads",
    "json_field",
    "on_bad_record",
];

/// The options of a trainer that refuses most flags.
pub struct OwnOptions {
    /// The trainer, as the subject of a sentence.
    pub trainer: &'static str,
    pub names: &'static [&'static str],
    /// What takes the place of options of other trainers.
    pub remedies: &'static [(&'static str, &'static str)],
}

impl OwnOptions {
    /// The values of the options of the trainer, and the shared ones as flags. Some are both.
    ///
    /// # Errors
    /// `TrainingOptionError`, which names the option and the remedy.
    pub fn divide<'v>(
        &self,
        py: Python<'_>,
        values: impl IntoIterator<Item = &'v (String, String)>,
    ) -> PyResult<(Vec<(&'v str, &'v str)>, TrainFlags)> {
        let mut flags = TrainFlags::default();
        let mut own = Vec::new();
        for (name, value) in values {
            let is_own = self.names.contains(&name.as_str());
            if is_own {
                own.push((name.as_str(), value.as_str()));
            }
            if SHARED_OPTIONS.contains(&name.as_str()) {
                set_flag(py, &mut flags, name, value)?;
            } else if !is_own {
                return Err(self.refusal(py, name));
            }
        }
        Ok((own, flags))
    }

    /// The exception for an option that the trainer does not have.
    pub fn refusal(&self, py: Python<'_>, name: &str) -> PyErr {
        let remedy = self.remedies.iter().find(|(option, _)| *option == name);
        if remedy.is_none() && !is_option(name) {
            let option = name.to_owned();
            return errors::of_option(py, &OptionError::Unknown { option });
        }
        let remedy = remedy.map_or("leave it out", |(_, remedy)| remedy);
        let message = format!("{name}: {} does not have this; {remedy}", self.trainer);
        errors::exception(py, "TrainingOptionError", (message,))
    }
}

/// Whether some trainer has an option.
fn is_option(name: &str) -> bool {
    let flags = TrainFlags::DESCRIPTORS.iter().map(|option| option.name);
    let others = BYTE_LEVEL_OPTIONS.iter().chain(&LIKE_OPTIONS);
    { flags }.any(|option| option == name) || { others }.any(|(option, ..)| *option == name)
}

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
    let OptionError::Unknown { option } = error else {
        return errors::of_option(py, error);
    };
    let is_in = |options: &[(&str, &str, &str)]| options.iter().any(|(name, ..)| name == option);
    let message = if is_in(&BYTE_LEVEL_OPTIONS) {
        format!("{option} is for byte-level BPE; add model_type='byte_bpe'")
    } else if is_in(&LIKE_OPTIONS) {
        format!("{option} is for training like a tokenizer.json; add like='tokenizer.json'")
    } else {
        return errors::of_option(py, error);
    };
    errors::exception(py, "TrainingOptionError", (message,))
}

/// The flags that train a model like another one, and others by name in their place. What cannot be
/// like it is a warning.
pub fn flags_like(
    py: Python<'_>,
    model: &Model,
    values: &[(String, String)],
) -> PyResult<TrainFlags> {
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

/// The options of training: name, description and default; at last those that only byte-level BPE or
/// training like a pipeline has.
#[pyfunction]
pub fn _options() -> Vec<(&'static str, &'static str, String)> {
    let defaults = TrainFlags::default();
    let options = TrainFlags::DESCRIPTORS.iter();
    let default = |name| defaults.get(name).unwrap_or_default();
    let options = options.map(|option| (option.name, option.help, default(option.name)));
    let own = BYTE_LEVEL_OPTIONS.iter().chain(&LIKE_OPTIONS);
    let own = own.map(|(name, help, default)| (*name, *help, (*default).to_owned()));
    options.chain(own).collect()
}
