//! The JSON of a `tokenizer.json`, with the fields of each object in the order of tokenizers.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::pipeline::{BpeModel, ModelVocabulary, UnigramModel};

/// The fields of components in the order in which tokenizers 0.23.3 writes them. Those of a component
/// that is not here have the order of their names, after `type`.
const FIELD_ORDERS: [&[&str]; 16] = [
    &["direction", "max_length", "strategy", "stride"],
    &[
        "strategy",
        "direction",
        "pad_to_multiple_of",
        "pad_id",
        "pad_type_id",
        "pad_token",
    ],
    &[
        "id",
        "content",
        "single_word",
        "lstrip",
        "rstrip",
        "normalized",
        "special",
    ],
    &[
        "type",
        "clean_text",
        "handle_chinese_chars",
        "strip_accents",
        "lowercase",
    ],
    &["type", "strip_left", "strip_right"],
    &["type", "pattern", "content"],
    &["type", "add_prefix_space", "trim_offsets", "use_regex"],
    &["type", "replacement", "prepend_scheme", "split"],
    &["type", "pattern", "behavior", "invert"],
    &["type", "single", "pair", "special_tokens"],
    &["type", "sep", "cls", "trim_offsets", "add_prefix_space"],
    &["type", "pad_token", "word_delimiter_token", "cleanup"],
    &["type", "prefix", "cleanup"],
    &["type", "content", "start", "stop"],
    &["id", "type_id"],
    &["id", "ids", "tokens"],
];

/// A part of a file.
pub(super) enum Json<'p> {
    /// A component.
    Value(Value),
    /// Fields in the order of the file.
    Object(Vec<(&'static str, Self)>),
    /// Tokens and ids, in the order of the ids.
    Vocabulary(&'p ModelVocabulary),
    /// Pairs of tokens.
    Merges(&'p BpeModel),
    /// Tokens and scores.
    Pieces(&'p UnigramModel),
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Value(value) => Ordered(value).serialize(serializer),
            Self::Object(fields) => {
                serializer.collect_map(fields.iter().map(|(name, value)| (name, value)))
            }
            Self::Vocabulary(vocabulary) => {
                let mut tokens: Vec<(&str, u32)> = vocabulary.tokens().collect();
                tokens.sort_by_key(|(_, id)| *id);
                serializer.collect_map(tokens)
            }
            Self::Merges(bpe) => serializer.collect_seq(bpe.merge_texts()),
            Self::Pieces(unigram) => {
                let text = |id| unigram.vocabulary().text(id).unwrap_or_default();
                let pieces = (0..).zip(unigram.scores());
                serializer.collect_seq(pieces.map(|(id, score)| (text(id), score)))
            }
        }
    }
}

/// A value whose objects have their fields in the order of tokenizers.
struct Ordered<'v>(&'v Value);

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(elements) => serializer.collect_seq(elements.iter().map(Ordered)),
            Value::Object(fields) => {
                let fields = in_order(fields).into_iter();
                serializer.collect_map(fields.map(|(name, value)| (name, Ordered(value))))
            }
            other => other.serialize(serializer),
        }
    }
}

fn in_order(fields: &Map<String, Value>) -> Vec<(&str, &Value)> {
    let holds = |order: &&[&str]| fields.keys().all(|name| order.contains(&name.as_str()));
    let order = FIELD_ORDERS.into_iter().find(holds);
    let order = order.unwrap_or(&["type"]);
    let place = |name: &str| order.iter().position(|other| *other == name);
    let mut fields: Vec<(&str, &Value)> = fields
        .iter()
        .map(|(name, value)| (name.as_str(), value))
        .collect();
    fields.sort_by_key(|(name, _)| (place(name).unwrap_or(order.len()), *name));
    fields
}

#[cfg(test)]
mod tests {
    use crate::formats::read_pipeline;

    /// All but the post-processor, for which tokenizers has a form of its own.
    fn around_post_processor(file: &str) -> [&str; 2] {
        let (start, rest) = file.split_once("  \"post_processor\": ").unwrap();
        let (_, end) = rest.split_once("  \"decoder\": ").unwrap();
        [start, end]
    }

    #[test]
    fn a_file_of_tokenizers_is_written_as_it_was_saved() {
        let saved = include_str!("../../../testdata/wordpiece/tokenizer.json");
        let written = read_pipeline(saved.as_bytes()).unwrap();
        let written = String::from_utf8(written.to_tokenizer_json().unwrap()).unwrap();
        assert_eq!(
            around_post_processor(&written),
            around_post_processor(saved)
        );
    }

    #[test]
    fn components_have_their_fields_in_the_order_of_tokenizers() {
        let steps = r#"{"type":"Replace","pattern":{"Regex":"a+"},"content":"b"},{"type":"Strip","strip_left":true,"strip_right":true}"#;
        let model = r#"{"type":"Unigram","unk_id":0,"vocab":[["a",0.0]],"byte_fallback":false}"#;
        let saved = [
            r#"{"version":"1.0","truncation":{"direction":"Right","max_length":5,"strategy":"LongestFirst","stride":0},"#,
            r#""padding":{"strategy":"BatchLongest","direction":"Right","pad_to_multiple_of":null,"pad_id":0,"pad_type_id":0,"#,
            r#""pad_token":"[PAD]"},"added_tokens":[],"normalizer":{"type":"Sequence","normalizers":["#,
            steps,
            r#"]},"pre_tokenizer":{"type":"Split","pattern":{"String":"a"},"behavior":"Isolated","invert":false},"#,
            r#""post_processor":null,"decoder":{"type":"CTC","pad_token":"<pad>","word_delimiter_token":"|","cleanup":true},"#,
            r#""model":"#,
            model,
            "}",
        ];
        let saved = saved.concat();
        let written = read_pipeline(saved.as_bytes()).unwrap();
        let written = String::from_utf8(written.to_tokenizer_json().unwrap()).unwrap();
        let compact = written.replace("\": ", "\":");
        let compact: String = compact.lines().map(str::trim_start).collect();
        assert_eq!(compact, saved);
    }
}
