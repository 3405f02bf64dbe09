//! The vocabulary of a `tokenizer.json`: texts by id, and what the added tokens say about them.
//!
//! Input: the vocabulary and the added tokens of the file, each of which names ids. Output: one entry for each id up to the
//! highest. For example, the vocabulary `{"a": 0}` and the added token `<s>` with the id 2 give the texts `a`, none and `<s>`.
//!
//! Cost: linear in the ids; an id too far above the number of pieces is refused.

use hashbrown::HashMap;

use super::{TextMap, syntax};
use crate::convert::tokenizer_json::parse::{JsonAddedToken, JsonFile, JsonVocab};
use crate::error::ConvertError;
use crate::piece::PieceKind;

/// Ids may be so far above the number of pieces.
const MAX_MISSING_IDS: usize = 1 << 16;

/// Texts by id, and what the added tokens say about them.
pub(super) struct VocabularyEntries<'f> {
    /// The text of each id; `None` for an id without a piece.
    pub(super) texts: Vec<Option<&'f str>>,
    pub(super) ids: TextMap<'f, u32>,
    /// For each id the flag `special` of its added token.
    pub(super) added: Vec<Option<bool>>,
}

impl<'f> VocabularyEntries<'f> {
    pub(super) fn new(file: &'f JsonFile<'_>) -> Result<VocabularyEntries<'f>, ConvertError> {
        let added = file.added_tokens.as_deref().unwrap_or_default();
        let vocab = match &file.model.vocab {
            JsonVocab::Ids(entries) => entries.len(),
            JsonVocab::Scores(entries) => entries.len(),
        };
        let mut entries = VocabularyEntries {
            texts: Vec::with_capacity(vocab + added.len()),
            ids: HashMap::with_capacity_and_hasher(vocab + added.len(), Default::default()),
            added: Vec::new(),
        };
        let limit = (vocab + added.len()) * 2 + MAX_MISSING_IDS;
        match &file.model.vocab {
            JsonVocab::Ids(pairs) => {
                for (text, id) in pairs {
                    entries.add(text.as_str(), *id, limit)?;
                }
            }
            JsonVocab::Scores(pairs) => {
                for ((text, _), id) in pairs.iter().zip(0..) {
                    entries.add(text.as_str(), id, limit)?;
                }
            }
        }
        for token in added {
            entries.add_token(token, limit)?;
        }
        entries.added.resize(entries.texts.len(), None);
        Ok(entries)
    }

    /// Adds a text with its id.
    fn add(&mut self, text: &'f str, id: u32, limit: usize) -> Result<(), ConvertError> {
        let index = id as usize;
        if index >= limit {
            return Err(syntax(format!(
                "the id {id} of {text:?} is far above the number of pieces"
            )));
        }
        if index >= self.texts.len() {
            self.texts.resize(index + 1, None);
        }
        if let Some(other) = self.texts[index].replace(text) {
            return Err(syntax(format!("{other:?} and {text:?} have the id {id}")));
        }
        if self.ids.insert(text, id).is_some() {
            return Err(syntax(format!("the vocabulary has {text:?} twice")));
        }
        Ok(())
    }

    fn add_token(
        &mut self,
        token: &'f JsonAddedToken<'_>,
        limit: usize,
    ) -> Result<(), ConvertError> {
        let text = token.content.as_str();
        let id = match self.ids.get(text) {
            Some(id) => *id,
            None => {
                self.add(text, token.id, limit)?;
                token.id
            }
        };
        let index = id as usize;
        if index >= self.added.len() {
            self.added.resize(index + 1, None);
        }
        self.added[index] = Some(token.special);
        Ok(())
    }

    /// The kind that the added tokens give an id.
    pub(super) fn added_kind(&self, id: usize) -> Option<PieceKind> {
        let is_special = self.added[id]?;
        Some(if is_special {
            PieceKind::Control
        } else {
            PieceKind::UserDefined
        })
    }

    /// The text of an id; a stand-in for an id without a text that a model can hold.
    pub(super) fn text_or_stand_in(&self, id: usize) -> String {
        match self.texts[id] {
            Some(text) if !text.is_empty() && !text.contains('\0') => text.to_owned(),
            _ => {
                let mut text = format!("<unused id {id}>");
                while self.ids.contains_key(text.as_str()) {
                    text.push('_');
                }
                text
            }
        }
    }
}
