//! Models with superwords: two layers give the ids of the definition.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{Fixture, RawText};
use crate::model::{Model, ModelType};
use crate::piece::{PieceId, PieceKind};

/// A model of characters and of pieces with scores; a piece with score 9 is a user-defined symbol.
fn model_of(pieces: &BTreeMap<String, i8>, has_c: bool) -> Model {
    let mut builder = Model::builder();
    builder.model_type(ModelType::Bpe);
    builder.piece("<unk>", 0.0, PieceKind::Unknown);
    for (character, _) in [("\u{2581}", true), ("a", true), ("b", true), ("c", has_c)]
        .iter()
        .filter(|(_, has)| *has)
    {
        builder.piece(character, -100.0, PieceKind::Normal);
    }
    for (text, score) in pieces {
        let kind = if *score == 9 {
            PieceKind::UserDefined
        } else {
            PieceKind::Normal
        };
        builder.piece(text, f32::from(*score), kind);
    }
    builder.build().unwrap()
}

fn models() -> impl Strategy<Value = Model> {
    let inside = ("\u{2581}?[abc]{2,3}", -9..10i8);
    let superword = ("[abc\u{2581}]{1,3}\u{2581}[abc]{0,3}", -12..-3i8);
    let inside = prop::collection::vec(inside, 2..14);
    let superwords = prop::collection::vec(superword, 1..6);
    (inside, superwords, any::<bool>()).prop_map(|(inside, superwords, has_c)| {
        let pieces = inside.into_iter().chain(superwords);
        let is_long = |(text, _): &(String, i8)| text.chars().count() > 1;
        model_of(&pieces.filter(is_long).collect(), has_c)
    })
}

#[test]
fn two_layers_give_the_ids_of_the_naive_encoder() {
    let mut layered = 0;
    let layers = std::cell::RefCell::new(&mut layered);
    proptest!(ProptestConfig::with_cases(1500), |(model in models(), text in "[abcx\u{2581}]{0,24}", adds_prefix in any::<bool>())| {
        let mut fixture = Fixture::new(&model);
        **layers.borrow_mut() += usize::from(fixture.encoder.superwords.is_some());
        let expected = fixture.naive.encode(text.as_bytes());
        prop_assert_eq!(fixture.encode(text.as_bytes()), expected.clone());
        prop_assert_eq!(fixture.encode(text.as_bytes()), expected, "cached");
        prop_assert_eq!(fixture.merge_fully(text.as_bytes()), fixture.naive.encode(text.as_bytes()), "without layers");
        let boundaries = fixture.encoder.find_boundaries::<false>(text.as_bytes(), 1);
        let mut parts = Vec::new();
        let starts = std::iter::once(&0).chain(&boundaries);
        for (start, end) in starts.zip(boundaries.iter().chain([&text.len()])) {
            parts.extend(fixture.encode(&text.as_bytes()[*start..*end]));
        }
        prop_assert_eq!(parts, fixture.encode(text.as_bytes()), "parts");
        if fixture.encoder.accepts_raw_text() {
            let raw = text.replace('\u{2581}', " ");
            let raw = RawText { text: raw.as_bytes(), adds_prefix, byte_ids: None };
            let mut ids = Vec::new();
            fixture.encoder.encode_raw(model.table(), raw, &mut fixture.cache, &mut ids);
            let prefix = if adds_prefix && !text.is_empty() { "\u{2581}" } else { "" };
            prop_assert_eq!(ids, fixture.naive.encode(format!("{prefix}{text}").as_bytes()), "raw");
        }
    });
    assert!(layered > 100, "{layered} models have two layers");
}

/// The example of the module page.
#[test]
fn superwords_merge_before_pieces_of_lower_scores() {
    let pieces = [
        ("\u{2581}a", -5),
        ("\u{2581}b", -6),
        ("\u{2581}a\u{2581}b", -7),
        ("\u{2581}bc", -8),
    ];
    let pieces = pieces.map(|(text, score)| (text.to_owned(), score));
    let model = model_of(&pieces.into(), true);
    let mut fixture = Fixture::new(&model);
    assert!(fixture.encoder.superwords.is_some());
    let ids = fixture.encode("\u{2581}a\u{2581}bc".as_bytes());
    let texts: Vec<&[u8]> = ids
        .iter()
        .map(|id| model.piece(*id).unwrap().text)
        .collect();
    assert_eq!(texts, ["\u{2581}a\u{2581}b".as_bytes(), b"c"]);
}

/// Encodes a text and returns the texts of the pieces, `?` for unknown ones.
fn texts_of(model: &Model, fixture: &mut Fixture<'_>, text: &str) -> Vec<String> {
    let ids = fixture.encode(text.as_bytes());
    let text = |id: PieceId| match model.piece(id).unwrap() {
        piece if piece.kind == PieceKind::Unknown => "?".to_owned(),
        piece => String::from_utf8(piece.text.to_vec()).unwrap(),
    };
    ids.into_iter().map(text).collect()
}

fn model_with(pieces: &[(&str, i8)], has_c: bool) -> Model {
    let pieces = pieces
        .iter()
        .map(|(text, score)| ((*text).to_owned(), *score));
    model_of(&pieces.collect(), has_c)
}

/// `abb` is in the first layer, but only `ab`, which is in the second, makes it.
#[test]
fn pieces_of_the_first_layer_can_be_made_late() {
    let pieces = [
        ("abb", -1),
        ("a\u{2581}a", -2),
        ("ab", -3),
        ("abba", -4),
        ("abbab", 0),
    ];
    let model = model_with(&pieces, true);
    let mut fixture = Fixture::new(&model);
    assert!(fixture.encoder.superwords.is_some());
    for (text, expected) in [
        ("abb", vec!["abb"]),
        ("abbab", vec!["abbab"]),
        ("aabb", vec!["a", "abb"]),
    ] {
        assert_eq!(texts_of(&model, &mut fixture, text), expected);
        assert_eq!(
            fixture.encode(text.as_bytes()),
            fixture.naive.encode(text.as_bytes())
        );
    }
}

/// `abc` is made of `ab` and of `c`, which is no piece, so that the ids of the first layer do not
/// tell it.
#[test]
fn late_pieces_with_unknown_characters_need_one_layer() {
    let pieces = [("abc", -1), ("a\u{2581}a", -2), ("ab", -3)];
    let model = model_with(&pieces, false);
    let mut fixture = Fixture::new(&model);
    assert!(fixture.encoder.superwords.is_none());
    assert_eq!(texts_of(&model, &mut fixture, "abcc"), ["abc", "?"]);
}

/// Runs of tokens that are longer than the arrays are merged by the heap.
#[test]
fn long_runs_of_tokens_have_the_ids_of_the_naive_encoder() {
    let pieces = [
        ("ab", 0),
        ("ab\u{2581}", -2),
        ("b\u{2581}a", -3),
        ("aba", -4),
        ("abaab", -5),
        ("bb", -5),
        ("aa", -6),
    ];
    let model = model_with(&pieces, true);
    let mut fixture = Fixture::new(&model);
    assert!(fixture.encoder.superwords.is_some());
    for length in 0..60 {
        for text in ["aba", "ab\u{2581}a", "aab", "ab", "b", "bab\u{2581}"] {
            let text = text.repeat(length);
            let expected = fixture.naive.encode(text.as_bytes());
            assert_eq!(fixture.encode(text.as_bytes()), expected, "{text}");
        }
    }
}
