//! Errors of byte-level vocabularies.

use std::fmt;

use super::ByteBpe;
use crate::added::AddedTokensError;
use crate::base::lossy_string;
use crate::piece::{MAX_PIECES, MAX_TEXT_BYTES};

/// Why [`ByteBpeParts`](super::ByteBpeParts) are no vocabulary.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ByteBpeError {
    /// No token is this single byte.
    MissingByte {
        /// The byte.
        byte: u8,
    },
    /// A token has no bytes.
    EmptyToken {
        /// Its id.
        id: u32,
    },
    /// Two tokens have the same bytes.
    RepeatedToken {
        /// The bytes.
        bytes: Box<[u8]>,
        /// The id of the second one.
        id: u32,
    },
    /// Two tokens have the same id, and neither is a special token.
    RepeatedId {
        /// The id.
        id: u32,
    },
    /// An id is above [`ByteBpe::MAX_ID`].
    IdTooLarge {
        /// The id.
        id: u32,
    },
    /// There are too many tokens.
    TooManyTokens {
        /// Their number.
        tokens: usize,
    },
    /// The tokens have too many bytes in all.
    TooManyBytes {
        /// Their number.
        bytes: usize,
    },
    /// The text of a special token is empty, or has a NUL.
    SpecialText {
        /// The id of the token.
        id: u32,
    },
    /// Two special tokens have the same text.
    RepeatedSpecial {
        /// The text.
        text: String,
    },
    /// The text of a special token is too long, or all together need too many cells of a trie.
    SpecialTooLarge,
}

impl fmt::Display for ByteBpeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingByte { byte } => write!(
                f,
                "no token is the byte 0x{byte:02x} alone, so some texts could not be encoded; add a token for each of the 256 bytes"
            ),
            Self::EmptyToken { id } => write!(f, "token {id} has no bytes; give its id as the empty token"),
            Self::RepeatedToken { bytes, id } => write!(
                f,
                "token {id} has the bytes {:?} of a token before it; leave one of them out",
                lossy_string(bytes)
            ),
            Self::RepeatedId { id } => {
                write!(f, "two tokens have the id {id}; give each its own")
            }
            Self::IdTooLarge { id } => write!(
                f,
                "the id {id} is too large; use ids up to {}",
                ByteBpe::MAX_ID
            ),
            Self::TooManyTokens { tokens } => {
                write!(f, "{tokens} tokens are too many; use {MAX_PIECES} at most")
            }
            Self::TooManyBytes { bytes } => write!(
                f,
                "the tokens have {bytes} bytes in all; {MAX_TEXT_BYTES} are allowed"
            ),
            Self::SpecialText { id } => write!(
                f,
                "the text of special token {id} is empty or has a NUL, so that it cannot be found; leave it out"
            ),
            Self::RepeatedSpecial { text } => write!(
                f,
                "two special tokens have the text {text:?}; leave one of them out"
            ),
            Self::SpecialTooLarge => f.write_str(
                "the texts of the special tokens are too long: each has fewer than 8000 bytes, and all fit a trie of 2^29 cells; use fewer or shorter ones",
            ),
        }
    }
}

impl std::error::Error for ByteBpeError {}

impl From<AddedTokensError> for ByteBpeError {
    /// Texts in normalization form C are not empty if they were not before.
    fn from(_: AddedTokensError) -> Self {
        Self::SpecialTooLarge
    }
}
