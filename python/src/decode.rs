//! `Decode` of the drop-in: ids or pieces of any form to texts, messages and mappings.
//!
//! An input is classified by its first elements, as in the reference: a sequence of
//! sequences is a batch; a sequence whose first element is `str` or `bytes` contains pieces; an
//! array never contains pieces.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PyList, PyString, PyTuple};
use rayon::prelude::*;
use spiece::{DecodedText, PieceId};

use crate::arguments::{Arguments, ReturnType, to_bool, to_threads};
use crate::encode::{is_message, message_object};
use crate::errors;
use crate::ids::{self, RaggedNumbers};
use crate::loaded::{Loaded, PausedCollector, detached_if};
use crate::pool::{batch_threads, pool};
use crate::settings::Settings;
use crate::text::{HeldTexts, to_text};
use crate::tokens::offsets;

/// The parameters of `Decode`, without the input.
pub const NAMES: [&str; 5] = [
    "return_type",
    "out_type",
    "num_threads",
    "thread_pool",
    "return_bytes",
];

/// Fewer ids than this are decoded while the thread is attached to the interpreter.
const MIN_DETACHED_IDS: usize = 4096;

/// The id of texts that are not pieces, in a model without an unknown piece, as stored in the
/// reference's unsigned field.
const NO_ID: u32 = u32::MAX;

/// The arguments of one call.
pub struct DecodeCall<'py> {
    pub return_type: ReturnType,
    pub num_threads: i64,
    pub thread_pool: Option<Bound<'py, PyAny>>,
    pub return_bytes: bool,
    /// Whether ids are decoded from the last to the first: the old extra option `reverse`.
    pub reverses: bool,
}

impl<'py> DecodeCall<'py> {
    /// The call with these arguments; missing arguments are taken from `settings`.
    pub fn new(
        py: Python<'py>,
        settings: &Settings,
        arguments: &Arguments<'py, 5>,
        forced: Option<ReturnType>,
    ) -> PyResult<DecodeCall<'py>> {
        let return_type = match forced {
            Some(return_type) => return_type,
            None => arguments.return_type(ReturnType::Str)?,
        };
        let return_bytes = arguments.get("return_bytes").map(to_bool).transpose()?;
        if return_bytes.is_some() && return_type != ReturnType::OffsetMapping {
            return Err(PyValueError::new_err(
                "return_bytes is only supported when return_type='offset_mapping'",
            ));
        }
        if matches!(return_type, ReturnType::Ids | ReturnType::Numpy) {
            return Err(PyValueError::new_err(
                "decoding gives no ids; use str or bytes",
            ));
        }
        let threads = arguments.get("num_threads").cloned();
        let threads = threads.or_else(|| settings.get(py, "num_threads"));
        Ok(DecodeCall {
            return_type,
            num_threads: to_threads(threads.as_ref())?,
            thread_pool: arguments.get("thread_pool").cloned(),
            return_bytes: return_bytes.unwrap_or(false),
            reverses: settings.reverses_decoding(),
        })
    }
}

/// The forms of input.
enum Input {
    Ids,
    Pieces,
    IdBatch,
    PieceBatch,
}

/// Decodes an input of any form.
pub fn decode<'py>(
    py: Python<'py>,
    loaded: &Loaded,
    input: &Bound<'py, PyAny>,
    call: &DecodeCall<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let input = as_sequence(input)?;
    match classify(&input, call)? {
        Input::Ids => {
            let mut numbers = Vec::new();
            ids::append(&input, &mut numbers)?;
            let mut ids = ids::checked(py, numbers, loaded.tokenizer.vocab_size())?;
            if call.reverses {
                ids.reverse();
            }
            decode_ids(py, loaded, &ids, call)
        }
        Input::Pieces => {
            let mut pieces = HeldTexts::of(&input)?;
            if call.reverses {
                pieces.reverse();
            }
            decode_pieces(py, loaded, &pieces, call)
        }
        Input::IdBatch => decode_id_batch(py, loaded, &input, call),
        Input::PieceBatch => decode_piece_batch(py, loaded, &input, call),
    }
}

/// A single element becomes a list of one, and `None` or an empty text an empty list.
fn as_sequence<'py>(input: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = input.py();
    if input.is_instance_of::<PyList>() {
        return Ok(input.clone());
    }
    if input.is_none() {
        return Ok(PyList::empty(py).into_any());
    }
    let is_text = is_text(input);
    if is_text && input.len()? == 0 {
        return Ok(PyList::empty(py).into_any());
    }
    if is_text || !input.hasattr("__len__")? {
        return Ok(PyList::new(py, [input])?.into_any());
    }
    Ok(input.clone())
}

fn is_text(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>()
}

/// Whether the reference treats an element as a sequence.
fn is_sequence(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if object.is_instance_of::<PyInt>() || is_text(object) {
        return Ok(false);
    }
    Ok(object.is_instance_of::<PyList>() || object.hasattr("__len__")?)
}

fn classify(input: &Bound<'_, PyAny>, call: &DecodeCall<'_>) -> PyResult<Input> {
    if input.is_instance_of::<PyList>() || !input.hasattr("ndim")? {
        if input.len()? == 0 {
            return Ok(Input::Ids);
        }
        let first = input.get_item(0)?;
        if !is_sequence(&first)? {
            let has_pieces = is_text(&first) && !input.hasattr("dtype")?;
            return Ok(if has_pieces {
                Input::Pieces
            } else {
                Input::Ids
            });
        }
    } else if input.getattr("ndim")?.extract::<i64>()? <= 1 {
        return Ok(Input::Ids);
    }
    let has_pieces = batch_has_pieces(input, call)?;
    Ok(if has_pieces {
        Input::PieceBatch
    } else {
        Input::IdBatch
    })
}

/// Whether the first non-empty sequence contains pieces.
fn batch_has_pieces(batch: &Bound<'_, PyAny>, call: &DecodeCall<'_>) -> PyResult<bool> {
    let takes_all = call.return_type != ReturnType::OffsetMapping;
    for index in 0..batch.len()? {
        let item = batch.get_item(index)?;
        if is_sequence(&item)? && item.len()? > 0 {
            let is_listed = item.is_instance_of::<PyList>() || item.is_instance_of::<PyTuple>();
            let may_have = (takes_all || is_listed) && !item.hasattr("dtype")?;
            return Ok(may_have && is_text(&item.get_item(0)?));
        }
    }
    Ok(false)
}

fn decode_ids<'py>(
    py: Python<'py>,
    loaded: &Loaded,
    ids: &[PieceId],
    call: &DecodeCall<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let detaches = ids.len() >= MIN_DETACHED_IDS;
    let tokenizer = &loaded.tokenizer;
    if let Some(is_bytes) = plain_text(call.return_type, false) {
        let text = detached_if(py, detaches, || tokenizer.decode_to_bytes(ids));
        let text = text.map_err(|error| errors::of_decode(py, &error))?;
        return to_text(py, &text, is_bytes);
    }
    let decoded = detached_if(py, detaches, || tokenizer.decode_to_tokens(ids));
    let decoded = decoded.map_err(|error| errors::of_decode(py, &error))?;
    decoded_object(py, &decoded, call, call.return_bytes)
}

fn decode_pieces<'py>(
    py: Python<'py>,
    loaded: &Loaded,
    pieces: &HeldTexts,
    call: &DecodeCall<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let tokenizer = &loaded.tokenizer;
    if let Some(is_bytes) = plain_text(call.return_type, pieces.is_bytes) {
        let text = tokenizer.decode_pieces_to_bytes(pieces.texts());
        return to_text(py, &text, is_bytes);
    }
    let decoded = tokenizer.decode_pieces_to_tokens(pieces.texts());
    decoded_object(py, &decoded, call, call.return_bytes || pieces.is_bytes)
}

/// Whether the text of the result is `bytes`; `None` if the result is not a plain text.
fn plain_text(return_type: ReturnType, pieces_are_bytes: bool) -> Option<bool> {
    match return_type {
        ReturnType::Str => Some(pieces_are_bytes),
        ReturnType::Bytes => Some(true),
        _ => None,
    }
}

/// A message or a mapping.
fn decoded_object<'py>(
    py: Python<'py>,
    decoded: &DecodedText<'_>,
    call: &DecodeCall<'py>,
    is_bytes: bool,
) -> PyResult<Bound<'py, PyAny>> {
    if is_message(call.return_type) {
        return message_object(py, &decoded.to_message(), call.return_type);
    }
    Ok(mapping(py, decoded, is_bytes)?.into_any())
}

fn mapping<'py>(
    py: Python<'py>,
    decoded: &DecodedText<'_>,
    is_bytes: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let tokens = decoded.tokens();
    let mapping = PyDict::new(py);
    mapping.set_item("text", to_text(py, decoded.text(), is_bytes)?)?;
    let ids = tokens
        .iter()
        .map(|token| token.id.map_or(NO_ID, PieceId::get));
    mapping.set_item("ids", PyList::new(py, ids)?)?;
    let pieces = tokens
        .iter()
        .map(|token| to_text(py, token.piece, is_bytes));
    let pieces: Vec<_> = pieces.collect::<PyResult<_>>()?;
    mapping.set_item("pieces", pieces)?;
    let spans: Vec<_> = tokens
        .iter()
        .map(|token| (token.span.start, token.span.end))
        .collect();
    let length = decoded.text().len();
    if !is_bytes && spans.iter().any(|span| span.1 > length) {
        return Err(PyValueError::new_err(
            "Invalid piece offsets in SentencePieceText",
        ));
    }
    mapping.set_item(
        "offsets",
        offsets(py, &spans, (!is_bytes).then_some(decoded.text()))?,
    )?;
    Ok(mapping)
}

/// Decodes a batch, as the reference's private method does.
pub fn decode_batch<'py>(
    py: Python<'py>,
    loaded: &Loaded,
    input: &Bound<'py, PyAny>,
    call: &DecodeCall<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    // The items are taken once, because the length of a sequence that is not a list may change.
    let mut items = Vec::new();
    for index in 0..input.len()? {
        items.push(input.get_item(index)?);
    }
    let items = PyList::new(py, items)?.into_any();
    if batch_has_pieces(&items, call)? {
        decode_piece_batch(py, loaded, &items, call)
    } else {
        decode_id_batch(py, loaded, &items, call)
    }
}

fn decode_id_batch<'py>(
    py: Python<'py>,
    loaded: &Loaded,
    input: &Bound<'py, PyAny>,
    call: &DecodeCall<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let ragged = RaggedNumbers::of(input)?;
    let offsets = ragged.offsets;
    let mut ids = ids::checked(py, ragged.numbers, loaded.tokenizer.vocab_size())?;
    if call.reverses {
        for range in offsets.windows(2) {
            ids[range[0]..range[1]].reverse();
        }
    }
    let batch: Vec<&[PieceId]> = offsets
        .windows(2)
        .map(|range| &ids[range[0]..range[1]])
        .collect();
    let threads = batch_threads(call.num_threads, call.thread_pool.as_ref(), batch.len())?;
    let _paused = PausedCollector::new(py, batch.len())?;
    let Some(is_bytes) = plain_text(call.return_type, false) else {
        let results = batch.iter().map(|ids| decode_ids(py, loaded, ids, call));
        return Ok(PyList::new(py, results.collect::<PyResult<Vec<_>>>()?)?.into_any());
    };
    let object = |text: &[u8]| to_text(py, text, is_bytes);
    Ok(decode_to_list(py, loaded, &batch, threads, object)?.into_any())
}

/// The texts of a batch, as the objects that `object` makes.
pub fn decode_to_list<'py>(
    py: Python<'py>,
    loaded: &Loaded,
    batch: &[&[PieceId]],
    threads: usize,
    object: impl Fn(&[u8]) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let (texts, ends) = decode_flat(py, loaded, batch, threads)?;
    let mut start = 0;
    let mut results = Vec::with_capacity(ends.len());
    for end in ends {
        results.push(object(&texts[start..end])?);
        start = end;
    }
    PyList::new(py, results)
}

/// The texts of a batch, concatenated, and their ends.
fn decode_flat(
    py: Python<'_>,
    loaded: &Loaded,
    batch: &[&[PieceId]],
    threads: usize,
) -> PyResult<(Vec<u8>, Vec<usize>)> {
    let tokenizer = &loaded.tokenizer;
    let decode = |batch: &[&[PieceId]]| {
        let mut texts = Vec::new();
        let mut ends = Vec::with_capacity(batch.len());
        for ids in batch {
            tokenizer.decode_into(ids, &mut texts)?;
            ends.push(texts.len());
        }
        Ok((texts, ends))
    };
    if threads <= 1 {
        let decoded = py.detach(|| decode(batch));
        return decoded.map_err(|error| errors::of_decode(py, &error));
    }
    let pool = pool(threads)?;
    let part = batch.len().div_ceil(threads * 4).max(16);
    let parts = py.detach(|| {
        pool.install(|| {
            batch
                .par_chunks(part)
                .map(decode)
                .collect::<Result<Vec<_>, _>>()
        })
    });
    let mut all = (Vec::new(), Vec::with_capacity(batch.len()));
    for (texts, ends) in parts.map_err(|error| errors::of_decode(py, &error))? {
        let start = all.0.len();
        all.0.extend_from_slice(&texts);
        all.1.extend(ends.into_iter().map(|end| start + end));
    }
    Ok(all)
}

pub fn decode_piece_batch<'py>(
    py: Python<'py>,
    loaded: &Loaded,
    input: &Bound<'py, PyAny>,
    call: &DecodeCall<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut batch = Vec::new();
    for index in 0..input.len()? {
        let mut pieces = HeldTexts::of(&input.get_item(index)?)?;
        if call.reverses {
            pieces.reverse();
        }
        batch.push(pieces);
    }
    // An empty sequence says nothing about the type.
    let first = batch.iter().find(|pieces| !pieces.texts().is_empty());
    let is_bytes = first.is_some_and(|pieces| pieces.is_bytes);
    for pieces in &mut batch {
        pieces.is_bytes = is_bytes;
    }
    let threads = batch_threads(call.num_threads, call.thread_pool.as_ref(), batch.len())?;
    let (Some(is_bytes), true) = (plain_text(call.return_type, is_bytes), threads > 1) else {
        let results = batch
            .iter()
            .map(|pieces| decode_pieces(py, loaded, pieces, call));
        return Ok(PyList::new(py, results.collect::<PyResult<Vec<_>>>()?)?.into_any());
    };
    let pool = pool(threads)?;
    let tokenizer = &loaded.tokenizer;
    let decode = |pieces: &HeldTexts| tokenizer.decode_pieces_to_bytes(pieces.texts());
    let texts: Vec<Vec<u8>> = py.detach(|| pool.install(|| batch.par_iter().map(decode).collect()));
    let texts = texts.iter().map(|text| to_text(py, text, is_bytes));
    Ok(PyList::new(py, texts.collect::<PyResult<Vec<_>>>()?)?.into_any())
}
