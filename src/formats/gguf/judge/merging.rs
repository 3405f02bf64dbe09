//! Merging as in llama.cpp, and the pieces that only llama.cpp gives.
//!
//! Input: a model, and its pieces. Output: a reason for each piece to which llama.cpp merges the
//! text of the piece, and SentencePiece does not, or splits it again.
//!
//! Cost: for the text of a piece, a hash lookup for each pair of symbols at each merge.

use std::collections::HashMap;

use super::with_spaces;
use crate::formats::{Reason, ReasonKind};
use crate::model::{Model, Piece};
use crate::piece::PieceKind;

/// Merging as in llama.cpp: all pieces take part.
pub(super) struct Merging<'m> {
    scores: HashMap<&'m [u8], f32>,
}

impl<'m> Merging<'m> {
    pub(super) fn new(model: &'m Model) -> Self {
        let scores = model.pieces().map(|piece| (piece.text, piece.score));
        let scores = scores.collect();
        Merging { scores }
    }

    /// The reason if llama.cpp merges text to a piece that SentencePiece does not give for it.
    pub(super) fn wrong_merge(&self, piece: &Piece<'_>) -> Option<Reason> {
        let (kind, explanation) = match piece.kind {
            PieceKind::Normal | PieceKind::UserDefined => return None,
            PieceKind::Unused => (ReasonKind::UnusedPiece, "llama.cpp gives the unused piece"),
            _ => (ReasonKind::MetaPiece, "llama.cpp merges text to the piece"),
        };
        let text = std::str::from_utf8(piece.text).ok()?;
        // llama.cpp replaces the text of a NUL piece by another one.
        if text == "\0" || !self.gives(text) {
            return None;
        }
        let reason = Reason::new(kind, format!("{explanation} {text:?}"));
        Some(reason.with_example(with_spaces(text)))
    }

    /// Whether the text is merged to one symbol that is a piece.
    fn gives(&self, text: &str) -> bool {
        let mut ends = char_ends(text);
        while ends.len() > 1 {
            let Some(left) = self.best_pair(text.as_bytes(), &ends) else {
                return false;
            };
            ends.remove(left);
        }
        self.scores.contains_key(text.as_bytes())
    }

    /// The index of the left symbol of the best pair.
    fn best_pair(&self, text: &[u8], ends: &[usize]) -> Option<usize> {
        let mut best: Option<(f32, usize)> = None;
        let mut start = 0;
        for (left, pair) in ends.windows(2).enumerate() {
            if let Some(score) = self.scores.get(&text[start..pair[1]])
                && best.is_none_or(|(highest, _)| *score > highest)
            {
                best = Some((*score, left));
            }
            start = pair[0];
        }
        best.map(|(_, left)| left)
    }
}

/// Where the characters of a text end.
fn char_ends(text: &str) -> Vec<usize> {
    let starts = text.char_indices().map(|(start, _)| start);
    starts.skip(1).chain([text.len()]).collect()
}
