//! What a file contains, by its first bytes: text, compressed text, or something else.
//!
//! gzip and Zstandard are decompressed whatever the name of the file, also from standard input.
//! Archives, tables and UTF-16 are refused: their bytes are no text, and SentencePiece would learn
//! pieces of them without a word. NUL bytes and bytes that are not UTF-8 may be meant, so the text
//! is read as SentencePiece reads it, and the caller gets an [`InputWarning`].

use std::fmt;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use super::InputError;
use super::compressed::{Compression, decompressor};

/// The most bytes at the beginning of a text that are looked at.
const HEAD_BYTES: usize = 1 << 16;

/// The bytes that suffice to recognize all formats but tar, which pipes give in larger blocks.
const LONGEST_MAGIC: usize = 10;

/// Something about a file that is probably not meant.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputWarning {
    /// The beginning of a text has NUL bytes, as UTF-16 has.
    Nul {
        /// The file; `-` is standard input.
        path: PathBuf,
        /// NUL bytes.
        count: usize,
        /// Bytes that were looked at.
        of: usize,
        /// The name of the encoding that the places of the NUL bytes suggest.
        encoding: &'static str,
    },
    /// The beginning of a text is not UTF-8.
    NotUtf8 {
        /// The file; `-` is standard input.
        path: PathBuf,
        /// The first byte that is not UTF-8, from 0.
        position: usize,
    },
    /// A record was skipped; see [`OnBadRecord::Skip`](crate::input::OnBadRecord::Skip). Only the
    /// first one of a pass over the input is reported.
    BadRecord {
        /// The file; `-` is standard input, and `input` a reader.
        path: PathBuf,
        /// The line and the cause.
        problem: String,
    },
}

impl fmt::Display for InputWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nul {
                path,
                count,
                of,
                encoding,
            } => write!(
                f,
                "{}: {count} of the first {of} bytes are NUL, which is rare in text; if this is {encoding}, convert it: \
                 iconv -f {encoding} -t UTF-8",
                path.display()
            ),
            Self::NotUtf8 { path, position } => write!(
                f,
                "{}: byte {position} is not UTF-8, and each such byte is read as U+FFFD; if the text has another encoding, \
                 convert it: iconv -f ENCODING -t UTF-8",
                path.display()
            ),
            Self::BadRecord { path, problem } => write!(
                f,
                "{}: {problem}; this is the first record that is skipped",
                path.display()
            ),
        }
    }
}

/// The text of a file, or of standard input.
pub struct OpenText {
    /// The text, decompressed.
    pub reader: Box<dyn Read + Send>,
    /// What is doubtful about it.
    pub warning: Option<InputWarning>,
}

impl OpenText {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be read, or its content is known and no text.
    pub fn open(path: &Path) -> io::Result<Self> {
        let reader: Box<dyn Read + Send> = if path.as_os_str() == "-" {
            Box::new(io::stdin())
        } else {
            Box::new(File::open(path)?)
        };
        let (mut head, mut reader) = with_head(reader)?;
        let compression = Compression::of(&head);
        let by_name = Compression::of_name(path);
        if by_name != Compression::None && compression == Compression::None {
            refuse_foreign(&head)?;
            return Err(InputError {
                problem: format!("the content is not {by_name}, which the name says").into(),
                remedy: "rename the file if it is text; if it is damaged, get it again".into(),
            }
            .into());
        }
        if compression != Compression::None {
            (head, reader) = with_head(decompressor(reader, compression)?)?;
            if Compression::of(&head) != Compression::None {
                return Err(InputError {
                    problem: "it is compressed twice".into(),
                    remedy: "decompress it once: gzip -dc FILE, or zstd -dc FILE".into(),
                }
                .into());
            }
        }
        refuse_foreign(&head)?;
        Ok(Self {
            reader,
            warning: warning_about(&head, path),
        })
    }
}

/// The size of a file that is not compressed, if it is known without reading it.
pub fn plain_size(path: &Path) -> Option<u64> {
    // A pipe cannot be opened twice.
    let metadata = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mut head = Vec::new();
    let file = File::open(path).ok()?;
    file.take(8).read_to_end(&mut head).ok()?;
    (Compression::of(&head) == Compression::None).then_some(metadata.len())
}

/// The first bytes of a reader, and a reader of all bytes. A terminal is not read further than is
/// necessary, so that the first line is answered before the second one is written.
fn with_head(mut reader: Box<dyn Read + Send>) -> io::Result<(Vec<u8>, Box<dyn Read + Send>)> {
    let mut head = vec![0; HEAD_BYTES];
    let mut length = 0;
    loop {
        match reader.read(&mut head[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        // No format has a line feed so early.
        if length >= LONGEST_MAGIC || head[..length].contains(&b'\n') {
            break;
        }
    }
    head.truncate(length);
    let again = Cursor::new(head.clone());
    Ok((head, Box::new(again.chain(reader))))
}

/// Formats by their first bytes, and commands that write the text of a file to standard output.
const FOREIGN: &[(&[u8], &str, &str)] = &[
    (b"\xfd7zXZ\0", "xz", "decompress it: xz -dc FILE"),
    (b"BZh", "bzip2", "decompress it: bzip2 -dc FILE"),
    (b"PK\x03\x04", "a zip archive", "extract it: unzip -p FILE"),
    (b"PK\x05\x06", "a zip archive", "extract it: unzip -p FILE"),
    (
        b"7z\xbc\xaf\x27\x1c",
        "a 7z archive",
        "extract it: 7z x -so FILE",
    ),
    (b"\x04\x22\x4d\x18", "lz4", "decompress it: lz4 -dc FILE"),
    (b"PAR1\x15", "a Parquet file", PARQUET_REMEDY),
    (b"ARROW1\0\0", "an Arrow file", PARQUET_REMEDY),
];

const PARQUET_REMEDY: &str = "write its column of texts as JSON Lines, and name it with json_field; for tables of spiece \
                              count give input_format=counts";

/// The block that follows the three letters and the level of bzip2: one of data, or the end.
const BZIP2_BLOCKS: [&[u8]; 2] = [b"1AY&SY", b"\x17rE8P\x90"];

/// An error if the content is known and no text.
fn refuse_foreign(head: &[u8]) -> io::Result<()> {
    let found = FOREIGN.iter().find(|(magic, ..)| head.starts_with(magic));
    if let Some((magic, name, remedy)) = found {
        let block = head.get(4..).unwrap_or_default();
        // Text may begin with these three letters.
        if *magic != b"BZh" || BZIP2_BLOCKS.iter().any(|start| block.starts_with(start)) {
            return Err(foreign(name, remedy));
        }
    }
    if head.get(257..262) == Some(b"ustar") {
        return Err(foreign("a tar archive", "extract it: tar -xOf FILE"));
    }
    let has_nul = memchr::memchr(0, head).is_some();
    if has_nul && (head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff")) {
        let is_32 = head.starts_with(b"\xff\xfe\0\0");
        return Err(if is_32 {
            foreign("UTF-32", "convert it: iconv -f UTF-32 -t UTF-8 FILE")
        } else {
            foreign("UTF-16", "convert it: iconv -f UTF-16 -t UTF-8 FILE")
        });
    }
    Ok(())
}

fn foreign(name: &'static str, remedy: &'static str) -> io::Error {
    InputError {
        problem: format!("the content is {name} and no text").into(),
        remedy: remedy.into(),
    }
    .into()
}

/// What is doubtful about the beginning of a text.
fn warning_about(head: &[u8], path: &Path) -> Option<InputWarning> {
    let path = path.to_owned();
    let count = memchr::memchr_iter(0, head).count();
    if count > 0 {
        let even = memchr::memchr_iter(0, head).filter(|position| position % 2 == 0);
        let encoding = if 2 * even.count() > count {
            "UTF-16BE"
        } else {
            "UTF-16LE"
        };
        let of = head.len();
        return Some(InputWarning::Nul {
            path,
            count,
            of,
            encoding,
        });
    }
    let error = std::str::from_utf8(head).err()?;
    // Without a length, a character may continue after the bytes that were looked at.
    error.error_len()?;
    let position = error.valid_up_to();
    Some(InputWarning::NotUtf8 { path, position })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::reading_remedy;

    fn open(name: &str, content: &[u8]) -> (io::Result<Vec<u8>>, Option<InputWarning>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        match OpenText::open(&path) {
            Err(error) => (Err(error), None),
            Ok(mut text) => {
                let mut bytes = Vec::new();
                let read = text.reader.read_to_end(&mut bytes);
                (read.map(|_| bytes), text.warning)
            }
        }
    }

    #[test]
    fn content_that_is_no_text_is_refused_with_a_remedy() {
        let mut tar = vec![b'a'; 600];
        tar[257..262].copy_from_slice(b"ustar");
        let cases: &[(&[u8], &str, &str)] = &[
            (b"\xfd7zXZ\0\0\x04", "xz", "xz -dc"),
            (b"BZh91AY&SY\0", "bzip2", "bzip2 -dc"),
            (b"BZh9\x17rE8P\x90\0", "bzip2", "bzip2 -dc"),
            (b"PK\x03\x04\x14\0", "zip", "unzip -p"),
            (b"7z\xbc\xaf\x27\x1c\0\x04", "7z", "7z x"),
            (b"\x04\x22\x4d\x18d@", "lz4", "lz4 -dc"),
            (b"PAR1\x15\x04\x15", "Parquet", "JSON Lines"),
            (b"ARROW1\0\0\xff", "Arrow", "JSON Lines"),
            (&tar, "tar", "tar -xOf"),
            (b"\xff\xfea\0b\0", "UTF-16", "iconv -f UTF-16 "),
            (b"\xfe\xff\0a\0b", "UTF-16", "iconv -f UTF-16 "),
            (b"\xff\xfe\0\0a\0\0\0", "UTF-32", "iconv -f UTF-32 "),
        ];
        for (content, name, remedy) in cases {
            for file in ["a", "a.txt", "a.gz"] {
                let error = open(file, content).0.unwrap_err();
                assert!(error.to_string().contains(name), "{name}: {error}");
                let found = reading_remedy(&error);
                assert!(found.contains(remedy), "{name}: {found}");
            }
        }
    }

    #[test]
    fn text_is_read_whatever_it_begins_with() {
        let texts: &[&[u8]] = &[
            b"",
            b"BZh9 is how bzip2 files begin",
            b"PAR1 is how Parquet files begin",
            b"PK and 7z",
            "\u{feff}with a byte order mark".as_bytes(),
        ];
        for text in texts {
            let (read, warning) = open("a", text);
            assert_eq!((&read.unwrap()[..], warning), (*text, None));
        }
    }

    #[test]
    fn doubtful_text_is_read_with_a_warning() {
        let cases: &[(&[u8], &str)] = &[
            (b"a\0b\0\n\0", "3 of the first 6 bytes are NUL"),
            (b"\0a\0b\0\n", "UTF-16BE"),
            (b"a\0b\0\n\0", "UTF-16LE"),
            (b"caf\xe9 au lait", "byte 3 is not UTF-8"),
            (b"cut \xe2\x82 off", "byte 4 is not UTF-8"),
        ];
        for (text, expected) in cases {
            let (read, warning) = open("a", text);
            assert_eq!(read.unwrap(), *text);
            let message = warning.unwrap().to_string();
            assert!(message.contains(expected), "{message}");
        }
        let long = [vec![b'a'; HEAD_BYTES - 1], "\u{e9}".into()].concat();
        let (read, warning) = open("a", &long);
        assert_eq!((read.unwrap(), warning), (long, None));
    }
}
