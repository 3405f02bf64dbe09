//! The tables that all searches of a unigram model read: pieces, scores, and the unknown id.
//!
//! One value has what the [best path](super::viterbi), its [margin](super::margin) and the
//! [lattice](super::lattice) need to know about a model, so that these depend on this module and
//! not on the encoder.
//!
//! A normal piece has the score of the model file. An unknown character has the lowest score of a
//! normal piece minus 10. A user-defined symbol of n bytes has the score (n - 1) / 10, which is
//! above all log probabilities, so that a symbol is preferred to other pieces.
//!
//! Example: a model has the pieces `a` (-1), `b` (-2) and the user-defined symbol `<s1>`. Then an
//! unknown character has the score -12, and the symbol has the score 0.3. The text `aé<s1>` starts
//! with one piece, `a`; its suffix `é<s1>` starts with no piece, so that
//! [`UnigramTables::for_each_piece`] reports `é` as unknown.

use super::trie::PieceTrie;
use crate::base::char_length;
use crate::base::num::low_u32;
use crate::encode::vocabulary::Vocabulary;
use crate::piece::{PieceId, PieceKind};
use crate::trie::TrieTooLarge;

/// The difference between the score of an unknown character and the lowest score of a normal piece.
const UNKNOWN_PENALTY: f32 = 10.0;

/// The cell of an unknown character, which is in no trie.
const UNKNOWN_CELL: u32 = u32::MAX;

/// The pieces of a model with their scores.
#[derive(Debug)]
pub(super) struct UnigramTables {
    /// The pieces that can occur in text.
    pub(super) pieces: PieceTrie,
    /// The score by id; for the unknown id, the score of an unknown character.
    scores: Vec<f32>,
    /// Whether a piece is a user-defined symbol, by id. Empty if the model has none.
    is_symbol: Vec<bool>,
    /// The id of unknown characters.
    pub(super) unknown: PieceId,
    /// The score of an unknown character.
    pub(super) unknown_score: f32,
}

/// The last piece of a path. 8 bytes, because a search keeps one for each byte of a chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct LastPiece {
    /// The cell of the piece in the trie; [`UNKNOWN_CELL`] for an unknown character.
    cell: u32,
    /// The length of the piece in bytes; 0 if no path has been found yet.
    pub(super) length: u32,
}

impl LastPiece {
    /// The value of a position that no path has reached.
    pub(super) const UNREACHED: Self = Self {
        cell: UNKNOWN_CELL,
        length: 0,
    };

    /// A piece of the trie. The cells of a trie and the bytes of all pieces
    /// (`MAX_TEXT_BYTES`) are fewer than 2^31, so the conversions lose nothing.
    #[inline]
    fn of_cell(cell: usize, length: usize) -> Self {
        Self {
            cell: low_u32(cell as u64),
            length: low_u32(length as u64),
        }
    }

    /// An unknown character of `length` bytes.
    #[inline]
    fn unknown(length: usize) -> Self {
        Self {
            cell: UNKNOWN_CELL,
            length: low_u32(length as u64),
        }
    }
}

impl UnigramTables {
    /// The tables of `vocabulary`. `keys` are the texts and ids of the pieces that can occur in
    /// text, sorted by text.
    pub(super) fn new(
        vocabulary: &Vocabulary<'_>,
        keys: &[(&[u8], u32)],
    ) -> Result<Self, TrieTooLarge> {
        let unknown_score = lowest_score(vocabulary) - UNKNOWN_PENALTY;
        let score = |id| match vocabulary.kind(id) {
            PieceKind::UserDefined => symbol_score(vocabulary.text(id).len()),
            PieceKind::Unknown => unknown_score,
            _ => vocabulary.score(id),
        };
        let scores: Vec<f32> = (0..vocabulary.len()).map(score).collect();
        Ok(Self {
            pieces: PieceTrie::new(keys, &scores)?,
            scores,
            is_symbol: vocabulary.symbol_flags(),
            unknown: vocabulary.unknown(),
            unknown_score,
        })
    }

    /// The score of a piece, or of an unknown character.
    #[inline]
    pub(super) fn score(&self, id: PieceId) -> f32 {
        self.scores
            .get(id.index())
            .copied()
            .unwrap_or(self.unknown_score)
    }

    /// Whether a piece is a user-defined symbol.
    pub(super) fn is_symbol(&self, id: PieceId) -> bool {
        self.is_symbol.get(id.index()).copied().unwrap_or(false)
    }

    /// The id of the last piece of a path.
    #[inline]
    pub(super) fn id(&self, last: LastPiece) -> PieceId {
        if last.cell == UNKNOWN_CELL {
            self.unknown
        } else {
            self.pieces.id(last.cell as usize)
        }
    }

    /// The id of a single character; the unknown id if the character is no piece.
    pub(super) fn char_id(&self, char: &[u8]) -> PieceId {
        self.pieces.find(char).unwrap_or(self.unknown)
    }

    /// The id of each ASCII character.
    pub(super) fn ascii_ids(&self) -> Box<[PieceId; 128]> {
        let mut ids = Box::new([self.unknown; 128]);
        for (byte, id) in (0..).zip(ids.iter_mut()) {
            *id = self.char_id(&[byte]);
        }
        ids
    }

    /// Calls `visit` with each piece that `text` starts with and its score, shortest piece first.
    /// If the first character is no piece, `visit` is called last with the character as an unknown
    /// one.
    #[inline]
    pub(super) fn for_each_piece(&self, text: &[u8], visit: impl FnMut(LastPiece, f32)) {
        self.for_each_piece_if(text, |_| true, visit);
    }

    /// As [`for_each_piece`](Self::for_each_piece) of a model with only those pieces for which
    /// `keeps` is true.
    #[inline]
    pub(super) fn for_each_piece_if(
        &self,
        text: &[u8],
        keeps: impl Fn(LastPiece) -> bool,
        mut visit: impl FnMut(LastPiece, f32),
    ) {
        let width = char_length(text);
        let mut has_char = false;
        for found in self.pieces.prefixes(text) {
            let piece = LastPiece::of_cell(found.cell, found.length);
            if !keeps(piece) {
                continue;
            }
            visit(piece, found.score);
            has_char |= found.length == width;
        }
        if !has_char {
            visit(LastPiece::unknown(width), self.unknown_score);
        }
    }
}

/// The lowest score of a normal piece.
fn lowest_score(vocabulary: &Vocabulary<'_>) -> f32 {
    (0..vocabulary.len())
        .filter(|id| vocabulary.kind(*id) == PieceKind::Normal)
        .map(|id| vocabulary.score(id))
        .fold(f32::MAX, f32::min)
}

/// The score of a user-defined symbol of `length` bytes (of `length` characters in a lattice).
#[expect(
    clippy::cast_possible_truncation,
    reason = "the reference narrows a double here"
)]
pub(crate) fn symbol_score(length: usize) -> f32 {
    (0.1 * (length as f64 - 1.0)) as f32
}
