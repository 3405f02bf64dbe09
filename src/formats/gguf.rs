//! GGUF files of llama.cpp: the vocabulary in the header.
//!
//! A BPE or unigram [`Model`] becomes a file without tensors, and the header of a GGUF file becomes
//! a model, each with a verdict.
//!
//! | module | job |
//! |---|---|
//! | `header` | bytes -> the fields of the tokenizer, in bounded memory |
//! | `write` | model -> bytes |
//! | `import` | fields -> model |
//! | `judge` | model -> verdict: where llama.cpp gives other ids than SentencePiece |
//! | `bytes` | byte-level vocabularies, from and to fields |
//!
//! # What a model becomes
//! | part of the model | field |
//! |---|---|
//! | type | `tokenizer.ggml.model`: `llama` for BPE, `t5` for unigram |
//! | pieces | `tokenizer.ggml.tokens`, `.scores`, `.token_type` (the numbers of the file format of SentencePiece); user-defined symbols with spaces for U+2581 |
//! | special ids | `tokenizer.ggml.unknown_token_id`, `.bos_token_id`, `.eos_token_id`, `.padding_token_id` |
//! | dummy prefix | `tokenizer.ggml.add_space_prefix` |
//! | removal of spaces, charsmap | `tokenizer.ggml.remove_extra_whitespaces`, `.precompiled_charsmap`; `llama` ignores both |
//! | other flags | `spiece.escape_whitespaces`, `.treat_whitespace_as_suffix`, unless they have the usual values; only spiece reads them |
//!
//! # Example
//! The header begins with `GGUF`, the version 3 (32 bits), and the numbers of tensors and of fields
//! (64 bits each). A field consists of its name, the number of its type and its value. A text is
//! preceded by its length (64 bits).
//!
//! Source: `gguf.md` of ggml.
mod bytes;
mod header;
mod import;
mod judge;
mod patterns;
mod write;

pub(super) use self::bytes::write as write_byte_level;
use super::bytes::{ByteFormatOptions, ByteVocabulary};
use super::{Converted, FileFormat, Verdict};
use crate::formats::error::FormatError;
use crate::model::Model;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

/// The result of reading or writing a part of a file.
type GgufResult<T> = Result<T, FormatError>;

/// The names of fields.
const MODEL: &str = "tokenizer.ggml.model";
const TOKENS: &str = "tokenizer.ggml.tokens";
const SCORES: &str = "tokenizer.ggml.scores";
const TYPES: &str = "tokenizer.ggml.token_type";
const CHARSMAP: &str = "tokenizer.ggml.precompiled_charsmap";
const DUMMY_PREFIX: &str = "tokenizer.ggml.add_space_prefix";
const REMOVES_SPACES: &str = "tokenizer.ggml.remove_extra_whitespaces";
const ESCAPES_SPACES: &str = "spiece.escape_whitespaces";
const SPACE_IS_SUFFIX: &str = "spiece.treat_whitespace_as_suffix";

/// The length of the magic number in bytes.
const MAGIC_BYTES: usize = 4;

/// Options of [`Model::to_gguf_vocab`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GgufOptions {
    /// Whether llama.cpp puts the BOS piece before every text.
    pub add_bos: bool,
    /// Whether llama.cpp puts the EOS piece after every text.
    pub add_eos: bool,
}

/// A GGUF file without tensors, and whether llama.cpp gives the ids of the model.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct GgufVocab {
    /// The file.
    pub bytes: Vec<u8>,
    /// Whether the ids of llama.cpp equal those of the model.
    pub verdict: Verdict,
}

impl Model {
    /// The vocabulary as a GGUF file of version 3, with a verdict. llama.cpp loads it with
    /// `vocab_only`.
    ///
    /// ```
    /// use spiece::formats::GgufOptions;
    /// use spiece::Model;
    ///
    /// let model = Model::open("testdata/golden/llama2.model")?;
    /// let vocab = model.to_gguf_vocab(&GgufOptions::default())?;
    /// let back = Model::from_gguf(&vocab.bytes[..])?;
    /// assert!(back.value.pieces().eq(model.pieces()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The model is a word or char model, or lacks a BOS or EOS piece that an option asks for.
    pub fn to_gguf_vocab(&self, options: &GgufOptions) -> Result<GgufVocab, FormatError> {
        let bytes = write::vocab(self, options)?;
        let verdict = judge::verdict(self);
        Ok(GgufVocab { bytes, verdict })
    }

    /// Reads the vocabulary in a GGUF file, with a verdict on whether the ids of the model equal
    /// those of llama.cpp. Only the header is read (and what a buffer of 64 KiB reads ahead).
    ///
    /// Memory, the model included: measured at 6 times the bytes of the header; a header of more
    /// than 1 GiB is refused.
    ///
    /// # Errors
    /// The bytes are not a little-endian GGUF file of version 2 or 3, or the vocabulary is of
    /// another kind.
    pub fn from_gguf(reader: impl Read) -> Result<Converted<Self>, FormatError> {
        Self::of_header(&header::Header::read(BufReader::with_capacity(
            1 << 16,
            reader,
        ))?)
    }

    fn of_header(header: &header::Header) -> Result<Converted<Self>, FormatError> {
        let (model, reasons) = import::model(header)?;
        let mut verdict = judge::verdict(&model);
        verdict.add_all(reasons);
        Ok(Converted {
            value: model,
            verdict,
        })
    }

    /// The model in a GGUF file with its verdict; `None` for other files, and for those that cannot
    /// be opened.
    pub(crate) fn read_gguf(path: &Path) -> Option<Result<Converted<Self>, FormatError>> {
        let mut file = File::open(path).ok()?;
        // A pipe could not be read again.
        if !file.metadata().ok()?.is_file() {
            return None;
        }
        let mut start = [0; MAGIC_BYTES];
        file.read_exact(&mut start).ok()?;
        let is_gguf = FileFormat::of_content(&start) == FileFormat::Gguf;
        is_gguf.then(|| Self::from_gguf((&start[..]).chain(file)))
    }
}

/// What the header of a file has.
pub(crate) enum GgufContent {
    /// A byte-level vocabulary.
    Bytes(Converted<ByteVocabulary>),
    /// A SentencePiece model.
    Model(Box<Converted<Model>>),
}
impl GgufContent {
    /// Reads the header.
    pub(crate) fn read(
        reader: impl Read,
        options: &ByteFormatOptions,
    ) -> Result<Self, FormatError> {
        let header = header::Header::read(BufReader::with_capacity(1 << 16, reader))?;
        match bytes::read(&header, options)? {
            Some(vocabulary) => Ok(Self::Bytes(vocabulary)),
            None => Ok(Self::Model(Box::new(Model::of_header(&header)?))),
        }
    }
}

/// The byte-level vocabulary in the header of a file; `None` for other vocabularies, and for a header
/// that cannot be read, which the reader of models refuses.
pub(super) fn read_byte_level(
    reader: impl Read,
    options: &ByteFormatOptions,
) -> Result<Option<Converted<ByteVocabulary>>, FormatError> {
    match header::Header::read(BufReader::with_capacity(1 << 16, reader)) {
        Ok(header) => bytes::read(&header, options),
        Err(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests;
