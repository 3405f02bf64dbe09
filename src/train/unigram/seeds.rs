//! The candidates that training starts with ("seeds"): characters and frequent substrings.
//!
//! The seeds are the characters by count, then the substrings with the highest score, by default
//! count times length, that may be pieces; with probabilities proportional to these scores.
//! [`seed_rules`](super::seed_rules) has the other scores, and the smallest counts.
//!
//! Which substrings. The reference builds a suffix array over the bytes of the corpus, in which a
//! NUL follows every sentence. Its candidates are the internal nodes of the suffix tree: the
//! substrings that are followed by at least two different bytes, a NUL or the end of the corpus
//! included. No candidate contains a whitespace boundary or a NUL, so it suffices to know of every
//! word which byte follows it, and equal words followed by equal bytes need to be examined only
//! once. A node that ends with a NUL counts for the substring before the NUL, in addition to that
//! substring's own node.
//!
//! Example: the corpus is the sentences `▁ab▁ab` and `▁abc`. The entries are `▁ab` followed by
//! U+2581 (byte E2), `▁ab` followed by NUL and the next sentence, and `▁abc` followed by NUL and
//! the end. The substring `ab` occurs three times and is followed by E2, NUL and `c`: a node with
//! the count 3. The substring `bc` occurs once, so it is no node. `a` and `b` are single
//! characters.
//!
//! All suffixes of all entries that begin at a character are sorted, in [groups](super::suffixes)
//! of equal first bytes that fit into memory; a [walk](super::seed_nodes) over neighbours finds the
//! nodes of the suffix tree.
//!
//! The reference divides the corpus into chunks of 500 MiB, adds the counts that a substring has as
//! a node in each chunk, and drops the worst candidates when there are too many. A sentence that
//! repeats beyond the end of a chunk loses the remaining repetitions. See
//! [`sentences`](super::sentences) for the chunks.
//!
//! Memory: 16 bytes for each suffix of the groups in work.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::entries::Entries;
use super::pieces::{ScoredSeed, Seeds, log_probabilities, numbered};
use super::seed_candidates::{CandidateOrder, MergedCandidates, SeedCandidate};
use super::seed_nodes::NodeWalk;
use super::seed_rules::{MinCounts, SeedRules};
use super::suffix::Suffix;
use super::suffixes::{SuffixGroup, SuffixGroups, all_suffixes, sort_part};
use crate::base::num::count_to_f32;
use crate::train::TrainError;
use crate::train::parallel::map_tasks;

/// Seeds with their initial scores.
pub(super) struct ScoredSeeds {
    pub(super) seeds: Seeds,
    pub(super) pieces: Vec<ScoredSeed>,
}

impl ScoredSeeds {
    /// Seeds with probabilities proportional to these scores.
    pub(super) fn new(seeds: Seeds, scores: impl IntoIterator<Item = f32>) -> Self {
        let pieces = log_probabilities(numbered(scores));
        Self { seeds, pieces }
    }
}

/// The seeds: `characters` in the given order, then substrings of the entries of all chunks.
///
/// # Errors
/// An error of `chunks`, or of the smallest count that the rules give for a chunk.
pub(super) fn choose(
    characters: &[(char, u64)],
    chunks: impl ExactSizeIterator<Item = Result<Entries, TrainError>>,
    rules: &SeedRules,
) -> Result<ScoredSeeds, TrainError> {
    let is_only = chunks.len() == 1;
    let mut merged = MergedCandidates::default();
    for entries in chunks {
        let entries = entries?;
        let min_counts = rules.counts.min_counts(entries.chunk_bytes())?;
        let search = CandidateSearch {
            entries: &entries,
            rules,
            min_counts,
        };
        let found = search.run();
        if is_only {
            return Ok(seeds_of(characters, entries.bytes(), found, rules));
        }
        merged.add(entries.bytes(), &found);
        merged.limit(rules);
    }
    let MergedCandidates {
        bytes, candidates, ..
    } = merged;
    Ok(seeds_of(characters, &bytes, candidates, rules))
}

/// The characters and the best candidates.
fn seeds_of(
    characters: &[(char, u64)],
    bytes: &[u8],
    mut candidates: Vec<SeedCandidate>,
    rules: &SeedRules,
) -> ScoredSeeds {
    let weights = &rules.weights;
    let order = CandidateOrder { bytes, weights };
    order.keep_best(&mut candidates, rules.limit);
    candidates.par_sort_unstable_by(|a, b| order.compare(*a, *b));
    let mut seeds = Seeds::default();
    let mut scores = Vec::new();
    for (c, count) in characters {
        seeds.push(c.encode_utf8(&mut [0; 4]).as_bytes(), 1);
        scores.push(count_to_f32(*count));
    }
    for candidate in candidates {
        seeds.push(candidate.text(bytes), candidate.characters);
        scores.push(candidate.score(weights));
    }
    ScoredSeeds::new(seeds, scores)
}

/// The number of suffixes in a list, which one thread searches. Lists are short, so that all
/// threads finish at about the same time.
const LISTED_SUFFIXES: usize = 1 << 14;

/// Chunks up to this size are not divided by first bytes: a corpus of lines with large counts has a
/// chunk for each line.
const SMALL_CHUNK_BYTES: usize = if cfg!(test) { 20 } else { 1 << 12 };

/// The search for the candidates of a chunk.
struct CandidateSearch<'s> {
    entries: &'s Entries,
    rules: &'s SeedRules,
    min_counts: MinCounts,
}

impl CandidateSearch<'_> {
    /// All candidates, in no particular order.
    fn run(&self) -> Vec<SeedCandidate> {
        if self.entries.bytes().len() <= SMALL_CHUNK_BYTES {
            let mut suffixes = all_suffixes(self.entries);
            return self.in_parts([&mut suffixes[..]]);
        }
        let mut candidates = Vec::new();
        for list in self.in_groups().into_iter().flatten() {
            candidates.extend_from_slice(&list);
        }
        candidates
    }

    /// The candidates of each list of each group of suffixes.
    fn in_groups(&self) -> Vec<Vec<Vec<SeedCandidate>>> {
        let groups = SuffixGroups::new(self.entries);
        let numbers = groups.largest_first();
        map_tasks(numbers.len(), |task| {
            self.in_group(groups.group(numbers[task]))
        })
    }

    /// The candidates of each list of a group.
    fn in_group(&self, mut group: SuffixGroup) -> Vec<Vec<SeedCandidate>> {
        let lists = group.parts(LISTED_SUFFIXES).into_iter();
        let lists: Vec<Mutex<Vec<&mut [Suffix]>>> = lists.map(Mutex::new).collect();
        map_tasks(lists.len(), |list| {
            // Each list has one task.
            let mut parts = lists[list].lock().unwrap_or_else(PoisonError::into_inner);
            self.in_parts(parts.iter_mut().map(|part| &mut **part))
        })
    }

    /// The candidates of parts, which follow each other and are not sorted yet.
    fn in_parts<'p>(
        &self,
        parts: impl IntoIterator<Item = &'p mut [Suffix]>,
    ) -> Vec<SeedCandidate> {
        let mut walk = NodeWalk::new(self.entries, self.rules, self.min_counts);
        for part in parts {
            sort_part(self.entries, part, self.rules.max_length);
            walk.visit(part);
        }
        walk.into_candidates()
    }
}

#[cfg(test)]
mod tests;
