//! Tokens that no merge makes, and tokens that no merge takes part of.
//!
//! Both are decided by the texts of a pair alone, so equal strings are still segmented equally (the
//! lemma of [`merge`](super::merge)).

use std::collections::HashSet;

/// What must not be merged.
#[derive(Debug, Clone, Default)]
pub(crate) struct TokenBans {
    /// Texts that no merge makes.
    never_made: HashSet<Box<[u8]>>,
    /// Texts that are no half of a merge.
    never_merged: HashSet<Box<[u8]>>,
}

impl TokenBans {
    pub(crate) fn new<'t>(
        never_made: impl IntoIterator<Item = &'t [u8]>,
        never_merged: impl IntoIterator<Item = &'t [u8]>,
    ) -> Self {
        Self {
            never_made: never_made.into_iter().map(Box::from).collect(),
            never_merged: never_merged.into_iter().map(Box::from).collect(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.never_made.is_empty() && self.never_merged.is_empty()
    }

    pub(crate) fn is_never_made(&self, text: &[u8]) -> bool {
        self.never_made.contains(text)
    }

    /// Whether two tokens may be merged.
    pub(crate) fn allow(&self, left: &[u8], right: &[u8]) -> bool {
        let are_parts = !self.never_merged.contains(left) && !self.never_merged.contains(right);
        are_parts
            && (self.never_made.is_empty()
                || !self.never_made.contains(&[left, right].concat()[..]))
    }
}
