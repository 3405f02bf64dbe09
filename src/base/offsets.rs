//! Positions in a text: from bytes to characters and to UTF-16.
//!
//! [`Token`](crate::Token)s have byte offsets. Python counts characters (code points), JavaScript
//! and Java count UTF-16 units. An offset inside a character counts as its start.
//!
//! Example: in `aé😀b`, the `b` has the byte offset 1 + 2 + 4 = 7, the character offset 3, and the
//! UTF-16 offset 1 + 1 + 2 = 4.
//!
//! The counts before every 256th byte are stored, and the bytes from there to the offset are
//! counted: one pass over the text, then constant time for each position.

use super::utf8::{floor_char_boundary, is_char_start};

/// Bytes between two stored counts.
const STRIDE: usize = 256;

/// Converts byte offsets of one text. An offset inside a character counts as its start.
///
/// ```
/// let text = "aé😀b";
/// let offsets = spiece::Offsets::new(text);
/// let b = text.find('b').unwrap();
/// assert_eq!((b, offsets.chars(b), offsets.utf16(b)), (7, 3, 4));
/// ```
#[derive(Debug, Clone)]
pub struct Offsets<'t> {
    text: &'t [u8],
    /// Characters and UTF-16 units that begin before each multiple of the stride.
    sums: Vec<(usize, usize)>,
}

impl<'t> Offsets<'t> {
    /// Prepares the conversion of offsets of `text`, in one pass over it.
    pub fn new(text: &'t str) -> Self {
        let text = text.as_bytes();
        let mut sums = Vec::with_capacity(text.len() / STRIDE + 1);
        let mut chars = 0;
        let mut units = 0;
        for block in text.chunks(STRIDE) {
            sums.push((chars, units));
            let (more_chars, more_units) = count(block);
            chars += more_chars;
            units += more_units;
        }
        sums.push((chars, units));
        Offsets { text, sums }
    }

    /// The number of characters before the byte at `offset`; all of them if it is beyond the end.
    pub fn chars(&self, offset: usize) -> usize {
        self.before(offset).0
    }

    /// The number of UTF-16 units before the byte at `offset`; all of them if it is beyond the end.
    pub fn utf16(&self, offset: usize) -> usize {
        self.before(offset).1
    }

    /// Characters and UTF-16 units before the byte at `offset`.
    fn before(&self, offset: usize) -> (usize, usize) {
        let offset = floor_char_boundary(self.text, offset);
        let (chars, units) = self.sums[offset / STRIDE];
        let (more_chars, more_units) = count(&self.text[offset / STRIDE * STRIDE..offset]);
        (chars + more_chars, units + more_units)
    }
}

/// Characters that begin in `bytes`, and their UTF-16 units.
fn count(bytes: &[u8]) -> (usize, usize) {
    let chars = bytes.iter().filter(|byte| is_char_start(**byte)).count();
    let pairs = bytes.iter().filter(|byte| **byte >= 0xF0).count();
    (chars, chars + pairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn offsets_are_right_at_every_position(text in "[a\u{e9}\u{4e00}\u{1f600}]{0,400}") {
            let offsets = Offsets::new(&text);
            let (mut chars, mut units) = (0, 0);
            for (at, c) in text.char_indices() {
                for inside in at..at + c.len_utf8() {
                    prop_assert_eq!((offsets.chars(inside), offsets.utf16(inside)), (chars, units));
                }
                chars += 1;
                units += c.len_utf16();
            }
            prop_assert_eq!((offsets.chars(text.len()), offsets.utf16(usize::MAX)), (chars, units));
        }
    }
}
