//! The worker that encodes: normalize, segment, settle what is unknown, apply the options.
//!
//! In: texts, one after another. Out: ids or tokens, in buffers that are used again for the next text.
//!
//! Settling: in models with byte fallback an unknown character becomes the pieces of its bytes, of which the
//! last one has its span; in others neighbouring unknown texts become one. Spans are bytes of the caller's
//! text.

use super::control::{AllowedControl, Stretch};
use super::options::{EncodeOptions, ExtraOption, SampleOptions};
use super::{Pipeline, Tokenizer};
use crate::encode::bpe::{DropoutText, RawText};
use crate::encode::unigram::sample::draw;
use crate::encode::{SegmentScratch, Segmenter};
use crate::error::EncodeError;
use crate::piece::{PieceId, PieceKind};
use crate::rng::Rng;

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
    pub(super) normalized: (usize, usize),
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
    /// The normalized text that the tokens are parts of.
    pub(super) shown: Vec<u8>,
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
    pub(super) tokenizer: &'t Tokenizer,
    pub(super) pipeline: &'t Pipeline,
    extra: Vec<ExtraOption>,
    allowed: Option<AllowedControl>,
    pub(super) scratch: Scratch,
}

impl<'t> Encoder<'t> {
    pub(super) fn new(tokenizer: &'t Tokenizer, pipeline: &'t Pipeline) -> Encoder<'t> {
        Encoder {
            tokenizer,
            pipeline,
            extra: Vec::new(),
            allowed: None,
            scratch: pipeline.take_scratch(),
        }
    }

    pub(super) fn with_options(
        mut self,
        options: &EncodeOptions,
    ) -> Result<Encoder<'t>, EncodeError> {
        self.extra.clone_from(&options.extra);
        self.allowed = AllowedControl::new(&self.tokenizer.model, &options.allowed_control)?;
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
        let (start, text) = (ids.len(), text.as_ref());
        match self.stretches(text) {
            None => self.encode_stretch(text, ids),
            Some(stretches) => stretches.into_iter().for_each(|stretch| match stretch {
                Stretch::Text(begin, end) => self.encode_stretch(&text[begin..end], ids),
                Stretch::Control(id, ..) => ids.push(id),
            }),
        }
        self.tokenizer.add_extra(&self.extra, ids, start);
    }

    /// Appends the ids of text without control pieces.
    fn encode_stretch(&mut self, text: &[u8], ids: &mut Vec<PieceId>) {
        let prefix = self.pipeline.normalizer.adds_dummy_prefix();
        let start = ids.len();
        if self.segment_raw(text, prefix, ids) {
            return self.join_unknown(ids, start);
        }
        let scratch = &mut self.scratch;
        self.pipeline
            .normalizer
            .normalize(text, &mut scratch.normalized);
        let pieces = self.tokenizer.model.table();
        self.pipeline
            .segmenter
            .segment(pieces, &scratch.normalized, &mut scratch.segment, ids);
        self.settle(ids, start);
    }

    /// Appends the ids of text that need not be normalized, an unknown id for each unknown character; tells
    /// whether it is of that kind.
    #[inline]
    pub(super) fn segment_raw(
        &mut self,
        text: &[u8],
        prefix: bool,
        ids: &mut Vec<PieceId>,
    ) -> bool {
        let (Segmenter::Bpe(bpe), true) = (&self.pipeline.segmenter, self.pipeline.takes_raw_text)
        else {
            return false;
        };
        let Tokenizer { model, bytes, .. } = self.tokenizer;
        let raw = RawText {
            text,
            adds_prefix: prefix,
            byte_ids: bytes.as_deref(),
        };
        bpe.encode_raw(model.table(), raw, &mut self.scratch.segment.bpe, ids);
        true
    }

    /// Makes one of each run of unknown ids from `start` on, in models that have them.
    pub(super) fn join_unknown(&self, ids: &mut Vec<PieceId>, start: usize) {
        if self.tokenizer.bytes.is_none() {
            join_runs(ids, start, self.tokenizer.unknown);
        }
    }

    /// Where `text` has control pieces that are allowed, if any are.
    fn stretches(&self, text: &[u8]) -> Option<Vec<Stretch>> {
        self.allowed.as_ref().map(|allowed| allowed.stretches(text))
    }

    /// The number of ids that `text` has.
    pub fn count(&mut self, text: impl AsRef<[u8]>) -> usize {
        self.encode(text).len()
    }

    /// `text` as pieces are made of, with marks for spaces. It is UTF-8 unless the model's rules say otherwise.
    pub fn normalize(&mut self, text: impl AsRef<[u8]>) -> &[u8] {
        self.pipeline
            .normalizer
            .normalize(text.as_ref(), &mut self.scratch.normalized);
        &self.scratch.normalized
    }

    /// The tokens of `text`.
    pub fn tokens<'e, T: AsRef<[u8]> + ?Sized>(&'e mut self, text: &'e T) -> Tokens<'e> {
        let text = text.as_ref();
        self.begin_tokens();
        match self.stretches(text) {
            None => self.append_tokens(text, 0),
            Some(stretches) => stretches.into_iter().for_each(|stretch| match stretch {
                Stretch::Text(begin, end) => self.append_tokens(&text[begin..end], begin),
                Stretch::Control(id, begin, end) => {
                    self.scratch.tokens.push(Token {
                        id,
                        begin,
                        end,
                        normalized: (0, 0),
                    });
                }
            }),
        }
        self.show(text)
    }

    /// Appends the tokens of text without control pieces, which begins at `base` in the caller's text.
    fn append_tokens(&mut self, text: &[u8], base: usize) {
        let prefix = self.pipeline.normalizer.adds_dummy_prefix();
        let mut raw = std::mem::take(&mut self.scratch.raw);
        raw.clear();
        let is_raw = self.segment_raw(text, prefix, &mut raw);
        self.scratch.raw = raw;
        if is_raw {
            return self.locate_raw(text, prefix, base);
        }
        self.trace(text);
        let scratch = &mut self.scratch;
        let pieces = self.tokenizer.model.table();
        self.pipeline.segmenter.segment(
            pieces,
            &scratch.normalized,
            &mut scratch.segment,
            &mut scratch.raw,
        );
        self.locate(base);
    }

    /// The best segmentations of `text`, `size` of them or as many as there are, best first, with their
    /// scores. For a `size` of 1, as for an empty text, the score is 0, as in the reference.
    ///
    /// # Errors
    /// The model is no unigram model, `size` is above 512, or the text has too many candidate pieces (not below a
    /// million characters in the models that people use).
    pub fn nbest(
        &mut self,
        text: impl AsRef<[u8]>,
        size: usize,
    ) -> Result<Vec<(Vec<PieceId>, f32)>, EncodeError> {
        let mut found = Vec::new();
        self.for_each_nbest(text.as_ref(), size, |score, tokens| {
            found.push((
                tokens.as_slice().iter().map(|token| token.id).collect(),
                score,
            ));
        })?;
        Ok(found)
    }

    /// Calls `visit` with the score and the tokens of each of the best segmentations; see
    /// [`nbest`](Encoder::nbest).
    ///
    /// # Errors
    /// As [`nbest`](Encoder::nbest).
    pub fn for_each_nbest<T: AsRef<[u8]> + ?Sized>(
        &mut self,
        text: &T,
        size: usize,
        mut visit: impl FnMut(f32, Tokens<'_>),
    ) -> Result<(), EncodeError> {
        let Segmenter::Unigram(unigram) = &self.pipeline.segmenter else {
            return Err(EncodeError::NoNbest);
        };
        check_size(size)?;
        self.trace(text.as_ref());
        for (ids, score) in unigram.best(&self.scratch.normalized, size)? {
            self.scratch.raw = ids;
            self.begin_tokens();
            self.locate(0);
            visit(score, self.show(text.as_ref()));
        }
        Ok(())
    }

    /// The tokens of a segmentation that is drawn at random.
    ///
    /// # Errors
    /// The model is a word or char model, an option is out of range, or the text has too many candidate pieces (as
    /// for [`nbest`](Encoder::nbest)).
    pub fn sample<'e, T: AsRef<[u8]> + ?Sized>(
        &'e mut self,
        text: &'e T,
        options: &SampleOptions,
        rng: &mut Rng,
    ) -> Result<Tokens<'e>, EncodeError> {
        let alpha = options.alpha;
        if !alpha.is_finite() || alpha < 0.0 {
            return Err(EncodeError::Alpha { alpha });
        }
        let nbest_size = usize::try_from(options.nbest_size).ok();
        check_size(nbest_size.unwrap_or(0))?;
        self.trace(text.as_ref());
        let Scratch {
            raw,
            normalized,
            segment,
            ..
        } = &mut self.scratch;
        raw.clear();
        match (&self.pipeline.segmenter, nbest_size) {
            (Segmenter::Bpe(bpe), _) => {
                let dropout = DropoutText {
                    text: normalized,
                    skips_merge: || rng.0.unit() < f64::from(alpha),
                };
                let pieces = self.tokenizer.model.table();
                bpe.sample(pieces, dropout, &mut segment.bpe, raw);
            }
            (Segmenter::Unigram(unigram), None) => {
                unigram.sample(normalized, alpha, &mut rng.0, raw)?
            }
            (Segmenter::Unigram(unigram), Some(0 | 1)) => {
                unigram.segment(normalized, &mut segment.unigram, raw)
            }
            (Segmenter::Unigram(unigram), Some(size)) => {
                *raw = draw_one(unigram.best(normalized, size)?, alpha, rng);
            }
            _ => return Err(EncodeError::NoSampling),
        }
        self.begin_tokens();
        self.locate(0);
        Ok(self.show(text.as_ref()))
    }

    /// Normalizes `text`, with the origin of each byte.
    fn trace(&mut self, text: &[u8]) {
        let Scratch {
            normalized,
            origins,
            ..
        } = &mut self.scratch;
        self.pipeline
            .normalizer
            .normalize_with_offsets(text, normalized, origins);
    }

    /// The tokens that were found, with the extra ones.
    fn show<'e>(&'e mut self, text: &'e [u8]) -> Tokens<'e> {
        self.add_extra_tokens(text.len());
        Tokens {
            tokens: &self.scratch.tokens,
            text,
            normalized: &self.scratch.shown,
            tokenizer: self.tokenizer,
            shows_unk: self.extra.contains(&ExtraOption::UnkPiece),
        }
    }

    /// Settles the unknown ids from `start` on, which are those of the normalized text.
    pub(super) fn settle(&mut self, ids: &mut Vec<PieceId>, start: usize) {
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
        let length = self.tokenizer.model.table().text(id.index()).len();
        self.pipeline.segmenter.piece_length(length, rest)
    }

    /// Forgets the tokens of the text before.
    fn begin_tokens(&mut self) {
        self.scratch.tokens.clear();
        self.scratch.shown.clear();
    }

    /// Appends tokens of the raw ids, which are those of the normalized text; it comes from text that begins
    /// at `base` in the caller's text.
    fn locate(&mut self, base: usize) {
        let mut tokens = std::mem::take(&mut self.scratch.tokens);
        let Scratch {
            normalized,
            origins,
            raw,
            shown,
            ..
        } = &self.scratch;
        let (mut at, mut after_unknown) = (0, false);
        for id in raw.iter().copied() {
            let end = at + self.length(id, &normalized[at..]);
            let shown = (shown.len() + at, shown.len() + end);
            let token = Token {
                id,
                begin: base + origins[at],
                end: base + origins[end],
                normalized: shown,
            };
            let is_unknown = id == self.tokenizer.unknown;
            match (&self.tokenizer.bytes, tokens.last_mut()) {
                (Some(bytes), _) if is_unknown => {
                    push_bytes(token, &normalized[at..end], bytes, &mut tokens)
                }
                (_, Some(last)) if is_unknown && after_unknown => {
                    (last.end, last.normalized.1) = (token.end, token.normalized.1);
                }
                _ => tokens.push(token),
            }
            (at, after_unknown) = (end, is_unknown);
        }
        self.scratch.tokens = tokens;
        self.scratch
            .shown
            .extend_from_slice(&self.scratch.normalized);
    }

    fn add_extra_tokens(&mut self, end: usize) {
        let normalized = (0, 0);
        let tokens = &mut self.scratch.tokens;
        for option in &self.extra {
            match option {
                ExtraOption::Bos => {
                    let bos = self.tokenizer.special.bos.map(|id| Token {
                        id,
                        begin: 0,
                        end: 0,
                        normalized,
                    });
                    bos.into_iter().for_each(|token| tokens.insert(0, token));
                }
                ExtraOption::Eos => {
                    let eos = self.tokenizer.special.eos;
                    tokens.extend(eos.map(|id| Token {
                        id,
                        begin: end,
                        end,
                        normalized,
                    }));
                }
                ExtraOption::Reverse => tokens.reverse(),
                ExtraOption::UnkPiece => {}
            }
        }
    }
}

impl Drop for Encoder<'_> {
    fn drop(&mut self) {
        self.pipeline
            .give_scratch(std::mem::take(&mut self.scratch));
    }
}

/// The most segmentations that can be asked for.
const SIZE_LIMIT: usize = 512;

fn check_size(size: usize) -> Result<(), EncodeError> {
    if size > SIZE_LIMIT {
        Err(EncodeError::TooMany { size })
    } else {
        Ok(())
    }
}

/// Draws one of `best` with the weights exp(alpha · score).
fn draw_one(mut best: Vec<(Vec<PieceId>, f32)>, alpha: f32, rng: &mut Rng) -> Vec<PieceId> {
    let exponents: Vec<f64> = best
        .iter()
        .map(|(_, score)| f64::from(alpha * score))
        .collect();
    let highest = exponents.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = exponents
        .iter()
        .map(|exponent| (exponent - highest).exp())
        .collect();
    let drawn = draw(&weights, &mut rng.0);
    best.swap_remove(drawn).0
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
    tokens.extend(text.iter().map(|byte| Token {
        id: bytes[usize::from(*byte)],
        end: unknown.begin,
        ..unknown
    }));
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
        self.tokens
            .iter()
            .map(move |token| (*token, tokens.piece(token)))
    }

    /// The text of a token's piece.
    pub fn piece(&self, token: &Token) -> &'e [u8] {
        let (kind, text) = match self.tokenizer.model.piece(token.id) {
            Some(piece) => (piece.kind, piece.text),
            None => (PieceKind::Unknown, &[][..]),
        };
        if kind == PieceKind::Unknown && !self.shows_unk {
            return self
                .normalized
                .get(token.normalized.0..token.normalized.1)
                .unwrap_or_default();
        }
        text
    }

    /// The part of the text that a token stands for; empty for all but the last byte of a character.
    pub fn surface(&self, token: &Token) -> &'e [u8] {
        self.text.get(token.begin..token.end).unwrap_or_default()
    }
}
