//! Scores of unigram models, and reasons why ids can differ.
//!
//! Example: only `tokenizers` finds the text of a byte piece, `<0x41>`, in text.

use std::borrow::Cow;

use crate::encode::unigram::symbol_score;
use crate::formats::order::{named, plain_text};
use crate::formats::tokenizer_json::{is_utf8, pieces_of_kind};
use crate::formats::{Reason, ReasonKind};
use crate::model::{Model, Piece};
use crate::piece::PieceKind;

/// The lowest score of a normal piece.
pub(in crate::formats::tokenizer_json) fn lowest_score(model: &Model) -> f32 {
    let normal = pieces_of_kind(model, PieceKind::Normal);
    normal.map(|piece| piece.score).fold(f32::MAX, f32::min)
}

/// Scores with which `tokenizers` scores unknown characters and user-defined symbols as
/// SentencePiece does; for unknown characters, 10 below the lowest normal piece.
pub(super) fn unigram_scores(model: &Model) -> Vec<f32> {
    let lowest = lowest_score(model);
    let score = |piece: Piece<'_>| match piece.kind {
        PieceKind::Normal => piece.score,
        PieceKind::UserDefined => symbol_score(piece.text.len()),
        _ if lowest < f32::MAX => piece.score.max(lowest),
        _ => piece.score,
    };
    model.pieces().map(score).collect()
}

/// The reasons of unigram models; `keys` are the texts of the pieces in the file.
pub(in crate::formats::tokenizer_json) fn unigram_reasons(
    model: &Model,
    keys: &[Cow<'_, str>],
) -> Vec<Reason> {
    let mut reasons = vec![Reason::new(
        ReasonKind::Rounding,
        "SentencePiece adds scores as 32-bit floats, tokenizers as 64-bit floats, so that of two segmentations with nearly equal sums \
         each may choose another one",
    )];
    reasons.extend(reason_of_found_pieces(model, keys));
    let name = |piece: Piece<'_>| named(model, piece.id);
    let text_reason = |explanation| Reason::new(ReasonKind::PieceText, explanation);
    let not_utf8 = |piece: &Piece<'_>| piece.kind.is_from_text() && !is_utf8(piece.text);
    if let Some(piece) = model.pieces().find(not_utf8) {
        reasons.push(text_reason(format!(
            "the piece {} is not UTF-8",
            name(piece)
        )));
    }
    // Looking up the text of such a piece gives another piece.
    let has_twin =
        |piece: &Piece<'_>| model.piece_to_id(piece.text) != Some(piece.id) && piece.text != b"\0";
    if let Some(piece) = model.pieces().find(has_twin) {
        reasons.push(text_reason(format!(
            "another piece has the text of {}",
            name(piece)
        )));
    }
    if pieces_of_kind(model, PieceKind::Unknown).next().is_none() {
        reasons.push(Reason::new(
            ReasonKind::UnknownCharacter,
            "the model has no unknown piece, which tokenizers needs for characters without a piece",
        ));
    }
    reasons
}

/// The reason if `tokenizers` finds pieces in text that SentencePiece does not give for it.
fn reason_of_found_pieces(model: &Model, keys: &[Cow<'_, str>]) -> Option<Reason> {
    let is_found = |piece: &Piece<'_>| {
        !piece.kind.is_given_for_text() && piece.text == keys[piece.id.index()].as_bytes()
    };
    let found: Vec<Piece<'_>> = model.pieces().filter(is_found).collect();
    let first = found.first()?;
    let of_kind = |kind| found.iter().find(|piece| piece.kind == kind);
    let example = of_kind(PieceKind::Byte).or_else(|| of_kind(PieceKind::Unused));
    let explanation = format!(
        "tokenizers finds every piece in text that spells it, {} control, unknown, unused and byte pieces included, for example {}",
        found.len(),
        named(model, example.unwrap_or(first).id)
    );
    let mut reason = Reason::new(ReasonKind::MetaPiece, explanation);
    reason.example = example.map(|piece| plain_text(piece.text));
    Some(reason)
}
