use base64::Engine;
use serde_json::{Value, json};

use super::*;
use crate::Tokenizer;
use crate::base::byte_chars::byte_char;
use crate::formats::{ByteFileOptions, read_pipeline};
use crate::pipeline::UnicodeForm;
use crate::tokenizer::TokenizerConfig;

/// A line has a file that tokenizers 1.0.0rc3 saved, and the ids of texts in it.
const RECORDED: &str = include_str!("../../../../testdata/pipelines/version_2.jsonl");
/// A line has a file of version 1.0, and what 0.23.3 makes of texts.
const CASES: &str = include_str!("../../../../testdata/pipelines/cases.jsonl");

fn ids(file: &[u8], text: &str) -> Vec<u32> {
    let pipeline = read_pipeline(file).unwrap();
    let tokenizer = Tokenizer::from_pipeline(pipeline, TokenizerConfig::default());
    let special = tokenizer.special_tokens().map(|(_, text)| text.to_vec());
    let options = crate::EncodeOptions {
        allowed_special: special.collect(),
        ..crate::EncodeOptions::default()
    };
    let mut encoder = tokenizer.encoder_with(&options).unwrap();
    encoder.encode(text).iter().map(|id| id.get()).collect()
}

fn cases(lines: &str) -> impl Iterator<Item = Value> {
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
}

#[test]
fn files_of_the_library_have_its_ids() {
    for case in cases(RECORDED) {
        let file = case["file"].to_string();
        for text in case["texts"].as_array().unwrap() {
            let found = ids(file.as_bytes(), text["text"].as_str().unwrap());
            assert_eq!(
                json!(found),
                text["ids"],
                "seed {}: {}",
                case["seed"],
                text["text"]
            );
        }
    }
}

#[test]
fn what_is_written_is_read_as_the_same_pipeline() {
    let mut written = 0;
    for case in cases(CASES).chain(cases(RECORDED)) {
        let pipeline = read_pipeline(case["file"].to_string().as_bytes()).unwrap();
        let Ok((file, _)) = write_version_2(&pipeline, pipeline.roles()) else {
            continue;
        };
        written += 1;
        let again = read_pipeline(&file).unwrap();
        let (second, _) = write_version_2(&again, again.roles()).unwrap();
        assert_eq!(second, file, "seed {}", case["seed"]);
        let json: Value = serde_json::from_slice(&file).unwrap();
        assert_eq!(json["version"], "2.0");
        // Forms of another version of Unicode, and spans, are what may differ.
        let stages = |pipeline: &Pipeline| {
            let mut stages: Value = serde_json::from_str(&pipeline.stages_to_json()).unwrap();
            stages["post_processor"].take();
            stages
        };
        assert_eq!(stages(&again), stages(&pipeline), "seed {}", case["seed"]);
    }
    assert!(written > 40, "{written}");
}

/// A file with these fields and a model of bytes.
fn byte_level(fields: &Value) -> String {
    let chars = (0..=u8::MAX).map(|byte| (byte_char(byte).to_string(), json!(byte)));
    let mut vocab: Map<String, Value> = chars.collect();
    vocab.insert("ab".to_owned(), json!(256));
    let mut file = json!({
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
        "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
        "model": {"type": "BPE", "vocab": vocab, "merges": [["a", "b"]]},
    });
    for (name, value) in fields.as_object().unwrap() {
        file[name] = value.clone();
    }
    file.to_string()
}

#[test]
fn byte_level_is_a_field_of_the_model() {
    let file = byte_level(&json!({}));
    let pipeline = read_pipeline(file.as_bytes()).unwrap();
    let (version_2, reasons) = write_version_2(&pipeline, pipeline.roles()).unwrap();
    assert!(matches!(&reasons[..], [reason] if reason.kind == ReasonKind::Pattern));
    let json: Value = serde_json::from_slice(&version_2).unwrap();
    assert_eq!(json["model"]["byte_level"], true);
    assert_eq!(json["pre_tokenizer"]["pattern"]["Regex"], GPT2_EXPRESSION);
    assert_eq!(ids(&version_2, "é ab"), ids(file.as_bytes(), "é ab"));
    assert!(read_pipeline(&version_2).unwrap().byte_bpe().is_some());
}

#[test]
fn tokens_that_the_library_gives_for_a_text_are_a_reason_and_are_not_read() {
    let cases = [
        ("\u{1f600}", false, true),
        ("\u{4e2d}b", false, false),
        ("\u{4e2d}b", true, true),
    ];
    for (text, whole_first, is_given) in cases {
        let mut file: Value = serde_json::from_str(&byte_level(&json!({}))).unwrap();
        file["model"]["vocab"][text] = json!(257);
        file["model"]["ignore_merges"] = json!(whole_first);
        let pipeline = read_pipeline(file.to_string().as_bytes()).unwrap();
        let (version_2, reasons) = write_version_2(&pipeline, pipeline.roles()).unwrap();
        let mut reasons = reasons.iter();
        let reason = reasons.find(|reason| reason.kind == ReasonKind::PieceText);
        assert_eq!(
            reason.and_then(|it| it.example.as_deref()),
            is_given.then_some(text)
        );
        assert_eq!(read_pipeline(&version_2).is_err(), is_given, "{text}");
    }
}

#[test]
fn expressions_that_cut_alike_are_written_as_the_library_knows_them() {
    let options = crate::formats::ByteFormatOptions {
        pretokenizer: crate::Pretokenizer::named("rustbpe"),
        ..Default::default()
    };
    let lines: String = (0..=255_u8)
        .map(|byte| {
            format!(
                "{} {byte}\n",
                base64::prelude::BASE64_STANDARD.encode([byte])
            )
        })
        .collect();
    let vocabulary = crate::formats::ByteVocabulary::from_bytes(lines.as_bytes(), &options);
    let bpe = vocabulary.unwrap().unwrap().into_bpe().unwrap();
    for format in [FileFormat::TokenizerJson, FileFormat::TokenizerJson2] {
        let written = bpe.to_format(format, &ByteFileOptions::default()).unwrap();
        let json: Value = serde_json::from_slice(&written.files[0].1).unwrap();
        let text = json["pre_tokenizer"].to_string();
        let known = crate::Pattern::named("llama3").unwrap();
        assert!(
            text.contains(&json!(known.expression()).to_string()),
            "{text}"
        );
    }
}

#[test]
fn what_tokenizers_1_0_does_not_run_is_refused_by_its_component() {
    let split = |pattern: &str| json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false});
    let bytes = json!({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false});
    let metaspace = json!({"type": "Metaspace", "replacement": "▁"});
    let sequence = |steps: &[&Value]| json!({"type": "Sequence", "pretokenizers": steps});
    for (fields, component, found) in [
        (
            json!({"pre_tokenizer": sequence(&[&split("a|b"), &bytes])}),
            "pre_tokenizer",
            "a Split by \"a|b\"",
        ),
        (
            json!({"pre_tokenizer": sequence(&[&bytes, &split("a|b")])}),
            "pre_tokenizer",
            "ByteLevel before",
        ),
        (
            json!({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true}}),
            "pre_tokenizer",
            "add_prefix_space",
        ),
        (
            json!({"pre_tokenizer": sequence(&[&json!({"type": "Digits", "individual_digits": true}), &metaspace])}),
            "pre_tokenizer",
            "Metaspace after",
        ),
        (
            json!({"normalizer": {"type": "Replace", "pattern": {"Regex": "a(?=b)"}, "content": ""}}),
            "normalizer",
            "may mean something else",
        ),
    ] {
        let pipeline = read_pipeline(byte_level(&fields).as_bytes()).unwrap();
        let error = write_version_2(&pipeline, pipeline.roles()).unwrap_err();
        assert!(
            matches!(&error, FormatError::CannotHold { component: it, found: what, .. } if it == component && what.contains(found)),
            "{error}"
        );
    }
}

#[test]
fn forms_of_version_2_that_have_no_pipeline_are_refused() {
    let marks = json!({"type": METASPACE, "replacement": "▁", "prepend": "always", "drop_whitespace": false});
    let dropping =
        json!({"type": METASPACE, "replacement": "▁", "prepend": "first", "drop_whitespace": true});
    let token = json!({"id": 256, "content": "x", "normalized": true});
    for (fields, place) in [
        (
            json!({"normalizer": {"type": "Sequence", "normalizers": [marks, {"type": "NFC"}]}}),
            "normalizer.normalizers[0]",
        ),
        (
            json!({ "normalizer": dropping }),
            "normalizer.drop_whitespace",
        ),
        (
            json!({"normalizer": marks, "added_tokens": [token]}),
            "added_tokens",
        ),
        (json!({"version": "3.0"}), "version: \"3.0\" is not known"),
    ] {
        let mut file: Value = serde_json::from_str(&byte_level(
            &json!({"version": "2.0", "pre_tokenizer": null}),
        ))
        .unwrap();
        for (name, value) in fields.as_object().unwrap() {
            file[name] = value.clone();
        }
        let error = read_pipeline(file.to_string().as_bytes()).unwrap_err();
        assert!(error.to_string().contains(place), "{error}");
    }
}

#[test]
fn forms_are_those_of_the_release_unless_the_caller_says_another() {
    let of = |version: &str, unicode| {
        let file = byte_level(&json!({"version": version, "normalizer": {"type": "NFC"}}));
        let pipeline = crate::formats::read_pipeline_with(file.as_bytes(), unicode).unwrap();
        match pipeline.normalizer() {
            [NormalizerStep::Unicode(UnicodeForm::Nfc, version)] => *version,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(of("1.0", None), UnicodeVersion::V9);
    assert_eq!(of("2.0", None), UnicodeVersion::V17);
    assert_eq!(of("1.0", Some(UnicodeVersion::V17)), UnicodeVersion::V17);
    assert_eq!(of("2.0", Some(UnicodeVersion::V9)), UnicodeVersion::V9);
    // U+07FD is a mark of Unicode 10 and later, which stands before U+0301 in the form.
    let text = "a\u{7fd}\u{301}";
    let file =
        |version: &str| byte_level(&json!({"version": version, "normalizer": {"type": "NFC"}}));
    assert_eq!(ids(file("1.0").as_bytes(), text), [97, 223, 189, 204, 129]);
    assert_ne!(
        ids(file("2.0").as_bytes(), text),
        ids(file("1.0").as_bytes(), text)
    );
    // Nothing but version 2.0 says so.
    let pipeline = read_pipeline(file("2.0").as_bytes()).unwrap();
    let written = pipeline.to_format(FileFormat::TokenizerJson, &ByteFileOptions::default());
    assert!(!written.unwrap().verdict.is_exact());
    assert_eq!(
        ids(&pipeline.to_file().unwrap(), text),
        ids(file("2.0").as_bytes(), text)
    );
}
