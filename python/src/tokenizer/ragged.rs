//! Batches of the modern interface: options, threads, and arrays of ids with offsets.
//!
//! A ragged batch is two arrays: the ids of all texts, and the offset of each text in them. Texts
//! are encoded and decoded while other Python threads can run. Errors say which element of an
//! argument is wrong.

use std::borrow::Cow;
use std::collections::HashSet;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};
use rayon::ThreadPool;
use spiece::{EncodeError, EncodeOptions, Encoder, ExtraOption, PieceId, Tokenizer};

use super::PyTokenizer;
use crate::array_rows::elements;
use crate::buffer::{TextTuple, VectorBuffer, exact_int};
use crate::decode::decode_to_list;
use crate::encode::encode_flat;
use crate::errors;
use crate::ids::{self, RaggedNumbers};
use crate::loaded::{detached_if, is_long, signed};
use crate::pool::{pool, resolve_threads};
use crate::text::{HeldTexts, iterable_items, not_texts, type_name};
use crate::tokens::OwnedTokens;

/// The texts of the control pieces that `allowed_special` names: all for `"all"`, as in tiktoken,
/// or those of an iterable.
fn special_pieces(tokenizer: &Tokenizer, allowed: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<u8>>> {
    if let Ok(word) = allowed.cast::<PyString>() {
        if word != "all" {
            return Err(PyTypeError::new_err(format!(
                "allowed_special: {} is one text; pass [text], or \"all\" for all control pieces",
                word.repr()?
            )));
        }
        let special = tokenizer.special_tokens();
        return Ok(special.map(|(_, text)| text.to_vec()).collect());
    }
    let texts = HeldTexts::of_items(iterable_items(allowed, "allowed_special")?)?;
    Ok(texts.texts().iter().map(|text| text.to_vec()).collect())
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
pub fn threads_or_all(threads: Option<&Bound<'_, PyAny>>) -> PyResult<usize> {
    let Some(threads) = threads else {
        return Ok(resolve_threads(-1));
    };
    if !threads.hasattr("__index__")? {
        return Err(PyTypeError::new_err(format!(
            "threads: expected an integer or None, not {}",
            type_name(threads)
        )));
    }
    if threads.lt(1)? {
        return Err(PyValueError::new_err(format!(
            "threads: {threads} is no number of threads; use 1 or more, or None for all cores"
        )));
    }
    // More threads than a pool can have are as many as it can have.
    Ok(resolve_threads(threads.extract().unwrap_or(i64::MAX)))
}

/// The number of texts that are taken from Python before other threads get them.
const TEXTS_OF_PART: usize = 1000;

/// Why a batch cannot be encoded while its texts are taken.
enum FlatError {
    Texts(PyErr),
    Encode(EncodeError),
}

impl From<EncodeError> for FlatError {
    fn from(error: EncodeError) -> Self {
        Self::Encode(error)
    }
}

/// Encodes texts while others are still taken from Python. Taking short lines takes a thirtieth of
/// the time of encoding them on one thread.
fn flat_while_taken(
    py: Python<'_>,
    tokenizer: &Tokenizer,
    items: Bound<'_, PyTuple>,
    options: &EncodeOptions,
    pool: &ThreadPool,
) -> PyResult<(Vec<PieceId>, Vec<usize>)> {
    let count = items.len();
    let items = TextTuple::new(items);
    let starts = (0..count).step_by(TEXTS_OF_PART).rev();
    let parts = starts.map(|start| {
        let part = start..count.min(start + TEXTS_OF_PART);
        Python::attach(|py| {
            let texts = items.texts(py, part);
            texts.ok_or_else(|| FlatError::Texts(not_texts(items.tuple(py))))
        })
    });
    let encode = || tokenizer.encode_batch_flat_from_end(parts, options);
    py.detach(|| pool.install(encode))
        .map_err(|error| match error {
            FlatError::Texts(error) => error,
            FlatError::Encode(error) => errors::of_encode(py, &error),
        })
}

impl PyTokenizer {
    /// The options of the encoding methods.
    pub(super) fn options(
        &self,
        (add_bos, add_eos): (bool, bool),
        (allowed_special, refuse_special): (Option<&Bound<'_, PyAny>>, bool),
        user_defined_symbols: bool,
    ) -> PyResult<EncodeOptions> {
        let bos = add_bos.then_some(ExtraOption::Bos);
        let eos = add_eos.then_some(ExtraOption::Eos);
        let allowed = match allowed_special {
            Some(allowed) => special_pieces(&self.loaded.tokenizer, allowed)?,
            None => Vec::new(),
        };
        Ok(EncodeOptions::default()
            .with_extra(bos.into_iter().chain(eos))
            .with_user_defined_symbols(user_defined_symbols)
            .with_allowed_special(allowed)
            .with_refuses_special(refuse_special))
    }

    /// What `work` gives with an encoder, after the text was searched for special pieces that are
    /// refused.
    pub(super) fn with_options<R: Send>(
        &self,
        py: Python<'_>,
        text: &[u8],
        options: EncodeOptions,
        work: impl FnOnce(&mut Encoder<'_>) -> R + Send,
    ) -> PyResult<R> {
        let tokenizer = &self.loaded.tokenizer;
        let done = detached_if(py, is_long(text), || {
            let prepared = self.loaded.prepared(options)?;
            let mut encoder = tokenizer.encoder_of(&prepared)?;
            encoder.check_special(text)?;
            Ok(work(&mut encoder))
        });
        done.map_err(|error: EncodeError| errors::of_encode(py, &error))
    }

    /// The bytes of the piece with an id.
    ///
    /// # Errors
    /// `IndexError`: there is none.
    pub(super) fn piece_bytes(&self, id: &Bound<'_, PyAny>) -> PyResult<&[u8]> {
        let pieces = self.loaded.tokenizer.vocab_size();
        let found = self.loaded.tokenizer.id_to_piece(one_id(id, "", pieces)?);
        found.ok_or_else(|| errors::no_piece(id.py(), "", id, pieces))
    }

    pub(super) fn tokens(&self, text: &[u8]) -> OwnedTokens {
        OwnedTokens::new(&self.loaded, self.loaded.tokenizer.encoder().tokens(text))
    }

    /// The ids of all texts, and the offset of each text in them.
    pub(super) fn flat(
        &self,
        texts: &Bound<'_, PyAny>,
        threads: Option<&Bound<'_, PyAny>>,
        options: &EncodeOptions,
    ) -> PyResult<(Vec<PieceId>, Vec<usize>)> {
        let py = texts.py();
        let items = iterable_items(texts, "texts")?;
        let threads = threads_or_all(threads)?.min(items.len().max(1));
        let tokenizer = &self.loaded.tokenizer;
        if threads > 1 || *options != EncodeOptions::default() {
            return flat_while_taken(py, tokenizer, items, options, &*pool(threads)?);
        }
        encode_flat(py, &self.loaded, &HeldTexts::of_items(items)?, threads)
    }

    /// The ids of a text, or the one id that is given.
    pub(super) fn ids(&self, ids: &Bound<'_, PyAny>) -> PyResult<Vec<PieceId>> {
        let pieces = self.vocab_size();
        if exact_int(ids).is_some() {
            return Ok(vec![one_id(ids, "", pieces)?]);
        }
        let mut numbers = Vec::new();
        if let Err(error) = append_ids(ids, &|| "ids".to_owned(), pieces, &mut numbers) {
            // An array of NumPy without dimensions is one id, too.
            let number = ids.call_method0("__index__");
            return Ok(vec![one_id(&number.map_err(|_| error)?, "", pieces)?]);
        }
        checked(ids.py(), numbers, pieces, |at| format!("ids[{at}]: "))
    }

    /// The ids of the texts of a batch, and the offset of each text in them.
    pub(super) fn checked_batch(
        &self,
        py: Python<'_>,
        ragged: RaggedNumbers,
    ) -> PyResult<(Vec<PieceId>, Vec<usize>)> {
        let offsets = ragged.offsets;
        let ids = checked(py, ragged.numbers, self.vocab_size(), |at| {
            let text = offsets.partition_point(|offset| *offset <= at).max(1) - 1;
            format!("batch[{text}][{}]: ", at - offsets[text])
        })?;
        Ok((ids, offsets))
    }

    /// The texts of a batch of ids.
    pub(super) fn decode_numbers<'py>(
        &self,
        py: Python<'py>,
        ragged: RaggedNumbers,
        threads: Option<&Bound<'_, PyAny>>,
        skip_special_tokens: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let (ids, offsets) = self.checked_batch(py, ragged)?;
        let left_out = match skip_special_tokens {
            true => self.loaded.tokenizer.special_ids(),
            false => HashSet::new(),
        };
        let ranges = offsets.windows(2).map(|range| &ids[range[0]..range[1]]);
        let batch: Vec<Cow<'_, [PieceId]>> = ranges
            .map(|ids| match left_out.is_empty() {
                true => Cow::Borrowed(ids),
                false => {
                    let shown = ids.iter().filter(|id| !left_out.contains(id));
                    Cow::Owned(shown.copied().collect())
                }
            })
            .collect();
        let batch: Vec<&[PieceId]> = batch.iter().map(|ids| &**ids).collect();
        let threads = threads_or_all(threads)?.min(batch.len().max(1));
        decode_to_list(py, &self.loaded, &batch, threads, |text| {
            Ok(PyString::new(py, &String::from_utf8_lossy(text)).into_any())
        })
    }
}

/// Numbers as ids of a model with `pieces` pieces; `place` says where a number is.
///
/// # Errors
/// `IndexError` for a number that is not an id.
fn checked(
    py: Python<'_>,
    numbers: Vec<i32>,
    pieces: usize,
    place: impl Fn(usize) -> String,
) -> PyResult<Vec<PieceId>> {
    match numbers
        .iter()
        .position(|number| !ids::is_id(*number, pieces))
    {
        Some(at) => Err(errors::no_piece(py, &place(at), numbers[at], pieces)),
        None => ids::checked(py, numbers, pieces),
    }
}

/// The id that an integer gives; `place` says where it is.
///
/// # Errors
/// `IndexError` for a number that is not an id, `TypeError` for an object that is no integer.
pub(super) fn one_id(number: &Bound<'_, PyAny>, place: &str, pieces: usize) -> PyResult<PieceId> {
    match number.extract::<u32>() {
        Ok(id) if usize::try_from(id).is_ok_and(|id| id < pieces) => Ok(PieceId::new(id)),
        Err(_) if !number.hasattr("__index__")? => Err(PyTypeError::new_err(format!(
            "{place}expected an integer, not {}",
            type_name(number)
        ))),
        _ => Err(errors::no_piece(number.py(), place, number, pieces)),
    }
}

/// The numbers of several texts: of an iterable of iterables, or of the rows of an array.
pub(super) fn ragged_numbers(batch: &Bound<'_, PyAny>, pieces: usize) -> PyResult<RaggedNumbers> {
    let mut ragged = RaggedNumbers {
        numbers: Vec::new(),
        offsets: vec![0],
    };
    let batch = iterable_items(batch, "batch")?;
    for (text, ids) in batch.iter_borrowed().enumerate() {
        let name = || format!("batch[{text}]");
        append_ids(&ids, &name, pieces, &mut ragged.numbers)?;
        ragged.offsets.push(ragged.numbers.len());
    }
    Ok(ragged)
}

/// Appends the ids of an array or an iterable; `name` says which it is.
fn append_ids(
    ids: &Bound<'_, PyAny>,
    name: &dyn Fn() -> String,
    pieces: usize,
    numbers: &mut Vec<i32>,
) -> PyResult<()> {
    if !ids.is_instance_of::<PyList>()
        && !ids.hasattr("__getitem__")?
        && let Ok(items) = ids.try_iter()
    {
        let items = items.collect::<PyResult<Vec<_>>>()?;
        let items = PyList::new(ids.py(), items)?;
        return append_ids(&items, name, pieces, numbers);
    }
    let start = numbers.len();
    let Err(error) = ids::append(ids, numbers) else {
        return Ok(());
    };
    numbers.truncate(start);
    if ids.hasattr("ndim")? {
        return Err(PyTypeError::new_err(format!(
            "{}: {}",
            name(),
            error.value(ids.py())
        )));
    }
    let is_text = ids.is_instance_of::<PyString>() || ids.is_instance_of::<PyBytes>();
    let Some(items) = ids.try_iter().ok().filter(|_| !is_text) else {
        return Err(PyTypeError::new_err(format!(
            "{}: expected integers, not {}",
            name(),
            type_name(ids)
        )));
    };
    // One of the items is no integer, or too large for an id.
    for (number, item) in items.enumerate() {
        let place = format!("{}[{number}]: ", name());
        numbers.push(signed(one_id(&item?, &place, pieces)?));
    }
    Ok(())
}

/// The offsets of a ragged batch of `length` elements, from an array of any integer type.
///
/// # Errors
/// `ValueError` for offsets that descend, are negative or above the length.
pub(super) fn arrow_offsets(object: &Bound<'_, PyAny>, length: usize) -> PyResult<Vec<usize>> {
    let offsets: Vec<i64> = match (elements(object), elements::<i32>(object)) {
        (Ok(offsets), _) => offsets,
        (_, Ok(offsets)) => offsets.into_iter().map(i64::from).collect(),
        _ => object.extract()?,
    };
    let offsets = offsets
        .into_iter()
        .map(|offset| usize::try_from(offset).ok());
    let offsets: Option<Vec<usize>> = offsets.collect();
    let are_inside = |offsets: &Vec<usize>| {
        offsets.is_sorted() && offsets.last().is_none_or(|end| *end <= length)
    };
    offsets.filter(are_inside).ok_or_else(|| {
        PyValueError::new_err(format!(
            "offsets: they have to ascend from 0 or more to {length} at most"
        ))
    })
}
