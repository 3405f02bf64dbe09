//! The header of a GGUF file: the fields of the tokenizer, in bounded memory.
//!
//! Input: a reader. Output: the values of the fields whose names begin with `tokenizer.` or `spiece.`; all others are skipped.
//! Method: the header is read once, front to back, and nothing behind it. A length or count in the file is trusted only as
//! far as bytes follow: memory grows with what was read. Refused are versions other than 2 and 3, big-endian files, names
//! that occur twice, arrays of arrays, unknown types, and headers of more than 1 GiB.
//!
//! Cost: linear in the header.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};

use crate::convert::FileFormat;
use crate::error::ConvertError;

/// The first bytes.
const MAGIC: &[u8; 4] = b"GGUF";

/// The longest header. Vocabularies of a million pieces have 30 MB.
const MAX_HEADER_BYTES: u64 = 1 << 30;

/// The longest name of a field, as in llama.cpp.
const MAX_NAME_BYTES: u64 = (1 << 16) - 1;

/// The most fields. Files have less than a hundred.
const MAX_FIELDS: u64 = 1 << 16;

/// Bytes of all names together.
const MAX_NAMES_BYTES: usize = 1 << 24;

/// Beginnings of the names of fields that are kept.
const KEPT: [&str; 2] = ["tokenizer.", "spiece."];

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum GgufValue {
    Bool(bool),
    /// Any whole number; those above `i64::MAX` are refused.
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

/// Texts one behind the other.
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

/// The error for a file that is not as it should be.
pub(super) fn invalid(problem: impl Into<String>) -> ConvertError {
    ConvertError::Syntax {
        format: FileFormat::Gguf,
        problem: problem.into(),
    }
}

impl Header {
    /// Reads the header.
    pub(super) fn read(reader: impl Read) -> Result<Self, ConvertError> {
        let mut source = HeaderSource {
            reader: reader.take(MAX_HEADER_BYTES),
        };
        let fields = source.begin()?;
        let mut header = Self {
            fields: HashMap::new(),
        };
        let mut names = HashSet::new();
        let mut names_bytes = 0;
        for _ in 0..fields {
            let name = source.name()?;
            names_bytes += name.len();
            if names_bytes > MAX_NAMES_BYTES {
                return Err(invalid("the names of the fields are longer than 16 MiB"));
            }
            source.field(&name, &mut header.fields)?;
            if !names.insert(name.clone()) {
                return Err(invalid(format!("the field {name:?} occurs twice")));
            }
        }
        Ok(header)
    }

    /// The value of a field.
    pub(super) fn get(&self, name: &str) -> Option<&GgufValue> {
        self.fields.get(name)
    }
}

/// Types of values by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueType {
    /// A whole number of so many bytes.
    Unsigned(u64),
    Signed(u64),
    F32,
    F64,
    Bool,
    Text,
    Array,
}

impl ValueType {
    fn of_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::Unsigned(1),
            1 => Self::Signed(1),
            2 => Self::Unsigned(2),
            3 => Self::Signed(2),
            4 => Self::Unsigned(4),
            5 => Self::Signed(4),
            6 => Self::F32,
            7 => Self::Bool,
            8 => Self::Text,
            9 => Self::Array,
            10 => Self::Unsigned(8),
            11 => Self::Signed(8),
            12 => Self::F64,
            _ => return None,
        })
    }

    /// The bytes of a value; `None` if they vary.
    fn bytes(self) -> Option<u64> {
        match self {
            Self::Unsigned(bytes) | Self::Signed(bytes) => Some(bytes),
            Self::F32 => Some(4),
            Self::F64 => Some(8),
            Self::Bool => Some(1),
            Self::Text | Self::Array => None,
        }
    }
}

/// Reads the parts of a header.
struct HeaderSource<R> {
    reader: io::Take<R>,
}

impl<R: Read> HeaderSource<R> {
    /// Reads what is before the fields. Returns their number.
    fn begin(&mut self) -> Result<u64, ConvertError> {
        if self.array::<4>("the magic number")? != *MAGIC {
            return Err(invalid("it does not begin with \"GGUF\""));
        }
        let version = self.u32("the version")?;
        if version.swap_bytes() <= u32::from(u16::MAX) && version > u32::from(u16::MAX) {
            return Err(invalid(
                "the numbers are big-endian; convert the file to little-endian (gguf-convert-endian of the package gguf)",
            ));
        }
        if !(2..=3).contains(&version) {
            return Err(invalid(format!(
                "the version is {version}, and 2 and 3 are known; write the file again with a current llama.cpp"
            )));
        }
        self.u64("the number of tensors")?;
        let fields = self.u64("the number of fields")?;
        if fields > MAX_FIELDS {
            return Err(invalid(format!(
                "{fields} fields are more than {MAX_FIELDS}"
            )));
        }
        Ok(fields)
    }

    /// Reads a field and keeps it if a tokenizer has it.
    fn field(
        &mut self,
        name: &str,
        fields: &mut HashMap<String, GgufValue>,
    ) -> Result<(), ConvertError> {
        let value_type = self.value_type(name)?;
        if KEPT.iter().any(|kept| name.starts_with(kept)) {
            let value = self.value(name, value_type)?;
            fields.insert(name.to_owned(), value);
            return Ok(());
        }
        self.skip_value(name, value_type)
    }

    fn value_type(&mut self, name: &str) -> Result<ValueType, ConvertError> {
        let number = self.u32(name)?;
        let unknown = || invalid(format!("the field {name:?} has the unknown type {number}"));
        ValueType::of_number(number).ok_or_else(unknown)
    }

    fn value(&mut self, name: &str, value_type: ValueType) -> Result<GgufValue, ConvertError> {
        match value_type {
            ValueType::Unsigned(bytes) => {
                let number = u64::from_le_bytes(self.number(bytes, name)?);
                let number = i64::try_from(number);
                let too_large = |_| invalid(format!("the number of {name:?} is too large"));
                number.map(GgufValue::Integer).map_err(too_large)
            }
            ValueType::Signed(bytes) => {
                let number = i64::from_le_bytes(self.number(bytes, name)?);
                // The bytes above those of the number are 0, so the sign is moved up.
                let unused = 64 - 8 * bytes;
                Ok(GgufValue::Integer(number << unused >> unused))
            }
            ValueType::F32 => Ok(GgufValue::Float(f64::from(f32::from_le_bytes(
                self.array(name)?,
            )))),
            ValueType::F64 => Ok(GgufValue::Float(f64::from_le_bytes(self.array(name)?))),
            ValueType::Bool => match self.array::<1>(name)? {
                [0] => Ok(GgufValue::Bool(false)),
                [1] => Ok(GgufValue::Bool(true)),
                [other] => Err(invalid(format!(
                    "{name:?} is {other}, which is no truth value"
                ))),
            },
            ValueType::Text => Ok(GgufValue::Text(self.text(MAX_HEADER_BYTES, name)?)),
            ValueType::Array => self.array_value(name),
        }
    }

    /// Reads an array. Those of other types than a tokenizer has are skipped.
    fn array_value(&mut self, name: &str) -> Result<GgufValue, ConvertError> {
        let (element, count) = self.array_start(name)?;
        match element {
            ValueType::F32 => {
                let bytes = self.elements(4, count, name)?;
                let floats = bytes
                    .chunks_exact(4)
                    .map(|bytes| f32::from_le_bytes(four(bytes)));
                Ok(GgufValue::Floats(floats.collect()))
            }
            ValueType::Signed(4) | ValueType::Unsigned(4) => {
                let bytes = self.elements(4, count, name)?;
                let numbers = bytes
                    .chunks_exact(4)
                    .map(|bytes| i32::from_le_bytes(four(bytes)));
                Ok(GgufValue::Integers(numbers.collect()))
            }
            ValueType::Signed(1) | ValueType::Unsigned(1) => {
                Ok(GgufValue::Bytes(self.elements(1, count, name)?))
            }
            ValueType::Text => {
                let mut texts = TextList::default();
                for _ in 0..count {
                    let length = self.u64(name)?;
                    self.append(length, name, &mut texts.bytes)?;
                    texts.ends.push(texts.bytes.len());
                }
                Ok(GgufValue::Texts(texts))
            }
            other => {
                self.skip_elements(name, other, count)?;
                Ok(GgufValue::OtherArray)
            }
        }
    }

    /// The type and the number of the elements.
    fn array_start(&mut self, name: &str) -> Result<(ValueType, u64), ConvertError> {
        let element = self.value_type(name)?;
        if element == ValueType::Array {
            return Err(invalid(format!("the field {name:?} is an array of arrays")));
        }
        Ok((element, self.u64(name)?))
    }

    fn skip_value(&mut self, name: &str, value_type: ValueType) -> Result<(), ConvertError> {
        match value_type {
            ValueType::Array => {
                let (element, count) = self.array_start(name)?;
                self.skip_elements(name, element, count)
            }
            other => self.skip_elements(name, other, 1),
        }
    }

    fn skip_elements(
        &mut self,
        name: &str,
        element: ValueType,
        count: u64,
    ) -> Result<(), ConvertError> {
        if let Some(bytes) = element.bytes() {
            return self.skip(bytes.saturating_mul(count), name);
        }
        for _ in 0..count {
            let length = self.u64(name)?;
            self.skip(length, name)?;
        }
        Ok(())
    }

    fn skip(&mut self, length: u64, name: &str) -> Result<(), ConvertError> {
        let mut part = self.reader.by_ref().take(length);
        match io::copy(&mut part, &mut io::sink()) {
            Ok(skipped) if skipped == length => Ok(()),
            Ok(_) => Err(cut_off(name)),
            Err(error) => Err(unreadable(&error)),
        }
    }

    /// The name of a field.
    fn name(&mut self) -> Result<String, ConvertError> {
        let name = self.text(MAX_NAME_BYTES, "the name of a field")?;
        String::from_utf8(name).map_err(|_| invalid("the name of a field is not UTF-8"))
    }

    /// A text of at most `limit` bytes.
    fn text(&mut self, limit: u64, name: &str) -> Result<Vec<u8>, ConvertError> {
        let length = self.u64(name)?;
        if length > limit {
            return Err(invalid(format!(
                "{name}: a text of {length} bytes is too long"
            )));
        }
        let mut text = Vec::new();
        self.append(length, name, &mut text)?;
        Ok(text)
    }

    /// The bytes of `count` elements.
    fn elements(&mut self, size: u64, count: u64, name: &str) -> Result<Vec<u8>, ConvertError> {
        let mut bytes = Vec::new();
        self.append(size.saturating_mul(count), name, &mut bytes)?;
        Ok(bytes)
    }

    /// Appends `length` bytes. The memory grows as bytes arrive.
    fn append(&mut self, length: u64, name: &str, to: &mut Vec<u8>) -> Result<(), ConvertError> {
        let mut part = self.reader.by_ref().take(length);
        match part.read_to_end(to) {
            Ok(read) if read as u64 == length => Ok(()),
            Ok(_) => Err(cut_off(name)),
            Err(error) => Err(unreadable(&error)),
        }
    }

    fn u32(&mut self, name: &str) -> Result<u32, ConvertError> {
        self.array(name).map(u32::from_le_bytes)
    }

    fn u64(&mut self, name: &str) -> Result<u64, ConvertError> {
        self.array(name).map(u64::from_le_bytes)
    }

    /// A number of so many bytes, with zeros above.
    fn number(&mut self, bytes: u64, name: &str) -> Result<[u8; 8], ConvertError> {
        let mut number = self.elements(1, bytes, name)?;
        number.resize(8, 0);
        number.try_into().map_err(|_| cut_off(name))
    }

    fn array<const LENGTH: usize>(&mut self, name: &str) -> Result<[u8; LENGTH], ConvertError> {
        let mut bytes = [0; LENGTH];
        match self.reader.read_exact(&mut bytes) {
            Ok(()) => Ok(bytes),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(cut_off(name)),
            Err(error) => Err(unreadable(&error)),
        }
    }
}

/// The four bytes of a number.
fn four(bytes: &[u8]) -> [u8; 4] {
    bytes.try_into().unwrap_or_default()
}

fn cut_off(name: &str) -> ConvertError {
    invalid(format!(
        "it ends in {name:?}, or the header is longer than 1 GiB; fetch or write the file again"
    ))
}

fn unreadable(error: &io::Error) -> ConvertError {
    invalid(format!("it cannot be read: {error}"))
}
