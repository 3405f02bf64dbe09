//! `auto_character_coverage`: how many pieces of the vocabulary are merges and how many are single characters.
//!
//! In: the merges, best first, the counts of the characters, and the number of pieces besides the meta pieces. Out: the
//! texts of these pieces.
//!
//! The gain of a merge is the number of its occurrences: each saves a token. The gain of a character of n bytes that is
//! a piece is n - 1 byte pieces at each of its occurrences. If the first k merges are taken, the characters in them have
//! to be pieces, and the best of the other characters fill the rest of the vocabulary. The search computes the gain of
//! every k and takes the largest; of equal ones, the one with the larger k.
//!
//! For example, 3 pieces, the merge `ab` (count 9) and the characters `é` (count 5, gain 5), `漢` (count 4, gain 8),
//! `a` and `b` (gain 0, since they have one byte):
//!
//! | k | required | free characters taken | gain |
//! |---|---|---|---|
//! | 0 | none | `漢` `é` | 8 + 5 = 13 |
//! | 1 | `a` `b` | none: `ab`, `a` and `b` are 3 pieces | 9 |
//!
//! So k is 0. With 4 pieces, k = 1 also takes `漢` and gains 17 against 13.
//!
//! Going from k to k + 1 moves a few characters from the free ones to the required ones. Two Fenwick trees (Fenwick, "A
//! new data structure for cumulative frequency tables", 1994, <https://doi.org/10.1002/spe.4380240306>) over
//! the characters by gain give the sum of the best free ones. Cost: O((merges' text + characters) log characters).

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use crate::train::alphabet::CharacterCounts;
use crate::train::bpe::merge::LearnedMerge;

/// A character that would otherwise be spelled in bytes.
struct Character {
    c: char,
    gain: u128,
}

/// Prefix sums over an array whose elements change.
struct FenwickTree(Vec<u128>);

impl FenwickTree {
    fn new(size: usize) -> Self {
        Self(vec![0; size + 1])
    }

    /// Applies `change` to every partial sum that covers element `index`.
    fn update(&mut self, index: usize, change: impl Fn(&mut u128)) {
        let mut at = index + 1;
        while at < self.0.len() {
            change(&mut self.0[at]);
            at += at & at.wrapping_neg();
        }
    }

    /// The sum of the first `count` elements.
    fn sum(&self, count: usize) -> u128 {
        let mut at = count;
        let mut sum = 0;
        while at > 0 {
            sum += self.0[at];
            at &= at - 1;
        }
        sum
    }

    /// How many elements it takes, from the first, to reach `target`.
    fn elements_to_reach(&self, target: u128) -> usize {
        let mut at = 0;
        let mut missing = target;
        let mut step = self.0.len().next_power_of_two();
        while step > 0 {
            if at + step < self.0.len() && self.0[at + step] < missing {
                at += step;
                missing -= self.0[at];
            }
            step /= 2;
        }
        (at + 1).min(self.0.len() - 1)
    }
}

/// The free characters, best first, as merges use them up.
struct FreeCharacters {
    ranked: Vec<Character>,
    rank: HashMap<char, usize>,
    free: FenwickTree,
    gains: FenwickTree,
    remaining: usize,
}

impl FreeCharacters {
    fn new(counts: &CharacterCounts) -> Self {
        let ranked = ranked_by_gain(counts);
        let mut free = FenwickTree::new(ranked.len());
        let mut gains = FenwickTree::new(ranked.len());
        for (rank, character) in ranked.iter().enumerate() {
            free.update(rank, |sum| *sum += 1);
            gains.update(rank, |sum| *sum += character.gain);
        }
        let rank = ranked
            .iter()
            .enumerate()
            .map(|(rank, character)| (character.c, rank))
            .collect();
        Self {
            remaining: ranked.len(),
            ranked,
            rank,
            free,
            gains,
        }
    }

    /// The gain of the best `count` free characters.
    fn best(&self, count: usize) -> u128 {
        if count == 0 {
            0
        } else {
            self.gains.sum(self.free.elements_to_reach(count as u128))
        }
    }

    /// Removes a character and returns its gain; 0 for a character of one byte.
    fn take(&mut self, c: char) -> u128 {
        let Some(&rank) = self.rank.get(&c) else {
            return 0;
        };
        let gain = self.ranked[rank].gain;
        self.free.update(rank, |sum| *sum -= 1);
        self.gains.update(rank, |sum| *sum -= gain);
        self.remaining -= 1;
        gain
    }
}

/// The characters of two or more bytes, the largest gain first.
fn ranked_by_gain(counts: &CharacterCounts) -> Vec<Character> {
    let several_bytes = counts.iter().filter(|(c, _)| c.len_utf8() > 1);
    let mut ranked: Vec<(char, u64)> = several_bytes.collect();
    ranked.sort_by_key(|&(c, count)| (Reverse(gain_of(c, count)), Reverse(count), c));
    let characters = ranked.into_iter().map(|(c, count)| Character {
        c,
        gain: gain_of(c, count),
    });
    characters.collect()
}

/// The byte pieces that a character saves if it is a piece.
fn gain_of(c: char, count: u64) -> u128 {
    u128::from(count) * (c.len_utf8() as u128 - 1)
}

/// A division of the vocabulary.
#[derive(Debug, Clone, Copy, Default)]
struct Division {
    merges: usize,
    single_characters: usize,
    gain: u128,
}

/// The texts of `size` learned pieces: merges, their characters by code point, other characters by gain.
pub(crate) fn divide(
    merges: Vec<LearnedMerge>,
    counts: &CharacterCounts,
    size: usize,
) -> Vec<Box<str>> {
    let mut free = FreeCharacters::new(counts);
    let best = search(&merges, &mut free, size);
    let required: BTreeSet<char> = merges[..best.merges]
        .iter()
        .flat_map(|merge| merge.text.chars())
        .collect();
    let single = free
        .ranked
        .iter()
        .map(|character| character.c)
        .filter(|c| !required.contains(c));
    let characters = required
        .iter()
        .copied()
        .chain(single.take(best.single_characters));
    let characters: Vec<Box<str>> = characters.map(|c| c.to_string().into_boxed_str()).collect();
    merges
        .into_iter()
        .take(best.merges)
        .map(|merge| merge.text)
        .chain(characters)
        .collect()
}

fn search(merges: &[LearnedMerge], free: &mut FreeCharacters, size: usize) -> Division {
    let mut best = Division::default();
    let mut required = BTreeSet::new();
    let mut merge_gain = 0;
    let mut required_gain = 0;
    for taken in 0..=merges.len() {
        if let Some(pieces) = size.checked_sub(taken + required.len()) {
            let single_characters = pieces.min(free.remaining);
            let gain = merge_gain + required_gain + free.best(single_characters);
            if gain >= best.gain {
                best = Division {
                    merges: taken,
                    single_characters,
                    gain,
                };
            }
        }
        let Some(next) = merges.get(taken) else { break };
        merge_gain += u128::from(next.count);
        for c in next.text.chars() {
            if required.insert(c) {
                required_gain += free.take(c);
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::train::counts::ShardedCounts;

    /// The same search by computing the gain of every k anew.
    fn plain_search(
        merges: &[LearnedMerge],
        counts: &CharacterCounts,
        size: usize,
    ) -> (u128, usize) {
        let mut best = (0, 0);
        for taken in 0..=merges.len() {
            let required: BTreeSet<char> = merges[..taken]
                .iter()
                .flat_map(|merge| merge.text.chars())
                .collect();
            let Some(pieces) = size.checked_sub(taken + required.len()) else {
                continue;
            };
            let gain_of = |(c, count): (char, u64)| u128::from(count) * (c.len_utf8() as u128 - 1);
            let (inside, mut outside): (Vec<_>, Vec<_>) =
                counts.iter().partition(|(c, _)| required.contains(c));
            outside.sort_by_key(|character| Reverse(gain_of(*character)));
            let gain = merges[..taken]
                .iter()
                .map(|merge| u128::from(merge.count))
                .sum::<u128>()
                + inside.into_iter().map(gain_of).sum::<u128>()
                + outside.into_iter().map(gain_of).take(pieces).sum::<u128>();
            if gain >= best.0 {
                best = (gain, taken);
            }
        }
        best
    }

    proptest! {
        #[test]
        fn the_search_finds_the_largest_gain(
            characters in proptest::collection::btree_map("[a\u{e9}\u{3b1}\u{4e00}-\u{4e09}\u{1f600}]", 1u64..50, 1..12),
            merges in proptest::collection::vec(("[a\u{e9}\u{3b1}\u{4e00}-\u{4e09}]{2,4}", 0u64..90), 0..10),
            size in 0usize..20,
        ) {
            let counts = CharacterCounts::of(&ShardedCounts::of(characters)).unwrap();
            let merges: Vec<LearnedMerge> =
                merges.into_iter().map(|(text, count)| LearnedMerge { text: text.into(), count }).collect();
            let found = search(&merges, &mut FreeCharacters::new(&counts), size);
            prop_assert_eq!((found.gain, found.merges), plain_search(&merges, &counts, size));
            prop_assert!(divide(merges, &counts, size).len() <= size);
        }
    }
}
