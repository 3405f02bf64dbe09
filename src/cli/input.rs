//! The input as blocks of whole lines.
//!
//! Input: files, or standard input. Output: blocks of about 128 kB that end with a line. A line ends with a line feed or
//! with its file. Cost: each byte is copied once and searched for line feeds twice (count, split).
//!
//! Example: the files `"a\n\nb"` and `"c"` are two blocks. The first block has the lines 1 (`a`), 2 (empty) and 3 (`b`);
//! the second block has the line 4 (`c`). A carriage return is part of its line.

use std::io::Read;
use std::path::{Path, PathBuf};

use memchr::{memchr_iter, memrchr};

use super::io::{self, CliError, CliResult};

/// The size of a block, if no line is longer: small enough that block and result stay in the cache of a core.
const BLOCK_BYTES: usize = 1 << 17;

/// Consecutive lines of one file.
#[derive(Debug, Default)]
pub(crate) struct Block {
    /// The lines with their line feeds; only the last line of a file may lack its own.
    text: Vec<u8>,
    /// The number of blocks before this one.
    index: u64,
    /// The number of the first line, from 1.
    first_line: u64,
    /// The number of lines, counted when the block was read.
    line_count: u64,
}

impl Block {
    /// The number of blocks before this one.
    pub(crate) fn index(&self) -> u64 {
        self.index
    }

    /// The number of lines; at least 1 if a block was read.
    pub(crate) fn line_count(&self) -> u64 {
        self.line_count
    }

    /// The lines without their line feeds, each with its number.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let lines = self.line_ends().scan(0, |start, end| {
            let line = &self.text[*start..end];
            *start = end + 1;
            Some(line)
        });
        (self.first_line..).zip(lines)
    }

    /// The positions after the lines; at all but an unterminated line a line feed.
    #[inline]
    fn line_ends(&self) -> impl Iterator<Item = usize> {
        memchr_iter(b'\n', &self.text).chain(self.unterminated_end())
    }

    /// The end of the text if its last line has no line feed.
    fn unterminated_end(&self) -> Option<usize> {
        (self.text.last()? != &b'\n').then_some(self.text.len())
    }

    /// Numbers the lines from `first_line` and counts them.
    fn number_lines(&mut self, first_line: u64) {
        self.first_line = first_line;
        self.line_count = self.count_lines();
    }

    /// The number of lines in the text.
    fn count_lines(&self) -> u64 {
        let line_feeds = memchr_iter(b'\n', &self.text).count() as u64;
        line_feeds + u64::from(self.unterminated_end().is_some())
    }
}

/// Reads files one after the other.
#[derive(Default)]
pub(crate) struct Input<'f> {
    /// Files that are not open yet.
    files: std::slice::Iter<'f, PathBuf>,
    /// There are no files, and standard input has not been opened.
    reads_standard_input: bool,
    /// The file that is being read.
    open: Option<OpenFile>,
    /// The start of a line whose end has not been read.
    partial_line: Vec<u8>,
    /// The index of the next block.
    next_index: u64,
    /// The number of the next line; lines are numbered through all files.
    next_line: u64,
}

/// A file that is being read, with its name for messages.
struct OpenFile {
    /// The content that has not been read.
    reader: Box<dyn Read + Send>,
    /// The name on the command line; `-` is standard input.
    path: PathBuf,
}

impl OpenFile {
    /// Opens a file, or standard input for `-`.
    fn open(path: &Path) -> CliResult<OpenFile> {
        let path = path.to_owned();
        let reader = io::open(&path).map_err(|error| CliError::read(&path, &error))?;
        Ok(OpenFile { reader, path })
    }

    /// Appends up to `wanted` bytes to `text`. Returns the number of bytes, which is lower only at the end of the file.
    fn append_to(&mut self, text: &mut Vec<u8>, wanted: usize) -> CliResult<usize> {
        let mut part = self.reader.by_ref().take(wanted as u64);
        part.read_to_end(text)
            .map_err(|error| CliError::read(&self.path, &error))
    }
}

impl<'f> Input<'f> {
    /// The lines of `files`; of standard input if there are no files.
    pub(crate) fn new(files: &'f [PathBuf]) -> Input<'f> {
        Input {
            files: files.iter(),
            reads_standard_input: files.is_empty(),
            next_line: 1,
            ..Input::default()
        }
    }

    /// Replaces `block` by the next block; false at the end of the input. The block of an error has an index, too, so
    /// that the error is reported in the order of the results.
    pub(crate) fn read_block(&mut self, block: &mut Block) -> CliResult<bool> {
        block.index = self.next_index;
        self.next_index += 1;
        block.text.clear();
        block.line_count = 0;
        while block.text.is_empty() {
            if self.open.is_none() && !self.open_next_file()? {
                return Ok(false);
            }
            self.fill(block)?;
        }
        block.number_lines(self.next_line);
        self.next_line += block.line_count;
        Ok(true)
    }

    /// Opens the next file; false if there is none.
    fn open_next_file(&mut self) -> CliResult<bool> {
        self.open = self.next_path().map(OpenFile::open).transpose()?;
        Ok(self.open.is_some())
    }

    /// The next file, or `-` for standard input.
    fn next_path(&mut self) -> Option<&'f Path> {
        if std::mem::take(&mut self.reads_standard_input) {
            return Some(Path::new("-"));
        }
        self.files.next().map(PathBuf::as_path)
    }

    /// Reads whole lines from the open file; closes the file at its end.
    fn fill(&mut self, block: &mut Block) -> CliResult {
        block.text.append(&mut self.partial_line);
        let Some(file) = &mut self.open else {
            return Ok(());
        };
        loop {
            let old_length = block.text.len();
            // A line may be longer than a block, so at least half a block is read even if the block is full.
            let missing = BLOCK_BYTES.saturating_sub(old_length);
            let wanted = missing.max(BLOCK_BYTES / 2);
            let read = file.append_to(&mut block.text, wanted)?;
            if read < wanted {
                self.open = None;
                return Ok(());
            }
            if let Some(line_feed) = memrchr(b'\n', &block.text[old_length..]) {
                let end = old_length + line_feed + 1;
                self.partial_line.extend_from_slice(&block.text[end..]);
                block.text.truncate(end);
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(contents: &[&[u8]]) -> (Vec<(u64, Vec<u8>)>, u64) {
        let folder = tempfile::tempdir().unwrap();
        let mut paths = Vec::new();
        for (number, content) in contents.iter().enumerate() {
            let path = folder.path().join(number.to_string());
            std::fs::write(&path, content).unwrap();
            paths.push(path);
        }
        let mut input = Input::new(&paths);
        let mut block = Block::default();
        let mut lines = Vec::new();
        while input.read_block(&mut block).unwrap() {
            let before = lines.len();
            lines.extend(block.lines().map(|(number, line)| (number, line.to_vec())));
            assert_eq!((lines.len() - before) as u64, block.line_count());
        }
        (lines, block.index())
    }

    #[test]
    fn lines_end_with_a_line_feed_or_with_their_file() {
        /// Contents of files, and the lines that are read.
        type Row = (&'static [&'static [u8]], &'static [&'static [u8]]);
        let table: &[Row] = &[
            (&[b""], &[]),
            (&[b"\n"], &[b""]),
            (&[b"a\nb\n"], &[b"a", b"b"]),
            (&[b"a\n\nb"], &[b"a", b"", b"b"]),
            (&[b"a", b"", b"b\r\n", b"c"], &[b"a", b"b\r", b"c"]),
        ];
        for (contents, expected) in table {
            let (lines, _) = lines_of(contents);
            let numbered: Vec<(u64, Vec<u8>)> = (1..)
                .zip(expected.iter().map(|line| line.to_vec()))
                .collect();
            assert_eq!(lines, numbered, "{contents:?}");
        }
    }

    #[test]
    fn blocks_split_between_lines_only() {
        let mut text = Vec::new();
        for length in [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, 3 * BLOCK_BYTES + 7, 5] {
            text.extend(std::iter::repeat_n(b'x', length));
            text.push(b'\n');
        }
        text.extend("short line\n".repeat(BLOCK_BYTES / 4).bytes());
        let (lines, blocks) = lines_of(&[&text]);
        let joined: Vec<u8> = lines
            .iter()
            .flat_map(|(_, line)| line.iter().copied().chain([b'\n']))
            .collect();
        assert!(joined == text);
        assert!(blocks >= 5, "{blocks} blocks");
    }

    #[test]
    fn a_missing_file_is_an_error_with_its_name() {
        let path = [PathBuf::from("/no/such/file")];
        let error = Input::new(&path)
            .read_block(&mut Block::default())
            .unwrap_err();
        assert!(matches!(error, CliError::Error(message) if message.contains("/no/such/file")));
    }
}
