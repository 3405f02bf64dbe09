//! Models in the formats of other programs, each with a verdict on whether the ids are equal.
//!
//! A [`Verdict`] is "ids equal for all text", or each reason why some text can have other ids, with
//! an example where one can be constructed.
//!
//! | module | job |
//! |---|---|
//! | `format` | which format bytes have, and which one a path asks for |
//! | `opened` | files, opened and read up to where their format shows |
//! | `folder` | what the files beside a vocabulary say about it |
//! | `verdict` | reasons why ids can differ |
//! | `merges` | the merges of a BPE model that text ever executes |
//! | `order` | an order of these merges for programs that merge by rank |
//! | `tokenizer_json` | `tokenizer.json` and the folder for `transformers` |
//! | `gguf` | GGUF files of llama.cpp |
//! | `bytes` | byte-level vocabularies of tiktoken, GPT-2, Mistral and minbpe |
//! | `wordpiece` | the `vocab.txt` of BERT |
//!
//! The verdict is derived from the model alone, before anything is written: it holds for every
//! text, not for a sample of texts. `docs/DESIGN.md` has the argument. Where the analysis cannot
//! prove equality, it gives a reason. So a verdict without reasons is certain, whereas a reason
//! without an example may not apply to any text.

#[cfg(feature = "tokenizer-json")]
pub(crate) mod bytes;
mod error;
mod format;
#[cfg(feature = "tokenizer-json")]
mod folder;
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
#[cfg(feature = "tokenizer-json")]
pub(crate) use self::folder::options_of_folder;
pub use self::format::FileFormat;
#[cfg(all(feature = "gguf", feature = "tokenizer-json"))]
pub(crate) use self::gguf::GgufContent;
#[cfg(feature = "gguf")]
pub use self::gguf::{GgufOptions, GgufVocab};
#[cfg(feature = "tokenizer-json")]
pub(crate) use self::opened::OpenedFile;
#[cfg(feature = "tokenizer-json")]
pub use self::read_error::ReadError;
#[cfg(feature = "tokenizer-json")]
pub use self::tokenizer_json::{
    CopiedPostProcessor, JsonOptions, ReadPostProcessor, TokenizerJson, TransformersFolder,
};
pub use self::verdict::{Reason, ReasonKind, Verdict};
#[cfg(feature = "tokenizer-json")]
pub(crate) use self::wordpiece::read_vocab_txt;
use crate::model::Model;
#[cfg(feature = "tokenizer-json")]
use crate::pipeline::Pipeline;

/// The files of a folder that can hold its vocabulary, in the order in which they are looked for.
#[cfg(feature = "tokenizer-json")]
pub(crate) const FILES_OF_FOLDERS: [&str; 5] = [
    "tokenizer.json",
    "tekken.json",
    "vocab.json",
    "encoder.json",
    "vocab.txt",
];

/// The pipeline of the bytes of a `tokenizer.json`.
#[cfg(feature = "tokenizer-json")]
pub(crate) fn read_pipeline(file: &[u8]) -> Result<Pipeline, ReadError> {
    opened::check_size(FileFormat::TokenizerJson, file)?;
    tokenizer_json::read_pipeline(opened::text(FileFormat::TokenizerJson, file)?)
}

#[cfg(feature = "tokenizer-json")]
impl Pipeline {
    /// The pipeline as a `tokenizer.json`: tokenizers 0.23.3 has the same ids, tokens, spans and texts,
    /// and so has the pipeline of the file.
    ///
    /// ```
    /// use spiece::Tokenizer;
    /// let file = br#"{"model": {"type": "WordLevel", "vocab": {"a": 0, "<unk>": 1}, "unk_token": "<unk>"}}"#;
    /// let tokenizer = Tokenizer::from_bytes(file)?;
    /// let json = tokenizer.pipeline().expect("it is a tokenizer.json").to_tokenizer_json();
    /// assert_eq!(Tokenizer::from_bytes(&json)?.encode("b"), tokenizer.encode("b"));
    /// # Ok::<(), spiece::ModelError>(())
    /// ```
    pub fn to_tokenizer_json(&self) -> Vec<u8> {
        tokenizer_json::write_pipeline(self)
    }
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
