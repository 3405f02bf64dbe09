//! The files that `AutoTokenizer.from_pretrained` of `transformers` reads.
//!
//! Input: the parts of a `tokenizer.json`, and options. Output: four files with their names.
//!
//! `tokenizer_config.json` names the class `PreTrainedTokenizerFast`: in `transformers` 5, other
//! classes such as `LlamaTokenizer` replace the normalizer of `tokenizer.json`.

use serde_json::{Map, Value, json};

use super::JsonOptions;
use super::export::{JsonParts, control_piece};
use crate::convert::Verdict;
use crate::error::ConvertError;
use crate::model::Model;
use crate::piece::PieceId;

/// The files of a folder for `AutoTokenizer.from_pretrained`, and whether they give the ids of the
/// model.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TransformersFolder {
    /// Names and contents of the files; the last one is `tokenizer.json`.
    pub files: Vec<(&'static str, Vec<u8>)>,
    /// Whether the ids of `transformers` equal those of the model.
    pub verdict: Verdict,
}

impl TransformersFolder {
    /// The files for a model.
    ///
    /// # Errors
    /// As [`JsonParts::new`].
    pub(super) fn new(model: &Model, options: &JsonOptions) -> Result<Self, ConvertError> {
        let parts = JsonParts::new(model, options)?;
        let special = parts.special_tokens();
        let config = tokenizer_config(&parts, &special, options);
        let files = vec![
            ("tokenizer.model", model.to_bytes()),
            ("special_tokens_map.json", pretty(&Value::Object(special))),
            ("tokenizer_config.json", pretty(&config)),
            ("tokenizer.json", parts.json()),
        ];
        let verdict = parts.verdict;
        Ok(Self { files, verdict })
    }
}

impl JsonParts<'_> {
    /// The special pieces by their roles, such as `bos_token`.
    fn special_tokens(&self) -> Map<String, Value> {
        let found = self.pieces_by_role().into_iter();
        let found = found.filter_map(|(role, id)| Some((role, id?)));
        let added = found.filter(|(_, id)| self.added.contains(id));
        added
            .map(|(role, id)| (role.to_owned(), json!(self.key(id))))
            .collect()
    }

    fn pieces_by_role(&self) -> [(&'static str, Option<PieceId>); 4] {
        let trainer_spec = self.model.trainer_spec();
        let control = |text: &[u8]| control_piece(self.model, text);
        [
            ("bos_token", control(trainer_spec.bos_piece())),
            ("eos_token", control(trainer_spec.eos_piece())),
            ("unk_token", self.unknown),
            ("pad_token", control(trainer_spec.pad_piece())),
        ]
    }

    /// The flags of the added tokens, by id.
    fn added_tokens_decoder(&self) -> Value {
        let added = self.added.iter();
        added
            .map(|id| (id.to_string(), self.token_flags(*id)))
            .collect()
    }
}

fn tokenizer_config(
    parts: &JsonParts<'_>,
    special: &Map<String, Value>,
    options: &JsonOptions,
) -> Value {
    let mut config = Map::new();
    config.insert(
        "added_tokens_decoder".to_owned(),
        parts.added_tokens_decoder(),
    );
    config.extend(special.clone());
    config.extend(fixed_settings());
    if let Some(template) = &options.chat_template {
        config.insert("chat_template".to_owned(), json!(template));
    }
    Value::Object(config)
}

/// The settings that are the same for every model.
fn fixed_settings() -> [(String, Value); 3] {
    let settings = [
        ("clean_up_tokenization_spaces", json!(false)),
        ("model_input_names", json!(["input_ids", "attention_mask"])),
        ("tokenizer_class", json!("PreTrainedTokenizerFast")),
    ];
    settings.map(|(name, value)| (name.to_owned(), value))
}

/// The value with indentation and a line feed at the end.
fn pretty(value: &Value) -> Vec<u8> {
    let mut json = format!("{value:#}").into_bytes();
    json.push(b'\n');
    json
}
