//! The order in which pairs are merged.
//!
//! Highest count first; among equals the fewest characters, then the smallest UTF-8 bytes. This `Ord` is
//! what makes a model the reference's model. Counts only fall while a pair waits, so the queue is lazy:
//! an entry's count is an upper bound, and an entry that turns out stale goes back with its true count.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::train::split::Shape;
use crate::train::symbols::Symbol;

/// A pair that waits to be merged. The greatest is the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// How often the pair occurred when it was queued.
    pub(crate) count: u64,
    /// The shape of `text`, which the merge would have.
    pub(crate) shape: Shape,
    pub(crate) text: Box<str>,
    pub(crate) symbols: (Symbol, Symbol),
    /// Index of the pair.
    pub(crate) pair: u32,
}

impl Ord for Candidate {
    /// The symbols come last only to make the order total: pairs of one text do not wait together (see
    /// [`crate::train::merge`]).
    fn cmp(&self, other: &Candidate) -> Ordering {
        let key = |candidate: &Candidate| (candidate.count, Reverse(candidate.shape.length()));
        key(self)
            .cmp(&key(other))
            .then_with(|| other.text.cmp(&self.text))
            .then_with(|| other.symbols.cmp(&self.symbols))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Candidate) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The waiting pairs.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    heap: BinaryHeap<Candidate>,
}

impl Queue {
    pub(crate) fn new(candidates: Vec<Candidate>) -> Queue {
        Queue { heap: candidates.into() }
    }

    pub(crate) fn push(&mut self, candidate: Candidate) {
        self.heap.push(candidate);
    }

    /// The best pair, by the counts that `count_now` tells; pairs below `floor` are dropped.
    pub(crate) fn pop(&mut self, floor: u64, count_now: impl Fn(u32) -> u64) -> Option<Candidate> {
        while let Some(mut candidate) = self.heap.pop() {
            let count = count_now(candidate.pair);
            if count == candidate.count {
                return Some(candidate);
            }
            if count >= floor {
                candidate.count = count;
                self.heap.push(candidate);
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
        shapes.reduce(|left, right| rules.join(&left, &right).unwrap()).unwrap()
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
    fn order_of_merges() {
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

    #[test]
    fn stale_entries_go_back() {
        let mut entries = vec![candidate(9, "ab", (0, 0)), candidate(8, "cd", (0, 0)), candidate(7, "ef", (0, 0))];
        for (pair, entry) in entries.iter_mut().enumerate() {
            entry.pair = u32::try_from(pair).unwrap();
        }
        let mut queue = Queue::new(entries);
        let now = [7, 2, 7];
        let mut order = Vec::new();
        while let Some(candidate) = queue.pop(3, |pair| now[pair as usize]) {
            order.push((candidate.text, candidate.count));
        }
        assert_eq!(order, [("ab".into(), 7), ("ef".into(), 7)]);
    }
}
