//! `auto_character_coverage`: how many pieces of the vocabulary are merges and how many are single
//! characters.
//!
//! The gain of a merge is the number of its occurrences: each saves a token. The gain of a
//! character of n bytes is n - 1 times the number of its occurrences: as a piece it replaces n byte
//! pieces. If the first k merges are taken, the characters in them must be pieces, and the best of
//! the other characters fill the rest of the vocabulary. The search computes the gain of every k
//! and takes the largest; of equal gains, the one with the largest k.
//!
//! For example, 3 pieces, the merge `ab` (count 9) and the characters `é` (count 5, gain 5), `漢`
//! (count 4, gain 8), `a` and `b` (gain 0, since they have one byte):
//!
//! | k | required | free characters taken | gain |
//! |---|---|---|---|
//! | 0 | none | `漢` `é` | 8 + 5 = 13 |
//! | 1 | `a` `b` | none: `ab`, `a` and `b` are 3 pieces | 9 |
//!
//! So k is 0. With 4 pieces, k = 1 also takes `漢` and gains 17 against 13.
//!
//! Going from k to k + 1 moves a few characters from the free ones to the required ones. Two
//! Fenwick trees (Fenwick, "A new data structure for cumulative frequency tables", 1994,
//! <https://doi.org/10.1002/spe.4380240306>) over the characters by gain give the sum of the best
//! free ones. Cost: O((merges' text + characters) log characters).

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use crate::train::alphabet::CharacterCounts;
use crate::train::bpe::merge::LearnedMerge;

/// A character that is encoded as byte pieces if it is not a piece.
struct CandidateCharacter {
    c: char,
    gain: u128,
}

/// Prefix sums over an array whose elements change.
struct FenwickTree(Vec<u128>);

impl FenwickTree {
    /// The tree of these elements.
    fn of(elements: impl ExactSizeIterator<Item = u128>) -> Self {
        let mut tree = Self(vec![0; elements.len() + 1]);
        for (index, element) in elements.enumerate() {
            tree.update(index, |sum| *sum += element);
        }
        tree
    }

    /// Applies `edit` to every partial sum that covers element `index`.
    fn update(&mut self, index: usize, edit: impl Fn(&mut u128)) {
        let mut at = index + 1;
        while let Some(sum) = self.0.get_mut(at) {
            edit(sum);
            // The lowest bit.
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

    /// The number of leading elements whose sum reaches `target`.
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

/// The characters that the merges taken so far do not contain, best first.
struct FreeCharacters {
    ranked: Vec<CandidateCharacter>,
    rank: HashMap<char, usize>,
    free: FenwickTree,
    gains: FenwickTree,
    remaining: usize,
}

impl FreeCharacters {
    fn new(counts: &CharacterCounts) -> Self {
        // Characters of one byte gain nothing. The largest gain first.
        let several_bytes = counts.iter().filter(|(c, _)| c.len_utf8() > 1);
        let mut ranked: Vec<(char, u64)> = several_bytes.collect();
        let gain_of = |c: char, count| u128::from(count) * (c.len_utf8() as u128 - 1);
        ranked.sort_by_key(|&(c, count)| (Reverse(gain_of(c, count)), Reverse(count), c));
        let ranked: Vec<CandidateCharacter> = ranked
            .into_iter()
            .map(|(c, count)| CandidateCharacter {
                c,
                gain: gain_of(c, count),
            })
            .collect();
        let free = FenwickTree::of(ranked.iter().map(|_| 1));
        let gains = FenwickTree::of(ranked.iter().map(|character| character.gain));
        let chars = ranked.iter().map(|character| character.c);
        let rank = chars.zip(0..).collect();
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

/// A division of the vocabulary.
#[derive(Debug, Clone, Copy, Default)]
struct Division {
    merges: usize,
    single_characters: usize,
    gain: u128,
}

/// The texts of `size` learned pieces: merges, their characters by code point, other characters by
/// gain.
pub(crate) fn divide(
    merges: Vec<LearnedMerge>,
    counts: &CharacterCounts,
    size: usize,
) -> Vec<Box<str>> {
    let mut free = FreeCharacters::new(counts);
    let best = search(&merges, &mut free, size);
    let mut texts = Vec::new();
    let mut required = BTreeSet::new();
    for merge in merges.into_iter().take(best.merges) {
        required.extend(merge.to_text().chars());
        texts.push(merge.to_text().into());
    }
    let ranked = free.ranked.iter().map(|character| character.c);
    let single = ranked.filter(|c| !required.contains(c));
    let single: Vec<char> = single.take(best.single_characters).collect();
    let characters = required.into_iter().chain(single);
    texts.extend(characters.map(|c| c.to_string().into_boxed_str()));
    texts
}

/// The division with the largest gain.
fn search(merges: &[LearnedMerge], free: &mut FreeCharacters, size: usize) -> Division {
    let mut best = Division::default();
    let mut taken = TakenMerges::none(size);
    for next in merges {
        best = taken.better(best, free);
        taken.take(next, free);
    }
    taken.better(best, free)
}

/// The merges that the search has taken so far.
struct TakenMerges {
    /// The number of pieces that are divided.
    size: usize,
    merges: usize,
    /// The characters in them, which have to be pieces.
    required: BTreeSet<char>,
    /// The gain of the merges and of these characters.
    gain: u128,
}

impl TakenMerges {
    fn none(size: usize) -> Self {
        Self {
            size,
            merges: 0,
            required: BTreeSet::new(),
            gain: 0,
        }
    }

    fn take(&mut self, merge: &LearnedMerge, free: &mut FreeCharacters) {
        self.merges += 1;
        self.gain += u128::from(merge.count);
        for c in merge.to_text().chars() {
            if self.required.insert(c) {
                self.gain += free.take(c);
            }
        }
    }

    /// `best`, or the division with these merges if its gain is not smaller.
    fn better(&self, best: Division, free: &FreeCharacters) -> Division {
        self.division(free)
            .filter(|found| found.gain >= best.gain)
            .unwrap_or(best)
    }

    /// The best division with these merges, if they fit.
    fn division(&self, free: &FreeCharacters) -> Option<Division> {
        let pieces = self.size.checked_sub(self.merges + self.required.len())?;
        let single_characters = pieces.min(free.remaining);
        Some(Division {
            merges: self.merges,
            single_characters,
            gain: self.gain + free.best(single_characters),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::train::word_table::WordTable;

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
                .flat_map(|merge| merge.to_text().chars().collect::<Vec<_>>())
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
            let counts = CharacterCounts::of(&WordTable::of(characters)).unwrap();
            let merges: Vec<LearnedMerge> =
                merges.into_iter().map(|(text, count)| LearnedMerge { text: text.into_bytes().into(), count }).collect();
            let found = search(&merges, &mut FreeCharacters::new(&counts), size);
            prop_assert_eq!((found.gain, found.merges), plain_search(&merges, &counts, size));
            prop_assert!(divide(merges, &counts, size).len() <= size);
        }
    }
}
