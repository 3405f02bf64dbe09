//! What the rules of a normalizer and the user-defined symbols write.
//!
//! Input: a tokenizer. Output: a [`PartTable`], which finds the part that is, begins with, ends with or contains a text,
//! and a raw text for which the normalizer writes it.
//!
//! Example: the rule `A` -> `b c` writes the part `b▁c` with the source `A`; the text `▁c` is its end.
//!
//! Cost: sorting all parts once, by their bytes and by their reversed bytes; then a binary search, or one search through
//! all bytes for parts that contain a text.

use std::collections::HashMap;

use memchr::memmem;

use crate::normalize::Normalizer;
use crate::piece::PieceKind;
use crate::tokenizer::Tokenizer;

/// A part that rules or symbols write, and a raw text for which they do.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    /// What is written, with marks for spaces.
    written: Vec<u8>,
    /// The source of the rule, or the symbol.
    source: Vec<u8>,
}

/// The targets of all rules, and all user-defined symbols.
#[derive(Debug)]
pub(super) struct PartTable {
    /// Sorted by what is written; one part for each.
    parts: Vec<Part>,
    /// What the parts write, reversed, with the indexes of the parts; sorted.
    reversed: Vec<(Vec<u8>, usize)>,
    /// What the parts write, with a NUL behind each.
    pub(super) joined: Vec<u8>,
    /// The ends of the parts in `joined`.
    ends: Vec<usize>,
    /// The bytes of the longest part, or of the longest character if that is longer.
    pub(super) longest: usize,
}

impl PartTable {
    /// The parts of a normalizer; `None` if its rules cannot be listed.
    pub(super) fn new(tokenizer: &Tokenizer) -> Option<Self> {
        let normalizer = tokenizer.normalizer();
        let rules = match normalizer.charsmap() {
            Some(charsmap) => charsmap.rules()?,
            None => Vec::new(),
        };
        let model = tokenizer.model();
        let symbols = model
            .pieces()
            .filter(|piece| piece.kind == PieceKind::UserDefined)
            .map(|piece| (piece.text.to_vec(), piece.text.to_vec()));
        let mut written: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
        for (source, target) in rules.into_iter().chain(symbols) {
            // Spaces at the start of a target are dropped behind a space.
            let trimmed = trim_start_spaces(&target);
            if trimmed.len() < target.len() && normalizer.options().remove_extra_whitespaces {
                add_part(normalizer, trimmed, &source, &mut written);
            }
            add_part(normalizer, &target, &source, &mut written);
        }
        Some(Self::of(written))
    }

    /// The table of parts, which are given with their sources.
    fn of(written: HashMap<Vec<u8>, Vec<u8>>) -> Self {
        let parts = written.into_iter();
        let mut parts: Vec<Part> = parts
            .map(|(written, source)| Part { written, source })
            .collect();
        parts.sort_by(|a, b| a.written.cmp(&b.written));
        let backwards = |part: &Part| part.written.iter().rev().copied().collect();
        let reversed = parts.iter().map(backwards).zip(0..);
        let mut reversed: Vec<(Vec<u8>, usize)> = reversed.collect();
        reversed.sort();
        let mut joined = Vec::new();
        let mut ends = Vec::new();
        for part in &parts {
            joined.extend_from_slice(&part.written);
            joined.push(0);
            ends.push(joined.len());
        }
        let longest = parts.iter().map(|part| part.written.len()).max();
        Self {
            parts,
            reversed,
            joined,
            ends,
            longest: longest.unwrap_or(0).max(char::MAX.len_utf8()),
        }
    }

    /// The source of the part that is exactly `text`.
    pub(super) fn source_of(&self, text: &[u8]) -> Option<&[u8]> {
        let found = self
            .parts
            .binary_search_by(|part| part.written.as_slice().cmp(text));
        found.ok().map(|index| self.parts[index].source.as_slice())
    }

    /// The source of a part that begins with `text`.
    pub(super) fn source_starting_with(&self, text: &[u8]) -> Option<&[u8]> {
        let index = self
            .parts
            .partition_point(|part| part.written.as_slice() < text);
        let part = self.parts.get(index)?;
        part.written
            .starts_with(text)
            .then_some(part.source.as_slice())
    }

    /// The source of a part that ends with `text`.
    pub(super) fn source_ending_with(&self, text: &[u8]) -> Option<&[u8]> {
        let backwards: Vec<u8> = text.iter().rev().copied().collect();
        let index = self
            .reversed
            .partition_point(|(written, _)| *written < backwards);
        let (written, part) = self.reversed.get(index)?;
        written
            .starts_with(&backwards)
            .then(|| self.parts[*part].source.as_slice())
    }

    /// The source of a part that contains `text`, perhaps across the end of the part.
    pub(super) fn source_containing(&self, text: &[u8]) -> Option<&[u8]> {
        let at = memmem::find(&self.joined, text)?;
        let index = self.ends.partition_point(|end| *end <= at);
        self.parts.get(index).map(|part| part.source.as_slice())
    }
}

/// Adds what the normalizer writes for `target`, unless that is nothing.
fn add_part(
    normalizer: &Normalizer,
    target: &[u8],
    source: &[u8],
    written: &mut HashMap<Vec<u8>, Vec<u8>>,
) {
    let mut with_marks = Vec::new();
    for byte in target {
        match byte {
            b' ' => with_marks.extend_from_slice(normalizer.mark()),
            byte => with_marks.push(*byte),
        }
    }
    if with_marks.is_empty() {
        return;
    }
    // Of all sources the smallest, so that the result does not depend on the order of a hash table.
    let entry = written.entry(with_marks).or_insert_with(|| source.to_vec());
    if source < entry.as_slice() {
        *entry = source.to_vec();
    }
}

/// The text without the spaces at its start.
fn trim_start_spaces(text: &[u8]) -> &[u8] {
    let spaces = text.iter().take_while(|byte| **byte == b' ').count();
    &text[spaces..]
}
