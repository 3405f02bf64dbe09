//! Chunks as keys that are compared and hashed as a few words.
//!
//! A [`ChunkKey`] has the bytes of a chunk in three words, lowest byte first, zeros after the end,
//! and the length in the last byte; so different chunks have different words. Chunks of more than
//! [`MAX_KEY_BYTES`] bytes have no key and are not cached.
//!
//! Example: `▁the` is the bytes E2 96 81 74 68 65, so its first word is 0x0000_6568_7481_96E2 and
//! its last word is 6 << 56.
//!
//! As many bytes as a key can have are read at every position, and a table of masks clears those
//! after the end of the chunk. No branch depends on the length of the chunk or on how much text
//! remains; both change all the time, and such a branch would be mispredicted.
//!
//! Cost: three loads, three masks, and one wide multiplication for the hash.

use crate::base::num::mix_words;

/// The longest chunk that has a key, in bytes.
pub(crate) const MAX_KEY_BYTES: usize = 8 * KEY_WORDS - 1;
/// Words of a key.
pub(super) const KEY_WORDS: usize = 3;
/// Words of a key with fewer than 16 bytes of text.
pub(super) const SMALL_KEY_WORDS: usize = 2;
/// Bytes that are read for a key.
const READ_BYTES: usize = 8 * KEY_WORDS;

/// For each length up to [`MAX_KEY_BYTES`], the bits of a text of that length.
static MASKS: [[u64; KEY_WORDS]; MAX_KEY_BYTES + 1] = {
    let mut masks = [[0; KEY_WORDS]; MAX_KEY_BYTES + 1];
    let mut length = 0;
    while length < masks.len() {
        let mut byte = 0;
        while byte < length {
            masks[length][byte / 8] |= 0xFF << (byte % 8 * 8);
            byte += 1;
        }
        length += 1;
    }
    masks
};

/// The text of a chunk in words, and its hash.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChunkKey {
    pub(super) text: [u64; KEY_WORDS],
    pub(super) hash: u64,
}

impl ChunkKey {
    /// The key of the first `length` bytes, unless they are too many.
    #[inline]
    fn of_start(bytes: &[u8; READ_BYTES], length: usize) -> Option<Self> {
        let masks = MASKS.get(length)?;
        let (words, _) = bytes.as_chunks::<8>();
        let mut text = [0; KEY_WORDS];
        for (at, word) in text.iter_mut().enumerate() {
            *word = u64::from_le_bytes(words[at]) & masks[at];
        }
        text[KEY_WORDS - 1] |= (length as u64) << 56;
        Some(Self {
            text,
            hash: Self::hash_of(&text),
        })
    }

    /// The text in two words, if it has fewer than 16 bytes.
    #[inline]
    pub(super) fn small(&self) -> Option<[u64; SMALL_KEY_WORDS]> {
        let [first, second, last] = self.text;
        // The last word of such a text contains the length only, and the last byte of the second
        // word is free.
        (last >> 56 < 16).then_some([first, second | last])
    }

    /// The hash of the text of a key; all bits are well mixed.
    #[inline]
    pub(super) fn hash_of(text: &[u64; KEY_WORDS]) -> u64 {
        mix_words(text[0], text[1] ^ text[2].rotate_left(29))
    }
}

/// A text, prepared for computing the keys of its chunks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyedText<'t> {
    text: &'t [u8],
    /// The last bytes of the text, and zeros, so that a whole key can be read at each position.
    end: [u8; 2 * READ_BYTES],
}

impl<'t> KeyedText<'t> {
    #[inline]
    pub(crate) fn new(text: &'t [u8]) -> Self {
        let mut end = [0; 2 * READ_BYTES];
        match text.last_chunk::<READ_BYTES>() {
            Some(last) => end[..READ_BYTES].copy_from_slice(last),
            None => end[..text.len()].copy_from_slice(text),
        }
        KeyedText { text, end }
    }

    #[inline]
    pub(crate) fn text(&self) -> &'t [u8] {
        self.text
    }

    /// The key of the chunk of `length` bytes at `start`, unless it is too long.
    #[inline]
    pub(crate) fn key(&self, start: usize, length: usize) -> Option<ChunkKey> {
        let bytes = self.text.get(start..)?.first_chunk();
        let at_end = || self.end_from(start)?.first_chunk();
        ChunkKey::of_start(bytes.or_else(at_end)?, length)
    }

    /// The key of the chunk that consists of a space and the `length` bytes at `start`, unless it
    /// is too long.
    #[inline]
    pub(crate) fn key_with_space(&self, start: usize, length: usize) -> Option<ChunkKey> {
        let text = self.text.get(start..)?.first_chunk::<MAX_KEY_BYTES>();
        let at_end = || self.end_from(start)?.first_chunk();
        let mut bytes = [b' '; READ_BYTES];
        bytes[1..].copy_from_slice(text.or_else(at_end)?);
        ChunkKey::of_start(&bytes, length + 1)
    }

    /// The text from `start` on, and zeros; `start` is one of the last [`READ_BYTES`] positions.
    #[inline]
    fn end_from(&self, start: usize) -> Option<&[u8]> {
        self.end
            .get(start - self.text.len().saturating_sub(READ_BYTES)..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of a key, decoded byte by byte.
    fn text_of(key: &ChunkKey) -> Vec<u8> {
        let bytes: Vec<u8> = key
            .text
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        let length = usize::from(bytes[MAX_KEY_BYTES]);
        assert!(bytes[length..MAX_KEY_BYTES].iter().all(|byte| *byte == 0));
        bytes[..length].to_vec()
    }

    #[test]
    fn keys_contain_the_bytes_of_their_chunks() {
        for size in (0..60u8).chain([250]) {
            let text: Vec<u8> = (1..=size).collect();
            let keyed = KeyedText::new(&text);
            for start in 0..=text.len() {
                for length in 0..=text.len() - start {
                    let chunk = &text[start..start + length];
                    let key = keyed.key(start, length);
                    assert_eq!(
                        key.map(|key| text_of(&key)),
                        (length <= MAX_KEY_BYTES).then(|| chunk.to_vec())
                    );
                    let other = KeyedText::new(chunk).key(0, length);
                    assert_eq!(key.map(|key| key.hash), other.map(|key| key.hash));
                }
            }
            for start in 0..=text.len() {
                for length in 0..=text.len() - start {
                    let key = keyed.key_with_space(start, length).map(|key| text_of(&key));
                    let chunk = &text[start..start + length];
                    assert_eq!(
                        key,
                        (length < MAX_KEY_BYTES).then(|| [b" ", chunk].concat())
                    );
                }
            }
        }
    }
}
