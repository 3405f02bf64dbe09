//! What several changes ask about the pieces of a model.

use crate::model::{Model, Piece};
use crate::piece::PieceKind;

pub(super) fn pieces_of_kind(model: &Model, kind: PieceKind) -> impl Iterator<Item = Piece<'_>> {
    model.pieces().filter(move |piece| piece.kind == kind)
}

pub(super) fn has_unused_pieces(model: &Model) -> bool {
    let mut unused = pieces_of_kind(model, PieceKind::Unused);
    unused.next().is_some()
}

/// The lowest score of all pieces, if it is finite.
pub(super) fn lowest_score(model: &Model) -> Option<f32> {
    let scores = model.pieces().map(|piece| piece.score);
    scores
        .min_by(f32::total_cmp)
        .filter(|score| score.is_finite())
}
