//! The pieces of a model as an encoder sees them.
//!
//! User-defined symbols are found in text only if the caller asks for it. A piece that is a lone
//! NUL is never among them, because the reference leaves it out of its tables.

use std::sync::Arc;

use crate::base::num::low_u32;
use crate::model::Model;
use crate::piece::{PieceHashes, PieceId, PieceKind, PieceTable, TextIndex};

/// The pieces by id, and which of them can be found in text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Vocabulary<'m> {
    model: &'m Model,
    pieces: &'m PieceTable,
    /// Whether user-defined symbols are found in text; if not, their text is ordinary text.
    has_symbols: bool,
    unknown: PieceId,
}

/// The id of unknown text in a model that has a piece for each byte and no unknown piece.
pub(crate) const NO_UNKNOWN: PieceId = PieceId::new(u32::MAX);

impl<'m> Vocabulary<'m> {
    pub(crate) fn new(model: &'m Model, has_symbols: bool) -> Self {
        let pieces = model.table();
        Vocabulary {
            model,
            pieces,
            has_symbols,
            unknown: unknown_id(pieces),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// As [`Self::len`]: a model has at most [`MAX_PIECES`](crate::piece::MAX_PIECES) pieces.
    pub(crate) fn len_u32(&self) -> u32 {
        low_u32(self.len() as u64)
    }

    pub(crate) fn text(&self, id: usize) -> &'m [u8] {
        self.pieces.text(id)
    }

    pub(crate) fn score(&self, id: usize) -> f32 {
        self.pieces.score(id)
    }

    pub(crate) fn kind(&self, id: usize) -> PieceKind {
        self.pieces.kind(id)
    }

    pub(crate) fn table(&self) -> &'m PieceTable {
        self.pieces
    }

    /// The id of unknown text.
    pub(crate) fn unknown(&self) -> PieceId {
        self.unknown
    }

    /// Whether the piece can be found in text, unused pieces included.
    #[inline]
    pub(crate) fn is_from_text(&self, id: usize) -> bool {
        match self.kind(id) {
            PieceKind::Normal => true,
            PieceKind::UserDefined => self.has_symbols,
            // No other piece may be a NUL.
            PieceKind::Unused => !self.is_nul(id),
            PieceKind::Unknown | PieceKind::Control | PieceKind::Byte => false,
        }
    }

    /// Whether the piece is a single NUL.
    #[cold]
    fn is_nul(&self, id: usize) -> bool {
        self.text(id) == [0]
    }

    /// Whether each piece is a user-defined symbol; empty if none is, as in most models.
    pub(crate) fn symbol_flags(&self) -> Vec<bool> {
        self.flags(PieceKind::UserDefined)
    }

    /// Whether each piece is unused and takes part in merges; empty if no piece does.
    pub(crate) fn unused_flags(&self) -> Vec<bool> {
        self.flags(PieceKind::Unused)
    }

    /// Whether each piece is of this kind and no single NUL; empty if none is.
    fn flags(&self, kind: PieceKind) -> Vec<bool> {
        let is_flagged = |id: &usize| !self.is_nul(*id);
        let mut flagged = self.pieces.ids_of(kind).filter(is_flagged).peekable();
        if flagged.peek().is_none() {
            return Vec::new();
        }
        let mut flags = vec![false; self.len()];
        flagged.for_each(|id| flags[id] = true);
        flags
    }

    /// The ids of the pieces that take part in merges, unused pieces included.
    pub(crate) fn mergeable(&self) -> impl Iterator<Item = u32> + Clone {
        let ids = 0..self.len_u32();
        ids.filter(|id| self.is_from_text(*id as usize))
    }

    /// The pieces by the hashes of their texts.
    ///
    /// # Panics
    /// The model is no BPE model.
    pub(crate) fn hashes(&self) -> Arc<PieceHashes> {
        let hashes = self.model.hashes().expect("the model is a BPE model");
        Arc::clone(hashes)
    }

    /// An index of the pieces that an encoder can return.
    pub(crate) fn index(&self) -> TextIndex {
        let mut index = TextIndex::with_capacity(self.len());
        for id in self.usable() {
            let inserted = index.insert(self.pieces.texts(), id);
            debug_assert_eq!(
                inserted,
                Ok(()),
                "a model has one piece for text of each text"
            );
        }
        index
    }

    /// The text and the id of a piece.
    pub(crate) fn entry(&self, id: usize) -> (&'m [u8], u32) {
        (self.text(id), low_u32(id as u64))
    }

    /// The ids of the pieces that an encoder can return. Unused pieces are never returned, but BPE
    /// merges them.
    pub(crate) fn usable(&self) -> impl Iterator<Item = usize> {
        (0..self.len()).filter(|id| self.is_from_text(*id) && self.kind(*id) != PieceKind::Unused)
    }

    /// Texts and ids of the user-defined symbols, if they are found in text.
    pub(crate) fn symbols(&self) -> impl Iterator<Item = (&'m [u8], u32)> {
        let symbols = self.pieces.ids_of(PieceKind::UserDefined);
        symbols
            .filter(|_| self.has_symbols)
            .map(|id| self.entry(id))
    }
}

/// The unknown piece, or [`NO_UNKNOWN`].
fn unknown_id(pieces: &PieceTable) -> PieceId {
    let unknown = pieces.ids_of(PieceKind::Unknown).next();
    unknown.map_or(NO_UNKNOWN, PieceId::from_index)
}
