use std::collections::{BTreeMap, BTreeSet, HashMap};

use proptest::prelude::*;

use super::*;
use crate::train::alphabet::{Alphabet, CharacterCounts};
use crate::train::bpe::queue::ShortestText;
use crate::train::bpe::word_buffer::{ByteSpelling, CharacterSpelling};
use crate::train::bytes::{FirstPlaces, SmallestIds};
use crate::train::options::TrainOptions;
use crate::train::word_table::WordTable;

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
    words.iter().for_each(|word| record_pairs(word, &mut seen));
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
        let left = left.clone();
        let right = right.clone();
        merges.push((text, count));
        words
            .iter_mut()
            .for_each(|word| merge_in(word, &left, &right, &mut seen));
    }
    merges
}

fn record_pairs((symbols, _): &Word, seen: &mut BTreeSet<(String, String)>) {
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
            record_pairs(word, seen);
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
    let table = WordTable::of(words.iter().map(|(word, count)| (word, *count)));
    let alphabet = Alphabet::all(&CharacterCounts::of(&table).unwrap());
    let symbols = SymbolArena::new(&alphabet, rules);
    let pool = Threads::new(threads).unwrap();
    let hasher = SeedableRandomState::default();
    let words = pool
        .install(|| WordBuffer::new(table, &CharacterSpelling::of(&symbols), &hasher))
        .unwrap();
    let mut merger = MergeTrainer::new((rules, ShortestText), &pool, &hasher, symbols, words);
    merger.tuning = tuning;
    let merges = merger.run(wanted, &mut |_| Ok(())).unwrap();
    merges
        .into_iter()
        .map(|merge| (merge.to_text().into_owned(), merge.count))
        .collect()
}

fn any_tuning() -> impl Strategy<Value = Tuning> {
    let index_bytes = prop_oneof![Just(0usize), 100..2000usize, Just(TUNING.min_index_bytes)];
    (1u64..70, 2u64..40, index_bytes, 0usize..4, 1u64..200).prop_map(
        |(min_count_share, min_count_step, min_index_bytes, min_part_positions, pairs_per_pass)| {
            Tuning {
                min_count_share,
                min_count_step,
                min_index_bytes,
                min_part_positions,
                pairs_per_pass,
            }
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
        threads in 1usize..5,
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
fn long_words_are_merged_like_by_recounting() {
    let mut options = TrainOptions::default();
    options.max_sentencepiece_length = 300;
    let rules = SplitRules::new(&options);
    let word = |unit: &str, length: usize| unit.chars().cycle().take(length).collect::<String>();
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
                min_part_positions: 1,
                ..TUNING
            },
            3
        ),
        slow
    );
}

/// A length of 2^15 slots does not fit into 2 bytes.
#[test]
fn symbols_may_be_longer_than_slots_of_2_bytes_hold() {
    let mut options = TrainOptions::default();
    options.max_sentencepiece_length = 60_000;
    let rules = SplitRules::new(&options);
    let words = BTreeMap::from([("a".repeat(1 << 17), 1)]);
    let expected: Vec<_> = (1..16)
        .map(|doubled| ("a".repeat(1 << doubled), (1 << (18 - doubled)) - 1))
        .collect();
    for tuning in [TUNING, SMALL_INDEX] {
        let merges = fast_merges(&words, &rules, 15, tuning, 1);
        assert!(merges == expected, "merges of {} texts", merges.len());
    }
}

#[test]
fn there_may_be_more_symbols_than_slots_of_2_bytes_hold() {
    let rules = SplitRules::new(&TrainOptions::default());
    let characters: Vec<char> = ('\u{4e00}'..).take(200).collect();
    let last = characters[199];
    let long = format!("{last}{last}\u{5000}");
    let mut words = BTreeMap::from([(long.clone(), 1)]);
    for left in &characters {
        words.extend(characters.iter().map(|right| (format!("{left}{right}"), 1)));
    }
    // One pair occurs twice, and the others once, so that the long word is the last.
    let mut expected = vec![(format!("{last}{last}"), 2)];
    let pairs = words.keys().filter(|word| **word != long);
    expected.extend(pairs.take(39_999).map(|pair| (pair.clone(), 1)));
    expected.push((long, 1));
    for (tuning, threads) in [(TUNING, 1), (SMALL_INDEX, 2)] {
        let merges = fast_merges(&words, &rules, 40_001, tuning, threads);
        let different = merges.iter().zip(&expected).find(|(a, b)| a != b);
        assert_eq!((merges.len(), different), (40_001, None));
    }
}

/// The index is rebuilt again and again, and the words move each time.
const SMALL_INDEX: Tuning = Tuning {
    min_index_bytes: 0,
    ..TUNING
};

/// The merges of bytes, best first, by recounting before each merge.
fn slow_byte_merges(words: &BTreeMap<String, u64>, wanted: usize) -> Vec<(Vec<u8>, u64)> {
    let mut texts: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
    let mut words: Vec<(Vec<usize>, u64)> = words
        .iter()
        .map(|(word, count)| (word.bytes().map(usize::from).collect(), *count))
        .collect();
    let mut merges = Vec::new();
    while merges.len() < wanted {
        let mut counts: BTreeMap<(usize, usize), u64> = BTreeMap::new();
        for (symbols, count) in &words {
            for pair in symbols.windows(2) {
                *counts.entry((pair[0], pair[1])).or_default() += count;
            }
        }
        let best = counts
            .into_iter()
            .max_by_key(|(pair, count)| (*count, std::cmp::Reverse(*pair)));
        let Some(((left, right), count)) = best else {
            break;
        };
        let text = [texts[left].as_slice(), &texts[right]].concat();
        for (symbols, _) in &mut words {
            let mut at = 0;
            while at + 1 < symbols.len() {
                if (symbols[at], symbols[at + 1]) == (left, right) {
                    symbols[at] = texts.len();
                    symbols.remove(at + 1);
                }
                at += 1;
            }
        }
        texts.push(text.clone());
        merges.push((text, count));
    }
    merges
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Nothing in the loop of merges depends on characters or on SentencePiece's order of ties.
    #[test]
    fn bytes_are_merged_in_another_order_of_ties(
        words in proptest::collection::btree_map("[ab\u{e9}\u{6f22}]{1,9}|(ab|a){2,6}", 1u64..4, 1..10),
        wanted in 0usize..40,
        tuning in any_tuning(),
        threads in 1usize..5,
    ) {
        let slow = slow_byte_merges(&words, wanted);
        let rules = SplitRules::of_bytes(u32::MAX);
        let pool = Threads::new(threads).unwrap();
        let hasher = SeedableRandomState::default();
        let table = WordTable::of(words.iter().map(|(word, count)| (word, *count)));
        let symbols = SymbolArena::of_bytes(&Vec::from_iter(0..=u8::MAX));
        let words = pool.install(|| WordBuffer::new(table, &ByteSpelling::of(&symbols), &hasher)).unwrap();
        let special = HashMap::new();
        let order = SmallestIds { special: &special };
        let mut merger = MergeTrainer::new((&rules, order), &pool, &hasher, symbols, words);
        merger.tuning = tuning;
        let merges = merger.run_occurring((wanted, 0), &|_| false, &mut |_| Ok(())).unwrap();
        let merges: Vec<_> = merges.into_iter().map(|merge| (merge.text.into_vec(), merge.count)).collect();
        prop_assert_eq!(merges, slow);
    }

    /// The order in which pairs first occur does not depend on where their words are in memory.
    #[test]
    fn ties_are_broken_by_the_first_place_after_words_have_moved(
        words in proptest::collection::btree_map("[ab]{1,9}|(ab|a){2,6}", 1u64..3, 1..20)
            .prop_map(Vec::from_iter)
            .prop_shuffle(),
        wanted in 0usize..40,
        tuning in any_tuning(),
    ) {
        let merges = |tuning: Tuning| {
            let rules = SplitRules::of_bytes(u32::MAX);
            let pool = Threads::new(1).unwrap();
            let hasher = SeedableRandomState::default();
            let words = words.iter().map(|(word, count)| (word.as_bytes(), *count));
            let symbols = SymbolArena::of_bytes(&Vec::from_iter(0..=u8::MAX));
            let words = WordBuffer::in_order(words, &ByteSpelling::of(&symbols)).unwrap();
            let mut merger = MergeTrainer::new((&rules, FirstPlaces), &pool, &hasher, symbols, words);
            merger.tuning = tuning;
            merger.run_occurring((wanted, 0), &|_| false, &mut |_| Ok(())).unwrap()
        };
        let expected = merges(TUNING);
        prop_assert_eq!(merges(SMALL_INDEX), expected.clone());
        prop_assert_eq!(merges(tuning), expected);
    }
}
