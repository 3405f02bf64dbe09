//! Conversions of anything: files of other formats, and models to such files and back.

use arbitrary::Unstructured;
use spiece::formats::JsonOptions;
use spiece::{Model, Tokenizer};

use super::{checks, mutation};

/// The bytes are a `tokenizer.json`. What is read runs, and can be written and read again.
pub fn tokenizer_json(data: &[u8]) {
    let Ok(converted) = Model::from_tokenizer_json(data) else {
        return;
    };
    let tokenizer = Tokenizer::new(converted.model.clone());
    tokenizer.encode("Hello \u{2581}world  12 \u{ff21}\u{1f600}\0\u{e9}");
    check_round_trip(&converted.model, &[data]);
}

/// The bytes are changes of a real model, and texts. If both verdicts are exact, the model that
/// went through a `tokenizer.json` gives the same ids.
pub fn converted_model(data: &[u8]) {
    let mut input = Unstructured::new(data);
    let Ok((file, texts, _)) = mutation::case(&mut input) else {
        return;
    };
    let Ok(model) = Model::from_bytes(&file) else {
        return;
    };
    let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    check_round_trip(&model, &texts);
}

/// Writes a `tokenizer.json` and reads it again.
fn check_round_trip(model: &Model, texts: &[&[u8]]) {
    let Ok(written) = model.to_tokenizer_json(&JsonOptions::default()) else {
        return;
    };
    let json: Result<&str, _> = std::str::from_utf8(&written.json);
    assert!(json.is_ok(), "the file is UTF-8");
    let Ok(read) = Model::from_tokenizer_json(&written.json) else {
        assert!(
            !written.verdict.is_exact() || has_rules(model),
            "an exact file is read"
        );
        return;
    };
    if !written.verdict.is_exact() || !read.verdict.is_exact() {
        return;
    }
    let before = Tokenizer::new(model.clone());
    let after = Tokenizer::new(read.model);
    for text in texts {
        // The other program reads well-formed text only.
        let text = String::from_utf8_lossy(checks::start_of(text, model));
        assert_eq!(before.encode(&*text), after.encode(&*text), "{text:?}");
    }
}

/// Whether the model has normalization rules, which can be written as replacements but are not read
/// from them.
fn has_rules(model: &Model) -> bool {
    !model.normalizer_spec().precompiled_charsmap().is_empty()
}
