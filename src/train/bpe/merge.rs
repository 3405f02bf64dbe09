//! The loop of training: merge the best pair everywhere, update the counts of the pairs around it,
//! repeat.
//!
//! In: the words as a [`WordBuffer`], and the number of merges wanted. Out: the merges, best first.
//! See [the example](super). The reference's rules for special cases:
//!
//! * Every occurrence of a pair counts, overlapping ones too: `aaa` has two occurrences of `aa`.
//!   Occurrences are merged from left to right, so that `aaa` becomes `aa a`.
//! * A string becomes a piece at most once (the lemma below).
//! * When no pair occurs any more and more merges are wanted, pairs that once occurred become
//!   pieces with count 0, those with the fewest characters first. This is rare and happens only
//!   with small corpora, so the loop runs again from the start and records every pair.
//!
//! # Lemma: a string becomes a piece at most once
//!
//! Two different pairs that occur at the same time never spell the same string. So the text of a
//! candidate need not be checked against existing pieces.
//!
//! *Proof.* Consider a span of characters in any word whose ends no symbol crosses at the current
//! step. Symbols only grow, so no symbol crossed its ends at any earlier step either. Therefore
//! every merge so far is either inside the span or outside of it. By induction over the steps, two
//! such spans of the same string are segmented identically: they start with the same characters,
//! every step merges the same pair in both, and occurrences are merged from left to right. (An
//! occurrence that starts before the span and overlaps its start would cross that end if it were
//! merged.) If two pairs spell one string, each occurrence of either pair is such a span; hence
//! they have the same two symbols. After a string has become one symbol in one occurrence, it is
//! one symbol in all such spans, so no pair spells it again.
//!
//! # Cost
//!
//! A merge visits the positions where its pair occurs or occurred, and looks up each neighbouring
//! pair once. In total that is linear in the text of the distinct words times the depth of its
//! merges. See [`pairs`](super::pairs) for the pairs that are indexed.

pub(crate) mod continuation;
pub(crate) mod old_pieces;
mod tuning;

use foldhash::fast::SeedableRandomState;
use hashbrown::HashSet;

use self::tuning::{FRUGAL_TUNING, MIN_FRUGAL_SLOTS, TUNING, Tuning};
use crate::error::TrainError;
use crate::train::bpe::merge_contexts::MergeContexts;
use crate::train::bpe::pairs::{PairCounts, PairIndex, PairView};
use crate::train::bpe::queue::{Candidate, Queue};
use crate::train::bpe::symbols::{Symbol, SymbolArena};
use crate::train::bpe::word_buffer::{MergeOp, WordBuffer};
use crate::train::split::SplitRules;

/// A piece made by merging, and how often its pair occurred.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LearnedMerge {
    pub(crate) text: Box<str>,
    pub(crate) count: u64,
}

type Texts = HashSet<Box<str>, SeedableRandomState>;

/// Merges pairs in `words`, best first.
pub(crate) struct MergeTrainer<'a> {
    rules: &'a SplitRules,
    pool: &'a rayon::ThreadPool,
    hasher: &'a SeedableRandomState,
    symbols: SymbolArena,
    words: WordBuffer,
    pairs: PairIndex,
    queue: Queue,
    neighbours: MergeContexts,
    second_half: MergeContexts,
    merges: Vec<LearnedMerge>,
    /// Pairs that occur less often are not indexed; `u64::MAX` before the first index.
    min_count: u64,
    /// The texts of all pairs that ever occurred, if they are wanted.
    seen: Option<Texts>,
    tuning: Tuning,
}

/// Called after each merge with all merges so far; an error stops the merging.
pub(crate) type OnMerge<'o> = &'o mut dyn FnMut(&[LearnedMerge]) -> Result<(), TrainError>;

impl<'a> MergeTrainer<'a> {
    /// Long work is done on the threads of `pool`; `hasher` seeds the hash tables.
    pub(crate) fn new(
        rules: &'a SplitRules,
        pool: &'a rayon::ThreadPool,
        hasher: &'a SeedableRandomState,
        symbols: SymbolArena,
        words: WordBuffer,
    ) -> Self {
        MergeTrainer {
            rules,
            pool,
            hasher,
            symbols,
            words,
            pairs: PairIndex::default(),
            queue: Queue::default(),
            neighbours: MergeContexts::default(),
            second_half: MergeContexts::default(),
            merges: Vec::new(),
            min_count: u64::MAX,
            seen: None,
            tuning: TUNING,
        }
    }

    /// The first `wanted` merges, or fewer if the corpus has no more pairs.
    pub(crate) fn run(
        mut self,
        wanted: usize,
        on_merge: OnMerge<'_>,
    ) -> Result<Vec<LearnedMerge>, TrainError> {
        self.merge_occurring(wanted, on_merge)?;
        if self.merges.len() < wanted {
            // Rare, and only with small corpora: start again and record every pair.
            self.start_over();
            self.merge_occurring(wanted, &mut |_| Ok(()))?;
            self.add_vanished(wanted);
            on_merge(&self.merges)?;
        }
        Ok(self.merges)
    }

    fn start_over(&mut self) {
        self.words.split_symbols(&self.symbols);
        self.symbols.keep_characters();
        self.merges.clear();
        self.seen = Some(Texts::with_hasher(self.hasher.clone()));
    }

    /// Merges pairs until there are `wanted` merges or no pair occurs.
    fn merge_occurring(&mut self, wanted: usize, on_merge: OnMerge<'_>) -> Result<(), TrainError> {
        self.min_count = u64::MAX;
        while self.merges.len() < wanted
            && let Some(best) = self.next_candidate(wanted)?
        {
            self.take(best)?;
            on_merge(&self.merges)?;
        }
        Ok(())
    }

    /// The best pair, if any pair occurs; `wanted` merges are wanted in all.
    fn next_candidate(&mut self, wanted: usize) -> Result<Option<Candidate>, TrainError> {
        loop {
            let view = PairView {
                pairs: &self.pairs,
                symbols: &self.symbols,
            };
            if let Some(best) = self.queue.pop(&view) {
                return Ok(Some(best));
            }
            if self.min_count <= 1 {
                return Ok(None);
            }
            self.min_count = self.build_index(wanted, self.min_count)?;
        }
    }

    /// Indexes the pairs again with a `min_count` below `last_min_count`, which is returned.
    fn build_index(&mut self, wanted: usize, last_min_count: u64) -> Result<u64, TrainError> {
        // Free the old index before the new one is built.
        self.pairs = PairIndex::default();
        self.queue = Queue::default();
        let pool = self.pool;
        let (pair_counts, min_count) = pool.install(|| self.count_pairs(wanted, last_min_count));
        self.pairs = pool.install(|| {
            PairIndex::build(
                &self.words,
                &self.symbols,
                self.rules,
                (pair_counts, min_count),
                self.hasher,
            )
        })?;
        self.queue = Queue::new();
        // `PairIndex::insert` refuses more pairs than 32 bits can number.
        (0..)
            .take(self.pairs.len())
            .for_each(|pair| self.enqueue(pair));
        Ok(min_count)
    }

    /// The pairs to index, and the new `min_count`: at first a share of the average count of the
    /// pairs to merge, later a fraction of the last one, but then at most the largest count, so
    /// that at least one pair is indexed.
    fn count_pairs(&mut self, wanted: usize, last_min_count: u64) -> (PairCounts, u64) {
        let is_first = last_min_count == u64::MAX;
        let min_count = if is_first {
            self.record_seen();
            let total = PairCounts::total(&self.words, &self.symbols);
            self.tuning.first_min_count(total, wanted as u64)
        } else {
            self.tuning.lower_min_count(last_min_count)
        };
        let min_count = min_count.max(1);
        let counts = self.pairs_from(min_count);
        let highest = counts.highest().max(1);
        if is_first || highest >= min_count {
            return (counts, min_count);
        }
        (self.pairs_from(highest), highest)
    }

    /// The pairs that occur at least `min_count` times.
    fn pairs_from(&self, min_count: u64) -> PairCounts {
        PairCounts::of(
            &self.words,
            &self.symbols,
            self.hasher,
            (min_count, self.tuning.slots_per_pass),
        )
    }

    /// Merges the candidate everywhere.
    fn take(&mut self, candidate: Candidate) -> Result<(), TrainError> {
        let positions = self.pairs.remove(&candidate);
        let (left, right) = candidate.symbols;
        let merged = self.symbols.join(left, right, candidate.shape)?;
        let merge_op = MergeOp {
            left: (left, self.symbols.length(left)),
            right: (right, self.symbols.length(right)),
            merged,
        };
        self.apply(&merge_op, &positions);
        drop(positions);
        self.update_old_pairs(&merge_op);
        self.add_new_pairs(&merge_op)?;
        self.merges.push(LearnedMerge {
            text: candidate.text,
            count: candidate.count,
        });
        Ok(())
    }

    /// Merges the pair at all `positions` and gathers its neighbours.
    fn apply(&mut self, merge_op: &MergeOp, positions: &[u32]) {
        let symbols = self.symbols.len();
        let is_parallel = self.is_parallel(positions.len());
        let MergeTrainer {
            neighbours: near,
            second_half: far,
            ..
        } = self;
        near.reset(symbols);
        far.reset(symbols);
        if !is_parallel {
            self.words
                .whole()
                .apply(merge_op, positions, |found| near.add(found));
            return;
        }
        let (mut first, mut second, middle) = self.words.halves(positions[positions.len() / 2]);
        let (before, behind) =
            positions.split_at(positions.partition_point(|position| *position < middle));
        both(
            self.pool,
            || first.apply(merge_op, before, |found| near.add(found)),
            || second.apply(merge_op, behind, |found| far.add(found)),
        );
        near.add_counts(far);
    }

    /// Subtracts the merged occurrences from the pairs that contained them.
    fn update_old_pairs(&mut self, merge_op: &MergeOp) {
        let (left, _) = merge_op.left;
        let (right, _) = merge_op.right;
        let MergeContexts {
            left: before,
            right: behind,
        } = &self.neighbours;
        for &symbol in before
            .symbols()
            .iter()
            .filter(|symbol| **symbol != merge_op.merged)
        {
            self.pairs.subtract(symbol, left, before.count(symbol));
        }
        for &symbol in behind.symbols() {
            self.pairs.subtract(right, symbol, behind.count(symbol));
        }
    }

    /// Adds the pairs of the new symbol and its neighbours.
    fn add_new_pairs(&mut self, merge_op: &MergeOp) -> Result<(), TrainError> {
        let first_left = self.pairs.len();
        self.add_left_pairs(merge_op)?;
        let first_right = self.pairs.len();
        self.add_right_pairs(merge_op)?;
        self.record_positions(first_left, first_right);
        Ok(())
    }

    /// Adds the pairs that have the new symbol on the right.
    fn add_left_pairs(&mut self, merge_op: &MergeOp) -> Result<(), TrainError> {
        for at in 0..self.neighbours.left.symbols().len() {
            let side = &self.neighbours.left;
            let symbol = side.symbols()[at];
            let count = side.count(symbol);
            let positions = side.position_count(symbol);
            if let Some(pair) = self.add_new_pair(symbol, merge_op.merged, count, positions)? {
                self.neighbours.left.set_pair(symbol, pair);
            }
        }
        Ok(())
    }

    /// Adds the pairs that have the new symbol on the left.
    ///
    /// Where two merged occurrences touch, as in `abab` for `a` + `b`, the right neighbour of the
    /// first was the left symbol of the second (`a`). That neighbour has been merged since, and the
    /// pair `ab` + `ab` was counted with the left neighbour of the second occurrence. So the
    /// touching occurrences are subtracted from the pair of `ab` and `a`.
    fn add_right_pairs(&mut self, merge_op: &MergeOp) -> Result<(), TrainError> {
        let merged = merge_op.merged;
        let (left, _) = merge_op.left;
        let touching = self.neighbours.left.count(merged);
        for at in 0..self.neighbours.right.symbols().len() {
            let side = &self.neighbours.right;
            let symbol = side.symbols()[at];
            let merged_since = if symbol == left { touching } else { 0 };
            let count = side.count(symbol) - merged_since;
            let positions = side.position_count(symbol);
            if let Some(pair) = self.add_new_pair(merged, symbol, count, positions)? {
                self.neighbours.right.set_pair(symbol, pair);
            }
        }
        Ok(())
    }

    /// Adds a pair if it is frequent enough to be indexed, and returns its number.
    fn add_new_pair(
        &mut self,
        left: Symbol,
        right: Symbol,
        count: u64,
        positions: usize,
    ) -> Result<Option<u32>, TrainError> {
        let is_indexed = count >= self.pairs.min_count();
        if !is_indexed && self.seen.is_none() || !self.symbols.may_merge(self.rules, left, right) {
            return Ok(None);
        }
        if let Some(seen) = &mut self.seen {
            seen.insert(self.symbols.joined_text(left, right));
        }
        if !is_indexed {
            return Ok(None);
        }
        let pair = self.pairs.insert(left, right, count, positions)?;
        self.enqueue(pair);
        Ok(Some(pair))
    }

    /// Whether work on this many positions is divided between two threads.
    fn is_parallel(&self, positions: usize) -> bool {
        positions >= self.tuning.min_parallel_positions && self.pool.current_num_threads() >= 2
    }

    fn enqueue(&mut self, pair: u32) {
        let view = PairView {
            pairs: &self.pairs,
            symbols: &self.symbols,
        };
        self.queue.push(pair, self.pairs.count(pair), &view);
    }

    /// Records the positions of the new pairs that are indexed: those with the new symbol on the
    /// right are numbered from `first_left` on, those with it on the left from `first_right` on.
    fn record_positions(&mut self, first_left: usize, first_right: usize) {
        let near = &self.neighbours;
        let far = &self.second_half;
        let is_parallel = self.is_parallel(near.positions() + far.positions());
        let (left_pairs, right_pairs) = self
            .pairs
            .since(first_left)
            .split_at_mut(first_right - first_left);
        let mut record_left = || {
            near.left
                .record_positions(&near.left, first_left, left_pairs);
            near.left
                .record_positions(&far.left, first_left, left_pairs);
        };
        let mut record_right = || {
            near.right
                .record_positions(&near.right, first_right, right_pairs);
            near.right
                .record_positions(&far.right, first_right, right_pairs);
        };
        if is_parallel {
            both(self.pool, record_left, record_right);
        } else {
            record_left();
            record_right();
        }
    }

    fn record_seen(&mut self) {
        if self.seen.is_none() {
            return;
        }
        let all = self.pairs_from(1);
        let Some(seen) = &mut self.seen else { return };
        for (left, right) in all.pairs() {
            if self.symbols.may_merge(self.rules, left, right) {
                seen.insert(self.symbols.joined_text(left, right));
            }
        }
    }

    /// Adds pieces of count 0: pairs that occurred at some time and whose text is no piece yet.
    fn add_vanished(&mut self, wanted: usize) {
        let mut seen = self.seen.take().unwrap_or_default();
        for merge in &self.merges {
            seen.remove(&merge.text);
        }
        let mut vanished: Vec<Box<str>> = seen.into_iter().collect();
        vanished.sort_unstable_by(|a, b| (a.chars().count(), a).cmp(&(b.chars().count(), b)));
        vanished.truncate(wanted - self.merges.len());
        self.merges.extend(
            vanished
                .into_iter()
                .map(|text| LearnedMerge { text, count: 0 }),
        );
    }
}

/// Runs one function on this thread and the other on a thread of the pool.
fn both(pool: &rayon::ThreadPool, here: impl FnOnce(), there: impl FnOnce() + Send) {
    pool.in_place_scope(|scope| {
        scope.spawn(|_| there());
        here();
    });
}

#[cfg(test)]
mod tests;
