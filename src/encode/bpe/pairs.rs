//! The pairs of symbols that one thread has seen, and what they become.
//!
//! [`Symbols`] finds the answer for every pair; this remembers it. A pair has one place where it can be. The
//! table fits the processor's second cache, so a look costs less than another look at the texts.

use super::symbols::{Merge, NO_SYMBOL, Symbols};
use crate::packed::{spread, to_index};
use crate::piece::PieceTable;

/// Places at the start and at the end, powers of two.
const SMALLEST: usize = 1 << 10;
/// See [`SMALLEST`].
const LARGEST: usize = 1 << 15;

/// Pairs by their symbols.
#[derive(Debug, Default)]
pub(super) struct PairCache {
    /// None until a pair is remembered.
    places: Vec<(u64, Merge)>,
    /// How many places have a pair.
    taken: usize,
}

/// A place without a pair; equally true of two symbols that are none.
const FREE: (u64, Merge) = ((NO_SYMBOL as u64) << 32 | NO_SYMBOL as u64, Merge::NONE);

/// What pairs become: from memory, or worked out.
pub(super) struct Pairs<'p> {
    pub(super) symbols: &'p Symbols,
    pub(super) pieces: &'p PieceTable,
    pub(super) cache: &'p mut PairCache,
}

impl Pairs<'_> {
    /// What `left` and `right` become.
    #[inline]
    pub(super) fn get(&mut self, left: u32, right: u32) -> Merge {
        self.symbols.joined_hash(left, right).map_or(Merge::NONE, |hash| self.find(left, right, hash))
    }

    /// What `left` and `right` become; `hash` is that of their joined text.
    #[inline]
    pub(super) fn find(&mut self, left: u32, right: u32, hash: u64) -> Merge {
        let key = u64::from(left) << 32 | u64::from(right);
        match self.cache.places.get(self.cache.place(key)) {
            Some((found, merge)) if *found == key => *merge,
            _ => self.remember(key, (left, right), hash),
        }
    }

    #[cold]
    fn remember(&mut self, key: u64, (left, right): (u32, u32), hash: u64) -> Merge {
        let merge = self.symbols.join(self.pieces, left, right, hash);
        self.cache.put(key, merge);
        merge
    }
}

impl PairCache {
    /// Where a pair is, if it is there.
    #[inline]
    fn place(&self, key: u64) -> usize {
        to_index(spread(key) >> 40) & self.places.len().wrapping_sub(1)
    }

    /// Remembers a pair, in a larger table if half of the places of this one are taken. A pair that pushes out
    /// another takes no more of them, so a text that comes again makes no table grow.
    fn put(&mut self, key: u64, merge: Merge) {
        if self.taken >= self.places.len() / 2 && self.places.len() < LARGEST {
            let larger = vec![FREE; (self.places.len() * 2).max(SMALLEST)];
            self.taken = 0;
            for (key, merge) in std::mem::replace(&mut self.places, larger) {
                if key != FREE.0 {
                    self.take_place(key, merge);
                }
            }
        }
        self.take_place(key, merge);
    }

    fn take_place(&mut self, key: u64, merge: Merge) {
        let place = self.place(key);
        self.taken += usize::from(self.places[place].0 == FREE.0);
        self.places[place] = (key, merge);
    }
}
