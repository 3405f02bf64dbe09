//! The pairs of adjacent symbols that are frequent enough to be merged soon: their counts, and the places
//! where they occur.
//!
//! Only pairs that occur at least `floor` times are kept: a corpus has very many pairs that occur a few
//! times and will never be merged. When the queue of the kept ones runs dry, the floor falls and the index is
//! built anew from the words as they then are. A pair's count never rises once its two symbols exist, so a
//! pair that falls below the floor need not be watched any longer.

use foldhash::fast::SeedableRandomState;

use crate::error::TrainError;
use crate::train::pair_map::PairMap;
use crate::train::queue::{Candidate, Waiting};
use crate::train::sequences::Sequences;
use crate::train::split::SplitRules;
use crate::train::symbols::{Symbol, Symbols};

/// One pair.
#[derive(Debug)]
pub(crate) struct Pair {
    /// Occurrences, overlapping ones included.
    pub(crate) count: u64,
    /// Where it occurs or once occurred, ascending.
    pub(crate) places: Vec<u32>,
    symbols: (Symbol, Symbol),
}

/// The frequent pairs.
#[derive(Debug)]
pub(crate) struct Pairs {
    floor: u64,
    pairs: Vec<Pair>,
    index: PairMap<u32>,
}

/// What the index holds for pairs that are not kept.
const NO_PAIR: u32 = u32::MAX;

/// What counting finds of a pair.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Tally {
    count: u64,
    places: u32,
    /// Places in the first half of the array.
    first_places: u32,
}

/// How often every pair of adjacent symbols occurs.
pub(crate) struct Tallies(PairMap<Tally>);

impl Tallies {
    /// Counts all pairs, on two threads of the current pool. Cost: linear in the slots.
    pub(crate) fn of(
        sequences: &Sequences,
        symbols: &Symbols,
        hasher: &SeedableRandomState,
    ) -> Tallies {
        let middle = sequences.middle();
        let tally = |slots| tally(sequences, symbols, hasher, slots);
        let (first, second) = rayon::join(|| tally(0..middle), || tally(middle..sequences.len()));
        Tallies(merge(first, second))
    }

    /// The largest count.
    pub(crate) fn highest(&self) -> u64 {
        self.0
            .iter()
            .map(|(_, tally)| tally.count)
            .max()
            .unwrap_or(0)
    }

    /// All pairs.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (Symbol, Symbol)> {
        self.0.iter().map(|(pair, _)| pair)
    }

    /// The sum of all counts.
    pub(crate) fn total(&self) -> u64 {
        self.0.iter().map(|(_, tally)| tally.count).sum()
    }
}

fn tally(
    sequences: &Sequences,
    symbols: &Symbols,
    hasher: &SeedableRandomState,
    slots: std::ops::Range<usize>,
) -> PairMap<Tally> {
    let mut tallies = PairMap::new(
        symbols.len(),
        Tally {
            count: 0,
            places: 0,
            first_places: 0,
        },
        hasher,
    );
    sequences.for_each_pair(symbols, slots, |_, count, left, right| {
        let tally = tallies.value_mut(left, right);
        tally.count += count;
        tally.places += 1;
    });
    tallies
}

fn merge(mut first: PairMap<Tally>, second: PairMap<Tally>) -> PairMap<Tally> {
    first
        .values_mut()
        .for_each(|tally| tally.first_places = tally.places);
    for ((left, right), tally) in second.iter() {
        let sum = first.value_mut(left, right);
        sum.count += tally.count;
        sum.places += tally.places;
    }
    first
}

impl Default for Pairs {
    fn default() -> Pairs {
        Pairs {
            floor: 0,
            pairs: Vec::new(),
            index: PairMap::new(0, NO_PAIR, &SeedableRandomState::default()),
        }
    }
}

impl Pairs {
    /// The pairs of at least `floor` occurrences that `rules` let merge. Runs on two threads of the current
    /// pool.
    pub(crate) fn build(
        sequences: &Sequences,
        symbols: &Symbols,
        rules: &SplitRules,
        tallies: Tallies,
        floor: u64,
    ) -> Result<Pairs, TrainError> {
        let index = PairMap::new(symbols.len(), NO_PAIR, tallies.0.hasher());
        let mut built = Pairs {
            floor,
            pairs: Vec::new(),
            index,
        };
        let mut first_places = Vec::new();
        for ((left, right), tally) in tallies.0.iter() {
            if tally.count >= floor
                && rules
                    .join(symbols.shape(left), symbols.shape(right))
                    .is_some()
            {
                built.insert(left, right, tally.count, 0)?;
                first_places.push((tally.first_places as usize, tally.places as usize));
            }
        }
        drop(tallies);
        built.find_places(sequences, symbols, &first_places);
        Ok(built)
    }

    /// Notes where all pairs occur. Of each pair is known in how many places of the array's first half and
    /// of the whole.
    fn find_places(&mut self, sequences: &Sequences, symbols: &Symbols, known: &[(usize, usize)]) {
        let halves = self
            .pairs
            .iter_mut()
            .zip(known)
            .map(|(pair, (in_first, in_all))| {
                pair.places = vec![0; *in_all];
                pair.places.split_at_mut(*in_first)
            });
        let (mut first, mut second): (Vec<&mut [u32]>, Vec<&mut [u32]>) = halves.unzip();
        let index = &self.index;
        let find = |rooms: &mut [&mut [u32]], slots| {
            sequences.for_each_pair(symbols, slots, |place, _, left, right| {
                if let Some(pair) = index.get(left, right) {
                    let room = &mut rooms[pair as usize];
                    if let Some((first, rest)) = std::mem::take(room).split_first_mut() {
                        *first = place;
                        *room = rest;
                    }
                }
            });
        };
        let middle = sequences.middle();
        rayon::join(
            || find(&mut first, 0..middle),
            || find(&mut second, middle..sequences.len()),
        );
    }

    /// Adds the pair of two symbols, which occurs `count` times in `places` places, and returns its number.
    pub(crate) fn insert(
        &mut self,
        left: Symbol,
        right: Symbol,
        count: u64,
        places: usize,
    ) -> Result<u32, TrainError> {
        let pair = u32::try_from(self.pairs.len())
            .ok()
            .filter(|pair| *pair != NO_PAIR);
        let Some(pair) = pair else {
            return Err(TrainError::TooLarge { what: "pairs" });
        };
        self.pairs.push(Pair {
            count,
            places: Vec::with_capacity(places),
            symbols: (left, right),
        });
        *self.index.value_mut(left, right) = pair;
        Ok(pair)
    }

    pub(crate) fn floor(&self) -> u64 {
        self.floor
    }

    /// The current count of a pair, 0 once it is below the floor.
    pub(crate) fn count(&self, pair: u32) -> u64 {
        self.pairs[pair as usize].count
    }

    /// Number of pairs that were ever kept.
    pub(crate) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// The pairs from number `first` on.
    pub(crate) fn since(&mut self, first: usize) -> &mut [Pair] {
        &mut self.pairs[first..]
    }

    /// Takes `lost` occurrences from a pair, if it is kept.
    pub(crate) fn subtract(&mut self, left: Symbol, right: Symbol, lost: u64) {
        let Some(pair) = self.index.get(left, right) else {
            return;
        };
        let pair = &mut self.pairs[pair as usize];
        pair.count = pair.count.saturating_sub(lost);
        if pair.count < self.floor {
            (pair.count, pair.places) = (0, Vec::new());
        }
    }

    /// Removes a pair, whether it is merged or given up, and returns its places.
    pub(crate) fn remove(&mut self, candidate: &Candidate) -> Vec<u32> {
        let (left, right) = candidate.symbols;
        self.index.remove(left, right);
        let pair = &mut self.pairs[candidate.pair as usize];
        pair.count = 0;
        std::mem::take(&mut pair.places)
    }
}

/// The pairs with what it takes to tell the order among them.
pub(crate) struct Described<'p> {
    pub(crate) pairs: &'p Pairs,
    pub(crate) symbols: &'p Symbols,
}

impl Waiting for Described<'_> {
    fn count(&self, pair: u32) -> u64 {
        self.pairs.count(pair)
    }

    fn candidate(&self, pair: u32) -> Candidate {
        let Pair {
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
