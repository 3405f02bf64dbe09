//! `tokenizer.json` of the library `tokenizers`, and the folder that
//! `AutoTokenizer.from_pretrained` of `transformers` reads.
//!
//! BPE and unigram models are written and read, each with a verdict.
//!
//! | module | job |
//! |---|---|
//! | `export` | model -> the parts of a `tokenizer.json`, and the verdict |
//! | `normalization` | whitespace, dummy prefix and simple rules as normalizers of `tokenizers` |
//! | `symbols` | user-defined symbols as added tokens |
//! | `write` | parts -> pipeline |
//! | `folder` | the files for `transformers` |
//! | `parse` | JSON -> borrowed fields |
//! | `pipeline` | fields -> pipeline |
//! | `write_pipeline` | pipeline -> JSON |
//! | `ordered_json` | the order of the fields of that JSON |
//! | `components` | normalizers and pre-tokenizers -> flags of a model |
//! | `import` | pipeline -> model, and the verdict |
//! | `tokenizer_file` | a file whose components can be changed |
//! | `saved_form` | components as tokenizers saves them |
//! | `version_2` | files of tokenizers 1.0 |
//! | `byte_level` | byte-level vocabularies |
//!
//! # What a model becomes
//! | part of the model | in `tokenizer.json` |
//! |---|---|
//! | pieces | `model.vocab`, with their ids |
//! | merges of a BPE model | `model.merges`: one pair for each piece, the only one that any text executes (see `merges`) |
//! | scores of a unigram model | `model.vocab` |
//! | whitespace flags | regular expressions in `normalizer` |
//! | precompiled charsmap | `Precompiled`, which applies it differently; rules for single characters become `Replace` |
//! | control and unknown pieces | added tokens with `special` |
//! | user-defined symbols | BPE: added tokens with `normalized`; unigram: pieces with the score that SentencePiece gives them |
//!
//! # Control pieces in text
//! `tokenizers` finds the text of control pieces, such as `<s>`, in every text, and encodes the
//! parts between them separately. This is what
//! [`EncodeOptions::allowed_special`](crate::EncodeOptions::allowed_special) does with all control
//! pieces. With `split_special_tokens=True` the text of control pieces is ordinary text, as in
//! SentencePiece. Verdicts compare like with like: the default of `tokenizers` with all control
//! pieces allowed, and `split_special_tokens=True` with the default of SentencePiece.

mod byte_level;
mod components;
mod export;
mod folder;
mod import;
mod normalization;
mod ordered_json;
mod parse;
mod pipeline;
mod post_processor;
mod saved_form;
mod symbols;
mod tokenizer_file;
mod version_2;
mod write;
mod write_pipeline;

pub(super) use self::byte_level::{Placement, read_byte_level, vocabulary, write_byte_level};
use self::export::JsonParts;
pub use self::folder::TransformersFolder;
pub(super) use self::folder::{config_of_bert, config_of_tokens};
pub(super) use self::parse::{
    JsonAddedToken, JsonMerges, JsonModel, JsonPipeline, JsonText, JsonVocab,
};
pub(super) use self::pipeline::{read_pipeline, with_equal_model};
pub use self::post_processor::{CopiedPostProcessor, PostProcessor, ReadPostProcessor};
pub use self::saved_form::Component;
pub use self::tokenizer_file::TokenizerFile;
pub(super) use self::version_2::write_version_2;
pub(super) use self::write_pipeline::{write_pipeline, write_stages};
use super::{Converted, FileFormat, Reason, ReasonKind, TokenRoles, Verdict};
use crate::formats::FormatError;
use crate::model::{Model, Piece};
use crate::piece::{PieceId, PieceKind};
use crate::pipeline::{Pipeline, PipelineModel};

/// Options of [`Model::to_tokenizer_json`] and [`Model::to_transformers_folder`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JsonOptions {
    /// Put the BOS piece before every text (unless the caller of `transformers` sets
    /// `add_special_tokens=False`).
    pub add_bos: bool,
    /// Put the EOS piece after every text.
    pub add_eos: bool,
    /// The chat template (Jinja), which is copied to `tokenizer_config.json`.
    pub chat_template: Option<String>,
    /// The `model_type` of a `config.json` in the folder that is written to.
    pub model_type: Option<String>,
    /// Special tokens by their roles, for folders and version 2.0, beside or instead of those that the model knows.
    pub roles: TokenRoles,
    /// The version of a `tokenizer.json`; folders have that of 0.23.
    pub version: JsonVersion,
}

/// The version of a `tokenizer.json`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonVersion {
    /// "1.0", for all releases.
    #[default]
    V1,
    /// "2.0", for tokenizers 1.0.
    V2,
}

/// A `tokenizer.json`, and whether it gives the ids of the model.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TokenizerJson {
    /// The file.
    pub json: Vec<u8>,
    /// Whether the ids of `tokenizers` equal those of the model.
    pub verdict: Verdict,
}

impl Model {
    /// The model as a `tokenizer.json`, with a verdict.
    ///
    /// ```
    /// use spiece::formats::JsonOptions;
    /// use spiece::Model;
    ///
    /// let model = Model::open("testdata/golden/llama2.model")?;
    /// let converted = model.to_tokenizer_json(&JsonOptions::default())?;
    /// assert!(converted.verdict.is_exact());
    /// let back = Model::from_tokenizer_json(&converted.json)?;
    /// assert!(back.verdict.is_exact());
    /// assert_eq!(back.value.len(), model.len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The model is a word or char model, or lacks a BOS or EOS piece that an option asks for. Version
    /// 2.0 has no form for the flags of some models.
    pub fn to_tokenizer_json(&self, options: &JsonOptions) -> Result<TokenizerJson, FormatError> {
        JsonParts::new(self, options)?.into_file(options.version, &options.roles)
    }

    /// The files that `AutoTokenizer.from_pretrained` of `transformers` reads: `tokenizer.json`,
    /// `tokenizer_config.json`, `special_tokens_map.json` and `tokenizer.model`; with a verdict.
    ///
    /// # Errors
    /// As [`Model::to_tokenizer_json`].
    pub fn to_transformers_folder(
        &self,
        options: &JsonOptions,
    ) -> Result<TransformersFolder, FormatError> {
        TransformersFolder::new(self, options)
    }

    /// Reads a `tokenizer.json`, with a verdict on whether the ids of the model equal those of
    /// `tokenizers`.
    ///
    /// Memory, the model included: measured at 13 times the file for a model with the options of
    /// Llama 2; tests hold it below 64 times for seven hostile shapes. Files of 2 GiB and more are
    /// refused. All pieces are encoded once.
    ///
    /// # Errors
    /// The bytes are not a `tokenizer.json`, or ask for something that a SentencePiece model cannot
    /// express.
    pub fn from_tokenizer_json(bytes: &[u8]) -> Result<Converted<Self>, FormatError> {
        let json = super::json_text(bytes)?;
        let pipeline = JsonPipeline::parse(json)?.into_pipeline(None)?;
        Self::from_pipeline(&pipeline)
    }

    /// The model of a pipeline, with a verdict on whether its ids are those of the pipeline.
    ///
    /// # Errors
    /// The pipeline has something that a SentencePiece model cannot express.
    pub(super) fn from_pipeline(pipeline: &Pipeline) -> Result<Converted<Self>, FormatError> {
        let mut converted = import::convert(pipeline, pipeline.added_tokens())?;
        converted.verdict.add_all(length_reasons(pipeline));
        Ok(converted)
    }
}

/// The error for a file that cannot be parsed.
fn syntax(problem: impl ToString) -> FormatError {
    FormatError::Damaged {
        format: FileFormat::TokenizerJson,
        problem: problem.to_string(),
    }
}

/// The reason of merges that are skipped at random.
fn dropout_reason(pipeline: &Pipeline) -> Option<Reason> {
    let dropout = match pipeline.model() {
        PipelineModel::Bpe(bpe) => bpe.options().dropout,
        _ => None,
    };
    setting_reason(
        dropout.is_some_and(|dropout| dropout > 0.0),
        "model.dropout is set: tokenizers skips merges at random",
    )
}

/// The reason of a setting with which `tokenizers` changes ids, if it is set.
fn setting_reason(is_set: bool, explanation: &str) -> Option<Reason> {
    is_set.then(|| Reason::new(ReasonKind::Setting, explanation))
}

/// The reasons of lengths, which calls apply here.
fn length_reasons(pipeline: &Pipeline) -> impl Iterator<Item = Reason> {
    let truncation = setting_reason(
        pipeline.truncation().is_some(),
        "truncation is set: tokenizers cuts off long texts",
    );
    let padding = setting_reason(
        pipeline.padding().is_some(),
        "padding is set: tokenizers fills up short texts",
    );
    truncation.into_iter().chain(padding)
}

fn pieces_of_kind(model: &Model, kind: PieceKind) -> impl Iterator<Item = Piece<'_>> {
    model.pieces().filter(move |piece| piece.kind == kind)
}

fn kind_of(model: &Model, id: PieceId) -> PieceKind {
    model.table().kind(id.index())
}

fn text_of(model: &Model, id: PieceId) -> &[u8] {
    model.table().text(id.index())
}

/// The text of a piece in JSON; `None` for a NUL, which `tokenizers` cannot represent, and for a
/// text that is not UTF-8.
fn json_text(text: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(text).ok();
    text.filter(|text| *text != "\0")
}

fn is_utf8(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok()
}
