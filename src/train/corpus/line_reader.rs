//! Bytes of one file or reader -> batches of whole lines.
//!
//! The bytes beyond the limit of a line that is longer than the limit and a batch are dropped while
//! reading. Memory: a batch and a line.

use std::io::{self, Read};
use std::path::PathBuf;

use super::{name_of, read_error};
use crate::input::record_texts::RecordTexts;
use crate::train::TrainError;
use crate::train::batch::Batch;

/// Where the bytes of lines come from.
pub(super) enum LineSource<'a> {
    Text(Box<dyn Read + Send + 'a>),
    Records(RecordTexts<Box<dyn Read + Send + 'a>>),
}

impl Read for LineSource<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Text(reader) => reader.read(buffer),
            Self::Records(texts) => texts.read(buffer),
        }
    }
}

/// Divides the bytes of one reader into batches of whole lines.
pub(super) struct LineReader<'a> {
    pub(super) reader: LineSource<'a>,
    pub(super) path: Option<PathBuf>,
    line_limit: usize,
    batch_bytes: usize,
    /// The beginning of a line whose end has not been read yet.
    carry: Vec<u8>,
    lines_before: u64,
    bytes_read: u64,
    at_end: bool,
    /// The last line, if it ends without a newline.
    pub(super) unended_line: Vec<u8>,
}

impl<'a> LineReader<'a> {
    pub(super) fn new(
        reader: LineSource<'a>,
        path: Option<PathBuf>,
        line_limit: usize,
        batch_bytes: usize,
    ) -> Self {
        LineReader {
            reader,
            path,
            line_limit,
            batch_bytes,
            carry: Vec::new(),
            lines_before: 0,
            bytes_read: 0,
            at_end: false,
            unended_line: Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at_end && self.bytes_read == 0
    }

    pub(super) fn next_batch(&mut self) -> Result<Option<Batch>, TrainError> {
        let mut bytes = std::mem::take(&mut self.carry);
        while !self.at_end {
            self.fill(&mut bytes)?;
            if let Some(newline) = memchr::memrchr(b'\n', &bytes) {
                self.carry = bytes.split_off(newline + 1);
                return Ok(Some(self.batch(bytes)));
            }
            if bytes.len() > self.line_limit.saturating_add(self.batch_bytes) {
                bytes.truncate(self.line_limit);
            }
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        // The last line ends without a newline.
        self.unended_line = bytes.clone();
        bytes.push(b'\n');
        Ok(Some(self.batch(bytes)))
    }

    /// Reads up to `batch_bytes` and appends them to `bytes`.
    fn fill(&mut self, bytes: &mut Vec<u8>) -> Result<(), TrainError> {
        let wanted = self.batch_bytes as u64;
        bytes.reserve(self.batch_bytes + 1);
        let read = self.reader.by_ref().take(wanted).read_to_end(bytes);
        let read = read.map_err(|source| read_error(name_of(self.path.as_deref()), source))? as u64;
        self.at_end = read < wanted;
        self.bytes_read += read;
        Ok(())
    }

    fn batch(&mut self, bytes: Vec<u8>) -> Batch {
        let first_line = self.lines_before + 1;
        self.lines_before += memchr::memchr_iter(b'\n', &bytes).count() as u64;
        Batch::lines(bytes, self.path.clone(), first_line)
    }
}
