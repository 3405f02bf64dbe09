//! What a file does not say.

use crate::byte_bpe::{SpecialToken, TextForm};
use crate::formats::FileFormat;
use crate::formats::error::FormatError;
use crate::pattern::Pretokenizer;
use crate::pipeline::{BertNormalizer, UnicodeVersion};

/// What a vocabulary of tokens needs and its file lacks.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ByteFormatOptions {
    /// What cuts text, for files that do not say it: `.tiktoken`, `vocab.json` and `merges.txt`.
    pub pretokenizer: Option<Pretokenizer>,
    /// The special tokens, for the same files.
    pub special_tokens: Option<Vec<SpecialToken>>,
    /// The normalizer, for the `vocab.txt` of BERT. Without it, text becomes lower case unless a
    /// piece has an upper-case letter.
    pub bert_normalizer: Option<BertNormalizer>,
    /// Whether text becomes lower case, for the same file; it counts more than `bert_normalizer`, the
    /// files beside a `vocab.txt`, and its pieces.
    pub lowercase: Option<bool>,
    /// The version of Unicode of the normalization forms of a `tokenizer.json` or `vocab.txt`. Without
    /// it, that of the release of tokenizers that the file is for: 0.23 for files of version 1.0 and
    /// `vocab.txt`, 1.0 for files of version 2.0.
    pub unicode: Option<UnicodeVersion>,
    /// What a folder says of the texts of its vocabulary.
    pub(crate) text_form: Option<TextForm>,
    pub(crate) adds_prefix_space: Option<bool>,
}

impl ByteFormatOptions {
    /// Refuses a version of Unicode for a file that has no normalization forms of tokenizers.
    pub(crate) fn refuse_unicode(&self, format: FileFormat) -> Result<(), FormatError> {
        let has_forms = matches!(format, FileFormat::TokenizerJson | FileFormat::VocabTxt);
        match self.unicode {
            Some(_) if !has_forms => Err(FormatError::UnicodeGiven { format }),
            _ => Ok(()),
        }
    }

    /// Refuses options for a file that has its own pattern, special tokens and normalizer.
    pub(crate) fn refuse_pattern(&self, format: FileFormat) -> Result<(), FormatError> {
        self.refuse_bert(format)?;
        match (&self.pretokenizer, &self.special_tokens) {
            (None, None) => Ok(()),
            _ => Err(FormatError::PatternGiven { format }),
        }
    }

    /// Refuses the options of BERT's `vocab.txt` for another file.
    pub(crate) fn refuse_bert(&self, format: FileFormat) -> Result<(), FormatError> {
        match (self.bert_normalizer, self.lowercase) {
            (None, None) => Ok(()),
            _ => Err(FormatError::BertOptionGiven { format }),
        }
    }
}
