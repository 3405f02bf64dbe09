//! The best path through a chunk, in the arithmetic of the reference.
//!
//! Viterbi search (Viterbi, "Error bounds for convolutional codes", 1967,
//! <https://doi.org/10.1109/TIT.1967.1054010>) over the positions of the chunk in bytes. Each
//! position stores the best sum of all paths to it, and the last piece of that path. The search
//! visits the character boundaries from left to right. At each of them it looks up all pieces that
//! start there, and offers to the end of each piece the sum of the position plus the score of the
//! piece. An offer replaces the stored sum only if it is higher, so the first of equal offers is
//! kept. At the end the last pieces are followed from the end of the chunk to its start.
//!
//! Sums are 32-bit floats, added in the reference's order, because rounding decides between paths
//! that are almost equal. If the sum of the current position exceeds 100,000 in magnitude, it is
//! subtracted from all open sums: they are *rebased*, as in the reference.
//!
//! A chunk starts at a position that no piece spans. All paths of the text go through that
//! position, so a single sum describes everything before the chunk.
//!
//! Example: the pieces `l`, `e`, `s`, `t` have the score -3, `le` has -4, `st` has -3.5 and `les`
//! has -5. The search of `lest` from the sum 0 stores:
//!
//! | visited position | offers (end: sum) | stored after the visit |
//! |---|---|---|
//! | 0, sum 0 | `l` 1: -3, `le` 2: -4, `les` 3: -5 | all three |
//! | 1, sum -3 | `e` 2: -6 | nothing, because -4 is better |
//! | 2, sum -4 | `s` 3: -7, `st` 4: -7.5 | 4: -7.5 by `st` |
//! | 3, sum -5 | `t` 4: -8 | nothing, because -7.5 is better |
//!
//! The last piece of position 4 is `st`, and that of position 2 is `le`: the result is `le|st` with
//! the sum -7.5.

use super::tables::{LastPiece, UnigramTables};
use crate::base::char_length;
use crate::piece::PieceId;

/// Sums of greater magnitude are rebased to 0.
pub(super) const MAX_SUM: f32 = 100_000.0;

/// The best path to a position: its sum of scores, and its last piece.
#[derive(Debug, Clone, Copy)]
pub(super) struct BestPath {
    sum: f32,
    last: LastPiece,
}

impl BestPath {
    const UNREACHED: Self = Self {
        sum: 0.0,
        last: LastPiece::UNREACHED,
    };

    /// Whether a path to the position was found.
    #[inline]
    fn is_reached(&self) -> bool {
        self.last.length > 0
    }

    /// Replaces the path by one that ends with `last`, if this is the first path or a better one.
    #[inline]
    fn offer(&mut self, last: LastPiece, sum: f32) {
        if !self.is_reached() || sum > self.sum {
            *self = Self { sum, last };
        }
    }
}

/// Appends the ids of `chunk`. The scores before the chunk add up to `sum`. Returns the sum after
/// the chunk.
///
/// `best` is a buffer; its content is overwritten.
pub(super) fn search(
    tables: &UnigramTables,
    chunk: &[u8],
    sum: f32,
    best: &mut Vec<BestPath>,
    out: &mut Vec<PieceId>,
) -> f32 {
    search_if(|_, _| true, (tables, chunk), sum, best, out)
}

/// As [`search`], among the pieces for which `keeps` is true; it gets where a piece starts.
#[inline]
pub(super) fn search_if(
    keeps: impl Fn(usize, LastPiece) -> bool,
    (tables, chunk): (&UnigramTables, &[u8]),
    sum: f32,
    best: &mut Vec<BestPath>,
    out: &mut Vec<PieceId>,
) -> f32 {
    best.clear();
    best.resize(chunk.len() + 1, BestPath::UNREACHED);
    best[0].sum = sum;
    let mut start = 0;
    // The last position that a path has reached.
    let mut frontier = 0;
    while start < chunk.len() {
        let sum_before = rebased_sum(best, start, frontier);
        let keeps = |last| keeps(start, last);
        tables.for_each_piece_if(&chunk[start..], keeps, |last, score| {
            let end = start + last.length as usize;
            best[end].offer(last, score + sum_before);
            frontier = frontier.max(end);
        });
        start += char_length(&chunk[start..]);
    }
    append_path(tables, chunk.len(), |position| best[position].last, out);
    best[chunk.len()].sum
}

/// Appends the ids of the path to `end`, given the last piece of the best path to each position.
pub(super) fn append_path(
    tables: &UnigramTables,
    end: usize,
    last_at: impl Fn(usize) -> LastPiece,
    out: &mut Vec<PieceId>,
) {
    let first = out.len();
    let mut position = end;
    while position > 0 {
        let last = last_at(position);
        out.push(tables.id(last));
        // All positions of the path were reached, so no length is 0. The minimum makes the loop
        // finite in any case.
        position = position.saturating_sub((last.length as usize).max(1));
    }
    out[first..].reverse();
}

/// The sum of the scores up to `start`. If its magnitude is too great, it is subtracted from the
/// sums of `start` and of all reached positions up to `frontier`, and 0 is returned.
fn rebased_sum(best: &mut [BestPath], start: usize, frontier: usize) -> f32 {
    let sum = best[start].sum;
    if sum.abs() <= MAX_SUM || sum.is_nan() {
        return sum;
    }
    best[start].sum -= sum;
    let open = best[start + 1..=frontier.max(start)].iter_mut();
    open.filter(|path| path.is_reached())
        .for_each(|path| path.sum -= sum);
    0.0
}
