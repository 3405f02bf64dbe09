//! Encoding of a text that grows at its end.
//!
//! When text is appended, most ids stay. What can change are the ids of the last words: `the ri` and
//! `ght` have other ids than `the right`. So an [`AppendingEncoder`] keeps a *boundary*, a position
//! with this property: whatever follows the text so far, the ids of the whole are those of the text
//! before the boundary, and then those of the text after it. Only the text after the boundary is
//! encoded again. Then a later boundary is looked for in it.
//!
//! # Boundaries
//!
//! | tokenizer | a boundary is | text without any |
//! |---|---|---|
//! | BPE or unigram model | between two characters that are adjacent in no piece | long runs of one script without such a pair |
//! | word model | before a word | a long word |
//! | char model | between two characters that are adjacent in no user-defined symbol | |
//! | byte-level pipeline with the pattern of a known tokenizer | after a letter, before a character that is no letter, mark, apostrophe, Chinese or Japanese | text without spaces and punctuation |
//! | other pipelines | between a word and a space, where all stages can be [cut](crate::pipeline) | text without single spaces |
//!
//! **SentencePiece models.** Let p be a position of the text, n the position of the normalized text
//! to which it leads, and let
//!
//! 1. p be in text that no control piece can take, however the text goes on,
//! 2. all steps of the normalizer up to the one that begins at p be *known*: no symbol, rule or
//!    character in them can be completed by more text,
//! 3. the character before n be no whitespace mark, and
//! 4. the encoder have a boundary at n, which depends on the characters before and after n only.
//!
//! By 1 and 2, the normalizer has read the same text in the same steps up to p, and its state there
//! is known: by 3, a space at p is kept, and nothing before p is trimmed at the end of the text. So
//! the normalized text is that of the part before p, and then that of the other part, in any longer
//! text. By 2, the character after n is the same, too, so that 4 holds there; a mark that the end of a
//! text removes is only removed if nothing follows. What the encoder does before n does not depend on
//! what is after n. After n, unigram models depend on the sum of the scores, which is kept; models
//! without byte fallback join unknown ids, which is done here. A control piece that is known ends a
//! text, and the next one begins after it. ∎
//!
//! **Pipelines:** see `pipeline/boundary.rs`. A boundary keeps away from the end by the bytes of the
//! longest added token, of which a part may already be there.
//!
//! # Cost
//!
//! Each call encodes what was appended and the text from the last boundary on: a few words, in text
//! that has boundaries. Without boundaries, it is all of the text. That is always so for models with
//! pieces that end inside of characters, BPE models with unused pieces or superwords, byte-level
//! patterns that no scanner knows, and pipelines whose stages look further than to the
//! next word, such as those with `Metaspace` and no split before a unigram model.

use std::fmt;
use std::ops::Range;

use super::cache::{CacheParts, EncodeCache};
use super::context::{EncodeContext, FoundSpecial};
use super::model_tables::ModelContext;
use super::tables::{Tables, TablesRef};
use super::{EncodeOptions, PreparedOptions, Tokenizer};
use crate::base::WHITESPACE_MARK_STR;
use crate::encode::EncodeError;
use crate::piece::PieceId;
#[cfg(feature = "formats")]
use crate::special::Scope;
use crate::special::Segment;

/// Encodes a text that grows at its end, such as the prompt of a chat; made by
/// [`Tokenizer::appending_encoder`].
///
/// It borrows nothing, so that it can be stored, for example in the state of a chat. After each call of [`push`](Self::push), the ids are those of the whole text so far. The time is
/// that for the appended text and a few words before it; [Cost](#cost) has the exceptions.
///
/// ```
/// use spiece::{EncodeOptions, Tokenizer};
/// let tokenizer = Tokenizer::open("testdata/golden/llama2.model")?;
/// let mut appending = tokenizer.appending_encoder(&EncodeOptions::default())?;
/// assert_eq!(appending.push("of the ri")?.new, tokenizer.encode("of the ri"));
///
/// let appended = appending.push("ght")?;
/// assert_eq!(appended.kept, 2); // `▁of` and `▁the`
/// assert_eq!(appended.new, &tokenizer.encode("of the right")[2..]);
/// assert_eq!(appending.ids(), tokenizer.encode("of the right"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Cost
/// Text is encoded again from the last position on at which no later text can change what stands
/// before. For nearly all tokenizers there is one in nearly each word. For these, all of the text is
/// encoded again in each call: models with pieces that end inside of characters, BPE models with unused
/// pieces or pieces of several words, byte-level vocabularies with a pattern that is not that of a known
/// tokenizer, and a `tokenizer.json` whose stages cannot be cut between words.
pub struct AppendingEncoder {
    worker: Worker,
    /// The text after the boundary. In pipelines, one character before it as well.
    rest: Vec<u8>,
    /// The bytes of that character.
    context: usize,
    boundary: Boundary,
    /// The ids of the whole text.
    ids: Vec<PieceId>,
    /// How many of them are those of the text before the boundary.
    settled: usize,
    /// The last bytes, in which a refused special token may have begun.
    recent: Vec<u8>,
    /// The bytes of the whole text.
    length: usize,
    /// The bytes that were encoded.
    #[cfg(test)]
    pub(super) encoded_bytes: usize,
}

/// What encodes: the tokenizer with checked options, and its memory.
struct Worker {
    tokenizer: Tokenizer,
    options: PreparedOptions,
    cache: EncodeCache,
}

impl Worker {
    fn parts(&mut self) -> Result<(EncodeContext<'_>, &mut CacheParts), EncodeError> {
        let finds_symbols = self.options.options().user_defined_symbols;
        let tables = self.tokenizer.tables.with_symbols(finds_symbols)?;
        let context = EncodeContext {
            tokenizer: &self.tokenizer,
            tables,
            options: self.options.as_checked(),
        };
        Ok((context, tables.pool().parts_of(&mut self.cache)))
    }
}

/// What a call of [`AppendingEncoder::push`] changed: the first `kept` ids stay, `new` follows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Appended<'e> {
    /// The number of ids before that stay.
    pub kept: usize,
    /// The ids after them.
    pub new: &'e [PieceId],
}

/// What stands at a boundary.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Boundary {
    /// The start of a text.
    Start,
    /// Text on both sides. In unigram models, the sum of the scores before it.
    Inside { sum: f32 },
}

/// A boundary in the text at hand.
#[derive(Debug, Clone, Copy)]
struct Settled {
    /// The bytes before it.
    length: usize,
    /// The ids before it.
    ids: usize,
    boundary: Boundary,
}

impl Tokenizer {
    /// An encoder for a text that grows; see [`AppendingEncoder`]. Of the options,
    /// [`extra`](EncodeOptions::extra) has no effect: a text that grows has no end.
    ///
    /// # Errors
    /// As [`encoder_with`](Self::encoder_with).
    pub fn appending_encoder(
        &self,
        options: &EncodeOptions,
    ) -> Result<AppendingEncoder, EncodeError> {
        let options = self.prepare_options(options)?;
        let tables = self
            .tables
            .with_symbols(options.options().user_defined_symbols)?;
        Ok(AppendingEncoder {
            worker: Worker {
                cache: tables.pool().create(),
                tokenizer: self.clone(),
                options,
            },
            rest: Vec::new(),
            context: 0,
            boundary: Boundary::Start,
            ids: Vec::new(),
            settled: 0,
            recent: Vec::new(),
            length: 0,
            #[cfg(test)]
            encoded_bytes: 0,
        })
    }
}

impl AppendingEncoder {
    /// Appends text, which need not be UTF-8 and may end inside a character.
    ///
    /// # Errors
    /// The text has a special token that the options refuse, or no ids; see
    /// [`Encoder::take_failure`](crate::Encoder::take_failure). The encoder is then unchanged.
    pub fn push(&mut self, text: impl AsRef<[u8]>) -> Result<Appended<'_>, EncodeError> {
        let text = text.as_ref();
        self.check_refused(text)?;
        let length_before = self.rest.len();
        self.rest.extend_from_slice(text);
        #[cfg(test)]
        {
            self.encoded_bytes += self.rest.len() - self.context;
        }
        let mut new = Vec::new();
        let settled = match self.encode_rest(&mut new) {
            Ok(settled) => settled,
            Err(error) => {
                self.rest.truncate(length_before);
                return Err(error);
            }
        };
        self.remember(text);
        let old = &self.ids[self.settled..];
        let common = old.iter().zip(&new).take_while(|(old, new)| old == new);
        let common = common.count();
        let kept = self.settled + common;
        self.ids.truncate(kept);
        self.ids.extend_from_slice(&new[common..]);
        if let Some(settled) = settled {
            self.settled += settled.ids;
            self.boundary = settled.boundary;
            let is_pipeline = !matches!(self.worker.tokenizer.tables, Tables::Model(_));
            self.context = usize::from(is_pipeline);
            self.rest.drain(..settled.length - self.context);
        }
        Ok(Appended {
            kept,
            new: &self.ids[kept..],
        })
    }

    /// The ids of the text so far.
    pub fn ids(&self) -> &[PieceId] {
        &self.ids
    }

    /// The bytes of the text so far.
    pub fn text_length(&self) -> usize {
        self.length
    }

    /// Begins another text.
    pub fn clear(&mut self) {
        self.rest.clear();
        self.context = 0;
        self.boundary = Boundary::Start;
        self.ids.clear();
        self.settled = 0;
        self.recent.clear();
        self.length = 0;
    }

    /// Refuses text after which the whole text has a special token that the options refuse.
    fn check_refused(&self, text: &[u8]) -> Result<(), EncodeError> {
        let begin = self.length - self.recent.len();
        let options = self.worker.options.as_checked();
        if options.refused.is_none() {
            return Ok(());
        }
        let checked = options.check_special(&[&self.recent[..], text].concat());
        checked.map_err(|error| match error {
            EncodeError::RefusedSpecial { piece, begin: at } => EncodeError::RefusedSpecial {
                piece,
                begin: begin + at,
            },
            error => error,
        })
    }

    /// Takes note of text that was appended.
    fn remember(&mut self, text: &[u8]) {
        self.length += text.len();
        if let Some(refused) = &self.worker.options.as_checked().refused {
            self.recent.extend_from_slice(text);
            let superfluous = self.recent.len().saturating_sub(refused.longest);
            self.recent.drain(..superfluous);
        }
    }

    /// Appends the ids of the text after the boundary. Returns a later boundary.
    fn encode_rest(&mut self, new: &mut Vec<PieceId>) -> Result<Option<Settled>, EncodeError> {
        let boundary = self.boundary;
        let text = &self.rest[..];
        let previous = self.ids[..self.settled].last().copied();
        let (context, parts) = self.worker.parts()?;
        match context.tables {
            TablesRef::Model(model) => {
                let run = ModelText {
                    context,
                    model,
                    text,
                };
                Ok(run.encode((boundary, previous), parts, new))
            }
            #[cfg(feature = "formats")]
            TablesRef::Pipeline(tables) => {
                let found = context.found(tables);
                let (start, state) = (self.context, &mut parts.pipeline);
                let pipeline = &tables.pipeline;
                let at = pipeline.last_boundary(text, start);
                let mut encode = |from: usize, to: usize, new: &mut Vec<PieceId>| match from {
                    0 => {
                        let text = &text[..to];
                        pipeline.encode(text, &Scope::whole(text, found), state, new)
                    }
                    _ => pipeline.encode_rest((&text[..to], from), found, state, new),
                };
                let mut ids = 0;
                let encoded = match at {
                    None => encode(start, text.len(), new),
                    Some(at) => encode(start, at, new).and_then(|()| {
                        ids = new.len();
                        encode(at, text.len(), new)
                    }),
                };
                encoded
                    .map(|()| settled_at(at, ids))
                    .map_err(EncodeError::from)
            }
        }
    }
}

impl fmt::Debug for AppendingEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppendingEncoder")
            .field("tokenizer", &self.worker.tokenizer)
            .field("text_length", &self.length)
            .field("ids", &self.ids.len())
            .finish_non_exhaustive()
    }
}

/// A boundary inside of a text without a sum.
#[cfg(feature = "formats")]
fn settled_at(at: Option<usize>, ids: usize) -> Option<Settled> {
    Some(Settled {
        length: at?,
        ids,
        boundary: Boundary::Inside { sum: 0.0 },
    })
}

/// A text of a SentencePiece model.
struct ModelText<'m> {
    context: EncodeContext<'m>,
    model: ModelContext<'m>,
    text: &'m [u8],
}

impl ModelText<'_> {
    /// Appends the ids of the text after a boundary and the id `previous`. Returns a later boundary.
    fn encode(
        &self,
        (mut boundary, mut previous): (Boundary, Option<PieceId>),
        parts: &mut CacheParts,
        new: &mut Vec<PieceId>,
    ) -> Option<Settled> {
        let (segments, known) = match &self.context.options.special {
            FoundSpecial::Pieces(allowed) => {
                (allowed.segments(self.text), allowed.known_length(self.text))
            }
            _ => (vec![Segment::Text(0..self.text.len())], self.text.len()),
        };
        let is_known = |segment: &Segment| matches!(segment, Segment::Special(_, range) if range.start < known);
        let mut settled = None;
        let mut may_settle = true;
        let mut segments = segments.into_iter().peekable();
        while let Some(segment) = segments.next() {
            may_settle &= matches!(segment, Segment::Text(_)) || is_known(&segment);
            match segment {
                Segment::Special(id, range) => {
                    new.push(PieceId::from_index(id));
                    (boundary, previous) = (Boundary::Start, None);
                    if may_settle {
                        settled = Some(Settled {
                            length: range.end,
                            ids: new.len(),
                            boundary,
                        });
                    }
                }
                Segment::Text(range) => {
                    let is_whole = segments.peek().is_some_and(is_known);
                    let known = match may_settle && !is_whole {
                        true => known.saturating_sub(range.start).min(range.len()),
                        false => 0,
                    };
                    let begin = range.start;
                    let found = self.encode_run(range, known, (boundary, previous), parts, new);
                    if let Some(found) = found {
                        let length = begin + found.length;
                        settled = Some(Settled { length, ..found });
                    }
                    may_settle &= is_whole;
                }
            }
        }
        settled
    }

    /// Appends the ids of text without control pieces. Returns a boundary in its first `known` bytes.
    fn encode_run(
        &self,
        range: Range<usize>,
        known: usize,
        (boundary, previous): (Boundary, Option<PieceId>),
        parts: &mut CacheParts,
        new: &mut Vec<PieceId>,
    ) -> Option<Settled> {
        let run = &self.text[range];
        let normalizer = &self.model.stages.normalizer;
        let (mut normalized, mut origins) = (Vec::new(), Vec::new());
        let sum = match boundary {
            Boundary::Start => {
                normalizer.normalize_with_offsets(run, &mut normalized, &mut origins);
                0.0
            }
            Boundary::Inside { sum } => {
                normalizer.normalize_rest(run, &mut normalized, &mut origins);
                sum
            }
        };
        let known = normalizer.known_length(&run[..known]);
        let is_boundary = |at: &usize| {
            let (before, after) = (origins[*at - 1], origins[*at]);
            let is_mark = normalized[..*at].ends_with(WHITESPACE_MARK_STR.as_bytes())
                || normalized[*at - 1] == b' ';
            before < after && after < known && !is_mark
        };
        let boundaries = match known {
            0 => Vec::new(),
            _ => self.model.stages.encoder.boundaries(&normalized),
        };
        let at = boundaries.into_iter().rev().find(is_boundary);
        let (before, after) = normalized.split_at(at.unwrap_or(0));
        let start = new.len();
        let previous = match boundary {
            Boundary::Start => None,
            Boundary::Inside { .. } => previous,
        };
        let sum = self.encode_normalized((before, sum), previous, parts, new);
        let ids = new.len();
        let previous = new[start..].last().copied().or(previous);
        self.encode_normalized((after, sum), previous, parts, new);
        Some(Settled {
            length: origins[at?],
            ids,
            boundary: Boundary::Inside { sum },
        })
    }

    /// Appends the ids of normalized text after the id `previous` of the same text, with unknown ones
    /// resolved.
    fn encode_normalized(
        &self,
        (text, sum): (&[u8], f32),
        previous: Option<PieceId>,
        parts: &mut CacheParts,
        new: &mut Vec<PieceId>,
    ) -> f32 {
        let start = new.len();
        let CacheParts { state, buffers, .. } = parts;
        let tables = self.model.tables;
        let encoder = &self.model.stages.encoder;
        let sum = encoder.encode_from(tables.model().table(), (text, sum), state, new);
        buffers.normalized.clear();
        buffers.normalized.extend_from_slice(text);
        self.model.resolve_unknowns(buffers, new, start);
        let is_joined = tables.byte_ids.is_none()
            && previous == Some(tables.unknown)
            && new.get(start) == Some(&tables.unknown);
        if is_joined {
            new.remove(start);
        }
        sum
    }
}
