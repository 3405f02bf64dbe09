//! The parts of a `tokenizer.json` as JSON.
//!
//! Input: [`JsonParts`]. Output: the file, one line for each piece, merge and added token, so that two files can be compared.
//! Cost: linear.

use serde_json::{Value, json};

use super::export::JsonParts;
use super::normalization::{JsonNormalizer, has_suffix};
use crate::convert::order::symbols_of;
use crate::model::ModelType;
use crate::piece::PieceId;
use crate::text::{WHITESPACE_MARK_STR, lossy_string};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// The file.
pub(super) fn tokenizer_json(parts: &JsonParts<'_>) -> Vec<u8> {
    let mut json =
        String::from("{\n\"version\": \"1.0\",\n\"truncation\": null,\n\"padding\": null,\n");
    let added = parts
        .added
        .iter()
        .map(|id| added_token(parts, *id).to_string());
    json.push_str("\"added_tokens\": ");
    push_list(&mut json, '[', added, ']');
    let components = [
        ("normalizer", normalizer(parts)),
        ("pre_tokenizer", Value::Null),
        ("post_processor", post_processor(parts)),
        ("decoder", decoder(parts)),
    ];
    for (name, value) in components {
        json.push_str(&format!(",\n\"{name}\": {value}"));
    }
    json.push_str(",\n\"model\": {\n");
    push_model(&mut json, parts);
    json.push_str("}\n}\n");
    json.into_bytes()
}

/// A list or an object with one line for each item.
fn push_list(json: &mut String, open: char, items: impl Iterator<Item = String>, close: char) {
    json.push(open);
    for (index, item) in items.enumerate() {
        json.push_str(if index == 0 { "\n" } else { ",\n" });
        json.push_str(&item);
    }
    json.push(close);
}

/// An added token as in `tokenizer.json`.
fn added_token(parts: &JsonParts<'_>, id: PieceId) -> Value {
    let mut token = token_flags(parts, id);
    token["id"] = json!(id.get());
    token
}

/// The flags of an added token.
pub(super) fn token_flags(parts: &JsonParts<'_>, id: PieceId) -> Value {
    let is_special = parts.is_special(id);
    json!({
        "content": parts.key(id),
        "single_word": false,
        "lstrip": false,
        "rstrip": false,
        "normalized": !is_special,
        "special": is_special,
    })
}

fn normalizer(parts: &JsonParts<'_>) -> Value {
    let normalizers: Vec<Value> = parts.normalizers.iter().map(one_normalizer).collect();
    if normalizers.is_empty() {
        return Value::Null;
    }
    json!({"type": "Sequence", "normalizers": normalizers})
}

fn one_normalizer(normalizer: &JsonNormalizer) -> Value {
    match normalizer {
        JsonNormalizer::Precompiled(charsmap) => {
            json!({"type": "Precompiled", "precompiled_charsmap": BASE64_STANDARD.encode(charsmap)})
        }
        JsonNormalizer::Regex { pattern, content } => {
            json!({"type": "Replace", "pattern": {"Regex": pattern}, "content": content})
        }
        JsonNormalizer::Text { pattern, content } => {
            json!({"type": "Replace", "pattern": {"String": pattern}, "content": content})
        }
        JsonNormalizer::Prepend(text) => json!({"type": "Prepend", "prepend": text}),
    }
}

/// The template that puts BOS and EOS around texts.
fn post_processor(parts: &JsonParts<'_>) -> Value {
    if parts.bos.is_none() && parts.eos.is_none() {
        return Value::Null;
    }
    let special = |id: Option<PieceId>, type_id: u32| {
        id.map(|id| json!({"SpecialToken": {"id": parts.key(id), "type_id": type_id}}))
    };
    let part = |name: &str, type_id: u32| {
        let text = json!({"Sequence": {"id": name, "type_id": type_id}});
        let items = [
            special(parts.bos, type_id),
            Some(text),
            special(parts.eos, type_id),
        ];
        items.into_iter().flatten().collect::<Vec<Value>>()
    };
    let mut special_tokens = serde_json::Map::new();
    for id in parts.bos.iter().chain(&parts.eos) {
        let text = parts.key(*id);
        special_tokens.insert(
            text.to_owned(),
            json!({"id": text, "ids": [id.get()], "tokens": [text]}),
        );
    }
    let pair = [part("A", 0), part("B", 1)].concat();
    json!({
        "type": "TemplateProcessing",
        "single": part("A", 0),
        "pair": pair,
        "special_tokens": special_tokens,
    })
}

/// The decoder: marks become spaces, byte pieces become bytes, the dummy prefix is removed.
fn decoder(parts: &JsonParts<'_>) -> Value {
    let spec = parts.model.normalizer_spec();
    let mut decoders = Vec::new();
    if spec.escape_whitespaces() {
        decoders.push(
            json!({"type": "Replace", "pattern": {"String": WHITESPACE_MARK_STR}, "content": " "}),
        );
    }
    decoders.push(json!({"type": "ByteFallback"}));
    decoders.push(json!({"type": "Fuse"}));
    if spec.add_dummy_prefix() {
        let at_end = u32::from(has_suffix(parts.model));
        decoders
            .push(json!({"type": "Strip", "content": " ", "start": 1 - at_end, "stop": at_end}));
    }
    json!({"type": "Sequence", "decoders": decoders})
}

fn push_model(json: &mut String, parts: &JsonParts<'_>) {
    match parts.model.model_type() {
        ModelType::Unigram => push_unigram(json, parts),
        _ => push_bpe(json, parts),
    }
}

fn push_bpe(json: &mut String, parts: &JsonParts<'_>) {
    let unknown = parts.unknown.map(|id| parts.key(id));
    json.push_str(&format!(
        "\"type\": \"BPE\",\n\"dropout\": null,\n\"unk_token\": {},\n\"continuing_subword_prefix\": null,\n\
         \"end_of_word_suffix\": null,\n\"fuse_unk\": true,\n\"byte_fallback\": {},\n\"ignore_merges\": false,\n\"vocab\": ",
        json!(unknown),
        parts.model.trainer_spec().byte_fallback(),
    ));
    let entry = |(id, key): (usize, &std::borrow::Cow<'_, str>)| format!("{}: {id}", json!(key));
    push_list(json, '{', parts.keys.iter().enumerate().map(entry), '}');
    json.push_str(",\n\"merges\": ");
    let merges = parts.merges.iter().map(|merge| {
        let (left, right) = symbols_of(parts.model, *merge);
        format!(
            "[{}, {}]",
            json!(lossy_string(left)),
            json!(lossy_string(right))
        )
    });
    push_list(json, '[', merges, ']');
}

fn push_unigram(json: &mut String, parts: &JsonParts<'_>) {
    json.push_str(&format!(
        "\"type\": \"Unigram\",\n\"unk_id\": {},\n\"byte_fallback\": {},\n\"vocab\": ",
        json!(parts.unknown.map(PieceId::get)),
        parts.model.trainer_spec().byte_fallback(),
    ));
    let scores = parts.keys.iter().zip(&parts.scores);
    let entry = |(key, score): (&std::borrow::Cow<'_, str>, &f32)| {
        format!("[{}, {}]", json!(key), json!(f64::from(*score)))
    };
    push_list(json, '[', scores.map(entry), ']');
}
