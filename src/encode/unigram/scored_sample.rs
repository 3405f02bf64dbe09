//! Sampling of several segmentations with their probabilities, with and without replacement.
//!
//! Estimates need samples in which each segmentation has a known probability.
//!
//! *With replacement*, every segmentation is drawn independently, as in [`sample`](super::sample).
//! Its score is the logarithm of its probability: alpha times the sum of its scores, minus the
//! weight of all segmentations.
//!
//! *Without replacement*, no segmentation is drawn twice. The method is stochastic beam search
//! (Kool, van Hoof, Welling, "Stochastic beams and where to find them", ICML 2019,
//! <https://arxiv.org/abs/1903.06059>): if a random number with the Gumbel distribution is added to
//! each log probability, the k segmentations with the highest sums are a sample of k without
//! replacement. The sum is called the *perturbed* log probability. The sums of all segmentations
//! are never computed. A *branch* is a node with a path from it to the end of the text; its
//! perturbed log probability is the highest of all segmentations that end with this path. The
//! search goes from the end of the text to the start: the branches that extend a branch get random
//! numbers whose maximum is the number of the extended branch (section 3.2 and appendix B.3 of the
//! paper). Hence the best branch leads to a segmentation with the same number, which no other
//! segmentation exceeds. Every branch stands for a segmentation with its number, so only as many
//! branches are kept as segmentations are still to be found. This keeps the search exact and its
//! memory small; SentencePiece 0.2.1 keeps all branches and drops some when there are ten thousand.
//!
//! The score of a segmentation is the logarithm of the probability that the sample contains it,
//! given the perturbed log probability t of the first segmentation that was not drawn: log(1 -
//! exp(-exp(log p - t))). If the sample has all segmentations, all scores are 0. On request, each
//! sample contains the best segmentation; its score is then 0, and the others are a sample of the
//! remaining segmentations.
//!
//! Example: the lattice of `les` with the pieces `l`, `e`, `s` (-3 each), `le` (-4) and `les` (-5),
//! alpha 1, two samples without replacement. Two samples and t need three results; t is the number
//! of the third. The segmentations have the log probabilities -0.14 (`les`), -2.14 (`le s`) and
//! -4.14 (`l e s`).
//!
//! | step | best branch | added |
//! |---|---|---|
//! | 1 | the end, 0.9 | `les` 0.9 (the highest has the number of the end), `s` -1.1 |
//! | 2 | `les`, 0.9 | the start before `les` 0.9 |
//! | 3 | the start: result `les`, 0.9 | |
//! | 4 | `s`, -1.1 | `le` -1.1, `e` -3.4 |
//! | 5, 6 | `le`, -1.1, then the start: result `le s` | |
//! | 7 to 9 | `e`, `l`, the start: result `l e s`, -3.4 | |
//!
//! t is -3.4, so `les` has the score log(1 - exp(-exp(-0.14 + 3.4))) = -5e-12, and `le s` has
//! -0.03.
//!
//! Memory: 24 bytes for each piece of a drawn path, and 48 for each branch.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::lattice::{END, Lattice, START, ScoredIds};
use super::sample::PathWeights;
use crate::base::rng::SplitMix64;
use crate::encode::EncodeError;
use crate::piece::PieceId;

/// The limit for the number of samples times (the number of characters + 1): 400 MB, or 16 million
/// short words.
const MAX_SAMPLED_CHARS: usize = 1 << 24;

/// Below this logarithm, the probability that a sample contains a segmentation is computed from the
/// first terms of a series, as in the reference.
const MIN_DIRECT_LOG: f64 = -10.0;

/// How segmentations are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScoredMethod {
    WithReplacement,
    WithoutReplacement,
    /// Without replacement, and the best segmentation is always drawn.
    WithBest,
}

/// How many segmentations are drawn, from which distribution, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScoredRequest {
    pub(crate) samples: usize,
    pub(crate) alpha: f32,
    pub(crate) method: ScoredMethod,
}

/// A lattice with the weights of its paths.
struct Sampler<'l> {
    weights: PathWeights<'l>,
    /// The logarithm of the weight of all segmentations.
    total: f32,
}

impl<'l> Sampler<'l> {
    /// # Errors
    /// Too many samples for the length of the text, or an alpha that makes weights infinite.
    fn new(lattice: &'l Lattice, request: ScoredRequest) -> Result<Self, EncodeError> {
        let limit = MAX_SAMPLED_CHARS / (lattice.length() + 1);
        if request.samples > limit {
            return Err(EncodeError::TooManySamples {
                samples: request.samples,
                limit,
            });
        }
        let weights = PathWeights::new(lattice, request.alpha);
        Ok(Self {
            total: weights.total()?,
            weights,
        })
    }

    /// The ids of a path, and the logarithm of its probability in the arithmetic of the reference.
    fn scored_ids(&self, path: &[usize]) -> ScoredIds {
        let weight = self.weights.of_path(path);
        (self.weights.lattice.ids(path), weight - self.total)
    }

    /// The `count` segmentations with the highest perturbed log probabilities, highest first; fewer
    /// if there are no more.
    fn draw_distinct(&self, count: usize, rng: &mut SplitMix64) -> Vec<DrawnSample> {
        let mut found = Vec::new();
        let mut suffixes: Vec<PathSuffix> = Vec::new();
        let mut agenda = BranchAgenda::default();
        agenda.push(gumbel(rng), Branch::END);
        while found.len() < count
            && let Some((BranchRank { perturbed, .. }, branch)) = agenda.branches.pop_last()
        {
            if branch.node == START {
                found.push(self.drawn(&path_of(&suffixes, branch.suffix), perturbed));
                continue;
            }
            let mut extended = self.extend(branch, suffixes.len(), rng);
            suffixes.push(PathSuffix {
                node: branch.node,
                next: branch.suffix,
            });
            truncate(&mut extended, perturbed);
            for (perturbed, branch) in extended {
                agenda.push(perturbed, branch);
            }
            while agenda.branches.len() > count - found.len() {
                agenda.branches.pop_first();
            }
        }
        found
    }

    fn drawn(&self, path: &[usize], perturbed: f64) -> DrawnSample {
        let (ids, log_probability) = self.scored_ids(path);
        DrawnSample {
            ids,
            log_probability,
            perturbed,
        }
    }

    /// The branches that extend `branch` by one node, with perturbed log probabilities. `suffix` is
    /// the index of `branch` among the suffixes.
    fn extend(&self, branch: Branch, suffix: usize, rng: &mut SplitMix64) -> Vec<PerturbedBranch> {
        let previous = self.weights.lattice.ending_before(branch.node).iter();
        previous
            .map(|left| self.extended(branch, *left, suffix))
            // Nodes whose weight is 0 in 32 bits are on no path.
            .filter(|extended| extended.log_probability.is_finite())
            .map(|extended| (extended.log_probability + gumbel(rng), extended))
            .collect()
    }

    /// The branch that begins with `node` and continues with `next`, whose index among the suffixes
    /// is `suffix`.
    fn extended(&self, next: Branch, node: usize, suffix: usize) -> Branch {
        let step = self.weights.log_transition(node, next.node);
        Branch {
            node,
            suffix: Some(suffix),
            log_probability: next.log_probability + f64::from(step),
        }
    }
}

/// A random number with the standard Gumbel distribution.
fn gumbel(rng: &mut SplitMix64) -> f64 {
    // Exponentially distributed; 0, once in 2^53 numbers, would be infinite.
    let exponential = (-libm::log1p(-rng.unit())).max(f64::MIN_POSITIVE);
    -libm::log(exponential)
}

/// Moves perturbed log probabilities so that their maximum is `limit`.
fn truncate(branches: &mut [PerturbedBranch], limit: f64) {
    let perturbed = branches.iter().map(|(perturbed, _)| *perturbed);
    let highest = perturbed.fold(f64::NEG_INFINITY, f64::max);
    for (perturbed, _) in branches {
        *perturbed = truncated(*perturbed, highest, limit);
    }
}

/// The number `perturbed` of a set whose maximum is `highest`, moved so that the maximum is
/// `limit`: appendix B.3 of the paper. The maximum itself becomes exactly `limit`.
fn truncated(perturbed: f64, highest: f64, limit: f64) -> f64 {
    let shifted = limit - perturbed + libm::log1p(-libm::exp(perturbed - highest));
    limit - shifted.max(0.0) - libm::log1p(libm::exp(-shifted.abs()))
}

/// A piece of a path, and what follows it.
#[derive(Debug, Clone, Copy)]
struct PathSuffix {
    node: usize,
    /// The index of the suffix that begins after the node; `None` for the node [`END`].
    next: Option<usize>,
}

/// The nodes of a path from the start, without [`END`].
fn path_of(suffixes: &[PathSuffix], first: Option<usize>) -> Vec<usize> {
    let path = std::iter::successors(first, |at| suffixes[*at].next);
    path.map(|at| suffixes[at].node)
        .filter(|node| *node != END)
        .collect()
}

/// A node and the path that follows it.
#[derive(Debug, Clone, Copy)]
struct Branch {
    node: usize,
    /// The path after the node; `None` for the node [`END`].
    suffix: Option<usize>,
    /// The logarithm of the probability that a segmentation ends with the node and this path.
    log_probability: f64,
}

impl Branch {
    /// The empty path at the end of the text.
    const END: Self = Self {
        node: END,
        suffix: None,
        log_probability: 0.0,
    };
}

/// A branch and its perturbed log probability.
type PerturbedBranch = (f64, Branch);

/// A segmentation that was drawn without replacement.
struct DrawnSample {
    ids: Vec<PieceId>,
    log_probability: f32,
    perturbed: f64,
}

impl DrawnSample {
    /// The segmentation with the logarithm of its probability of being drawn, 0 without a
    /// threshold.
    fn scored(self, threshold: Option<f64>) -> ScoredIds {
        let log = |at| log_inclusion(self.log_probability, at);
        (self.ids, threshold.map_or(0.0, log))
    }
}

/// The place of a branch in the agenda: its perturbed log probability, and a number that makes it
/// unique.
#[derive(Debug, Clone, Copy, PartialEq)]
struct BranchRank {
    perturbed: f64,
    number: usize,
}

impl Eq for BranchRank {}

impl Ord for BranchRank {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_priority = self.perturbed.total_cmp(&other.perturbed);
        by_priority.then(self.number.cmp(&other.number))
    }
}

impl PartialOrd for BranchRank {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The branches that are still to be extended.
#[derive(Debug, Default)]
struct BranchAgenda {
    branches: BTreeMap<BranchRank, Branch>,
    pushed: usize,
}

impl BranchAgenda {
    fn push(&mut self, perturbed: f64, branch: Branch) {
        let number = self.pushed;
        self.pushed += 1;
        self.branches
            .insert(BranchRank { perturbed, number }, branch);
    }
}

/// The requested samples with their scores. Without replacement there are fewer than requested if
/// the text has fewer segmentations.
///
/// # Errors
/// As [`Sampler::new`]; if the best segmentation is wanted, the lattice can also have too many
/// pairs of adjacent nodes.
pub(super) fn draw(
    lattice: &Lattice,
    request: ScoredRequest,
    rng: &mut SplitMix64,
) -> Result<Vec<ScoredIds>, EncodeError> {
    let sampler = Sampler::new(lattice, request)?;
    let samples = request.samples;
    match request.method {
        ScoredMethod::WithReplacement => Ok((0..samples)
            .map(|_| sampler.scored_ids(&sampler.weights.draw_path(rng)))
            .collect()),
        ScoredMethod::WithoutReplacement => {
            let drawn = sampler.draw_distinct(samples + 1, rng);
            Ok(with_inclusion(drawn, samples))
        }
        ScoredMethod::WithBest => sampler.with_best(samples, rng),
    }
}

impl Sampler<'_> {
    /// Distinct samples, of which the first is the best segmentation, with the logarithms of the
    /// probabilities that a sample contains them.
    ///
    /// # Errors
    /// The lattice has too many pairs of adjacent nodes.
    fn with_best(
        &self,
        samples: usize,
        rng: &mut SplitMix64,
    ) -> Result<Vec<ScoredIds>, EncodeError> {
        let lattice = self.weights.lattice;
        lattice.check_pairs()?;
        let Some(others) = samples.checked_sub(1) else {
            return Ok(Vec::new());
        };
        let (best, _) = lattice.best();
        // One more for the threshold, and one more because the best can be among them.
        let mut drawn = self.draw_distinct(others + 2, rng);
        drawn.retain(|sample| sample.ids != best);
        let mut results = vec![(best, 0.0)];
        results.extend(with_inclusion(drawn, others));
        Ok(results)
    }
}

/// The first samples, at most `count`, with the logarithms of their probabilities of being drawn.
fn with_inclusion(drawn: Vec<DrawnSample>, count: usize) -> Vec<ScoredIds> {
    let threshold = drawn.get(count).map(|next| next.perturbed);
    let first = drawn.into_iter().take(count);
    first.map(|sample| sample.scored(threshold)).collect()
}

/// The logarithm of the probability that a perturbed log probability exceeds the threshold.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the reference narrows the double result here"
)]
fn log_inclusion(log_probability: f32, threshold: f64) -> f32 {
    log_of_any_event(f64::from(log_probability) - threshold) as f32
}

/// The logarithm of the probability that a Poisson process with this logarithm of its rate has an
/// event: log(1 - exp(-exp(log_rate))).
fn log_of_any_event(log_rate: f64) -> f64 {
    let rate = libm::exp(log_rate);
    if log_rate <= MIN_DIRECT_LOG {
        let square = rate * rate;
        log_rate - rate / 2.0 + square / 24.0 - square * square / 2880.0
    } else {
        libm::log(-libm::expm1(-rate))
    }
}
