//! The rounds of merging a short chunk.
//!
//! A chunk has at most [`MAX_UNITS`] units. To find each merge, all candidates are compared, which is
//! fastest for few units. A candidate is one word, a [`MergeKey`], in which rank, position and symbol
//! follow each other, so the lowest word is the next merge. A merged symbol has the position of its
//! first unit. What two symbols become is the matter of the caller, a [`MergesAt`].
//!
//! Example: pieces `th` (rank 0), `he` (1), `the` (2), text `the`. Candidates: position 0 `t h`
//! (rank 0), position 1 `h e` (rank 1). The lowest is position 0; it becomes `th`, position 1 is
//! cleared, and position 0 gets the candidate `th e` (rank 2). That one is the lowest now, and
//! `the` remains.
//!
//! Cost: at most n rounds of n/4 comparisons of four for n units, without branches; all arrays
//! fit the first-level cache of the processor.

use std::hint::select_unpredictable;

use crate::base::num::{low_u32, masked_index};
use crate::encode::bpe::lookup::symbol_table::{NO_SYMBOL, SymbolMerge};
use crate::piece::MAX_PIECES;

/// The largest number of units.
pub(in crate::encode::bpe) const MAX_UNITS: usize = 32;
/// Positions of the units and of the end, and further ones that are read but not used: a power
/// of two, so that a mask is enough to stay within the arrays.
pub(in crate::encode::bpe) const POSITIONS: usize = 2 * MAX_UNITS;

/// A candidate, lowest first: the bits of a [`SymbolMerge`], with the position in the upper five
/// bits of the symbol, which ids do not use.
type MergeKey = u64;
const POSITION_SHIFT: u32 = u32::BITS - MAX_UNITS.trailing_zeros();
/// The pair does not merge.
const NO_MERGE: MergeKey = MergeKey::MAX;
/// Every id fits: models with more pieces are refused when they are loaded.
const _: () = assert!(MAX_PIECES <= 1 << POSITION_SHIFT);

/// What two adjacent symbols become.
pub(in crate::encode::bpe) trait MergesAt {
    /// `positions` are that of the left symbol and that of the end of the right one.
    fn merge_at(&mut self, symbols: [u32; 2], positions: [usize; 2]) -> SymbolMerge;
}

/// The symbols of a chunk and the candidates.
#[derive(Debug)]
pub(in crate::encode::bpe) struct ShortMerger {
    count: usize,
    /// By position.
    symbols: [u32; POSITIONS],
    /// A bit for each position at which a symbol begins, and for all positions after the last
    /// symbol.
    starts: u64,
    candidates: CandidateArray,
}

/// The candidates, each at the position of the left symbol.
#[derive(Debug)]
struct CandidateArray([MergeKey; MAX_UNITS]);

impl ShortMerger {
    /// Removes all units.
    #[inline]
    pub(in crate::encode::bpe) fn clear(&mut self) {
        self.count = 0;
        self.starts = u64::MAX;
    }

    /// The number of units.
    #[inline]
    pub(in crate::encode::bpe) fn count(&self) -> usize {
        self.count
    }

    /// Adds a unit; there are at most [`MAX_UNITS`].
    #[inline(always)]
    pub(in crate::encode::bpe) fn push(&mut self, symbol: u32) {
        self.symbols[self.count % POSITIONS] = symbol;
        self.count += 1;
    }

    /// Writes a unit at a position; see [`set_count`](Self::set_count).
    #[cfg(feature = "formats")]
    #[inline(always)]
    pub(in crate::encode::bpe) fn put(&mut self, at: usize, symbol: u32) {
        self.symbols[at % POSITIONS] = symbol;
    }

    /// Says that the first `count` units were written.
    #[cfg(feature = "formats")]
    #[inline(always)]
    pub(in crate::encode::bpe) fn set_count(&mut self, count: usize) {
        self.count = count;
    }

    /// Sets the candidates to what `merge_of` gives for each pair of units: the position of the left
    /// one, and both symbols.
    #[inline(always)]
    pub(in crate::encode::bpe) fn start(
        &mut self,
        mut merge_of: impl FnMut(usize, [u32; 2]) -> SymbolMerge,
    ) {
        match self.count {
            ..=16 => self.candidates.0[..16].fill(NO_MERGE),
            _ => self.candidates.0.fill(NO_MERGE),
        }
        for at in 0..self.count.saturating_sub(1).min(MAX_UNITS - 1) {
            self.candidates.0[at] = merge_key(at, merge_of(at, self.pair_at(at)));
        }
    }

    /// Changes the candidate of the pair of units at `at`.
    #[inline(always)]
    pub(in crate::encode::bpe) fn set(&mut self, at: usize, merge: SymbolMerge) {
        self.candidates.0[at % MAX_UNITS] = merge_key(at % MAX_UNITS, merge);
    }

    /// The symbols of the pair of units at `at`.
    #[inline(always)]
    pub(in crate::encode::bpe) fn pair_at(&self, at: usize) -> [u32; 2] {
        self.symbols_at([at, at + 1])
    }

    /// The symbols at two positions. (Without LTO, `map` of an array is a call.)
    #[inline(always)]
    fn symbols_at(&self, [left, right]: [usize; 2]) -> [u32; 2] {
        [
            self.symbols[left % POSITIONS],
            self.symbols[right % POSITIONS],
        ]
    }

    /// The symbols that remain, from left to right.
    #[inline]
    pub(in crate::encode::bpe) fn symbols(&self) -> impl Iterator<Item = u32> {
        let mut rest = self.starts & !(u64::MAX << self.count);
        std::iter::from_fn(move || {
            let at = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(self.symbols[at % POSITIONS])
        })
    }

    /// Merges all pairs that merge, after [`start`](Self::start). If `RETURNS_LAST`, returns the two
    /// symbols that were merged last.
    #[inline(always)]
    pub(in crate::encode::bpe) fn merge<const RETURNS_LAST: bool>(
        &mut self,
        source: &mut impl MergesAt,
    ) -> Option<(u32, u32)> {
        let mut last = None;
        loop {
            let best = self.candidates.lowest(self.count);
            if best == NO_MERGE {
                return last;
            }
            // The position follows the rank, whose bits the mask removes.
            let at = masked_index(best >> POSITION_SHIFT, MAX_UNITS - 1);
            let [right, end, after_end] = self.next_three(at);
            if RETURNS_LAST {
                last = Some((self.symbols[at], self.symbols[right % MAX_UNITS]));
            }
            let symbol = low_u32(best % (1 << POSITION_SHIFT));
            self.symbols[at] = symbol;
            self.starts &= !(1 << right);
            self.candidates.0[right % MAX_UNITS] = NO_MERGE;
            self.candidates.0[at] = NO_MERGE;
            if end < self.count {
                self.set_candidate([at, end, after_end], source);
            }
            if let Some(before) = self.previous(at) {
                self.set_candidate([before, at, end], source);
            }
        }
    }

    /// Looks up what two symbols become, given the positions of both and of the end of the right
    /// one.
    #[inline(always)]
    fn set_candidate(&mut self, [left, right, end]: [usize; 3], source: &mut impl MergesAt) {
        let merge = source.merge_at(self.symbols_at([left, right]), [left, end]);
        self.candidates.0[left % MAX_UNITS] = merge_key(left, merge);
    }

    /// The positions of the three symbols after the one at `at`.
    #[inline]
    fn next_three(&self, at: usize) -> [usize; 3] {
        let mut after = self.starts & (u64::MAX - 1) << at;
        let mut positions = [0; 3];
        for position in &mut positions {
            *position = after.trailing_zeros() as usize;
            after &= after.wrapping_sub(1);
        }
        positions
    }

    /// The position of the symbol before the one at `at`.
    #[inline]
    fn previous(&self, at: usize) -> Option<usize> {
        let before = self.starts & !(u64::MAX << at);
        (before != 0).then(|| before.ilog2() as usize % MAX_UNITS)
    }
}

/// The key of a merge at a position.
#[inline]
fn merge_key(at: usize, merge: SymbolMerge) -> MergeKey {
    // If the pair does not merge, all bits are set already.
    merge.bits() | (at as u64) << POSITION_SHIFT
}

impl CandidateArray {
    /// The lowest key of the first `count` positions. A fixed number of keys is compared, without
    /// branches.
    #[inline]
    fn lowest(&self, count: usize) -> MergeKey {
        match count {
            0..=8 => lowest_of(&self.0[..8]),
            9..=12 => lowest_of(&self.0[..12]),
            13..=16 => lowest_of(&self.0[..16]),
            _ => lowest_of(&self.0),
        }
    }
}

/// The lowest of some keys, a multiple of four.
#[inline]
fn lowest_of(keys: &[MergeKey]) -> MergeKey {
    let mut lanes = [NO_MERGE; 4];
    for four in keys.as_chunks::<4>().0 {
        for (at, lane) in lanes.iter_mut().enumerate() {
            *lane = lower(*lane, four[at]);
        }
    }
    lower(lower(lanes[0], lanes[1]), lower(lanes[2], lanes[3]))
}

/// The lower of two keys. Which one it is cannot be predicted, so a branch would cost more.
#[inline]
fn lower(one: MergeKey, other: MergeKey) -> MergeKey {
    select_unpredictable(one < other, one, other)
}

impl Default for ShortMerger {
    fn default() -> Self {
        Self {
            count: 0,
            symbols: [NO_SYMBOL; POSITIONS],
            starts: u64::MAX,
            candidates: CandidateArray([NO_MERGE; MAX_UNITS]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_key_is_found_at_every_position() {
        for count in 1..=MAX_UNITS {
            for first in 0..count {
                let mut candidates = CandidateArray([NO_MERGE; MAX_UNITS]);
                for at in 0..count {
                    candidates.0[at] = merge_key(at, SymbolMerge::new(7, 100));
                }
                candidates.0[first] = merge_key(first, SymbolMerge::new(6, 200));
                assert_eq!(
                    candidates.lowest(count),
                    6 << 32 | (first as u64) << POSITION_SHIFT | 200
                );
                // Of equal ranks the leftmost is the lowest, whatever the symbols are.
                candidates.0[first] = merge_key(first, SymbolMerge::new(7, 0));
                let leftmost = if first == 0 { 0 } else { 100 };
                assert_eq!(candidates.lowest(count), 7 << 32 | leftmost);
            }
        }
        assert_eq!(merge_key(3, SymbolMerge::NONE), NO_MERGE);
    }
}
