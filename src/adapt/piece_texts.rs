//! The texts of pieces, as lines that a changed model is checked with.
//!
//! Input: the text of a piece. Output: a raw text that is normalized to it, or to a similar text;
//! `None` if the check has to leave it out.
//!
//! A rule of a hostile charsmap can have a target of thousands of bytes and replace a character of
//! all pieces. So with rules whose targets are longer than usual, the texts are normalized first,
//! and left out as soon as all of them together have become too long. The rules of SentencePiece
//! have targets of at most 33 bytes.
//!
//! Example: `▁the` is the raw text ` the`.
//!
//! Cost: a copy of the text; with unusual rules its normalization.

use crate::normalize::Normalizer;
use crate::text::WHITESPACE_MARK_STR;
use crate::tokenizer::Tokenizer;

/// The longest usual target of a rule.
const MAX_USUAL_TARGET_BYTES: usize = 64;
/// With unusual rules, the largest total length of all texts.
const MAX_NORMALIZED_BYTES: usize = 1 << 22;

/// Gives raw texts of pieces.
pub(super) struct PieceTexts<'t> {
    normalizer: &'t Normalizer,
    longest_target: usize,
    /// The bytes of all texts so far, after normalization; 0 with usual rules.
    normalized_bytes: usize,
}

impl<'t> PieceTexts<'t> {
    /// For a check with this tokenizer.
    pub(super) fn new(tokenizer: &'t Tokenizer) -> Self {
        let normalizer = tokenizer.normalizer();
        let charsmap = normalizer.charsmap();
        PieceTexts {
            normalizer,
            longest_target: charsmap.map_or(0, |charsmap| charsmap.longest_target()),
            normalized_bytes: 0,
        }
    }

    /// The raw text of a piece.
    pub(super) fn raw(&mut self, piece: &[u8]) -> Option<Vec<u8>> {
        let raw = raw_text(piece);
        self.is_checked(&raw).then_some(raw)
    }

    /// Whether a text can be checked in addition to those before.
    fn is_checked(&mut self, raw: &[u8]) -> bool {
        if self.longest_target <= MAX_USUAL_TARGET_BYTES {
            return true;
        }
        if self.may_be_too_long(raw) || self.is_full() {
            return false;
        }
        let mut normalized = Vec::new();
        self.normalizer.normalize(raw, &mut normalized);
        self.normalized_bytes += normalized.len();
        !self.is_full()
    }

    /// Whether normalization can make a single text too long.
    fn may_be_too_long(&self, raw: &[u8]) -> bool {
        raw.len().saturating_mul(self.longest_target) > MAX_NORMALIZED_BYTES
    }

    /// Whether all texts together have become too long.
    fn is_full(&self) -> bool {
        self.normalized_bytes > MAX_NORMALIZED_BYTES
    }
}

/// The text that is normalized to the text of a piece, or to a similar text.
fn raw_text(piece: &[u8]) -> Vec<u8> {
    match str::from_utf8(piece) {
        Ok(text) => text.replace(WHITESPACE_MARK_STR, " ").into(),
        Err(_) => piece.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Model, ModelType, NormalizerSpec, PieceKind};

    /// A tokenizer whose rules make `a` longer.
    fn tokenizer(target_bytes: usize) -> Tokenizer {
        let tsv = format!("61\t{}\n", vec!["62"; target_bytes].join(" "));
        let mut builder = Model::builder();
        builder.model_type(ModelType::Bpe);
        *builder.normalizer_spec_mut() = NormalizerSpec::from_tsv(tsv.as_bytes()).unwrap();
        builder.piece("<unk>", 0.0, PieceKind::Unknown);
        builder.piece("a", -1.0, PieceKind::Normal);
        Tokenizer::new(builder.build().unwrap())
    }

    #[test]
    fn all_texts_are_checked_with_usual_rules() {
        let tokenizer = tokenizer(MAX_USUAL_TARGET_BYTES);
        let mut texts = PieceTexts::new(&tokenizer);
        let text = "▁a".repeat(1000);
        for _ in 0..2000 {
            assert_eq!(
                texts.raw(text.as_bytes()),
                Some(" a".repeat(1000).into_bytes())
            );
        }
    }

    #[test]
    fn rules_with_long_targets_bound_the_texts() {
        let tokenizer = tokenizer(MAX_USUAL_TARGET_BYTES * 16);
        let mut texts = PieceTexts::new(&tokenizer);
        assert_eq!(texts.raw(&[b'a'; 8000]), None);
        let checked = (0..5000).filter(|_| texts.raw(b"aaaa").is_some()).count();
        assert_eq!(
            checked,
            MAX_NORMALIZED_BYTES / (4 * 16 * MAX_USUAL_TARGET_BYTES) - 1
        );
    }
}
