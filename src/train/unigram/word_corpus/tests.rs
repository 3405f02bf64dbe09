use foldhash::fast::SeedableRandomState;

use proptest::prelude::*;

use super::*;
use crate::train::alphabet::CharacterCounts;
use crate::train::options::TrainOptions;
use crate::train::split::word_rules::WordRules;
use crate::train::unigram::segments::SegmentCounter;

/// Sentences with their counts, in batches.
type TextBatches = Vec<Vec<(String, u64)>>;

fn rules(options: &TrainOptions, chunk_bytes: u64, held_bytes: usize) -> SegmentRules {
    SegmentRules {
        words: WordRules::new(options),
        chunk_bytes,
        held_bytes,
        character_coverage: options.character_coverage,
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
fn ordered_input(texts: CountedTexts, alphabet: &Alphabet, rules: &SegmentRules) -> UnigramInput {
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

fn segmented(batches: &TextBatches, group: usize, rules: &SegmentRules) -> SegmentedSentences {
    let mut counter = SegmentCounter::new(rules.clone());
    for group in batches.chunks(group) {
        let texts = group.iter().map(|batch| counted(batch)).collect();
        counter.add(texts).unwrap();
    }
    counter.finish().unwrap()
}

/// The input from counted words; `None` if it cannot be resolved.
fn counted_input(
    segments: SegmentedSentences,
    alphabet: &Alphabet,
    rules: &SegmentRules,
) -> Option<UnigramInput> {
    match segments.resolve(alphabet).unwrap() {
        ResolvedTexts::Words(corpus) => {
            let entries = |chunk: WordChunk| chunk.into_entries().unwrap().listed();
            Some(UnigramInput {
                words: listed(&corpus.words),
                chunks: corpus.chunks.into_iter().map(entries).collect(),
            })
        }
        ResolvedTexts::Ordered(texts) => Some(ordered_input(texts, alphabet, rules)),
        ResolvedTexts::Unresolved => None,
    }
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
    let rules = rules(&options, 20, 0);
    let segments = segmented(&batches, 1, &rules);
    assert_eq!(segments.segments.len(), 1);
    let alphabet = chosen(&segments.character_counts().unwrap(), &options);
    let input = counted_input(segments, &alphabet, &rules).unwrap();
    let entry = |word: &str, following: &[u8], count| {
        ([word.as_bytes(), following].concat(), word.len(), count)
    };
    let first = [
        entry("▁a", b"\xE2", 2),
        entry("▁b", b"\0\xE2", 2),
        entry("▁c", b"\0", 1),
    ];
    assert_eq!(input.chunks, [&first[..], &[entry("▁d", b"\0", 1)]]);
}

/// Ten chunks of a text without unknown characters: every end is found, and all but a few sentences
/// are counted.
#[test]
fn a_stream_of_many_chunks_is_counted_in_segments() {
    let sentence = |number: u64| format!("▁{}▁the▁x{}", number % 37, number * number % 101);
    let batches: TextBatches = (0..2000)
        .map(|batch| {
            (5 * batch..5 * batch + 5)
                .map(|n| (sentence(n), 1 + n % 3))
                .collect()
        })
        .collect();
    let options = {
        let mut options = TrainOptions::default();
        options.character_coverage = 1.0;
        options
    };
    let rules = rules(&options, 37_000, 100);
    let segments = segmented(&batches, 7, &rules);
    let held: usize = segments.held.iter().flatten().map(CountedTexts::len).sum();
    assert!(segments.segments.len() >= 10, "{}", segments.segments.len());
    assert!(held < 500, "{held}");
    let alphabet = chosen(&segments.character_counts().unwrap(), &options);
    let input = counted_input(segments, &alphabet, &rules);
    let expected = ordered_input(ordered_texts(&batches), &alphabet, &rules);
    assert!(expected.chunks.len() >= 10);
    assert_eq!(input, Some(expected));
}

/// A chunk ends between sentences of which only the words are known: an error, never another model.
#[test]
fn a_chunk_that_ends_in_a_segment_is_unresolved() {
    let mut batches = text_of(&[&[("▁éééééééé", 1u64)][..]; 40]);
    batches.push(vec![("▁abc".to_owned(), 1_000_000)]);
    let options = TrainOptions::default();
    // Without the growth of the unknown characters, no chunk ends near the 30th sentence.
    let rules = rules(&options, 30 * 28, 0);
    let segments = segmented(&batches, 1, &rules);
    let alphabet = chosen(&segments.character_counts().unwrap(), &options);
    assert!(!alphabet.known().contains('é'));
    assert_eq!(counted_input(segments, &alphabet, &rules), None);
}

#[test]
fn words_are_sentences_if_whitespace_has_no_piece() {
    let batches = text_of(&[&[(&format!("▁{}▁b", "a".repeat(20_000)), 1)]]);
    let options = TrainOptions::default();
    for held_bytes in [0, 100_000] {
        let mut all = batches.clone();
        all.push(batches[0].clone());
        let rules = rules(&options, 1 << 20, held_bytes);
        let segments = segmented(&all, 1, &rules);
        let alphabet = chosen(&segments.character_counts().unwrap(), &options);
        assert!(!alphabet.known().contains('▁'));
        let expected = ordered_input(ordered_texts(&all), &alphabet, &rules);
        let input = counted_input(segments, &alphabet, &rules);
        assert_eq!(expected.words.len(), 1);
        assert_eq!(input, (held_bytes > 0).then_some(expected));
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
struct SegmentCase {
    chunk_bytes: u64,
    held_bytes: usize,
    group: usize,
    coverage: f32,
    whitespace_runs: bool,
}

fn cases() -> impl Strategy<Value = SegmentCase> {
    (
        prop_oneof![1u64..100, 100u64..3000, Just(1 << 29)],
        prop_oneof![Just(0usize), 0usize..300],
        1usize..5,
        prop_oneof![Just(1.0f32), Just(0.9995), Just(0.98)],
        any::<bool>(),
    )
        .prop_map(
            |(chunk_bytes, held_bytes, group, coverage, whitespace_runs)| SegmentCase {
                chunk_bytes,
                held_bytes,
                group,
                coverage,
                whitespace_runs,
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn counted_words_equal_those_of_the_sentences_in_order(batches in sentences(), case in cases()) {
        let mut options = TrainOptions::default();
        options.character_coverage = case.coverage;
        options.allow_whitespace_only_pieces = case.whitespace_runs;
        let ordered = ordered_texts(&batches);
        prop_assume!(ordered.len() > 0);
        let rules = rules(&options, case.chunk_bytes, case.held_bytes);
        let alphabet = chosen(&ordered.character_counts().unwrap(), &options);
        let segments = segmented(&batches, case.group, &rules);
        let counts = segments.character_counts().unwrap();
        prop_assert_eq!(&chosen(&counts, &options), &alphabet);
        let is_one_chunk = case.chunk_bytes == 1 << 29;
        let expected = ordered_input(ordered, &alphabet, &rules);
        match counted_input(segments, &alphabet, &rules) {
            Some(input) => prop_assert_eq!(input, expected),
            None => prop_assert!(!is_one_chunk),
        }
    }
}
