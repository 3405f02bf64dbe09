//! The parts of a `tokenizer.json`, borrowed from its text unless they have escapes.
//!
//! Components are values, which their readers check. A vocabulary is an object of texts and ids, or a
//! list of texts and scores; a merge is a text with one space in it, or a list of two texts.
//!
//! Objects and lists may be nested 128 deep (the limit of `serde_json`).

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::formats::error::json_error;
use crate::formats::{FileFormat, FormatError, TokenRoles};

/// A text that is borrowed if it can be.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::formats) struct JsonText<'j>(pub(in crate::formats) Cow<'j, str>);

impl Deref for JsonText<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'j, 'j> Deserialize<'de> for JsonText<'j> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor)
    }
}

struct TextVisitor;

impl<'j> Visitor<'j> for TextVisitor {
    type Value = JsonText<'j>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'j str) -> Result<JsonText<'j>, E> {
        Ok(JsonText(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<JsonText<'j>, E> {
        Ok(JsonText(Cow::Owned(text.to_owned())))
    }
}

/// What a `tokenizer.json` says of a pipeline.
#[derive(Debug, Default, serde::Deserialize)]
pub(in crate::formats) struct JsonPipeline<'j> {
    #[serde(default)]
    pub(in crate::formats) version: Option<String>,
    #[serde(default, deserialize_with = "component")]
    pub(in crate::formats) truncation: Option<Value>,
    #[serde(default, deserialize_with = "component")]
    pub(in crate::formats) padding: Option<Value>,
    #[serde(borrow, default)]
    pub(in crate::formats) added_tokens: Vec<JsonAddedToken<'j>>,
    #[serde(default, deserialize_with = "component")]
    pub(in crate::formats) normalizer: Option<Value>,
    #[serde(default, deserialize_with = "component")]
    pub(in crate::formats) pre_tokenizer: Option<Value>,
    #[serde(default, deserialize_with = "component")]
    pub(in crate::formats) post_processor: Option<Value>,
    #[serde(default, deserialize_with = "component")]
    pub(in crate::formats) decoder: Option<Value>,
    /// In files of version 2.0.
    #[serde(default)]
    pub(in crate::formats) role_to_token: Option<TokenRoles>,
    #[serde(borrow)]
    pub(in crate::formats) model: JsonModel<'j>,
}

impl<'j> JsonPipeline<'j> {
    /// The fields of the text of a file.
    pub(super) fn parse(json: &'j str) -> Result<Self, FormatError> {
        serde_json::from_str(json).map_err(|error| json_error(FileFormat::TokenizerJson, &error))
    }
}

/// Values, fields and elements of a component; values take up to a hundred times the bytes of their text.
const MAX_VALUES: usize = 1 << 18;

/// A component, unless it has too many values. They are counted in its text, with what looks like them
/// in texts.
fn component<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    let Some(json) = Option::<&RawValue>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let json = json.get();
    let values = json.bytes().filter(|byte| b"{[,".contains(byte)).count();
    if values > MAX_VALUES {
        let problem = format!("a component has {values} values; {MAX_VALUES} are allowed");
        return Err(D::Error::custom(problem));
    }
    serde_json::from_str(json)
        .map(Some)
        .map_err(D::Error::custom)
}

/// An added token.
#[derive(Debug, serde::Deserialize)]
pub(in crate::formats) struct JsonAddedToken<'j> {
    pub(in crate::formats) id: u32,
    #[serde(borrow)]
    pub(in crate::formats) content: JsonText<'j>,
    #[serde(default)]
    pub(in crate::formats) single_word: bool,
    #[serde(default)]
    pub(in crate::formats) lstrip: bool,
    #[serde(default)]
    pub(in crate::formats) rstrip: bool,
    #[serde(default)]
    pub(in crate::formats) normalized: bool,
    #[serde(default)]
    pub(in crate::formats) special: bool,
}

/// The model.
#[derive(Debug, Default, serde::Deserialize)]
pub(in crate::formats) struct JsonModel<'j> {
    #[serde(borrow, default, rename = "type")]
    pub(in crate::formats) kind: Option<JsonText<'j>>,
    #[serde(default)]
    pub(in crate::formats) dropout: Option<f32>,
    #[serde(borrow, default)]
    pub(in crate::formats) unk_token: Option<JsonText<'j>>,
    #[serde(default)]
    pub(in crate::formats) unk_id: Option<u32>,
    #[serde(borrow, default)]
    pub(in crate::formats) continuing_subword_prefix: Option<JsonText<'j>>,
    #[serde(default)]
    pub(in crate::formats) max_input_chars_per_word: Option<u64>,
    #[serde(borrow, default)]
    pub(in crate::formats) end_of_word_suffix: Option<JsonText<'j>>,
    #[serde(default)]
    pub(in crate::formats) fuse_unk: Option<bool>,
    #[serde(default)]
    pub(in crate::formats) byte_fallback: Option<bool>,
    #[serde(default)]
    pub(in crate::formats) ignore_merges: Option<bool>,
    #[serde(default)]
    pub(in crate::formats) byte_level: Option<bool>,
    #[serde(borrow, default)]
    pub(in crate::formats) vocab: Option<JsonVocab<'j>>,
    #[serde(borrow, default)]
    pub(in crate::formats) merges: JsonMerges<'j>,
}

/// The vocabulary, in the order of the file.
#[derive(Debug)]
pub(in crate::formats) enum JsonVocab<'j> {
    /// Texts and ids.
    Ids(Vec<(JsonText<'j>, u32)>),
    /// Texts and scores; the position is the id.
    Scores(Vec<(JsonText<'j>, f64)>),
}

impl JsonVocab<'_> {
    /// The number of entries.
    pub(in crate::formats) fn len(&self) -> usize {
        match self {
            Self::Ids(entries) => entries.len(),
            Self::Scores(entries) => entries.len(),
        }
    }

    /// The texts and ids, in the order of the file.
    pub(in crate::formats) fn ids(&self) -> impl Iterator<Item = (&str, u32)> {
        let (ids, scores) = match self {
            Self::Ids(ids) => (&ids[..], &[][..]),
            Self::Scores(scores) => (&[][..], &scores[..]),
        };
        let ids = ids.iter().map(|(text, id)| (&**text, *id));
        ids.chain(scores.iter().map(|(text, _)| &**text).zip(0..))
    }

    /// The scores, by id; empty if the vocabulary has ids.
    pub(super) fn scores(&self) -> impl Iterator<Item = f64> {
        let scores = match self {
            Self::Scores(scores) => &scores[..],
            Self::Ids(_) => &[],
        };
        scores.iter().map(|(_, score)| *score)
    }
}

impl<'de: 'j, 'j> Deserialize<'de> for JsonVocab<'j> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(VocabVisitor)
    }
}

struct VocabVisitor;

impl<'j> Visitor<'j> for VocabVisitor {
    type Value = JsonVocab<'j>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of texts and ids, or a list of texts and scores")
    }

    fn visit_map<A: MapAccess<'j>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(JsonVocab::Ids(entries))
    }

    fn visit_seq<A: SeqAccess<'j>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = list.next_element()? {
            entries.push(entry);
        }
        Ok(JsonVocab::Scores(entries))
    }
}

/// The merges: the two texts of each.
#[derive(Debug, Default, serde::Deserialize)]
pub(in crate::formats) struct JsonMerges<'j>(#[serde(borrow)] Option<Vec<JsonMerge<'j>>>);

impl<'j> JsonMerges<'j> {
    pub(in crate::formats) fn new(merges: impl IntoIterator<Item = [JsonText<'j>; 2]>) -> Self {
        Self(Some(merges.into_iter().map(JsonMerge).collect()))
    }

    /// Whether the file has a list of merges.
    pub(super) fn is_given(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[JsonText<'j>; 2]> {
        self.0.iter().flatten().map(|merge| &merge.0)
    }
}

#[derive(Debug)]
struct JsonMerge<'j>([JsonText<'j>; 2]);

impl<'de: 'j, 'j> Deserialize<'de> for JsonMerge<'j> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MergeVisitor)
    }
}

struct MergeVisitor;

impl MergeVisitor {
    /// The parts of a merge that is one text.
    fn parts<E: Error>(text: &str) -> Result<[&str; 2], E> {
        let mut parts = text.split(' ');
        match [parts.next(), parts.next(), parts.next()] {
            [Some(left), Some(right), None] => Ok([left, right]),
            _ => Err(E::custom(format_args!(
                "the merge {text:?} does not have two parts"
            ))),
        }
    }
}

impl<'j> Visitor<'j> for MergeVisitor {
    type Value = JsonMerge<'j>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text with one space, or a list of two texts")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'j str) -> Result<Self::Value, E> {
        let parts = Self::parts(text)?;
        Ok(JsonMerge(parts.map(|part| JsonText(Cow::Borrowed(part)))))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        let parts = Self::parts(text)?;
        Ok(JsonMerge(
            parts.map(|part| JsonText(Cow::Owned(part.to_owned()))),
        ))
    }

    fn visit_seq<A: SeqAccess<'j>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let (Some(left), Some(right)) = (list.next_element()?, list.next_element()?) else {
            return Err(A::Error::invalid_length(1, &self));
        };
        Ok(JsonMerge([left, right]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_borrowed_unless_they_have_escapes() {
        let json = r#"{"added_tokens": [{"id": 0, "content": "a"}, {"id": 1, "content": "\u0062"}],
            "normalizer": null, "decoder": {"type": "Fuse"}, "model": {"type": "BPE", "vocab": null}}"#;
        let tokens = JsonPipeline::parse(json).unwrap().added_tokens;
        assert!(matches!(tokens[0].content.0, Cow::Borrowed("a")));
        assert!(matches!(&tokens[1].content.0, Cow::Owned(text) if text == "b"));
    }

    #[test]
    fn lists_have_both_forms_and_escapes() {
        let json = r#"{"vocab": [1], "model" : {"a": {"merges": 1}, "voc\u0061b" :[["\n", -1.5e0]],
            "merges": ["a b", ["\u0062", ""], "\u0061 c"]}, "x": "{"}"#;
        let file = JsonPipeline::parse(json).unwrap();
        let vocab = file.model.vocab.as_ref().unwrap();
        assert!(vocab.scores().eq([-1.5]));
        assert!(vocab.ids().eq([("\n", 0)]));
        let merges = file.model.merges.iter();
        let merges: Vec<[&str; 2]> = merges.map(|[left, right]| [&**left, &**right]).collect();
        assert_eq!(merges, [["a", "b"], ["b", ""], ["a", "c"]]);
        let json = r#"{"model": {"vocab": {"a": 0, "\u0062": 1}}}"#;
        let file = JsonPipeline::parse(json).unwrap();
        assert!(file.model.vocab.unwrap().ids().eq([("a", 0), ("b", 1)]));
    }

    #[test]
    fn lists_of_other_values_and_second_lists_are_refused() {
        for model in [
            r#"{"vocab": {"a": "b"}}"#,
            r#"{"vocab": {"a": 1,}}"#,
            r#"{"vocab": {"a": -1}}"#,
            r#"{"vocab": {"a": 4294967296}}"#,
            r#"{"vocab": {"a" 1}}"#,
            r#"{"vocab": [["a", 1, 2]]}"#,
            r#"{"vocab": [["a", nan]]}"#,
            r#"{"vocab": "a"}"#,
            r#"{"merges": ["ab"]}"#,
            r#"{"merges": ["a b c"]}"#,
            r#"{"merges": [["a"]]}"#,
            r#"{"merges": [["a", "b", "c"]]}"#,
            r#"{"merges": ["a b" "a b"]}"#,
            r#"{"merges": ["\x b"]}"#,
            r#"{"merges": ["a b""#,
            r#"{"vocab": null, "vocab": null}"#,
            r#"{"merges": null, "merges": null}"#,
        ] {
            let json = format!(r#"{{"model": {model}}}"#);
            assert!(JsonPipeline::parse(&json).is_err(), "{json}");
        }
    }

    #[test]
    fn deep_nesting_is_refused() {
        let deep = "{\"type\": \"Sequence\", \"normalizers\": [".repeat(200);
        let json = format!("{{\"normalizer\": {deep}");
        assert!(JsonPipeline::parse(&json).is_err());
    }
}
