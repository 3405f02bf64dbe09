//! The texts of a JSON Lines file, for training.
//!
//! Each line that is not blank is a record. A text is read as a whole ([`RecordTexts::next_text`]),
//! or all texts are read as lines ([`Read`]), as files with that content would give them: a text
//! that does not end with a line feed gets one, and an empty text gives no line. One record is in
//! memory at a time, of 1 GiB at most.
//!
//! Example: the records `{"text": "one\ntwo"}` and `{"text": "three\n"}` give the lines `one`,
//! `two` and `three`.

use std::io::{self, BufRead, BufReader, Read};

use super::document::OnBadRecord;
use super::json_field::{JsonField, record_error};

/// The largest record. A file without line feeds is refused before it fills the memory.
const MAX_RECORD_BYTES: u64 = 1 << 30;

/// Bytes that are read from the file at a time.
const BUFFER_BYTES: usize = 1 << 16;

/// Reads texts out of records.
pub(crate) struct RecordTexts<R> {
    source: BufReader<R>,
    field: JsonField,
    on_bad_record: OnBadRecord,
    /// The line of the record that was read last, with its line feed.
    record: Vec<u8>,
    /// Its text.
    text: Vec<u8>,
    /// How much of the text has been given out.
    given: usize,
    /// The number of the record's line, from 1.
    line: u64,
    /// The records that were skipped because they have no text.
    pub(crate) skipped: u64,
    /// The line and the cause of the first of them, until it is taken.
    pub(crate) first_skipped: Option<String>,
}

impl<R: Read> RecordTexts<R> {
    /// The texts in the field of the records of `source`.
    pub(crate) fn new(source: R, field: JsonField, on_bad_record: OnBadRecord) -> Self {
        Self {
            source: BufReader::with_capacity(BUFFER_BYTES, source),
            field,
            on_bad_record,
            record: Vec::new(),
            text: Vec::new(),
            given: 0,
            line: 0,
            skipped: 0,
            first_skipped: None,
        }
    }

    /// The text of the next record; `None` at the end.
    pub(crate) fn next_text(&mut self) -> io::Result<Option<&[u8]>> {
        Ok(self.read_text()?.then_some(self.text.as_slice()))
    }

    /// Reads the next text; false at the end.
    fn read_text(&mut self) -> io::Result<bool> {
        loop {
            self.record.clear();
            let mut limited = self.source.by_ref().take(MAX_RECORD_BYTES);
            if limited.read_until(b'\n', &mut self.record)? == 0 {
                return Ok(false);
            }
            self.line += 1;
            if self.record.len() as u64 == MAX_RECORD_BYTES && !self.record.ends_with(b"\n") {
                return Err(record_error(self.line, "the record is longer than 1 GiB").into());
            }
            match self.field.text_in(&self.record) {
                Ok(None) => {}
                Ok(Some(text)) => {
                    self.text.clear();
                    self.text.extend_from_slice(text.as_bytes());
                    return Ok(true);
                }
                Err(problem) if self.on_bad_record == OnBadRecord::Skip => {
                    if self.skipped == 0 {
                        self.first_skipped = Some(format!("line {}: {problem}", self.line));
                    }
                    self.skipped += 1;
                }
                Err(problem) => return Err(record_error(self.line, &problem).into()),
            }
        }
    }
}

impl<R: Read> Read for RecordTexts<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.text.len() {
            self.given = 0;
            if !self.read_text()? {
                self.text.clear();
                return Ok(0);
            }
            if self.text.last().is_some_and(|last| *last != b'\n') {
                self.text.push(b'\n');
            }
        }
        let count = (&self.text[self.given..]).read(buffer)?;
        self.given += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(records: &[u8], on_bad_record: OnBadRecord) -> RecordTexts<&[u8]> {
        RecordTexts::new(records, JsonField::parse("text").unwrap(), on_bad_record)
    }

    fn read(records: &str) -> io::Result<String> {
        let mut text = String::new();
        texts(records.as_bytes(), OnBadRecord::Error).read_to_string(&mut text)?;
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
    fn whole_texts_keep_their_line_feeds() {
        let records = b"{\"text\": \"one\\ntwo\"}\n\n{\"text\": \"\"}\n{\"text\": \"\\nthree\\n\"}";
        let mut texts = texts(records, OnBadRecord::Error);
        for expected in [&b"one\ntwo"[..], b"", b"\nthree\n"] {
            assert_eq!(texts.next_text().unwrap(), Some(expected));
        }
        assert_eq!(texts.next_text().unwrap(), None);
    }

    #[test]
    fn errors_name_the_line() {
        let error = read("{\"text\": \"a\"}\n\n{\"body\": \"b\"}\n").unwrap_err();
        let message = error.to_string();
        assert_eq!(message, "line 3: the field \"text\" is missing");
    }

    #[test]
    fn bad_records_are_skipped_and_counted() {
        let records =
            b"{\"text\": null}\n{\"text\": \"a\"}\n\xff\xfe\n[\n{\"text\": \"b\"}\n{\"body\": 1}";
        let mut texts = texts(records, OnBadRecord::Skip);
        let mut text = String::new();
        texts.read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), texts.skipped), ("a\nb\n", 4));
        let first = texts.first_skipped.unwrap();
        assert_eq!(first, "line 1: the field \"text\" is null, not a text");
    }
}
