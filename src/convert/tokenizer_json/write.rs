//! The parts of a `tokenizer.json` as JSON.
//!
//! Input: [`JsonParts`]. Output: the file, with one line for each piece, merge and added token, so
//! that files can be compared line by line. Cost: linear.

use std::fmt::Display;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

use super::TokenizerJson;
use super::export::JsonParts;
use super::normalization::{JsonNormalizer, has_suffix};
use crate::convert::order::{OrderedMerge, symbols_of};
use crate::model::ModelType;
use crate::piece::PieceId;
use crate::text::{WHITESPACE_MARK_STR, lossy_string};

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
        self.push_added_tokens(&mut json);
        push_component(&mut json, "normalizer", &self.normalizer());
        push_component(&mut json, "pre_tokenizer", &Value::Null);
        push_component(&mut json, "post_processor", &self.post_processor());
        push_component(&mut json, "decoder", &self.decoder());
        json.push_str(",\n\"model\": {\n");
        self.push_model(&mut json);
        json.push_str("}\n}\n");
        json.into_bytes()
    }

    fn push_added_tokens(&self, json: &mut String) {
        let tokens = self.added.iter().map(|id| self.added_token(*id));
        push_list(json, '[', tokens, ']');
    }

    /// An added token as in `tokenizer.json`.
    fn added_token(&self, id: PieceId) -> Value {
        let mut token = self.token_flags(id);
        token["id"] = json!(id.get());
        token
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

    fn normalizer(&self) -> Value {
        let normalizers: Vec<Value> = self.normalizers.iter().map(one_normalizer).collect();
        match normalizers.is_empty() {
            true => Value::Null,
            false => json!({"type": "Sequence", "normalizers": normalizers}),
        }
    }

    /// The template that puts BOS and EOS around texts.
    fn post_processor(&self) -> Value {
        if self.bos.is_none() && self.eos.is_none() {
            return Value::Null;
        }
        let single = self.template("A", 0);
        let pair = [&single[..], &self.template("B", 1)].concat();
        json!({
            "type": "TemplateProcessing",
            "single": single,
            "pair": pair,
            "special_tokens": self.template_tokens(),
        })
    }

    /// A text of the template, with BOS and EOS.
    fn template(&self, name: &str, type_id: u32) -> Vec<Value> {
        let token = |id| self.token_of_template(id, type_id);
        let text = json!({"Sequence": {"id": name, "type_id": type_id}});
        let items = [self.bos.map(token), Some(text), self.eos.map(token)];
        items.into_iter().flatten().collect()
    }

    fn token_of_template(&self, id: PieceId, type_id: u32) -> Value {
        json!({"SpecialToken": {"id": self.key(id), "type_id": type_id}})
    }

    /// The tokens of templates, by text.
    fn template_tokens(&self) -> Map<String, Value> {
        let token = |id: PieceId| {
            let text = self.key(id);
            let token = json!({"id": text, "ids": [id.get()], "tokens": [text]});
            (text.to_owned(), token)
        };
        self.bos.into_iter().chain(self.eos).map(token).collect()
    }

    /// The decoder: marks become spaces, byte pieces become bytes, the dummy prefix is removed.
    fn decoder(&self) -> Value {
        let spec = self.model.normalizer_spec();
        let marks = spec.escape_whitespaces().then(spaces_for_marks);
        let prefix = spec.add_dummy_prefix().then(|| self.removed_prefix());
        let others = [json!({"type": "ByteFallback"}), json!({"type": "Fuse"})];
        let decoders: Vec<Value> = marks.into_iter().chain(others).chain(prefix).collect();
        json!({"type": "Sequence", "decoders": decoders})
    }

    /// The decoder that removes the dummy prefix.
    fn removed_prefix(&self) -> Value {
        let stop = u32::from(has_suffix(self.model));
        json!({"type": "Strip", "content": " ", "start": 1 - stop, "stop": stop})
    }

    fn push_model(&self, json: &mut String) {
        match self.model.model_type() {
            ModelType::Unigram => self.push_unigram(json),
            _ => self.push_bpe(json),
        }
    }

    fn push_bpe(&self, json: &mut String) {
        self.push_settings_of_bpe(json);
        let keys = self.keys.iter().enumerate();
        let entries = keys.map(|(id, key)| entry_with_id(key, id));
        push_list(json, '{', entries, '}');
        json.push_str(",\n\"merges\": ");
        self.push_merges(json);
    }

    fn push_settings_of_bpe(&self, json: &mut String) {
        let unknown = self.unknown.map(|id| self.key(id));
        json.push_str(&format!(
            "\"type\": \"BPE\",\n\"dropout\": null,\n\"unk_token\": {},\n\"continuing_subword_prefix\": null,\n\
             \"end_of_word_suffix\": null,\n\"fuse_unk\": true,\n\"byte_fallback\": {},\n\"ignore_merges\": false,\n\"vocab\": ",
            json!(unknown),
            self.model.trainer_spec().byte_fallback(),
        ));
    }

    fn push_merges(&self, json: &mut String) {
        let merges = self.merges.iter().map(|merge| self.pair(*merge));
        push_list(json, '[', merges, ']');
    }

    /// A merge as a list of two texts.
    fn pair(&self, merge: OrderedMerge) -> String {
        let (left, right) = symbols_of(self.model, merge);
        format!("[{}, {}]", lossy_text(left), lossy_text(right))
    }

    fn push_unigram(&self, json: &mut String) {
        json.push_str(&format!(
            "\"type\": \"Unigram\",\n\"unk_id\": {},\n\"byte_fallback\": {},\n\"vocab\": ",
            json!(self.unknown.map(PieceId::get)),
            self.model.trainer_spec().byte_fallback(),
        ));
        let scores = self.keys.iter().zip(&self.scores);
        let entries = scores.map(|(key, score)| entry_with_score(key, *score));
        push_list(json, '[', entries, ']');
    }
}

fn push_component(json: &mut String, name: &str, value: &Value) {
    json.push_str(&format!(",\n\"{name}\": {value}"));
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

fn lossy_text(text: &[u8]) -> Value {
    json!(lossy_string(text))
}

fn one_normalizer(normalizer: &JsonNormalizer) -> Value {
    match normalizer {
        JsonNormalizer::Precompiled(charsmap) => precompiled(charsmap),
        JsonNormalizer::Regex { pattern, content } => replace(json!({"Regex": pattern}), content),
        JsonNormalizer::Text { pattern, content } => replace(json!({"String": pattern}), content),
        JsonNormalizer::Prepend(text) => json!({"type": "Prepend", "prepend": text}),
    }
}

fn precompiled(charsmap: &[u8]) -> Value {
    json!({"type": "Precompiled", "precompiled_charsmap": BASE64_STANDARD.encode(charsmap)})
}

/// The component that replaces every match of a pattern.
fn replace(pattern: Value, content: &str) -> Value {
    json!({"type": "Replace", "pattern": pattern, "content": content})
}

/// The decoder that replaces whitespace marks.
fn spaces_for_marks() -> Value {
    replace(json!({"String": WHITESPACE_MARK_STR}), " ")
}

/// A piece as the member of an object.
fn entry_with_id(key: &str, id: usize) -> String {
    format!("{}: {id}", json!(key))
}

/// A piece as a list of its text and its score.
fn entry_with_score(key: &str, score: f32) -> String {
    format!("[{}, {}]", json!(key), json!(f64::from(score)))
}
