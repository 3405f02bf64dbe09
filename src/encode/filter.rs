//! A set of hashes, of which a look may say yes where it is no.
//!
//! Each hash has one bit, found by its upper bits; several may share it. (Bloom, "Space/time trade-offs in hash coding
//! with allowable errors", 1970, <https://doi.org/10.1145/362686.362692>, with a single hash function.) One load
//! answers, and the filter of a whole vocabulary stays in the processor's caches.

use crate::text::num::low_usize;

/// Bits for each hash, at least.
const BITS_EACH: usize = 8;

/// A set of hashes whose upper bits are random.
#[derive(Debug)]
pub(super) struct BloomFilter {
    /// A power of two of them.
    words: Vec<u64>,
    /// What is left of a hash behind this many bits is the number of its bit.
    shift: u32,
}

impl BloomFilter {
    /// Without hashes, but with room for `count`.
    pub(super) fn with_room(count: usize) -> BloomFilter {
        let bits = (count * BITS_EACH).next_power_of_two().max(64);
        BloomFilter {
            words: vec![0; bits / 64],
            shift: 64 - bits.trailing_zeros(),
        }
    }

    pub(super) fn insert(&mut self, hash: u64) {
        let bit = hash >> self.shift;
        self.words[low_usize(bit / 64)] |= 1 << (bit % 64);
    }

    /// No if the hash was never inserted; yes if it was, and seldom if not.
    #[inline]
    pub(super) fn may_have(&self, hash: u64) -> bool {
        let bit = hash >> self.shift;
        self.words[low_usize(bit / 64)] >> (bit % 64) & 1 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::BloomFilter;
    use crate::text::num::mix64;

    #[test]
    fn what_was_inserted_is_there_and_most_else_is_not() {
        for count in [0, 1, 9, 1000] {
            let mut filter = BloomFilter::with_room(count);
            (0..count as u64).for_each(|word| filter.insert(mix64(word)));
            assert!((0..count as u64).all(|word| filter.may_have(mix64(word))));
            let others = (1 << 40..(1 << 40) + 1000)
                .filter(|word| filter.may_have(mix64(*word)))
                .count();
            assert!(others < 200, "{others} of 1000 with {count}");
        }
    }
}
