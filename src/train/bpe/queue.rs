//! The order in which pairs are merged.
//!
//! Highest count first. Pairs of equal counts have a [`TieOrder`]; SentencePiece's is
//! [`ShortestText`]: the fewest characters, then the smallest UTF-8 bytes. Those of byte-level BPE
//! are in [`train::bytes`](crate::train::bytes). The `Ord` of [`Candidate`] is the whole order; the
//! model depends on it.
//!
//! | count | text | order |
//! |---|---|---|
//! | 9 | `zzz` | 1: the highest count |
//! | 8 | `zz` | 2: two characters |
//! | 8 | `éa` | 3: two characters, larger bytes than `zz` |
//! | 8 | `abc` | 4: three characters |
//!
//! The count of a pair only falls while the pair waits, since merges only remove occurrences of it.
//! The count of a new pair is at most that of the last merge, since each of its occurrences has an
//! occurrence of the new symbol. So the best count only falls as well, and pairs below it need no
//! order among themselves: the queue has a bucket of pairs for each count. Only the pairs of the best bucket
//! become [`Candidate`]s, with a text, in a heap. The queue is lazy: a pair stays in its bucket
//! while its count falls, and moves to the bucket of its current count when the old bucket becomes
//! the best.
//!
//! Example: `ab` waits in bucket 9 and `cd` in bucket 8. A merge lowers the count of `ab` to 7.
//! When bucket 9 becomes the best, `ab` moves to bucket 7, and `cd` is popped next.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::train::bpe::symbols::{Symbol, SymbolArena};
use crate::train::bpe::word_buffer::WordBuffer;

/// The order of pairs that occur equally often. A key is made when the count of the pair becomes
/// the best one, and is kept as long as it is: until then, the pair has lost no occurrence.
pub(crate) trait TieOrder: Send {
    /// The pair with the greatest key is merged first. No two pairs have equal keys.
    type Key: Ord + Send;

    fn key(&self, pair: &PairPlaces<'_>) -> Self::Key;
}

/// A pair, and where it occurs.
pub(crate) struct PairPlaces<'p> {
    pub(crate) pair: (Symbol, Symbol),
    /// Positions where it occurs or once occurred, ascending.
    pub(crate) positions: &'p [u32],
    pub(crate) symbols: &'p SymbolArena,
    pub(crate) words: &'p WordBuffer,
}

/// SentencePiece's order: the fewest characters, then the smallest UTF-8 bytes.
#[derive(Debug)]
pub(crate) struct ShortestText;

impl TieOrder for ShortestText {
    /// The symbols come last only to make the order total: pairs of one text do not wait together
    /// (see [`crate::train::bpe::merge`]).
    type Key = Reverse<(u16, Box<[u8]>, (Symbol, Symbol))>;

    fn key(&self, places: &PairPlaces<'_>) -> Self::Key {
        let &PairPlaces {
            pair: (left, right),
            symbols,
            ..
        } = places;
        let shape = symbols.shape(left).followed_by(symbols.shape(right));
        let text = symbols.joined_text(left, right);
        Reverse((shape.length(), text, (left, right)))
    }
}

/// A pair that may be merged next. The greatest candidate is the best.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Candidate<Key> {
    /// How often the pair occurs.
    pub(crate) count: u64,
    /// The order among pairs that occur as often.
    pub(crate) key: Key,
    pub(crate) symbols: (Symbol, Symbol),
    /// Index of the pair.
    pub(crate) pair: u32,
}

/// Buckets of counts below this are in an array. That covers nearly all pairs; the others are in a
/// tree.
const LOW_COUNTS: usize = 1 << 14;

/// The waiting pairs, by the counts that they had when they were added.
#[derive(Debug)]
pub(crate) struct Queue<Key> {
    low: Vec<Vec<u32>>,
    high: BTreeMap<u64, Vec<u32>>,
    /// The pairs from the bucket of the best count.
    best: BinaryHeap<Candidate<Key>>,
    /// The best count; `None` before the first bucket was taken, and after its pairs were returned.
    count: Option<u64>,
}

/// Provides the current counts of pairs and their order.
pub(crate) trait PairSource {
    type Key: Ord;

    /// How often a pair occurs now; 0 if that is too rare to be indexed.
    fn count(&self, pair: u32) -> u64;

    /// The pair as a candidate.
    fn candidate(&self, pair: u32) -> Candidate<Self::Key>;
}

impl<Key: Ord> Queue<Key> {
    pub(crate) fn new() -> Self {
        Self {
            low: vec![Vec::new(); LOW_COUNTS],
            high: BTreeMap::new(),
            best: BinaryHeap::new(),
            count: None,
        }
    }

    /// Adds a pair that occurs `count` times. In training that is at most the count of the pair
    /// popped last.
    pub(crate) fn push(&mut self, pair: u32, count: u64, pairs: &impl PairSource<Key = Key>) {
        if Some(count) == self.count {
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
    pub(crate) fn put_back(&mut self, candidate: Candidate<Key>) {
        self.best.push(candidate);
    }

    /// The best pair, by the counts of `pairs`; pairs of count 0 are dropped.
    pub(crate) fn pop(&mut self, pairs: &impl PairSource<Key = Key>) -> Option<Candidate<Key>> {
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
        if let (Some((highest, _)), Some(count)) = (self.high.last_key_value(), self.count)
            && *highest > count
        {
            let pairs = self.best.drain().map(|candidate| candidate.pair);
            self.high.entry(count).or_default().extend(pairs);
            self.count = None;
        }
    }

    /// The best pair that still has the best count. Pairs with lower counts go back to their
    /// buckets.
    fn pop_best(&mut self, pairs: &impl PairSource<Key = Key>) -> Option<Candidate<Key>> {
        while let Some(candidate) = self.best.pop() {
            if Some(pairs.count(candidate.pair)) == self.count {
                return Some(candidate);
            }
            self.requeue(candidate.pair, pairs);
        }
        None
    }

    /// Requeues the pairs of the bucket with the highest count, which becomes the best count;
    /// `None` if all buckets are empty.
    fn refill(&mut self, pairs: &impl PairSource<Key = Key>) -> Option<()> {
        let (count, bucket) = self.next_bucket()?;
        self.count = Some(count);
        for pair in bucket {
            self.requeue(pair, pairs);
        }
        Some(())
    }

    /// Adds a pair with its current count, unless that is 0.
    fn requeue(&mut self, pair: u32, pairs: &impl PairSource<Key = Key>) {
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

    /// Each row is merged before the next one.
    #[test]
    fn merges_are_ordered_by_count_length_and_text() {
        let rules = SplitRules::new(&TrainOptions::default());
        let best_first = [
            (9, ("zz", "z")),
            (8, ("z", "z")),
            (8, ("\u{e9}", "a")),
            (8, ("a", "bc")),
            (8, ("a", "bd")),
            (8, ("ab", "d")),
            (0, ("a", "b")),
        ];
        let texts = best_first
            .iter()
            .flat_map(|(_, (left, right))| [*left, *right]);
        let symbols = SymbolArena::of_texts(texts, &rules);
        let candidates: Vec<_> = (0..)
            .step_by(2)
            .zip(best_first)
            .map(|(left, (count, _))| {
                let pair = (Symbol(left), Symbol(left + 1));
                let key = ShortestText.key(&PairPlaces {
                    pair,
                    positions: &[],
                    symbols: &symbols,
                    words: &WordBuffer::default(),
                });
                (count, key)
            })
            .collect();
        for (pair, texts) in candidates.windows(2).zip(best_first.windows(2)) {
            assert!(pair[0] > pair[1], "{texts:?}");
        }
    }

    /// Pairs with these keys and counts.
    struct Table(Vec<(&'static str, u64)>);

    impl PairSource for Table {
        type Key = Reverse<(usize, &'static str)>;

        fn count(&self, pair: u32) -> u64 {
            self.0[pair as usize].1
        }

        fn candidate(&self, pair: u32) -> Candidate<Self::Key> {
            let (text, count) = self.0[pair as usize];
            Candidate {
                count,
                key: Reverse((text.len(), text)),
                symbols: (Symbol(0), Symbol(0)),
                pair,
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
            order.push((candidate.key.0.1, candidate.count));
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
        assert_eq!(order, expected);
    }
}
