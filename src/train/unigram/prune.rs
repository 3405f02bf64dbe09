//! Pruning: drops the pieces whose removal reduces the likelihood of the corpus least.
//!
//! 1. Each piece is segmented by itself. If the best segmentation is not the piece itself, the
//!    piece is never used, so it is dropped. If there is no other segmentation, the piece is kept.
//!    Otherwise the second-best segmentation replaces it when it is dropped.
//! 2. The corpus is segmented, and pieces are counted. Pieces that do not occur are dropped.
//! 3. The loss of a piece is the decrease of the likelihood of the corpus when its replacement
//!    takes its place everywhere. The pieces with the highest loss are kept: a share of
//!    `shrinking_factor` of all pieces, but at least the wanted number.
//!
//! Example: `ab` occurs 10 times among 100 pieces, its replacement is `a b`, and `a` and `b` occur
//! 20 times each:
//!
//! ```text
//! with ab     ln(10/100) = -2.303
//! without ab  110 pieces; ln(30/110) + ln(30/110) = -2.599
//! loss        10/100 * (-2.303 + 2.599) = 0.030
//! ```
//!
//! Source: functions `PruneSentencePieces` and `PruneUnreachableSentencePieces` of SentencePiece
//! 0.2.3.

use rayon::prelude::*;

use super::corpus_lattices::CorpusLattices;
use super::lattice::{TextLattice, Viterbi};
use super::lattice_store::{LatticeStore, StoreBuilder};
use super::math::{descending, ln};
use super::partial_sums::sum_texts;
use super::pieces::{PieceList, Renumbering, ScoredSeed};
use super::seed_totals::SeedTotals;
use super::two_best::TwoBest;
use crate::base::num::{count_to_f32, round_f32};
use crate::train::parallel::map_tasks;
use crate::trie::Trie;

/// What the segmentation of a piece's own text says about the piece.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Replacement {
    /// There is no other segmentation, or the search reached its limits: the piece is kept.
    None,
    /// The best segmentation is not the piece itself: the piece is dropped.
    Better,
    /// The seeds of the second-best segmentation.
    Seeds(Vec<u32>),
}

/// How many pieces a pruning step keeps.
#[derive(Debug, Clone, Copy)]
pub(super) struct PruneTarget {
    /// The number of pieces at which pruning ends.
    pub(super) wanted: usize,
    /// The share of the pieces that a step keeps.
    pub(super) shrinking_factor: f32,
}

impl PruneTarget {
    /// The number of pieces to keep out of `pieces`.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the reference multiplies in 32 bits and cuts the fraction off"
    )]
    pub(super) fn size(self, pieces: usize) -> usize {
        let share = (self.shrinking_factor * count_to_f32(pieces as u64)) as usize;
        share.max(self.wanted)
    }
}

/// The replacement of each piece, in the order of the list.
pub(super) fn replacements(own: &OwnLattices, pieces: &PieceList) -> Vec<Replacement> {
    own.map(pieces, TwoBest::default, |search, lattice| {
        let paths = search.search(lattice);
        match paths.second {
            None => Replacement::None,
            Some(_) if paths.best.len() >= 2 => Replacement::Better,
            Some(second) => {
                let seed_of = |edge: &u32| lattice.edges()[*edge as usize].seed;
                Replacement::Seeds(second.iter().map(seed_of).collect())
            }
        }
    })
}

/// The lattices of the pieces' own texts.
#[derive(Debug, Default)]
pub(super) struct OwnLattices {
    /// The seeds in their order, divided into parts.
    parts: Vec<OwnPart>,
}

/// The lattices of some seeds.
#[derive(Debug)]
struct OwnPart {
    seeds: Vec<u32>,
    store: LatticeStore,
}

/// The number of seeds in a part, at first.
const PART_SEEDS: usize = 4096;

impl OwnLattices {
    /// The lattices of the seeds that `numbers` keeps, with their new numbers. `trie` and `text_of`
    /// use the old numbers.
    pub(super) fn new<'s>(
        numbers: &Renumbering,
        trie: &Trie,
        text_of: impl Fn(u32) -> &'s [u8] + Sync,
    ) -> Self {
        let kept = numbers.kept();
        let parts: Vec<&[u32]> = kept.chunks(PART_SEEDS).collect();
        let make = |part: usize| {
            let seeds = parts[part];
            let mut builder = StoreBuilder::new(trie);
            for seed in seeds {
                builder.push(text_of(*seed), 1.0);
            }
            let mut part = OwnPart {
                seeds: seeds.to_vec(),
                store: builder.finish(),
            };
            part.renumber(numbers);
            part
        };
        Self {
            parts: map_tasks(parts.len(), make),
        }
    }

    /// Gives the seeds new numbers, and removes the lattices and the edges of seeds without one.
    pub(super) fn renumber(&mut self, numbers: &Renumbering) {
        self.parts
            .par_iter_mut()
            .for_each(|part| part.renumber(numbers));
    }

    /// Calls `visit` with the lattice of every piece, on the threads of the current pool. The
    /// results are in the order of the list of pieces.
    fn map<S, R: Send + Sync>(
        &self,
        pieces: &PieceList,
        state: impl Fn() -> S + Sync,
        visit: impl Fn(&mut S, &TextLattice) -> R + Sync,
    ) -> Vec<R> {
        let visit_part = |part: usize| {
            let part = &self.parts[part];
            let mut state = state();
            let mut results = Vec::with_capacity(part.seeds.len());
            let mut seeds = part.seeds.iter();
            part.store.for_each(pieces, None, |lattice, _| {
                let seed = seeds.next();
                let is_piece = seed.is_some_and(|seed| pieces.is_piece(*seed));
                results.push(is_piece.then(|| visit(&mut state, lattice)));
            });
            results
        };
        let by_seed = map_tasks(self.parts.len(), visit_part);
        // Lattices and seeds are removed together, so the index of a lattice is the number of its
        // seed.
        let mut by_seed: Vec<Option<R>> = by_seed.into_iter().flatten().collect();
        let in_order = pieces.iter();
        in_order
            .filter_map(|piece| by_seed[piece.seed as usize].take())
            .collect()
    }
}

impl OwnPart {
    fn renumber(&mut self, numbers: &Renumbering) {
        let seeds = &self.seeds;
        let is_kept = |text: usize| numbers.number(seeds[text]).is_some();
        self.store.renumber(numbers, is_kept);
        let old = std::mem::take(&mut self.seeds);
        let new = old.into_iter().filter_map(|seed| numbers.number(seed));
        self.seeds = new.collect();
    }
}

/// How often each piece occurs in the best segmentations of the corpus, by seed.
pub(super) fn count_pieces(corpus: &CorpusLattices, pieces: &PieceList) -> Vec<f32> {
    let count_text = |viterbi: &mut Viterbi,
                      lattice: &mut TextLattice,
                      frequency,
                      totals: &mut SeedTotals<'_>| {
        viterbi.continue_search(lattice);
        viterbi.trace(lattice, |edge| *totals.at(edge.seed) += frequency);
        0.0
    };
    sum_texts(corpus, pieces, None, Viterbi::default, count_text).by_seed
}

/// The pieces that remain: those without a replacement in the order of the list, then others by
/// loss, descending.
pub(super) fn prune(
    pieces: &PieceList,
    replacements: &[Replacement],
    counts: &[f32],
    target: PruneTarget,
) -> Vec<ScoredSeed> {
    let losses = LossFunction::new(pieces, counts);
    let mut kept = Vec::new();
    let mut candidates: Vec<(f32, ScoredSeed)> = Vec::new();
    for (piece, replacement) in pieces.iter().zip(replacements) {
        if piece.value_in(counts) == 0.0 {
            continue;
        }
        match replacement {
            Replacement::Better => {}
            Replacement::None => kept.push(piece),
            Replacement::Seeds(seeds) => candidates.push((losses.of(piece.seed, seeds), piece)),
        }
    }
    // The sort is stable, so that equal losses stay in the order of the list.
    candidates.sort_by(|a, b| descending(a.0, b.0));
    let size = target.size(pieces.len());
    for (_, piece) in candidates {
        // If more pieces than `size` are kept already, all candidates stay, as in the reference.
        if kept.len() == size {
            break;
        }
        kept.push(piece);
    }
    kept
}

/// Computes the loss of a piece from the counts of all pieces.
struct LossFunction<'c> {
    counts: &'c [f32],
    sum: f32,
    log_sum: f32,
}

impl<'c> LossFunction<'c> {
    fn new(pieces: &PieceList, counts: &'c [f32]) -> Self {
        let found = pieces.iter().map(|piece| f64::from(piece.value_in(counts)));
        let sum = round_f32(found.fold(0.0, |sum, count| sum + count));
        Self {
            counts,
            sum,
            log_sum: rounded_ln(sum),
        }
    }

    fn of(&self, seed: u32, replacement: &[u32]) -> f32 {
        let count = self.counts[seed as usize];
        let with = round_f32(ln(f64::from(count)) - f64::from(self.log_sum));
        // Each occurrence of the piece becomes as many pieces as the replacement has.
        let more_pieces = count_to_f32(replacement.len() as u64 - 1);
        let sum_without = self.sum + count * more_pieces;
        let log_sum = f64::from(rounded_ln(sum_without));
        let mut without = 0.0f32;
        for other in replacement {
            let count = f64::from(self.counts[*other as usize] + count);
            without = round_f32(f64::from(without) + (ln(count) - log_sum));
        }
        (count / self.sum) * (with - without)
    }
}

/// The natural logarithm, computed in 64 bits.
fn rounded_ln(x: f32) -> f32 {
    round_f32(ln(f64::from(x)))
}

/// The pieces that a segmentation can use: those whose own text has no better segmentation into
/// other pieces.
pub(super) fn reachable(own: &OwnLattices, pieces: &PieceList) -> Vec<ScoredSeed> {
    let is_reachable = own.map(pieces, Viterbi::default, |viterbi, lattice| {
        let Some(whole) = lattice.whole() else {
            return false;
        };
        viterbi.search_without(lattice, whole);
        viterbi.score() <= lattice.edges()[whole].score
    });
    let pieces = pieces.iter().zip(is_reachable);
    pieces
        .filter_map(|(piece, is_reachable)| is_reachable.then_some(piece))
        .collect()
}

#[cfg(test)]
mod tests;
