//! The bytes of a `.model` file, read as protobuf's wire format.
//!
//! In: bytes that nobody vouches for. Out: the pieces, in one pass and straight into their table, and the
//! specs, cleaned so that the generated code can read them.
//!
//! Two things make this more than a call of the generated code. A field whose number is known but whose wire
//! type is another one is a field that we do not know (forks reuse numbers): protobuf's own libraries pass
//! over it, prost refuses the file. And a message for each of 250,000 pieces is slow to build. Whatever is
//! passed over here is still written when the model is saved, which writes the file as it was.
//!
//! Cost: linear; nothing is copied but texts.

use crate::error::{ModelError, PieceProblem};
use crate::model::proto::model_proto::sentence_piece::Type;
use crate::piece::{PieceKind, PieceTable};

/// Groups within groups that are followed down; protobuf's own limit.
const DEPTH_LIMIT: u32 = 100;

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Value<'b> {
    Varint(u64),
    Fixed64,
    Bytes(&'b [u8]),
    Group,
    Fixed32([u8; 4]),
}

/// What a known field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldType {
    Number,
    Float,
    Bytes,
}

/// The parts of a file that matter for running it.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) pieces: PieceTable,
    /// Known fields only, as are the others; `None` if the file has no such spec.
    pub(super) trainer_spec: Option<Vec<u8>>,
    pub(super) normalizer_spec: Option<Vec<u8>>,
    pub(super) denormalizer_spec: Option<Vec<u8>>,
}

/// Takes a file apart.
///
/// # Errors
/// The bytes are no message, or a piece is empty: a file may hold so many of them that their table would be
/// many times as large as the file, so they are not even read.
pub(super) fn read(bytes: &[u8]) -> Result<Parts, ModelError> {
    let format = |problem| ModelError::Format { offset: 0, problem };
    // A piece of a trained model takes some 15 bytes, 9 of which are no text. What is not used is not touched.
    let pieces = PieceTable::with_capacity(bytes.len() / 12, bytes.len() / 2);
    let mut parts = Parts {
        pieces,
        ..Parts::default()
    };
    let mut reader = Reader { rest: bytes };
    loop {
        while let Some((text, score)) = reader.usual_piece() {
            parts.pieces.push(text, score, PieceKind::Normal);
        }
        let Some((number, value, _)) = reader.field(0).map_err(format)? else {
            break;
        };
        let Value::Bytes(message) = value else {
            continue;
        };
        let (spec, known): (_, fn(u32) -> Option<FieldType>) = match number {
            1 => {
                let (text, score, kind) = read_piece(message).map_err(format)?;
                if text.is_empty() {
                    return Err(ModelError::Piece {
                        id: parts.pieces.len(),
                        text: String::new(),
                        problem: PieceProblem::Empty,
                    });
                }
                parts.pieces.push(text, score, kind);
                continue;
            }
            2 => (&mut parts.trainer_spec, trainer_field),
            3 => (&mut parts.normalizer_spec, normalizer_field),
            5 => (&mut parts.denormalizer_spec, normalizer_field),
            _ => continue,
        };
        // A spec that is there twice is one spec: protobuf merges them, as joining their bytes does.
        copy_known(message, known, spec.get_or_insert_default()).map_err(format)?;
    }
    Ok(parts)
}

/// Text, score and kind of a piece.
fn read_piece(message: &[u8]) -> Result<(&[u8], f32, PieceKind), &'static str> {
    let (mut text, mut score, mut kind) = (&[][..], 0.0, PieceKind::Normal);
    let mut reader = Reader { rest: message };
    while let Some((number, value, _)) = reader.field(0)? {
        match (number, value) {
            (1, Value::Bytes(bytes)) => text = bytes,
            (2, Value::Fixed32(bytes)) => score = f32::from_le_bytes(bytes),
            (3, Value::Varint(number)) => {
                let known = i32::try_from(number)
                    .ok()
                    .and_then(|number| Type::try_from(number).ok());
                kind = known.map_or(kind, PieceKind::from);
            }
            _ => {}
        }
    }
    Ok((text, score, kind))
}

/// Appends the fields of `message` that are `known` and of the right wire type.
fn copy_known(
    message: &[u8],
    known: fn(u32) -> Option<FieldType>,
    out: &mut Vec<u8>,
) -> Result<(), &'static str> {
    let mut reader = Reader { rest: message };
    while let Some((number, value, raw)) = reader.field(0)? {
        let is_known = match value {
            Value::Varint(_) => known(number) == Some(FieldType::Number),
            Value::Fixed32(_) => known(number) == Some(FieldType::Float),
            Value::Bytes(_) => known(number) == Some(FieldType::Bytes),
            Value::Fixed64 | Value::Group => false,
        };
        if is_known {
            out.extend_from_slice(raw);
        }
    }
    Ok(())
}

/// The fields of `TrainerSpec`, but for the lists: nothing that runs a model asks for them, and a list of
/// nothing, two bytes an entry, would take many times its size in memory.
fn trainer_field(number: u32) -> Option<FieldType> {
    match number {
        2 | 7 | 36 | 44..=48 | 53 | 54 => Some(FieldType::Bytes),
        3 | 4 | 6 | 11..=14 | 16..=26 | 32..=35 | 40..=43 | 49 | 50 | 52 | 55 => {
            Some(FieldType::Number)
        }
        10 | 15 | 51 => Some(FieldType::Float),
        _ => None,
    }
}

/// The fields of `NormalizerSpec`.
fn normalizer_field(number: u32) -> Option<FieldType> {
    match number {
        1 | 2 | 6 => Some(FieldType::Bytes),
        3..=5 | 7 | 8 => Some(FieldType::Number),
        _ => None,
    }
}

/// One field: its number, its value, and all of its bytes.
type Field<'b> = (u32, Value<'b>, &'b [u8]);

/// A cursor over fields.
struct Reader<'b> {
    rest: &'b [u8],
}

impl<'b> Reader<'b> {
    /// The text and the score of a piece, if the next field is one as most are: a short text and a score, in
    /// this order, and nothing else. Nothing is read otherwise.
    #[inline]
    fn usual_piece(&mut self) -> Option<(&'b [u8], f32)> {
        let [
            0x0A,
            length @ ..0x80,
            0x0A,
            text_length @ 1..=0x78,
            rest @ ..,
        ] = self.rest
        else {
            return None;
        };
        // What is no text: its tag and length, and five bytes of score.
        if usize::from(*length) != usize::from(*text_length) + 7 {
            return None;
        }
        let (text, [0x15, a, b, c, d, rest @ ..]) =
            rest.split_at_checked(usize::from(*text_length))?
        else {
            return None;
        };
        self.rest = rest;
        Some((text, f32::from_le_bytes([*a, *b, *c, *d])))
    }

    /// The next field; `None` at the end.
    fn field(&mut self, depth: u32) -> Result<Option<Field<'b>>, &'static str> {
        let start = self.rest;
        if start.is_empty() {
            return Ok(None);
        }
        let tag =
            u32::try_from(self.varint()?).map_err(|_| "a field has a number that is too large")?;
        let (number, wire_type) = (tag >> 3, tag & 7);
        if number == 0 {
            return Err("a field has the number 0");
        }
        let value = match wire_type {
            0 => Value::Varint(self.varint()?),
            1 => self.take(8).map(|_| Value::Fixed64)?,
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| CUT_SHORT)?;
                Value::Bytes(self.take(length)?)
            }
            3 => self.group(number, depth)?,
            5 => Value::Fixed32(self.take(4)?.try_into().map_err(|_| CUT_SHORT)?),
            _ => return Err("a field has an unknown wire type"),
        };
        Ok(Some((
            number,
            value,
            &start[..start.len() - self.rest.len()],
        )))
    }

    /// Passes over a group to its end.
    fn group(&mut self, number: u32, depth: u32) -> Result<Value<'b>, &'static str> {
        if depth >= DEPTH_LIMIT {
            return Err("groups are nested too deeply");
        }
        let end = u64::from(number << 3 | 4);
        loop {
            let mut ahead = Reader { rest: self.rest };
            if ahead.varint()? == end {
                self.rest = ahead.rest;
                return Ok(Value::Group);
            }
            self.field(depth + 1)?.ok_or(CUT_SHORT)?;
        }
    }

    #[inline]
    fn varint(&mut self) -> Result<u64, &'static str> {
        if let [byte @ ..0x80, rest @ ..] = self.rest {
            self.rest = rest;
            return Ok(u64::from(*byte));
        }
        let mut value = 0;
        for (at, byte) in self.rest.iter().enumerate().take(10) {
            value |= u64::from(byte & 0x7F) << (7 * at);
            if byte & 0x80 == 0 {
                self.rest = &self.rest[at + 1..];
                return Ok(value);
            }
        }
        Err(if self.rest.len() < 10 {
            CUT_SHORT
        } else {
            "a number has more than 64 bits"
        })
    }

    fn take(&mut self, length: usize) -> Result<&'b [u8], &'static str> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(CUT_SHORT)?;
        self.rest = rest;
        Ok(taken)
    }
}

const CUT_SHORT: &str = "it ends in the middle of a field";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_read_and_strange_fields_passed_over() {
        let piece = [
            &b"\x0a\x02ab\x15"[..],
            &(-1.5f32).to_le_bytes(),
            b"\x18\x05",
            b"\xc2\x0c\x01x",
        ]
        .concat();
        let mut file = vec![0x0a, u8::try_from(piece.len()).unwrap()];
        file.extend(&piece);
        file.extend(b"\x0a\x03\x0a\x01c"); // a piece with nothing but a text
        file.extend(b"\x12\x07\x18\x02\x92\x03\x02xy"); // trainer_spec: model_type, and 50 as bytes
        file.extend(b"\x22\x01\xff"); // self_test_data that is none
        file.extend(b"\xa3\x06\x08\x01\xa4\x06"); // a group
        let parts = read(&file).unwrap();
        assert_eq!(
            (
                parts.pieces.len(),
                parts.pieces.text(0),
                parts.pieces.score(0)
            ),
            (2, &b"ab"[..], -1.5)
        );
        assert_eq!(
            (parts.pieces.kind(0), parts.pieces.kind(1)),
            (PieceKind::Unused, PieceKind::Normal)
        );
        assert_eq!(
            (parts.trainer_spec.as_deref(), parts.normalizer_spec),
            (Some(&b"\x18\x02"[..]), None)
        );
        for end in 1..file.len() {
            // Whether a cut file can be read or not, it must not panic.
            let _ = read(&file[..end]);
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let cases: &[&[u8]] = &[
            b"\x00\x00",
            b"\x0a\x00",
            b"\x0a\x05ab",
            b"\x0a",
            b"\x0e",
            b"\x0c",
            b"\x0b\x08\x01",
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"hello, world",
            &[0x0b; 200],
        ];
        for bytes in cases {
            assert!(read(bytes).is_err(), "{bytes:?}");
        }
    }
}
