//! What several unit tests of this module need: pieces of given texts and scores, and lattices of
//! random edges.

use proptest::prelude::*;

use super::corpus_lattices::CorpusLattices;
use super::lattice::{Edge, TextLattice};
use super::lattice_store::{LatticeStore, StoreBuilder};
use super::pieces::{PieceList, Renumbering, ScoredSeed, Seeds};
use super::seed_rules::{CountRule, LengthWeights, SeedRules};
use super::sentences::CountedTexts;
use crate::train::options::TrainOptions;
use crate::train::split::SplitRules;

/// The rules of these options, with a limit of its own.
pub(super) fn seed_rules(options: &TrainOptions, limit: usize) -> SeedRules {
    let max_length = options.max_sentencepiece_length as usize;
    SeedRules {
        split: SplitRules::new(options),
        max_length,
        limit,
        weights: LengthWeights::new(options.unigram.seed_length_power, max_length),
        counts: CountRule {
            alpha: options.unigram.min_count_alpha,
            vocab_size: options.vocab_size as usize,
        },
    }
}

/// Seeds and their list.
pub(super) struct Pieces {
    pub(super) seeds: Seeds,
    pub(super) list: PieceList,
}

impl Pieces {
    /// Pieces numbered from 0.
    pub(super) fn new(pieces: &[(&str, f32)]) -> Self {
        let mut seeds = Seeds::default();
        let mut scored = Vec::new();
        for (seed, (text, score)) in (0..).zip(pieces) {
            let length = u16::try_from(text.chars().count()).unwrap();
            seeds.push(text.as_bytes(), length);
            scored.push(ScoredSeed {
                seed,
                score: *score,
            });
        }
        let trie = seeds.trie().unwrap();
        let list = PieceList::new(&seeds, &trie, scored).unwrap();
        Self { seeds, list }
    }

    /// Removes the seeds without a new number.
    pub(super) fn renumber(&mut self, numbers: &Renumbering) {
        self.seeds = self.seeds.renumbered(numbers);
        self.list.renumber(numbers);
    }

    /// A store of texts with their frequencies.
    pub(super) fn store(&self, texts: &[(&str, f32)]) -> LatticeStore {
        let trie = self.seeds.trie().unwrap();
        let mut builder = StoreBuilder::new(&trie);
        for (text, frequency) in texts {
            builder.push(text.as_bytes(), *frequency);
        }
        builder.finish()
    }
}

impl Pieces {
    /// The lattices of texts with their counts.
    pub(super) fn corpus(&self, texts: &[(&str, u64)], partials: usize) -> CorpusLattices {
        let mut counted = CountedTexts::default();
        for (text, count) in texts {
            counted.push(text, *count);
        }
        let trie = self.seeds.trie().unwrap();
        CorpusLattices::new(&counted, &trie, partials)
    }
}

/// The edges of a lattice by position, each as length and score.
pub(super) type EdgeLists = Vec<Vec<(u32, f32)>>;

/// The lattice of these edges. The seed of an edge is its index in order of beginnings.
pub(super) fn lattice_of(positions: &EdgeLists) -> TextLattice {
    let listed = (0..).zip(positions);
    let listed = listed.flat_map(|(begin, edges)| edges.iter().map(move |edge| (begin, edge)));
    let edges = (0..)
        .zip(listed)
        .map(|(seed, (begin, (length, score)))| Edge {
            seed,
            begin,
            end: begin + length,
            score: *score,
        });
    TextLattice::of_edges(edges.collect(), positions.len())
}

/// Lattices of up to eight characters: an edge of one character at each position, and longer ones
/// at random. `score` draws the scores.
pub(super) fn edge_lists(
    score: impl Strategy<Value = f32> + Clone,
) -> impl Strategy<Value = EdgeLists> {
    let position = (
        score.clone(),
        proptest::collection::vec(proptest::option::of(score), 4),
    );
    proptest::collection::vec(position, 1..=8).prop_map(|drawn| {
        let characters = drawn.len();
        let mut positions = Vec::new();
        for (at, (one, longer)) in drawn.into_iter().enumerate() {
            let mut edges = vec![(1, one)];
            let fitting = (2..).zip(longer).take(characters - at - 1);
            edges.extend(fitting.filter_map(|(length, score)| Some((length, score?))));
            positions.push(edges);
        }
        positions
    })
}

/// All paths through a lattice, as indices of edges from left to right.
pub(super) fn all_paths(edges: &[Edge], characters: usize) -> Vec<Vec<u32>> {
    let mut complete = Vec::new();
    let mut open = vec![(0, Vec::new())];
    while let Some((position, path)) = open.pop() {
        if position as usize == characters {
            complete.push(path);
            continue;
        }
        for (at, edge) in (0..).zip(edges) {
            if edge.begin == position {
                let longer = [&path[..], &[at]].concat();
                open.push((edge.end, longer));
            }
        }
    }
    complete
}

/// The score of a path, computed in 64 bits.
pub(super) fn path_score(edges: &[Edge], path: &[u32]) -> f64 {
    path.iter()
        .map(|at| f64::from(edges[*at as usize].score))
        .sum()
}
