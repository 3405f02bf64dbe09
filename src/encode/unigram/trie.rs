//! The pieces as a trie whose cells contain the scores.
//!
//! A step of a search is a single load of a cell (see [`trie`](crate::trie)), which has the score
//! of the piece that ends there or after its tail. Ids, which are needed for the pieces of the best
//! path only, are in a second array.
//!
//! Example: with the pieces `l` (-3), `le` (-4) and `les` (-5), the text `lest` takes four steps:
//!
//! | step | byte | result |
//! |---|---|---|
//! | 1 | `l` | a cell with the score -3: the piece `l` |
//! | 2 | `e` | a cell with the score -4: the piece `le` |
//! | 3 | `s` | a cell with the score -5: the piece `les`, which no piece continues |
//! | 4 | `t` | no cell: the search ends |
//!
//! Memory: 12 bytes for each cell.

use crate::piece::PieceId;
use crate::trie::{NO_VALUE, Trie, TrieTooLarge};

/// Pieces by their texts.
#[derive(Debug)]
pub(super) struct PieceTrie {
    /// The values are the bits of scores. Scores are finite, so none has the bits of [`NO_VALUE`].
    scores: Trie,
    /// The id of the piece of each cell.
    ids: Vec<PieceId>,
}

/// A piece at the start of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct PiecePrefix {
    /// The length of the piece in bytes.
    pub(super) length: usize,
    pub(super) score: f32,
    /// The cell of the piece, for [`PieceTrie::id`].
    pub(super) cell: usize,
}

impl PieceTrie {
    /// Builds the trie of `pieces` (text and id, sorted by text). `scores` has the finite score of
    /// each id.
    pub(super) fn new(pieces: &[(&[u8], u32)], scores: &[f32]) -> Result<Self, TrieTooLarge> {
        let mut trie = Trie::build(pieces)?;
        let replace_by_score = |value: &mut u32| {
            let id = *value;
            if id != NO_VALUE {
                *value = scores[id as usize].to_bits();
            }
            PieceId::new(id)
        };
        let ids = trie.values_mut().map(replace_by_score).collect();
        Ok(Self { scores: trie, ids })
    }

    /// The pieces that `text` starts with, shortest first.
    #[inline]
    pub(super) fn prefixes<'t>(&'t self, text: &'t [u8]) -> impl Iterator<Item = PiecePrefix> + 't {
        self.scores.prefixes(text).map(|piece| PiecePrefix {
            length: piece.length,
            score: f32::from_bits(piece.value),
            cell: piece.cell,
        })
    }

    /// The id of the piece with this text.
    #[inline]
    pub(super) fn find(&self, text: &[u8]) -> Option<PieceId> {
        let whole = self
            .prefixes(text)
            .find(|found| found.length == text.len())?;
        Some(self.id(whole.cell))
    }

    /// The id of the piece of `cell`.
    #[inline]
    pub(super) fn id(&self, cell: usize) -> PieceId {
        self.ids[cell]
    }
}
