//! `Encode` of the drop-in: from arguments of Python to results of every type.
//!
//! Input: one text, or a list of texts, and [`EncodeCall`]. Output: lists of ids or pieces, buffers, messages, mappings.
//!
//! Batches have three steps: the texts are taken while this thread is attached to the interpreter (they are not copied),
//! encoded while other threads of Python run, and turned into objects while it is attached again.

use std::sync::Arc;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use rayon::prelude::*;
use spiece::{
    EncodeError, EncodeOptions, Encoder, ExtraOption, PieceId, Rng, SampleOptions, Tokens,
};

use crate::arguments::{Arguments, ReturnType, is_old_order, to_bool, to_f32, to_i32, to_threads};
use crate::buffer::VectorBuffer;
use crate::errors;
use crate::loaded::{Loaded, PausedCollector, detached_if, is_long, signed};
use crate::pool::{batch_threads, pool};
use crate::random;
use crate::settings::{Settings, nbest_timeout};
use crate::text::{HeldText, HeldTexts, Text};
use crate::tokens::{OwnedTokens, Rewrite};

/// The parameters of `Encode`, without the input.
const NAMES: [&str; 12] = [
    "add_bos",
    "add_eos",
    "reverse",
    "emit_unk_piece",
    "enable_sampling",
    "nbest_size",
    "alpha",
    "num_threads",
    "thread_pool",
    "return_type",
    "out_type",
    "return_bytes",
];

/// Their order until 0.2.1.
const OLD_ORDER: [&str; 9] = [
    "out_type",
    "add_bos",
    "add_eos",
    "reverse",
    "emit_unk_piece",
    "enable_sampling",
    "nbest_size",
    "alpha",
    "num_threads",
];

/// Texts whose tokens are made before their objects: few enough that the tokens are still in the processor's cache.
const MAX_CHUNK_TEXTS: usize = 1024;

/// What one call asks for.
pub struct EncodeCall<'py> {
    pub return_type: ReturnType,
    pub rewrite: Rewrite,
    pub sampling: Option<SampleOptions>,
    pub num_threads: i64,
    pub thread_pool: Option<Bound<'py, PyAny>>,
    pub return_bytes: Option<bool>,
    /// How the library's encoder is made.
    pub options: EncodeOptions,
}

/// What the keywords of a call replace.
#[derive(Default)]
pub struct Forced {
    pub return_type: Option<ReturnType>,
    pub samples: bool,
}

impl<'py> EncodeCall<'py> {
    /// The call with these arguments; those that are missing come from `settings`.
    pub fn new(
        py: Python<'py>,
        loaded: &Loaded,
        settings: &Settings,
        arguments: &Arguments<'py, 12>,
        forced: &Forced,
    ) -> PyResult<EncodeCall<'py>> {
        let return_type = match forced.return_type {
            Some(return_type) => return_type,
            None => arguments.return_type(settings.return_type(py)?)?,
        };
        let return_bytes = arguments.get("return_bytes").map(to_bool).transpose()?;
        if return_bytes.is_some() && return_type != ReturnType::OffsetMapping {
            return Err(PyValueError::new_err(
                "return_bytes is only supported when return_type='offset_mapping'",
            ));
        }
        let values = Values {
            py,
            settings,
            arguments,
        };
        let rewrite = values.rewrite()?;
        let call = EncodeCall {
            return_type,
            rewrite,
            sampling: values.sampling(loaded, forced.samples)?,
            num_threads: to_threads(values.get(place::NUM_THREADS).as_ref())?,
            thread_pool: arguments.get("thread_pool").cloned(),
            return_bytes,
            options: EncodeOptions::default()
                .with_extra(settings.encode_extra.iter().copied())
                .with_nbest_timeout(nbest_timeout()),
        };
        Ok(call)
    }

    /// Checks that the model has the pieces that the keywords ask for, and that they go with the result type.
    pub fn check(&self, py: Python<'_>, loaded: &Loaded) -> PyResult<()> {
        check_rewrite(py, loaded, self.rewrite, self.return_type)
    }

    /// Whether the ids of plain encoding are the result, or decide it: perhaps with pieces before and after, and as
    /// pieces if none of them is unknown.
    fn gives_plain_ids(&self) -> bool {
        use ReturnType::{Ids, Numpy, Str};
        matches!(self.return_type, Ids | Numpy | Str)
            && self.sampling.is_none()
            && self.options.extra.is_empty()
    }
}

/// Arguments over settings.
struct Values<'a, 'py> {
    py: Python<'py>,
    settings: &'a Settings,
    arguments: &'a Arguments<'py, 12>,
}

/// The places of parameters in [`NAMES`]. A setting has the next higher place in the list of settings, which begins with
/// the result type.
mod place {
    pub(super) const ADD_BOS: usize = 0;
    pub(super) const ADD_EOS: usize = 1;
    pub(super) const REVERSE: usize = 2;
    pub(super) const EMIT_UNK_PIECE: usize = 3;
    pub(super) const ENABLE_SAMPLING: usize = 4;
    pub(super) const NBEST_SIZE: usize = 5;
    pub(super) const ALPHA: usize = 6;
    pub(super) const NUM_THREADS: usize = 7;
}

impl<'py> Values<'_, 'py> {
    fn get(&self, place: usize) -> Option<Bound<'py, PyAny>> {
        let given = self.arguments.at(place).cloned();
        let setting = || self.settings.get_at(self.py, place + 1);
        given.or_else(setting).filter(|value| !value.is_none())
    }

    fn flag(&self, place: usize) -> PyResult<bool> {
        self.get(place).as_ref().map_or(Ok(false), to_bool)
    }

    fn rewrite(&self) -> PyResult<Rewrite> {
        Ok(Rewrite {
            bos: self.flag(place::ADD_BOS)?,
            eos: self.flag(place::ADD_EOS)?,
            reverse: self.flag(place::REVERSE)?,
            unk_piece: self.flag(place::EMIT_UNK_PIECE)?,
        })
    }

    fn sampling(&self, loaded: &Loaded, is_forced: bool) -> PyResult<Option<SampleOptions>> {
        let samples = is_forced || self.flag(place::ENABLE_SAMPLING)?;
        let is_given = |place| self.arguments.at(place).is_some();
        if !samples && !is_given(place::NBEST_SIZE) && !is_given(place::ALPHA) {
            return Ok(None);
        }
        let size = self
            .get(place::NBEST_SIZE)
            .as_ref()
            .map(to_i32)
            .transpose()?;
        let alpha = self.get(place::ALPHA).as_ref().map(to_f32).transpose()?;
        if !samples {
            return Ok(None);
        }
        match (size, alpha) {
            (Some(size), Some(alpha)) if size != 0 && size != 1 => {
                let model_type = loaded.tokenizer.model().model_type();
                let options = SampleOptions::from_reference(model_type, size, alpha);
                options
                    .map(Some)
                    .map_err(|error| errors::of_encode(self.py, &error))
            }
            _ => Err(PyValueError::new_err(
                "sampling needs \"nbest_size > 1\" (draw one of so many segmentations) or \"nbest_size = -1\" (draw \
                 from all of them), and \"alpha\". Only unigram models use nbest_size; BPE models skip merges with \
                 the probability alpha.",
            )),
        }
    }
}

/// Checks that the model has the pieces that the keywords ask for.
fn check_rewrite(
    py: Python<'_>,
    loaded: &Loaded,
    rewrite: Rewrite,
    return_type: ReturnType,
) -> PyResult<()> {
    use ReturnType::{Bytes, ImmutableProto, OffsetMapping, Proto, SerializedProto, Str};
    if rewrite == Rewrite::default() {
        return Ok(());
    }
    if matches!(
        return_type,
        Proto | SerializedProto | ImmutableProto | OffsetMapping
    ) {
        return Err(PyRuntimeError::new_err(
            "UNIMPLEMENTED: add_bos, add_eos, reverse and emit_unk_piece are not supported in results with spans",
        ));
    }
    let missing = |what: &str| {
        let message = format!("INVALID_ARGUMENT: the model has no {what} piece");
        Err(errors::exception(py, "OptionValueError", (message,)))
    };
    let tokenizer = &loaded.tokenizer;
    if rewrite.bos && tokenizer.bos_id().is_none() {
        return missing("BOS");
    }
    if rewrite.eos && tokenizer.eos_id().is_none() {
        return missing("EOS");
    }
    let needs_unk = rewrite.unk_piece && matches!(return_type, Str | Bytes);
    if needs_unk && tokenizer.unk_id().is_none() {
        return missing("UNK");
    }
    Ok(())
}

/// The arguments of `Encode`, in the order of either generation.
pub fn parse<'py>(
    function: &str,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Arguments<'py, 12>> {
    let order = if is_old_order(args) {
        &OLD_ORDER[..]
    } else {
        &NAMES[..]
    };
    Arguments::new(function, NAMES, order, args, kwargs)
}

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

/// What a thread without Python does with each text.
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
    fn encode_alone(&self, texts: &[HeldText], seed: u64) -> Result<Vec<OwnedTokens>, EncodeError> {
        let mut encoder = self.loaded.tokenizer.encoder_with(self.options)?;
        let texts = texts.iter().enumerate();
        texts
            .map(|(number, text)| {
                self.encode(&mut encoder, text.as_ref(), random::nth(seed, number))
            })
            .collect()
    }

    /// The tokens of all texts, on the threads of the current pool.
    fn encode_all(&self, texts: &[HeldText], seed: u64) -> Result<Vec<OwnedTokens>, EncodeError> {
        let encoder = || self.loaded.tokenizer.encoder_with(self.options);
        let texts = texts.par_iter().enumerate();
        texts
            .map_init(encoder, |encoder, (number, text)| {
                let encoder = encoder.as_mut().map_err(|error| error.clone())?;
                self.encode(encoder, text.as_ref(), random::nth(seed, number))
            })
            .collect()
    }
}

/// Whether results are made of the message of the reference.
pub fn is_message(return_type: ReturnType) -> bool {
    use ReturnType::{ImmutableProto, Proto, SerializedProto};
    matches!(return_type, Proto | SerializedProto | ImmutableProto)
}

/// The ids with the changes of the keywords.
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

/// The result of a call that the ids decide; `None` if it needs tokens, because pieces are wanted and one is unknown.
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

/// The result of a call, made of the tokens of `text`.
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
    if !held.texts.is_empty() {
        call.check(py, loaded)?;
    }
    let threads = batch_threads(
        call.num_threads,
        call.thread_pool.as_ref(),
        held.texts.len(),
    )?;
    if call.gives_plain_ids() {
        let (ids, offsets) = encode_flat(py, loaded, &held, threads)?;
        return objects_of_flat(py, loaded, &held, (&ids, &offsets), call);
    }
    let _paused = PausedCollector::new(py, held.texts.len())?;
    let seed = random::next_seed();
    let results = PyList::empty(py);
    for (number, texts) in held.texts.chunks(MAX_CHUNK_TEXTS).enumerate() {
        let seed = random::nth(seed, number);
        let tokens = chunk_tokens(py, TokenWork::new(loaded, call), texts, threads, seed)?;
        for (tokens, text) in tokens.into_iter().zip(texts) {
            let text = Text {
                bytes: text.as_ref(),
                is_bytes: held.is_bytes,
            };
            results.append(tokens_object(py, loaded, tokens, text, call)?)?;
        }
    }
    Ok(results.into_any())
}

/// The ids of all texts in one vector, and where those of each text begin.
pub fn encode_flat(
    py: Python<'_>,
    loaded: &Loaded,
    held: &HeldTexts,
    threads: usize,
) -> PyResult<(Vec<PieceId>, Vec<usize>)> {
    let texts = &held.texts;
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
    Ok(py.detach(|| pool.install(|| tokenizer.encode_batch_flat(texts))))
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
    for (range, text) in offsets.windows(2).zip(&held.texts) {
        let ids = &ids[range[0]..range[1]];
        if is_plain {
            lists.push(loaded.list(py, ids)?.into_any());
            continue;
        }
        lists.push(match plain_object(py, loaded, ids.to_vec(), call) {
            Some(object) => object?,
            None => {
                let text = Text {
                    bytes: text.as_ref(),
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
    texts: &[HeldText],
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

/// The extra options of a text such as `bos:eos`.
pub fn parse_extra(py: Python<'_>, loaded: &Loaded, options: &str) -> PyResult<Vec<ExtraOption>> {
    let parsed = ExtraOption::parse_list(options).map_err(|error| errors::of_encode(py, &error))?;
    let check = EncodeOptions::default().with_extra(parsed.iter().copied());
    let encoder = loaded.tokenizer.encoder_with(&check);
    encoder.map_err(|error| errors::exception(py, "EncodeError", (error.to_string(),)))?;
    Ok(parsed)
}
