//! Normalization rules: sequences of code points and what replaces them.
//!
//! In: pairs in any order, a [TSV file](tsv), or the name of one of the
//! reference's [built-in](builtin) sets. Out: [`Rules`], an ordered map ready to
//! be [compiled](super::charsmap::compile). A later pair for the same source
//! replaces an earlier one.
//!
//! Code points are plain numbers here, because a TSV file may name anything up to
//! 32 bits and the order of the compiled pool goes by those numbers. All sources
//! lie in one arena and so do all targets; the built-in sets have 13,000 targets
//! for 225,000 sources, so rules refer to targets by number.

mod builtin;
mod tsv;

pub(crate) use builtin::{BUILTIN_NAMES, builtin_charsmap};
pub(crate) use tsv::parse_tsv;

use std::collections::BTreeMap;

/// Sequences of code points, one after another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sequences {
    points: Vec<u32>,
    ends: Vec<usize>,
}

impl Sequences {
    fn push(&mut self, sequence: &[u32]) -> usize {
        self.points.extend_from_slice(sequence);
        self.ends.push(self.points.len());
        self.ends.len() - 1
    }

    fn get(&self, number: usize) -> &[u32] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.points[start..self.ends[number]]
    }

    fn len(&self) -> usize {
        self.ends.len()
    }
}

/// An ordered map from sequences of code points to their replacements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Ascending, distinct.
    sources: Sequences,
    /// Of each source, the number of its target.
    target_numbers: Vec<usize>,
    /// In no order, perhaps not distinct.
    targets: Sequences,
}

impl Rules {
    pub(crate) fn len(&self) -> usize {
        self.sources.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sources and targets, ascending by source.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u32], &[u32])> {
        self.iter_numbered()
            .map(|(source, number)| (source, self.target(number)))
    }

    /// Sources and target numbers, ascending by source.
    pub(crate) fn iter_numbered(&self) -> impl Iterator<Item = (&[u32], usize)> {
        let sources = (0..self.len()).map(|number| self.sources.get(number));
        sources.zip(self.target_numbers.iter().copied())
    }

    /// How many target numbers there are.
    pub(crate) fn target_count(&self) -> usize {
        self.targets.len()
    }

    /// The target with this number, which is below [`target_count`](Self::target_count).
    pub(crate) fn target(&self, number: usize) -> &[u32] {
        self.targets.get(number)
    }

    /// Adds a rule whose source is greater than all before.
    fn push(&mut self, source: &[u32], target_number: usize) {
        self.sources.push(source);
        self.target_numbers.push(target_number);
    }
}

impl FromIterator<(Vec<u32>, Vec<u32>)> for Rules {
    fn from_iter<I: IntoIterator<Item = (Vec<u32>, Vec<u32>)>>(pairs: I) -> Self {
        let sorted: BTreeMap<_, _> = pairs.into_iter().collect();
        let mut rules = Self::default();
        for (source, target) in &sorted {
            let number = rules.targets.push(target);
            rules.push(source, number);
        }
        rules
    }
}

/// The character that is written for a code point: U+FFFD above U+10FFFF, none
/// for a surrogate.
pub(crate) fn encode_point(point: u32) -> Option<char> {
    if point > u32::from(char::MAX) {
        Some(char::REPLACEMENT_CHARACTER)
    } else {
        char::from_u32(point)
    }
}
