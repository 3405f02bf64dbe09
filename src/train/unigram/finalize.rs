//! The pieces of the finished model and their scores.
//!
//! Every required character is a piece. The most frequent one that training dropped gets the lowest
//! score of all pieces, and each following one 0.0001 more, so that all scores differ. The
//! remaining room goes to the pieces with the highest scores.
//!
//! Example with room for 4 pieces, the pieces `ab` (-1), `a` (-2), `abc` (-3), `bc` (-4), and the
//! required characters `a`, `b`, `c`: the result is `ab` (-1), `a` (-2), `c` (-3.9999), `b` (-4).
//!
//! Source: function `FinalizeSentencePieces` of SentencePiece 0.2.3.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use super::math::descending;
use super::pieces::{PieceList, Seeds};
use crate::train::assemble::LearnedPiece;

/// The difference between the scores of consecutive required characters that training dropped.
const REQUIRED_STEP: f32 = 0.0001;

/// The required characters and the best other pieces, up to `room` in all. `required` is sorted by
/// count, descending.
pub(super) fn finalize(
    seeds: &Seeds,
    list: &PieceList,
    required: &[(char, u64)],
    room: usize,
) -> Vec<LearnedPiece> {
    let learned = list.iter().map(|piece| LearnedPiece {
        text: String::from_utf8_lossy(seeds.text(piece.seed)).into(),
        score: piece.score,
    });
    let mut others: Vec<LearnedPiece> = learned.collect();
    others.sort_by(compare);
    let scores = others.iter().filter_map(|piece| {
        let c = only_character(&piece.text)?;
        Some((c, piece.score))
    });
    let mut learned = required_pieces(&scores.collect(), required, list.min_score());
    let is_required: HashSet<char> = required.iter().map(|(c, _)| *c).collect();
    others.retain(|piece| {
        let c = only_character(&piece.text);
        c.is_none_or(|c| !is_required.contains(&c))
    });
    others.truncate(room.saturating_sub(learned.len()));
    learned.extend(others);
    learned.sort_by(compare);
    learned
}

/// By score, descending, and then by text.
fn compare(a: &LearnedPiece, b: &LearnedPiece) -> Ordering {
    descending(a.score, b.score).then_with(|| a.text.cmp(&b.text))
}

/// The character of a text that consists of one character.
fn only_character(text: &str) -> Option<char> {
    let mut chars = text.chars();
    let first = chars.next();
    first.filter(|_| chars.next().is_none())
}

fn required_pieces(
    scores: &HashMap<char, f32>,
    required: &[(char, u64)],
    min_score: f32,
) -> Vec<LearnedPiece> {
    let mut penalty = 0.0f32;
    let mut pieces = Vec::new();
    for (c, _) in required {
        let score = scores.get(c).copied().unwrap_or_else(|| {
            let score = min_score + penalty;
            penalty += REQUIRED_STEP;
            score
        });
        let text = c.to_string().into();
        pieces.push(LearnedPiece { text, score });
    }
    pieces
}

#[cfg(test)]
mod tests;
