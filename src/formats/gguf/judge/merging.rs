//! Merging as in llama.cpp, and the pieces that only llama.cpp gives.
//!
//! All pieces take part in its merges, whatever their kind, so the merger of this crate, which
//! knows the pieces that SentencePiece merges, does not say what llama.cpp gives. Only the few
//! pieces that SentencePiece does not give are merged here, by a loop that is quadratic in their
//! texts.

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
        // The starts of the symbols, and the end of the text.
        let starts = text.char_indices().map(|(start, _)| start);
        let mut bounds: Vec<usize> = starts.chain([text.len()]).collect();
        while bounds.len() > 2 {
            let mut best: Option<(f32, usize)> = None;
            for (left, pair) in bounds.windows(3).enumerate() {
                if let Some(score) = self.scores.get(&text.as_bytes()[pair[0]..pair[2]])
                    && best.is_none_or(|(highest, _)| *score > highest)
                {
                    best = Some((*score, left));
                }
            }
            let Some((_, left)) = best else {
                return false;
            };
            bounds.remove(left + 1);
        }
        self.scores.contains_key(text.as_bytes())
    }
}
