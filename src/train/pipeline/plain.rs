//! The algorithm of `BpeTrainer`, step by step: for symbols whose texts are ambiguous.
//!
//! If a token that merging makes has the text of another symbol, it is that symbol. So a pair can occur
//! again after it was merged, and two pairs can become one symbol. Only an affix that is itself a text of
//! the corpus makes that possible: of `###` with the prefix `##`, the symbols are `#`, `###` and `###`;
//! the first two become `##`, and these with the third one `###` again.
//!
//! [`merge`](crate::train::bpe::merge) has a symbol for each merge. Here a symbol is its text, as in
//! tokenizers, and the queue has what that has: a pair is added to it again, with the words in which it is
//! new, and then it is merged in these alone.
//!
//! Cost: that of tokenizers. A merge takes time that is linear in the words that have the pair.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeSet, BinaryHeap, HashMap};

use crate::base::num::low_u32;

/// A word: its symbols, each with the number of units that it stands for.
struct Word {
    symbols: Vec<(u32, u32)>,
    count: i64,
}

type Pair = (u32, u32);

/// A pair of the queue.
#[derive(PartialEq, Eq)]
struct Waiting {
    /// How often it occurs, as it was when this was last looked at.
    count: i64,
    pair: Pair,
    /// The words in which it is merged.
    words: BTreeSet<usize>,
}

impl Waiting {
    fn order(&self) -> (u64, Reverse<Pair>) {
        // A negative count is a large number in tokenizers.
        (self.count.cast_unsigned(), Reverse(self.pair))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        // Of equal ones, tokenizers takes any.
        let order = self.order().cmp(&other.order());
        order.then_with(|| other.words.cmp(&self.words))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The vocabulary and what limits it.
pub(super) struct PlainMerger<'l> {
    /// The texts of the symbols, in the order of their ids in tokenizers.
    pub(super) texts: Vec<String>,
    pub(super) continuing_prefix: &'l str,
    pub(super) vocab_size: usize,
    pub(super) min_frequency: u64,
    /// The most units of a merged symbol.
    pub(super) max_length: u32,
}

impl PlainMerger<'_> {
    /// Merges the pairs of words, of which the first come first, and returns the pairs in the order of their ranks. `texts` then has
    /// the new symbols.
    pub(super) fn merge(&mut self, words: impl Iterator<Item = (Vec<u32>, u64)>) -> Vec<Pair> {
        let mut words: Vec<Word> = words
            .map(|(symbols, count)| Word {
                symbols: symbols.into_iter().map(|symbol| (symbol, 1)).collect(),
                count: i64::try_from(count).unwrap_or(i64::MAX),
            })
            .collect();
        let texts = self.texts.iter().cloned();
        let mut ids: HashMap<String, u32> = texts.zip(0..).collect();
        let mut counts: HashMap<Pair, i64> = HashMap::new();
        let mut changed: HashMap<Pair, BTreeSet<usize>> = HashMap::new();
        for (number, word) in words.iter().enumerate() {
            for pair in word.symbols.windows(2) {
                let pair = (pair[0].0, pair[1].0);
                *counts.entry(pair).or_default() += word.count;
                changed.entry(pair).or_default().insert(number);
            }
        }
        let mut queue = BinaryHeap::new();
        let mut merges = Vec::new();
        loop {
            queue.extend(changed.drain().filter_map(|(pair, words)| {
                let count = counts[&pair];
                (count > 0).then_some(Waiting { count, pair, words })
            }));
            if ids.len() >= self.vocab_size {
                break;
            }
            let Some(mut best) = queue.pop() else { break };
            let count = counts[&best.pair];
            if best.count != count {
                best.count = count;
                queue.push(best);
                continue;
            }
            if count == 0 || self.min_frequency > count.cast_unsigned() {
                break;
            }
            let joined = self.joined(best.pair);
            // The caller has room for as many symbols.
            let next = low_u32(self.texts.len() as u64);
            let id = *ids.entry(joined.clone()).or_insert(next);
            if id == next {
                self.texts.push(joined);
            }
            merges.push(best.pair);
            for number in best.words {
                let word = &mut words[number];
                let (pair, count) = (best.pair, word.count);
                word.merge(pair, id, self.max_length, |pair, change| {
                    *counts.entry(pair).or_default() += change * count;
                    if change > 0 {
                        changed.entry(pair).or_default().insert(number);
                    }
                });
            }
        }
        // Of a pair that was merged twice, the last rank counts.
        let mut seen = BTreeSet::new();
        let mut ranked: Vec<Pair> = merges.into_iter().rev().collect();
        ranked.retain(|pair| seen.insert(*pair));
        ranked.reverse();
        ranked
    }

    fn joined(&self, (left, right): Pair) -> String {
        let [left, right] = [left, right].map(|symbol| &*self.texts[symbol as usize]);
        let rest = match self.continuing_prefix.is_empty() {
            true => None,
            false => right.strip_prefix(self.continuing_prefix),
        };
        [left, rest.unwrap_or(right)].concat()
    }
}

impl Word {
    /// Merges a pair from left to right, and passes the pairs beside it with the change of their counts.
    /// A pair that would be too long is none.
    fn merge(
        &mut self,
        (left, right): Pair,
        merged: u32,
        max_length: u32,
        mut on_change: impl FnMut(Pair, i64),
    ) {
        let mut symbols: Vec<(u32, u32)> = Vec::with_capacity(self.symbols.len());
        let mut rest = &self.symbols[..];
        while let [first, others @ ..] = rest {
            let [second, others @ ..] = others else {
                symbols.push(*first);
                break;
            };
            if (first.0, second.0) != (left, right) {
                symbols.push(*first);
                rest = &rest[1..];
                continue;
            }
            let length = first.1 + second.1;
            if let Some(before) = symbols.last() {
                on_change((before.0, left), -1);
                if before.1 + length <= max_length {
                    on_change((before.0, merged), 1);
                }
            }
            if let Some(after) = others.first() {
                on_change((right, after.0), -1);
                if after.1 + length <= max_length {
                    on_change((merged, after.0), 1);
                }
            }
            symbols.push((merged, length));
            rest = others;
        }
        self.symbols = symbols;
    }
}
