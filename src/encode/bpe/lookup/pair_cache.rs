//! The pair cache: two symbols -> what they become, for the pairs that one worker has seen.
//!
//! [`SymbolTable`] would compute the same from the texts.
//!
//! The table is direct-mapped; a new pair replaces the pair in its slot. The table fits the
//! second-level cache of the processor, so a lookup costs less than the comparison of texts. For
//! models with fewer than 65,535 symbols an entry has 8 bytes instead of 16. Pairs of ASCII
//! characters, with which most chunks begin, are in [`AsciiPairs`].
//!
//! Example: the pair (`th`, `e`), symbols 1 and 5, becomes symbol 2 with rank 2. The entry of 8
//! bytes is 0x0002_0002_0001_0005: rank, symbol, left, right.
//!
//! Cost: one load per lookup. Memory: 256 KiB at most, 512 KiB with entries of 16 bytes.

use super::ascii_pairs::AsciiPairs;
use super::symbol_table::{NO_SYMBOL, SymbolMerge, SymbolTable};
use crate::base::num::{high_u32, low_u32, masked_index};
use crate::piece::PieceTable;

/// Slots of a table that has just received its first pair.
const MIN_SLOTS: usize = 1 << 11;
/// Slots of the largest table. Twice as many are no faster.
const MAX_SLOTS: usize = 1 << 15;
/// The factor by which tables grow; the limits are a power of it apart.
const GROWTH: usize = 4;

/// What pairs become. The symbols of the model decide which one of the first two tables is used.
#[derive(Debug, Default)]
pub(in crate::encode::bpe) struct PairCache {
    narrow: PairTable<NarrowEntry>,
    wide: PairTable<WideEntry>,
    ascii: AsciiPairs,
}

impl PairCache {
    /// The memory that the tables need now, in bytes.
    pub(in crate::encode::bpe) fn size_bytes(&self) -> usize {
        self.narrow.size_bytes() + self.wide.size_bytes() + self.ascii.size_bytes()
    }
}

/// Two adjacent symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SymbolPair {
    left: u32,
    right: u32,
}

/// A pair and what it becomes, as a [`PairTable`] stores it.
trait PairEntry: Copy + PartialEq {
    /// A free slot. Read as an entry, it says that a pair of no symbols does not merge, which is
    /// true.
    const FREE: Self;
    fn new(pair: SymbolPair, merge: SymbolMerge) -> Self;
    fn pair(self) -> SymbolPair;
    fn merge(self) -> SymbolMerge;
    fn is_of(self, pair: SymbolPair) -> bool;

    /// What `pair` becomes, if this is its entry.
    #[inline]
    fn merge_of(self, pair: SymbolPair) -> Option<SymbolMerge> {
        self.is_of(pair).then(|| self.merge())
    }
}

/// An entry for any model.
type WideEntry = (SymbolPair, SymbolMerge);

impl PairEntry for WideEntry {
    const FREE: Self = (
        SymbolPair {
            left: NO_SYMBOL,
            right: NO_SYMBOL,
        },
        SymbolMerge::NONE,
    );

    fn new(pair: SymbolPair, merge: SymbolMerge) -> Self {
        (pair, merge)
    }

    fn pair(self) -> SymbolPair {
        self.0
    }

    #[inline]
    fn merge(self) -> SymbolMerge {
        self.1
    }

    #[inline]
    fn is_of(self, pair: SymbolPair) -> bool {
        self.0 == pair
    }
}

/// An entry for models with fewer than 65,535 symbols: rank, symbol, left and right in 16 bits
/// each, from the top. If the pair does not merge, all bits of the first two are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NarrowEntry(u64);

impl NarrowEntry {
    /// The bits of a pair. A pair with [`NO_SYMBOL`] does not merge; its bits are the bits of no
    /// pair of symbols.
    #[inline]
    fn key(pair: SymbolPair) -> u32 {
        pair.left << 16 | pair.right
    }

    /// The bits of a merge: rank and symbol, or all bits if a pair does not merge.
    fn merge_bits(merge: SymbolMerge) -> u32 {
        match merge {
            SymbolMerge::NONE => u32::MAX,
            _ => merge.rank() << 16 | merge.symbol(),
        }
    }
}

impl PairEntry for NarrowEntry {
    const FREE: Self = Self(u64::MAX);

    fn new(pair: SymbolPair, merge: SymbolMerge) -> Self {
        let merge_bits = u64::from(Self::merge_bits(merge));
        Self(merge_bits << 32 | u64::from(Self::key(pair)))
    }

    fn pair(self) -> SymbolPair {
        let key = low_u32(self.0);
        SymbolPair {
            left: key >> 16,
            right: key & 0xFFFF,
        }
    }

    #[inline]
    fn merge(self) -> SymbolMerge {
        match high_u32(self.0) {
            u32::MAX => SymbolMerge::NONE,
            bits => SymbolMerge::new(bits >> 16, bits & 0xFFFF),
        }
    }

    #[inline]
    fn is_of(self, pair: SymbolPair) -> bool {
        low_u32(self.0) == Self::key(pair)
    }
}

/// A direct-mapped table of pairs.
#[derive(Debug)]
struct PairTable<E> {
    /// Empty, or a power of two.
    slots: Vec<E>,
    /// Slots with a pair.
    used: usize,
}

impl<E> Default for PairTable<E> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            used: 0,
        }
    }
}

/// Looks pairs up, in the cache first.
pub(in crate::encode::bpe) struct PairLookup<'p> {
    pub(in crate::encode::bpe) symbols: &'p SymbolTable,
    pub(in crate::encode::bpe) pieces: &'p PieceTable,
    pub(in crate::encode::bpe) cache: &'p mut PairCache,
}

impl PairLookup<'_> {
    /// The cached pairs of ASCII characters.
    #[inline]
    pub(in crate::encode::bpe) fn ascii(&self) -> &AsciiPairs {
        &self.cache.ascii
    }

    #[inline]
    pub(in crate::encode::bpe) fn ascii_mut(&mut self) -> &mut AsciiPairs {
        &mut self.cache.ascii
    }

    /// What `left` and `right` become.
    #[inline]
    pub(in crate::encode::bpe) fn get(&mut self, left: u32, right: u32) -> SymbolMerge {
        match self.symbols.joined_hash(left, right) {
            Some(hash) if self.symbols.may_be_piece(hash) => self.get_by_hash(left, right, hash),
            _ => SymbolMerge::NONE,
        }
    }

    /// As [`get`](Self::get), if the hash of the joined text is known and may be the hash of a
    /// piece.
    #[inline]
    pub(in crate::encode::bpe) fn get_by_hash(
        &mut self,
        left: u32,
        right: u32,
        hash: u64,
    ) -> SymbolMerge {
        let pair = SymbolPair { left, right };
        let found = if self.symbols.fits_16_bits() {
            self.cache.narrow.get(pair, hash)
        } else {
            self.cache.wide.get(pair, hash)
        };
        found.unwrap_or_else(|| self.compute(pair, hash))
    }

    /// Looks a pair up in the symbol table, and caches the result.
    #[cold]
    fn compute(&mut self, pair: SymbolPair, hash: u64) -> SymbolMerge {
        let symbols = [pair.left, pair.right];
        let merge = self.symbols.find_merge(self.pieces, symbols, hash);
        let PairCache { narrow, wide, .. } = &mut *self.cache;
        if self.symbols.fits_16_bits() {
            narrow.insert(pair, merge, hash, self.symbols);
        } else {
            wide.insert(pair, merge, hash, self.symbols);
        }
        merge
    }
}

impl<E: PairEntry> PairTable<E> {
    fn size_bytes(&self) -> usize {
        size_of_val(&self.slots[..])
    }

    /// The slot of a pair; `hash` is the hash of the joined text, which several pairs may share.
    #[inline]
    fn slot(&self, pair: SymbolPair, hash: u64) -> usize {
        let mask = self.slots.len().wrapping_sub(1);
        masked_index((hash >> 40) ^ u64::from(pair.left), mask)
    }

    #[inline]
    fn get(&self, pair: SymbolPair, hash: u64) -> Option<SymbolMerge> {
        self.slots.get(self.slot(pair, hash))?.merge_of(pair)
    }

    fn insert(&mut self, pair: SymbolPair, merge: SymbolMerge, hash: u64, symbols: &SymbolTable) {
        let entry = E::new(pair, merge);
        if entry == E::FREE {
            // Every free slot says the same.
            return;
        }
        if self.is_full() {
            self.grow(symbols);
        }
        self.write(entry, hash);
    }

    /// Whether half of the slots are used and the table may grow. A pair that replaces another uses
    /// no further slot, so a text that is encoded repeatedly does not make the table grow.
    fn is_full(&self) -> bool {
        self.used >= self.slots.len() / 2 && self.slots.len() < MAX_SLOTS
    }

    fn grow(&mut self, symbols: &SymbolTable) {
        let count = (self.slots.len() * GROWTH).max(MIN_SLOTS);
        let old_slots = std::mem::replace(&mut self.slots, vec![E::FREE; count]);
        self.used = 0;
        for entry in old_slots {
            let pair = entry.pair();
            if let Some(hash) = symbols.joined_hash(pair.left, pair.right) {
                self.write(entry, hash);
            }
        }
    }

    fn write(&mut self, entry: E, hash: u64) {
        let slot = self.slot(entry.pair(), hash);
        self.used += usize::from(self.is_free(slot));
        self.slots[slot] = entry;
    }

    fn is_free(&self, slot: usize) -> bool {
        self.slots[slot] == E::FREE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_known(pair: SymbolPair) -> bool {
        pair.left != NO_SYMBOL && pair.right != NO_SYMBOL
    }

    fn check_entry(pair: SymbolPair, merge: SymbolMerge, others: &[SymbolPair]) {
        let narrow = NarrowEntry::new(pair, merge);
        let wide = WideEntry::new(pair, merge);
        assert_eq!((narrow.merge(), wide.merge()), (merge, merge));
        assert_eq!(wide.pair(), pair);
        if is_known(pair) {
            assert_eq!(narrow.pair(), pair);
            assert!(narrow != NarrowEntry::FREE && wide != WideEntry::FREE);
        }
        for other in others {
            assert_eq!(wide.is_of(*other), *other == pair);
            // Of pairs without a known symbol it only matters that they are no known pair.
            if is_known(pair) || is_known(*other) {
                assert_eq!(narrow.is_of(*other), *other == pair);
            }
        }
    }

    #[test]
    fn entries_contain_their_pair_and_merge() {
        let symbols = [0, 1, 255, 256, 32_000, 65_533, NO_SYMBOL];
        let pairs: Vec<SymbolPair> = symbols
            .iter()
            .flat_map(|&left| symbols.iter().map(move |&right| SymbolPair { left, right }))
            .collect();
        let merges = [
            SymbolMerge::NONE,
            SymbolMerge::new(0, 0),
            SymbolMerge::new(65_533, 65_533),
            SymbolMerge::new(7, 500),
        ];
        for pair in &pairs {
            let count = if is_known(*pair) { merges.len() } else { 1 };
            for merge in &merges[..count] {
                check_entry(*pair, *merge, &pairs);
            }
        }
    }
}
