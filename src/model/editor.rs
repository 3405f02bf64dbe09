//! Makes changed models and keeps what was not changed, unknown fields included.
//!
//! The changed model is loaded from the bytes of the new file, and therefore checked like any file.
//!
//! - An editor without edits, or whose edits were undone, gives the bytes of the original.
//! - A piece or spec that was not changed keeps its bytes. A changed one is encoded anew: its known
//!   fields by their numbers, then its unknown fields.
//! - The file has pieces, specs and unknown fields by their numbers, as protobuf writes them.
//!
//! These fields are updated automatically when pieces are added, removed, moved or renamed, unless
//! the edit sets them too (`follow.rs`):
//!
//! - `vocab_size`, if it was the number of pieces,
//! - `unk_id`, `bos_id`, `eos_id`, `pad_id` and the texts `unk_piece`, ..., if they named a piece
//!   of the original.
//!
//! Only what an edit asks for is decoded: pieces are ranges of the original file, and values that
//! were set stand beside them. Example: a file of 54 bytes with two pieces and a trainer spec, and
//! two edits.
//!
//! ```text
//! original   0: 0a 0e 0a 05 <unk> 15 00 00 00 00 18 02     piece 0, <unk>, score 0, kind 2
//!           16: 0a 0a 0a 03 e2 96 81 15 00 00 80 bf        piece 1, ▁, score -1
//!           28: 12 04 18 02 20 02                          trainer_spec: model_type 2, vocab_size 2
//!
//! edits      add_piece("a", -2.0, Normal)                  list of pieces: 0..16, 16..28, new bytes
//!            set_score(1, -1.5)                            beside 16..28: score -1.5
//!
//! finish     vocab_size was the number of pieces, which is 3 now
//!            0a 0e 0a 05 <unk> 15 00 00 00 00 18 02        copied
//!            0a 0a 0a 03 e2 96 81 15 00 00 c0 bf           encoded anew
//!            0a 08 0a 01 a 15 00 00 00 c0                  new
//!            12 04 18 02 20 03                             encoded anew
//! ```
//!
//! Inserting, removing and moving take time linear in the number of pieces after them (32 bytes
//! each are moved); use [`ModelEditor::retain_pieces`] to remove many.

mod follow;
mod item;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

pub use self::item::PieceEntry;
use self::item::{Item, PieceChange};
use super::Model;
use super::file::field;
use super::spec::{NormalizerSpec, Spec, TrainerSpec};
use super::wire::{Field, Reader, Value, write_bytes_field};
use crate::model::ModelError;
use crate::piece::{PieceId, PieceKind};

/// Makes a changed copy of a model; see [`Model::edit`].
///
/// Bytes of the file that are not changed are kept, unknown fields included. Ids are always
/// current: after `remove_piece(5)`, the piece that had id 6 has id 5.
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
    /// All top-level fields except pieces, in the order of the file.
    others: Vec<Other>,
    trainer_spec: EditedSpec<TrainerSpec>,
    normalizer_spec: EditedSpec<NormalizerSpec>,
    denormalizer_spec: EditedSpec<NormalizerSpec>,
}

/// A top-level field that is not a piece.
#[derive(Debug, Clone)]
struct Other {
    number: u32,
    /// Whether its value is length-delimited, as a spec's is.
    is_message: bool,
    /// Where it is in the original file.
    range: Range<usize>,
}

/// A spec as it was read, and as it is to be written.
#[derive(Debug, Clone)]
struct EditedSpec<S> {
    /// The number of its field in the file.
    number: u32,
    original: S,
    current: S,
}

impl<S: Spec> EditedSpec<S> {
    fn new(number: u32, original: Option<&S>) -> Self {
        let original = original.cloned().unwrap_or_default();
        Self {
            number,
            current: original.clone(),
            original,
        }
    }

    /// Whether it was changed. Encodings are compared rather than values, so that the presence of
    /// fields and the bits of floats (NaN, -0.0) count.
    fn is_changed(&self) -> bool {
        self.current.encode() != self.original.encode()
    }
}

impl ModelEditor {
    pub(super) fn new(model: &Model) -> Self {
        let file = Arc::clone(&model.file);
        let mut pieces = Vec::with_capacity(model.len());
        let mut others = Vec::new();
        for (offset, field) in fields_of(&file) {
            if is_piece(&field) {
                pieces.push(Item::in_file(offset, field.raw.len()));
            } else {
                others.push(Other {
                    number: field.number,
                    is_message: field.is_message(),
                    range: offset..offset + field.raw.len(),
                });
            }
        }
        Self {
            original_pieces: pieces.len(),
            pieces,
            others,
            trainer_spec: EditedSpec::new(field::TRAINER_SPEC, Some(&model.trainer_spec)),
            normalizer_spec: EditedSpec::new(field::NORMALIZER_SPEC, Some(&model.normalizer_spec)),
            denormalizer_spec: EditedSpec::new(
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
        Some(self.item(id)?.entry(&self.file))
    }

    fn item(&self, id: PieceId) -> Option<&Item> {
        self.pieces.get(id.index())
    }

    /// Adds a piece at the end and returns its id.
    pub fn add_piece(&mut self, text: impl AsRef<[u8]>, score: f32, kind: PieceKind) -> PieceId {
        let id = PieceId::from_index(self.pieces.len());
        self.insert_piece(id, PieceEntry::new(text, score, kind));
        id
    }

    /// Inserts a piece; the piece that had this id and those after it get the next higher ids. With
    /// an id above the number of pieces, the piece is added at the end.
    pub fn insert_piece(&mut self, id: PieceId, piece: PieceEntry) {
        let index = id.index().min(self.pieces.len());
        self.pieces.insert(index, piece.item);
    }

    /// Removes a piece and returns it; those after it get the next lower ids. `None` if there is no
    /// such piece.
    pub fn remove_piece(&mut self, id: PieceId) -> Option<PieceEntry> {
        let entry = self.piece(id)?;
        self.pieces.remove(id.index());
        Some(entry)
    }

    /// Gives a piece another id; the pieces between the two ids move by one. False if there is no
    /// such piece.
    pub fn move_piece(&mut self, from: PieceId, to: PieceId) -> bool {
        let piece = self.remove_piece(from);
        piece.map(|piece| self.insert_piece(to, piece)).is_some()
    }

    /// Removes all pieces for which `keep` returns false. Its arguments are the id before the call
    /// and the piece. It takes one pass over all pieces.
    pub fn retain_pieces(&mut self, mut keep: impl FnMut(PieceId, &PieceEntry) -> bool) {
        let mut index = 0;
        self.pieces.retain(|item| {
            let id = PieceId::from_index(index);
            index += 1;
            keep(id, &item.entry(&self.file))
        });
    }

    /// Keeps only these pieces, in this order. Ids that do not exist are skipped. It takes one pass
    /// over the ids.
    pub fn select_pieces(&mut self, ids: &[PieceId]) {
        let selected = ids.iter().filter_map(|id| self.item(*id));
        self.pieces = selected.cloned().collect();
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
        self.set_flag(|spec| &mut spec.add_dummy_prefix, add)
    }

    /// Sets whether spaces at both ends and repeated spaces are removed.
    pub fn set_remove_extra_whitespaces(&mut self, remove: bool) -> &mut Self {
        self.set_flag(|spec| &mut spec.remove_extra_whitespaces, remove)
    }

    /// Sets whether spaces become U+2581.
    pub fn set_escape_whitespaces(&mut self, escape: bool) -> &mut Self {
        self.set_flag(|spec| &mut spec.escape_whitespaces, escape)
    }

    /// Sets a flag of the normalizer spec. An absent flag means true. If the original flag has the
    /// same meaning as `value`, it stays as it is, present or absent.
    fn set_flag(
        &mut self,
        flag: fn(&mut NormalizerSpec) -> &mut Option<bool>,
        value: bool,
    ) -> &mut Self {
        let original = *flag(&mut self.normalizer_spec.original);
        let is_same = original.unwrap_or(true) == value;
        let set = if is_same { original } else { Some(value) };
        *flag(&mut self.normalizer_spec.current) = set;
        self
    }

    /// Sets the normalization rules: their name, which is only recorded, and their precompiled
    /// charsmap (empty for no rules).
    pub fn set_normalization_rules(&mut self, name: &str, charsmap: &[u8]) -> &mut Self {
        self.normalizer_spec.current.set_rules(name, charsmap);
        self
    }

    /// The fields of the trainer spec, to be changed: `vocab_size`, special ids and pieces,
    /// `unk_surface`, ... A field that is set to `None` is removed from the file.
    pub fn trainer_spec_mut(&mut self) -> &mut TrainerSpec {
        &mut self.trainer_spec.current
    }

    /// The fields of the normalizer spec, to be changed.
    pub fn normalizer_spec_mut(&mut self) -> &mut NormalizerSpec {
        &mut self.normalizer_spec.current
    }

    /// The fields of the denormalizer spec, to be changed. If the model has none, setting a field
    /// adds it.
    pub fn denormalizer_spec_mut(&mut self) -> &mut NormalizerSpec {
        &mut self.denormalizer_spec.current
    }

    /// The changed model. The editor can be used again.
    ///
    /// # Errors
    /// A rule for models is broken; see [`Model::from_bytes`]. The ids in the error are those of
    /// the changed model.
    pub fn finish(&self) -> Result<Model, ModelError> {
        let mut trainer_spec = self.trainer_spec.clone();
        self.follow_pieces(&mut trainer_spec);
        let mut pieces = Vec::with_capacity(self.file.len());
        for item in &self.pieces {
            item.write(&self.file, &mut pieces);
        }
        let is_piece_of_file = |(_, field): &(usize, Field<'_>)| is_piece(field);
        let original = fields_of(&self.file).filter(is_piece_of_file);
        let original: Vec<u8> = original.flat_map(|(_, field)| field.raw.to_vec()).collect();
        let mut changed = Vec::new();
        self.add_changed(&trainer_spec, &mut changed);
        self.add_changed(&self.normalizer_spec, &mut changed);
        self.add_changed(&self.denormalizer_spec, &mut changed);
        if pieces == original && changed.is_empty() {
            return Model::from_file(Vec::clone(&self.file));
        }
        let is_kept = |other: &&Other| {
            let is_new = |(number, _): &(u32, Vec<u8>)| *number == other.number;
            !(other.is_message && changed.iter().any(is_new))
        };
        let kept = self.others.iter().filter(is_kept);
        let mut others: Vec<(u32, Vec<u8>)> = kept
            .map(|other| (other.number, self.file[other.range.clone()].to_vec()))
            .collect();
        others.extend(changed);
        others.sort_by_key(|(number, _)| *number);
        let mut file = pieces;
        for (_, field) in others {
            file.extend_from_slice(&field);
        }
        Model::from_file(file)
    }

    /// If a spec was changed, adds its number and its field, which is encoded anew with the unknown
    /// fields at its end. A file may hold a spec in several parts.
    fn add_changed<S: Spec>(&self, spec: &EditedSpec<S>, changed: &mut Vec<(u32, Vec<u8>)>) {
        if !spec.is_changed() {
            return;
        }
        let mut message = spec.current.encode();
        let parts = self.others.iter();
        for part in parts.filter(|other| other.number == spec.number && other.is_message) {
            let mut fields = Reader::nested(message_of(&self.file[part.range.clone()]));
            while let Ok(Some(field)) = fields.field() {
                if !S::default().merge_field(field.number, field.value) {
                    message.extend_from_slice(field.raw);
                }
            }
        }
        let mut field = Vec::new();
        write_bytes_field(spec.number, &message, &mut field);
        changed.push((spec.number, field));
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

/// The top-level fields of a file, with their offsets. The file was read before, so reading it
/// cannot fail.
fn fields_of(file: &[u8]) -> impl Iterator<Item = (usize, Field<'_>)> {
    let mut reader = Reader::new(file);
    std::iter::from_fn(move || {
        let offset = file.len() - reader.rest.len();
        let field = reader.field().ok().flatten()?;
        Some((offset, field))
    })
}

/// Whether a top-level field holds a piece.
fn is_piece(field: &Field<'_>) -> bool {
    field.number == field::PIECE && field.is_message()
}

/// The value of a field that holds a message, which was checked when the file was read; empty for
/// any other field.
fn message_of(raw: &[u8]) -> &[u8] {
    match Reader::new(raw).field() {
        Ok(Some(Field {
            value: Value::Bytes(message),
            ..
        })) => message,
        _ => &[],
    }
}
