//! Conversions of anything: files of other formats, and models to such files and back.

use arbitrary::{Result, Unstructured};
use serde_json::{Value, json};
use spiece::formats::JsonOptions;
use spiece::{Model, ModelType, PieceKind, Tokenizer};

use super::{checks, mutation};

/// The bytes are a `tokenizer.json`, or changes of one that a real model gave. What is read runs,
/// and can be written and read again.
pub fn tokenizer_json(data: &[u8]) {
    read_json(data);
    if let Ok(changed) = changed_json(&mut Unstructured::new(data)) {
        read_json(changed.to_string().as_bytes());
    }
}

fn read_json(file: &[u8]) {
    let Ok(converted) = Model::from_tokenizer_json(file) else {
        return;
    };
    let tokenizer = Tokenizer::new(converted.value.clone());
    tokenizer.encode("Hello \u{2581}world  12 \u{ff21}\u{1f600}\0\u{e9}");
    check_round_trip(&converted.value, &[file]);
}

/// A `tokenizer.json` of a small model with some values changed.
fn changed_json(input: &mut Unstructured<'_>) -> Result<Value> {
    let mut builder = Model::builder();
    builder.model_type(*input.choose(&[ModelType::Bpe, ModelType::Unigram])?);
    builder.piece("<unk>", 0.0, PieceKind::Unknown);
    builder.piece("</s>", 0.0, PieceKind::Control);
    if input.arbitrary()? {
        builder.trainer_spec_mut().byte_fallback = Some(true);
        builder.byte_pieces();
    }
    for (text, score) in [("a", -3.0), ("b", -4.0), ("\u{2581}", -2.0), ("ab", -1.0)] {
        builder.piece(text, score, PieceKind::Normal);
    }
    builder.piece("<x>", 0.0, PieceKind::UserDefined);
    let model = builder.build().expect("a good model");
    let written = model.to_tokenizer_json(&JsonOptions::default());
    let written = written.expect("both types have such a file");
    let mut file = serde_json::from_slice(&written.json).expect("it is JSON");
    for _ in 0..input.int_in_range(1..=4)? {
        change_value(input, &mut file)?;
    }
    Ok(file)
}

/// Goes down to some value in a document, which is removed, repeated or replaced.
pub(super) fn change_value(input: &mut Unstructured<'_>, value: &mut Value) -> Result<()> {
    let goes_on = input.ratio(7, 8)?;
    match value {
        Value::Object(members) if goes_on && !members.is_empty() => {
            let at = input.choose_index(members.len())?;
            let name = members.keys().nth(at).cloned().unwrap_or_default();
            if !input.ratio(15, 16)? {
                members.remove(&name);
            } else if let Some(member) = members.get_mut(&name) {
                change_value(input, member)?;
            }
        }
        Value::Array(entries) if goes_on && !entries.is_empty() => {
            let at = input.choose_index(entries.len())?;
            match input.int_in_range(0..=7)? {
                0..=5 => change_value(input, &mut entries[at])?,
                6 => entries.push(entries[at].clone()),
                _ => drop(entries.remove(at)),
            }
        }
        _ => {
            let others = [
                Value::Null,
                json!(true),
                json!(false),
                json!(0),
                json!(-1),
                json!(3),
                json!(4_294_967_296_u64),
                json!(1e308),
                json!(""),
                json!("a"),
                json!("ab"),
                json!("a b"),
                json!("<unk>"),
                json!("<0x41>"),
                json!("\u{2581}"),
                json!("\0"),
                json!("BPE"),
                json!("Unigram"),
                json!("Sequence"),
                json!("Replace"),
                json!("Metaspace"),
                json!([]),
                json!(["a", "b"]),
                json!({}),
                json!({"String": "a"}),
            ];
            *value = input.choose(&others)?.clone();
        }
    }
    Ok(())
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
    let after = Tokenizer::new(read.value);
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
