//! Words found in raw text sixteen bytes at a time.
//!
//! Calling a search function for each word costs more than the word. Sixteen bytes from a word's start are
//! loaded as one number; a few operations on all of its bytes at once tell where the spaces are, so that
//! where a short word ends and what it is are known without a loop or a branch that depends on its length.

/// A byte in every place of a window.
const fn all(byte: u8) -> u128 {
    u128::from_le_bytes([byte; 16])
}

/// Sixteen bytes of text; the first is the lowest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block16(pub(crate) u128);

impl Block16 {
    /// Bytes in a window.
    pub(crate) const LENGTH: u32 = 16;

    /// The window of `text` that begins at `start`, which is before its end; spaces follow the text.
    #[inline]
    pub(crate) fn at(text: &[u8], start: usize) -> Block16 {
        let rest = &text[start..];
        if let Some(bytes) = rest.first_chunk::<16>() {
            return Block16(u128::from_le_bytes(*bytes));
        }
        let spaces = all(b' ') << (8 * rest.len());
        match text.last_chunk::<16>() {
            Some(bytes) if !rest.is_empty() => {
                Block16(u128::from_le_bytes(*bytes) >> (128 - 8 * rest.len()) | spaces)
            }
            _ => {
                let bytes = rest
                    .iter()
                    .rev()
                    .fold(0, |bytes, byte| bytes << 8 | u128::from(*byte));
                Block16(bytes | spaces)
            }
        }
    }

    /// The highest bit of each byte that is a space.
    #[inline]
    fn spaces(self) -> u128 {
        let others = self.0 ^ all(b' ');
        // No sum goes beyond its byte.
        !(((others & all(0x7f)) + all(0x7f)) | others | all(0x7f))
    }

    /// How many bytes come before the first space.
    #[inline]
    pub(crate) fn word(self) -> u32 {
        self.spaces().trailing_zeros() / 8
    }

    /// How many bytes the spaces at the start and the word behind them take.
    #[inline]
    pub(crate) fn spaced_word(self) -> u32 {
        let spaces = self.spaces();
        let leading = (!spaces & all(0x80)).trailing_zeros() / 8;
        let behind = u128::MAX.checked_shl(8 * leading).unwrap_or(0);
        (spaces & behind).trailing_zeros() / 8
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn spaces_are_where_they_are(text in "[ a!\u{e9}\u{2020}]{1,24}", start in 0usize..100) {
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
