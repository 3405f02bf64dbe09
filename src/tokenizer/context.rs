//! Encoding of one text: normalize, encode, resolve unknown ids, apply the options.
//!
//! [`EncodeContext`] has what all tokenizers have in common: segments, options, buffers. A
//! [`ModelContext`] encodes text without special pieces with a SentencePiece model, in one of two
//! ways with equal results:
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

use super::allowed_special::AllowedSpecial;
use super::cache::{CacheParts, EncodeCache, TextBuffers};
use super::options::{EncodeOptions, ExtraOption};
use super::raw_spans::{RawCursor, RawLengths, assign_raw_spans};
use super::spans::join_unknowns;
use super::stages::ModelStages;
#[cfg(feature = "formats")]
use super::tables::PipelineTables;
use super::tables::{ModelTables, Tables, TablesRef};
use super::token::Tokens;
use super::{Encoder, Tokenizer};
#[cfg(feature = "formats")]
use crate::added::FoundTokens;
use crate::base::lossy_string;
use crate::encode::EncodeError;
use crate::encode::bpe::RawText;
use crate::encode::encoded_lines::{EncodedLines, line_ranges};
use crate::piece::PieceId;
#[cfg(feature = "formats")]
use crate::special::Scope;
use crate::special::Segment;

/// Options that were checked against a tokenizer.
#[derive(Debug, Default)]
pub(super) struct CheckedOptions {
    pub(super) extra: Vec<ExtraOption>,
    pub(super) special: FoundSpecial,
    pub(super) nbest_timeout: Option<Duration>,
    /// The special pieces for which texts are refused.
    pub(super) refused: Option<AllowedSpecial>,
}

/// The special pieces that are found in text.
#[derive(Debug, Default)]
pub(super) enum FoundSpecial {
    /// Only those that are found without being allowed: none in SentencePiece models.
    #[default]
    Always,
    /// Control pieces of a SentencePiece model.
    Pieces(AllowedSpecial),
    /// Added tokens of a pipeline.
    #[cfg(feature = "formats")]
    Tokens(FoundTokens),
}

/// No options.
pub(super) static NO_OPTIONS: CheckedOptions = CheckedOptions {
    extra: Vec::new(),
    special: FoundSpecial::Always,
    nbest_timeout: None,
    refused: None,
};

impl CheckedOptions {
    pub(super) fn new(tokenizer: &Tokenizer, options: &EncodeOptions) -> Result<Self, EncodeError> {
        tokenizer.check_extra(&options.extra)?;
        let allowed = &options.allowed_special;
        let special = match &tokenizer.tables {
            Tables::Model(_) if allowed.is_empty() => FoundSpecial::Always,
            Tables::Model(_) => FoundSpecial::Pieces(AllowedSpecial::new(tokenizer, allowed)?),
            #[cfg(feature = "formats")]
            Tables::Pipeline(_) if allowed.is_empty() && options.user_defined_symbols => {
                FoundSpecial::Always
            }
            #[cfg(feature = "formats")]
            Tables::Pipeline(tables) => {
                // Refuses texts that are no special tokens.
                AllowedSpecial::new(tokenizer, allowed)?;
                let allows = |text: &str| allowed.iter().any(|it| it == text.as_bytes());
                let found = tables.pipeline.found(allows, options.user_defined_symbols);
                FoundSpecial::Tokens(found)
            }
        };
        let refused = if options.refuses_special {
            let others = tokenizer.special_tokens().map(|(_, text)| text.to_vec());
            let others: Vec<_> = others.filter(|text| !allowed.contains(text)).collect();
            Some(AllowedSpecial::new(tokenizer, &others)?)
        } else {
            None
        };
        Ok(Self {
            extra: options.extra.clone(),
            special,
            nbest_timeout: options.nbest_timeout,
            refused,
        })
    }

    pub(super) fn check_special(&self, text: &[u8]) -> Result<(), EncodeError> {
        let found = self.refused.as_ref().and_then(|refused| refused.find(text));
        match found {
            None => Ok(()),
            Some(range) => Err(EncodeError::RefusedSpecial {
                piece: lossy_string(&text[range.clone()]),
                begin: range.start,
            }),
        }
    }
}

/// The tables and options, which are the same for all texts.
#[derive(Clone, Copy)]
pub(super) struct EncodeContext<'t> {
    pub(super) tokenizer: &'t Tokenizer,
    pub(super) tables: TablesRef<'t>,
    pub(super) options: &'t CheckedOptions,
}

/// A SentencePiece model, with its stages that find user-defined symbols or those that do not.
#[derive(Debug, Clone, Copy)]
pub(super) struct ModelContext<'t> {
    pub(super) tables: &'t ModelTables,
    pub(super) stages: &'t ModelStages,
}

impl<'t> EncodeContext<'t> {
    /// Appends the ids of `text`.
    #[inline]
    pub(super) fn encode(&self, cache: &mut EncodeCache, text: &[u8], ids: &mut Vec<PieceId>) {
        self.encode_with(
            cache,
            text,
            ids,
            |model, parts, text, ids| model.encode_segment(parts, text, ids),
            #[cfg(feature = "formats")]
            |tables, found, parts, text, ids| tables.encode(text, found, parts, ids),
        );
    }

    /// Appends the ids of `text`. `encode_model` appends those of a segment between allowed special
    /// pieces of a model, `encode_pipeline` those of the whole text.
    #[inline(always)]
    pub(super) fn encode_with(
        &self,
        cache: &mut EncodeCache,
        text: &[u8],
        ids: &mut Vec<PieceId>,
        encode_model: impl Fn(&ModelContext<'t>, &mut CacheParts, &[u8], &mut Vec<PieceId>),
        #[cfg(feature = "formats")] encode_pipeline: impl Fn(
            &PipelineTables,
            &FoundTokens,
            &mut CacheParts,
            &[u8],
            &mut Vec<PieceId>,
        ),
    ) {
        let parts = self.tables.pool().parts_of(cache);
        if self.is_refused(text, parts) {
            return;
        }
        let start = ids.len();
        match (&self.tables, &self.options.special) {
            (TablesRef::Model(model), FoundSpecial::Pieces(allowed)) => {
                for segment in allowed.segments(text) {
                    match segment {
                        Segment::Text(range) => encode_model(model, parts, &text[range], ids),
                        Segment::Special(id, _) => ids.push(PieceId::from_index(id)),
                    }
                }
            }
            (TablesRef::Model(model), _) => encode_model(model, parts, text, ids),
            #[cfg(feature = "formats")]
            (TablesRef::Pipeline(tables), _) => {
                encode_pipeline(tables, self.found(tables), parts, text, ids);
            }
        }
        self.tokenizer.add_extra(&self.options.extra, ids, start);
    }

    /// An encoder without options for another thread.
    pub(super) fn encoder(&self) -> Encoder<'t> {
        Encoder::new(self.tokenizer, self.tables, None)
    }

    /// The added tokens that are found in text.
    #[cfg(feature = "formats")]
    pub(super) fn found(&self, tables: &'t PipelineTables) -> &'t FoundTokens {
        match &self.options.special {
            FoundSpecial::Tokens(found) => found,
            FoundSpecial::Always | FoundSpecial::Pieces(_) => tables.pipeline.found_always(),
        }
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
        let changes_ids = !matches!(self.options.special, FoundSpecial::Always)
            || !self.options.extra.is_empty()
            || self.options.refused.is_some();
        #[cfg_attr(
            not(feature = "formats"),
            expect(irrefutable_let_patterns, reason = "there are no pipelines")
        )]
        let TablesRef::Model(model) = &self.tables else {
            return false;
        };
        let Some(bpe) = model.stages.raw_encoder() else {
            return false;
        };
        if changes_ids || !model.has_byte_fallback() {
            return false;
        }
        let pieces = model.tables.model().table();
        let state = &mut model.stages.pool.parts_of(cache).state.bpe;
        let adds_prefix = model.stages.normalizer.adds_dummy_prefix();
        bpe.encode_raw_lines(pieces, model.raw_text(text, adds_prefix), state, lines)
    }

    /// The normalized text, in a buffer of the cache.
    pub(super) fn normalize<'c>(&self, cache: &'c mut EncodeCache, text: &[u8]) -> &'c [u8] {
        let buffers = self.buffers(cache);
        match &self.tables {
            TablesRef::Model(model) => model.normalize_into(buffers, text),
            #[cfg(feature = "formats")]
            TablesRef::Pipeline(tables) => {
                buffers.normalized.clear();
                tables.normalize(text, &mut buffers.normalized, None);
            }
        }
        &buffers.normalized
    }

    /// The text buffers of a cache.
    fn buffers<'c>(&self, cache: &'c mut EncodeCache) -> &'c mut TextBuffers {
        &mut self.tables.pool().parts_of(cache).buffers
    }

    /// The tokens of `text`.
    pub(super) fn tokens<'e>(&self, cache: &'e mut EncodeCache, text: &'e [u8]) -> Tokens<'e>
    where
        't: 'e,
    {
        let parts = self.tables.pool().parts_of(cache);
        parts.buffers.tokens.clear();
        if self.is_refused(text, parts) {
            return self.view(&parts.buffers, text);
        }
        match (&self.tables, &self.options.special) {
            (TablesRef::Model(model), FoundSpecial::Pieces(allowed)) => {
                for segment in allowed.segments(text) {
                    match segment {
                        Segment::Text(range) => {
                            model.append_tokens(parts, &text[range.clone()], range.start);
                        }
                        Segment::Special(id, range) => {
                            parts.buffers.tokens.push(PieceId::from_index(id), range);
                        }
                    }
                }
            }
            (TablesRef::Model(model), _) => model.append_tokens(parts, text, 0),
            #[cfg(feature = "formats")]
            (TablesRef::Pipeline(tables), _) => {
                tables.push_tokens(text, &Scope::whole(text, self.found(tables)), parts);
            }
        }
        self.finish(&mut parts.buffers, text)
    }

    /// Applies the extra options to the tokens in the buffer and returns a view of them.
    pub(super) fn finish<'e>(&self, buffers: &'e mut TextBuffers, text: &'e [u8]) -> Tokens<'e>
    where
        't: 'e,
    {
        self.apply_extra(buffers, text);
        self.view(buffers, text)
    }

    fn apply_extra(&self, buffers: &mut TextBuffers, text: &[u8]) {
        let extra = &self.options.extra;
        if !extra.is_empty() {
            let ends = self.tokenizer.text_ends();
            buffers.tokens.apply_extra(extra, &ends, text.len());
        }
    }

    /// As [`finish`](Self::finish), for a text that the buffers keep.
    pub(super) fn finish_owned<'e>(&self, buffers: &'e mut TextBuffers, text: Vec<u8>) -> Tokens<'e>
    where
        't: 'e,
    {
        self.apply_extra(buffers, &text);
        buffers.joined = text;
        self.view(buffers, &buffers.joined)
    }

    /// The tokens in the buffer.
    fn view<'e>(&self, buffers: &'e TextBuffers, text: &'e [u8]) -> Tokens<'e>
    where
        't: 'e,
    {
        Tokens {
            buffer: &buffers.tokens,
            text,
            tokenizer: self.tokenizer,
            shows_unk_piece: self.options.extra.contains(&ExtraOption::UnkPiece),
        }
    }

    /// Whether the options refuse a text, which is then the failure of the worker.
    #[inline]
    fn is_refused(&self, text: &[u8], parts: &mut CacheParts) -> bool {
        self.options.refused.is_some() && self.refuse(text, parts)
    }

    #[inline(never)]
    fn refuse(&self, text: &[u8], parts: &mut CacheParts) -> bool {
        let refused = self.options.check_special(text).err();
        let is_refused = refused.is_some();
        if is_refused {
            parts.failure = refused;
        }
        is_refused
    }
}

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
        } else {
            self.encode_normalized(parts, text, ids);
        }
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

    /// A text for the encoder of raw text.
    #[inline]
    fn raw_text<'r>(&'r self, text: &'r [u8], adds_prefix: bool) -> RawText<'r> {
        RawText {
            text,
            adds_prefix,
            byte_ids: self.tables.byte_ids.as_deref(),
        }
    }

    /// Replaces each run of unknown ids from `start` on by one id. With byte fallback, raw text has
    /// none.
    #[inline]
    pub(super) fn join_unknowns(&self, ids: &mut Vec<PieceId>, start: usize) {
        if !self.has_byte_fallback() {
            join_unknowns(ids, start, self.tables.unknown);
        }
    }

    #[inline]
    fn has_byte_fallback(&self) -> bool {
        self.tables.byte_ids.is_some()
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
