//! Reading the rows of a Parquet file.
//!
//! Input: a file. Output: its rows, added to a table. Method: one thread decompresses and decodes batches of rows, the caller's thread adds them
//! to the table, which takes about as long. A channel of bounded length is between them. Where no thread can be started, one
//! thread does both. Example: while batch 1 of a file is added, batch 2 is decoded.

use std::fs::File;
use std::sync::mpsc::sync_channel;
use std::thread;

use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::schema::types::SchemaDescriptor;

use super::{BATCH_ROWS, COUNT, RowBatch, RowError, WAITING_BATCHES, WORD};
use crate::error::CountsError;
use crate::train::word_counts::CountRows;

/// Takes a batch; false if no more are wanted.
type TakeBatch<'t> = &'t mut dyn FnMut(RowBatch) -> Result<bool, RowError>;

/// Reads all rows of a file.
pub(super) fn read_rows(file: File) -> Result<CountRows, RowError> {
    let reader = SerializedFileReader::new(file)?;
    let columns = ColumnIndexes::of(reader.metadata().file_metadata().schema_descr())?;
    let mut rows = CountRows::new();
    let (sender, receiver) = sync_channel(WAITING_BATCHES);
    let read_in_thread = || {
        let sender = sender;
        // If nobody receives, adding has failed, and that is the error of the whole.
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
        let read = reading.join();
        read.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    Ok(rows)
}

impl RowBatch {
    /// Adds the rows to a table.
    fn add_to(&self, rows: &mut CountRows) -> Result<(), RowError> {
        for (word, count) in self.words.iter().zip(&self.counts) {
            rows.add(word.data(), *count)?;
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

/// Reads the batches of a row group. Returns false if `take` wants no more.
fn read_group(
    group: &dyn RowGroupReader,
    columns: &ColumnIndexes,
    take: TakeBatch<'_>,
) -> Result<bool, RowError> {
    let mut words = typed_reader::<ByteArrayType>(group, columns.word)?;
    let mut counts = typed_reader::<Int64Type>(group, columns.count)?;
    loop {
        let mut batch = RowBatch::default();
        read_values(&mut words, &mut batch.words)?;
        read_values(&mut counts, &mut batch.counts)?;
        if batch.words.len() != batch.counts.len() {
            let problem = "the columns have different lengths".to_owned();
            return Err(ParquetError::General(problem).into());
        }
        if batch.words.is_empty() {
            return Ok(true);
        }
        if !take(batch)? {
            return Ok(false);
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
    let (rows, read, _) = column.read_records(BATCH_ROWS, Some(&mut levels), None, values)?;
    if read < rows {
        let problem = "a row with NULL";
        return Err(CountsError::InvalidRow { problem }.into());
    }
    Ok(())
}
