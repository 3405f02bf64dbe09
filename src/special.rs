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

/// A range of a text, and what is found in it.
#[derive(Debug)]
pub(crate) struct Scope<'s, S> {
    pub(crate) range: Range<usize>,
    pub(crate) found: &'s S,
}

#[cfg(feature = "formats")]
impl<'s, S> Scope<'s, S> {
    /// The whole of a text.
    pub(crate) fn whole(text: &[u8], found: &'s S) -> [Self; 1] {
        let range = 0..text.len();
        [Self { range, found }]
    }
}

/// The first match at or after `at`. Each scope is searched by itself, so that no match has a part
/// outside of one, and what one finds does not depend on the text of another. `scopes` are from left
/// to right; those before the match are removed.
pub(crate) fn find_in_scopes<'s, S, M>(
    scopes: &mut &[Scope<'s, S>],
    at: usize,
    find: impl Fn(&'s S, Range<usize>) -> Option<M>,
) -> Option<M> {
    while let [scope, rest @ ..] = *scopes {
        let begin = at.max(scope.range.start);
        if begin < scope.range.end
            && let Some(found) = find(scope.found, begin..scope.range.end)
        {
            return Some(found);
        }
        *scopes = rest;
    }
    None
}

/// The segments of `text`, from left to right. `next` finds the next piece at or after a position.
pub(crate) fn segments(
    text: &[u8],
    mut next: impl FnMut(usize) -> Option<(Range<usize>, usize)>,
) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut start = 0;
    while let Some((found, piece)) = next(start) {
        if start < found.start {
            segments.push(Segment::Text(start..found.start));
        }
        start = found.end;
        segments.push(Segment::Special(piece, found));
    }
    if start < text.len() {
        segments.push(Segment::Text(start..text.len()));
    }
    segments
}

/// The first piece in a range, the longest of those that begin there.
pub(crate) fn find(
    trie: &PrefixTrie,
    text: &[u8],
    range: Range<usize>,
) -> Option<(Range<usize>, usize)> {
    if trie.is_empty() {
        return None;
    }
    let text = &text[..range.end];
    range.into_iter().find_map(|at| {
        let (length, piece) = trie.longest_with_value(&text[at..])?;
        Some((at..at + length, piece as usize))
    })
}
