//! One step of expectation maximization: expected counts of the pieces, and new scores.
//!
//! E step: the expected count of a piece is the sum, over all its occurrences in all texts, of the
//! probability that a randomly drawn segmentation uses the piece there. Texts belong to [partial
//! sums](super::partial_sums), as in the reference.
//!
//! M step: the score of a piece is digamma(expected count) - digamma(sum of all), which favours few
//! pieces with high counts (a Dirichlet prior) over the plain logarithm of the relative frequency.
//! Pieces with an expected count below 0.5 are dropped.
//!
//! Example with two partial sums: the texts `ab` (3 times), `b` (2 times) and `a` (once), the
//! pieces `a`, `b`, `ab` with the probabilities 1/4, 1/4, 1/2:
//!
//! ```text
//! ab: paths ab (1/2) and a b (1/16), so P(ab) = 8/9; expected counts a 1/3, b 1/3, ab 8/3
//! partial sum 0 (texts 0, 2): a 1/3 + 1, b 1/3, ab 8/3     partial sum 1 (text 1): b 2
//! total: a 1.33, b 2.33, ab 2.67
//! ```
//!
//! Source: P. Liang and D. Klein, "Structured Bayesian Nonparametric Models with Variational
//! Inference", tutorial at ACL 2007; functions `RunEStep` and `RunMStep` of SentencePiece 0.2.3.

use super::corpus_lattices::CorpusLattices;
use super::math::{FastMath, digamma};
use super::partial_sums::sum_texts;
use super::pieces::{PieceList, ScoredSeed};
use crate::base::num::round_f32;

/// Pieces with a lower expected count are dropped.
const MIN_EXPECTED: f32 = 0.5;

/// The result of an E step.
#[derive(Debug)]
pub(super) struct Expectation {
    /// The expected count of each seed.
    pub(super) counts: Vec<f32>,
    /// The sum over all texts of frequency times log probability.
    pub(super) log_likelihood: f64,
}

/// The E step.
pub(super) fn expect(corpus: &CorpusLattices, pieces: &PieceList, math: &FastMath) -> Expectation {
    let sums = sum_texts(
        corpus,
        pieces,
        Some(math),
        || (),
        |(), lattice, frequency, totals| {
            let log_probability = lattice.expect(math, frequency, totals);
            f64::from(frequency) * f64::from(log_probability)
        },
    );
    Expectation {
        counts: sums.by_seed,
        log_likelihood: sums.log_likelihood,
    }
}

/// The M step: the pieces that remain, in the order of the list, with new scores.
pub(super) fn maximize(pieces: &PieceList, expected: &[f32]) -> Vec<ScoredSeed> {
    let count_of = |piece: ScoredSeed| ScoredSeed {
        seed: piece.seed,
        score: piece.value_in(expected),
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
