//! Merges a short chunk.
//!
//! A chunk has at most [`MAX_UNITS`] units (characters, or bytes). To find each merge, all
//! candidates are compared, which is fastest for few units.
//!
//! There is an array for each property, by position; a merged symbol has the position of its first
//! unit. What two symbols become is looked up by the hash of the text that they cover, which
//! follows from the prefix sums of the two positions (see
//! [`text_hash`](crate::encode::bpe::lookup)). Most pairs do not merge, and the hash alone shows
//! it. A candidate is one word, a [`MergeKey`], in which rank, position and symbol follow each
//! other, so the lowest word is the next merge.
//!
//! Example: pieces `th` (rank 0), `he` (1), `the` (2), text `the`. Candidates: position 0 `t h`
//! (rank 0), position 1 `h e` (rank 1). The lowest is position 0; it becomes `th`, position 1 is
//! cleared, and position 0 gets the candidate `th e` (rank 2). That one is the lowest now, and
//! `the` remains.
//!
//! Cost: at most n rounds of n/4 vector comparisons for n units, without branches; all arrays
//! fit the first-level cache of the processor.
//!
//! In models of code points the limit counts characters, not bytes: chunks of 11 or more Chinese
//! characters are merged here too. That alone took 0.2 % more instructions for Chinese text with
//! the Yi model, but it made a strategy for chunks of 33 to 64 bytes unnecessary; together with the
//! removal of that strategy the difference is 0.01 %.

use std::hint::select_unpredictable;

use super::merge_context::MergeTables;
use crate::base::num::{low_u32, masked_index};
use crate::encode::bpe::lookup::ascii_pairs::AsciiCode;
use crate::encode::bpe::lookup::pair_cache::PairLookup;
use crate::encode::bpe::lookup::symbol_table::{NO_SYMBOL, SymbolMerge, SymbolTable};
use crate::encode::bpe::spelling::{Spelling, Unit};
use crate::piece::MAX_PIECES;

/// The largest number of units.
pub(in crate::encode::bpe) const MAX_UNITS: usize = 32;
/// Positions of the units and of the end, and further ones that are read but not used: a power
/// of two, so that a mask is enough to stay within the arrays.
const POSITIONS: usize = 2 * MAX_UNITS;

/// A candidate, lowest first: the bits of a [`SymbolMerge`], with the position in the upper five
/// bits of the symbol, which ids do not use.
type MergeKey = u64;
const POSITION_SHIFT: u32 = u32::BITS - MAX_UNITS.trailing_zeros();
/// The pair does not merge.
const NO_MERGE: MergeKey = MergeKey::MAX;
/// Every id fits: models with more pieces are refused when they are loaded.
const _: () = assert!(MAX_PIECES <= 1 << POSITION_SHIFT);

/// The buffers of a short merge.
#[derive(Debug)]
pub(in crate::encode::bpe) struct ShortMerge {
    count: usize,
    /// The length of the normalized text in bytes, at most four per unit.
    length: u8,
    /// By position, as are all other arrays.
    symbols: [u32; POSITIONS],
    codes: [AsciiCode; POSITIONS],
    /// The prefix sum of the text before each position.
    sums: [u64; POSITIONS],
    /// The power that turns a difference of sums into a hash, by the later position.
    powers: [u64; POSITIONS],
    /// A bit for each position at which a symbol begins, and for all positions after the last
    /// symbol.
    starts: u64,
    candidates: CandidateArray,
}

/// The candidates, each at the position of the left symbol.
#[derive(Debug)]
struct CandidateArray([MergeKey; MAX_UNITS]);

impl ShortMerge {
    /// Removes all units.
    #[inline]
    pub(in crate::encode::bpe) fn clear(&mut self) {
        self.count = 0;
        self.length = 0;
        self.starts = u64::MAX;
    }

    /// Adds the units of a text. Returns false if there are more than [`MAX_UNITS`] in all.
    #[inline]
    pub(in crate::encode::bpe) fn push_text(
        &mut self,
        text: &[u8],
        tables: &MergeTables<impl Spelling>,
    ) -> bool {
        let unit_at = |text: &[u8]| tables.spelling.unit_at(text);
        self.push_units(text, &tables.symbols, unit_at)
    }

    /// As [`push_text`](Self::push_text), with a function that gives the unit at the start of a
    /// text, and its length in that text.
    #[inline]
    pub(in crate::encode::bpe) fn push_units(
        &mut self,
        text: &[u8],
        symbols: &SymbolTable,
        unit_at: impl Fn(&[u8]) -> (Unit, usize),
    ) -> bool {
        let mut count = self.count;
        let mut length = self.length;
        let mut sum = self.sums[count % POSITIONS];
        let mut rest = text;
        while !rest.is_empty() && count < MAX_UNITS {
            let (unit, width) = unit_at(rest);
            rest = &rest[width..];
            self.symbols[count] = unit.symbol;
            self.codes[count] = unit.code;
            length += unit.width;
            count += 1;
            (sum, self.powers[count]) = symbols.prefix_sum(sum, unit.hash, length);
            self.sums[count] = sum;
        }
        self.count = count;
        self.length = length;
        rest.is_empty()
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

    /// Merges all pairs that merge.
    pub(in crate::encode::bpe) fn merge(&mut self, pairs: &mut PairLookup<'_>) {
        self.merge_with_last::<false>(pairs);
    }

    /// As [`merge`](Self::merge). If `RETURNS_LAST`, returns the two symbols that were merged last.
    pub(in crate::encode::bpe) fn merge_with_last<const RETURNS_LAST: bool>(
        &mut self,
        pairs: &mut PairLookup<'_>,
    ) -> Option<(u32, u32)> {
        let mut last = None;
        self.init_candidates(pairs);
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
                self.set_candidate([at, end, after_end], pairs);
            }
            if let Some(before) = self.previous(at) {
                self.set_candidate([before, at, end], pairs);
            }
        }
    }

    /// Looks up what two symbols become, given the positions of both and of the end of the right
    /// one.
    #[inline(always)]
    fn set_candidate(&mut self, positions: [usize; 3], pairs: &mut PairLookup<'_>) -> SymbolMerge {
        let [left, right, end] = positions;
        let hash = self.hash(left, end);
        if !pairs.symbols.may_be_piece(hash) {
            self.candidates.0[left % MAX_UNITS] = NO_MERGE;
            return SymbolMerge::NONE;
        }
        let left_symbol = self.symbols[left % POSITIONS];
        let right_symbol = self.symbols[right % POSITIONS];
        let merge = pairs.get_by_hash(left_symbol, right_symbol, hash);
        self.candidates.0[left % MAX_UNITS] = merge_key(left, merge);
        merge
    }

    /// Looks up what each pair of adjacent units becomes.
    #[inline(always)]
    fn init_candidates(&mut self, pairs: &mut PairLookup<'_>) {
        match self.count {
            ..=16 => self.candidates.0[..16].fill(NO_MERGE),
            _ => self.candidates.0.fill(NO_MERGE),
        }
        let mut unseen = 0u32;
        for at in 0..self.count.saturating_sub(1).min(MAX_UNITS - 1) {
            let merge = pairs.ascii().get(self.codes[at], self.codes[at + 1]);
            self.candidates.0[at] = merge_key(at, merge);
            unseen |= u32::from(merge == SymbolMerge::UNSEEN) << at;
        }
        while unseen != 0 {
            let at = unseen.trailing_zeros() as usize % MAX_UNITS;
            unseen &= unseen - 1;
            let merge = self.set_candidate([at, at + 1, at + 2], pairs);
            let codes = [self.codes[at], self.codes[at + 1]];
            pairs.ascii_mut().insert(codes[0], codes[1], merge);
        }
    }

    /// The hash of the text between two positions.
    #[inline]
    fn hash(&self, start: usize, end: usize) -> u64 {
        let start = start % POSITIONS;
        let end = end % POSITIONS;
        self.sums[end]
            .wrapping_sub(self.sums[start])
            .wrapping_mul(self.powers[end])
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

impl Default for ShortMerge {
    fn default() -> Self {
        Self {
            count: 0,
            length: 0,
            symbols: [NO_SYMBOL; POSITIONS],
            codes: [AsciiCode::OTHER; POSITIONS],
            sums: [0; POSITIONS],
            powers: [0; POSITIONS],
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
