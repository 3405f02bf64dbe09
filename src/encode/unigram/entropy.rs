//! The entropy of all segmentations of a text.
//!
//! The smoothing exponent alpha gives each segmentation a probability in proportion to exp(alpha ·
//! score). The entropy of this distribution in nats says how uncertain the segmentation is: 0 if
//! there is one segmentation, log n if n segmentations are equally likely.
//!
//! The path to a position is a path to a node that ends there, followed by the node. If the node is
//! the last one with the probability p, the entropy at the position is the sum of p · (entropy
//! before the node - log p) over all nodes that end there (Hernando, Crespi, Cybenko, "Efficient
//! computation of the hidden Markov model entropy for a given observation sequence", IEEE
//! Transactions on Information Theory 51(7), 2005, <https://doi.org/10.1109/TIT.2005.850223>). The
//! probabilities are quotients of the [weights](PathWeights) of paths. The sums are computed with
//! the sign turned, in the arithmetic and the order of SentencePiece 0.2.1.
//!
//! Example: the text `les` with the pieces `l`, `e`, `s` (-3 each), `le` (-4) and `les` (-5), alpha
//! 1.
//!
//! | position | nodes that end there | entropy |
//! |---|---|---|
//! | 0 | | 0 |
//! | 1 | `l` (probability 1) | 0 |
//! | 2 | `e` after `l`: e^(-6 + 3.87) = 0.12; `le`: 0.88 | 0.12 · 2.13 + 0.88 · 0.13 = 0.37 |
//! | 3 | `s`: 0.13, `les`: 0.87 | 0.13 · (0.37 + 2.01) + 0.87 · 0.14 = 0.44 |

use super::lattice::Lattice;
use super::sample::PathWeights;
use crate::base::num::round_f32;
use crate::encode::EncodeError;

/// The entropy of the segmentations of a lattice, in nats.
///
/// # Errors
/// The weight of all segmentations is too large or too small for a number, because alpha or the
/// scores are too large.
pub(super) fn entropy(lattice: &Lattice, alpha: f32) -> Result<f32, EncodeError> {
    let weights = PathWeights::new(lattice, alpha);
    weights.total()?;
    // For each node, the negated entropy at the position where the node begins.
    let mut negated = vec![0.0_f32; lattice.nodes.len()];
    let mut last = 0.0;
    for position in 0..=lattice.length() {
        let beginning = lattice.beginning_at(position);
        last = 0.0;
        for left in lattice.ending_at(position) {
            let log_probability = weights.log_transition(*left, beginning.start);
            last += term(log_probability, negated[*left]);
        }
        negated[beginning].fill(last);
    }
    // Not negated, which would give -0.
    Ok(0.0 - weights.finite(last)?)
}

/// The contribution of a node with this probability to the negated entropy. Impossible nodes
/// contribute nothing.
fn term(log_probability: f32, negated_before: f32) -> f32 {
    let probability = round_f32(libm::exp(f64::from(log_probability)));
    if probability > 0.0 {
        probability * (negated_before + log_probability)
    } else {
        0.0
    }
}
