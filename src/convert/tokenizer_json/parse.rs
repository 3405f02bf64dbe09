//! What a `tokenizer.json` has besides its two long lists, as parts that borrow from its text.
//!
//! Input: the rest of a file that [`lists`](super::lists) leaves. Output: [`JsonFile`]. Texts are
//! borrowed unless they have escapes. Fields that do not change ids, such as the decoder, are
//! skipped. Only the types of the fields are checked. Example: `{"added_tokens": [], "model":
//! {"type": "BPE", "vocab": null}}` has no normalizer, and a model of the type `BPE`.
//!
//! Limits: objects and lists may be nested 128 deep (the limit of `serde_json`). Memory: an empty
//! component takes 58 times its bytes in the file (measured, with a list that grows).
//!
//! Cost: linear.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, Visitor};

use crate::piece::PieceKind;

/// A text that is borrowed if it can be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JsonText<'j>(pub(super) Cow<'j, str>);

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

impl<'j> JsonFile<'j> {
    pub(super) fn parse(json: &'j str) -> serde_json::Result<Self> {
        serde_json::from_str(json)
    }

    /// The added tokens; none if the file has no list of them.
    pub(super) fn tokens(&self) -> &[JsonAddedToken<'j>] {
        self.added_tokens.as_deref().unwrap_or_default()
    }

    /// The added tokens that are not special, which become user-defined symbols.
    pub(super) fn symbols(&self) -> Vec<&JsonAddedToken<'j>> {
        let tokens = self.tokens().iter();
        tokens.filter(|token| !token.special).collect()
    }
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

impl JsonAddedToken<'_> {
    /// The kind of its piece.
    pub(super) fn kind(&self) -> PieceKind {
        match self.special {
            true => PieceKind::Control,
            false => PieceKind::UserDefined,
        }
    }
}

/// A normalizer or a pre-tokenizer: the fields of all types that are supported.
#[derive(Debug, serde::Deserialize)]
pub(super) struct JsonComponent<'j> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: JsonText<'j>,
    #[serde(borrow, default, alias = "pretokenizers")]
    pub(super) normalizers: Option<Vec<Self>>,
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

impl JsonPattern<'_> {
    /// The text or the regular expression.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::String(text) | Self::Regex(text) => text,
        }
    }
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
    /// Read by `lists`; here, only a second one is refused.
    #[serde(default)]
    #[expect(dead_code, reason = "read by `lists`")]
    vocab: Option<IgnoredAny>,
    #[serde(default)]
    #[expect(dead_code, reason = "read by `lists`")]
    merges: Option<IgnoredAny>,
}

impl JsonModel<'_> {
    pub(super) fn has_dropout(&self) -> bool {
        self.dropout.is_some_and(|dropout| dropout > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_borrowed_unless_they_have_escapes() {
        let json = r#"{"added_tokens": [{"id": 0, "content": "a"}, {"id": 1, "content": "\u0062"}],
            "normalizer": null, "decoder": {"type": "Fuse"}, "model": {"type": "BPE", "vocab": null}}"#;
        let file: JsonFile<'_> = serde_json::from_str(json).unwrap();
        let tokens = file.added_tokens.unwrap();
        assert!(matches!(tokens[0].content.0, Cow::Borrowed("a")));
        assert!(matches!(&tokens[1].content.0, Cow::Owned(text) if text == "b"));
    }

    #[test]
    fn a_second_list_is_refused() {
        for list in ["vocab", "merges"] {
            let json = format!(r#"{{"model": {{"{list}": null, "{list}": null}}}}"#);
            assert!(serde_json::from_str::<JsonFile<'_>>(&json).is_err());
        }
    }

    #[test]
    fn deep_nesting_is_refused() {
        let deep = "{\"type\": \"Sequence\", \"normalizers\": [".repeat(200);
        let json = format!("{{\"normalizer\": {deep}");
        assert!(serde_json::from_str::<JsonFile<'_>>(&json).is_err());
    }
}
