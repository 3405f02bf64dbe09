//! The files that `AutoTokenizer.from_pretrained` of `transformers` reads.
//!
//! `tokenizer_config.json` names the class `PreTrainedTokenizerFast`: in `transformers` 5, other
//! classes such as `LlamaTokenizer` replace the normalizer of `tokenizer.json`. Only a pipeline that
//! `BertTokenizer` makes itself has that class, with its special tokens by their roles.

use serde_json::{Map, Value, json};

use super::JsonOptions;
use super::export::{JsonParts, control_piece};
use super::write_pipeline::fields_of_added_token;
use crate::byte_bpe::SpecialToken;
use crate::formats::model_type::reason_of_model_type;
use crate::formats::roles::checked_roles;
use crate::formats::{FormatError, TokenRoles, Verdict};
use crate::model::Model;
use crate::pipeline::BertNormalizer;

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
    pub(super) fn new(model: &Model, options: &JsonOptions) -> Result<Self, FormatError> {
        let mut parts = JsonParts::new(model, options)?;
        let spec = model.trainer_spec();
        let control = |text: &[u8]| control_piece(model, text);
        let roles = [
            ("bos_token", control(spec.bos_piece())),
            ("eos_token", control(spec.eos_piece())),
            ("unk_token", parts.unknown),
            ("pad_token", control(spec.pad_piece())),
        ];
        let mut special = Map::new();
        for (role, id) in roles {
            if let Some(id) = id.filter(|id| parts.added.contains(id)) {
                special.insert(role.to_owned(), json!(parts.key(id)));
            }
        }
        let tokens: Vec<SpecialToken> = (parts.added.iter())
            .map(|id| parts.added_token(*id))
            .collect();
        let given = checked_roles(&tokens, &TokenRoles::new(), &options.roles)?;
        special.extend(json_of_roles(&given));
        let added = parts.added.iter();
        let added: Value = added
            .map(|id| {
                (
                    id.to_string(),
                    fields_of_added_token(&parts.added_token(*id)),
                )
            })
            .collect();
        let mut config = Map::new();
        config.insert("added_tokens_decoder".to_owned(), added);
        config.extend(special.clone());
        config.extend(common_config(options.chat_template.as_deref()));
        let files = vec![
            ("tokenizer.model", model.to_bytes()),
            ("special_tokens_map.json", pretty(special)),
            ("tokenizer_config.json", pretty(config)),
            ("tokenizer.json", parts.json()?),
        ];
        let mut verdict = parts.verdict;
        verdict.add_all(reason_of_model_type(options.model_type.as_deref(), false));
        Ok(Self { files, verdict })
    }
}

/// The `tokenizer_config.json` of a pipeline or a byte-level vocabulary.
pub(in crate::formats) fn config_of_tokens(
    roles: &TokenRoles,
    chat_template: Option<&str>,
) -> Vec<u8> {
    let mut config = common_config(chat_template);
    config.extend(json_of_roles(roles));
    pretty(config)
}

fn json_of_roles(roles: &TokenRoles) -> impl Iterator<Item = (String, Value)> {
    roles.iter().map(|(role, text)| (role.clone(), json!(text)))
}

/// The `tokenizer_config.json` of a pipeline that `BertTokenizer` makes with this normalizer.
pub(in crate::formats) fn config_of_bert(
    normalizer: BertNormalizer,
    roles: &TokenRoles,
    chat_template: Option<&str>,
) -> Vec<u8> {
    let mut config = common_config(chat_template);
    for (name, value) in [
        ("cls_token", json!("[CLS]")),
        ("do_lower_case", json!(normalizer.lowercase)),
        ("mask_token", json!("[MASK]")),
        (
            "model_input_names",
            json!(["input_ids", "token_type_ids", "attention_mask"]),
        ),
        ("pad_token", json!("[PAD]")),
        ("sep_token", json!("[SEP]")),
        ("strip_accents", json!(normalizer.strip_accents)),
        (
            "tokenize_chinese_chars",
            json!(normalizer.handle_chinese_chars),
        ),
        ("tokenizer_class", json!("BertTokenizer")),
        ("unk_token", json!("[UNK]")),
    ] {
        config.insert(name.to_owned(), value);
    }
    config.extend(json_of_roles(roles));
    pretty(config)
}

/// What every `tokenizer_config.json` has.
fn common_config(chat_template: Option<&str>) -> Map<String, Value> {
    let mut config = Map::new();
    for (name, value) in [
        ("clean_up_tokenization_spaces", json!(false)),
        ("model_input_names", json!(["input_ids", "attention_mask"])),
        ("tokenizer_class", json!("PreTrainedTokenizerFast")),
    ] {
        config.insert(name.to_owned(), value);
    }
    if let Some(template) = chat_template {
        config.insert("chat_template".to_owned(), json!(template));
    }
    config
}

fn pretty(value: Map<String, Value>) -> Vec<u8> {
    format!("{:#}\n", Value::Object(value)).into_bytes()
}
