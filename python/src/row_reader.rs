//! Rows from a channel, in rounds.

use std::io::{self, Read};
use std::sync::mpsc::Receiver;

use crate::array_rows::ArrayRows;

/// The minimum number of bytes of a round, so that the caches of counting are effective.
const ROUND_BYTES: usize = 1 << 24;

/// Reads rows in rounds: as the bytes of lines, each with a line feed, or one by one. A round ends
/// between two arrays.
pub struct RowReader {
    rows: Receiver<ArrayRows>,
    current: Option<ArrayRows>,
    /// The row of `current` that is read next; `bytes_of_row` bytes of it have been read.
    row: usize,
    bytes_of_row: usize,
    /// The bytes of this round's arrays.
    round_bytes: usize,
}

impl RowReader {
    pub fn new(rows: Receiver<ArrayRows>) -> RowReader {
        RowReader {
            rows,
            current: None,
            row: 0,
            bytes_of_row: 0,
            round_bytes: 0,
        }
    }

    /// Waits for rows; `false` if there are no more.
    pub fn begin_round(&mut self) -> bool {
        self.round_bytes = 0;
        self.receive()
    }

    /// Takes the next array; `false` if there is none.
    fn receive(&mut self) -> bool {
        self.current = self.rows.recv().ok();
        self.row = 0;
        self.bytes_of_row = 0;
        self.round_bytes += self.current.as_ref().map_or(0, ArrayRows::size);
        self.current.is_some()
    }

    /// Copies lines of the current array and returns the number of bytes: 0 at the end of the array
    /// or if `buffer` is empty.
    fn copy(&mut self, buffer: &mut [u8]) -> usize {
        let mut copied = 0;
        while let Some(row) = self.current.as_ref().and_then(|rows| rows.get(self.row)) {
            let rest = &row[self.bytes_of_row..];
            let buffer = &mut buffer[copied..];
            let Some(after) = buffer.get_mut(rest.len()) else {
                buffer.copy_from_slice(&rest[..buffer.len()]);
                self.bytes_of_row += buffer.len();
                return copied + buffer.len();
            };
            *after = b'\n';
            buffer[..rest.len()].copy_from_slice(rest);
            copied += rest.len() + 1;
            self.row += 1;
            self.bytes_of_row = 0;
        }
        copied
    }
}

impl Read for RowReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let copied = self.copy(buffer);
            if copied > 0 || buffer.is_empty() || self.round_bytes >= ROUND_BYTES {
                return Ok(copied);
            }
            if !self.receive() {
                return Ok(0);
            }
        }
    }
}

impl Iterator for RowReader {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(row) = self.current.as_ref().and_then(|rows| rows.get(self.row)) {
                self.row += 1;
                return Some(row.to_vec());
            }
            if self.round_bytes >= ROUND_BYTES || !self.receive() {
                return None;
            }
        }
    }
}
