//! Assembles the bytes of the new file from edited pieces and specs.
//!
//! Input: the original file as a list of pieces (edited) and a list of all other top-level fields
//! (as they were), and the changes of the specs. Output: the new file. Steps:
//!
//! 1. [`Patches`] are made: the new bytes of each field that holds a changed spec, and specs that
//!    the file did not have.
//! 2. Pieces and other fields are merged. Pieces go in the order of their ids. Any other field goes
//!    before the first piece that followed it in the original file; new pieces are ignored for
//!    this.
//! 3. Added specs go behind the last piece, in the order of their numbers.
//!
//! The result depends only on the final list of pieces, not on the edits that led to it. Edits that
//! are undone in any order therefore give the original file.
//!
//! Example, with the offsets of the original fields:
//!
//! ```text
//! file        0: <unk>   20: trainer_spec   30: a   40: b
//! pieces      <unk>  new  b  a                      a new piece was inserted, b was moved before a
//! new file    <unk>  new  trainer_spec  b  a        b (40) is the first piece from behind offset 20
//! ```
//!
//! Cost: linear in the file.

use std::ops::Range;

use super::specs::EditedSpec;
use super::splice::{Change, splice, with_message};
use super::{ModelEditor, message_of};
use crate::model::spec::Spec;
use crate::model::wire::{Field, write_bytes_field};

/// A top-level field that is not a piece.
#[derive(Debug, Clone)]
pub(super) struct Other {
    pub(super) number: u32,
    /// Whether its value is length-delimited, as a spec's is.
    pub(super) is_message: bool,
    /// Where it is in the original file.
    pub(super) range: Range<usize>,
}

impl Other {
    /// A field that begins at `offset` of the original file.
    pub(super) fn new(offset: usize, field: &Field<'_>) -> Self {
        Self {
            number: field.number,
            is_message: field.is_message(),
            range: offset..offset + field.raw.len(),
        }
    }

    /// Whether it holds the spec with this number, or a part of it.
    fn is_part_of(&self, number: u32) -> bool {
        self.number == number && self.is_message
    }
}

/// The changes of the specs.
#[derive(Debug, Default)]
pub(super) struct Patches {
    /// New bytes of the field at an offset of the original file.
    replaced: Vec<(usize, Vec<u8>)>,
    /// Fields of specs that the file did not have, by number.
    added: Vec<(u32, Vec<u8>)>,
}

impl Patches {
    /// Adds a spec that the file did not have.
    fn add(&mut self, number: u32, spec: &impl Spec) {
        let mut field = Vec::new();
        write_bytes_field(number, &spec.encode(), &mut field);
        self.added.push((number, field));
    }
}

impl ModelEditor {
    /// Adds the new bytes of the fields that hold `spec`. A file may hold a spec in several parts,
    /// which are merged when the file is read.
    pub(super) fn add_patches<S: Spec>(&self, spec: &EditedSpec<S>, patches: &mut Patches) {
        let changes = spec.changes();
        if changes.is_empty() {
            return;
        }
        let parts = self.parts_of(spec.number);
        if parts.is_empty() {
            patches.add(spec.number, &spec.current);
        } else {
            self.replace_parts::<S>(&parts, &changes, patches);
        }
    }

    /// The fields that hold the spec with this number.
    fn parts_of(&self, number: u32) -> Vec<&Other> {
        let others = self.others.iter();
        others.filter(|other| other.is_part_of(number)).collect()
    }

    /// Applies `changes` to a spec that is in the file in these parts.
    fn replace_parts<S: Spec>(&self, parts: &[&Other], changes: &[Change], patches: &mut Patches) {
        let is_value = |field: &Field<'_>| S::default().merge_field(field.number, field.value);
        let messages: Vec<&[u8]> = parts
            .iter()
            .map(|part| message_of(self.bytes_of(part)))
            .collect();
        let edited = splice(&messages, changes, &is_value);
        for (index, part) in parts.iter().enumerate() {
            if edited[index] != messages[index] {
                let mut field = Vec::new();
                with_message(self.bytes_of(part), &edited[index], &mut field);
                patches.replaced.push((part.range.start, field));
            }
        }
    }

    /// The new file.
    pub(super) fn assemble(&self, patches: &Patches) -> Vec<u8> {
        /// Room for new pieces and longer specs, so that the buffer is rarely reallocated while it
        /// grows.
        const EXTRA_BYTES: usize = 1024;
        let mut file = Vec::with_capacity(self.file.len() + EXTRA_BYTES);
        let others = self.write_pieces(patches, &mut file);
        self.write_specs(others, patches, &mut file);
        file
    }

    /// Appends the pieces, and the other fields between them. Returns the fields that are not
    /// written yet.
    fn write_pieces(&self, patches: &Patches, file: &mut Vec<u8>) -> &[Other] {
        let mut others = self.others.as_slice();
        for item in &self.pieces {
            while let Some((other, behind)) = others.split_first()
                && item.is_behind(other.range.start)
            {
                self.write_other(other, patches, file);
                others = behind;
            }
            item.write(&self.file, file);
        }
        others
    }

    /// Appends the fields behind the pieces and the added specs, in the order of their numbers.
    fn write_specs(&self, others: &[Other], patches: &Patches, file: &mut Vec<u8>) {
        let mut added = patches.added.iter().peekable();
        for other in others {
            while let Some((_, field)) = added.next_if(|(number, _)| *number < other.number) {
                file.extend_from_slice(field);
            }
            self.write_other(other, patches, file);
        }
        for (_, field) in added {
            file.extend_from_slice(field);
        }
    }

    fn write_other(&self, other: &Other, patches: &Patches, file: &mut Vec<u8>) {
        let offset = other.range.start;
        let mut replaced = patches.replaced.iter();
        match replaced.find(|(at, _)| *at == offset) {
            Some((_, field)) => file.extend_from_slice(field),
            None => file.extend_from_slice(self.bytes_of(other)),
        }
    }

    /// The bytes of a field in the original file.
    fn bytes_of(&self, other: &Other) -> &[u8] {
        &self.file[other.range.clone()]
    }
}
