//! The loop of training: merge the best pair everywhere, update the counts of the pairs around it, repeat.
//!
//! In: the words as a [`WordBuffer`], and the number of merges wanted. Out: the merges, best first. See
//! [the example](super). The rules of the reference at the edges:
//!
//! * Every occurrence of a pair counts, overlapping ones too: `aaa` has two occurrences of `aa`. Occurrences are merged
//!   from left to right, so that `aaa` becomes `aa a`.
//! * A string becomes a piece at most once (the lemma below).
//! * When no pair occurs any more and more merges are wanted, pairs that once occurred become pieces with count 0,
//!   those with the fewest characters first. This is rare and then the corpus is small, so the loop runs again from
//!   the start and records every pair.
//!
//! # Lemma: a string becomes a piece at most once
//!
//! Two pairs that occur at the same time never spell the same string. So no test is needed whether the text of a
//! candidate is a piece already.
//!
//! *Proof.* Consider a span of characters in any word, such that at the present step no symbol reaches across an end
//! of the span. Symbols only grow, so no symbol reached across its ends at any earlier step either. Therefore every
//! merge so far either lies inside the span or outside of it. By induction over the steps, two such spans of the same
//! string are segmented identically: they start with the same characters, every step merges the same pair in both,
//! and occurrences are merged from left to right. (An occurrence that starts before the span and overlaps its start
//! would reach across its end if it were merged.) If two pairs spell one string, each occurrence of either pair is
//! such a span; hence they have the same two symbols. And after a string has become one symbol in one occurrence, it is one
//! symbol in all such spans, so that no pair spells it again.
//!
//! # Cost
//!
//! A merge visits the positions where its pair occurs or occurred, and looks up each neighbouring pair once. In total that
//! is linear in the text of the distinct words times the depth of its merges. See [`pairs`](super::pairs) for what is kept.

use foldhash::fast::SeedableRandomState;
use hashbrown::HashSet;

use crate::error::TrainError;
use crate::train::bpe::merge_contexts::MergeContexts;
use crate::train::bpe::pairs::{PairCounts, PairIndex, PairView};
use crate::train::bpe::queue::{Candidate, Queue};
use crate::train::bpe::symbols::{Symbol, SymbolArena};
use crate::train::bpe::word_buffer::{MergeOp, WordBuffer};
use crate::train::split::SplitRules;

/// What decides how the work is done, but not what comes out.
#[derive(Debug, Clone, Copy)]
struct Tuning {
    /// Where the first min_count lies: a pair is worth watching if it occurs at least this fraction as often
    /// as the average of the pairs to merge would. Lower, and memory goes to pairs that never merge;
    /// higher, and the index is built again.
    min_count_share: u64,
    /// How far the min_count falls when it has to.
    min_count_step: u64,
    /// A pair in at least so many positions is merged on two threads.
    min_parallel_positions: usize,
}

/// These did well on corpora of 20 to 500 MB in several languages; other values were not compared.
const TUNING: Tuning = Tuning {
    min_count_share: 64,
    min_count_step: 16,
    min_parallel_positions: 4096,
};

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
    /// The texts of all pairs that ever occurred, if they are wanted.
    seen: Option<Texts>,
    tuning: Tuning,
}

/// Is told about each merge; an error stops the merging.
pub(crate) type OnMerge<'o> = &'o mut dyn FnMut(&[LearnedMerge]) -> Result<(), TrainError>;

impl<'a> MergeTrainer<'a> {
    /// Long work is done on the threads of `pool`; `hasher` positions what is hashed.
    pub(crate) fn new(
        rules: &'a SplitRules,
        pool: &'a rayon::ThreadPool,
        hasher: &'a SeedableRandomState,
        symbols: SymbolArena,
        words: WordBuffer,
    ) -> MergeTrainer<'a> {
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
            // Rare, and then the corpus is small: do it all again, this time noting every pair.
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
        let mut min_count = u64::MAX;
        while self.merges.len() < wanted && min_count > 1 {
            min_count = self.build_index(wanted, min_count)?;
            while self.merges.len() < wanted
                && let Some(best) = self.queue.pop(&PairView {
                    pairs: &self.pairs,
                    symbols: &self.symbols,
                })
            {
                self.take(best)?;
                on_merge(&self.merges)?;
            }
        }
        Ok(())
    }

    /// Indexes the pairs above a min_count lower than `last_min_count`, and returns that min_count.
    fn build_index(&mut self, wanted: usize, last_min_count: u64) -> Result<u64, TrainError> {
        // The old index has to go before the new one comes.
        (self.pairs, self.queue) = (PairIndex::default(), Queue::default());
        let pool = self.pool;
        let pair_counts = pool.install(|| PairCounts::of(&self.words, &self.symbols, self.hasher));
        let min_count = if last_min_count == u64::MAX {
            self.record_seen(&pair_counts);
            pair_counts.total() / (wanted as u64).saturating_mul(self.tuning.min_count_share)
        } else {
            (last_min_count / self.tuning.min_count_step).min(pair_counts.highest())
        };
        let min_count = min_count.max(1);
        self.pairs = pool.install(|| {
            PairIndex::build(
                &self.words,
                &self.symbols,
                self.rules,
                pair_counts,
                min_count,
            )
        })?;
        self.queue = Queue::new();
        // `PairIndex::insert` refuses more pairs than 32 bits can number.
        (0..)
            .take(self.pairs.len())
            .for_each(|pair| self.enqueue(pair));
        Ok(min_count)
    }

    /// Merges the candidate everywhere.
    fn take(&mut self, candidate: Candidate) -> Result<(), TrainError> {
        let positions = self.pairs.remove(&candidate);
        let (left, right) = candidate.symbols;
        let merged = self.symbols.join(left, right, candidate.shape)?;
        let rewrite = MergeOp {
            left: (left, self.symbols.length(left)),
            right: (right, self.symbols.length(right)),
            merged,
        };
        self.rewrite(&rewrite, &positions);
        drop(positions);
        self.update_old_pairs(&rewrite);
        self.add_new_pairs(&rewrite)?;
        self.merges.push(LearnedMerge {
            text: candidate.text,
            count: candidate.count,
        });
        Ok(())
    }

    /// Merges the pair at all `positions` and gathers its neighbours.
    fn rewrite(&mut self, rewrite: &MergeOp, positions: &[u32]) {
        let symbols = self.symbols.len();
        let MergeTrainer {
            neighbours: near,
            second_half: far,
            ..
        } = self;
        near.reset(symbols);
        far.reset(symbols);
        if positions.len() < self.tuning.min_parallel_positions
            || self.pool.current_num_threads() < 2
        {
            self.words
                .whole()
                .rewrite(rewrite, positions, |found| near.add(found));
            return;
        }
        let (mut first, mut second, middle) = self.words.halves(positions[positions.len() / 2]);
        let (before, behind) =
            positions.split_at(positions.partition_point(|position| *position < middle));
        both(
            self.pool,
            || first.rewrite(rewrite, before, |found| near.add(found)),
            || second.rewrite(rewrite, behind, |found| far.add(found)),
        );
        near.add_counts(far);
    }

    /// Takes the merged occurrences from the pairs that they were part of.
    fn update_old_pairs(&mut self, rewrite: &MergeOp) {
        let ((left, _), (right, _)) = (rewrite.left, rewrite.right);
        let MergeContexts {
            left: before,
            right: behind,
        } = &self.neighbours;
        for &symbol in before
            .symbols()
            .iter()
            .filter(|symbol| **symbol != rewrite.merged)
        {
            self.pairs.subtract(symbol, left, before.count(symbol));
        }
        for &symbol in behind.symbols() {
            self.pairs.subtract(right, symbol, behind.count(symbol));
        }
    }

    /// Adds the pairs of the new symbol and its neighbours.
    fn add_new_pairs(&mut self, rewrite: &MergeOp) -> Result<(), TrainError> {
        let merged = rewrite.merged;
        let first_left = self.pairs.len();
        for at in 0..self.neighbours.left.symbols().len() {
            let side = &self.neighbours.left;
            let symbol = side.symbols()[at];
            let (count, positions) = (side.count(symbol), side.position_count(symbol));
            if let Some(pair) = self.add_new_pair(symbol, merged, count, positions)? {
                self.neighbours.left.set_pair(symbol, pair);
            }
        }
        let first_right = self.pairs.len();
        // Where two merged positions touch, the first found the left symbol of the second to its right.
        let touching = self.neighbours.left.count(merged);
        for at in 0..self.neighbours.right.symbols().len() {
            let side = &self.neighbours.right;
            let symbol = side.symbols()[at];
            let merged_since = if symbol == rewrite.left.0 {
                touching
            } else {
                0
            };
            let (count, positions) = (
                side.count(symbol) - merged_since,
                side.position_count(symbol),
            );
            if let Some(pair) = self.add_new_pair(merged, symbol, count, positions)? {
                self.neighbours.right.set_pair(symbol, pair);
            }
        }
        self.record_positions(first_left, first_right);
        Ok(())
    }

    /// Adds a pair if it is frequent enough to be kept, and returns its number then.
    fn add_new_pair(
        &mut self,
        left: Symbol,
        right: Symbol,
        count: u64,
        positions: usize,
    ) -> Result<Option<u32>, TrainError> {
        let is_kept = count >= self.pairs.min_count();
        if !is_kept && self.seen.is_none()
            || self
                .rules
                .join(self.symbols.shape(left), self.symbols.shape(right))
                .is_none()
        {
            return Ok(None);
        }
        if let Some(seen) = &mut self.seen {
            seen.insert(self.symbols.joined_text(left, right));
        }
        if !is_kept {
            return Ok(None);
        }
        let pair = self.pairs.insert(left, right, count, positions)?;
        self.enqueue(pair);
        Ok(Some(pair))
    }

    fn enqueue(&mut self, pair: u32) {
        let described = PairView {
            pairs: &self.pairs,
            symbols: &self.symbols,
        };
        self.queue.push(pair, self.pairs.count(pair), &described);
    }

    /// Remembers the positions of the new pairs that are kept: those with the new symbol on the right are
    /// numbered from `first_left` on, those with it on the left from `first_right` on.
    fn record_positions(&mut self, first_left: usize, first_right: usize) {
        let (near, far) = (&self.neighbours, &self.second_half);
        let (left_pairs, right_pairs) = self
            .pairs
            .since(first_left)
            .split_at_mut(first_right - first_left);
        let mut note_left = || {
            near.left
                .record_positions(&near.left, first_left, left_pairs);
            near.left
                .record_positions(&far.left, first_left, left_pairs);
        };
        let mut note_right = || {
            near.right
                .record_positions(&near.right, first_right, right_pairs);
            near.right
                .record_positions(&far.right, first_right, right_pairs);
        };
        if near.positions() + far.positions() < self.tuning.min_parallel_positions
            || self.pool.current_num_threads() < 2
        {
            note_left();
            note_right();
        } else {
            both(self.pool, note_left, note_right);
        }
    }

    fn record_seen(&mut self, pair_counts: &PairCounts) {
        let Some(seen) = &mut self.seen else { return };
        for (left, right) in pair_counts.pairs() {
            if self
                .rules
                .join(self.symbols.shape(left), self.symbols.shape(right))
                .is_some()
            {
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

/// Does one thing on this thread and the other on one of the pool's.
fn both(pool: &rayon::ThreadPool, here: impl FnOnce(), there: impl FnOnce() + Send) {
    pool.in_place_scope(|scope| {
        scope.spawn(|_| there());
        here();
    });
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;
    use crate::train::alphabet::{Alphabet, CharacterCounts};
    use crate::train::counts::ShardedCounts;
    use crate::train::options::TrainOptions;

    /// A word as its symbols, and its count.
    type Word = (Vec<String>, u64);

    /// Merges by recounting everything before each merge.
    fn slow_merges(
        words: &BTreeMap<String, u64>,
        rules: &SplitRules,
        wanted: usize,
    ) -> Vec<(String, u64)> {
        let mut words: Vec<Word> = words
            .iter()
            .map(|(word, count)| (word.chars().map(String::from).collect(), *count))
            .collect();
        let mut seen: BTreeSet<(String, String)> = BTreeSet::new();
        words.iter().for_each(|word| note_pairs(word, &mut seen));
        let mut merges: Vec<(String, u64)> = Vec::new();
        while merges.len() < wanted {
            let is_new = |text: &String| !merges.iter().any(|(made, _)| made == text);
            let best = seen
                .iter()
                .map(|(left, right)| ((left, right), format!("{left}{right}")))
                .filter(|(_, text)| is_new(text) && rules.is_valid_piece(text))
                .map(|(pair, text)| (count_of(pair, &words), pair, text))
                .max_by(|(a_count, _, a), (b_count, _, b)| {
                    let key = |count: &u64, text: &String| {
                        (
                            *count,
                            std::cmp::Reverse((text.chars().count(), text.clone())),
                        )
                    };
                    key(a_count, a).cmp(&key(b_count, b))
                });
            let Some((count, (left, right), text)) = best else {
                break;
            };
            let (left, right) = (left.clone(), right.clone());
            merges.push((text, count));
            words
                .iter_mut()
                .for_each(|word| merge_in(word, &left, &right, &mut seen));
        }
        merges
    }

    fn note_pairs((symbols, _): &Word, seen: &mut BTreeSet<(String, String)>) {
        seen.extend(
            symbols
                .windows(2)
                .map(|pair| (pair[0].clone(), pair[1].clone())),
        );
    }

    fn count_of((left, right): (&String, &String), words: &[Word]) -> u64 {
        let positions = |symbols: &[String]| {
            symbols
                .windows(2)
                .filter(|pair| pair[0] == *left && pair[1] == *right)
                .count()
        };
        words
            .iter()
            .map(|(symbols, count)| count * positions(symbols) as u64)
            .sum()
    }

    fn merge_in(word: &mut Word, left: &str, right: &str, seen: &mut BTreeSet<(String, String)>) {
        let mut at = 0;
        while at + 1 < word.0.len() {
            if word.0[at] == left && word.0[at + 1] == right {
                word.0[at] = format!("{left}{right}");
                word.0.remove(at + 1);
                note_pairs(word, seen);
            }
            at += 1;
        }
    }

    fn fast_merges(
        words: &BTreeMap<String, u64>,
        rules: &SplitRules,
        wanted: usize,
        tuning: Tuning,
        threads: usize,
    ) -> Vec<(String, u64)> {
        let table = ShardedCounts::of(words.iter().map(|(word, count)| (word, *count)));
        let alphabet = Alphabet::all(&CharacterCounts::of(&table).unwrap());
        let symbols = SymbolArena::new(&alphabet, rules);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let hasher = SeedableRandomState::default();
        let words = pool
            .install(|| WordBuffer::new(table, &symbols, &hasher))
            .unwrap();
        let mut merger = MergeTrainer::new(rules, &pool, &hasher, symbols, words);
        merger.tuning = tuning;
        let merges = merger.run(wanted, &mut |_| Ok(())).unwrap();
        merges
            .into_iter()
            .map(|merge| (merge.text.into_string(), merge.count))
            .collect()
    }

    fn any_tuning() -> impl Strategy<Value = Tuning> {
        (1u64..70, 2u64..20, 0usize..4).prop_map(
            |(min_count_share, min_count_step, min_parallel_positions)| Tuning {
                min_count_share,
                min_count_step,
                min_parallel_positions,
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(250))]

        #[test]
        fn merges_are_those_of_recounting(
            words in proptest::collection::btree_map("[ab]{1,9}|[a-d]{1,12}|(ab|a){2,6}|a{1,9}", 1u64..5, 1..12),
            max_length in 2u32..9,
            wanted in 0usize..60,
            tuning in any_tuning(),
            threads in 1usize..3,
        ) {
            let mut options = TrainOptions::default();
            options.max_sentencepiece_length = max_length;
            let rules = SplitRules::new(&options);
            let slow = slow_merges(&words, &rules, wanted);
            prop_assert_eq!(fast_merges(&words, &rules, wanted, tuning, threads), slow);
        }
    }

    /// The worked example of [`crate::train::bpe`].
    #[test]
    fn the_documented_example_is_right() {
        let words = [("abab", 1), ("abc", 3), ("bc", 2), ("ab", 1)];
        let words: BTreeMap<String, u64> = words
            .into_iter()
            .map(|(word, count)| (word.to_owned(), count))
            .collect();
        let rules = SplitRules::new(&TrainOptions::default());
        let expected = [("ab", 6), ("abc", 3), ("bc", 2), ("abab", 1)];
        let expected = expected.map(|(text, count)| (text.to_owned(), count));
        assert_eq!(fast_merges(&words, &rules, 4, TUNING, 1), expected);
        assert_eq!(slow_merges(&words, &rules, 4), expected);
    }

    #[test]
    fn long_words_are_merged_by_places() {
        let mut options = TrainOptions::default();
        options.max_sentencepiece_length = 300;
        let rules = SplitRules::new(&options);
        let word =
            |unit: &str, length: usize| unit.chars().cycle().take(length).collect::<String>();
        let words = BTreeMap::from([
            (word("ab", 700), 3),
            (word("abc", 500), 2),
            (word("a", 400), 1),
        ]);
        let slow = slow_merges(&words, &rules, 40);
        assert!(slow.iter().any(|(text, _)| text.len() > 128));
        assert_eq!(fast_merges(&words, &rules, 40, TUNING, 1), slow);
        assert_eq!(
            fast_merges(
                &words,
                &rules,
                40,
                Tuning {
                    min_parallel_positions: 0,
                    ..TUNING
                },
                2
            ),
            slow
        );
    }
}
