//! Reading the rows of a Parquet file.

use std::fs::File;

use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::schema::types::SchemaDescriptor;

use super::{BATCH_ROWS, COUNT, RowError, WORD};
use crate::train::CountsError;
use crate::train::word_counts::CountRows;

/// Reads all rows of a file.
pub(super) fn read_rows(file: File) -> Result<CountRows, RowError> {
    let reader = SerializedFileReader::new(file)?;
    let schema = reader.metadata().file_metadata().schema_descr();
    let word_column = column_index::<ByteArrayType>(schema, WORD, "bytes (BYTE_ARRAY)")?;
    let count_column = column_index::<Int64Type>(schema, COUNT, "64-bit integers (INT64, BIGINT)")?;
    let mut rows = CountRows::new();
    let mut words = Vec::new();
    let mut counts = Vec::new();
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group)?;
        let mut word_reader = typed_reader::<ByteArrayType>(group.as_ref(), word_column)?;
        let mut count_reader = typed_reader::<Int64Type>(group.as_ref(), count_column)?;
        loop {
            read_values(&mut word_reader, &mut words)?;
            read_values(&mut count_reader, &mut counts)?;
            if words.len() != counts.len() {
                return Err(general_error(
                    "the columns have different lengths".to_owned(),
                ));
            }
            if words.is_empty() {
                break;
            }
            add_rows(&mut rows, &words, &counts)?;
        }
    }
    Ok(rows)
}

/// Adds rows to a table. The encoding of all words is checked at once, which takes a fraction of
/// the time of checking each short word.
fn add_rows(rows: &mut CountRows, words: &[ByteArray], counts: &[i64]) -> Result<(), RowError> {
    let mut joined = Vec::with_capacity(words.iter().map(ByteArray::len).sum());
    words
        .iter()
        .for_each(|word| joined.extend_from_slice(word.data()));
    // Rows that are not words begin with the byte FF.
    let joined = std::str::from_utf8(&joined).ok();
    let mut start = 0;
    for (word, count) in words.iter().zip(counts) {
        let range = start..start + word.len();
        start = range.end;
        // A word that does not begin and end at character boundaries is not UTF-8; `add` refuses
        // it.
        match joined.and_then(|joined| joined.get(range)) {
            Some(word) => rows.add_word(word, *count)?,
            None => rows.add(word.data(), *count)?,
        }
    }
    Ok(())
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
        let mut rows = CountRows::new();
        add_rows(&mut rows, &words, &vec![2; words.len()])?;
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
