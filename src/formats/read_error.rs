//! Why a file cannot be opened.

use crate::formats::{ByteFormatError, FileFormat};
use crate::pattern::PatternError;
use crate::pipeline::PipelineError;

/// Why a file cannot be opened: which component of it, the reason, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file cannot be read or parsed.
    #[error(transparent)]
    File(#[from] ByteFormatError),
    /// A component is malformed, or asks for what is not there.
    #[error("{}: {component}: {problem}", FileFormat::TokenizerJson)]
    Component {
        /// The component, as a path into the file.
        component: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// An expression cannot be used.
    #[error("{}: {component}: {source}", FileFormat::TokenizerJson)]
    Pattern {
        /// The component, as a path into the file.
        component: String,
        /// Where and why.
        source: PatternError,
    },
    /// The stages do not go together.
    #[error("{}: {source}", FileFormat::TokenizerJson)]
    Pipeline {
        /// Why.
        #[from]
        source: PipelineError,
    },
}

impl ReadError {
    /// Whether the file is not what its start says, or damaged.
    pub(crate) fn is_syntax(&self) -> bool {
        matches!(self, Self::File(ByteFormatError::Syntax { .. }))
    }

    /// About a component of a `tokenizer.json`.
    pub(super) fn component(component: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Component {
            component: component.into(),
            problem: problem.into(),
        }
    }
}
