//! Text -> piece, for all pieces of a model.
//!
//! In BPE models all texts are different, and the table is the one by which their encoder finds
//! merges. In other models a piece for text (normal, user-defined, unused) and a meta piece
//! (unknown, control, byte) may have the same text. [`PieceLookup::get`] then gives the meta piece,
//! as the reference does, so there are two tables.
//!
//! Example: a unigram model with piece 1 = `a` (normal) and piece 2 = `a` (control) gives 2 for
//! `a`.

use std::sync::Arc;

use crate::model::ModelType;
use crate::piece::{PieceHashes, PieceId, PieceKind, PieceTable, TextIndex};

/// Finds pieces by their texts, which stay in the [`PieceTable`] that every call is given.
#[derive(Debug, Clone)]
pub(crate) enum PieceLookup {
    Bpe(Arc<PieceHashes>),
    Other { meta: TextIndex, text: TextIndex },
}

impl PieceLookup {
    /// The lookup of all pieces whose text is not a single NUL.
    ///
    /// # Errors
    /// The id of a piece that has the text of one before it, in the same table.
    pub(super) fn of_unique(pieces: &PieceTable, model_type: ModelType) -> Result<Self, usize> {
        if model_type == ModelType::Bpe {
            // The reference leaves a lone NUL out of its tables. Other pieces may not be a NUL.
            let is_nul = |id| pieces.kind(id) == PieceKind::Unused && pieces.text(id) == b"\0";
            let hashes = PieceHashes::of_unique(pieces, is_nul);
            return hashes.map(Arc::new).map(Self::Bpe);
        }
        let mut meta = TextIndex::with_capacity(0);
        let mut text = TextIndex::with_capacity(pieces.len());
        for id in 0..pieces.len() {
            let index = match pieces.kind(id).is_from_text() {
                true => &mut text,
                false => &mut meta,
            };
            if pieces.text(id) != b"\0" && index.insert(pieces.texts(), id).is_err() {
                return Err(id);
            }
        }
        Ok(Self::Other { meta, text })
    }

    /// The piece with this text.
    pub(super) fn get(&self, pieces: &PieceTable, text: &[u8]) -> Option<PieceId> {
        match self {
            Self::Bpe(all) => all.get(pieces, text).map(PieceId::new),
            Self::Other { meta, text: texts } => {
                let arena = pieces.texts();
                let id = meta.get(arena, text).or_else(|| texts.get(arena, text));
                id.map(PieceId::from_index)
            }
        }
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
        let lookup = PieceLookup::of_unique(&pieces, ModelType::Unigram).unwrap();
        assert_eq!(lookup.get(&pieces, b"a"), Some(PieceId::new(1)));
        assert_eq!(lookup.get(&pieces, b"b"), Some(PieceId::new(2)));
        assert_eq!(lookup.get(&pieces, b"c"), None);
        assert_eq!(
            PieceLookup::of_unique(&pieces, ModelType::Bpe).unwrap_err(),
            1
        );
        pieces.push(b"b", 0.0, PieceKind::Normal);
        assert_eq!(
            PieceLookup::of_unique(&pieces, ModelType::Unigram).unwrap_err(),
            3
        );
    }
}
