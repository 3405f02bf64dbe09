//! The loop of training: merge the best pair everywhere, update the counts of the pairs around it,
//! repeat.
//!
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

use std::borrow::Cow;

use foldhash::fast::SeedableRandomState;
use hashbrown::HashSet;

use self::tuning::{TUNING, Tuning};
use crate::train::TrainError;
use crate::train::bpe::merge_contexts::MergeContexts;
use crate::train::bpe::pairs::{IndexLimits, PairCounts, PairIndex, PairView};
use crate::train::bpe::queue::{Candidate, Queue, TieOrder};
use crate::train::bpe::symbols::{Symbol, SymbolArena};
use crate::train::bpe::word_buffer::{MergeOp, WordBuffer};
use crate::train::execution_config::Threads;
use crate::train::split::SplitRules;

/// A piece made by merging, and how often its pair occurred.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LearnedMerge {
    pub(crate) text: Box<[u8]>,
    pub(crate) count: u64,
}

impl LearnedMerge {
    /// The text of a merge of characters, which is UTF-8.
    pub(crate) fn to_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.text)
    }
}

type Texts = HashSet<Box<[u8]>, SeedableRandomState>;

/// Merges pairs in `words`, best first; pairs that occur equally often in the order `order`.
pub(crate) struct MergeTrainer<'a, Order: TieOrder> {
    rules: &'a SplitRules,
    pool: &'a Threads,
    hasher: &'a SeedableRandomState,
    order: Order,
    symbols: SymbolArena,
    words: WordBuffer,
    pairs: PairIndex,
    queue: Queue<Order::Key>,
    /// The neighbours of the occurrences in the first part of the words; the counts of all parts
    /// are added to them.
    neighbours: MergeContexts,
    /// Those in the other parts; empty as far as the last merge had fewer.
    other_parts: Vec<MergeContexts>,
    merges: Vec<LearnedMerge>,
    /// Pairs that occur less often are not indexed; `None` before the first index.
    min_count: Option<u64>,
    /// The memory of the words at first.
    words_bytes: usize,
    /// The index is rebuilt when it takes more memory.
    max_index_bytes: usize,
    /// Whether nothing but the index knows positions, so that words may move before a rebuild.
    words_may_move: bool,
    /// Pairs that occur less often are not merged.
    min_frequency: u64,
    /// The texts of all pairs that ever occurred, if they are wanted.
    seen: Option<Texts>,
    tuning: Tuning,
}

/// Called after each merge with all merges so far; an error stops the merging.
pub(crate) type OnMerge<'o> = &'o mut dyn FnMut(&[LearnedMerge]) -> Result<(), TrainError>;

impl<'a, Order: TieOrder> MergeTrainer<'a, Order> {
    /// Long work is done on the threads of `pool`; `hasher` seeds the hash tables.
    pub(crate) fn new(
        (rules, order): (&'a SplitRules, Order),
        pool: &'a Threads,
        hasher: &'a SeedableRandomState,
        symbols: SymbolArena,
        words: WordBuffer,
    ) -> Self {
        MergeTrainer {
            rules,
            pool,
            hasher,
            order,
            symbols,
            words_bytes: words.bytes(),
            words,
            pairs: PairIndex::default(),
            queue: Queue::new(),
            neighbours: MergeContexts::default(),
            other_parts: Vec::new(),
            merges: Vec::new(),
            min_count: None,
            max_index_bytes: 0,
            words_may_move: true,
            min_frequency: 1,
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
        self.merge_occurring(wanted, &|_| false, on_merge)?;
        if self.merges.len() < wanted {
            // Rare, and only with small corpora: start again and record every pair.
            self.start_over();
            self.merge_occurring(wanted, &|_| false, &mut |_| Ok(()))?;
            self.add_vanished(wanted);
            on_merge(&self.merges)?;
        }
        Ok(self.merges)
    }

    /// Merges pairs that occur `min_frequency` times at least, until `wanted` of the merges have
    /// another text than those that `is_known`, or no pair occurs as often.
    pub(crate) fn run_occurring(
        self,
        limits: (usize, u64),
        is_known: &dyn Fn(&[u8]) -> bool,
        on_merge: OnMerge<'_>,
    ) -> Result<Vec<LearnedMerge>, TrainError> {
        let (merges, _symbols) = self.run_with_symbols(limits, is_known, on_merge)?;
        Ok(merges)
    }

    /// As [`run_occurring`](Self::run_occurring), and returns all symbols.
    pub(crate) fn run_with_symbols(
        mut self,
        (wanted, min_frequency): (usize, u64),
        is_known: &dyn Fn(&[u8]) -> bool,
        on_merge: OnMerge<'_>,
    ) -> Result<(Vec<LearnedMerge>, SymbolArena), TrainError> {
        self.min_frequency = min_frequency.max(1);
        self.merge_occurring(wanted, is_known, on_merge)?;
        Ok((self.merges, self.symbols))
    }

    fn start_over(&mut self) {
        self.words.split_symbols(&self.symbols);
        self.symbols.keep_initial();
        self.merges.clear();
        self.seen = Some(Texts::with_hasher(self.hasher.clone()));
    }

    /// Merges pairs until there are `wanted` merges, besides those whose text `is_known`, or no
    /// pair occurs.
    fn merge_occurring(
        &mut self,
        mut wanted: usize,
        is_known: &dyn Fn(&[u8]) -> bool,
        on_merge: OnMerge<'_>,
    ) -> Result<(), TrainError> {
        self.min_count = None;
        while self.merges.len() < wanted
            && let Some(best) = self.next_candidate(wanted)?
        {
            self.take(&best)?;
            let is_known = self
                .merges
                .last()
                .is_some_and(|merge| is_known(&merge.text));
            wanted += usize::from(is_known);
            on_merge(&self.merges)?;
        }
        Ok(())
    }

    /// The best pair, if any pair occurs; `wanted` merges are wanted in all.
    fn next_candidate(
        &mut self,
        wanted: usize,
    ) -> Result<Option<Candidate<Order::Key>>, TrainError> {
        let Some(min_count) = self.min_count else {
            self.record_seen();
            let total = self
                .pool
                .install(|| PairCounts::total(&self.words, &self.symbols));
            let min_count = self.tuning.first_min_count(total, wanted as u64);
            self.build_index(min_count)?;
            return self.next_candidate(wanted);
        };
        if self.pairs.bytes() > self.max_index_bytes {
            self.build_index(min_count)?;
        }
        loop {
            let view = PairView {
                pairs: &self.pairs,
                symbols: &self.symbols,
                words: &self.words,
                order: &self.order,
            };
            if let Some(best) = self.queue.pop(&view) {
                return Ok(Some(best));
            }
            match self.min_count {
                Some(last) if last > self.min_frequency => {
                    self.build_index(self.tuning.lower_min_count(last))?;
                }
                _ => return Ok(None),
            }
        }
    }

    /// Indexes the pairs that occur at least `min_count` times, or those that occur most often: the
    /// ones that the memory allows, or the ones with the largest count.
    fn build_index(&mut self, min_count: u64) -> Result<(), TrainError> {
        // Free the old index before the new one is built.
        self.pairs = PairIndex::default();
        self.queue = Queue::new();
        if self.min_count.is_some() && self.words_may_move {
            self.words.compact(&mut self.symbols);
        }
        // The index may also take what the words no longer take.
        let bytes = self.tuning.index_bytes(self.words.len())
            + self.words_bytes.saturating_sub(self.words.bytes());
        let counts = self.pairs_from(min_count.max(self.min_frequency), bytes);
        self.pairs =
            PairIndex::build(&self.words, &self.symbols, counts, (self.pool, self.hasher))?;
        self.min_count = Some(self.pairs.min_count());
        // Twice as much as it takes now, so that rebuilding costs no more than what was added since.
        self.max_index_bytes = self.pairs.bytes().max(bytes).saturating_mul(2);
        // `PairIndex::insert` refuses more pairs than 32 bits can number.
        (0..)
            .take(self.pairs.len())
            .for_each(|pair| self.enqueue(pair));
        Ok(())
    }

    /// The pairs that occur at least `min_count` times, or as many of them as take so much memory.
    fn pairs_from(&self, min_count: u64, bytes: usize) -> PairCounts {
        let limits = IndexLimits {
            min_count,
            bytes,
            pairs_per_pass: self.tuning.pairs_per_pass,
        };
        let symbols = (&self.symbols, self.rules);
        let (words, hasher) = (&self.words, self.hasher);
        self.pool
            .install(|| PairCounts::of(words, symbols, hasher, limits))
    }

    /// Merges the candidate everywhere.
    fn take(&mut self, candidate: &Candidate<Order::Key>) -> Result<(), TrainError> {
        let positions = self.pairs.remove(candidate.pair);
        let (left, right) = candidate.symbols;
        let merged = self.symbols.join(left, right)?;
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
            text: self.symbols.text(merged).into(),
            count: candidate.count,
        });
        Ok(())
    }

    /// Merges the pair at all `positions` and gathers its neighbours.
    fn apply(&mut self, merge_op: &MergeOp, positions: &[u32]) {
        let parts = self.parts(positions.len());
        self.reset_contexts(parts);
        let near = &mut self.neighbours;
        // Parts with about equally many positions; the last ones go to other threads.
        let starts = (1..parts).map(|part| positions[positions.len() / parts * part]);
        let mut words = self.words.parts_to_merge(merge_op, starts);
        if let [words] = words.as_mut_slice() {
            words.apply(positions, |found| near.add(found));
            return;
        }
        let others = words.split_off(1);
        let mut rest = positions;
        self.pool.in_place_scope(|scope| {
            for (mut words, far) in others.into_iter().zip(&mut self.other_parts).rev() {
                let start = rest.partition_point(|position| *position < words.start());
                let (before, positions) = rest.split_at(start);
                rest = before;
                scope.spawn(move |_| words.apply(positions, |found| far.add(found)));
            }
            for mut words in words {
                words.apply(rest, |found| near.add(found));
            }
        });
        for far in &self.other_parts {
            near.add_counts(far);
        }
    }

    /// Forgets the last merge and makes contexts for this many parts of the words.
    fn reset_contexts(&mut self, parts: usize) {
        let symbols = self.symbols.len();
        self.neighbours.reset(symbols);
        self.other_parts.iter_mut().for_each(MergeContexts::clear);
        if self.other_parts.len() < parts - 1 {
            self.other_parts
                .resize_with(parts - 1, MergeContexts::default);
        }
        for far in &mut self.other_parts[..parts - 1] {
            far.reset(symbols);
        }
    }

    /// The number of parts in which this many positions are merged.
    fn parts(&self, positions: usize) -> usize {
        let parts = positions / self.tuning.min_part_positions.max(1);
        parts.clamp(1, self.pool.count())
    }

    /// Subtracts the merged occurrences from the pairs that contained them.
    fn update_old_pairs(&mut self, merge_op: &MergeOp) {
        let (left, _) = merge_op.left;
        let (right, _) = merge_op.right;
        let MergeContexts {
            left: before,
            right: after,
        } = &self.neighbours;
        for &symbol in before
            .symbols()
            .iter()
            .filter(|symbol| **symbol != merge_op.merged)
        {
            self.pairs.subtract(symbol, left, before.count(symbol));
        }
        for &symbol in after.symbols() {
            self.pairs.subtract(right, symbol, after.count(symbol));
        }
    }

    /// Adds the pairs of the new symbol and its neighbours.
    fn add_new_pairs(&mut self, merge_op: &MergeOp) -> Result<(), TrainError> {
        let first_left = self.pairs.len();
        self.add_left_pairs(merge_op)?;
        let first_right = self.pairs.len();
        self.add_right_pairs(merge_op)?;
        self.record_positions(first_left, first_right);
        // `PairIndex::insert` refuses more pairs than 32 bits can number.
        (0..)
            .take(self.pairs.len())
            .skip(first_left)
            .for_each(|pair| self.enqueue(pair));
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

    /// Adds a pair if it is frequent enough to be indexed, and returns its number. Its positions
    /// are recorded later, and then it is enqueued.
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
        self.pairs.insert(left, right, count, positions).map(Some)
    }

    /// Adds an indexed pair, with its positions, to the queue.
    fn enqueue(&mut self, pair: u32) {
        let view = PairView {
            pairs: &self.pairs,
            symbols: &self.symbols,
            words: &self.words,
            order: &self.order,
        };
        self.queue.push(pair, self.pairs.count(pair), &view);
    }

    /// Records the positions of the new pairs that are indexed: those with the new symbol on the
    /// right are numbered from `first_left` on, those with it on the left from `first_right` on.
    fn record_positions(&mut self, first_left: usize, first_right: usize) {
        let near = &self.neighbours;
        let all = || std::iter::once(near).chain(&self.other_parts);
        let is_parallel = self.parts(all().map(MergeContexts::positions).sum()) > 1;
        let (left_pairs, right_pairs) = self
            .pairs
            .since(first_left)
            .split_at_mut(first_right - first_left);
        let mut record_left = || {
            for part in all() {
                near.left
                    .record_positions(&part.left, first_left, left_pairs);
            }
        };
        let mut record_right = || {
            for part in all() {
                near.right
                    .record_positions(&part.right, first_right, right_pairs);
            }
        };
        if is_parallel {
            self.pool.in_place_scope(|scope| {
                scope.spawn(|_| record_right());
                record_left();
            });
        } else {
            record_left();
            record_right();
        }
    }

    fn record_seen(&mut self) {
        if self.seen.is_none() {
            return;
        }
        let all = self.pairs_from(1, usize::MAX);
        let Some(seen) = &mut self.seen else { return };
        for (left, right) in all.pairs() {
            seen.insert(self.symbols.joined_text(left, right));
        }
    }

    /// Adds pieces of count 0: pairs that occurred at some time and whose text is no piece yet.
    fn add_vanished(&mut self, wanted: usize) {
        let mut seen = self.seen.take().unwrap_or_default();
        for merge in &self.merges {
            seen.remove(&merge.text);
        }
        let mut vanished: Vec<Box<[u8]>> = seen.into_iter().collect();
        let characters = |text: &[u8]| String::from_utf8_lossy(text).chars().count();
        vanished.sort_unstable_by(|a, b| (characters(a), a).cmp(&(characters(b), b)));
        vanished.truncate(wanted - self.merges.len());
        self.merges.extend(
            vanished
                .into_iter()
                .map(|text| LearnedMerge { text, count: 0 }),
        );
    }
}

#[cfg(test)]
mod tests;
