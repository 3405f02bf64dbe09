//! Errors of edits, extensions, merges and pruning.

use crate::byte_bpe::ByteBpeError;
use crate::model::ModelError;
use crate::model::ModelType;
use crate::piece::{PieceId, PieceKind};
use crate::train::TrainError;

/// A model that could not be edited.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// No piece has the text that a step names.
    #[error("there is no piece {piece:?}; name one of the vocabulary")]
    NoSuchPiece {
        /// The text.
        piece: String,
    },
    /// A step adds a piece with a text that already exists, or renames a piece to such a text.
    #[error(
        "piece {id} has the text {piece:?} already and is of the kind {kind}; change its kind, or rename or remove it first"
    )]
    PieceExists {
        /// The text.
        piece: String,
        /// The id at that moment.
        id: usize,
        /// The kind at that moment.
        kind: PieceKind,
    },
    /// A step inserts a piece at an id above the number of pieces.
    #[error("id {id} is above the number of pieces, {pieces}; use at most {pieces}")]
    IdTooHigh {
        /// The id.
        id: usize,
        /// The number of pieces at that moment.
        pieces: usize,
    },
    /// The edited model would not be a model.
    #[error("the edited model: {0}")]
    Model(#[from] ModelError),
}

/// Two models that could not be merged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// The models have different types, so their scores mean different things.
    #[error(
        "the first model is a {first} model and the second a {second} model, whose scores mean different things; merge models of one type"
    )]
    Type {
        /// The type of the first model.
        first: ModelType,
        /// The type of the second model.
        second: ModelType,
    },
    /// The models normalize text differently.
    #[error(
        "the models normalize text differently (rules, dummy prefix or whitespace), so that pieces of the second may never match; \
         to keep the first model's normalization all the same, force the merge"
    )]
    Normalizer,
    /// The byte-level vocabularies cut or normalize text differently.
    #[error(
        "the vocabularies cut text differently (pattern, normalization or space before the text), so that tokens of the second \
         may never match; to keep what the first one does all the same, force the merge"
    )]
    Pretokens,
    /// The first model has a score that is infinite, not a number, or so low that no score is below
    /// it.
    #[error(
        "the first model has a score below which there are no other scores; change that score first"
    )]
    NoLowerScore,
    /// The merged model would not be a model.
    #[error("the merged model: {0}")]
    Model(#[from] ModelError),
    /// The merged byte-level vocabulary would not be a vocabulary.
    #[error("the merged vocabulary: {0}")]
    Bytes(#[from] ByteBpeError),
}

/// A model that could not be extended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtendError {
    /// Only BPE models can be extended.
    #[error(
        "a {model_type} model cannot be extended by continued training; BPE models can; an edit adds single pieces"
    )]
    Type {
        /// The type of the model.
        model_type: ModelType,
    },
    /// The size is below that of the model.
    #[error("the vocabulary has {smallest} pieces already; ask for a size above that, not {size}")]
    TooSmall {
        /// The size that was asked for.
        size: usize,
        /// The size before learning.
        smallest: usize,
    },
    /// The corpus does not give as many pieces.
    #[error(
        "the text gives {available} new pieces, not {wanted}; ask for at most {available}, or use more text"
    )]
    TooFewPieces {
        /// The number of pieces that was asked for.
        wanted: usize,
        /// The number of pieces that can be learned.
        available: usize,
    },
    /// More pieces than a model file can count.
    #[error("more than 2^31 - 1 pieces; ask for fewer")]
    TooManyPieces,
    /// The vocabulary would be padded to a multiple that is too large to be useful.
    #[error(
        "the vocabulary is filled up to a multiple of {largest} at most, not of {multiple}; 64 or 128 is usual"
    )]
    Multiple {
        /// The multiple that was asked for.
        multiple: usize,
        /// The largest one.
        largest: usize,
    },
    /// A piece that is to be added already exists.
    #[error(
        "there is a piece {piece:?} already, of the kind {kind}; do not add it, or change its kind by an edit"
    )]
    PieceExists {
        /// The text.
        piece: String,
        /// The kind of the piece.
        kind: PieceKind,
    },
    /// The id of this piece cannot be reused.
    #[error(
        "the id of piece {id} {piece:?} cannot be reused: only control, unused and user-defined pieces that are not the unknown, \
         bos, eos or pad piece can; use another pattern"
    )]
    NotReusable {
        /// The id.
        id: PieceId,
        /// The text of its piece.
        piece: String,
    },
    /// A user-defined symbol is not UTF-8, so it can match inside a character.
    #[error(
        "the user-defined symbol {id} {piece:?} is not UTF-8 and can be a part of characters, which then cannot be learned; \
         remove it or reuse its id"
    )]
    PartOfCharacter {
        /// The id.
        id: PieceId,
        /// The text, with U+FFFD for malformed bytes.
        piece: String,
    },
    /// The id of a byte-level vocabulary cannot be reused, since it is that of no special token.
    #[error("the id {id} cannot be reused: no special token has it; name ids of special tokens")]
    NotSpecial {
        /// The id.
        id: PieceId,
    },
    /// The model has a score that is infinite, not a number, or so low that no score is below it.
    #[error("the model has a score below which there are no other scores; change that score first")]
    NoLowerScore,
    /// Training failed.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// The extended model would not be a model.
    #[error("the extended model: {0}")]
    Model(#[from] ModelError),
    /// The extended byte-level vocabulary would not be a vocabulary.
    #[error("the extended vocabulary: {0}")]
    Bytes(#[from] ByteBpeError),
}

/// A model that could not be pruned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PruneError {
    /// Only BPE and unigram models can be pruned.
    #[error("a {model_type} model cannot be pruned; BPE and unigram models can")]
    Type {
        /// The type of the model.
        model_type: ModelType,
    },
    /// Only BPE models can have pieces that are merged but never given.
    #[error("an unused tail is for BPE models; prune this model without it")]
    Tail,
    /// The size is below what is always kept.
    #[error(
        "size {size} is too small; {smallest} pieces cannot be removed. Raise the size{}",
        if *keeps_chars { ", or allow pieces of one character to be removed" } else { "" }
    )]
    TooSmall {
        /// The size that was asked for.
        size: usize,
        /// The number of pieces that are always kept.
        smallest: usize,
        /// Whether pieces of one character are among them.
        keeps_chars: bool,
    },
    /// The usage was counted with a model of another size.
    #[error("the usage was counted with another model; count it with this one")]
    OtherModel,
    /// The pruned model would not be a model.
    #[error("the pruned model: {0}")]
    Model(#[from] ModelError),
    /// The pruned byte-level vocabulary would not be a vocabulary.
    #[error("the pruned vocabulary: {0}")]
    Bytes(#[from] ByteBpeError),
}
