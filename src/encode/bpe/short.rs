//! The merging of a short chunk.
//!
//! In: the characters of a chunk, 32 at most. Out: the symbols that are left when no pair merges any more. All
//! pairs are looked through for the best one, again and again, which is fastest for a handful.
//!
//! What two symbols become is asked by the hash of the text that they cover, which is worked out from what is known of
//! the places around it: most pairs become nothing, and to see that nothing else has to be loaded.

use std::hint::select_unpredictable;

use super::ascii_pairs::Code;
use super::chars::CharTable;
use super::pairs::Pairs;
use super::symbols::{Merge, NO_SYMBOL, Symbols};
use crate::piece::MAX_PIECES;
use crate::text::num::{low_u32, low_usize};

/// The most symbols of a short chunk.
pub(super) const SHORT: usize = 32;

/// A short chunk, in arrays that stay in the processor's first cache; to be reused.
#[derive(Debug)]
pub(super) struct ShortChunk {
    count: usize,
    /// Its length in bytes.
    length: u8,
    /// By place; a symbol that was merged has the place of its first character.
    symbols: [u32; PLACES],
    codes: [Code; PLACES],
    /// For each place the sum of the text before it and the power of the place, as [`Symbols`] explains them.
    sums: [u64; PLACES],
    powers: [u64; PLACES],
    /// A bit for each place at which a symbol begins, and for all behind the last symbol.
    begins: u64,
    waiting: Waiting,
}

/// Places with a character, the end, and what is looked at in vain behind it: a power of two, so that a mask is
/// enough to stay within.
const PLACES: usize = 2 * SHORT;

/// When a pair of a short chunk merges, the lowest first: the bits of a [`Merge`], and its place in the middle, where
/// the symbols of few pieces have none.
type Turn = u64;
const PLACE_SHIFT: u32 = u32::BITS - SHORT.trailing_zeros();
/// The pair does not merge.
const NEVER: Turn = Turn::MAX;
/// Every id fits into a turn: models with more pieces are refused when they are loaded.
const _: () = assert!(MAX_PIECES <= 1 << PLACE_SHIFT);

/// The pairs of a short chunk, each at the place of its first symbol.
#[derive(Debug)]
struct Waiting([Turn; SHORT]);

impl ShortChunk {
    /// Makes it a chunk without characters.
    #[inline]
    pub(super) fn clear(&mut self) {
        (self.count, self.length, self.begins) = (0, 0, u64::MAX);
    }

    /// Adds the characters of a text, up to [`SHORT`] in all.
    #[inline]
    pub(super) fn extend<const RAW: bool>(
        &mut self,
        text: &[u8],
        chars: &CharTable,
        symbols: &Symbols,
    ) {
        let (mut count, mut length) = (self.count, self.length);
        let mut sum = self.sums[count % PLACES];
        let mut rest = text;
        while !rest.is_empty() && count < SHORT {
            let (char, width) = chars.char_at::<RAW>(rest);
            rest = &rest[width..];
            self.symbols[count] = char.symbol;
            self.codes[count] = char.code;
            length += char.width;
            count += 1;
            (sum, self.powers[count]) = symbols.sum_and_power(sum, char.hash, length);
            self.sums[count] = sum;
        }
        (self.count, self.length) = (count, length);
    }

    /// The symbols that are left, from left to right.
    #[inline]
    pub(super) fn left(&self) -> impl Iterator<Item = u32> {
        let mut rest = self.begins & !(u64::MAX << self.count);
        std::iter::from_fn(move || {
            let place = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(self.symbols[place % PLACES])
        })
    }

    /// Merges what merges.
    pub(super) fn merge(&mut self, pairs: &mut Pairs<'_>) {
        self.merge_and_tell::<false>(pairs);
    }

    /// Merges what merges; if `TELLS`, the two symbols that merged last.
    pub(super) fn merge_and_tell<const TELLS: bool>(
        &mut self,
        pairs: &mut Pairs<'_>,
    ) -> Option<(u32, u32)> {
        let mut last = None;
        self.look_at_all(pairs);
        loop {
            let best = self.waiting.first(self.count);
            if best == NEVER {
                return last;
            }
            let at = low_usize(best >> PLACE_SHIFT) % SHORT;
            let [right, end, after_end] = self.three_after(at);
            if TELLS {
                last = Some((self.symbols[at], self.symbols[right % SHORT]));
            }
            let symbol = low_u32(best % (1 << PLACE_SHIFT));
            self.symbols[at] = symbol;
            self.begins &= !(1 << right);
            self.waiting.0[right % SHORT] = NEVER;
            self.waiting.0[at] = NEVER;
            let behind = self.hash(at, after_end);
            if end < self.count && pairs.symbols.may_be_piece(behind) {
                self.waiting.0[at] =
                    turn_of(at, pairs.find(symbol, self.symbols[end % PLACES], behind));
            }
            if let Some(before) = self.before(at) {
                let hash = self.hash(before, end);
                self.waiting.0[before] = NEVER;
                if pairs.symbols.may_be_piece(hash) {
                    self.waiting.0[before] =
                        turn_of(before, pairs.find(self.symbols[before], symbol, hash));
                }
            }
        }
    }

    /// Sees what each two neighbours become, before anything was merged.
    #[inline(always)]
    fn look_at_all(&mut self, pairs: &mut Pairs<'_>) {
        match self.count {
            ..=16 => self.waiting.0[..16].fill(NEVER),
            _ => self.waiting.0.fill(NEVER),
        }
        let mut unseen = 0u32;
        for at in 0..self.count.saturating_sub(1).min(SHORT - 1) {
            let merge = pairs.ascii().get(self.codes[at], self.codes[at + 1]);
            self.waiting.0[at] = turn_of(at, merge);
            unseen |= u32::from(merge == Merge::UNSEEN) << at;
        }
        while unseen != 0 {
            let at = unseen.trailing_zeros() as usize % SHORT;
            unseen &= unseen - 1;
            let hash = self.hash(at, at + 2);
            let merge = match pairs.symbols.may_be_piece(hash) {
                true => pairs.find(self.symbols[at], self.symbols[at + 1], hash),
                false => Merge::NONE,
            };
            self.waiting.0[at] = turn_of(at, merge);
            pairs
                .ascii_mut()
                .put(self.codes[at], self.codes[at + 1], merge);
        }
    }

    /// The hash of the text between two places.
    #[inline]
    fn hash(&self, start: usize, end: usize) -> u64 {
        let (start, end) = (start % PLACES, end % PLACES);
        self.sums[end]
            .wrapping_sub(self.sums[start])
            .wrapping_mul(self.powers[end])
    }

    /// The places of the three symbols behind the one at `at`.
    #[inline]
    fn three_after(&self, at: usize) -> [usize; 3] {
        let mut behind = self.begins & (u64::MAX - 1) << at;
        std::array::from_fn(|_| {
            let place = behind.trailing_zeros() as usize;
            behind &= behind.wrapping_sub(1);
            place
        })
    }

    /// The place of the symbol before the one at `at`.
    #[inline]
    fn before(&self, at: usize) -> Option<usize> {
        let ahead = self.begins & !(u64::MAX << at);
        (ahead != 0).then(|| ahead.ilog2() as usize % SHORT)
    }
}

/// When the pair at this place merges.
#[inline]
fn turn_of(place: usize, merge: Merge) -> Turn {
    // Of pairs that do not merge all bits are set, and stay so.
    merge.bits() | (place as u64) << PLACE_SHIFT
}

impl Waiting {
    /// The first turn of the first `count` places. A fixed number of them is compared, without branches.
    #[inline]
    fn first(&self, count: usize) -> Turn {
        match count {
            0..=8 => least(&self.0[..8]),
            9..=12 => least(&self.0[..12]),
            13..=16 => least(&self.0[..16]),
            _ => least(&self.0),
        }
    }
}

/// The lowest of some turns, a multiple of four.
#[inline]
fn least(turns: &[Turn]) -> Turn {
    let mut lanes = [NEVER; 4];
    for four in turns.as_chunks::<4>().0 {
        for (lane, turn) in lanes.iter_mut().zip(four) {
            *lane = lesser(*lane, *turn);
        }
    }
    lesser(lesser(lanes[0], lanes[1]), lesser(lanes[2], lanes[3]))
}

/// The lower of two turns. Which it is cannot be foretold, so that a branch would cost more.
#[inline]
fn lesser(one: Turn, other: Turn) -> Turn {
    select_unpredictable(one < other, one, other)
}

impl Default for ShortChunk {
    fn default() -> ShortChunk {
        ShortChunk {
            count: 0,
            length: 0,
            symbols: [NO_SYMBOL; PLACES],
            codes: [Code::OTHER; PLACES],
            sums: [0; PLACES],
            powers: [0; PLACES],
            begins: u64::MAX,
            waiting: Waiting([NEVER; SHORT]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_turn_is_found_at_every_place() {
        for count in 1..=SHORT {
            for first in 0..count {
                let mut waiting = Waiting([NEVER; SHORT]);
                (0..count).for_each(|place| waiting.0[place] = turn_of(place, Merge::new(7, 100)));
                waiting.0[first] = turn_of(first, Merge::new(6, 200));
                assert_eq!(
                    waiting.first(count),
                    6 << 32 | (first as u64) << PLACE_SHIFT | 200
                );
                // Of equal ranks the leftmost is the first, whatever the symbols are.
                waiting.0[first] = turn_of(first, Merge::new(7, 0));
                let leftmost = if first == 0 { 0 } else { 100 };
                assert_eq!(waiting.first(count), 7 << 32 | leftmost);
            }
        }
        assert_eq!(turn_of(3, Merge::NONE), NEVER);
    }
}
