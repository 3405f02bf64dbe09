//! The ids of a text of several lines.
//!
//! Example: the text `"one\n\ntwo"` has the lines at 0..3, 4..4 and 5..8. If they have 2, 0 and 3
//! ids, the ids of the lines end at 2, 2 and 5.
//!
//! [`line_ranges`] finds the lines; [`EncodedLines`] takes 4 bytes for each id and 8 for each line.

use std::ops::Range;

use memchr::memchr_iter;

use crate::piece::PieceId;

/// The ids of the lines of a text, made by [`Encoder::encode_lines`](crate::Encoder::encode_lines).
///
/// ```
/// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
/// let mut encoder = tokenizer.encoder();
/// let lines = encoder.encode_lines("one\n\ntwo three\n");
/// assert_eq!(lines.len(), 3);
/// let ids: Vec<_> = lines.iter().collect();
/// assert_eq!(ids, [tokenizer.encode("one"), vec![], tokenizer.encode("two three")]);
/// assert_eq!(lines.ids(), ids.concat());
/// # Ok::<(), spiece::OpenError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EncodedLines {
    /// The ids of all lines.
    pub(crate) ids: Vec<PieceId>,
    /// The number of ids up to the end of each line.
    pub(crate) ends: Vec<usize>,
}

impl EncodedLines {
    /// The number of lines.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no lines.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The ids of all lines, one line after the other.
    pub fn ids(&self) -> &[PieceId] {
        &self.ids
    }

    /// The ids of each line.
    pub fn iter(&self) -> impl Iterator<Item = &[PieceId]> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let line = &self.ids[start..*end];
            start = *end;
            line
        })
    }

    /// Removes all lines, but keeps the allocated memory.
    pub(crate) fn clear(&mut self) {
        self.ids.clear();
        self.ends.clear();
    }

    /// Ends a line, whose ids were appended to `ids`.
    #[inline]
    pub(crate) fn end_line(&mut self) {
        self.ends.push(self.ids.len());
    }

    /// The memory in use, in bytes.
    pub(crate) fn size_bytes(&self) -> usize {
        self.ids.capacity() * size_of::<PieceId>() + self.ends.capacity() * size_of::<usize>()
    }
}

/// The byte ranges of the lines of a text, without their line feeds. A line ends with a line feed
/// or with the text; an empty text has no lines.
pub(crate) fn line_ranges(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let has_rest = text.last().is_some_and(|last| *last != b'\n');
    let rest_end = has_rest.then_some(text.len());
    memchr_iter(b'\n', text)
        .chain(rest_end)
        .scan(0, |start, end| {
            let line = *start..end;
            *start = end + 1;
            Some(line)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_with_a_line_feed_or_with_the_text() {
        let table: &[(&str, &[&str])] = &[
            ("", &[]),
            ("\n", &[""]),
            ("a", &["a"]),
            ("a\n", &["a"]),
            ("\n\na\r\n b", &["", "", "a\r", " b"]),
        ];
        for (text, expected) in table {
            let lines: Vec<&str> = line_ranges(text.as_bytes())
                .map(|range| &text[range])
                .collect();
            assert_eq!(lines, *expected, "{text:?}");
        }
    }
}
