//! Tables of word counts as Parquet files.
//!
//! Job: write a [`WordCounts`] to a file that Spark, DuckDB, Polars and pandas read, and read such a file, or one that they
//! wrote. Input and output: two columns, `word` (bytes) and `count` (64-bit integers), with the [rows](CountRows) of the table. The
//! metadata of the file repeat the rows that are no words, for people who look at it; they are not read.
//!
//! | property | written | read |
//! |---|---|---|
//! | columns | `word` and `count`, required | in any order, beside others; required or optional without NULL |
//! | types | BYTE_ARRAY, INT64 | BYTE_ARRAY with or without the type STRING, INT64 |
//! | compression | Snappy | none, Snappy, gzip, LZ4 |
//! | order | by the bytes of the words | any |
//!
//! Example: `printf 'to be\n' > t.txt; spiece count --input=t.txt --output=t.parquet` makes a file that
//! `SELECT * FROM 't.parquet'` of DuckDB shows with the rows `▁be` 1, `▁to` 1 and three rows that begin with `\xFF`.
//!
//! Cost: linear. Memory: a row group while writing, a page of each column while reading, besides the table. The size of a page is
//! what the file says, at most 2 GiB.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::SchemaDescriptor;

use super::{CountRows, WordCounts};
use crate::error::{CountsError, TrainError};
use crate::output::{self, FileContent};

/// The columns of the file.
const SCHEMA: &str = "message word_counts { required binary word; required int64 count; }";
const WORD: &str = "word";
const COUNT: &str = "count";
/// Rows of a row group: the words of one take about 20 MB.
const GROUP_ROWS: usize = 1 << 20;
/// Rows that are read together.
const READ_ROWS: usize = 1 << 13;

impl WordCounts {
    /// Writes the table to a Parquet file. The file is complete, or it is as it was.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("counts.parquet");
    /// use spiece::{Corpus, TrainOptions, Trainer, WordCounts};
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
        let write = |file: &mut (dyn Write + Send)| self.write_parquet(file);
        output::write_contents(&[(path, FileContent::Written(&write))])
            .map_err(CountsError::from)?;
        Ok(())
    }

    /// Reads a Parquet file: one that [`save_parquet`](Self::save_parquet) wrote, or rows of such files in any order, added
    /// by their words or not.
    ///
    /// # Errors
    /// The file cannot be read or is no table of word counts.
    pub fn open_parquet(path: impl AsRef<Path>) -> Result<WordCounts, TrainError> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|source| CountsError::Read {
            path: path.to_owned(),
            source,
        })?;
        let rows = read_rows(file).map_err(|error| in_file(path, error))?;
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
        let mut writer = GroupWriter::new(file, self.metadata())?;
        self.for_each_row(|word, count| writer.add(word, count))?;
        Ok(writer.finish()?)
    }

    /// The metadata of the file: what the rows that are no words say.
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
    fn from(error: ParquetError) -> RowError {
        RowError::Parquet(error)
    }
}

impl From<CountsError> for RowError {
    fn from(error: CountsError) -> RowError {
        RowError::Train(error.into())
    }
}

impl From<TrainError> for RowError {
    fn from(error: TrainError) -> RowError {
        RowError::Train(error)
    }
}

impl From<RowError> for io::Error {
    fn from(error: RowError) -> io::Error {
        match error {
            RowError::Parquet(error) => io_error(error),
            RowError::Train(error) => io::Error::other(error),
        }
    }
}

/// The error of the operating system, if there is one behind the error.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(source) => *source,
            Err(source) => io::Error::other(source),
        },
        error => io::Error::other(error),
    }
}

/// Writes rows in groups.
struct GroupWriter<'f> {
    writer: SerializedFileWriter<&'f mut (dyn Write + Send)>,
    words: Vec<ByteArray>,
    counts: Vec<i64>,
}

impl<'f> GroupWriter<'f> {
    fn new(
        file: &'f mut (dyn Write + Send),
        metadata: Vec<KeyValue>,
    ) -> Result<GroupWriter<'f>, RowError> {
        let schema = Arc::new(parse_message_type(SCHEMA)?);
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("spiece version ", env!("CARGO_PKG_VERSION")).to_owned())
            // All words differ.
            .set_column_dictionary_enabled(WORD.into(), false)
            .set_key_value_metadata(Some(metadata))
            .build();
        Ok(GroupWriter {
            writer: SerializedFileWriter::new(file, schema, Arc::new(properties))?,
            words: Vec::new(),
            counts: Vec::new(),
        })
    }

    fn add(&mut self, word: &[u8], count: i64) -> Result<(), RowError> {
        self.words.push(word.to_vec().into());
        self.counts.push(count);
        if self.words.len() < GROUP_ROWS {
            return Ok(());
        }
        self.write_group()
    }

    fn write_group(&mut self) -> Result<(), RowError> {
        let mut group = self.writer.next_row_group()?;
        if let Some(mut column) = group.next_column()? {
            let writer = column.typed::<ByteArrayType>();
            writer.write_batch(&self.words, None, None)?;
            column.close()?;
        }
        if let Some(mut column) = group.next_column()? {
            let writer = column.typed::<Int64Type>();
            writer.write_batch(&self.counts, None, None)?;
            column.close()?;
        }
        group.close()?;
        self.words.clear();
        self.counts.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<(), RowError> {
        if !self.words.is_empty() {
            self.write_group()?;
        }
        self.writer.close()?;
        Ok(())
    }
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

fn format_error(path: std::path::PathBuf, error: ParquetError) -> CountsError {
    let problem = match error {
        ParquetError::External(source) if source.is::<io::Error>() => {
            let source = io_error(ParquetError::External(source));
            return CountsError::Read { path, source };
        }
        ParquetError::NYI(missing) => {
            format!("{missing}; write it without compression, or with snappy, gzip or lz4_raw")
        }
        error => format!("{error}; make it with spiece count"),
    };
    CountsError::Format { path, problem }
}

fn read_rows(file: File) -> Result<CountRows, RowError> {
    let reader = SerializedFileReader::new(file)?;
    let columns = ColumnIndexes::of(reader.metadata().file_metadata().schema_descr())?;
    let mut rows = CountRows::new();
    for group in 0..reader.num_row_groups() {
        read_group(reader.get_row_group(group)?.as_ref(), &columns, &mut rows)?;
    }
    Ok(rows)
}

/// Where the columns are.
struct ColumnIndexes {
    word: usize,
    count: usize,
}

impl ColumnIndexes {
    fn of(schema: &SchemaDescriptor) -> Result<ColumnIndexes, RowError> {
        Ok(ColumnIndexes {
            word: column_index::<ByteArrayType>(schema, WORD, "bytes (BYTE_ARRAY)")?,
            count: column_index::<Int64Type>(schema, COUNT, "64-bit integers (INT64, BIGINT)")?,
        })
    }
}

/// The index of the column `name`, which has the type `T` and no lists.
fn column_index<T: DataType>(
    schema: &SchemaDescriptor,
    name: &str,
    type_name: &str,
) -> Result<usize, RowError> {
    let mut columns = schema.columns().iter();
    let index = columns.position(|column| column.path().string() == name);
    let Some(index) = index else {
        return Err(ParquetError::General(format!("there is no column {name}")).into());
    };
    let column = schema.column(index);
    if column.physical_type() != T::get_physical_type() || column.max_rep_level() > 0 {
        let problem = format!("the column {name} does not have the type {type_name}");
        return Err(ParquetError::General(problem).into());
    }
    Ok(index)
}

fn read_group(
    group: &dyn RowGroupReader,
    columns: &ColumnIndexes,
    rows: &mut CountRows,
) -> Result<(), RowError> {
    let mut words = typed_reader::<ByteArrayType>(group, columns.word)?;
    let mut counts = typed_reader::<Int64Type>(group, columns.count)?;
    let mut word_values = Vec::new();
    let mut count_values = Vec::new();
    loop {
        read_values(&mut words, &mut word_values)?;
        read_values(&mut counts, &mut count_values)?;
        if word_values.len() != count_values.len() {
            let problem = "the columns have different lengths".to_owned();
            return Err(ParquetError::General(problem).into());
        }
        if word_values.is_empty() {
            return Ok(());
        }
        for (word, count) in word_values.iter().zip(&count_values) {
            rows.add(word.data(), *count)?;
        }
    }
}

fn typed_reader<T: DataType>(
    group: &dyn RowGroupReader,
    column: usize,
) -> Result<ColumnReaderImpl<T>, RowError> {
    let reader = group.get_column_reader(column)?;
    Ok(parquet::column::reader::get_typed_column_reader(reader))
}

/// Reads the next values of a column, none of which is NULL. There are none at the end.
fn read_values<T: DataType>(
    column: &mut ColumnReaderImpl<T>,
    values: &mut Vec<T::T>,
) -> Result<(), RowError> {
    values.clear();
    let mut levels = Vec::new();
    let (rows, read, _) = column.read_records(READ_ROWS, Some(&mut levels), None, values)?;
    if read < rows {
        let problem = "a row with NULL";
        return Err(CountsError::InvalidRow { problem }.into());
    }
    Ok(())
}
