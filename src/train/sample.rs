//! Training on some of the sentences: the first `input_sentence_size`, or a random sample of that
//! size.
//!
//! The sample is drawn by reservoir sampling (Algorithm R in Vitter, "Random sampling with a
//! reservoir", 1985, <https://doi.org/10.1145/3147.3165>) with a seeded generator, so the corpus
//! and the seed determine the sample. A corpus of files is read twice: once to draw the positions
//! of the sentences, once to take the sentences; only the positions are held in memory. For a
//! corpus that can be read only once, the sampled sentences themselves are held. The sample is the
//! same in both cases. Files that have become shorter when they are read again are an error.
//!
//! For example, a sample of 2 of the items a, b, c, d (the random numbers are 0 and 2):
//!
//! ```text
//! offer a   kept a
//! offer b   kept a b
//! offer c   random number below 3: 0   kept c b
//! offer d   random number below 4: 2   kept c b     (2 is no index of a kept item)
//! ```
//!
//! The reference seeds its generator anew in every process, so its samples differ from ours and
//! from one another.

use std::ops::ControlFlow;

use crate::base::rng::SplitMix64;
use crate::train::TrainError;
use crate::train::batch::{Batch, SentenceRules};
use crate::train::sentence_counts::SentenceCounts;

/// The seed of a sample if `random_seed` is not given.
pub(crate) const DEFAULT_SEED: u64 = 12_345_678;

/// Keeps `size` of the items that it is offered, each set of that size equally likely.
pub(crate) struct Reservoir<T> {
    size: u64,
    offered: u64,
    kept: Vec<T>,
    rng: SplitMix64,
}

impl<T> Reservoir<T> {
    pub(crate) fn new(size: u64, seed: u64) -> Self {
        Self {
            size,
            offered: 0,
            kept: Vec::new(),
            rng: SplitMix64::new(seed),
        }
    }

    /// Offers the next item; `make` is called only if the item is kept.
    pub(crate) fn offer(&mut self, make: impl FnOnce() -> T) {
        self.offered += 1;
        if (self.kept.len() as u64) < self.size {
            self.kept.push(make());
            return;
        }
        // An index that does not fit `usize` is beyond the kept items, too.
        let index = usize::try_from(self.rng.below(self.offered)).ok();
        if let Some(kept) = index.and_then(|index| self.kept.get_mut(index)) {
            *kept = make();
        }
    }

    pub(crate) fn offered(&self) -> u64 {
        self.offered
    }

    pub(crate) fn into_kept(self) -> Vec<T> {
        self.kept
    }
}

/// Selects some of the sentences that training could use while they are read.
pub(crate) enum SentenceCursor {
    /// The first `wanted` sentences.
    First { wanted: u64, taken: u64 },
    /// The sentences at these positions, ascending.
    At {
        positions: Vec<u64>,
        next: usize,
        position: u64,
    },
}

impl SentenceCursor {
    pub(crate) fn first(wanted: u64) -> Self {
        Self::First { wanted, taken: 0 }
    }

    pub(crate) fn at(mut positions: Vec<u64>) -> Self {
        positions.sort_unstable();
        Self::At {
            positions,
            next: 0,
            position: 0,
        }
    }

    /// Whether nothing more will be taken.
    pub(crate) fn is_complete(&self) -> bool {
        match self {
            Self::First { wanted, taken } => taken >= wanted,
            Self::At {
                positions, next, ..
            } => *next >= positions.len(),
        }
    }

    /// Checks that all chosen sentences were found.
    ///
    /// # Errors
    /// The corpus is shorter than it was when they were chosen.
    pub(crate) fn check_found(&self) -> Result<(), TrainError> {
        match self {
            Self::At { .. } if !self.is_complete() => Err(TrainError::InputChanged),
            _ => Ok(()),
        }
    }

    /// The chosen sentences of `batch`.
    pub(crate) fn select(
        &mut self,
        batch: &Batch,
        rules: SentenceRules,
        counts: &mut SentenceCounts,
    ) -> Result<Batch, TrainError> {
        let mut selected = Batch::texts();
        batch.for_each_used(rules, counts, |sentence, count| {
            if self.takes_next() {
                selected.push(sentence, count);
            }
            Ok(if self.is_complete() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        })?;
        Ok(selected)
    }

    fn takes_next(&mut self) -> bool {
        if self.is_complete() {
            return false;
        }
        match self {
            Self::First { taken, .. } => {
                *taken += 1;
                true
            }
            Self::At {
                positions,
                next,
                position,
            } => {
                let takes = positions[*next] == *position;
                *next += usize::from(takes);
                *position += 1;
                takes
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Reservoir;

    #[test]
    fn every_item_is_equally_likely() {
        let mut kept = [0u32; 20];
        for seed in 0..20_000 {
            let mut reservoir = Reservoir::new(5, seed);
            for item in 0..20usize {
                reservoir.offer(|| item);
            }
            for item in reservoir.into_kept() {
                kept[item] += 1;
            }
        }
        assert!(kept.iter().all(|n| (4_700..5_300).contains(n)), "{kept:?}");
    }

    #[test]
    fn few_items_are_all_kept_in_order() {
        let mut reservoir = Reservoir::new(5, 1);
        (0..4).for_each(|item| reservoir.offer(|| item));
        assert_eq!(reservoir.offered(), 4);
        assert_eq!(reservoir.into_kept(), [0, 1, 2, 3]);
    }
}
