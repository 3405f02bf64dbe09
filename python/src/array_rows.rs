//! The rows of Arrow's arrays of strings or bytes: a checked copy, which another thread may read,
//! of the bytes of all rows and the offsets at which each row begins and the last one ends.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;

/// A copy of the elements of a buffer.
pub fn elements<T: pyo3::buffer::Element>(object: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    PyBuffer::<T>::get(object)?.to_vec(object.py())
}

/// The rows of an array of Arrow.
pub struct ArrayRows {
    bytes: Vec<u8>,
    /// The offsets at which each row begins and the last one ends, ascending and within the bytes.
    offsets: Vec<usize>,
}

impl ArrayRows {
    /// Copies and checks the buffers. The offsets have 32 or 64 bits; the first one corresponds to
    /// the first byte.
    ///
    /// # Errors
    /// `BufferError` if a row is outside the bytes, or if the buffers have other types.
    pub fn new(bytes: &Bound<'_, PyAny>, offsets: &Bound<'_, PyAny>) -> PyResult<ArrayRows> {
        let bytes: Vec<u8> = elements(bytes)?;
        let offsets: Vec<i64> = match elements::<i32>(offsets) {
            Ok(offsets) => offsets.into_iter().map(i64::from).collect(),
            Err(_) => elements(offsets)?,
        };
        let first = offsets.first().copied().unwrap_or_default();
        let from_first = |offset: &i64| usize::try_from(offset.checked_sub(first)?).ok();
        let offsets: Option<Vec<usize>> = offsets.iter().map(from_first).collect();
        let is_inside = |offsets: &Vec<usize>| {
            offsets.is_sorted() && offsets.last().is_none_or(|end| *end <= bytes.len())
        };
        match offsets.filter(is_inside) {
            Some(offsets) => Ok(ArrayRows { bytes, offsets }),
            None => Err(PyBufferError::new_err(
                "offsets: a row is outside of its bytes",
            )),
        }
    }

    /// The bytes of all rows.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    pub fn get(&self, row: usize) -> Option<&[u8]> {
        let start = *self.offsets.get(row)?;
        let end = *self.offsets.get(row + 1)?;
        self.bytes.get(start..end)
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let bounds = self.offsets.windows(2);
        bounds.map(|bounds| &self.bytes[bounds[0]..bounds[1]])
    }
}
