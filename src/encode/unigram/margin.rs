//! The best path of a chunk, and a condition under which the reference finds the same path.
//!
//! The result of a chunk of at most 23 bytes is cached, although roundings depend on the sum of the
//! scores before the chunk. So it has a *limit*: for each sum of scores S before the chunk with |S|
//! <= limit, the [full search](super::viterbi) finds these ids.
//!
//! A Viterbi search in 64-bit floats also keeps the second best sum of each position. The
//! difference of the two sums at the end is the margin, from which the lemma derives the limit.
//!
//! **Lemma.** Let B be the path through the chunk with the highest exact sum of scores, G > 0 the
//! margin by which it beats every other path, n the number of characters of the chunk, b the number
//! of pieces of B, and R the sum of the absolute scores of all pieces that occur anywhere in the
//! chunk. Let h = 2^-24 (|S| + R)(1 + 2^-24)^n. If (n + b) h < G and (|S| + R)(1 + 2^-24)^n <=
//! 100,000, the search in 32-bit floats from S on finds B.
//!
//! *Proof.* A path has at most n additions. The sum after each of them, in 32-bit floats from S on,
//! is at most (|S| + R)(1 + 2^-24)^n in absolute value, and its error is at most half a unit in the
//! last place of that, which is h. Take a position on B and another path to it. That path is worse
//! than B there by at least G in exact arithmetic, since with the rest of B it is a path through
//! the chunk. Rounding changes the sum of the other path by at most n h and that of B by at most b
//! h, less than G together; so it is worse in the arithmetic of the reference too, whatever the
//! order in which both are offered. The search therefore keeps B at each position of B. By the
//! second condition no sum is rebased. []
//!
//! Here sums are 64-bit floats. Their errors are smaller by a factor of 2^29, and the limit is
//! reduced to allow for them. The two best sums are kept for each position: since addition is
//! monotonic, these are the sums of two different paths.
//!
//! Example: `aba` with the scores a -1, b -2, ab -1.5, ba -1.501. The paths are `a|b|a` (-4),
//! `ab|a` (-2.5) and `a|ba` (-2.501), so B = `ab|a` and G = 0.001. There are n + b = 3 + 2 = 5
//! additions, R = 1 + 1.5 + 2 + 1.501 + 1, and the limit is about 0.001 / 5 / 2^-24 - R, about
//! 3,350. If the two best paths have equal sums, the limit is -1, and the chunk is searched at each
//! occurrence.

use std::hint::select_unpredictable;

use super::tables::{LastPiece, UnigramTables};
use super::viterbi::{MAX_SUM, append_path};
use crate::base::char_length;
use crate::piece::PieceId;

/// The number of positions, so one more than the bytes of the longest chunk that can be cached.
const MAX_POSITIONS: usize = 24;
/// A limit that is below the magnitude of every sum.
pub(super) const NO_SUM: f32 = -1.0;

/// The two best sums of the paths to a position, and the last piece of the best path.
#[derive(Debug, Clone, Copy)]
struct TwoBestSums {
    best: f64,
    second: f64,
    last: LastPiece,
}

impl TwoBestSums {
    const UNREACHED: Self = Self {
        best: f64::NEG_INFINITY,
        second: f64::NEG_INFINITY,
        last: LastPiece::UNREACHED,
    };

    /// Adds the two best paths to `from`, each extended by `last`, to the candidates for the two
    /// best sums.
    fn offer(&mut self, from: &Self, last: LastPiece, score: f64) {
        let best = from.best + score;
        // Which path is better cannot be predicted, so branches would cost more.
        let is_better = best > self.best;
        let worse = select_unpredictable(is_better, self.best, best);
        // The second path of the same piece may be better than the previous best path.
        self.second = greater(greater(self.second, worse), from.second + score);
        self.best = select_unpredictable(is_better, best, self.best);
        self.last = select_unpredictable(is_better, last, self.last);
    }
}

/// The greater of two sums, none of which is a NaN; [`f64::max`] takes three times the instructions for
/// these.
#[inline(always)]
fn greater(one: f64, other: f64) -> f64 {
    if one > other { one } else { other }
}

/// Appends the ids of `chunk`. Returns the limit: the greatest magnitude of the sum before the
/// chunk for which the ids are correct, or a negative number if no such sum is known. For a chunk
/// that is too long no ids are appended.
pub(super) fn search_with_margin(
    tables: &UnigramTables,
    chunk: &[u8],
    out: &mut Vec<PieceId>,
) -> f32 {
    let mut positions = [TwoBestSums::UNREACHED; MAX_POSITIONS];
    let Some(positions) = positions.get_mut(..=chunk.len()) else {
        return NO_SUM;
    };
    positions[0].best = 0.0;
    let mut start = 0;
    let mut chars = 0;
    let mut total_magnitude = 0.0;
    while start < chunk.len() {
        let from = positions[start];
        tables.for_each_piece(&chunk[start..], |last, score| {
            total_magnitude += f64::from(score.abs());
            positions[start + last.length as usize].offer(&from, last, f64::from(score));
        });
        chars += 1;
        start += char_length(&chunk[start..]);
    }
    let first = out.len();
    append_path(tables, chunk.len(), |at| positions[at].last, out);
    let end = positions[chunk.len()];
    let additions = chars + (out.len() - first);
    limit(end.best - end.second, total_magnitude, additions)
}

/// The limit for a margin G, the total magnitude R of the scores, and n + b additions.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the limit is reduced by more than the rounding to 32 bits"
)]
fn limit(margin: f64, total_magnitude: f64, additions: usize) -> f32 {
    /// The greatest relative error of one addition of 32-bit floats: half a unit in the last place.
    const ROUNDING_ERROR: f64 = 1.0 / (1u64 << 24) as f64;
    /// A bound for the errors of all additions of 64-bit floats in this module, relative to R.
    const MARGIN_ERROR: f64 = 1.0 / (1u64 << 40) as f64;
    /// A bound for the factor (1 + 2^-24)^n and for the roundings in this function.
    const REDUCTION: f64 = 1.0 - 1.0 / (1u64 << 16) as f64;
    let margin = margin - total_magnitude * MARGIN_ERROR;
    // The margin is not a number if both sums are infinite.
    if margin.is_nan() || margin <= 0.0 {
        return NO_SUM;
    }
    let max_magnitude = (margin / additions as f64 / ROUNDING_ERROR).min(f64::from(MAX_SUM));
    (max_magnitude * REDUCTION - total_magnitude) as f32
}
