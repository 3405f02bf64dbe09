//! `spiece.DecodeStream`: ids to text, one id after another.

use std::collections::HashSet;

use pyo3::prelude::*;
use pyo3::types::PyString;
use spiece::{IncrementalDecoder, PieceId};

use super::ragged::one_id;
use crate::errors;

/// Decodes ids one by one. The parts that `push` and `finish` return make up the decoded text, and
/// none ends inside a character.
#[pyclass(module = "spiece", name = "DecodeStream")]
pub struct DecodeStream {
    pub(super) decoder: IncrementalDecoder,
    /// The ids whose text is left out.
    pub(super) left_out: HashSet<PieceId>,
    pub(super) pieces: usize,
}

#[pymethods]
impl DecodeStream {
    /// Takes an id and returns the text that is now certain, which may be ''.
    fn push<'py>(&mut self, id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
        let py = id.py();
        let id = one_id(id, "", self.pieces)?;
        if self.left_out.contains(&id) {
            return Ok(PyString::new(py, ""));
        }
        let text = self.decoder.push(id);
        let text = text.map_err(|error| errors::of_decode(py, &error))?;
        Ok(PyString::new(py, text))
    }

    /// Ends the text and returns what was held back. The stream is then ready for another text.
    fn finish<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyString> {
        PyString::new(py, self.decoder.finish())
    }
    fn __repr__(&self) -> String {
        format!(
            "<spiece.DecodeStream: for a model with {} pieces>",
            self.pieces
        )
    }
}
