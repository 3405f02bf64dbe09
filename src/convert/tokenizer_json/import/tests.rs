use serde_json::{Value, json};

use crate::convert::{ConvertedModel, ReasonKind};
use crate::{JsonOptions, Model, Tokenizer};

/// The `tokenizer.json` of the golden model of Llama's options, changed by `change`, as a model.
fn read_changed(change: impl FnOnce(&mut Value)) -> ConvertedModel {
    let model = Model::from_bytes(include_bytes!("../../../../testdata/golden/llama2.model"));
    let written = model.unwrap().to_tokenizer_json(&JsonOptions::default());
    let mut json: Value = serde_json::from_slice(&written.unwrap().json).unwrap();
    change(&mut json);
    let bytes = serde_json::to_vec(&json).unwrap();
    Model::from_tokenizer_json(&bytes).unwrap()
}

fn kinds(converted: &ConvertedModel) -> Vec<ReasonKind> {
    let reasons = converted.verdict.reasons().iter();
    reasons.map(|reason| reason.kind).collect()
}

fn replace_space() -> Value {
    json!({"type": "Replace", "pattern": {"String": " "}, "content": "\u{2581}"})
}

#[test]
fn the_shape_of_llama_is_exact() {
    let converted = read_changed(|json| {
        let prepend = json!({"type": "Prepend", "prepend": "\u{2581}"});
        let normalizers = json!([prepend, replace_space()]);
        json["normalizer"] = json!({"type": "Sequence", "normalizers": normalizers});
    });
    assert_eq!(kinds(&converted), []);
    let golden = Model::from_bytes(include_bytes!("../../../../testdata/golden/llama2.model"));
    let golden = Tokenizer::new(golden.unwrap());
    let tokenizer = Tokenizer::new(converted.model);
    for text in ["", " ", "to be", " to  be", "日本語 \u{2581}x"] {
        assert_eq!(tokenizer.encode(text), golden.encode(text), "{text:?}");
    }
}

#[test]
fn the_shape_of_gemma_is_exact_and_has_no_dummy_prefix() {
    let converted = read_changed(|json| {
        json["normalizer"] = replace_space();
        let split = json!({"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": false});
        json["pre_tokenizer"] = split;
    });
    assert_eq!(kinds(&converted), []);
    assert!(!converted.model.normalizer_spec().add_dummy_prefix());
}

#[test]
fn metaspace_puts_no_prefix_before_a_space_and_the_verdict_says_so() {
    for (scheme, reasons) in [("always", 1), ("first", 2), ("never", 0)] {
        let converted = read_changed(|json| {
            json["normalizer"] = Value::Null;
            json["pre_tokenizer"] = json!({
                "type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": scheme, "split": false
            });
        });
        assert_eq!(
            kinds(&converted),
            vec![ReasonKind::Whitespace; reasons],
            "{scheme}"
        );
        if let Some(reason) = converted.verdict.reasons().first() {
            assert_eq!(reason.example.as_deref(), Some(" a"));
        }
    }
}

#[test]
fn settings_that_change_texts_are_reasons() {
    for (path, value) in [
        (
            "/truncation",
            json!({"direction": "Right", "max_length": 5, "strategy": "LongestFirst", "stride": 0}),
        ),
        (
            "/padding",
            json!({"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}),
        ),
        ("/model/dropout", json!(0.5)),
    ] {
        let converted = read_changed(|json| *json.pointer_mut(path).unwrap() = value);
        assert_eq!(kinds(&converted), [ReasonKind::Setting], "{path}");
    }
}
