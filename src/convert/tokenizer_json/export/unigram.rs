//! Scores of unigram models, and reasons why ids can differ.
//!
//! Input: a model, and the texts of its pieces in the file. Output: the scores in the file, and
//! reasons. Example: only `tokenizers` finds the text of a byte piece, `<0x41>`, in text. Cost:
//! linear.

use std::borrow::Cow;

use crate::convert::order::{named, plain_text};
use crate::convert::tokenizer_json::{is_utf8, pieces_of_kind};
use crate::convert::{Reason, ReasonKind};
use crate::encode::unigram::symbol_score;
use crate::model::{Model, Piece};
use crate::piece::PieceKind;

/// The lowest score of a normal piece.
pub(in crate::convert::tokenizer_json) fn lowest_score(model: &Model) -> f32 {
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
pub(in crate::convert::tokenizer_json) fn unigram_reasons(
    model: &Model,
    keys: &[Cow<'_, str>],
) -> Vec<Reason> {
    let reasons = [
        Some(reason_of_rounding()),
        reason_of_found_pieces(model, keys),
        reason_of_bytes(model),
        reason_of_twins(model),
        reason_of_missing_unknown(model),
    ];
    reasons.into_iter().flatten().collect()
}

fn reason_of_rounding() -> Reason {
    Reason::new(
        ReasonKind::Rounding,
        "SentencePiece adds scores as 32-bit floats, tokenizers as 64-bit floats, so that of two segmentations with nearly equal sums \
         each may choose another one",
    )
}

/// The reason if `tokenizers` finds pieces in text that SentencePiece does not give for it.
fn reason_of_found_pieces(model: &Model, keys: &[Cow<'_, str>]) -> Option<Reason> {
    let is_found = |piece: &Piece<'_>| {
        !piece.kind.is_given_for_text() && piece.text == keys[piece.id.index()].as_bytes()
    };
    let found: Vec<Piece<'_>> = model.pieces().filter(is_found).collect();
    let first = found.first()?;
    let example = first_of_kind(&found, PieceKind::Byte);
    let example = example.or_else(|| first_of_kind(&found, PieceKind::Unused));
    let explanation = format!(
        "tokenizers finds every piece in text that spells it, {} control, unknown, unused and byte pieces included, for example {}",
        found.len(),
        named(model, example.unwrap_or(first).id)
    );
    let mut reason = Reason::new(ReasonKind::MetaPiece, explanation);
    reason.example = example.map(|piece| plain_text(piece.text));
    Some(reason)
}

fn first_of_kind<'p, 'm>(pieces: &'p [Piece<'m>], kind: PieceKind) -> Option<&'p Piece<'m>> {
    pieces.iter().find(|piece| piece.kind == kind)
}

/// The reason if a piece that segmentation can give is not UTF-8.
fn reason_of_bytes(model: &Model) -> Option<Reason> {
    let mut pieces = model.pieces();
    let piece = pieces.find(|piece| piece.kind.is_from_text() && !is_utf8(piece.text))?;
    let name = named(model, piece.id);
    Some(text_reason(format!("the piece {name} is not UTF-8")))
}

/// The reason if two pieces have the same text.
fn reason_of_twins(model: &Model) -> Option<Reason> {
    let piece = model.pieces().find(|piece| has_twin(model, piece))?;
    let name = named(model, piece.id);
    Some(text_reason(format!("another piece has the text of {name}")))
}

/// Whether looking up the text of a piece gives another piece.
fn has_twin(model: &Model, piece: &Piece<'_>) -> bool {
    model.piece_to_id(piece.text) != Some(piece.id) && piece.text != b"\0"
}

fn text_reason(explanation: String) -> Reason {
    Reason::new(ReasonKind::PieceText, explanation)
}

fn reason_of_missing_unknown(model: &Model) -> Option<Reason> {
    let unknown = pieces_of_kind(model, PieceKind::Unknown).next();
    unknown.is_none().then(|| {
        Reason::new(
            ReasonKind::UnknownCharacter,
            "the model has no unknown piece, which tokenizers needs for characters without a piece",
        )
    })
}
