//! One step of expectation maximization: expected counts of the pieces, and new scores.
//!
//! Input: the lattices of the corpus and the pieces with their scores. Output: the pieces with new scores; pieces with an
//! expected count below 0.5 are dropped.
//!
//! E step: the expected count of a piece is the sum, over all its places in all texts, of the probability that a
//! segmentation drawn at random uses it there. The reference divides the texts among `num_threads` threads, of which each
//! adds 32-bit floats, and adds the sums of the threads. So `num_threads` is part of the arithmetic: here too, text i
//! belongs to the partial sum i mod `num_threads`, whatever the number of threads that run.
//!
//! M step: the score of a piece is digamma(expected count) - digamma(sum of all), which favours few pieces with high counts
//! (a Dirichlet prior) over the plain logarithm of the relative frequency.
//!
//! Example with two partial sums: the texts `ab` (3 times), `b` (2 times) and `a` (once), the pieces `a`, `b`, `ab` with
//! the probabilities 1/4, 1/4, 1/2:
//!
//! ```text
//! ab: paths ab (1/2) and a b (1/16), so P(ab) = 8/9; expected counts a 1/3, b 1/3, ab 8/3
//! partial sum 0 (texts 0, 2): a 1/3 + 1, b 1/3, ab 8/3     partial sum 1 (text 1): b 2
//! total: a 1.33, b 2.33, ab 2.67
//! ```
//!
//! Cost: linear in the edges of the lattices. Source: P. Liang and D. Klein, "Structured Bayesian Nonparametric Models
//! with Variational Inference", tutorial at ACL 2007; functions `RunEStep` and `RunMStep` of SentencePiece 0.2.3.

use rayon::prelude::*;

use super::corpus_lattices::CorpusLattices;
use super::math::{FastMath, digamma};
use super::pieces::{PieceList, ScoredSeed};
use crate::text::num::round_f32;

/// Pieces with a lower expected count are dropped.
const MIN_EXPECTED: f32 = 0.5;

/// Partial sums that a thread computes on average until all threads wait for the slowest one. More need more memory.
const PARTIALS_PER_THREAD: usize = 4;
/// Seeds whose sums a thread adds at a time.
const ADDED_SEEDS: usize = 1 << 14;

/// The result of an E step.
#[derive(Debug)]
pub(super) struct Expectation {
    /// By seed: the expected count.
    pub(super) counts: Vec<f32>,
    /// The sum of frequency times logarithm of the probability over all texts.
    pub(super) log_likelihood: f64,
}

/// The sums of one part of the texts.
#[derive(Debug, Default)]
pub(super) struct PartialSums {
    pub(super) by_seed: Vec<f32>,
    pub(super) log_likelihood: f64,
}

/// Computes the sums of so many partials with `compute` and adds them in the order of the partials. Runs on the current
/// pool, and holds the sums of [`PARTIALS_PER_THREAD`] partials for each of its threads.
pub(super) fn add_partials(
    partials: usize,
    seeds: usize,
    compute: impl Fn(usize, &mut PartialSums) + Sync,
) -> PartialSums {
    let mut total = PartialSums {
        by_seed: vec![0.0; seeds],
        log_likelihood: 0.0,
    };
    let wave = rayon::current_num_threads().max(1) * PARTIALS_PER_THREAD;
    let mut buffers: Vec<PartialSums> = Vec::new();
    buffers.resize_with(wave.min(partials), PartialSums::default);
    for first in (0..partials).step_by(wave) {
        let partials = first..partials.min(first + wave);
        let count = partials.len();
        partials
            .into_par_iter()
            .zip(&mut buffers)
            .with_max_len(1)
            .for_each(|(partial, sums)| {
                sums.by_seed.clear();
                sums.by_seed.resize(seeds, 0.0);
                sums.log_likelihood = 0.0;
                compute(partial, sums);
            });
        total.add(&buffers[..count]);
    }
    total
}

impl PartialSums {
    /// Adds the sums of other partials in their order, the seeds on the threads of the current pool.
    fn add(&mut self, others: &[PartialSums]) {
        for other in others {
            self.log_likelihood += other.log_likelihood;
        }
        let add_seeds = |(number, sums): (usize, &mut [f32])| {
            let start = number * ADDED_SEEDS;
            for other in others {
                let parts = &other.by_seed[start..start + sums.len()];
                for (sum, part) in sums.iter_mut().zip(parts) {
                    *sum += part;
                }
            }
        };
        self.by_seed
            .par_chunks_mut(ADDED_SEEDS)
            .enumerate()
            .for_each(add_seeds);
    }
}

/// The E step.
pub(super) fn expect(corpus: &CorpusLattices, pieces: &PieceList, math: &FastMath) -> Expectation {
    let sums = add_partials(corpus.partials(), pieces.seeds(), |partial, sums| {
        corpus.for_each(partial, pieces, |lattice, frequency| {
            let log_probability = lattice.expect(math, frequency, &mut sums.by_seed);
            sums.log_likelihood += f64::from(frequency) * f64::from(log_probability);
        });
    });
    Expectation {
        counts: sums.by_seed,
        log_likelihood: sums.log_likelihood,
    }
}

/// The M step: the pieces that remain, in the order of the list, with new scores.
pub(super) fn maximize(pieces: &PieceList, expected: &[f32]) -> Vec<ScoredSeed> {
    let count_of = |piece: ScoredSeed| ScoredSeed {
        seed: piece.seed,
        score: expected[piece.seed as usize],
    };
    let mut kept: Vec<ScoredSeed> = pieces
        .iter()
        .map(count_of)
        .filter(|counted| counted.score >= MIN_EXPECTED)
        .collect();
    let mut sum = 0.0f32;
    for counted in &kept {
        sum += counted.score;
    }
    let log_sum = f64::from(round_f32(digamma(f64::from(sum))));
    for piece in &mut kept {
        piece.score = round_f32(digamma(f64::from(piece.score)) - log_sum);
    }
    kept
}

#[cfg(test)]
mod tests;
