//! What is counted of rows: the words of lines, or the pretokens of lines or texts.

use spiece::train::{CountWords, CountsError, WordCounts};
use spiece::{Corpus, TrainError};

use crate::row_reader::RowReader;

/// Counts to which rows are added.
pub trait RowCounts: Send {
    /// Adds a round of rows.
    fn count(&mut self, rows: &mut RowReader) -> Result<(), TrainError>;

    /// The number of distinct words.
    fn words(&self) -> usize;

    /// Removes all words; `with_options` also gives the rows with the options and the numbers of
    /// sentences.
    fn take(&mut self, with_options: bool) -> Result<RowBuffers, TrainError>;
}

/// The words of rows, by a trainer.
pub struct WordRows<T> {
    trainer: T,
    /// Whether rows are the lines of a file, and not texts as they are.
    are_lines: bool,
    counts: WordCounts,
}

impl<T: CountWords> WordRows<T> {
    /// # Errors
    /// The options need the whole corpus.
    pub fn new(trainer: T, are_lines: bool) -> Result<WordRows<T>, TrainError> {
        trainer.counter()?;
        Ok(WordRows {
            counts: trainer.new_counts()?,
            trainer,
            are_lines,
        })
    }
}

impl<T: CountWords> RowCounts for WordRows<T> {
    fn count(&mut self, rows: &mut RowReader) -> Result<(), TrainError> {
        let corpus = match self.are_lines {
            true => Corpus::reader(rows),
            false => Corpus::texts(rows),
        };
        self.trainer.count_into(corpus, &mut self.counts)
    }

    fn words(&self) -> usize {
        self.counts.len()
    }

    fn take(&mut self, with_options: bool) -> Result<RowBuffers, TrainError> {
        RowBuffers::take(&mut self.counts, with_options)
    }
}

/// Rows that are written to buffers.
pub struct RowBuffers {
    pub bytes: Vec<u8>,
    /// Where each row begins and the last one ends.
    pub offsets: Vec<i64>,
    pub counts: Vec<i64>,
}

impl RowBuffers {
    /// Removes all words; `with_options` also adds the rows with the options and the numbers of
    /// sentences.
    fn take(counts: &mut WordCounts, with_options: bool) -> Result<RowBuffers, TrainError> {
        let mut rows = RowBuffers {
            bytes: Vec::new(),
            offsets: Vec::with_capacity(counts.len() + 1),
            counts: Vec::with_capacity(counts.len()),
        };
        rows.offsets.push(0);
        if with_options {
            counts.for_each_other_row(|bytes, count| {
                rows.add(bytes, count);
                Ok::<(), TrainError>(())
            })?;
        }
        let mut too_frequent = None;
        counts.drain(|word, count| match i64::try_from(count) {
            Ok(count) => rows.add(word.as_bytes(), count),
            Err(_) => too_frequent = Some(word.to_owned()),
        });
        match too_frequent {
            Some(word) => Err(CountsError::TooFrequent { word }.into()),
            None => Ok(rows),
        }
    }

    fn add(&mut self, bytes: &[u8], count: i64) {
        self.bytes.extend_from_slice(bytes);
        // A vector has at most isize::MAX bytes.
        self.offsets
            .push(i64::try_from(self.bytes.len()).unwrap_or(i64::MAX));
        self.counts.push(count);
    }
}
