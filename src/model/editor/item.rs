//! One piece in a [`ModelEditor`](super::ModelEditor), and one outside of it ([`PieceEntry`]).
//!
//! A piece is kept as the bytes of its field in the file, so that unknown fields survive, together
//! with the values that were set. Nothing is decoded until a caller asks for the piece or the file
//! is assembled.

use super::message_of;
use crate::model::file::{
    PieceMessage, field, kind_from_number, kind_number, read_piece, write_piece,
};
use crate::model::wire::{
    Field, Reader, Value, write_bytes_field, write_float_field, write_varint_field,
};
use crate::piece::PieceKind;

/// A piece that was removed from a [`ModelEditor`](super::ModelEditor), or one to be inserted. It
/// keeps the bytes of the file, unknown fields included.
#[derive(Debug, Clone)]
pub struct PieceEntry {
    pub(super) item: Item,
    text: Vec<u8>,
    score: f32,
    kind: PieceKind,
}

/// A piece in the editor.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// The position of its field in the original file; 0 for new pieces. It is kept when the piece
    /// is removed, so that special ids follow a piece that is inserted again.
    pub(super) offset: usize,
    source: FieldBytes,
    /// Boxed, because it is `None` for most pieces.
    pub(super) change: Option<Box<PieceChange>>,
}

/// Where the bytes of a piece's field are.
#[derive(Debug, Clone)]
enum FieldBytes {
    /// `length` bytes of the original file, from the item's offset.
    File { length: usize },
    /// The bytes of a new piece, or of one that was removed.
    Owned(Box<[u8]>),
}

/// The values that were set for a piece.
#[derive(Debug, Clone, Default)]
pub(super) struct PieceChange {
    pub(super) text: Option<Vec<u8>>,
    pub(super) score: Option<f32>,
    pub(super) kind: Option<PieceKind>,
}

impl Item {
    /// A piece whose field is `length` bytes of the original file.
    pub(super) fn in_file(offset: usize, length: usize) -> Self {
        Self {
            offset,
            source: FieldBytes::File { length },
            change: None,
        }
    }

    /// Whether the item is the piece at `offset` of `file`. A piece that came from another model
    /// can have the same offset, but not the same bytes there.
    pub(super) fn is_at(&self, offset: usize, file: &[u8]) -> bool {
        self.offset == offset && file[offset..].starts_with(self.raw(file))
    }

    /// The bytes of the field before changes.
    pub(super) fn raw<'f>(&'f self, file: &'f [u8]) -> &'f [u8] {
        match &self.source {
            FieldBytes::File { length } => &file[self.offset..self.offset + length],
            FieldBytes::Owned(bytes) => bytes,
        }
    }

    /// Text, score and kind before changes.
    fn original<'f>(&'f self, file: &'f [u8]) -> PieceMessage<'f> {
        // These bytes were read when the model was loaded, or were written by `PieceEntry::new`.
        // Reading them cannot fail.
        read_piece(message_of(self.raw(file))).unwrap_or_default()
    }

    /// A copy that does not refer to the file.
    pub(super) fn entry(&self, file: &[u8]) -> PieceEntry {
        let original = self.original(file);
        let change = self.change.as_deref().cloned().unwrap_or_default();
        let source = FieldBytes::Owned(self.raw(file).into());
        PieceEntry {
            text: change.text.unwrap_or_else(|| original.text.to_vec()),
            score: change.score.unwrap_or(original.score),
            kind: change.kind.unwrap_or(original.kind),
            item: Self {
                source,
                ..self.clone()
            },
        }
    }

    /// Appends the field of the piece. If it was changed, its message is encoded anew, with its
    /// unknown fields at the end.
    pub(super) fn write(&self, file: &[u8], out: &mut Vec<u8>) {
        let raw = self.raw(file);
        let original = self.original(file);
        let change = self.change.as_deref();
        let Some(piece) = change.and_then(|change| change.of(original)) else {
            out.extend_from_slice(raw);
            return;
        };
        let mut message = Vec::new();
        write_bytes_field(field::TEXT, piece.text, &mut message);
        write_float_field(field::SCORE, piece.score, &mut message);
        if piece.kind != PieceKind::default() {
            write_varint_field(field::KIND, kind_number(piece.kind), &mut message);
        }
        let mut fields = Reader::nested(message_of(raw));
        while let Ok(Some(field)) = fields.field() {
            if !is_piece_value(&field) {
                message.extend_from_slice(field.raw);
            }
        }
        write_bytes_field(field::PIECE, &message, out);
    }
}

impl PieceChange {
    /// The piece with the values that were set; `None` if these are the ones that it had.
    fn of<'p>(&'p self, original: PieceMessage<'p>) -> Option<PieceMessage<'p>> {
        let piece = PieceMessage {
            text: self.text.as_deref().unwrap_or(original.text),
            score: self.score.unwrap_or(original.score),
            kind: self.kind.unwrap_or(original.kind),
        };
        // By bits: NaN differs from itself, and -0.0 equals 0.0.
        let is_same = piece.text == original.text
            && piece.score.to_bits() == original.score.to_bits()
            && piece.kind == original.kind;
        (!is_same).then_some(piece)
    }
}

impl PieceEntry {
    /// A new piece, for [`ModelEditor::insert_piece`](super::ModelEditor::insert_piece).
    ///
    /// ```
    /// use spiece::model::PieceEntry;
    /// use spiece::PieceKind;
    ///
    /// let piece = PieceEntry::new("<mask>", 0.0, PieceKind::UserDefined);
    /// assert_eq!(piece.text(), b"<mask>");
    /// assert_eq!(piece.kind(), PieceKind::UserDefined);
    /// ```
    pub fn new(text: impl AsRef<[u8]>, score: f32, kind: PieceKind) -> Self {
        let text = text.as_ref();
        let field = piece_field(PieceMessage { text, score, kind });
        Self {
            item: Item {
                offset: 0,
                source: FieldBytes::Owned(field),
                change: None,
            },
            text: text.to_vec(),
            score,
            kind,
        }
    }

    /// The text, which need not be UTF-8.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// The score.
    pub fn score(&self) -> f32 {
        self.score
    }

    /// The kind.
    pub fn kind(&self) -> PieceKind {
        self.kind
    }
}

/// The field of a new piece.
fn piece_field(piece: PieceMessage<'_>) -> Box<[u8]> {
    let mut field = Vec::new();
    write_piece(piece, &mut Vec::new(), &mut field);
    field.into()
}

/// Whether a field of a piece message is its text, score or kind.
fn is_piece_value(piece_field: &Field<'_>) -> bool {
    match (piece_field.number, piece_field.value) {
        (field::TEXT, Value::Bytes(_)) | (field::SCORE, Value::Fixed32(_)) => true,
        (field::KIND, Value::Varint(number)) => kind_from_number(number).is_some(),
        _ => false,
    }
}
