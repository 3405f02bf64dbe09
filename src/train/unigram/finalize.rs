//! The pieces of the finished model and their scores.
//!
//! Input: the pieces that training kept, and the characters that the vocabulary must contain. Output: the learned pieces
//! of the model, best first.
//!
//! Every required character is a piece. Those that training dropped get the lowest score, the first of them exactly, each
//! following one 0.0001 more, so that frequent characters do not have better scores than rare ones but all scores differ.
//! The remaining room goes to the pieces with the highest scores.
//!
//! Example with room for 4 pieces, the pieces `ab` (-1), `a` (-2), `abc` (-3), `bc` (-4), and the required characters `a`,
//! `b`, `c`: the result is `ab` (-1), `a` (-2), `c` (-3.9999), `b` (-4).
//!
//! Source: function `FinalizeSentencePieces` of SentencePiece 0.2.3.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::lattice_store::PieceView;
use crate::train::assemble::LearnedPiece;

/// The difference of the scores of two required characters that are no pieces.
const REQUIRED_STEP: f32 = 0.0001;

/// At most `room` pieces, the required characters among them. `required` is by count, descending.
pub(super) fn finalize(
    view: PieceView<'_>,
    required: &[(char, u64)],
    room: usize,
) -> Vec<LearnedPiece> {
    let pieces = sorted_pieces(view);
    let scores: HashMap<&str, f32> = pieces
        .iter()
        .map(|piece| (piece.text.as_ref(), piece.score))
        .collect();
    let mut learned = required_pieces(&scores, required, view.pieces.min_score());
    let is_required: HashMap<Box<str>, ()> = learned
        .iter()
        .map(|piece| (piece.text.clone(), ()))
        .collect();
    let others = pieces
        .iter()
        .filter(|piece| !is_required.contains_key(&piece.text));
    let remaining = room.saturating_sub(learned.len());
    learned.extend(others.take(remaining).cloned());
    learned.sort_by(compare);
    learned
}

/// The pieces by score, descending, and then by text.
fn sorted_pieces(view: PieceView<'_>) -> Vec<LearnedPiece> {
    let piece = |text: &[u8], score| LearnedPiece {
        text: String::from_utf8_lossy(text).into(),
        score,
    };
    let mut pieces: Vec<LearnedPiece> = view
        .pieces
        .iter()
        .map(|scored| piece(view.seeds.text(scored.seed), scored.score))
        .collect();
    pieces.sort_by(compare);
    pieces
}

fn compare(a: &LearnedPiece, b: &LearnedPiece) -> Ordering {
    let by_score = b.score.partial_cmp(&a.score).unwrap_or(Ordering::Equal);
    by_score.then_with(|| a.text.cmp(&b.text))
}

fn required_pieces(
    scores: &HashMap<&str, f32>,
    required: &[(char, u64)],
    min_score: f32,
) -> Vec<LearnedPiece> {
    let mut penalty = 0.0f32;
    let mut pieces = Vec::new();
    for (c, _) in required {
        let text: Box<str> = c.to_string().into();
        let score = scores.get(text.as_ref()).copied().unwrap_or_else(|| {
            let score = min_score + penalty;
            penalty += REQUIRED_STEP;
            score
        });
        pieces.push(LearnedPiece { text, score });
    }
    pieces
}

#[cfg(test)]
mod tests;
