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

/// The error for an option that conflicts with others, or whose value is unusable.
pub(crate) fn conflict(option: &'static str, problem: &str, remedy: &'static str) -> OptionError {
    OptionError::Conflict {
        option,
        problem: problem.to_owned(),
        remedy,
    }
}

/// The error for a value that is not one of the option's values.
pub(super) fn invalid_value(
    option: &'static str,
    value: &str,
    expected: &'static str,
) -> OptionError {
    OptionError::Value {
        option,
        value: value.to_owned(),
        expected,
    }
}

/// The error for a value outside `low..=high`.
pub(super) fn out_of_range(option: &'static str, value: f64, low: f64, high: f64) -> OptionError {
    OptionError::Range {
        option,
        value,
        low,
        high,
    }
}
