//! The pairs of symbols that one thread has seen, and what they become.
//!
//! [`Symbols`] finds the answer for every pair; this remembers it. A pair has one place where it can be. The
//! table fits the processor's second cache, so a look costs less than another look at the texts; of models with few
//! symbols it takes half as much of that. Pairs of ASCII characters, with which most chunks begin, have a table of
//! their own ([`AsciiPairs`]).

use super::ascii_pairs::AsciiPairs;
use super::symbols::{Merge, NO_SYMBOL, Symbols};
use crate::piece::PieceTable;
use crate::text::num::{low_u32, low_usize};

/// Places at the start and at the end, powers of two and a power of four apart; twice as many are no faster.
const SMALLEST: usize = 1 << 11;
/// See [`SMALLEST`].
const LARGEST: usize = 1 << 15;

/// Pairs by their symbols. Only one of the tables is used, as the model has few symbols or many.
#[derive(Debug, Default)]
pub(super) struct PairCache {
    narrow: Table<Narrow>,
    wide: Table<Wide>,
    ascii: AsciiPairs,
}

/// Two symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pair {
    left: u32,
    right: u32,
}

/// A pair and what it becomes, as a [`Table`] keeps it.
trait Entry: Copy + PartialEq {
    /// A place without a pair; equally true of symbols that are none, which become nothing.
    const FREE: Self;
    fn new(pair: Pair, merge: Merge) -> Self;
    fn pair(self) -> Pair;
    fn merge(self) -> Merge;
    fn is_of(self, pair: Pair) -> bool;
}

/// An entry of any model.
type Wide = (Pair, Merge);

impl Entry for Wide {
    const FREE: Wide = (
        Pair {
            left: NO_SYMBOL,
            right: NO_SYMBOL,
        },
        Merge::NONE,
    );

    fn new(pair: Pair, merge: Merge) -> Wide {
        (pair, merge)
    }

    fn pair(self) -> Pair {
        self.0
    }

    #[inline]
    fn merge(self) -> Merge {
        self.1
    }

    #[inline]
    fn is_of(self, pair: Pair) -> bool {
        self.0 == pair
    }
}

/// An entry of a model with fewer than 65,535 symbols, half as large: from the top the rank, what the pair becomes, and
/// the pair, in 16 bits each; all bits of the first two are set if it becomes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Narrow(u64);

impl Narrow {
    /// The bits of a pair. Those of one with an unknown character, which becomes nothing, are no known pair's.
    #[inline]
    fn key(pair: Pair) -> u32 {
        pair.left << 16 | pair.right
    }
}

impl Entry for Narrow {
    const FREE: Narrow = Narrow(u64::MAX);

    fn new(pair: Pair, merge: Merge) -> Narrow {
        let becomes = if merge == Merge::NONE {
            u32::MAX
        } else {
            merge.rank() << 16 | merge.symbol()
        };
        Narrow(u64::from(becomes) << 32 | u64::from(Narrow::key(pair)))
    }

    fn pair(self) -> Pair {
        let key = low_u32(self.0);
        Pair {
            left: key >> 16,
            right: key & 0xFFFF,
        }
    }

    #[inline]
    fn merge(self) -> Merge {
        match low_u32(self.0 >> 32) {
            u32::MAX => Merge::NONE,
            becomes => Merge::new(becomes >> 16, becomes & 0xFFFF),
        }
    }

    #[inline]
    fn is_of(self, pair: Pair) -> bool {
        low_u32(self.0) == Narrow::key(pair)
    }
}

/// Places for pairs.
#[derive(Debug)]
struct Table<E> {
    /// None until a pair is remembered.
    places: Vec<E>,
    /// How many places have a pair.
    taken: usize,
}

impl<E> Default for Table<E> {
    fn default() -> Table<E> {
        Table {
            places: Vec::new(),
            taken: 0,
        }
    }
}

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
        let hash = self
            .symbols
            .joined_hash(left, right)
            .filter(|hash| self.symbols.may_be_piece(*hash));
        hash.map_or(Merge::NONE, |hash| self.find(left, right, hash))
    }

    /// What `left` and `right` become; `hash` is that of their joined text.
    #[inline]
    pub(super) fn find(&mut self, left: u32, right: u32, hash: u64) -> Merge {
        let pair = Pair { left, right };
        let found = match self.symbols.are_few() {
            true => self.cache.narrow.get(pair, hash),
            false => self.cache.wide.get(pair, hash),
        };
        found.unwrap_or_else(|| self.remember(pair, hash))
    }

    #[cold]
    fn remember(&mut self, pair: Pair, hash: u64) -> Merge {
        let merge = self.symbols.join(self.pieces, pair.left, pair.right, hash);
        match self.symbols.are_few() {
            true => self.cache.narrow.put(pair, merge, hash, self.symbols),
            false => self.cache.wide.put(pair, merge, hash, self.symbols),
        }
        merge
    }
}

impl<E: Entry> Table<E> {
    /// Where a pair is, if it is there; `hash` is that of its joined text, which several pairs may share.
    #[inline]
    fn place(&self, pair: Pair, hash: u64) -> usize {
        (low_usize(hash >> 40) ^ pair.left as usize) & self.places.len().wrapping_sub(1)
    }

    /// What a pair becomes, if it is known.
    #[inline]
    fn get(&self, pair: Pair, hash: u64) -> Option<Merge> {
        let found = *self.places.get(self.place(pair, hash))?;
        found.is_of(pair).then(|| found.merge())
    }

    fn put(&mut self, pair: Pair, merge: Merge, hash: u64, symbols: &Symbols) {
        let entry = E::new(pair, merge);
        if entry == E::FREE {
            // It is what every free place says.
            return;
        }
        if self.is_crowded() {
            self.grow(symbols);
        }
        self.take_place(entry, hash);
    }

    /// Whether half of the places are taken and there may be more. A pair that pushes out another takes no more of
    /// them, so a text that comes again makes no table grow.
    fn is_crowded(&self) -> bool {
        self.taken >= self.places.len() / 2 && self.places.len() < LARGEST
    }

    fn grow(&mut self, symbols: &Symbols) {
        let larger = vec![E::FREE; (self.places.len() * 4).max(SMALLEST)];
        self.taken = 0;
        for entry in std::mem::replace(&mut self.places, larger) {
            let pair = entry.pair();
            if let Some(hash) = symbols.joined_hash(pair.left, pair.right) {
                self.take_place(entry, hash);
            }
        }
    }

    fn take_place(&mut self, entry: E, hash: u64) {
        let place = self.place(entry.pair(), hash);
        self.taken += usize::from(self.places[place] == E::FREE);
        self.places[place] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a pair with an unknown character it only counts that it is no known one.
    #[test]
    fn entries_have_what_was_put_in() {
        let symbols = [0, 1, 255, 256, 32_000, 65_533, NO_SYMBOL];
        let pairs: Vec<Pair> = symbols
            .iter()
            .flat_map(|left| {
                symbols.iter().map(|right| Pair {
                    left: *left,
                    right: *right,
                })
            })
            .collect();
        let is_known = |pair: &Pair| pair.left != NO_SYMBOL && pair.right != NO_SYMBOL;
        for pair in &pairs {
            let merges = [
                Merge::NONE,
                Merge::new(0, 0),
                Merge::new(65_533, 65_533),
                Merge::new(7, 500),
            ];
            for merge in merges.into_iter().take(if is_known(pair) { 4 } else { 1 }) {
                let (narrow, wide) = (Narrow::new(*pair, merge), Wide::new(*pair, merge));
                assert_eq!((narrow.merge(), wide.merge()), (merge, merge));
                for other in &pairs {
                    assert_eq!(wide.is_of(*other), other == pair);
                    if is_known(pair) || is_known(other) {
                        assert_eq!(narrow.is_of(*other), other == pair);
                    }
                }
                assert_eq!(wide.pair(), *pair);
                assert!(
                    !is_known(pair)
                        || narrow.pair() == *pair && narrow != Narrow::FREE && wide != Wide::FREE
                );
            }
        }
    }
}
