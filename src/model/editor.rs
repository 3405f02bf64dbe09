//! Changed models that keep every byte that was not changed.
//!
//! Input: a model, and edits of its pieces and specs. Output: another [`Model`], loaded from the new file and therefore
//! checked like any file.
//!
//! Guarantees, whatever the file looks like (unknown fields, fields in any order, varints that are longer than necessary,
//! specs in several parts):
//!
//! - Only the fields whose values differ from the original's at the end are written. An editor without edits, or an edit
//!   followed by its inverse, gives the bytes of the original.
//! - A changed field keeps its position; only the lengths of the messages around it change. See `editor/splice.rs`.
//! - A new piece follows the piece before it; a removed piece that is inserted again brings its unknown fields back.
//!
//! What follows by itself when pieces are added, removed, moved or renamed, unless the edit sets it too:
//!
//! - `vocab_size`, if it was the number of pieces,
//! - `unk_id`, `bos_id`, `eos_id`, `pad_id` and the texts `unk_piece`, ..., if they named a piece of the original.
//!
//! Method: the editor keeps the range of each top-level field, and beside it the changes. Pieces are a list; every other
//! field remembers how many pieces are before it. Example: the file `piece 0, piece 1, trainer_spec` is the list
//! `[piece 0, piece 1]` and `trainer_spec` behind 2 pieces; adding a piece makes that 3.
//!
//! Cost: making an editor and [`ModelEditor::finish`] are linear in the file. Setting something takes constant time.
//! Adding a piece at the end is fast; inserting, removing and moving take time linear in the number of pieces behind (some
//! 48 bytes each are moved); use [`ModelEditor::retain_pieces`] to remove many.

mod follow;
mod splice;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use self::splice::{Change, splice, with_message};
use super::Model;
use super::file::{PieceMessage, field, kind_from_number, kind_number, read_piece, write_piece};
use super::spec::{NormalizerSpec, Spec, TrainerSpec};
use super::wire::{Field, Reader, Value, write_bytes_field, write_float_field, write_varint_field};
use crate::error::ModelError;
use crate::piece::{PieceId, PieceKind};

/// Makes a changed copy of a model; see [`Model::edit`].
///
/// Bytes of the file that are not changed are kept, unknown fields included. Ids are those of the moment: after
/// `remove_piece(5)`, the piece that had id 6 has id 5.
///
/// ```
/// use spiece::{Model, PieceKind};
///
/// let model = Model::open("testdata/golden/llama2.model")?;
/// let mut editor = model.edit();
/// let sep = editor.add_piece("<sep>", 0.0, PieceKind::Control);
/// editor.set_add_dummy_prefix(false);
/// let edited = editor.finish()?;
///
/// assert_eq!(edited.piece_to_id("<sep>"), Some(sep));
/// assert_eq!(edited.piece(sep).unwrap().kind, PieceKind::Control);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ModelEditor {
    file: Arc<Vec<u8>>,
    original_pieces: usize,
    pieces: Vec<Item>,
    /// All top-level fields but pieces, in the order of the file.
    others: Vec<Other>,
    trainer_spec: Edited<TrainerSpec>,
    normalizer_spec: Edited<NormalizerSpec>,
    denormalizer_spec: Edited<NormalizerSpec>,
}

/// A piece that was removed from a [`ModelEditor`], or one that is to be inserted. It keeps the bytes of the file,
/// unknown fields included.
#[derive(Debug, Clone)]
pub struct PieceEntry {
    item: Item,
    text: Vec<u8>,
    score: f32,
    kind: PieceKind,
}

/// A piece in the editor.
#[derive(Debug, Clone)]
struct Item {
    /// The position of its field in the original file; 0 for new pieces, which no file has behind another field.
    offset: usize,
    source: Source,
    change: Option<Box<PieceChange>>,
}

/// Where the bytes of a piece's field are.
#[derive(Debug, Clone)]
enum Source {
    /// So many bytes of the original file.
    File { length: usize },
    /// Bytes of a new piece, or of one that was removed.
    Owned(Box<[u8]>),
}

/// What was set for a piece.
#[derive(Debug, Clone, Default)]
struct PieceChange {
    text: Option<Vec<u8>>,
    score: Option<f32>,
    kind: Option<PieceKind>,
}

/// A top-level field that is not a piece.
#[derive(Debug, Clone)]
struct Other {
    number: u32,
    is_message: bool,
    range: Range<usize>,
    /// Pieces before it.
    pieces_before: usize,
}

/// A spec as it was, and as it is to be.
#[derive(Debug, Clone)]
struct Edited<S> {
    number: u32,
    original: S,
    current: S,
}

impl<S: Spec> Edited<S> {
    fn new(number: u32, original: Option<&S>) -> Edited<S> {
        let original = original.cloned().unwrap_or_default();
        let current = original.clone();
        Edited {
            number,
            original,
            current,
        }
    }

    /// The fields that differ, by their encodings, so that presence and the bits of floats count.
    fn changes(&self) -> Vec<Change> {
        let mut changes = Vec::new();
        for number in S::NUMBERS {
            let mut before = Vec::new();
            self.original.write_field(*number, &mut before);
            let mut encoding = Vec::new();
            self.current.write_field(*number, &mut encoding);
            if before != encoding {
                let number = *number;
                changes.push(Change { number, encoding });
            }
        }
        changes
    }
}

impl ModelEditor {
    pub(super) fn new(model: &Model) -> ModelEditor {
        let file = Arc::clone(&model.file);
        let mut pieces = Vec::with_capacity(model.len());
        let mut others = Vec::new();
        let mut reader = Reader::new(&file);
        // The model was read from these bytes, so that reading them again cannot fail.
        while let Ok(Some(Field { number, value, raw })) = reader.field() {
            let end = file.len() - reader.rest.len();
            let offset = end - raw.len();
            let is_message = matches!(value, Value::Bytes(_));
            if number == field::PIECE && is_message {
                let source = Source::File { length: raw.len() };
                pieces.push(Item::new(offset, source));
            } else {
                others.push(Other {
                    number,
                    is_message,
                    range: offset..end,
                    pieces_before: pieces.len(),
                });
            }
        }
        ModelEditor {
            original_pieces: pieces.len(),
            pieces,
            others,
            trainer_spec: Edited::new(field::TRAINER_SPEC, Some(&model.trainer_spec)),
            normalizer_spec: Edited::new(field::NORMALIZER_SPEC, Some(&model.normalizer_spec)),
            denormalizer_spec: Edited::new(
                field::DENORMALIZER_SPEC,
                model.denormalizer_spec.as_ref(),
            ),
            file,
        }
    }

    /// Number of pieces.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Whether there are no pieces.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// A copy of the piece with this id, as it is now; `None` if there is none.
    pub fn piece(&self, id: PieceId) -> Option<PieceEntry> {
        let item = self.pieces.get(id.index())?;
        Some(item.entry(&self.file))
    }

    /// Adds a piece behind all others, and returns its id.
    pub fn add_piece(&mut self, text: impl AsRef<[u8]>, score: f32, kind: PieceKind) -> PieceId {
        let id = PieceId::from_index(self.pieces.len());
        self.insert_piece(id, PieceEntry::new(text, score, kind));
        id
    }

    /// Inserts a piece; the piece that had this id, and those behind it, get the next higher ids. An id above the number
    /// of pieces means the end.
    pub fn insert_piece(&mut self, id: PieceId, piece: PieceEntry) {
        let index = id.index().min(self.pieces.len());
        let offset = piece.item.offset;
        for other in &mut self.others {
            let is_behind = other.pieces_before == index && other.range.start >= offset;
            if other.pieces_before > index || is_behind {
                other.pieces_before += 1;
            }
        }
        self.pieces.insert(index, piece.item);
    }

    /// Removes a piece and returns it; those behind it get the next lower ids. `None` if there is no such piece.
    pub fn remove_piece(&mut self, id: PieceId) -> Option<PieceEntry> {
        let entry = self.piece(id)?;
        let index = id.index();
        self.pieces.remove(index);
        for other in &mut self.others {
            if other.pieces_before > index {
                other.pieces_before -= 1;
            }
        }
        Some(entry)
    }

    /// Gives a piece another id; the pieces between the two ids move by one. False if there is no such piece.
    pub fn move_piece(&mut self, from: PieceId, to: PieceId) -> bool {
        let Some(piece) = self.remove_piece(from) else {
            return false;
        };
        self.insert_piece(to, piece);
        true
    }

    /// Removes all pieces for which `keep` is false. Its arguments are the id before the call, and the piece. Cost: one
    /// pass over all pieces.
    pub fn retain_pieces(&mut self, mut keep: impl FnMut(PieceId, &PieceEntry) -> bool) {
        let items = std::mem::take(&mut self.pieces);
        let mut others = self.others.iter_mut().peekable();
        for (index, item) in items.into_iter().enumerate() {
            while let Some(other) = others.next_if(|other| other.pieces_before <= index) {
                other.pieces_before = self.pieces.len();
            }
            if keep(PieceId::from_index(index), &item.entry(&self.file)) {
                self.pieces.push(item);
            }
        }
        for other in others {
            other.pieces_before = self.pieces.len();
        }
    }

    /// Changes the text of a piece. False if there is no such piece.
    pub fn rename_piece(&mut self, id: PieceId, text: impl AsRef<[u8]>) -> bool {
        self.change_piece(id, |change| change.text = Some(text.as_ref().to_vec()))
    }

    /// Changes the score of a piece. False if there is no such piece.
    pub fn set_score(&mut self, id: PieceId, score: f32) -> bool {
        self.change_piece(id, |change| change.score = Some(score))
    }

    /// Changes the kind of a piece. False if there is no such piece.
    pub fn set_kind(&mut self, id: PieceId, kind: PieceKind) -> bool {
        self.change_piece(id, |change| change.kind = Some(kind))
    }

    fn change_piece(&mut self, id: PieceId, set: impl FnOnce(&mut PieceChange)) -> bool {
        let Some(item) = self.pieces.get_mut(id.index()) else {
            return false;
        };
        set(item.change.get_or_insert_default());
        true
    }

    /// Sets whether one space is added before (or after) the text.
    pub fn set_add_dummy_prefix(&mut self, add: bool) -> &mut Self {
        let Edited {
            original, current, ..
        } = &mut self.normalizer_spec;
        let was = original.add_dummy_prefix();
        current.add_dummy_prefix = keep_or_set(original.add_dummy_prefix, was, add);
        self
    }

    /// Sets whether spaces at both ends and repeated spaces are removed.
    pub fn set_remove_extra_whitespaces(&mut self, remove: bool) -> &mut Self {
        let Edited {
            original, current, ..
        } = &mut self.normalizer_spec;
        let was = original.remove_extra_whitespaces();
        current.remove_extra_whitespaces =
            keep_or_set(original.remove_extra_whitespaces, was, remove);
        self
    }

    /// Sets whether spaces become U+2581.
    pub fn set_escape_whitespaces(&mut self, escape: bool) -> &mut Self {
        let Edited {
            original, current, ..
        } = &mut self.normalizer_spec;
        let was = original.escape_whitespaces();
        current.escape_whitespaces = keep_or_set(original.escape_whitespaces, was, escape);
        self
    }

    /// Sets the normalization rules: their name, which is only recorded, and their precompiled charsmap (empty for no
    /// rules).
    pub fn set_normalization_rules(&mut self, name: &str, charsmap: &[u8]) -> &mut Self {
        let spec = &mut self.normalizer_spec.current;
        spec.name = Some(name.into());
        spec.precompiled_charsmap = Some(charsmap.to_vec());
        self
    }

    /// The fields of the trainer spec, to be changed: `vocab_size`, special ids and pieces, `unk_surface`, ... A field
    /// that is set to `None` is removed from the file.
    pub fn trainer_spec_mut(&mut self) -> &mut TrainerSpec {
        &mut self.trainer_spec.current
    }

    /// The fields of the normalizer spec, to be changed.
    pub fn normalizer_spec_mut(&mut self) -> &mut NormalizerSpec {
        &mut self.normalizer_spec.current
    }

    /// The fields of the denormalizer spec, to be changed. If the model has none, setting a field adds it.
    pub fn denormalizer_spec_mut(&mut self) -> &mut NormalizerSpec {
        &mut self.denormalizer_spec.current
    }

    /// The changed model. The editor can be used again.
    ///
    /// # Errors
    /// A rule for models is broken; see [`Model::from_bytes`]. The ids in the error are those of the changed model.
    pub fn finish(&self) -> Result<Model, ModelError> {
        let mut trainer_spec = self.trainer_spec.clone();
        self.follow_pieces(&mut trainer_spec);
        let mut patches = Patches::default();
        self.add_patches(&trainer_spec, &mut patches);
        self.add_patches(&self.normalizer_spec, &mut patches);
        self.add_patches(&self.denormalizer_spec, &mut patches);
        Model::from_file(self.assemble(&patches))
    }

    /// What becomes of the fields that hold a spec.
    fn add_patches<S: Spec>(&self, spec: &Edited<S>, patches: &mut Patches) {
        let changes = spec.changes();
        if changes.is_empty() {
            return;
        }
        let is_part = |other: &&Other| other.number == spec.number && other.is_message;
        let raws: Vec<&[u8]> = self
            .others
            .iter()
            .filter(is_part)
            .map(|other| &self.file[other.range.clone()])
            .collect();
        let is_value = |field: &Field<'_>| S::default().merge_field(field.number, field.value);
        let Some(messages) = raws
            .iter()
            .map(|raw| message_of(raw))
            .collect::<Option<Vec<_>>>()
        else {
            return;
        };
        if messages.is_empty() {
            let mut added = Vec::new();
            write_bytes_field(spec.number, &spec.current.encode(), &mut added);
            patches.added.push((spec.number, added));
            return;
        }
        let spliced = splice(&messages, &changes, &is_value);
        let offsets = self
            .others
            .iter()
            .filter(is_part)
            .map(|other| other.range.start);
        for (((offset, raw), before), after) in offsets.zip(raws).zip(messages).zip(spliced) {
            if after != before {
                let mut field = Vec::new();
                with_message(raw, &after, &mut field);
                patches.replaced.push((offset, field));
            }
        }
    }

    /// The new file.
    fn assemble(&self, patches: &Patches) -> Vec<u8> {
        let mut file = Vec::with_capacity(self.file.len() + 1024);
        let mut others = self.others.iter().peekable();
        for (index, item) in self.pieces.iter().enumerate() {
            while let Some(other) = others.next_if(|other| other.pieces_before <= index) {
                self.write_other(other, patches, &mut file);
            }
            item.write(&self.file, &mut file);
        }
        let mut added = patches.added.iter().peekable();
        for other in others {
            while let Some((_, field)) = added.next_if(|(number, _)| *number < other.number) {
                file.extend_from_slice(field);
            }
            self.write_other(other, patches, &mut file);
        }
        for (_, field) in added {
            file.extend_from_slice(field);
        }
        file
    }

    fn write_other(&self, other: &Other, patches: &Patches, file: &mut Vec<u8>) {
        let offset = other.range.start;
        match patches.replaced.iter().find(|(at, _)| *at == offset) {
            Some((_, field)) => file.extend_from_slice(field),
            None => file.extend_from_slice(&self.file[other.range.clone()]),
        }
    }
}

/// What becomes of the specs.
#[derive(Debug, Default)]
struct Patches {
    /// New bytes of the field at an offset of the original file.
    replaced: Vec<(usize, Vec<u8>)>,
    /// Fields of specs that the file did not have, by number.
    added: Vec<(u32, Vec<u8>)>,
}

impl Item {
    fn new(offset: usize, source: Source) -> Item {
        Item {
            offset,
            source,
            change: None,
        }
    }

    /// The bytes of the field before changes.
    fn raw<'f>(&'f self, file: &'f [u8]) -> &'f [u8] {
        match &self.source {
            Source::File { length } => &file[self.offset..self.offset + length],
            Source::Owned(bytes) => bytes,
        }
    }

    /// Text, score and kind before changes.
    fn original<'f>(&'f self, file: &'f [u8]) -> PieceMessage<'f> {
        let message = message_of(self.raw(file)).unwrap_or_default();
        read_piece(message).unwrap_or_default()
    }

    /// A copy that does not need the file.
    fn entry(&self, file: &[u8]) -> PieceEntry {
        let original = self.original(file);
        let change = self.change.as_deref().cloned().unwrap_or_default();
        let source = Source::Owned(self.raw(file).into());
        PieceEntry {
            text: change.text.unwrap_or_else(|| original.text.to_vec()),
            score: change.score.unwrap_or(original.score),
            kind: change.kind.unwrap_or(original.kind),
            item: Item {
                source,
                ..self.clone()
            },
        }
    }

    /// The fields that differ from the original's.
    fn changes(&self, original: PieceMessage<'_>) -> Vec<Change> {
        let mut changes = Vec::new();
        let mut push = |number, encoding| changes.push(Change { number, encoding });
        let Some(change) = &self.change else {
            return changes;
        };
        if let Some(text) = change.text.as_ref().filter(|text| *text != original.text) {
            push(
                field::TEXT,
                encoded(|out| write_bytes_field(field::TEXT, text, out)),
            );
        }
        let is_other = |score: &f32| score.to_bits() != original.score.to_bits();
        if let Some(score) = change.score.filter(is_other) {
            push(
                field::SCORE,
                encoded(|out| write_float_field(field::SCORE, score, out)),
            );
        }
        if let Some(kind) = change.kind.filter(|kind| *kind != original.kind) {
            let number = kind_number(kind);
            push(
                field::KIND,
                encoded(|out| write_varint_field(field::KIND, number, out)),
            );
        }
        changes
    }

    /// Appends the field of the piece.
    fn write(&self, file: &[u8], out: &mut Vec<u8>) {
        let raw = self.raw(file);
        let changes = match self.change {
            Some(_) => self.changes(self.original(file)),
            None => Vec::new(),
        };
        match message_of(raw) {
            Some(message) if !changes.is_empty() => {
                for message in splice(&[message], &changes, &is_piece_value) {
                    with_message(raw, &message, out);
                }
            }
            _ => out.extend_from_slice(raw),
        }
    }
}

impl PieceEntry {
    /// A new piece.
    pub fn new(text: impl AsRef<[u8]>, score: f32, kind: PieceKind) -> PieceEntry {
        let text = text.as_ref();
        let mut raw = Vec::new();
        write_piece(
            PieceMessage { text, score, kind },
            &mut Vec::new(),
            &mut raw,
        );
        PieceEntry {
            item: Item::new(0, Source::Owned(raw.into())),
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

impl fmt::Debug for ModelEditor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelEditor")
            .field("pieces", &self.len())
            .field("original_pieces", &self.original_pieces)
            .finish_non_exhaustive()
    }
}

/// A flag that is to have `value`: as it was, present or absent, if that means `value` already.
fn keep_or_set(original: Option<bool>, was: bool, value: bool) -> Option<bool> {
    if was == value { original } else { Some(value) }
}

/// The value of a field that holds a message.
fn message_of(raw: &[u8]) -> Option<&[u8]> {
    match Reader::new(raw).field() {
        Ok(Some(Field {
            value: Value::Bytes(message),
            ..
        })) => Some(message),
        _ => None,
    }
}

/// Whether a field of a piece message is its text, score or kind.
fn is_piece_value(piece_field: &Field<'_>) -> bool {
    match (piece_field.number, piece_field.value) {
        (field::TEXT, Value::Bytes(_)) | (field::SCORE, Value::Fixed32(_)) => true,
        (field::KIND, Value::Varint(number)) => kind_from_number(number).is_some(),
        _ => false,
    }
}

fn encoded(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out);
    out
}
