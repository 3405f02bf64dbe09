//! Segments against the whole text, and against naive constructions of what they mean.

use std::collections::HashSet;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::{byte_level, model};
use crate::{
    EncodeError, EncodeOptions, ExtraOption, Model, PieceId, PieceKind, PreparedOptions,
    TextSegment, Tokenizer,
};

/// The model, in which whitespace marks are no symbol but a piece: all segments would have them.
fn without_mark_symbol(model: &Model) -> Model {
    let mut editor = model.edit();
    if let Some(mark) = model.piece_to_id("\u{2581}") {
        editor.set_kind(mark, PieceKind::Normal);
    }
    editor.finish().unwrap()
}

/// The ids of segments, which are those of their tokens.
fn encode(tokenizer: &Tokenizer, segments: &[(String, &PreparedOptions)]) -> Vec<PieceId> {
    let segments: Vec<TextSegment<'_>> = segments
        .iter()
        .map(|(text, options)| TextSegment::new(text, options))
        .collect();
    let mut encoder = tokenizer.encoder();
    let ids = encoder.encode_segments(&segments).unwrap().to_vec();
    let tokens = encoder.segment_tokens(&segments).unwrap();
    assert!(tokens.ids().eq(ids.iter().copied()));
    ids
}

fn all_special(tokenizer: &Tokenizer) -> EncodeOptions {
    EncodeOptions::default()
        .with_allowed_special(tokenizer.special_tokens().map(|(_, text)| text.to_vec()))
}

/// Texts of at least so many of these parts.
fn texts_of(
    parts: &[String],
    least: usize,
    count: usize,
) -> impl Strategy<Value = Vec<String>> + use<> {
    let part = prop::sample::select(parts.to_vec());
    let text = prop::collection::vec(part, least..6).prop_map(|parts| parts.concat());
    prop::collection::vec(text, 1..count)
}

fn strings(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|part| (*part).to_owned()).collect()
}

#[test]
fn symbols_of_a_model_are_found_in_their_segments() {
    let names = [
        "golden/symbols",
        "golden/unigram_symbols",
        "golden/word_symbols",
        "golden/char_small",
        "golden/auto_coverage_mixed",
        "run/bpe_symbols",
        "run/bpe_unused",
        "run/unigram_rules",
    ];
    for name in names {
        let model = without_mark_symbol(&model(name));
        let tokenizer = Tokenizer::new(model.clone());
        let symbols = model
            .pieces()
            .filter(|piece| piece.kind == PieceKind::UserDefined);
        let symbols: Vec<(PieceId, String)> = symbols
            .map(|piece| (piece.id, String::from_utf8(piece.text.to_vec()).unwrap()))
            .collect();
        // What no symbol begins or ends in, so that none is found across segments.
        let others = [
            "x", "e", " ", "  ", ".", "\u{e9}", "\n", "qu", "\u{2581}", "\u{fb01}",
        ];
        let others: Vec<String> = strings(&others);
        let touches = |text: &String| {
            // A space becomes a mark.
            let mut chars = text.chars().map(|c| if c == ' ' { '\u{2581}' } else { c });
            chars.any(|c| symbols.iter().any(|(_, symbol)| symbol.contains(c)))
        };
        let others: Vec<String> = others.into_iter().filter(|text| !touches(text)).collect();
        let finds = EncodeOptions::default();
        let finds = tokenizer.prepare_options(&finds).unwrap();
        let ignores = EncodeOptions::default().with_user_defined_symbols(false);
        let ignores = tokenizer.prepare_options(&ignores).unwrap();
        // Each symbol is found, or ignored; a symbol of one side is in none of the other side.
        for (_, symbol) in &symbols {
            // The dummy prefix can make one that has marks, in any segment.
            if symbol.contains('\u{2581}') {
                continue;
            }
            let is_apart =
                |(_, other): &&(PieceId, String)| !other.chars().any(|c| symbol.contains(c));
            let found: Vec<String> = symbols
                .iter()
                .filter(is_apart)
                .map(|(_, text)| text.clone())
                .collect();
            let mut editor = model.edit();
            for (id, _) in symbols.iter().filter(|(_, text)| !found.contains(text)) {
                assert!(editor.set_kind(*id, PieceKind::Control));
            }
            let Ok(edited) = editor.finish() else {
                continue;
            };
            let expected = Tokenizer::new(edited);
            let found = [&found[..], &others[..]].concat();
            let ignored = [&others[..], std::slice::from_ref(symbol)].concat();
            if others.is_empty() {
                continue;
            }
            // No ignored text is empty: `droit` and `say` would make the symbol `droits`, which is in
            // the whole text and in none of the segments.
            let texts = (texts_of(&found, 0, 4), texts_of(&ignored, 1, 4));
            let mut runner = TestRunner::new(ProptestConfig::with_cases(60));
            runner
                .run(&texts, |(found, ignored)| {
                    let mut segments = Vec::new();
                    for (found, ignored) in found.into_iter().zip(ignored) {
                        segments.extend([(found, &finds), (ignored, &ignores)]);
                    }
                    let whole: String = segments.iter().map(|(text, _)| &text[..]).collect();
                    prop_assert_eq!(
                        encode(&tokenizer, &segments),
                        expected.encode(&whole),
                        "{} {} {:?}",
                        name,
                        symbol,
                        whole
                    );
                    Ok(())
                })
                .unwrap();
        }
    }
}

#[test]
fn a_symbol_with_text_of_two_segments_is_not_found() {
    let tokenizer = Tokenizer::new(model("golden/symbols"));
    let [droit, droits] = ["droit", "droits"].map(|text| tokenizer.piece_to_id(text).unwrap());
    let finds = tokenizer.prepare_options(&EncodeOptions::default());
    let finds = finds.unwrap();
    let ids = encode(
        &tokenizer,
        &[("droit".to_owned(), &finds), ("say".to_owned(), &finds)],
    );
    assert!(ids.contains(&droit) && !ids.contains(&droits), "{ids:?}");
    let ids = encode(&tokenizer, &[("droitsay".to_owned(), &finds)]);
    assert!(ids.contains(&droits) && !ids.contains(&droit), "{ids:?}");
}

#[test]
fn control_pieces_are_found_in_their_segments() {
    let parts = strings(&["<s>", "</s>", "the", " right", "</", "s>", " ", "\u{4eba}"]);
    for name in super::MODELS {
        let tokenizer = Tokenizer::new(model(name));
        if tokenizer.special_tokens().count() == 0 {
            continue;
        }
        let all = tokenizer.prepare_options(&all_special(&tokenizer)).unwrap();
        let none = EncodeOptions::default();
        let none = tokenizer.prepare_options(&none).unwrap();
        let choices = prop::collection::vec(any::<bool>(), 8);
        let mut runner = TestRunner::new(ProptestConfig::with_cases(300));
        runner
            .run(&(texts_of(&parts, 0, 6), choices), |(texts, choices)| {
                let choices = choices
                    .into_iter()
                    .map(|allows| [&none, &all][usize::from(allows)]);
                let segments: Vec<_> = texts.into_iter().zip(choices).collect();
                prop_assert_eq!(
                    encode(&tokenizer, &segments),
                    cut_naively(&tokenizer, &segments),
                    "{} {:?}",
                    name,
                    segments
                );
                Ok(())
            })
            .unwrap();
    }
}

/// Cuts the special tokens that each segment allows out of the text; each is found as it is. What is
/// left is encoded part by part.
fn cut_naively(tokenizer: &Tokenizer, segments: &[(String, &PreparedOptions)]) -> Vec<PieceId> {
    let mut ids = Vec::new();
    let mut rest = String::new();
    for (text, options) in segments {
        let allowed = &options.options().allowed_special;
        let mut at = 0;
        while at < text.len() {
            let here = &text.as_bytes()[at..];
            let special = tokenizer
                .special_tokens()
                .filter(|(_, special)| allowed.iter().any(|text| text == special))
                .filter(|(_, special)| here.starts_with(special));
            if let Some((id, special)) = special.max_by_key(|(_, special)| special.len()) {
                ids.extend(tokenizer.encode(std::mem::take(&mut rest)));
                ids.push(id);
                at += special.len();
            } else {
                let c = text[at..].chars().next().unwrap();
                rest.push(c);
                at += c.len_utf8();
            }
        }
    }
    ids.extend(tokenizer.encode(rest));
    ids
}

#[test]
fn special_tokens_of_byte_level_vocabularies_are_found_in_their_segments() {
    let tokenizer = byte_level::tokenizer();
    let parts = strings(&[
        "<|end|>",
        "<|pad|>",
        "<|",
        "end|>",
        "low",
        " lo",
        "\u{1f600}",
    ]);
    let options = [
        EncodeOptions::default(),
        all_special(&tokenizer),
        EncodeOptions::default().with_allowed_special(["<|pad|>"]),
    ];
    let options = options.map(|options| tokenizer.prepare_options(&options).unwrap());
    let choices = prop::collection::vec(0..options.len(), 8);
    let mut runner = TestRunner::new(ProptestConfig::with_cases(500));
    runner
        .run(&(texts_of(&parts, 0, 6), choices), |(texts, choices)| {
            let choices = choices.into_iter().map(|choice| &options[choice]);
            let segments: Vec<_> = texts.into_iter().zip(choices).collect();
            prop_assert_eq!(
                encode(&tokenizer, &segments),
                cut_naively(&tokenizer, &segments)
            );
            Ok(())
        })
        .unwrap();
    let no_symbols = EncodeOptions::default().with_user_defined_symbols(false);
    let no_symbols = tokenizer.prepare_options(&no_symbols).unwrap();
    let tool = tokenizer.piece_to_id("<tool>").unwrap();
    let found = |segments: &[(&str, &PreparedOptions)]| {
        let segments: Vec<_> = segments
            .iter()
            .map(|(text, it)| ((*text).to_owned(), *it))
            .collect();
        encode(&tokenizer, &segments)
            .into_iter()
            .filter(|id| *id == tool)
            .count()
    };
    let default = &options[0];
    assert_eq!(found(&[("<tool>", default), ("<tool>", &no_symbols)]), 1);
    assert_eq!(found(&[("<to", default), ("ol>", default)]), 0);
}

#[test]
fn segments_of_pipelines_are_parts_of_the_whole_text() {
    use crate::TokenizerConfig;
    use crate::formats::read_pipeline;
    use serde_json::Value;

    const CASES: &str = include_str!("../../../testdata/pipelines/cases.jsonl");
    let mut compared = 0;
    let mut rng = crate::base::rng::SplitMix64::new(5);
    for line in CASES.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let pipeline = read_pipeline(case["file"].to_string().as_bytes()).unwrap();
        let tokenizer = Tokenizer::from_pipeline(pipeline, TokenizerConfig::default());
        let all = tokenizer.prepare_options(&all_special(&tokenizer)).unwrap();
        let mut encoder = tokenizer.encoder_of(&all).unwrap();
        for recorded in case["texts"].as_array().unwrap() {
            let text = recorded["text"].as_str().unwrap();
            let tokens = encoder.tokens(text);
            let expected: Vec<_> = tokens
                .iter()
                .map(|token| (token.token(), token.word()))
                .collect();
            // Neither a token nor its white space is on both sides of a place beside a letter.
            let added: HashSet<char> = tokenizer
                .pipeline()
                .unwrap()
                .added_tokens()
                .iter()
                .flat_map(|token| {
                    token
                        .text
                        .chars()
                        .flat_map(|c| c.to_lowercase().chain(c.to_uppercase()).chain([c]))
                })
                .collect();
            let mut segments = vec![String::new()];
            for c in text.chars() {
                let may_cut = c.is_ascii_alphanumeric() && !added.contains(&c);
                if may_cut && rng.below(2) == 0 {
                    segments.push(String::new());
                }
                segments.last_mut().unwrap().push(c);
            }
            compared += usize::from(segments.len() > 1);
            let segments: Vec<_> = segments
                .iter()
                .map(|text| TextSegment::new(text, &all))
                .collect();
            let mut encoder = tokenizer.encoder();
            let found = encoder.segment_tokens(&segments).unwrap();
            let found: Vec<_> = found
                .iter()
                .map(|token| (token.token(), token.word()))
                .collect();
            assert_eq!(found, expected, "seed {}: {text:?}", case["seed"]);
            let ids = encoder.encode_segments(&segments).unwrap();
            let expected = expected.iter().map(|(token, _)| token.id);
            assert!(
                ids.iter().copied().eq(expected),
                "seed {}: {text:?}",
                case["seed"]
            );
        }
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn refused_special_tokens_have_their_place_in_the_whole_text() {
    let tokenizer = byte_level::tokenizer();
    let refuses = EncodeOptions::default().with_refuses_special(true);
    let refuses = tokenizer.prepare_options(&refuses).unwrap();
    let all = tokenizer.prepare_options(&all_special(&tokenizer)).unwrap();
    let options = EncodeOptions::default();
    let mut encoder = tokenizer.encoder_with(&options).unwrap();
    let segments = [
        TextSegment::new("low<|end|>", &all),
        TextSegment::new("lo<|pad|>", &refuses),
    ];
    let piece = "<|pad|>".to_owned();
    let refused = EncodeError::RefusedSpecial { piece, begin: 12 };
    assert_eq!(encoder.encode_segments(&segments).unwrap_err(), refused);
    assert_eq!(encoder.segment_tokens(&segments).unwrap_err(), refused);
    assert!(encoder.encode_segments(&[]).unwrap().is_empty());
}

#[test]
fn options_of_the_encoder_are_applied_to_the_whole_text() {
    let tokenizer = Tokenizer::new(model("golden/llama2"));
    let plain = tokenizer
        .prepare_options(&EncodeOptions::default())
        .unwrap();
    let extra = EncodeOptions::default().with_extra([ExtraOption::Bos, ExtraOption::Reverse]);
    let mut encoder = tokenizer.encoder_with(&extra).unwrap();
    let expected = encoder.encode("the right").to_vec();
    let segments = ["the ri", "", "ght"].map(|text| TextSegment::new(text, &plain));
    assert_eq!(encoder.encode_segments(&segments).unwrap(), expected);
    let tokens = encoder.segment_tokens(&segments).unwrap();
    assert!(tokens.ids().eq(expected));
    assert_eq!(tokens.get(0).unwrap().surface(), b" right");
}
