//! Models in the formats of other programs, each with a verdict on whether the ids are equal.
//!
//! A [`Verdict`] is "ids equal for all text", or each reason why some text can have other ids, with
//! an example where one can be constructed.
//!
//! | module | job |
//! |---|---|
//! | `format` | which format bytes have, and which one a path asks for |
//! | `opened` | files, opened and read up to where their format shows |
//! | `verdict` | reasons why ids can differ |
//! | `merges` | the merges of a BPE model that text ever executes |
//! | `order` | an order of these merges for programs that merge by rank |
//! | `tokenizer_json` | `tokenizer.json` and the folder for `transformers` |
//! | `gguf` | GGUF files of llama.cpp |
//! | `bytes` | byte-level vocabularies of tiktoken, GPT-2, Mistral and minbpe |
//! | `wordpiece` | WordPiece vocabularies of BERT |
//!
//! The verdict is derived from the model alone, before anything is written: it holds for every
//! text, not for a sample of texts. `docs/DESIGN.md` has the argument. Where the analysis cannot
//! prove equality, it gives a reason. So a verdict without reasons is certain, whereas a reason
//! without an example may not apply to any text.

#[cfg(feature = "tokenizer-json")]
use std::path::Path;

#[cfg(feature = "tokenizer-json")]
pub(crate) mod bytes;
mod error;
mod format;
#[cfg(feature = "gguf")]
mod gguf;
#[cfg(feature = "tokenizer-json")]
mod merges;
#[cfg(feature = "tokenizer-json")]
mod opened;
#[cfg(feature = "tokenizer-json")]
mod order;
#[cfg(feature = "tokenizer-json")]
mod read_error;
#[cfg(feature = "tokenizer-json")]
mod tokenizer_json;
mod verdict;
#[cfg(feature = "tokenizer-json")]
mod wordpiece;

#[cfg(all(feature = "tokenizer-json", feature = "train"))]
pub(crate) use self::bytes::printable;
#[cfg(feature = "tokenizer-json")]
pub use self::bytes::{
    ByteFileOptions, ByteFiles, ByteFormatError, ByteFormatOptions, ByteVocabulary, Missing, Place,
    PostProcessor,
};
pub use self::error::ConvertError;
pub use self::format::FileFormat;
#[cfg(feature = "gguf")]
pub use self::gguf::{GgufOptions, GgufVocab};
#[cfg(feature = "tokenizer-json")]
use self::opened::OpenedFile;
#[cfg(feature = "tokenizer-json")]
pub use self::read_error::ReadError;
#[cfg(feature = "tokenizer-json")]
pub use self::tokenizer_json::{
    CopiedPostProcessor, JsonOptions, ReadPostProcessor, TokenizerJson, TransformersFolder,
};
pub use self::verdict::{Reason, ReasonKind, Verdict};
#[cfg(feature = "tokenizer-json")]
pub use self::wordpiece::WordPieceVocabulary;
use crate::model::Model;
#[cfg(feature = "tokenizer-json")]
use crate::pipeline::Pipeline;

/// The pipeline of a `tokenizer.json`, or of the one in a folder; `None` for other files, which are
/// not read as a whole.
#[cfg(feature = "tokenizer-json")]
pub(crate) fn open_pipeline(path: &Path) -> Result<Option<Pipeline>, ReadError> {
    match OpenedFile::open(path, &["tokenizer.json"])? {
        Some(file) if file.format == FileFormat::TokenizerJson => {
            pipeline_from_bytes(&file.read()?).map(Some)
        }
        _ => Ok(None),
    }
}

/// The pipeline of the bytes of a `tokenizer.json`.
#[cfg(feature = "tokenizer-json")]
pub(crate) fn pipeline_from_bytes(file: &[u8]) -> Result<Pipeline, ReadError> {
    opened::check_size(FileFormat::TokenizerJson, file)?;
    tokenizer_json::read_pipeline(opened::text(FileFormat::TokenizerJson, file)?)
}

/// A model that was read from another format.
///
/// If the verdict is not [exact](Verdict::is_exact), the ids of some texts may differ from those of
/// the program that the file was made for.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConvertedModel {
    /// The model.
    pub model: Model,
    /// Whether the ids of the model equal those of the program that the file was made for.
    pub verdict: Verdict,
}

impl ConvertedModel {
    /// The model, if its ids are equal for all text.
    ///
    /// # Errors
    /// [`ConvertError::NotExact`] with the reasons.
    pub fn into_exact(self) -> Result<Model, ConvertError> {
        if self.verdict.is_exact() {
            return Ok(self.model);
        }
        Err(ConvertError::NotExact {
            verdict: self.verdict,
        })
    }
}
