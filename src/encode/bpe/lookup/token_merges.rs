//! What two tokens become in the second layer of models with superwords.
//!
//! The table has pairs of symbols with what they become, and pairs that are only adjacent in some
//! piece. It is a hash table with linear probing, of which at most half of the slots are used,
//! behind a [`BloomFilter`] of its keys. The keys are the numbers of the symbols, so no text is
//! read.
//!
//! Example: the pair (`▁of`, `▁the`) with the symbols 310 and 278 has the key 310·2^32 + 278. Its
//! slot says that the pair becomes `▁of▁the`. The piece `▁of▁the▁best` makes the pair (`▁the`,
//! `▁best`) adjacent, which becomes nothing.
//!
//! Cost: one multiplication and one load for most pairs that are not in the table, one more load
//! for the others. Memory: 32 to 64 bytes for each pair, and the filter. The multiplier is drawn at
//! random for each table, so that no model can be prepared whose pairs collide.

use std::hash::{BuildHasher, RandomState};

use super::pair_cache::PairLookup;
use super::symbol_table::{NO_SYMBOL, SymbolMerge};
use crate::base::num::low_usize;
use crate::encode::bloom_filter::BloomFilter;

/// Slots of an empty table.
const MIN_SLOTS: usize = 64;

/// A source of answers: what two symbols become.
pub(in crate::encode::bpe) trait MergeSource {
    /// What `left` and `right` become.
    fn merge_of(&mut self, left: u32, right: u32) -> SymbolMerge;
}

impl MergeSource for PairLookup<'_> {
    #[inline]
    fn merge_of(&mut self, left: u32, right: u32) -> SymbolMerge {
        self.get(left, right)
    }
}

impl MergeSource for &TokenMergeTable {
    #[inline]
    fn merge_of(&mut self, left: u32, right: u32) -> SymbolMerge {
        self.get(left, right)
    }
}

/// Two symbols and what they become; [`SymbolMerge::NONE`] if they are only adjacent.
#[derive(Debug, Clone, Copy)]
struct TokenMerge {
    left: u32,
    right: u32,
    merge: SymbolMerge,
}

impl TokenMerge {
    /// A slot without a pair: no token has this symbol.
    const FREE: Self = Self::adjacent(NO_SYMBOL, NO_SYMBOL);

    /// Two symbols that are only adjacent.
    const fn adjacent(left: u32, right: u32) -> Self {
        Self {
            left,
            right,
            merge: SymbolMerge::NONE,
        }
    }

    /// Whether it is a slot with a pair.
    #[inline]
    fn is_pair(&self) -> bool {
        self.left != NO_SYMBOL
    }
}

/// Pairs of tokens; see the [module page](self).
#[derive(Debug)]
pub(in crate::encode::bpe) struct TokenMergeTable {
    pairs: TokenMergeMap,
    /// The hashes of all pairs.
    filter: BloomFilter,
}

impl TokenMergeTable {
    /// What two symbols become; [`SymbolMerge::UNSEEN`] if they are no pair of the table.
    #[inline]
    pub(in crate::encode::bpe) fn find(&self, left: u32, right: u32) -> SymbolMerge {
        let hash = self.pairs.hash(left, right);
        if !self.filter.may_contain(hash) {
            return SymbolMerge::UNSEEN;
        }
        let slot = &self.pairs.slots[self.pairs.find_slot(left, right, hash)];
        match slot.left {
            NO_SYMBOL => SymbolMerge::UNSEEN,
            _ => slot.merge,
        }
    }

    /// What two symbols become.
    #[inline]
    pub(in crate::encode::bpe) fn get(&self, left: u32, right: u32) -> SymbolMerge {
        match self.find(left, right) {
            SymbolMerge::UNSEEN => SymbolMerge::NONE,
            merge => merge,
        }
    }
}

/// The pairs while they are collected.
#[derive(Debug)]
pub(in crate::encode::bpe) struct TokenMergeMap {
    /// A power of two; at least half are free.
    slots: Vec<TokenMerge>,
    /// Slots with a pair.
    used: usize,
    /// A hash shifted right by this is the number of its first slot.
    shift: u32,
    /// Random and odd. The upper bits of the product with a key are a universal hash
    /// (Dietzfelbinger et al., "A reliable randomized algorithm for the closest-pair problem",
    /// 1997, <https://doi.org/10.1006/jagm.1997.0873>).
    multiplier: u64,
}

impl TokenMergeMap {
    /// An empty map with room for `count` pairs.
    pub(in crate::encode::bpe) fn with_capacity(count: usize) -> Self {
        let slots = (count * 2).next_power_of_two().max(MIN_SLOTS);
        Self {
            slots: vec![TokenMerge::FREE; slots],
            used: 0,
            shift: 64 - slots.trailing_zeros(),
            multiplier: RandomState::new().hash_one(0) | 1,
        }
    }

    /// The number of pairs.
    pub(in crate::encode::bpe) fn len(&self) -> usize {
        self.used
    }

    /// Adds a pair that is adjacent in some piece.
    pub(in crate::encode::bpe) fn insert_adjacent(&mut self, left: u32, right: u32) {
        self.slot_of(left, right);
    }

    /// Adds what a pair becomes.
    pub(in crate::encode::bpe) fn insert(&mut self, left: u32, right: u32, merge: SymbolMerge) {
        let slot = self.slot_of(left, right);
        self.slots[slot].merge = merge;
    }

    fn pairs(&self) -> impl Iterator<Item = &TokenMerge> {
        self.slots.iter().filter(|slot| slot.is_pair())
    }

    /// The table of the pairs.
    pub(in crate::encode::bpe) fn build(self) -> TokenMergeTable {
        let filter = self.filter();
        TokenMergeTable {
            pairs: self,
            filter,
        }
    }

    /// A filter of the hashes of all pairs.
    fn filter(&self) -> BloomFilter {
        let mut filter = BloomFilter::with_capacity(self.used);
        for pair in self.pairs() {
            filter.insert(self.hash_of(pair));
        }
        filter
    }

    /// The slot of a pair, which is added if it is missing.
    fn slot_of(&mut self, left: u32, right: u32) -> usize {
        if self.used >= self.slots.len() / 2 {
            self.grow();
        }
        let slot = self.find_slot(left, right, self.hash(left, right));
        if !self.slots[slot].is_pair() {
            self.used += 1;
            self.slots[slot] = TokenMerge::adjacent(left, right);
        }
        slot
    }

    /// Doubles the number of slots.
    fn grow(&mut self) {
        let count = self.slots.len() * 2;
        let old = std::mem::replace(&mut self.slots, vec![TokenMerge::FREE; count]);
        self.shift -= 1;
        for pair in old.into_iter().filter(TokenMerge::is_pair) {
            let slot = self.find_slot(pair.left, pair.right, self.hash_of(&pair));
            self.slots[slot] = pair;
        }
    }

    fn hash_of(&self, pair: &TokenMerge) -> u64 {
        self.hash(pair.left, pair.right)
    }

    #[inline]
    fn hash(&self, left: u32, right: u32) -> u64 {
        (u64::from(left) << 32 | u64::from(right)).wrapping_mul(self.multiplier)
    }

    /// The slot of a pair, or the free slot where it belongs.
    #[inline]
    fn find_slot(&self, left: u32, right: u32, hash: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = low_usize(hash >> self.shift);
        loop {
            let slot = &self.slots[at];
            if slot.left == NO_SYMBOL || slot.left == left && slot.right == right {
                return at;
            }
            at = (at + 1) & mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_pairs_are_found_and_no_others() {
        let merge = |number: u32| SymbolMerge::new(number, number);
        for count in [0, 1, 100, 50_000] {
            let mut map = TokenMergeMap::with_capacity(10);
            for number in 0..count {
                map.insert_adjacent(number, number + 1);
                map.insert(number, number + 2, merge(number));
                map.insert_adjacent(number, number + 2);
            }
            assert_eq!(map.len(), 2 * count as usize);
            let table = map.build();
            for number in 0..count {
                assert_eq!(table.find(number, number + 1), SymbolMerge::NONE);
                assert_eq!(table.find(number, number + 2), merge(number));
                assert_eq!(table.find(number + 2, number), SymbolMerge::UNSEEN);
                assert_eq!(table.get(number + 1, number), SymbolMerge::NONE);
            }
        }
    }
}
