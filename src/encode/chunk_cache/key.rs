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
/// The longest chunk that has a small key, in bytes.
#[cfg(feature = "formats")]
pub(crate) const MAX_SMALL_KEY_BYTES: usize = 8 * SMALL_KEY_WORDS - 1;
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

    /// The same key in two words, if the text has fewer than 16 bytes.
    #[inline]
    pub(crate) fn small(&self) -> Option<SmallKey> {
        let [first, second, last] = self.text;
        // The last word of such a text contains the length only, and the last byte of the second
        // word is free.
        (last >> 56 < 16).then_some(SmallKey {
            text: [first, second | last],
            hash: self.hash,
        })
    }

    /// The hash of the text of a key; all bits are well mixed. That of a small key is the hash of its
    /// two words.
    #[inline]
    pub(super) fn hash_of(text: &[u64; KEY_WORDS]) -> u64 {
        let [first, second, last] = *text;
        let length = last & !LOW_BYTES;
        mix_words(first ^ (last & LOW_BYTES).rotate_left(29), second | length)
    }
}

/// All bytes of a word but the last one.
const LOW_BYTES: u64 = u64::MAX >> 8;

/// The key of a chunk of fewer than 16 bytes, with the length in the last byte of two words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SmallKey {
    pub(super) text: [u64; SMALL_KEY_WORDS],
    pub(super) hash: u64,
}

impl SmallKey {
    /// The key of a text, unless it is too long.
    #[cfg(feature = "formats")]
    #[inline]
    pub(crate) fn of(text: &[u8]) -> Option<Self> {
        let mut bytes = [0; 8 * SMALL_KEY_WORDS];
        bytes.get_mut(..text.len())?.copy_from_slice(text);
        Self::of_start(&bytes, text.len())
    }

    /// The words, the first byte of the text lowest.
    #[cfg(feature = "formats")]
    #[inline(always)]
    pub(crate) fn words(&self) -> [u64; SMALL_KEY_WORDS] {
        self.text
    }

    /// The key of the first `length` bytes, unless they are too many.
    #[inline(always)]
    pub(crate) fn of_start(bytes: &[u8; 8 * SMALL_KEY_WORDS], length: usize) -> Option<Self> {
        if length >= 8 * SMALL_KEY_WORDS {
            return None;
        }
        let masks = &MASKS[length];
        let (words, _) = bytes.as_chunks::<8>();
        let first = u64::from_le_bytes(words[0]) & masks[0];
        let second = u64::from_le_bytes(words[1]) & masks[1] | (length as u64) << 56;
        Some(Self {
            text: [first, second],
            hash: mix_words(first, second),
        })
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

    /// As [`key`](Self::key), for chunks of fewer than 16 bytes.
    #[inline(always)]
    pub(crate) fn small_key(&self, start: usize, length: usize) -> Option<SmallKey> {
        let bytes = self.text.get(start..)?.first_chunk();
        let at_end = || self.end_from(start)?.first_chunk();
        SmallKey::of_start(bytes.or_else(at_end)?, length)
    }

    /// The position of the next space from `start` on, or the end of the text.
    #[inline(always)]
    pub(crate) fn next_space(&self, start: usize) -> usize {
        const ONES: u64 = u64::MAX / 255;
        let mut at = start;
        while at < self.text.len() {
            let bytes = self.text.get(at..).and_then(|rest| rest.first_chunk());
            let at_end = || self.end_from(at)?.first_chunk();
            let Some(bytes) = bytes.or_else(at_end) else {
                break;
            };
            let others = u64::from_le_bytes(*bytes) ^ (ONES * u64::from(b' '));
            // The lowest set bit is that of the first space.
            let spaces = others.wrapping_sub(ONES) & !others & (ONES << 7);
            if spaces != 0 {
                return at + spaces.trailing_zeros() as usize / 8;
            }
            at += 8;
        }
        self.text.len()
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
