//! Byte-level vocabularies from objects of Python: ranks, special tokens, patterns.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use spiece::byte_bpe::{ByteBpe, ByteBpeError, ByteBpeParts, ByteToken, SpecialToken};
use spiece::{PatternSyntax, Pretokenizer, Tokenizer, TokenizerConfig};

use crate::errors;

/// What cuts text, by the name of a pattern or by its expression.
///
/// # Errors
/// `OptionValueError`
pub fn pretokenizer(py: Python<'_>, pattern: &str) -> PyResult<Pretokenizer> {
    let parsed = Pretokenizer::parse(pattern, PatternSyntax::Rust);
    parsed
        .map_err(|error| errors::exception(py, "OptionValueError", (format!("pattern: {error}"),)))
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

/// Ranks, pattern and special tokens.
type PlainParts<'py> = (Bound<'py, PyDict>, String, Bound<'py, PyDict>);

/// The parts of a vocabulary that consists of nothing else; `None` for others. In this form, also
/// those can be pickled that no tokenizer.json holds, such as o200k_harmony, in which two special
/// tokens have one id.
pub fn plain_parts<'py>(py: Python<'py>, bpe: &ByteBpe) -> PyResult<Option<PlainParts<'py>>> {
    let parts = bpe.parts();
    let [split] = bpe.pretokenizer().splits() else {
        return Ok(None);
    };
    let expression = split.pattern.expression();
    let mut plain = match Pretokenizer::parse(expression, PatternSyntax::Rust) {
        Ok(pretokenizer) => ByteBpeParts::new(pretokenizer),
        Err(_) => return Ok(None),
    };
    let special = parts.special_tokens.iter();
    let special = special.map(|token| SpecialToken::new(&*token.text, token.id));
    plain.special_tokens = special.collect();
    plain.tokens = parts.tokens.clone();
    plain.tokens.sort_by_key(|token| token.id);
    if plain != parts {
        return Ok(None);
    }
    let ranks = PyDict::new(py);
    for token in &plain.tokens {
        ranks.set_item(PyBytes::new(py, &token.bytes), token.id)?;
    }
    let ids = PyDict::new(py);
    for token in &plain.special_tokens {
        ids.set_item(&token.text, token.id)?;
    }
    Ok(Some((ranks, expression.to_owned(), ids)))
}

/// The tokenizer of tokens in the order of their ranks.
///
/// # Errors
/// They are no vocabulary.
pub fn tokenizer(
    tokens: Vec<ByteToken>,
    special_tokens: Vec<SpecialToken>,
    pretokenizer: Pretokenizer,
) -> Result<Tokenizer, ByteBpeError> {
    let mut parts = ByteBpeParts::new(pretokenizer);
    parts.tokens = tokens;
    parts.special_tokens = special_tokens;
    let bpe = ByteBpe::new(parts)?;
    Ok(Tokenizer::from_pipeline(bpe, TokenizerConfig::default()))
}
