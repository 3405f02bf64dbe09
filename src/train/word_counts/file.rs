//! Tables of word counts as Parquet files.
//!
//! Spark, DuckDB, Polars and pandas read the files, and files that they wrote can be read. They
//! have two columns, `word` (bytes) and `count` (64-bit integers), with the
//! [rows](super::CountRows) of the table. The metadata of the file repeat the rows that are not
//! words, for human readers; they are not read back.
//!
//! | property | written | read |
//! |---|---|---|
//! | columns | `word` and `count`, required | in any order, among others; required, or optional without NULL |
//! | types | BYTE_ARRAY, INT64 | BYTE_ARRAY with or without the type STRING, INT64 |
//! | compression | Snappy | none, Snappy, gzip, LZ4 |
//! | order | by the bytes of the words | any |
//!
//! Example: `printf 'to be\n' > t.txt; spiece count --input=t.txt --output=t.parquet` makes a file
//! that `SELECT * FROM 't.parquet'` of DuckDB shows with the rows `▁be` 1, `▁to` 1 and three rows
//! that begin with `\xFF`.
//!
//! Memory in addition to the table: a row group while writing, a page of each column
//! while reading. The file determines the size of a page, at most 2 GiB.

mod read;
mod write;

use std::error::Error;
use std::fs::File;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;

use self::read::read_rows;
use super::WordCounts;
use crate::output::{OutputFile, WriteError};
use crate::train::{CountsError, TrainError};

/// The columns of the file.
const SCHEMA: &str = "message word_counts { required binary word; required int64 count; }";
const WORD: &str = "word";
const COUNT: &str = "count";
/// Rows that are converted at a time.
const BATCH_ROWS: usize = 1 << 13;

impl WordCounts {
    /// Writes the table to a Parquet file. If writing fails, an existing file is left unchanged.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("counts.parquet");
    /// use spiece::train::{CountWords, WordCounts};
    /// use spiece::{Corpus, TrainOptions, Trainer};
    ///
    /// let trainer = Trainer::new(TrainOptions::default())?;
    /// trainer.count(Corpus::texts(["to be or not to be"]))?.save_parquet(&path)?;
    /// let counts = WordCounts::open_parquet(&path)?;
    /// assert_eq!(counts.len(), 4);
    /// assert_eq!(counts.fingerprint(), &trainer.count_fingerprint());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The file cannot be written; a count is 2^63 or more.
    pub fn save_parquet(&self, path: impl AsRef<Path>) -> Result<(), TrainError> {
        let path = path.as_ref();
        self.check_counts_fit()?;
        let mut output = OutputFile::create(path).map_err(CountsError::from)?;
        self.write_parquet(&mut output).map_err(|source| {
            let path = path.to_owned();
            CountsError::from(WriteError { path, source })
        })?;
        Ok(output.commit().map_err(CountsError::from)?)
    }

    /// Reads a Parquet file that [`save_parquet`](Self::save_parquet) wrote, or one with the rows
    /// of such files in any order, summed by word or not.
    ///
    /// # Errors
    /// The file cannot be read or is not a table of word counts.
    pub fn open_parquet(path: impl AsRef<Path>) -> Result<Self, TrainError> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|source| read_error(path, source))?;
        // The crate parquet panics on some damaged pages. What it had read is dropped.
        let rows = catch_unwind(AssertUnwindSafe(|| read_rows(file))).unwrap_or_else(|_| {
            let problem = "a page of the file is damaged; write the file again";
            Err(ParquetError::General(problem.to_owned()).into())
        });
        let rows = rows.map_err(|error| in_file(path, error))?;
        let counts = rows.finish();
        counts.map_err(|error| in_file(path, error.into()).into())
    }

    /// Refuses a count of 2^63 or more, before the file is written.
    fn check_counts_fit(&self) -> Result<(), CountsError> {
        let mut too_frequent = None;
        self.for_each(|word, count| {
            if i64::try_from(count).is_err() {
                too_frequent = Some(word.to_owned());
            }
        });
        match too_frequent {
            Some(word) => Err(CountsError::TooFrequent { word }),
            None => Ok(()),
        }
    }

    fn write_parquet(&self, file: &mut (dyn Write + Send)) -> io::Result<()> {
        Ok(write::write_rows(self, file, &self.metadata())?)
    }

    /// The metadata of the file: the content of the rows that are not words.
    fn metadata(&self) -> Vec<KeyValue> {
        let sentences = self.sentences();
        let value = |name: &str, value: String| KeyValue::new(format!("spiece.{name}"), value);
        vec![
            value("fingerprint", self.fingerprint().to_string()),
            value("inputs", self.inputs().join("\n")),
            value("input_format", self.input_format().to_owned()),
            value("sentences_used", sentences.used.to_string()),
            value("sentences_empty", sentences.empty.to_string()),
            value("sentences_too_long", sentences.too_long.to_string()),
            value("sentences_reserved", sentences.reserved.to_string()),
        ]
    }
}

/// What can go wrong with a row that is written or read.
#[derive(Debug)]
enum RowError {
    Parquet(ParquetError),
    Train(TrainError),
}

impl From<ParquetError> for RowError {
    fn from(error: ParquetError) -> Self {
        Self::Parquet(error)
    }
}

impl From<CountsError> for RowError {
    fn from(error: CountsError) -> Self {
        Self::Train(error.into())
    }
}

impl From<TrainError> for RowError {
    fn from(error: TrainError) -> Self {
        Self::Train(error)
    }
}

impl From<RowError> for io::Error {
    fn from(error: RowError) -> Self {
        match error {
            RowError::Parquet(error) => io_error(error),
            RowError::Train(error) => Self::other(error),
        }
    }
}

/// The underlying error of the operating system, if there is one; otherwise the error itself.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => external_error(source),
        error => io::Error::other(error),
    }
}

fn external_error(source: Box<dyn Error + Send + Sync>) -> io::Error {
    source
        .downcast::<io::Error>()
        .map_or_else(io::Error::other, |source| *source)
}

fn read_error(path: &Path, source: io::Error) -> CountsError {
    let path = path.to_owned();
    CountsError::Read { path, source }
}

/// The error for a file.
fn in_file(path: &Path, error: RowError) -> CountsError {
    let path = path.to_owned();
    match error {
        RowError::Train(TrainError::Counts(source)) => CountsError::InFile {
            path,
            source: Box::new(source),
        },
        RowError::Train(error) => CountsError::Format {
            path,
            problem: error.to_string(),
        },
        RowError::Parquet(error) => format_error(path, error),
    }
}

fn format_error(path: PathBuf, error: ParquetError) -> CountsError {
    let problem = match error {
        ParquetError::External(source) if source.is::<io::Error>() => {
            let source = external_error(source);
            return CountsError::Read { path, source };
        }
        ParquetError::NYI(missing) => {
            format!("{missing}; write it without compression, or with snappy, gzip or lz4_raw")
        }
        error => format!("{error}; make it with spiece count"),
    };
    CountsError::Format { path, problem }
}
