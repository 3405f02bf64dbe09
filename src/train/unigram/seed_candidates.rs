//! Candidates for seeds, and the merging of the candidates of several chunks.
//!
//! The counts of equal candidates are added.
//!
//! Example: the first chunk has `ab` 5 times and `b▁` 3 times, the second one `ab` 2 times and
//! `abc` 4 times. The result is `ab` 7, `b▁` 3, `abc` 4.
//!
//! A candidate takes about 50 bytes and its text.

use std::cmp::Ordering;
use std::hash::BuildHasher;

use foldhash::fast::SeedableRandomState;
use hashbrown::hash_table::{Entry, HashTable};

use super::math::descending;
use super::seed_rules::{LengthWeights, SeedRules};
use crate::base::num::count_to_f32;

/// A substring that is a node of the suffix tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct SeedCandidate {
    /// Where the substring is, in the bytes of the entries or of the merged candidates.
    pub(super) start: usize,
    pub(super) length: u32,
    pub(super) characters: u16,
    pub(super) count: u64,
}

impl SeedCandidate {
    pub(super) fn text(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start..self.start + self.length as usize]
    }

    /// The score, a product of 32-bit floats.
    pub(super) fn score(self, weights: &LengthWeights) -> f32 {
        count_to_f32(self.count) * weights.of(self.characters)
    }
}

/// The order of candidates: score descending, length in bytes descending, bytes ascending.
#[derive(Clone, Copy)]
pub(super) struct CandidateOrder<'o> {
    /// The bytes that the candidates are parts of.
    pub(super) bytes: &'o [u8],
    pub(super) weights: &'o LengthWeights,
}

impl CandidateOrder<'_> {
    pub(super) fn compare(self, a: SeedCandidate, b: SeedCandidate) -> Ordering {
        descending(a.score(self.weights), b.score(self.weights))
            .then_with(|| b.length.cmp(&a.length))
            .then_with(|| a.text(self.bytes).cmp(b.text(self.bytes)))
    }

    /// Keeps the `limit` first candidates, in no particular order.
    pub(super) fn keep_best(self, candidates: &mut Vec<SeedCandidate>, limit: usize) {
        if candidates.len() > limit {
            candidates.select_nth_unstable_by(limit, |a, b| self.compare(*a, *b));
            candidates.truncate(limit);
        }
    }
}

/// The candidates of several chunks; counts of equal substrings are added.
#[derive(Default)]
pub(super) struct MergedCandidates {
    /// The texts of the candidates.
    pub(super) bytes: Vec<u8>,
    pub(super) candidates: Vec<SeedCandidate>,
    /// Indices of candidates by their texts: a table that owns its texts would need an allocation
    /// for each.
    index: HashTable<usize>,
    hasher: SeedableRandomState,
}

impl MergedCandidates {
    /// Adds the candidates of a chunk. `bytes` has their texts.
    pub(super) fn add(&mut self, bytes: &[u8], found: &[SeedCandidate]) {
        for candidate in found {
            let text = candidate.text(bytes);
            let known = &self.candidates;
            let entry = self.index.entry(
                self.hasher.hash_one(text),
                |at| known[*at].text(&self.bytes) == text,
                |at| self.hasher.hash_one(known[*at].text(&self.bytes)),
            );
            match entry {
                Entry::Occupied(at) => self.candidates[*at.get()].count += candidate.count,
                Entry::Vacant(vacant) => {
                    vacant.insert(known.len());
                    let start = self.bytes.len();
                    self.bytes.extend_from_slice(text);
                    self.candidates.push(SeedCandidate {
                        start,
                        ..*candidate
                    });
                }
            }
        }
    }

    /// With more than 16 times `limit` candidates, keeps the best 8 times `limit`, as the reference
    /// does.
    pub(super) fn limit(&mut self, rules: &SeedRules) {
        let kept = rules.limit.saturating_mul(8);
        if self.candidates.len() <= kept.saturating_mul(2) {
            return;
        }
        let order = CandidateOrder {
            bytes: &self.bytes,
            weights: &rules.weights,
        };
        order.keep_best(&mut self.candidates, kept);
        let old = std::mem::take(self);
        self.add(&old.bytes, &old.candidates);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::options::TrainOptions;
    use crate::train::unigram::testing::seed_rules;

    #[test]
    fn counts_of_several_chunks_are_added_and_the_worst_candidates_dropped() {
        let candidate = |text: &[u8], count| SeedCandidate {
            start: 0,
            length: u32::try_from(text.len()).unwrap(),
            characters: u16::try_from(text.len()).unwrap(),
            count,
        };
        let mut merged = MergedCandidates::default();
        merged.add(b"ab", &[candidate(b"ab", 5)]);
        merged.add(b"abc", &[candidate(b"ab", 2), candidate(b"abc", 1)]);
        let counts: Vec<u64> = merged.candidates.iter().map(|found| found.count).collect();
        assert_eq!(counts, [7, 1]);
        for letter in b'a'..=b'o' {
            let text = [letter, b'!'];
            merged.add(&text, &[candidate(&text, letter.into())]);
        }
        // 17 candidates are more than 16 times one: 8 remain.
        let one = seed_rules(&TrainOptions::default(), 1);
        merged.limit(&one);
        assert_eq!(merged.candidates.len(), 8);
        assert_eq!(merged.index.len(), 8);
        let lowest = merged.candidates.iter().map(|found| found.count).min();
        assert_eq!(lowest, Some(u64::from(b'h')));
        merged.limit(&one);
        assert_eq!(merged.candidates.len(), 8);
    }
}
