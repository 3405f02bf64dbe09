//! Sampling: one random segmentation, drawn with a probability that depends on its score.
//!
//! Job: subword regularization (Kudo, "Subword regularization", ACL 2018, <https://doi.org/10.18653/v1/P18-1007>).
//! Input: a lattice, the smoothing exponent alpha, and a random generator. Output: the ids of a segmentation, whose
//! probability is proportional to exp(alpha · score).
//!
//! Method: forward filtering, backward sampling. A pass from left to right computes for each node the total weight of all
//! paths from the start to the node. A pass from right to left then draws, at each node, the node before it in proportion
//! to these weights.
//!
//! Example: the lattice of `les` with the pieces `l`, `e`, `s` (-3 each), `le` (-4) and `les` (-5), alpha 1. The weights
//! (as logarithms) are 0 before `l`, `le` and `les`, -3 before `e`, log(e^-4 + e^-6) = -3.87 before `s`, and -4.86 at the
//! end. So the last piece is `les` with the probability e^(-5 + 4.86) = 0.87 and `s` with e^(-6.87 + 4.86) = 0.13.
//!
//! Cost: one step for each node, and one exponential for each node that ends at a position of the drawn path.

use super::lattice::{END, Lattice, START};
use crate::error::EncodeError;
use crate::piece::PieceId;
use crate::rng::SplitMix64;

/// If two logarithms differ by more than this, the smaller number is ignored in their sum, as in the reference.
const NEGLIGIBLE: f32 = 50.0;

/// log(exp(a) + exp(b)).
#[expect(
    clippy::cast_possible_truncation,
    reason = "the reference narrows the double result here"
)]
fn log_sum(a: f32, b: f32) -> f32 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if high > low + NEGLIGIBLE {
        return high;
    }
    (f64::from(high) + f64::from(low - high).exp().ln_1p()) as f32
}

/// For each node, the logarithm of the total weight of all paths from the start to the beginning of the node.
pub(super) fn forward(lattice: &Lattice, alpha: f32) -> Vec<f32> {
    let mut weights = vec![0.0; lattice.nodes.len()];
    for position in 0..=lattice.length() {
        let arriving = lattice
            .ending_at(position)
            .iter()
            .map(|left| alpha * lattice.nodes[*left].score + weights[*left]);
        let weight = arriving.reduce(log_sum).unwrap_or(0.0);
        for right in lattice.beginning_at(position) {
            weights[right] = weight;
        }
    }
    weights
}

/// The logarithm of the total weight of all segmentations, from the weights of [`forward`].
///
/// # Errors
/// It is infinite or NaN, because alpha or the scores are too large.
pub(super) fn final_weight(weights: &[f32], alpha: f32) -> Result<f32, EncodeError> {
    let total = weights[END];
    if total.is_finite() {
        Ok(total)
    } else {
        Err(EncodeError::Alpha { alpha })
    }
}

/// Draws a segmentation.
pub(super) fn sample(lattice: &Lattice, alpha: f32, rng: &mut SplitMix64) -> Vec<PieceId> {
    let path = draw_path(lattice, &forward(lattice, alpha), alpha, rng);
    path.iter().map(|node| lattice.nodes[*node].id).collect()
}

/// Draws a path, with the weights of [`forward`]: its nodes without [`START`] and [`END`].
pub(super) fn draw_path(
    lattice: &Lattice,
    weights: &[f32],
    alpha: f32,
    rng: &mut SplitMix64,
) -> Vec<usize> {
    let mut path = Vec::new();
    let mut node = END;
    loop {
        let previous = lattice.ending_at(lattice.nodes[node].begin);
        let probability = |left: &usize| {
            f64::from(weights[*left] + alpha * lattice.nodes[*left].score - weights[node]).exp()
        };
        let probabilities: Vec<f64> = previous.iter().map(probability).collect();
        node = previous[draw(&probabilities, rng)];
        if node == START {
            break;
        }
        path.push(node);
    }
    path.reverse();
    path
}

/// Draws an index in proportion to `weights`. Weights that are not finite or not above 0 are never drawn; if there are
/// no others, the result is 0.
pub(crate) fn draw(weights: &[f64], rng: &mut SplitMix64) -> usize {
    let is_usable = |weight: &&f64| weight.is_finite() && **weight > 0.0;
    let total: f64 = weights.iter().filter(is_usable).sum();
    let mut remaining = rng.unit() * total;
    // The last usable index, if rounding makes `remaining` exceed the sum of the weights.
    let mut drawn = 0;
    for (index, weight) in weights
        .iter()
        .enumerate()
        .filter(|(_, weight)| is_usable(weight))
    {
        drawn = index;
        if remaining < *weight {
            break;
        }
        remaining -= weight;
    }
    drawn
}
