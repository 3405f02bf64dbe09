//! Sampling of several segmentations with their probabilities, with and without replacement.
//!
//! Job: samples for estimates, in which each segmentation has a known probability. Input: a [`Lattice`], the number of
//! samples, the smoothing exponent alpha, and a random generator. Output: segmentations with scores.
//!
//! *With replacement*, every segmentation is drawn by itself, as in [`sample`](super::sample). Its score is the logarithm
//! of its probability: alpha times the sum of its scores, minus the weight of all segmentations.
//!
//! *Without replacement*, no segmentation is drawn twice. The method is stochastic beam search (Kool, van Hoof, Welling,
//! "Stochastic beams and where to find them", ICML 2019, <https://arxiv.org/abs/1903.06059>): if a random number with the
//! Gumbel distribution is added to each log probability, the k segmentations with the highest sums are a sample of k
//! without replacement. The sum is called the *perturbed* log probability. The sums of all segmentations are never
//! computed. A *branch* is a node with a path from it to the end of the text; its perturbed log probability is the highest
//! of all segmentations that end with this path. It is drawn from the end of the text to the start: the branches that
//! extend a branch get random numbers whose maximum is the number of the extended branch (section 3.2 and appendix B.3 of
//! the paper). Hence the best branch leads, without a change of its number, to a segmentation that nothing exceeds, and of
//! all branches only as many are kept as segmentations are still to be found: each of them stands for a segmentation with
//! its number. This keeps the search exact and its memory small; SentencePiece 0.2.1 keeps all branches and drops some when
//! there are ten thousand.
//!
//! The score of a segmentation is the logarithm of the probability that the sample contains it, given the perturbed log
//! probability t of the first segmentation that was not drawn: log(1 - exp(-exp(log p - t))). If the sample has all
//! segmentations, all scores are 0. The best segmentation can be made a part of each sample; its score is then 0, and the
//! others are a sample of the remaining segmentations.
//!
//! Example: the lattice of `les` with the pieces `l`, `e`, `s` (-3 each), `le` (-4) and `les` (-5), alpha 1, two samples
//! without replacement. Two samples and t need three results; t is the number of the third. The segmentations have the
//! log probabilities -0.14 (`les`), -2.14 (`le s`) and -4.14 (`l e s`).
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
//! t is -3.4, so `les` has the score log(1 - exp(-exp(-0.14 + 3.4))) = -5e-12, and `le s` has -0.03.
//!
//! Cost: one step for each node that ends at a position of a drawn path, and a logarithm of the number of samples for each
//! branch that is kept. Memory: 24 bytes for each piece of a drawn path, and 48 for each branch.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::lattice::{END, Lattice, START};
use super::sample::{draw_path, final_weight, forward};
use crate::error::EncodeError;
use crate::piece::PieceId;
use crate::rng::SplitMix64;

/// The limit for the number of samples times the number of characters and the end: 400 MB, or 16 million short words.
const MAX_SAMPLED_CHARS: usize = 1 << 24;

/// Below this logarithm, the probability that a sample contains a segmentation is computed from the first terms of a
/// series, as in the reference.
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

/// A segmentation and its score.
type ScoredIds = (Vec<PieceId>, f32);

/// A lattice with the weights of its nodes.
struct Sampler<'l> {
    lattice: &'l Lattice,
    alpha: f32,
    weights: Vec<f32>,
    /// The logarithm of the weight of all segmentations.
    total: f32,
}

impl<'l> Sampler<'l> {
    /// # Errors
    /// Too many samples of such a long text, or an alpha that makes weights infinite.
    fn new(lattice: &'l Lattice, request: ScoredRequest) -> Result<Self, EncodeError> {
        let limit = MAX_SAMPLED_CHARS / (lattice.length() + 1);
        if request.samples > limit {
            return Err(EncodeError::TooManySamples {
                samples: request.samples,
                limit,
            });
        }
        let weights = forward(lattice, request.alpha);
        Ok(Sampler {
            lattice,
            alpha: request.alpha,
            total: final_weight(&weights, request.alpha)?,
            weights,
        })
    }

    /// The ids of a path, and the logarithm of its probability in the arithmetic of the reference.
    fn scored_ids(&self, path: &[usize]) -> ScoredIds {
        let nodes = path.iter().map(|node| &self.lattice.nodes[*node]);
        let sum = nodes
            .clone()
            .fold(0.0, |sum, node| sum + self.alpha * node.score);
        (nodes.map(|node| node.id).collect(), sum - self.total)
    }

    /// The logarithm of the probability of `left` before `right`.
    fn log_transition(&self, left: usize, right: usize) -> f64 {
        let score = self.alpha * self.lattice.nodes[left].score;
        f64::from(self.weights[left] + score - self.weights[right])
    }

    /// The `count` paths with the highest perturbed log probabilities, highest first; fewer if there are no more.
    fn draw_distinct(&self, count: usize, rng: &mut SplitMix64) -> Vec<DrawnPath> {
        let mut found = Vec::new();
        let mut suffixes: Vec<PathSuffix> = Vec::new();
        let mut agenda = BranchAgenda::with_end(gumbel(rng));
        while found.len() < count {
            let Some((perturbed, branch)) = agenda.pop_highest() else {
                break;
            };
            if branch.node == START {
                found.push(DrawnPath {
                    nodes: path_of(&suffixes, branch.suffix),
                    perturbed,
                });
                continue;
            }
            let suffix = suffixes.len();
            suffixes.push(PathSuffix {
                node: branch.node,
                next: branch.suffix,
            });
            for (perturbed, log_probability, node) in self.extend(perturbed, branch, rng) {
                let extended = Branch {
                    node,
                    suffix: Some(suffix),
                    log_probability,
                };
                agenda.push(perturbed, extended);
            }
            agenda.keep_highest(count - found.len());
        }
        found
    }

    /// The nodes before a branch: for each its perturbed log probability, its log probability, and the node. The maximum of
    /// the perturbed log probabilities is that of the branch.
    fn extend(&self, limit: f64, branch: Branch, rng: &mut SplitMix64) -> Vec<(f64, f64, usize)> {
        let begin = self.lattice.nodes[branch.node].begin;
        let previous = self.lattice.ending_at(begin).iter();
        let log_probabilities = previous
            .map(|left| {
                let step = self.log_transition(*left, branch.node);
                (branch.log_probability + step, *left)
            })
            // Nodes whose weight is 0 in 32 bits are on no path.
            .filter(|(log_probability, _)| log_probability.is_finite());
        let free: Vec<(f64, f64, usize)> = log_probabilities
            .map(|(log_probability, left)| (log_probability + gumbel(rng), log_probability, left))
            .collect();
        let highest = free
            .iter()
            .map(|(perturbed, ..)| *perturbed)
            .fold(f64::NEG_INFINITY, f64::max);
        free.into_iter()
            .map(|(perturbed, log_probability, left)| {
                (truncated(perturbed, highest, limit), log_probability, left)
            })
            .collect()
    }
}

/// A random number with the standard Gumbel distribution.
fn gumbel(rng: &mut SplitMix64) -> f64 {
    // Exponentially distributed; 0, once in 2^53 numbers, would be infinite.
    let exponential = (-(-rng.unit()).ln_1p()).max(f64::MIN_POSITIVE);
    -exponential.ln()
}

/// The number `perturbed` of a set whose maximum is `highest`, moved so that the maximum is `limit`: appendix B.3 of the
/// paper. The maximum itself becomes exactly `limit`.
fn truncated(perturbed: f64, highest: f64, limit: f64) -> f64 {
    let shifted = limit - perturbed + (-(perturbed - highest).exp()).ln_1p();
    limit - shifted.max(0.0) - (-shifted.abs()).exp().ln_1p()
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

/// A path from the start to the end, and its perturbed log probability.
struct DrawnPath {
    nodes: Vec<usize>,
    perturbed: f64,
}

/// The place of a branch in the agenda: its perturbed log probability, and a number that makes it unique.
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
    /// An agenda with the branch at the end of the text.
    fn with_end(perturbed: f64) -> Self {
        let mut agenda = Self::default();
        let end = Branch {
            node: END,
            suffix: None,
            log_probability: 0.0,
        };
        agenda.push(perturbed, end);
        agenda
    }

    fn push(&mut self, perturbed: f64, branch: Branch) {
        let rank = BranchRank {
            perturbed,
            number: self.pushed,
        };
        self.pushed += 1;
        self.branches.insert(rank, branch);
    }

    fn pop_highest(&mut self) -> Option<(f64, Branch)> {
        let (rank, branch) = self.branches.pop_last()?;
        Some((rank.perturbed, branch))
    }

    fn keep_highest(&mut self, count: usize) {
        while self.branches.len() > count {
            self.branches.pop_first();
        }
    }
}

/// The requested samples with their scores. Without replacement there are fewer than requested if the text has fewer
/// segmentations.
///
/// # Errors
/// As [`Sampler::new`]; if the best segmentation is wanted, the lattice can also have too many pairs of adjacent nodes.
pub(super) fn draw(
    lattice: &Lattice,
    request: ScoredRequest,
    rng: &mut SplitMix64,
) -> Result<Vec<ScoredIds>, EncodeError> {
    let sampler = Sampler::new(lattice, request)?;
    match request.method {
        ScoredMethod::WithReplacement => Ok(sampler.with_replacement(request.samples, rng)),
        ScoredMethod::WithoutReplacement => Ok(sampler.without_replacement(request.samples, rng)),
        ScoredMethod::WithBest => sampler.with_best(request.samples, rng),
    }
}

impl Sampler<'_> {
    /// Independent samples, with the logarithms of their probabilities.
    fn with_replacement(&self, samples: usize, rng: &mut SplitMix64) -> Vec<ScoredIds> {
        let mut draw = || {
            let path = draw_path(self.lattice, &self.weights, self.alpha, rng);
            self.scored_ids(&path)
        };
        (0..samples).map(|_| draw()).collect()
    }

    /// Distinct samples, with the logarithms of the probabilities that a sample contains them.
    fn without_replacement(&self, samples: usize, rng: &mut SplitMix64) -> Vec<ScoredIds> {
        let drawn = self.draw_distinct(samples + 1, rng);
        let paths = drawn.iter().map(|path| self.scored_ids(&path.nodes));
        let threshold = drawn.get(samples).map(|path| path.perturbed);
        with_inclusion(paths.take(samples), threshold)
    }

    /// Like [`without_replacement`](Sampler::without_replacement), with the best segmentation first.
    ///
    /// # Errors
    /// The lattice has too many pairs of adjacent nodes.
    fn with_best(
        &self,
        samples: usize,
        rng: &mut SplitMix64,
    ) -> Result<Vec<ScoredIds>, EncodeError> {
        self.lattice.check_pairs()?;
        let Some(others) = samples.checked_sub(1) else {
            return Ok(Vec::new());
        };
        let (best, _) = self.lattice.best();
        // One more for the threshold, and one more because the best can be among them.
        let drawn = self.draw_distinct(others + 2, rng);
        let drawn: Vec<(ScoredIds, f64)> = drawn
            .iter()
            .map(|path| (self.scored_ids(&path.nodes), path.perturbed))
            .filter(|((ids, _), _)| *ids != best)
            .collect();
        let threshold = drawn.get(others).map(|(_, perturbed)| *perturbed);
        let paths = drawn.into_iter().map(|(path, _)| path).take(others);
        let mut results = vec![(best, 0.0)];
        results.extend(with_inclusion(paths, threshold));
        Ok(results)
    }
}

/// Replaces log probabilities by the logarithms of the probabilities of being drawn.
fn with_inclusion(
    paths: impl Iterator<Item = ScoredIds>,
    threshold: Option<f64>,
) -> Vec<ScoredIds> {
    let log = |log_probability| threshold.map_or(0.0, |at| log_inclusion(log_probability, at));
    paths.map(|(ids, score)| (ids, log(score))).collect()
}

/// The logarithm of the probability that a perturbed log probability exceeds the threshold.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the reference narrows the double result here"
)]
fn log_inclusion(log_probability: f32, threshold: f64) -> f32 {
    let log_rate = f64::from(log_probability) - threshold;
    let rate = log_rate.exp();
    let log = if log_rate <= MIN_DIRECT_LOG {
        log_rate - rate / 2.0 + rate.powi(2) / 24.0 - rate.powi(4) / 2880.0
    } else {
        (-(-rate).exp_m1()).ln()
    };
    log as f32
}
