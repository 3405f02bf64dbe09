//! A cache of what two tokens become, found by their symbols alone.
//!
//! Input: two symbols. Output: what they become. Method: a direct-mapped table like the [pair cache](super::pair_cache), but
//! the slot depends on the two symbols and not on the hash of their joined text. The second layer of models with
//! superwords asks for pairs of words, of which a text has very many: with the pair cache each question waits for two
//! hashes, then for the filter, then for the slot; here it waits for the slot alone.
//!
//! Example: the pair (`▁of`, `▁the`) with the symbols 310 and 278 has a slot by a hash of the number 310·2^32 + 278.
//!
//! Cost: one load for each pair that was seen before. Memory: 8 MiB at most.

use super::pair_cache::PairLookup;
use super::symbol_table::{NO_SYMBOL, SymbolMerge, SymbolTable};
use crate::piece::PieceTable;
use crate::text::num::{masked_index, mix_high};

/// Slots of a table that has just received its first pair.
const MIN_SLOTS: usize = 1 << 11;
/// Slots of the largest table.
const MAX_SLOTS: usize = 1 << 19;
/// The factor by which tables grow.
const GROWTH: usize = 4;

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

/// Two symbols and what they become.
#[derive(Debug, Clone, Copy)]
struct TokenMerge {
    left: u32,
    right: u32,
    merge: SymbolMerge,
}

/// A slot without a pair: no token has this symbol.
const FREE: TokenMerge = TokenMerge {
    left: NO_SYMBOL,
    right: NO_SYMBOL,
    merge: SymbolMerge::NONE,
};

/// The cached pairs.
#[derive(Debug, Default)]
pub(in crate::encode::bpe) struct TokenMerges {
    /// None, or a power of two.
    slots: Vec<TokenMerge>,
    /// Slots with a pair.
    used: usize,
}

impl TokenMerges {
    /// The memory that the table needs now, in bytes.
    pub(in crate::encode::bpe) fn size_bytes(&self) -> usize {
        size_of_val(&self.slots[..])
    }

    #[inline]
    fn slot(&self, left: u32, right: u32) -> usize {
        let hash = mix_high(u64::from(left) << 32 | u64::from(right));
        masked_index(hash >> 40, self.slots.len().wrapping_sub(1))
    }

    #[inline]
    fn get(&self, left: u32, right: u32) -> Option<SymbolMerge> {
        let slot = self.slots.get(self.slot(left, right))?;
        (slot.left == left && slot.right == right).then_some(slot.merge)
    }

    fn insert(&mut self, left: u32, right: u32, merge: SymbolMerge) {
        if self.used >= self.slots.len() / 2 && self.slots.len() < MAX_SLOTS {
            self.grow();
        }
        self.write(TokenMerge { left, right, merge });
    }

    fn grow(&mut self) {
        let count = (self.slots.len() * GROWTH).clamp(MIN_SLOTS, MAX_SLOTS);
        let old = std::mem::replace(&mut self.slots, vec![FREE; count]);
        self.used = 0;
        for entry in old.into_iter().filter(|entry| entry.left != NO_SYMBOL) {
            self.write(entry);
        }
    }

    fn write(&mut self, entry: TokenMerge) {
        let at = self.slot(entry.left, entry.right);
        self.used += usize::from(self.slots[at].left == NO_SYMBOL);
        self.slots[at] = entry;
    }
}

/// Looks pairs of tokens up, in the cache first.
pub(in crate::encode::bpe) struct TokenMergeLookup<'p> {
    pub(in crate::encode::bpe) symbols: &'p SymbolTable,
    pub(in crate::encode::bpe) pieces: &'p PieceTable,
    pub(in crate::encode::bpe) cache: &'p mut TokenMerges,
}

impl MergeSource for TokenMergeLookup<'_> {
    #[inline]
    fn merge_of(&mut self, left: u32, right: u32) -> SymbolMerge {
        let cached = self.cache.get(left, right);
        cached.unwrap_or_else(|| self.compute(left, right))
    }
}

impl TokenMergeLookup<'_> {
    #[cold]
    fn compute(&mut self, left: u32, right: u32) -> SymbolMerge {
        let merge = self.symbols.join(self.pieces, [left, right]);
        self.cache.insert(left, right, merge);
        merge
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_found_until_others_take_their_slots() {
        let mut merges = TokenMerges::default();
        assert_eq!(merges.get(1, 2), None);
        let merge = |number: u32| SymbolMerge::new(number, number);
        for number in 0..100_000 {
            merges.insert(number, number + 1, merge(number));
            assert_eq!(merges.get(number, number + 1), Some(merge(number)));
            assert_eq!(merges.get(number + 1, number), None);
        }
        let is_found = |number: &u32| merges.get(*number, number + 1) == Some(merge(*number));
        let found = (0..100_000).filter(is_found).count();
        assert!(found > 50_000, "{found}");
        assert_eq!(merges.size_bytes(), MAX_SLOTS / GROWTH * 16);
    }
}
