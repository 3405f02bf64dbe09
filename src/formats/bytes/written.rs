//! Byte-level vocabularies in the files of other programs.

use super::ByteFormatError;
use super::ranked::RankedTokens;
use crate::byte_bpe::ByteBpe;
use crate::formats::{FileFormat, Verdict, tokenizer_json};

/// What the files of a vocabulary have beside it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ByteFileOptions {
    /// The post-processor of a `tokenizer.json`.
    pub post_processor: PostProcessor,
}

/// The post-processor of a `tokenizer.json`. It does not change ids.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PostProcessor {
    /// None.
    #[default]
    None,
    /// `ByteLevel`.
    ByteLevel {
        /// Whether the offsets of a token leave out the white space around it.
        trim_offsets: bool,
    },
}

/// A byte-level vocabulary in the files of a format.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ByteFiles {
    /// The usual names of the files, and their contents. `vocab.json` and `merges.txt` are two files,
    /// all other formats are one.
    pub files: Vec<(&'static str, Vec<u8>)>,
    /// Whether the program that the files are made for gives the ids of the vocabulary.
    pub verdict: Verdict,
}

impl ByteFiles {
    pub(in crate::formats) fn one(name: &'static str, file: Vec<u8>, verdict: Verdict) -> Self {
        let files = vec![(name, file)];
        Self { files, verdict }
    }
}

impl ByteBpe {
    /// The vocabulary in the files of a format.
    ///
    /// | format | what it does not have |
    /// |---|---|
    /// | [`TokenizerJson`](FileFormat::TokenizerJson) | patterns that mean something else to Oniguruma and have no other form |
    ///
    /// A `tokenizer.json` has the bytes that `Tokenizer.save` of tokenizers 0.23.3 writes.
    ///
    /// ```
    /// use spiece::formats::{ByteFileOptions, ByteFormatOptions, ByteVocabulary, FileFormat};
    ///
    /// let file = b"minbpe v1\n\n0\n97 98\n256 99\n";
    /// let read = ByteVocabulary::from_bytes(file, &ByteFormatOptions::default())?.unwrap();
    /// let bpe = read.into_exact()?;
    /// let written = bpe.to_format(FileFormat::TokenizerJson, &ByteFileOptions::default())?;
    /// assert!(written.verdict.is_exact());
    /// let (name, json) = &written.files[0];
    /// assert_eq!(*name, "tokenizer.json");
    /// let back = ByteVocabulary::from_bytes(json, &ByteFormatOptions::default())?.unwrap();
    /// assert_eq!(back.parts.tokens[257], bpe.parts().tokens[257]);
    /// # Ok::<(), spiece::formats::ByteFormatError>(())
    /// ```
    ///
    /// Cost: linear, plus that of merging each token once.
    ///
    /// # Errors
    /// [`ByteFormatError::NoForm`]: the format cannot hold a part of the vocabulary, or no byte-level
    /// vocabulary. [`ByteFormatError::AddedTokenId`]
    pub fn to_format(
        &self,
        format: FileFormat,
        options: &ByteFileOptions,
    ) -> Result<ByteFiles, ByteFormatError> {
        let tokens = RankedTokens::new(self);
        match format {
            FileFormat::TokenizerJson => tokenizer_json::write_byte_level(&tokens, options),
            _ => Err(ByteFormatError::NoForm {
                format,
                what: "a byte-level vocabulary".to_owned(),
                remedy: "write a tokenizer.json",
            }),
        }
    }
}

#[cfg(test)]
mod tests;
