//! The pieces as a trie that has the scores in it.
//!
//! In: texts, ids and scores of pieces. Out: the pieces that a text begins with. A double array has the value of
//! a key in a cell of its own, and the score by that value would be in a third place. Here each cell has the score
//! of the piece that ends there, so that a step of a search is a single load; ids, which only the pieces that are
//! found best need, are in a second array.

use crate::piece::PieceId;
use crate::trie::{DoubleArray, Unit};

/// A cell of the double array, with the score of the piece that ends there; infinite if none does.
#[derive(Debug, Clone, Copy)]
struct Cell {
    unit: Unit,
    score: f32,
}

/// No piece has this score.
const NO_PIECE: f32 = f32::INFINITY;

/// Pieces by their texts. One of a hostile size fails to be built, and has none then.
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
    pub(super) fn new(pieces: &[(&[u8], u32)], scores: &[f32]) -> Trie {
        let Some(array) = (!pieces.is_empty())
            .then(|| DoubleArray::build(pieces).ok())
            .flatten()
        else {
            return Trie::default();
        };
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
        trie
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
