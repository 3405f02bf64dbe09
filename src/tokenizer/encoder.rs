//! The worker that encodes: normalize, segment, settle what is unknown, apply the options.
//!
//! In: texts, one after another. Out: ids or tokens, in buffers that are used again for the next text.
//!
//! Settling: in models with byte fallback an unknown character becomes the pieces of its bytes, of which the
//! last one has its span; in others neighbouring unknown texts become one. Spans are bytes of the caller's
//! text.

use super::options::{EncodeOptions, ExtraOption};
use super::{Pipeline, Tokenizer};
use crate::encode::SegmentScratch;
use crate::error::EncodeError;
use crate::piece::{PieceId, PieceKind};

/// An id and the part of the text that it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Token {
    /// The piece.
    pub id: PieceId,
    /// Where its part of the text begins, in bytes.
    pub begin: usize,
    /// Where its part of the text ends, in bytes.
    pub end: usize,
    /// Its part of the normalized text.
    normalized: (usize, usize),
}

/// The tokens of a text.
#[derive(Debug, Clone, Copy)]
pub struct Tokens<'e> {
    tokens: &'e [Token],
    text: &'e [u8],
    normalized: &'e [u8],
    tokenizer: &'e Tokenizer,
    /// Whether unknown tokens show the unknown piece's text.
    shows_unk: bool,
}

/// Everything that a worker needs to have its own.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(super) segment: SegmentScratch,
    pub(super) normalized: Vec<u8>,
    pub(super) origins: Vec<usize>,
    pub(super) raw: Vec<PieceId>,
    pub(super) ids: Vec<PieceId>,
    pub(super) tokens: Vec<Token>,
}

/// Encodes texts one after another; made by [`Tokenizer::encoder`].
///
/// ```
/// # let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
/// let mut encoder = tokenizer.encoder();
/// for line in ["one line", "and another"] {
///     for (token, piece) in encoder.tokens(line).iter() {
///         println!("{} {:?} {:?}", token.id, piece, &line[token.begin..token.end]);
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Encoder<'t> {
    tokenizer: &'t Tokenizer,
    pipeline: &'t Pipeline,
    extra: Vec<ExtraOption>,
    scratch: Box<Scratch>,
}

impl<'t> Encoder<'t> {
    pub(super) fn new(tokenizer: &'t Tokenizer, pipeline: &'t Pipeline) -> Encoder<'t> {
        Encoder { tokenizer, pipeline, extra: Vec::new(), scratch: tokenizer.take_scratch() }
    }

    pub(super) fn with_options(mut self, options: &EncodeOptions) -> Result<Encoder<'t>, EncodeError> {
        self.extra.clone_from(&options.extra);
        Ok(self)
    }

    /// The ids of `text`, which need not be UTF-8.
    pub fn encode(&mut self, text: impl AsRef<[u8]>) -> &[PieceId] {
        let mut ids = std::mem::take(&mut self.scratch.ids);
        ids.clear();
        self.encode_into(text, &mut ids);
        self.scratch.ids = ids;
        &self.scratch.ids
    }

    /// Appends the ids of `text`.
    pub fn encode_into(&mut self, text: impl AsRef<[u8]>, ids: &mut Vec<PieceId>) {
        let start = ids.len();
        let scratch = &mut *self.scratch;
        self.pipeline.normalizer.normalize(text.as_ref(), &mut scratch.normalized);
        let pieces = self.tokenizer.model.table();
        self.pipeline.segmenter.segment(pieces, &scratch.normalized, &mut scratch.segment, ids);
        self.settle(ids, start);
        self.add_extra_ids(ids, start);
    }

    /// The number of ids that `text` has.
    pub fn count(&mut self, text: impl AsRef<[u8]>) -> usize {
        self.encode(text).len()
    }

    /// `text` as pieces are made of, with marks for spaces. It is UTF-8 unless the model's rules say otherwise.
    pub fn normalize(&mut self, text: impl AsRef<[u8]>) -> &[u8] {
        self.pipeline.normalizer.normalize(text.as_ref(), &mut self.scratch.normalized);
        &self.scratch.normalized
    }

    /// The tokens of `text`.
    pub fn tokens<'e, T: AsRef<[u8]> + ?Sized>(&'e mut self, text: &'e T) -> Tokens<'e> {
        let text = text.as_ref();
        let scratch = &mut *self.scratch;
        let normalizer = &self.pipeline.normalizer;
        normalizer.normalize_with_offsets(text, &mut scratch.normalized, &mut scratch.origins);
        scratch.raw.clear();
        let pieces = self.tokenizer.model.table();
        self.pipeline.segmenter.segment(pieces, &scratch.normalized, &mut scratch.segment, &mut scratch.raw);
        self.locate();
        self.add_extra_tokens(text.len());
        Tokens {
            tokens: &self.scratch.tokens,
            text,
            normalized: &self.scratch.normalized,
            tokenizer: self.tokenizer,
            shows_unk: self.extra.contains(&ExtraOption::UnkPiece),
        }
    }

    /// Settles the unknown ids from `start` on, which are those of the normalized text.
    fn settle(&mut self, ids: &mut Vec<PieceId>, start: usize) {
        let unknown = self.tokenizer.unknown;
        if !ids[start..].contains(&unknown) {
            return;
        }
        let Some(bytes) = &self.tokenizer.bytes else {
            return join_runs(ids, start, unknown);
        };
        self.scratch.raw.clear();
        self.scratch.raw.extend(ids.drain(start..));
        let mut rest = &self.scratch.normalized[..];
        for id in self.scratch.raw.iter().copied() {
            let (text, after) = rest.split_at(self.length(id, rest));
            if id == unknown {
                ids.extend(text.iter().map(|byte| bytes[usize::from(*byte)]));
            } else {
                ids.push(id);
            }
            rest = after;
        }
    }

    /// How much of the normalized text an id at its start stands for.
    fn length(&self, id: PieceId, rest: &[u8]) -> usize {
        if id == self.tokenizer.unknown {
            return self.pipeline.segmenter.unknown_length(rest);
        }
        self.tokenizer.model.table().text(id.index()).len()
    }

    /// Makes tokens of the raw ids.
    fn locate(&mut self) {
        let mut tokens = std::mem::take(&mut self.scratch.tokens);
        tokens.clear();
        let Scratch { normalized, origins, raw, .. } = &*self.scratch;
        let (mut at, mut after_unknown) = (0, false);
        for id in raw.iter().copied() {
            let end = at + self.length(id, &normalized[at..]);
            let token = Token { id, begin: origins[at], end: origins[end], normalized: (at, end) };
            let is_unknown = id == self.tokenizer.unknown;
            match (&self.tokenizer.bytes, tokens.last_mut()) {
                (Some(bytes), _) if is_unknown => push_bytes(token, &normalized[at..end], bytes, &mut tokens),
                (_, Some(last)) if is_unknown && after_unknown => {
                    (last.end, last.normalized.1) = (token.end, end);
                }
                _ => tokens.push(token),
            }
            (at, after_unknown) = (end, is_unknown);
        }
        self.scratch.tokens = tokens;
    }

    fn add_extra_ids(&self, ids: &mut Vec<PieceId>, start: usize) {
        for option in &self.extra {
            match option {
                ExtraOption::Bos => self.tokenizer.special.bos.into_iter().for_each(|id| ids.insert(start, id)),
                ExtraOption::Eos => ids.extend(self.tokenizer.special.eos),
                ExtraOption::Reverse => ids[start..].reverse(),
                ExtraOption::UnkPiece => {}
            }
        }
    }

    fn add_extra_tokens(&mut self, end: usize) {
        let normalized = (0, 0);
        let tokens = &mut self.scratch.tokens;
        for option in &self.extra {
            match option {
                ExtraOption::Bos => {
                    let bos = self.tokenizer.special.bos.map(|id| Token { id, begin: 0, end: 0, normalized });
                    bos.into_iter().for_each(|token| tokens.insert(0, token));
                }
                ExtraOption::Eos => {
                    let eos = self.tokenizer.special.eos;
                    tokens.extend(eos.map(|id| Token { id, begin: end, end, normalized }));
                }
                ExtraOption::Reverse => tokens.reverse(),
                ExtraOption::UnkPiece => {}
            }
        }
    }
}

impl Drop for Encoder<'_> {
    fn drop(&mut self) {
        self.tokenizer.give_scratch(std::mem::take(&mut self.scratch));
    }
}

/// Makes one of each run of `unknown` from `start` on.
fn join_runs(ids: &mut Vec<PieceId>, start: usize, unknown: PieceId) {
    let mut kept = start;
    for at in start..ids.len() {
        if at == start || ids[at] != unknown || ids[at - 1] != unknown {
            ids[kept] = ids[at];
            kept += 1;
        }
    }
    ids.truncate(kept);
}

/// Appends a token for each byte of an unknown text.
fn push_bytes(unknown: Token, text: &[u8], bytes: &[PieceId; 256], tokens: &mut Vec<Token>) {
    tokens.extend(text.iter().map(|byte| Token { id: bytes[usize::from(*byte)], end: unknown.begin, ..unknown }));
    if let Some(last) = tokens.last_mut() {
        last.end = unknown.end;
    }
}

impl<'e> Tokens<'e> {
    /// The tokens.
    pub fn as_slice(&self) -> &'e [Token] {
        self.tokens
    }

    /// Each token with the text of its piece, which for an unknown token is the normalized text that it
    /// stands for. Nothing promises that it is UTF-8 if the model's pieces are not.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Token, &'e [u8])> + use<'e> {
        let tokens = *self;
        self.tokens.iter().map(move |token| (*token, tokens.piece(token)))
    }

    /// The text of a token's piece.
    pub fn piece(&self, token: &Token) -> &'e [u8] {
        let (kind, text) = match self.tokenizer.model.piece(token.id) {
            Some(piece) => (piece.kind, piece.text),
            None => (PieceKind::Unknown, &[][..]),
        };
        if kind == PieceKind::Unknown && !self.shows_unk {
            return self.normalized.get(token.normalized.0..token.normalized.1).unwrap_or_default();
        }
        text
    }

    /// The part of the text that a token stands for; empty for all but the last byte of a character.
    pub fn surface(&self, token: &Token) -> &'e [u8] {
        self.text.get(token.begin..token.end).unwrap_or_default()
    }
}
