//! Byte-level vocabularies from objects of Python: ranks, special tokens, patterns.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use spiece::byte_bpe::{ByteBpe, ByteBpeError, ByteBpeParts, ByteToken, SpecialToken};
use spiece::{Pattern, Pretokenizer, Tokenizer, TokenizerConfig};

use crate::errors;

/// A pattern by its name, or by its expression.
///
/// # Errors
/// `OptionValueError`
pub fn pattern(py: Python<'_>, pattern: &str) -> PyResult<Pattern> {
    let named = Pattern::named(pattern).map_or_else(|| Pattern::new(pattern), Ok);
    named.map_err(|error| errors::exception(py, "OptionValueError", (format!("pattern: {error}"),)))
}

/// The tokens of a `dict` with the rank of each, in the order of the ranks.
///
/// # Errors
/// `TypeError`, `OverflowError`
pub fn tokens(ranks: &Bound<'_, PyDict>) -> PyResult<Vec<ByteToken>> {
    let mut tokens = Vec::with_capacity(ranks.len());
    for (bytes, rank) in ranks {
        let bytes = match bytes.cast::<PyBytes>() {
            Ok(bytes) => bytes.as_bytes().into(),
            Err(_) => bytes.extract::<Vec<u8>>()?.into(),
        };
        let id = rank.extract()?;
        tokens.push(ByteToken { bytes, id });
    }
    tokens.sort_unstable_by_key(|token| token.id);
    Ok(tokens)
}

/// The special tokens of a `dict` with the id of each.
///
/// # Errors
/// `TypeError`, `OverflowError`
pub fn special_tokens(ids: &Bound<'_, PyDict>) -> PyResult<Vec<SpecialToken>> {
    let mut special = Vec::with_capacity(ids.len());
    for (text, id) in ids {
        special.push(SpecialToken::new(text.extract::<String>()?, id.extract()?));
    }
    Ok(special)
}

/// The tokenizer of tokens in the order of their ranks.
///
/// # Errors
/// They are no vocabulary.
pub fn tokenizer(
    tokens: Vec<ByteToken>,
    special_tokens: Vec<SpecialToken>,
    pattern: Pattern,
) -> Result<Tokenizer, ByteBpeError> {
    let mut parts = ByteBpeParts::new(Pretokenizer::of(pattern));
    parts.tokens = tokens;
    parts.special_tokens = special_tokens;
    let bpe = ByteBpe::new(parts)?;
    Ok(Tokenizer::of_bytes(bpe, TokenizerConfig::default()))
}
