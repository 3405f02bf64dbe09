//! A trie of texts that may have a NUL.
//!
//! The cells of [`Trie`] use the byte 0 for themselves. Well-formed text never has the byte 0xFF, so
//! a NUL of a key is that byte, and so is a NUL of a text that is looked up.

use std::borrow::Cow;

use super::{Trie, TrieTooLarge, sort_keys};

const NUL: u8 = 0xFF;

/// See the [module page](self).
#[derive(Debug, Default)]
pub(crate) struct ByteTrie(Trie);

impl ByteTrie {
    /// Of equal keys, one counts. Empty keys are left out.
    pub(crate) fn new<'k>(
        keys: impl Iterator<Item = (&'k str, u32)>,
    ) -> Result<Self, TrieTooLarge> {
        let keys = keys.filter(|(key, _)| !key.is_empty());
        let keys: Vec<(Cow<'_, [u8]>, u32)> = keys
            .map(|(key, value)| (without_nul(key.as_bytes()), value))
            .collect();
        if keys.is_empty() {
            return Ok(Self::default());
        }
        let mut sorted: Vec<(&[u8], u32)> = keys.iter().map(|(key, id)| (&key[..], *id)).collect();
        sort_keys(&mut sorted);
        Ok(Self(Trie::build(&sorted)?))
    }

    /// The lengths and values of the keys that a text begins with, the shortest first. The text
    /// is [without NUL](without_nul).
    pub(crate) fn prefixes<'t>(
        &'t self,
        text: &'t [u8],
    ) -> impl Iterator<Item = (usize, u32)> + 't {
        let found = self.0.prefixes(text);
        found.map(|prefix| (prefix.length, prefix.value))
    }
}

/// A text as it is looked up.
pub(crate) fn without_nul(text: &[u8]) -> Cow<'_, [u8]> {
    match text.contains(&0) {
        true => text
            .iter()
            .map(|byte| if *byte == 0 { NUL } else { *byte })
            .collect(),
        false => Cow::Borrowed(text),
    }
}
