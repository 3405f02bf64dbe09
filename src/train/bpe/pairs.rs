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

use foldhash::fast::SeedableRandomState;

use crate::error::TrainError;
use crate::train::bpe::pair_map::PairMap;
use crate::train::bpe::queue::{Candidate, PairSource};
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

/// The result of counting a pair.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct PairCount {
    count: u64,
    positions: u32,
    /// Positions in the first half of the array.
    first_half_positions: u32,
}

/// More passes do not pay.
const MAX_PASSES: u32 = 16;

/// The counts of the frequent pairs of adjacent symbols.
pub(crate) struct PairCounts {
    frequent: Vec<((Symbol, Symbol), PairCount)>,
    highest: u64,
}

impl PairCounts {
    /// Counts all pairs, on two threads of the current pool, and keeps those that occur at least
    /// `min_count` times.
    ///
    /// To save memory, the pairs of a large buffer are divided into classes, each counted in a pass
    /// of its own; there is about one pass for each `slots_per_pass` slots. Cost: linear in the
    /// slots for each pass. Memory: the pairs of a class and the frequent pairs.
    pub(crate) fn of(
        words: &WordBuffer,
        symbols: &SymbolArena,
        hasher: &SeedableRandomState,
        (min_count, slots_per_pass): (u64, usize),
    ) -> Self {
        let passes = pass_count(words.len(), slots_per_pass);
        let mut counts = Self {
            frequent: Vec::new(),
            highest: 0,
        };
        for class in 0..passes {
            let middle = words.middle();
            let class = PairClass { class, passes };
            let count = |slots| count_pairs(words, symbols, hasher, slots, class);
            let (first, second) = rayon::join(|| count(0..middle), || count(middle..words.len()));
            for (pair, entry) in merge(first, second).iter() {
                counts.highest = counts.highest.max(entry.count);
                if entry.count >= min_count {
                    counts.frequent.push((pair, entry));
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
        let middle = words.middle();
        let total = |slots| {
            let mut sum = 0u64;
            words.for_each_pair(symbols, slots, |_, count, _, _| {
                sum = sum.saturating_add(count)
            });
            sum
        };
        let (first, second) = rayon::join(|| total(0..middle), || total(middle..words.len()));
        first.saturating_add(second)
    }
}

/// The number of passes over `slots` slots, with about `per_pass` slots for each: a power of two.
fn pass_count(slots: usize, per_pass: usize) -> u32 {
    u32::try_from(slots / per_pass)
        .unwrap_or(MAX_PASSES)
        .clamp(1, MAX_PASSES)
        .next_power_of_two()
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
    slots: std::ops::Range<usize>,
    class: PairClass,
) -> PairMap<PairCount> {
    let mut pair_counts = PairMap::new(symbols.len(), PairCount::default(), hasher);
    words.for_each_pair(symbols, slots, |_, count, left, right| {
        if class.contains(left, right) {
            let entry = pair_counts.value_mut(left, right);
            entry.count += count;
            entry.positions += 1;
        }
    });
    pair_counts
}

fn merge(mut first: PairMap<PairCount>, second: PairMap<PairCount>) -> PairMap<PairCount> {
    first
        .values_mut()
        .for_each(|entry| entry.first_half_positions = entry.positions);
    for ((left, right), entry) in second.iter() {
        let sum = first.value_mut(left, right);
        sum.count += entry.count;
        sum.positions += entry.positions;
    }
    first
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
    /// were counted with. Runs on two threads of the current pool.
    pub(crate) fn build(
        words: &WordBuffer,
        symbols: &SymbolArena,
        rules: &SplitRules,
        (pair_counts, min_count): (PairCounts, u64),
        hasher: &SeedableRandomState,
    ) -> Result<Self, TrainError> {
        let index = PairMap::new(symbols.len(), NO_PAIR, hasher);
        let mut built = Self {
            min_count,
            pairs: Vec::new(),
            index,
        };
        let mut first_half_positions = Vec::new();
        for ((left, right), entry) in pair_counts.frequent {
            if symbols.may_merge(rules, left, right) {
                built.insert(left, right, entry.count, 0)?;
                first_half_positions.push((
                    entry.first_half_positions as usize,
                    entry.positions as usize,
                ));
            }
        }
        built.find_positions(words, symbols, &first_half_positions);
        Ok(built)
    }

    /// Records where all pairs occur. `known` has, for each pair, the number of its positions in
    /// the first half of the array and in the whole.
    fn find_positions(
        &mut self,
        words: &WordBuffer,
        symbols: &SymbolArena,
        known: &[(usize, usize)],
    ) {
        let halves = self
            .pairs
            .iter_mut()
            .zip(known)
            .map(|(pair, (in_first, in_all))| {
                pair.positions = vec![0; *in_all];
                pair.positions.split_at_mut(*in_first)
            });
        let (mut first, mut second): (Vec<&mut [u32]>, Vec<&mut [u32]>) = halves.unzip();
        let index = &self.index;
        let find = |free_parts: &mut [&mut [u32]], slots| {
            words.for_each_pair(symbols, slots, |position, _, left, right| {
                if let Some(pair) = index.get(left, right) {
                    let free = &mut free_parts[pair as usize];
                    if let Some((first, rest)) = std::mem::take(free).split_first_mut() {
                        *first = position;
                        *free = rest;
                    }
                }
            });
        };
        let middle = words.middle();
        rayon::join(
            || find(&mut first, 0..middle),
            || find(&mut second, middle..words.len()),
        );
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
    pub(crate) fn remove(&mut self, candidate: &Candidate) -> Vec<u32> {
        let (left, right) = candidate.symbols;
        self.index.remove(left, right);
        let pair = &mut self.pairs[candidate.pair as usize];
        pair.count = 0;
        std::mem::take(&mut pair.positions)
    }
}

/// The pairs and the symbols whose texts order them.
pub(crate) struct PairView<'p> {
    pub(crate) pairs: &'p PairIndex,
    pub(crate) symbols: &'p SymbolArena,
}

impl PairSource for PairView<'_> {
    fn count(&self, pair: u32) -> u64 {
        self.pairs.count(pair)
    }

    fn candidate(&self, pair: u32) -> Candidate {
        let IndexedPair {
            count,
            symbols: (left, right),
            ..
        } = self.pairs.pairs[pair as usize];
        let shape = self
            .symbols
            .shape(left)
            .followed_by(self.symbols.shape(right));
        Candidate {
            count,
            shape,
            text: self.symbols.joined_text(left, right),
            symbols: (left, right),
            pair,
        }
    }
}
