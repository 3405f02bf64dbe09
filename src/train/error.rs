//! Errors of a training run.

use std::io;
use std::path::{Path, PathBuf};

use super::options::OptionError;
use super::sentence_counts::SentenceCounts;
use super::word_counts::CountsError;
use crate::byte_bpe::ByteBpeError;
use crate::error::reading_remedy;
use crate::model::ModelError;
use crate::pipeline::PipelineError;

/// A training run that failed. No output was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// The options are at fault.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// The normalization rules are at fault.
    #[error("{option}: {}{source}", prefix(path.as_deref()))]
    Rules {
        /// The flag that names the rules.
        option: &'static str,
        /// The file of the rules, if they come from a file.
        path: Option<PathBuf>,
        /// What is wrong and what to do.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// There is nothing to read.
    #[error("input: no file is given; name one or more, or - for standard input")]
    NoInput,
    /// The name of a file is empty.
    #[error(
        "input: name {position} of the list of files is empty; remove the comma, or name - for standard input"
    )]
    EmptyInputName {
        /// The position in the list, from 1.
        position: usize,
    },
    /// A file could not be read.
    #[error("cannot read {}: {source}; {}", path.display(), reading_remedy(source))]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A row of a tsv input is not a sentence, a tab and a count.
    #[error("{}: {problem}; correct the row, or use input_format=text", place(path.as_deref(), *line))]
    Row {
        /// The file, if the input was one.
        path: Option<PathBuf>,
        /// The line, from 1.
        line: u64,
        /// What is wrong.
        problem: &'static str,
    },
    /// The chunks of a pre-tokenizer do not concatenate to the sentence.
    #[error(
        "the pre-tokenizer's chunks {chunks:?} are not the sentence {sentence:?} in parts; return chunks whose concatenation is the sentence, or allow inconsistent pre-tokenization"
    )]
    Pretokenizer {
        /// The normalized sentence.
        sentence: String,
        /// The chunks that were returned for it.
        chunks: Vec<String>,
    },
    /// The input has no sentence to learn from.
    #[error("input: there is no sentence to train on: {}", why_no_sentence(sentences, *max_sentence_length))]
    NoText {
        /// What became of the sentences.
        sentences: SentenceCounts,
        /// The option: longer sentences are skipped.
        max_sentence_length: u32,
    },
    /// No character of the sentences can become a piece: normalization leaves nothing of them, or
    /// they have only characters that cannot be pieces.
    #[error(
        "input: the sentences have no character that can be a piece after normalization; give other text, or other \
         normalization rules"
    )]
    NoCharacters,
    /// A character that SentencePiece reserves would become a piece.
    #[error("the character U+{:04X} cannot be a piece, because SentencePiece reserves it; remove it from required_chars, from the normalization rules or from the text", u32::from(*character))]
    ReservedCharacter {
        /// The character.
        character: char,
    },
    /// The vocabulary has no room for the pieces that it must have.
    #[error(
        "vocab_size: {vocab_size} is too small; {meta_pieces} special and byte pieces and {characters} characters need {}. \
         Raise vocab_size, lower character_coverage, or remove symbols",
        meta_pieces + characters
    )]
    VocabularyTooSmall {
        /// The size that was asked for.
        vocab_size: usize,
        /// Control, user-defined, byte and other special pieces.
        meta_pieces: usize,
        /// Characters that `character_coverage` turns into pieces.
        characters: usize,
    },
    /// The input does not yield enough pieces.
    #[error(
        "vocab_size: {vocab_size} is too large; this input gives {largest} pieces at most. \
         Lower vocab_size, give more text, or set hard_vocab_limit=false to accept fewer pieces{}",
        too_long_note(*too_long)
    )]
    VocabularyTooLarge {
        /// The size that was asked for.
        vocab_size: usize,
        /// The largest size that is possible.
        largest: usize,
        /// Sentences that were skipped because they are longer than `max_sentence_length`.
        too_long: u64,
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
        /// The number of pieces before it.
        pieces: usize,
    },
    /// Two pieces have the same text.
    #[error(
        "the piece {piece:?} occurs twice: as a symbol and as a learned piece or required character; remove it from the symbols or from required_chars"
    )]
    DuplicatePiece {
        /// The text of both.
        piece: String,
    },
    /// Something grew beyond what the trainer can count.
    #[error(
        "too many {what}; give less text (for models of SentencePiece: input_sentence_size), or leave out rare words (min_word_count)"
    )]
    TooLarge {
        /// What there are too many of.
        what: &'static str,
    },
    /// Training of a unigram model ended with no pieces or with scores that are not finite.
    #[error(
        "the corpus is too small to estimate a unigram model; give more text{}",
        too_long_note(*too_long)
    )]
    Diverged {
        /// Sentences that were skipped because they are longer than `max_sentence_length`.
        too_long: u64,
    },
    /// 100 pruning steps of a unigram model in a row dropped no piece.
    #[error(
        "vocab_size: {vocab_size} is too small; {pieces} pieces remain, none of which can be dropped. Raise vocab_size"
    )]
    NoConvergence {
        /// The size that was asked for.
        vocab_size: usize,
        /// The pieces that remain.
        pieces: usize,
    },
    /// The files have other sentences than when they were read the first time.
    #[error(
        "input: a file has changed while it was read; train on a copy that nobody changes, or on standard input"
    )]
    InputChanged,
    /// The text of a stream, which unigram training keeps to read it a second time, could not be
    /// written to a temporary file or read from it.
    #[error(
        "cannot keep the text in a temporary file in {}: {source}; set TMPDIR to a folder with room for the text, or train on a file instead of a stream",
        folder.display()
    )]
    TemporaryFile {
        /// The folder of the file.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The trained model is refused, for example because it has too many pieces or a damaged
    /// charsmap.
    #[error("the trained model: {0}")]
    Model(#[from] ModelError),
    /// The trained byte-level vocabulary is refused, for example because it has too many tokens.
    #[error("the trained vocabulary: {0}")]
    Bytes(#[from] ByteBpeError),
    /// The pipeline that cuts the corpus into pretokens cannot cut a text.
    #[error("the corpus: {0}")]
    Pretokens(#[from] PipelineError),
    /// The pipeline to train like has a model of another type than BPE and WordPiece of a
    /// `tokenizer.json`.
    #[error(
        "a model of the type {found} is not trained like a pipeline; take a tokenizer.json with BPE or WordPiece, or the \
         trainer of the type"
    )]
    PipelineModel {
        /// The type.
        found: &'static str,
    },
    /// Word counts cannot be used.
    #[error(transparent)]
    Counts(#[from] CountsError),
    /// The observer stopped the run.
    #[error("stopped; no file was changed")]
    Cancelled,
    /// The operating system could not start the requested threads.
    #[error("num_threads: cannot start threads: {source}")]
    Threads {
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl TrainError {
    /// The position of the error in the input, to order errors that were found at the same time.
    pub(crate) fn location(&self) -> Option<(Option<PathBuf>, u64)> {
        match self {
            Self::Row { path, line, .. } => Some((path.clone(), *line)),
            _ => None,
        }
    }
}

/// What became of the sentences, none of which was used.
fn why_no_sentence(sentences: &SentenceCounts, max_sentence_length: u32) -> String {
    let too_long = format!(
        "longer than {max_sentence_length} bytes (raise max_sentence_length, or give shorter lines)"
    );
    let reasons = [
        (sentences.empty, "empty"),
        (sentences.too_long, &too_long),
        (
            sentences.reserved,
            "with U+2585, which SentencePiece reserves",
        ),
        (sentences.bad_records, "records without a text"),
    ];
    let reasons: Vec<String> = reasons
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, reason)| format!("{count} {reason}"))
        .collect();
    if reasons.is_empty() {
        return "the input is empty".to_owned();
    }
    format!("all were skipped: {}", reasons.join(", "))
}

/// The end of a message, if sentences were skipped because of their length.
fn too_long_note(too_long: u64) -> String {
    if too_long == 0 {
        return String::new();
    }
    format!(
        ". {too_long} sentences were skipped because they are too long: raise max_sentence_length to use them"
    )
}

/// The prefix of a message: the name of the file, if there is one.
fn prefix(path: Option<&Path>) -> String {
    path.map_or_else(String::new, |path| format!("{}: ", path.display()))
}

fn place(path: Option<&Path>, line: u64) -> String {
    match path {
        Some(path) => format!("{}, line {line}", path.display()),
        None => format!("line {line}"),
    }
}
