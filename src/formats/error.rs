//! Errors of conversions.
use super::ByteFormatError;
use super::{FileFormat, Verdict};
use crate::model::{ModelError, ModelType};

/// A model that could not be converted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The format has no models of this type.
    #[error(
        "{format} has no form for {model_type} models; BPE and unigram models can be converted"
    )]
    Type {
        /// The type of the model.
        model_type: ModelType,
        /// The format.
        format: FileFormat,
    },
    /// The file does not have the format that its first bytes indicate, or it is damaged.
    #[error("not a valid {format} file: {problem}")]
    Syntax {
        /// The format.
        format: FileFormat,
        /// What is wrong, and where.
        problem: String,
    },
    /// The file asks for something that SentencePiece models cannot express.
    #[error(
        "{format}: {component} is {found}, which a SentencePiece model cannot express; {remedy}"
    )]
    Unsupported {
        /// The format.
        format: FileFormat,
        /// The field or component.
        component: String,
        /// Its value.
        found: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A format does not hold the pipeline of a `tokenizer.json`.
    #[error("{format} files cannot hold this tokenizer: {component} is {found}; {remedy}")]
    Component {
        /// The format that was to be written.
        format: FileFormat,
        /// The component of the pipeline, as a path into a `tokenizer.json`.
        component: String,
        /// What it is.
        found: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A byte-level vocabulary cannot be written.
    #[error(transparent)]
    Bytes(#[from] ByteFormatError),
    /// Ids can differ, and the caller asked for equal ids.
    #[error(
        "{verdict}\nModel::from_tokenizer_json and `spiece convert --force` convert it all the same"
    )]
    NotExact {
        /// The reasons.
        verdict: Verdict,
    },
    /// The piece of an option does not exist.
    #[error(
        "{option} names the piece {piece:?}, which the model does not have; `spiece export-vocab` lists the pieces"
    )]
    NoSuchPiece {
        /// The option.
        option: &'static str,
        /// The text of the piece.
        piece: String,
    },
    /// The converted model would not be a model.
    #[error("the converted model: {0}")]
    Model(#[from] ModelError),
}
