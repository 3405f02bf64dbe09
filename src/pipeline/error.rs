//! Why a pipeline cannot be made, or a text has no result.

use std::fmt;

use super::NoUnknownToken;
use crate::added::AddedTokensError;
use crate::decode::DecodeError;
use crate::encode::EncodeError;
use crate::pattern::PatternError;
use crate::piece::MAX_PIECE_BYTES;
use crate::trie::TrieTooLarge;

/// Why a pipeline cannot be made, or a text has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PipelineError {
    /// An added token is empty after normalization.
    EmptyAddedToken,
    /// An added token is too long.
    AddedTokenTooLong,
    /// The vocabulary is too large for the tables.
    TooLarge,
    /// The text has what is not in the vocabulary, and there is no token for that.
    NoUnknownToken,
    /// An expression took too many steps on a text.
    Pattern(PatternError),
}

impl fmt::Display for PipelineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyAddedToken => f.write_str(
                "an added token with `normalized` is empty after the normalizer, so that it is found \
                 between all characters; remove it from added_tokens, or set its `normalized` to false",
            ),
            Self::AddedTokenTooLong => write!(
                f,
                "an added token has {MAX_PIECE_BYTES} bytes or more; remove it from added_tokens"
            ),
            Self::TooLarge => f.write_str("the vocabulary needs too many cells of a table"),
            Self::NoUnknownToken => f.write_str(
                "the text has something that is not in the vocabulary, and the vocabulary has no \
                 unknown token; add the token that unk_token or unk_id names",
            ),
            Self::Pattern(_) => f.write_str("a pattern of the tokenizer cannot be applied"),
        }
    }
}

impl PipelineError {
    /// The message with its cause.
    fn problem(&self) -> String {
        match self {
            Self::Pattern(source) => format!("{self}: {source}"),
            _ => self.to_string(),
        }
    }
}

impl From<PipelineError> for EncodeError {
    fn from(error: PipelineError) -> Self {
        Self::NoResult {
            problem: error.problem(),
        }
    }
}

impl From<PipelineError> for DecodeError {
    fn from(error: PipelineError) -> Self {
        Self::NoResult {
            problem: error.problem(),
        }
    }
}

impl std::error::Error for PipelineError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Pattern(source) => Some(source),
            _ => None,
        }
    }
}

impl From<PatternError> for PipelineError {
    fn from(error: PatternError) -> Self {
        Self::Pattern(error)
    }
}

impl From<TrieTooLarge> for PipelineError {
    fn from(TrieTooLarge: TrieTooLarge) -> Self {
        Self::TooLarge
    }
}

impl From<AddedTokensError> for PipelineError {
    fn from(error: AddedTokensError) -> Self {
        match error {
            AddedTokensError::Empty => Self::EmptyAddedToken,
            AddedTokensError::TooLong => Self::AddedTokenTooLong,
            AddedTokensError::TooLarge => Self::TooLarge,
        }
    }
}

impl From<NoUnknownToken> for PipelineError {
    fn from(NoUnknownToken: NoUnknownToken) -> Self {
        Self::NoUnknownToken
    }
}
