//! Bytes of one file or reader -> batches of all of its bytes, for byte-level BPE.
//!
//! The texts are lines with their newlines, or everything is one text. One text, or a very long
//! line, is divided where its pretokens are those of the parts ([`PretokenSource::last_boundary`]):
//! memory is a batch, and several threads count the parts. A text without such a place is read to
//! its end.

use std::io::Read;
use std::path::PathBuf;

use super::line_reader::LineSource;
use super::{name_of, read_error};
use crate::train::TrainError;
use crate::train::batch::Batch;
use crate::train::words::PretokenSource;

/// A line that is longer than so many batches is divided.
const LONG_LINE_BATCHES: usize = 4;

/// Divides the bytes of one reader into batches.
pub(super) struct RawReader<'a> {
    pub(super) reader: LineSource<'a>,
    pub(super) path: Option<PathBuf>,
    pretokens: PretokenSource<'a>,
    /// Whether all bytes are one text.
    is_one_text: bool,
    batch_bytes: usize,
    /// The beginning of a line or part whose end has not been read yet.
    carry: Vec<u8>,
    /// The number of the first line of `carry`.
    next_line: u64,
    at_end: bool,
}

impl<'a> RawReader<'a> {
    /// `is_one_text`: all bytes are one text, and not its lines.
    pub(super) fn new(
        reader: LineSource<'a>,
        path: Option<PathBuf>,
        (pretokens, is_one_text): (PretokenSource<'a>, bool),
        batch_bytes: usize,
    ) -> Self {
        Self {
            reader,
            path,
            pretokens,
            is_one_text,
            batch_bytes,
            carry: Vec::new(),
            next_line: 1,
            at_end: false,
        }
    }

    pub(super) fn next_batch(&mut self) -> Result<Option<Batch>, TrainError> {
        let mut bytes = std::mem::take(&mut self.carry);
        let mut wanted = self.batch_bytes;
        while !self.at_end {
            self.fill(&mut bytes, wanted)?;
            if let Some(end) = self.last_cut(&bytes).filter(|_| !self.at_end) {
                self.carry = bytes.split_off(end);
                return Ok(Some(self.batch(bytes)));
            }
            // Cuts are looked for again each time: twice the text, so that this stays linear.
            wanted = bytes.len().max(self.batch_bytes);
        }
        Ok((!bytes.is_empty()).then(|| self.batch(bytes)))
    }

    /// Reads up to `wanted` bytes and appends them to `bytes`.
    fn fill(&mut self, bytes: &mut Vec<u8>, wanted: usize) -> Result<(), TrainError> {
        bytes.reserve(wanted);
        let read = self.reader.by_ref().take(wanted as u64).read_to_end(bytes);
        let read = read.map_err(|source| read_error(name_of(self.path.as_deref()), source))?;
        self.at_end = read < wanted;
        Ok(())
    }

    /// The last place in `bytes` at which a batch can end.
    fn last_cut(&self, bytes: &[u8]) -> Option<usize> {
        if !self.is_one_text {
            if let Some(newline) = memchr::memrchr(b'\n', bytes) {
                return Some(newline + 1);
            }
            if bytes.len() < LONG_LINE_BATCHES * self.batch_bytes {
                return None;
            }
        }
        self.pretokens.last_boundary(bytes)
    }

    fn batch(&mut self, bytes: Vec<u8>) -> Batch {
        if self.is_one_text {
            return Batch::text(bytes);
        }
        let first_line = self.next_line;
        self.next_line += memchr::memchr_iter(b'\n', &bytes).count() as u64;
        Batch::raw_lines(bytes, self.path.clone(), first_line)
    }
}
