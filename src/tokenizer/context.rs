//! Encoding of one text: normalize, encode, resolve unknown ids, apply the options.
//!
//! Input: a text, an [`EncodeContext`] (tables and options), and the memory of a worker
//! ([`CacheParts`]). Output: ids, or tokens with spans.
//!
//! Two paths give equal results:
//!
//! 1. *Raw text.* BPE models whose normalizer only replaces spaces by marks read the caller's text
//!    directly, see [`ModelEncoder::reads_raw_text`](crate::encode::ModelEncoder::reads_raw_text);
//!    spans come from [`raw_spans`](super::raw_spans).
//! 2. *Normalized text.* All others normalize into a buffer, encode that, and map ids back by the
//!    origins of bytes, see [`spans`](super::spans).
//!
//! Example: `"Hello, world"` in the Llama 2 model becomes `▁Hello,▁world`, then the pieces `▁Hello`
//! `,` `▁world`, then the ids 15043, 29892, 3186.

use std::time::Duration;

use super::Tokenizer;
use super::allowed_special::{AllowedSpecial, Segment};
use super::cache::{CacheParts, EncodeCache, TextBuffers};
use super::options::{EncodeOptions, ExtraOption};
use super::pipeline::Pipeline;
use super::raw_spans::{RawCursor, RawLengths, assign_raw_spans};
use super::spans::{Resolver, join_unknowns};
use super::token::Tokens;
use crate::encode::EncodeError;
use crate::encode::bpe::RawText;
use crate::encode::encoded_lines::{EncodedLines, line_ranges};
use crate::piece::PieceId;

/// Options that were checked against a model.
#[derive(Debug, Default)]
pub(super) struct CheckedOptions {
    pub(super) extra: Vec<ExtraOption>,
    pub(super) allowed: Option<AllowedSpecial>,
    pub(super) nbest_timeout: Option<Duration>,
}

/// No options.
pub(super) static NO_OPTIONS: CheckedOptions = CheckedOptions {
    extra: Vec::new(),
    allowed: None,
    nbest_timeout: None,
};

impl CheckedOptions {
    /// # Errors
    /// An option asks for a piece that the model does not have.
    pub(super) fn new(tokenizer: &Tokenizer, options: &EncodeOptions) -> Result<Self, EncodeError> {
        tokenizer.check_extra(&options.extra)?;
        Ok(Self {
            extra: options.extra.clone(),
            allowed: AllowedSpecial::new(&tokenizer.model, &options.allowed_special)?,
            nbest_timeout: options.nbest_timeout,
        })
    }
}

/// The tables and options, which are the same for all texts.
#[derive(Clone, Copy)]
pub(super) struct EncodeContext<'t> {
    pub(super) tokenizer: &'t Tokenizer,
    pub(super) pipeline: &'t Pipeline,
    pub(super) options: &'t CheckedOptions,
}

impl<'t> EncodeContext<'t> {
    /// Appends the ids of `text`.
    #[inline]
    pub(super) fn encode(&self, cache: &mut EncodeCache, text: &[u8], ids: &mut Vec<PieceId>) {
        self.encode_segments(cache, text, ids, Self::encode_segment);
    }

    /// Appends the ids of `text`. `encode` appends those of the segments between allowed special
    /// pieces.
    #[inline(always)]
    pub(super) fn encode_segments(
        &self,
        cache: &mut EncodeCache,
        text: &[u8],
        ids: &mut Vec<PieceId>,
        encode: impl Fn(&Self, &mut CacheParts, &[u8], &mut Vec<PieceId>),
    ) {
        let parts = self.pipeline.pool.parts_of(cache);
        let start = ids.len();
        match &self.options.allowed {
            None => encode(self, parts, text, ids),
            Some(allowed) => {
                for segment in allowed.segments(text) {
                    match segment {
                        Segment::Text(range) => encode(self, parts, &text[range], ids),
                        Segment::Special(id, _) => ids.push(id),
                    }
                }
            }
        }
        self.tokenizer.add_extra(&self.options.extra, ids, start);
    }

    /// The ids of `text`, in a buffer of the cache.
    pub(super) fn encode_to_buffer<'c>(
        &self,
        cache: &'c mut EncodeCache,
        text: &[u8],
    ) -> &'c [PieceId] {
        let buffers = self.buffers(cache);
        let mut ids = std::mem::take(&mut buffers.ids);
        ids.clear();
        self.encode(cache, text, &mut ids);
        let buffers = self.buffers(cache);
        buffers.ids = ids;
        &buffers.ids
    }

    /// The ids of each line of `text`, in a buffer of the cache.
    pub(super) fn encode_lines<'c>(
        &self,
        cache: &'c mut EncodeCache,
        text: &[u8],
    ) -> &'c EncodedLines {
        let buffers = self.buffers(cache);
        let mut lines = std::mem::take(&mut buffers.lines);
        lines.clear();
        if !self.encode_raw_lines(cache, text, &mut lines) {
            for range in line_ranges(text) {
                self.encode(cache, &text[range], &mut lines.ids);
                lines.end_line();
            }
        }
        let buffers = self.buffers(cache);
        buffers.lines = lines;
        &buffers.lines
    }

    /// Appends the ids of each line of raw text. Returns false and appends nothing if this model
    /// cannot read lines of raw text or if the options change the ids of a line.
    fn encode_raw_lines(
        &self,
        cache: &mut EncodeCache,
        text: &[u8],
        lines: &mut EncodedLines,
    ) -> bool {
        let changes_ids = self.options.allowed.is_some() || !self.options.extra.is_empty();
        let Some(bpe) = self.pipeline.raw_encoder() else {
            return false;
        };
        if changes_ids || !self.has_byte_fallback() {
            return false;
        }
        let pieces = self.tokenizer.model.table();
        let state = &mut self.pipeline.pool.parts_of(cache).state.bpe;
        let adds_prefix = self.pipeline.normalizer.adds_dummy_prefix();
        bpe.encode_raw_lines(pieces, self.raw_text(text, adds_prefix), state, lines)
    }

    /// The normalized text, in a buffer of the cache.
    pub(super) fn normalize<'c>(&self, cache: &'c mut EncodeCache, text: &[u8]) -> &'c [u8] {
        let buffers = self.buffers(cache);
        self.normalize_into(buffers, text);
        &buffers.normalized
    }

    /// Normalizes `text` into the buffers.
    pub(super) fn normalize_into(&self, buffers: &mut TextBuffers, text: &[u8]) {
        self.pipeline
            .normalizer
            .normalize(text, &mut buffers.normalized);
    }

    /// The text buffers of a cache.
    fn buffers<'c>(&self, cache: &'c mut EncodeCache) -> &'c mut TextBuffers {
        &mut self.pipeline.pool.parts_of(cache).buffers
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
        let adds_prefix = self.pipeline.normalizer.adds_dummy_prefix();
        if self.encode_raw(parts, text, adds_prefix, ids) {
            self.join_unknowns(ids, start);
        } else {
            self.encode_normalized(parts, text, ids);
        }
    }

    /// Appends the ids of text without special pieces, using the normalized text.
    #[inline(never)]
    fn encode_normalized(&self, parts: &mut CacheParts, text: &[u8], ids: &mut Vec<PieceId>) {
        let start = ids.len();
        let CacheParts { state, buffers } = parts;
        self.normalize_into(buffers, text);
        let pieces = self.tokenizer.model.table();
        let encoder = &self.pipeline.encoder;
        encoder.encode(pieces, &buffers.normalized, state, ids);
        self.resolver().resolve_unknowns(buffers, ids, start);
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
        let Some(bpe) = self.pipeline.raw_encoder() else {
            return false;
        };
        let pieces = self.tokenizer.model.table();
        let raw = self.raw_text(text, adds_prefix);
        bpe.encode_raw(pieces, raw, &mut parts.state.bpe, ids);
        true
    }

    /// A text for the encoder of raw text.
    #[inline]
    fn raw_text<'r>(&'r self, text: &'r [u8], adds_prefix: bool) -> RawText<'r> {
        RawText {
            text,
            adds_prefix,
            byte_ids: self.tokenizer.byte_ids.as_deref(),
        }
    }

    /// Replaces each run of unknown ids from `start` on by one id. With byte fallback, raw text has
    /// none.
    #[inline]
    pub(super) fn join_unknowns(&self, ids: &mut Vec<PieceId>, start: usize) {
        if !self.has_byte_fallback() {
            join_unknowns(ids, start, self.tokenizer.unknown);
        }
    }

    #[inline]
    fn has_byte_fallback(&self) -> bool {
        self.tokenizer.byte_ids.is_some()
    }

    pub(super) fn resolver(&self) -> Resolver<'t> {
        Resolver {
            tokenizer: self.tokenizer,
            pipeline: self.pipeline,
        }
    }

    /// The tokens of `text`.
    pub(super) fn tokens<'e>(&self, cache: &'e mut EncodeCache, text: &'e [u8]) -> Tokens<'e>
    where
        't: 'e,
    {
        let parts = self.pipeline.pool.parts_of(cache);
        parts.buffers.tokens.clear();
        match &self.options.allowed {
            None => self.append_tokens(parts, text, 0),
            Some(allowed) => {
                for segment in allowed.segments(text) {
                    match segment {
                        Segment::Text(range) => {
                            self.append_tokens(parts, &text[range.clone()], range.start);
                        }
                        Segment::Special(id, range) => parts.buffers.tokens.push(id, range),
                    }
                }
            }
        }
        self.finish(&mut parts.buffers, text)
    }

    /// Appends the tokens of text without special pieces, which begins at `base` in the caller's
    /// text.
    fn append_tokens(&self, parts: &mut CacheParts, text: &[u8], base: usize) {
        let adds_prefix = self.pipeline.normalizer.adds_dummy_prefix();
        let mut ids = std::mem::take(&mut parts.buffers.unresolved);
        ids.clear();
        let is_raw = self.encode_raw(parts, text, adds_prefix, &mut ids);
        let pieces = self.tokenizer.model.table();
        if is_raw {
            parts.buffers.unresolved = ids;
            let lengths = self
                .pipeline
                .raw_lengths
                .get_or_init(|| RawLengths::new(pieces));
            let cursor = RawCursor::new(text, base, adds_prefix);
            return assign_raw_spans(pieces, lengths, cursor, &mut parts.buffers);
        }
        self.normalize_with_offsets(&mut parts.buffers, text);
        let CacheParts { state, buffers } = parts;
        let encoder = &self.pipeline.encoder;
        encoder.encode(pieces, &buffers.normalized, state, &mut ids);
        buffers.unresolved = ids;
        self.resolver().assign_spans(buffers, base);
    }

    /// Normalizes `text` into the buffers, with the origin of each byte.
    pub(super) fn normalize_with_offsets(&self, buffers: &mut TextBuffers, text: &[u8]) {
        let normalizer = &self.pipeline.normalizer;
        normalizer.normalize_with_offsets(text, &mut buffers.normalized, &mut buffers.origins);
    }

    /// Applies the extra options to the tokens in the buffer and returns a view of them.
    pub(super) fn finish<'e>(&self, buffers: &'e mut TextBuffers, text: &'e [u8]) -> Tokens<'e>
    where
        't: 'e,
    {
        let special = &self.tokenizer.special;
        let extra = &self.options.extra;
        buffers.tokens.apply_extra(extra, special, text.len());
        Tokens {
            buffer: &buffers.tokens,
            text,
            tokenizer: self.tokenizer,
            shows_unk_piece: extra.contains(&ExtraOption::UnkPiece),
        }
    }
}
