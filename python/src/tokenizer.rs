//! `spiece.Tokenizer`: the modern interface. Results are lists of integers, or arrays without
//! copies: a *ragged batch* is two arrays, the ids of all texts and the offset of each text in
//! them.

mod length;
mod ragged;
mod segments;
mod stream;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyType};
use spiece::formats::ByteFormatOptions;
use spiece::{
    EncodeError, EncodeOptions, Model, ModelType, PieceId, Rng, SampleOptions, Tokenizer,
};

pub use self::length::{padding_dict, truncation_dict};
pub use self::ragged::threads_or_all;
use self::ragged::{RaggedArrays, arrow_offsets, id_array, ragged_arrays, ragged_numbers, to_i64};
pub use self::segments::EncodeStream;
pub use self::stream::DecodeStream;
use crate::arguments::{to_finite, to_int_in};
use crate::buffer::VectorBuffer;
use crate::byte_level;
use crate::errors;
use crate::ids::{self, RaggedNumbers};
use crate::loaded::{Loaded, PausedCollector, detached_if, is_long};
use crate::pool::pool;
use crate::random;
use crate::text::{CharPositions, Text, to_str};
use crate::tokens::Rewrite;

/// Encodes and decodes with a model. It does not change, and any number of threads can use it.
///
/// >>> tokenizer = Tokenizer.open(model_path)
/// >>> tokenizer.decode(tokenizer.encode("Hello world"))
/// 'Hello world'
#[pyclass(module = "spiece", name = "Tokenizer", frozen, subclass)]
pub struct PyTokenizer {
    pub loaded: Arc<Loaded>,
}

impl PyTokenizer {
    pub fn of(tokenizer: Tokenizer) -> PyTokenizer {
        PyTokenizer {
            loaded: Arc::new(Loaded::new(tokenizer)),
        }
    }
}

/// An instance of `class`, which is the native class or a subclass.
fn instance<'py>(
    class: &Bound<'py, PyType>,
    opened: Result<Tokenizer, spiece::OpenError>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = class.py();
    let tokenizer = opened.map_err(|error| errors::of_open(py, &error))?;
    let native = Bound::new(py, PyTokenizer::of(tokenizer))?;
    let native_class = py.get_type::<PyTokenizer>();
    native_class.call_method1("__new__", (class, native))
}

/// What a file of a vocabulary may lack.
fn format_options(
    py: Python<'_>,
    pattern: Option<&str>,
    special_tokens: Option<&Bound<'_, PyDict>>,
    lowercase: Option<bool>,
) -> PyResult<ByteFormatOptions> {
    let mut options = ByteFormatOptions::default();
    options.pretokenizer = pattern
        .map(|pattern| byte_level::pretokenizer(py, pattern))
        .transpose()?;
    options.special_tokens = special_tokens.map(byte_level::special_tokens).transpose()?;
    options.lowercase = lowercase;
    Ok(options)
}

#[pymethods]
impl PyTokenizer {
    /// A tokenizer that shares the model of another one; this is how instances of subclasses are
    /// made.
    #[new]
    fn new(other: &Bound<'_, PyTokenizer>) -> PyTokenizer {
        PyTokenizer {
            loaded: Arc::clone(&other.get().loaded),
        }
    }

    /// Reads a model file, with what some files lack.
    #[classmethod]
    fn _of_file<'py>(
        cls: &Bound<'py, PyType>,
        path: PathBuf,
        pattern: Option<&str>,
        special_tokens: Option<&Bound<'py, PyDict>>,
        lowercase: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = format_options(cls.py(), pattern, special_tokens, lowercase)?;
        let opened = cls.py().detach(|| Tokenizer::open_with(&path, &options));
        instance(cls, opened)
    }

    /// Reads the bytes of a model file.
    #[classmethod]
    fn _of_bytes<'py>(
        cls: &Bound<'py, PyType>,
        model: &Bound<'py, PyBytes>,
        pattern: Option<&str>,
        special_tokens: Option<&Bound<'py, PyDict>>,
        lowercase: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = format_options(cls.py(), pattern, special_tokens, lowercase)?;
        let bytes = model.as_bytes();
        let opened = cls
            .py()
            .detach(|| Tokenizer::from_bytes_with(bytes, &options));
        instance(cls, opened)
    }

    /// The tokenizer of byte strings with ranks.
    #[classmethod]
    fn _of_ranks<'py>(
        cls: &Bound<'py, PyType>,
        ranks: &Bound<'py, PyDict>,
        pattern: &str,
        special_tokens: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = cls.py();
        let pretokenizer = byte_level::pretokenizer(py, pattern)?;
        let tokens = byte_level::tokens(ranks)?;
        let special_tokens = byte_level::special_tokens(special_tokens)?;
        let made = py.detach(|| byte_level::tokenizer(tokens, special_tokens, pretokenizer));
        let tokenizer = made.map_err(|error| errors::refused(py, &error))?;
        instance(cls, Ok(tokenizer))
    }

    /// The bytes of the model file, or of the tokenizer.json of a byte-level vocabulary.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.loaded.tokenizer.to_bytes());
        let bytes = bytes.map_err(|error| errors::of_open(py, &error))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let bpe = slf.get().loaded.tokenizer.byte_bpe();
        if let Some(parts) = bpe.and_then(|bpe| byte_level::plain_parts(py, bpe).transpose()) {
            let of_ranks = slf.get_type().getattr("_of_ranks")?;
            return Ok((of_ranks, parts?).into_pyobject(py)?.into_any());
        }
        let from_bytes = slf.get_type().getattr("from_bytes")?;
        Ok((from_bytes, (slf.get().to_bytes(py)?,))
            .into_pyobject(py)?
            .into_any())
    }

    /// Tokenizers of equal models are equal.
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let other = other.cast::<PyTokenizer>();
        other.is_ok_and(|other| self.loaded.is_of_model(&other.get().loaded))
    }

    fn __hash__(&self) -> u64 {
        self.loaded.hash()
    }

    fn __repr__(&self) -> String {
        format!(
            "<spiece.Tokenizer: {} model with {} pieces>",
            self.model_type(),
            self.vocab_size()
        )
    }

    fn __len__(&self) -> usize {
        self.loaded.tokenizer.vocab_size()
    }

    /// The number of pieces. Ids are below it.
    #[getter]
    fn vocab_size(&self) -> usize {
        self.loaded.tokenizer.vocab_size()
    }

    /// The algorithm: 'bpe', 'unigram', 'word', 'char', 'byte_bpe', 'wordpiece' or 'word_level'.
    #[getter]
    fn model_type(&self) -> &'static str {
        self.loaded.tokenizer.model_type_name()
    }

    /// Whether there is a pipeline, as of a tokenizer.json, and not only a SentencePiece model.
    #[getter]
    fn _has_pipeline(&self) -> bool {
        self.loaded.tokenizer.pipeline().is_some()
    }

    /// Whether there is a SentencePiece model; a pipeline can be equal to one.
    #[getter]
    fn _has_model(&self) -> bool {
        self.loaded.tokenizer.model().is_some()
    }

    /// The id of the unknown piece, or None.
    #[getter]
    fn unk_id(&self) -> Option<u32> {
        self.loaded.tokenizer.unk_id().map(PieceId::get)
    }

    /// The id of the piece for the beginning of a text, or None.
    #[getter]
    fn bos_id(&self) -> Option<u32> {
        self.loaded.tokenizer.bos_id().map(PieceId::get)
    }

    /// The id of the piece for the end of a text, or None.
    #[getter]
    fn eos_id(&self) -> Option<u32> {
        self.loaded.tokenizer.eos_id().map(PieceId::get)
    }

    /// The id of the piece for padding, or None.
    #[getter]
    fn pad_id(&self) -> Option<u32> {
        self.loaded.tokenizer.pad_id().map(PieceId::get)
    }

    /// The special tokens of a byte-level vocabulary, or the control pieces: ids by texts.
    #[getter]
    fn special_tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let special = PyDict::new(py);
        for (id, text) in self.loaded.tokenizer.special_tokens() {
            special.set_item(String::from_utf8_lossy(text), id.get())?;
        }
        Ok(special)
    }

    /// How a tokenizer.json says that long texts are cut, or None; `post_process` does it.
    #[getter]
    fn truncation<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.truncation_of_file(py)
    }

    /// How a tokenizer.json says that short texts are filled up, or None; `post_process` does it.
    #[getter]
    fn padding<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.padding_of_file(py)
    }

    /// The ids of a text, as a list.
    ///
    /// `allowed_special` names control pieces or special tokens that the text may contain;
    /// `refuse_special=True` refuses a text with others, which are ordinary text otherwise;
    /// `user_defined_symbols=False` takes user-defined symbols in untrusted text as ordinary text.
    #[pyo3(signature = (text, *, add_bos=false, add_eos=false, allowed_special=None, refuse_special=false, user_defined_symbols=true))]
    fn encode<'py>(
        &self,
        text: &Bound<'py, PyAny>,
        add_bos: bool,
        add_eos: bool,
        allowed_special: Option<&Bound<'py, PyAny>>,
        refuse_special: bool,
        user_defined_symbols: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = text.py();
        let text = Text::of(text)?.bytes;
        let is_plain = !add_bos && !add_eos && !refuse_special && user_defined_symbols;
        if is_plain && allowed_special.is_none() {
            return self.loaded.encode_to_list(py, text);
        }
        let special = (allowed_special, refuse_special);
        let options = self.options((add_bos, add_eos), special, user_defined_symbols)?;
        let ids = self.with_options(py, text, options, |encoder| encoder.encode(text).to_vec())?;
        self.loaded.list(py, &ids)
    }

    /// The ids of each text, as a list of lists, made on `threads` threads (None: all cores).
    #[pyo3(signature = (texts, *, threads=None, add_bos=false, add_eos=false, allowed_special=None, refuse_special=false, user_defined_symbols=true))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn encode_batch<'py>(
        &self,
        texts: &Bound<'py, PyAny>,
        threads: Option<&Bound<'_, PyAny>>,
        add_bos: bool,
        add_eos: bool,
        allowed_special: Option<&Bound<'py, PyAny>>,
        refuse_special: bool,
        user_defined_symbols: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = texts.py();
        let special = (allowed_special, refuse_special);
        let options = self.options((add_bos, add_eos), special, user_defined_symbols)?;
        let (ids, offsets) = self.flat(texts, threads, &options)?;
        let _paused = PausedCollector::new(py, offsets.len())?;
        let mut lists = Vec::with_capacity(offsets.len());
        for range in offsets.windows(2) {
            lists.push(self.loaded.list(py, &ids[range[0]..range[1]])?);
        }
        PyList::new(py, lists)
    }

    /// The ids of all texts as two buffers: the ids (int32), and the offset of each text and the
    /// end (int64).
    #[pyo3(signature = (texts, *, threads=None, add_bos=false, add_eos=false, allowed_special=None, refuse_special=false, user_defined_symbols=true))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn _encode_ragged(
        &self,
        texts: &Bound<'_, PyAny>,
        threads: Option<&Bound<'_, PyAny>>,
        add_bos: bool,
        add_eos: bool,
        allowed_special: Option<&Bound<'_, PyAny>>,
        refuse_special: bool,
        user_defined_symbols: bool,
    ) -> PyResult<RaggedArrays> {
        let special = (allowed_special, refuse_special);
        let options = self.options((add_bos, add_eos), special, user_defined_symbols)?;
        let (ids, offsets) = self.flat(texts, threads, &options)?;
        Ok(ragged_arrays(ids, offsets))
    }

    /// Like `_encode_ragged`, for texts that are concatenated in `data`, as in Arrow: text `n` is
    /// `data[offsets[n]:offsets[n + 1]]`.
    fn _encode_arrow(
        &self,
        py: Python<'_>,
        data: pyo3::buffer::PyBuffer<u8>,
        offsets: &Bound<'_, PyAny>,
        threads: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<RaggedArrays> {
        let bytes = data.to_vec(py)?;
        let offsets = arrow_offsets(offsets, bytes.len())?;
        let texts: Vec<&[u8]> = offsets
            .windows(2)
            .map(|pair| &bytes[pair[0]..pair[1]])
            .collect();
        let tokenizer = &self.loaded.tokenizer;
        let pool = pool(threads_or_all(threads)?.min(texts.len().max(1)))?;
        let options = EncodeOptions::default();
        let flat = py.detach(|| pool.install(|| tokenizer.encode_batch_flat(&texts, &options)));
        let (ids, offsets) = flat.map_err(|error| errors::of_encode(py, &error))?;
        Ok(ragged_arrays(ids, offsets))
    }

    /// The number of ids of a text.
    fn count(&self, text: &Bound<'_, PyAny>) -> PyResult<usize> {
        let py = text.py();
        let text = Text::of(text)?.bytes;
        let tokenizer = &self.loaded.tokenizer;
        Ok(detached_if(py, is_long(text), || tokenizer.count(text)))
    }

    /// The number of ids of each text, as a buffer of int64.
    #[pyo3(signature = (texts, *, threads=None))]
    fn _count_batch(
        &self,
        texts: &Bound<'_, PyAny>,
        threads: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<VectorBuffer> {
        let (_, offsets) = self.flat(texts, threads, &EncodeOptions::default())?;
        let counts = offsets.windows(2).map(|range| to_i64(range[1] - range[0]));
        Ok(VectorBuffer::of_i64(counts.collect()))
    }

    /// The pieces of a text, as `str`.
    fn tokenize<'py>(&self, text: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let py = text.py();
        let text = Text::of(text)?.bytes;
        let tokens = detached_if(py, is_long(text), || self.tokens(text));
        tokens.pieces(py, &self.loaded, Rewrite::default(), false)
    }

    /// Ids (int32), and the begin and end of each token (int64), as buffers; the positions are in
    /// characters or in bytes.
    fn _encode_spans(
        &self,
        text: &Bound<'_, PyAny>,
        in_bytes: bool,
        allowed_special: Option<&Bound<'_, PyAny>>,
        refuse_special: bool,
    ) -> PyResult<(VectorBuffer, VectorBuffer, VectorBuffer)> {
        let py = text.py();
        let text = Text::of(text)?.bytes;
        let options = self.options((false, false), (allowed_special, refuse_special), true)?;
        self.with_options(py, text, options, |encoder| {
            let tokens = encoder.tokens(text);
            let mut positions = CharPositions::new(text);
            let mut at = |offset| {
                to_i64(if in_bytes {
                    offset
                } else {
                    positions.at(offset)
                })
            };
            let mut begins = Vec::with_capacity(tokens.len());
            let mut ends = Vec::with_capacity(tokens.len());
            for token in tokens.as_slice() {
                begins.push(at(token.begin));
                ends.push(at(token.end));
            }
            let ids = tokens.ids().collect();
            (
                id_array(ids),
                VectorBuffer::of_i64(begins),
                VectorBuffer::of_i64(ends),
            )
        })
    }

    /// The numbers of the parts that the pre-tokenizer made and that the tokens of a text belong to.
    /// `None` for tokens around the text, and for models without parts.
    #[pyo3(signature = (text, *, allowed_special=None, refuse_special=false, user_defined_symbols=true))]
    fn word_ids(
        &self,
        text: &Bound<'_, PyAny>,
        allowed_special: Option<&Bound<'_, PyAny>>,
        refuse_special: bool,
        user_defined_symbols: bool,
    ) -> PyResult<Vec<Option<u32>>> {
        let py = text.py();
        let text = Text::of(text)?.bytes;
        let special = (allowed_special, refuse_special);
        let options = self.options((false, false), special, user_defined_symbols)?;
        self.with_options(py, text, options, |encoder| {
            encoder
                .tokens(text)
                .iter()
                .map(|token| token.word())
                .collect()
        })
    }

    /// The ids of one text that is given in segments, each with its own special tokens.
    #[pyo3(signature = (segments, *, add_bos=false, add_eos=false, refuse_special=false))]
    fn encode_segments<'py>(
        &self,
        segments: &Bound<'py, PyAny>,
        add_bos: bool,
        add_eos: bool,
        refuse_special: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let options = self.options((add_bos, add_eos), (None, false), true)?;
        let ids = self.segment_ids(segments, options, refuse_special)?;
        self.loaded.list(segments.py(), &ids)
    }

    /// The ids of texts cut, in the template and filled up: for each text its ids, their types, the
    /// attention mask and the parts of the overflow.
    fn _post_process<'py>(
        &self,
        batch: &Bound<'py, PyAny>,
        add_special_tokens: bool,
        truncation: &Bound<'py, PyAny>,
        padding: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        self.finish(batch, add_special_tokens, truncation, padding)
    }

    /// An encoder of a text that grows at its end.
    #[pyo3(signature = (*, allowed_special=None, refuse_special=false, user_defined_symbols=true))]
    fn encode_stream(
        &self,
        py: Python<'_>,
        allowed_special: Option<&Bound<'_, PyAny>>,
        refuse_special: bool,
        user_defined_symbols: bool,
    ) -> PyResult<EncodeStream> {
        let special = (allowed_special, refuse_special);
        let options = self.options((false, false), special, user_defined_symbols)?;
        let encoder = self.loaded.tokenizer.appending_encoder(&options);
        Ok(EncodeStream {
            encoder: encoder.map_err(|error| errors::of_encode(py, &error))?,
            loaded: Arc::clone(&self.loaded),
        })
    }

    /// The text of ids. `errors` is that of `bytes.decode`, for ids whose bytes are not UTF-8.
    /// `skip_special_tokens=True` leaves out the text of special tokens.
    #[pyo3(signature = (ids, *, errors="replace", skip_special_tokens=false))]
    fn decode<'py>(
        &self,
        ids: &Bound<'py, PyAny>,
        errors: &str,
        skip_special_tokens: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = ids.py();
        if skip_special_tokens {
            if errors != "replace" {
                return Err(PyValueError::new_err(
                    "errors: with skip_special_tokens=True, only 'replace' is possible",
                ));
            }
            let ids = self.ids(ids)?;
            let tokenizer = &self.loaded.tokenizer;
            let text = detached_if(py, ids.len() > 4096, || {
                tokenizer.decode_without_special(&ids)
            });
            let text = text.map_err(|error| errors::of_decode(py, &error))?;
            return Ok(PyString::new(py, &text).into_any());
        }
        if errors != "replace" {
            return self
                .decode_bytes(ids)?
                .call_method1("decode", ("utf-8", errors));
        }
        let ids = self.ids(ids)?;
        let tokenizer = &self.loaded.tokenizer;
        let text = detached_if(py, ids.len() > 4096, || tokenizer.decode(&ids));
        let text = text.map_err(|error| errors::of_decode(py, &error))?;
        Ok(PyString::new(py, &text).into_any())
    }

    /// The bytes of ids.
    fn decode_bytes<'py>(&self, ids: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let py = ids.py();
        let ids = self.ids(ids)?;
        let tokenizer = &self.loaded.tokenizer;
        let bytes = detached_if(py, ids.len() > 4096, || tokenizer.decode_to_bytes(&ids));
        let bytes = bytes.map_err(|error| errors::of_decode(py, &error))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The text of each sequence of ids, or of each row of an array. `skip_special_tokens=True`
    /// leaves out the text of special tokens.
    #[pyo3(signature = (batch, *, threads=None, skip_special_tokens=false))]
    fn decode_batch<'py>(
        &self,
        batch: &Bound<'py, PyAny>,
        threads: Option<&Bound<'_, PyAny>>,
        skip_special_tokens: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let ragged = ragged_numbers(batch, self.vocab_size())?;
        self.decode_numbers(batch.py(), ragged, threads, skip_special_tokens)
    }

    /// The texts of a ragged batch.
    #[pyo3(signature = (ids, offsets, threads, skip_special_tokens))]
    fn _decode_ragged<'py>(
        &self,
        ids: &Bound<'py, PyAny>,
        offsets: &Bound<'py, PyAny>,
        threads: Option<&Bound<'_, PyAny>>,
        skip_special_tokens: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let mut numbers = Vec::new();
        ids::append(ids, &mut numbers)?;
        let ragged = RaggedNumbers {
            offsets: arrow_offsets(offsets, numbers.len())?,
            numbers,
        };
        self.decode_numbers(ids.py(), ragged, threads, skip_special_tokens)
    }

    /// A decoder that takes ids one by one. `skip_special_tokens=True` leaves out the text of special
    /// tokens.
    #[pyo3(signature = (*, skip_special_tokens=false))]
    fn decode_stream(&self, skip_special_tokens: bool) -> DecodeStream {
        let tokenizer = &self.loaded.tokenizer;
        DecodeStream {
            decoder: tokenizer.incremental_decoder(),
            left_out: match skip_special_tokens {
                true => tokenizer.special_ids(),
                false => HashSet::new(),
            },
            pieces: self.vocab_size(),
        }
    }

    /// The normalized text: what is split into pieces.
    fn normalize(&self, text: &Bound<'_, PyAny>) -> PyResult<String> {
        Ok(self.loaded.tokenizer.normalize(Text::of(text)?.bytes))
    }

    /// The text of a piece. For one that is not UTF-8, see `id_to_bytes`.
    fn id_to_piece<'py>(&self, id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
        let py = id.py();
        let bytes = self.piece_bytes(id)?;
        match self.loaded.tokenizer.byte_bpe() {
            Some(_) => Ok(PyString::new(py, &String::from_utf8_lossy(bytes))),
            None => to_str(py, bytes),
        }
    }

    /// The bytes of a piece.
    fn id_to_bytes<'py>(&self, id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(id.py(), self.piece_bytes(id)?))
    }

    /// The id of a piece, or None if the model has no such piece.
    fn piece_to_id(&self, piece: &Bound<'_, PyAny>) -> PyResult<Option<u32>> {
        let text = Text::of(piece)?;
        Ok(self
            .loaded
            .tokenizer
            .piece_to_id(text.bytes)
            .map(PieceId::get))
    }

    /// All pieces: a list of (text, score, kind).
    fn pieces<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let pieces = self.loaded.tokenizer.pieces();
        let rows = pieces.map(|piece| {
            let text = String::from_utf8_lossy(piece.text).into_owned();
            (text, piece.score, piece.kind.to_string())
        });
        PyList::new(py, rows.collect::<Vec<_>>())
    }

    /// The ids of a random segmentation, for subword regularization in training. Unigram models
    /// draw among the `nbest_size` best segmentations (-1: among all) with probabilities
    /// proportional to exp(alpha * score); BPE models skip each merge with the probability `alpha`.
    /// The same `seed` gives the same result.
    // PyO3 shows the default -1 as `...`.
    #[pyo3(
        signature = (text, *, alpha=None, nbest_size=None, seed=None),
        text_signature = "($self, text, *, alpha=0.1, nbest_size=-1, seed=None)"
    )]
    fn sample<'py>(
        &self,
        text: &Bound<'py, PyAny>,
        alpha: Option<&Bound<'py, PyAny>>,
        nbest_size: Option<&Bound<'py, PyAny>>,
        seed: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = text.py();
        let text = Text::of(text)?.bytes;
        let alpha = alpha.map_or(Ok(0.1), |alpha| to_finite("alpha", alpha))?;
        let nbest_size = match nbest_size {
            Some(size) => to_int_in("nbest_size", size, (-1, 512))?,
            None => -1,
        };
        let seed = match seed {
            Some(seed) => to_int_in("seed", seed, (0, u64::MAX))?,
            None => random::next_seed(),
        };
        let tokenizer = &self.loaded.tokenizer;
        let mut rng = Rng::with_seed(seed);
        let ids = py.detach(|| -> Result<Vec<PieceId>, EncodeError> {
            let model_type = tokenizer.model().map_or(ModelType::Bpe, Model::model_type);
            let options = SampleOptions::from_reference(model_type, nbest_size, alpha)?;
            let mut encoder = tokenizer.encoder();
            Ok(encoder.sample(text, &options, &mut rng)?.ids().collect())
        });
        let ids = ids.map_err(|error| errors::of_encode(py, &error))?;
        self.loaded.list(py, &ids)
    }

    /// The best segmentations of a unigram model, at most `size`: a list of (ids, score).
    #[pyo3(signature = (text, size))]
    fn nbest<'py>(
        &self,
        text: &Bound<'py, PyAny>,
        size: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = text.py();
        let size = to_int_in("size", size, (1, 512))?;
        let text = Text::of(text)?.bytes;
        let found = py.detach(|| self.loaded.tokenizer.encoder().nbest(text, size));
        let found = found.map_err(|error| errors::of_encode(py, &error))?;
        let mut results = Vec::with_capacity(found.len());
        for (ids, score) in found {
            results.push((self.loaded.list(py, &ids)?, score));
        }
        PyList::new(py, results)
    }
}
