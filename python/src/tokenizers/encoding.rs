//! `Encoding`: a result as a program sees it.

use std::sync::Arc;

use pyo3::exceptions::{PyDeprecationWarning, PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use spiece::pipeline::{Layout, PaddingToken, PieceContent, Side};

use super::columns::{
    Encoded, attention_mask, last_end, push_ids, require_details, spans_of, special_tokens_mask,
    texts, type_ids, words,
};
use super::saved::SavedEncoding;
use super::settings::{ignored_keyword, side_of};
use super::state::exception;
use crate::buffer::list_of;
use crate::spans;

/// The tokens of one text or two, with everything that is known about them.
#[pyclass(module = "spiece.tokenizers", name = "Encoding", dict)]
pub struct PyEncoding {
    pub layout: Encoded,
}

impl From<Encoded> for PyEncoding {
    fn from(layout: Encoded) -> Self {
        Self { layout }
    }
}

/// The tokens of a word: the first of them, and the one after the last.
fn tokens_of_word(
    layout: &Encoded,
    word: u32,
    sequence: usize,
) -> PyResult<Option<(usize, usize)>> {
    let range = layout.tokens_of(sequence);
    let words = words(layout)?;
    let Some(within) = words.get(range.clone()) else {
        return Ok(None);
    };
    // The search ends at the first token of a later word.
    let searched = within.iter().take_while(|it| **it <= Some(word));
    let mut found = searched
        .enumerate()
        .filter(|(_, it)| **it == Some(word))
        .map(|(number, _)| range.start + number);
    let Some(first) = found.next() else {
        return Ok(None);
    };
    Ok(Some((first, found.last().unwrap_or(first) + 1)))
}

fn token_of_place(layout: &Encoded, place: usize, sequence: usize) -> PyResult<Option<usize>> {
    let range = layout.tokens_of(sequence);
    let spans = spans_of(layout)?;
    let Some(within) = spans.get(range.clone()) else {
        return Ok(None);
    };
    let found = within
        .iter()
        .position(|(begin, end)| (*begin..*end).contains(&place));
    Ok(found.map(|number| range.start + number))
}

#[pymethods]
impl PyEncoding {
    #[new]
    fn new() -> PyEncoding {
        Layout::default().into()
    }

    fn __getstate__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let saved = SavedEncoding::new(&self.layout)?;
        let json = serde_json::to_vec(&saved).map_err(exception)?;
        Ok(PyBytes::new(py, &json))
    }

    fn __setstate__(&mut self, state: &Bound<'_, PyBytes>) -> PyResult<()> {
        let failed = |problem: String| {
            PyException::new_err(format!(
                "Error while attempting to unpickle Encoding: {problem}"
            ))
        };
        let saved = serde_json::from_slice::<SavedEncoding<'_>>(state.as_bytes());
        let saved = saved.map_err(|error| failed(error.to_string()))?;
        self.layout = saved.into_layout().map_err(failed)?;
        Ok(())
    }

    fn __repr__(&self) -> String {
        format!(
            "Encoding(num_tokens={}, attributes=[ids, type_ids, tokens, offsets, attention_mask, \
             special_tokens_mask, overflowing])",
            self.layout.len()
        )
    }

    fn __len__(&self) -> usize {
        self.layout.len()
    }

    /// Encodings one after another; their spans go on from each other unless growing_offsets is False.
    #[staticmethod]
    #[pyo3(signature = (encodings, growing_offsets = true))]
    fn merge(encodings: Vec<PyRef<'_, PyEncoding>>, growing_offsets: bool) -> PyResult<PyEncoding> {
        let mut merged = Layout::default();
        for encoding in &encodings {
            if growing_offsets {
                require_details(&encoding.layout)?;
            }
            let shift = |left: &Encoded| match growing_offsets {
                true => last_end(left).unwrap_or_default(),
                false => 0,
            };
            merged.merge(encoding.layout.clone(), &shift);
        }
        Ok(merged.into())
    }

    /// The number of sequences.
    #[getter]
    fn n_sequences(&self) -> usize {
        self.layout.sequence_count()
    }

    /// Says that all tokens belong to a sequence.
    fn set_sequence_id(&mut self, sequence_id: usize) {
        self.layout.set_sequence(sequence_id);
    }

    /// The ids of the tokens.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let mut ids = Vec::with_capacity(self.layout.len());
        let mut engine = None;
        for piece in self.layout.pieces() {
            push_ids(piece, &mut ids);
            if let PieceContent::Tokens { source, .. } = &piece.content {
                engine = engine.or(source.engine());
            }
        }
        if let Some(engine) = engine {
            let ints = engine.loaded.ints(py);
            let indexes = ids.iter().map(|id| *id as usize);
            if indexes.clone().all(|index| index < ints.len()) {
                return list_of(py, ints, indexes);
            }
        }
        PyList::new(py, ids)
    }

    /// The texts of the tokens.
    #[getter]
    fn tokens(&self) -> PyResult<Vec<&str>> {
        texts(&self.layout)
    }

    /// The word of each token; deprecated, see word_ids.
    #[getter]
    fn words(&self, py: Python<'_>) -> PyResult<Vec<Option<u32>>> {
        let category = py.get_type::<PyDeprecationWarning>();
        let message =
            c"Deprecated in 0.9.4: Encoding.words is deprecated, please use Encoding.word_ids instead.";
        PyErr::warn(py, &category, message, 0)?;
        self.word_ids()
    }

    /// The word of each token.
    #[getter]
    fn word_ids(&self) -> PyResult<Vec<Option<u32>>> {
        words(&self.layout)
    }

    /// The sequence of each token.
    #[getter]
    fn sequence_ids(&self) -> Vec<Option<usize>> {
        let mut column = vec![None; self.layout.len()];
        for sequence in 0..self.layout.sequence_count() {
            let tokens = self.layout.tokens_of(sequence);
            if let Some(tokens) = column.get_mut(tokens) {
                tokens.fill(Some(sequence));
            }
        }
        column
    }

    /// The type of each token.
    #[getter]
    fn type_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        type_ids(&self.layout).list(py)
    }

    /// The span of each token in its text.
    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let spans = spans_of(&self.layout)?;
        let tuples = spans
            .into_iter()
            .map(|(begin, end)| spans::tuple(py, begin, end));
        PyList::new(py, tuples.collect::<PyResult<Vec<_>>>()?)
    }

    /// 1 for each token that is no text.
    #[getter]
    fn special_tokens_mask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        special_tokens_mask(&self.layout).list(py)
    }

    /// 1 for each token that is no padding.
    #[getter]
    fn attention_mask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        attention_mask(&self.layout).list(py)
    }

    /// What was cut off.
    #[getter]
    fn overflowing(&self) -> Vec<PyEncoding> {
        let parts = self.layout.overflow().iter();
        parts.map(|part| part.clone().into()).collect()
    }

    /// The tokens of a word: the first of them, and the one after the last.
    #[pyo3(signature = (word_index, sequence_index = 0))]
    fn word_to_tokens(
        &self,
        word_index: u32,
        sequence_index: usize,
    ) -> PyResult<Option<(usize, usize)>> {
        tokens_of_word(&self.layout, word_index, sequence_index)
    }

    /// The span of a word.
    #[pyo3(signature = (word_index, sequence_index = 0))]
    fn word_to_chars(
        &self,
        word_index: u32,
        sequence_index: usize,
    ) -> PyResult<Option<(usize, usize)>> {
        let tokens = tokens_of_word(&self.layout, word_index, sequence_index)?;
        let Some((first, end)) = tokens else {
            return Ok(None);
        };
        let spans = spans_of(&self.layout)?;
        let (first, last) = (spans.get(first), spans.get(end - 1));
        Ok(first.zip(last).map(|(first, last)| (first.0, last.1)))
    }

    /// The sequence of a token.
    fn token_to_sequence(&self, token_index: usize) -> Option<usize> {
        self.layout.sequence_of(token_index)
    }

    /// The span of a token.
    fn token_to_chars(&self, token_index: usize) -> PyResult<Option<(usize, usize)>> {
        if self.layout.sequence_of(token_index).is_none() {
            return Ok(None);
        }
        Ok(spans_of(&self.layout)?.get(token_index).copied())
    }

    /// The word of a token.
    fn token_to_word(&self, token_index: usize) -> PyResult<Option<u32>> {
        if self.layout.sequence_of(token_index).is_none() {
            return Ok(None);
        }
        Ok(words(&self.layout)?.get(token_index).copied().flatten())
    }

    /// The token at a place of a text.
    #[pyo3(signature = (char_pos, sequence_index = 0))]
    fn char_to_token(&self, char_pos: usize, sequence_index: usize) -> PyResult<Option<usize>> {
        token_of_place(&self.layout, char_pos, sequence_index)
    }

    /// The word at a place of a text.
    #[pyo3(signature = (char_pos, sequence_index = 0))]
    fn char_to_word(&self, char_pos: usize, sequence_index: usize) -> PyResult<Option<u32>> {
        match token_of_place(&self.layout, char_pos, sequence_index)? {
            Some(token) => self.token_to_word(token),
            None => Ok(None),
        }
    }

    /// Fills the encoding up to a length.
    #[pyo3(signature = (length, **kwargs))]
    fn pad(&mut self, length: usize, kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        let mut direction = Side::Right;
        let mut token = PaddingToken {
            id: 0,
            type_id: 0,
            text: "[PAD]".to_owned(),
        };
        for (key, value) in kwargs.into_iter().flatten() {
            match key.extract::<String>()?.as_str() {
                "direction" => direction = side_of(&value, "")?,
                "pad_id" => token.id = value.extract()?,
                "pad_type_id" => token.type_id = value.extract()?,
                "pad_token" => token.text = value.extract()?,
                _ => ignored_keyword(&key)?,
            }
        }
        self.layout.pad(length, &Arc::new(token), direction);
        Ok(())
    }

    /// Cuts the encoding to a length; what is cut off is its overflow.
    #[pyo3(signature = (max_length, stride = 0, direction = "right"))]
    fn truncate(&mut self, max_length: usize, stride: usize, direction: &str) -> PyResult<()> {
        let direction = match direction {
            "left" => Side::Left,
            "right" => Side::Right,
            other => {
                let message = format!("Invalid truncation direction value : {other}");
                return Err(PyValueError::new_err(message));
            }
        };
        let cut = self.layout.truncate(max_length, stride, direction);
        cut.map_err(|error| PyValueError::new_err(error.to_string()))
    }
}
