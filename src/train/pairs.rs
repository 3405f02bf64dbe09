//! The pairs of adjacent symbols that are frequent enough to be merged soon: their counts, and the blocks
//! in which they occur.
//!
//! Only pairs that occur at least `floor` times are kept: a corpus has very many pairs that occur a few
//! times and will never be merged. When the queue of the kept ones runs dry, the floor falls and the index is
//! built anew from the words as they then are. A pair's count never rises once its two symbols exist, so a
//! pair that falls below the floor need not be watched any longer.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::error::TrainError;
use crate::train::queue::Candidate;
use crate::train::sequences::Sequences;
use crate::train::split::{Shape, SplitRules};
use crate::train::symbols::{Symbol, Symbols};

/// One pair.
#[derive(Debug)]
pub(crate) struct Pair {
    /// Occurrences, overlapping ones included.
    pub(crate) count: u64,
    /// Blocks in which it occurs or once occurred, ascending.
    pub(crate) blocks: Vec<u32>,
}

/// The frequent pairs.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    floor: u64,
    pairs: Vec<Pair>,
    index: FxHashMap<u64, u32>,
}

/// Two symbols as one number.
fn key(left: Symbol, right: Symbol) -> u64 {
    u64::from(left.0) << 32 | u64::from(right.0)
}

/// The symbols that `key` was made of.
#[allow(clippy::cast_possible_truncation)]
fn symbols_of(key: u64) -> (Symbol, Symbol) {
    (Symbol((key >> 32) as u32), Symbol(key as u32))
}

/// What counting finds of a pair.
#[derive(Debug, Clone, Copy)]
struct Tally {
    count: u64,
    blocks: u32,
    last_block: u32,
}

/// How often every pair of adjacent symbols occurs.
pub(crate) struct Tallies(FxHashMap<u64, Tally>);

impl Tallies {
    /// Counts all pairs on the threads of the current pool. Cost: linear in the slots.
    pub(crate) fn of(sequences: &Sequences, symbols: &Symbols) -> Tallies {
        let ranges = sequences.ranges(rayon::current_num_threads());
        let counted: Vec<FxHashMap<u64, Tally>> =
            ranges.into_par_iter().map(|range| tally(sequences, symbols, range)).collect();
        Tallies(counted.into_iter().reduce(merge).unwrap_or_default())
    }

    /// The largest count.
    pub(crate) fn highest(&self) -> u64 {
        self.0.values().map(|tally| tally.count).max().unwrap_or(0)
    }

    /// All pairs.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (Symbol, Symbol)> {
        self.0.keys().map(|key| symbols_of(*key))
    }

    /// The sum of all counts.
    pub(crate) fn total(&self) -> u64 {
        self.0.values().map(|tally| tally.count).sum()
    }
}

fn tally(sequences: &Sequences, symbols: &Symbols, range: std::ops::Range<usize>) -> FxHashMap<u64, Tally> {
    let mut tallies: FxHashMap<u64, Tally> = FxHashMap::default();
    sequences.for_each_pair(symbols, range, |block, count, left, right| {
        let tally = tallies.entry(key(left, right)).or_insert(Tally { count: 0, blocks: 0, last_block: u32::MAX });
        tally.count += count;
        if tally.last_block != block {
            tally.blocks += 1;
            tally.last_block = block;
        }
    });
    tallies
}

fn merge(left: FxHashMap<u64, Tally>, right: FxHashMap<u64, Tally>) -> FxHashMap<u64, Tally> {
    let (mut merged, other) = if left.len() < right.len() { (right, left) } else { (left, right) };
    for (key, tally) in other {
        merged
            .entry(key)
            .and_modify(|sum| {
                sum.count += tally.count;
                sum.blocks += tally.blocks;
            })
            .or_insert(tally);
    }
    merged
}

impl Pairs {
    /// The pairs of at least `floor` occurrences that `rules` let merge, and a candidate for each.
    pub(crate) fn build(
        sequences: &Sequences,
        symbols: &Symbols,
        rules: &SplitRules,
        tallies: Tallies,
        floor: u64,
    ) -> Result<(Pairs, Vec<Candidate>), TrainError> {
        let mut built = Pairs { floor, ..Pairs::default() };
        let mut candidates = Vec::new();
        for (key, tally) in tallies.0 {
            let (left, right) = symbols_of(key);
            if tally.count >= floor
                && let Some(shape) = rules.join(symbols.shape(left), symbols.shape(right))
            {
                candidates.push(built.insert(symbols, (left, right), shape, tally.count, tally.blocks as usize)?);
            }
        }
        sequences.for_each_pair(symbols, 0..sequences.blocks(), |block, _, left, right| {
            built.note_block(left, right, block);
        });
        Ok((built, candidates))
    }

    /// Adds the pair of two symbols, which together have the shape `shape`; it occurs `count` times, in
    /// at most `blocks` blocks. Returns the candidate to queue for it.
    pub(crate) fn insert(
        &mut self,
        symbols: &Symbols,
        (left, right): (Symbol, Symbol),
        shape: Shape,
        count: u64,
        blocks: usize,
    ) -> Result<Candidate, TrainError> {
        let Ok(pair) = u32::try_from(self.pairs.len()) else {
            return Err(TrainError::TooLarge { what: "pairs" });
        };
        self.pairs.push(Pair { count, blocks: Vec::with_capacity(blocks) });
        self.index.insert(key(left, right), pair);
        let text = symbols.joined_text(left, right);
        Ok(Candidate { count, shape, text, symbols: (left, right), pair })
    }

    pub(crate) fn floor(&self) -> u64 {
        self.floor
    }

    /// The current count of a pair, 0 once it is below the floor.
    pub(crate) fn count(&self, pair: u32) -> u64 {
        self.pairs[pair as usize].count
    }

    fn get_mut(&mut self, left: Symbol, right: Symbol) -> Option<&mut Pair> {
        let pair = *self.index.get(&key(left, right))?;
        Some(&mut self.pairs[pair as usize])
    }

    /// Takes `lost` occurrences from a pair, if it is kept.
    pub(crate) fn subtract(&mut self, left: Symbol, right: Symbol, lost: u64) {
        let floor = self.floor;
        let Some(pair) = self.get_mut(left, right) else { return };
        pair.count = pair.count.saturating_sub(lost);
        if pair.count < floor {
            *pair = Pair { count: 0, blocks: Vec::new() };
        }
    }

    /// Removes a pair, whether it is merged or given up, and returns its blocks.
    pub(crate) fn remove(&mut self, candidate: &Candidate) -> Vec<u32> {
        let (left, right) = candidate.symbols;
        self.index.remove(&key(left, right));
        let pair = &mut self.pairs[candidate.pair as usize];
        pair.count = 0;
        std::mem::take(&mut pair.blocks)
    }

    /// Notes that a pair, if it is kept, occurs in `block`; blocks come in ascending order.
    pub(crate) fn note_block(&mut self, left: Symbol, right: Symbol, block: u32) {
        if let Some(pair) = self.get_mut(left, right)
            && pair.blocks.last() != Some(&block)
        {
            pair.blocks.push(block);
        }
    }
}
