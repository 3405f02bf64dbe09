//! Scores of normal pieces: range, ties, and their order against the order of the ids.
//!
//! Trained models number their pieces by descending score. Ties and inversions are signs of edits:
//! with equal scores, the position in the text decides between merges, and some programs use the
//! order of the ids as the order of the merges.
//!
//! Example: the scores -1, -2, -2, -1.5 in the order of the ids have one group of ties with two
//! pieces (-2), and one inversion, at the fourth piece.

use super::pieces_of_kind;
use crate::piece::{PieceId, PieceKind};
use crate::tokenizer::Tokenizer;

/// The scores of the normal pieces of a model.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ScoreSummary {
    /// The lowest score; `None` without normal pieces.
    pub lowest: Option<f32>,
    /// The highest score; `None` without normal pieces.
    pub highest: Option<f32>,
    /// Scores that more than one piece has.
    pub tied_scores: u64,
    /// Pieces that share their score with another one.
    pub tied_pieces: u64,
    /// Pieces whose score is above that of the normal piece before them.
    pub inversions: u64,
    /// The first of these pieces.
    pub first_inversion: Option<PieceId>,
}

impl ScoreSummary {
    /// Summarizes the scores of a model.
    pub(super) fn new(tokenizer: &Tokenizer) -> Self {
        let normal = pieces_of_kind(tokenizer, PieceKind::Normal);
        let scores: Vec<(PieceId, f32)> = normal.map(|piece| (piece.id, piece.score)).collect();
        Self::of(&scores)
    }

    /// Summarizes scores, which are in the order of the ids.
    fn of(scores: &[(PieceId, f32)]) -> Self {
        let mut sorted: Vec<f32> = scores.iter().map(|(_, score)| *score).collect();
        sorted.sort_by(f32::total_cmp);
        let mut summary = Self {
            lowest: sorted.first().copied(),
            highest: sorted.last().copied(),
            ..Self::default()
        };
        let groups = sorted.chunk_by(|a, b| a == b);
        for tie in groups.filter(|group| group.len() > 1) {
            summary.tied_scores += 1;
            summary.tied_pieces += tie.len() as u64;
        }
        for pair in scores.windows(2).filter(|pair| pair[1].1 > pair[0].1) {
            summary.inversions += 1;
            summary.first_inversion.get_or_insert(pair[1].0);
        }
        summary
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(scores: &[f32]) -> ScoreSummary {
        let ids = (0..).map(PieceId::new);
        let scores: Vec<(PieceId, f32)> = ids.zip(scores.iter().copied()).collect();
        ScoreSummary::of(&scores)
    }

    #[test]
    fn ties_and_inversions_are_counted() {
        let found = summary(&[-1.0, -2.0, -2.0, -1.5]);
        assert_eq!((found.tied_scores, found.tied_pieces), (1, 2));
        assert_eq!(
            (found.inversions, found.first_inversion),
            (1, Some(PieceId::new(3)))
        );
        assert_eq!((found.lowest, found.highest), (Some(-2.0), Some(-1.0)));
    }

    #[test]
    fn zeros_of_both_signs_are_equal_and_no_scores_have_no_range() {
        assert_eq!(summary(&[0.0, -0.0]).tied_pieces, 2);
        assert_eq!(summary(&[]), ScoreSummary::default());
        let not_a_number = summary(&[f32::NAN, f32::NAN, 1.0]);
        assert_eq!((not_a_number.tied_pieces, not_a_number.inversions), (0, 0));
    }
}
