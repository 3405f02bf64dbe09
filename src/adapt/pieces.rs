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

/// The scores of all pieces, by id.
pub(super) fn scores(model: &Model) -> impl Iterator<Item = f32> {
    model.pieces().map(|piece| piece.score)
}

/// The lowest score of all pieces, if it is finite.
pub(super) fn lowest_score(model: &Model) -> Option<f32> {
    let lowest = scores(model).min_by(f32::total_cmp);
    lowest.filter(|score| score.is_finite())
}

/// The scores of the normal pieces.
pub(super) fn normal_scores(model: &Model) -> impl Iterator<Item = f32> {
    let normal = pieces_of_kind(model, PieceKind::Normal);
    normal.map(|piece| piece.score)
}

/// The bits of the lowest score of a normal piece; those of `f32::MAX` without normal pieces.
pub(super) fn lowest_score_bits(model: &Model) -> u32 {
    let lowest = normal_scores(model).fold(f32::MAX, f32::min);
    lowest.to_bits()
}
