//! A SentencePiece model encodes text without special pieces, in one of two ways with equal results:
//!
//! 1. *Raw text.* BPE models whose normalizer only replaces spaces by marks read the caller's text
//!    directly, see [`ModelEncoder::reads_raw_text`](crate::encode::ModelEncoder::reads_raw_text);
//!    spans come from [`raw_spans`](super::raw_spans).
//! 2. *Normalized text.* All others normalize into a buffer, encode that, and map ids back by the
//!    origins of bytes, see [`spans`](super::spans).
//!
//! Example: `"Hello, world"` in the Llama 2 model becomes `▁Hello,▁world`, then the pieces `▁Hello`
//! `,` `▁world`, then the ids 15043, 29892, 3186.

use super::cache::{CacheParts, TextBuffers};
use super::model_tables::ModelContext;
use super::raw_spans::{RawCursor, RawLengths, assign_raw_spans};
use crate::encode::bpe::RawText;
use crate::encode::encoded_lines::EncodedLines;
use crate::piece::PieceId;

impl ModelContext<'_> {
    /// Whether the model has user-defined symbols.
    pub(super) fn has_symbols(&self) -> bool {
        !self.tables.stages.normalizer.symbols().is_empty()
    }

    /// Normalizes `text` into the buffers.
    pub(super) fn normalize_into(&self, buffers: &mut TextBuffers, text: &[u8]) {
        self.stages
            .normalizer
            .normalize(text, &mut buffers.normalized);
    }

    /// Appends the ids of text without special pieces.
    #[inline]
    pub(super) fn encode_segment(
        &self,
        parts: &mut CacheParts,
        text: &[u8],
        ids: &mut Vec<PieceId>,
    ) {
        let start = ids.len();
        let adds_prefix = self.stages.normalizer.adds_dummy_prefix();
        if self.encode_raw(parts, text, adds_prefix, ids) {
            self.join_unknowns(ids, start);
        } else if !self.encode_words(parts, text, ids) {
            self.encode_normalized(parts, text, ids);
        }
    }

    /// Appends the ids of raw text; false, and nothing is appended, if this model or this text is not
    /// encoded word by word.
    #[inline]
    fn encode_words(&self, parts: &mut CacheParts, text: &[u8], ids: &mut Vec<PieceId>) -> bool {
        let Some((unigram, word_normalizer)) = self.stages.word_encoder() else {
            return false;
        };
        let start = ids.len();
        if !unigram.encode_words(text, word_normalizer, &mut parts.state.unigram, ids) {
            return false;
        }
        let has_unknown = || ids[start..].contains(&self.tables.unknown);
        if self.has_byte_fallback() && has_unknown() {
            // The byte pieces are those of the normalized text.
            self.normalize_into(&mut parts.buffers, text);
        }
        self.resolve_unknowns(&mut parts.buffers, ids, start);
        true
    }

    /// Appends the ids of text without special pieces, using the normalized text.
    #[inline(never)]
    fn encode_normalized(&self, parts: &mut CacheParts, text: &[u8], ids: &mut Vec<PieceId>) {
        let start = ids.len();
        let CacheParts { state, buffers, .. } = parts;
        self.normalize_into(buffers, text);
        let pieces = self.tables.model().table();
        let encoder = &self.stages.encoder;
        encoder.encode(pieces, &buffers.normalized, state, ids);
        self.resolve_unknowns(buffers, ids, start);
    }

    /// Appends the ids of raw text, one unknown id for each unknown character; false if this model
    /// cannot read raw text.
    #[inline]
    pub(super) fn encode_raw(
        &self,
        parts: &mut CacheParts,
        text: &[u8],
        adds_prefix: bool,
        ids: &mut Vec<PieceId>,
    ) -> bool {
        let Some(bpe) = self.stages.raw_encoder() else {
            return false;
        };
        let pieces = self.tables.model().table();
        let raw = self.raw_text(text, adds_prefix);
        bpe.encode_raw(pieces, raw, &mut parts.state.bpe, ids);
        true
    }

    /// Appends the ids of each line of raw text. Returns false and appends nothing if this model
    /// cannot read lines of raw text.
    pub(super) fn encode_raw_lines(
        &self,
        parts: &mut CacheParts,
        text: &[u8],
        lines: &mut EncodedLines,
    ) -> bool {
        let Some(bpe) = self
            .stages
            .raw_encoder()
            .filter(|_| self.has_byte_fallback())
        else {
            return false;
        };
        let pieces = self.tables.model().table();
        let raw = self.raw_text(text, self.stages.normalizer.adds_dummy_prefix());
        bpe.encode_raw_lines(pieces, raw, &mut parts.state.bpe, lines)
    }

    /// A text for the encoder of raw text.
    #[inline]
    fn raw_text<'r>(&'r self, text: &'r [u8], adds_prefix: bool) -> RawText<'r> {
        RawText {
            text,
            adds_prefix,
            byte_ids: self.tables.byte_ids.as_deref(),
        }
    }

    /// Appends the tokens of text without special pieces, which begins at `base` in the caller's
    /// text.
    pub(super) fn append_tokens(&self, parts: &mut CacheParts, text: &[u8], base: usize) {
        let adds_prefix = self.stages.normalizer.adds_dummy_prefix();
        let mut ids = std::mem::take(&mut parts.buffers.unresolved);
        ids.clear();
        let is_raw = self.encode_raw(parts, text, adds_prefix, &mut ids);
        let pieces = self.tables.model().table();
        if is_raw {
            parts.buffers.unresolved = ids;
            let lengths = self
                .stages
                .raw_lengths
                .get_or_init(|| RawLengths::new(pieces));
            let cursor = RawCursor::new(text, base, adds_prefix);
            return assign_raw_spans(pieces, lengths, cursor, &mut parts.buffers);
        }
        self.normalize_with_offsets(&mut parts.buffers, text);
        let CacheParts { state, buffers, .. } = parts;
        let encoder = &self.stages.encoder;
        encoder.encode(pieces, &buffers.normalized, state, &mut ids);
        buffers.unresolved = ids;
        self.assign_spans(buffers, base);
    }

    /// Normalizes `text` into the buffers, with the origin of each byte.
    pub(super) fn normalize_with_offsets(&self, buffers: &mut TextBuffers, text: &[u8]) {
        let normalizer = &self.stages.normalizer;
        normalizer.normalize_with_offsets(text, &mut buffers.normalized, &mut buffers.origins);
    }
}
