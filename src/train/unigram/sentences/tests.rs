use proptest::prelude::*;

use super::*;
use crate::train::options::TrainOptions;

fn texts(counted: &[(&str, u64)]) -> CountedTexts {
    let mut texts = CountedTexts::default();
    for (text, count) in counted {
        texts.push(text, *count);
    }
    texts
}

fn pairs(texts: &CountedTexts) -> Vec<(&str, u64)> {
    (0..texts.len())
        .map(|index| (texts.text(index), texts.counts[index]))
        .collect()
}

/// The sentences of chunks, and how often the last of them occurs there.
fn extents(chunks: &[SeedChunk]) -> Vec<(Range<usize>, u64)> {
    chunks
        .iter()
        .map(|chunk| (chunk.sentences.clone(), chunk.last_count))
        .collect()
}

#[test]
fn words_of_the_module_example() {
    let rules = WordRules::new(&TrainOptions::default());
    let words = texts(&[("▁to▁be", 2), ("▁be", 1)]).words(rules).unwrap();
    assert_eq!(pairs(&words), [("▁be", 3), ("▁to", 2)]);
}

#[test]
fn entries_of_the_module_example() {
    let rules = WordRules::new(&TrainOptions::default());
    let sentences = texts(&[("▁to▁be", 2), ("▁be", 1)]);
    let chunks = sentences.chunks(CHUNK_BYTES);
    assert_eq!(extents(&chunks), [(0..2, 1)]);
    // The first sentence has 11 bytes with its NUL, the other 6.
    assert_eq!(chunks[0].bytes, 2 * 11 + 6);
    let entries = sentences.entries(&chunks[0], Some(rules)).unwrap();
    let mut expected = CountedTexts::default();
    expected.push("▁to", 2);
    // The bytes of all entries, in an order that depends on hashes.
    let length = |texts: &[&[u8]]| texts.iter().map(|text| text.len()).sum::<usize>();
    let parts: [&[u8]; 3] = ["▁to".as_bytes(), "▁be".as_bytes(), "▁be".as_bytes()];
    assert_eq!(entries.bytes().len(), length(&parts) + 1 + 2 + 1);
    for part in [&b"to\xE2"[..], b"be\x00\xE2", b"be\x00"] {
        let windows = entries.bytes().windows(part.len());
        assert!(windows.into_iter().any(|window| window == part), "{part:?}");
    }
}

/// The reference appends the last text in the place of an empty one.
#[test]
fn empty_texts_are_replaced_by_the_last() {
    let mut sentences = texts(&[("", 1), ("a", 2), ("", 3), ("b", 4), ("c", 5)]);
    sentences.remove_empty();
    assert_eq!(pairs(&sentences), [("c", 5), ("a", 2), ("b", 4)]);
    let mut empty = texts(&[("", 1), ("", 2)]);
    empty.remove_empty();
    assert_eq!(empty.len(), 0);
}

#[test]
fn the_repetitions_after_the_end_of_a_chunk_are_dropped() {
    // Ten bytes each, with the NUL.
    let full = CHUNK_BYTES / 10;
    let exact = texts(&[("123456789", full), ("x", 1)]);
    assert_eq!(
        extents(&exact.chunks(CHUNK_BYTES)),
        [(0..1, full), (1..2, 1)]
    );
    let more = texts(&[("123456789", u64::MAX), ("x", 1)]);
    assert_eq!(
        extents(&more.chunks(CHUNK_BYTES)),
        [(0..1, full), (1..2, 1)]
    );
    let one_less = texts(&[("123456789", full - 1), ("x", 1), ("y", 9)]);
    assert_eq!(extents(&one_less.chunks(CHUNK_BYTES)), [(0..3, 4)]);
    let only = texts(&[("123456789", full)]);
    assert_eq!(extents(&only.chunks(CHUNK_BYTES)), [(0..1, full)]);
    assert_eq!(texts(&[]).chunks(CHUNK_BYTES), []);
}

/// The chunks of the reference, which looks at the size before each repetition.
fn naive_chunks(sentences: &[(usize, u64)]) -> Vec<SeedChunk> {
    let mut chunks = Vec::new();
    let mut start = 0;
    let mut bytes = 0;
    for (index, (length, count)) in sentences.iter().enumerate() {
        let mut repetitions = 0;
        while repetitions < *count && bytes < CHUNK_BYTES {
            bytes += *length as u64 + 1;
            repetitions += 1;
        }
        if bytes >= CHUNK_BYTES || index + 1 == sentences.len() {
            chunks.push(SeedChunk {
                sentences: start..index + 1,
                last_count: repetitions,
                bytes,
            });
            start = index + 1;
            bytes = 0;
        }
    }
    chunks
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn chunks_equal_those_of_a_loop_over_the_repetitions(
        sentences in proptest::collection::vec((1usize..400_000, 1u64..4000), 1..8),
    ) {
        let mut counted = CountedTexts::default();
        for (length, count) in &sentences {
            counted.push(&"x".repeat(*length), *count);
        }
        prop_assert_eq!(counted.chunks(CHUNK_BYTES), naive_chunks(&sentences));
    }
}
