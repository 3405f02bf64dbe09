//! `CoreBPE`: what the classes of `spiece/tiktoken` call, with the methods of tiktoken's class of
//! this name.
//!
//! Texts are `str`; one with a lone surrogate is a `UnicodeEncodeError`, after which the callers
//! repair it. Exceptions are of the classes that tiktoken raises; where it panics, because a byte
//! is no token or two tokens have one id, this is a `ValueError`.
//!
//! The methods whose names begin with `_` and are not tiktoken's spare the callers work in Python:
//! the search for special tokens that are not allowed, and batches on several threads.

mod unstable;

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use pyo3::exceptions::{PyKeyError, PySystemError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBytes, PyDict, PyList};
use spiece::byte_bpe::{ByteBpe, ByteToken, SpecialToken};
use spiece::{DecodeError, EncodeError, EncodeOptions, Pattern, PieceId, Pretokenizer};

use crate::buffer::{VectorBuffer, append_exact_ints};
use crate::byte_level;
use crate::errors;
use crate::loaded::{Loaded, PausedCollector, detached_if, is_long};
use crate::pool::{pool, resolve_threads};

/// Encodes and decodes with a byte-level vocabulary.
#[pyclass(module = "spiece.tiktoken._tiktoken", name = "CoreBPE", frozen)]
pub struct CoreBpe {
    loaded: Arc<Loaded>,
    /// The ids of special tokens that are not the ids of other tokens, too.
    special_ids: HashSet<PieceId>,
    /// Ids from this one on stand for bytes that are no token.
    first_missing: Option<PieceId>,
    /// The tokens that are not special, in the order of their bytes; made by the first call that
    /// needs it.
    sorted: OnceLock<Vec<PieceId>>,
}

/// The names of special tokens that a call allows.
type Allowed = HashSet<PyBackedStr>;

#[pymethods]
impl CoreBpe {
    #[new]
    fn new(
        py: Python<'_>,
        encoder: &Bound<'_, PyDict>,
        special_tokens_encoder: &Bound<'_, PyDict>,
        pattern: &str,
    ) -> PyResult<CoreBpe> {
        let tokens = byte_level::tokens(encoder)?;
        let special = byte_level::special_tokens(special_tokens_encoder)?;
        let core = py.detach(|| CoreBpe::of_tokens(tokens, special, pattern));
        core.map_err(PyValueError::new_err)
    }

    /// The ids of a text without special tokens.
    fn encode_ordinary<'py>(&self, py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyList>> {
        if self.first_missing.is_some() {
            let ids = self.loaded.encode(py, text.as_bytes());
            return self.list(py, &ids);
        }
        self.loaded.encode_to_list(py, text.as_bytes())
    }

    /// The ids of a text, in which these special tokens are found.
    fn encode<'py>(
        &self,
        py: Python<'py>,
        text: &str,
        allowed_special: Allowed,
    ) -> PyResult<Bound<'py, PyList>> {
        if allowed_special.is_empty() {
            return self.encode_ordinary(py, text);
        }
        self.list(py, &self.ids_with(py, text, &allowed_special)?)
    }

    /// Like `encode`, as an array of 32 bits.
    fn encode_to_tiktoken_buffer(
        &self,
        py: Python<'_>,
        text: &str,
        allowed_special: Allowed,
    ) -> PyResult<VectorBuffer> {
        let ids = self.ids_with(py, text, &allowed_special)?;
        self.check(&ids)?;
        Ok(VectorBuffer::of_u32(
            ids.into_iter().map(PieceId::get).collect(),
        ))
    }

    /// The ids of bytes that need not be UTF-8.
    fn _encode_bytes<'py>(&self, py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyList>> {
        if let Ok(text) = std::str::from_utf8(bytes) {
            return self.encode_ordinary(py, text);
        }
        let bpe = self.bpe()?;
        let ids = detached_if(py, is_long(bytes), || {
            unstable::encode_bytes(self, bpe, bytes)
        });
        let ids = ids.map_err(|error| PyValueError::new_err(error.to_string()))?;
        self.list(py, &ids)
    }

    /// The ids of a text up to where they are certain, and the ids of the rest with what can follow
    /// it.
    fn encode_with_unstable<'py>(
        &self,
        py: Python<'py>,
        text: &str,
        allowed_special: Allowed,
    ) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyList>)> {
        let bpe = self.bpe()?;
        let special = self.names(&allowed_special);
        let encoded = py.detach(|| unstable::encode_with_completions(self, bpe, text, special));
        let (ids, completions) =
            encoded.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let lists = completions.iter().map(|ids| self.list(py, ids));
        let lists = lists.collect::<PyResult<Vec<_>>>()?;
        Ok((self.list(py, &ids)?, PyList::new(py, lists)?))
    }

    /// The id of a token, or of a special one.
    fn encode_single_token(&self, py: Python<'_>, piece: &[u8]) -> PyResult<u32> {
        let tokenizer = &self.loaded.tokenizer;
        let mut id = tokenizer.piece_to_id(piece);
        if id.is_some_and(|id| self.is_missing(id)) {
            let mut special = tokenizer.special_tokens();
            id = special.find(|(_, text)| *text == piece).map(|(id, _)| id);
        }
        id.map(PieceId::get)
            .ok_or_else(|| PyKeyError::new_err(PyBytes::new(py, piece).unbind()))
    }

    /// The ids of one pretoken.
    fn encode_single_piece<'py>(
        &self,
        py: Python<'py>,
        piece: &[u8],
    ) -> PyResult<Bound<'py, PyList>> {
        let ids = self.encode_pretoken(self.bpe()?, piece);
        self.list(py, &ids)
    }

    /// The bytes of ids.
    fn decode_bytes<'py>(&self, tokens: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let py = tokens.py();
        let ids = ids_of(tokens)?;
        let no_token =
            |id: PieceId| PyKeyError::new_err(format!("Invalid token for decoding: {}", id.get()));
        if let Some(id) = ids.iter().find(|id| self.is_missing(**id)) {
            return Err(no_token(*id));
        }
        let mut bytes = Vec::with_capacity(ids.len() * 4);
        let decode = || self.loaded.tokenizer.decode_into(&ids, &mut bytes);
        match detached_if(py, ids.len() > 4096, decode) {
            Ok(()) => Ok(PyBytes::new(py, &bytes)),
            Err(DecodeError::NoPiece { id, .. }) => Err(no_token(id)),
            Err(error) => Err(errors::of_decode(py, &error)),
        }
    }

    /// The bytes of a token, or of a special one.
    fn decode_single_token_bytes<'py>(
        &self,
        py: Python<'py>,
        token: u32,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let id = PieceId::new(token);
        let bytes = self.loaded.tokenizer.id_to_piece(id);
        let bytes = bytes.filter(|_| !self.is_missing(id));
        let bytes = bytes.ok_or_else(|| PyKeyError::new_err(token.to_string()))?;
        Ok(PyBytes::new(py, bytes))
    }

    /// The bytes of all tokens that are not special, in their order.
    fn token_byte_values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let bytes = self.sorted().iter().map(|id| self.bytes(*id));
        PyList::new(
            py,
            bytes
                .map(|bytes| PyBytes::new(py, bytes))
                .collect::<Vec<_>>(),
        )
    }

    /// The first special token of a text that is not allowed.
    fn _find_special(&self, text: &str, allowed_special: Allowed) -> PyResult<Option<String>> {
        let tokenizer = &self.loaded.tokenizer;
        let find = || -> Result<(), EncodeError> {
            let prepared = self.loaded.prepared(self.options(&allowed_special))?;
            tokenizer.encoder_of(&prepared)?.check_special(text)
        };
        match find() {
            Ok(()) => Ok(None),
            Err(EncodeError::RefusedSpecial { piece, .. }) => Ok(Some(piece)),
            Err(error) => Err(PyValueError::new_err(error.to_string())),
        }
    }

    /// The ids of each text; if `refuses` is true, none has a special token that is not allowed.
    fn _encode_batch<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<PyBackedStr>,
        num_threads: i64,
        allowed_special: Allowed,
        refuses: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let options = self.options(&allowed_special).with_refuses_special(refuses);
        let threads = resolve_threads(num_threads).min(resolve_threads(-1));
        let pool = pool(threads.min(texts.len().max(1)))?;
        let tokenizer = &self.loaded.tokenizer;
        let flat = py.detach(|| pool.install(|| tokenizer.encode_batch_flat(&texts, &options)));
        let (ids, offsets) = flat.map_err(|error| PyValueError::new_err(error.to_string()))?;
        self.check(&ids)?;
        let _paused = PausedCollector::new(py, offsets.len())?;
        let ranges = offsets.windows(2).map(|range| &ids[range[0]..range[1]]);
        let lists = ranges.map(|ids| self.loaded.list(py, ids));
        PyList::new(py, lists.collect::<PyResult<Vec<_>>>()?)
    }
}

impl CoreBpe {
    /// # Errors
    /// The message for a pattern or for tokens that cannot be used.
    fn of_tokens(
        mut tokens: Vec<ByteToken>,
        special: Vec<SpecialToken>,
        pattern: &str,
    ) -> Result<CoreBpe, String> {
        let pattern = Pattern::new(pattern).map_err(|error| error.to_string())?;
        let has_id = |id: u32| tokens.binary_search_by_key(&id, |token| token.id).is_ok();
        let special_ids = special.iter().filter(|token| !has_id(token.id));
        let special_ids = special_ids.map(|token| PieceId::new(token.id)).collect();
        // The library needs a token for each byte.
        let mut missing: HashSet<u8> = (0..=u8::MAX).collect();
        for token in &tokens {
            if let [byte] = *token.bytes {
                missing.remove(&byte);
            }
        }
        let ids = tokens.iter().map(|token| token.id);
        let highest = ids.chain(special.iter().map(|token| token.id)).max();
        let first_missing = highest.map_or(0, |id| id.saturating_add(1));
        for (id, byte) in (first_missing..).zip(&missing) {
            let bytes = [*byte].into();
            tokens.push(ByteToken { bytes, id });
        }
        let tokenizer = byte_level::tokenizer(tokens, special, Pretokenizer::of(pattern));
        let tokenizer = tokenizer.map_err(|error| error.to_string())?;
        Ok(CoreBpe {
            loaded: Arc::new(Loaded::new(tokenizer)),
            special_ids,
            first_missing: (!missing.is_empty()).then(|| PieceId::new(first_missing)),
            sorted: OnceLock::new(),
        })
    }

    fn bpe(&self) -> PyResult<&ByteBpe> {
        let bpe = self.loaded.tokenizer.byte_bpe();
        bpe.ok_or_else(|| PySystemError::new_err("the tokenizer is not byte-level"))
    }

    /// Whether an id stands for a byte that is no token.
    fn is_missing(&self, id: PieceId) -> bool {
        self.first_missing.is_some_and(|first| id >= first)
    }

    /// # Errors
    /// A text has a byte that is no token.
    fn check(&self, ids: &[PieceId]) -> PyResult<()> {
        if self.first_missing.is_none() {
            return Ok(());
        }
        match ids.iter().find(|id| self.is_missing(**id)) {
            None => Ok(()),
            Some(id) => Err(PyValueError::new_err(format!(
                "mergeable_ranks: no token is the byte {:?} of the text; add a token for each of the 256 bytes",
                self.bytes(*id).escape_ascii().to_string()
            ))),
        }
    }

    /// A list of ids.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    fn list<'py>(&self, py: Python<'py>, ids: &[PieceId]) -> PyResult<Bound<'py, PyList>> {
        self.check(ids)?;
        self.loaded.list(py, ids)
    }

    /// The bytes of a token.
    fn bytes(&self, id: PieceId) -> &[u8] {
        let bytes = self.loaded.tokenizer.id_to_piece(id);
        bytes.unwrap_or_default()
    }

    /// The tokens that are not special, in the order of their bytes.
    fn sorted(&self) -> &[PieceId] {
        self.sorted.get_or_init(|| {
            let ids = (0..).take(self.loaded.tokenizer.vocab_size());
            let mut ids: Vec<PieceId> = ids.map(PieceId::new).collect();
            ids.retain(|id| {
                let is_token = !self.special_ids.contains(id) && !self.is_missing(*id);
                is_token && !self.bytes(*id).is_empty()
            });
            ids.sort_unstable_by_key(|id| self.bytes(*id));
            ids
        })
    }

    /// The special tokens among these names, in a certain order.
    fn names(&self, allowed: &Allowed) -> Vec<String> {
        let special = self.loaded.tokenizer.special_tokens();
        let texts = special.filter_map(|(_, text)| std::str::from_utf8(text).ok());
        let allowed = texts.filter(|text| allowed.contains(*text));
        allowed.map(ToOwned::to_owned).collect()
    }

    /// The options of a call that allows these special tokens, and refuses all others.
    fn options(&self, allowed: &Allowed) -> EncodeOptions {
        EncodeOptions::default()
            .with_allowed_special(self.names(allowed))
            .with_refuses_special(true)
    }

    /// The ids of a text, in which these special tokens are found.
    fn ids_with(&self, py: Python<'_>, text: &str, allowed: &Allowed) -> PyResult<Vec<PieceId>> {
        let tokenizer = &self.loaded.tokenizer;
        let encode = || -> Result<Vec<PieceId>, EncodeError> {
            let options = self.options(allowed).with_refuses_special(false);
            let prepared = self.loaded.prepared(options)?;
            Ok(tokenizer.encoder_of(&prepared)?.encode(text).to_vec())
        };
        let ids = detached_if(py, is_long(text.as_bytes()), encode);
        ids.map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

/// The ids in a sequence of integers.
///
/// # Errors
/// `TypeError`; `OverflowError` for integers that are negative or too large.
fn ids_of(tokens: &Bound<'_, PyAny>) -> PyResult<Vec<PieceId>> {
    let mut numbers = Vec::new();
    if let Ok(list) = tokens.cast::<PyList>()
        && append_exact_ints(list, &mut numbers)
    {
        let ids = numbers.iter().map(|number| u32::try_from(*number).ok());
        if let Some(ids) = ids.map(|id| id.map(PieceId::new)).collect() {
            return Ok(ids);
        }
    }
    let ids: Vec<u32> = tokens.extract()?;
    Ok(ids.into_iter().map(PieceId::new).collect())
}
