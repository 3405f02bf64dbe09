//! Why parts are no WordPiece vocabulary.

use crate::byte_bpe::ByteBpeError;
use crate::piece::MAX_TEXT_BYTES;

/// Why [`WordPieceParts`](super::WordPieceParts) are no vocabulary.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum WordPieceError {
    /// No piece has the text for unknown words.
    NoUnknown {
        /// The text.
        text: String,
    },
    /// Two pieces with different texts have the same id.
    RepeatedId {
        /// The id.
        id: u32,
    },
    /// An id is above [`WordPiece::MAX_ID`](super::WordPiece::MAX_ID).
    IdTooLarge {
        /// The id.
        id: u32,
    },
    /// The pieces have too many bytes in all.
    TooLarge,
    /// A piece has a NUL, and text with it is not cleaned.
    Nul {
        /// The id of the piece.
        id: u32,
    },
    /// Accents are removed, which needs the feature `nfc`.
    NoNfc,
    /// A special token cannot be looked for.
    Special(ByteBpeError),
}

impl std::fmt::Display for WordPieceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoUnknown { text } => write!(
                f,
                "no piece is {text:?}, so that unknown words have no id; add it, or name another unknown token"
            ),
            Self::RepeatedId { id } => write!(f, "two pieces have the id {id}; give each its own"),
            Self::IdTooLarge { id } => write!(
                f,
                "the id {id} is too large; use ids up to {}",
                super::WordPiece::MAX_ID
            ),
            Self::TooLarge => write!(
                f,
                "the pieces are too long for a trie of 2^29 cells, or have more than {MAX_TEXT_BYTES} bytes in all; use fewer or shorter ones"
            ),
            Self::Nul { id } => write!(
                f,
                "piece {id} has a NUL, which cannot be found in text; leave it out, or clean the text"
            ),
            Self::NoNfc => f.write_str("removing accents needs the feature nfc of this library"),
            Self::Special(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for WordPieceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Special(error) => error.source(),
            _ => None,
        }
    }
}

impl From<ByteBpeError> for WordPieceError {
    fn from(error: ByteBpeError) -> Self {
        Self::Special(error)
    }
}
