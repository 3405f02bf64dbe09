//! The pieces as a trie that contains the scores.
//!
//! Input: texts, ids and scores of pieces. Output: the pieces that a text begins with. Method: a double array (see
//! [`trie`](crate::trie)) keeps the value of a key in a cell of its own, so that the score would need a third load. Here
//! each cell also has the score of the piece that ends there, and a step of the search is a single load. Ids, which are
//! needed for the best pieces only, are in a second array.
//!
//! Example: with the pieces `l`, `le` and `les`, the text `lest` takes four steps; the first three cells have scores, the
//! fourth byte has no cell.
//!
//! Cost: one load per byte. Memory: 12 bytes per cell.

use crate::piece::PieceId;
use crate::trie::{BuildError, DoubleArray, Unit};

/// A cell of the double array, with the score of the piece that ends there; infinite if none does.
#[derive(Debug, Clone, Copy)]
struct Cell {
    unit: Unit,
    score: f32,
}

/// No piece has this score.
const NO_PIECE: f32 = f32::INFINITY;

/// Pieces by their texts.
#[derive(Debug, Default)]
pub(super) struct Trie {
    root: usize,
    cells: Vec<Cell>,
    /// The piece that ends at each cell.
    ids: Vec<PieceId>,
}

/// A piece at the start of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    /// Its length in bytes.
    pub(super) length: usize,
    pub(super) score: f32,
    /// To ask [`Trie::id`] with.
    pub(super) cell: usize,
}

impl Trie {
    /// Pieces with their ids, sorted by their texts, and the finite score of each id.
    ///
    /// # Errors
    /// The pieces need more than 2^29 cells.
    pub(super) fn new(pieces: &[(&[u8], u32)], scores: &[f32]) -> Result<Trie, BuildError> {
        if pieces.is_empty() {
            return Ok(Trie::default());
        }
        let array = DoubleArray::build(pieces)?;
        let mut trie = Trie {
            root: array.root(),
            cells: Vec::new(),
            ids: Vec::new(),
        };
        trie.cells.reserve_exact(array.len());
        trie.ids.reserve_exact(array.len());
        for (unit, value) in array.units() {
            let score = value
                .and_then(|value| scores.get(value))
                .copied()
                .unwrap_or(NO_PIECE);
            trie.cells.push(Cell { unit, score });
            trie.ids.push(PieceId::from_index(value.unwrap_or(0)));
        }
        Ok(trie)
    }

    /// The pieces that `text` begins with, shortest first.
    #[inline]
    pub(super) fn prefixes<'t>(&'t self, text: &'t [u8]) -> impl Iterator<Item = Found> + 't {
        let path = text.iter().scan(self.root, |base, byte| {
            let cell = *base ^ usize::from(*byte);
            let Cell { unit, score } = *self
                .cells
                .get(cell)
                .filter(|cell| cell.unit.is_reached_by(*byte))?;
            *base = cell ^ unit.offset();
            Some((cell, score))
        });
        let found = path.zip(1..).filter(|((_, score), _)| *score < NO_PIECE);
        found.map(|((cell, score), length)| Found {
            length,
            score,
            cell,
        })
    }

    /// The id of a piece that was found.
    #[inline]
    pub(super) fn id(&self, cell: usize) -> PieceId {
        self.ids[cell]
    }
}
