//! `Encode` of the drop-in: from arguments of Python to results of every type.
//!
//! Batches have three steps: the texts are taken while this thread is attached to the interpreter
//! (they are not copied), encoded while other threads of Python run, and turned into objects while
//! it is attached again.

mod call;

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use rayon::prelude::*;
use spiece::{EncodeError, EncodeOptions, Encoder, PieceId, Rng, SampleOptions, Tokens};

pub use self::call::{EncodeCall, Forced, parse, parse_all, parse_extra};
use crate::arguments::ReturnType;
use crate::buffer::VectorBuffer;
use crate::errors;
use crate::loaded::{Loaded, PausedCollector, detached_if, is_long, signed};
use crate::pool::{batch_threads, pool};
use crate::random;
use crate::text::{HeldTexts, Text};
use crate::tokens::{OwnedTokens, Rewrite};

/// The number of texts that are encoded before their objects are made: few enough that the tokens
/// are still in the processor's cache.
const MAX_CHUNK_TEXTS: usize = 1024;

/// Encodes one text or a list of texts.
pub fn encode<'py>(
    py: Python<'py>,
    loaded: &Arc<Loaded>,
    input: &Bound<'py, PyAny>,
    call: &EncodeCall<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    match input.cast::<PyList>() {
        Ok(texts) => encode_batch(py, loaded, texts, call),
        Err(_) => encode_one(py, loaded, Text::of(input)?, call),
    }
}

/// Encodes one text.
pub fn encode_one<'py>(
    py: Python<'py>,
    loaded: &Loaded,
    text: Text<'_>,
    call: &EncodeCall<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    call.check(py, loaded)?;
    if call.gives_plain_ids() {
        if call.rewrite == Rewrite::default() && call.return_type == ReturnType::Ids {
            return Ok(loaded.encode_to_list(py, text.bytes)?.into_any());
        }
        let ids = loaded.encode(py, text.bytes);
        if let Some(object) = plain_object(py, loaded, ids, call) {
            return object;
        }
    }
    encode_tokens(py, loaded, text, call)
}

/// Encodes one text to tokens, for results that need more than ids.
fn encode_tokens<'py>(
    py: Python<'py>,
    loaded: &Loaded,
    text: Text<'_>,
    call: &EncodeCall<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let seed = random::next_seed();
    let work = TokenWork::new(loaded, call);
    let tokens = detached_if(py, is_long(text.bytes), || {
        let mut encoder = loaded.tokenizer.encoder_with(work.options)?;
        work.encode(&mut encoder, text.bytes, seed)
    });
    let tokens = tokens.map_err(|error| errors::of_encode(py, &error))?;
    tokens_object(py, loaded, tokens, text, call)
}

/// The work for each text that a thread detached from Python does.
#[derive(Clone, Copy)]
pub struct TokenWork<'a> {
    loaded: &'a Loaded,
    pub options: &'a EncodeOptions,
    sampling: Option<SampleOptions>,
    makes_messages: bool,
}

impl<'a> TokenWork<'a> {
    pub fn new(loaded: &'a Loaded, call: &'a EncodeCall<'_>) -> TokenWork<'a> {
        TokenWork {
            loaded,
            options: &call.options,
            sampling: call.sampling,
            makes_messages: is_message(call.return_type),
        }
    }

    /// The tokens of a text, or its message.
    fn encode(
        &self,
        encoder: &mut Encoder<'_>,
        text: &[u8],
        seed: u64,
    ) -> Result<OwnedTokens, EncodeError> {
        let tokens = match &self.sampling {
            None => encoder.tokens(text),
            Some(options) => encoder.sample(text, options, &mut Rng::with_seed(seed))?,
        };
        Ok(self.owned(tokens, None))
    }

    /// The tokens as owned data, or their message, with the score of a list of segmentations.
    pub fn owned(&self, tokens: Tokens<'_>, score: Option<f32>) -> OwnedTokens {
        if self.makes_messages {
            return OwnedTokens::of_message(tokens.to_message(score));
        }
        OwnedTokens::new(self.loaded, tokens)
    }

    /// The tokens of all texts, on this thread.
    fn encode_alone(&self, texts: &[&[u8]], seed: u64) -> Result<Vec<OwnedTokens>, EncodeError> {
        let mut encoder = self.loaded.tokenizer.encoder_with(self.options)?;
        let texts = texts.iter().enumerate();
        texts
            .map(|(number, text)| self.encode(&mut encoder, text, random::nth(seed, number)))
            .collect()
    }

    /// The tokens of all texts, on the threads of the current pool.
    fn encode_all(&self, texts: &[&[u8]], seed: u64) -> Result<Vec<OwnedTokens>, EncodeError> {
        let encoder = || self.loaded.tokenizer.encoder_with(self.options);
        let texts = texts.par_iter().enumerate();
        texts
            .map_init(encoder, |encoder, (number, text)| {
                let encoder = encoder.as_mut().map_err(|error| error.clone())?;
                self.encode(encoder, text, random::nth(seed, number))
            })
            .collect()
    }
}

/// Whether results are built from the reference's protobuf message.
pub fn is_message(return_type: ReturnType) -> bool {
    use ReturnType::{ImmutableProto, Proto, SerializedProto};
    matches!(return_type, Proto | SerializedProto | ImmutableProto)
}

/// The ids with the changes that the keywords request.
pub fn rewritten(loaded: &Loaded, mut ids: Vec<PieceId>, rewrite: Rewrite) -> Vec<PieceId> {
    if rewrite.reverse {
        ids.reverse();
    }
    if let Some(bos) = loaded.tokenizer.bos_id().filter(|_| rewrite.bos) {
        ids.insert(0, bos);
    }
    if let Some(eos) = loaded.tokenizer.eos_id().filter(|_| rewrite.eos) {
        ids.push(eos);
    }
    ids
}

/// The result of a call for which ids suffice; `None` if tokens are needed, because pieces are
/// requested and one of them is unknown.
fn plain_object<'py>(
    py: Python<'py>,
    loaded: &Loaded,
    ids: Vec<PieceId>,
    call: &EncodeCall<'_>,
) -> Option<PyResult<Bound<'py, PyAny>>> {
    if call.return_type != ReturnType::Str {
        return Some(ids_object(
            py,
            loaded,
            rewritten(loaded, ids, call.rewrite),
            call,
        ));
    }
    if loaded.has_unknown(&ids) && !call.rewrite.unk_piece {
        return None;
    }
    let list = loaded.string_list(py, &rewritten(loaded, ids, call.rewrite))?;
    Some(list.map(Bound::into_any))
}

/// Ids as a list or as an array of NumPy.
pub fn ids_object<'py>(
    py: Python<'py>,
    loaded: &Loaded,
    ids: Vec<PieceId>,
    call: &EncodeCall<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    match call.return_type {
        ReturnType::Numpy => numpy_array(py, ids),
        _ => Ok(loaded.list(py, &ids)?.into_any()),
    }
}

/// A read-only array of NumPy on the memory of `ids`.
pub fn numpy_array(py: Python<'_>, ids: Vec<PieceId>) -> PyResult<Bound<'_, PyAny>> {
    let buffer = VectorBuffer::of_i32(ids.into_iter().map(signed).collect());
    let convert = py.import("spiece._convert")?;
    convert.call_method1(pyo3::intern!(py, "int32_array"), (buffer,))
}

/// The result of a call, built from the tokens of `text`.
pub fn tokens_object<'py>(
    py: Python<'py>,
    loaded: &Loaded,
    tokens: OwnedTokens,
    text: Text<'_>,
    call: &EncodeCall<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    match call.return_type {
        ReturnType::Ids | ReturnType::Numpy => ids_object(
            py,
            loaded,
            rewritten(loaded, tokens.ids, call.rewrite),
            call,
        ),
        ReturnType::Str => Ok(tokens.pieces(py, loaded, call.rewrite, false)?.into_any()),
        ReturnType::Bytes => Ok(tokens.pieces(py, loaded, call.rewrite, true)?.into_any()),
        ReturnType::OffsetMapping => {
            let is_bytes = call.return_bytes.unwrap_or(text.is_bytes);
            Ok(tokens.mapping(py, loaded, text.bytes, is_bytes)?.into_any())
        }
        _ => message_object(py, &tokens.message, call.return_type),
    }
}

/// A message of the reference as bytes, or as an object of one of its classes.
pub fn message_object<'py>(
    py: Python<'py>,
    message: &[u8],
    return_type: ReturnType,
) -> PyResult<Bound<'py, PyAny>> {
    let bytes = PyBytes::new(py, message);
    let function = match return_type {
        ReturnType::Proto => "text_message",
        ReturnType::ImmutableProto => "immutable_text",
        _ => return Ok(bytes.into_any()),
    };
    py.import("spiece._convert")?
        .call_method1(function, (bytes,))
}

/// Encodes a list of texts.
fn encode_batch<'py>(
    py: Python<'py>,
    loaded: &Arc<Loaded>,
    list: &Bound<'py, PyList>,
    call: &EncodeCall<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let held = HeldTexts::of(list.as_any())?;
    if !held.texts().is_empty() {
        call.check(py, loaded)?;
    }
    let threads = batch_threads(
        call.num_threads,
        call.thread_pool.as_ref(),
        held.texts().len(),
    )?;
    if call.gives_plain_ids() {
        let (ids, offsets) = encode_flat(py, loaded, &held, threads)?;
        return objects_of_flat(py, loaded, &held, (&ids, &offsets), call);
    }
    let _paused = PausedCollector::new(py, held.texts().len())?;
    let seed = random::next_seed();
    let results = PyList::empty(py);
    for (number, texts) in held.texts().chunks(MAX_CHUNK_TEXTS).enumerate() {
        let seed = random::nth(seed, number);
        let tokens = chunk_tokens(py, TokenWork::new(loaded, call), texts, threads, seed)?;
        for (tokens, text) in tokens.into_iter().zip(texts) {
            let text = Text {
                bytes: text,
                is_bytes: held.is_bytes,
            };
            results.append(tokens_object(py, loaded, tokens, text, call)?)?;
        }
    }
    Ok(results.into_any())
}

/// The ids of all texts in one vector, and the offset of each text in it.
pub fn encode_flat(
    py: Python<'_>,
    loaded: &Loaded,
    held: &HeldTexts,
    threads: usize,
) -> PyResult<(Vec<PieceId>, Vec<usize>)> {
    let texts = held.texts();
    let tokenizer = &loaded.tokenizer;
    if threads <= 1 {
        return Ok(py.detach(|| {
            let mut encoder = tokenizer.encoder();
            let mut ids = Vec::new();
            let mut offsets = Vec::with_capacity(texts.len() + 1);
            offsets.push(0);
            for text in texts {
                encoder.encode_into(text, &mut ids);
                offsets.push(ids.len());
            }
            (ids, offsets)
        }));
    }
    let pool = pool(threads)?;
    let options = EncodeOptions::default();
    let flat = py.detach(|| pool.install(|| tokenizer.encode_batch_flat(texts, &options)));
    flat.map_err(|error| errors::of_encode(py, &error))
}

/// A list or an array for each text.
fn objects_of_flat<'py>(
    py: Python<'py>,
    loaded: &Loaded,
    held: &HeldTexts,
    (ids, offsets): (&[PieceId], &[usize]),
    call: &EncodeCall<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let _paused = PausedCollector::new(py, offsets.len())?;
    let is_plain = call.rewrite == Rewrite::default() && call.return_type == ReturnType::Ids;
    let mut lists = Vec::with_capacity(offsets.len());
    for (range, text) in offsets.windows(2).zip(held.texts()) {
        let ids = &ids[range[0]..range[1]];
        if is_plain {
            lists.push(loaded.list(py, ids)?.into_any());
            continue;
        }
        lists.push(match plain_object(py, loaded, ids.to_vec(), call) {
            Some(object) => object?,
            None => {
                let text = Text {
                    bytes: text,
                    is_bytes: held.is_bytes,
                };
                encode_tokens(py, loaded, text, call)?
            }
        });
    }
    Ok(PyList::new(py, lists)?.into_any())
}

/// The tokens of some texts of a batch.
fn chunk_tokens(
    py: Python<'_>,
    work: TokenWork<'_>,
    texts: &[&[u8]],
    threads: usize,
    seed: u64,
) -> PyResult<Vec<OwnedTokens>> {
    let tokens = if threads <= 1 {
        py.detach(|| work.encode_alone(texts, seed))
    } else {
        let pool = pool(threads)?;
        py.detach(|| pool.install(|| work.encode_all(texts, seed)))
    };
    tokens.map_err(|error| errors::of_encode(py, &error))
}
