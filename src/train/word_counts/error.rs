//! Errors of tables of word counts.

use std::io;
use std::path::PathBuf;

use crate::error::reading_remedy;
use crate::output::WriteError;

/// A table of word counts that cannot be made, added to another, read, written or trained on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CountsError {
    /// The counts depend on an option that has another value here.
    #[error(
        "the words were counted with {option}={found:?}, and here {option}={expected:?}; use the options that the words were \
         counted with, or count them again"
    )]
    Different {
        /// The option.
        option: String,
        /// Its value here.
        expected: String,
        /// Its value when the words were counted.
        found: String,
    },
    /// The seeds of a unigram model depend on more than the counts.
    #[error(
        "model_type: the candidates that a unigram model begins with depend on the order of the sentences, which word \
         counts do not have; train on the text, or train a bpe, word or char model"
    )]
    Unigram,
    /// minbpe's order of ties depends on more than the counts.
    #[error(
        "tie_order: minbpe merges the pair that occurs first, and word counts have no order; train on the text, or choose \
         another tie_order"
    )]
    Order,
    /// A sample cannot be drawn from a part of the corpus, because it depends on all sentences.
    #[error(
        "input_sentence_size: a sample of the whole corpus cannot be drawn from a part of it; draw the sample before \
         counting, and count with input_sentence_size=0"
    )]
    Sampled,
    /// A word that these options never yield.
    #[error(
        "the table has the word {word:?}, which is no word with these options; make the table with spiece, not from \
         other words"
    )]
    NotAWord {
        /// The word.
        word: String,
    },
    /// A word without text, or a count that is not positive.
    #[error(
        "the table has a row with {problem}; make the table with spiece, and add only its counts"
    )]
    InvalidRow {
        /// What is wrong.
        problem: &'static str,
    },
    /// A word is too frequent.
    #[error("the count of the word {word:?} is 2^63 or more; count a part of the corpus")]
    TooFrequent {
        /// The word.
        word: String,
    },
    /// The table does not say with which options its words were counted.
    #[error(
        "the table does not say with which options its words were counted; keep the rows whose word begins with the byte \
         FF when the table is changed"
    )]
    NoFingerprint,
    /// A file cannot be read.
    #[error("cannot read {}: {source}; {}", path.display(), reading_remedy(source))]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is not a table of word counts.
    #[error("{} is not a table of word counts: {problem}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong and what to do.
        problem: String,
    },
    /// A file has something wrong with its content.
    #[error("{}: {source}", path.display())]
    InFile {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: Box<Self>,
    },
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}
