//! A table of word counts as rows, for files and for programs that sum them.
//!
//! Everything in a [`WordCounts`] is rows of bytes and a number. Programs that know nothing of
//! spiece (Spark, DuckDB, Polars) group the rows by their bytes and add the numbers; the result is
//! the sum of the tables.
//!
//! | bytes | number |
//! |---|---|
//! | a word, UTF-8 | its count |
//! | FF, `sentences_used` (`_empty`, `_too_long`, `_reserved`) | sentences that were read, by what became of them |
//! | FF, `bad_records` | records of JSON Lines that were skipped |
//! | FF, `fingerprint`, line feed, the text of the fingerprint | the tables that were added |
//! | FF, `input`, and on a line each: a number, the format, a name | the tables that name this input |
//!
//! The byte FF occurs in no UTF-8 text, so no word begins with it, and these rows are the last ones
//! in the order of bytes. Tables with different options have different fingerprint rows. A sum
//! keeps these rows separate, so the difference is detected when the sum is read.
//!
//! Example: the rows of two tables and their sum.
//!
//! ```text
//! ▁be 1   ▁to 1   FF sentences_used 1   FF fingerprint.. 1
//! ▁be 1   ▁or 1   FF sentences_used 1   FF fingerprint.. 1
//! ▁be 2   ▁or 1   ▁to 1   FF sentences_used 2   FF fingerprint.. 2
//! ```

use std::collections::BTreeSet;

use super::{CountFingerprint, WordCounts};
use crate::train::sentence_counts::SentenceCounts;
use crate::train::{CountsError, TrainError};

/// The first byte of rows that are not words.
const NOT_A_WORD: u8 = 0xff;
const FINGERPRINT: &str = "fingerprint\n";
const INPUT: &str = "input\n";

/// The numbers of sentences and the names of their rows.
fn sentence_rows(sentences: &mut SentenceCounts) -> [(&'static str, &mut u64); 5] {
    [
        ("sentences_used", &mut sentences.used),
        ("sentences_empty", &mut sentences.empty),
        ("sentences_too_long", &mut sentences.too_long),
        ("sentences_reserved", &mut sentences.reserved),
        ("bad_records", &mut sentences.bad_records),
    ]
}

impl WordCounts {
    /// Calls `visit` with the bytes and the number of each row of the table: first the words, in
    /// the order of their bytes, then the other rows; see [`CountRows`].
    ///
    /// # Errors
    /// A count is 2^63 or more: [`CountsError::TooFrequent`]; the first error of `visit`.
    pub fn for_each_row<E: From<CountsError>>(
        &self,
        mut visit: impl FnMut(&[u8], i64) -> Result<(), E>,
    ) -> Result<(), E> {
        self.for_each_sorted(|word, count| visit(word.as_bytes(), row_count(word, count)?))?;
        self.for_each_other_row(visit)
    }

    /// As [`for_each_row`](WordCounts::for_each_row), with only the rows that are not words: for a
    /// table whose words were [drained](Self::drain).
    ///
    /// # Errors
    /// As [`for_each_row`](WordCounts::for_each_row).
    pub fn for_each_other_row<E: From<CountsError>>(
        &self,
        mut visit: impl FnMut(&[u8], i64) -> Result<(), E>,
    ) -> Result<(), E> {
        visit(&row(FINGERPRINT, &self.fingerprint.to_string()), 1)?;
        for (position, name) in self.inputs.iter().enumerate() {
            let input = format!("{position:010}\n{}\n{name}", self.input_format);
            visit(&row(INPUT, &input), 1)?;
        }
        for (name, count) in sentence_rows(&mut self.sentences.clone()) {
            let count = row_count(name, *count)?;
            if count > 0 {
                visit(&row(name, ""), count)?;
            }
        }
        Ok(())
    }
}

/// The count of the row of `word`, which is below 2^63.
fn row_count(word: &str, count: u64) -> Result<i64, CountsError> {
    i64::try_from(count).map_err(|_| CountsError::TooFrequent {
        word: word.to_owned(),
    })
}

/// The bytes of a row that is not a word.
fn row(name: &str, content: &str) -> Vec<u8> {
    [&[NOT_A_WORD], name.as_bytes(), content.as_bytes()].concat()
}

/// Reads the rows of one table or of several, in any order, added to each other or not.
///
/// A row consists of the bytes of a word and its count. Rows whose bytes begin with FF contain the
/// numbers of sentences, the options that the words depend on, and the names of the inputs. A
/// program that adds tables groups all rows by their bytes and adds their numbers.
///
/// ```
/// use spiece::train::{CountRows, CountWords, CountsError};
/// use spiece::{Corpus, TrainOptions, Trainer};
///
/// let trainer = Trainer::new(TrainOptions::default())?;
/// let mut rows = CountRows::new();
/// for part in ["to be", "or not to be"] {
///     let counts = trainer.count(Corpus::texts([part]))?;
///     counts.for_each_row(|word, count| rows.add(word, count))?;
/// }
/// let counts = rows.finish()?;
/// assert_eq!((counts.len(), counts.sentences().used), (4, 2));
/// # Ok::<(), spiece::TrainError>(())
/// ```
#[derive(Debug)]
pub struct CountRows {
    counts: WordCounts,
    fingerprints: Vec<CountFingerprint>,
    /// The number of tables that were added.
    tables: u64,
    inputs: BTreeSet<InputRow>,
}

/// An input of a table: its position, its format and its name.
type InputRow = (u64, String, String);

impl CountRows {
    /// No rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a row.
    ///
    /// # Errors
    /// [`CountsError::InvalidRow`]: a table cannot have such a row.
    pub fn add(&mut self, bytes: &[u8], count: i64) -> Result<(), TrainError> {
        let count = checked(count)?;
        let Ok(text) = std::str::from_utf8(bytes.strip_prefix(&[NOT_A_WORD]).unwrap_or(bytes))
        else {
            return invalid("a word that is not UTF-8");
        };
        if bytes.first() == Some(&NOT_A_WORD) {
            self.add_other(text, count)
        } else {
            self.counts.add(text, count)
        }
    }

    /// Adds the row of a word.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    #[cfg(feature = "parquet")]
    pub(super) fn add_word(&mut self, word: &str, count: i64) -> Result<(), TrainError> {
        self.counts.add(word, checked(count)?)
    }

    /// Adds a row that is not a word.
    fn add_other(&mut self, text: &str, count: u64) -> Result<(), TrainError> {
        if let Some(fingerprint) = text.strip_prefix(FINGERPRINT) {
            self.tables = self.tables.saturating_add(count);
            let fingerprint = CountFingerprint::from_text(fingerprint);
            if !self.fingerprints.contains(&fingerprint) {
                self.fingerprints.push(fingerprint);
            }
            return Ok(());
        }
        if let Some(input) = text.strip_prefix(INPUT) {
            let mut parts = input.splitn(3, '\n');
            let position = parts.next().and_then(|position| position.parse().ok());
            if let (Some(position), Some(format), Some(name)) =
                (position, parts.next(), parts.next())
            {
                let input = (position, format.to_owned(), name.to_owned());
                self.inputs.insert(input);
                return Ok(());
            }
        }
        for (row, sum) in sentence_rows(&mut self.counts.sentences) {
            if row == text {
                *sum = sum.saturating_add(count);
                return Ok(());
            }
        }
        invalid("a word that begins with the byte FF and has no meaning")
    }

    /// The sum of all rows.
    ///
    /// # Errors
    /// No row contains the options that the words depend on, or two rows contain different options,
    /// or inputs have different formats, or tables that were counted on a selection of the
    /// sentences were added to each other.
    pub fn finish(self) -> Result<WordCounts, TrainError> {
        let Self {
            mut counts,
            fingerprints,
            tables,
            inputs,
        } = self;
        let mut fingerprints = fingerprints.into_iter();
        let fingerprint = fingerprints.next().ok_or(CountsError::NoFingerprint)?;
        fingerprints.try_for_each(|other| fingerprint.check_equal(&other))?;
        if tables > 1 && fingerprint.is_of_selection() {
            return Err(CountsError::Sampled.into());
        }
        counts.fingerprint = fingerprint;
        for (_, format, name) in inputs {
            counts.add_input(&format, name)?;
        }
        Ok(counts)
    }
}

impl Default for CountRows {
    fn default() -> Self {
        Self {
            counts: WordCounts::new(CountFingerprint::from_text("")),
            fingerprints: Vec::new(),
            tables: 0,
            inputs: BTreeSet::new(),
        }
    }
}

/// The count of a row, which is above 0.
fn checked(count: i64) -> Result<u64, TrainError> {
    u64::try_from(count)
        .ok()
        .filter(|count| *count > 0)
        .map_or_else(|| invalid("a count below 1"), Ok)
}

fn invalid<T>(problem: &'static str) -> Result<T, TrainError> {
    Err(CountsError::InvalidRow { problem }.into())
}
