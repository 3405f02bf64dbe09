//! A rule set: an ordered map from sequences of code points to their replacements.
//!
//! Input: pairs in any order; a later pair for the same source replaces an earlier one. Output: [`Rules`], ascending
//! by source. Cost: sorting.

use std::collections::BTreeMap;

/// CodePointSequences of code points, one after another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CodePointSequences {
    pub(super) points: Vec<u32>,
    ends: Vec<usize>,
}

impl CodePointSequences {
    pub(super) fn push(&mut self, sequence: &[u32]) -> usize {
        self.points.extend_from_slice(sequence);
        self.ends.push(self.points.len());
        self.ends.len() - 1
    }

    pub(super) fn get(&self, number: usize) -> &[u32] {
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
    sources: CodePointSequences,
    /// Of each source, the number of its target.
    target_numbers: Vec<usize>,
    /// In no order, perhaps not distinct.
    pub(super) targets: CodePointSequences,
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
    pub(super) fn push(&mut self, source: &[u32], target_number: usize) {
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
