//! Pipelines against what tokenizers 0.23.3 made of the same files and texts.

use std::path::Path;

use serde_json::{Value, json};

use super::{FinishedText, Pipeline, PipelineError, PipelineState};
use crate::base::steps::steps_of;
use crate::encode::EncodeError;
use crate::formats::{FormatError, read_pipeline};
use crate::piece::PieceId;
use crate::special::Scope;
use crate::tokenizer::{EncodeOptions, ExtraOption, Tokenizer, TokenizerConfig};

/// Written by `tests/conformance/pipelines.py 1 40` with tokenizers 0.23.3.
const CASES: &str = include_str!("../../testdata/pipelines/cases.jsonl");

/// What a pipeline makes of a text, as it is recorded.
fn results(pipeline: &Pipeline, text: &str) -> Result<Value, PipelineError> {
    let found = pipeline.found(|_| true, true);
    let scopes = Scope::whole(text.as_bytes(), &found);
    let mut state = PipelineState::default();
    let (mut ids, mut tokens, mut offsets, mut words) = (vec![], vec![], vec![], vec![]);
    pipeline.for_each_token(text.as_bytes(), &scopes, true, &mut state, |token| {
        ids.push(token.id);
        let shown = token.text.or_else(|| pipeline.str_of(token.id));
        tokens.push(shown.unwrap_or_default().to_owned());
        offsets.push([token.span.start, token.span.end]);
        words.push(token.word);
    })?;
    let pieces: Vec<PieceId> = ids.iter().copied().map(PieceId::new).collect();
    let decoded = |skips_special| {
        let bytes = pipeline.decode(&pieces, skips_special).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    Ok(json!({
        "decoded": decoded(false),
        "without_special": decoded(true),
        "text": text,
        "ids": ids,
        "tokens": tokens,
        "offsets": offsets,
        "words": words,
    }))
}

/// Compares the results of recorded cases, those of the written file of each pipeline, and the ids of
/// the tokenizer, which can come another way. Returns how many texts there are, and what differs.
fn compare(cases: &str) -> (usize, Vec<String>) {
    let (mut texts, mut differing) = (0, Vec::new());
    for line in cases.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let name = match &case["path"] {
            Value::String(path) => path.clone(),
            _ => format!("seed {}", case["seed"]),
        };
        let file = match &case["path"] {
            Value::String(path) if Path::new(path).is_dir() => match Tokenizer::open(path) {
                Ok(opened) => opened.pipeline().unwrap().to_tokenizer_json().unwrap(),
                Err(error) => {
                    let source = std::error::Error::source(&error);
                    differing.push(format!("{name}: {error}: {source:?}"));
                    continue;
                }
            },
            Value::String(path) => std::fs::read(path).unwrap(),
            _ => case["file"].to_string().into_bytes(),
        };
        let read = |file: &[u8]| match read_pipeline(file) {
            Ok(pipeline) => Some(pipeline),
            // The library finds such a token between all characters; the file is refused here.
            Err(FormatError::Pipeline {
                source: PipelineError::EmptyAddedToken,
            }) => None,
            // What the library makes of these depends on how long they are for its engine.
            Err(error) if error.to_string().contains(" own group)") => None,
            Err(error) if error.to_string().contains("what can be empty)") => None,
            Err(error) => panic!("{name}: {error}"),
        };
        let (Some(pipeline), Some(same)) = (read(&file), read(&file)) else {
            continue;
        };
        let written = read(&pipeline.to_tokenizer_json().unwrap()).unwrap();
        let tokenizer = Tokenizer::from_pipeline(same, TokenizerConfig::default());
        let all: Vec<String> = tokenizer
            .pipeline()
            .unwrap()
            .added_tokens()
            .iter()
            .filter(|token| token.special)
            .map(|token| token.text.clone())
            .collect();
        // A text with and without what stands around texts.
        if let [with, without] = case["around"].as_array().map_or(&[][..], |it| it) {
            let ends = pipeline.text_ends();
            let inside = without
                .as_array()
                .unwrap()
                .iter()
                .map(|id| id.as_u64().unwrap());
            let before = ends.before.iter().map(|id| u64::from(*id));
            let after = ends.after.iter().map(|id| u64::from(*id));
            let found: Vec<u64> = before.chain(inside).chain(after).collect();
            if json!(found) != *with {
                differing.push(format!("{name}: around: {found:?} for {with}"));
            }
        }
        let options = EncodeOptions::default().with_allowed_special(all);
        let mut encoder = tokenizer.encoder_with(&options).unwrap();
        let hidden = tokenizer.special_ids();
        for recorded in case["texts"].as_array().unwrap() {
            let text = recorded["text"].as_str().unwrap();
            texts += 1;
            if recorded["error"].is_string() {
                if results(&pipeline, text).is_ok() || !encoder.encode(text).is_empty() {
                    differing.push(format!("{name}: {text:?} has ids, {}", recorded["error"]));
                }
                continue;
            }
            let mut check = |what: &str, found: &Value, expected: &Value| {
                if found != expected {
                    differing.push(format!("{name}: {what} {text:?}: {found} for {expected}"));
                }
            };
            for (what, pipeline) in [("", &pipeline), ("written", &written)] {
                match results(pipeline, text) {
                    Ok(found) => check(what, &found, recorded),
                    Err(error) => check(what, &json!(error.to_string()), recorded),
                }
            }
            let ids: Vec<u32> = encoder.encode(text).iter().map(|id| id.get()).collect();
            check("ids", &json!(ids), &recorded["ids"]);
            let mut incremental = tokenizer.incremental_decoder();
            let mut decoded = String::new();
            for id in &ids {
                decoded += incremental.push(PieceId::new(*id)).unwrap();
            }
            decoded += incremental.finish();
            check("one by one", &json!(decoded), &recorded["decoded"]);
            let shown = ids
                .iter()
                .filter(|id| !hidden.contains(&PieceId::new(**id)));
            let shown = tokenizer.decode(shown).unwrap();
            check("without ids", &json!(shown), &recorded["without_special"]);
        }
    }
    (texts, differing)
}

/// Written by `tests/conformance/pipelines.py --digits 1 15` with tokenizers 0.23.3.
const DIGITS: &str = include_str!("../../testdata/pipelines/digits.jsonl");

#[test]
fn digits_grouped_from_the_right_have_the_parts_of_the_library() {
    let (texts, differing) = compare(DIGITS);
    assert!(differing.is_empty(), "{}", differing.join("\n"));
    assert!(texts > 100, "{texts}");
}

#[test]
fn recorded_texts_have_the_tokens_spans_and_texts_of_the_library() {
    let (texts, differing) = compare(CASES);
    assert!(differing.is_empty(), "{}", differing.join("\n"));
    assert!(texts > 700, "{texts}");
}

/// Written by `tests/conformance/pipelines.py`.
#[test]
#[ignore = "it needs a file with cases, which the variable SPIECE_PIPELINES names"]
fn cases_of_a_file_have_the_tokens_spans_and_texts_of_the_library() {
    let path = std::env::var("SPIECE_PIPELINES").expect("SPIECE_PIPELINES names a file");
    let (texts, differing) = compare(&std::fs::read_to_string(path).unwrap());
    println!("{texts} texts, {} differ", differing.len());
    assert!(
        texts > 0 && differing.is_empty(),
        "{}",
        differing.join("\n")
    );
}

#[test]
fn ids_alone_are_those_of_tokens_with_and_without_kept_chunks() {
    for line in CASES.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let file = case["file"].to_string();
        let pipeline = read_pipeline(file.as_bytes()).unwrap();
        let found = [
            pipeline.found(|_| true, true),
            pipeline.found(|_| false, false),
        ];
        // Chunks are kept from text to text, and between calls that find other tokens.
        let mut kept = PipelineState::default();
        for recorded in case["texts"].as_array().unwrap() {
            let text = recorded["text"].as_str().unwrap().as_bytes();
            for found in &found {
                let mut ids = Vec::new();
                let scopes = Scope::whole(text, found);
                pipeline.encode(text, &scopes, &mut kept, &mut ids).unwrap();
                let mut expected = Vec::new();
                let mut state = PipelineState::default();
                pipeline
                    .for_each_token(text, &scopes, true, &mut state, |token| {
                        expected.push(token.id)
                    })
                    .unwrap();
                assert!(
                    ids.iter().map(|id| id.get()).eq(expected),
                    "seed {}: {}",
                    case["seed"],
                    recorded["text"]
                );
            }
        }
    }
}

/// A file with these components around a model of characters.
fn file(components: Value) -> String {
    let mut file = json!({
        "version": "1.0",
        "added_tokens": [],
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, " ": 2, "ab": 3}, "merges": ["a b"]},
    });
    for (name, component) in components.as_object().unwrap() {
        file[name] = component.clone();
    }
    file.to_string()
}

#[test]
fn components_that_are_refused_are_named_with_the_reason() {
    let split = |pattern: &str| json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false});
    let sequence = json!({"type": "Sequence", "pretokenizers": [split("a"), split("(")]});
    for (components, expected) in [
        (json!({"version": "3.0"}), "version: \"3.0\" is not known"),
        (
            json!({"normalizer": {"type": "Upper"}}),
            "normalizer: the type \"Upper\" is not one of tokenizers 0.23",
        ),
        (
            json!({"normalizer": {"type": "Replace", "content": ""}}),
            "normalizer.pattern: it is missing",
        ),
        (
            json!({ "pre_tokenizer": sequence }),
            "pre_tokenizer.pretokenizers[1].pattern.Regex: the pattern is malformed at byte 0",
        ),
        (
            json!({"pre_tokenizer": {"type": "Punctuation", "behavior": "removed"}}),
            "pre_tokenizer.behavior: \"removed\" is not known",
        ),
        (
            json!({"decoder": {"type": "Strip", "content": "ab", "start": 0, "stop": 0}}),
            "decoder.content: it is not one character",
        ),
        (
            json!({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a a"]}}),
            "model.merges[0]: \"aa\" is not in the vocabulary",
        ),
        (
            json!({"model": {"type": "Lattice", "vocab": {}}}),
            "model.type: \"Lattice\" is not known",
        ),
    ] {
        let file = file(components);
        let error = read_pipeline(file.as_bytes()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn the_first_of_added_tokens_with_equal_normalized_texts_is_found() {
    let token = |text: &str, id: u32| {
        json!({"id": id, "content": text, "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": true, "special": false})
    };
    let tokens = json!([token("AX", 4), token("ax", 5), token("Ax", 6)]);
    let components = json!({ "added_tokens": tokens, "normalizer": {"type": "Lowercase"} });
    let pipeline = read_pipeline(file(components).as_bytes()).unwrap();
    assert_eq!(results(&pipeline, "ax").unwrap()["ids"], json!([4]));
}

#[test]
fn pieces_are_those_of_the_ids_that_have_a_token() {
    let tokenizer = Tokenizer::from_bytes(
        file(json!({
            "added_tokens": [{"id": 70_000, "content": "<x>", "special": true}],
            "model": {"type": "WordLevel", "vocab": {"b": 3, "a": 16_777_215}, "unk_token": "a"},
        }))
        .as_bytes(),
    )
    .unwrap();
    let pieces: Vec<_> = tokenizer
        .pieces()
        .map(|piece| (piece.id.get(), piece.text))
        .collect();
    let expected: [(u32, &[u8]); 3] = [(2, b"<x>"), (3, b"b"), (16_777_215, b"a")];
    assert_eq!(pieces, expected);
}

#[test]
fn merges_of_tokens_that_share_an_id_are_written_with_their_texts() {
    let model =
        json!({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "c": 1}, "merges": [["a", "b"]]});
    let pipeline = read_pipeline(file(json!({ "model": model })).as_bytes()).unwrap();
    let written = pipeline.to_tokenizer_json().unwrap();
    assert!(read_pipeline(&written).is_ok());
}

#[test]
fn what_a_file_lists_has_limits() {
    let split = |pattern: &str| json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false});
    let splits = |count: usize, pattern: &dyn Fn(usize) -> String| {
        let steps: Vec<Value> = (0..count).map(|at| split(&pattern(at))).collect();
        json!({"pre_tokenizer": {"type": "Sequence", "pretokenizers": steps}})
    };
    let decoders = json!({"type": "Sequence", "decoders": vec![json!({"type": "Fuse"}); 1001]});
    let values = vec![json!([]); 1 << 18];
    let long = json!({"id": 4, "content": "x".repeat(8000), "normalized": false});
    let word = json!({"type": "WordPiece", "vocab": {"a": 0, "b".repeat(8000): 1}, "unk_token": "a",
        "continuing_subword_prefix": "##", "max_input_chars_per_word": 100});
    for (components, expected) in [
        (
            splits(1001, &|at| format!("a{at}")),
            "pre_tokenizer.pretokenizers[1000]: it is step 1001",
        ),
        (
            json!({ "decoder": decoders }),
            "decoder.decoders[1000]: it is step 1001",
        ),
        (
            splits(40, &|at| format!("\\p{{L}}{{1,{}}}", 100 + at)),
            "expressions of the file need more than 67108864 bytes",
        ),
        (
            json!({"post_processor": {"type": "Sequence", "processors": values}}),
            "262144 are allowed",
        ),
        (
            json!({"added_tokens": [long]}),
            "an added token has 8000 bytes or more",
        ),
        (json!({ "model": word }), "a token has 8000 bytes"),
    ] {
        let error = read_pipeline(file(components).as_bytes()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    for expression in ["a", "a(?=b)"] {
        let file = file(splits(1000, &|at| format!("{expression}{at}")));
        assert!(read_pipeline(file.as_bytes()).is_ok(), "{expression}");
    }
}

#[test]
fn pipelines_take_a_number_of_steps_that_is_linear_in_the_text() {
    for line in CASES.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let pipeline = read_pipeline(case["file"].to_string().as_bytes()).unwrap();
        let texts = case["texts"].as_array().unwrap().iter();
        let text: String = texts.filter_map(|it| it["text"].as_str()).collect();
        let steps = |count: usize| {
            let text = text.repeat(count);
            let found = pipeline.found(|_| true, true);
            let scopes = Scope::whole(text.as_bytes(), &found);
            let mut state = PipelineState::default();
            let encode = || {
                // A text that has no ids takes steps, too.
                let _ = pipeline.for_each_token(text.as_bytes(), &scopes, true, &mut state, |_| ());
            };
            steps_of(encode) + text.len()
        };
        let [few, many] = [4, 64].map(steps);
        // Heaps and the ends of texts take some more.
        assert!(
            many <= 20 * few,
            "seed {}: {few} and {many} steps",
            case["seed"]
        );
    }
}

#[test]
fn white_space_beside_added_tokens_takes_linear_time() {
    let token = |text: &str, id: u32| {
        json!({"id": id, "content": text, "single_word": false, "lstrip": true, "rstrip": true,
            "normalized": false, "special": false})
    };
    let tokens = json!([token("  ", 4), token("x", 5)]);
    let pipeline = read_pipeline(file(json!({ "added_tokens": tokens })).as_bytes()).unwrap();
    let text = format!("a{}xb", " ".repeat(1 << 20));
    let found = results(&pipeline, &text).unwrap();
    // The first match takes all white space, which leaves nothing for the others.
    assert_eq!(found["ids"], json!([0, 4, 5, 1]));
}

#[test]
fn an_error_of_a_text_does_not_stay_in_the_pool() {
    let words = json!({"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "<unk>"});
    let pipeline = read_pipeline(file(json!({ "model": words })).as_bytes()).unwrap();
    let tokenizer = Tokenizer::from_pipeline(pipeline, TokenizerConfig::default());
    assert!(tokenizer.encode("b").is_empty());
    // Nor do the ids of the text before the place where it fails.
    let pairs =
        json!({"type": "BPE", "vocab": {"a": 0, "▁": 1}, "merges": [], "unk_token": "<unk>"});
    let spaced = json!({"type": "Replace", "pattern": {"String": " "}, "content": "▁"});
    let pairs = file(json!({ "model": pairs, "normalizer": spaced }));
    let pairs = read_pipeline(pairs.as_bytes()).unwrap();
    let pairs = Tokenizer::from_pipeline(pairs, TokenizerConfig::default());
    assert_eq!(pairs.encode("a a"), [0, 1, 0]);
    assert!(pairs.encode("a a b").is_empty());
    let options = EncodeOptions::default();
    assert_eq!(tokenizer.encode_batch(&["a"], &options).unwrap().len(), 1);
    assert!(tokenizer.encode_batch(&["a", "b"], &options).is_err());
    assert!(tokenizer.encode_batch_flat(&["b"], &options).is_err());
    assert!(tokenizer.encode_long("b", &options).is_err());
}

#[test]
fn texts_without_a_result_are_errors() {
    let words = json!({"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "<unk>"});
    let pipeline = read_pipeline(file(json!({ "model": words })).as_bytes()).unwrap();
    assert_eq!(
        results(&pipeline, "b").unwrap_err(),
        PipelineError::NoUnknownToken
    );
    assert!(results(&pipeline, "a").is_ok());
    // An added token is no unknown token, although a SentencePiece model could have it as one.
    let model = json!({"type": "BPE", "vocab": {"a": 0, "▁": 1}, "merges": [], "unk_token": "<unk>", "fuse_unk": true});
    let token = json!({"id": 2, "content": "<unk>", "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": false, "special": true});
    let spaced = json!({"type": "Replace", "pattern": {"String": " "}, "content": "▁"});
    let file = file(json!({ "model": model, "added_tokens": [token], "normalizer": spaced }));
    let pipeline = read_pipeline(file.as_bytes()).unwrap();
    let tokenizer = Tokenizer::from_pipeline(pipeline, TokenizerConfig::default());
    assert_eq!(tokenizer.encode("a a"), [0, 1, 0]);
    assert!(tokenizer.encode("ab").is_empty());
}

#[test]
fn incremental_decoding_gives_the_text_of_all_ids() {
    for decoder in [
        json!({"type": "ByteLevel"}),
        json!({"type": "WordPiece", "prefix": "##", "cleanup": true}),
    ] {
        let pipeline = read_pipeline(file(json!({ "decoder": decoder })).as_bytes()).unwrap();
        let tokenizer = Tokenizer::from_pipeline(pipeline, TokenizerConfig::default());
        let ids = tokenizer.encode("ab ba");
        let mut incremental = tokenizer.incremental_decoder();
        let mut text = String::new();
        for id in &ids {
            text += incremental.push(*id).unwrap();
        }
        text += incremental.finish();
        assert_eq!(text, tokenizer.decode(&ids).unwrap());
    }
}

#[test]
fn unknown_text_is_left_out_if_the_text_of_its_id_is_special() {
    // Of two equal pieces, the first one is the unknown one, and the last one the added token.
    let model = json!({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["<unk>", 0.0], ["a", -1.0]]});
    let token = json!({"id": 1, "content": "<unk>", "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": false, "special": true});
    let file = file(json!({ "model": model, "added_tokens": [token] }));
    let found = results(&read_pipeline(file.as_bytes()).unwrap(), "ab<unk>").unwrap();
    assert_eq!(found["ids"], json!([2, 0, 1]));
    assert_eq!(found["decoded"], "a <unk> <unk>");
    assert_eq!(found["without_special"], "a");
}

/// Written by `tests/conformance/code_points.py`.
#[test]
#[ignore = "it needs a file with cases, which the variable SPIECE_CODE_POINTS names"]
fn every_code_point_has_the_tokens_and_spans_of_the_library() {
    let path = std::env::var("SPIECE_CODE_POINTS").expect("SPIECE_CODE_POINTS names a file");
    let (mut texts, mut differing) = (0, Vec::new());
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let pipeline = read_pipeline(case["file"].to_string().as_bytes()).unwrap();
        let found = pipeline.found(|_| true, true);
        for block in case["blocks"].as_array().unwrap() {
            let first = u32::try_from(block[0].as_u64().unwrap()).unwrap();
            let chars: Vec<char> = (first..first + 256).filter_map(char::from_u32).collect();
            for (shape, [before, after]) in
                [["", ""], ["a", "b"], ["é", " 1"]].into_iter().enumerate()
            {
                let Some(expected) = block.get(shape + 1) else {
                    continue;
                };
                let parts = chars.iter().map(|c| format!("{before}{c}{after}"));
                let text = parts.collect::<Vec<_>>().join("<|>");
                let (mut ids, mut spans, mut words) = (vec![], vec![], vec![]);
                let mut state = PipelineState::default();
                let made = pipeline.for_each_token(
                    text.as_bytes(),
                    &Scope::whole(text.as_bytes(), &found),
                    true,
                    &mut state,
                    |token| {
                        ids.push(u64::from(token.id));
                        spans.extend([token.span.start as u64, token.span.end as u64]);
                        words.push(u64::from(token.word));
                    },
                );
                made.unwrap();
                let values = ids.iter().chain(&spans).chain(&words);
                let digest = values.zip(1_u64..).fold(0_u64, |sum, (value, at)| {
                    let weight = at.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                    sum.wrapping_add((value + 1).wrapping_mul(weight))
                });
                texts += 1;
                if *expected != format!("{digest:x}") {
                    let component = match &case["file"]["normalizer"] {
                        Value::Null => &case["file"]["pre_tokenizer"],
                        normalizer => normalizer,
                    };
                    let component: String = component.to_string().chars().take(120).collect();
                    differing.push(format!("U+{first:04X} {before}.{after}: {component}"));
                }
            }
        }
    }
    println!("{texts} texts, {} differ", differing.len());
    assert!(
        texts > 0 && differing.is_empty(),
        "{}",
        differing.join("\n")
    );
}

/// Written by `tests/conformance/record_lengths.py` with tokenizers 0.23.3.
const LENGTHS: &str = include_str!("../../testdata/pipelines/lengths.jsonl");

#[test]
fn recorded_settings_of_lengths_cut_and_fill_up_as_tokenizers_does_and_are_written_as_they_were() {
    fn recorded(text: &FinishedText) -> Value {
        let mask = (0..text.ids.len()).map(|at| u8::from(text.unpadded.contains(&at)));
        json!({
            "ids": text.ids.iter().map(|id| id.get()).collect::<Vec<_>>(),
            "type_ids": text.type_ids,
            "mask": mask.collect::<Vec<_>>(),
            "overflow": text.overflow.iter().map(recorded).collect::<Vec<_>>(),
        })
    }
    let mut rows = 0;
    for line in LENGTHS.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let pipeline = read_pipeline(row["file"].to_string().as_bytes()).unwrap();
        let texts: Vec<Vec<u32>> = serde_json::from_value(row["texts"].clone()).unwrap();
        let texts = texts
            .into_iter()
            .map(|ids| ids.into_iter().map(PieceId::new).collect());
        let adds_special = row["adds_special"] == true;
        let (truncation, padding) = (pipeline.truncation(), pipeline.padding());
        let finished = pipeline.finish(texts.collect(), adds_special, truncation, padding);
        let finished = finished.map(|texts| texts.iter().map(recorded).collect::<Vec<_>>());
        assert_eq!(json!(finished.ok()), row["results"], "{line}");
        let written: Value =
            serde_json::from_slice(&pipeline.to_tokenizer_json().unwrap()).unwrap();
        for setting in ["truncation", "padding"] {
            assert_eq!(written[setting], row["file"][setting], "{line}");
        }
        rows += 1;
    }
    assert_eq!(rows, 300);
}

#[test]
fn malformed_settings_of_lengths_are_errors_with_their_paths() {
    let padding = json!({
        "strategy": "BatchLongest", "direction": "Right", "pad_id": 0, "pad_type_id": 0, "pad_token": "",
    });
    let truncation = json!({"max_length": 5, "strategy": "LongestFirst", "stride": 0});
    let with = |settings: &Value, field: &str, value: Value| {
        let mut settings = settings.clone();
        settings[field] = value;
        settings
    };
    let table = [
        ("padding", json!(5), "padding"),
        ("padding", json!({}), "padding.strategy"),
        (
            "padding",
            with(&padding, "strategy", json!("Fixed")),
            "padding.strategy",
        ),
        (
            "padding",
            with(&padding, "strategy", json!({"Fixed": -4})),
            "padding.strategy.Fixed",
        ),
        (
            "padding",
            with(&padding, "direction", json!("left")),
            "padding.direction",
        ),
        (
            "padding",
            with(&padding, "pad_id", json!(1_u64 << 32)),
            "padding.pad_id",
        ),
        (
            "truncation",
            with(&truncation, "max_length", json!(1.5)),
            "truncation.max_length",
        ),
        (
            "truncation",
            with(&truncation, "strategy", json!("only_first")),
            "truncation.strategy",
        ),
        (
            "truncation",
            with(&truncation, "direction", json!("left")),
            "truncation.direction",
        ),
    ];
    for (name, settings, place) in table {
        let model = json!({"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"});
        let file = json!({ name: settings, "model": model }).to_string();
        let error = read_pipeline(file.as_bytes()).unwrap_err();
        assert!(
            matches!(&error, FormatError::Component { component, .. } if component == place),
            "{error:?}"
        );
    }
}

#[test]
fn a_template_with_an_id_that_no_token_has_is_refused_where_it_is_asked_for() {
    let special = |id: u32| json!({"id": "X", "ids": [id], "tokens": ["X"]});
    let template = |id: u32| {
        json!({"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "X", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"X": special(id)}})
    };
    let options = EncodeOptions {
        extra: vec![ExtraOption::Bos],
        ..EncodeOptions::default()
    };
    for (id, expected) in [
        (3, Ok(())),
        (
            4,
            Err(EncodeError::NoSuchId {
                option: "bos",
                id: 4,
            }),
        ),
    ] {
        let file = file(json!({ "post_processor": template(id) }));
        let pipeline = read_pipeline(file.as_bytes()).unwrap();
        let tokenizer = Tokenizer::from_pipeline(pipeline, TokenizerConfig::default());
        assert_eq!(tokenizer.encode("ab"), [3]);
        assert_eq!(tokenizer.encoder_with(&options).map(|_| ()), expected);
    }
}

#[test]
fn no_span_ends_after_the_text() {
    // The second character is `a` and itself: two tokens of bytes for one byte of the text.
    let model = json!({"type": "BPE", "vocab": {"<0x00>": 0, "<0x61>": 1}, "merges": [], "byte_fallback": true,
        "continuing_subword_prefix": "a"});
    let pipeline = read_pipeline(file(json!({ "model": model })).as_bytes()).unwrap();
    let found = results(&pipeline, "\0\0").unwrap();
    assert_eq!(found["ids"], json!([0, 1, 0]));
    assert_eq!(found["offsets"], json!([[0, 1], [1, 2], [2, 2]]));
}
