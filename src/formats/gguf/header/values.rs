//! The values of the fields of a GGUF header.
//!
//! Arrays of the element types that a tokenizer has are read, all others are skipped. Arrays of
//! arrays and unknown types are errors.

use std::io::Read;

use super::{GgufValue, HeaderSource, MAX_HEADER_BYTES, TextList, invalid};
use crate::formats::gguf::GgufResult;

/// The types of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueType {
    /// An integer of this many bytes.
    Unsigned(u64),
    Signed(u64),
    F32,
    F64,
    Bool,
    Text,
    Array,
}

impl<R: Read> HeaderSource<R> {
    /// The type of the value that follows.
    pub(super) fn value_type(&mut self) -> GgufResult<ValueType> {
        Ok(match self.u32()? {
            0 => ValueType::Unsigned(1),
            1 => ValueType::Signed(1),
            2 => ValueType::Unsigned(2),
            3 => ValueType::Signed(2),
            4 => ValueType::Unsigned(4),
            5 => ValueType::Signed(4),
            6 => ValueType::F32,
            7 => ValueType::Bool,
            8 => ValueType::Text,
            9 => ValueType::Array,
            10 => ValueType::Unsigned(8),
            11 => ValueType::Signed(8),
            12 => ValueType::F64,
            number => {
                let field = &self.part;
                return Err(invalid(format!(
                    "the field {field:?} has the unknown type {number}"
                )));
            }
        })
    }

    pub(super) fn value(&mut self, value_type: ValueType) -> GgufResult<GgufValue> {
        Ok(match value_type {
            ValueType::Unsigned(bytes) => {
                let number = u64::from_le_bytes(self.number(bytes)?).try_into();
                GgufValue::Integer(
                    number.map_err(|_| {
                        invalid(format!("the number of {:?} is too large", self.part))
                    })?,
                )
            }
            ValueType::Signed(bytes) => {
                let number = i64::from_le_bytes(self.number(bytes)?);
                // The bytes above those of the number are 0; the shifts extend the sign.
                let unused = 64 - 8 * bytes;
                GgufValue::Integer(number << unused >> unused)
            }
            ValueType::F32 => GgufValue::Float(f32::from_le_bytes(self.array()?).into()),
            ValueType::F64 => GgufValue::Float(f64::from_le_bytes(self.array()?)),
            ValueType::Bool => match self.array()? {
                [0] => GgufValue::Bool(false),
                [1] => GgufValue::Bool(true),
                [other] => {
                    let field = &self.part;
                    return Err(invalid(format!(
                        "{field:?} is {other}, which is no truth value"
                    )));
                }
            },
            ValueType::Text => GgufValue::Text(self.text(MAX_HEADER_BYTES)?),
            ValueType::Array => self.array_value()?,
        })
    }

    /// A little-endian number of this many bytes, padded with zeros.
    fn number(&mut self, bytes: u64) -> GgufResult<[u8; 8]> {
        let mut number = self.bytes(bytes)?;
        number.resize(8, 0);
        number.try_into().map_err(|_| self.cut_off())
    }

    /// Reads an array. Arrays of element types that no tokenizer has are skipped.
    fn array_value(&mut self) -> GgufResult<GgufValue> {
        let (element, count) = self.array_start()?;
        match element {
            ValueType::F32 => {
                let bytes = self.bytes(count.saturating_mul(4))?;
                let floats = fours(&bytes).map(f32::from_le_bytes);
                Ok(GgufValue::Floats(floats.collect()))
            }
            ValueType::Signed(4) | ValueType::Unsigned(4) => {
                let bytes = self.bytes(count.saturating_mul(4))?;
                let integers = fours(&bytes).map(i32::from_le_bytes);
                Ok(GgufValue::Integers(integers.collect()))
            }
            ValueType::Signed(1) | ValueType::Unsigned(1) => {
                self.bytes(count).map(GgufValue::Bytes)
            }
            ValueType::Text => {
                let mut texts = TextList::default();
                for _ in 0..count {
                    let length = self.u64()?;
                    self.append(length, &mut texts.bytes)?;
                    texts.ends.push(texts.bytes.len());
                }
                Ok(GgufValue::Texts(texts))
            }
            other => {
                self.skip_elements(other, count)?;
                Ok(GgufValue::OtherArray)
            }
        }
    }

    /// Reads the type and the number of the elements.
    fn array_start(&mut self) -> GgufResult<(ValueType, u64)> {
        match self.value_type()? {
            ValueType::Array => Err(invalid(format!(
                "the field {:?} is an array of arrays",
                self.part
            ))),
            element => Ok((element, self.u64()?)),
        }
    }

    pub(super) fn skip_value(&mut self, value_type: ValueType) -> GgufResult<()> {
        let (element, count) = match value_type {
            ValueType::Array => self.array_start()?,
            other => (other, 1),
        };
        self.skip_elements(element, count)
    }

    fn skip_elements(&mut self, element: ValueType, count: u64) -> GgufResult<()> {
        let bytes = match element {
            ValueType::Unsigned(bytes) | ValueType::Signed(bytes) => bytes,
            ValueType::F32 => 4,
            ValueType::F64 => 8,
            ValueType::Bool => 1,
            ValueType::Text | ValueType::Array => {
                for _ in 0..count {
                    let length = self.u64()?;
                    self.skip(length)?;
                }
                return Ok(());
            }
        };
        self.skip(bytes.saturating_mul(count))
    }
}

/// The bytes of numbers of four bytes.
fn fours(bytes: &[u8]) -> impl Iterator<Item = [u8; 4]> {
    bytes.as_chunks().0.iter().copied()
}
