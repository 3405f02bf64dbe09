//! The parts of a `tokenizer.json` as JSON.
//!
//! The file has one line for each piece, merge and added token, so that files can be compared line
//! by line.

use std::fmt::Display;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

use super::TokenizerJson;
use super::export::JsonParts;
use super::normalization::{JsonNormalizer, has_suffix};
use crate::base::{WHITESPACE_MARK_STR, lossy_string};
use crate::formats::order::symbols_of;
use crate::model::ModelType;
use crate::piece::PieceId;

/// The file up to the added tokens.
const FILE_START: &str =
    "{\n\"version\": \"1.0\",\n\"truncation\": null,\n\"padding\": null,\n\"added_tokens\": ";

impl JsonParts<'_> {
    /// The file with its verdict.
    pub(super) fn into_file(self) -> TokenizerJson {
        TokenizerJson {
            json: self.json(),
            verdict: self.verdict,
        }
    }

    /// The file.
    pub(super) fn json(&self) -> Vec<u8> {
        let mut json = FILE_START.to_owned();
        let added = self.added.iter().map(|id| {
            let mut token = self.token_flags(*id);
            token["id"] = json!(id.get());
            token
        });
        push_list(&mut json, '[', added, ']');
        let normalizers: Vec<Value> = self.normalizers.iter().map(one_normalizer).collect();
        let normalizer = match normalizers.is_empty() {
            true => Value::Null,
            false => json!({"type": "Sequence", "normalizers": normalizers}),
        };
        for (name, value) in [
            ("normalizer", normalizer),
            ("pre_tokenizer", Value::Null),
            ("post_processor", self.post_processor()),
            ("decoder", self.decoder()),
        ] {
            json.push_str(&format!(",\n\"{name}\": {value}"));
        }
        json.push_str(",\n\"model\": {\n");
        match self.model.model_type() {
            ModelType::Unigram => self.push_unigram(&mut json),
            _ => self.push_bpe(&mut json),
        }
        json.push_str("}\n}\n");
        json.into_bytes()
    }

    /// The flags of an added token.
    pub(super) fn token_flags(&self, id: PieceId) -> Value {
        let is_special = self.is_special(id);
        json!({
            "content": self.key(id),
            "single_word": false,
            "lstrip": false,
            "rstrip": false,
            "normalized": !is_special,
            "special": is_special,
        })
    }

    /// The template that puts BOS and EOS around texts.
    fn post_processor(&self) -> Value {
        if self.bos.is_none() && self.eos.is_none() {
            return Value::Null;
        }
        let template = |name: &str, type_id: u32| -> Vec<Value> {
            let token = |id| json!({"SpecialToken": {"id": self.key(id), "type_id": type_id}});
            let text = json!({"Sequence": {"id": name, "type_id": type_id}});
            let items = [self.bos.map(token), Some(text), self.eos.map(token)];
            items.into_iter().flatten().collect()
        };
        let single = template("A", 0);
        let pair = [&single[..], &template("B", 1)].concat();
        let tokens = self.bos.into_iter().chain(self.eos).map(|id: PieceId| {
            let text = self.key(id);
            let token = json!({"id": text, "ids": [id.get()], "tokens": [text]});
            (text.to_owned(), token)
        });
        let tokens: Map<String, Value> = tokens.collect();
        json!({
            "type": "TemplateProcessing",
            "single": single,
            "pair": pair,
            "special_tokens": tokens,
        })
    }

    /// The decoder: marks become spaces, byte pieces become bytes, the dummy prefix is removed.
    fn decoder(&self) -> Value {
        let spec = self.model.normalizer_spec();
        let mut decoders = Vec::new();
        if spec.escape_whitespaces() {
            decoders.push(replace(json!({"String": WHITESPACE_MARK_STR}), " "));
        }
        decoders.extend([json!({"type": "ByteFallback"}), json!({"type": "Fuse"})]);
        if spec.add_dummy_prefix() {
            let stop = u32::from(has_suffix(self.model));
            decoders
                .push(json!({"type": "Strip", "content": " ", "start": 1 - stop, "stop": stop}));
        }
        json!({"type": "Sequence", "decoders": decoders})
    }

    fn push_bpe(&self, json: &mut String) {
        let unknown = self.unknown.map(|id| self.key(id));
        json.push_str(&format!(
            "\"type\": \"BPE\",\n\"dropout\": null,\n\"unk_token\": {},\n\"continuing_subword_prefix\": null,\n\
             \"end_of_word_suffix\": null,\n\"fuse_unk\": true,\n\"byte_fallback\": {},\n\"ignore_merges\": false,\n\"vocab\": ",
            json!(unknown),
            self.model.trainer_spec().byte_fallback(),
        ));
        let entries = self.keys.iter().enumerate();
        let entries = entries.map(|(id, key)| format!("{}: {id}", json!(key)));
        push_list(json, '{', entries, '}');
        json.push_str(",\n\"merges\": ");
        let merges = self.merges.iter().map(|merge| {
            let (left, right) = symbols_of(self.model, *merge);
            let [left, right] = [left, right].map(|text| json!(lossy_string(text)));
            format!("[{left}, {right}]")
        });
        push_list(json, '[', merges, ']');
    }

    fn push_unigram(&self, json: &mut String) {
        json.push_str(&format!(
            "\"type\": \"Unigram\",\n\"unk_id\": {},\n\"byte_fallback\": {},\n\"vocab\": ",
            json!(self.unknown.map(PieceId::get)),
            self.model.trainer_spec().byte_fallback(),
        ));
        let entries = self.keys.iter().zip(&self.scores);
        let entries =
            entries.map(|(key, score)| format!("[{}, {}]", json!(key), json!(f64::from(*score))));
        push_list(json, '[', entries, ']');
    }
}

/// Appends a list or an object with one line for each item.
fn push_list(
    json: &mut String,
    open: char,
    items: impl Iterator<Item = impl Display>,
    close: char,
) {
    json.push(open);
    for (index, item) in items.enumerate() {
        json.push_str(if index == 0 { "\n" } else { ",\n" });
        json.push_str(&item.to_string());
    }
    json.push(close);
}

fn one_normalizer(normalizer: &JsonNormalizer) -> Value {
    match normalizer {
        JsonNormalizer::Precompiled(charsmap) => {
            let charsmap = BASE64_STANDARD.encode(charsmap);
            json!({"type": "Precompiled", "precompiled_charsmap": charsmap})
        }
        JsonNormalizer::Regex { pattern, content } => replace(json!({"Regex": pattern}), content),
        JsonNormalizer::Text { pattern, content } => replace(json!({"String": pattern}), content),
        JsonNormalizer::Prepend(text) => json!({"type": "Prepend", "prepend": text}),
    }
}

/// The component that replaces every match of a pattern.
fn replace(pattern: Value, content: &str) -> Value {
    json!({"type": "Replace", "pattern": pattern, "content": content})
}
