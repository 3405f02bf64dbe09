//! Where sentences come from: files, readers or an iterator.
//!
//! Bytes are read in batches that end at a line end, so memory does not depend on the size of the
//! input; the counting threads divide the batches into lines. A sentence is a line without its
//! newline; a carriage return is text. With [`Document::Record`] and [`Document::File`] a sentence
//! is a whole text, with the newlines inside it. Files are decompressed while they are read.
//!
//! That is what SentencePiece calls a sentence. Byte-level BPE is trained on all bytes of a text
//! ([`ReadAs::Raw`]): lines have their newlines, and a long text is read in parts.
//!
//! One quirk of the reference affects its models and is reproduced: an empty file that is not the
//! last of the list counts as a line. The line is the last line of the file before it if that file
//! ends without a newline, and empty otherwise.

mod line_reader;
mod raw_reader;

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::iter::repeat;
use std::path::{Path, PathBuf};

use self::line_reader::{LineReader, LineSource};
use self::raw_reader::RawReader;
use crate::input::record_texts::RecordTexts;
use crate::input::{Document, Documents, InputWarning, OpenText, plain_size, without_line_ends};
use crate::input::{JsonField, OnBadRecord};
use crate::train::batch::{Batch, SentenceRules};
use crate::train::observer::{Event, Reporter};
use crate::train::sample::SentenceCursor;
use crate::train::sentence_counts::SentenceCounts;
use crate::train::words::PretokenSource;
use crate::train::{OptionError, TrainError};

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
    /// The field of the text in the records of files and readers; lines without records if there is
    /// none.
    json_field: Option<JsonField>,
    on_bad_record: OnBadRecord,
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
    /// Files, in this order; `-` is standard input. gzip and Zstandard are decompressed, whatever
    /// the name (feature `compressed`); other content that is no text is refused.
    pub fn files<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Self {
        Corpus::new(CorpusSource::Files(
            paths.into_iter().map(Into::into).collect(),
        ))
    }

    /// The bytes of one file, which are not decompressed.
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
    /// field `path`. The option [`TrainOptions::document`](crate::TrainOptions::document) says
    /// whether each line of a text is a sentence, as if the text were a file, or the whole text is
    /// one. The names of nested fields are separated by dots (`meta.body`); a backslash before a
    /// dot makes it part of a name. A corpus of texts is not changed.
    ///
    /// ```
    /// let records = std::io::Cursor::new("{\"id\": 1, \"text\": \"one\\ntwo\"}\n");
    /// let corpus = spiece::Corpus::reader(records).with_json_field("text")?;
    /// # Ok::<(), spiece::train::OptionError>(())
    /// ```
    ///
    /// # Errors
    /// A name in the path is empty.
    pub fn with_json_field(mut self, path: &str) -> Result<Self, OptionError> {
        let field = JsonField::parse(path).ok_or_else(|| OptionError::Value {
            option: "json_field",
            value: path.to_owned(),
            expected: "names of fields separated by dots",
        })?;
        self.json_field = Some(field);
        Ok(self)
    }

    /// Says what happens with a record of JSON Lines that has no text. The default is
    /// [`OnBadRecord::Error`].
    #[must_use]
    pub fn on_bad_record(mut self, choice: OnBadRecord) -> Self {
        self.on_bad_record = choice;
        self
    }

    fn new(source: CorpusSource<'a>) -> Self {
        Corpus {
            source,
            json_field: None,
            on_bad_record: OnBadRecord::default(),
        }
    }

    /// What a sentence of the files or the reader is, if it is a document of this kind.
    pub(crate) fn documents(&self, document: Document) -> Result<Documents, OptionError> {
        if matches!(self.source, CorpusSource::Texts(_)) {
            // A text is a sentence, whatever the option.
            return Ok(Documents::Lines);
        }
        if let Some(field) = &self.json_field {
            return Ok(Documents::with_field(document, field.clone())?);
        }
        Ok(Documents::without_field(document)?)
    }

    /// Whether the corpus consists of JSON records.
    pub(crate) fn has_records(&self) -> bool {
        return self.json_field.is_some();
        #[cfg(not(feature = "train"))]
        return false;
    }

    /// A copy of the corpus to read a second time, if it consists of regular files.
    pub(crate) fn reread(&self) -> Option<Self> {
        let paths = self.paths()?;
        paths.iter().all(|path| path.is_file()).then(|| Self {
            source: CorpusSource::Files(paths.to_vec()),
            json_field: self.json_field.clone(),
            on_bad_record: self.on_bad_record,
        })
    }

    /// Bytes to read, if that is known before reading.
    pub(crate) fn total_bytes(&self) -> Option<u64> {
        if self.has_records() {
            return None;
        }
        self.paths()?.iter().map(|path| plain_size(path)).sum()
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
        if paths.is_empty() {
            return Err(TrainError::NoInput);
        }
        if let Some(index) = paths.iter().position(|path| path.as_os_str().is_empty()) {
            return Err(TrainError::EmptyInputName {
                position: index + 1,
            });
        }
        for path in paths.iter().filter(|path| path.as_os_str() != "-") {
            try_open(path).map_err(|source| read_error(path, source))?;
        }
        Ok(())
    }
}

/// All bytes of a file.
pub(super) fn read_file(path: &Path) -> Result<Vec<u8>, TrainError> {
    std::fs::read(path).map_err(|source| read_error(path, source))
}

fn read_error(path: &Path, source: io::Error) -> TrainError {
    let path = path.to_owned();
    TrainError::Read { path, source }
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

/// What is read of a text.
#[derive(Debug, Clone)]
pub(crate) enum ReadAs<'v> {
    /// What SentencePiece reads: no line ends at the ends of texts. The bytes of a line beyond
    /// `line_limit` may be dropped while reading, so that one endless line does not fill the
    /// memory.
    Sentences { line_limit: usize },
    /// All bytes. Long lines, and files that are one text, are read in parts if the pretokens of
    /// the parts are those of the text.
    Raw(PretokenSource<'v>),
}

/// Reads a corpus, or the selected sentences of one, as batches, in order.
pub(crate) struct Batches<'a> {
    source: CorpusSource<'a>,
    documents: Documents,
    on_bad_record: OnBadRecord,
    read_as: ReadAs<'a>,
    batch_bytes: usize,
    next_file: usize,
    open: Option<OpenSource<'a>>,
    last_line: Vec<u8>,
    warnings: Vec<InputWarning>,
    /// The sentences wanted and the rules for them; without, all sentences are wanted.
    selection: Option<(SentenceCursor, SentenceRules)>,
    /// The sentences that the selection skipped, and the records without a text in the files before
    /// the open one.
    skipped: SentenceCounts,
}
type Records<'a> = RecordTexts<Box<dyn Read + Send + 'a>>;

/// A file or a reader that is being read.
enum OpenSource<'a> {
    Lines(LineReader<'a>),
    Raw(RawReader<'a>),
    Records {
        texts: Records<'a>,
        path: Option<PathBuf>,
    },
    /// A document is a file.
    Whole {
        reader: Box<dyn Read + Send + 'a>,
        path: Option<PathBuf>,
        line_limit: usize,
    },
    /// A whole file that was read.
    Read,
}

impl<'a> Batches<'a> {
    /// Batches of about `batch_bytes`.
    pub(crate) fn new(
        corpus: Corpus<'a>,
        document: Document,
        read_as: ReadAs<'a>,
        batch_bytes: usize,
    ) -> Result<Self, OptionError> {
        Ok(Batches {
            documents: corpus.documents(document)?,
            source: corpus.source,
            on_bad_record: corpus.on_bad_record,
            read_as,
            batch_bytes,
            next_file: 0,
            open: None,
            last_line: Vec::new(),
            warnings: Vec::new(),
            selection: None,
            skipped: SentenceCounts::default(),
        })
    }

    /// Batches of the selected sentences.
    pub(crate) fn selected(self, selection: SentenceCursor, rules: SentenceRules) -> Self {
        Batches {
            selection: Some((selection, rules)),
            ..self
        }
    }

    /// The batches of a sample of which these sentences were skipped when it was drawn.
    pub(crate) fn after_skipped(self, skipped: SentenceCounts) -> Self {
        Batches { skipped, ..self }
    }

    /// The next batch; `None` at the end, or if all wanted sentences were found.
    pub(crate) fn next(&mut self, reporter: &mut Reporter) -> Result<Option<Batch>, TrainError> {
        let selection = self.selection.as_ref();
        if selection.is_some_and(|(selection, _)| selection.is_complete()) {
            return Ok(None);
        }
        let read = self.read();
        for warning in std::mem::take(&mut self.warnings) {
            reporter.report(Event::Warned(&warning))?;
        }
        let Some(batch) = read? else {
            return Ok(None);
        };
        reporter.read(batch.bytes())?;
        match &mut self.selection {
            Some((selection, rules)) => selection
                .select(&batch, *rules, &mut self.skipped)
                .map(Some),
            None => Ok(Some(batch)),
        }
    }

    /// The next batches, at most `size`; empty at the end.
    pub(crate) fn next_group(
        &mut self,
        size: usize,
        reporter: &mut Reporter,
    ) -> Result<Vec<Batch>, TrainError> {
        let mut group = Vec::new();
        while group.len() < size
            && let Some(batch) = self.next(reporter)?
        {
            group.push(batch);
        }
        Ok(group)
    }

    /// To be called after the last batch: fails if wanted sentences were not found.
    pub(crate) fn check_found(&self) -> Result<(), TrainError> {
        let selection = self.selection.as_ref();
        selection.map_or(Ok(()), |(selection, _)| selection.check_found())
    }

    /// The sentences that the selection skipped, and the records without a text, by the reason.
    pub(crate) fn skipped(&self) -> SentenceCounts {
        SentenceCounts {
            used: 0,
            bad_records: self.bad_records(),
            ..self.skipped
        }
    }

    /// The next batch of all sentences.
    fn read(&mut self) -> Result<Option<Batch>, TrainError> {
        let batch = match &mut self.source {
            CorpusSource::Texts(texts) => Ok(batch_of_texts(texts, self.batch_bytes)),
            CorpusSource::Reader(reader) => {
                let reader = std::mem::replace(reader, Box::new(io::empty()));
                if self.open.is_none() {
                    self.open = Some(self.open_source(reader, None));
                }
                self.next_of_open()
            }
            CorpusSource::Files(_) => self.next_of_files(),
        };
        self.take_warning_of_records();
        batch
    }

    /// The records that were skipped because they have no text.
    fn bad_records(&self) -> u64 {
        let open = self.open.as_ref().map_or(0, OpenSource::bad_records);
        self.skipped.bad_records + open
    }

    /// Reports the first record that was skipped.
    fn take_warning_of_records(&mut self) {
        if let Some((texts, path)) = self.open.as_mut().and_then(OpenSource::records)
            && let Some(problem) = texts.first_skipped.take()
            && self.skipped.bad_records == 0
        {
            let path = path.map_or_else(|| "input".into(), Path::to_owned);
            self.warnings
                .push(InputWarning::BadRecord { path, problem });
        }
    }

    /// The next batch of the open file or reader.
    fn next_of_open(&mut self) -> Result<Option<Batch>, TrainError> {
        match &mut self.open {
            None | Some(OpenSource::Read) => Ok(None),
            Some(OpenSource::Lines(lines)) => lines.next_batch(),
            Some(OpenSource::Raw(raw)) => raw.next_batch(),
            Some(OpenSource::Records { texts, path }) => {
                let mut batch = Batch::texts();
                while batch.bytes() < self.batch_bytes
                    && let Some(text) = texts
                        .next_text()
                        .map_err(|source| read_error(name_of(path.as_deref()), source))?
                {
                    batch.push(self.read_as.text(text), 1);
                }
                Ok((!batch.is_empty()).then_some(batch))
            }
            Some(OpenSource::Whole {
                reader,
                path,
                line_limit,
            }) => {
                let line_limit = *line_limit;
                let mut text = Vec::new();
                let read = reader.take(line_limit as u64 + 1).read_to_end(&mut text);
                read.map_err(|source| read_error(name_of(path.as_deref()), source))?;
                self.open = Some(OpenSource::Read);
                let mut batch = Batch::texts();
                if text.len() > line_limit {
                    // The end was not read. The text is skipped because of its length.
                    batch.push(&text, 1);
                } else {
                    batch.push(without_line_ends(&text), 1);
                }
                Ok(Some(batch))
            }
        }
    }

    fn next_of_files(&mut self) -> Result<Option<Batch>, TrainError> {
        loop {
            if let Some(batch) = self.next_of_open()? {
                return Ok(Some(batch));
            }
            self.take_warning_of_records();
            let was_empty = self.close_file();
            let CorpusSource::Files(paths) = &self.source else {
                return Ok(None);
            };
            let Some(path) = paths.get(self.next_file).cloned() else {
                return Ok(None);
            };
            let text = OpenText::open(&path).map_err(|source| read_error(&path, source))?;
            self.warnings.extend(text.warning);
            self.open = Some(self.open_source(text.reader, Some(path.clone())));
            self.next_file += 1;
            if was_empty {
                // See the module page: an empty file counts as a line, which has number 0.
                let mut line = self.last_line.clone();
                line.push(b'\n');
                return Ok(Some(Batch::lines(line, Some(path), 0)));
            }
        }
    }

    /// Closes the open file, if there is one, and returns whether it was a file of lines without
    /// any.
    fn close_file(&mut self) -> bool {
        self.skipped.bad_records = self.bad_records();
        let Some(OpenSource::Lines(finished)) = self.open.take() else {
            return false;
        };
        let was_empty = finished.is_empty();
        if !was_empty {
            self.last_line = finished.unended_line;
        }
        was_empty
    }

    fn open_source(
        &self,
        reader: Box<dyn Read + Send + 'a>,
        path: Option<PathBuf>,
    ) -> OpenSource<'a> {
        let source = match &self.documents {
            Documents::Lines | Documents::Files => LineSource::Text(reader),
            Documents::RecordLines(field) => {
                LineSource::Records(RecordTexts::new(reader, field.clone(), self.on_bad_record))
            }
            Documents::Records(field) => {
                let texts = RecordTexts::new(reader, field.clone(), self.on_bad_record);
                return OpenSource::Records { texts, path };
            }
        };
        let is_one_text = self.documents == Documents::Files;
        match (&self.read_as, source) {
            (ReadAs::Raw(pretokens), source) => OpenSource::Raw(RawReader::new(
                source,
                path,
                (*pretokens, is_one_text),
                self.batch_bytes,
            )),
            (&ReadAs::Sentences { line_limit }, LineSource::Text(reader)) if is_one_text => {
                OpenSource::Whole {
                    reader,
                    path,
                    line_limit,
                }
            }
            (&ReadAs::Sentences { line_limit }, source) => {
                OpenSource::Lines(LineReader::new(source, path, line_limit, self.batch_bytes))
            }
        }
    }
}

impl ReadAs<'_> {
    /// What is read of a whole text.
    fn text<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        match self {
            Self::Sentences { .. } => without_line_ends(text),
            Self::Raw(_) => text,
        }
    }
}

impl<'a> OpenSource<'a> {
    /// The records that were skipped.
    fn bad_records(&self) -> u64 {
        match self {
            Self::Lines(LineReader {
                reader: LineSource::Records(texts),
                ..
            })
            | Self::Raw(RawReader {
                reader: LineSource::Records(texts),
                ..
            })
            | Self::Records { texts, .. } => texts.skipped,
            _ => 0,
        }
    }

    /// The reader of records and its file.
    fn records(&mut self) -> Option<(&mut Records<'a>, Option<&Path>)> {
        match self {
            Self::Lines(LineReader {
                reader: LineSource::Records(texts),
                path,
                ..
            })
            | Self::Raw(RawReader {
                reader: LineSource::Records(texts),
                path,
                ..
            })
            | Self::Records { texts, path } => Some((texts, path.as_deref())),
            _ => None,
        }
    }
}

/// The name of a file in messages; a reader has none.
fn name_of(path: Option<&Path>) -> &Path {
    path.unwrap_or(Path::new("input"))
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
