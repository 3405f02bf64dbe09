//! The vocabulary of a `tokenizer.json`: texts by id, and what the added tokens say about them.
//!
//! Input: the vocabulary and the added tokens of the file, each of which names ids. Output: one
//! entry for each id up to the highest, in a table of pieces with an index by text, which become
//! those of the model. For example, the vocabulary `{"a": 0}` and the added token `<s>` with the id
//! 2 give the texts `a`, none and `<s>`.
//!
//! Cost: linear in the ids, one hash for each text; an id too far above the number of pieces is
//! refused.

use std::collections::{BTreeMap, HashSet};

use super::syntax;
use crate::convert::tokenizer_json::lists::{JsonVocab, ListText};
use crate::convert::tokenizer_json::parse::JsonAddedToken;
use crate::error::ConvertError;
use crate::piece::{MAX_PIECES, PieceId, PieceIndex, PieceKind, PieceTable};
use crate::text::{TextArena, lossy_string};

/// Ids must be below twice the number of pieces plus this number; see [`id_limit`].
const MAX_MISSING_IDS: usize = 1 << 16;

/// Texts by id, and what the added tokens say about them.
pub(super) struct VocabularyEntries {
    /// The text of each id; an empty one for an id without a piece. Scores and kinds are not known
    /// yet.
    pieces: PieceTable,
    /// Whether an id has a piece.
    is_present: Vec<bool>,
    /// The ids that have a piece, by text.
    index: PieceIndex,
    /// The ids of texts of one ASCII character, which merges use most.
    ascii: [Option<PieceId>; 128],
    /// Whether a model can hold all texts.
    is_all_held: bool,
    /// For each id the kind of its added token.
    added: Vec<Option<PieceKind>>,
}

impl VocabularyEntries {
    /// The entries of a file: those of the vocabulary, and the added tokens.
    ///
    /// # Errors
    /// Two texts have one id, or an id is too high.
    pub(super) fn with_added(
        mut self,
        vocab: &JsonVocab<'_>,
        added: &[JsonAddedToken<'_>],
    ) -> Result<Self, ConvertError> {
        let limit = id_limit(vocab.len() + added.len());
        let new = self.new_tokens(added);
        self.add_tokens(&new, limit)?;
        self.added = vec![None; self.len()];
        added.iter().for_each(|token| self.set_added_kind(token));
        Ok(self)
    }

    /// The tokens that the vocabulary does not have; of those with equal texts the first one.
    fn new_tokens<'t>(&self, added: &'t [JsonAddedToken<'t>]) -> Vec<&'t JsonAddedToken<'t>> {
        let mut texts = HashSet::new();
        let is_missing = |token: &&JsonAddedToken<'_>| self.id(&*token.content).is_none();
        let missing = added.iter().filter(is_missing);
        missing
            .filter(|token| texts.insert(&*token.content))
            .collect()
    }

    fn set_added_kind(&mut self, token: &JsonAddedToken<'_>) {
        if let Some(id) = self.id(&*token.content) {
            self.added[id.index()] = Some(token.kind());
        }
    }

    /// The entries of the vocabulary of a file with `added` added tokens.
    ///
    /// # Errors
    /// Two texts have one id, or a text has two, or an id is too high.
    pub(super) fn of_vocabulary(vocab: &JsonVocab<'_>, added: usize) -> Result<Self, ConvertError> {
        if is_in_order(vocab) {
            let pieces = pieces_of(vocab, vocab.ids().map(|(text, _)| Some(text)));
            let is_present = vec![true; pieces.len()];
            return Self::indexed(pieces, is_present);
        }
        let by_id = texts_by_id(vocab, added)?;
        let is_present = by_id.iter().map(Option::is_some).collect();
        Self::indexed(pieces_of(vocab, by_id.iter().copied()), is_present)
    }

    /// Entries with an index of their texts.
    ///
    /// # Errors
    /// Two of the texts are equal.
    fn indexed(pieces: PieceTable, is_present: Vec<bool>) -> Result<Self, ConvertError> {
        let mut index = PieceIndex::with_capacity(pieces.len());
        let mut ascii = [None; 128];
        for id in (0..pieces.len()).filter(|id| is_present[*id]) {
            let text = pieces.text(id);
            if !index.insert(&pieces, id) {
                return Err(listed_twice(text));
            }
            if let [byte @ 0..128] = text {
                ascii[usize::from(*byte)] = Some(PieceId::from_index(id));
            }
        }
        Ok(Self {
            is_all_held: is_all_held(&pieces),
            pieces,
            is_present,
            index,
            ascii,
            added: Vec::new(),
        })
    }

    /// Adds tokens that the vocabulary does not have.
    fn add_tokens(
        &mut self,
        tokens: &[&JsonAddedToken<'_>],
        limit: usize,
    ) -> Result<(), ConvertError> {
        let mut new_texts = BTreeMap::new();
        for token in tokens {
            check_limit(token.id, limit, token.content.as_bytes())?;
            self.add_text(token, &mut new_texts)?;
        }
        if new_texts.is_empty() {
            return Ok(());
        }
        *self = self.with_texts(&new_texts)?;
        Ok(())
    }

    /// Adds the text of a token to the texts by id.
    ///
    /// # Errors
    /// The id has another text.
    fn add_text<'t>(
        &self,
        token: &'t JsonAddedToken<'_>,
        new_texts: &mut BTreeMap<usize, &'t [u8]>,
    ) -> Result<(), ConvertError> {
        let text = token.content.as_bytes();
        let id = token.id as usize;
        let other = new_texts.insert(id, text).or_else(|| self.text(id));
        match other.filter(|other| *other != text) {
            Some(other) => Err(two_texts(token.id, other, text)),
            None => Ok(()),
        }
    }

    /// These entries, with new texts by id.
    fn with_texts(&self, new_texts: &BTreeMap<usize, &[u8]>) -> Result<Self, ConvertError> {
        let new_len = new_texts.last_key_value().map_or(0, |(last, _)| last + 1);
        let ids = 0..self.len().max(new_len);
        let text = |id: usize| new_texts.get(&id).copied().or_else(|| self.text(id));
        let texts: TextArena = ids.clone().map(|id| text(id).unwrap_or_default()).collect();
        let is_present = ids.map(|id| text(id).is_some()).collect();
        Self::indexed(PieceTable::of_texts(texts), is_present)
    }

    /// The number of ids.
    pub(super) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// The text of an id, if it has a piece.
    #[inline]
    pub(super) fn text(&self, id: usize) -> Option<&[u8]> {
        let is_present = *self.is_present.get(id)?;
        is_present.then(|| self.pieces.text(id))
    }

    /// The id of a text.
    #[inline]
    pub(super) fn id(&self, text: impl AsRef<[u8]>) -> Option<PieceId> {
        let text = text.as_ref();
        if let [byte @ 0..128] = text {
            return self.ascii[usize::from(*byte)];
        }
        self.index.get(&self.pieces, text).map(PieceId::new)
    }

    /// The kind that the added tokens give an id.
    pub(super) fn added_kind(&self, id: usize) -> Option<PieceKind> {
        self.added[id]
    }

    pub(super) fn has_byte_piece(&self, byte: u8) -> bool {
        self.id(format!("<0x{byte:02X}>")).is_some()
    }

    /// Whether a model can hold the text of an id. If not, the id gets a stand-in.
    pub(super) fn is_held(&self, id: usize) -> bool {
        let text = || self.text(id).unwrap_or_default();
        self.is_all_held || !text().is_empty() && !has_nul(text())
    }

    /// Whether a text has a NUL, which no piece of a model can contain.
    pub(super) fn has_nul(&self) -> bool {
        has_nul(self.pieces.all_texts())
    }

    /// The pieces of a model, whose scores and kinds are not known yet, and their index. Ids
    /// without a text that a model can hold have a stand-in.
    pub(super) fn into_pieces(self) -> (PieceTable, PieceIndex) {
        if self.is_all_held {
            return (self.pieces, self.index);
        }
        let pieces = PieceTable::of_texts(self.held_texts());
        let index = PieceIndex::new(&pieces, 0..pieces.len());
        (pieces, index)
    }

    /// The texts by id, with stand-ins for those that a model cannot hold.
    fn held_texts(&self) -> TextArena {
        let mut texts = TextArena::default();
        for id in 0..self.len() {
            match self.is_held(id) {
                true => texts.push(self.pieces.text(id)),
                false => texts.push(self.stand_in(id).as_bytes()),
            }
        }
        texts
    }

    /// A text for an id; no piece has it.
    fn stand_in(&self, id: usize) -> String {
        self.new_text(format!("<unused id {id}>"))
    }

    /// A text that no piece has: `text`, with underscores behind it if it needs them.
    pub(super) fn new_text(&self, text: impl Into<String>) -> String {
        let mut text = text.into();
        while self.id(&text).is_some() {
            text.push('_');
        }
        text
    }
}

/// The first id that is too far above the number of pieces.
fn id_limit(pieces: usize) -> usize {
    (pieces * 2 + MAX_MISSING_IDS).min(MAX_PIECES)
}

/// Whether the positions of the entries are their ids, as in most files.
fn is_in_order(vocab: &JsonVocab<'_>) -> bool {
    vocab.len() <= MAX_PIECES
        && vocab
            .ids()
            .zip(0..)
            .all(|((_, id), position)| id == position)
}

/// The texts of a vocabulary by id.
///
/// # Errors
/// Two texts have one id, or an id is too high.
fn texts_by_id(vocab: &JsonVocab<'_>, added: usize) -> Result<Vec<Option<ListText>>, ConvertError> {
    let limit = id_limit(vocab.len() + added);
    let mut by_id = Vec::with_capacity(vocab.len() + added);
    for (text, id) in vocab.ids() {
        check_limit(id, limit, vocab.text(text))?;
        let index = id as usize;
        if index >= by_id.len() {
            by_id.resize(index + 1, None);
        }
        if let Some(other) = by_id[index].replace(text) {
            return Err(two_texts(id, vocab.text(other), vocab.text(text)));
        }
    }
    Ok(by_id)
}

/// A table of the texts with these ids.
fn pieces_of(
    vocab: &JsonVocab<'_>,
    by_id: impl Iterator<Item = Option<ListText>> + Clone,
) -> PieceTable {
    let bytes = by_id.clone().flatten().map(ListText::len).sum();
    let mut texts = TextArena::with_capacity(vocab.len() + 1, bytes);
    for text in by_id {
        texts.push(text.map_or(&[], |text| vocab.text(text)));
    }
    PieceTable::of_texts(texts)
}

/// Refuses an id far above the number of pieces.
fn check_limit(id: u32, limit: usize, text: &[u8]) -> Result<(), ConvertError> {
    match (id as usize) < limit {
        true => Ok(()),
        false => Err(id_too_high(id, text)),
    }
}

fn id_too_high(id: u32, text: &[u8]) -> ConvertError {
    let text = lossy_string(text);
    syntax(format!(
        "the id {id} of {text:?} is far above the number of pieces"
    ))
}

fn listed_twice(text: &[u8]) -> ConvertError {
    let text = lossy_string(text);
    syntax(format!("the vocabulary has {text:?} twice"))
}

/// The error that two texts have one id.
fn two_texts(id: u32, first: &[u8], second: &[u8]) -> ConvertError {
    let [first, second] = [first, second].map(lossy_string);
    syntax(format!("{first:?} and {second:?} have the id {id}"))
}

/// Whether a model can hold all of these texts.
fn is_all_held(pieces: &PieceTable) -> bool {
    let mut ids = 0..pieces.len();
    ids.all(|id| !pieces.text(id).is_empty()) && !has_nul(pieces.all_texts())
}

fn has_nul(text: &[u8]) -> bool {
    memchr::memchr(0, text).is_some()
}
