//! The merging of a short chunk.
//!
//! In: the characters of a chunk, 32 at most. Out: the symbols that are left when no pair merges any more. All
//! pairs are looked through for the best one, again and again, which is fastest for a handful.
//!
//! What two symbols become is asked by the hash of the text that they cover, which is worked out from the hashes of
//! the chunk's beginnings: most pairs become nothing, and to see that nothing else has to be loaded.

use std::hint::select_unpredictable;

use super::ascii_pairs::{AsciiPairs, Code};
use super::pairs::Pairs;
use super::symbols::{Merge, NO_SYMBOL, Symbols, lower_half};
use crate::packed::to_index;

/// The most symbols of a short chunk.
pub(super) const SHORT: usize = 32;

/// A short chunk, in arrays that stay in the processor's first cache; to be reused.
#[derive(Debug)]
pub(super) struct ShortChunk {
    count: usize,
    /// By place; a symbol that was merged has the place of its first character.
    symbols: [u32; SHORT],
    codes: [Code; SHORT],
    /// For each place the hash of the text before it, and the length of that text in bytes.
    hashes: [u64; PLACES],
    starts: [u8; PLACES],
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
/// Pieces below this fit into a turn.
pub(super) const PIECE_LIMIT: usize = 1 << PLACE_SHIFT;

/// The pairs of a short chunk, each at the place of its first symbol.
#[derive(Debug)]
struct Waiting([Turn; SHORT]);

impl ShortChunk {
    /// Makes it a chunk without characters.
    #[inline]
    pub(super) fn clear(&mut self) {
        (self.count, self.begins) = (0, u64::MAX);
    }

    /// Adds a character, unless there are [`SHORT`] already.
    #[inline]
    pub(super) fn push(&mut self, symbol: u32, char: &[u8], symbols: &Symbols) {
        let place = self.count;
        if place < SHORT {
            self.symbols[place] = symbol;
            self.codes[place] = Code::of(char);
            self.hashes[place + 1] = symbols.extend_hash(self.hashes[place], symbol, char);
            self.starts[place + 1] = self.starts[place] + u8::try_from(char.len()).unwrap_or(0);
            self.count += 1;
        }
    }

    /// The symbols that are left, from left to right.
    #[inline]
    pub(super) fn left(&self) -> impl Iterator<Item = u32> {
        let mut place = 0;
        std::iter::from_fn(move || {
            let symbol = (place < self.count).then(|| self.symbols[place])?;
            place = self.after(place);
            Some(symbol)
        })
    }

    /// Merges what merges. There are fewer than [`PIECE_LIMIT`] pieces.
    pub(super) fn merge(&mut self, pairs: &mut Pairs<'_>) {
        self.merge_and_tell::<false>(pairs);
    }

    /// Merges what merges; if `TELLS`, the two symbols that merged last.
    pub(super) fn merge_and_tell<const TELLS: bool>(&mut self, pairs: &mut Pairs<'_>) -> Option<(u32, u32)> {
        let mut last = None;
        self.look_at_all(pairs);
        loop {
            let best = self.waiting.first(self.count);
            if best == NEVER {
                return last;
            }
            let at = to_index(best >> PLACE_SHIFT) % SHORT;
            let right = self.after(at);
            let end = self.after(right);
            if TELLS {
                last = Some((self.symbols[at], self.symbols[right % SHORT]));
            }
            self.symbols[at] = lower_half(best % (1 << PLACE_SHIFT));
            self.begins &= !(1 << right);
            self.waiting.0[right % SHORT] = NEVER;
            self.waiting.0[at] = NEVER;
            let behind = self.hash(pairs.symbols, at, self.after(end));
            if end < self.count && pairs.symbols.may_be_piece(behind) {
                self.waiting.set(at, pairs.find(self.symbols[at], self.symbols[end], behind));
            }
            if let Some(before) = self.before(at) {
                let hash = self.hash(pairs.symbols, before, end);
                self.waiting.0[before] = NEVER;
                if pairs.symbols.may_be_piece(hash) {
                    self.waiting.set(before, pairs.find(self.symbols[before], self.symbols[at], hash));
                }
            }
        }
    }

    /// Sees what each two neighbours become, before anything was merged.
    #[inline]
    fn look_at_all(&mut self, pairs: &mut Pairs<'_>) {
        self.waiting.clear(self.count);
        let mut hashes = [0; SHORT];
        let mut promising = 0u32;
        for left in 0..self.count.saturating_sub(1) {
            let place = self.ascii_place(left);
            if let Some(place) = place
                && let merge = pairs.ascii().get(place)
                && merge != Merge::UNSEEN
            {
                self.waiting.set(left, merge);
                continue;
            }
            hashes[left % SHORT] = self.hash(pairs.symbols, left, left + 2);
            if pairs.symbols.may_be_piece(hashes[left % SHORT]) {
                promising |= 1 << left;
            } else if let Some(place) = place {
                pairs.ascii().put(place, Merge::NONE);
            }
        }
        while promising != 0 {
            let left = promising.trailing_zeros() as usize % SHORT;
            promising &= promising - 1;
            let merge = pairs.find(self.symbols[left], self.symbols[(left + 1) % SHORT], hashes[left]);
            self.waiting.set(left, merge);
            if let Some(place) = self.ascii_place(left) {
                pairs.ascii().put(place, merge);
            }
        }
    }

    /// Where the characters at `left` and behind it are in [`AsciiPairs`].
    #[inline]
    fn ascii_place(&self, left: usize) -> Option<usize> {
        AsciiPairs::place(self.codes[left % SHORT], self.codes[(left + 1) % SHORT])
    }

    /// The hash of the text between two places.
    #[inline]
    fn hash(&self, symbols: &Symbols, start: usize, end: usize) -> u64 {
        let (start, end) = (start % PLACES, end % PLACES);
        let length = self.starts[end].wrapping_sub(self.starts[start]);
        symbols.part_hash(self.hashes[start], self.hashes[end], usize::from(length))
    }

    /// The place of the symbol behind the one at `at`.
    #[inline]
    fn after(&self, at: usize) -> usize {
        (self.begins & (u64::MAX - 1) << at).trailing_zeros() as usize
    }

    /// The place of the symbol before the one at `at`.
    #[inline]
    fn before(&self, at: usize) -> Option<usize> {
        let ahead = self.begins & !(u64::MAX << at);
        (ahead != 0).then(|| ahead.ilog2() as usize % SHORT)
    }
}

impl Waiting {
    #[inline]
    fn set(&mut self, left: usize, merge: Merge) {
        // Of pairs that do not merge all bits are set, and stay so.
        self.0[left] = merge.bits() | (left as u64) << PLACE_SHIFT;
    }

    /// Forgets all pairs of a chunk of `count` symbols.
    #[inline]
    fn clear(&mut self, count: usize) {
        match count {
            ..=16 => self.0[..16].fill(NEVER),
            _ => self.0.fill(NEVER),
        }
    }

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
            symbols: [NO_SYMBOL; SHORT],
            codes: [Code::OTHER; SHORT],
            hashes: [0; PLACES],
            starts: [0; PLACES],
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
                (0..count).for_each(|place| waiting.set(place, Merge::new(7, 100)));
                waiting.set(first, Merge::new(6, 200));
                assert_eq!(waiting.first(count), 6 << 32 | (first as u64) << PLACE_SHIFT | 200);
                // Of equal ranks the leftmost is the first, whatever the symbols are.
                waiting.set(first, Merge::new(7, 0));
                let leftmost = if first == 0 { 0 } else { 100 };
                assert_eq!(waiting.first(count), 7 << 32 | leftmost);
            }
        }
        let mut waiting = Waiting([0; SHORT]);
        waiting.clear(SHORT);
        waiting.set(3, Merge::NONE);
        assert_eq!(waiting.first(SHORT), NEVER);
    }
}
