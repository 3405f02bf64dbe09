//! The pairs of adjacent symbols that are frequent enough to be merged soon: their counts, and the
//! positions where they occur.
//!
//! Only pairs that occur at least `min_count` times are indexed: most pairs of a corpus occur a few
//! times and are never merged. When the queue of indexed pairs is empty, `min_count` is lowered and
//! the index is rebuilt from the words as they are then.
//!
//! This is exact, because the count of a pair never rises once both of its symbols exist: merges
//! only remove occurrences of existing symbols. A pair that falls below `min_count` can therefore
//! be dropped until the next rebuild. For example, with 32,000 merges wanted and 64 million
//! occurrences of pairs, the first `min_count` is 64,000,000 / (32,000 * 64) = 31.

use std::ops::Range;

use foldhash::fast::SeedableRandomState;
use rayon::prelude::*;

use crate::train::TrainError;
use crate::train::bpe::pair_map::PairMap;
use crate::train::bpe::queue::{Candidate, PairPlaces, PairSource, TieOrder};
use crate::train::bpe::symbols::{Symbol, SymbolArena};
use crate::train::bpe::word_buffer::WordBuffer;
use crate::train::split::SplitRules;

/// One pair.
#[derive(Debug)]
pub(crate) struct IndexedPair {
    /// Occurrences, overlapping ones included.
    pub(crate) count: u64,
    /// Positions where it occurs or once occurred, ascending.
    pub(crate) positions: Vec<u32>,
    symbols: (Symbol, Symbol),
}

/// The frequent pairs.
#[derive(Debug)]
pub(crate) struct PairIndex {
    min_count: u64,
    pairs: Vec<IndexedPair>,
    index: PairMap<u32>,
}

/// The value in the index of pairs that are not kept.
const NO_PAIR: u32 = u32::MAX;

/// The result of counting a pair in a part of the words.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct PairCount {
    count: u64,
    positions: u32,
}

/// More passes do not pay.
const MAX_PASSES: u32 = 16;
/// The words are divided into at most this many parts, which are counted at the same time: each
/// part adds 20 bytes for a frequent pair while the index is built.
const MAX_PARTS: usize = 16;

/// The counts of the frequent pairs of adjacent symbols.
pub(crate) struct PairCounts {
    /// The parts in which they were counted.
    parts: Vec<Range<usize>>,
    frequent: Vec<((Symbol, Symbol), u64)>,
    /// The number of positions of each frequent pair in each part: first of the first pair in all
    /// parts, then of the second.
    positions: Vec<u32>,
    highest: u64,
}

impl PairCounts {
    /// Counts all pairs, on the threads of the current pool, and keeps those that occur at least
    /// `min_count` times.
    ///
    /// To save memory, the pairs of a large buffer are divided into classes, each counted in a pass
    /// of its own; there is about one pass for each `slots_per_pass` slots. In
    /// memory are the pairs of a class in each part, and the frequent pairs.
    pub(crate) fn of(
        words: &WordBuffer,
        symbols: &SymbolArena,
        hasher: &SeedableRandomState,
        (min_count, slots_per_pass): (u64, usize),
    ) -> Self {
        let mut counts = Self {
            parts: parts(words),
            frequent: Vec::new(),
            positions: Vec::new(),
            highest: 0,
        };
        // A power of two.
        let passes = u32::try_from(words.len() / slots_per_pass)
            .unwrap_or(MAX_PASSES)
            .clamp(1, MAX_PASSES)
            .next_power_of_two();
        for class in 0..passes {
            let class = PairClass { class, passes };
            let count = |slots: &Range<usize>| count_pairs(words, symbols, hasher, slots, class);
            let mut counted: Vec<_> = counts.parts.par_iter().map(count).collect();
            let Some((first, rest)) = counted.split_first_mut() else {
                continue;
            };
            // The counts of the first part become the sums; its positions stay its own.
            for part in rest.iter() {
                for ((left, right), entry) in part.iter() {
                    first.value_mut(left, right).count += entry.count;
                }
            }
            for ((left, right), entry) in first.iter() {
                counts.highest = counts.highest.max(entry.count);
                if entry.count >= min_count {
                    counts.frequent.push(((left, right), entry.count));
                    counts.positions.push(entry.positions);
                    let rest = rest.iter().map(|part| part.get(left, right));
                    let rest = rest.map(|entry| entry.map_or(0, |entry| entry.positions));
                    counts.positions.extend(rest);
                }
            }
        }
        counts
    }

    /// The largest count of all pairs.
    pub(crate) fn highest(&self) -> u64 {
        self.highest
    }

    /// The frequent pairs.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (Symbol, Symbol)> {
        self.frequent.iter().map(|(pair, _)| *pair)
    }

    /// The sum of the counts of all pairs.
    pub(crate) fn total(words: &WordBuffer, symbols: &SymbolArena) -> u64 {
        let totals = parts(words).into_par_iter().map(|slots| {
            let mut sum = 0u64;
            words.for_each_pair(symbols, slots, |_, count, _, _| {
                sum = sum.saturating_add(count)
            });
            sum
        });
        totals.reduce(|| 0, u64::saturating_add)
    }
}

/// The parts of the words that the threads of the current pool take.
fn parts(words: &WordBuffer) -> Vec<Range<usize>> {
    words.parts(rayon::current_num_threads().min(MAX_PARTS))
}

/// A class of pairs. There are as many classes as passes, a power of two.
#[derive(Debug, Clone, Copy)]
struct PairClass {
    class: u32,
    passes: u32,
}

impl PairClass {
    #[inline]
    fn contains(self, left: Symbol, right: Symbol) -> bool {
        let mixed = left.0.wrapping_mul(0x9E37_79B1).rotate_left(16) ^ right.0;
        mixed & (self.passes - 1) == self.class
    }
}

fn count_pairs(
    words: &WordBuffer,
    symbols: &SymbolArena,
    hasher: &SeedableRandomState,
    slots: &Range<usize>,
    class: PairClass,
) -> PairMap<PairCount> {
    let mut pair_counts = PairMap::new(symbols.len(), PairCount::default(), hasher);
    words.for_each_pair(symbols, slots.clone(), |_, count, left, right| {
        if class.contains(left, right) {
            let entry = pair_counts.value_mut(left, right);
            entry.count += count;
            entry.positions += 1;
        }
    });
    pair_counts
}

impl Default for PairIndex {
    fn default() -> Self {
        Self {
            min_count: 0,
            pairs: Vec::new(),
            index: PairMap::new(0, NO_PAIR, &SeedableRandomState::default()),
        }
    }
}

impl PairIndex {
    /// The pairs of `pair_counts` that `rules` allow to merge; `min_count` is the one that they
    /// were counted with. Runs on the threads of the current pool.
    pub(crate) fn build(
        words: &WordBuffer,
        symbols: &SymbolArena,
        rules: &SplitRules,
        (pair_counts, min_count): (PairCounts, u64),
        hasher: &SeedableRandomState,
    ) -> Result<Self, TrainError> {
        let mut built = Self {
            min_count,
            pairs: Vec::new(),
            index: PairMap::new(symbols.len(), NO_PAIR, hasher),
        };
        let parts = pair_counts.parts;
        // The free positions of each pair in each part.
        let mut known: Vec<&[u32]> = Vec::new();
        let positions = pair_counts.positions.chunks_exact(parts.len().max(1));
        for (((left, right), count), positions) in pair_counts.frequent.into_iter().zip(positions) {
            if symbols.may_merge(rules, left, right) {
                built.insert(left, right, count, 0)?;
                known.push(positions);
            }
        }
        let mut free: Vec<Vec<&mut [u32]>> = parts.iter().map(|_| Vec::new()).collect();
        for (pair, lengths) in built.pairs.iter_mut().zip(known) {
            pair.positions = vec![0; lengths.iter().map(|length| *length as usize).sum()];
            let mut rest = pair.positions.as_mut_slice();
            for (free, length) in free.iter_mut().zip(lengths) {
                let (own, after) = rest.split_at_mut(*length as usize);
                free.push(own);
                rest = after;
            }
        }
        let index = &built.index;
        parts
            .into_par_iter()
            .zip(free)
            .for_each(|(slots, mut free)| {
                words.for_each_pair(symbols, slots, |position, _, left, right| {
                    if let Some(pair) = index.get(left, right) {
                        let free = &mut free[pair as usize];
                        if let Some((first, rest)) = std::mem::take(free).split_first_mut() {
                            *first = position;
                            *free = rest;
                        }
                    }
                });
            });
        Ok(built)
    }

    /// Adds the pair of two symbols, which occurs `count` times in `positions` positions, and
    /// returns its number.
    pub(crate) fn insert(
        &mut self,
        left: Symbol,
        right: Symbol,
        count: u64,
        positions: usize,
    ) -> Result<u32, TrainError> {
        let pair = u32::try_from(self.pairs.len())
            .ok()
            .filter(|pair| *pair != NO_PAIR);
        let Some(pair) = pair else {
            return Err(TrainError::TooLarge { what: "pairs" });
        };
        self.pairs.push(IndexedPair {
            count,
            positions: Vec::with_capacity(positions),
            symbols: (left, right),
        });
        *self.index.value_mut(left, right) = pair;
        Ok(pair)
    }

    pub(crate) fn min_count(&self) -> u64 {
        self.min_count
    }

    /// The current count of a pair, 0 once it is below the min_count.
    pub(crate) fn count(&self, pair: u32) -> u64 {
        self.pairs[pair as usize].count
    }

    /// Number of pairs that were ever kept.
    pub(crate) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// The pairs from number `first` on.
    pub(crate) fn since(&mut self, first: usize) -> &mut [IndexedPair] {
        &mut self.pairs[first..]
    }

    /// Sets where a pair occurs, ascending.
    pub(crate) fn set_positions(&mut self, pair: u32, positions: Vec<u32>) {
        self.pairs[pair as usize].positions = positions;
    }

    /// Takes `lost` occurrences from a pair, if it is kept.
    pub(crate) fn subtract(&mut self, left: Symbol, right: Symbol, lost: u64) {
        let Some(pair) = self.index.get(left, right) else {
            return;
        };
        let pair = &mut self.pairs[pair as usize];
        pair.count = pair.count.saturating_sub(lost);
        if pair.count < self.min_count {
            pair.count = 0;
            pair.positions = Vec::new();
        }
    }

    /// Removes a pair and returns its positions.
    pub(crate) fn remove(&mut self, pair: u32) -> Vec<u32> {
        let pair = &mut self.pairs[pair as usize];
        let (left, right) = pair.symbols;
        self.index.remove(left, right);
        pair.count = 0;
        std::mem::take(&mut pair.positions)
    }
}

/// The pairs, what they consist of, and an order of ties.
pub(crate) struct PairView<'p, Order> {
    pub(crate) pairs: &'p PairIndex,
    pub(crate) symbols: &'p SymbolArena,
    pub(crate) words: &'p WordBuffer,
    pub(crate) order: &'p Order,
}

impl<Order: TieOrder> PairSource for PairView<'_, Order> {
    type Key = Order::Key;

    fn count(&self, pair: u32) -> u64 {
        self.pairs.count(pair)
    }

    fn candidate(&self, pair: u32) -> Candidate<Order::Key> {
        let IndexedPair {
            count,
            positions,
            symbols,
        } = &self.pairs.pairs[pair as usize];
        Candidate {
            count: *count,
            key: self.order.key(&PairPlaces {
                pair: *symbols,
                positions,
                symbols: self.symbols,
                words: self.words,
            }),
            symbols: *symbols,
            pair,
        }
    }
}
