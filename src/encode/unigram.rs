//! Unigram: the segmentation with the highest sum of scores.
//!
//! In: a normalized line. Out: the ids of its pieces, unknown characters one by one.
//!
//! Viterbi's algorithm over byte positions, left to right: each character boundary takes all pieces that
//! begin there, from a trie, and offers each end of one the sum of scores up to there; the first of equal
//! offers stays. A character that is no piece of its own is unknown, with the lowest score of a normal piece
//! less 10. A user-defined symbol of n bytes has the score (n - 1) / 10, above all scores of log
//! probabilities. Sums are 32-bit floats, added in the reference's order; where they leave ±100,000, all
//! sums that are still open are brought back by the same amount, as the reference does.
//!
//! Since roundings depend on all that stands before, a line is not cut in parts and nothing is remembered.
//!
//! Cost: one step of the trie for each byte of each piece that begins at a character of the line.

mod lattice;
mod nbest;
pub(crate) mod sample;
#[cfg(test)]
mod tests;

use self::lattice::Lattice;
use crate::encode::vocabulary::Vocabulary;
use crate::error::EncodeError;
use crate::normalize::double_array::DoubleArray;
use crate::piece::{PieceId, PieceKind};
use crate::rng::SplitMix64;
use crate::text::char_length;

/// How much less an unknown character scores than the worst piece.
const UNKNOWN_PENALTY: f32 = 10.0;
/// Sums of scores beyond this are brought back to 0.
const SCORE_LIMIT: f32 = 100_000.0;

/// A unigram model, ready to segment.
#[derive(Debug)]
pub(crate) struct Unigram {
    /// The pieces that text yields; none of a hostile size fails to be built, there is just none then.
    pieces: Option<DoubleArray>,
    /// The score of each piece.
    scores: Vec<f32>,
    /// Which pieces are user-defined symbols; empty if none is.
    is_symbol: Vec<bool>,
    unknown: PieceId,
    unknown_score: f32,
    /// Whether a piece ends inside of a character, as none does in a model that was trained.
    has_half_chars: bool,
}

/// The best way to get to a place.
#[derive(Debug, Clone, Copy)]
struct Best {
    score: f32,
    /// The last piece on the way, and its length; 0 if there is no way yet.
    id: PieceId,
    length: u32,
}

const UNREACHED: Best = Best { score: 0.0, id: PieceId::new(0), length: 0 };

/// Buffers that one thread reuses from line to line.
#[derive(Debug, Default)]
pub(crate) struct UnigramScratch {
    best: Vec<Best>,
}

impl Unigram {
    pub(crate) fn new(vocabulary: &Vocabulary<'_>) -> Unigram {
        let ids = 0..vocabulary.len();
        let is_wanted = |id: &usize| vocabulary.is_from_text(*id) && vocabulary.kind(*id) != PieceKind::Unused;
        let key = |id| Some((vocabulary.text(id), u32::try_from(id).ok()?));
        let mut keys: Vec<(&[u8], u32)> = ids.clone().filter(is_wanted).filter_map(key).collect();
        keys.sort_unstable();
        let normal = ids.clone().filter(|id| vocabulary.kind(*id) == PieceKind::Normal);
        let lowest = normal.map(|id| vocabulary.score(id)).fold(f32::MAX, f32::min);
        let is_symbol: Vec<bool> = ids.clone().map(|id| vocabulary.kind(id) == PieceKind::UserDefined).collect();
        Unigram {
            pieces: if keys.is_empty() { None } else { DoubleArray::build(&keys).ok() },
            scores: ids.map(|id| vocabulary.score(id)).collect(),
            is_symbol: if is_symbol.contains(&true) { is_symbol } else { Vec::new() },
            unknown: vocabulary.unknown(),
            unknown_score: lowest - UNKNOWN_PENALTY,
            has_half_chars: keys.iter().any(|(text, _)| std::str::from_utf8(text).is_err()),
        }
    }

    /// How much of `rest` a piece of `length` bytes at its start stands for: whole characters.
    #[inline]
    pub(crate) fn whole_length(&self, length: usize, rest: &[u8]) -> usize {
        if !self.has_half_chars {
            return length;
        }
        let mut whole = 0;
        while whole < length.min(rest.len()) {
            whole += char_length(&rest[whole..]);
        }
        whole
    }

    /// The score of a piece, found at a place where it is `length` long.
    fn score(&self, id: usize, length: usize) -> f32 {
        if self.is_symbol.get(id).copied().unwrap_or(false) { symbol_score(length) } else { self.scores[id] }
    }

    /// Appends the ids of `text`.
    pub(crate) fn segment(&self, text: &[u8], scratch: &mut UnigramScratch, out: &mut Vec<PieceId>) {
        let best = &mut scratch.best;
        best.clear();
        best.resize(text.len() + 1, UNREACHED);
        let (mut start, mut frontier) = (0, 0);
        while start < text.len() {
            let so_far = score_from(best, start, frontier);
            let width = char_length(&text[start..]);
            let mut has_char = false;
            let found = self.pieces.as_ref().map(|pieces| pieces.common_prefixes(&text[start..]));
            for (length, id) in found.into_iter().flatten() {
                offer(best, start, length, PieceId::from_index(id), self.score(id, length) + so_far);
                frontier = frontier.max(start + length);
                has_char |= length == width;
            }
            if !has_char {
                offer(best, start, width, self.unknown, self.unknown_score + so_far);
                frontier = frontier.max(start + width);
            }
            start += width;
        }
        trace(best, text.len(), out);
    }

    /// The `size` best segmentations of `text` and their scores, best first.
    ///
    /// # Errors
    /// The text has too many candidate pieces.
    pub(crate) fn best(&self, text: &[u8], size: usize) -> Result<Vec<(Vec<PieceId>, f32)>, EncodeError> {
        if size <= 1 || text.is_empty() {
            // The reference gives no score here.
            let mut ids = Vec::new();
            self.segment(text, &mut UnigramScratch::default(), &mut ids);
            return Ok(vec![(ids, 0.0)]);
        }
        nbest::best(&Lattice::new(self, text)?, size)
    }

    /// Appends the ids of a segmentation of `text`, drawn with weights to the power of `alpha`.
    ///
    /// # Errors
    /// The text has too many candidate pieces.
    pub(crate) fn sample(
        &self,
        text: &[u8],
        alpha: f32,
        rng: &mut SplitMix64,
        out: &mut Vec<PieceId>,
    ) -> Result<(), EncodeError> {
        if !text.is_empty() {
            out.extend(sample::sample(&Lattice::new(self, text)?, alpha, rng));
        }
        Ok(())
    }
}

/// The score of a user-defined symbol of this length.
#[allow(clippy::cast_possible_truncation)] // The reference narrows a double here.
fn symbol_score(length: usize) -> f32 {
    (0.1 * (length as f64 - 1.0)) as f32
}

/// The sum of scores up to `start`; brings it and all sums beyond back if it has grown too large.
fn score_from(best: &mut [Best], start: usize, frontier: usize) -> f32 {
    let score = best[start].score;
    if score.abs() <= SCORE_LIMIT || score.is_nan() {
        return score;
    }
    best[start].score -= score;
    for place in best[start + 1..=frontier.max(start)].iter_mut().filter(|place| place.length > 0) {
        place.score -= score;
    }
    0.0
}

/// Takes a piece as the last one on the way to its end, if that is better than what is there.
fn offer(best: &mut [Best], start: usize, length: usize, id: PieceId, score: f32) {
    let place = &mut best[start + length];
    if place.length == 0 || score > place.score {
        *place = Best { score, id, length: u32::try_from(length).unwrap_or(u32::MAX) };
    }
}

/// Appends the pieces on the best way to `end`.
fn trace(best: &[Best], end: usize, out: &mut Vec<PieceId>) {
    let (first, mut at) = (out.len(), end);
    while at > 0 {
        out.push(best[at].id);
        // Every place on the way was reached, so no step is 0 long.
        at = at.saturating_sub((best[at].length as usize).max(1));
    }
    out[first..].reverse();
}
