//! The vocabulary of a `tokenizer.json`: texts by id, and what the added tokens say about them.
//!
//! Input: the vocabulary and the added tokens of the file, each of which names ids. Output: one entry for each id up to the
//! highest. For example, the vocabulary `{"a": 0}` and the added token `<s>` with the id 2 give the texts `a`, none and `<s>`.
//!
//! Cost: linear in the ids; an id too far above the number of pieces is refused.

use std::borrow::Cow;
use std::hash::{BuildHasher as _, Hasher as _};

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::syntax;
use crate::convert::tokenizer_json::parse::{JsonAddedToken, JsonFile, JsonVocab};
use crate::error::ConvertError;
use crate::piece::PieceKind;

/// Ids may be so far above the number of pieces.
const MAX_MISSING_IDS: usize = 1 << 16;

/// Texts by id, and what the added tokens say about them.
pub(super) struct VocabularyEntries<'f> {
    /// The text of each id; `None` for an id without a piece.
    pub(super) texts: Vec<Option<&'f str>>,
    /// The ids, by the hashes of their texts.
    ids: HashTable<u32>,
    hasher: RandomState,
    /// The ids of texts of one ASCII character, which merges use most.
    ascii: [Option<u32>; 128],
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
            ids: HashTable::with_capacity(vocab + added.len()),
            hasher: RandomState::default(),
            ascii: [None; 128],
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
        if !self.add_to_index(text, id) {
            return Err(syntax(format!("the vocabulary has {text:?} twice")));
        }
        Ok(())
    }

    /// Makes a text that has an id findable; false if the text has another id already.
    fn add_to_index(&mut self, text: &str, id: u32) -> bool {
        let VocabularyEntries {
            texts, ids, hasher, ..
        } = self;
        let is_same = |other: &u32| texts[*other as usize] == Some(text);
        let rehash = |id: &u32| hash(hasher, texts[*id as usize].unwrap_or_default());
        match ids.entry(hash(hasher, text), is_same, rehash) {
            Entry::Occupied(_) => return false,
            Entry::Vacant(entry) => entry.insert(id),
        };
        if let [byte @ 0..128] = text.as_bytes() {
            self.ascii[usize::from(*byte)] = Some(id);
        }
        true
    }

    /// The id of a text.
    pub(super) fn id(&self, text: &str) -> Option<u32> {
        if let [byte @ 0..128] = text.as_bytes() {
            return self.ascii[usize::from(*byte)];
        }
        let is_same = |id: &u32| self.texts[*id as usize] == Some(text);
        self.ids.find(hash(&self.hasher, text), is_same).copied()
    }

    fn add_token(
        &mut self,
        token: &'f JsonAddedToken<'_>,
        limit: usize,
    ) -> Result<(), ConvertError> {
        let text = token.content.as_str();
        let id = match self.id(text) {
            Some(id) => id,
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
    pub(super) fn text_or_stand_in(&self, id: usize) -> Cow<'f, str> {
        match self.texts[id] {
            Some(text) if !text.is_empty() && !has_nul(text) => Cow::Borrowed(text),
            _ => {
                let mut text = format!("<unused id {id}>");
                while self.id(&text).is_some() {
                    text.push('_');
                }
                Cow::Owned(text)
            }
        }
    }
}

/// Whether a text has a NUL, which no piece of a model can contain.
pub(super) fn has_nul(text: &str) -> bool {
    memchr::memchr(0, text.as_bytes()).is_some()
}

#[inline]
fn hash(hasher: &RandomState, text: &str) -> u64 {
    let mut hasher = hasher.build_hasher();
    hasher.write(text.as_bytes());
    hasher.finish()
}
