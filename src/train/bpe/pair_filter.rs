//! A filter that leaves out most of the rare pairs before pairs are counted.
//!
//! Every pair has one of half a million buckets, by its hash. The sum of the counts in a bucket is
//! at least the count of each of its pairs, so pairs whose bucket has less than `min_count` need not
//! be counted in a map, which takes several times as long and has an entry for each pair. Most
//! pairs are rare, so few others are let through. For example, with a `min_count` of 114:
//!
//! ```text
//! bucket 0   th + e 98,000                  98,000   counted
//! bucket 1   q + z 3, ou + x 12                 15   left out
//! bucket 2   w + mp 60, fr + ea 70             130   counted, and then left out
//! ```

use std::ops::Range;

use rayon::prelude::*;

use crate::base::num::masked_index;
use crate::train::bpe::pair_map::key;
use crate::train::bpe::symbols::{Symbol, SymbolArena};
use crate::train::bpe::word_buffer::WordBuffer;

/// A power of two.
const BUCKETS: usize = 1 << 19;

/// The bucket of a pair.
#[inline]
pub(super) fn bucket(left: Symbol, right: Symbol) -> usize {
    // Fibonacci hashing. The middle bits depend on both symbols.
    let hash = key(left, right).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    masked_index(hash >> 40, BUCKETS - 1)
}

/// The sums of counts in all buckets, to be compared with a `min_count`.
///
/// They are in units of 1, or more for large counts, so that 16 bits suffice and a table stays in
/// the processor's cache. Each count is rounded up, and a sum saturates.
struct BucketSums {
    units: Vec<u16>,
    unit: u64,
    min_count: u64,
}

impl BucketSums {
    fn new(min_count: u64) -> Self {
        Self {
            units: vec![0; BUCKETS],
            unit: min_count / u64::from(u16::MAX) + 1,
            min_count,
        }
    }

    /// Those of all pairs in a part of the words.
    fn of(
        (words, symbols): (&WordBuffer, &SymbolArena),
        slots: Range<usize>,
        min_count: u64,
    ) -> Self {
        let mut sums = Self::new(min_count);
        words.for_each_pair(symbols, slots, |_, count, left, right| {
            sums.add_pair(left, right, count);
        });
        sums
    }

    #[inline]
    fn add_pair(&mut self, left: Symbol, right: Symbol, count: u64) {
        let units = self.units_of(count);
        let sum = &mut self.units[bucket(left, right)];
        *sum = sum.saturating_add(units);
    }

    /// A count in units.
    #[inline]
    fn units_of(&self, count: u64) -> u16 {
        u16::try_from(count.div_ceil(self.unit)).unwrap_or(u16::MAX)
    }

    /// The sums of two parts.
    fn add(mut self, other: &Self) -> Self {
        for (sum, other) in self.units.iter_mut().zip(&other.units) {
            *sum = sum.saturating_add(*other);
        }
        self
    }
}

/// A set of buckets.
pub(super) struct PairFilter {
    /// A bit for each bucket: few enough to stay in the processor's cache.
    buckets: Vec<u64>,
}

impl PairFilter {
    /// The buckets in which a pair may occur `min_count` times. The parts of the words are counted
    /// on the threads of the current pool, each in a table of 1 MiB.
    pub(super) fn of_words(
        (words, symbols): (&WordBuffer, &SymbolArena),
        parts: &[Range<usize>],
        min_count: u64,
    ) -> Self {
        let parts = parts.par_iter().cloned();
        let sums = parts.map(|slots| BucketSums::of((words, symbols), slots, min_count));
        let sums = sums.reduce_with(|sums, other| sums.add(&other));
        Self::of_sums(&sums.unwrap_or_else(|| BucketSums::new(min_count)))
    }

    fn of_sums(sums: &BucketSums) -> Self {
        let min_units = sums.units_of(sums.min_count);
        let bits = |units: &[u16]| {
            let bits = units.iter().map(|units| u64::from(*units >= min_units));
            bits.rev().fold(0, |bits, bit| bits << 1 | bit)
        };
        Self {
            buckets: sums.units.chunks(64).map(bits).collect(),
        }
    }

    /// The buckets of these pairs.
    pub(super) fn of_pairs(pairs: impl Iterator<Item = (Symbol, Symbol)>) -> Self {
        let mut buckets = vec![0; BUCKETS / 64];
        for (left, right) in pairs {
            let bucket = bucket(left, right);
            buckets[bucket / 64] |= 1 << (bucket % 64);
        }
        Self { buckets }
    }

    /// Whether the bucket of a pair is in the set.
    #[inline]
    pub(super) fn may_contain(&self, left: Symbol, right: Symbol) -> bool {
        let bucket = bucket(left, right);
        self.buckets[bucket / 64] >> (bucket % 64) & 1 == 1
    }

    /// About how many of so many pairs are in the buckets of the set.
    pub(super) fn share_of(&self, pairs: u64) -> u64 {
        let set: u64 = self.buckets.iter().map(|b| u64::from(b.count_ones())).sum();
        pairs.saturating_mul(set) / BUCKETS as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREQUENT: (Symbol, Symbol) = (Symbol(1), Symbol(2));
    const RARE: (Symbol, Symbol) = (Symbol(2), Symbol(3));

    fn filter(parts: &[&[((Symbol, Symbol), u64)]], min_count: u64) -> PairFilter {
        let parts = parts.iter().map(|part| {
            let mut sums = BucketSums::new(min_count);
            for &((left, right), count) in *part {
                sums.add_pair(left, right, count);
            }
            sums
        });
        PairFilter::of_sums(&parts.reduce(|sums, other| sums.add(&other)).unwrap())
    }

    #[test]
    fn pairs_that_occur_min_count_times_are_let_through() {
        let limit = u64::from(u16::MAX);
        for min_count in [2, 3, limit - 1, limit, limit + 1, 1 << 40, u64::MAX] {
            let whole = [(FREQUENT, min_count), (RARE, 1)];
            let half = [(FREQUENT, min_count.div_ceil(2))];
            for filter in [
                filter(&[&whole], min_count),
                filter(&[&half, &half], min_count),
                filter(&[&[(FREQUENT, u64::MAX); 2]], min_count),
            ] {
                assert!(filter.may_contain(FREQUENT.0, FREQUENT.1), "{min_count}");
                assert!(!filter.may_contain(RARE.0, RARE.1), "{min_count}");
            }
        }
    }

    #[test]
    fn counts_just_below_min_count_are_let_through_only_by_rounding() {
        let contains = |min_count| {
            let filter = filter(&[&[(FREQUENT, min_count - 1)]], min_count);
            filter.may_contain(FREQUENT.0, FREQUENT.1)
        };
        assert!(!contains(10_000));
        assert!(contains(1 << 40));
    }

    #[test]
    fn a_filter_of_pairs_contains_them_and_few_others() {
        let pairs = || (0..1000).map(|at| (Symbol(at % 300), Symbol(at * 7)));
        let filter = PairFilter::of_pairs(pairs());
        for (left, right) in pairs() {
            assert!(filter.may_contain(left, right), "{left:?} {right:?}");
        }
        assert!(filter.share_of(BUCKETS as u64) <= 1000);
        let others = (0..100_000).map(|at| (Symbol(at), Symbol(7001 + at % 10)));
        let found = others.filter(|(left, right)| filter.may_contain(*left, *right));
        assert!(found.count() < 400);
    }
}
