//! Encoding of one text with the options of a call: segments at special pieces, the ids or tokens
//! between them, and extra pieces. What encodes the ordinary text is
//! [`model_text`](super::model_text), or a pipeline.

use std::time::Duration;

use super::Tokenizer;
use super::allowed_special::AllowedSpecial;
use super::cache::{CacheParts, EncodeCache, TextBuffers};
use super::options::{EncodeOptions, ExtraOption};
#[cfg(feature = "formats")]
use super::pipeline_tables::PipelineTables;
use super::tables::{Tables, TablesRef};
use super::tokens::Tokens;
#[cfg(feature = "formats")]
use crate::added::FoundTokens;
use crate::base::lossy_string;
use crate::encode::EncodeError;
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
    /// Whether spans keep the white space that the post-processor takes out of them.
    #[cfg(feature = "formats")]
    pub(super) untrimmed_spans: bool,
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
    #[cfg(feature = "formats")]
    untrimmed_spans: false,
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
            #[cfg(feature = "formats")]
            untrimmed_spans: options.untrimmed_spans,
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

impl<'t> EncodeContext<'t> {
    /// Appends the ids of `text`.
    #[inline]
    pub(super) fn encode(&self, cache: &mut EncodeCache, text: &[u8], ids: &mut Vec<PieceId>) {
        let parts = self.tables.pool().parts_of(cache);
        if self.is_refused(text, parts) {
            return;
        }
        let start = ids.len();
        match (&self.tables, &self.options.special) {
            (TablesRef::Model(model), FoundSpecial::Pieces(allowed)) => {
                for segment in allowed.segments(text) {
                    match segment {
                        Segment::Text(range) => model.encode_segment(parts, &text[range], ids),
                        Segment::Special(id, _) => ids.push(PieceId::from_index(id)),
                    }
                }
            }
            (TablesRef::Model(model), _) => model.encode_segment(parts, text, ids),
            #[cfg(feature = "formats")]
            (TablesRef::Pipeline(tables), _) => {
                tables.encode(text, self.found(tables), parts, ids);
            }
        }
        self.tokenizer.add_extra(&self.options.extra, ids, start);
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
        !changes_ids && model.encode_raw_lines(model.stages.pool.parts_of(cache), text, lines)
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
                let scopes = Scope::whole(text, self.found(tables));
                tables.push_tokens(text, &scopes, !self.options.untrimmed_spans, parts);
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
