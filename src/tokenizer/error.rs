//! The error of a tokenizer without a SentencePiece model.

use std::error::Error;
use std::fmt;

/// Why something that needs a SentencePiece model cannot be done: what the tokenizer is in place of
/// one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoModelError {
    /// It is byte-level BPE.
    ByteLevel,
    /// It has a WordPiece vocabulary.
    WordPiece,
    /// It is another pipeline.
    Pipeline,
}

impl fmt::Display for NoModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ByteLevel => "the tokenizer is byte-level BPE; this needs a SentencePiece model",
            Self::WordPiece => {
                "the tokenizer has a WordPiece vocabulary; this needs a SentencePiece model"
            }
            Self::Pipeline => {
                "the tokenizer is a pipeline of a tokenizer.json, and no SentencePiece model; this needs \
                 a .model file"
            }
        })
    }
}

impl Error for NoModelError {}
