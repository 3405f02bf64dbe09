//! Candidates for seeds, and the sum of those of several chunks.
//!
//! Input: the candidates of each chunk, in the order of their first two bytes ("pairs"). Output: the candidates of all chunks,
//! with the counts of equal ones added.
//!
//! Method: the candidates of a chunk are distinct. So only those of different chunks are compared: for each pair, the new
//! candidates are put into a hash table, and the known candidates of the same pair are looked up in it. The pairs are
//! independent of each other and divided among the threads. A chunk with few candidates, as a line with a large count is, is looked up
//! in an index of all candidates instead.
//!
//! Example: the first chunk has `ab` 5 times and `b▁` 3 times. The second chunk has `ab` 2 times and `abc` 4 times: they are the table of
//! the pair `ab`, in which the known `ab` is found. The result is `ab` 7, `b▁` 3, and, as a run of its own, `abc` 4.
//!
//! Cost: a lookup for each known candidate in each large chunk, and for each new one in a small chunk. Memory: 32 bytes for a candidate and its text.

use std::cmp::Ordering;
use std::hash::BuildHasher;
use std::sync::{Mutex, PoisonError};

use foldhash::fast::SeedableRandomState;
use hashbrown::hash_table::HashTable;

use super::seed_rules::{LengthWeights, SeedRules};
use super::suffixes::{PAIRS, pair, split_at_ends};
use crate::text::num::count_to_f32;
use crate::train::parallel::run_tasks;

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

    /// The first two bytes; see [`pair`].
    fn pair(self, bytes: &[u8]) -> usize {
        pair(self.text(bytes))
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
        let score_a = a.score(self.weights);
        let score_b = b.score(self.weights);
        let by_score = score_b.partial_cmp(&score_a).unwrap_or(Ordering::Equal);
        by_score
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

/// A chunk with at least this share of the number of known candidates is added pair by pair.
const LARGE_SHARE: usize = 4;

/// The candidates of several chunks.
#[derive(Default)]
pub(super) struct MergedCandidates {
    /// The texts of the candidates.
    bytes: Vec<u8>,
    candidates: Vec<SeedCandidate>,
    /// The ends of runs of candidates, of which each is in the order of the pairs. Candidates of small chunks follow the last run.
    run_ends: Vec<usize>,
    /// While small chunks are added: the indices of all candidates, by their texts.
    index: HashTable<usize>,
    hasher: SeedableRandomState,
}

impl MergedCandidates {
    /// Adds the candidates of a chunk, which are distinct and in the order of their pairs. `bytes` has their texts. Runs on the
    /// current pool.
    pub(super) fn add(&mut self, bytes: &[u8], mut found: Vec<SeedCandidate>) {
        if found.len() < self.candidates.len() / LARGE_SHARE {
            self.add_small(bytes, &found);
            return;
        }
        if !self.candidates.is_empty() {
            self.index = HashTable::new();
            self.end_run();
            self.move_counts(bytes, &mut found);
            found.retain(|candidate| candidate.count > 0);
        }
        self.append_run(bytes, &found);
    }

    /// Adds the candidates of a chunk to an index of all candidates. So many small chunks, which a corpus with counts can have,
    /// take a time that is linear in their candidates.
    fn add_small(&mut self, bytes: &[u8], found: &[SeedCandidate]) {
        if self.index.is_empty() {
            self.index = HashTable::with_capacity(self.candidates.len());
            for at in 0..self.candidates.len() {
                self.insert_index(at);
            }
        }
        for candidate in found {
            let text = candidate.text(bytes);
            let known = &self.candidates;
            let is_equal = |at: &usize| known[*at].text(&self.bytes) == text;
            if let Some(at) = self.index.find(self.hasher.hash_one(text), is_equal) {
                self.candidates[*at].count += candidate.count;
            } else {
                self.append(bytes, candidate);
                self.insert_index(self.candidates.len() - 1);
            }
        }
    }

    /// Adds a candidate to the index.
    fn insert_index(&mut self, at: usize) {
        let hash = |at: &usize| {
            let text = self.candidates[*at].text(&self.bytes);
            self.hasher.hash_one(text)
        };
        self.index.insert_unique(hash(&at), at, hash);
    }

    /// Makes a run of the candidates after the last run.
    fn end_run(&mut self) {
        let start = self.run_ends.last().copied().unwrap_or(0);
        if start < self.candidates.len() {
            let bytes = &self.bytes;
            self.candidates[start..].sort_unstable_by_key(|candidate| candidate.pair(bytes));
            self.run_ends.push(self.candidates.len());
        }
    }

    /// The texts, and the candidates, in no particular order.
    pub(super) fn into_parts(self) -> (Vec<u8>, Vec<SeedCandidate>) {
        (self.bytes, self.candidates)
    }

    /// Adds the counts of new candidates to those of equal known ones, and leaves no count to the new ones.
    fn move_counts(&mut self, bytes: &[u8], found: &mut [SeedCandidate]) {
        let hasher = SeedableRandomState::default();
        let known_bytes = &self.bytes[..];
        // By pair: the index of its candidates.
        let mut indices: Vec<Option<usize>> = vec![None; PAIRS];
        let mut pairs: Vec<PairCandidates> = Vec::new();
        for found in pairs_mut(found, bytes) {
            indices[found[0].pair(bytes)] = Some(pairs.len());
            pairs.push(PairCandidates {
                found,
                known: Vec::new(),
            });
        }
        for run in split_at_ends(&mut self.candidates, &self.run_ends) {
            for known in pairs_mut(run, known_bytes) {
                if let Some(index) = indices[known[0].pair(known_bytes)] {
                    pairs[index].known.push(known);
                }
            }
        }
        let pairs: Vec<Mutex<PairCandidates>> = pairs.into_iter().map(Mutex::new).collect();
        run_tasks(pairs.len(), &|task| {
            // Each pair has one task.
            let mut pair = pairs[task].lock().unwrap_or_else(PoisonError::into_inner);
            pair.move_counts(bytes, known_bytes, &hasher);
        });
    }

    /// With more than 16 times `limit` candidates, keeps the best 8 times `limit`, as the reference does.
    pub(super) fn limit(&mut self, rules: &SeedRules) {
        let kept = rules.limit.saturating_mul(8);
        if self.candidates.len() <= kept.saturating_mul(2) {
            return;
        }
        let MergedCandidates {
            bytes,
            mut candidates,
            ..
        } = std::mem::take(self);
        let order = CandidateOrder {
            bytes: &bytes,
            weights: &rules.weights,
        };
        order.keep_best(&mut candidates, kept);
        for candidate in &candidates {
            self.append(&bytes, candidate);
        }
        self.end_run();
    }

    /// Appends candidates that are in the order of their pairs. `bytes` has their texts.
    fn append_run(&mut self, bytes: &[u8], candidates: &[SeedCandidate]) {
        self.candidates.reserve_exact(candidates.len());
        for candidate in candidates {
            self.append(bytes, candidate);
        }
        self.run_ends.push(self.candidates.len());
    }

    fn append(&mut self, bytes: &[u8], candidate: &SeedCandidate) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(candidate.text(bytes));
        self.candidates.push(SeedCandidate {
            start,
            ..*candidate
        });
    }
}

/// The parts of `candidates` that have the same pair. `bytes` has the texts.
fn pairs_mut<'c>(
    candidates: &'c mut [SeedCandidate],
    bytes: &[u8],
) -> impl Iterator<Item = &'c mut [SeedCandidate]> {
    candidates.chunk_by_mut(move |a, b| a.pair(bytes) == b.pair(bytes))
}

/// The candidates of a pair.
struct PairCandidates<'c> {
    /// Those of the chunk that is added.
    found: &'c mut [SeedCandidate],
    /// Those of the runs.
    known: Vec<&'c mut [SeedCandidate]>,
}

impl PairCandidates<'_> {
    /// Moves the counts of new candidates to equal known ones.
    fn move_counts(&mut self, bytes: &[u8], known_bytes: &[u8], hasher: &SeedableRandomState) {
        if self.known.is_empty() {
            return;
        }
        let found = &mut *self.found;
        let hash = |text: &[u8]| hasher.hash_one(text);
        let mut table: HashTable<usize> = HashTable::with_capacity(found.len());
        for (index, candidate) in found.iter().enumerate() {
            let hash_at = |index: &usize| hash(found[*index].text(bytes));
            table.insert_unique(hash(candidate.text(bytes)), index, hash_at);
        }
        for known in self.known.iter_mut().flat_map(|known| known.iter_mut()) {
            let text = known.text(known_bytes);
            let is_equal = |index: &usize| found[*index].text(bytes) == text;
            if let Some(index) = table.find(hash(text), is_equal) {
                known.count += std::mem::take(&mut found[*index].count);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::options::TrainOptions;
    use crate::train::unigram::testing::seed_rules;

    /// The candidates in the order of their pairs, with the bytes of their texts.
    fn chunk(counted: &[(&str, u64)]) -> (Vec<u8>, Vec<SeedCandidate>) {
        let mut bytes = Vec::new();
        let mut candidates = Vec::new();
        for (text, count) in counted {
            candidates.push(SeedCandidate {
                start: bytes.len(),
                length: u32::try_from(text.len()).unwrap(),
                characters: u16::try_from(text.chars().count()).unwrap(),
                count: *count,
            });
            bytes.extend_from_slice(text.as_bytes());
        }
        (bytes, candidates)
    }

    fn listed(merged: &MergedCandidates) -> Vec<(String, u64)> {
        let candidates = merged.candidates.iter();
        let listed = candidates.map(|found| {
            let text = String::from_utf8(found.text(&merged.bytes).to_vec()).unwrap();
            (text, found.count)
        });
        let mut listed: Vec<_> = listed.collect();
        listed.sort();
        listed
    }

    fn merged(chunks: &[&[(&str, u64)]]) -> MergedCandidates {
        let mut merged = MergedCandidates::default();
        for counted in chunks {
            let (bytes, candidates) = chunk(counted);
            merged.add(&bytes, candidates);
        }
        merged
    }

    #[test]
    fn counts_of_several_chunks_are_added() {
        let merged = merged(&[
            &[("ab", 5), ("b▁", 3)],
            &[("aa", 1), ("abc", 4), ("ab", 2)],
            &[],
            &[("ab", 10), ("abc", 1), ("b▁", 1), ("éé", 8)],
        ]);
        let expected = [("aa", 1), ("ab", 17), ("abc", 5), ("b▁", 4), ("éé", 8)];
        let expected = expected.map(|(text, count)| (text.to_owned(), count));
        assert_eq!(listed(&merged), expected);
    }

    /// 17 candidates are more than 16 times one: 8 remain.
    /// Chunks of one candidate are small beside nine and more.
    #[test]
    fn counts_of_small_and_large_chunks_are_added() {
        let texts: Vec<String> = ('a'..='i').map(|letter| format!("{letter}!")).collect();
        let large: Vec<(&str, u64)> = texts.iter().map(String::as_str).zip(1..).collect();
        let merged = merged(&[
            &large,
            &[("i!", 100)],
            &[("aa", 5)],
            &[("aa", 6)],
            &large,
            &[("aa", 7)],
            &[("zz", 1)],
        ]);
        let mut expected: Vec<(String, u64)> = texts.into_iter().zip((2..).step_by(2)).collect();
        expected[8].1 += 100;
        expected.push(("aa".to_owned(), 18));
        expected.push(("zz".to_owned(), 1));
        expected.sort();
        assert_eq!(listed(&merged), expected);
    }

    #[test]
    fn the_worst_of_too_many_candidates_are_dropped() {
        let mut rules = seed_rules(&TrainOptions::default(), 1);
        let texts: Vec<String> = ('a'..='q').map(|letter| format!("{letter}!")).collect();
        let counted: Vec<(&str, u64)> = texts.iter().map(String::as_str).zip(1..).collect();
        let mut merged = merged(&[&counted[..9], &counted[9..]]);
        merged.limit(&rules);
        let expected: Vec<(String, u64)> = texts.iter().cloned().zip(1..).skip(9).collect();
        assert_eq!(listed(&merged), expected);
        merged.limit(&rules);
        assert_eq!(listed(&merged), expected);
        // Candidates that were dropped are found again as new ones.
        let (bytes, candidates) = chunk(&[("a!", 100), ("q!", 3)]);
        merged.add(&bytes, candidates);
        let again = listed(&merged);
        assert_eq!(again.first(), Some(&("a!".to_owned(), 100)));
        assert_eq!(again.last(), Some(&("q!".to_owned(), 20)));
        rules.limit = 2;
        merged.limit(&rules);
        assert_eq!(listed(&merged), again);
    }
}
