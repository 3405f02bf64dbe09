//! Spans as Python tuples.
//!
//! Tuples of short spans near the
//! beginning of a text are made once per process and shared by all results, because creating a
//! tuple and its numbers takes longer than encoding the token: sharing them halved the time of
//! offset mappings. Only `is` can distinguish a shared tuple from a new one.
//!
//! At most 16,384 tuples are kept, about 1.5 MB
//! if all are used.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

/// Spans that begin below this position are shared.
const SHARED_BEGINS: usize = 1024;
/// Spans shorter than this are shared.
const SHARED_LENGTHS: usize = 16;

/// The shared tuples with one begin, by their lengths.
type Row = [Py<PyTuple>; SHARED_LENGTHS];

/// The rows that were used so far.
static ROWS: [PyOnceLock<Box<Row>>; SHARED_BEGINS] = [const { PyOnceLock::new() }; SHARED_BEGINS];

/// The tuple `(begin, end)`.
#[inline]
pub fn tuple(py: Python<'_>, begin: usize, end: usize) -> PyResult<Bound<'_, PyTuple>> {
    let length = end.wrapping_sub(begin);
    if let Some(row) = ROWS.get(begin)
        && length < SHARED_LENGTHS
    {
        let row = match row.get(py) {
            Some(row) => row,
            None => new_row(py, row, begin)?,
        };
        return Ok(row[length].bind(py).clone());
    }
    PyTuple::new(py, [begin, end])
}

/// Fills a row.
#[cold]
fn new_row<'r>(py: Python<'_>, row: &'r PyOnceLock<Box<Row>>, begin: usize) -> PyResult<&'r Row> {
    let tuple = |length| Ok(PyTuple::new(py, [begin, begin + length])?.unbind());
    let tuples: Vec<Py<PyTuple>> = (0..SHARED_LENGTHS).map(tuple).collect::<PyResult<_>>()?;
    let row = row.get_or_try_init(py, || {
        let row = tuples.into_boxed_slice().try_into();
        row.map_err(|_| {
            pyo3::exceptions::PySystemError::new_err("a row of spans has another length")
        })
    })?;
    Ok(row)
}
