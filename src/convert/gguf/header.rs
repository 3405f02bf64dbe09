//! The header of a GGUF file: the fields of the tokenizer, in bounded memory.
//!
//! Input: a reader. Output: the values of the fields whose names begin with `tokenizer.` or
//! `spiece.`; all others are skipped. Method: the header is read once, front to back, and nothing
//! after it. A length or count in the file is not trusted: memory grows only with the bytes that
//! were read. Refused are versions other than 2 and 3, big-endian files, names that occur twice,
//! arrays of arrays, unknown types, and headers of more than 1 GiB.
//!
//! Cost: linear in the header.

mod values;

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};

use super::GgufResult;
use crate::convert::FileFormat;
use crate::error::ConvertError;

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
pub(super) fn invalid(problem: impl Into<String>) -> ConvertError {
    ConvertError::Syntax {
        format: FileFormat::Gguf,
        problem: problem.into(),
    }
}

impl Header {
    /// Reads the header.
    pub(super) fn read(reader: impl Read) -> GgufResult<Self> {
        let mut source = HeaderSource::new(reader);
        let mut names = FieldNames::default();
        let mut fields = HashMap::new();
        for _ in 0..source.begin()? {
            let name = source.name()?;
            names.count(&name)?;
            if let Some(value) = source.field(&name)? {
                fields.insert(name.clone(), value);
            }
            names.insert(name)?;
        }
        Ok(Self { fields })
    }

    /// The value of a field.
    pub(super) fn get(&self, name: &str) -> Option<&GgufValue> {
        self.fields.get(name)
    }
}

/// The names of the fields that were read.
#[derive(Default)]
struct FieldNames {
    names: HashSet<String>,
    /// The total length of all names.
    bytes: usize,
}

impl FieldNames {
    /// Counts the bytes of a name. Fails if all names together are too long.
    fn count(&mut self, name: &str) -> GgufResult<()> {
        self.bytes += name.len();
        match self.bytes {
            0..=MAX_NAMES_BYTES => Ok(()),
            _ => Err(names_too_long()),
        }
    }

    /// Adds a name. Fails if it occurs twice.
    fn insert(&mut self, name: String) -> GgufResult<()> {
        match self.names.replace(name) {
            None => Ok(()),
            Some(name) => Err(duplicate_field(&name)),
        }
    }
}

fn names_too_long() -> ConvertError {
    invalid("the names of the fields are longer than 16 MiB")
}

fn duplicate_field(name: &str) -> ConvertError {
    invalid(format!("the field {name:?} occurs twice"))
}

/// Whether a tokenizer has a field of this name.
fn is_kept(name: &str) -> bool {
    KEPT.iter().any(|start| name.starts_with(start))
}

/// Reads the parts of a header.
struct HeaderSource<R> {
    reader: io::Take<R>,
    /// What is being read, for messages: the name of a field, or a part of the header.
    part: String,
}

impl<R: Read> HeaderSource<R> {
    fn new(reader: R) -> Self {
        Self {
            reader: reader.take(MAX_HEADER_BYTES),
            part: String::new(),
        }
    }

    /// Sets the part that is read next, for messages.
    fn at(&mut self, part: &str) -> &mut Self {
        part.clone_into(&mut self.part);
        self
    }

    /// Reads everything before the fields, and returns the number of fields.
    fn begin(&mut self) -> GgufResult<u64> {
        check_magic(self.at("the magic number").array()?)?;
        check_version(self.at("the version").u32()?)?;
        self.at("the number of tensors").u64()?;
        let fields = self.at("the number of fields").u64()?;
        check_field_count(fields)?;
        Ok(fields)
    }

    /// The name of a field.
    fn name(&mut self) -> GgufResult<String> {
        let name = self.at("the name of a field").text(MAX_NAME_BYTES)?;
        String::from_utf8(name).map_err(|_| invalid("the name of a field is not UTF-8"))
    }

    /// Reads the value of a field. Skips it and returns `None` if no tokenizer has a field of this
    /// name.
    fn field(&mut self, name: &str) -> GgufResult<Option<GgufValue>> {
        let value_type = self.at(name).value_type()?;
        if is_kept(name) {
            return self.value(value_type).map(Some);
        }
        self.skip_value(value_type)?;
        Ok(None)
    }

    fn skip(&mut self, length: u64) -> GgufResult<()> {
        let skipped = io::copy(&mut self.next(length), &mut io::sink());
        self.check_read(skipped, length)
    }

    /// A reader of the next bytes.
    fn next(&mut self, length: u64) -> impl Read {
        self.reader.by_ref().take(length)
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
            return Err(self.too_long(length));
        }
        self.bytes(length)
    }

    fn too_long(&self, length: u64) -> ConvertError {
        let part = &self.part;
        invalid(format!("{part}: a text of {length} bytes is too long"))
    }

    fn bytes(&mut self, length: u64) -> GgufResult<Vec<u8>> {
        let mut bytes = Vec::new();
        self.append(length, &mut bytes)?;
        Ok(bytes)
    }

    /// Appends `length` bytes. The memory grows as bytes arrive.
    fn append(&mut self, length: u64, to: &mut Vec<u8>) -> GgufResult<()> {
        let read = self.next(length).read_to_end(to);
        self.check_read(read.map(|read| read as u64), length)
    }

    fn u32(&mut self) -> GgufResult<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> GgufResult<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A little-endian number of this many bytes, padded with zeros.
    fn number(&mut self, bytes: u64) -> GgufResult<[u8; 8]> {
        let mut number = self.bytes(bytes)?;
        number.resize(8, 0);
        number.try_into().map_err(|_| self.cut_off())
    }

    fn array<const LENGTH: usize>(&mut self) -> GgufResult<[u8; LENGTH]> {
        let mut bytes = [0; LENGTH];
        match self.reader.read_exact(&mut bytes) {
            Ok(()) => Ok(bytes),
            Err(error) => Err(self.read_error(error)),
        }
    }

    fn read_error(&self, error: io::Error) -> ConvertError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => self.cut_off(),
            _ => unreadable(error),
        }
    }

    fn cut_off(&self) -> ConvertError {
        invalid(format!(
            "it ends in {:?}, or the header is longer than 1 GiB; fetch or write the file again",
            self.part
        ))
    }
}

fn check_magic(magic: [u8; 4]) -> GgufResult<()> {
    match magic == *MAGIC {
        true => Ok(()),
        false => Err(invalid("it does not begin with \"GGUF\"")),
    }
}

fn check_version(version: u32) -> GgufResult<()> {
    match version {
        2..=3 => Ok(()),
        _ => Err(version_error(version)),
    }
}

fn version_error(version: u32) -> ConvertError {
    if is_byte_swapped(version) {
        big_endian()
    } else {
        other_version(version)
    }
}

/// Whether a number is small only with its bytes swapped.
fn is_byte_swapped(number: u32) -> bool {
    let limit = u32::from(u16::MAX);
    number > limit && number.swap_bytes() <= limit
}

fn big_endian() -> ConvertError {
    invalid(
        "the numbers are big-endian; convert the file to little-endian (gguf-convert-endian of the package gguf)",
    )
}

fn other_version(version: u32) -> ConvertError {
    invalid(format!(
        "the version is {version}, and 2 and 3 are known; write the file again with a current llama.cpp"
    ))
}

fn check_field_count(count: u64) -> GgufResult<()> {
    if count > MAX_FIELDS {
        return Err(too_many_fields(count));
    }
    Ok(())
}

fn too_many_fields(count: u64) -> ConvertError {
    invalid(format!("{count} fields are more than {MAX_FIELDS}"))
}

fn unreadable(error: io::Error) -> ConvertError {
    invalid(format!("it cannot be read: {error}"))
}
