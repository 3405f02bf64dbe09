//! Short texts packed into a few machine words, which are compared and hashed faster than bytes.
//!
//! A packed text is its bytes in `N` words, lowest byte first, with zeros after the end and the
//! length in the last byte; so different texts have different packed forms. Texts of `8 * N` bytes
//! or more cannot be packed. For example, `abc` in two words is `[0x63_6261, 3 << 56]`. The words
//! and chunks of training are packed; the keys of encoding have the same form, but are read from
//! running text (see `encode/chunk_cache/key.rs`).

use crate::base::num::low_u32;

/// Packs `text`; `None` if it has `8 * N` bytes or more.
#[inline]
pub(crate) fn pack<const N: usize>(text: &[u8]) -> Option<[u64; N]> {
    let length = text.len();
    if length >= 8 * N {
        return None;
    }
    let mut words = [0; N];
    let (full, tail) = text.as_chunks::<8>();
    for (at, bytes) in full.iter().enumerate() {
        words[at] = u64::from_le_bytes(*bytes);
    }
    words[full.len()] = last_bytes(text, tail.len());
    words[N - 1] |= (length as u64) << 56;
    Some(words)
}

/// The last `count` bytes of a text; `count` is less than 8. If the text is long enough, one load
/// or two overlapping loads replace a loop.
#[inline]
fn last_bytes(text: &[u8], count: usize) -> u64 {
    let shift = 8 * low_u32(count as u64);
    if let Some(eight) = text.last_chunk::<8>() {
        return u64::from_le_bytes(*eight)
            .checked_shr(u64::BITS - shift)
            .unwrap_or(0);
    }
    match (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        (Some(first), Some(last)) => load4(*first) | load4(*last) << (shift - 32),
        _ => text
            .iter()
            .rev()
            .fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

#[inline]
fn load4(bytes: [u8; 4]) -> u64 {
    u64::from(u32::from_le_bytes(bytes))
}

/// The text of packed words; `buffer` receives its bytes.
#[inline]
pub(crate) fn unpack<'b, const N: usize>(
    words: &[u64; N],
    buffer: &'b mut [[u8; 8]; N],
) -> &'b [u8] {
    for (at, bytes) in buffer.iter_mut().enumerate() {
        *bytes = words[at].to_le_bytes();
    }
    let bytes = buffer.as_flattened();
    let length = bytes.last().map_or(0, |length| usize::from(*length));
    &bytes[..length.min(bytes.len() - 1)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_are_packed_up_to_their_largest_length() {
        for length in 0..30u8 {
            let text: Vec<u8> = (220..=255).take(usize::from(length)).collect();
            let packed = pack::<3>(&text);
            assert_eq!(packed.is_some(), length < 24);
            if let Some(words) = packed {
                let mut buffer = [[7; 8]; 3];
                assert_eq!(unpack(&words, &mut buffer), text);
            }
        }
    }

    proptest! {
        #[test]
        fn unpacking_returns_the_packed_text(text in proptest::collection::vec(any::<u8>(), 0..20)) {
            prop_assert_eq!(pack::<2>(&text).is_some(), text.len() < 16);
            if let Some(words) = pack::<2>(&text) {
                let mut buffer = [[0; 8]; 2];
                prop_assert_eq!(unpack(&words, &mut buffer), &text[..]);
            }
        }
    }
}
