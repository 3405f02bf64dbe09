//! The bytes that SentencePiece 0.2.3 writes for a model that it has read: what its
//! `serialized_model_proto` returns.
//!
//! The reference keeps a parsed message. Writing it puts the fields of each message in the order of
//! their numbers, joins the parts of a message that occurs twice, keeps the last value of a field,
//! and puts unknown fields after the known ones. In models with byte fallback, a piece whose text
//! is a NUL becomes unused when the model is loaded.

use super::Model;
use super::file::field::{
    DENORMALIZER_SPEC, KIND, NORMALIZER_SPEC, PIECE, SCORE, TEXT, TRAINER_SPEC,
};
use super::file::{kind_from_number, kind_number};
use super::spec::{NormalizerSpec, Spec, TrainerSpec};
use super::wire::{
    Field, Problem, Reader, Value, write_bytes_field, write_float_field, write_unknown_field,
    write_varint_field,
};
use crate::model::ModelError;
use crate::piece::PieceKind;

/// Fields of `NormalizerSpec` that only forks of the reference have.
const FIELDS_OF_FORKS: [u32; 2] = [7, 8];

impl Model {
    /// The bytes of the model as SentencePiece 0.2.3 writes them after it has read
    /// [`to_bytes`](Self::to_bytes). They differ from those only if another program wrote the file,
    /// or if a piece of a model with byte fallback is a NUL.
    ///
    /// # Errors
    /// [`ModelError::Format`], which a model that was loaded never gives.
    ///
    /// ```
    /// let model = spiece::Model::open("testdata/golden/llama2.model")?;
    /// assert_eq!(model.to_reference_bytes()?, model.to_bytes());
    /// # Ok::<(), spiece::OpenError>(())
    /// ```
    pub fn to_reference_bytes(&self) -> Result<Vec<u8>, ModelError> {
        let retires_nul = self.trainer_spec.byte_fallback();
        reference_bytes(&self.file, retires_nul)
            .map_err(|problem| ModelError::Format { offset: 0, problem })
    }
}

fn reference_bytes(file: &[u8], retires_nul: bool) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::with_capacity(file.len());
    let (mut trainer, mut normalizer, mut denormalizer) = (None, None, None);
    let mut unknown = Vec::new();
    let mut reader = Reader::new(file);
    while let Some(field) = reader.field()? {
        // The parts of a message follow each other in the joined message.
        let join = |spec: &mut Option<Vec<u8>>, part: &[u8]| {
            spec.get_or_insert_default().extend_from_slice(part);
        };
        match (field.number, field.value) {
            (PIECE, Value::Bytes(message)) => {
                write_bytes_field(PIECE, &piece(message, retires_nul)?, &mut bytes);
            }
            (TRAINER_SPEC, Value::Bytes(part)) => join(&mut trainer, part),
            (NORMALIZER_SPEC, Value::Bytes(part)) => join(&mut normalizer, part),
            (DENORMALIZER_SPEC, Value::Bytes(part)) => join(&mut denormalizer, part),
            _ => write_unknown_field(&field, &mut unknown),
        }
    }
    if let Some(message) = trainer {
        write_bytes_field(
            TRAINER_SPEC,
            &spec::<TrainerSpec>(&message, &[])?,
            &mut bytes,
        );
    }
    for (number, message) in [
        (NORMALIZER_SPEC, normalizer),
        (DENORMALIZER_SPEC, denormalizer),
    ] {
        if let Some(message) = message {
            let spec = spec::<NormalizerSpec>(&message, &FIELDS_OF_FORKS)?;
            write_bytes_field(number, &spec, &mut bytes);
        }
    }
    bytes.extend_from_slice(&unknown);
    Ok(bytes)
}

fn piece(message: &[u8], retires_nul: bool) -> Result<Vec<u8>, Problem> {
    let mut text: Option<&[u8]> = None;
    let mut score = None;
    let mut kind = None;
    let mut unknown = Vec::new();
    let mut reader = Reader::nested(message);
    while let Some(field) = reader.field()? {
        match (field.number, field.value) {
            (TEXT, Value::Bytes(bytes)) => text = Some(bytes),
            (SCORE, Value::Fixed32(bytes)) => score = Some(f32::from_le_bytes(bytes)),
            (KIND, Value::Varint(number)) if kind_from_number(number).is_some() => {
                kind = kind_from_number(number);
            }
            _ => write_unknown_field(&field, &mut unknown),
        }
    }
    if retires_nul && text == Some(b"\0") {
        kind = Some(PieceKind::Unused);
    }
    let mut piece = Vec::with_capacity(message.len() + 2);
    if let Some(text) = text {
        write_bytes_field(TEXT, text, &mut piece);
    }
    if let Some(score) = score {
        write_float_field(SCORE, score, &mut piece);
    }
    if let Some(kind) = kind {
        write_varint_field(KIND, kind_number(kind), &mut piece);
    }
    piece.extend_from_slice(&unknown);
    Ok(piece)
}

/// A spec, in which `unknown_numbers` are unknown.
fn spec<S: Spec>(message: &[u8], unknown_numbers: &[u32]) -> Result<Vec<u8>, Problem> {
    let mut spec = S::default();
    let mut unknown = Vec::new();
    let mut reader = Reader::nested(message);
    while let Some(field) = reader.field()? {
        let Field { number, value, .. } = field;
        if unknown_numbers.contains(&number) || !spec.merge_field(number, value) {
            write_unknown_field(&field, &mut unknown);
        }
    }
    let mut bytes = spec.encode();
    bytes.extend_from_slice(&unknown);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the wheel of SentencePiece 0.2.3 returned for these files.
    #[test]
    fn files_are_written_as_the_reference_writes_them() {
        let cases: &[(&[u8], &[u8])] = &[
            // The fields of messages and of the file in another order.
            (
                b"\x12\x04 \x09\x18\x04\x0a\x05\x18\x02\x0a\x01?\x0a\x08\x0a\x01a\x15\x00\x00\x80\xbf",
                b"\x0a\x05\x0a\x01?\x18\x02\x0a\x08\x0a\x01a\x15\x00\x00\x80\xbf\x12\x04\x18\x04 \x09",
            ),
            // A spec in two parts, a list in it, and fields that occur twice.
            (
                b"\x0a\x05\x0a\x01?\x18\x02\x12\x06\xf2\x01\x01x \x01\x0a\x08\x0a\x01b\x0a\x01a\x18\x01\x12\x08\xf2\x01\x01y \x02\x18\x04",
                b"\x0a\x05\x0a\x01?\x18\x02\x0a\x05\x0a\x01a\x18\x01\x12\x0c\x18\x04 \x02\xf2\x01\x01x\xf2\x01\x01y",
            ),
            // Unknown fields of every wire type; the self test of older releases.
            (
                b"\xe0\x12\x85\x00\x22\x01t\x0a\x05\x0a\x01?\x18\x02\x0a\x13Mabcd\x0a\x01aAabcdefgh\x18\x09\x12\x02\x18\x04S\x08\x05T",
                b"\x0a\x05\x0a\x01?\x18\x02\x0a\x13\x0a\x01aMabcdAabcdefgh\x18\x09\x12\x02\x18\x04\xe0\x12\x05\x22\x01tS\x08\x05T",
            ),
            // Numbers that are longer than necessary, and a number in place of a text.
            (
                b"\x0a\x05\x0a\x01?\x18\x02\x0a\x08\x0a\x01a\x15\x00\x00\x80\xbf\x12\x0f\x18\x84\x00 \xff\xff\xff\xff\xff\x01\xc8\x01\x028\x01",
                b"\x0a\x05\x0a\x01?\x18\x02\x0a\x08\x0a\x01a\x15\x00\x00\x80\xbf\x12\x12\x18\x04 \xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xc8\x01\x018\x01",
            ),
            // A field of a fork in a normalizer, and specs without fields.
            (
                b"\x0a\x05\x0a\x01?\x18\x02\x0a\x08\x0a\x01a\x15\x00\x00\x80\xbf\x1a\x048\x01\x18\x00*\x00\x12\x02\x18\x04",
                b"\x0a\x05\x0a\x01?\x18\x02\x0a\x08\x0a\x01a\x15\x00\x00\x80\xbf\x12\x02\x18\x04\x1a\x04\x18\x008\x01*\x00",
            ),
        ];
        for (file, expected) in cases {
            let model = Model::from_bytes(file).unwrap();
            assert_eq!(model.to_reference_bytes().unwrap(), *expected, "{file:?}");
        }
    }

    #[test]
    fn a_nul_is_unused_with_byte_fallback_only() {
        let nul = b"\x0a\x08\x0a\x01\0\x15\0\0\0\0";
        let unused = b"\x0a\x0a\x0a\x01\0\x15\0\0\0\0\x18\x05";
        assert_eq!(reference_bytes(nul, true).unwrap(), unused);
        assert_eq!(reference_bytes(nul, false).unwrap(), nul);
    }
}
