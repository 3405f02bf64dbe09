//! Sums over all texts, as the reference adds them.
//!
//! The reference divides the texts among `num_threads` threads. Each thread adds 32-bit floats, and
//! the sums of the threads are then added. So `num_threads` affects the result. Here, too, text i
//! belongs to the partial sum i mod `num_threads`, whatever the number of threads that run. A
//! thread computes the partial sums of a group side by side, since texts that follow each other
//! share most of their lattices ([`CorpusLattices`]). The totals of a seed in these sums lie next
//! to each other in memory, because such texts have the same seeds.
//!
//! Example with two partial sums of one group, and the texts `ab`, `b`, `a`: the totals of `a` and
//! `b` are two numbers each, `a: 0 0, b: 0 0`. With 1 added for each character, they are `a: 1 0,
//! b: 1 0` after `ab`, `a: 1 0, b: 1 1` after `b` and `a: 2 0, b: 1 1` at the end. The result is
//! `a: 2, b: 2`.
//!
//! Memory: one number for each seed in each partial sum that is being computed.

use rayon::prelude::*;

use super::corpus_lattices::{CorpusLattices, GROUPS_PER_THREAD};
use super::lattice::TextLattice;
use super::math::FastMath;
use super::pieces::PieceList;
use super::seed_totals::SeedTotals;

/// The number of seeds whose sums a thread adds as one task.
const ADDED_SEEDS: usize = 1 << 14;

/// The sums over all texts.
#[derive(Debug, Default)]
pub(super) struct TextSums {
    pub(super) by_seed: Vec<f32>,
    pub(super) log_likelihood: f64,
}

/// The sums of a group.
#[derive(Debug, Default)]
struct GroupSums {
    /// By seed and then by partial sum.
    by_seed: Vec<f32>,
    /// By partial sum.
    log_likelihoods: Vec<f64>,
}

impl GroupSums {
    fn reset(&mut self, seeds: usize, partials: usize) {
        reset(&mut self.by_seed, seeds * partials);
        reset(&mut self.log_likelihoods, partials);
    }
}

/// Replaces the content of `values` by `length` zeros.
fn reset<T: Clone + Default>(values: &mut Vec<T>, length: usize) {
    values.clear();
    values.resize(length, T::default());
}

/// Calls `visit` for each text with its lattice, its frequency and the totals of its partial sum.
/// The first argument is a state of the group, whose texts are visited in order. Returns the sums;
/// the log likelihood is the sum of the values that `visit` returns. With `math`, the lattice
/// includes the sums that [`TextLattice::expect`] needs. Runs on the current pool.
pub(super) fn sum_texts<S>(
    corpus: &CorpusLattices,
    pieces: &PieceList,
    math: Option<&FastMath>,
    state: impl Fn() -> S + Sync,
    visit: impl Fn(&mut S, &mut TextLattice, f32, &mut SeedTotals<'_>) -> f64 + Sync,
) -> TextSums {
    let seeds = pieces.seeds();
    let sum_group = |(group, sums): (usize, &mut GroupSums)| {
        let partials = corpus.partials_of(group);
        sums.reset(seeds, partials);
        let mut state = state();
        corpus.for_each(group, pieces, math, |lattice, frequency, partial| {
            let mut totals = SeedTotals::new(&mut sums.by_seed, partials, partial);
            let log_likelihood = visit(&mut state, lattice, frequency, &mut totals);
            sums.log_likelihoods[partial] += log_likelihood;
        });
    };
    let mut total = TextSums {
        by_seed: vec![0.0; seeds],
        log_likelihood: 0.0,
    };
    // The number of groups that run before all threads wait for the slowest one.
    let wave = rayon::current_num_threads().max(1) * GROUPS_PER_THREAD;
    let mut buffers: Vec<GroupSums> = Vec::new();
    buffers.resize_with(wave.min(corpus.groups()), GroupSums::default);
    for first in (0..corpus.groups()).step_by(wave) {
        let groups = first..corpus.groups().min(first + wave);
        let count = groups.len();
        groups
            .into_par_iter()
            .zip(&mut buffers)
            .with_max_len(1)
            .for_each(sum_group);
        total.add(&buffers[..count]);
    }
    total
}

impl TextSums {
    /// Adds the sums of groups in the order of the partial sums. The seeds are divided among the
    /// threads of the current pool.
    fn add(&mut self, groups: &[GroupSums]) {
        for group in groups {
            for log_likelihood in &group.log_likelihoods {
                self.log_likelihood += log_likelihood;
            }
        }
        let add_seeds = |(number, sums): (usize, &mut [f32])| {
            let start = number * ADDED_SEEDS;
            for group in groups {
                let partials = group.log_likelihoods.len();
                let added = &group.by_seed[start * partials..];
                for (sum, added) in sums.iter_mut().zip(added.chunks_exact(partials)) {
                    for value in added {
                        *sum += value;
                    }
                }
            }
        };
        self.by_seed
            .par_chunks_mut(ADDED_SEEDS)
            .enumerate()
            .for_each(add_seeds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::unigram::testing::Pieces;

    /// 2^24 + 1 has no 32-bit float, so that the order of the sums shows.
    #[test]
    fn partial_sums_are_added_in_their_order() {
        let pieces = Pieces::new(&[("a", -1.0)]);
        let sum = |counts: &[u64], partials| {
            let texts: Vec<(&str, u64)> = counts.iter().map(|count| ("a", *count)).collect();
            let corpus = pieces.corpus(&texts, partials);
            let sums = sum_texts(
                &corpus,
                &pieces.list,
                None,
                || (),
                |(), _, frequency, totals| {
                    *totals.at(0) += frequency;
                    f64::from(frequency)
                },
            );
            assert_eq!(sums.log_likelihood, counts.iter().sum::<u64>() as f64);
            sums.by_seed[0]
        };
        const MANY: u64 = 16_777_216;
        for threads in [1, 2, 7] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().unwrap().install(|| {
                assert_eq!(sum(&[MANY, 1, 1], 3), 16_777_216.0);
                assert_eq!(sum(&[1, 1, MANY], 3), 16_777_218.0);
                // The last two are in one partial sum, which is even.
                assert_eq!(sum(&[MANY, 1, MANY, 1], 2), 33_554_434.0);
                assert_eq!(sum(&[MANY, MANY, 1, 1, 1], 5), 33_554_432.0);
                assert_eq!(sum(&[1; 100], 16), 100.0);
            });
        }
    }
}
