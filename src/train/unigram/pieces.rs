//! The pieces of the model while it is trained.
//!
//! Every candidate ("seed") has a number, its index in [`Seeds`]. When many were dropped, those
//! that remain get new numbers in the same order ([`Renumbering`]). A [`PieceList`] holds the
//! current pieces with their scores, in order. The order matters for floating-point sums, and
//! because the first piece receives the counts of unknown characters, as in the reference.
//!
//! Example: the seeds are `a` (0), `b` (1) and `ab` (2). After `b` was dropped and `ab` moved to
//! the front, the list is `[2, 0]`, the score of seed 1 is [`DROPPED`], and unknown characters
//! count for `ab`. With new numbers the seeds are `a` (0) and `ab` (1), and the list is `[1, 0]`.

use std::iter;
use std::ops::Range;

use rayon::prelude::*;

use super::math::ln;
use crate::base::num::{low_u32, round_f32};
use crate::base::utf8::char_starts;
use crate::train::TrainError;
use crate::trie::Trie;

/// The score of a seed that is no longer a piece.
pub(super) const DROPPED: f32 = f32::NEG_INFINITY;
/// Stands for the absence of a seed. Seeds have lower numbers.
pub(super) const NO_SEED: u32 = u32::MAX;
/// All seed numbers are below this.
pub(super) const MAX_SEEDS: usize = NO_SEED as usize;
/// The error for seeds that do not fit.
pub(super) const TOO_MANY_SEEDS: TrainError = TrainError::TooLarge {
    what: "seed pieces",
};
/// How far the score of an unknown character is below the lowest score of a piece.
const UNKNOWN_PENALTY: f32 = 10.0;

/// The candidates, in the order in which the reference lists them.
#[derive(Debug, Default)]
pub(super) struct Seeds {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// Lengths in characters, at most 512.
    lengths: Vec<u16>,
}

impl Seeds {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Adds a text of `length` characters.
    pub(super) fn push(&mut self, text: &[u8], length: u16) {
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
        self.lengths.push(length);
    }

    pub(super) fn text(&self, seed: u32) -> &[u8] {
        let index = seed as usize;
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }

    /// A trie of the seeds with their numbers. Runs on the current pool.
    pub(super) fn trie(&self) -> Result<Trie, TrainError> {
        Trie::build(&self.keys()).map_err(|_| TOO_MANY_SEEDS)
    }

    /// The texts with their numbers, sorted.
    fn keys(&self) -> Vec<(&[u8], u32)> {
        let mut keys: Vec<_> = self.iter().collect();
        keys.par_sort_unstable();
        keys
    }

    /// The texts with their numbers.
    fn iter(&self) -> impl Iterator<Item = (&[u8], u32)> {
        numbers_below(self.len()).map(|seed| (self.text(seed), seed))
    }

    /// The seeds that have new numbers, in the order of these.
    pub(super) fn renumbered(&self, numbers: &Renumbering) -> Self {
        let mut seeds = Self::default();
        for seed in numbers.kept() {
            seeds.push(self.text(seed), self.lengths[seed as usize]);
        }
        seeds.bytes.shrink_to_fit();
        seeds.ends.shrink_to_fit();
        seeds.lengths.shrink_to_fit();
        seeds
    }
}

/// The numbers of the first `seeds` seeds.
fn numbers_below(seeds: usize) -> Range<u32> {
    0..low_u32(seeds as u64)
}

/// New numbers for the seeds that are pieces, in their order; the other seeds are forgotten.
///
/// Passes are faster with dense numbers, since the states and the sums of a pass then lie close
/// together.
#[derive(Debug)]
pub(super) struct Renumbering {
    /// By old number; [`NO_SEED`] for seeds without a new one.
    numbers: Vec<u32>,
    /// By old number: the new number of the seed. If it has none, that of its longest suffix that
    /// has one.
    longest: Vec<u32>,
}

impl Renumbering {
    /// Numbers the pieces of a list by the order of their seeds.
    pub(super) fn new(list: &PieceList) -> Self {
        let mut next = 0;
        let mut number = |state: &SeedState| {
            if state.score == DROPPED {
                return NO_SEED;
            }
            next += 1;
            next - 1
        };
        let numbers: Vec<u32> = list.states.iter().map(&mut number).collect();
        let longest = |seed| {
            let piece = list.longest_piece(seed);
            piece.map_or(NO_SEED, |piece| numbers[piece as usize])
        };
        Self {
            longest: numbers_below(numbers.len()).map(longest).collect(),
            numbers,
        }
    }

    /// The new number of a seed. If it has none, that of its longest suffix that has one, or
    /// [`NO_SEED`].
    #[inline]
    pub(super) fn longest_remaining(&self, seed: u32) -> u32 {
        let number = self.longest.get(seed as usize);
        number.copied().unwrap_or(NO_SEED)
    }

    /// The new number of a seed; `None` for a forgotten one and for a number that no seed has.
    #[inline]
    pub(super) fn number(&self, seed: u32) -> Option<u32> {
        let number = self.numbers.get(seed as usize).copied();
        number.filter(|number| *number != NO_SEED)
    }

    /// The old numbers of the seeds that are not forgotten.
    pub(super) fn kept(&self) -> Vec<u32> {
        let seeds = (0..).zip(&self.numbers);
        seeds
            .filter_map(|(seed, number)| (*number != NO_SEED).then_some(seed))
            .collect()
    }
}

/// A seed with its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ScoredSeed {
    pub(super) seed: u32,
    pub(super) score: f32,
}

impl ScoredSeed {
    /// The value of the seed in a list indexed by seed.
    pub(super) fn value_in(self, by_seed: &[f32]) -> f32 {
        by_seed[self.seed as usize]
    }
}

/// Scores of the seeds 0, 1, 2, ...
pub(super) fn numbered(scores: impl IntoIterator<Item = f32>) -> Vec<ScoredSeed> {
    (0..)
        .zip(scores)
        .map(|(seed, score)| ScoredSeed { seed, score })
        .collect()
}

/// Replaces each score by the logarithm of its share of the sum.
pub(super) fn log_probabilities(mut pieces: Vec<ScoredSeed>) -> Vec<ScoredSeed> {
    let scores = pieces.iter().map(|piece| f64::from(piece.score));
    let log_sum = ln(scores.fold(0.0, |sum, score| sum + score));
    for piece in &mut pieces {
        piece.score = round_f32(ln(f64::from(piece.score)) - log_sum);
    }
    pieces
}

/// What a pass over lattices needs to know about a seed.
#[derive(Debug, Clone, Copy)]
pub(super) struct SeedState {
    /// The score, or [`DROPPED`].
    pub(super) score: f32,
    /// The length in characters.
    pub(super) length: u32,
    /// The longest other seed with which the seed ends, or [`NO_SEED`].
    pub(super) suffix: u32,
}

/// The pieces, in order, with their scores.
#[derive(Debug)]
pub(super) struct PieceList {
    pieces: Vec<ScoredSeed>,
    /// By seed.
    states: Vec<SeedState>,
    /// The most seeds that end at one position of a text.
    max_suffixes: usize,
    min_score: f32,
}

impl PieceList {
    /// The list of `pieces`, which are some of `seeds`. `trie` maps the seeds to their numbers.
    /// Runs on the current pool.
    ///
    /// # Errors
    /// There are no pieces, or a score is not finite: no model can be trained on this corpus.
    pub(super) fn new(
        seeds: &Seeds,
        trie: &Trie,
        pieces: Vec<ScoredSeed>,
    ) -> Result<Self, TrainError> {
        let dropped = |seed: usize| {
            let text = seeds.text(low_u32(seed as u64));
            let mut suffixes = char_starts(text).skip(1).map(|at| &text[at..]);
            SeedState {
                score: DROPPED,
                length: u32::from(seeds.lengths[seed]),
                suffix: suffixes
                    .find_map(|suffix| trie.get(suffix))
                    .unwrap_or(NO_SEED),
            }
        };
        let mut list = Self {
            pieces: Vec::new(),
            states: (0..seeds.len()).into_par_iter().map(dropped).collect(),
            max_suffixes: 0,
            min_score: 0.0,
        };
        list.max_suffixes = list.most_suffixes();
        list.replace(pieces)?;
        Ok(list)
    }

    /// The maximum of [`PieceList::suffixes`] over all seeds.
    fn most_suffixes(&self) -> usize {
        let suffixes = self.states.par_iter().map(|state| self.suffixes(*state));
        suffixes.max().unwrap_or(0)
    }

    /// The number of suffixes of a seed that are seeds, including itself.
    fn suffixes(&self, seed: SeedState) -> usize {
        let next = |seed: &SeedState| self.state(seed.suffix);
        iter::successors(Some(seed), next).count()
    }

    /// Replaces the list by `pieces`.
    pub(super) fn replace(&mut self, pieces: Vec<ScoredSeed>) -> Result<(), TrainError> {
        if pieces.is_empty() || !pieces.iter().all(|piece| piece.score.is_finite()) {
            // The caller who read the sentences knows how many were skipped.
            return Err(TrainError::Diverged { too_long: 0 });
        }
        for piece in self.pieces.drain(..) {
            self.states[piece.seed as usize].score = DROPPED;
        }
        for piece in &pieces {
            self.states[piece.seed as usize].score = piece.score;
        }
        let scores = pieces.iter().map(|piece| piece.score);
        self.min_score = scores.fold(f32::MAX, f32::min);
        self.pieces = pieces;
        Ok(())
    }

    /// Gives the seeds their new numbers and removes those without one.
    pub(super) fn renumber(&mut self, numbers: &Renumbering) {
        for piece in &mut self.pieces {
            // Pieces are not forgotten.
            piece.seed = numbers.number(piece.seed).unwrap_or(piece.seed);
        }
        self.states.retain_mut(|state| {
            state.suffix = numbers.longest_remaining(state.suffix);
            state.score > DROPPED
        });
        self.states.shrink_to_fit();
        self.max_suffixes = self.most_suffixes();
    }

    pub(super) fn len(&self) -> usize {
        self.pieces.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = ScoredSeed> + '_ {
        self.pieces.iter().copied()
    }

    /// The number of seeds.
    pub(super) fn seeds(&self) -> usize {
        self.states.len()
    }

    /// The state of a seed; `None` for a number that no seed has.
    #[inline]
    pub(super) fn state(&self, seed: u32) -> Option<SeedState> {
        self.states.get(seed as usize).copied()
    }

    /// A seed or, if it is not a piece, its longest suffix that is a piece.
    fn longest_piece(&self, mut seed: u32) -> Option<u32> {
        // This ends because each suffix is shorter than the seed before.
        while !self.is_piece(seed) {
            seed = self.state(seed)?.suffix;
        }
        Some(seed)
    }

    /// The most seeds that end at one position of a text.
    #[inline]
    pub(super) fn max_suffixes(&self) -> usize {
        self.max_suffixes
    }

    /// Whether a seed is currently a piece.
    pub(super) fn is_piece(&self, seed: u32) -> bool {
        self.state(seed).is_some_and(|state| state.score > DROPPED)
    }

    /// The lowest score.
    pub(super) fn min_score(&self) -> f32 {
        self.min_score
    }

    /// The seed that receives the counts of unknown characters, which is that of the first piece,
    /// and the score of unknown characters.
    pub(super) fn unknown(&self) -> ScoredSeed {
        ScoredSeed {
            seed: self.pieces[0].seed,
            score: self.min_score - UNKNOWN_PENALTY,
        }
    }
}
