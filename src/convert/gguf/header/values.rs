//! The values of the fields of a GGUF header.
//!
//! Input: a [`HeaderSource`] at the type of a value. Output: the value, or nothing if it is
//! skipped. Arrays of the element types that a tokenizer has are read, all others are skipped.
//! Arrays of arrays and unknown types are errors.

use std::io::Read;

use super::{GgufValue, HeaderSource, MAX_HEADER_BYTES, TextList, invalid};
use crate::convert::gguf::GgufResult;
use crate::error::ConvertError;

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

    /// The size of a value in bytes; `None` if it varies.
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

impl<R: Read> HeaderSource<R> {
    /// The type of the value that follows.
    pub(super) fn value_type(&mut self) -> GgufResult<ValueType> {
        let number = self.u32()?;
        ValueType::of_number(number).ok_or_else(|| self.unknown_type(number))
    }

    fn unknown_type(&self, number: u32) -> ConvertError {
        let field = &self.part;
        invalid(format!("the field {field:?} has the unknown type {number}"))
    }

    pub(super) fn value(&mut self, value_type: ValueType) -> GgufResult<GgufValue> {
        match value_type {
            ValueType::Unsigned(bytes) => self.unsigned(bytes).map(GgufValue::Integer),
            ValueType::Signed(bytes) => self.signed(bytes).map(GgufValue::Integer),
            ValueType::F32 => self.f32().map(GgufValue::Float),
            ValueType::F64 => self.f64().map(GgufValue::Float),
            ValueType::Bool => self.bool().map(GgufValue::Bool),
            ValueType::Text => self.text(MAX_HEADER_BYTES).map(GgufValue::Text),
            ValueType::Array => self.array_value(),
        }
    }

    /// An unsigned number of this many bytes. Fails above `i64::MAX`.
    fn unsigned(&mut self, bytes: u64) -> GgufResult<i64> {
        let number = u64::from_le_bytes(self.number(bytes)?);
        number.try_into().map_err(|_| self.too_large())
    }

    fn too_large(&self) -> ConvertError {
        invalid(format!("the number of {:?} is too large", self.part))
    }

    /// A signed number of this many bytes.
    fn signed(&mut self, bytes: u64) -> GgufResult<i64> {
        let number = i64::from_le_bytes(self.number(bytes)?);
        // The bytes above those of the number are 0; the shifts extend the sign.
        let unused = 64 - 8 * bytes;
        Ok(number << unused >> unused)
    }

    fn f32(&mut self) -> GgufResult<f64> {
        self.array().map(f32::from_le_bytes).map(f64::from)
    }

    fn f64(&mut self) -> GgufResult<f64> {
        self.array().map(f64::from_le_bytes)
    }

    fn bool(&mut self) -> GgufResult<bool> {
        match self.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [other] => Err(self.no_truth_value(other)),
        }
    }

    fn no_truth_value(&self, value: u8) -> ConvertError {
        let field = &self.part;
        invalid(format!("{field:?} is {value}, which is no truth value"))
    }

    /// Reads an array. Arrays of element types that no tokenizer has are skipped.
    fn array_value(&mut self) -> GgufResult<GgufValue> {
        let (element, count) = self.array_start()?;
        match element {
            ValueType::F32 => self.floats(count).map(GgufValue::Floats),
            ValueType::Signed(4) | ValueType::Unsigned(4) => {
                self.integers(count).map(GgufValue::Integers)
            }
            ValueType::Signed(1) | ValueType::Unsigned(1) => {
                self.bytes(count).map(GgufValue::Bytes)
            }
            ValueType::Text => self.texts(count).map(GgufValue::Texts),
            other => {
                self.skip_elements(other, count)?;
                Ok(GgufValue::OtherArray)
            }
        }
    }

    /// The bytes of `count` elements.
    fn elements(&mut self, size: u64, count: u64) -> GgufResult<Vec<u8>> {
        self.bytes(size.saturating_mul(count))
    }

    fn floats(&mut self, count: u64) -> GgufResult<Vec<f32>> {
        let bytes = self.elements(4, count)?;
        Ok(fours(&bytes).map(f32::from_le_bytes).collect())
    }

    fn integers(&mut self, count: u64) -> GgufResult<Vec<i32>> {
        let bytes = self.elements(4, count)?;
        Ok(fours(&bytes).map(i32::from_le_bytes).collect())
    }

    fn texts(&mut self, count: u64) -> GgufResult<TextList> {
        let mut texts = TextList::default();
        for _ in 0..count {
            let length = self.u64()?;
            self.append(length, &mut texts.bytes)?;
            texts.ends.push(texts.bytes.len());
        }
        Ok(texts)
    }

    /// Reads the type and the number of the elements.
    fn array_start(&mut self) -> GgufResult<(ValueType, u64)> {
        match self.value_type()? {
            ValueType::Array => Err(self.array_of_arrays()),
            element => Ok((element, self.u64()?)),
        }
    }

    fn array_of_arrays(&self) -> ConvertError {
        invalid(format!("the field {:?} is an array of arrays", self.part))
    }

    pub(super) fn skip_value(&mut self, value_type: ValueType) -> GgufResult<()> {
        let (element, count) = match value_type {
            ValueType::Array => self.array_start()?,
            other => (other, 1),
        };
        self.skip_elements(element, count)
    }

    fn skip_elements(&mut self, element: ValueType, count: u64) -> GgufResult<()> {
        match element.bytes() {
            Some(bytes) => self.skip(bytes.saturating_mul(count)),
            None => self.skip_texts(count),
        }
    }

    fn skip_texts(&mut self, count: u64) -> GgufResult<()> {
        for _ in 0..count {
            let length = self.u64()?;
            self.skip(length)?;
        }
        Ok(())
    }
}

/// The bytes of numbers of four bytes.
fn fours(bytes: &[u8]) -> impl Iterator<Item = [u8; 4]> {
    bytes.as_chunks().0.iter().copied()
}
