//! The input as blocks of whole documents.
//!
//! A block has the whole documents of one read of up to 128 kB. A pipe or a terminal gives what is
//! there, so that a line is answered although the next one has not been written. A line ends with a
//! line feed or with its file. gzip and Zstandard are decompressed. [`DocumentRules`] decide what a
//! document is: a line, the text in a JSON record or a line of it, or a file.
//!
//! Example: the files `"a\n\nb"` and `"c"` are two blocks. The first block has the lines 1 (`a`), 2
//! (empty) and 3 (`b`); the second block has the line 4 (`c`). A carriage return is part of its
//! line.
//!
//! The input can be read in parts, which are given by positions in the decompressed text of all
//! files together: a part ends with the first document that ends at or after its position. Reading
//! all parts gives each document once, and the end of a part depends only on the text and the
//! position. For example, the input `"one\ntwo\nthree\n"` with the position 5 has the parts
//! `"one\ntwo\n"` and `"three\n"`.

use std::io::{BufRead, BufReader, ErrorKind, IsTerminal, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use flate2::Crc;
use memchr::{memchr, memchr_iter, memrchr};

use super::documents::DocumentRules;
use super::io::{self, CliError, CliResult};
use super::progress::{LineRun, Messages};
use spiece::input::{Documents, JsonField, plain_size};

/// The most bytes of one read: block and result stay in the cache of a core.
const BLOCK_BYTES: usize = 1 << 17;

/// Consecutive lines of one file.
#[derive(Debug)]
pub(crate) struct Block {
    /// The lines with their line feeds; only the last line of a file may lack its own.
    text: Vec<u8>,
    /// What a document is.
    rules: Arc<DocumentRules>,
    /// The number of the first line, from 1, through all files.
    first_line: u64,
    /// The number of lines, counted when the block was read; 1 for a block that is a file.
    line_count: u64,
    /// The file.
    path: Arc<Path>,
    /// The number of lines in the file before the block.
    lines_before: u64,
}

impl Default for Block {
    fn default() -> Self {
        Self {
            text: Vec::new(),
            rules: Arc::new(DocumentRules::lines()),
            first_line: 0,
            line_count: 0,
            path: standard_input(),
            lines_before: 0,
        }
    }
}

/// The name of standard input.
fn standard_input() -> Arc<Path> {
    Path::new("-").into()
}

impl Block {
    /// The number of lines; at least 1 if a block was read.
    pub(crate) fn line_count(&self) -> u64 {
        self.line_count
    }

    /// The number of bytes.
    pub(crate) fn byte_count(&self) -> u64 {
        self.text.len() as u64
    }

    /// The text if each of its lines is a document.
    pub(crate) fn text_of_lines(&self) -> Option<&[u8]> {
        (self.rules.documents == Documents::Lines).then_some(&self.text)
    }

    /// Calls `take` with the text of each document. Its number is that of its line, that of its
    /// record's line, or that of the file.
    ///
    /// # Errors
    /// A record has no text, or `take` fails.
    #[inline]
    pub(crate) fn for_each_document(
        &self,
        mut take: impl FnMut(u64, &[u8]) -> CliResult,
    ) -> CliResult {
        match &self.rules.documents {
            Documents::Lines => self
                .lines()
                .try_for_each(|(number, line)| take(number, line)),
            Documents::Files => take(self.first_line, &self.text),
            Documents::Records(field) => self.for_each_record(field, &mut take),
            Documents::RecordLines(field) => self.for_each_record(field, &mut |number, text| {
                let mut lines = line_ranges(text).map(|range| &text[range]);
                lines.try_for_each(|line| take(number, line))
            }),
        }
    }

    /// Calls `take` with the text of each record.
    fn for_each_record(
        &self,
        field: &JsonField,
        take: &mut dyn FnMut(u64, &[u8]) -> CliResult,
    ) -> CliResult {
        self.lines()
            .try_for_each(|(number, line)| match field.text_in(line) {
                Ok(Some(text)) => take(number, text.as_bytes()),
                Ok(None) => Ok(()),
                Err(problem) => {
                    let line = number - self.first_line + self.lines_before + 1;
                    self.rules.bad_record(&self.path, (number, line), &problem)
                }
            })
    }

    /// The lines without their line feeds, each with its number.
    fn lines(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let lines = line_ranges(&self.text).map(|range| &self.text[range]);
        (self.first_line..).zip(lines)
    }

    /// Counts the documents: lines, or the file.
    fn count_documents(&self) -> u64 {
        if self.rules.documents == Documents::Files {
            return 1;
        }
        let line_feeds = memchr_iter(b'\n', &self.text).count() as u64;
        let has_unterminated_line = self.text.last().is_some_and(|last| *last != b'\n');
        line_feeds + u64::from(has_unterminated_line)
    }

    /// Removes and returns the documents after the first one that ends at or after `position`, a
    /// position in this block.
    fn split_off_after(&mut self, position: u64) -> Vec<u8> {
        let last_byte = usize::try_from(position.saturating_sub(1)).unwrap_or(usize::MAX);
        let rest = self.text.get(last_byte..).unwrap_or_default();
        match memchr(b'\n', rest) {
            Some(line_feed) if self.rules.documents != Documents::Files => {
                self.text.split_off(last_byte + line_feed + 1)
            }
            _ => Vec::new(),
        }
    }
}

/// The input of the thread that reads it, and of the caller between two parts.
pub(crate) type SharedInput = Arc<Mutex<Input>>;

/// Reads files one after the other.
pub(crate) struct Input {
    /// Files that are not open yet.
    files: std::vec::IntoIter<PathBuf>,
    /// What a document is.
    rules: Arc<DocumentRules>,
    messages: Messages,
    /// The file that is being read.
    open: Option<OpenFile>,
    /// The file that was opened last.
    path: Arc<Path>,
    /// Lines that were read and belong to the next part.
    next_part: Vec<u8>,
    /// The number of the next line; lines are numbered through all files.
    next_line: u64,
    /// The number of lines in the file before the next one.
    lines_in_file: u64,
    /// The bytes of all blocks so far.
    position: u64,
    /// The bytes of all files, if they are known and standard error is a terminal.
    total: Option<u64>,
    /// Whether someone types the input.
    is_typed: bool,
    /// Where the part ends; `None` for the end of the input.
    end: Option<u64>,
    /// The checksum of the part, if it is wanted.
    checksum: Option<Crc>,
}

/// A part of the input that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReadPart {
    /// The position after the part.
    pub(crate) end: u64,
    /// The CRC-32 of the text; 0 if it was not wanted.
    pub(crate) checksum: u32,
}

/// A file that is being read, with its name for messages.
struct OpenFile {
    reader: BufReader<Box<dyn Read + Send>>,
    /// The name on the command line; `-` is standard input.
    path: Arc<Path>,
}

impl OpenFile {
    /// Opens a file, or standard input for `-`.
    fn open(path: PathBuf, messages: &Messages) -> CliResult<Self> {
        let reader = io::open_text(&path, messages)?;
        let reader = BufReader::with_capacity(BLOCK_BYTES, reader);
        let path = path.into();
        Ok(Self { reader, path })
    }

    /// Waits until there are bytes that have not been consumed. None are left at the end of the
    /// file.
    fn at_hand(&mut self) -> CliResult<&[u8]> {
        while let Err(error) = self.reader.fill_buf() {
            if error.kind() != ErrorKind::Interrupted {
                return Err(CliError::read(&self.path, &error));
            }
        }
        Ok(self.reader.buffer())
    }
}

impl Input {
    /// The documents of `files`; of standard input if there are no files.
    pub(crate) fn new(
        mut files: Vec<PathBuf>,
        rules: &Arc<DocumentRules>,
        messages: &Messages,
    ) -> Self {
        if files.is_empty() {
            files.push("-".into());
        }
        // Only a bar needs the sizes, for which the files are opened once more.
        let total = std::io::stderr().is_terminal().then(|| {
            let sizes = files.iter().map(|path| plain_size(path));
            sizes.sum::<Option<u64>>()
        });
        let has_standard_input = files.iter().any(|path| path.as_os_str() == "-");
        Self {
            total: total.flatten(),
            is_typed: has_standard_input && std::io::stdin().is_terminal(),
            files: files.into_iter(),
            rules: Arc::clone(rules),
            messages: *messages,
            open: None,
            path: standard_input(),
            next_part: Vec::new(),
            next_line: 1,
            lines_in_file: 0,
            position: 0,
            end: None,
            checksum: None,
        }
    }

    /// What a report on the progress of the next run needs.
    pub(crate) fn run(&self) -> LineRun {
        LineRun {
            position: self.position,
            total: self.total,
            shares_terminal: self.is_typed,
        }
    }

    /// Begins the next part. It ends with the first document that ends at or after `end`, or with
    /// the input.
    pub(crate) fn begin_part(&mut self, end: Option<u64>) {
        self.end = end;
        self.checksum = Some(Crc::new());
    }

    /// What was read of the part since [`begin_part`](Self::begin_part).
    pub(crate) fn read_part(&self) -> ReadPart {
        ReadPart {
            end: self.position,
            checksum: self.checksum.as_ref().map_or(0, Crc::sum),
        }
    }

    /// Replaces `block` by the next block; returns false at the end of the part.
    pub(crate) fn read_block(&mut self, block: &mut Block) -> CliResult<bool> {
        block.rules = Arc::clone(&self.rules);
        block.text.clear();
        block.line_count = 0;
        if self.end.is_some_and(|end| self.position >= end) || !self.read_text(block)? {
            return Ok(false);
        }
        if let Some(end) = self.end
            && self.position + block.text.len() as u64 > end
        {
            self.next_part = block.split_off_after(end - self.position);
        }
        self.number(block);
        if let Some(checksum) = &mut self.checksum {
            checksum.update(&block.text);
        }
        Ok(true)
    }

    /// Reads the text of a block: whole documents. False at the end of the input.
    fn read_text(&mut self, block: &mut Block) -> CliResult<bool> {
        if !self.next_part.is_empty() {
            std::mem::swap(&mut block.text, &mut self.next_part);
            return Ok(true);
        }
        while block.text.is_empty() {
            if self.open.is_none() && !self.open_next_file()? {
                return Ok(false);
            }
            if self.rules.documents == Documents::Files {
                self.fill_with_file(block)?;
                return Ok(true);
            }
            self.fill(block)?;
        }
        Ok(true)
    }

    /// Numbers the documents of a block.
    fn number(&mut self, block: &mut Block) {
        block.path = Arc::clone(&self.path);
        block.line_count = block.count_documents();
        block.first_line = self.next_line;
        block.lines_before = self.lines_in_file;
        self.next_line += block.line_count;
        self.lines_in_file += block.line_count;
        self.position += block.text.len() as u64;
    }

    /// Opens the next file; false if there is none.
    fn open_next_file(&mut self) -> CliResult<bool> {
        let Some(path) = self.files.next() else {
            return Ok(false);
        };
        self.rules.note_name(&path, &self.messages);
        let file = OpenFile::open(path, &self.messages)?;
        self.path = Arc::clone(&file.path);
        self.lines_in_file = 0;
        self.open = Some(file);
        Ok(true)
    }

    /// Reads whole lines from the open file; closes the file at its end.
    fn fill(&mut self, block: &mut Block) -> CliResult {
        while let Some(file) = &mut self.open {
            let read = file.at_hand()?;
            if read.is_empty() {
                self.open = None;
                break;
            }
            let line_feed = memrchr(b'\n', read);
            let taken = line_feed.map_or(read.len(), |line_feed| line_feed + 1);
            block.text.extend_from_slice(&read[..taken]);
            file.reader.consume(taken);
            if line_feed.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Reads all of the open file.
    fn fill_with_file(&mut self, block: &mut Block) -> CliResult {
        if let Some(mut file) = self.open.take() {
            let read = file.reader.read_to_end(&mut block.text);
            read.map_err(CliError::reading(&file.path))?;
        }
        Ok(())
    }
}

/// The byte ranges of the lines of a text, without their line feeds. A line ends with a line feed
/// or with the text; an empty text has no lines.
pub(crate) fn line_ranges(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let has_rest = text.last().is_some_and(|last| *last != b'\n');
    let rest_end = has_rest.then_some(text.len());
    let ends = memchr_iter(b'\n', text).chain(rest_end);
    ends.scan(0, |start, end| {
        let line = *start..end;
        *start = end + 1;
        Some(line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input_of(files: &[PathBuf], documents: Documents) -> Input {
        let rules = Arc::new(DocumentRules::of(documents));
        Input::new(files.to_vec(), &rules, &Messages::new(true))
    }

    fn lines_of(contents: &[&[u8]]) -> (Vec<(u64, Vec<u8>)>, u64) {
        let folder = tempfile::tempdir().unwrap();
        let mut paths = Vec::new();
        for (number, content) in contents.iter().enumerate() {
            let path = folder.path().join(number.to_string());
            std::fs::write(&path, content).unwrap();
            paths.push(path);
        }
        let mut input = input_of(&paths, Documents::Lines);
        let mut block = Block::default();
        let mut lines = Vec::new();
        let mut blocks = 0;
        while input.read_block(&mut block).unwrap() {
            blocks += 1;
            let before = lines.len();
            lines.extend(block.lines().map(|(number, line)| (number, line.to_vec())));
            assert_eq!((lines.len() - before) as u64, block.line_count());
        }
        (lines, blocks)
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

    /// The texts of the documents in each part that ends at one of `ends`, and in the rest.
    fn parts_of(content: &[u8], documents: &Documents, ends: &[u64]) -> Vec<Vec<String>> {
        let folder = tempfile::tempdir().unwrap();
        let paths = [folder.path().join("a"), folder.path().join("b")];
        std::fs::write(&paths[0], content).unwrap();
        std::fs::write(&paths[1], content).unwrap();
        let mut input = input_of(&paths, documents.clone());
        let mut block = Block::default();
        let mut parts = Vec::new();
        for end in ends.iter().copied().map(Some).chain([None]) {
            input.begin_part(end);
            let mut part = Vec::new();
            while input.read_block(&mut block).unwrap() {
                let take = |_, text: &[u8]| {
                    part.push(String::from_utf8(text.to_vec()).unwrap());
                    Ok(())
                };
                block.for_each_document(take).unwrap();
            }
            parts.push(part);
        }
        parts
    }

    #[test]
    fn parts_end_with_documents_and_have_each_document_once() {
        let text = b"one\ntwo\n\nthree";
        let parts = parts_of(text, &Documents::Lines, &[0, 4, 5, 5, 9, 20]);
        let expected: [&[&str]; 7] = [
            &[],
            &["one"],
            &["two"],
            &[],
            &[""],
            &["three", "one", "two"],
            &["", "three"],
        ];
        assert_eq!(parts, expected);
        let whole = String::from_utf8(text.to_vec()).unwrap();
        let parts = parts_of(text, &Documents::Files, &[1]);
        assert_eq!(parts, [[whole.clone()], [whole]]);
        let long = "x\n".repeat(BLOCK_BYTES);
        for end in [1, BLOCK_BYTES as u64 - 1, 3 * BLOCK_BYTES as u64 + 1] {
            let parts = parts_of(long.as_bytes(), &Documents::Lines, &[end]);
            assert_eq!(parts[0].len() as u64, end.div_ceil(2), "{end}");
            assert_eq!(parts.concat().len(), 2 * BLOCK_BYTES);
        }
    }

    #[test]
    fn records_are_documents_and_errors_name_file_and_line() {
        let documents = Documents::Records(JsonField::parse("t").unwrap());
        let parts = parts_of(b"{\"t\":\"a\\nb\"}\n\n{\"t\":\"\"}", &documents, &[]);
        assert_eq!(parts, [["a\nb", "", "a\nb", ""]]);
        let folder = tempfile::tempdir().unwrap();
        let paths = [folder.path().join("a"), folder.path().join("b.jsonl")];
        std::fs::write(&paths[0], "{\"t\":\"\"}\n").unwrap();
        std::fs::write(&paths[1], "{\"t\":\"\"}\n{\"u\":\"\"}\n").unwrap();
        let mut input = input_of(&paths, documents);
        let mut block = Block::default();
        assert!(input.read_block(&mut block).unwrap());
        assert!(block.for_each_document(|_, _| Ok(())).is_ok());
        assert!(input.read_block(&mut block).unwrap());
        let error = block.for_each_document(|_, _| Ok(())).unwrap_err();
        assert!(
            matches!(&error, CliError::Error(message) if message.contains("b.jsonl: line 2: the field \"t\"")),
            "{error:?}"
        );
    }

    #[test]
    fn a_missing_file_is_an_error_with_its_name() {
        let path = [PathBuf::from("/no/such/file")];
        let error = input_of(&path, Documents::Lines)
            .read_block(&mut Block::default())
            .unwrap_err();
        assert!(matches!(error, CliError::Error(message) if message.contains("/no/such/file")));
    }
}
