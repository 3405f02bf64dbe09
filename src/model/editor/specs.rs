//! A spec in a [`ModelEditor`](super::ModelEditor): as it was read, and as it is to be.
//!
//! Example: `add_dummy_prefix` is absent in the file, which means true. Setting it to true keeps it absent; setting it to
//! false gives one [`Change`], the field `18 00`. All other fields of the spec are equal in both copies and are therefore
//! not written, so that their bytes in the file stay as they are.

use super::splice::Change;
use crate::model::spec::Spec;

/// A spec as it was, and as it is to be.
#[derive(Debug, Clone)]
pub(super) struct EditedSpec<S> {
    /// The number of its field in the file.
    pub(super) number: u32,
    pub(super) original: S,
    pub(super) current: S,
}

impl<S: Spec> EditedSpec<S> {
    pub(super) fn new(number: u32, original: Option<&S>) -> EditedSpec<S> {
        let original = original.cloned().unwrap_or_default();
        let current = original.clone();
        EditedSpec {
            number,
            original,
            current,
        }
    }

    /// The fields that differ, ascending by number. Encodings are compared rather than values, so that the presence of
    /// a field and the bits of a float (NaN, -0.0) count.
    pub(super) fn changes(&self) -> Vec<Change> {
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

/// The new value of a flag: as in the original, present or absent, if that means `value` already. `was` is what the
/// original means, which is the default if the flag is absent.
pub(super) fn keep_or_set(original: Option<bool>, was: bool, value: bool) -> Option<bool> {
    if was == value { original } else { Some(value) }
}
