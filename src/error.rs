//! What can go wrong, one enum for each operation. A message names the option or the file, says what is
//! wrong and what to do; the variants carry the facts.

use std::io;
use std::path::PathBuf;

use crate::piece::PieceId;

/// An option that cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionError {
    /// No option has this name.
    #[error("there is no option {option}; TrainOptions::ALL lists the names")]
    Unknown {
        /// The name that was given.
        option: String,
    },
    /// The value is not one that the option takes.
    #[error("{option}: {value:?} is not {expected}")]
    Value {
        /// The option.
        option: &'static str,
        /// The text that was given.
        value: String,
        /// What the option takes.
        expected: &'static str,
    },
    /// A number out of range.
    #[error("{option}: {value} is out of range; use {low} to {high}")]
    Range {
        /// The option.
        option: &'static str,
        /// The number that was given.
        value: f64,
        /// The smallest that is allowed.
        low: f64,
        /// The largest that is allowed.
        high: f64,
    },
    /// The option does not go with another option, or with what spiece can do.
    #[error("{option}: {problem}; {remedy}")]
    Conflict {
        /// The option.
        option: &'static str,
        /// What is wrong.
        problem: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A piece that the options ask for cannot be a piece.
    #[error("{option}: the piece {piece:?} {problem}")]
    Piece {
        /// The option.
        option: &'static str,
        /// The text of the piece.
        piece: String,
        /// What is wrong and what to do.
        problem: &'static str,
    },
}

/// A training run that failed. No output was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// The options are at fault.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// The normalization rules are at fault.
    #[error("{option}: {problem}")]
    Rules {
        /// The option that names the rules.
        option: &'static str,
        /// What is wrong and what to do.
        problem: String,
    },
    /// There is nothing to read.
    #[error("input: no file is given; name one or more, or - for standard input")]
    NoInput,
    /// A file could not be read.
    #[error("cannot read {}: {source}; {}", path.display(), reading_remedy(source))]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A row of a tsv input is not a sentence, a tab and a count.
    #[error("{}: {problem}; mend the row or use input_format=text", place(path.as_deref(), *line))]
    Row {
        /// The file, if the input was one.
        path: Option<PathBuf>,
        /// The line, from 1.
        line: u64,
        /// What is wrong.
        problem: &'static str,
    },
    /// A pre-tokenizer returned chunks that do not add up to the sentence.
    #[error(
        "the pre-tokenizer's chunks {chunks:?} do not add up to {sentence:?}; return every part of the sentence, or allow inconsistent pre-tokenization"
    )]
    Pretokenizer {
        /// The normalized sentence.
        sentence: String,
        /// What came back for it.
        chunks: Vec<String>,
    },
    /// The input has no character to learn from.
    #[error(
        "the input has no text that training could use; every line is empty, too long, or has U+2585 in it"
    )]
    NoText,
    /// A character that SentencePiece keeps for itself would become a piece.
    #[error("the character U+{:04X} cannot be a piece; take it out of required_chars and of the normalization rules", u32::from(*character))]
    ReservedCharacter {
        /// The character.
        character: char,
    },
    /// The vocabulary has no room for the pieces that it must have.
    #[error(
        "vocab_size: {vocab_size} is too small; {meta_pieces} special and byte pieces and {characters} characters need {}. \
         Raise vocab_size, lower character_coverage, or take symbols out",
        meta_pieces + characters
    )]
    VocabularyTooSmall {
        /// The size that was asked for.
        vocab_size: usize,
        /// Control, user-defined, byte and other special pieces.
        meta_pieces: usize,
        /// Characters that coverage makes pieces.
        characters: usize,
    },
    /// The input does not support so many pieces.
    #[error(
        "vocab_size: {vocab_size} is too large; this input gives {largest} pieces at most. \
         Lower vocab_size, give more text, or set hard_vocab_limit=false to take what there is"
    )]
    VocabularyTooLarge {
        /// The size that was asked for.
        vocab_size: usize,
        /// The largest size that is possible.
        largest: usize,
    },
    /// A special piece has an id that the vocabulary does not reach.
    #[error(
        "the piece {piece:?} has the id {id}, but there are only {pieces} pieces before it; give it a lower id"
    )]
    UnreachableId {
        /// The piece.
        piece: String,
        /// Its id.
        id: usize,
        /// Pieces that stand before it.
        pieces: usize,
    },
    /// Two pieces have the same text.
    #[error(
        "the piece {piece:?} is there twice, as a symbol and as a part of the text; take it out of the symbols or of required_chars"
    )]
    DuplicatePiece {
        /// The text of both.
        piece: String,
    },
    /// Something grew beyond what the trainer can count.
    #[error("too many {what}; train on a part of the input (input_sentence_size)")]
    TooLarge {
        /// What there are too many of.
        what: &'static str,
    },
    /// The files have fewer sentences than when the sample was drawn from them.
    #[error(
        "input: a file has become shorter while it was read; train on a copy that nobody changes, or on standard input"
    )]
    InputChanged,
    /// The observer stopped the run.
    #[error("stopped; no file was changed")]
    Cancelled,
    /// The operating system did not give the threads that were asked for.
    #[error("num_threads: cannot start threads: {source}")]
    Threads {
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl TrainError {
    /// Where in the input the error lies, to order errors that were found at the same time.
    pub(crate) fn place(&self) -> Option<(Option<PathBuf>, u64)> {
        match self {
            TrainError::Row { path, line, .. } => Some((path.clone(), *line)),
            _ => None,
        }
    }
}

fn place(path: Option<&std::path::Path>, line: u64) -> String {
    match path {
        Some(path) => format!("{}, line {line}", path.display()),
        None => format!("line {line}"),
    }
}

/// A file that is no SentencePiece model, or one that breaks a rule.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The file could not be read.
    #[error("cannot read {}: {source}; {}", path.display(), reading_remedy(source))]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What the model was to be read from gave an error.
    #[error("cannot read the model: {source}")]
    Stream {
        /// Why.
        source: io::Error,
    },
    /// The bytes are not a SentencePiece model.
    #[error("not a SentencePiece model: {problem}")]
    Format {
        /// What the protobuf decoder found.
        problem: String,
    },
    /// A piece breaks a rule.
    #[error("piece {id}: {problem}")]
    Piece {
        /// Its id.
        id: usize,
        /// The rule.
        problem: &'static str,
    },
    /// The model as a whole breaks a rule.
    #[error("{problem}")]
    Model {
        /// The rule.
        problem: &'static str,
    },
    /// A normalization table is broken.
    #[error("{field}: {problem}")]
    Charsmap {
        /// Which one.
        field: &'static str,
        /// What is wrong.
        problem: String,
    },
}

/// Ids that a model does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no piece with the id {id}; the model has {pieces} pieces, from 0 on")]
pub struct DecodeError {
    /// The first such id.
    pub id: PieceId,
    /// The number of pieces.
    pub pieces: usize,
}

/// An option of encoding or decoding that cannot be used with a model.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// There is no extra option of this name.
    #[error(
        "there is no extra option {name:?}; use bos, eos, reverse, unk or unk_piece, with colons between them"
    )]
    UnknownExtra {
        /// The name that was given.
        name: String,
    },
    /// The model has no piece for the beginning or the end of a text.
    #[error("the model has no control piece {piece:?}; leave out {option}")]
    NoSuchPiece {
        /// The option that asks for it.
        option: &'static str,
        /// The text that it would have.
        piece: String,
    },
    /// A special piece was asked for that is no control piece.
    #[error("{piece:?} is no control piece of the model; name control pieces only")]
    NotControl {
        /// What was asked for.
        piece: String,
    },
    /// Only unigram models have an n-best list.
    #[error("this is no unigram model; only those have several best segmentations")]
    NoNbest,
    /// Only unigram and BPE models can be sampled from.
    #[error("there is nothing to sample in word and char models; use unigram or BPE")]
    NoSampling,
    /// Too many segmentations were asked for.
    #[error("{size} segmentations are too many; ask for 512 at most")]
    TooMany {
        /// How many.
        size: usize,
    },
    /// A text has so many overlapping pieces that listing or sampling segmentations would take too much.
    #[error(
        "the text has more than {limit} candidate pieces or pairs of them; split it into shorter texts"
    )]
    TooManyCandidates {
        /// The most that are taken.
        limit: usize,
    },
    /// A search tree for pieces would need more cells than its format can number.
    #[error(
        "too many {what}: their trie would need more than 2^29 cells; use fewer or shorter pieces"
    )]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
    },
    /// A smoothing parameter or probability that is none.
    #[error("alpha: {alpha} is no finite number of 0 or more")]
    Alpha {
        /// What was given.
        alpha: f32,
    },
}

/// A file that could not be written. It is as it was before.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}; {}", path.display(), remedy(source))]
pub struct WriteError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

fn reading_remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof => {
            "it is damaged, cut off, or not of the kind that its name says"
        }
        _ => "check its name and permissions",
    }
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull => "make room on the disk, or write somewhere else",
        io::ErrorKind::NotFound => "make its folder first",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "check the permissions of its folder, or write somewhere else"
        }
        io::ErrorKind::IsADirectory => "a folder has that name; choose another",
        _ => "it was left as it was",
    }
}
