//! Batches of the modern interface: options, threads, and arrays of ids with offsets.
//!
//! Input: Python texts or numbers. Output: a ragged batch, as two vectors or two buffers: the ids
//! of all texts, and the offset of each text in them. Texts are encoded and decoded while other
//! Python threads can run.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};
use rayon::ThreadPool;
use spiece::{EncodeOptions, ExtraOption, PieceId, Tokenizer};

use super::PyTokenizer;
use crate::buffer::{TextTuple, VectorBuffer};
use crate::decode::decode_flat;
use crate::encode::encode_flat;
use crate::errors;
use crate::ids::{self, RaggedNumbers};
use crate::loaded::signed;
use crate::pool::{pool, resolve_threads};
use crate::text::{HeldTexts, not_texts, text_items};
use crate::tokens::OwnedTokens;

/// Options of the encoding methods.
pub(super) struct Options {
    pub(super) options: EncodeOptions,
}

impl Options {
    pub(super) fn new(
        add_bos: bool,
        add_eos: bool,
        allowed_special: Option<Vec<String>>,
        user_defined_symbols: bool,
    ) -> Options {
        let mut extra = Vec::new();
        if add_bos {
            extra.push(ExtraOption::Bos);
        }
        if add_eos {
            extra.push(ExtraOption::Eos);
        }
        Options {
            options: EncodeOptions::default()
                .with_extra(extra)
                .with_user_defined_symbols(user_defined_symbols)
                .with_allowed_special(allowed_special.unwrap_or_default()),
        }
    }

    pub(super) fn is_default(&self) -> bool {
        self.options == EncodeOptions::default()
    }
}

/// Arrays of ids and of offsets.
pub(super) type RaggedArrays = (VectorBuffer, VectorBuffer);

pub(super) fn ragged_arrays(ids: Vec<PieceId>, offsets: Vec<usize>) -> RaggedArrays {
    let offsets = offsets.into_iter().map(to_i64).collect();
    (id_array(ids), VectorBuffer::of_i64(offsets))
}

pub(super) fn id_array(ids: Vec<PieceId>) -> VectorBuffer {
    VectorBuffer::of_i32(ids.into_iter().map(signed).collect())
}

/// An offset as an element of an array. Offsets in memory are below 2^63.
pub(super) fn to_i64(offset: usize) -> i64 {
    i64::try_from(offset).unwrap_or(i64::MAX)
}

/// The number of threads that an argument names: all cores for `None`.
pub(super) fn threads_or_all(threads: Option<i64>) -> PyResult<usize> {
    match threads {
        Some(threads) if threads < 1 => Err(PyValueError::new_err(format!(
            "threads: {threads} is no number of threads; use 1 or more, or None for all cores"
        ))),
        threads => Ok(resolve_threads(threads.unwrap_or(-1))),
    }
}

/// The number of texts that are taken from Python before other threads get them.
const TEXTS_OF_PART: usize = 1000;

/// Encodes texts while others are still taken from Python. Taking short lines takes a thirtieth of
/// the time of encoding them on one thread.
fn flat_while_taken(
    py: Python<'_>,
    tokenizer: &Tokenizer,
    items: Bound<'_, PyTuple>,
    pool: &ThreadPool,
) -> PyResult<(Vec<PieceId>, Vec<usize>)> {
    let count = items.len();
    let items = TextTuple::new(items);
    let starts = (0..count).step_by(TEXTS_OF_PART).rev();
    let parts = starts.map(|start| {
        let part = start..count.min(start + TEXTS_OF_PART);
        let texts = Python::attach(|py| items.texts(py, part));
        texts.ok_or_else(not_texts)
    });
    py.detach(|| pool.install(|| tokenizer.encode_batch_flat_from_end(parts)))
}

impl PyTokenizer {
    pub(super) fn tokens(&self, text: &[u8]) -> OwnedTokens {
        OwnedTokens::new(&self.loaded, self.loaded.tokenizer.encoder().tokens(text))
    }

    /// The ids of all texts, and the offset of each text in them.
    pub(super) fn flat(
        &self,
        texts: &Bound<'_, PyAny>,
        threads: Option<i64>,
        options: &Options,
    ) -> PyResult<(Vec<PieceId>, Vec<usize>)> {
        let py = texts.py();
        if texts.is_instance_of::<PyString>() || texts.is_instance_of::<PyBytes>() {
            return Err(PyTypeError::new_err(
                "texts: one text is no batch; pass [text]",
            ));
        }
        let items = text_items(texts)?;
        let threads = threads_or_all(threads)?.min(items.len().max(1));
        let tokenizer = &self.loaded.tokenizer;
        if options.is_default() && threads > 1 {
            return flat_while_taken(py, tokenizer, items, &*pool(threads)?);
        }
        let held = HeldTexts::of(items.as_any())?;
        if options.is_default() {
            return encode_flat(py, &self.loaded, &held, threads);
        }
        let pool = pool(threads)?;
        let texts = held.texts();
        let options = &options.options;
        let flat = py.detach(|| pool.install(|| tokenizer.encode_batch_flat_with(texts, options)));
        flat.map_err(|error| errors::of_encode(py, &error))
    }

    pub(super) fn decode_numbers<'py>(
        &self,
        py: Python<'py>,
        ragged: RaggedNumbers,
        threads: Option<i64>,
    ) -> PyResult<Bound<'py, PyList>> {
        let ids = ids::checked(py, ragged.numbers, self.vocab_size())?;
        let ranges = ragged.offsets.windows(2);
        let batch: Vec<&[PieceId]> = ranges.map(|range| &ids[range[0]..range[1]]).collect();
        let threads = threads_or_all(threads)?.min(batch.len().max(1));
        let (texts, ends) = decode_flat(py, &self.loaded, &batch, threads)?;
        let mut start = 0;
        let mut results = Vec::with_capacity(ends.len());
        for end in ends {
            results.push(PyString::new(
                py,
                &String::from_utf8_lossy(&texts[start..end]),
            ));
            start = end;
        }
        PyList::new(py, results)
    }
}

/// Offsets of an array of any integer type.
pub(super) fn arrow_offsets(object: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    use pyo3::buffer::PyBuffer;
    let py = object.py();
    let negative = |_| PyValueError::new_err("an offset is negative");
    if let Ok(buffer) = PyBuffer::<i64>::get(object) {
        let offsets = buffer.to_vec(py)?.into_iter();
        return offsets
            .map(|offset| usize::try_from(offset).map_err(negative))
            .collect();
    }
    if let Ok(buffer) = PyBuffer::<i32>::get(object) {
        let offsets = buffer.to_vec(py)?.into_iter();
        return offsets
            .map(|offset| usize::try_from(offset).map_err(negative))
            .collect();
    }
    object.extract()
}
