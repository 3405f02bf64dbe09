//! The loop: merge the best pair everywhere, update the counts of the pairs around it, again.
//!
//! This is byte-pair encoding (Sennrich, Haddow, Birch, "Neural machine translation of rare words with
//! subword units", 2016, <https://arxiv.org/abs/1508.07909>) with the reference's rules at the edges:
//!
//! * Every occurrence of a pair counts, overlapping ones too ("aaa" has two of "aa"); places are merged
//!   from left to right.
//! * A text becomes a piece once. While pairs occur, this takes no test: two pairs of one text never occur
//!   at the same time. The symbols inside a stretch of text never reached across its ends, or they would
//!   still, so what the stretch consists of is the same everywhere; and once it is one symbol in one place
//!   it is in all.
//! * When no pair occurs any more, pairs that once did still become pieces, shortest first.
//!
//! Cost: each merge looks at the places where the pair occurs, so the whole is linear in the text of the
//! distinct words times the depth of its merges; see [`crate::train::pairs`] for what is kept.

use foldhash::fast::SeedableRandomState;
use hashbrown::HashSet;

use crate::error::TrainError;
use crate::train::neighbours::Neighbours;
use crate::train::pairs::{Described, Pairs, Tallies};
use crate::train::queue::{Candidate, Queue};
use crate::train::sequences::{Rewrite, Sequences};
use crate::train::split::SplitRules;
use crate::train::symbols::{Symbol, Symbols};

/// What decides how the work is done, but not what comes out.
#[derive(Debug, Clone, Copy)]
struct Tuning {
    /// Where the first floor lies: a pair is worth watching if it occurs at least this fraction as often
    /// as the average of the pairs to merge would. Lower, and memory goes to pairs that never merge;
    /// higher, and the index is built again.
    floor_share: u64,
    /// How far the floor falls when it has to.
    floor_step: u64,
    /// A pair in at least so many places is merged on two threads.
    parallel_places: usize,
}

/// These did well on corpora of 20 to 500 MB in several languages; other values were not compared.
const TUNING: Tuning = Tuning {
    floor_share: 64,
    floor_step: 16,
    parallel_places: 4096,
};

/// A piece made by merging, and how often its pair occurred.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Merge {
    pub(crate) text: Box<str>,
    pub(crate) count: u64,
}

type Texts = HashSet<Box<str>, SeedableRandomState>;

/// Merges pairs in `sequences`, best first.
pub(crate) struct Merger<'a> {
    rules: &'a SplitRules,
    pool: &'a rayon::ThreadPool,
    hasher: &'a SeedableRandomState,
    symbols: Symbols,
    sequences: Sequences,
    pairs: Pairs,
    queue: Queue,
    neighbours: Neighbours,
    far_neighbours: Neighbours,
    merges: Vec<Merge>,
    /// The texts of all pairs that ever occurred, if they are wanted.
    seen: Option<Texts>,
    tuning: Tuning,
}

/// Is told about each merge; an error stops the merging.
pub(crate) type OnMerge<'o> = &'o mut dyn FnMut(&[Merge]) -> Result<(), TrainError>;

impl<'a> Merger<'a> {
    /// Long work is done on the threads of `pool`; `hasher` places what is hashed.
    pub(crate) fn new(
        rules: &'a SplitRules,
        pool: &'a rayon::ThreadPool,
        hasher: &'a SeedableRandomState,
        symbols: Symbols,
        sequences: Sequences,
    ) -> Merger<'a> {
        Merger {
            rules,
            pool,
            hasher,
            symbols,
            sequences,
            pairs: Pairs::default(),
            queue: Queue::default(),
            neighbours: Neighbours::default(),
            far_neighbours: Neighbours::default(),
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
    ) -> Result<Vec<Merge>, TrainError> {
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
        self.merges.clear();
        self.seen = Some(Texts::with_hasher(self.hasher.clone()));
    }

    /// Merges pairs until there are `wanted` merges or no pair occurs.
    fn merge_occurring(&mut self, wanted: usize, on_merge: OnMerge<'_>) -> Result<(), TrainError> {
        let mut floor = u64::MAX;
        while self.merges.len() < wanted && floor > 1 {
            floor = self.build_index(wanted, floor)?;
            while self.merges.len() < wanted
                && let Some(best) = self.queue.pop(&Described {
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

    /// Indexes the pairs above a floor lower than `last_floor`, and returns that floor.
    fn build_index(&mut self, wanted: usize, last_floor: u64) -> Result<u64, TrainError> {
        // The old index has to go before the new one comes.
        (self.pairs, self.queue) = (Pairs::default(), Queue::default());
        let pool = self.pool;
        let tallies = pool.install(|| Tallies::of(&self.sequences, &self.symbols, self.hasher));
        let floor = if last_floor == u64::MAX {
            self.note_seen(&tallies);
            let wanted = u64::try_from(wanted).unwrap_or(u64::MAX);
            tallies.total() / wanted.saturating_mul(self.tuning.floor_share)
        } else {
            (last_floor / self.tuning.floor_step).min(tallies.highest())
        };
        let floor = floor.max(1);
        self.pairs = pool
            .install(|| Pairs::build(&self.sequences, &self.symbols, self.rules, tallies, floor))?;
        self.queue = Queue::new();
        // Pairs have numbers of 32 bits.
        (0..u32::try_from(self.pairs.len()).unwrap_or(u32::MAX))
            .for_each(|pair| self.enqueue(pair));
        Ok(floor)
    }

    /// Merges the candidate everywhere.
    fn take(&mut self, candidate: Candidate) -> Result<(), TrainError> {
        let places = self.pairs.remove(&candidate);
        let (left, right) = candidate.symbols;
        let merged = self.symbols.join(left, right, candidate.shape)?;
        let rewrite = Rewrite {
            left: (left, self.symbols.length(left)),
            right: (right, self.symbols.length(right)),
            merged,
        };
        self.rewrite(&rewrite, &places);
        drop(places);
        self.update_old_pairs(&rewrite);
        self.add_new_pairs(&rewrite)?;
        self.merges.push(Merge {
            text: candidate.text,
            count: candidate.count,
        });
        Ok(())
    }

    /// Merges the pair at all `places` and gathers its neighbours.
    fn rewrite(&mut self, rewrite: &Rewrite, places: &[u32]) {
        let symbols = self.symbols.len();
        let Merger {
            neighbours: near,
            far_neighbours: far,
            ..
        } = self;
        near.reset(symbols);
        far.reset(symbols);
        if places.len() < self.tuning.parallel_places || self.pool.current_num_threads() < 2 {
            self.sequences
                .whole()
                .rewrite(rewrite, places, |found| near.add(found));
            return;
        }
        let (mut first, mut second, middle) = self.sequences.halves(places[places.len() / 2]);
        let (before, behind) = places.split_at(places.partition_point(|place| *place < middle));
        both(
            self.pool,
            || first.rewrite(rewrite, before, |found| near.add(found)),
            || second.rewrite(rewrite, behind, |found| far.add(found)),
        );
        near.add_counts(far);
    }

    /// Takes the merged occurrences from the pairs that they were part of.
    fn update_old_pairs(&mut self, rewrite: &Rewrite) {
        let ((left, _), (right, _)) = (rewrite.left, rewrite.right);
        let Neighbours {
            left: before,
            right: behind,
        } = &self.neighbours;
        for &symbol in before
            .met()
            .iter()
            .filter(|symbol| **symbol != rewrite.merged)
        {
            self.pairs.subtract(symbol, left, before.count(symbol));
        }
        for &symbol in behind.met() {
            self.pairs.subtract(right, symbol, behind.count(symbol));
        }
    }

    /// Adds the pairs of the new symbol and its neighbours.
    fn add_new_pairs(&mut self, rewrite: &Rewrite) -> Result<(), TrainError> {
        let merged = rewrite.merged;
        let first_left = self.pairs.len();
        for at in 0..self.neighbours.left.met().len() {
            let side = &self.neighbours.left;
            let symbol = side.met()[at];
            let (count, places) = (side.count(symbol), side.places_of(symbol));
            if let Some(pair) = self.add_new_pair(symbol, merged, count, places)? {
                self.neighbours.left.set_pair(symbol, pair);
            }
        }
        let first_right = self.pairs.len();
        // Where two merged places touch, the first found the left symbol of the second to its right.
        let touching = self.neighbours.left.count(merged);
        for at in 0..self.neighbours.right.met().len() {
            let side = &self.neighbours.right;
            let symbol = side.met()[at];
            let merged_since = if symbol == rewrite.left.0 {
                touching
            } else {
                0
            };
            let (count, places) = (side.count(symbol) - merged_since, side.places_of(symbol));
            if let Some(pair) = self.add_new_pair(merged, symbol, count, places)? {
                self.neighbours.right.set_pair(symbol, pair);
            }
        }
        self.note_places(first_left, first_right);
        Ok(())
    }

    /// Adds a pair if it is frequent enough to be kept, and returns its number then.
    fn add_new_pair(
        &mut self,
        left: Symbol,
        right: Symbol,
        count: u64,
        places: usize,
    ) -> Result<Option<u32>, TrainError> {
        let is_kept = count >= self.pairs.floor();
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
        let pair = self.pairs.insert(left, right, count, places)?;
        self.enqueue(pair);
        Ok(Some(pair))
    }

    fn enqueue(&mut self, pair: u32) {
        let described = Described {
            pairs: &self.pairs,
            symbols: &self.symbols,
        };
        self.queue.push(pair, self.pairs.count(pair), &described);
    }

    /// Remembers the places of the new pairs that are kept: those with the new symbol on the right are
    /// numbered from `first_left` on, those with it on the left from `first_right` on.
    fn note_places(&mut self, first_left: usize, first_right: usize) {
        let (near, far) = (&self.neighbours, &self.far_neighbours);
        let (left_pairs, right_pairs) = self
            .pairs
            .since(first_left)
            .split_at_mut(first_right - first_left);
        let mut note_left = || {
            near.left.note_places(&near.left, first_left, left_pairs);
            near.left.note_places(&far.left, first_left, left_pairs);
        };
        let mut note_right = || {
            near.right
                .note_places(&near.right, first_right, right_pairs);
            near.right.note_places(&far.right, first_right, right_pairs);
        };
        if near.places() + far.places() < self.tuning.parallel_places
            || self.pool.current_num_threads() < 2
        {
            note_left();
            note_right();
        } else {
            both(self.pool, note_left, note_right);
        }
    }

    fn note_seen(&mut self, tallies: &Tallies) {
        let Some(seen) = &mut self.seen else { return };
        for (left, right) in tallies.pairs() {
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
        self.merges
            .extend(vanished.into_iter().map(|text| Merge { text, count: 0 }));
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
        let places = |symbols: &[String]| {
            symbols
                .windows(2)
                .filter(|pair| pair[0] == *left && pair[1] == *right)
                .count()
        };
        words
            .iter()
            .map(|(symbols, count)| count * places(symbols) as u64)
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
        let symbols = Symbols::new(&alphabet, rules);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let hasher = SeedableRandomState::default();
        let sequences = pool
            .install(|| Sequences::new(table, &symbols, &hasher))
            .unwrap();
        let mut merger = Merger::new(rules, &pool, &hasher, symbols, sequences);
        merger.tuning = tuning;
        let merges = merger.run(wanted, &mut |_| Ok(())).unwrap();
        merges
            .into_iter()
            .map(|merge| (merge.text.into_string(), merge.count))
            .collect()
    }

    fn any_tuning() -> impl Strategy<Value = Tuning> {
        (1u64..70, 2u64..20, 0usize..4).prop_map(|(floor_share, floor_step, parallel_places)| {
            Tuning {
                floor_share,
                floor_step,
                parallel_places,
            }
        })
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
                    parallel_places: 0,
                    ..TUNING
                },
                2
            ),
            slow
        );
    }
}
