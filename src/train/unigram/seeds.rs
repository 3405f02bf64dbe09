//! The candidates that training starts with ("seeds"): characters and frequent substrings.
//!
//! Input: the distinct texts of the corpus with their counts. Output: the characters by count, then the substrings with
//! the highest score, by default count times length, that may be pieces; with probabilities proportional to these scores.
//! [`seed_rules`](super::seed_rules) has the other scores, and the smallest counts.
//!
//! Which substrings. The reference builds a suffix array over the bytes of the corpus, in which a NUL follows every
//! sentence. Its candidates are the internal nodes of the suffix tree: the substrings that are followed by at least two
//! different bytes, a NUL or the end of the corpus included. No candidate contains a whitespace boundary or a NUL, so it
//! suffices to know of every word which byte follows it, and equal words followed by equal bytes need to be examined only
//! once. A node that ends with a NUL counts for the substring before the NUL, in addition to that substring's own node.
//!
//! Example: the corpus is the sentences `▁ab▁ab` and `▁abc`. The entries are `▁ab` followed by U+2581 (byte E2), `▁ab`
//! followed by NUL and the next sentence, and `▁abc` followed by NUL and the end. The substring `ab` occurs three times
//! and is followed by E2, NUL and `c`: a node with the count 3. The substring `bc` occurs once, so it is no node. `a` and
//! `b` are single characters.
//!
//! Method: all suffixes of all entries that begin at a character are sorted, in groups of equal first bytes that fit into
//! memory; a walk with a stack over the common prefixes of neighbours, which the sort leaves, finds the nodes of the suffix tree (Abouelhoda,
//! Kurtz and Ohlebusch, "Replacing suffix trees with enhanced suffix arrays", 2004, doi:10.1016/S1570-8667(03)00065-0).
//!
//! The reference divides the corpus into chunks of 500 MiB, adds the counts that a substring has as a node of each, and
//! forgets the worst candidates when there are too many. A sentence that repeats beyond the end of a chunk loses the
//! remaining repetitions. See [`sentences`](super::sentences) for the chunks.
//!
//! Cost: sorting the suffixes of the distinct texts, each compared up to the longest piece; 16 bytes for each suffix of
//! the groups in work.

use std::cmp::Ordering;
use std::hash::BuildHasher;

use foldhash::fast::SeedableRandomState;
use hashbrown::hash_table::{Entry, HashTable};
use rayon::prelude::*;

use super::entries::{Entries, Suffix, SuffixGroups};
use super::pieces::{ScoredSeed, Seeds, log_probabilities, numbered};
use super::seed_rules::{LengthWeights, MinCounts, SeedRules};
use crate::error::TrainError;
use crate::text::num::count_to_f32;

/// A substring that is a node of the suffix tree.
#[derive(Debug, Clone, Copy)]
struct SeedCandidate {
    /// Where the substring is, in the bytes of the entries or of the merged candidates.
    start: usize,
    length: u32,
    characters: u16,
    count: u64,
}

impl SeedCandidate {
    fn text(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start..self.start + self.length as usize]
    }

    /// The score, a product of 32-bit floats.
    fn score(self, weights: &LengthWeights) -> f32 {
        count_to_f32(self.count) * weights.of(self.characters)
    }
}

/// The order of candidates: score descending, length in bytes descending, bytes ascending.
#[derive(Clone, Copy)]
struct CandidateOrder<'o> {
    /// The bytes that the candidates are parts of.
    bytes: &'o [u8],
    weights: &'o LengthWeights,
}

impl CandidateOrder<'_> {
    fn compare(self, a: SeedCandidate, b: SeedCandidate) -> Ordering {
        let score_a = a.score(self.weights);
        let score_b = b.score(self.weights);
        let by_score = score_b.partial_cmp(&score_a).unwrap_or(Ordering::Equal);
        by_score
            .then_with(|| b.length.cmp(&a.length))
            .then_with(|| a.text(self.bytes).cmp(b.text(self.bytes)))
    }

    /// Keeps the `limit` first candidates, in no particular order.
    fn keep_best(self, candidates: &mut Vec<SeedCandidate>, limit: usize) {
        if candidates.len() > limit {
            candidates.select_nth_unstable_by(limit, |a, b| self.compare(*a, *b));
            candidates.truncate(limit);
        }
    }
}

/// Seeds with their initial scores.
pub(super) struct ScoredSeeds {
    pub(super) seeds: Seeds,
    pub(super) pieces: Vec<ScoredSeed>,
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
        let found = candidates(&entries, rules, min_counts);
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
    ScoredSeeds {
        seeds,
        pieces: log_probabilities(numbered(scores)),
    }
}

/// The candidates of several chunks; counts of equal substrings are added.
#[derive(Default)]
struct MergedCandidates {
    /// The texts of the candidates.
    bytes: Vec<u8>,
    candidates: Vec<SeedCandidate>,
    /// Indices of candidates by their texts: a table with texts of its own would need an allocation for each.
    index: HashTable<usize>,
    hasher: SeedableRandomState,
}

impl MergedCandidates {
    fn add(&mut self, bytes: &[u8], found: &[SeedCandidate]) {
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

    /// With more than 16 times `limit` candidates, keeps the best 8 times `limit`, as the reference does.
    fn limit(&mut self, rules: &SeedRules) {
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

/// All candidates, in no particular order.
fn candidates(entries: &Entries, rules: &SeedRules, min_counts: MinCounts) -> Vec<SeedCandidate> {
    let groups = SuffixGroups::new(entries);
    let found: Vec<Vec<SeedCandidate>> = groups
        .largest_first()
        .into_par_iter()
        .with_max_len(1)
        .map(|group| {
            let suffixes = groups.sorted_suffixes(entries, group, rules.max_length);
            let walk = NodeWalk {
                entries,
                rules,
                min_counts,
                suffixes: &suffixes,
                open: Vec::new(),
                candidates: Vec::new(),
            };
            walk.run()
        })
        .collect();
    found.into_iter().flatten().collect()
}

/// An internal node of the suffix tree that the walk has not left yet.
#[derive(Debug, Clone, Copy)]
struct OpenNode {
    /// The index of its first suffix.
    first: usize,
    /// Its length in bytes.
    depth: usize,
    /// The counts of all suffixes before the first.
    count_before: u64,
    /// The count of the node that has a NUL more.
    terminated: u64,
}

/// Finds the nodes of the suffix tree over sorted suffixes, from the longest to the shortest of nested ones.
struct NodeWalk<'w> {
    entries: &'w Entries,
    rules: &'w SeedRules,
    min_counts: MinCounts,
    suffixes: &'w [Suffix],
    open: Vec<OpenNode>,
    candidates: Vec<SeedCandidate>,
}

impl NodeWalk<'_> {
    fn run(mut self) -> Vec<SeedCandidate> {
        let mut count = 0;
        for at in 1..=self.suffixes.len() {
            let added = self.entries.count(self.suffixes[at - 1]);
            // At the end nothing is in common.
            let common = self.suffixes.get(at).map_or(0, |next| next.common_prefix());
            let child = self.close_deeper_nodes(at - 1, common, count, count + added);
            self.open_node(child, common);
            count += added;
        }
        self.candidates
    }

    /// Leaves the nodes deeper than `common`. Returns the start of the node that contains all that was left: the last
    /// suffix, whose predecessors have the count `before`, or the last node left. `end` is the count of all suffixes.
    fn close_deeper_nodes(
        &mut self,
        last: usize,
        common: usize,
        before: u64,
        end: u64,
    ) -> OpenNode {
        let mut child = OpenNode {
            first: last,
            depth: common,
            count_before: before,
            terminated: 0,
        };
        while let Some(node) = self.open.pop_if(|node| node.depth > common) {
            let parent_depth = self.open.last().map_or(0, |parent| parent.depth);
            let parent_depth = parent_depth.max(common);
            child.first = node.first;
            child.count_before = node.count_before;
            child.terminated = 0;
            let count = end - node.count_before;
            let moved = self.close(&node, count, parent_depth);
            if parent_depth > common {
                self.add_terminated(moved);
            } else {
                child.terminated = moved;
            }
        }
        child
    }

    fn add_terminated(&mut self, count: u64) {
        if let Some(parent) = self.open.last_mut() {
            parent.terminated += count;
        }
    }

    /// Opens a node at `child` if the suffixes have more in common than those of the innermost open node, and otherwise
    /// adds what `child` carries to that node.
    fn open_node(&mut self, child: OpenNode, common: usize) {
        let depth = self.open.last().map_or(0, |node| node.depth);
        if common > depth {
            self.open.push(child);
        } else if common > 0 {
            self.add_terminated(child.terminated);
        }
    }

    /// Makes a node a candidate. The count of a node that ends with a NUL is returned if the node without the NUL
    /// exists, which then gets it. A count that is too small is no count.
    fn close(&mut self, node: &OpenNode, count: u64, parent_depth: usize) -> u64 {
        let is_frequent = self.min_counts.allow(node.depth, count);
        let count = if is_frequent { count } else { 0 };
        let suffix = self.suffixes[node.first];
        let text_length = self.entries.text_length(suffix);
        let is_terminated =
            node.depth == text_length + 1 && self.entries.suffix_bytes(suffix)[text_length] == 0;
        if is_terminated && parent_depth == text_length {
            return count;
        }
        let length = if is_terminated {
            text_length
        } else {
            node.depth
        };
        let count = count + node.terminated;
        if count > 0 && length <= text_length {
            self.add_candidate(suffix, length, count);
        }
        0
    }

    fn add_candidate(&mut self, suffix: Suffix, length: usize, count: u64) {
        let bytes = &self.entries.suffix_bytes(suffix)[..length];
        let Ok(text) = std::str::from_utf8(bytes) else {
            // The common prefix ends inside a character.
            return;
        };
        let characters = text.chars().count();
        if characters < 2 || characters > self.rules.max_length || !self.rules.split.allows(text) {
            return;
        }
        let (Ok(characters), Ok(length)) = (u16::try_from(characters), u32::try_from(length))
        else {
            return;
        };
        self.candidates.push(SeedCandidate {
            start: self.entries.start(suffix),
            length,
            characters,
            count,
        });
    }
}

#[cfg(test)]
mod tests;
