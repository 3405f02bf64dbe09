//! A spec in a [`ModelEditor`](super::ModelEditor): as it was read, and as it is to be written.
//!
//! Example: `add_dummy_prefix` is absent in the file, which means true. Setting it to true keeps it
//! absent; setting it to false gives one [`Change`], the field `18 00`. All other fields of the
//! spec are equal in both copies and are therefore not written, so their bytes in the file do not
//! change.

use super::splice::Change;
use crate::model::spec::Spec;

/// A spec as it was read, and as it is to be written.
#[derive(Debug, Clone)]
pub(super) struct EditedSpec<S> {
    /// The number of its field in the file.
    pub(super) number: u32,
    pub(super) original: S,
    pub(super) current: S,
}

impl<S: Spec> EditedSpec<S> {
    pub(super) fn new(number: u32, original: Option<&S>) -> Self {
        let original = original.cloned().unwrap_or_default();
        let current = original.clone();
        Self {
            number,
            original,
            current,
        }
    }

    /// The fields that differ, ascending by number.
    pub(super) fn changes(&self) -> Vec<Change> {
        let numbers = S::NUMBERS.iter();
        numbers
            .filter_map(|number| self.change_of(*number))
            .collect()
    }

    /// The change of one field, if it differs. Encodings are compared rather than values, so that
    /// the presence of the field and the bits of a float (NaN, -0.0) count.
    fn change_of(&self, number: u32) -> Option<Change> {
        let encoding = encoding_of(&self.current, number);
        let is_changed = encoding != encoding_of(&self.original, number);
        is_changed.then_some(Change { number, encoding })
    }
}

/// The encoding of one field of a spec; empty if the field is absent.
fn encoding_of(spec: &impl Spec, number: u32) -> Vec<u8> {
    let mut encoding = Vec::new();
    spec.write_field(number, &mut encoding);
    encoding
}
