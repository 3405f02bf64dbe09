//! Errors of the options of encoding.

use std::fmt;

use crate::model::ModelType;

/// An option of encoding or decoding that cannot be used with a model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum EncodeError {
    /// No extra option has this name.
    UnknownExtra {
        /// The name that was given.
        name: String,
    },
    /// The model has no piece for the beginning or the end of a text.
    NoSuchPiece {
        /// The option that needs the piece.
        option: &'static str,
        /// The text of the missing piece.
        piece: String,
    },
    /// What a tokenizer.json puts around texts has an id that no token has.
    NoSuchId {
        /// The option that needs the id.
        option: &'static str,
        /// The id.
        id: u32,
    },
    /// Byte-level vocabularies, and some WordPiece vocabularies, do not say which tokens begin and
    /// end a text.
    NoTextEnds {
        /// The option that needs such a token.
        option: &'static str,
    },
    /// A text has no result in this tokenizer.
    NoResult {
        /// Why, and what to do.
        problem: String,
    },
    /// A special piece was named that is neither a control piece nor a special token.
    NotControl {
        /// The text that was named.
        piece: String,
    },
    /// A text has a special piece that is refused.
    RefusedSpecial {
        /// The text of the piece.
        piece: String,
        /// Where it begins, in bytes.
        begin: usize,
    },
    /// N-best lists exist for unigram models only.
    NoNbest,
    /// Only unigram models give their segmentations probabilities.
    NoProbabilities {
        /// What needs the probabilities.
        what: &'static str,
    },
    /// Sampling exists for unigram and BPE models and byte-level vocabularies only.
    NoSampling,
    /// The sampling options are for another type of model: dropout is for BPE, the others are for
    /// unigram models.
    WrongSampling {
        /// The type of the model.
        model_type: ModelType,
    },
    /// More segmentations were requested than the limit allows.
    TooMany {
        /// The number that was requested.
        size: usize,
    },
    /// More samples of a text were requested than its length allows.
    TooManySamples {
        /// The number that was requested.
        samples: usize,
        /// The largest number for this text.
        limit: usize,
    },
    /// A text has so many overlapping pieces that listing or sampling its segmentations would take
    /// too much time or memory.
    TooManyCandidates {
        /// The largest number that is allowed.
        limit: usize,
    },
    /// The trie of the pieces would need more units than its format can number.
    TooLarge {
        /// What there are too many of.
        what: &'static str,
    },
    /// The smoothing parameter or dropout probability is negative, infinite or not a number, or so
    /// large that the probabilities of a text cannot be computed.
    Alpha {
        /// The value that was given.
        alpha: f32,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownExtra { name } => write!(
                f,
                "unknown extra option {name:?}; use bos, eos, reverse, unk or unk_piece, separated by colons"
            ),
            Self::NoSuchId { option, id } => write!(
                f,
                "the template of the tokenizer has the id {id}, which no token has; leave out the option {option}, or correct the post_processor"
            ),
            Self::NoTextEnds { option } => write!(
                f,
                "the vocabulary does not say which token begins or ends a text; leave out the option {option}, and write the token in the text"
            ),
            Self::NoResult { problem } => write!(f, "the text has no ids: {problem}"),
            Self::RefusedSpecial { piece, begin } => write!(
                f,
                "the text has the special piece {piece:?} at byte {begin}; allow it, or encode it as ordinary text"
            ),
            Self::NoSuchPiece { option, piece } => write!(
                f,
                "the model has no control piece {piece:?}; leave out the option {option}"
            ),
            Self::NotControl { piece } => write!(
                f,
                "{piece:?} is not a control piece or special token of the model; name such pieces only"
            ),
            Self::NoNbest => f.write_str(
                "the model is not a unigram model; only unigram models have n-best lists",
            ),
            Self::NoProbabilities { what } => write!(
                f,
                "the model is not a unigram model; only unigram models have {what}"
            ),
            Self::NoSampling => {
                f.write_str("word and char models and WordPiece vocabularies cannot be sampled; use a unigram or BPE model")
            }
            Self::WrongSampling { model_type } => write!(
                f,
                "these sampling options are for another type of model; use {}",
                sampling_of(*model_type)
            ),
            Self::TooMany { size } => {
                write!(f, "{size} segmentations are too many; request 512 at most")
            }
            Self::TooManySamples { samples, limit } => write!(
                f,
                "{samples} samples of a text of this length are too many; request {limit} at most, or split the text"
            ),
            Self::TooManyCandidates { limit } => write!(
                f,
                "the text has more than {limit} candidate pieces or pairs of them; split it into shorter texts"
            ),
            Self::TooLarge { what } => write!(
                f,
                "too many {what}: their trie would need more than 2^29 cells; use fewer or shorter pieces"
            ),
            Self::Alpha { alpha } => write!(
                f,
                "alpha: {alpha} is not usable with the scores of this model; give a finite number of 0 or more, for example 0.1, or a smaller one if the scores are large"
            ),
        }
    }
}

/// The sampling method of unigram and BPE models.
fn sampling_of(model_type: ModelType) -> &'static str {
    match model_type {
        ModelType::Bpe => "dropout",
        _ => "the lattice or an n-best list",
    }
}

impl std::error::Error for EncodeError {}
