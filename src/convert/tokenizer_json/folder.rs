//! The files that `AutoTokenizer.from_pretrained` of `transformers` reads.
//!
//! Input: the parts of a `tokenizer.json`, and options. Output: four files with their names.
//!
//! `tokenizer_config.json` names the class `PreTrainedTokenizerFast`: other classes, such as `LlamaTokenizer`, replace the
//! normalizer of `tokenizer.json` in `transformers` 5.

use serde_json::{Map, Value, json};

use super::JsonOptions;
use super::export::{JsonParts, control_piece};
use super::write::{token_flags, tokenizer_json};
use crate::convert::Verdict;
use crate::model::Model;
use crate::piece::PieceId;

/// The files of a folder for `AutoTokenizer.from_pretrained`, and whether they give the ids of the model.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TransformersFolder {
    /// Names and contents of the files; the last one is `tokenizer.json`.
    pub files: Vec<(&'static str, Vec<u8>)>,
    /// Whether the ids of `transformers` equal those of the model.
    pub verdict: Verdict,
}

/// The files of a folder.
pub(super) fn files(
    model: &Model,
    parts: &JsonParts<'_>,
    options: &JsonOptions,
) -> TransformersFolder {
    let special = special_tokens(parts);
    let config = tokenizer_config(parts, &special, options);
    TransformersFolder {
        files: vec![
            ("tokenizer.model", model.to_bytes()),
            ("special_tokens_map.json", pretty(&Value::Object(special))),
            ("tokenizer_config.json", pretty(&config)),
            ("tokenizer.json", tokenizer_json(parts)),
        ],
        verdict: parts.verdict.clone(),
    }
}

/// The special pieces by their roles, such as `bos_token`.
fn special_tokens(parts: &JsonParts<'_>) -> Map<String, Value> {
    let trainer_spec = parts.model.trainer_spec();
    let control = |text: &[u8]| control_piece(parts.model, text);
    let roles: [(&str, Option<PieceId>); 4] = [
        ("bos_token", control(trainer_spec.bos_piece())),
        ("eos_token", control(trainer_spec.eos_piece())),
        ("unk_token", parts.unknown),
        ("pad_token", control(trainer_spec.pad_piece())),
    ];
    let found = roles.into_iter().filter_map(|(role, id)| Some((role, id?)));
    let found = found.filter(|(_, id)| parts.added.contains(id));
    found
        .map(|(role, id)| (role.to_owned(), json!(parts.key(id))))
        .collect()
}

fn tokenizer_config(
    parts: &JsonParts<'_>,
    special: &Map<String, Value>,
    options: &JsonOptions,
) -> Value {
    let decoder = parts
        .added
        .iter()
        .map(|id| (id.to_string(), token_flags(parts, *id)));
    let mut config = Map::new();
    config.insert(
        "added_tokens_decoder".to_owned(),
        Value::Object(decoder.collect()),
    );
    for (role, token) in special {
        config.insert(role.clone(), token.clone());
    }
    config.insert("clean_up_tokenization_spaces".to_owned(), json!(false));
    config.insert(
        "model_input_names".to_owned(),
        json!(["input_ids", "attention_mask"]),
    );
    config.insert(
        "tokenizer_class".to_owned(),
        json!("PreTrainedTokenizerFast"),
    );
    if let Some(template) = &options.chat_template {
        config.insert("chat_template".to_owned(), json!(template));
    }
    Value::Object(config)
}

/// The value with indentation and a line feed at the end.
fn pretty(value: &Value) -> Vec<u8> {
    let mut json = format!("{value:#}").into_bytes();
    json.push(b'\n');
    json
}
