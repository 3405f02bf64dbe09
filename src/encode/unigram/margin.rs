//! The best segmentation of a short chunk, and up to which sum before the chunk it is what the reference finds.
//!
//! Input: a chunk. Output: its ids and a *limit*. For each sum of scores S before the chunk with |S| <= limit, the full
//! search ([`UnigramEncoder::search`]) gives these ids.
//!
//! **Lemma.** Let B be the path through the chunk with the highest exact sum of scores, G > 0 the margin by which it beats
//! every other path, n the number of characters of the chunk, b the number of pieces of B, and R the sum of the absolute
//! scores of all pieces that occur anywhere in the chunk. Let h = 2^-24 (|S| + R)(1 + 2^-24)^n. If (n + b) h < G and
//! (|S| + R)(1 + 2^-24)^n <= 100,000, the search in 32-bit floats from S on finds B.
//!
//! *Proof.* A path has at most n additions. Each of them, in 32-bit floats from S on, gives at most
//! (|S| + R)(1 + 2^-24)^n in absolute value, and its error is at most half a unit in the last place of that, which is h.
//! Take a position on B and another path to it. That path is worse than B there by at least G in exact arithmetic, since
//! with the rest of B it is a path through the chunk. Rounding changes the sum of the other path by at most n h and that
//! of B by at most b h, less than G together; so it is worse in the arithmetic of the reference too, whatever the order
//! in which both are offered. From position to position, B is what remains. By the second condition no sum is
//! rebased. []
//!
//! Here sums are 64-bit floats, whose errors are 2^-29 of those, and the limit leaves room for them. The two best sums are
//! kept for each position: since addition is monotonic, these are the sums of two different paths.
//!
//! Example: `aba` with the scores a -1, b -2, ab -1.5, ba -1.501. The paths are `a|b|a` (-4), `ab|a` (-2.5) and `a|ba`
//! (-2.501), so B = `ab|a` and G = 0.001. There are n + b = 3 + 2 = 5 additions, R = 1 + 1.5 + 2 + 1.501 + 1, and the limit
//! is about 0.001 / 5 / 2^-24 - R, some 3,300. Of equal paths the limit is -1: such chunks are always searched.
//!
//! Cost: as the full search, once for each chunk that is not cached.

use super::viterbi::{Last, UNREACHED};
use super::{SCORE_LIMIT, UnigramEncoder};
use crate::piece::PieceId;
use crate::text::char_length;

/// A chunk has fewer bytes.
const LONGEST: usize = 24;
/// A limit that no sum is below.
const NEVER: f32 = -1.0;

/// The best way to get to a place, and the next best sum.
#[derive(Debug, Clone, Copy)]
struct Margin {
    best: f64,
    second: f64,
    last: Last,
}

const NONE: Margin = Margin {
    best: f64::NEG_INFINITY,
    second: f64::NEG_INFINITY,
    last: UNREACHED,
};

impl Margin {
    fn offer(&mut self, from: &Margin, last: Last, score: f64) {
        let (best, second) = (from.best + score, from.second + score);
        if best > self.best {
            *self = Margin {
                best,
                second: self.best.max(second),
                last,
            };
        } else {
            self.second = self.second.max(best);
        }
    }
}

impl UnigramEncoder {
    /// Appends the ids of `chunk`; gives the largest sum before it, without its sign, for which they are right,
    /// and -1 if there is none.
    pub(super) fn search_with_margin(&self, chunk: &[u8], out: &mut Vec<PieceId>) -> f32 {
        let mut margins = [NONE; LONGEST];
        let Some(margins) = margins.get_mut(..=chunk.len()) else {
            return NEVER;
        };
        margins[0].best = 0.0;
        let (mut start, mut chars, mut reach) = (0, 0, 0.0);
        while start < chunk.len() {
            let from = margins[start];
            self.for_each_piece(&chunk[start..], |last, score| {
                reach += f64::from(score.abs());
                margins[start + last.length as usize].offer(&from, last, f64::from(score));
            });
            chars += 1;
            start += char_length(&chunk[start..]);
        }
        let first = out.len();
        self.trace(chunk.len(), |place| margins[place].last, out);
        let last = margins[chunk.len()];
        limit(last.best - last.second, reach, chars + (out.len() - first))
    }
}

/// The limit for a gap between ways of so many additions together, which reach so far.
#[allow(clippy::cast_possible_truncation)] // Rounds; there is room for that.
fn limit(gap: f64, reach: f64, additions: usize) -> f32 {
    /// Half of the last place of a float, for one of 1.
    const HALF_PLACE: f64 = 1.0 / (1u64 << 24) as f64;
    /// Room for the errors of all additions here, by their reach.
    const GAP_ERROR: f64 = 1.0 / (1u64 << 40) as f64;
    /// Room for the growth of `reach` by roundings, and for this function's own.
    const ROOM: f64 = 1.0 - 1.0 / (1u64 << 16) as f64;
    let gap = gap - reach * GAP_ERROR;
    // Not if one of them is not a number, or infinite.
    if gap.is_nan() || gap <= 0.0 {
        return NEVER;
    }
    let most = (gap / additions as f64 / HALF_PLACE).min(f64::from(SCORE_LIMIT)) * ROOM;
    (most - reach) as f32
}
