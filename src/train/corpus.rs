//! Where sentences come from: files, readers or an iterator.
//!
//! Bytes are read in batches that end at a line end, so memory does not depend on the size of
//! the input; the counting threads divide the batches into lines. A sentence is a line without its
//! newline; a carriage return is text. Names that end in `.gz` or `.zst` are decompressed while
//! they are read.
//!
//! One quirk of the reference affects its models and is reproduced: an empty file that is not the
//! last of the list counts as a line. The line is the last line of the file before it if that file
//! ends without a newline, and empty otherwise.

mod line_reader;

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::iter::repeat;
use std::path::{Path, PathBuf};

use self::line_reader::LineReader;
#[cfg(feature = "jsonl")]
use crate::error::OptionError;
use crate::error::TrainError;
#[cfg(feature = "jsonl")]
use crate::input::JsonField;
#[cfg(feature = "jsonl")]
use crate::input::record_texts::RecordTexts;
use crate::input::{Compression, decompressor};
use crate::train::batch::Batch;

/// The target size of a batch: small enough to distribute work evenly, large enough to amortize the
/// overhead.
pub(crate) const BATCH_BYTES: usize = 1 << 20;

/// The text to train on: files, a reader, or an iterator of texts.
///
/// Training consumes the corpus; regular files may be read twice, readers and iterators are read
/// once. Readers and iterators must be [`Send`], since the corpus can be sent to another thread.
///
/// ```
/// let lines = ["first sentence", "second sentence"];
/// let corpus = spiece::Corpus::texts(lines);
/// let counted = spiece::Corpus::counted_texts([("word", 3), ("words", 1)]);
/// let bytes = spiece::Corpus::reader(std::io::Cursor::new("one\ntwo\n"));
/// ```
pub struct Corpus<'a> {
    pub(crate) source: CorpusSource<'a>,
    format: CorpusFormat,
}

/// What files and readers contain.
#[derive(Debug, Clone, PartialEq, Eq)]
enum CorpusFormat {
    /// Lines.
    Text,
    /// JSON records, one on each line, whose texts consist of lines.
    #[cfg(feature = "jsonl")]
    Records(JsonField),
}

impl CorpusFormat {
    /// A reader of the lines in the content of `reader`.
    fn lines<'a>(&self, reader: Box<dyn Read + Send + 'a>) -> Box<dyn Read + Send + 'a> {
        match self {
            Self::Text => reader,
            #[cfg(feature = "jsonl")]
            Self::Records(field) => Box::new(RecordTexts::new(reader, field.clone())),
        }
    }
}

pub(crate) enum CorpusSource<'a> {
    Files(Vec<PathBuf>),
    Reader(Box<dyn Read + Send + 'a>),
    Texts(Box<dyn Iterator<Item = (Vec<u8>, u64)> + Send + 'a>),
}

impl fmt::Debug for Corpus<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            CorpusSource::Files(paths) => f.debug_tuple("Corpus::files").field(paths).finish(),
            CorpusSource::Reader(_) => f.write_str("Corpus::reader(..)"),
            CorpusSource::Texts(_) => f.write_str("Corpus::texts(..)"),
        }
    }
}

impl<'a> Corpus<'a> {
    /// Files, in this order; `-` is standard input.
    pub fn files<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Self {
        Corpus::new(CorpusSource::Files(
            paths.into_iter().map(Into::into).collect(),
        ))
    }

    /// Lines of bytes, in the format that the option `input_format` names.
    pub fn reader(reader: impl Read + Send + 'a) -> Self {
        Corpus::new(CorpusSource::Reader(Box::new(reader)))
    }

    /// Sentences, valid UTF-8 or not. A newline inside a sentence is text.
    pub fn texts<T: AsRef<[u8]>, I: IntoIterator<Item = T>>(texts: I) -> Self
    where
        I::IntoIter: Send + 'a,
    {
        Self::counted_texts(texts.into_iter().zip(repeat(1)))
    }

    /// Sentences with the number of times that each occurs. A count of 0 is an error in training.
    pub fn counted_texts<T: AsRef<[u8]>, I: IntoIterator<Item = (T, u64)>>(texts: I) -> Self
    where
        I::IntoIter: Send + 'a,
    {
        let owned = texts
            .into_iter()
            .map(|(text, count)| (text.as_ref().to_vec(), count));
        Corpus::new(CorpusSource::Texts(Box::new(owned)))
    }

    /// Reads the files, or the reader, as JSON Lines: each line is an object with a text in the
    /// field `path`. Each line of a text is a sentence, as if the text were a file. The names of
    /// nested fields are separated by dots (`meta.body`); a backslash before a dot makes it part of
    /// a name. A corpus of texts is not changed.
    ///
    /// ```
    /// let records = std::io::Cursor::new("{\"id\": 1, \"text\": \"one\\ntwo\"}\n");
    /// let corpus = spiece::Corpus::reader(records).with_json_field("text")?;
    /// # Ok::<(), spiece::OptionError>(())
    /// ```
    ///
    /// # Errors
    /// A name in the path is empty.
    #[cfg(feature = "jsonl")]
    pub fn with_json_field(mut self, path: &str) -> Result<Self, OptionError> {
        let field = JsonField::parse(path).ok_or_else(|| OptionError::Value {
            option: "json_field",
            value: path.to_owned(),
            expected: "names of fields separated by dots",
        })?;
        self.format = CorpusFormat::Records(field);
        Ok(self)
    }

    /// Lines of text, or texts.
    fn new(source: CorpusSource<'a>) -> Self {
        let format = CorpusFormat::Text;
        Corpus { source, format }
    }

    /// A copy of the corpus to read a second time, if it consists of regular files.
    pub(crate) fn reread(&self) -> Option<Self> {
        let mut copy = Self::files(self.regular_files()?);
        copy.format = self.format.clone();
        Some(copy)
    }

    /// The files, if the corpus consists of regular files only.
    fn regular_files(&self) -> Option<&[PathBuf]> {
        self.paths()
            .filter(|paths| paths.iter().all(|path| path.is_file()))
    }

    /// Bytes to read, if that is known before reading.
    pub(crate) fn total_bytes(&self) -> Option<u64> {
        if self.format != CorpusFormat::Text {
            return None;
        }
        self.paths()?.iter().map(|path| known_size(path)).sum()
    }

    /// The files, if the corpus consists of files.
    fn paths(&self) -> Option<&[PathBuf]> {
        match &self.source {
            CorpusSource::Files(paths) => Some(paths),
            _ => None,
        }
    }

    /// Opens every regular file once, so that a missing file is reported before the work begins.
    /// Pipes are not opened: opening them twice would break them.
    pub(crate) fn check_files(&self) -> Result<(), TrainError> {
        let Some(paths) = self.paths() else {
            return Ok(());
        };
        check_names(paths)?;
        let mut files = paths.iter().filter(|path| !is_standard_input(path));
        files.try_for_each(|path| check_file(path))
    }
}

fn check_names(paths: &[PathBuf]) -> Result<(), TrainError> {
    if paths.is_empty() {
        return Err(TrainError::NoInput);
    }
    match empty_name(paths) {
        Some(position) => Err(TrainError::EmptyInputName { position }),
        None => Ok(()),
    }
}

/// The position of the first empty name, from 1.
fn empty_name(paths: &[PathBuf]) -> Option<usize> {
    paths
        .iter()
        .position(|path| path.as_os_str().is_empty())
        .map(|index| index + 1)
}

/// All bytes of a file.
pub(super) fn read_file(path: &Path) -> Result<Vec<u8>, TrainError> {
    std::fs::read(path).map_err(|source| read_error(path, source))
}

fn read_error(path: &Path, source: io::Error) -> TrainError {
    let path = path.to_owned();
    TrainError::Read { path, source }
}

/// The bytes of a file that is not compressed.
fn known_size(path: &Path) -> Option<u64> {
    let metadata = path.metadata().ok()?;
    let is_known = metadata.is_file() && Compression::of(path) == Compression::None;
    is_known.then_some(metadata.len())
}

fn check_file(path: &Path) -> Result<(), TrainError> {
    try_open(path).map_err(|source| read_error(path, source))
}

/// Opens the file if it is a regular file; fails for a folder.
fn try_open(path: &Path) -> io::Result<()> {
    let metadata = path.metadata()?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if metadata.is_file() {
        File::open(path)?;
    }
    Ok(())
}

fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    if is_standard_input(path) {
        Ok(Box::new(io::stdin()))
    } else {
        open_decompressed(path)
    }
}

fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn open_decompressed(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    decompressor(File::open(path)?, Compression::of(path))
}

/// Reads a corpus as batches, in order.
pub(crate) struct Batches<'a> {
    source: CorpusSource<'a>,
    format: CorpusFormat,
    line_limit: usize,
    batch_bytes: usize,
    next_file: usize,
    open: Option<LineReader<'a>>,
    last_line: Vec<u8>,
}

impl<'a> Batches<'a> {
    /// Batches of about `batch_bytes`. The bytes of a line beyond `line_limit` may be dropped while
    /// reading, so that one endless line does not fill the memory.
    pub(crate) fn new(corpus: Corpus<'a>, line_limit: usize, batch_bytes: usize) -> Self {
        Batches {
            source: corpus.source,
            format: corpus.format,
            line_limit,
            batch_bytes,
            next_file: 0,
            open: None,
            last_line: Vec::new(),
        }
    }

    /// The next batch, or `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Batch>, TrainError> {
        match &mut self.source {
            CorpusSource::Texts(texts) => Ok(batch_of_texts(texts, self.batch_bytes)),
            CorpusSource::Reader(reader) => {
                let reader = std::mem::replace(reader, Box::new(io::empty()));
                self.next_of_reader(reader)
            }
            CorpusSource::Files(_) => self.next_of_files(),
        }
    }

    /// The next batch of the only reader. `reader` is read if this is the first call.
    fn next_of_reader(
        &mut self,
        reader: Box<dyn Read + Send + 'a>,
    ) -> Result<Option<Batch>, TrainError> {
        if self.open.is_none() {
            self.open = Some(self.line_reader(reader, None));
        }
        self.next_of_open()
    }

    /// The next batch of the open file or reader.
    fn next_of_open(&mut self) -> Result<Option<Batch>, TrainError> {
        self.open.as_mut().map_or(Ok(None), LineReader::next_batch)
    }

    fn next_of_files(&mut self) -> Result<Option<Batch>, TrainError> {
        loop {
            if let Some(batch) = self.next_of_open()? {
                return Ok(Some(batch));
            }
            let was_empty = self.close_file();
            let Some(path) = self.next_path() else {
                return Ok(None);
            };
            self.open_file(&path)?;
            if was_empty {
                // See the module page: an empty file counts as a line.
                return Ok(Some(self.repeat_last_line(path)));
            }
        }
    }

    /// Closes the open file, if there is one, and returns whether it was empty.
    fn close_file(&mut self) -> bool {
        let Some(finished) = self.open.take() else {
            return false;
        };
        let was_empty = finished.is_empty();
        if !was_empty {
            self.last_line = finished.unended_line;
        }
        was_empty
    }

    /// The file to open next.
    fn next_path(&self) -> Option<PathBuf> {
        match &self.source {
            CorpusSource::Files(paths) => paths.get(self.next_file).cloned(),
            _ => None,
        }
    }

    fn open_file(&mut self, path: &Path) -> Result<(), TrainError> {
        let reader = open(path).map_err(|source| read_error(path, source))?;
        self.open = Some(self.line_reader(reader, Some(path.to_owned())));
        self.next_file += 1;
        Ok(())
    }

    /// A [`LineReader`] of the content of `reader`.
    fn line_reader(
        &self,
        reader: Box<dyn Read + Send + 'a>,
        path: Option<PathBuf>,
    ) -> LineReader<'a> {
        let lines = self.format.lines(reader);
        LineReader::new(lines, path, self.line_limit, self.batch_bytes)
    }

    /// A batch that repeats the last line, as line 0 of the file at `path`.
    fn repeat_last_line(&self, path: PathBuf) -> Batch {
        let mut bytes = self.last_line.clone();
        bytes.push(b'\n');
        Batch::lines(bytes, Some(path), 0)
    }
}

fn batch_of_texts(
    texts: &mut dyn Iterator<Item = (Vec<u8>, u64)>,
    batch_bytes: usize,
) -> Option<Batch> {
    let mut batch = Batch::texts();
    for (text, count) in texts {
        batch.push(&text, count);
        if batch.bytes() >= batch_bytes {
            break;
        }
    }
    (!batch.is_empty()).then_some(batch)
}

#[cfg(test)]
mod tests;
