//! The pairs of symbols that one thread has seen, and what they become.
//!
//! [`Symbols`] finds the answer for every pair; this remembers it. A pair has one place where it can be. The
//! table fits the processor's second cache, so a look costs less than another look at the texts. Pairs of ASCII
//! characters, with which most chunks begin, have a table of their own ([`AsciiPairs`]).

use super::ascii_pairs::AsciiPairs;
use super::symbols::{Merge, NO_SYMBOL, Symbols};
use crate::packed::to_index;
use crate::piece::PieceTable;

/// Places at the start and at the end, powers of two and a power of four apart; twice as many are no faster.
const SMALLEST: usize = 1 << 11;
/// See [`SMALLEST`].
const LARGEST: usize = 1 << 15;

/// Pairs by their symbols.
#[derive(Debug, Default)]
pub(super) struct PairCache {
    /// None until a pair is remembered.
    places: Vec<(Pair, Merge)>,
    /// How many places have a pair.
    taken: usize,
    ascii: AsciiPairs,
}

/// Two symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pair {
    left: u32,
    right: u32,
}

/// A place without a pair; equally true of two symbols that are none.
const FREE: (Pair, Merge) = (Pair { left: NO_SYMBOL, right: NO_SYMBOL }, Merge::NONE);

/// What pairs become: from memory, or worked out.
pub(super) struct Pairs<'p> {
    pub(super) symbols: &'p Symbols,
    pub(super) pieces: &'p PieceTable,
    pub(super) cache: &'p mut PairCache,
}

impl Pairs<'_> {
    /// What pairs of ASCII characters become, as far as it is known.
    #[inline]
    pub(super) fn ascii(&self) -> &AsciiPairs {
        &self.cache.ascii
    }

    #[inline]
    pub(super) fn ascii_mut(&mut self) -> &mut AsciiPairs {
        &mut self.cache.ascii
    }

    /// What `left` and `right` become.
    #[inline]
    pub(super) fn get(&mut self, left: u32, right: u32) -> Merge {
        let hash = self.symbols.joined_hash(left, right).filter(|hash| self.symbols.may_be_piece(*hash));
        hash.map_or(Merge::NONE, |hash| self.find(left, right, hash))
    }

    /// What `left` and `right` become; `hash` is that of their joined text.
    #[inline]
    pub(super) fn find(&mut self, left: u32, right: u32, hash: u64) -> Merge {
        let pair = Pair { left, right };
        match self.cache.places.get(self.cache.place(pair, hash)) {
            Some((found, merge)) if *found == pair => *merge,
            _ => self.remember(pair, hash),
        }
    }

    #[cold]
    fn remember(&mut self, pair: Pair, hash: u64) -> Merge {
        let merge = self.symbols.join(self.pieces, pair.left, pair.right, hash);
        if self.cache.is_crowded() {
            self.cache.grow(self.symbols);
        }
        self.cache.take_place(pair, merge, hash);
        merge
    }
}

impl PairCache {
    /// Where a pair is, if it is there; `hash` is that of its joined text, which several pairs may share.
    #[inline]
    fn place(&self, pair: Pair, hash: u64) -> usize {
        (to_index(hash >> 40) ^ pair.left as usize) & self.places.len().wrapping_sub(1)
    }

    /// Whether half of the places are taken and there may be more. A pair that pushes out another takes no more of
    /// them, so a text that comes again makes no table grow.
    fn is_crowded(&self) -> bool {
        self.taken >= self.places.len() / 2 && self.places.len() < LARGEST
    }

    fn grow(&mut self, symbols: &Symbols) {
        let larger = vec![FREE; (self.places.len() * 4).max(SMALLEST)];
        self.taken = 0;
        for (pair, merge) in std::mem::replace(&mut self.places, larger) {
            if let Some(hash) = symbols.joined_hash(pair.left, pair.right) {
                self.take_place(pair, merge, hash);
            }
        }
    }

    fn take_place(&mut self, pair: Pair, merge: Merge, hash: u64) {
        let place = self.place(pair, hash);
        self.taken += usize::from(self.places[place].0 == FREE.0);
        self.places[place] = (pair, merge);
    }
}
