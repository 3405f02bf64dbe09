//! Reading the rows of a Parquet file.
//!
//! Input: a file. Output: its rows, added to a table. Method: one thread decompresses and decodes
//! batches of rows; the caller's thread adds them to the table, which takes about as long. A
//! bounded channel connects the two. If no thread can be started, the caller's thread does both.
//! Example: while batch 1 of a file is added, batch 2 is decoded.
//!
//! The words of a batch are joined into one text, whose encoding is checked at once; checking each
//! short word takes several times as long.

use std::fs::File;
use std::sync::mpsc::sync_channel;
use std::thread;

use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::schema::types::SchemaDescriptor;

use super::{BATCH_ROWS, COUNT, RowError, WAITING_BATCHES, WORD};
use crate::train::CountsError;
use crate::train::parallel::result_of;
use crate::train::word_counts::CountRows;

/// Takes a batch; returns false if no more are wanted.
type TakeBatch<'t> = &'t mut dyn FnMut(JoinedRows) -> Result<bool, RowError>;

/// Reads all rows of a file.
pub(super) fn read_rows(file: File) -> Result<CountRows, RowError> {
    let reader = SerializedFileReader::new(file)?;
    let columns = ColumnIndexes::of(reader.metadata().file_metadata().schema_descr())?;
    let mut rows = CountRows::new();
    let (sender, receiver) = sync_channel(WAITING_BATCHES);
    let read_in_thread = || {
        let sender = sender;
        // If the receiver is gone, adding has failed, and its error is returned.
        read_groups(&reader, &columns, &mut |batch| {
            Ok(sender.send(batch).is_ok())
        })
    };
    thread::scope(|scope| {
        let Ok(reading) = thread::Builder::new().spawn_scoped(scope, read_in_thread) else {
            return read_groups(&reader, &columns, &mut |batch| {
                batch.add_to(&mut rows).map(|()| true)
            });
        };
        receiver
            .into_iter()
            .try_for_each(|batch| batch.add_to(&mut rows))?;
        result_of(reading)
    })?;
    Ok(rows)
}

/// Rows of a file, with their words concatenated.
struct JoinedRows {
    /// The concatenated words; bytes if they are not UTF-8, as with rows that begin with the byte
    /// FF.
    words: Result<String, Vec<u8>>,
    /// Where each word ends.
    ends: Vec<usize>,
    counts: Vec<i64>,
}

impl JoinedRows {
    fn new(words: &[ByteArray], counts: Vec<i64>) -> Self {
        let mut joined = Vec::with_capacity(words.iter().map(ByteArray::len).sum());
        let mut ends = Vec::with_capacity(words.len());
        for word in words {
            joined.extend_from_slice(word.data());
            ends.push(joined.len());
        }
        Self {
            words: String::from_utf8(joined).map_err(std::string::FromUtf8Error::into_bytes),
            ends,
            counts,
        }
    }

    /// Adds the rows to a table.
    fn add_to(&self, rows: &mut CountRows) -> Result<(), RowError> {
        let mut start = 0;
        for (end, count) in self.ends.iter().zip(&self.counts) {
            let range = start..*end;
            start = *end;
            match &self.words {
                // A word that does not begin and end at character boundaries is not UTF-8; `add`
                // refuses it.
                Ok(words) => match words.get(range.clone()) {
                    Some(word) => rows.add_word(word, *count)?,
                    None => rows.add(&words.as_bytes()[range], *count)?,
                },
                Err(bytes) => rows.add(&bytes[range], *count)?,
            }
        }
        Ok(())
    }
}

/// Reads the batches of all row groups, until `take` wants no more.
fn read_groups(
    reader: &SerializedFileReader<File>,
    columns: &ColumnIndexes,
    take: TakeBatch<'_>,
) -> Result<(), RowError> {
    for group in 0..reader.num_row_groups() {
        if !read_group(reader.get_row_group(group)?.as_ref(), columns, take)? {
            break;
        }
    }
    Ok(())
}

/// The indexes of the two columns.
struct ColumnIndexes {
    word: usize,
    count: usize,
}

impl ColumnIndexes {
    fn of(schema: &SchemaDescriptor) -> Result<Self, RowError> {
        Ok(Self {
            word: column_index::<ByteArrayType>(schema, WORD, "bytes (BYTE_ARRAY)")?,
            count: column_index::<Int64Type>(schema, COUNT, "64-bit integers (INT64, BIGINT)")?,
        })
    }
}

/// The index of the column `name`, which must have the type `T` and must not be repeated.
fn column_index<T: DataType>(
    schema: &SchemaDescriptor,
    name: &str,
    type_name: &str,
) -> Result<usize, RowError> {
    let mut columns = schema.columns().iter();
    let index = columns.position(|column| column.path().string() == name);
    let Some(index) = index else {
        return Err(general_error(format!("there is no column {name}")));
    };
    let column = schema.column(index);
    if column.physical_type() != T::get_physical_type() || column.max_rep_level() > 0 {
        let problem = format!("the column {name} does not have the type {type_name}");
        return Err(general_error(problem));
    }
    Ok(index)
}

fn general_error(problem: String) -> RowError {
    ParquetError::General(problem).into()
}

/// Reads the batches of a row group. Returns false if `take` wants no more.
fn read_group(
    group: &dyn RowGroupReader,
    columns: &ColumnIndexes,
    take: TakeBatch<'_>,
) -> Result<bool, RowError> {
    let mut words = typed_reader::<ByteArrayType>(group, columns.word)?;
    let mut counts = typed_reader::<Int64Type>(group, columns.count)?;
    let mut word_values = Vec::new();
    loop {
        let mut count_values = Vec::new();
        read_values(&mut words, &mut word_values)?;
        read_values(&mut counts, &mut count_values)?;
        check_lengths(word_values.len(), count_values.len())?;
        if word_values.is_empty() {
            return Ok(true);
        }
        if !take(JoinedRows::new(&word_values, count_values))? {
            return Ok(false);
        }
    }
}

fn check_lengths(words: usize, counts: usize) -> Result<(), RowError> {
    if words == counts {
        return Ok(());
    }
    let problem = "the columns have different lengths".to_owned();
    Err(general_error(problem))
}

fn typed_reader<T: DataType>(
    group: &dyn RowGroupReader,
    column: usize,
) -> Result<ColumnReaderImpl<T>, RowError> {
    let reader = group.get_column_reader(column)?;
    Ok(parquet::column::reader::get_typed_column_reader(reader))
}

/// Reads the next values of a column and refuses NULL. `values` is empty at the end.
fn read_values<T: DataType>(
    column: &mut ColumnReaderImpl<T>,
    values: &mut Vec<T::T>,
) -> Result<(), RowError> {
    values.clear();
    let mut levels = Vec::new();
    let (rows, read, _) = column.read_records(BATCH_ROWS, Some(&mut levels), None, values)?;
    if read < rows {
        let problem = "a row with NULL";
        return Err(CountsError::InvalidRow { problem }.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::TrainError;

    fn added(words: &[&[u8]]) -> Result<CountRows, RowError> {
        let words: Vec<ByteArray> = words.iter().map(|word| word.to_vec().into()).collect();
        let batch = JoinedRows::new(&words, vec![2; words.len()]);
        let mut rows = CountRows::new();
        batch.add_to(&mut rows)?;
        Ok(rows)
    }

    #[test]
    fn parts_of_characters_are_refused_though_they_join_to_a_character() {
        for words in [
            &[&b"a"[..], b"\xE2\x96", b"\x81", b"b"][..],
            &[&b"a"[..], b"\xE2\x96"],
            &[&b"\xFFfingerprint\nx"[..], b"\xE2\x96", b"\x81"],
        ] {
            let problem = match added(words) {
                Err(RowError::Train(TrainError::Counts(CountsError::InvalidRow { problem }))) => {
                    problem
                }
                other => panic!("{:?}", other.map(drop).is_ok()),
            };
            assert_eq!(problem, "a word that is not UTF-8");
        }
    }

    #[test]
    fn words_are_those_of_the_rows_beside_rows_that_are_no_words() {
        let words: [&[u8]; 3] = ["\u{2581}a".as_bytes(), b"b", b"\xFFfingerprint\nx"];
        for words in [&words[..], &words[1..]] {
            let counts = added(words).ok().unwrap().finish().unwrap();
            let mut found = Vec::new();
            counts.for_each(|word, count| found.push((word.to_owned(), count)));
            found.sort();
            assert_eq!(found.len(), words.len() - 1);
            assert_eq!(found[0], ("b".to_owned(), 2));
        }
    }
}
