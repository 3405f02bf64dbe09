//! Tokens of one text as owned data, and their forms in Python.
//!
//! Tokens of the library borrow from an encoder. A thread makes [`OwnedTokens`] of them without
//! Python, and from those come pieces, offset mappings and protobuf messages.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use spiece::{PieceId, PieceKind, Tokens};

use crate::loaded::Loaded;
use crate::spans;
use crate::text::{CharPositions, to_str};

/// The reference's keywords that change the result of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rewrite {
    pub bos: bool,
    pub eos: bool,
    pub reverse: bool,
    pub unk_piece: bool,
}

/// The tokens of a text.
#[derive(Default)]
pub struct OwnedTokens {
    pub ids: Vec<PieceId>,
    /// Begin and end of each token in bytes.
    spans: Vec<(usize, usize)>,
    /// The texts of tokens whose text differs from that of their piece, sorted by the index of the
    /// token.
    own_texts: Vec<(usize, Vec<u8>)>,
    /// The message of the reference, if it is requested instead of tokens.
    pub message: Vec<u8>,
}

impl OwnedTokens {
    /// A message instead of tokens.
    pub fn of_message(message: Vec<u8>) -> OwnedTokens {
        OwnedTokens {
            message,
            ..OwnedTokens::default()
        }
    }

    /// Copies ids, spans and the texts of unknown tokens.
    pub fn new(loaded: &Loaded, tokens: Tokens<'_>) -> OwnedTokens {
        let tokenizer = &loaded.tokenizer;
        let mut owned = OwnedTokens {
            ids: Vec::with_capacity(tokens.len()),
            spans: Vec::with_capacity(tokens.len()),
            ..OwnedTokens::default()
        };
        for (number, token) in tokens.iter().enumerate() {
            let span = token.span();
            owned.ids.push(token.id());
            owned.spans.push((span.start, span.end));
            let own = token.piece();
            // The texts of pieces are those of the model itself, not copies.
            let is_of_model = |piece: spiece::Piece<'_>| std::ptr::eq(piece.text, own);
            if !tokenizer.piece(token.id()).is_some_and(is_of_model) {
                owned.own_texts.push((number, own.to_vec()));
            }
        }
        owned
    }

    /// The text of a token whose text differs from that of its piece.
    fn own_text(&self, number: usize) -> Option<&[u8]> {
        if self.own_texts.is_empty() {
            return None;
        }
        let found = self.own_texts.binary_search_by_key(&number, |own| own.0);
        Some(&self.own_texts[found.ok()?].1)
    }

    /// The pieces as `str` or `bytes`, with the changes of the reference's keywords.
    pub fn pieces<'py>(
        &self,
        py: Python<'py>,
        loaded: &Loaded,
        rewrite: Rewrite,
        is_bytes: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        if !is_bytes
            && self.own_texts.is_empty()
            && rewrite == Rewrite::default()
            && let Some(list) = loaded.string_list(py, &self.ids)
        {
            return list;
        }
        let tokenizer = &loaded.tokenizer;
        let mut pieces = Vec::with_capacity(self.ids.len() + 2);
        for (number, id) in self.ids.iter().enumerate() {
            let own = self.own_text(number);
            let own = own.filter(|_| !(rewrite.unk_piece && is_unknown(loaded, *id)));
            pieces.push(piece_object(py, loaded, *id, own, is_bytes)?);
        }
        if rewrite.reverse {
            pieces.reverse();
        }
        if let Some(bos) = tokenizer.bos_id().filter(|_| rewrite.bos) {
            pieces.insert(0, piece_object(py, loaded, bos, None, is_bytes)?);
        }
        if let Some(eos) = tokenizer.eos_id().filter(|_| rewrite.eos) {
            pieces.push(piece_object(py, loaded, eos, None, is_bytes)?);
        }
        PyList::new(py, pieces)
    }

    /// The `dict` of ids, pieces and offsets, in characters or, for `is_bytes`, in bytes.
    pub fn mapping<'py>(
        &self,
        py: Python<'py>,
        loaded: &Loaded,
        text: &[u8],
        is_bytes: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let mapping = PyDict::new(py);
        mapping.set_item(pyo3::intern!(py, "ids"), loaded.list(py, &self.ids)?)?;
        let pieces = self.pieces(py, loaded, Rewrite::default(), is_bytes)?;
        mapping.set_item(pyo3::intern!(py, "pieces"), pieces)?;
        let offsets = offsets(py, &self.spans, (!is_bytes).then_some(text))?;
        mapping.set_item(pyo3::intern!(py, "offsets"), offsets)?;
        Ok(mapping)
    }
}

/// Pairs of positions; in characters of `text` if it is given.
pub fn offsets<'py>(
    py: Python<'py>,
    spans: &[(usize, usize)],
    text: Option<&[u8]>,
) -> PyResult<Bound<'py, PyList>> {
    let mut positions = CharPositions::new(text.unwrap_or_default());
    let mut at = |offset| match text {
        Some(_) => positions.at(offset),
        None => offset,
    };
    let mut pairs = Vec::with_capacity(spans.len());
    for (begin, end) in spans {
        let begin = at(*begin);
        pairs.push(spans::tuple(py, begin, at(*end))?);
    }
    PyList::new(py, pairs)
}

fn is_unknown(loaded: &Loaded, id: PieceId) -> bool {
    let piece = loaded.tokenizer.piece(id);
    piece.is_some_and(|piece| piece.kind == PieceKind::Unknown)
}

/// A piece as `str` or `bytes`; `own` is its text if it differs from that of the id.
fn piece_object<'py>(
    py: Python<'py>,
    loaded: &Loaded,
    id: PieceId,
    own: Option<&[u8]>,
    is_bytes: bool,
) -> PyResult<Bound<'py, PyAny>> {
    if own.is_none()
        && !is_bytes
        && let Some(string) = loaded.string(py, id)
    {
        return Ok(string.into_any());
    }
    let text = own.or_else(|| loaded.tokenizer.id_to_piece(id));
    let text = text.unwrap_or_default();
    if is_bytes {
        Ok(PyBytes::new(py, text).into_any())
    } else {
        Ok(to_str(py, text)?.into_any())
    }
}
