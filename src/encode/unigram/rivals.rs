//! The best segmentation of a short chunk, and up to which sum before it that is what the reference finds.
//!
//! In: a chunk. Out: its ids and a limit. For a sum of scores S before the chunk with |S| <= limit,
//! [`search`](Unigram::search) gives these ids.
//!
//! Why. Let B be the way through the chunk with the highest exact sum of scores, G > 0 the gap by which it beats
//! every other way, n the number of the chunk's characters, b the number of B's pieces, R the sum of the absolute
//! scores of all pieces that stand anywhere in the chunk. A way is at most n additions, and each of these,
//! done with 32-bit floats from S on, gives at most (|S| + R)(1 + 2^-24)^n and errs by half of the last
//! place of that at most: h = 2^-24 (|S| + R)(1 + 2^-24)^n. Take a place on B, and another way to it. It
//! is worse than B's way there by G or more, since with the rest of B behind it it is a way through the
//! chunk. So if (n + b) h < G, it is worse in the reference's arithmetic too, whatever the order in which the two
//! are offered; from place to place, B is what stays. The limit is chosen such that this holds, and
//! (|S| + R)(1 + 2^-24)^n <= 100,000 besides, so that no sum is brought back.
//!
//! Here sums are 64-bit floats, whose errors are 2^-29 of those, and the limit makes room for them. Two best
//! sums are kept for each place: adding is monotonic, so they are those of two different ways.

use super::viterbi::{Last, UNREACHED};
use super::{SCORE_LIMIT, Unigram};
use crate::piece::PieceId;
use crate::text::char_length;

/// A chunk has fewer bytes.
const LONGEST: usize = 24;
/// A limit that no sum is below.
const NEVER: f32 = -1.0;

/// The best way to get to a place, and the next best sum.
#[derive(Debug, Clone, Copy)]
struct Rivals {
    best: f64,
    second: f64,
    last: Last,
}

const NONE: Rivals = Rivals {
    best: f64::NEG_INFINITY,
    second: f64::NEG_INFINITY,
    last: UNREACHED,
};

impl Rivals {
    fn offer(&mut self, from: &Rivals, last: Last, score: f64) {
        let (best, second) = (from.best + score, from.second + score);
        if best > self.best {
            *self = Rivals {
                best,
                second: self.best.max(second),
                last,
            };
        } else {
            self.second = self.second.max(best);
        }
    }
}

impl Unigram {
    /// Appends the ids of `chunk`; gives the largest sum before it, without its sign, for which they are right,
    /// and -1 if there is none.
    pub(super) fn search_with_rivals(&self, chunk: &[u8], out: &mut Vec<PieceId>) -> f32 {
        let mut rivals = [NONE; LONGEST];
        let Some(rivals) = rivals.get_mut(..=chunk.len()) else {
            return NEVER;
        };
        rivals[0].best = 0.0;
        let (mut start, mut chars, mut reach) = (0, 0, 0.0);
        while start < chunk.len() {
            let from = rivals[start];
            self.for_each_piece(&chunk[start..], |last, score| {
                reach += f64::from(score.abs());
                rivals[start + last.length as usize].offer(&from, last, f64::from(score));
            });
            chars += 1;
            start += char_length(&chunk[start..]);
        }
        let first = out.len();
        self.trace(chunk.len(), |place| rivals[place].last, out);
        let last = rivals[chunk.len()];
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
