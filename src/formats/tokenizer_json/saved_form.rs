//! A component in the form in which tokenizers 0.23.3 saves it: with its type, with the fields that older releases did
//! not write, and without fields that say nothing.
//!
//! `write_pipeline` writes stages, which have forgotten what has no effect here, such as the type of a template. A program that
//! changes one component expects the others as they were.
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
                ComponentType {
                    name: "BertNormalizer",
                    fields: &[
                        "clean_text",
                        "handle_chinese_chars",
                        "strip_accents",
                        "lowercase",
                    ],
                },
                ComponentType {
                    name: "Strip",
                    fields: &["strip_left", "strip_right"],
                },
                ComponentType {
                    name: "Precompiled",
                    fields: &["precompiled_charsmap"],
                },
                ComponentType {
                    name: "Replace",
                    fields: &["pattern", "content"],
                },
                ComponentType {
                    name: "Prepend",
                    fields: &["prepend"],
                },
            ],
            Self::PreTokenizer => &[
                ComponentType {
                    name: "ByteLevel",
                    fields: &["add_prefix_space", "trim_offsets", "use_regex"],
                },
                ComponentType {
                    name: "CharDelimiterSplit",
                    fields: &["delimiter"],
                },
                ComponentType {
                    name: "Metaspace",
                    fields: &["replacement", "prepend_scheme", "split"],
                },
                ComponentType {
                    name: "Split",
                    fields: &["pattern", "behavior", "invert"],
                },
                ComponentType {
                    name: "Punctuation",
                    fields: &["behavior"],
                },
                ComponentType {
                    name: "Digits",
                    fields: &["individual_digits"],
                },
                ComponentType {
                    name: "FixedLength",
                    fields: &["length"],
                },
            ],
            // By their fields, whatever the type, but for that of `ByteLevel`; the first that has all of its fields counts.
            Self::PostProcessor => &[
                ComponentType {
                    name: "RobertaProcessing",
                    fields: &["sep", "cls", "trim_offsets", "add_prefix_space"],
                },
                ComponentType {
                    name: "BertProcessing",
                    fields: &["sep", "cls"],
                },
                ComponentType {
                    name: "ByteLevel",
                    fields: &["add_prefix_space", "trim_offsets", "use_regex"],
                },
                ComponentType {
                    name: "TemplateProcessing",
                    fields: &["single", "pair", "special_tokens"],
                },
            ],
            Self::Decoder => &[
                ComponentType {
                    name: "BPEDecoder",
                    fields: &["suffix"],
                },
                ComponentType {
                    name: "ByteLevel",
                    fields: &["add_prefix_space", "trim_offsets", "use_regex"],
                },
                ComponentType {
                    name: "WordPiece",
                    fields: &["prefix", "cleanup"],
                },
                ComponentType {
                    name: "Metaspace",
                    fields: &["replacement", "prepend_scheme", "split"],
                },
                ComponentType {
                    name: "CTC",
                    fields: &["pad_token", "word_delimiter_token", "cleanup"],
                },
                ComponentType {
                    name: "Strip",
                    fields: &["content", "start", "stop"],
                },
                ComponentType {
                    name: "Replace",
                    fields: &["pattern", "content"],
                },
            ],
        }
    }
}

/// A type of a component.
struct ComponentType {
    name: &'static str,
    fields: &'static [&'static str],
}

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
    let needs = |field: &&&str| default_of(field, given).is_none();
    let has_fields = |it: &&ComponentType| {
        let mut needed = it.fields.iter().filter(needs);
        needed.all(|field| given.contains_key(*field))
            && (it.name != "ByteLevel" || kind == Some(it.name))
    };
    let by_fields = component.types().iter().find(has_fields);
    let by_name = component != Component::PostProcessor;
    if kind == Some("Sequence") && (by_name || by_fields.is_none()) {
        let elements = component.elements();
        let parts = given.get(elements).and_then(Value::as_array);
        let parts = parts.into_iter().flatten();
        let parts: Vec<Value> = parts.map(|part| saved_form(component, part)).collect();
        return json!({"type": "Sequence", elements: parts});
    }
    let kind = match kind {
        Some("Bert") => Some("BertNormalizer"),
        Some("Delimiter") => Some("CharDelimiterSplit"),
        kind => kind,
    };
    let mut types = component.types().iter();
    let named = types.find(|it| by_name && kind == Some(it.name));
    let is_plain = named.is_none() && by_name && kind.is_some_and(is_type_without_fields);
    let found = named.or(by_fields);
    let mut saved = Map::new();
    match found.filter(|_| !is_plain) {
        Some(ComponentType { name, fields }) => {
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
            // Command R+ has such a template.
            (
                Component::PostProcessor,
                json!({"type": "TemplateProcessing", "add_prefix_space": true, "trim_offsets": false, "use_regex": true,
                    "single": [], "pair": [], "special_tokens": {}}),
                json!({"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": {}}),
            ),
            (
                Component::PostProcessor,
                json!({"type": "Sequence", "processors": [], "sep": ["a", 1], "cls": ["b", 2]}),
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
