//! Reports against exhaustive searches: all short texts are encoded or normalized, and the results
//! are compared with the inspection.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::byte_bpe::{ByteBpe, ByteBpeParts, ByteToken, SpecialToken};
use crate::model::Model;
use crate::normalize::charsmap::compile;
use crate::normalize::rules::Rules;
use crate::pattern::{Pattern, Pretokenizer};
use crate::piece::PieceKind;
use crate::tokenizer::{NormalizedEncoder, Tokenizer, TokenizerConfig};

/// A piece of a random model.
#[derive(Debug, Clone)]
struct RandomPiece {
    text: String,
    score: f32,
    kind: PieceKind,
}

/// A model of pieces, without normalization.
fn tokenizer_of(model_type: ModelType, pieces: &[RandomPiece]) -> Tokenizer {
    let mut builder = Model::builder();
    builder
        .model_type(model_type)
        .add_dummy_prefix(false)
        .remove_extra_whitespaces(false)
        .piece("<unk>", 0.0, PieceKind::Unknown);
    let mut texts = HashSet::new();
    for piece in pieces {
        if texts.insert(&piece.text) {
            builder.piece(&piece.text, piece.score, piece.kind);
        }
    }
    Tokenizer::new(builder.build().unwrap())
}

/// All texts of `1..=length` characters of `alphabet`.
fn all_texts(alphabet: &str, length: usize) -> Vec<String> {
    let mut texts = vec![String::new()];
    let mut start = 0;
    for _ in 0..length {
        let end = texts.len();
        for index in start..end {
            let longer = alphabet.chars().map(|c| format!("{}{c}", texts[index]));
            let longer: Vec<String> = longer.collect();
            texts.extend(longer);
        }
        start = end;
    }
    texts.split_off(1)
}

/// Scores of which many are equal.
fn score() -> impl Strategy<Value = f32> {
    prop_oneof![
        (-4_i16..3).prop_map(f32::from),
        (-40_i16..0).prop_map(|tenths| f32::from(tenths) / 10.0),
    ]
}

fn random_piece(alphabet: &'static str) -> impl Strategy<Value = RandomPiece> {
    let kind = prop_oneof![
        12 => Just(PieceKind::Normal),
        2 => Just(PieceKind::Unused),
        1 => Just(PieceKind::UserDefined),
    ];
    (alphabet, score(), kind).prop_map(|(text, score, kind)| RandomPiece { text, score, kind })
}

/// The ids that the encodings of all texts contain.
fn given_ids(tokenizer: &Tokenizer, texts: &[String]) -> HashSet<PieceId> {
    let mut encoder = NormalizedEncoder::new(tokenizer.model_tables().unwrap());
    let mut given = HashSet::new();
    for text in texts {
        given.extend(encoder.encode(text.as_bytes()));
    }
    given
}

fn assert_unreachable_pieces_are_never_given(tokenizer: &Tokenizer, given: &HashSet<PieceId>) {
    let inspection = Inspection::new(tokenizer).unwrap();
    for piece in pieces_for_text(tokenizer) {
        let is_given = given.contains(&piece.id);
        let mut found = inspection.unreachable.iter();
        match found.find(|found| found.id == piece.id) {
            Some(found) => assert!(!is_given || found.is_close, "{piece:?} is given"),
            None => assert!(is_given, "{piece:?} is never given"),
        }
    }
}

/// A byte-level vocabulary of all bytes and these tokens, with an added token.
fn byte_level_of(texts: &[Vec<u8>], pattern: &str, options: [bool; 3]) -> Tokenizer {
    let pattern = Pattern::named(pattern).map_or_else(|| Pattern::new(pattern), Ok);
    let mut parts = ByteBpeParts::new(Pretokenizer::of(pattern.unwrap()));
    let bytes = (0..=255).map(|byte| vec![byte]);
    let mut seen = HashSet::new();
    let texts = bytes.chain(texts.iter().cloned());
    let texts = texts.filter(|text| seen.insert(text.clone()));
    parts.tokens = (0..)
        .zip(texts)
        .map(|(id, text)| ByteToken {
            bytes: text.into(),
            id,
        })
        .collect();
    let [finds_whole, adds_space, has_added] = options;
    parts.whole_pretokens_first = finds_whole;
    parts.adds_prefix_space = adds_space;
    if has_added {
        let mut added = SpecialToken::new("ba", 1000);
        added.special = false;
        parts.special_tokens.push(added);
    }
    Tokenizer::from_pipeline(ByteBpe::new(parts).unwrap(), TokenizerConfig::default())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_byte_level_token_is_unreachable_only_if_no_text_gives_it(
        texts in prop::collection::vec("[ab1é ]{1,4}", 1..14),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 14),
        pattern in prop::sample::select(vec!["gpt2", "cl100k", r"\p{L}{1,3}| ?1|\s"]),
        options in any::<[bool; 3]>(),
    ) {
        // Some of the texts begin or end within a character.
        let texts: Vec<Vec<u8>> = texts.iter().zip(cuts).map(|(text, cut)| {
            let bytes = text.as_bytes();
            let cut = cut.index(bytes.len());
            if cut % 2 == 0 { bytes[cut..].to_vec() } else { bytes[..cut].to_vec() }
        }).collect();
        let tokenizer = byte_level_of(&texts, pattern, options);
        let mut encoder = tokenizer.encoder();
        let mut given = HashSet::new();
        for text in all_texts("ab1é ", 5) {
            given.extend(encoder.encode(text.as_bytes()).iter().copied());
        }
        let inspection = Inspection::new(&tokenizer).unwrap();
        for piece in &inspection.unreachable {
            prop_assert!(!given.contains(&piece.id), "{piece:?}");
            prop_assert!(!piece.winner.contains(&piece.id), "{piece:?}");
        }
        let InspectionDetails::ByteLevel(details) = &inspection.details else {
            panic!("{inspection:?}");
        };
        // Whole characters need no others around them than those of these texts.
        let unreachable: HashSet<PieceId> = inspection.unreachable.iter().map(|it| it.id).collect();
        for piece in tokenizer.pieces().filter(|piece| piece.text.len() > 1) {
            let is_short = str::from_utf8(piece.text).is_ok_and(|text| text.chars().count() < 4);
            let is_decided = !details.undecided.contains(&piece.id);
            if is_short && is_decided && !options[1] {
                prop_assert_ne!(given.contains(&piece.id), unreachable.contains(&piece.id), "{:?}", piece);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_piece_is_unreachable_if_no_text_gives_it(
        pieces in prop::collection::vec(random_piece("[abc]{1,4}"), 1..14),
        model_type in prop::sample::select(vec![
            ModelType::Bpe, ModelType::Bpe, ModelType::Unigram, ModelType::Char,
        ]),
    ) {
        let tokenizer = tokenizer_of(model_type, &pieces);
        let given = given_ids(&tokenizer, &all_texts("abc", 7));
        assert_unreachable_pieces_are_never_given(&tokenizer, &given);
    }

    #[test]
    fn a_piece_of_a_word_model_is_unreachable_if_no_text_gives_it(
        pieces in prop::collection::vec(random_piece("[ab▁]{1,4}"), 1..14),
    ) {
        let tokenizer = tokenizer_of(ModelType::Word, &pieces);
        let given = given_ids(&tokenizer, &all_texts("ab▁", 6));
        assert_unreachable_pieces_are_never_given(&tokenizer, &given);
    }

    #[test]
    fn a_piece_is_never_normalized_only_if_no_text_gives_it(
        rules in prop::collection::btree_map("[abc]{1,2}", "[abcd ]{0,3}", 1..5),
        texts in prop::collection::btree_set("[abcd ▁]{1,3}", 1..12),
        flags in any::<[bool; 3]>(),
    ) {
        let rules = rules.iter().filter(|(source, target)| source != target);
        let rules: Rules = rules
            .map(|(source, target)| (code_points(source), code_points(target)))
            .collect();
        let mut builder = Model::builder();
        builder
            .model_type(ModelType::Bpe)
            .add_dummy_prefix(flags[0])
            .remove_extra_whitespaces(flags[1])
            .escape_whitespaces(flags[2])
            .piece("<unk>", 0.0, PieceKind::Unknown);
        if !rules.is_empty() {
            builder.normalization_rules("random", &compile(&rules).unwrap());
        }
        for text in &texts {
            builder.piece(text, 0.0, PieceKind::Normal);
        }
        let tokenizer = Tokenizer::new(builder.build().unwrap());
        let raw = all_texts("abcd ▁", 5);
        let normalized: Vec<String> = raw.iter().map(|raw| tokenizer.normalize(raw)).collect();
        let unproduced = find_unproduced(&tokenizer, tokenizer.model_tables().unwrap());
        for piece in pieces_for_text(&tokenizer) {
            let text = std::str::from_utf8(&piece.text).unwrap();
            let is_given = normalized.iter().any(|normalized| normalized.contains(text));
            let is_never = unproduced.never.contains(&piece.id);
            prop_assert!(!(is_given && is_never), "{text:?} is given");
            let is_open = unproduced.undecided.contains(&piece.id);
            prop_assert!(is_given || is_never || is_open || text.chars().count() > 1, "{text:?}");
        }
    }

    #[test]
    fn statistics_equal_a_naive_count_and_do_not_depend_on_the_split(
        lines in prop::collection::vec("[a-e ]{0,40}|\\PC{0,20}", 0..20),
        cut in any::<prop::sample::Index>(),
    ) {
        let tokenizer = golden("llama2");
        let numbered: Vec<(u64, &String)> = (1..).zip(&lines).collect();
        let cut = cut.index(lines.len() + 1);
        let mut first = TextCounter::new(&tokenizer);
        let mut second = TextCounter::new(&tokenizer);
        let mut whole = TextCounter::new(&tokenizer);
        for (number, line) in &numbered {
            whole.add_line(*number, line.as_bytes());
            let part = if *number <= cut as u64 { &mut second } else { &mut first };
            part.add_line(*number, line.as_bytes());
        }
        first.merge(second);
        let whole = whole.finish();
        prop_assert_eq!(&first.finish(), &whole);
        assert_equals_naive_count(&tokenizer, &lines, &whole);
    }

    #[test]
    fn boundaries_equal_a_naive_count(lines in prop::collection::vec("\\PC{0,30}|[a-z ]{0,60}", 0..12)) {
        let a = golden("llama2");
        let b = golden("spm_default");
        let mut counter = ComparisonCounter::new(&a, &b);
        let mut expected = (0, 0, 0, 0);
        for (number, line) in (1..).zip(&lines) {
            counter.add_line(number, line.as_bytes());
            let ends_a = naive_boundaries(&a, line);
            let ends_b = naive_boundaries(&b, line);
            expected.0 += ends_a.intersection(&ends_b).count() as u64;
            expected.1 += ends_a.difference(&ends_b).count() as u64;
            expected.2 += ends_b.difference(&ends_a).count() as u64;
            expected.3 += u64::from(a.encode(line) == b.encode(line));
        }
        let found = counter.finish();
        let sums = found.sums;
        let found = (
            sums.shared_boundaries,
            sums.boundaries_only_a,
            sums.boundaries_only_b,
            sums.equal_lines,
        );
        prop_assert_eq!(found, expected);
    }
}

fn code_points(text: &str) -> Vec<u32> {
    text.chars().map(u32::from).collect()
}

fn golden(name: &str) -> Tokenizer {
    let root = env!("CARGO_MANIFEST_DIR");
    Tokenizer::open(format!("{root}/testdata/golden/{name}.model")).unwrap()
}

fn naive_boundaries(tokenizer: &Tokenizer, line: &str) -> HashSet<usize> {
    let tokens = tokenizer.encode_to_tokens(line);
    let ends = tokens.iter().map(|token| token.end);
    ends.filter(|end| *end > 0 && *end < line.len()).collect()
}

fn assert_equals_naive_count(tokenizer: &Tokenizer, lines: &[String], found: &TextStatistics) {
    let ids: Vec<Vec<PieceId>> = lines.iter().map(|line| tokenizer.encode(line)).collect();
    let ids = ids.concat();
    let is_space = |c: char| matches!(c, ' ' | '\t'..='\r');
    let words = lines.iter().map(|line| {
        let words = line.split(is_space);
        words.filter(|word| !word.is_empty()).count() as u64
    });
    let characters = lines.iter().map(|line| line.chars().count() as u64);
    let bytes = lines.iter().map(|line| line.len() as u64);
    assert_eq!(found.tokens, ids.len() as u64);
    assert_eq!(found.words, words.sum::<u64>());
    assert_eq!(found.characters, characters.sum::<u64>());
    assert_eq!(found.bytes, bytes.sum::<u64>());
    assert_eq!(found.lines, lines.len() as u64);
    let distinct: HashSet<&PieceId> = ids.iter().collect();
    assert_eq!(found.pieces_used(), distinct.len() as u64);
    let longest = lines.iter().map(|line| tokenizer.count(line) as u64).max();
    let long_line = found.long_lines.first().map_or(0, |line| line.tokens);
    assert_eq!(long_line, longest.unwrap_or(0));
}

#[test]
fn a_token_that_merging_does_not_give_needs_a_whole_pretoken() {
    let texts = [b"abc".to_vec(), b"ab1".to_vec()];
    let found = |finds_whole| {
        let tokenizer = byte_level_of(&texts, "gpt2", [finds_whole, false, false]);
        let inspection = Inspection::new(&tokenizer).unwrap();
        let InspectionDetails::ByteLevel(details) = inspection.details else {
            panic!("a byte-level vocabulary");
        };
        assert!(details.undecided.is_empty());
        let unreachable = inspection.unreachable.into_iter();
        let others_win = unreachable.filter(|it| it.reason == UnreachableReason::OthersWin);
        let others_win = others_win.map(|it| (it.id.get(), it.winner.len()));
        (details.only_whole, others_win.collect::<Vec<_>>())
    };
    assert_eq!(found(true), (vec![PieceId::new(256)], vec![(257, 3)]));
    assert_eq!(found(false), (vec![], vec![(256, 3), (257, 3)]));
}

#[test]
fn an_unreachable_piece_has_what_wins() {
    let piece = |text: &str, score| RandomPiece {
        text: text.to_owned(),
        score,
        kind: PieceKind::Normal,
    };
    let pieces = [
        piece("ab", -1.0),
        piece("bc", -2.0),
        piece("abcd", -3.0),
        piece("a", -4.0),
        piece("b", -5.0),
        piece("c", -6.0),
    ];
    let inspection = Inspection::new(&tokenizer_of(ModelType::Bpe, &pieces)).unwrap();
    let expected = UnreachablePiece {
        reason: UnreachableReason::OthersWin,
        id: PieceId::new(3),
        // The characters `c` and `d` follow; `d` is no piece.
        winner: [1, 6, 0].map(PieceId::new).to_vec(),
        is_close: false,
    };
    assert_eq!(inspection.unreachable, [expected]);
    let mut with_cd = pieces.to_vec();
    with_cd.push(piece("cd", -7.0));
    let inspection = Inspection::new(&tokenizer_of(ModelType::Bpe, &with_cd)).unwrap();
    assert!(inspection.unreachable.is_empty());
}

#[test]
fn a_unigram_piece_that_loses_within_rounding_is_close() {
    let piece = |text: &str, score| RandomPiece {
        text: text.to_owned(),
        score,
        kind: PieceKind::Normal,
    };
    for (score, is_close) in [(-2.001, true), (-2.1, false)] {
        let pieces = [piece("a", -1.0), piece("b", -1.0), piece("ab", score)];
        let tokenizer = tokenizer_of(ModelType::Unigram, &pieces);
        let found = Inspection::new(&tokenizer).unwrap().unreachable;
        assert_eq!(found.len(), 1, "{score}");
        assert_eq!(found[0].is_close, is_close, "{score}");
    }
    // Of equal sums the longer piece is offered first.
    let pieces = [piece("a", -1.0), piece("b", -1.0), piece("ab", -2.0)];
    let tokenizer = tokenizer_of(ModelType::Unigram, &pieces);
    assert!(Inspection::new(&tokenizer).unwrap().unreachable.is_empty());
}

#[test]
fn a_close_piece_can_win_in_a_longer_text() {
    let piece = |text: &str, score| RandomPiece {
        text: text.to_owned(),
        score,
        kind: PieceKind::Normal,
    };
    // Large sums round more.
    let pieces = [
        piece("ab", -2.001),
        piece("a", -1.0),
        piece("b", -1.0),
        piece("x", -60_000.0),
    ];
    assert_close_piece_wins(&pieces, "xab");
    // Small sums round too, where the exact ones are equal.
    let pieces = [
        piece("baca", -3.4),
        piece("ca", -2.6),
        piece("b", 1.0),
        piece("a", -1.8),
    ];
    assert_close_piece_wins(&pieces, "abaca");
}

/// Checks that the first of these pieces loses on its own text and is given for `text`.
fn assert_close_piece_wins(pieces: &[RandomPiece], text: &str) {
    let tokenizer = tokenizer_of(ModelType::Unigram, pieces);
    let unreachable = Inspection::new(&tokenizer).unwrap().unreachable;
    let found: Vec<_> = unreachable.iter().map(|it| (it.id, it.is_close)).collect();
    assert_eq!(found, [(PieceId::new(1), true)]);
    assert!(tokenizer.encode(text).contains(&PieceId::new(1)), "{text}");
}

#[test]
fn the_efficiency_is_that_of_the_definition() {
    let tokenizer = golden("llama2");
    let mut counter = TextCounter::new(&tokenizer);
    counter.add_line(1, b"Hello, world!");
    let found = counter.finish();
    assert_eq!((found.tokens, found.pieces_used()), (10, 9));
    let power = 8.0 * 0.1_f64.powf(2.5) + 0.2_f64.powf(2.5);
    let entropy = power.log2() / -1.5;
    let observed = found.observed_efficiency(2.5).unwrap();
    let full = found.full_efficiency(2.5).unwrap();
    assert!((observed - entropy / 9.0_f64.log2()).abs() < 1e-12);
    assert!((full - entropy / 4000.0_f64.log2()).abs() < 1e-12);
    let shannon = -(0.8 * 0.1_f64.log2() + 0.2 * 0.2_f64.log2());
    assert!((found.renyi_entropy(1.0) - shannon).abs() < 1e-12);
    let empty = TextCounter::new(&tokenizer).finish();
    assert_eq!(empty.observed_efficiency(2.5), None);
}

#[test]
fn the_most_fragmented_words_are_those_of_most_tokens() {
    let tokenizer = golden("llama2");
    let mut counter = TextCounter::new(&tokenizer);
    counter.add_line(1, "the right xqzxqzxqz of zzqq the".as_bytes());
    let words = counter.finish().fragmented_words;
    let expected = ["xqzxqzxqz", "zzqq"].map(str::as_bytes);
    let found: Vec<&[u8]> = words.iter().map(|word| word.word.as_slice()).collect();
    assert_eq!(found[..2], expected);
    for word in &words {
        let text = String::from_utf8(word.word.clone()).unwrap();
        assert_eq!(word.tokens.0, tokenizer.count(&text) as u64, "{text}");
    }
}

#[test]
fn a_model_equals_itself() {
    let a = golden("llama2");
    let b = golden("llama2");
    let mut counter = ComparisonCounter::new(&a, &b);
    counter.add_line(1, "the right 日本".as_bytes());
    counter.add_line(2, b"");
    let found = counter.finish();
    assert!(found.sums.has_equal_ids());
    let own = (found.sums.boundaries_only_a, found.sums.boundaries_only_b);
    assert_eq!(own, (0, 0));
    let vocabulary = found.vocabulary;
    assert_eq!(vocabulary.shared, vocabulary.pieces_a);
    assert_eq!(vocabulary.changed_ids + vocabulary.changed_scores, 0);
}
