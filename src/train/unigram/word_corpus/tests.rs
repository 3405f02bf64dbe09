use foldhash::fast::SeedableRandomState;

use proptest::prelude::*;

use super::*;
use crate::train::alphabet::{Alphabet, CharacterCounts};
use crate::train::options::TrainOptions;
use crate::train::split::word_rules::WordRules;
use crate::train::unigram::spool::SentenceSpool;

/// Sentences with their counts, in batches.
type TextBatches = Vec<Vec<(String, u64)>>;

fn rules(options: &TrainOptions, chunk_bytes: u64) -> WordCorpusRules {
    WordCorpusRules {
        words: WordRules::new(options),
        chunk_bytes,
        hasher: SeedableRandomState::default(),
    }
}

fn counted(batch: &[(String, u64)]) -> CountedTexts {
    let mut texts = CountedTexts::default();
    for (text, count) in batch {
        texts.push(text, *count);
    }
    texts
}

/// What training gets: the words, and the sorted entries of each chunk.
#[derive(Debug, PartialEq)]
struct UnigramInput {
    words: Vec<(String, u64)>,
    chunks: Vec<Vec<(Vec<u8>, usize, u64)>>,
}

fn listed(words: &CountedTexts) -> Vec<(String, u64)> {
    let owned = |(text, count): (&str, u64)| (text.to_owned(), count);
    words.iter().map(owned).collect()
}

/// The input from the sentences in their order.
fn ordered_input(
    texts: CountedTexts,
    alphabet: &Alphabet,
    rules: &WordCorpusRules,
) -> UnigramInput {
    let texts = texts.mark_unknown(&alphabet.known());
    let chunks = texts.chunks(rules.chunk_bytes);
    let entries = |chunk| texts.entries(chunk, Some(rules.words)).unwrap().listed();
    UnigramInput {
        words: listed(&texts.words(rules.words).unwrap()),
        chunks: chunks.iter().map(entries).collect(),
    }
}

fn ordered_texts(batches: &TextBatches) -> CountedTexts {
    let mut texts = CountedTexts::default();
    batches
        .iter()
        .for_each(|batch| texts.append(&counted(batch)));
    texts.remove_empty();
    texts
}

/// The groups of batches that the passes get.
fn groups(batches: &TextBatches, size: usize) -> impl Iterator<Item = Vec<CountedTexts>> {
    let counted = |group: &[Vec<(String, u64)>]| group.iter().map(|batch| counted(batch)).collect();
    batches.chunks(size).map(counted)
}

fn first_pass(batches: &TextBatches, group: usize, rules: &WordCorpusRules) -> CountedSentences {
    let mut pass = FirstPass::new(rules.clone());
    groups(batches, group).for_each(|group| pass.add(group).unwrap());
    pass.finish().unwrap()
}

/// The input from one pass or two, and the number of passes.
fn counted_input(
    batches: &TextBatches,
    group: usize,
    alphabet: &Alphabet,
    rules: &WordCorpusRules,
) -> (UnigramInput, usize) {
    let counted = first_pass(batches, group, rules);
    let (corpus, passes) = match counted.into_words(alphabet.known()).unwrap() {
        AfterFirstPass::Complete(words) => (words, 1),
        AfterFirstPass::Incomplete(mut pass) => {
            groups(batches, group).for_each(|group| pass.add(group).unwrap());
            (pass.finish().unwrap(), 2)
        }
    };
    let entries = |chunk: WordChunk| chunk.into_entries().unwrap().listed();
    let input = UnigramInput {
        words: listed(&corpus.words),
        chunks: corpus.chunks.into_iter().map(entries).collect(),
    };
    (input, passes)
}

fn chosen(counts: &CharacterCounts, options: &TrainOptions) -> Alphabet {
    Alphabet::choose(counts, options).unwrap()
}

fn text_of(batches: &[&[(&str, u64)]]) -> TextBatches {
    let owned = |(text, count): &(&str, u64)| ((*text).to_owned(), *count);
    batches
        .iter()
        .map(|batch| batch.iter().map(owned).collect())
        .collect()
}

#[test]
fn chunks_of_the_module_example() {
    let batches = text_of(&[&[("▁a▁b", 2)], &[("▁c", 1)], &[("▁d", 1)]]);
    let options = TrainOptions::default();
    let rules = rules(&options, 20);
    let counted = first_pass(&batches, 1, &rules);
    let alphabet = chosen(&counted.character_counts().unwrap(), &options);
    let (input, passes) = counted_input(&batches, 1, &alphabet, &rules);
    let entry = |word: &str, following: &[u8], count| {
        ([word.as_bytes(), following].concat(), word.len(), count)
    };
    let first = [
        entry("▁a", b"\xE2", 2),
        entry("▁b", b"\0\xE2", 2),
        entry("▁c", b"\0", 1),
    ];
    assert_eq!(input.chunks, [&first[..], &[entry("▁d", b"\0", 1)]]);
    assert_eq!(passes, 2);
}

/// The sentences have 28 bytes with their NUL.
#[test]
fn a_second_pass_is_made_if_the_corpus_is_larger_than_a_chunk() {
    let batches = text_of(&[&[("▁abcdefgh▁abcdefgh▁abc", 1)][..]; 10]);
    let options = TrainOptions::default();
    let size = ("▁abcdefgh▁abcdefgh▁abc".len() as u64 + 1) * 10;
    for (chunk_bytes, expected) in [(size + 1, 1), (size, 1), (size - 1, 2)] {
        let rules = rules(&options, chunk_bytes);
        let ordered = ordered_texts(&batches);
        let alphabet = chosen(&ordered.character_counts().unwrap(), &options);
        let (input, passes) = counted_input(&batches, 3, &alphabet, &rules);
        assert_eq!(passes, expected, "chunks of {chunk_bytes} bytes");
        assert_eq!(input, ordered_input(ordered, &alphabet, &rules));
    }
}

#[test]
fn words_are_sentences_if_whitespace_has_no_piece() {
    let sentence = format!("▁{}▁b", "a".repeat(20_000));
    let batches = text_of(&[&[(&sentence, 1)], &[(&sentence, 1)]]);
    let options = TrainOptions::default();
    let rules = rules(&options, 1 << 20);
    let ordered = ordered_texts(&batches);
    let alphabet = chosen(&ordered.character_counts().unwrap(), &options);
    assert!(!alphabet.known().contains('▁'));
    let expected = ordered_input(ordered, &alphabet, &rules);
    assert_eq!(expected.words.len(), 1);
    assert_eq!(counted_input(&batches, 1, &alphabet, &rules), (expected, 2));
}

#[test]
fn a_corpus_that_changed_between_the_passes_is_refused() {
    let options = TrainOptions::default();
    let rules = rules(&options, 10);
    let read = text_of(&[&[("▁ab", 1), ("", 1), ("▁cd", 1)], &[("▁ef", 1)]]);
    let alphabet = chosen(&ordered_texts(&read).character_counts().unwrap(), &options);
    for changed in [
        text_of(&[&[("▁ab", 1), ("", 1)]]),
        text_of(&[&[("▁ab", 1), ("", 1), ("", 1)], &[("▁ef", 1)]]),
        text_of(&[&[("▁ab", 1), ("▁x", 1), ("▁cd", 1)], &[("▁ef", 1)]]),
    ] {
        let counted = first_pass(&read, 1, &rules);
        let AfterFirstPass::Incomplete(mut pass) = counted.into_words(alphabet.known()).unwrap()
        else {
            panic!("one pass was enough");
        };
        let added = groups(&changed, 1).try_for_each(|group| pass.add(group));
        let refused = added.and_then(|()| pass.finish().map(drop));
        assert!(
            matches!(refused, Err(TrainError::InputChanged)),
            "{changed:?}"
        );
    }
}

#[test]
fn a_spool_returns_the_batches_whether_in_memory_or_in_a_file() {
    let batches = text_of(&[&[("▁a▁b", 2), ("", 1)], &[], &[("▁東\n", u64::MAX)]]);
    for memory in [0, 30, 1 << 20] {
        let mut spool = SentenceSpool::new(memory);
        groups(&batches, 2).for_each(|group| spool.push(&group).unwrap());
        let mut returned = Vec::new();
        spool
            .for_each_group(2, |group| {
                returned.push(group.iter().map(listed).collect::<TextBatches>());
                Ok(())
            })
            .unwrap();
        assert_eq!(returned, [&batches[..2], &batches[2..]]);
    }
}

/// Sentences of a few words, some with rare characters and boundary marks, some empty.
fn sentences() -> impl Strategy<Value = TextBatches> {
    let word = "[abcdé]{1,4}|[ab]|\u{1f}?[ab東😀]{1,3}|";
    let words =
        proptest::collection::vec(word, 1..5).prop_map(|words| "▁".to_owned() + &words.join("▁"));
    let text = prop_oneof![8 => words, 1 => Just(String::new())];
    let count = prop_oneof![4 => Just(1u64), 1 => 1u64..40];
    let batch = proptest::collection::vec((text, count), 0..6);
    proptest::collection::vec(batch, 1..25)
}

/// What else varies.
#[derive(Debug, Clone)]
struct Case {
    chunk_bytes: u64,
    group: usize,
    coverage: f32,
    whitespace_runs: bool,
}

fn cases() -> impl Strategy<Value = Case> {
    (
        prop_oneof![1u64..100, 100u64..3000, Just(1 << 29)],
        1usize..5,
        prop_oneof![Just(1.0f32), Just(0.9995), Just(0.98)],
        any::<bool>(),
    )
        .prop_map(|(chunk_bytes, group, coverage, whitespace_runs)| Case {
            chunk_bytes,
            group,
            coverage,
            whitespace_runs,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn counted_words_equal_those_of_the_sentences_in_order(batches in sentences(), case in cases()) {
        let mut options = TrainOptions::default();
        options.character_coverage = case.coverage;
        options.allow_whitespace_only_pieces = case.whitespace_runs;
        let ordered = ordered_texts(&batches);
        prop_assume!(ordered.len() > 0);
        let rules = rules(&options, case.chunk_bytes);
        let alphabet = chosen(&ordered.character_counts().unwrap(), &options);
        let counts = first_pass(&batches, case.group, &rules).character_counts().unwrap();
        prop_assert_eq!(&chosen(&counts, &options), &alphabet);
        let expected = ordered_input(ordered, &alphabet, &rules);
        let (input, passes) = counted_input(&batches, case.group, &alphabet, &rules);
        prop_assert_eq!(input, expected);
        let is_one_pass = case.chunk_bytes == 1 << 29 && alphabet.known().contains('▁');
        prop_assert!(passes == 1 || !is_one_pass);
    }
}
