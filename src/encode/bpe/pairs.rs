//! The pairs of symbols that one thread has seen, and what they become.
//!
//! [`Symbols`] finds the answer for every pair; this remembers it. A pair has one place where it can be. The
//! table fits the processor's second cache, so a look costs less than another look at the texts.

use super::neighbours::to_index;
use super::symbols::{Merge, NO_SYMBOL, Symbols};
use crate::packed::spread;
use crate::piece::PieceTable;

/// Places, as a power of two.
const SIZE: u32 = 15;

/// Pairs by their symbols.
#[derive(Debug, Default)]
pub(super) struct PairCache {
    /// None until a pair is remembered.
    places: Vec<(u64, Merge)>,
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
        let Some(hash) = self.symbols.joined_hash(left, right) else { return Merge::NONE };
        let key = u64::from(left) << 32 | u64::from(right);
        let index = to_index(spread(key) >> (64 - SIZE));
        match self.cache.places.get(index) {
            Some((found, merge)) if *found == key => *merge,
            _ => self.remember(index, (left, right), hash),
        }
    }

    #[cold]
    fn remember(&mut self, index: usize, (left, right): (u32, u32), hash: u64) -> Merge {
        let places = &mut self.cache.places;
        if places.is_empty() {
            places.resize(1 << SIZE, FREE);
        }
        let merge = self.symbols.join(self.pieces, left, right, hash);
        places[index] = (u64::from(left) << 32 | u64::from(right), merge);
        merge
    }
}
