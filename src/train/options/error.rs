//! Errors of training options.

use crate::input::DocumentConflict;
use crate::pattern::PatternError;

/// An option that cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionError {
    /// No option has this name.
    #[error("there is no option {option}; TrainFlags::DESCRIPTORS lists the names")]
    Unknown {
        /// The name that was given.
        option: String,
    },
    /// The value is not one that the option takes.
    #[error("{option}: {value:?} is not {expected}")]
    Value {
        /// The option.
        option: &'static str,
        /// The text that was given.
        value: String,
        /// What the option takes.
        expected: &'static str,
    },
    /// A number out of range.
    #[error("{option}: {value} is out of range; use {low} to {high}")]
    Range {
        /// The option.
        option: &'static str,
        /// The number that was given.
        value: f64,
        /// The smallest that is allowed.
        low: f64,
        /// The largest that is allowed.
        high: f64,
    },
    /// The option does not go with another option, or with what spiece can do.
    #[error("{option}: {problem}; {remedy}")]
    Conflict {
        /// The option.
        option: &'static str,
        /// What is wrong.
        problem: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The pattern cannot be used.
    #[error("{option}: {source}")]
    Pattern {
        /// The option.
        option: &'static str,
        /// What is wrong.
        source: PatternError,
    },
    /// A piece that the options ask for cannot be a piece.
    #[error("{option}: the piece {piece:?} {problem}")]
    Piece {
        /// The option.
        option: &'static str,
        /// The text of the piece.
        piece: String,
        /// What is wrong and what to do.
        problem: &'static str,
    },
}

impl From<DocumentConflict> for OptionError {
    fn from(conflict: DocumentConflict) -> Self {
        Self::Conflict {
            option: "document",
            problem: conflict.problem.to_owned(),
            remedy: conflict.remedy,
        }
    }
}
