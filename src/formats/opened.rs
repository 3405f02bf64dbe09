//! Files that have been read up to where the content says which format they have.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::format::FileFormat;
use crate::formats::error::{FormatError, Place, syntax};

/// The bytes that decide the format of a file.
pub(super) const START_BYTES: usize = 1 << 16;
/// Files of this many bytes or more are refused.
const MAX_FILE_BYTES: usize = 1 << 31;

/// A file of which the start has been read. Models with weights are not read as a whole.
pub(crate) struct OpenedFile {
    pub(crate) path: PathBuf,
    pub(crate) format: FileFormat,
    start: Vec<u8>,
    rest: File,
}

impl OpenedFile {
    /// Opens a file, or the first one of `names` that a folder has. `None` if it has none of them.
    pub(crate) fn open(path: &Path, names: &[&str]) -> Result<Option<Self>, FormatError> {
        let mut path = path.to_owned();
        if path.is_dir() {
            let mut files = names.iter().map(|name| path.join(name));
            match files.find(|file| file.is_file()) {
                Some(file) => path = file,
                None => return Ok(None),
            }
        }
        let read_error = |source| FormatError::Read {
            path: path.clone(),
            source,
        };
        let mut rest = File::open(&path).map_err(read_error)?;
        let mut start = Vec::new();
        let reader = rest.by_ref().take(START_BYTES as u64);
        { reader }.read_to_end(&mut start).map_err(read_error)?;
        Ok(Some(Self {
            format: FileFormat::of_content(&start),
            path,
            start,
            rest,
        }))
    }

    /// The start of the file: the bytes that decide the format.
    pub(crate) fn start(&self) -> &[u8] {
        &self.start
    }

    /// A reader of the whole file.
    pub(crate) fn reader(&self) -> impl Read {
        self.start.chain(&self.rest)
    }

    /// The content of the whole file.
    pub(crate) fn read(mut self) -> Result<FileContent<'static>, FormatError> {
        match self.rest.read_to_end(&mut self.start) {
            Ok(_) => Ok(FileContent {
                bytes: Cow::Owned(self.start),
                format: self.format,
                path: Some(self.path),
            }),
            Err(source) => Err(FormatError::Read {
                path: self.path,
                source,
            }),
        }
    }
}

/// The content of a file, which was recognized.
pub(crate) struct FileContent<'f> {
    pub(crate) bytes: Cow<'f, [u8]>,
    pub(crate) format: FileFormat,
    /// Where it stands, if it is a file.
    pub(crate) path: Option<PathBuf>,
}

impl<'f> FileContent<'f> {
    /// Bytes that are no file.
    pub(crate) fn of_bytes(bytes: &'f [u8]) -> Self {
        Self {
            bytes: Cow::Borrowed(bytes),
            format: FileFormat::of_content(bytes),
            path: None,
        }
    }
}

/// Refuses files of 2 GiB or more.
pub(super) fn check_size(format: FileFormat, file: &[u8]) -> Result<(), FormatError> {
    match file.len() {
        MAX_FILE_BYTES.. => Err(syntax(format, Place::File, "it has 2 GiB or more")),
        _ => Ok(()),
    }
}

/// A file as text, without a byte order mark.
pub(super) fn text(format: FileFormat, file: &[u8]) -> Result<&str, FormatError> {
    utf8(format, file.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(file))
}

/// A file as text.
pub(super) fn utf8(format: FileFormat, file: &[u8]) -> Result<&str, FormatError> {
    std::str::from_utf8(file).map_err(|_| syntax(format, Place::File, "it is not UTF-8"))
}
