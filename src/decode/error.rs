//! Errors of decoding.

use std::fmt;

use crate::piece::PieceId;

/// Ids that cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// An id that the model does not have.
    NoPiece {
        /// The first such id.
        id: PieceId,
        /// The number of ids of the model.
        pieces: usize,
    },
    /// The ids have no text in this tokenizer.
    NoResult {
        /// Why, and what to do.
        problem: String,
    },
    /// The text is not UTF-8, and the call accepts nothing else.
    Malformed {
        /// Where the first malformed byte of the text is.
        begin: usize,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPiece { id, pieces } => match pieces.checked_sub(1) {
                // A vocabulary of byte-level BPE may have gaps.
                Some(last) if id.index() <= last => {
                    write!(f, "the model has no piece with id {id}; leave it out")
                }
                Some(last) => write!(
                    f,
                    "the model has no piece with id {id}; use ids 0 to {last}"
                ),
                None => write!(f, "the model has no piece with id {id}; it has no pieces"),
            },
            Self::NoResult { problem } => write!(f, "the ids have no text: {problem}"),
            Self::Malformed { begin } => write!(
                f,
                "the text is not UTF-8 from byte {begin} on; decode it to bytes, or with replacement characters"
            ),
        }
    }
}

impl std::error::Error for DecodeError {}
