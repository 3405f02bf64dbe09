//! What several changes and their checks ask about the pieces of a model.
//!
//! Input: a model, or single pieces. Output: its pieces of one kind, its scores, whether a piece is
//! the same as before, and the error of a check for a piece or a text.
//!
//! Example: the pieces `<unk>` (0), `a` (-1) and `b` (-2). The normal ones are `a` and `b`, the
//! lowest score is -2.
//!
//! Cost: a pass over the pieces.

use crate::adapt::error::GuaranteeError;
use crate::model::{Model, Piece};
use crate::piece::PieceKind;
use crate::text::lossy_string;

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

/// Whether two pieces have the same text, score and kind.
pub(super) fn is_same(old: Piece<'_>, new: Piece<'_>) -> bool {
    has_same_text_and_score(old, new) && old.kind == new.kind
}

/// Whether two pieces have the same text, and the same score bit for bit.
pub(super) fn has_same_text_and_score(old: Piece<'_>, new: Piece<'_>) -> bool {
    old.text == new.text && old.score.to_bits() == new.score.to_bits()
}

/// The error of a check: a piece breaks `promise`.
pub(super) fn broken(piece: Piece<'_>, promise: &str) -> GuaranteeError {
    let text = lossy_string(piece.text);
    GuaranteeError::new(format!("piece {} {text:?} {promise}", piece.id))
}

/// The error of a check: a text breaks `promise`.
pub(super) fn broken_text(text: &[u8], promise: &str) -> GuaranteeError {
    let text = lossy_string(text);
    GuaranteeError::new(format!("the text {text:?} {promise}"))
}
