//! The loop: merge the best pair everywhere, update the counts of the pairs around it, again.
//!
//! This is byte-pair encoding (Sennrich, Haddow, Birch, "Neural machine translation of rare words with
//! subword units", 2016, <https://arxiv.org/abs/1508.07909>) with the reference's rules at the edges:
//!
//! * Every occurrence of a pair counts, overlapping ones too ("aaa" has two of "aa"); places are merged
//!   from left to right.
//! * A text becomes a piece once. A pair whose text was made before, from other parts, is given up when
//!   its turn comes, and its occurrences stay as they are.
//! * When no pair occurs any more, pairs that once did still become pieces, shortest first.
//!
//! Cost: each merge looks at the words in which the pair occurs, so the whole is linear in the text of
//! the distinct words times the depth of its merges; see [`crate::train::pairs`] for what is kept.

use hashbrown::HashSet;
use rustc_hash::FxBuildHasher;

use crate::error::TrainError;
use crate::train::neighbours::Neighbours;
use crate::train::pairs::{Pairs, Tallies};
use crate::train::queue::{Candidate, Queue};
use crate::train::sequences::{Rewrite, Sequences};
use crate::train::split::SplitRules;
use crate::train::symbols::{Symbol, Symbols};

/// Where the first floor lies: a pair is worth watching if it occurs at least this fraction as often as
/// the average of the pairs to merge would. Lower, and memory goes to pairs that never merge; higher, and
/// the index is built again. Measured on corpora of 20 to 500 MB in several languages.
const FLOOR_SHARE: u64 = 64;
/// How far the floor falls when it has to.
const FLOOR_STEP: u64 = 16;
/// A pair in at least so many blocks is merged on two threads.
const PARALLEL_BLOCKS: usize = 4096;

/// A piece made by merging, and how often its pair occurred.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Merge {
    pub(crate) text: Box<str>,
    pub(crate) count: u64,
}

type Texts = HashSet<Box<str>, FxBuildHasher>;

/// Merges pairs in `sequences`, best first.
pub(crate) struct Merger<'a> {
    rules: &'a SplitRules,
    pool: &'a rayon::ThreadPool,
    symbols: Symbols,
    sequences: Sequences,
    pairs: Pairs,
    queue: Queue,
    neighbours: Neighbours,
    far_neighbours: Neighbours,
    made: Texts,
    merges: Vec<Merge>,
    /// The texts of all pairs that ever occurred, if they are wanted.
    seen: Option<Texts>,
}

/// Is told about each merge; an error stops the merging.
pub(crate) type OnMerge<'o> = &'o mut dyn FnMut(&[Merge]) -> Result<(), TrainError>;

impl<'a> Merger<'a> {
    /// Long work is done on the threads of `pool`.
    pub(crate) fn new(
        rules: &'a SplitRules,
        pool: &'a rayon::ThreadPool,
        symbols: Symbols,
        sequences: Sequences,
    ) -> Merger<'a> {
        Merger {
            rules,
            pool,
            symbols,
            sequences,
            pairs: Pairs::default(),
            queue: Queue::default(),
            neighbours: Neighbours::default(),
            far_neighbours: Neighbours::default(),
            made: Texts::default(),
            merges: Vec::new(),
            seen: None,
        }
    }

    /// The first `wanted` merges, or fewer if the corpus has no more pairs.
    pub(crate) fn run(mut self, wanted: usize, on_merge: OnMerge<'_>) -> Result<Vec<Merge>, TrainError> {
        self.merge_occurring(wanted, on_merge)?;
        if self.merges.len() < wanted {
            // Rare, and then the corpus is small: do it all again, this time noting every pair.
            self.start_over();
            self.merge_occurring(wanted, &mut |_| Ok(()))?;
            self.add_vanished(wanted);
            on_merge(&self.merges)?;
        }
        Ok(self.merges)
    }

    fn start_over(&mut self) {
        self.sequences.split_symbols(&self.symbols);
        self.symbols.keep_characters();
        self.made.clear();
        self.merges.clear();
        self.seen = Some(Texts::default());
    }

    /// Merges pairs until there are `wanted` merges or no pair occurs.
    fn merge_occurring(&mut self, wanted: usize, on_merge: OnMerge<'_>) -> Result<(), TrainError> {
        let mut floor = u64::MAX;
        while self.merges.len() < wanted && floor > 1 {
            floor = self.build_index(wanted, floor)?;
            while self.merges.len() < wanted
                && let Some(best) = self.queue.pop(floor, |pair| self.pairs.count(pair))
            {
                if self.take(best)? {
                    on_merge(&self.merges)?;
                }
            }
        }
        Ok(())
    }

    /// Indexes the pairs above a floor lower than `last_floor`, and returns that floor.
    fn build_index(&mut self, wanted: usize, last_floor: u64) -> Result<u64, TrainError> {
        // The old index has to go before the new one comes.
        (self.pairs, self.queue) = (Pairs::default(), Queue::default());
        let tallies = self.pool.install(|| Tallies::of(&self.sequences, &self.symbols));
        let floor = if last_floor == u64::MAX {
            self.note_seen(&tallies);
            let wanted = u64::try_from(wanted).unwrap_or(u64::MAX);
            tallies.total() / wanted.saturating_mul(FLOOR_SHARE)
        } else {
            (last_floor / FLOOR_STEP).min(tallies.highest())
        };
        let floor = floor.max(1);
        let (pairs, candidates) = Pairs::build(&self.sequences, &self.symbols, self.rules, tallies, floor)?;
        (self.pairs, self.queue) = (pairs, Queue::new(candidates));
        Ok(floor)
    }

    /// Merges the candidate everywhere, unless its text is a piece already.
    fn take(&mut self, candidate: Candidate) -> Result<bool, TrainError> {
        let blocks = self.pairs.remove(&candidate);
        if !self.made.insert(candidate.text.clone()) {
            return Ok(false);
        }
        let (left, right) = candidate.symbols;
        let Some(shape) = self.rules.join(self.symbols.shape(left), self.symbols.shape(right)) else {
            return Ok(false);
        };
        let merged = self.symbols.join(left, right, shape)?;
        let rewrite =
            Rewrite { left: (left, self.symbols.length(left)), right: (right, self.symbols.length(right)), merged };
        self.rewrite(&rewrite, &blocks);
        drop(blocks);
        self.update_old_pairs(&rewrite);
        self.add_new_pairs(&rewrite)?;
        self.merges.push(Merge { text: candidate.text, count: candidate.count });
        Ok(true)
    }

    /// Merges the pair in all `blocks` and gathers its neighbours.
    fn rewrite(&mut self, rewrite: &Rewrite, blocks: &[u32]) {
        let symbols = self.symbols.len();
        self.neighbours.reset(symbols);
        let near = &mut self.neighbours;
        if blocks.len() < PARALLEL_BLOCKS || self.pool.current_num_threads() < 2 {
            self.sequences.whole().rewrite(rewrite, blocks, |found| near.add(found));
            return;
        }
        self.far_neighbours.reset(symbols);
        let far = &mut self.far_neighbours;
        let (mut first, mut second, boundary) = self.sequences.halves(blocks[blocks.len() / 2]);
        let (before, behind) = blocks.split_at(blocks.partition_point(|block| *block < boundary));
        self.pool.join(
            || first.rewrite(rewrite, before, |found| near.add(found)),
            || second.rewrite(rewrite, behind, |found| far.add(found)),
        );
        near.append(far);
    }

    /// Takes the merged occurrences from the pairs that they were part of.
    fn update_old_pairs(&mut self, rewrite: &Rewrite) {
        let ((left, _), (right, _)) = (rewrite.left, rewrite.right);
        let Neighbours { left: before, right: behind } = &self.neighbours;
        for &symbol in before.met().iter().filter(|symbol| **symbol != rewrite.merged) {
            self.pairs.subtract(symbol, left, before.count(symbol));
        }
        for &symbol in behind.met() {
            self.pairs.subtract(right, symbol, behind.count(symbol));
        }
    }

    /// Adds the pairs of the new symbol and its neighbours.
    fn add_new_pairs(&mut self, rewrite: &Rewrite) -> Result<(), TrainError> {
        let merged = rewrite.merged;
        for at in 0..self.neighbours.left.met().len() {
            let symbol = self.neighbours.left.met()[at];
            let side = &self.neighbours.left;
            let (count, places) = (side.count(symbol), side.places_of(symbol));
            self.add_new_pair(symbol, merged, count, places)?;
        }
        // Where two merged places touch, the first found the left symbol of the second to its right.
        let touching = self.neighbours.left.count(merged);
        for at in 0..self.neighbours.right.met().len() {
            let symbol = self.neighbours.right.met()[at];
            let side = &self.neighbours.right;
            let merged_since = if symbol == rewrite.left.0 { touching } else { 0 };
            let (count, places) = (side.count(symbol) - merged_since, side.places_of(symbol));
            self.add_new_pair(merged, symbol, count, places)?;
        }
        self.note_places(merged);
        Ok(())
    }

    fn add_new_pair(&mut self, left: Symbol, right: Symbol, count: u64, places: usize) -> Result<(), TrainError> {
        if count < self.pairs.floor() && self.seen.is_none() {
            return Ok(());
        }
        if self.rules.join(self.symbols.shape(left), self.symbols.shape(right)).is_none() {
            return Ok(());
        }
        if let Some(seen) = &mut self.seen {
            seen.insert(self.symbols.joined_text(left, right));
        }
        if count >= self.pairs.floor() {
            let candidate = self.pairs.insert(&self.symbols, left, right, count, Vec::with_capacity(places))?;
            self.queue.push(candidate);
        }
        Ok(())
    }

    /// Remembers the blocks of the new pairs that are kept.
    fn note_places(&mut self, merged: Symbol) {
        for &(symbol, block) in self.neighbours.left.places() {
            self.pairs.note_block(symbol, merged, block);
        }
        for &(symbol, block) in self.neighbours.right.places() {
            self.pairs.note_block(merged, symbol, block);
        }
    }

    fn note_seen(&mut self, tallies: &Tallies) {
        let Some(seen) = &mut self.seen else { return };
        for (left, right) in tallies.pairs() {
            if self.rules.join(self.symbols.shape(left), self.symbols.shape(right)).is_some() {
                seen.insert(self.symbols.joined_text(left, right));
            }
        }
    }

    /// Adds pieces of count 0: pairs that occurred at some time and whose text is no piece yet.
    fn add_vanished(&mut self, wanted: usize) {
        let seen = self.seen.take().unwrap_or_default();
        let mut vanished: Vec<Box<str>> = seen.into_iter().filter(|text| !self.made.contains(text)).collect();
        vanished.sort_unstable_by(|a, b| (a.chars().count(), a).cmp(&(b.chars().count(), b)));
        vanished.truncate(wanted - self.merges.len());
        self.merges.extend(vanished.into_iter().map(|text| Merge { text, count: 0 }));
    }
}
