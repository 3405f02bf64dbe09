//! The models: a part of a text to tokens.
//!
//! Each model has the rules of the library tokenizers for what it does not know, and for equal
//! scores. A model gets one part at a time and knows nothing of the others.

mod bpe;
mod bytes;
mod unigram;
mod vocabulary;
mod word_level;
mod wordpiece;

use std::ops::Range;

pub(crate) use self::bpe::MergeNotInVocabulary;
pub use self::bpe::{BpeModel, BpeOptions, ListedMerge};
pub use self::bytes::ByteModel;
pub use self::unigram::UnigramModel;
pub use self::vocabulary::ModelVocabulary;
pub use self::word_level::WordLevelModel;
pub use self::wordpiece::WordPieceModel;

/// What turns a part of a text into tokens.
#[derive(Debug)]
#[non_exhaustive]
pub enum PipelineModel {
    /// Merges of pairs, in the order of a list.
    Bpe(Box<BpeModel>),
    /// Merges of byte strings, by their ranks. Its parts are of characters that stand for bytes.
    Bytes(Box<ByteModel>),
    /// The most probable pieces.
    Unigram(Box<UnigramModel>),
    /// The longest piece first.
    WordPiece(Box<WordPieceModel>),
    /// Whole parts.
    WordLevel(Box<WordLevelModel>),
}

/// A token of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ModelToken {
    pub(super) id: u32,
    /// Its bytes in the part.
    pub(super) range: Range<usize>,
    /// Whether its text is that of the part instead of that of the vocabulary.
    pub(super) shows_part: bool,
}

impl ModelToken {
    fn new(id: u32, range: Range<usize>) -> Self {
        Self {
            id,
            range,
            shows_part: false,
        }
    }
}

/// A part has no tokens, because it has text that is not in the vocabulary, and there is no token
/// for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoUnknownToken;

/// The buffers of the models.
#[derive(Debug, Default)]
pub(crate) struct ModelState {
    bpe: bpe::BpeState,
    bytes: bytes::ByteState,
    unigram: unigram::UnigramState,
}
impl ModelState {
    /// The sum of scores of the best pieces of a part.
    pub(super) fn best_unigram_score(&mut self, model: &UnigramModel, part: &str) -> Option<f64> {
        model.best_score(part, &mut self.unigram).ok()
    }
}

impl PipelineModel {
    /// Appends the tokens of a part, which is not empty.
    pub(super) fn encode(
        &self,
        part: &str,
        state: &mut ModelState,
        out: &mut Vec<ModelToken>,
    ) -> Result<(), NoUnknownToken> {
        match self {
            Self::Bpe(bpe) => bpe.encode(part, &mut state.bpe, out),
            Self::Bytes(bytes) => {
                bytes.encode(part, &mut state.bytes, out);
                Ok(())
            }
            Self::Unigram(unigram) => unigram.encode(part, &mut state.unigram, out),
            Self::WordPiece(wordpiece) => wordpiece.encode(part, out),
            Self::WordLevel(words) => words.encode(part, out),
        }
    }

    /// Appends the tokens of a part if merges for which `skips_merge` returns true are skipped.
    /// Models without merges have one segmentation.
    pub(super) fn sample(
        &self,
        part: &str,
        skips_merge: &mut dyn FnMut() -> bool,
        state: &mut ModelState,
        out: &mut Vec<ModelToken>,
    ) -> Result<(), NoUnknownToken> {
        match self {
            Self::Bpe(bpe) => bpe.sample(part, skips_merge, &mut state.bpe, out),
            Self::Bytes(bytes) => {
                bytes.sample(part, skips_merge, &mut state.bytes, out);
                Ok(())
            }
            _ => self.encode(part, state, out),
        }
    }

    /// The tokens with their ids; those of bytes with the characters that stand for bytes.
    pub fn vocabulary(&self) -> &ModelVocabulary {
        match self {
            Self::Bpe(bpe) => bpe.vocabulary(),
            Self::Bytes(bytes) => bytes.vocabulary(),
            Self::Unigram(unigram) => unigram.vocabulary(),
            Self::WordPiece(wordpiece) => wordpiece.vocabulary(),
            Self::WordLevel(words) => words.vocabulary(),
        }
    }

    /// The largest id of a token.
    pub(crate) fn largest_id(&self) -> Option<u32> {
        match self {
            // Their characters are not made for it.
            Self::Bytes(bytes) => bytes.byte_bpe().tokens().map(|(_, id)| id.get()).max(),
            model => model.vocabulary().largest_id(),
        }
    }

    /// The type of the model in a `tokenizer.json`.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Bpe(_) | Self::Bytes(_) => "BPE",
            Self::Unigram(_) => "Unigram",
            Self::WordPiece(_) => "WordPiece",
            Self::WordLevel(_) => "WordLevel",
        }
    }

    /// The id of the token for text that is not in the vocabulary.
    pub fn unknown(&self) -> Option<u32> {
        match self {
            Self::Bpe(bpe) => bpe.unknown(),
            Self::Bytes(_) => None,
            Self::Unigram(unigram) => unigram.unknown(),
            Self::WordPiece(wordpiece) => wordpiece.unknown(),
            Self::WordLevel(words) => words.unknown(),
        }
    }
}
