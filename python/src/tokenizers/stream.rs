//! `DecodeStream`: the text of ids that come one after another.
//!
//! As in tokenizers, the text of the ids at hand is made with those of the last text before them, so that steps of a decoder
//! see what they depend on; a text that ends with U+FFFD waits for more ids.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::state::exception;
use super::tokenizer::TokenizerCore;

/// Gives the text of ids as they come.
#[pyclass(module = "spiece.tokenizers.decoders", name = "DecodeStream")]
#[derive(Clone)]
pub struct PyDecodeStream {
    skip_special_tokens: bool,
    /// Those of the text before, and those whose text is not given yet.
    ids: Vec<u32>,
    /// The text of the former.
    prefix: String,
    /// Their number.
    prefix_length: usize,
}

#[pymethods]
impl PyDecodeStream {
    #[new]
    #[pyo3(signature = (ids = None, skip_special_tokens = false))]
    fn new(ids: Option<Vec<u32>>, skip_special_tokens: Option<bool>) -> PyDecodeStream {
        PyDecodeStream {
            skip_special_tokens: skip_special_tokens.unwrap_or(false),
            ids: ids.unwrap_or_default(),
            prefix: String::new(),
            prefix_length: 0,
        }
    }

    /// The text that the next id, or some, add; None if it is not certain yet.
    fn step(
        &mut self,
        tokenizer: &Bound<'_, TokenizerCore>,
        id: &Bound<'_, PyAny>,
    ) -> PyResult<Option<String>> {
        let next: Vec<u32> = match id.extract::<u32>() {
            Ok(id) => vec![id],
            Err(_) => id.extract().map_err(|_| {
                PyTypeError::new_err("StreamInput must be either an integer or a list of integers")
            })?,
        };
        let state = tokenizer.get().state(id.py())?;
        let decode = |ids: &[u32]| state.engine.decode(ids, self.skip_special_tokens);
        if self.prefix.is_empty() && !self.ids.is_empty() {
            let prefix = decode(&self.ids)?;
            if !prefix.ends_with('\u{FFFD}') {
                self.prefix = prefix;
                self.prefix_length = self.ids.len();
            }
        }
        self.ids.extend(next);
        let text = decode(&self.ids)?;
        if text.len() <= self.prefix.len() || text.ends_with('\u{FFFD}') {
            return Ok(None);
        }
        let Some(new) = text.strip_prefix(&self.prefix) else {
            let last = self.ids.last().copied().unwrap_or_default();
            return Err(exception(format!(
                "Invalid prefix encountered while decoding stream. Token ID: {last}, Expected prefix: '{}', Actual string: '{text}'",
                self.prefix
            )));
        };
        let new = new.to_owned();
        let length = self.ids.len() - self.prefix_length;
        self.ids.drain(..self.prefix_length);
        self.prefix = state.engine.decode(&self.ids, self.skip_special_tokens)?;
        self.prefix_length = length;
        Ok(Some(new))
    }

    fn __copy__(&self) -> PyDecodeStream {
        self.clone()
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyDict>) -> PyDecodeStream {
        self.clone()
    }
}
