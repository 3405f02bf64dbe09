//! Writing the rows of a table to a Parquet file.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::{BATCH_ROWS, RowError, SCHEMA, WORD};
use crate::train::word_counts::WordCounts;

/// Rows in a row group, whose words take about 20 MB.
const GROUP_ROWS: usize = 1 << 20;

type FileWriter<'f> = SerializedFileWriter<&'f mut (dyn Write + Send)>;

/// The rows of a row group.
#[derive(Default)]
struct GroupRows {
    /// The words, joined.
    words: Vec<u8>,
    /// Where each word ends.
    ends: Vec<usize>,
    counts: Vec<i64>,
}

impl GroupRows {
    fn write(self, writer: &mut FileWriter<'_>) -> Result<(), RowError> {
        let mut group = writer.next_row_group()?;
        if let Some(mut column) = group.next_column()? {
            let words = ByteArray::from(self.words);
            let mut start = 0;
            for ends in self.ends.chunks(BATCH_ROWS) {
                let word = |end: &usize| {
                    let word = words.slice(start, end - start);
                    start = *end;
                    word
                };
                let batch: Vec<ByteArray> = ends.iter().map(word).collect();
                let words = column.typed::<ByteArrayType>();
                words.write_batch(&batch, None, None)?;
            }
            column.close()?;
        }
        if let Some(mut column) = group.next_column()? {
            let counts = column.typed::<Int64Type>();
            counts.write_batch(&self.counts, None, None)?;
            column.close()?;
        }
        group.close()?;
        Ok(())
    }
}

/// Writes the words of a table in the order of their bytes, its other rows, and the end of the
/// file.
pub(super) fn write_rows(
    counts: &WordCounts,
    file: &mut (dyn Write + Send),
    metadata: &[KeyValue],
) -> Result<(), RowError> {
    let mut writer = new_writer(file, metadata)?;
    let mut group = GroupRows::default();
    counts.for_each_row(|word, count| -> Result<(), RowError> {
        group.words.extend_from_slice(word);
        group.ends.push(group.words.len());
        group.counts.push(count);
        if group.counts.len() < GROUP_ROWS {
            return Ok(());
        }
        std::mem::take(&mut group).write(&mut writer)
    })?;
    if !group.counts.is_empty() {
        group.write(&mut writer)?;
    }
    writer.close()?;
    Ok(())
}

/// The beginning of the file.
fn new_writer<'f>(
    file: &'f mut (dyn Write + Send),
    metadata: &[KeyValue],
) -> Result<FileWriter<'f>, RowError> {
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
