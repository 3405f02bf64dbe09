//! `spiece.DecodeStream`: ids to text, one id after another.

use pyo3::prelude::*;
use pyo3::types::PyString;
use spiece::{IncrementalDecoder, PieceId};

use crate::errors;

/// Decodes ids one by one. The parts that `push` and `finish` return make up the decoded text, and
/// none ends inside a character.
#[pyclass(module = "spiece", name = "DecodeStream")]
pub struct DecodeStream {
    pub(super) decoder: IncrementalDecoder,
    pub(super) pieces: usize,
}

#[pymethods]
impl DecodeStream {
    /// Takes an id and returns the text that is now certain, which may be ''.
    fn push<'py>(&mut self, py: Python<'py>, id: i64) -> PyResult<Bound<'py, PyString>> {
        let number = u32::try_from(id);
        let number = number.map_err(|_| errors::id_out_of_range(py, id, self.pieces))?;
        let text = self.decoder.push(PieceId::new(number));
        let text = text.map_err(|error| errors::of_decode(py, &error))?;
        Ok(PyString::new(py, text))
    }

    /// Ends the text and returns what was held back. The stream is then ready for another text.
    fn finish<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyString> {
        PyString::new(py, self.decoder.finish())
    }
}
