//! Why a file cannot be opened.

use std::io;
use std::path::PathBuf;

use crate::formats::FileFormat;
use crate::pattern::PatternError;
use crate::pipeline::PipelineError;

/// Why a file cannot be opened: which component of it, the reason, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A component is malformed, or asks for what is not there.
    #[error("{format}: {component}: {problem}")]
    Component {
        /// The format of the file.
        format: FileFormat,
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

/// The component of errors about the file as a whole.
const WHOLE_FILE: &str = "the file";

impl ReadError {
    /// Whether the file as a whole cannot be parsed.
    pub(crate) fn is_malformed(&self) -> bool {
        matches!(self, Self::Component { component, .. } if component == WHOLE_FILE)
    }

    /// About the file as a whole.
    pub(super) fn malformed(problem: impl Into<String>) -> Self {
        Self::component(WHOLE_FILE, problem)
    }

    /// About a component of a `tokenizer.json`.
    pub(super) fn component(component: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Component {
            format: FileFormat::TokenizerJson,
            component: component.into(),
            problem: problem.into(),
        }
    }
}
