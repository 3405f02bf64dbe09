//! The longest of a set of strings at a place in a text.

use std::sync::Arc;

use crate::normalize::PrefixMatcher;
use crate::trie::DoubleArray;

/// The reference looks at no more than this many strings that begin at one place, shortest first.
const MATCHES_AT_ONE_PLACE: usize = 64;

/// A set of strings, ready to be looked for. Cost of a look: at most the longest string.
#[derive(Debug, Clone)]
pub(crate) struct PrefixTrie {
    strings: Option<DoubleArray>,
    /// Whether a string begins with the byte.
    first_bytes: Box<[bool; 256]>,
}

impl PrefixTrie {
    /// A set of `strings`; empty strings and strings with a NUL match nothing.
    pub(crate) fn new<'s>(strings: impl IntoIterator<Item = &'s [u8]>) -> PrefixTrie {
        PrefixTrie::with_values(strings.into_iter().map(|string| (string, 0)))
    }

    /// A set of strings with a number below 2^31 each; of equal strings the lowest number counts.
    pub(crate) fn with_values<'s>(
        strings: impl IntoIterator<Item = (&'s [u8], u32)>,
    ) -> PrefixTrie {
        let mut keys: Vec<(&[u8], u32)> = strings
            .into_iter()
            .filter(|(string, _)| !string.is_empty() && !string.contains(&0))
            .collect();
        keys.sort_unstable();
        keys.dedup_by_key(|(string, _)| *string);
        let mut first_bytes = Box::new([false; 256]);
        for (string, _) in &keys {
            first_bytes[usize::from(string[0])] = true;
        }
        // Sorted, without NULs or empty strings: the builder has nothing to refuse but sheer size.
        let strings = if keys.is_empty() {
            None
        } else {
            DoubleArray::build(&keys).ok()
        };
        PrefixTrie {
            strings,
            first_bytes,
        }
    }

    /// Whether there are no strings.
    pub(crate) fn is_empty(&self) -> bool {
        self.strings.is_none()
    }

    /// The longest string that `text` begins with: its length and its number.
    #[inline]
    pub(crate) fn longest_with_value(&self, text: &[u8]) -> Option<(usize, usize)> {
        let strings = self.strings.as_ref()?;
        if !self.first_bytes[usize::from(*text.first()?)] {
            return None;
        }
        strings.longest_prefix(text, MATCHES_AT_ONE_PLACE)
    }

    /// The first place in `text` where a string of the set begins: its offset and the length of the
    /// longest string there.
    pub(crate) fn find(&self, text: &[u8]) -> Option<(usize, usize)> {
        self.strings.as_ref()?;
        (0..text.len()).find_map(|at| self.longest(&text[at..]).map(|length| (at, length)))
    }
}

impl PrefixMatcher for PrefixTrie {
    fn is_empty(&self) -> bool {
        PrefixTrie::is_empty(self)
    }

    #[inline]
    fn longest(&self, text: &[u8]) -> Option<usize> {
        self.longest_with_value(text).map(|(length, _)| length)
    }

    #[inline]
    fn may_begin_with(&self, byte: u8) -> bool {
        self.first_bytes[usize::from(byte)]
    }
}

impl<M: PrefixMatcher> PrefixMatcher for Arc<M> {
    #[inline]
    fn is_empty(&self) -> bool {
        self.as_ref().is_empty()
    }

    #[inline]
    fn longest(&self, text: &[u8]) -> Option<usize> {
        self.as_ref().longest(text)
    }

    #[inline]
    fn may_begin_with(&self, byte: u8) -> bool {
        self.as_ref().may_begin_with(byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_first() {
        let set = PrefixTrie::new(["a", "ab", "abcd", "\u{e9}", ""].map(str::as_bytes));
        let cases = [
            ("abc", Some((0, 2))),
            ("xxabcde", Some((2, 4))),
            ("xyz", None),
            ("", None),
            ("x\u{e9}", Some((1, 2))),
        ];
        for (text, found) in cases {
            assert_eq!(set.find(text.as_bytes()), found, "{text}");
        }
        assert_eq!(PrefixTrie::new([]).find(b"abc"), None);
    }
}
