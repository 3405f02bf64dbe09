//! The bytes of a `.model` file: read into pieces and specs, and written from them.
//!
//! [`read`] takes untrusted bytes. Pieces go straight into their table, in one pass. The only
//! checks are that the bytes are a message of this shape and that no piece is empty; the other
//! rules for models are in [`validate`](super::validate). Unknown fields are skipped. They are not
//! lost, because a model keeps the bytes that it was read from.
//!
//! A whole file, with two pieces, in its 32 bytes:
//!
//! ```text
//! 0a 0e                      field 1 of ModelProto, 14 bytes: piece 0
//!    0a 05 3c 75 6e 6b 3e       text "<unk>"
//!    15 00 00 00 00             score 0.0
//!    18 02                      type 2: unknown
//! 0a 0a                      field 1 again: piece 1
//!    0a 03 e2 96 81             text "▁"
//!    15 00 00 80 bf             score -1.0; there is no type, so it is 1: normal
//! 12 02                      field 2: trainer_spec
//!    18 02                      model_type 2: BPE
//! ```
//!
//! Ids are not stored: the first piece of the file has id 0, the next one 1, and so on, whatever
//! fields stand between them.

use crate::base::num::low_u32;
use crate::model::{ModelError, PieceProblem};
use crate::piece::{PieceKind, PieceTable};

#[cfg(any(feature = "train", test))]
use super::ModelType;
use super::spec::{NormalizerSpec, Spec, TrainerSpec};
use super::wire::{
    Problem, Reader, Value, write_bytes_field, write_float_field, write_varint_field,
};

/// Numbers of the fields of `ModelProto`.
pub(super) mod field {
    pub(in crate::model) const PIECE: u32 = 1;
    pub(in crate::model) const TRAINER_SPEC: u32 = 2;
    pub(in crate::model) const NORMALIZER_SPEC: u32 = 3;
    pub(in crate::model) const DENORMALIZER_SPEC: u32 = 5;
    /// Fields of a piece.
    pub(in crate::model) const TEXT: u32 = 1;
    pub(in crate::model) const SCORE: u32 = 2;
    pub(in crate::model) const KIND: u32 = 3;
}

/// Everything in a file except its pieces. A spec that the file does not have is `None`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Specs {
    pub(crate) trainer: Option<TrainerSpec>,
    pub(crate) normalizer: Option<NormalizerSpec>,
    pub(crate) denormalizer: Option<NormalizerSpec>,
}

/// The text, score and kind of a piece, as in its message.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct PieceMessage<'b> {
    pub(super) text: &'b [u8],
    pub(super) score: f32,
    pub(super) kind: PieceKind,
}

impl<'b> PieceMessage<'b> {
    /// The message of piece `id`.
    fn of(pieces: &'b PieceTable, id: usize) -> Self {
        Self {
            text: pieces.text(id),
            score: pieces.score(id),
            kind: pieces.kind(id),
        }
    }
}

/// Reads a file.
///
/// # Errors
/// The bytes are not a message, or a piece is empty. Empty pieces are refused here because a small
/// file can have many of them, whose table would take many times the memory of the file.
pub(crate) fn read(file: &[u8]) -> Result<(PieceTable, Specs), ModelError> {
    // A piece of a trained model takes about 15 bytes, of which 9 are not text.
    let mut pieces = PieceTable::with_capacity(file.len() / 12, file.len() / 2);
    let mut specs = Specs::default();
    let mut reader = Reader::new(file);
    loop {
        while let Some((from_text, length, score)) = reader.common_piece() {
            pieces.push_normal(from_text, length, score);
        }
        let offset = file.len() - reader.rest.len();
        let format = |problem| ModelError::Format { offset, problem };
        let Some(field) = reader.field().map_err(format)? else {
            break;
        };
        let Value::Bytes(message) = field.value else {
            continue;
        };
        if field.number == field::PIECE {
            let piece = read_piece(message).map_err(format)?;
            check_not_empty(pieces.len(), piece.text)?;
            pieces.push(piece.text, piece.score, piece.kind);
        } else {
            specs.merge(field.number, message).map_err(format)?;
        }
    }
    Ok((pieces, specs))
}

/// Checks that the text of piece `id` is not empty.
pub(super) fn check_not_empty(id: usize, text: &[u8]) -> Result<(), ModelError> {
    if text.is_empty() {
        return Err(empty_piece(id));
    }
    Ok(())
}

fn empty_piece(id: usize) -> ModelError {
    ModelError::Piece {
        id,
        text: String::new(),
        problem: PieceProblem::Empty,
    }
}

/// Reads the message of a piece.
pub(super) fn read_piece(message: &[u8]) -> Result<PieceMessage<'_>, Problem> {
    let mut piece = PieceMessage::default();
    let mut reader = Reader::nested(message);
    while let Some(field) = reader.field()? {
        match (field.number, field.value) {
            (field::TEXT, Value::Bytes(bytes)) => piece.text = bytes,
            (field::SCORE, Value::Fixed32(bytes)) => piece.score = f32::from_le_bytes(bytes),
            (field::KIND, Value::Varint(number)) => {
                piece.kind = kind_from_number(number).unwrap_or(piece.kind);
            }
            _ => {}
        }
    }
    Ok(piece)
}

/// The self-tests of a file, which releases up to 0.2.2 run when they load it: each a text, and its
/// pieces with spaces between them. Malformed fields are left out.
#[cfg(feature = "formats")]
pub(super) fn self_tests(file: &[u8]) -> Vec<(&[u8], &[u8])> {
    /// The values of all length-delimited fields with this number.
    fn values<'b>(mut reader: Reader<'b>, number: u32) -> impl Iterator<Item = &'b [u8]> {
        let fields = std::iter::from_fn(move || reader.field().ok().flatten());
        fields.filter_map(move |field| match field.value {
            Value::Bytes(bytes) if field.number == number => Some(bytes),
            _ => None,
        })
    }
    // `ModelProto.self_test_data` has number 4; all messages in it begin with field 1.
    let tests = values(Reader::new(file), 4).flat_map(|data| values(Reader::nested(data), 1));
    let value_of = |test, number| values(Reader::nested(test), number).last();
    tests
        .map(|test| (value_of(test, 1), value_of(test, 2)))
        .map(|(text, pieces)| (text.unwrap_or_default(), pieces.unwrap_or_default()))
        .collect()
}

/// The bytes that most pieces take in a file besides their text, at most: tags, lengths, score,
/// kind. Room for all pieces is reserved at once.
const PIECE_BYTES: usize = 11;

/// The longest text with which the length of a normal piece's message takes one byte.
const SHORT_TEXT_BYTES: u8 = 120;
/// Tags: field numbers combined with wire types (2 for bytes, 5 for 32 bits).
const PIECE_TAG: u8 = 1 << 3 | 2;
const TEXT_TAG: u8 = 1 << 3 | 2;
const SCORE_TAG: u8 = 2 << 3 | 5;

/// Writes a file: pieces, then specs.
pub(super) fn write(pieces: &PieceTable, specs: &Specs) -> Vec<u8> {
    let mut file = Vec::with_capacity(pieces.all_texts().len() + pieces.len() * PIECE_BYTES);
    let mut message = Vec::new();
    for id in 0..pieces.len() {
        write_piece(PieceMessage::of(pieces, id), &mut message, &mut file);
    }
    write_spec(field::TRAINER_SPEC, specs.trainer.as_ref(), &mut file);
    write_spec(field::NORMALIZER_SPEC, specs.normalizer.as_ref(), &mut file);
    write_spec(
        field::DENORMALIZER_SPEC,
        specs.denormalizer.as_ref(),
        &mut file,
    );
    file
}

/// Appends a piece, through the buffer `message`. The kind is left out if it is the default, as in
/// trained models.
pub(super) fn write_piece(piece: PieceMessage<'_>, message: &mut Vec<u8>, file: &mut Vec<u8>) {
    if let (PieceKind::Normal, Ok(length @ 0..=SHORT_TEXT_BYTES)) =
        (piece.kind, u8::try_from(piece.text.len()))
    {
        // The same bytes as below. The lengths have one byte each.
        file.extend_from_slice(&[PIECE_TAG, length + 7, TEXT_TAG, length]);
        file.extend_from_slice(piece.text);
        let [a, b, c, d] = piece.score.to_le_bytes();
        file.extend_from_slice(&[SCORE_TAG, a, b, c, d]);
        return;
    }
    message.clear();
    write_bytes_field(field::TEXT, piece.text, message);
    write_float_field(field::SCORE, piece.score, message);
    if piece.kind != PieceKind::Normal {
        write_varint_field(field::KIND, kind_number(piece.kind), message);
    }
    write_bytes_field(field::PIECE, message, file);
}

fn write_spec(number: u32, spec: Option<&impl Spec>, file: &mut Vec<u8>) {
    if let Some(spec) = spec {
        write_bytes_field(number, &spec.encode(), file);
    }
}

impl Specs {
    /// The algorithm of the model.
    #[cfg(any(feature = "train", test))]
    pub(super) fn model_type(&self) -> ModelType {
        let trainer_spec = self.trainer.as_ref();
        trainer_spec.map_or(ModelType::Unigram, TrainerSpec::model_type)
    }

    /// Reads the field `number` of a file, if it is a spec.
    fn merge(&mut self, number: u32, message: &[u8]) -> Result<(), Problem> {
        match number {
            field::TRAINER_SPEC => self.trainer.get_or_insert_default().merge(message),
            field::NORMALIZER_SPEC => self.normalizer.get_or_insert_default().merge(message),
            field::DENORMALIZER_SPEC => self.denormalizer.get_or_insert_default().merge(message),
            _ => Ok(()),
        }
    }
}

/// The number of a kind in the file format.
pub(crate) fn kind_number(kind: PieceKind) -> u64 {
    match kind {
        PieceKind::Normal => 1,
        PieceKind::Unknown => 2,
        PieceKind::Control => 3,
        PieceKind::UserDefined => 4,
        PieceKind::Unused => 5,
        PieceKind::Byte => 6,
    }
}

/// The kind with this number in the file format.
pub(super) fn kind_from_number(number: u64) -> Option<PieceKind> {
    // The field is an int32.
    let number = u64::from(low_u32(number));
    let mut all = PieceKind::ALL.into_iter();
    all.find(|kind| kind_number(*kind) == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the module page.
    const TWO_PIECES: &[u8] =
        b"\x0a\x0e\x0a\x05<unk>\x15\0\0\0\0\x18\x02\x0a\x0a\x0a\x03\xe2\x96\x81\x15\0\0\x80\xbf\x12\x02\x18\x02";

    #[test]
    fn the_example_of_the_module_page_is_read_and_written() {
        let (pieces, specs) = read(TWO_PIECES).unwrap();
        assert_eq!(pieces.len(), 2);
        assert_eq!(
            (pieces.text(0), pieces.kind(0)),
            (&b"<unk>"[..], PieceKind::Unknown)
        );
        assert_eq!((pieces.text(1), pieces.score(1)), ("▁".as_bytes(), -1.0));
        let trainer = specs.trainer.clone().unwrap();
        assert_eq!(trainer.model_type(), super::super::ModelType::Bpe);
        assert!(specs.normalizer.is_none());
        assert_eq!(write(&pieces, &specs), TWO_PIECES);
    }

    #[test]
    fn short_and_long_pieces_are_written_alike() {
        for bytes in [1, 119, 120, 121, 127, 128, 300] {
            let text = vec![b'a'; bytes];
            let piece = PieceMessage {
                text: &text,
                score: -1.5,
                kind: PieceKind::Normal,
            };
            let mut file = Vec::new();
            write_piece(piece, &mut Vec::new(), &mut file);
            let mut message = Vec::new();
            write_bytes_field(field::TEXT, &text, &mut message);
            write_float_field(field::SCORE, -1.5, &mut message);
            let mut expected = Vec::new();
            write_bytes_field(field::PIECE, &message, &mut expected);
            assert_eq!(file, expected, "{bytes} bytes");
        }
    }

    #[test]
    fn unknown_fields_are_skipped_and_any_cut_is_safe() {
        let mut piece = b"\x0a\x02ab\x15".to_vec();
        piece.extend((-1.5f32).to_le_bytes());
        piece.extend(b"\x18\x05\xc2\x0c\x01x"); // the kind, and field 200 of a piece
        let mut file = Vec::new();
        write_bytes_field(1, &piece, &mut file);
        file.extend(b"\x0a\x03\x0a\x01c"); // a piece with nothing but a text
        file.extend(b"\x12\x07\x18\x02\x92\x03\x02xy"); // trainer_spec: model_type, and 50 as bytes
        file.extend(b"\x22\x01\xff"); // self_test_data, which is not read
        file.extend(b"\xa3\x06\x08\x01\xa4\x06"); // a group
        let (pieces, specs) = read(&file).unwrap();
        assert_eq!(pieces.len(), 2);
        assert_eq!((pieces.text(0), pieces.score(0)), (&b"ab"[..], -1.5));
        assert_eq!(pieces.kind(0), PieceKind::Unused);
        assert_eq!(pieces.kind(1), PieceKind::Normal);
        assert_eq!(specs.trainer.unwrap().encode(), b"\x18\x02");
        for end in 1..file.len() {
            // A cut file can be valid or not; reading it must not panic.
            let _ = read(&file[..end]);
        }
    }

    #[test]
    fn errors_name_the_field_by_its_offset() {
        let error = read(b"\x0a\x03\x0a\x01c\x12\x02\x1a\x05").unwrap_err();
        assert!(
            matches!(error, ModelError::Format { offset: 5, .. }),
            "{error:?}"
        );
        let error = read(b"\x0a\x03\x0a\x01c\x0a\x00").unwrap_err();
        let ModelError::Piece { id, problem, .. } = error else {
            panic!("{error:?}")
        };
        assert_eq!((id, problem), (1, PieceProblem::Empty));
    }

    #[test]
    fn a_spec_in_two_parts_is_one_spec() {
        let file = b"\x12\x02\x18\x02\x12\x05\x20\x05\x1a\x01x\x12\x02\x20\x07";
        let trainer = read(file).unwrap().1.trainer.unwrap();
        assert_eq!(trainer.model_type(), super::super::ModelType::Bpe);
        assert_eq!(trainer.vocab_size(), 7);
    }
}
