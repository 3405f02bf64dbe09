//! Text -> piece.
//!
//! Pieces that text yields and the others may share a text, except in BPE models; then a question for a text means
//! the latter. It holds ids only, since a model of many short pieces would take several times its size in
//! anything larger.

use crate::model::validate::is_from_text;
use crate::piece::{PieceIndex, PieceTable};

/// Pieces by their texts.
#[derive(Debug, Clone)]
pub(crate) struct TextIndex {
    /// Those that text does not yield; in BPE models all of them.
    first: PieceIndex,
    /// The others.
    second: PieceIndex,
    is_bpe: bool,
}

impl TextIndex {
    /// An index of no pieces, with room for some.
    pub(super) fn new(is_bpe: bool, pieces: usize) -> TextIndex {
        let [in_first, in_second] = if is_bpe { [pieces, 0] } else { [0, pieces] };
        let (first, second) = (
            PieceIndex::with_capacity(in_first),
            PieceIndex::with_capacity(in_second),
        );
        TextIndex {
            first,
            second,
            is_bpe,
        }
    }

    /// The index of all pieces. Of equal texts the first one counts.
    pub(super) fn of(is_bpe: bool, pieces: &PieceTable) -> TextIndex {
        let mut index = TextIndex::new(is_bpe, pieces.len());
        for id in (0..pieces.len()).filter(|id| pieces.text(*id) != b"\0") {
            index.insert(pieces, id);
        }
        index
    }

    /// Adds piece `id`; false if there is one with its text already.
    pub(super) fn insert(&mut self, pieces: &PieceTable, id: usize) -> bool {
        let is_second = !self.is_bpe && is_from_text(pieces.kind(id));
        let index = if is_second {
            &mut self.second
        } else {
            &mut self.first
        };
        index.insert(pieces, id)
    }

    /// The piece with this text.
    pub(super) fn get(&self, pieces: &PieceTable, text: &[u8]) -> Option<u32> {
        self.first
            .get(pieces, text)
            .or_else(|| self.second.get(pieces, text))
    }
}
