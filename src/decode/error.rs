//! Errors of decoding.

use std::fmt;

use crate::piece::PieceId;

/// An id that the model does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError {
    /// The first such id.
    pub id: PieceId,
    /// The number of pieces of the model.
    pub pieces: usize,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, pieces } = self;
        match pieces.checked_sub(1) {
            Some(last) => write!(
                f,
                "the model has no piece with id {id}; use ids 0 to {last}"
            ),
            None => write!(f, "the model has no piece with id {id}; it has no pieces"),
        }
    }
}

impl std::error::Error for DecodeError {}
