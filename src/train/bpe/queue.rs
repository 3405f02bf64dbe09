//! The order in which pairs are merged.
//!
//! Highest count first; among equal counts the fewest characters, then the smallest UTF-8 bytes.
//! The `Ord` of [`Candidate`] is this order; the model depends on it.
//!
//! | count | text | order |
//! |---|---|---|
//! | 9 | `zzz` | 1: the highest count |
//! | 8 | `zz` | 2: two characters |
//! | 8 | `éa` | 3: two characters, larger bytes than `zz` |
//! | 8 | `abc` | 4: three characters |
//!
//! The count of a pair only falls while the pair waits, and the count of a new pair is at most that
//! of the last merge. So the best count only falls as well, and pairs below it need no order among
//! themselves: the queue has a bucket of pairs for each count. Only the pairs of the best bucket
//! become [`Candidate`]s, with a text, in a heap. The queue is lazy: a pair stays in its bucket
//! while its count falls, and moves to the bucket of its current count when the old bucket becomes
//! the best.
//!
//! Example: `ab` waits in bucket 9 and `cd` in bucket 8. A merge lowers the count of `ab` to 7.
//! When bucket 9 becomes the best, `ab` moves to bucket 7, and `cd` is popped next.
//!
//! Cost: constant for a push, and a heap operation among pairs of equal count for a pop.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};

use crate::train::bpe::symbols::Symbol;
use crate::train::split::Shape;

/// A pair that may be merged next. The greatest candidate is the best.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// How often the pair occurs.
    pub(crate) count: u64,
    /// The shape of `text`.
    pub(crate) shape: Shape,
    pub(crate) text: Box<str>,
    pub(crate) symbols: (Symbol, Symbol),
    /// Index of the pair.
    pub(crate) pair: u32,
}

impl Candidate {
    /// The sort key: a high count, then few characters, then a small text.
    ///
    /// The symbols come last only to make the order total: pairs of one text do not wait together
    /// (see [`crate::train::bpe::merge`]).
    fn key(&self) -> impl Ord {
        let text = (self.shape.length(), &self.text, self.symbols);
        (self.count, Reverse(text))
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Buckets of counts below this are in an array. That covers nearly all pairs; the others are in a
/// tree.
const LOW_COUNTS: usize = 1 << 14;

/// The waiting pairs, by the counts that they had when they were added.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    low: Vec<Vec<u32>>,
    high: BTreeMap<u64, Vec<u32>>,
    /// The pairs from the bucket of the best count.
    best: BinaryHeap<Candidate>,
    /// The best count; `u64::MAX` if there is none.
    count: u64,
}

/// Provides the current counts and the texts of pairs.
pub(crate) trait PairSource {
    /// How often a pair occurs now; 0 if that is too rare to be indexed.
    fn count(&self, pair: u32) -> u64;

    /// The pair as a candidate, with its text.
    fn candidate(&self, pair: u32) -> Candidate;
}

impl Queue {
    pub(crate) fn new() -> Self {
        Self {
            low: vec![Vec::new(); LOW_COUNTS],
            count: u64::MAX,
            ..Self::default()
        }
    }

    /// Adds a pair that occurs `count` times. In training that is at most the count of the pair
    /// popped last.
    pub(crate) fn push(&mut self, pair: u32, count: u64, pairs: &impl PairSource) {
        if count == self.count {
            self.best.push(pairs.candidate(pair));
            return;
        }
        match usize::try_from(count)
            .ok()
            .and_then(|count| self.low.get_mut(count))
        {
            Some(bucket) => bucket.push(pair),
            None => self.high.entry(count).or_default().push(pair),
        }
    }

    /// Returns the pair that was popped last to the queue.
    pub(crate) fn put_back(&mut self, candidate: Candidate) {
        self.best.push(candidate);
    }

    /// The best pair, by the counts of `pairs`; pairs of count 0 are dropped.
    pub(crate) fn pop(&mut self, pairs: &impl PairSource) -> Option<Candidate> {
        self.yield_to_higher_counts();
        loop {
            if let Some(best) = self.pop_best(pairs) {
                return Some(best);
            }
            self.refill(pairs)?;
        }
    }

    /// Returns the pairs of the best count to a bucket if pairs with a higher count were pushed
    /// since. That happens only in continued training, when a character becomes a symbol.
    #[inline]
    fn yield_to_higher_counts(&mut self) {
        let highest = self.high.last_key_value();
        if highest.is_some_and(|(count, _)| *count > self.count) {
            let pairs = self.best.drain().map(|candidate| candidate.pair);
            self.high.entry(self.count).or_default().extend(pairs);
            self.count = u64::MAX;
        }
    }

    /// The best pair that still has the best count. Pairs with lower counts go back to their
    /// buckets.
    fn pop_best(&mut self, pairs: &impl PairSource) -> Option<Candidate> {
        while let Some(candidate) = self.best.pop() {
            if pairs.count(candidate.pair) == self.count {
                return Some(candidate);
            }
            self.requeue(candidate.pair, pairs);
        }
        None
    }

    /// Requeues the pairs of the bucket with the highest count, which becomes the best count;
    /// `None` if all buckets are empty.
    fn refill(&mut self, pairs: &impl PairSource) -> Option<()> {
        let (count, bucket) = self.next_bucket()?;
        self.count = count;
        for pair in bucket {
            self.requeue(pair, pairs);
        }
        Some(())
    }

    /// Adds a pair with its current count, unless that is 0.
    fn requeue(&mut self, pair: u32, pairs: &impl PairSource) {
        match pairs.count(pair) {
            0 => {}
            count => self.push(pair, count, pairs),
        }
    }

    /// Removes and returns the bucket of the highest count.
    fn next_bucket(&mut self) -> Option<(u64, Vec<u32>)> {
        if let Some(highest) = self.high.pop_last() {
            return Some(highest);
        }
        // Pairs above the best count are pushed to `high`, so buckets removed here stay empty.
        while let Some(bucket) = self.low.pop() {
            if !bucket.is_empty() {
                return Some((self.low.len() as u64, bucket));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::options::TrainOptions;
    use crate::train::split::SplitRules;

    fn shape_of(text: &str) -> Shape {
        let rules = SplitRules::new(&TrainOptions::default());
        let shapes = text.chars().filter_map(|c| rules.shape_of(c));
        shapes
            .reduce(|left, right| rules.join(&left, &right).unwrap())
            .unwrap()
    }

    fn candidate(count: u64, text: &str, symbols: (u32, u32)) -> Candidate {
        Candidate {
            count,
            shape: shape_of(text),
            text: text.into(),
            symbols: (Symbol(symbols.0), Symbol(symbols.1)),
            pair: 0,
        }
    }

    #[test]
    fn merges_are_ordered_by_count_length_and_text() {
        let best_first = [
            candidate(9, "zzz", (0, 0)),
            candidate(8, "zz", (0, 0)),
            candidate(8, "\u{e9}a", (0, 0)),
            candidate(8, "abc", (0, 0)),
            candidate(8, "abd", (0, 1)),
            candidate(8, "abd", (1, 0)),
            candidate(0, "ab", (0, 0)),
        ];
        for pair in best_first.windows(2) {
            assert!(pair[0] > pair[1], "{pair:?}");
        }
    }

    /// Pairs with these texts and counts.
    struct Table(Vec<(&'static str, u64)>);

    impl PairSource for Table {
        fn count(&self, pair: u32) -> u64 {
            self.0[pair as usize].1
        }

        fn candidate(&self, pair: u32) -> Candidate {
            let (text, count) = self.0[pair as usize];
            Candidate {
                pair,
                ..candidate(count, text, (0, 0))
            }
        }
    }

    #[test]
    fn pairs_are_popped_by_their_current_counts() {
        let many = LOW_COUNTS as u64 * 3;
        let mut table = Table(vec![
            ("ab", 9),
            ("cd", 8),
            ("ef", 7),
            ("gh", many + 1),
            ("ij", many),
            ("kl", many),
        ]);
        let mut queue = Queue::new();
        (0..6).for_each(|pair| queue.push(pair, table.count(pair), &table));
        let mut order = Vec::new();
        for (pair, count) in [(0, 7), (1, 0), (4, 7)] {
            table.0[pair].1 = count;
        }
        while let Some(candidate) = queue.pop(&table) {
            order.push((candidate.text, candidate.count));
            if candidate.count == many {
                table.0.extend([("mn", many), ("a", 7), ("xy", 3)]);
                (6..9).for_each(|pair| queue.push(pair, table.count(pair), &table));
                table.0[6].1 = 2;
            }
        }
        let expected = [
            ("gh", many + 1),
            ("kl", many),
            ("a", 7),
            ("ab", 7),
            ("ef", 7),
            ("ij", 7),
            ("xy", 3),
            ("mn", 2),
        ];
        assert_eq!(order, expected.map(|(text, count)| (text.into(), count)));
    }
}
