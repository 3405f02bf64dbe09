//! The pieces as a trie whose cells contain the scores.
//!
//! Job: find the pieces that a text starts with. Input: texts, ids and scores of pieces. Output: a
//! [`PieceTrie`], whose [`prefixes`](PieceTrie::prefixes) are the lengths, scores and cells of
//! these pieces.
//!
//! Method: a double array (see [`trie`](crate::trie)) keeps the value of a key in a cell of its
//! own, so that the score would need a third load. Here each cell also contains the score of the
//! piece that ends there, and a step of the search is a single load. Ids, which are needed for the
//! pieces of the best path only, are in a second array.
//!
//! Example: with the pieces `l` (-3), `le` (-4) and `les` (-5), the text `lest` takes four steps:
//!
//! | step | byte | result |
//! |---|---|---|
//! | 1 | `l` | a cell with the score -3: the piece `l` |
//! | 2 | `e` | a cell with the score -4: the piece `le` |
//! | 3 | `s` | a cell with the score -5: the piece `les` |
//! | 4 | `t` | no cell: the search ends |
//!
//! Cost: one load for each byte of the longest match, and one for the byte that fails. Memory: 12
//! bytes for each cell.

use crate::piece::PieceId;
use crate::trie::{BuildError, DoubleArray, Unit};

/// A unit of the double array, and the score of the piece that ends there; [`NO_PIECE`] if no piece
/// does.
#[derive(Debug, Clone, Copy)]
struct ScoredUnit {
    unit: Unit,
    score: f32,
}

/// The score of a cell at which no piece ends. Scores of pieces are finite.
const NO_PIECE: f32 = f32::INFINITY;

/// Pieces by their texts.
#[derive(Debug, Default)]
pub(super) struct PieceTrie {
    root: usize,
    cells: Vec<ScoredUnit>,
    /// The id of the piece that ends at each cell; 0 if no piece does.
    ids: Vec<PieceId>,
}

/// A piece at the start of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct PiecePrefix {
    /// The length of the piece in bytes.
    pub(super) length: usize,
    pub(super) score: f32,
    /// The cell at which the piece ends, for [`PieceTrie::id`].
    pub(super) cell: usize,
}

impl PieceTrie {
    /// Builds the trie of `pieces` (text and id, sorted by text). `scores` has the finite score of
    /// each id.
    ///
    /// # Errors
    /// The pieces need more than 2^29 cells.
    pub(super) fn new(pieces: &[(&[u8], u32)], scores: &[f32]) -> Result<Self, BuildError> {
        if pieces.is_empty() {
            return Ok(Self::default());
        }
        let array = DoubleArray::build(pieces)?;
        let mut trie = Self::with_capacity(array.len());
        trie.root = array.root();
        for (unit, value) in array.units() {
            let score = value.and_then(|value| scores.get(value).copied());
            let score = score.unwrap_or(NO_PIECE);
            trie.cells.push(ScoredUnit { unit, score });
            trie.ids.push(PieceId::from_index(value.unwrap_or(0)));
        }
        Ok(trie)
    }

    /// No pieces yet, with room for exactly `cells` cells.
    fn with_capacity(cells: usize) -> Self {
        let mut trie = Self::default();
        trie.cells.reserve_exact(cells);
        trie.ids.reserve_exact(cells);
        trie
    }

    /// The pieces that `text` starts with, shortest first.
    #[inline]
    pub(super) fn prefixes<'t>(&'t self, text: &'t [u8]) -> impl Iterator<Item = PiecePrefix> + 't {
        let steps = text.iter().scan(self.root, |base, byte| {
            let cell = *base ^ usize::from(*byte);
            let ScoredUnit { unit, score } = *self
                .cells
                .get(cell)
                .filter(|cell| cell.unit.is_reached_by(*byte))?;
            *base = cell ^ unit.offset();
            Some((cell, score))
        });
        let ends = steps.zip(1..).filter(|((_, score), _)| *score < NO_PIECE);
        ends.map(|((cell, score), length)| PiecePrefix {
            length,
            score,
            cell,
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

    /// The id of the piece that ends at `cell`.
    #[inline]
    pub(super) fn id(&self, cell: usize) -> PieceId {
        self.ids[cell]
    }
}
