//! Errors of edits, merges and pruning.

use super::ModelError;

/// A changed model does not keep a promise. This is a bug of the crate; the model should not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a guarantee does not hold: {guarantee}. Do not use the new model; please report this")]
pub struct GuaranteeError {
    /// What does not hold.
    pub guarantee: String,
}

impl GuaranteeError {
    pub(crate) fn new(guarantee: String) -> GuaranteeError {
        GuaranteeError { guarantee }
    }
}

/// A model that could not be edited.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// No piece has the text that a step names.
    #[error("there is no piece {piece:?}; `spiece export-vocab` lists the pieces")]
    NoSuchPiece {
        /// The text.
        piece: String,
    },
    /// A step adds a piece, or renames one to a text, that exists.
    #[error("piece {id} has the text {piece:?} already; rename or remove it first")]
    PieceExists {
        /// The text.
        piece: String,
        /// The id at that moment.
        id: usize,
    },
    /// A step inserts a piece at an id above the number of pieces.
    #[error("id {id} is above the number of pieces, {pieces}; use at most {pieces}")]
    IdTooHigh {
        /// The id.
        id: usize,
        /// The number of pieces at that moment.
        pieces: usize,
    },
    /// The edited model would not be a model.
    #[error("the edited model: {0}")]
    Model(#[from] ModelError),
    /// The check of the edited model failed.
    #[error(transparent)]
    Guarantee(#[from] GuaranteeError),
}
