//! The pairs of adjacent symbols that are frequent enough to be merged soon: their counts, and the
//! positions where they occur.
//!
//! Only pairs that occur at least `min_count` times are indexed: most pairs of a corpus occur a few
//! times and are never merged. When the queue of indexed pairs is empty, `min_count` is lowered and
//! the index is rebuilt from the words as they are then. It is also rebuilt when it has grown too
//! large: merges leave positions where a pair occurs no more.
//!
//! This is exact, because the count of a pair never rises once both of its symbols exist: merges
//! only remove occurrences of existing symbols. A pair that falls below `min_count` can therefore
//! be dropped until the next rebuild. For example, with 32,000 merges wanted and 64 million
//! occurrences of pairs, the first `min_count` is 64,000,000 / (32,000 * 64) = 31, or more if the
//! pairs that occur 31 times take too much memory.

use std::collections::BTreeMap;
use std::iter;
use std::ops::Range;

use foldhash::fast::SeedableRandomState;
use rayon::prelude::*;

use crate::train::TrainError;
use crate::train::bpe::pair_filter::{PairFilter, bucket};
use crate::train::bpe::pair_map::PairMap;
use crate::train::bpe::queue::{Candidate, PairPlaces, PairSource, TieOrder};
use crate::train::bpe::symbols::{Symbol, SymbolArena};
use crate::train::bpe::word_buffer::WordBuffer;
use crate::train::execution_config::Threads;
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
    /// About the memory that the pairs take.
    bytes: usize,
}

/// About the memory of an indexed pair without its positions: here, in the map and in the queue.
const PAIR_BYTES: usize = 112;

/// About the memory of an indexed pair with so many positions.
fn pair_bytes(positions: usize) -> usize {
    PAIR_BYTES + positions * size_of::<u32>()
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
const MAX_PASSES: usize = 16;
/// The words are divided into at most this many parts, which are counted at the same time: each
/// part adds 20 bytes for a frequent pair while the index is built.
const MAX_PARTS: usize = 16;

/// The counts of the frequent pairs of adjacent symbols.
pub(crate) struct PairCounts {
    /// The parts in which they were counted.
    parts: Vec<Range<usize>>,
    /// The pairs that occur at least so often.
    min_count: u64,
    frequent: Vec<((Symbol, Symbol), u64)>,
    /// The number of positions of each frequent pair in each part: first of the first pair in all
    /// parts, then of the second.
    positions: Vec<u32>,
    /// About the memory that the frequent pairs take in an index.
    bytes: usize,
}

/// Which pairs are indexed, and how they are counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IndexLimits {
    /// Pairs that occur less often are left out.
    pub(crate) min_count: u64,
    /// As many of the most frequent pairs are indexed as take about so much memory, and at least
    /// those of the highest count.
    pub(crate) bytes: usize,
    /// If more pairs may be different, they are filtered first; then there is about one pass for so
    /// many of them.
    pub(crate) pairs_per_pass: u64,
}

impl PairCounts {
    /// Counts pairs, on the threads of the current pool, and keeps those that `rules` allow to merge
    /// and `limits` to index.
    ///
    /// Pairs of a large buffer are first counted by hash, so that most of the rare pairs are left
    /// out. If many remain, they are divided into classes, each counted in a pass of its own: in
    /// memory are the pairs of a class in each part, and the frequent pairs.
    pub(crate) fn of(
        words: &WordBuffer,
        (symbols, rules): (&SymbolArena, &SplitRules),
        hasher: &SeedableRandomState,
        limits: IndexLimits,
    ) -> Self {
        let mut counts = Self {
            parts: parts(words),
            min_count: limits.min_count,
            frequent: Vec::new(),
            positions: Vec::new(),
            bytes: 0,
        };
        // At most so many pairs are different.
        let mut pairs = words.len().min(symbols.len().saturating_mul(symbols.len())) as u64;
        let filter = (pairs > limits.pairs_per_pass)
            .then(|| PairFilter::of_words((words, symbols), &counts.parts, limits.min_count));
        if let Some(filter) = &filter {
            pairs = filter.share_of(pairs);
        }
        // A power of two.
        let passes = usize::try_from(pairs / limits.pairs_per_pass)
            .unwrap_or(MAX_PASSES)
            .clamp(1, MAX_PASSES)
            .next_power_of_two();
        for class in 0..passes {
            let is_counted = |left, right| {
                let filter = filter.as_ref();
                filter.is_none_or(|filter| filter.may_contain(left, right))
                    && bucket(left, right) & (passes - 1) == class
            };
            let count =
                |slots: &Range<usize>| count_pairs((words, symbols), hasher, slots, is_counted);
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
                if entry.count >= counts.min_count && symbols.may_merge(rules, left, right) {
                    let rest = rest.iter().map(|part| part.get(left, right));
                    let rest = rest.map(|entry| entry.map_or(0, |entry| entry.positions));
                    let positions = iter::once(entry.positions).chain(rest);
                    counts.push((left, right), entry.count, positions);
                }
            }
            if counts.bytes > limits.bytes.saturating_mul(2) {
                counts.keep_most_frequent(limits.bytes);
            }
        }
        if counts.bytes > limits.bytes {
            counts.keep_most_frequent(limits.bytes);
        }
        counts
    }

    /// Adds a frequent pair with the number of its positions in each part.
    fn push(
        &mut self,
        pair: (Symbol, Symbol),
        count: u64,
        positions: impl IntoIterator<Item = u32>,
    ) {
        let first = self.positions.len();
        self.frequent.push((pair, count));
        self.positions.extend(positions);
        self.bytes += pair_bytes(sum(&self.positions[first..]));
    }

    /// Raises the `min_count`, so that the frequent pairs take at most `bytes`, or are those of the
    /// highest count. The pairs of classes that are counted later are compared with the new one, so
    /// that in the end all pairs from it on are kept.
    fn keep_most_frequent(&mut self, bytes: usize) {
        let parts = self.parts.len();
        let frequent = std::mem::take(&mut self.frequent);
        let positions = std::mem::take(&mut self.positions);
        let all = || frequent.iter().zip(positions.chunks_exact(parts));
        let mut by_count = BTreeMap::new();
        for ((_, count), positions) in all() {
            *by_count.entry(*count).or_insert(0) += pair_bytes(sum(positions));
        }
        let mut taken = 0;
        for (count, needed) in by_count.into_iter().rev() {
            if taken > 0 && taken + needed > bytes {
                break;
            }
            taken += needed;
            self.min_count = count;
        }
        self.bytes = 0;
        for ((pair, count), positions) in all() {
            if *count >= self.min_count {
                self.push(*pair, *count, positions.iter().copied());
            }
        }
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

fn sum(positions: &[u32]) -> usize {
    positions.iter().map(|positions| *positions as usize).sum()
}

/// The parts of the words that the threads of the current pool take.
fn parts(words: &WordBuffer) -> Vec<Range<usize>> {
    words.parts(rayon::current_num_threads().min(MAX_PARTS))
}

fn count_pairs(
    (words, symbols): (&WordBuffer, &SymbolArena),
    hasher: &SeedableRandomState,
    slots: &Range<usize>,
    is_counted: impl Fn(Symbol, Symbol) -> bool,
) -> PairMap<PairCount> {
    let mut pair_counts = PairMap::new(symbols.len(), PairCount::default(), hasher);
    words.for_each_pair(symbols, slots.clone(), |_, count, left, right| {
        if is_counted(left, right) {
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
            bytes: 0,
        }
    }
}

impl PairIndex {
    /// The pairs of `pair_counts`, whose positions are found on the threads of `pool`.
    pub(crate) fn build(
        words: &WordBuffer,
        symbols: &SymbolArena,
        pair_counts: PairCounts,
        (pool, hasher): (&Threads, &SeedableRandomState),
    ) -> Result<Self, TrainError> {
        let mut built = Self {
            min_count: pair_counts.min_count,
            pairs: Vec::new(),
            index: PairMap::new(symbols.len(), NO_PAIR, hasher),
            bytes: 0,
        };
        let filter = PairFilter::of_pairs(pair_counts.pairs());
        let parts = pair_counts.parts;
        for ((left, right), count) in pair_counts.frequent {
            built.insert(left, right, count, 0)?;
        }
        // The free positions of each pair in each part.
        let lengths = pair_counts.positions.chunks_exact(parts.len().max(1));
        let mut free: Vec<Vec<&mut [u32]>> = parts.iter().map(|_| Vec::new()).collect();
        for (pair, lengths) in built.pairs.iter_mut().zip(lengths) {
            pair.positions = vec![0; sum(lengths)];
            built.bytes += size_of_val(pair.positions.as_slice());
            let mut rest = pair.positions.as_mut_slice();
            for (free, length) in free.iter_mut().zip(lengths) {
                let (own, after) = rest.split_at_mut(*length as usize);
                free.push(own);
                rest = after;
            }
        }
        let index = &built.index;
        let record = |(slots, mut free): (Range<usize>, Vec<&mut [u32]>)| {
            words.for_each_pair(symbols, slots, |position, _, left, right| {
                // Most pairs are not indexed, and the filter is smaller than the index.
                if filter.may_contain(left, right)
                    && let Some(pair) = index.get(left, right)
                {
                    let free = &mut free[pair as usize];
                    if let Some((first, rest)) = std::mem::take(free).split_first_mut() {
                        *first = position;
                        *free = rest;
                    }
                }
            });
        };
        pool.install(|| parts.into_par_iter().zip(free).for_each(record));
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
        self.bytes += pair_bytes(positions);
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

    /// About the memory that the pairs take.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
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
            self.bytes -= size_of_val(std::mem::take(&mut pair.positions).as_slice());
        }
    }

    /// Removes a pair and returns its positions.
    pub(crate) fn remove(&mut self, pair: u32) -> Vec<u32> {
        let pair = &mut self.pairs[pair as usize];
        let (left, right) = pair.symbols;
        self.index.remove(left, right);
        pair.count = 0;
        self.bytes -= size_of_val(pair.positions.as_slice());
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
