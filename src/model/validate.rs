//! The checks that a model passes before it is used, the reference's own.
//!
//! A piece is not empty (which `model/wire.rs` sees to), shorter than 8,000 bytes, has no NUL, and is there once
//! among the pieces that text yields and once among the others, in a BPE model once in all (a lone NUL marked as unused is let through
//! and ignored, and byte fallback marks it so whatever the file says). There is one unknown piece, or byte
//! fallback in its stead; byte pieces are there if and only if the options say so, all 256 of them. The
//! scores of a unigram model are finite, and it has a piece that text yields.

use crate::error::ModelError;
use crate::model::text_index::TextIndex;
use crate::model::{Model, ModelType};
use crate::normalize::charsmap::Charsmap;
use crate::piece::PieceKind;

/// Pieces of this many bytes or more are refused.
pub(super) const PIECE_LIMIT: usize = 8000;

/// The byte that a byte piece stands for.
pub(crate) fn byte_of_piece(text: &[u8]) -> Option<u8> {
    let digits = text.strip_prefix(b"<0x")?.strip_suffix(b">")?;
    let is_canonical = digits.len() == 2
        && digits
            .iter()
            .all(|digit| matches!(digit, b'0'..=b'9' | b'A'..=b'F'));
    let digits = std::str::from_utf8(digits).ok().filter(|_| is_canonical)?;
    u8::from_str_radix(digits, 16).ok()
}

/// Whether text can yield a piece of this kind; the others are reserved.
pub(crate) fn is_from_text(kind: PieceKind) -> bool {
    matches!(
        kind,
        PieceKind::Normal | PieceKind::UserDefined | PieceKind::Unused
    )
}

/// Checks a model; the index of its pieces, which the checks need and others will.
pub(super) fn validate(model: &Model) -> Result<TextIndex, ModelError> {
    let index = validate_pieces(model)?;
    validate_kinds(model)?;
    validate_unigram(model)?;
    for (field, spec) in [
        ("normalizer_spec", Some(model.normalizer_spec())),
        ("denormalizer_spec", model.denormalizer_spec()),
    ] {
        let charsmap = spec.map_or(&[][..], |spec| spec.precompiled_charsmap());
        if !charsmap.is_empty() {
            Charsmap::from_bytes(charsmap).map_err(|error| ModelError::Charsmap {
                field,
                problem: error.to_string(),
            })?;
        }
    }
    Ok(index)
}

/// The rules that unigram models have besides.
fn validate_unigram(model: &Model) -> Result<(), ModelError> {
    if model.model_type() != ModelType::Unigram {
        return Ok(());
    }
    if let Some(piece) = model.pieces().find(|piece| !piece.score.is_finite()) {
        return Err(ModelError::Piece {
            id: piece.id.index(),
            problem: "its score is infinite or not a number",
        });
    }
    if !model
        .pieces()
        .any(|piece| is_from_text(piece.kind) && piece.text != b"\0")
    {
        return Err(ModelError::Model {
            problem: "it has no piece that text could yield",
        });
    }
    Ok(())
}

fn validate_pieces(model: &Model) -> Result<TextIndex, ModelError> {
    let mut index = TextIndex::new(model.model_type() == ModelType::Bpe, model.len());
    // Few files have a NUL at all, and one search through everything is sooner done than one in each piece.
    let any_nul = memchr::memchr(0, model.table().all_texts()).is_some();
    for id in 0..model.len() {
        let refuse = |problem| Err(ModelError::Piece { id, problem });
        let text = model.table().text(id);
        if text.len() >= PIECE_LIMIT {
            return refuse("it has 8000 bytes or more");
        }
        if any_nul && text == b"\0" && model.table().kind(id) == PieceKind::Unused {
            continue;
        }
        if any_nul && text.contains(&0) {
            return refuse("it has a NUL in it");
        }
        if !index.insert(model.table(), id) {
            return refuse("its text is that of an earlier piece");
        }
    }
    Ok(index)
}

fn validate_kinds(model: &Model) -> Result<(), ModelError> {
    let byte_fallback = model.trainer_spec().byte_fallback();
    let mut has_unknown = false;
    let mut bytes = [false; 256];
    for id in 0..model.len() {
        let refuse = |problem| Err(ModelError::Piece { id, problem });
        match model.table().kind(id) {
            PieceKind::Unknown if has_unknown => {
                return refuse("there is an unknown piece already");
            }
            PieceKind::Unknown => has_unknown = true,
            PieceKind::Byte if !byte_fallback => {
                return refuse("it is a byte piece, but byte_fallback is off");
            }
            PieceKind::Byte => match byte_of_piece(model.table().text(id)) {
                Some(byte) => bytes[usize::from(byte)] = true,
                None => return refuse("it is a byte piece, but its text is not <0x00> to <0xFF>"),
            },
            _ => {}
        }
    }
    let refuse = |problem| Err(ModelError::Model { problem });
    if !has_unknown && !byte_fallback {
        return refuse("it has no unknown piece");
    }
    if byte_fallback && bytes.contains(&false) {
        return refuse("byte_fallback is on, but some of the 256 byte pieces are missing");
    }
    Ok(())
}
