//! Finds the longest key of a set at a position in a text.
//!
//! User-defined symbols, meta pieces and allowed special pieces are found in text like this. A
//! table of the bytes with which keys begin comes before the [`Trie`], so that most positions cost
//! one load; the others cost at most the length of the longest key.
//!
//! Example: the keys are `a`, `ab` and `abcd`. The text `abc` begins with `a` and `ab`; the result
//! is `ab` (length 2). The text `xab` begins with no key, because no key begins with `x`.

use std::ops::Range;

use super::{Trie, TrieTooLarge, sort_keys};

/// The reference considers at most this many keys that match at one position, the shortest first.
const MAX_MATCHES_PER_POSITION: usize = 64;

/// A set of byte strings with values, prepared for longest-prefix search. The default is the empty
/// set.
#[derive(Debug, Clone)]
pub(crate) struct PrefixTrie {
    keys: Trie,
    is_empty: bool,
    /// Whether a key begins with the byte.
    first_bytes: Box<[bool; 256]>,
}

impl Default for PrefixTrie {
    fn default() -> Self {
        Self {
            keys: Trie::default(),
            is_empty: true,
            first_bytes: Box::new([false; 256]),
        }
    }
}

impl PrefixTrie {
    /// A set of `keys` whose values do not matter. Empty keys and keys that contain a NUL are left
    /// out: the reference never matches them.
    #[cfg(any(feature = "train", test))]
    pub(crate) fn new<'s>(keys: impl IntoIterator<Item = &'s [u8]>) -> Result<Self, TrieTooLarge> {
        Self::with_values(keys.into_iter().map(|key| (key, 0)))
    }

    /// Like [`new`](Self::new), with a value for each key, other than `u32::MAX`; of equal keys the
    /// lowest value counts.
    pub(crate) fn with_values<'s>(
        keys: impl IntoIterator<Item = (&'s [u8], u32)>,
    ) -> Result<Self, TrieTooLarge> {
        let mut keys: Vec<(&[u8], u32)> = keys
            .into_iter()
            .filter(|(key, _)| !key.is_empty() && !key.contains(&0))
            .collect();
        if keys.is_empty() {
            return Ok(Self::default());
        }
        sort_keys(&mut keys);
        let mut first_bytes = Box::new([false; 256]);
        for (key, _) in &keys {
            first_bytes[usize::from(key[0])] = true;
        }
        Ok(Self {
            keys: Trie::build(&keys)?,
            is_empty: false,
            first_bytes,
        })
    }

    /// A set that matches nothing that the tests use, but may begin with every byte, so that
    /// callers examine every position.
    #[cfg(all(test, feature = "train"))]
    pub(crate) fn without_shortcuts() -> Self {
        let key = [1; 100];
        let mut trie = Self::new([&key[..]]).expect("one short key");
        trie.first_bytes.fill(true);
        trie
    }

    /// Whether there are no keys.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Whether a key may begin with this byte. Where the answer is no, callers copy text in runs.
    #[inline]
    pub(crate) fn may_begin_with(&self, byte: u8) -> bool {
        self.first_bytes[usize::from(byte)]
    }

    /// The length of the longest key that `text` begins with; never 0.
    #[inline]
    pub(crate) fn longest(&self, text: &[u8]) -> Option<usize> {
        self.longest_with_value(text).map(|(length, _)| length)
    }

    /// The longest key that `text` begins with: its length and its value.
    #[inline]
    pub(crate) fn longest_with_value(&self, text: &[u8]) -> Option<(usize, u32)> {
        if !self.may_begin_with(*text.first()?) {
            return None;
        }
        let found = self.keys.prefixes(text);
        let longest = found.take(MAX_MATCHES_PER_POSITION).last()?;
        Some((longest.length, longest.value))
    }

    /// Whether a key may begin with all of `text`, so that what follows it decides which key a longer
    /// text begins with. Only false is certain.
    pub(crate) fn may_continue(&self, text: &[u8]) -> bool {
        let Some(first) = text.first() else {
            return !self.is_empty();
        };
        if !self.may_begin_with(*first) {
            return false;
        }
        let mut found = self.keys.prefixes(text);
        while found.next().is_some() {}
        found.walked() == text.len()
    }

    /// The first position in `text` at which a key begins, and the length of the longest key there.
    #[cfg(any(feature = "train", test))]
    pub(crate) fn find(&self, text: &[u8]) -> Option<(usize, usize)> {
        (0..text.len()).find_map(|at| Some((at, self.longest(&text[at..])?)))
    }
}

/// Ranges of a text in which keys are found. A key is in one of them as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyScopes {
    /// From left to right, without common parts.
    ranges: Vec<Range<usize>>,
}

impl KeyScopes {
    pub(crate) fn new(ranges: Vec<Range<usize>>) -> Self {
        Self { ranges }
    }

    /// The scopes in a text whose bytes come from these positions. A byte is in the scope of the
    /// position that it comes from.
    pub(crate) fn of_origins(&self, origins: &[usize]) -> Self {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut last = None;
        for (at, origin) in origins.iter().enumerate() {
            let scope = self.scope_of(*origin);
            match ranges.last_mut() {
                Some(range) if scope.is_some() && scope == last => range.end = at + 1,
                _ if scope.is_some() => ranges.push(at..at + 1),
                _ => {}
            }
            last = scope;
        }
        Self { ranges }
    }

    fn scope_of(&self, at: usize) -> Option<&Range<usize>> {
        let count = self.ranges.partition_point(|range| range.start <= at);
        let range = self.ranges[..count].last()?;
        (at < range.end).then_some(range)
    }

    /// Where the scope of a position ends, if it is in one.
    pub(crate) fn end_of(&self, at: usize) -> Option<usize> {
        self.scope_of(at).map(|scope| scope.end)
    }

    /// Whether a range is in one of the scopes.
    pub(crate) fn contain(&self, range: &Range<usize>) -> bool {
        self.end_of(range.start).is_some_and(|end| range.end <= end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_key_at_the_first_position_is_found() {
        let keys = ["a", "ab", "abcd", "\u{e9}", ""].map(str::as_bytes);
        let trie = PrefixTrie::new(keys).unwrap();
        let cases = [
            ("abc", Some((0, 2))),
            ("xxabcde", Some((2, 4))),
            ("xyz", None),
            ("", None),
            ("x\u{e9}", Some((1, 2))),
        ];
        for (text, found) in cases {
            assert_eq!(trie.find(text.as_bytes()), found, "{text}");
        }
        assert_eq!(PrefixTrie::default().find(b"abc"), None);
        assert!(PrefixTrie::new([]).unwrap().is_empty());
        assert!(PrefixTrie::new([&b""[..], b"a\0b"]).unwrap().is_empty());
    }

    #[test]
    fn the_lowest_value_of_equal_keys_counts() {
        let keys = [(&b"ab"[..], 7), (b"ab", 3), (b"a", 9)];
        let trie = PrefixTrie::with_values(keys).unwrap();
        assert_eq!(trie.longest_with_value(b"abc"), Some((2, 3)));
        assert_eq!(trie.longest_with_value(b"ac"), Some((1, 9)));
    }

    #[test]
    fn no_more_than_64_matches_are_considered() {
        let keys: Vec<Vec<u8>> = (1..=70).map(|length| vec![b'a'; length]).collect();
        let trie = PrefixTrie::new(keys.iter().map(Vec::as_slice)).unwrap();
        assert_eq!(trie.longest(&[b'a'; 100]), Some(64));
    }
}
