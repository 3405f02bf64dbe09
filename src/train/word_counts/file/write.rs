//! Writing the rows of a table to a Parquet file.
//!
//! Input: a table. Output: its words in the order of their bytes and then its other rows, in row
//! groups. Method: the caller's thread makes batches of rows from the sorted table; another thread
//! encodes, compresses and writes them. A bounded channel connects the two. If no thread can be
//! started, all batches are made first. Example: while batch 1 of a table is written, batch 2 is
//! made.

use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::{BATCH_ROWS, RowError, SCHEMA, WAITING_BATCHES, WORD};
use crate::train::parallel::result_of;
use crate::train::word_counts::WordCounts;

/// Rows in a row group, whose words take about 20 MB.
const GROUP_ROWS: usize = 1 << 20;

/// Rows in the types of the Parquet library.
#[derive(Default)]
struct RowBatch {
    words: Vec<ByteArray>,
    counts: Vec<i64>,
}

/// Writes all rows of a table, and the end of the file.
pub(super) fn write_rows(
    counts: &WordCounts,
    file: &mut (dyn Write + Send),
    metadata: &[KeyValue],
) -> Result<(), RowError> {
    let (sender, receiver) = sync_channel(WAITING_BATCHES);
    let written = thread::scope(|scope| {
        let write = || write_groups(file, metadata, receiver.into_iter());
        let writing = thread::Builder::new().spawn_scoped(scope, write).ok()?;
        let made = make_batches(counts, |batch| {
            let stopped = |_| ParquetError::General("the rows were not taken".to_owned());
            Ok(sender.send(batch).map_err(stopped)?)
        });
        drop(sender);
        let written = result_of(writing);
        // If writing failed, making batches was stopped by that: report the error of writing.
        Some(written.and(made))
    });
    written.unwrap_or_else(|| {
        let mut batches = Vec::new();
        make_batches(counts, |batch| {
            batches.push(batch);
            Ok(())
        })?;
        write_groups(file, metadata, batches.into_iter())
    })
}

/// Calls `take` with batches of the rows of a table: the sorted words, then the other rows.
fn make_batches(
    counts: &WordCounts,
    mut take: impl FnMut(RowBatch) -> Result<(), RowError>,
) -> Result<(), RowError> {
    let mut batch = RowBatch::default();
    counts.for_each_row(|word, count| {
        batch.words.push(word.to_vec().into());
        batch.counts.push(count);
        if batch.counts.len() < BATCH_ROWS {
            return Ok(());
        }
        take(std::mem::take(&mut batch))
    })?;
    if batch.counts.is_empty() {
        return Ok(());
    }
    take(batch)
}

/// Writes the batches in row groups, and the end of the file.
fn write_groups(
    file: &mut (dyn Write + Send),
    metadata: &[KeyValue],
    mut batches: impl Iterator<Item = RowBatch>,
) -> Result<(), RowError> {
    let mut writer = new_writer(file, metadata)?;
    let mut next = batches.next();
    while let Some(first) = next {
        let mut group = writer.next_row_group()?;
        let counts = write_words(&mut group, first, &mut batches)?;
        if let Some(mut column) = group.next_column()? {
            let counts_writer = column.typed::<Int64Type>();
            counts_writer.write_batch(&counts, None, None)?;
            column.close()?;
        }
        group.close()?;
        next = batches.next();
    }
    writer.close()?;
    Ok(())
}

/// Writes the words of a row group: those of `first` and of the batches that follow. Returns their
/// counts.
fn write_words(
    group: &mut SerializedRowGroupWriter<'_, &mut (dyn Write + Send)>,
    first: RowBatch,
    batches: &mut impl Iterator<Item = RowBatch>,
) -> Result<Vec<i64>, RowError> {
    let mut counts = Vec::new();
    if let Some(mut column) = group.next_column()? {
        let others = batches.take(GROUP_ROWS / BATCH_ROWS - 1);
        for batch in std::iter::once(first).chain(others) {
            let words = column.typed::<ByteArrayType>();
            words.write_batch(&batch.words, None, None)?;
            counts.extend(batch.counts);
        }
        column.close()?;
    }
    Ok(counts)
}

/// The beginning of the file.
fn new_writer<'f>(
    file: &'f mut (dyn Write + Send),
    metadata: &[KeyValue],
) -> Result<SerializedFileWriter<&'f mut (dyn Write + Send)>, RowError> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(concat!("spiece version ", env!("CARGO_PKG_VERSION")).to_owned())
        // All words are different, so a dictionary would only take space.
        .set_column_dictionary_enabled(WORD.into(), false)
        .set_key_value_metadata(Some(metadata.to_vec()))
        .build();
    Ok(SerializedFileWriter::new(
        file,
        schema,
        Arc::new(properties),
    )?)
}
