//! One piece in a [`ModelEditor`](super::ModelEditor), and one outside of it ([`PieceEntry`]).
//!
//! A piece is kept as the bytes of its field in the file, so that unknown fields and unusual
//! encodings survive, together with the values that were set. Nothing is decoded until a caller
//! asks for the piece or the file is assembled.
//!
//! Example: the field `0a 0a | 0a 03 e2 96 81 | 15 00 00 80 bf` is the piece `▁` with score -1.
//! Setting the score to -2 stores only `score: -2`; [`Item::write`] then replaces the four bytes of
//! the float and copies all others. Setting the score back to -1 gives the bytes of the original,
//! because values are compared with the original's when they are written.

use super::message_of;
use super::splice::{Change, splice, with_message};
use crate::model::file::{
    PieceMessage, field, kind_from_number, kind_number, read_piece, write_piece,
};
use crate::model::wire::{Field, Value, write_bytes_field, write_float_field, write_varint_field};
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
    /// is removed, so that a piece that is inserted again has its old position among the other
    /// fields.
    pub(super) offset: usize,
    source: Source,
    /// Boxed, because it is `None` for most pieces.
    pub(super) change: Option<Box<PieceChange>>,
}

/// Where the bytes of a piece's field are.
#[derive(Debug, Clone)]
enum Source {
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
            source: Source::File { length },
            change: None,
        }
    }

    /// Whether the piece comes after the field at `offset` in the original file. New pieces do not.
    pub(super) fn is_behind(&self, offset: usize) -> bool {
        self.offset > offset
    }

    /// Whether the item is the piece at `offset` of `file`. A piece that came from another model
    /// can have the same offset, but not the same bytes there.
    pub(super) fn is_at(&self, offset: usize, file: &[u8]) -> bool {
        self.offset == offset && file[offset..].starts_with(self.raw(file))
    }

    /// The bytes of the field before changes.
    pub(super) fn raw<'f>(&'f self, file: &'f [u8]) -> &'f [u8] {
        match &self.source {
            Source::File { length } => &file[self.offset..self.offset + length],
            Source::Owned(bytes) => bytes,
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
        let source = Source::Owned(self.raw(file).into());
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

    /// Appends the field of the piece.
    pub(super) fn write(&self, file: &[u8], out: &mut Vec<u8>) {
        let raw = self.raw(file);
        let changes = self.changes(file);
        if changes.is_empty() {
            out.extend_from_slice(raw);
            return;
        }
        for message in splice(&[message_of(raw)], &changes, &is_piece_value) {
            with_message(raw, &message, out);
        }
    }

    /// The fields that differ from the original's, ascending by number.
    fn changes(&self, file: &[u8]) -> Vec<Change> {
        match &self.change {
            Some(change) => change.fields(self.original(file)),
            None => Vec::new(),
        }
    }
}

impl PieceChange {
    /// The fields that differ from the original's, ascending by number.
    fn fields(&self, original: PieceMessage<'_>) -> Vec<Change> {
        let text = self.text.as_ref().filter(|text| *text != original.text);
        // By bits: NaN differs from itself, and -0.0 equals 0.0.
        let is_other = |score: &f32| score.to_bits() != original.score.to_bits();
        let score = self.score.filter(is_other);
        let kind = self.kind.filter(|kind| *kind != original.kind);
        let text = text.map(|text| text_change(text));
        let score = score.map(score_change);
        let kind = kind.map(kind_change);
        [text, score, kind].into_iter().flatten().collect()
    }
}

impl PieceEntry {
    /// A new piece, for [`ModelEditor::insert_piece`](super::ModelEditor::insert_piece).
    ///
    /// ```
    /// use spiece::{PieceEntry, PieceKind};
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
                source: Source::Owned(field),
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

fn text_change(text: &[u8]) -> Change {
    change_of(field::TEXT, |out| write_bytes_field(field::TEXT, text, out))
}

fn score_change(score: f32) -> Change {
    change_of(field::SCORE, |out| {
        write_float_field(field::SCORE, score, out)
    })
}

/// The kind, or nothing if it is the default, as training writes it.
fn kind_change(kind: PieceKind) -> Change {
    if kind == PieceKind::default() {
        return change_of(field::KIND, |_| {});
    }
    let number = kind_number(kind);
    change_of(field::KIND, |out| {
        write_varint_field(field::KIND, number, out)
    })
}

/// The change that sets field `number` to what `write` appends.
fn change_of(number: u32, write: impl FnOnce(&mut Vec<u8>)) -> Change {
    let mut encoding = Vec::new();
    write(&mut encoding);
    Change { number, encoding }
}
