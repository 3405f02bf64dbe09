//! Tests of the unigram encoder against naive searches.
//!
//! Encoding is compared with an exhaustive search and with a Viterbi search without chunks, cache
//! and trie. N-best lists are compared with all segmentations, samples with the probabilities of
//! all segmentations. Counters prove which path of the code ran.

mod probabilities;

use std::collections::HashMap;
use std::path::Path;

use proptest::prelude::*;

use super::chunks::Chunk;
use super::lattice::{Lattice, MAX_NODES};
use super::margin::search_with_margin;
use super::nbest::NbestRequest;
use super::sample::PathWeights;
use super::viterbi::search;
use super::{UnigramCache, UnigramEncoder};
use crate::base::rng::SplitMix64;
use crate::encode::EncodeError;
use crate::encode::vocabulary::Vocabulary;
use crate::model::{Model, Specs};
use crate::piece::{PieceId, PieceKind, PieceTable};

/// A search without a limit on time.
fn request(size: usize) -> NbestRequest {
    NbestRequest {
        size,
        deadline: None,
    }
}

fn model(name: &str) -> Model {
    Model::open(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("testdata/run")
            .join(name),
    )
    .unwrap()
}

/// All segmentations of `text` with their scores, computed from the texts of the pieces. The score
/// of a user-defined symbol depends on its length, in characters if `by_chars` and in bytes
/// otherwise.
fn all_segmentations(
    vocabulary: &Vocabulary<'_>,
    unknown_score: f32,
    by_chars: bool,
    text: &str,
) -> Vec<(Vec<PieceId>, f64)> {
    let Some(c) = text.chars().next() else {
        return vec![(Vec::new(), 0.0)];
    };
    let mut found = Vec::new();
    let mut has_char = false;
    let mut continue_after = |id: PieceId, length: usize, score: f64| {
        for (mut ids, sum) in
            all_segmentations(vocabulary, unknown_score, by_chars, &text[length..])
        {
            ids.insert(0, id);
            found.push((ids, sum + score));
        }
    };
    for id in 0..vocabulary.len() {
        let piece = vocabulary.text(id);
        let is_piece = vocabulary.is_from_text(id) && vocabulary.kind(id) != PieceKind::Unused;
        if is_piece && text.as_bytes().starts_with(piece) {
            let length = if by_chars {
                text[..piece.len()].chars().count()
            } else {
                piece.len()
            };
            let is_symbol = vocabulary.kind(id) == PieceKind::UserDefined;
            let score = if is_symbol {
                0.1 * (length as f64 - 1.0)
            } else {
                f64::from(vocabulary.score(id))
            };
            has_char |= piece.len() == c.len_utf8();
            continue_after(PieceId::from_index(id), piece.len(), score);
        }
    }
    if !has_char {
        continue_after(vocabulary.unknown(), c.len_utf8(), f64::from(unknown_score));
    }
    found
}

fn score_of(vocabulary: &Vocabulary<'_>, unigram: &UnigramEncoder, ids: &[PieceId]) -> f64 {
    let score = |id: &PieceId| {
        if *id == vocabulary.unknown() {
            return f64::from(unigram.tables.unknown_score);
        }
        f64::from(unigram.tables.score(*id))
    };
    ids.iter().map(score).sum()
}

#[test]
fn viterbi_equals_an_exhaustive_search() {
    for name in [
        "unigram.model",
        "unigram_unused.model",
        "unigram_coarse.model",
    ] {
        let model = model(name);
        let vocabulary = Vocabulary::new(&model, true);
        let unigram = UnigramEncoder::new(&vocabulary).unwrap();
        proptest!(ProptestConfig::with_cases(150), |(text in "[\u{2581}abclesdroit\u{e9}\u{436}\u{4e00}]{0,9}")| {
            let mut ids = Vec::new();
            unigram.encode(text.as_bytes(), &mut UnigramCache::default(), &mut ids);
            let all = all_segmentations(&vocabulary, unigram.tables.unknown_score, false, &text);
            let best = all.iter().map(|(_, score)| *score).fold(f64::NEG_INFINITY, f64::max);
            prop_assert!((score_of(&vocabulary, &unigram, &ids) - best).abs() < 1e-3);
            prop_assert!(all.iter().any(|(segmentation, _)| *segmentation == ids));
        });
    }
}

#[test]
fn nbest_lists_are_complete_and_in_order() {
    let model = model("unigram.model");
    let vocabulary = Vocabulary::new(&model, true);
    let unigram = UnigramEncoder::new(&vocabulary).unwrap();
    for text in ["\u{2581}les", "abcla", "\u{4e00}\u{2581}de", "l"] {
        let mut all = all_segmentations(&vocabulary, unigram.tables.unknown_score, true, text);
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        let best = unigram
            .best(text.as_bytes(), request(500), &mut UnigramCache::default())
            .unwrap();
        assert_eq!(best.len(), all.len().min(500));
        for ((_, score), (_, expected)) in best.iter().zip(&all) {
            assert!((f64::from(*score) - expected).abs() < 1e-3, "{text}");
        }
    }
}

#[test]
fn samples_have_the_distribution_of_the_lattice() {
    let model = model("unigram.model");
    let vocabulary = Vocabulary::new(&model, true);
    let unigram = UnigramEncoder::new(&vocabulary).unwrap();
    let mut rng = SplitMix64::new(11);
    for (text, alpha) in [
        ("\u{2581}les", 0.5f32),
        ("droits", 0.2),
        ("\u{2581}de\u{4e00}", 1.0),
        ("abc", 0.0),
    ] {
        let weights: Vec<(Vec<PieceId>, f64)> =
            all_segmentations(&vocabulary, unigram.tables.unknown_score, true, text)
                .into_iter()
                .map(|(ids, score)| (ids, (f64::from(alpha) * score).exp()))
                .collect();
        let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
        let mut counts: HashMap<Vec<PieceId>, u32> = HashMap::new();
        let runs = 40_000;
        for _ in 0..runs {
            let mut ids = Vec::new();
            unigram
                .sample(text.as_bytes(), alpha, &mut rng, &mut ids)
                .unwrap();
            *counts.entry(ids).or_default() += 1;
        }
        assert!(
            counts
                .keys()
                .all(|ids| weights.iter().any(|(segmentation, _)| segmentation == ids))
        );
        for (ids, weight) in weights {
            let share = weight / total;
            let seen = f64::from(counts.get(&ids).copied().unwrap_or(0)) / f64::from(runs);
            // Five standard deviations.
            let allowed = 5.0 * (share * (1.0 - share) / f64::from(runs)).sqrt() + 1e-4;
            assert!(
                (seen - share).abs() < allowed,
                "{text} {ids:?}: {seen}, not {share}"
            );
        }
    }
}

#[test]
fn the_weight_at_the_end_is_the_sum_over_all_segmentations() {
    let model = model("unigram_bytes.model");
    let vocabulary = Vocabulary::new(&model, true);
    let unigram = UnigramEncoder::new(&vocabulary).unwrap();
    let text = "\u{2581}les";
    let lattice = Lattice::new(&unigram.tables, text.as_bytes()).unwrap();
    let weight = PathWeights::new(&lattice, 0.7).total().unwrap();
    let all = all_segmentations(&vocabulary, unigram.tables.unknown_score, true, text);
    let total: f64 = all.iter().map(|(_, score)| (0.7 * score).exp()).sum();
    assert!((f64::from(weight) - total.ln()).abs() < 1e-4);
}

#[test]
fn texts_with_too_many_candidates_are_refused() {
    let mut pieces = PieceTable::default();
    pieces.push(b"<unk>", 0.0, PieceKind::Unknown);
    (1..=2000).for_each(|length| pieces.push(&vec![b'a'; length], -1.0, PieceKind::Normal));
    let model = Model::from_parts(pieces, Specs::default()).unwrap();
    let unigram = UnigramEncoder::new(&Vocabulary::new(&model, true)).unwrap();
    let mut rng = SplitMix64::new(1);
    let mut ids = Vec::new();
    // At each position 2000 pieces begin. The limit is the number of pairs of nodes, then the
    // number of nodes.
    for (length, is_few) in [(300, true), (1500, false), (5000, false)] {
        let listed = unigram.best(
            &vec![b'a'; length],
            request(3),
            &mut UnigramCache::default(),
        );
        assert_eq!(listed.is_ok(), is_few, "{length}");
        assert!(is_few || matches!(listed, Err(EncodeError::TooManyCandidates { .. })));
    }
    assert!(
        unigram
            .sample(&[b'a'; 3000], 0.1, &mut rng, &mut ids)
            .is_ok()
    );
    let refused = unigram.sample(&[b'a'; 9000], 0.1, &mut rng, &mut ids);
    assert!(matches!(
        refused,
        Err(EncodeError::TooManyCandidates { .. })
    ));
}

#[test]
fn texts_that_are_too_long_are_refused() {
    let model = model("unigram_bytes.model");
    let vocabulary = Vocabulary::new(&model, true);
    let unigram = UnigramEncoder::new(&vocabulary).unwrap();
    let text = "a".repeat(MAX_NODES + 1);
    let too_long = Err(EncodeError::TooManyCandidates { limit: MAX_NODES });
    assert_eq!(
        unigram.best(text.as_bytes(), request(2), &mut UnigramCache::default()),
        too_long
    );
    let drawn = unigram.sample(
        text.as_bytes(),
        0.1,
        &mut SplitMix64::new(1),
        &mut Vec::new(),
    );
    assert_eq!(drawn.map(|()| Vec::new()), too_long);
    assert!(
        unigram
            .best(text.as_bytes(), request(1), &mut UnigramCache::default())
            .is_ok(),
        "the single best segmentation needs no lattice"
    );
}

/// How often [`UnigramEncoder::encode`] used each path of the code, for chunks of several
/// characters.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct PathCounts {
    /// The sum was within the limit of a cached chunk.
    cached: usize,
    /// The sum was within the limit of a chunk that was not cached.
    found: usize,
    /// The limit of the chunk was exceeded.
    limit_exceeded: usize,
    /// The full search ran: the limit was exceeded, or the chunk was too long for the cache.
    full_searches: usize,
}

impl PathCounts {
    pub(super) fn count_within_limit(&mut self, is_cached: bool) {
        self.cached += usize::from(is_cached);
        self.found += usize::from(!is_cached);
    }

    pub(super) fn count_limit_exceeded(&mut self) {
        self.limit_exceeded += 1;
    }

    pub(super) fn count_full_search(&mut self) {
        self.full_searches += 1;
    }
}

/// Viterbi search of a whole line without chunks, cache and trie: all pieces are compared at all
/// positions. Sums are 32-bit floats, rebased as in the reference.
fn naive_viterbi(model: &Model, text: &str) -> Vec<PieceId> {
    let vocabulary = Vocabulary::new(model, true);
    let normal = (0..vocabulary.len()).filter(|id| vocabulary.kind(*id) == PieceKind::Normal);
    let lowest = normal
        .map(|id| vocabulary.score(id))
        .fold(f32::MAX, f32::min);
    // For each position: the sum, the last piece, and the position before it.
    let mut best: Vec<Option<(f32, PieceId, usize)>> = vec![None; text.len() + 1];
    best[0] = Some((0.0, PieceId::new(0), 0));
    for (start, c) in text.char_indices() {
        let base = best[start].map_or(0.0, |(sum, ..)| sum);
        if base.abs() > 100_000.0 {
            for (sum, ..) in best[start..].iter_mut().flatten() {
                *sum -= base;
            }
        }
        let base = best[start].map_or(0.0, |(sum, ..)| sum);
        let mut candidates: Vec<(usize, PieceId, f32)> = (1..vocabulary.len())
            .filter(|id| text.as_bytes()[start..].starts_with(vocabulary.text(*id)))
            .map(|id| {
                (
                    vocabulary.text(id).len(),
                    PieceId::from_index(id),
                    vocabulary.score(id),
                )
            })
            .collect();
        if candidates
            .iter()
            .all(|(length, ..)| *length != c.len_utf8())
        {
            candidates.push((c.len_utf8(), vocabulary.unknown(), lowest - 10.0));
        }
        for (length, id, score) in candidates {
            let sum = base + score;
            let end = &mut best[start + length];
            if end.is_none_or(|(best, ..)| sum > best) {
                *end = Some((sum, id, start));
            }
        }
    }
    let mut ids = Vec::new();
    let mut position = text.len();
    while let Some((_, id, previous)) = best[position].filter(|_| position > 0) {
        ids.push(id);
        position = previous;
    }
    ids.reverse();
    ids
}

/// A model with these normal pieces.
fn model_of(list: &[(&str, f32)]) -> Model {
    let mut pieces = PieceTable::default();
    pieces.push(b"<unk>", 0.0, PieceKind::Unknown);
    for (text, score) in list {
        pieces.push(text.as_bytes(), *score, PieceKind::Normal);
    }
    Model::from_parts(pieces, Specs::default()).unwrap()
}

/// `aba` has the best path `ab|a`, the margin 0.001 and a limit of about 3,350. `c` is unknown and
/// a chunk of its own.
const SMALL_MARGIN: [(&str, f32); 4] = [("a", -1.0), ("b", -2.0), ("ab", -1.5), ("ba", -1.501)];
/// As [`SMALL_MARGIN`], but `ab|a` and `a|ba` have equal sums.
const NO_MARGIN: [(&str, f32); 4] = [("a", -1.0), ("b", -2.0), ("ab", -1.5), ("ba", -1.5)];

/// Encodes `text` with an empty cache, compares the ids with the naive search, and returns the
/// counts.
fn counts_of(list: &[(&str, f32)], text: &str) -> PathCounts {
    let model = model_of(list);
    let unigram = UnigramEncoder::new(&Vocabulary::new(&model, true)).unwrap();
    let mut cache = UnigramCache::default();
    let mut ids = Vec::new();
    unigram.encode(text.as_bytes(), &mut cache, &mut ids);
    assert_eq!(ids, naive_viterbi(&model, text));
    cache.counts
}

#[test]
fn a_chunk_within_its_limit_is_searched_once_and_then_cached() {
    let expected = PathCounts {
        cached: 49,
        found: 1,
        ..PathCounts::default()
    };
    assert_eq!(counts_of(&SMALL_MARGIN, &"abac".repeat(50)), expected);
}

#[test]
fn a_new_chunk_whose_limit_is_exceeded_is_searched_in_full() {
    // 400 unknown characters have the sum -4,800.
    let expected = PathCounts {
        limit_exceeded: 1,
        full_searches: 1,
        ..PathCounts::default()
    };
    let text = "c".repeat(400) + "aba";
    assert_eq!(counts_of(&SMALL_MARGIN, &text), expected);
}

#[test]
fn a_cached_chunk_is_searched_in_full_from_the_sum_that_exceeds_its_limit() {
    let counts = counts_of(&SMALL_MARGIN, &"abac".repeat(400));
    assert_eq!(counts.found, 1);
    // Each repetition adds -14.5, and the limit is between 3,300 and 3,350.
    assert!((227..=232).contains(&counts.cached), "{counts:?}");
    assert_eq!(counts.found + counts.cached + counts.limit_exceeded, 400);
    assert_eq!(counts.full_searches, counts.limit_exceeded);
}

#[test]
fn a_cached_chunk_is_used_again_after_sums_are_rebased() {
    // 10,000 repetitions have the sum -145,000, so sums exceed -100,000 once.
    let counts = counts_of(&SMALL_MARGIN, &"abac".repeat(10_000));
    assert!(counts.cached > 300, "{counts:?}");
    assert!(counts.limit_exceeded > 6_000, "{counts:?}");
}

#[test]
fn a_chunk_without_margin_is_always_searched_in_full() {
    let expected = PathCounts {
        limit_exceeded: 50,
        full_searches: 50,
        ..PathCounts::default()
    };
    assert_eq!(counts_of(&NO_MARGIN, &"abac".repeat(50)), expected);
}

#[test]
fn a_chunk_too_long_for_the_cache_is_searched_in_full() {
    let expected = PathCounts {
        full_searches: 1,
        ..PathCounts::default()
    };
    assert_eq!(counts_of(&SMALL_MARGIN, &"ab".repeat(12)), expected);
    let expected = PathCounts {
        found: 1,
        ..PathCounts::default()
    };
    let longest = "ab".repeat(11) + "a";
    assert_eq!(counts_of(&SMALL_MARGIN, &longest), expected);
}

/// Scores in steps of 0.1, many sums of which differ only by rounding, and some extreme scores.
fn coarse_score() -> impl Strategy<Value = f32> {
    let tenths = || (-40i16..3).prop_map(|tenths| f32::from(tenths) / 10.0);
    let scaled = (
        tenths(),
        prop_oneof![Just(0.01f32), Just(100.0), Just(9000.0), Just(1e30)],
    );
    prop_oneof![8 => tenths(), 1 => scaled.prop_map(|(score, scale)| score * scale)]
}

/// A model whose pieces consist of few characters, so that a text has many segmentations.
fn small_model() -> impl Strategy<Value = Model> {
    let kind = prop_oneof![8 => Just(PieceKind::Normal), 1 => Just(PieceKind::UserDefined)];
    let piece = (
        "[\u{2581}ab\u{e9}]?[abc\u{e9}\u{4e00}]{0,3}[ab\u{2581}]?",
        coarse_score(),
        kind,
    );
    proptest::collection::vec(piece, 0..25).prop_map(|list| {
        let mut pieces = PieceTable::default();
        pieces.push(b"<unk>", 0.0, PieceKind::Unknown);
        let mut seen = std::collections::HashSet::new();
        for (text, score, kind) in list {
            if !text.is_empty() && seen.insert(text.clone()) {
                pieces.push(text.as_bytes(), score, kind);
            }
        }
        Model::from_parts(pieces, Specs::default()).unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// The chunks of a repeated text are cached, and each occurs after different sums.
    #[test]
    fn encoding_by_chunks_equals_encoding_the_text(
        model in small_model(),
        texts in proptest::collection::vec(("[\u{2581}abcd\u{e9}\u{4e00}\u{4e01}]{0,30}", 1usize..400), 1..6),
    ) {
        let unigram = UnigramEncoder::new(&Vocabulary::new(&model, true)).unwrap();
        let mut cache = UnigramCache::default();
        for (text, count) in texts {
            let line = text.repeat(count);
            let mut found = Vec::new();
            let mut expected = Vec::new();
            unigram.encode(line.as_bytes(), &mut cache, &mut found);
            search(&unigram.tables, line.as_bytes(), 0.0, &mut Vec::new(), &mut expected);
            prop_assert!(found == expected, "{count} times {text}");
        }
    }

    #[test]
    fn no_sum_up_to_the_limit_changes_the_ids(
        model in small_model(),
        chunk in "[\u{2581}abc\u{e9}\u{4e00}]{1,5}",
        parts in proptest::collection::vec(-1.0f32..1.0, 20),
    ) {
        let unigram = UnigramEncoder::new(&Vocabulary::new(&model, true)).unwrap();
        let mut ids = Vec::new();
        let limit = search_with_margin(&unigram.tables, chunk.as_bytes(), &mut ids);
        for part in parts.into_iter().chain([-1.0, 1.0]).filter(|_| limit >= 0.0) {
            let mut expected = Vec::new();
            let sum = part * limit;
            let sum_after = search(&unigram.tables, chunk.as_bytes(), sum, &mut Vec::new(), &mut expected);
            prop_assert_eq!(&ids, &expected);
            prop_assert_eq!(ids.iter().fold(sum, |sum, id| sum + unigram.tables.score(*id)), sum_after);
        }
    }

    #[test]
    fn no_piece_crosses_a_chunk_boundary(model in small_model(), text in "[\u{2581}abc\u{e9}\u{4e00}\u{4e01}]{0,30}") {
        let vocabulary = Vocabulary::new(&model, true);
        let unigram = UnigramEncoder::new(&vocabulary).unwrap();
        let text = text.as_bytes();
        let mut at = 0;
        while at < text.len() {
            at += match unigram.chunk_finder.first(&text[at..]) {
                Chunk::Char(length) | Chunk::Several(length) => length,
            };
            for begin in 0..at {
                let mut pieces = (1..vocabulary.len()).map(|id| vocabulary.text(id));
                prop_assert!(!pieces.any(|piece| text[begin..].starts_with(piece) && begin + piece.len() > at));
            }
        }
    }
}

/// The texts of the chunks of `text`.
fn chunks(unigram: &UnigramEncoder, text: &str) -> Vec<String> {
    let mut chunks = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (Chunk::Char(length) | Chunk::Several(length)) =
            unigram.chunk_finder.first(rest.as_bytes());
        chunks.push(rest[..length].to_owned());
        rest = &rest[length..];
    }
    chunks
}

#[test]
fn words_are_chunks_with_high_limits() {
    let model = model("unigram.model");
    let unigram = UnigramEncoder::new(&Vocabulary::new(&model, true)).unwrap();
    let words = ["\u{2581}les", "\u{2581}droits", "\u{2581}de"];
    for (chunk, word) in chunks(&unigram, &words.concat()).iter().zip(words) {
        assert!(
            word.starts_with(chunk.as_str()) && chunk.len() > 3,
            "{chunk}"
        );
        let limit = search_with_margin(&unigram.tables, chunk.as_bytes(), &mut Vec::new());
        assert!(limit > 1000.0, "{chunk}: {limit}");
    }
    assert_eq!(
        chunks(&unigram, "\u{4e00}\u{4e01}"),
        ["\u{4e00}", "\u{4e01}"],
        "an unknown character is a chunk of its own"
    );
}

#[test]
fn equal_paths_have_no_limit() {
    let limit = |scores: [f32; 4]| {
        let mut pieces = PieceTable::default();
        pieces.push(b"<unk>", 0.0, PieceKind::Unknown);
        for (text, score) in ["a", "b", "ab", "ba"].into_iter().zip(scores) {
            pieces.push(text.as_bytes(), score, PieceKind::Normal);
        }
        let model = Model::from_parts(pieces, Specs::default()).unwrap();
        let unigram = UnigramEncoder::new(&Vocabulary::new(&model, true)).unwrap();
        search_with_margin(&unigram.tables, b"aba", &mut Vec::new())
    };
    assert!(limit([-1.0, -2.0, -1.5, -1.5]) < 0.0);
    assert!(limit([0.0; 4]) < 0.0);
    assert!(limit([-1.0, -2.0, -1.5, -1.6]) > 0.0);
    // The margin 0.001 allows 0.001 / 2^-24 = 16,777 rounding errors of sums of magnitude 1 in five
    // additions.
    let found = limit([-1.0, -2.0, -1.5, -1.501]);
    assert!((2000.0..3500.0).contains(&found), "{found}");
    assert!(
        limit([-1e30, -2e30, -1.5e30, -1.6e30]) < 0.0,
        "sums could be rebased"
    );
    assert!((99_000.0..100_000.0).contains(&limit([-10.0, -20.0, -1.0, -9.0])));
}
