//! Pieces and ids: one, or a list for a sequence or array of them. An id
//! that the model does not have is an `IndexError`; a text that is not a piece has the id of the
//! unknown piece, as in the reference.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyList, PyString};
use spiece::{Piece, PieceId, PieceKind};

use crate::errors;
use crate::ids;
use crate::loaded::{Loaded, signed_or_none};
use crate::text::{to_str, type_name};

/// Calls `value` with each id of `input`.
fn for_ids<'py>(
    py: Python<'py>,
    loaded: &Loaded,
    input: &Bound<'py, PyAny>,
    value: impl Fn(PieceId) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let pieces = loaded.tokenizer.vocab_size();
    let number = if input.is_instance_of::<PyFloat>() {
        None
    } else {
        input.extract::<i32>().ok()
    };
    if let Some(number) = number {
        if !ids::is_id(number, pieces) {
            return Err(errors::id_out_of_range(py, number, pieces));
        }
        return value(PieceId::new(number.cast_unsigned()));
    }
    let mut numbers = Vec::new();
    ids::append(input, &mut numbers)?;
    let ids = ids::checked(py, numbers, pieces)?;
    let values = ids.into_iter().map(value).collect::<PyResult<Vec<_>>>()?;
    Ok(PyList::new(py, values)?.into_any())
}

/// The texts of ids.
pub fn id_to_piece<'py>(
    py: Python<'py>,
    loaded: &Loaded,
    input: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    for_ids(py, loaded, input, |id| match loaded.string(py, id) {
        Some(string) => Ok(string.into_any()),
        None => {
            let text = loaded.tokenizer.id_to_piece(id).unwrap_or_default();
            Ok(to_str(py, text)?.into_any())
        }
    })
}

/// The scores of ids.
pub fn score<'py>(
    py: Python<'py>,
    loaded: &Loaded,
    input: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    for_ids(py, loaded, input, |id| {
        let score = loaded.tokenizer.piece(id).map_or(0.0, |piece| piece.score);
        Ok(PyFloat::new(py, score.into()).into_any())
    })
}

/// Whether the pieces of ids have this kind.
pub fn has_kind<'py>(
    py: Python<'py>,
    loaded: &Loaded,
    input: &Bound<'py, PyAny>,
    kind: PieceKind,
) -> PyResult<Bound<'py, PyAny>> {
    for_ids(py, loaded, input, |id| {
        let piece: Option<Piece<'_>> = loaded.tokenizer.piece(id);
        let has_kind = piece.is_some_and(|piece| piece.kind == kind);
        Ok(PyBool::new(py, has_kind).to_owned().into_any())
    })
}

/// The ids of pieces. The reference takes what has indexes, except a `dict`.
pub fn piece_to_id<'py>(
    py: Python<'py>,
    loaded: &Loaded,
    input: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(id) = id_of(loaded, input) {
        return Ok(id.into_pyobject(py)?.into_any());
    }
    if input.is_instance_of::<PyDict>() || !input.hasattr("__getitem__")? {
        return Err(PyTypeError::new_err(format!(
            "PieceToId() takes str or bytes, or a sequence of them, not {}",
            type_name(input)
        )));
    }
    let mut found = Vec::new();
    for index in 0..input.len()? {
        let id = id_of(loaded, &input.get_item(index)?);
        found.push(
            id.ok_or_else(|| PyTypeError::new_err("Sequence elements must be str or bytes"))?,
        );
    }
    Ok(PyList::new(py, found)?.into_any())
}

/// The id of a piece; `None` if the object is not a text.
fn id_of(loaded: &Loaded, piece: &Bound<'_, PyAny>) -> Option<i32> {
    let find = |text: &[u8]| match loaded.tokenizer.piece_to_id(text) {
        Some(id) => signed_or_none(Some(id)),
        None => loaded.unknown,
    };
    if let Ok(text) = piece.cast::<PyString>() {
        return text.to_str().ok().map(|text| find(text.as_bytes()));
    }
    if let Ok(text) = piece.cast::<PyByteArray>() {
        return Some(find(&text.to_vec()));
    }
    piece
        .cast::<PyBytes>()
        .ok()
        .map(|text| find(text.as_bytes()))
}
