//! Texts that are given in parts: segments with their own special tokens, and text that is appended.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use spiece::{AppendingEncoder, EncodeOptions, PieceId, PreparedOptions, TextSegment};

use super::PyTokenizer;
use crate::errors;
use crate::loaded::{Loaded, detached_if, is_long};
use crate::text::{Text, iterable_items, type_name};
use std::sync::Arc;

/// Encodes a text that grows at its end. After each `push`, the ids are those of the whole text.
#[pyclass(module = "spiece", name = "EncodeStream")]
pub struct EncodeStream {
    pub(super) encoder: AppendingEncoder,
    pub(super) loaded: Arc<Loaded>,
}

#[pymethods]
impl EncodeStream {
    /// Appends text. Returns how many of the ids before stay, and the ids after them.
    fn push<'py>(&mut self, text: &Bound<'py, PyAny>) -> PyResult<(usize, Bound<'py, PyList>)> {
        let py = text.py();
        let text = Text::of(text)?.bytes;
        let encoder = &mut self.encoder;
        let appended = detached_if(py, is_long(text), || {
            let appended = encoder.push(text)?;
            Ok((appended.kept, appended.new.to_vec()))
        });
        let (kept, new) = appended.map_err(|error| errors::of_encode(py, &error))?;
        Ok((kept, self.loaded.list(py, &new)?))
    }

    /// The ids of the text so far.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.loaded.list(py, self.encoder.ids())
    }

    /// Begins another text.
    fn clear(&mut self) {
        self.encoder.clear();
    }

    fn __len__(&self) -> usize {
        self.encoder.ids().len()
    }

    fn __repr__(&self) -> String {
        format!("<spiece.EncodeStream: {} ids>", self.encoder.ids().len())
    }
}

/// A segment as it is given: its text, and the options of what is found in it.
struct GivenSegment<'py> {
    text: Bound<'py, PyAny>,
    options: EncodeOptions,
}

impl<'py> GivenSegment<'py> {
    fn new(tokenizer: &PyTokenizer, item: &Bound<'py, PyAny>, refuses: bool) -> PyResult<Self> {
        let tuple = item.cast::<PyTuple>().ok();
        let tuple = tuple.filter(|tuple| matches!(tuple.len(), 2 | 3));
        let Some(tuple) = tuple else {
            return Err(PyTypeError::new_err(format!(
                "segments: expected tuples (text, allowed_special) or (text, allowed_special, \
                 user_defined_symbols), not {}",
                type_name(item)
            )));
        };
        let allowed = tuple.get_item(1)?;
        let allowed = (!allowed.is_none()).then_some(&allowed);
        let finds_symbols = match tuple.get_item(2) {
            Ok(finds_symbols) => finds_symbols.is_truthy()?,
            Err(_) => true,
        };
        Ok(Self {
            text: tuple.get_item(0)?,
            options: tokenizer.options((false, false), (allowed, refuses), finds_symbols)?,
        })
    }
}

impl PyTokenizer {
    /// The ids of segments.
    pub(super) fn segment_ids(
        &self,
        segments: &Bound<'_, PyAny>,
        options: EncodeOptions,
        refuses: bool,
    ) -> PyResult<Vec<PieceId>> {
        let py = segments.py();
        let items = iterable_items(segments, "segments")?;
        let given = items
            .iter()
            .map(|item| GivenSegment::new(self, &item, refuses));
        let given: Vec<GivenSegment<'_>> = given.collect::<PyResult<_>>()?;
        // Few choices are made for many segments.
        let mut choices: Vec<PreparedOptions> = Vec::new();
        let mut numbers = Vec::with_capacity(given.len());
        for segment in &given {
            let known = choices
                .iter()
                .position(|it| *it.options() == segment.options);
            numbers.push(known.unwrap_or(choices.len()));
            if known.is_none() {
                let prepared = self.loaded.tokenizer.prepare_options(&segment.options);
                choices.push(prepared.map_err(|error| errors::of_encode(py, &error))?);
            }
        }
        let mut texts = Vec::with_capacity(given.len());
        for (segment, number) in given.iter().zip(numbers) {
            let text = Text::of(&segment.text)?.bytes;
            texts.push(TextSegment::new(text, &choices[number]));
        }
        let encoded = py.detach(|| {
            let mut encoder = self.loaded.tokenizer.encoder_with(&options)?;
            encoder.encode_segments(&texts).map(<[PieceId]>::to_vec)
        });
        encoded.map_err(|error| errors::of_encode(py, &error))
    }
}
