//! A `tokenizer.json` as parts that borrow from its bytes.
//!
//! Input: bytes. Output: [`JsonFile`]. Texts are borrowed unless they have escapes. Fields that do not change ids, such as the
//! decoder, are skipped. Nothing is checked but the types of the fields.
//!
//! Limits: lists of components may be nested 128 times (the limit of `serde_json`). Memory: an entry of the vocabulary or of the
//! merges takes at most 24 times its bytes in the file (measured, with a list that grows), an empty component 58 times.
//!
//! Cost: linear.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A text that is borrowed if it can be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JsonText<'j>(pub(super) Cow<'j, str>);

impl JsonText<'_> {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de: 'j, 'j> Deserialize<'de> for JsonText<'j> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JsonText<'j>, D::Error> {
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

/// The file.
#[derive(Debug, serde::Deserialize)]
pub(super) struct JsonFile<'j> {
    #[serde(default)]
    pub(super) truncation: Option<IgnoredAny>,
    #[serde(default)]
    pub(super) padding: Option<IgnoredAny>,
    #[serde(borrow, default)]
    pub(super) added_tokens: Option<Vec<JsonAddedToken<'j>>>,
    #[serde(borrow, default)]
    pub(super) normalizer: Option<JsonComponent<'j>>,
    #[serde(borrow, default)]
    pub(super) pre_tokenizer: Option<JsonComponent<'j>>,
    #[serde(borrow)]
    pub(super) model: JsonModel<'j>,
}

/// An added token.
#[derive(Debug, serde::Deserialize)]
pub(super) struct JsonAddedToken<'j> {
    pub(super) id: u32,
    #[serde(borrow)]
    pub(super) content: JsonText<'j>,
    #[serde(default)]
    pub(super) single_word: bool,
    #[serde(default)]
    pub(super) lstrip: bool,
    #[serde(default)]
    pub(super) rstrip: bool,
    #[serde(default)]
    pub(super) normalized: bool,
    #[serde(default)]
    pub(super) special: bool,
}

/// A normalizer or a pre-tokenizer: the fields of all types that are supported.
#[derive(Debug, serde::Deserialize)]
pub(super) struct JsonComponent<'j> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: JsonText<'j>,
    #[serde(borrow, default, alias = "pretokenizers")]
    pub(super) normalizers: Option<Vec<JsonComponent<'j>>>,
    #[serde(borrow, default)]
    pub(super) pattern: Option<JsonPattern<'j>>,
    #[serde(borrow, default)]
    pub(super) content: Option<JsonText<'j>>,
    #[serde(borrow, default)]
    pub(super) prepend: Option<JsonText<'j>>,
    #[serde(borrow, default)]
    pub(super) precompiled_charsmap: Option<JsonText<'j>>,
    #[serde(borrow, default)]
    pub(super) replacement: Option<JsonText<'j>>,
    #[serde(borrow, default)]
    pub(super) prepend_scheme: Option<JsonText<'j>>,
    #[serde(default)]
    pub(super) add_prefix_space: Option<bool>,
    #[serde(default)]
    pub(super) split: Option<bool>,
    #[serde(borrow, default)]
    pub(super) behavior: Option<JsonText<'j>>,
    #[serde(default)]
    pub(super) invert: Option<bool>,
}

/// What a component looks for.
#[derive(Debug, serde::Deserialize)]
pub(super) enum JsonPattern<'j> {
    String(#[serde(borrow)] JsonText<'j>),
    Regex(#[serde(borrow)] JsonText<'j>),
}

/// The model.
#[derive(Debug, serde::Deserialize)]
pub(super) struct JsonModel<'j> {
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Option<JsonText<'j>>,
    #[serde(default)]
    pub(super) dropout: Option<f64>,
    #[serde(borrow, default)]
    pub(super) unk_token: Option<JsonText<'j>>,
    #[serde(default)]
    pub(super) unk_id: Option<u32>,
    #[serde(borrow, default)]
    pub(super) continuing_subword_prefix: Option<JsonText<'j>>,
    #[serde(borrow, default)]
    pub(super) end_of_word_suffix: Option<JsonText<'j>>,
    #[serde(default)]
    pub(super) fuse_unk: Option<bool>,
    #[serde(default)]
    pub(super) byte_fallback: Option<bool>,
    #[serde(default)]
    pub(super) ignore_merges: Option<bool>,
    #[serde(borrow)]
    pub(super) vocab: JsonVocab<'j>,
    #[serde(borrow, default)]
    pub(super) merges: Vec<JsonMerge<'j>>,
}

/// The vocabulary, in the order of the file.
#[derive(Debug)]
pub(super) enum JsonVocab<'j> {
    /// Texts and ids.
    Ids(Vec<(JsonText<'j>, u32)>),
    /// Texts and scores; the position is the id.
    Scores(Vec<(JsonText<'j>, f64)>),
}

impl<'de: 'j, 'j> Deserialize<'de> for JsonVocab<'j> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JsonVocab<'j>, D::Error> {
        deserializer.deserialize_any(VocabVisitor)
    }
}

struct VocabVisitor;

impl<'j> Visitor<'j> for VocabVisitor {
    type Value = JsonVocab<'j>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of texts and ids, or a list of texts and scores")
    }

    fn visit_map<A: MapAccess<'j>>(self, mut map: A) -> Result<JsonVocab<'j>, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(JsonVocab::Ids(entries))
    }

    fn visit_seq<A: SeqAccess<'j>>(self, mut list: A) -> Result<JsonVocab<'j>, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = list.next_element()? {
            entries.push(entry);
        }
        Ok(JsonVocab::Scores(entries))
    }
}

/// The two texts of a merge.
#[derive(Debug)]
pub(super) enum JsonMerge<'j> {
    /// Both, with a space between them.
    Line(JsonText<'j>),
    /// One after the other.
    Pair(JsonText<'j>, JsonText<'j>),
}

impl JsonMerge<'_> {
    /// The two texts; `None` for a line that does not have one space.
    pub(super) fn texts(&self) -> Option<(&str, &str)> {
        match self {
            JsonMerge::Pair(left, right) => Some((left.as_str(), right.as_str())),
            JsonMerge::Line(line) => {
                let texts = line.as_str().split_once(' ');
                texts.filter(|(_, right)| !right.contains(' '))
            }
        }
    }
}

impl<'de: 'j, 'j> Deserialize<'de> for JsonMerge<'j> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JsonMerge<'j>, D::Error> {
        deserializer.deserialize_any(MergeVisitor)
    }
}

struct MergeVisitor;

impl<'j> Visitor<'j> for MergeVisitor {
    type Value = JsonMerge<'j>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("two texts with a space between them, or a list of two texts")
    }

    fn visit_borrowed_str<E: Error>(self, line: &'j str) -> Result<JsonMerge<'j>, E> {
        Ok(JsonMerge::Line(JsonText(Cow::Borrowed(line))))
    }

    fn visit_str<E: Error>(self, line: &str) -> Result<JsonMerge<'j>, E> {
        Ok(JsonMerge::Line(JsonText(Cow::Owned(line.to_owned()))))
    }

    fn visit_seq<A: SeqAccess<'j>>(self, mut list: A) -> Result<JsonMerge<'j>, A::Error> {
        let mut next = || {
            list.next_element()?
                .ok_or_else(|| A::Error::invalid_length(1, &self))
        };
        let left = next()?;
        let right = next()?;
        match list.next_element::<IgnoredAny>()? {
            None => Ok(JsonMerge::Pair(left, right)),
            Some(_) => Err(A::Error::invalid_length(3, &self)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_borrowed_unless_they_have_escapes() {
        let json = r#"{"added_tokens": [], "normalizer": null, "decoder": {"type": "Fuse"},
            "model": {"type": "BPE", "vocab": {"a": 0, "\u0062": 1}, "merges": ["a b", ["a", "b"]]}}"#;
        let file: JsonFile<'_> = serde_json::from_str(json).unwrap();
        let JsonVocab::Ids(entries) = &file.model.vocab else {
            panic!("{file:?}");
        };
        assert!(matches!(&entries[0], (JsonText(Cow::Borrowed("a")), 0)));
        assert!(matches!(&entries[1], (JsonText(Cow::Owned(text)), 1) if text == "b"));
        assert!(
            file.model
                .merges
                .iter()
                .all(|merge| merge.texts() == Some(("a", "b")))
        );
    }

    #[test]
    fn deep_nesting_is_refused() {
        let deep = "{\"type\": \"Sequence\", \"normalizers\": [".repeat(200);
        let json = format!("{{\"normalizer\": {deep}");
        assert!(serde_json::from_str::<JsonFile<'_>>(&json).is_err());
    }
}
