//! Pieces: their ids, kinds and scores, and the table that holds their texts in one arena.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::hash_table::{Entry, HashTable};

/// The largest number of pieces of a model; files with more are refused. Ids of 27 bits leave five bits for
/// the position of a merge in one word of 32 bits (see `encode/bpe`). No known model has more than 2^19 pieces.
pub(crate) const MAX_PIECES: usize = 1 << 27;

/// The number of a piece in its model, from 0.
///
/// ```
/// use spiece::PieceId;
///
/// let id = PieceId::new(15043);
/// assert_eq!(u32::from(id), 15043);
/// assert_eq!(id.to_string(), "15043");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PieceId(u32);

impl PieceId {
    /// The id with this number. Whether a model has such a piece is for the model to say.
    pub const fn new(number: u32) -> PieceId {
        PieceId(number)
    }

    /// The number of the id.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The id of the piece at `index` of a [`PieceTable`], which has at most [`MAX_PIECES`] pieces once its model
    /// was made.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "an index of a piece is below MAX_PIECES"
    )]
    pub(crate) fn from_index(index: usize) -> PieceId {
        debug_assert!(index < MAX_PIECES, "{index} is no index of a piece");
        PieceId(index as u32)
    }

    /// The id as an index.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl From<PieceId> for u32 {
    fn from(id: PieceId) -> u32 {
        id.0
    }
}

impl From<u32> for PieceId {
    fn from(number: u32) -> PieceId {
        PieceId(number)
    }
}

impl std::fmt::Display for PieceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// What a piece is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum PieceKind {
    /// A part of text.
    #[default]
    Normal,
    /// Stands for whatever is no piece.
    Unknown,
    /// Never comes from text: `<s>`, `</s>`, ...
    Control,
    /// Always cut out of text whole.
    UserDefined,
    /// Kept for its id alone.
    Unused,
    /// One byte of a character that is no piece.
    Byte,
}

/// Texts, scores and kinds of all pieces, by id. The texts are in one arena.
#[derive(Clone, Default)]
pub(crate) struct PieceTable {
    texts: Vec<u8>,
    ends: Vec<usize>,
    scores: Vec<f32>,
    kinds: Vec<PieceKind>,
}

impl PieceTable {
    /// An empty table with room for so many pieces, and so many bytes of text.
    pub(crate) fn with_capacity(pieces: usize, bytes: usize) -> PieceTable {
        PieceTable {
            texts: Vec::with_capacity(bytes),
            ends: Vec::with_capacity(pieces),
            scores: Vec::with_capacity(pieces),
            kinds: Vec::with_capacity(pieces),
        }
    }

    pub(crate) fn push(&mut self, text: &[u8], score: f32, kind: PieceKind) {
        self.texts.extend_from_slice(text);
        self.ends.push(self.texts.len());
        self.scores.push(score);
        self.kinds.push(kind);
    }

    /// Makes every piece with this text an unused one.
    pub(crate) fn retire_text(&mut self, text: &[u8]) {
        // Most models have none, and one search through everything shows it soonest.
        if memchr::memmem::find(&self.texts, text).is_none() {
            return;
        }
        for index in 0..self.len() {
            if self.text(index) == text {
                self.kinds[index] = PieceKind::Unused;
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The text of piece `index`, which need not be UTF-8.
    pub(crate) fn text(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.texts[start..self.ends[index]]
    }

    /// The texts of all pieces, one behind the other.
    pub(crate) fn all_texts(&self) -> &[u8] {
        &self.texts
    }

    pub(crate) fn score(&self, index: usize) -> f32 {
        self.scores[index]
    }

    pub(crate) fn kind(&self, index: usize) -> PieceKind {
        self.kinds[index]
    }
}

impl std::fmt::Debug for PieceTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PieceTable({} pieces)", self.len())
    }
}

/// Finds pieces by their text. It holds ids only; the texts stay in the table that is passed along.
#[derive(Clone, Default)]
pub(crate) struct PieceIndex {
    ids: HashTable<u32>,
    hasher: RandomState,
}

impl PieceIndex {
    /// An index of the pieces with these ids. Of equal texts the first one counts.
    pub(crate) fn new(pieces: &PieceTable, ids: impl Iterator<Item = usize>) -> PieceIndex {
        let mut index = PieceIndex::with_capacity(pieces.len());
        for id in ids {
            index.insert(pieces, id);
        }
        index
    }

    /// An index of no pieces, with room for some.
    pub(crate) fn with_capacity(pieces: usize) -> PieceIndex {
        PieceIndex {
            ids: HashTable::with_capacity(pieces),
            hasher: RandomState::default(),
        }
    }

    /// Adds piece `id`; false if there is one with its text.
    pub(crate) fn insert(&mut self, pieces: &PieceTable, id: usize) -> bool {
        let PieceIndex { ids, hasher } = self;
        let text = pieces.text(id);
        let number = PieceId::from_index(id).get();
        let is_same = |other: &u32| pieces.text(*other as usize) == text;
        match ids.entry(hasher.hash_one(text), is_same, |id| {
            hasher.hash_one(pieces.text(*id as usize))
        }) {
            Entry::Occupied(_) => false,
            Entry::Vacant(entry) => {
                entry.insert(number);
                true
            }
        }
    }

    /// The piece with this text.
    pub(crate) fn get(&self, pieces: &PieceTable, text: &[u8]) -> Option<u32> {
        self.ids
            .find(self.hasher.hash_one(text), |id| {
                pieces.text(*id as usize) == text
            })
            .copied()
    }
}

impl std::fmt::Debug for PieceIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PieceIndex({} pieces)", self.ids.len())
    }
}
