//! Byte-level vocabularies from the files of other programs.
//!
//! | module | files |
//! |---|---|
//! | [`tiktoken`] | `.tiktoken`, also `tokenizer.model` of Llama 3 and `tiktoken.model` of Kimi |
//! | [`js_ranks`] | rank files of js-tiktoken |
//! | [`vocab_merges`] | `vocab.json` and `merges.txt`, or `encoder.json` and `vocab.bpe` |
//! | [`tekken`] | `tekken.json` of Mistral |
//! | [`minbpe`] | `.model` of minbpe |
//! | `tokenizer_json::byte_level` | byte-level `tokenizer.json` |
//!
//! Each becomes a [`ByteVocabulary`]: the parts of a tokenizer, and a verdict on whether its ids
//! equal those of the program that the file is made for. What the readers share:
//!
//! | module | job |
//! |---|---|
//! | [`tokens`] | tokens with their ids, checked: no two equal, no byte missing, no large id |
//! | [`printable`] | tokens in these characters with a list of merges |
//! | [`known`] | patterns and special tokens of published files that lack them |
//! | [`vocabulary`] | the vocabulary with its verdict |
//!
//! [`write`] writes a vocabulary in any of these formats, with what the writers share in [`written`].

mod js_ranks;
mod known;
mod minbpe;
mod options;
mod printable;
mod ranked;
mod tekken;
mod tiktoken;
mod tokens;
#[cfg(test)]
mod tests;
mod vocab_merges;
mod vocabulary;
mod write;
mod written;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

pub(super) use self::js_ranks::is_start as is_start_of_js_ranks;
pub(super) use self::minbpe::is_start as is_start_of_minbpe;
pub use self::options::ByteFormatOptions;
pub(super) use self::printable::PrintableVocabulary;
pub(super) use self::ranked::PretokenRule;
pub(super) use self::ranked::RankedTokens;
pub(super) use self::tekken::is_start as is_start_of_tekken;
pub(super) use self::tiktoken::is_start as is_start_of_tiktoken;
pub(super) use self::vocab_merges::{is_start_of_merges, is_start_of_vocab};
pub use self::vocabulary::ByteVocabulary;
pub(super) use self::written::as_it_is_reasons;
pub use self::written::{ByteFileOptions, ByteFiles, Missing};
pub(crate) use crate::base::byte_chars::printable;
pub(super) use crate::base::byte_chars::spelled;
use crate::formats::error::FormatError;
use crate::formats::opened::{FileContent, OpenedFile, check_size, text};
use crate::formats::{Converted, FILES_OF_FOLDERS, FileFormat, options_of_folder};

impl ByteVocabulary {
    /// Reads a byte-level vocabulary: `.tiktoken`, tokenizer.json, tekken.json, minbpe's `.model`,
    /// `vocab.json` or `merges.txt` (`encoder.json`, `vocab.bpe`) with the other one beside it, or
    /// a folder with one of these. The content decides the format; only the other half of
    /// `vocab.json` and `merges.txt` is found by name. `None` if it has another format, such as
    /// SentencePiece's.
    ///
    /// Files of 2 GiB and more are refused. If the merges are a list, each
    /// token is merged once.
    ///
    /// # Errors
    /// The file cannot be read, is malformed, or asks for something that is not supported.
    pub fn open(
        path: impl AsRef<Path>,
        options: &ByteFormatOptions,
    ) -> Result<Option<Converted<Self>>, FormatError> {
        Self::open_path(path.as_ref(), options)
    }

    /// As in [`crate::open`], so that callers do not compile it again.
    fn open_path(
        path: &Path,
        options: &ByteFormatOptions,
    ) -> Result<Option<Converted<Self>>, FormatError> {
        let Some(file) = OpenedFile::open(path, &FILES_OF_FOLDERS)? else {
            return Ok(None);
        };
        if file.format == FileFormat::Gguf {
            return super::gguf::read_byte_level(file.reader(), options);
        }
        if !is_byte_format(file.format) {
            return Ok(None);
        }
        let options = match path.is_dir() {
            true => options_of_folder(path, file.format, options)?,
            false => Cow::Borrowed(options),
        };
        Self::of_content(&file.read()?, &options)
    }

    /// Reads a byte-level vocabulary from the bytes of a file; see [`open`](Self::open).
    ///
    /// ```
    /// use spiece::formats::{ByteFormatOptions, ByteVocabulary};
    ///
    /// let file = b"minbpe v1\n\n0\n97 98\n256 99\n";
    /// let vocabulary = ByteVocabulary::from_bytes(file, &ByteFormatOptions::default())?.unwrap();
    /// assert_eq!(&*vocabulary.value.parts.tokens[257].bytes, b"abc");
    /// assert!(vocabulary.verdict.is_exact());
    /// # Ok::<(), spiece::formats::FormatError>(())
    /// ```
    ///
    /// # Errors
    /// As [`open`](Self::open); and `vocab.json` and `merges.txt` need their paths.
    pub fn from_bytes(
        file: &[u8],
        options: &ByteFormatOptions,
    ) -> Result<Option<Converted<Self>>, FormatError> {
        Self::of_content(&FileContent::of_bytes(file), options)
    }

    /// Reads a file; `None` if it is no byte-level vocabulary.
    pub(crate) fn of_content(
        content: &FileContent<'_>,
        options: &ByteFormatOptions,
    ) -> Result<Option<Converted<Self>>, FormatError> {
        let file = &content.bytes[..];
        let (format, path) = (content.format, content.path.as_deref());
        if is_byte_format(format) {
            check_size(format, file)?;
        }
        let text = || text(format, file);
        let vocabulary = match format {
            FileFormat::Tiktoken if js_ranks::is_start(file) => js_ranks::read(text()?, options)?,
            FileFormat::Tiktoken => tiktoken::read(file, options)?,
            FileFormat::Minbpe => minbpe::read(text()?, options)?,
            FileFormat::Tekken => tekken::read(text()?, options)?,
            FileFormat::TokenizerJson => {
                return super::tokenizer_json::read_byte_level(text()?, options);
            }
            FileFormat::VocabMerges => {
                let other = path.and_then(companion).ok_or(FormatError::Half)?;
                let companion = std::fs::read(&other).map_err(|source| {
                    let path = other;
                    FormatError::Read { path, source }
                })?;
                let [vocab, merges] = match is_start_of_vocab(file) {
                    true => [file, &companion],
                    false => [&companion, file],
                };
                Self::from_vocab_and_merges(vocab, merges, options)?
            }
            FileFormat::Gguf => return super::gguf::read_byte_level(file, options),
            _ => return Ok(None),
        };
        Ok(Some(vocabulary))
    }

    /// Reads the contents of `vocab.json` and `merges.txt`, or of `encoder.json` and `vocab.bpe`.
    ///
    /// # Errors
    /// One of them is malformed, or the pattern is missing.
    pub fn from_vocab_and_merges(
        vocab: &[u8],
        merges: &[u8],
        options: &ByteFormatOptions,
    ) -> Result<Converted<Self>, FormatError> {
        let [vocab, merges] = [vocab, merges].map(|file| text(FileFormat::VocabMerges, file));
        vocab_merges::read(vocab?, merges?, options)
    }
}

/// Whether a format is one of this module, or can be.
fn is_byte_format(format: FileFormat) -> bool {
    match format {
        FileFormat::Tiktoken
        | FileFormat::VocabMerges
        | FileFormat::Tekken
        | FileFormat::Minbpe
        | FileFormat::TokenizerJson => true,
        FileFormat::Model
        | FileFormat::Gguf
        | FileFormat::TokenizerJson2
        | FileFormat::VocabTxt
        | FileFormat::Folder => false,
    }
}

/// The path of the file that belongs to `vocab.json`, `merges.txt`, or the like.
fn companion(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let pairs = vocab_merges::NAMES.into_iter();
    let mut ends = pairs.flat_map(|[vocab, merges]| [[vocab, merges], [merges, vocab]]);
    let name = ends.find_map(|[end, other]| Some(format!("{}{other}", name.strip_suffix(end)?)))?;
    Some(path.with_file_name(name))
}
