//! The checks that a model passes before it is used: those of the reference.
//!
//! The first rule that is broken is the error. [`unique_texts`] also gives the lookup of pieces by
//! text, which the check for duplicates builds anyway. One function for each rule:
//!
//! | rule | error |
//! |---|---|
//! | there are at most [`MAX_PIECES`] pieces | [`ModelError::TooManyPieces`] |
//! | the pieces have at most [`MAX_TEXT_BYTES`] bytes together | [`ModelError::TooMuchText`] |
//! | no piece is empty (checked by `model/file.rs`) | [`PieceProblem::Empty`] |
//! | every piece is shorter than [`MAX_PIECE_BYTES`] | [`PieceProblem::TooLong`] |
//! | no piece contains a NUL, except an unused piece that is a single NUL | [`PieceProblem::Nul`] |
//! | BPE: no two pieces have the same text. Others: no two pieces for text, and no two meta pieces, have | [`PieceProblem::Duplicate`] |
//! | there is at most one unknown piece | [`PieceProblem::SecondUnknown`] |
//! | there is an unknown piece, or byte fallback is on | [`ModelError::NoUnknownPiece`] |
//! | byte pieces need byte fallback, and byte fallback needs all 256 of them | [`PieceProblem::ByteWithoutFallback`], [`ModelError::NoBytePiece`] |
//! | the text of a byte piece is `<0x00>` to `<0xFF>` | [`PieceProblem::ByteText`] |
//! | unigram: scores are finite | [`PieceProblem::Score`] |
//! | unigram: there is a piece for text | [`ModelError::NoTextPiece`] |
//! | the tries of pieces fit their format (2^29 cells) | [`ModelError::TrieTooLarge`] |
//!
//! The charsmaps are checked where they are parsed; see `normalize/charsmap.rs`.
//!
//! Example: the pieces `<unk>` (unknown), `a` (normal), `a` (control) are refused in a BPE model
//! (piece 2 repeats `a`) and accepted in a unigram model, where text gives piece 1 and
//! [`Model::piece_to_id`](crate::Model::piece_to_id) gives piece 2.

use crate::base::lossy_string;
use crate::model::ModelType;
use crate::model::piece_lookup::PieceLookup;
use crate::model::spec::TrainerSpec;
use crate::model::{ModelError, PieceProblem};
use crate::piece::{MAX_PIECE_BYTES, MAX_PIECES, MAX_TEXT_BYTES, PieceKind, PieceTable};
use crate::trie::{Trie, TrieTooLarge, sort_keys};

/// The largest number of bytes of a piece that an error message shows.
const MAX_SHOWN_BYTES: usize = 60;

/// The byte that a byte piece stands for: `<0x41>` gives 0x41. Two digits, upper-case if they are
/// letters, are required.
#[inline]
pub(crate) fn byte_of_piece(text: &[u8]) -> Option<u8> {
    // Nearly all texts end here.
    if text.first() != Some(&b'<') {
        return None;
    }
    let digits = text.strip_prefix(b"<0x")?.strip_suffix(b">")?;
    let is_canonical = digits.len() == 2
        && digits
            .iter()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'A'..=b'F'));
    let digits = std::str::from_utf8(digits).ok().filter(|_| is_canonical)?;
    u8::from_str_radix(digits, 16).ok()
}

/// Checks all rules except that texts are different; see [`unique_texts`].
pub(super) fn validate(pieces: &PieceTable, trainer_spec: &TrainerSpec) -> Result<(), ModelError> {
    check_count(pieces.len())?;
    check_text_bytes(pieces.all_texts().len())?;
    let model_type = trainer_spec.model_type();
    check_lengths(pieces)?;
    check_nul(pieces)?;
    check_kinds(pieces, trainer_spec.byte_fallback())?;
    if model_type == ModelType::Unigram {
        check_unigram(pieces)?;
    }
    check_tries(pieces, model_type)
}

/// Checks that the tries of a tokenizer can be built: one of the user-defined symbols and, in a
/// unigram model, one of all pieces that text can yield. [`Tokenizer::new`](crate::Tokenizer::new)
/// relies on this check.
///
/// [`Trie::always_fits`] decides it for all models with less than 900,000 pieces of 100 bytes. For
/// others it depends on how the states happen to fit into each other, so the trie is built and
/// dropped again to find out.
pub(super) fn check_tries(pieces: &PieceTable, model_type: ModelType) -> Result<(), ModelError> {
    if Trie::always_fits(pieces.len(), pieces.all_texts().len()) {
        return Ok(());
    }
    check_trie(pieces, |kind| kind == PieceKind::UserDefined)?;
    if model_type == ModelType::Unigram {
        check_trie(pieces, |kind| kind.is_given_for_text())?;
    }
    Ok(())
}

/// Checks that a trie of the pieces of some kinds can be built.
fn check_trie(
    pieces: &PieceTable,
    is_wanted: impl Fn(PieceKind) -> bool,
) -> Result<(), ModelError> {
    let wanted = (0..pieces.len()).filter(|id| is_wanted(pieces.kind(*id)));
    let mut keys: Vec<_> = wanted.map(|id| (pieces.text(id), 0)).collect();
    sort_keys(&mut keys);
    match Trie::build(&keys) {
        Ok(_) => Ok(()),
        Err(TrieTooLarge) => Err(ModelError::TrieTooLarge),
    }
}

/// Checks the number of pieces.
pub(super) fn check_count(pieces: usize) -> Result<(), ModelError> {
    if pieces > MAX_PIECES {
        return Err(ModelError::TooManyPieces {
            pieces,
            limit: MAX_PIECES,
        });
    }
    Ok(())
}

/// Checks the total length of all texts.
fn check_text_bytes(bytes: usize) -> Result<(), ModelError> {
    let limit = MAX_TEXT_BYTES;
    if bytes <= limit {
        return Ok(());
    }
    Err(ModelError::TooMuchText { bytes, limit })
}

/// Checks the lengths of all texts.
fn check_lengths(pieces: &PieceTable) -> Result<(), ModelError> {
    if pieces.longest() < MAX_PIECE_BYTES {
        return Ok(());
    }
    let bytes = |id| pieces.text(id).len();
    let too_long = (0..pieces.len()).find(|id| bytes(*id) >= MAX_PIECE_BYTES);
    let problem = PieceProblem::TooLong {
        bytes: too_long.map_or(0, bytes),
        limit: MAX_PIECE_BYTES,
    };
    refuse_any(pieces, too_long, problem)
}

/// Checks that no text contains a NUL, except an unused piece that is a single NUL.
fn check_nul(pieces: &PieceTable) -> Result<(), ModelError> {
    // Few models contain a NUL. One search through all texts is faster than one search for each
    // piece.
    if memchr::memchr(0, pieces.all_texts()).is_none() {
        return Ok(());
    }
    let is_broken = |id: &usize| {
        let text = pieces.text(*id);
        let is_accepted = text == b"\0" && pieces.kind(*id) == PieceKind::Unused;
        text.contains(&0) && !is_accepted
    };
    let broken = (0..pieces.len()).find(is_broken);
    refuse_any(pieces, broken, PieceProblem::Nul)
}

/// Checks that texts are different, except texts that are a single NUL, which are never looked up.
/// Returns the lookup of pieces by text, which the check builds anyway.
pub(super) fn unique_texts(
    pieces: &PieceTable,
    model_type: ModelType,
) -> Result<PieceLookup, ModelError> {
    PieceLookup::of_unique(pieces, model_type)
        .map_err(|id| refuse(pieces, id, PieceProblem::Duplicate))
}

/// Checks the unknown piece and the byte pieces.
fn check_kinds(pieces: &PieceTable, byte_fallback: bool) -> Result<(), ModelError> {
    let second_unknown = pieces.ids_of(PieceKind::Unknown).nth(1);
    refuse_any(pieces, second_unknown, PieceProblem::SecondUnknown)?;
    if byte_fallback {
        return check_byte_pieces(pieces);
    }
    let byte_piece = pieces.ids_of(PieceKind::Byte).next();
    refuse_any(pieces, byte_piece, PieceProblem::ByteWithoutFallback)?;
    check_has_unknown(pieces)
}

/// Checks that there is an unknown piece.
fn check_has_unknown(pieces: &PieceTable) -> Result<(), ModelError> {
    match pieces.ids_of(PieceKind::Unknown).next() {
        Some(_) => Ok(()),
        None => Err(ModelError::NoUnknownPiece),
    }
}

/// Checks that every byte has a byte piece, and that byte pieces have the texts of bytes.
fn check_byte_pieces(pieces: &PieceTable) -> Result<(), ModelError> {
    let mut is_missing = [true; 256];
    for id in pieces.ids_of(PieceKind::Byte) {
        let byte = byte_of_piece(pieces.text(id))
            .ok_or_else(|| refuse(pieces, id, PieceProblem::ByteText))?;
        is_missing[usize::from(byte)] = false;
    }
    match (0..=u8::MAX).find(|byte| is_missing[usize::from(*byte)]) {
        Some(byte) => Err(ModelError::NoBytePiece { byte }),
        None => Ok(()),
    }
}

/// Checks the rules for unigram models.
fn check_unigram(pieces: &PieceTable) -> Result<(), ModelError> {
    let not_finite = (0..pieces.len()).find(|id| !pieces.score(*id).is_finite());
    refuse_any(pieces, not_finite, PieceProblem::Score)?;
    // A single NUL is no text.
    let is_for_text = |id| pieces.kind(id).is_from_text() && pieces.text(id) != b"\0";
    if (0..pieces.len()).any(is_for_text) {
        Ok(())
    } else {
        Err(ModelError::NoTextPiece)
    }
}

/// Returns the error for piece `id`, if there is one.
fn refuse_any(
    pieces: &PieceTable,
    id: Option<usize>,
    problem: PieceProblem,
) -> Result<(), ModelError> {
    id.map_or(Ok(()), |id| Err(refuse(pieces, id, problem)))
}

/// The error for a piece.
fn refuse(pieces: &PieceTable, id: usize, problem: PieceProblem) -> ModelError {
    let text = excerpt(pieces.text(id));
    ModelError::Piece { id, text, problem }
}

/// The start of a text, for an error message.
fn excerpt(text: &[u8]) -> String {
    lossy_string(&text[..text.len().min(MAX_SHOWN_BYTES)])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many pieces, each of 8 random letters, that the bound does not decide.
    #[test]
    fn tries_above_the_bound_are_tried_and_fit() {
        let mut pieces = PieceTable::default();
        for number in 0..1_000_000u32 {
            let text = format!("{:08x}", number.wrapping_mul(2_654_435_761));
            pieces.push(text.as_bytes(), 0.0, PieceKind::Normal);
        }
        assert!(!Trie::always_fits(pieces.len(), pieces.all_texts().len()));
        assert!(check_tries(&pieces, ModelType::Unigram).is_ok());
        assert!(check_tries(&pieces, ModelType::Bpe).is_ok());
    }

    #[test]
    fn too_many_pieces_are_refused() {
        assert!(check_count(MAX_PIECES).is_ok());
        let error = check_count(MAX_PIECES + 1).unwrap_err();
        assert!(
            matches!(error, ModelError::TooManyPieces { pieces, limit } if pieces == limit + 1)
        );
    }

    #[test]
    fn too_many_bytes_of_text_are_refused() {
        assert!(check_text_bytes(MAX_TEXT_BYTES).is_ok());
        let error = check_text_bytes(MAX_TEXT_BYTES + 1).unwrap_err();
        assert!(matches!(error, ModelError::TooMuchText { bytes, limit } if bytes == limit + 1));
    }
}
