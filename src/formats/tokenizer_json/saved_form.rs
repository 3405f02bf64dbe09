//! A component in the form in which tokenizers 0.23.3 saves it: with its type, with the fields that older releases did
//! not write, and without fields that say nothing.
//!
//! Example: `{"type": "Metaspace", "replacement": "▁", "add_prefix_space": false}` is saved as `{"type": "Metaspace",
//! "replacement": "▁", "prepend_scheme": "never", "split": true}`.

use serde_json::{Map, Value, json};

/// A component of a `tokenizer.json` beside the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Component {
    /// What changes a text.
    Normalizer,
    /// What cuts it into parts.
    PreTokenizer,
    /// What puts special tokens around it.
    PostProcessor,
    /// What makes a text of tokens.
    Decoder,
}

impl Component {
    /// All components, in the order of a file.
    pub const ALL: [Self; 4] = [
        Self::Normalizer,
        Self::PreTokenizer,
        Self::PostProcessor,
        Self::Decoder,
    ];

    /// Its field in the file.
    pub fn field(self) -> &'static str {
        match self {
            Self::Normalizer => "normalizer",
            Self::PreTokenizer => "pre_tokenizer",
            Self::PostProcessor => "post_processor",
            Self::Decoder => "decoder",
        }
    }

    /// The field of a sequence that has its elements.
    fn elements(self) -> &'static str {
        match self {
            Self::Normalizer => "normalizers",
            Self::PreTokenizer => "pretokenizers",
            Self::PostProcessor => "processors",
            Self::Decoder => "decoders",
        }
    }

    /// The fields of the types that have some. A type that is not here has none.
    fn types(self) -> &'static [ComponentType] {
        match self {
            Self::Normalizer => &[
                (
                    "BertNormalizer",
                    &[
                        "clean_text",
                        "handle_chinese_chars",
                        "strip_accents",
                        "lowercase",
                    ],
                ),
                ("Strip", &["strip_left", "strip_right"]),
                ("Precompiled", &["precompiled_charsmap"]),
                ("Replace", &["pattern", "content"]),
                ("Prepend", &["prepend"]),
            ],
            Self::PreTokenizer => &[
                (
                    "ByteLevel",
                    &["add_prefix_space", "trim_offsets", "use_regex"],
                ),
                ("CharDelimiterSplit", &["delimiter"]),
                ("Metaspace", &["replacement", "prepend_scheme", "split"]),
                ("Split", &["pattern", "behavior", "invert"]),
                ("Punctuation", &["behavior"]),
                ("Digits", &["individual_digits"]),
                ("FixedLength", &["length"]),
            ],
            // By their fields, whatever the type.
            Self::PostProcessor => &[
                (
                    "RobertaProcessing",
                    &["sep", "cls", "trim_offsets", "add_prefix_space"],
                ),
                ("BertProcessing", &["sep", "cls"]),
                (
                    "ByteLevel",
                    &["add_prefix_space", "trim_offsets", "use_regex"],
                ),
                ("TemplateProcessing", &["single", "pair", "special_tokens"]),
            ],
            Self::Decoder => &[
                ("BPEDecoder", &["suffix"]),
                (
                    "ByteLevel",
                    &["add_prefix_space", "trim_offsets", "use_regex"],
                ),
                ("WordPiece", &["prefix", "cleanup"]),
                ("Metaspace", &["replacement", "prepend_scheme", "split"]),
                ("CTC", &["pad_token", "word_delimiter_token", "cleanup"]),
                ("Strip", &["content", "start", "stop"]),
                ("Replace", &["pattern", "content"]),
            ],
        }
    }
}

/// The name of a type, and its fields.
type ComponentType = (&'static str, &'static [&'static str]);

/// The value of a field that is left out.
fn default_of(field: &str, component: &Map<String, Value>) -> Option<Value> {
    match field {
        "strip_accents" => Some(Value::Null),
        "use_regex" | "split" => Some(json!(true)),
        "behavior" => Some(json!("Isolated")),
        "length" => Some(json!(5)),
        "prepend_scheme" => Some(match component.get("add_prefix_space") {
            Some(Value::Bool(false)) => json!("never"),
            _ => json!("always"),
        }),
        _ => None,
    }
}

/// A component as tokenizers saves it. The component was read, so that nothing that it needs is missing.
pub(super) fn saved_form(component: Component, json: &Value) -> Value {
    let Some(given) = json.as_object() else {
        return Value::Null;
    };
    let kind = given.get("type").and_then(Value::as_str);
    if kind == Some("Sequence") {
        let elements = component.elements();
        let parts = given.get(elements).and_then(Value::as_array);
        let parts = parts.into_iter().flatten();
        let parts: Vec<Value> = parts.map(|part| saved_form(component, part)).collect();
        return json!({"type": "Sequence", elements: parts});
    }
    let needs = |field: &&&str| default_of(field, given).is_none();
    let has_fields = |(_, fields): &&ComponentType| {
        let mut needed = fields.iter().filter(needs);
        needed.all(|field| given.contains_key(*field))
    };
    let kind = match kind {
        Some("Bert") => Some("BertNormalizer"),
        Some("Delimiter") => Some("CharDelimiterSplit"),
        kind => kind,
    };
    let mut types = component.types().iter();
    let by_name = component != Component::PostProcessor;
    let named = types.find(|(name, _)| by_name && kind == Some(name));
    let is_plain = named.is_none() && by_name && kind.is_some_and(is_type_without_fields);
    let found = named.or_else(|| component.types().iter().find(has_fields));
    let mut saved = Map::new();
    match found.filter(|_| !is_plain) {
        Some((name, fields)) => {
            saved.insert("type".to_owned(), json!(name));
            for field in *fields {
                let value = given.get(*field).cloned();
                let value = value.or_else(|| default_of(field, given));
                saved.insert((*field).to_owned(), value.unwrap_or_default());
            }
        }
        None => {
            saved.insert("type".to_owned(), json!(kind));
        }
    }
    saved.into()
}

fn is_type_without_fields(kind: &str) -> bool {
    matches!(
        kind,
        "NFC"
            | "NFD"
            | "NFKC"
            | "NFKD"
            | "Nmt"
            | "Lowercase"
            | "StripAccents"
            | "BertPreTokenizer"
            | "ByteLevel"
            | "UnicodeScripts"
            | "Whitespace"
            | "WhitespaceSplit"
            | "ByteFallback"
            | "Fuse"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_of_older_releases_are_saved_with_all_fields() {
        for (component, read, saved) in [
            (
                Component::PreTokenizer,
                json!({"type": "Metaspace", "replacement": "_", "add_prefix_space": false}),
                json!({"type": "Metaspace", "replacement": "_", "prepend_scheme": "never", "split": true}),
            ),
            (
                Component::PreTokenizer,
                json!({"type": "Sequence", "pretokenizers": [{"type": "Punctuation"}, {"type": "Whitespace", "x": 1}]}),
                json!({"type": "Sequence", "pretokenizers": [
                    {"type": "Punctuation", "behavior": "Isolated"}, {"type": "Whitespace"}]}),
            ),
            (
                Component::Normalizer,
                json!({"clean_text": true, "handle_chinese_chars": true, "lowercase": false}),
                json!({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null,
                    "lowercase": false}),
            ),
            (
                Component::PostProcessor,
                json!({"sep": ["a", 1], "cls": ["b", 2]}),
                json!({"type": "BertProcessing", "sep": ["a", 1], "cls": ["b", 2]}),
            ),
            (
                Component::Normalizer,
                json!({"type": "ByteLevel", "add_prefix_space": true}),
                json!({"type": "ByteLevel"}),
            ),
        ] {
            assert_eq!(saved_form(component, &read), saved);
        }
    }
}
