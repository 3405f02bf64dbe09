//! Texts of several segments, each with its own choice of special tokens.
//!
//! A chat server puts a prompt together from text of its template, in which special tokens are found,
//! and text of users, in which they are not. Encoded one by one, the segments would have other ids than
//! the text: each would get a dummy prefix, and no token could have characters of two of them. So
//! the segments are parts of one text here, and only the search for tokens knows where one ends.
//!
//! The rule: **a token is searched for in each segment by itself, with the options of the segment.**
//! It is found if all of it is inside, so that no text of another segment can take a part of it. Everything
//! else sees one text: ordinary text of neighbouring segments is normalized, cut and merged as
//! if it had come at once, and the added tokens of a `tokenizer.json` with `lstrip`, `rstrip` or
//! `single_word` look at what stands beside them, whatever segment it is of.
//!
//! | tokenizer | cut out | between |
//! |---|---|---|
//! | SentencePiece model | control pieces | user-defined symbols, which the normalizer and the encoder find; both are told the scopes |
//! | pipeline | special and added tokens, in the text as it is | those that are searched for in normalized text, of which a character belongs to the segment that it stands for |
//!
//! A character of normalized text that stands for text of two segments is in no token that is found
//! like that. In a SentencePiece model it belongs to the segment in which it begins.
//!
//! Example (Llama 2): `</s>` of the template and `the rig</s>` of a user, then `ht` of the template:
//! `</s>` is found once. The rest is the ordinary text `the rig</s>ht`.

use std::ops::Range;
use std::sync::Arc;

use super::cache::CacheParts;
use super::context::{CheckedOptions, EncodeContext, FoundSpecial};
use super::model_tables::ModelContext;
#[cfg(feature = "formats")]
use super::pipeline_tables::PipelineTables;
use super::tables::{Tables, TablesRef};
use super::tokens::Tokens;
use super::{Encoder, PreparedOptions, Tokenizer};
#[cfg(feature = "formats")]
use crate::added::FoundTokens;
use crate::encode::EncodeError;
use crate::piece::PieceId;
use crate::special::{Scope, Segment, find_in_scopes, segments};
use crate::trie::prefix::KeyScopes;

/// A part of a text, and which special tokens are found in it; see [`Encoder::encode_segments`].
#[derive(Debug, Clone, Copy)]
pub struct TextSegment<'s> {
    /// The text, which need not be UTF-8.
    pub text: &'s [u8],
    /// What is found in it: of these options, [`allowed_special`](crate::EncodeOptions::allowed_special),
    /// [`user_defined_symbols`](crate::EncodeOptions::user_defined_symbols) and
    /// [`refuses_special`](crate::EncodeOptions::refuses_special) count.
    pub options: &'s PreparedOptions,
}

impl<'s> TextSegment<'s> {
    /// A text in which the special tokens of `options` are found.
    pub fn new<T: AsRef<[u8]> + ?Sized>(text: &'s T, options: &'s PreparedOptions) -> Self {
        Self {
            text: text.as_ref(),
            options,
        }
    }
}

/// The text of all segments, with their places and checked options.
struct JoinedSegments {
    text: Vec<u8>,
    segments: Vec<JoinedSegment>,
}

struct JoinedSegment {
    range: Range<usize>,
    finds_symbols: bool,
    options: Arc<CheckedOptions>,
}

/// How the user-defined symbols of a SentencePiece model are found in text without control pieces.
enum Symbols {
    Everywhere,
    Nowhere,
    In(KeyScopes),
}

impl JoinedSegments {
    fn new(tokenizer: &Tokenizer, given: &[TextSegment<'_>]) -> Result<Self, EncodeError> {
        let mut text = Vec::with_capacity(given.iter().map(|segment| segment.text.len()).sum());
        let mut segments = Vec::with_capacity(given.len());
        for segment in given {
            let begin = text.len();
            let options = tokenizer.checked(segment.options)?;
            options
                .check_special(segment.text)
                .map_err(|error| match error {
                    EncodeError::RefusedSpecial { piece, begin: at } => {
                        let begin = begin + at;
                        EncodeError::RefusedSpecial { piece, begin }
                    }
                    error => error,
                })?;
            text.extend_from_slice(segment.text);
            if begin < text.len() {
                segments.push(JoinedSegment {
                    range: begin..text.len(),
                    finds_symbols: segment.options.options().user_defined_symbols,
                    options,
                });
            }
        }
        Ok(Self { text, segments })
    }

    /// The text cut at the control pieces that are found in it.
    fn cut_at_control_pieces(&self) -> Vec<Segment> {
        let scopes: Vec<Scope<'_, FoundSpecial>> = (self.segments.iter())
            .map(|segment| Scope {
                range: segment.range.clone(),
                found: &segment.options.special,
            })
            .collect();
        let mut scopes = &scopes[..];
        segments(&self.text, |at| {
            find_in_scopes(&mut scopes, at, |found, range| match found {
                FoundSpecial::Pieces(allowed) => allowed.find_in(&self.text, range),
                _ => None,
            })
        })
    }

    /// Where user-defined symbols are found in a range of the text.
    fn symbols(&self, range: &Range<usize>) -> Symbols {
        let parts = self.segments.iter().filter_map(|segment| {
            let begin = segment.range.start.max(range.start);
            let end = segment.range.end.min(range.end);
            (begin < end).then(|| {
                (
                    segment.finds_symbols,
                    begin - range.start..end - range.start,
                )
            })
        });
        let parts: Vec<(bool, Range<usize>)> = parts.collect();
        // A symbol has no part in another segment, even if both find it.
        match &parts[..] {
            [(true, _)] => Symbols::Everywhere,
            _ if parts.iter().any(|(finds, _)| *finds) => {
                let found = parts.into_iter().filter(|(finds, _)| *finds);
                Symbols::In(KeyScopes::new(found.map(|(_, range)| range).collect()))
            }
            _ => Symbols::Nowhere,
        }
    }

    /// What each segment finds in a pipeline.
    #[cfg(feature = "formats")]
    fn scopes<'s>(
        &'s self,
        context: &EncodeContext<'s>,
        tables: &'s PipelineTables,
    ) -> Vec<Scope<'s, FoundTokens>> {
        let scope = |segment: &'s JoinedSegment| {
            let options = &*segment.options;
            let context = EncodeContext {
                options,
                ..*context
            };
            Scope {
                range: segment.range.clone(),
                found: context.found(tables),
            }
        };
        self.segments.iter().map(scope).collect()
    }
}

impl Encoder<'_> {
    /// The ids of one text that is given in segments, each with its own choice of special tokens: of a
    /// chat, the text of the template, in which special tokens are found, and the text of users, in
    /// which they are not.
    ///
    /// The ids are those of the text as a whole, in which only those tokens are cut out that a segment
    /// finds and that are inside of it. Ordinary text of neighbouring segments is encoded together:
    /// tokens can have characters of both, and a dummy prefix stands only where it would in the
    /// whole text. The [`extra`](crate::EncodeOptions::extra) options are those of the encoder.
    ///
    /// ```
    /// use spiece::{EncodeOptions, TextSegment, Tokenizer};
    /// let tokenizer = Tokenizer::open("testdata/golden/llama2.model")?;
    /// let template = EncodeOptions::default().with_allowed_special(["<s>", "</s>"]);
    /// let template = tokenizer.prepare_options(&template)?;
    /// let user = EncodeOptions::default().with_user_defined_symbols(false);
    /// let user = tokenizer.prepare_options(&user)?;
    ///
    /// let mut encoder = tokenizer.encoder();
    /// let ids = encoder.encode_segments(&[
    ///     TextSegment::new("<s>the ri", &template),
    ///     TextSegment::new("ght</s>", &user), // ordinary text
    ///     TextSegment::new("</s>", &template),
    /// ])?;
    /// let ends = [tokenizer.bos_id().unwrap(), tokenizer.eos_id().unwrap()];
    /// assert_eq!(ids, [&ends[..1], &tokenizer.encode("the right</s>"), &ends[1..]].concat());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A segment has a special token that its options refuse; options of another tokenizer do not fit
    /// this one, as in [`Tokenizer::encoder_with`]; or the text has no ids, see
    /// [`take_failure`](Self::take_failure).
    pub fn encode_segments(
        &mut self,
        segments: &[TextSegment<'_>],
    ) -> Result<&[PieceId], EncodeError> {
        let joined = JoinedSegments::new(self.tokenizer(), segments)?;
        let mut ids = std::mem::take(&mut self.memory().buffers.ids);
        ids.clear();
        let (context, cache) = self.parts();
        let parts = context.tables.pool().parts_of(cache);
        match context.tables {
            #[cfg(feature = "formats")]
            TablesRef::Pipeline(tables) => {
                let scopes = joined.scopes(&context, tables);
                tables.encode_scopes(&joined.text, &scopes, parts, &mut ids);
            }
            TablesRef::Model(model) => {
                for segment in joined.cut_at_control_pieces() {
                    match segment {
                        Segment::Special(id, _) => ids.push(PieceId::from_index(id)),
                        Segment::Text(range) => {
                            let run = ModelRun::new(&context, model, &joined, range)?;
                            run.encode(parts, &mut ids);
                        }
                    }
                }
            }
        }
        context
            .tokenizer
            .add_extra(&context.options.extra, &mut ids, 0);
        let failure = parts.failure.take();
        parts.buffers.ids = ids;
        match failure {
            Some(error) => Err(error),
            None => Ok(&self.memory().buffers.ids),
        }
    }

    /// The tokens of one text that is given in segments: the ids of
    /// [`encode_segments`](Self::encode_segments), with spans in the text as a whole.
    ///
    /// # Errors
    /// As [`encode_segments`](Self::encode_segments).
    pub fn segment_tokens(
        &mut self,
        segments: &[TextSegment<'_>],
    ) -> Result<Tokens<'_>, EncodeError> {
        let joined = JoinedSegments::new(self.tokenizer(), segments)?;
        let (context, cache) = self.parts();
        let parts = context.tables.pool().parts_of(cache);
        parts.buffers.tokens.clear();
        match context.tables {
            #[cfg(feature = "formats")]
            TablesRef::Pipeline(tables) => {
                let scopes = joined.scopes(&context, tables);
                tables.push_tokens(&joined.text, &scopes, true, parts);
            }
            TablesRef::Model(model) => {
                for segment in joined.cut_at_control_pieces() {
                    match segment {
                        Segment::Special(id, range) => {
                            parts.buffers.tokens.push(PieceId::from_index(id), range);
                        }
                        Segment::Text(range) => {
                            ModelRun::new(&context, model, &joined, range)?.append_tokens(parts);
                        }
                    }
                }
            }
        }
        if let Some(error) = parts.failure.take() {
            return Err(error);
        }
        Ok(context.finish_owned(&mut parts.buffers, joined.text))
    }
}

/// Text of a SentencePiece model between control pieces.
struct ModelRun<'r> {
    /// The tables of the encoder, to which the cache belongs.
    own: ModelContext<'r>,
    with_symbols: ModelContext<'r>,
    without_symbols: ModelContext<'r>,
    symbols: Symbols,
    text: &'r [u8],
    /// Where it begins in the whole text.
    base: usize,
}

impl<'r> ModelRun<'r> {
    fn new(
        context: &EncodeContext<'r>,
        own: ModelContext<'r>,
        joined: &'r JoinedSegments,
        range: Range<usize>,
    ) -> Result<Self, EncodeError> {
        let model = |finds_symbols| match &context.tokenizer.tables {
            Tables::Model(tables) => tables.context_with(finds_symbols),
            #[cfg(feature = "formats")]
            Tables::Pipeline(_) => Ok(own),
        };
        let symbols = match own.has_symbols() {
            true => joined.symbols(&range),
            false => Symbols::Everywhere,
        };
        let without_symbols = match symbols {
            Symbols::Everywhere => own,
            Symbols::Nowhere | Symbols::In(_) => model(false)?,
        };
        Ok(Self {
            own,
            with_symbols: model(true)?,
            without_symbols,
            symbols,
            base: range.start,
            text: &joined.text[range],
        })
    }

    fn encode(&self, parts: &mut CacheParts, ids: &mut Vec<PieceId>) {
        match &self.symbols {
            Symbols::Everywhere => self.with(self.with_symbols, parts, |parts| {
                self.with_symbols.encode_segment(parts, self.text, ids);
            }),
            Symbols::Nowhere => self.with(self.without_symbols, parts, |parts| {
                self.without_symbols.encode_segment(parts, self.text, ids);
            }),
            Symbols::In(scopes) => self.with(self.without_symbols, parts, |parts| {
                let start = ids.len();
                self.encode_in_scopes(scopes, parts, ids);
                self.with_symbols
                    .resolve_unknowns(&mut parts.buffers, ids, start);
            }),
        }
    }

    fn append_tokens(&self, parts: &mut CacheParts) {
        match &self.symbols {
            Symbols::Everywhere => self.with(self.with_symbols, parts, |parts| {
                self.with_symbols.append_tokens(parts, self.text, self.base);
            }),
            Symbols::Nowhere => self.with(self.without_symbols, parts, |parts| {
                self.without_symbols
                    .append_tokens(parts, self.text, self.base);
            }),
            Symbols::In(scopes) => self.with(self.without_symbols, parts, |parts| {
                let mut ids = Vec::new();
                self.encode_in_scopes(scopes, parts, &mut ids);
                parts.buffers.unresolved = ids;
                self.with_symbols
                    .assign_spans(&mut parts.buffers, self.base);
            }),
        }
    }

    /// Appends the ids of the text, unknown ones unresolved. `parts` are those of the tables without
    /// symbols.
    fn encode_in_scopes(&self, scopes: &KeyScopes, parts: &mut CacheParts, ids: &mut Vec<PieceId>) {
        let CacheParts { state, buffers, .. } = parts;
        let normalizer = self.with_symbols.stages.normalizer.clone();
        let normalizer = normalizer.with_symbol_scopes(scopes.clone(), self.text.len());
        let (normalized, origins) = (&mut buffers.normalized, &mut buffers.origins);
        normalizer.normalize_with_offsets(self.text, normalized, origins);
        let length = normalized.len();
        let scopes = scopes.of_origins(origins.get(..length).unwrap_or_default());
        self.with_symbols.stages.encoder.encode_with_symbols_in(
            &self.without_symbols.stages.encoder,
            (normalized, &scopes),
            self.with_symbols.tables.model().table(),
            state,
            ids,
        );
    }

    /// Calls `run` with a cache of these tables, which has the tokens so far.
    fn with(
        &self,
        model: ModelContext<'_>,
        parts: &mut CacheParts,
        run: impl FnOnce(&mut CacheParts),
    ) {
        let pool = &model.stages.pool;
        if std::ptr::eq(pool, &self.own.stages.pool) {
            return run(parts);
        }
        let mut cache = pool.take();
        let other = pool.parts_of(&mut cache);
        std::mem::swap(&mut other.buffers.tokens, &mut parts.buffers.tokens);
        run(other);
        std::mem::swap(&mut other.buffers.tokens, &mut parts.buffers.tokens);
        pool.give(cache);
    }
}
