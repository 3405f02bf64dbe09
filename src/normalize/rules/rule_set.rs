//! A rule set: an ordered map from sequences of code points to their replacements.
//!
//! Of pairs with the same source the last one counts; [`Rules`] ascend by source.

use std::collections::BTreeMap;

use crate::base::Arena;

/// An ordered map from sequences of code points to their replacements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Ascending, distinct.
    sources: Arena<u32>,
    /// The number of the target of each source.
    target_numbers: Vec<usize>,
    /// In no particular order, and not necessarily distinct.
    pub(super) targets: Arena<u32>,
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
        let numbers = self.target_numbers.iter().copied();
        self.sources.iter().zip(numbers)
    }

    /// The number of targets; target numbers are below it.
    pub(crate) fn target_count(&self) -> usize {
        self.targets.len()
    }

    /// The target with this number, which is below [`target_count`](Self::target_count).
    pub(crate) fn target(&self, number: usize) -> &[u32] {
        self.targets.get(number)
    }

    /// Adds a rule, whose source must be greater than all previous ones.
    pub(super) fn push(&mut self, source: &[u32], target_number: usize) {
        self.sources.push(source);
        self.target_numbers.push(target_number);
    }
}

impl FromIterator<(Vec<u32>, Vec<u32>)> for Rules {
    fn from_iter<I: IntoIterator<Item = (Vec<u32>, Vec<u32>)>>(pairs: I) -> Self {
        let sorted: BTreeMap<_, _> = pairs.into_iter().collect();
        Self {
            sources: sorted.keys().map(Vec::as_slice).collect(),
            target_numbers: (0..sorted.len()).collect(),
            targets: sorted.values().map(Vec::as_slice).collect(),
        }
    }
}

/// The character that is written for a code point: U+FFFD above U+10FFFF, `None` for a surrogate.
pub(crate) fn encode_point(point: u32) -> Option<char> {
    if point > u32::from(char::MAX) {
        Some(char::REPLACEMENT_CHARACTER)
    } else {
        char::from_u32(point)
    }
}
