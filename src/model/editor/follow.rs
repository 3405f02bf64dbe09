//! Updates the fields of the trainer spec that refer to pieces.
//!
//! Example: a model with `bos_id` 1 and piece 1 = `<s>`. After a piece was inserted at id 0, `<s>`
//! has id 2 and `bos_id` is written as 2; after `<s>` was renamed to `<bos>`, `bos_piece` is
//! written as `<bos>`; after it was removed, `bos_id` is written as -1. Fields that the edit itself
//! changed are left alone, and so are fields that did not name the piece with their id in the
//! original.

use super::{EditedSpec, ModelEditor, fields_of, is_piece, message_of};
use crate::model::file::read_piece;
use crate::model::spec::TrainerSpec;

/// The fields of a special piece.
struct Special {
    id: fn(&mut TrainerSpec) -> &mut Option<i32>,
    text: fn(&mut TrainerSpec) -> &mut Option<Vec<u8>>,
    id_or_default: fn(&TrainerSpec) -> i32,
    text_or_default: fn(&TrainerSpec) -> &[u8],
}

/// The accessors of the fields with these names.
macro_rules! special {
    ($id:ident, $text:ident) => {
        Special {
            id: |spec| &mut spec.$id,
            text: |spec| &mut spec.$text,
            id_or_default: TrainerSpec::$id,
            text_or_default: TrainerSpec::$text,
        }
    };
}

const SPECIALS: [Special; 4] = [
    special!(unk_id, unk_piece),
    special!(bos_id, bos_piece),
    special!(eos_id, eos_piece),
    special!(pad_id, pad_piece),
];

type EditedTrainerSpec = EditedSpec<TrainerSpec>;

impl Special {
    /// Whether the edit itself changed the fields.
    fn is_edited(&self, spec: &mut EditedTrainerSpec) -> bool {
        let EditedSpec {
            original, current, ..
        } = spec;
        (self.id)(current) != (self.id)(original) || (self.text)(current) != (self.text)(original)
    }

    /// Writes the current index of a piece as its id, or -1 if the piece was removed, if the id has
    /// changed.
    fn set_index(&self, index: Option<usize>, spec: &mut EditedTrainerSpec) {
        let id = index.map_or(Some(-1), |index| i32::try_from(index).ok());
        if id != Some((self.id_or_default)(&spec.original)) {
            *(self.id)(&mut spec.current) = id;
        }
    }

    /// Writes the text of a piece if it has changed.
    fn set_text(&self, text: &[u8], spec: &mut EditedTrainerSpec) {
        if text != (self.text_or_default)(&spec.original) {
            *(self.text)(&mut spec.current) = Some(text.to_vec());
        }
    }
}

impl ModelEditor {
    /// Sets the fields that follow the pieces.
    pub(super) fn follow_pieces(&self, spec: &mut EditedTrainerSpec) {
        self.follow_count(spec);
        for special in &SPECIALS {
            self.follow_special(special, spec);
        }
    }

    /// Sets `vocab_size`, if it was the number of pieces.
    fn follow_count(&self, spec: &mut EditedTrainerSpec) {
        let old_size = spec.original.vocab_size;
        let old_count = i32::try_from(self.original_pieces).ok();
        if spec.current.vocab_size == old_size && old_size == old_count {
            spec.current.vocab_size = i32::try_from(self.len()).ok();
        }
    }

    fn follow_special(&self, special: &Special, spec: &mut EditedTrainerSpec) {
        if special.is_edited(spec) {
            return;
        }
        let Some(offset) = self.original_offset(special, &spec.original) else {
            return;
        };
        // `None` if the piece was removed.
        let index = self
            .pieces
            .iter()
            .position(|item| item.is_at(offset, &self.file));
        special.set_index(index, spec);
        let change = index.and_then(|index| self.pieces[index].change.as_ref());
        if let Some(text) = change.and_then(|change| change.text.as_ref()) {
            special.set_text(text, spec);
        }
    }

    /// The position in the file of a special piece; `None` if the piece with its id does not have
    /// its text.
    fn original_offset(&self, special: &Special, spec: &TrainerSpec) -> Option<usize> {
        let id = usize::try_from((special.id_or_default)(spec)).ok()?;
        let mut pieces = fields_of(&self.file)
            .filter(|(_, field)| is_piece(field))
            .skip(id);
        let (offset, field) = pieces.next()?;
        let piece = read_piece(message_of(field.raw)).ok()?;
        (piece.text == (special.text_or_default)(spec)).then_some(offset)
    }
}
