//! Replaces changed fields of a message and keeps all other bytes.
//!
//! Input: a message (or the parts of one, if a file has it several times), and for each changed
//! field its new encoding. Output: the message with the new encodings. Where a new encoding goes:
//!
//! - where the last value of the field was; earlier values, which had no effect, are removed;
//! - if the field was absent, before the first field with a higher number (writers put fields in
//!   the order of their numbers), else at the end.
//!
//! Example: in the piece message `0a 01 61 18 03` (text "a", type control), a new score
//! `15 00 00 80 3f` goes between the two fields: `0a 01 61 15 00 00 80 3f 18 03`.
//!
//! Cost: linear in the message for each changed field.

use std::iter;

use crate::model::wire::{Field, Reader, write_bytes};

/// A field and its new encoding: a tag and a value, several of them for a list, or nothing if the
/// field is removed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Change {
    pub(super) number: u32,
    pub(super) encoding: Vec<u8>,
}

/// Distinguishes fields that have an effect from unknown fields with the same number.
type IsValue<'f> = &'f dyn Fn(&Field<'_>) -> bool;

/// A position between fields: the part of the message, and the number of fields of that part before
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Position {
    part: usize,
    fields_before: usize,
}

/// Applies changes, ascending by number, to the parts of a message.
pub(super) fn splice(parts: &[&[u8]], changes: &[Change], is_value: IsValue<'_>) -> Vec<Vec<u8>> {
    let message = Message { parts, is_value };
    let positions = changes.iter().map(|change| message.position(change.number));
    let splicer = Splicer {
        positions: positions.collect(),
        message,
        changes,
    };
    (0..parts.len()).map(|part| splicer.rewrite(part)).collect()
}

/// The parts of a message, and the predicate for fields that have an effect.
struct Message<'m> {
    parts: &'m [&'m [u8]],
    is_value: IsValue<'m>,
}

impl Message<'_> {
    /// Where the new encoding of a field goes.
    fn position(&self, number: u32) -> Position {
        let last = self.last_value(number);
        last.unwrap_or_else(|| self.absent_position(number))
    }

    /// The position of the last value of a field; `None` if the field is absent.
    fn last_value(&self, number: u32) -> Option<Position> {
        (0..self.parts.len())
            .rev()
            .find_map(|part| self.last_value_in(part, number))
    }

    /// The position of the last value of a field in one part.
    fn last_value_in(&self, part: usize, number: u32) -> Option<Position> {
        let is_same =
            |(_, field): &(usize, Field<'_>)| field.number == number && (self.is_value)(field);
        let values = fields(self.parts[part]).enumerate().filter(is_same);
        let (fields_before, _) = values.last()?;
        Some(Position {
            part,
            fields_before,
        })
    }

    /// The position of a field that is absent: in the last part, before the first field with a
    /// higher number.
    fn absent_position(&self, number: u32) -> Position {
        let last = self.parts.last().copied().unwrap_or_default();
        let lower = fields(last).take_while(|field| field.number <= number);
        Position {
            part: self.parts.len().saturating_sub(1),
            fields_before: lower.count(),
        }
    }
}

/// Changes with their positions in a message.
struct Splicer<'c> {
    message: Message<'c>,
    changes: &'c [Change],
    /// Where the new encoding of each change goes.
    positions: Vec<Position>,
}

impl Splicer<'_> {
    /// The part with this index, with its changes.
    fn rewrite(&self, part: usize) -> Vec<u8> {
        let message = self.message.parts[part];
        let mut out = Vec::with_capacity(message.len() + 16);
        let mut position = Position {
            part,
            fields_before: 0,
        };
        for field in fields(message) {
            self.write_encodings(position, &mut out);
            if !self.is_replaced(&field) {
                out.extend_from_slice(field.raw);
            }
            position.fields_before += 1;
        }
        self.write_encodings(position, &mut out);
        out
    }

    /// Appends the new encodings that go to `position`.
    fn write_encodings(&self, position: Position, out: &mut Vec<u8>) {
        for (change, at) in self.changes.iter().zip(&self.positions) {
            if *at == position {
                out.extend_from_slice(&change.encoding);
            }
        }
    }

    /// Whether a change has a new encoding for the field.
    fn is_replaced(&self, field: &Field<'_>) -> bool {
        (self.message.is_value)(field) && self.has_change(field.number)
    }

    /// Whether there is a change of the field with this number.
    fn has_change(&self, number: u32) -> bool {
        self.changes.iter().any(|change| change.number == number)
    }
}

/// The fields of a message that was read before, so that reading it cannot fail.
fn fields(message: &[u8]) -> impl Iterator<Item = Field<'_>> {
    let mut reader = Reader::nested(message);
    iter::from_fn(move || reader.field().ok().flatten())
}

/// The field `raw` with another message as its value. Its tag stays as it is.
pub(super) fn with_message(raw: &[u8], message: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&raw[..tag_length(raw)]);
    write_bytes(message, out);
}

/// The length of the tag at the start of a field.
fn tag_length(raw: &[u8]) -> usize {
    let end = raw.iter().position(|byte| byte & 0x80 == 0);
    end.map_or(raw.len(), |end| end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::wire::Value;

    fn change(number: u32, encoding: &[u8]) -> Change {
        let encoding = encoding.to_vec();
        Change { number, encoding }
    }

    fn is_number(field: &Field<'_>) -> bool {
        matches!(field.value, Value::Varint(_))
    }

    #[test]
    fn an_absent_field_goes_before_higher_numbers() {
        let message = &b"\x08\x01\x28\x05"[..]; // fields 1 and 5
        let cases: [(u32, &[u8], &[u8]); 3] = [
            (3, b"\x18\x03", b"\x08\x01\x18\x03\x28\x05"),
            (6, b"\x30\x06", b"\x08\x01\x28\x05\x30\x06"),
            (5, b"\x28\x07", b"\x08\x01\x28\x07"),
        ];
        for (number, encoding, expected) in cases {
            let spliced = splice(&[message], &[change(number, encoding)], &is_number);
            assert_eq!(spliced, [expected]);
        }
    }

    #[test]
    fn the_last_value_is_replaced_and_unknown_fields_stay() {
        // Field 1 twice in the first part, as bytes (unknown) and a number in the second one.
        let parts = [&b"\x08\x01\x08\x02"[..], &b"\x0a\x01x\x08\x03\x10\x00"[..]];
        let spliced = splice(&parts, &[change(1, b"\x08\x09")], &is_number);
        assert_eq!(spliced, [&b""[..], &b"\x0a\x01x\x08\x09\x10\x00"[..]]);
        let removed = splice(&parts, &[change(1, b"")], &is_number);
        assert_eq!(removed, [&b""[..], &b"\x0a\x01x\x10\x00"[..]]);
    }

    #[test]
    fn a_long_tag_is_kept() {
        let mut out = Vec::new();
        with_message(b"\x8a\x80\x00\x81\x00x", b"ab", &mut out);
        assert_eq!(out, b"\x8a\x80\x00\x02ab");
    }
}
