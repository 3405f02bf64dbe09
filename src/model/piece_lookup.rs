//! Text -> piece, for all pieces of a model.
//!
//! Except in BPE models, a piece for text (normal, user-defined, unused) and a meta piece (unknown,
//! control, byte) may have the same text. [`PieceLookup::get`] then gives the meta piece, as the
//! reference does. So there are two tables, and lookups try the table of meta pieces first:
//!
//! | model | first table | second table |
//! |---|---|---|
//! | BPE | all pieces | empty |
//! | others | meta pieces | pieces for text |
//!
//! Example: a unigram model with piece 1 = `a` (normal) and piece 2 = `a` (control) gives 2 for
//! `a`.
//!
//! Memory: 4 bytes and a hash tag for each piece; texts stay in the [`PieceTable`] that every call
//! is given.

use crate::piece::{PieceId, PieceIndex, PieceKind, PieceTable};

/// Finds pieces by their texts.
#[derive(Debug, Clone, Default)]
pub(crate) struct PieceLookup {
    first: PieceIndex,
    second: PieceIndex,
    is_bpe: bool,
}

impl PieceLookup {
    /// An empty lookup with room for `pieces` pieces.
    pub(super) fn with_capacity(is_bpe: bool, pieces: usize) -> Self {
        let in_first = if is_bpe { pieces } else { 0 };
        let in_second = pieces - in_first;
        Self {
            first: PieceIndex::with_capacity(in_first),
            second: PieceIndex::with_capacity(in_second),
            is_bpe,
        }
    }

    /// Adds piece `id`. Returns false and changes nothing if its table already has a piece with the
    /// same text.
    pub(super) fn insert(&mut self, pieces: &PieceTable, id: usize) -> bool {
        self.index_of_kind(pieces.kind(id)).insert(pieces, id)
    }

    /// The index that pieces of this kind belong to.
    #[inline]
    fn index_of_kind(&mut self, kind: PieceKind) -> &mut PieceIndex {
        if !self.is_bpe && kind.is_from_text() {
            &mut self.second
        } else {
            &mut self.first
        }
    }

    /// The piece with this text.
    pub(super) fn get(&self, pieces: &PieceTable, text: &[u8]) -> Option<PieceId> {
        let mut id = self.first.get(pieces, text);
        if id.is_none() && !self.is_bpe {
            id = self.second.get(pieces, text);
        }
        id.map(PieceId::new)
    }

    /// The meta piece and the piece for text with this text, if they exist; in a BPE model, the
    /// only piece with this text.
    #[cfg(feature = "inspect")]
    pub(super) fn get_all(&self, pieces: &PieceTable, text: &[u8]) -> [Option<PieceId>; 2] {
        let found = [&self.first, &self.second].map(|index| index.get(pieces, text));
        found.map(|id| id.map(PieceId::new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meta_piece_comes_before_a_piece_for_text() {
        let mut pieces = PieceTable::default();
        pieces.push(b"a", 0.0, PieceKind::Normal);
        pieces.push(b"a", 0.0, PieceKind::Control);
        pieces.push(b"b", 0.0, PieceKind::Normal);
        let mut lookup = PieceLookup::with_capacity(false, pieces.len());
        assert!((0..pieces.len()).all(|id| lookup.insert(&pieces, id)));
        assert_eq!(lookup.get(&pieces, b"a"), Some(PieceId::new(1)));
        assert_eq!(lookup.get(&pieces, b"b"), Some(PieceId::new(2)));
        assert_eq!(lookup.get(&pieces, b"c"), None);
        let mut bpe = PieceLookup::with_capacity(true, 2);
        assert!(bpe.insert(&pieces, 0));
        assert!(!bpe.insert(&pieces, 1));
        assert_eq!(bpe.get(&pieces, b"a"), Some(PieceId::new(0)));
    }
}
