//! A small two-way set-associative cache that counts short texts that recur soon.
//!
//! The texts are raw chunks or the parts of chunks, or words for unigram models. The caller counts
//! the evicted texts and, at the end, the entries; their sums are exact.
//!
//! Most of a corpus consists of a few thousand words, but the number of distinct words is not
//! bounded. The cache holds as many as fit into the second-level cache of a processor. A text
//! belongs to a set of two entries. If neither entry holds it, it replaces the less recently used
//! one. So frequent texts remain, and evictions are about a sixth of the texts of a corpus. The set
//! depends on a seed, so that nobody can construct a corpus whose words all evict one another.
//!
//! For example, if "the", "of" and "and" belong to one set:
//!
//! ```text
//! add      set after it (most recent first)   returned
//! the 1    the 1
//! of 1     of 1, the 1
//! the 1    the 2, of 1                        (a hit promotes the entry)
//! and 1    and 1, the 2                       of 1 (evicted)
//! ```

use std::hash::BuildHasher;
use std::mem;

use foldhash::fast::SeedableRandomState;

use crate::base::packed::{pack, unpack};

/// The number of sets for chunks, a power of two. From 2^13 to 2^17 the time of a training run
/// changes by 3 % at most: a larger cache evicts less, but its accesses take longer.
pub(crate) const CHUNK_SETS: usize = 1 << 14;
/// The number of sets for the parts of chunks that a cache for chunks has evicted.
pub(crate) const PART_SETS: usize = 1 << 12;

/// A text of less than 16 bytes, packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ShortText([u64; 2]);

impl ShortText {
    #[inline]
    pub(crate) fn new(text: &[u8]) -> Option<Self> {
        pack(text).map(ShortText)
    }

    /// The first `length` (at most 15) of 16 bytes; the first byte is the lowest of `bytes`.
    #[inline]
    #[allow(clippy::cast_possible_truncation)]
    pub(crate) fn of_block(bytes: u128, length: u32) -> Self {
        let kept = bytes & !(u128::MAX << (8 * length));
        Self([kept as u64, (kept >> 64) as u64 | u64::from(length) << 56])
    }

    /// The packed text, as of [`pack`].
    #[inline]
    pub(crate) fn packed(&self) -> [u64; 2] {
        self.0
    }

    /// The text, written to `buffer`.
    #[inline]
    pub(crate) fn text<'b>(&self, buffer: &'b mut [[u8; 8]; 2]) -> &'b [u8] {
        unpack(&self.0, buffer)
    }
}

/// A text and how often it was added; 0 where there is none.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CountedText {
    pub(crate) text: ShortText,
    pub(crate) count: u64,
}

/// The cache; see the [module](self).
pub(crate) struct ShortTextCache<const SETS: usize> {
    /// The most recently used entry of a set is the first.
    sets: Vec<[CountedText; 2]>,
    seed: [u64; 2],
}

impl<const SETS: usize> ShortTextCache<SETS> {
    /// An empty cache with seeds from `hasher`.
    pub(crate) fn new(hasher: &SeedableRandomState) -> Self {
        Self {
            sets: vec![[CountedText::default(); 2]; SETS],
            seed: [0u64, 1].map(|salt| hasher.hash_one(salt)),
        }
    }

    /// The set of a text: a folded product of its two halves.
    #[inline]
    #[allow(clippy::cast_possible_truncation)]
    fn set_of(&self, ShortText([low, high]): ShortText) -> usize {
        let product = u128::from(low ^ self.seed[0]) * u128::from(high ^ self.seed[1]);
        (product as u64 ^ (product >> 64) as u64) as usize % SETS
    }

    /// Adds `count` to the count of `text`, and returns the text that was evicted for it, if one
    /// was.
    #[inline]
    pub(crate) fn add(&mut self, text: ShortText, count: u64) -> Option<CountedText> {
        let number = self.set_of(text);
        let set = &mut self.sets[number];
        let first = set[0];
        if first.text == text {
            set[0].count = first.count.saturating_add(count);
            return None;
        }
        let second = mem::replace(&mut set[1], first);
        if second.text == text {
            let count = second.count.saturating_add(count);
            set[0] = CountedText { text, count };
            return None;
        }
        set[0] = CountedText { text, count };
        (second.count > 0).then_some(second)
    }

    /// Reads the set of a text, to load it into the processor's cache.
    #[inline]
    pub(crate) fn touch(&self, text: ShortText) -> u64 {
        self.sets[self.set_of(text)][0].count
    }

    /// Takes all entries. The cache must not be used afterwards.
    pub(crate) fn take_entries(&mut self) -> impl Iterator<Item = CountedText> + use<SETS> {
        mem::take(&mut self.sets)
            .into_iter()
            .flatten()
            .filter(|entry| entry.count > 0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn evictions_and_entries_sum_to_the_additions() {
        let mut cache = ShortTextCache::<64>::new(&SeedableRandomState::default());
        let mut expected: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
        let mut found: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
        let mut note = |entry: CountedText| {
            *found
                .entry(entry.text.text(&mut [[0; 8]; 2]).to_vec())
                .or_default() += entry.count;
        };
        for number in 0..200_000u64 {
            let text = format!("{}", number * number % 70_001);
            let short = ShortText::new(text.as_bytes()).unwrap();
            *expected.entry(text.into_bytes()).or_default() += number % 3 + 1;
            cache
                .add(short, number % 3 + 1)
                .into_iter()
                .for_each(&mut note);
        }
        cache.take_entries().for_each(&mut note);
        assert_eq!(found, expected);
    }

    #[test]
    fn a_short_text_is_the_start_of_its_block() {
        let window = u128::from_le_bytes(*b"0123456789abcdef");
        for length in 0..16u32 {
            let text = &b"0123456789abcdef"[..length as usize];
            assert_eq!(
                Some(ShortText::of_block(window, length)),
                ShortText::new(text)
            );
        }
    }
}
