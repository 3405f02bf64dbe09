//! The header of a GGUF file: the fields of the tokenizer, in bounded memory.
//!
//! The values of the fields whose names begin with `tokenizer.` or `spiece.` are kept; all others
//! are skipped. The header is read once, front to back, and nothing after it. A length or count in
//! the file is not trusted: memory grows only with the bytes that were read. Refused are versions
//! other than 2 and 3, big-endian files, names that occur twice, arrays of arrays, unknown types,
//! and headers of more than 1 GiB.

mod values;

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};

use super::GgufResult;
use crate::formats::FileFormat;
use crate::formats::FormatError;

/// The first bytes.
const MAGIC: &[u8; 4] = b"GGUF";

/// The longest header. A vocabulary of a million pieces takes 30 MB.
const MAX_HEADER_BYTES: u64 = 1 << 30;

/// The longest name of a field, as in llama.cpp.
const MAX_NAME_BYTES: u64 = (1 << 16) - 1;

/// The most fields. Files have less than a hundred.
const MAX_FIELDS: u64 = 1 << 16;

/// The largest total length of all names.
const MAX_NAMES_BYTES: usize = 1 << 24;

/// Prefixes of the names of fields that are kept.
const KEPT: [&str; 2] = ["tokenizer.", "spiece."];

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum GgufValue {
    Bool(bool),
    /// Any integer; values above `i64::MAX` are refused.
    Integer(i64),
    Float(f64),
    Text(Vec<u8>),
    Floats(Vec<f32>),
    Integers(Vec<i32>),
    Bytes(Vec<u8>),
    Texts(TextList),
    /// An array that no field of a tokenizer has.
    OtherArray,
}

/// Texts, stored one after another.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct TextList {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl TextList {
    /// The number of texts.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The text at an index.
    pub(super) fn get(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.bytes[start..end])
    }

    /// The texts.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.ends.iter().scan(0, |start, end| {
            let text = &self.bytes[*start..*end];
            *start = *end;
            Some(text)
        })
    }
}

/// The fields of the tokenizer by their names.
#[derive(Debug)]
pub(super) struct Header {
    fields: HashMap<String, GgufValue>,
}

/// The error for a malformed file.
pub(super) fn invalid(problem: impl Into<String>) -> FormatError {
    FormatError::Damaged {
        format: FileFormat::Gguf,
        problem: problem.into(),
    }
}

impl Header {
    /// Reads the header.
    pub(super) fn read(reader: impl Read) -> GgufResult<Self> {
        let mut source = HeaderSource {
            reader: reader.take(MAX_HEADER_BYTES),
            part: String::new(),
        };
        let count = source.begin()?;
        let mut names = HashSet::new();
        let mut names_bytes = 0;
        let mut fields = HashMap::new();
        for _ in 0..count {
            source.at("the name of a field");
            let name = String::from_utf8(source.text(MAX_NAME_BYTES)?)
                .map_err(|_| invalid("the name of a field is not UTF-8"))?;
            names_bytes += name.len();
            if names_bytes > MAX_NAMES_BYTES {
                return Err(invalid("the names of the fields are longer than 16 MiB"));
            }
            let value_type = source.at(&name).value_type()?;
            if KEPT.iter().any(|start| name.starts_with(start)) {
                fields.insert(name.clone(), source.value(value_type)?);
            } else {
                source.skip_value(value_type)?;
            }
            if let Some(name) = names.replace(name) {
                return Err(invalid(format!("the field {name:?} occurs twice")));
            }
        }
        Ok(Self { fields })
    }

    /// The value of a field.
    pub(super) fn get(&self, name: &str) -> Option<&GgufValue> {
        self.fields.get(name)
    }
}

/// Reads the parts of a header.
struct HeaderSource<R> {
    reader: io::Take<R>,
    /// What is being read, for messages: the name of a field, or a part of the header.
    part: String,
}

impl<R: Read> HeaderSource<R> {
    /// Sets the part that is read next, for messages.
    fn at(&mut self, part: &str) -> &mut Self {
        part.clone_into(&mut self.part);
        self
    }

    /// Reads everything before the fields, and returns the number of fields.
    fn begin(&mut self) -> GgufResult<u64> {
        if self.at("the magic number").array()? != *MAGIC {
            return Err(invalid("it does not begin with \"GGUF\""));
        }
        let version = self.at("the version").u32()?;
        if !matches!(version, 2..=3) {
            let limit = u32::from(u16::MAX);
            return Err(match version > limit && version.swap_bytes() <= limit {
                true => invalid(
                    "the numbers are big-endian; convert the file to little-endian (gguf-convert-endian of the package gguf)",
                ),
                false => invalid(format!(
                    "the version is {version}, and 2 and 3 are known; write the file again with a current llama.cpp"
                )),
            });
        }
        self.at("the number of tensors").u64()?;
        let fields = self.at("the number of fields").u64()?;
        match fields {
            0..=MAX_FIELDS => Ok(fields),
            _ => Err(invalid(format!(
                "{fields} fields are more than {MAX_FIELDS}"
            ))),
        }
    }

    /// Moves past `length` bytes.
    fn skip(&mut self, length: u64) -> GgufResult<()> {
        let mut next = self.reader.by_ref().take(length);
        let skipped = io::copy(&mut next, &mut io::sink());
        self.check_read(skipped, length)
    }

    /// Fails if not all of `length` bytes were read.
    fn check_read(&self, read: io::Result<u64>, length: u64) -> GgufResult<()> {
        if read.map_err(unreadable)? == length {
            return Ok(());
        }
        Err(self.cut_off())
    }

    /// A text of at most `limit` bytes.
    fn text(&mut self, limit: u64) -> GgufResult<Vec<u8>> {
        let length = self.u64()?;
        if length > limit {
            let part = &self.part;
            return Err(invalid(format!(
                "{part}: a text of {length} bytes is too long"
            )));
        }
        self.bytes(length)
    }

    fn bytes(&mut self, length: u64) -> GgufResult<Vec<u8>> {
        let mut bytes = Vec::new();
        self.append(length, &mut bytes)?;
        Ok(bytes)
    }

    /// Appends `length` bytes. The memory grows as bytes arrive.
    fn append(&mut self, length: u64, to: &mut Vec<u8>) -> GgufResult<()> {
        let read = self.reader.by_ref().take(length).read_to_end(to);
        self.check_read(read.map(|read| read as u64), length)
    }

    fn u32(&mut self) -> GgufResult<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> GgufResult<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn array<const LENGTH: usize>(&mut self) -> GgufResult<[u8; LENGTH]> {
        let mut bytes = [0; LENGTH];
        match self.reader.read_exact(&mut bytes) {
            Ok(()) => Ok(bytes),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(self.cut_off()),
            Err(error) => Err(unreadable(error)),
        }
    }

    fn cut_off(&self) -> FormatError {
        invalid(format!(
            "it ends in {:?}, or the header is longer than 1 GiB; fetch or write the file again",
            self.part
        ))
    }
}

fn unreadable(error: io::Error) -> FormatError {
    invalid(format!("it cannot be read: {error}"))
}
