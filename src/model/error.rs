//! Errors of parsing, building and editing models.

use std::error::Error;
use std::fmt;

/// The content of a model that is damaged or breaks a rule. Opening a file has the error
/// [`OpenError`](crate::OpenError), which holds this one.
///
/// ```
/// use spiece::{Model, ModelError};
///
/// let error = Model::builder().build().unwrap_err();
/// assert!(matches!(error, ModelError::NoUnknownPiece));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ModelError {
    /// The bytes are not the protobuf message of a model.
    Format {
        /// The position of the field that could not be read: bytes from the start of the file.
        offset: usize,
        /// What is wrong with the field.
        problem: &'static str,
    },
    /// A piece breaks a rule.
    Piece {
        /// Its id.
        id: usize,
        /// Its text; only the beginning if it is long, and U+FFFD for bytes that are not UTF-8.
        text: String,
        /// The rule.
        problem: PieceProblem,
    },
    /// No piece has the kind "unknown", and byte fallback is off.
    NoUnknownPiece,
    /// Byte fallback is on, but some of the 256 byte pieces are missing.
    NoBytePiece {
        /// The first byte without a piece.
        byte: u8,
    },
    /// A unigram model has no piece of the kinds normal, user-defined and unused.
    NoTextPiece,
    /// The model has too many pieces.
    TooManyPieces {
        /// The number of pieces.
        pieces: usize,
        /// The largest number that is allowed.
        limit: usize,
    },
    /// The texts of all pieces together are too long.
    TooMuchText {
        /// Bytes of all texts.
        bytes: usize,
        /// The largest number that is allowed.
        limit: usize,
    },
    /// The trie of the pieces would need more units than its format can number.
    TrieTooLarge,
    /// A precompiled charsmap is damaged, or normalization rules are refused.
    Charsmap {
        /// The spec that contains it.
        field: &'static str,
        /// What is wrong.
        source: Box<dyn Error + Send + Sync>,
    },
}

/// The rule that a piece breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PieceProblem {
    /// The text is empty.
    Empty,
    /// The text is too long.
    TooLong {
        /// Bytes of the text.
        bytes: usize,
        /// Texts must have fewer bytes than this.
        limit: usize,
    },
    /// The text contains a NUL.
    Nul,
    /// An earlier piece has the same text.
    Duplicate,
    /// An earlier piece is already the unknown piece.
    SecondUnknown,
    /// The kind is "byte", but byte fallback is off.
    ByteWithoutFallback,
    /// The kind is "byte", but the text is not one of `<0x00>` to `<0xFF>`.
    ByteText,
    /// The score is infinite or not a number, in a unigram model.
    Score,
}

impl ModelError {
    /// Whether the content of a model breaks a rule, so that its pieces have to be changed.
    pub(crate) fn breaks_rule(&self) -> bool {
        matches!(
            self,
            Self::Piece { .. }
                | Self::NoUnknownPiece
                | Self::NoBytePiece { .. }
                | Self::NoTextPiece
        )
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format { offset, problem } => write!(
                f,
                "not a SentencePiece model: {problem}, at byte {offset} (the file is damaged, or no .model file; fetch it again)"
            ),
            Self::Piece { id, text, problem } => write!(f, "piece {id} {text:?}: {problem}"),
            Self::NoUnknownPiece => f.write_str(
                "the model has no unknown piece; add a piece of that kind, or byte_fallback and the byte pieces",
            ),
            Self::NoBytePiece { byte } => write!(
                f,
                "byte_fallback is on, but the byte piece <0x{byte:02X}> is missing; add all 256 byte pieces"
            ),
            Self::NoTextPiece => {
                f.write_str("the unigram model has no piece for text; add a normal piece")
            }
            Self::TooManyPieces { pieces, limit } => {
                write!(f, "the model has {pieces} pieces or more; {limit} are the limit")
            }
            Self::TooMuchText { bytes, limit } => write!(
                f,
                "the texts of the pieces have {bytes} bytes; {limit} are the limit; remove some of the pieces"
            ),
            Self::TrieTooLarge => f.write_str(
                "the pieces need a trie of more than 2^29 cells; remove some of the pieces",
            ),
            Self::Charsmap { field, source } => write!(f, "{field}: {source}"),
        }
    }
}

impl Error for ModelError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Charsmap { source, .. } => Some(&**source),
            _ => None,
        }
    }
}

impl fmt::Display for PieceProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the text is empty; remove the piece"),
            Self::TooLong { bytes, limit } => write!(
                f,
                "the text has {bytes} bytes; texts must be shorter than {limit} bytes"
            ),
            Self::Nul => f.write_str("the text contains a NUL; remove it"),
            Self::Duplicate => {
                f.write_str("an earlier piece has the same text; remove or rename one of them")
            }
            Self::SecondUnknown => {
                f.write_str("an earlier piece is the unknown piece already; change the kind of one")
            }
            Self::ByteWithoutFallback => f.write_str(
                "the kind is byte, but byte_fallback is off; turn it on or change the kind",
            ),
            Self::ByteText => {
                f.write_str("the kind is byte, but the text is not one of <0x00> to <0xFF>")
            }
            Self::Score => f.write_str(
                "the score is infinite or not a number; unigram models need finite scores",
            ),
        }
    }
}
