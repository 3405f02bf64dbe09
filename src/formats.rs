//! Models in the formats of other programs, each with a verdict on whether the ids are equal.
//!
//! A [`Verdict`] is "ids equal for all text", or each reason why some text can have other ids, with
//! an example where one can be constructed.
//!
//! | module | job |
//! |---|---|
//! | `format` | the formats, and which one a path asks for |
//! | `recognize` | which format bytes have |
//! | `opened` | files, opened and read up to where their format shows |
//! | `folder` | what the files beside a vocabulary say about it |
//! | `roles` | which special token plays which role |
//! | `model_type` | what a type of model changes for transformers |
//! | `verdict` | reasons why ids can differ |
//! | `merges` | the merges of a BPE model that text ever executes |
//! | `order` | an order of these merges for programs that merge by rank |
//! | `tokenizer_json` | `tokenizer.json` and the folder for `transformers` |
//! | `gguf` | GGUF files of llama.cpp |
//! | `bytes` | byte-level vocabularies of tiktoken, GPT-2, Mistral and minbpe |
//! | `wordpiece` | the `vocab.txt` of BERT |
//! | `pipeline_files` | pipelines in the files of other programs |
//!
//! The verdict is derived from the model alone, before anything is written: it holds for every
//! text, not for a sample of texts. `docs/design/CONVERTING.md` has the argument. Where the analysis cannot
//! prove equality, it gives a reason. So a verdict without reasons is certain, whereas a reason
//! without an example may not apply to any text.
pub(crate) mod bytes;
mod error;
mod format;
mod folder;
mod gguf;
mod merges;
mod model_type;
mod opened;
mod order;
mod pipeline_files;
mod recognize;
mod roles;
mod tokenizer_json;
mod verdict;
mod wordpiece;

#[cfg(feature = "train")]
pub(crate) use self::bytes::printable;
pub use self::bytes::{ByteFileOptions, ByteFiles, ByteFormatOptions, ByteVocabulary, Missing};
pub use self::error::{FormatError, Place};
pub(crate) use self::folder::{ModelFolder, options_of_folder};
pub use self::folder::{model_type_of_folder, roles_of_folder};
pub use self::format::{FileFormat, ParseFileFormatError};
pub(crate) use self::gguf::GgufContent;
pub use self::gguf::{GgufOptions, GgufVocab};
pub(crate) use self::opened::{FileContent, OpenedFile};
pub use self::roles::{TOKEN_ROLES, TokenRoles};
pub use self::tokenizer_json::{
    Component, CopiedPostProcessor, JsonOptions, JsonVersion, PostProcessor, ReadPostProcessor,
    TokenizerFile, TokenizerJson, TransformersFolder,
};
pub use self::verdict::{Reason, ReasonKind, Verdict};
pub(crate) use self::wordpiece::read_vocab_txt;
use crate::pipeline::{Pipeline, PipelineModel, UnicodeVersion};

/// The files of a folder that can hold its vocabulary, in the order in which they are looked for.
pub(crate) const FILES_OF_FOLDERS: [&str; 5] = [
    "tokenizer.json",
    "tekken.json",
    "vocab.json",
    "encoder.json",
    "vocab.txt",
];

/// The files of folders of Llama 3 and Kimi that hold the ranks of tiktoken, under names that files of
/// SentencePiece can have, too.
pub(crate) const RANKS_OF_FOLDERS: [&str; 2] = ["tokenizer.model", "tiktoken.model"];

/// The pipeline of the bytes of a `tokenizer.json`, as the release of tokenizers runs it that the file is
/// for.
pub(crate) fn read_pipeline(file: &[u8]) -> Result<Pipeline, FormatError> {
    read_pipeline_with(file, None)
}

/// The same with the normalization forms of a version of Unicode.
pub(crate) fn read_pipeline_with(
    file: &[u8],
    unicode: Option<UnicodeVersion>,
) -> Result<Pipeline, FormatError> {
    tokenizer_json::read_pipeline(json_text(file)?, unicode)
}

/// The text of a `tokenizer.json`.
fn json_text(file: &[u8]) -> Result<&str, FormatError> {
    opened::check_size(FileFormat::TokenizerJson, file)?;
    opened::text(FileFormat::TokenizerJson, file)
}

impl Pipeline {
    /// The pipeline as a `tokenizer.json`: tokenizers 0.23.3 has the same ids, tokens, spans and texts,
    /// and so has the pipeline of the file. Of a vocabulary of byte strings, a pattern may come back with
    /// another expression that cuts every text as this one does, and special tokens in the order of their
    /// ids; its tokens become the characters that stand for their bytes.
    ///
    /// ```
    /// use spiece::Tokenizer;
    /// let file = br#"{"model": {"type": "WordLevel", "vocab": {"a": 0, "<unk>": 1}, "unk_token": "<unk>"}}"#;
    /// let tokenizer = Tokenizer::from_bytes(file)?;
    /// let pipeline = tokenizer.pipeline().expect("it is a tokenizer.json");
    /// let json = pipeline.to_tokenizer_json()?;
    /// assert_eq!(Tokenizer::from_bytes(&json)?.encode("b"), tokenizer.encode("b"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A vocabulary of byte strings that no `tokenizer.json` holds: its pattern has no form that means
    /// the same to Oniguruma, or tokenizers would give a special token another id.
    pub fn to_tokenizer_json(&self) -> Result<Vec<u8>, FormatError> {
        let PipelineModel::Bytes(bytes) = self.model() else {
            return Ok(tokenizer_json::write_pipeline(self));
        };
        let options = ByteFileOptions::default();
        let written = (bytes.byte_bpe()).to_format(FileFormat::TokenizerJson, &options)?;
        let verdict = written.verdict;
        if !verdict.is_exact() {
            return Err(FormatError::NotExact { verdict });
        }
        let files = written.files.into_iter();
        Ok(files.flat_map(|(_, file)| file).collect())
    }

    /// The stages as a JSON object with the fields of a `tokenizer.json`. Vocabulary and merges are
    /// left out, and the bytes of normalization rules; their numbers are there instead (`tokens`,
    /// `merges`, `precompiled_charsmap_bytes`).
    pub fn stages_to_json(&self) -> String {
        tokenizer_json::write_stages(self)
    }
}

/// What was read from a file.
///
/// If the verdict is not [exact](Verdict::is_exact), the ids of some texts may differ from those of
/// the program that the file was made for.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Converted<T> {
    /// What was read.
    pub value: T,
    /// Whether its ids equal those of the program that the file was made for.
    pub verdict: Verdict,
}

impl<T> Converted<T> {
    /// What was read, if its ids are equal for all text.
    ///
    /// # Errors
    /// [`FormatError::NotExact`] with the reasons.
    pub fn into_exact(self) -> Result<T, FormatError> {
        if self.verdict.is_exact() {
            return Ok(self.value);
        }
        Err(FormatError::NotExact {
            verdict: self.verdict,
        })
    }
}
