//! The texts of a JSON Lines file as lines, for training.
//!
//! Input: a reader of records, one on each line, and the field of the text. Output: a reader of the
//! texts, each as a file with that content would give its lines: a text that does not end with a
//! line feed gets one, and an empty text gives no line. Blank lines between records are skipped.
//! Memory: one record, 1 GiB at most. Cost: one pass over each record and a copy of its text.
//!
//! Example: the records `{"text": "one\ntwo"}` and `{"text": "three\n"}` give `one`, `two` and
//! `three`.

use std::io::{self, BufRead, BufReader, Read};

use super::json_field::{JsonField, RecordError, is_blank};

/// The largest record. A file without line feeds is refused before it fills the memory.
const MAX_RECORD_BYTES: u64 = 1 << 30;

/// Bytes that are read from the file at a time.
const BUFFER_BYTES: usize = 1 << 16;

/// Reads texts out of records.
pub(crate) struct RecordTexts<R> {
    source: BufReader<R>,
    field: JsonField,
    /// The line of the record that was read last, with its line feed.
    record: Vec<u8>,
    /// Its text.
    text: Vec<u8>,
    /// How much of the text has been given out.
    given: usize,
    /// The number of the record's line, from 1.
    line: u64,
}

impl<R: Read> RecordTexts<R> {
    /// The texts in the field of the records of `source`.
    pub(crate) fn new(source: R, field: JsonField) -> Self {
        Self {
            source: BufReader::with_capacity(BUFFER_BYTES, source),
            field,
            record: Vec::new(),
            text: Vec::new(),
            given: 0,
            line: 0,
        }
    }

    /// Reads the next record; false at the end.
    fn next_record(&mut self) -> io::Result<bool> {
        self.record.clear();
        let mut limited = self.source.by_ref().take(MAX_RECORD_BYTES);
        let read = limited.read_until(b'\n', &mut self.record)?;
        self.line += 1;
        if self.is_too_long() {
            return Err(self.invalid(RecordError::new("the record is longer than 1 GiB")));
        }
        Ok(read > 0)
    }

    /// Whether the record was cut off at the limit.
    fn is_too_long(&self) -> bool {
        self.record.len() as u64 == MAX_RECORD_BYTES && !self.record.ends_with(b"\n")
    }

    /// Makes the text of the record the next one.
    fn take_text(&mut self) -> io::Result<()> {
        self.text.clear();
        self.given = 0;
        if is_blank(&self.record) {
            return Ok(());
        }
        match self.field.text_of(&self.record) {
            Ok(text) => self.text.extend_from_slice(text.as_bytes()),
            Err(error) => return Err(self.invalid(error)),
        }
        self.end_line();
        Ok(())
    }

    /// Ends the text with a line feed, unless it is empty.
    fn end_line(&mut self) {
        if self.text.last().is_some_and(|last| *last != b'\n') {
            self.text.push(b'\n');
        }
    }

    /// An error that concerns the record.
    fn invalid(&self, error: RecordError) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidInput, error.in_line(self.line))
    }
}

impl<R: Read> Read for RecordTexts<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.text.len() && self.next_record()? {
            self.take_text()?;
        }
        let count = (&self.text[self.given..]).read(buffer)?;
        self.given += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(records: &str) -> io::Result<String> {
        let field = JsonField::parse("text").unwrap();
        let mut text = String::new();
        RecordTexts::new(records.as_bytes(), field).read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn texts_give_the_lines_that_files_would_give() {
        let records =
            "{\"text\": \"one\\ntwo\"}\n\n{\"text\": \"\"}\r\n \t\n{\"text\": \"\\nthree\\n\"}";
        assert_eq!(read(records).unwrap(), "one\ntwo\n\nthree\n");
        assert_eq!(read("").unwrap(), "");
        let long = format!("{{\"text\": \"{}\"}}\n", "x".repeat(3 * BUFFER_BYTES));
        assert_eq!(read(&long).unwrap().len(), 3 * BUFFER_BYTES + 1);
    }

    #[test]
    fn errors_name_the_line() {
        let error = read("{\"text\": \"a\"}\n\n{\"body\": \"b\"}\n").unwrap_err();
        let message = error.to_string();
        assert!(
            message.starts_with("line 3: the field \"text\" is missing"),
            "{message}"
        );
    }
}
