//! Finding words in raw text, sixteen bytes at a time.
//!
//! Calling a search function for each word costs more than the search itself. So sixteen bytes from
//! the start of a word are loaded as one number. A few operations on all of its bytes at once
//! (SWAR, "SIMD within a register"; see "Determine if a word has a zero byte" in
//! <https://graphics.stanford.edu/~seander/bithacks.html>) find the spaces. Finding the end of a
//! short word and copying its bytes then takes no loop, and no branch that depends on the length.
//!
//! For example, for "to be" with four of the sixteen bytes, the first byte on the left:
//!
//! ```text
//! bytes                      t    o    _    b      74 6f 20 62
//! xor 0x20 in every byte                           54 4f 00 42
//! + 0x7f in every byte                             d3 ce 7f c1   the highest bit is set if the byte was not 0
//! highest bits, inverted                           00 00 80 00   the space; 2 bytes precede it
//! ```

/// A block with the same byte sixteen times.
const fn all(byte: u8) -> u128 {
    u128::from_le_bytes([byte; 16])
}

/// Sixteen bytes of text; the first is the lowest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block16(pub(crate) u128);

impl Block16 {
    /// Bytes in a block.
    pub(crate) const LENGTH: u32 = 16;

    /// The block of `text` that begins at `start`, which is before its end; padded with spaces.
    #[inline]
    pub(crate) fn at(text: &[u8], start: usize) -> Self {
        let rest = &text[start..];
        if let Some(bytes) = rest.first_chunk::<16>() {
            return Self(u128::from_le_bytes(*bytes));
        }
        let spaces = all(b' ') << (8 * rest.len());
        match text.last_chunk::<16>() {
            Some(bytes) if !rest.is_empty() => {
                Self(u128::from_le_bytes(*bytes) >> (128 - 8 * rest.len()) | spaces)
            }
            _ => {
                let bytes = rest
                    .iter()
                    .rev()
                    .fold(0, |bytes, byte| bytes << 8 | u128::from(*byte));
                Self(bytes | spaces)
            }
        }
    }

    /// The highest bit of each byte that is a space.
    #[inline]
    fn spaces(self) -> u128 {
        let others = self.0 ^ all(b' ');
        // No sum carries into the next byte.
        !(((others & all(0x7f)) + all(0x7f)) | others | all(0x7f))
    }

    /// The number of bytes before the first space.
    #[inline]
    pub(crate) fn word(self) -> u32 {
        self.spaces().trailing_zeros() / 8
    }

    /// The number of bytes of the spaces at the start and the word after them.
    #[inline]
    pub(crate) fn spaced_word(self) -> u32 {
        let spaces = self.spaces();
        let leading = (!spaces & all(0x80)).trailing_zeros() / 8;
        let after = u128::MAX.checked_shl(8 * leading).unwrap_or(0);
        (spaces & after).trailing_zeros() / 8
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn word_lengths_equal_those_of_a_bytewise_search(text in "[ a!\u{e9}\u{2020}]{1,24}", start in 0usize..100) {
            let text = text.as_bytes();
            let rest = &text[start % text.len()..];
            let mut padded = rest.to_vec();
            padded.resize(rest.len().max(16), b' ');
            let bytes = &padded[..16];
            let window = Block16::at(text, start % text.len());
            prop_assert_eq!(window.0.to_le_bytes(), bytes);
            let length_to = |found: Option<usize>| u32::try_from(found.unwrap_or(16)).unwrap();
            prop_assert_eq!(window.word(), length_to(bytes.iter().position(|byte| *byte == b' ')));
            let leading = bytes.iter().take_while(|byte| **byte == b' ').count();
            let word = bytes[leading..].iter().position(|byte| *byte == b' ').map(|length| leading + length);
            prop_assert_eq!(window.spaced_word(), length_to(word));
        }
    }
}
