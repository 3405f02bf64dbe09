//! The texts that the rules of a normalizer and the user-defined symbols write.
//!
//! A [`PartTable`] finds a part that equals, begins with, ends with or contains a text, and a raw
//! text for which the normalizer writes it.
//!
//! Example: the rule `A` -> `b c` writes the part `b▁c` with the source `A`; the text `▁c` is its
//! end.
//!
//! All parts are sorted once, by their bytes and by their reversed bytes. A query is then a binary
//! search, or, for parts that contain a text, one search through all bytes.

use std::collections::HashMap;

use memchr::memmem;

use crate::normalize::Normalizer;
use crate::piece::PieceKind;
use crate::tokenizer::ModelTables;

/// A part that rules or symbols write, and a raw text for which they write it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WrittenPart {
    /// The text that is written, with marks for spaces.
    written: Vec<u8>,
    /// The source of the rule, or the symbol.
    source: Vec<u8>,
}

/// The targets of all rules, and all user-defined symbols.
#[derive(Debug)]
pub(super) struct PartTable {
    /// One part for each text that is written, sorted by that text.
    parts: Vec<WrittenPart>,
    /// The texts that the parts write, reversed and sorted, with the indexes of the parts.
    reversed: Vec<(Vec<u8>, usize)>,
    /// The texts that the parts write, each followed by a NUL.
    pub(super) joined: Vec<u8>,
    /// The ends of the parts in `joined`.
    ends: Vec<usize>,
    /// The bytes of the longest part, or of the longest character if that is longer.
    pub(super) longest: usize,
}

impl PartTable {
    /// The parts of a normalizer; `None` if its rules cannot be listed.
    pub(super) fn new(tables: &ModelTables) -> Option<Self> {
        let normalizer = tables.normalizer();
        let rules = match normalizer.charsmap() {
            Some(charsmap) => charsmap.rules()?,
            None => Vec::new(),
        };
        let mut parts = WrittenParts {
            normalizer,
            sources: HashMap::new(),
        };
        for (source, target) in &rules {
            parts.add_rule(source, target);
        }
        let pieces = tables.model().pieces();
        for symbol in pieces.filter(|piece| piece.kind == PieceKind::UserDefined) {
            parts.add_rule(symbol.text, symbol.text);
        }
        Some(Self::of(parts.sources))
    }

    /// The table of the given parts and their sources.
    fn of(written: HashMap<Vec<u8>, Vec<u8>>) -> Self {
        let parts = written.into_iter();
        let mut parts: Vec<WrittenPart> = parts
            .map(|(written, source)| WrittenPart { written, source })
            .collect();
        parts.sort_by(|a, b| a.written.cmp(&b.written));
        let reversed = parts.iter().map(|part| reversed(&part.written)).zip(0..);
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
        let part = self.lower_bound(text)?;
        (part.written == text).then_some(part.source.as_slice())
    }

    /// The first part whose text is not less than `text`.
    fn lower_bound(&self, text: &[u8]) -> Option<&WrittenPart> {
        let index = self
            .parts
            .partition_point(|part| part.written.as_slice() < text);
        self.parts.get(index)
    }

    /// The source of a part that begins with `text`.
    pub(super) fn source_starting_with(&self, text: &[u8]) -> Option<&[u8]> {
        let part = self.lower_bound(text)?;
        part.written
            .starts_with(text)
            .then_some(part.source.as_slice())
    }

    /// The source of a part that ends with `text`.
    pub(super) fn source_ending_with(&self, text: &[u8]) -> Option<&[u8]> {
        let backwards = reversed(text);
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
        let part = self.parts.get(index)?;
        Some(&part.source)
    }
}

/// The bytes from the last one to the first.
fn reversed(text: &[u8]) -> Vec<u8> {
    text.iter().rev().copied().collect()
}

/// The texts that a normalizer writes for rules and symbols.
struct WrittenParts<'n> {
    normalizer: &'n Normalizer,
    /// The source of each part, by the text that is written.
    sources: HashMap<Vec<u8>, Vec<u8>>,
}

impl WrittenParts<'_> {
    /// Adds the texts that the normalizer can write for a rule.
    fn add_rule(&mut self, source: &[u8], target: &[u8]) {
        // Spaces at the start of a target are dropped after a space.
        let spaces = target.iter().take_while(|byte| **byte == b' ').count();
        let trimmed = &target[spaces..];
        let drops_spaces = self.normalizer.options().remove_extra_whitespaces;
        if trimmed.len() < target.len() && drops_spaces {
            self.add_part(source, trimmed);
        }
        self.add_part(source, target);
    }

    /// Adds the text that the normalizer writes for `target`, unless it is empty.
    fn add_part(&mut self, source: &[u8], target: &[u8]) {
        let mut written = Vec::new();
        for byte in target {
            match byte {
                b' ' => written.extend_from_slice(self.normalizer.mark()),
                byte => written.push(*byte),
            }
        }
        if written.is_empty() {
            return;
        }
        // The smallest of all sources is kept, so the result does not depend on the order of a hash
        // table.
        let entry = self.sources.entry(written);
        let smallest = entry.or_insert_with(|| source.to_vec());
        if source < smallest.as_slice() {
            *smallest = source.to_vec();
        }
    }
}
