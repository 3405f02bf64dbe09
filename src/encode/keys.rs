//! Chunks of a text as keys, to be compared and hashed in a few steps.

use crate::packed::{PACKED, pack_start};
use crate::text::num::mix_words;

/// Words of a packed text: up to 23 bytes are remembered.
pub(super) const WORDS: usize = 3;

/// A text to look for in a cache.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CacheKey {
    pub(super) text: [u64; WORDS],
    pub(super) hash: u64,
}

impl CacheKey {
    /// The key of the first `length` bytes, if they are few enough.
    #[inline]
    fn of_start(bytes: &[u8; PACKED], length: usize) -> Option<CacheKey> {
        let text = pack_start(bytes, length)?;
        Some(CacheKey {
            text,
            hash: hash_of(&text),
        })
    }

    /// The text in two words, if it is short enough.
    #[inline]
    pub(super) fn short(&self) -> Option<[u64; 2]> {
        let [first, second, last] = self.text;
        // Of a text that ends before them there is nothing in the last bytes but its length.
        (last >> 56 < 16).then_some([first, second | last])
    }
}

pub(super) fn hash_of(text: &[u64; WORDS]) -> u64 {
    mix_words(text[0], text[1] ^ text[2].rotate_left(29))
}

/// A text of which chunks are looked for. As many bytes can be read at each place as a key can have, so that no
/// branch depends on how long a chunk is or how much of the text is left, of which both change all the time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyedText<'t> {
    text: &'t [u8],
    /// The last bytes of the text, and zeros.
    end: [u8; 2 * PACKED],
}

impl<'t> KeyedText<'t> {
    #[inline]
    pub(crate) fn new(text: &'t [u8]) -> KeyedText<'t> {
        let mut end = [0; 2 * PACKED];
        match text.last_chunk::<PACKED>() {
            Some(last) => end[..PACKED].copy_from_slice(last),
            None => end[..text.len()].copy_from_slice(text),
        }
        KeyedText { text, end }
    }

    #[inline]
    pub(crate) fn text(&self) -> &'t [u8] {
        self.text
    }

    /// The key of the `length` bytes from `start` on, if they are few enough.
    #[inline]
    pub(crate) fn key(&self, start: usize, length: usize) -> Option<CacheKey> {
        let bytes = self.text.get(start..)?.first_chunk();
        let at_end = || self.end[start - self.text.len().saturating_sub(PACKED)..].first_chunk();
        CacheKey::of_start(bytes.or_else(at_end)?, length)
    }

    /// The key of a space and the first `length` bytes, if they are few enough.
    #[inline]
    pub(crate) fn key_with_space(&self, length: usize) -> Option<CacheKey> {
        const REST: usize = PACKED - 1;
        let start = self
            .text
            .first_chunk::<REST>()
            .or_else(|| self.end.first_chunk())?;
        let mut bytes = [b' '; PACKED];
        bytes[1..].copy_from_slice(start);
        CacheKey::of_start(&bytes, length + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of a key, by another way.
    fn text_of(key: &CacheKey) -> Vec<u8> {
        let bytes: Vec<u8> = key
            .text
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        let length = usize::from(bytes[PACKED - 1]);
        assert!(bytes[length..PACKED - 1].iter().all(|byte| *byte == 0));
        bytes[..length].to_vec()
    }

    #[test]
    fn keys_have_the_text_of_their_chunks() {
        for size in (0..60u8).chain([250]) {
            let text: Vec<u8> = (1..=size).collect();
            let keyed = KeyedText::new(&text);
            for start in 0..=text.len() {
                for length in 0..=text.len() - start {
                    let chunk = &text[start..start + length];
                    let key = keyed.key(start, length);
                    assert_eq!(
                        key.map(|key| text_of(&key)),
                        (length < PACKED).then(|| chunk.to_vec())
                    );
                    let other = KeyedText::new(chunk).key(0, length);
                    assert_eq!(key.map(|key| key.hash), other.map(|key| key.hash));
                }
            }
            for length in 0..=text.len() {
                let key = keyed.key_with_space(length).map(|key| text_of(&key));
                assert_eq!(
                    key,
                    (length + 1 < PACKED).then(|| [b" ", &text[..length]].concat())
                );
            }
        }
    }
}
