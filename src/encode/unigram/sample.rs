//! One segmentation at random, each as probable as its score says.
//!
//! In: a lattice, and the smoothing exponent alpha. Out: a segmentation whose probability is proportional to
//! exp(alpha · score). Method: forward filtering, backward sampling. A pass from left to right sums the weight
//! of all ways to each node; a walk from right to left then draws, at each place, the node before by its share
//! of that weight. See Kudo, "Subword regularization", ACL 2018, <https://doi.org/10.18653/v1/P18-1007>.

use super::lattice::{END, Lattice, START};
use crate::piece::PieceId;
use crate::rng::SplitMix64;

/// Beyond this difference of logarithms the smaller number does not count.
const NEGLIGIBLE: f32 = 50.0;

/// log(exp(a) + exp(b)).
#[allow(clippy::cast_possible_truncation)] // The reference works in doubles here and narrows the result.
fn log_sum(a: f32, b: f32) -> f32 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if high > low + NEGLIGIBLE {
        return high;
    }
    (f64::from(high) + f64::from(low - high).exp().ln_1p()) as f32
}

/// For each node the logarithm of the weight of all ways to its begin.
pub(super) fn forward(lattice: &Lattice, alpha: f32) -> Vec<f32> {
    let mut weights = vec![0.0; lattice.nodes.len()];
    for place in 0..=lattice.length() {
        let arriving = lattice
            .ending_at(place)
            .iter()
            .map(|left| alpha * lattice.nodes[*left].score + weights[*left]);
        let weight = arriving.reduce(log_sum).unwrap_or(0.0);
        for right in lattice.beginning_at(place) {
            weights[right] = weight;
        }
    }
    weights
}

/// Draws a segmentation.
pub(super) fn sample(lattice: &Lattice, alpha: f32, rng: &mut SplitMix64) -> Vec<PieceId> {
    let weights = forward(lattice, alpha);
    let (mut ids, mut node) = (Vec::new(), END);
    loop {
        let before = lattice.ending_at(lattice.nodes[node].begin);
        let share = |left: &usize| {
            f64::from(weights[*left] + alpha * lattice.nodes[*left].score - weights[node]).exp()
        };
        let shares: Vec<f64> = before.iter().map(share).collect();
        node = before[draw(&shares, rng)];
        if node == START {
            break;
        }
        ids.push(lattice.nodes[node].id);
    }
    ids.reverse();
    ids
}

/// An index, drawn by these weights; the first if there is none above 0.
pub(crate) fn draw(weights: &[f64], rng: &mut SplitMix64) -> usize {
    let is_usable = |weight: &&f64| weight.is_finite() && **weight > 0.0;
    let total: f64 = weights.iter().filter(is_usable).sum();
    let mut left = rng.unit() * total;
    let mut drawn = 0;
    for (at, weight) in weights
        .iter()
        .enumerate()
        .filter(|(_, weight)| is_usable(weight))
    {
        drawn = at;
        if left < *weight {
            break;
        }
        left -= weight;
    }
    drawn
}
