//! Texts that are cut at special pieces.
//!
//! At each position the longest piece counts, and the leftmost match wins.

use std::ops::Range;

use crate::trie::prefix::PrefixTrie;

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Segment {
    /// Ordinary text, not empty.
    Text(Range<usize>),
    /// The special piece or added token with this value.
    Special(usize, Range<usize>),
}

/// Passes the segments of `text`, from left to right, with the pieces of `trie`.
pub(crate) fn cut(trie: &PrefixTrie, text: &[u8], mut on_segment: impl FnMut(Segment)) {
    let mut start = 0;
    while let Some((found, piece)) = find(trie, text, start) {
        if start < found.start {
            on_segment(Segment::Text(start..found.start));
        }
        start = found.end;
        on_segment(Segment::Special(piece, found));
    }
    if start < text.len() {
        on_segment(Segment::Text(start..text.len()));
    }
}

/// The first piece at or after `at`, the longest of those there.
pub(crate) fn find(trie: &PrefixTrie, text: &[u8], at: usize) -> Option<(Range<usize>, usize)> {
    if trie.is_empty() {
        return None;
    }
    (at..text.len()).find_map(|at| {
        let (length, piece) = trie.longest_with_value(&text[at..])?;
        Some((at..at + length, piece as usize))
    })
}
