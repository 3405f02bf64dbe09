//! A set of hashes with lookups of one load and with false positives.
//!
//! The hashes have random upper bits. A Bloom filter with a single hash function (Bloom,
//! "Space/time trade-offs in hash coding with allowable errors", 1970,
//! <https://doi.org/10.1145/362686.362692>): every hash has one bit, numbered by its upper bits,
//! and several hashes may share a bit. There are no false negatives. At most one hash in eight is a
//! false positive, because there are at least eight bits for each inserted hash.
//!
//! Example: a filter of 64 bits numbers its bits by the upper six bits of a hash. After
//! `insert(0b000011 << 58)` bit 3 is set, so `may_contain` is true for every hash that begins with
//! the bits 000011 and false for all others.
//!
//! Cost: one load per lookup; one byte of memory per inserted hash, rounded up to a power of two,
//! so that the filter of a whole vocabulary stays in the caches of the processor.

use crate::base::num::low_usize;

/// Bits per inserted hash, at least.
const BITS_PER_HASH: usize = 8;

/// A set of hashes with false positives, but without false negatives.
#[derive(Debug)]
pub(super) struct BloomFilter {
    /// A power of two of words.
    words: Vec<u64>,
    /// A hash shifted right by this is the number of its bit.
    shift: u32,
}

impl BloomFilter {
    /// An empty filter with room for `count` hashes.
    pub(super) fn with_capacity(count: usize) -> Self {
        let bits = (count * BITS_PER_HASH).next_power_of_two().max(64);
        Self {
            words: vec![0; bits / 64],
            shift: 64 - bits.trailing_zeros(),
        }
    }

    /// A filter of these hashes.
    pub(super) fn of(hashes: &[u64]) -> Self {
        let mut filter = Self::with_capacity(hashes.len());
        hashes.iter().for_each(|hash| filter.insert(*hash));
        filter
    }

    pub(super) fn insert(&mut self, hash: u64) {
        let bit = hash >> self.shift;
        self.words[low_usize(bit / 64)] |= 1 << (bit % 64);
    }

    /// False only if `hash` was never inserted.
    #[inline]
    pub(super) fn may_contain(&self, hash: u64) -> bool {
        let bit = hash >> self.shift;
        self.words[low_usize(bit / 64)] >> (bit % 64) & 1 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::BloomFilter;
    use crate::base::num::mix64;

    #[test]
    fn inserted_hashes_are_found_and_most_others_are_not() {
        for count in [0, 1, 9, 1000] {
            let mut filter = BloomFilter::with_capacity(count);
            (0..count as u64).for_each(|number| filter.insert(mix64(number)));
            assert!((0..count as u64).all(|number| filter.may_contain(mix64(number))));
            let false_positives = (1 << 40..(1 << 40) + 1000)
                .filter(|number| filter.may_contain(mix64(*number)))
                .count();
            assert!(
                false_positives < 200,
                "{false_positives} of 1000 with {count}"
            );
        }
    }
}
