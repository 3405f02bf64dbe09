//! Truncation, template and padding of ids: the settings of a `tokenizer.json`, and other ones.
//!
//! In Python, settings are dicts with the keys that the library tokenizers gives them, so that those of
//! one library can be passed to the other. A key that is left out has the default of tokenizers, but
//! for `pad_id`: 0 is seldom the id of padding.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMapping, PyString};
use spiece::pipeline::{FinishedText, Padding, Side, Truncation, TruncationStrategy};

use super::PyTokenizer;
use super::ragged::ragged_numbers;
use crate::arguments::to_int_in;
use crate::errors;
use crate::text::type_name;

/// The longest text that padding makes. A file can name any length, and memory is limited.
const MAX_LENGTH: usize = 1 << 24;

const SIDES: [(&str, Side); 2] = [("right", Side::Right), ("left", Side::Left)];
const STRATEGIES: [(&str, TruncationStrategy); 3] = [
    ("longest_first", TruncationStrategy::LongestFirst),
    ("only_first", TruncationStrategy::OnlyFirst),
    ("only_second", TruncationStrategy::OnlySecond),
];

/// The word for a value.
fn word_of<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> Option<&'static str> {
    let found = words.iter().find(|(_, known)| known == value);
    found.map(|(word, _)| *word)
}

pub fn truncation_dict<'py>(
    py: Python<'py>,
    truncation: &Truncation,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("max_length", truncation.max_length)?;
    dict.set_item("stride", truncation.stride)?;
    dict.set_item("strategy", word_of(&STRATEGIES, &truncation.strategy))?;
    dict.set_item("direction", word_of(&SIDES, &truncation.direction))?;
    Ok(dict)
}

pub fn padding_dict<'py>(py: Python<'py>, padding: &Padding) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("length", padding.fixed_length)?;
    dict.set_item("pad_to_multiple_of", padding.pad_to_multiple_of)?;
    dict.set_item("pad_id", padding.pad_id)?;
    dict.set_item("pad_token", &padding.pad_token)?;
    dict.set_item("pad_type_id", padding.pad_type_id)?;
    dict.set_item("direction", word_of(&SIDES, &padding.direction))?;
    Ok(dict)
}

/// Settings as they are given: the argument `name`.
struct Given<'a, 'py> {
    name: &'static str,
    settings: &'a Bound<'py, PyMapping>,
}

impl<'a, 'py> Given<'a, 'py> {
    /// Settings with no other keys than these.
    fn new(name: &'static str, given: &'a Bound<'py, PyAny>, keys: &[&str]) -> PyResult<Self> {
        let Ok(settings) = given.cast::<PyMapping>() else {
            return Err(PyTypeError::new_err(format!(
                "{name}: expected a dict, \"file\" or None, not {}",
                type_name(given)
            )));
        };
        for key in settings.keys()?.iter() {
            let known = key.cast::<PyString>().ok();
            if !known.is_some_and(|key| keys.iter().any(|known| key == *known)) {
                let message = format!(
                    "there is no setting {}; use {}",
                    key.repr()?,
                    keys.join(", ")
                );
                return Err(refused(given.py(), name, &message));
            }
        }
        Ok(Self { name, settings })
    }

    /// The value of a key, unless it is left out or None.
    fn get(&self, key: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        if !self.settings.contains(key)? {
            return Ok(None);
        }
        let value = self.settings.get_item(key)?;
        Ok((!value.is_none()).then_some(value))
    }

    fn length(&self, key: &str) -> PyResult<Option<usize>> {
        let place = format!("{}[{key:?}]", self.name);
        let value = self.get(key)?;
        let length = value.map(|value| to_int_in(&place, &value, (0, usize::MAX)));
        length.transpose()
    }

    fn id(&self, key: &str) -> PyResult<Option<u32>> {
        let place = format!("{}[{key:?}]", self.name);
        let value = self.get(key)?;
        let id = value.map(|value| to_int_in(&place, &value, (0, u32::MAX)));
        id.transpose()
    }

    /// What a word stands for; the first one is the default.
    fn word<T: Copy>(&self, key: &str, words: &[(&'static str, T)]) -> PyResult<T> {
        let Some(value) = self.get(key)? else {
            return Ok(words[0].1);
        };
        let given = value.cast::<PyString>().ok();
        let found = words
            .iter()
            .find(|(word, _)| given.is_some_and(|given| given == *word));
        found.map(|(_, value)| *value).ok_or_else(|| {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let message = format!("{key} is none of {}", known.join(", "));
            refused(value.py(), self.name, &message)
        })
    }

    fn missing(&self, key: &str) -> PyErr {
        refused(self.settings.py(), self.name, &format!("{key} is missing"))
    }
}

fn refused(py: Python<'_>, name: &str, message: &str) -> PyErr {
    errors::exception(py, "OptionValueError", (format!("{name}: {message}"),))
}

fn given_truncation(given: &Bound<'_, PyAny>) -> PyResult<Truncation> {
    let keys = ["max_length", "stride", "strategy", "direction"];
    let given = Given::new("truncation", given, &keys)?;
    Ok(Truncation {
        max_length: given
            .length("max_length")?
            .ok_or_else(|| given.missing("max_length"))?,
        stride: given.length("stride")?.unwrap_or(0),
        strategy: given.word("strategy", &STRATEGIES)?,
        direction: given.word("direction", &SIDES)?,
    })
}

fn given_padding(given: &Bound<'_, PyAny>) -> PyResult<Padding> {
    let keys = [
        "length",
        "pad_to_multiple_of",
        "pad_id",
        "pad_token",
        "pad_type_id",
        "direction",
    ];
    let given = Given::new("padding", given, &keys)?;
    Ok(Padding {
        fixed_length: given.length("length")?,
        pad_to_multiple_of: given.length("pad_to_multiple_of")?,
        pad_id: given.id("pad_id")?.ok_or_else(|| given.missing("pad_id"))?,
        // No result has the text of padding.
        pad_token: String::new(),
        pad_type_id: given.id("pad_type_id")?.unwrap_or(0),
        direction: given.word("direction", &SIDES)?,
    })
}

/// The settings that an argument names: those of the file for `"file"`, none for `None`, or its own.
fn chosen<T: Clone>(
    given: &Bound<'_, PyAny>,
    of_file: Option<&T>,
    read: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
) -> PyResult<Option<T>> {
    if given.is_none() {
        return Ok(None);
    }
    match given.cast::<PyString>() {
        Ok(word) if word == "file" => Ok(of_file.cloned()),
        _ => read(given).map(Some),
    }
}

/// The ids of a text, their types, the attention mask, and the parts of the overflow.
type Finished<'py> = (
    Bound<'py, PyList>,
    Bound<'py, PyList>,
    Bound<'py, PyList>,
    Bound<'py, PyList>,
);

fn finished<'py>(py: Python<'py>, text: &FinishedText) -> PyResult<Finished<'py>> {
    let mask = (0..text.ids.len()).map(|at| u8::from(text.unpadded.contains(&at)));
    let overflow = text.overflow.iter().map(|part| finished(py, part));
    Ok((
        PyList::new(py, text.ids.iter().map(|id| id.get()))?,
        PyList::new(py, &text.type_ids)?,
        PyList::new(py, mask)?,
        PyList::new(py, overflow.collect::<PyResult<Vec<_>>>()?)?,
    ))
}

impl PyTokenizer {
    /// How the file says that long texts are cut.
    pub(super) fn truncation_of_file<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let pipeline = self.loaded.tokenizer.pipeline();
        let truncation = pipeline.and_then(|pipeline| pipeline.truncation());
        truncation
            .map(|truncation| truncation_dict(py, truncation))
            .transpose()
    }

    /// How the file says that short texts are filled up.
    pub(super) fn padding_of_file<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let pipeline = self.loaded.tokenizer.pipeline();
        let padding = pipeline.and_then(|pipeline| pipeline.padding());
        padding.map(|padding| padding_dict(py, padding)).transpose()
    }

    /// The ids of texts, cut, in the template and filled up.
    pub(super) fn finish<'py>(
        &self,
        batch: &Bound<'py, PyAny>,
        adds_special: bool,
        truncation: &Bound<'py, PyAny>,
        padding: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = batch.py();
        let Some(pipeline) = self.loaded.tokenizer.pipeline() else {
            let message = "post_process: a .model file has no template; open a tokenizer.json, or encode with \
                 add_bos and add_eos";
            return Err(errors::exception(py, "ModelError", (message,)));
        };
        let truncation = chosen(truncation, pipeline.truncation(), given_truncation)?;
        let padding = chosen(padding, pipeline.padding(), given_padding)?;
        if let Some(padding) = &padding {
            let length = padding.fixed_length.max(padding.pad_to_multiple_of);
            if length.is_some_and(|length| length > MAX_LENGTH) {
                let message = format!("texts are not filled up to more than {MAX_LENGTH} ids");
                return Err(refused(py, "padding", &message));
            }
        }
        let ragged = ragged_numbers(batch, self.loaded.tokenizer.vocab_size())?;
        let (ids, offsets) = self.checked_batch(py, ragged)?;
        let texts = offsets
            .windows(2)
            .map(|range| ids[range[0]..range[1]].to_vec());
        let texts: Vec<Vec<_>> = texts.collect();
        let texts = py
            .detach(|| pipeline.finish(texts, adds_special, truncation.as_ref(), padding.as_ref()));
        let texts = texts.map_err(|error| errors::of_truncation(py, &error))?;
        let texts = texts.iter().map(|text| finished(py, text));
        PyList::new(py, texts.collect::<PyResult<Vec<_>>>()?)
    }
}
