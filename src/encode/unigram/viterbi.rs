//! The best segmentation of a chunk, in the reference's own arithmetic.
//!
//! In: a chunk, and the sum of scores before it. Out: the ids of its pieces, and the sum behind it. Each
//! character boundary, from left to right, takes all pieces that begin there, from a trie, and offers each end of
//! one the sum of scores up to there; the first of equal offers stays. Sums are 32-bit floats, added in the
//! reference's order; where they leave ±100,000, all sums that are still open are brought back by the same
//! amount, as the reference does.
//!
//! A chunk may begin wherever no piece reaches across: there is one sum only at such a place, which all ways go on
//! from.

use super::{SCORE_LIMIT, UnigramEncoder};
use crate::piece::PieceId;
use crate::text::char_length;
use crate::text::num::low_u32;

/// The best way to get to a place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Best {
    score: f32,
    last: Last,
}

/// The last piece on the way to a place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Last {
    /// Its cell, [`UNKNOWN`] for an unknown character.
    cell: u32,
    /// Its length; 0 if there is no way yet.
    pub(super) length: u32,
}

/// The cell of an unknown character.
const UNKNOWN: u32 = u32::MAX;
/// There is no way to a place yet.
pub(super) const UNREACHED: Last = Last {
    cell: UNKNOWN,
    length: 0,
};

impl Last {
    fn new(cell: usize, length: usize) -> Last {
        // The units of a double array and the bytes of all pieces (MAX_TEXT_BYTES) are fewer than 2^31.
        Last {
            cell: low_u32(cell as u64),
            length: low_u32(length as u64),
        }
    }
}

impl UnigramEncoder {
    /// Appends the ids of `chunk`, before which the scores add up to `sum`; gives the sum behind it.
    pub(super) fn search(
        &self,
        chunk: &[u8],
        sum: f32,
        best: &mut Vec<Best>,
        out: &mut Vec<PieceId>,
    ) -> f32 {
        best.clear();
        best.resize(
            chunk.len() + 1,
            Best {
                score: 0.0,
                last: UNREACHED,
            },
        );
        best[0].score = sum;
        let (mut start, mut frontier) = (0, 0);
        while start < chunk.len() {
            let so_far = score_from(best, start, frontier);
            self.for_each_piece(&chunk[start..], |last, score| {
                let end = start + last.length as usize;
                offer(&mut best[end], last, score + so_far);
                frontier = frontier.max(end);
            });
            start += char_length(&chunk[start..]);
        }
        self.trace(chunk.len(), |place| best[place].last, out);
        best[chunk.len()].score
    }

    /// Calls `visit` with each piece that `text` begins with, shortest first, and if none of them is the first
    /// character, with that as an unknown one; and its score.
    #[inline]
    pub(super) fn for_each_piece(&self, text: &[u8], mut visit: impl FnMut(Last, f32)) {
        let width = char_length(text);
        let mut has_char = false;
        for found in self.pieces.prefixes(text) {
            visit(Last::new(found.cell, found.length), found.score);
            has_char |= found.length == width;
        }
        if !has_char {
            visit(
                Last {
                    cell: UNKNOWN,
                    ..Last::new(0, width)
                },
                self.unknown_score,
            );
        }
    }

    /// Appends the pieces on the way to `end`, whose places have these last pieces.
    pub(super) fn trace(&self, end: usize, last: impl Fn(usize) -> Last, out: &mut Vec<PieceId>) {
        let (first, mut at) = (out.len(), end);
        while at > 0 {
            let Last { cell, length } = last(at);
            out.push(if cell == UNKNOWN {
                self.unknown
            } else {
                self.pieces.id(cell as usize)
            });
            // Every place on the way was reached, so no step is 0 long.
            at = at.saturating_sub((length as usize).max(1));
        }
        out[first..].reverse();
    }
}

/// The sum of scores up to `start`; brings it and all sums beyond back if it has grown too large.
fn score_from(best: &mut [Best], start: usize, frontier: usize) -> f32 {
    let score = best[start].score;
    if score.abs() <= SCORE_LIMIT || score.is_nan() {
        return score;
    }
    best[start].score -= score;
    for place in best[start + 1..=frontier.max(start)]
        .iter_mut()
        .filter(|place| place.last.length > 0)
    {
        place.score -= score;
    }
    0.0
}

/// Takes a piece as the last one on the way to its end, if that is better than what is there.
fn offer(place: &mut Best, last: Last, score: f32) {
    if place.last.length == 0 || score > place.score {
        *place = Best { score, last };
    }
}
