//! Fields of the trainer spec that follow the pieces.
//!
//! Example: a model with `bos_id` 1 and piece 1 = `<s>`. After a piece was inserted at id 0, `<s>` has id 2 and `bos_id`
//! is written as 2; after `<s>` was renamed to `<bos>`, `bos_piece` is written as `<bos>`; after it was removed, `bos_id`
//! is written as -1. Fields that the edit itself changed are left alone, and so are fields that did not name the piece
//! with their id in the original.

use super::item::Item;
use super::specs::EditedSpec;
use super::{ModelEditor, message_of};
use crate::model::file::{field, read_piece};
use crate::model::spec::TrainerSpec;
use crate::model::wire::{Reader, Value};

/// The fields of a special piece.
struct Special {
    id: fn(&mut TrainerSpec) -> &mut Option<i32>,
    text: fn(&mut TrainerSpec) -> &mut Option<Vec<u8>>,
    id_or_default: fn(&TrainerSpec) -> i32,
    text_or_default: fn(&TrainerSpec) -> &[u8],
}

const SPECIALS: [Special; 4] = [
    Special {
        id: |spec| &mut spec.unk_id,
        text: |spec| &mut spec.unk_piece,
        id_or_default: TrainerSpec::unk_id,
        text_or_default: TrainerSpec::unk_piece,
    },
    Special {
        id: |spec| &mut spec.bos_id,
        text: |spec| &mut spec.bos_piece,
        id_or_default: TrainerSpec::bos_id,
        text_or_default: TrainerSpec::bos_piece,
    },
    Special {
        id: |spec| &mut spec.eos_id,
        text: |spec| &mut spec.eos_piece,
        id_or_default: TrainerSpec::eos_id,
        text_or_default: TrainerSpec::eos_piece,
    },
    Special {
        id: |spec| &mut spec.pad_id,
        text: |spec| &mut spec.pad_piece,
        id_or_default: TrainerSpec::pad_id,
        text_or_default: TrainerSpec::pad_piece,
    },
];

impl ModelEditor {
    /// Sets the fields that follow the pieces.
    pub(super) fn follow_pieces(&self, spec: &mut EditedSpec<TrainerSpec>) {
        let original_size = i32::try_from(self.original_pieces).ok();
        let is_untouched = spec.current.vocab_size == spec.original.vocab_size;
        if is_untouched && spec.original.vocab_size == original_size {
            spec.current.vocab_size = i32::try_from(self.len()).ok();
        }
        for special in &SPECIALS {
            self.follow_special(special, spec);
        }
    }

    /// The position in the file of the piece that has this id and this text in the original.
    fn offset_of_original(&self, id: i32, text: &[u8]) -> Option<usize> {
        let id = usize::try_from(id).ok()?;
        let mut pieces = piece_fields(&self.file).skip(id);
        let (offset, raw) = pieces.next()?;
        let piece = read_piece(message_of(raw)).ok()?;
        (piece.text == text).then_some(offset)
    }

    fn follow_special(&self, special: &Special, spec: &mut EditedSpec<TrainerSpec>) {
        let EditedSpec {
            original, current, ..
        } = spec;
        let is_untouched = (special.id)(current) == (special.id)(original)
            && (special.text)(current) == (special.text)(original);
        let old_id = (special.id_or_default)(original);
        let old_text = (special.text_or_default)(original);
        let Some(offset) = self
            .offset_of_original(old_id, old_text)
            .filter(|_| is_untouched)
        else {
            return;
        };
        // A piece that came from another model can have the same offset, but not the same bytes there.
        let is_same = |item: &Item| {
            item.offset == offset && self.file[offset..].starts_with(item.raw(&self.file))
        };
        let new_index = self.pieces.iter().position(is_same);
        let new_id = new_index.map_or(Some(-1), |index| i32::try_from(index).ok());
        if new_id != Some(old_id) {
            *(special.id)(current) = new_id;
        }
        let change = new_index.and_then(|index| self.pieces[index].change.as_ref());
        let new_text = change.and_then(|change| change.text.clone());
        if let Some(text) = new_text.filter(|text| text != (special.text_or_default)(original)) {
            *(special.text)(current) = Some(text);
        }
    }
}

/// Offsets and bytes of the fields of a file that are pieces.
fn piece_fields(file: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut reader = Reader::new(file);
    let fields = std::iter::from_fn(move || {
        let offset = file.len() - reader.rest.len();
        let field = reader.field().ok().flatten()?;
        Some((offset, field))
    });
    fields.filter_map(|(offset, field)| {
        let is_piece = field.number == field::PIECE && matches!(field.value, Value::Bytes(_));
        is_piece.then_some((offset, field.raw))
    })
}
