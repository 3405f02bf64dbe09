//! Sampling: one random segmentation, drawn with a probability that depends on its score.
//!
//! This is subword regularization (Kudo, "Subword regularization", ACL 2018,
//! <https://doi.org/10.18653/v1/P18-1007>). With the smoothing exponent alpha the probability of a
//! segmentation is proportional to exp(alpha · score).
//!
//! The method is forward filtering, backward sampling. A pass from left to right computes for each
//! node the total weight of all paths from the start to the node. A pass from right to left then
//! draws, at each node, the node before it in proportion to these weights.
//!
//! Example: the lattice of `les` with the pieces `l`, `e`, `s` (-3 each), `le` (-4) and `les` (-5),
//! alpha 1. The weights (as logarithms) are 0 before `l`, `le` and `les`, -3 before `e`, log(e^-4 +
//! e^-6) = -3.87 before `s`, and -4.86 at the end. So the last piece is `les` with the probability
//! e^(-5 + 4.86) = 0.87 and `s` with e^(-6.87 + 4.86) = 0.13.
//!
//! Exponentials and logarithms are those of `libm`, so that a seed gives the same samples on every
//! platform.

use super::lattice::{END, Lattice, START};
use crate::base::log_sum::log_sum;
use crate::base::rng::SplitMix64;
use crate::encode::EncodeError;
use crate::piece::PieceId;

/// The weights of the paths of a lattice: the weight of a path is exp(alpha · the sum of its
/// scores).
pub(super) struct PathWeights<'l> {
    pub(super) lattice: &'l Lattice,
    alpha: f32,
    /// For each node, the logarithm of the total weight of all paths from the start to the
    /// beginning of the node.
    before: Vec<f32>,
}

impl<'l> PathWeights<'l> {
    pub(super) fn new(lattice: &'l Lattice, alpha: f32) -> Self {
        let mut weights = Self {
            lattice,
            alpha,
            before: vec![0.0; lattice.nodes.len()],
        };
        for position in 0..=lattice.length() {
            // Of all paths to the position; there is one to the start.
            let ending = lattice.ending_at(position).iter();
            let ending = ending.map(|node| weights.of_node(*node) + weights.before[*node]);
            let weight = ending.reduce(log_sum).unwrap_or(0.0);
            weights.before[lattice.beginning_at(position)].fill(weight);
        }
        weights
    }

    /// The logarithm of the weight of a node alone.
    fn of_node(&self, node: usize) -> f32 {
        self.alpha * self.lattice.nodes[node].score
    }

    /// The logarithm of the weight of a path.
    pub(super) fn of_path(&self, path: &[usize]) -> f32 {
        path.iter().fold(0.0, |sum, node| sum + self.of_node(*node))
    }

    /// The logarithm of the total weight of all segmentations.
    ///
    /// # Errors
    /// It is infinite or NaN, because alpha or the scores are too large.
    pub(super) fn total(&self) -> Result<f32, EncodeError> {
        self.finite(self.before[END])
    }

    /// A number that was computed with alpha.
    ///
    /// # Errors
    /// It is infinite or NaN, because alpha or the scores are too large.
    pub(super) fn finite(&self, value: f32) -> Result<f32, EncodeError> {
        if value.is_finite() {
            Ok(value)
        } else {
            Err(EncodeError::Alpha { alpha: self.alpha })
        }
    }

    /// Draws the ids of a segmentation.
    pub(super) fn draw_ids(&self, rng: &mut SplitMix64) -> Vec<PieceId> {
        self.lattice.ids(&self.draw_path(rng))
    }

    /// Draws a path: its nodes without [`START`] and [`END`].
    pub(super) fn draw_path(&self, rng: &mut SplitMix64) -> Vec<usize> {
        let mut path = Vec::new();
        let mut node = self.draw_previous(END, rng);
        while node != START {
            path.push(node);
            node = self.draw_previous(node, rng);
        }
        path.reverse();
        path
    }

    /// Draws the node before `node`.
    fn draw_previous(&self, node: usize, rng: &mut SplitMix64) -> usize {
        let previous = self.lattice.ending_before(node);
        let probability = |left: &usize| libm::exp(f64::from(self.log_transition(*left, node)));
        let probabilities: Vec<f64> = previous.iter().map(probability).collect();
        previous[draw(&probabilities, rng)]
    }

    /// The logarithm of the probability of `left` before `right`.
    pub(super) fn log_transition(&self, left: usize, right: usize) -> f32 {
        self.before[left] + self.of_node(left) - self.before[right]
    }
}

/// Draws an index in proportion to `weights`. Weights that are not finite or not above 0 are never
/// drawn; if there are no others, the result is 0.
pub(crate) fn draw(weights: &[f64], rng: &mut SplitMix64) -> usize {
    let total: f64 = usable(weights).map(|(_, weight)| weight).sum();
    let mut remaining = rng.unit() * total;
    // The last usable index, if rounding makes `remaining` exceed the sum of the weights.
    let mut drawn = 0;
    for (index, weight) in usable(weights) {
        drawn = index;
        if remaining < weight {
            break;
        }
        remaining -= weight;
    }
    drawn
}

/// The weights that can be drawn, with their indices.
fn usable(weights: &[f64]) -> impl Iterator<Item = (usize, f64)> {
    weights
        .iter()
        .copied()
        .enumerate()
        .filter(|(_, weight)| weight.is_finite() && *weight > 0.0)
}
