//! The vocabulary of a `tokenizer.json`: texts by id, and what the added tokens say about them.
//!
//! For example, the vocabulary `{"a": 0}` and the added token `<s>` with the id 2 give the texts
//! `a`, none and `<s>`.

use std::collections::HashMap;

use super::syntax;
use crate::byte_bpe::SpecialToken;
use crate::formats::FormatError;
use crate::piece::{MAX_PIECES, PieceId, PieceKind};
use crate::pipeline::PipelineModel;

/// Ids must be below twice the number of pieces plus this number.
const MAX_MISSING_IDS: usize = 1 << 16;

/// Texts by id, and what the added tokens say about them.
pub(super) struct VocabularyEntries<'f> {
    texts: Vec<Option<&'f str>>,
    ids: HashMap<&'f str, PieceId>,
    /// For each id the kind of its added token.
    added: Vec<Option<PieceKind>>,
    /// The first id that is too far above the number of pieces.
    limit: usize,
}

impl<'f> VocabularyEntries<'f> {
    /// The entries of the vocabulary, and the added tokens that it does not have.
    ///
    /// # Errors
    /// Two texts have one id, or a text of a list has two, or an id is too high.
    pub(super) fn new(
        model: &'f PipelineModel,
        added: &'f [SpecialToken],
    ) -> Result<Self, FormatError> {
        let vocabulary = model.vocabulary();
        if let PipelineModel::Unigram(unigram) = model
            && unigram.scores().len() > vocabulary.len()
        {
            return Err(syntax("the vocabulary has a piece twice"));
        }
        let count = vocabulary.len() + added.len();
        let mut entries = Self {
            texts: Vec::with_capacity(count),
            ids: HashMap::with_capacity(count),
            added: Vec::new(),
            limit: (count * 2 + MAX_MISSING_IDS).min(MAX_PIECES),
        };
        for (text, id) in vocabulary.tokens() {
            entries.insert(text, id)?;
        }
        for token in added {
            if !entries.ids.contains_key(&*token.text) {
                entries.insert(&token.text, token.id)?;
            }
        }
        entries.added = vec![None; entries.len()];
        for token in added {
            let id = entries.ids[&*token.text];
            entries.added[id.index()] = Some(match token.special {
                true => PieceKind::Control,
                false => PieceKind::UserDefined,
            });
        }
        Ok(entries)
    }

    fn insert(&mut self, text: &'f str, id: u32) -> Result<(), FormatError> {
        let index = id as usize;
        if index >= self.limit {
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
        self.ids.insert(text, PieceId::new(id));
        Ok(())
    }

    /// The number of ids.
    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    /// The text of an id, if it has a piece.
    pub(super) fn text(&self, id: usize) -> Option<&'f str> {
        *self.texts.get(id)?
    }

    /// The id of a text.
    pub(super) fn id(&self, text: &str) -> Option<PieceId> {
        self.ids.get(text).copied()
    }

    /// The kind that the added tokens give an id.
    pub(super) fn added_kind(&self, id: usize) -> Option<PieceKind> {
        self.added[id]
    }

    /// The text of an id if a model can hold it.
    pub(super) fn held_text(&self, id: usize) -> Option<&'f str> {
        let text = self.text(id)?;
        (!text.is_empty() && !text.contains('\0')).then_some(text)
    }

    /// Whether a text has a NUL, which no piece of a model can contain.
    pub(super) fn has_nul(&self) -> bool {
        self.texts.iter().flatten().any(|text| text.contains('\0'))
    }

    /// A text that no piece has: `text`, with underscores at its end if it needs them.
    pub(super) fn new_text(&self, mut text: String) -> String {
        while self.id(&text).is_some() {
            text.push('_');
        }
        text
    }
}
