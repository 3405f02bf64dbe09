//! Finds texts of an arena by their bytes.

use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _};

use foldhash::fast::RandomState;

use super::slots::Slots;
use crate::base::TextArena;

/// The indexes of texts by the texts, which stay in the arena that is passed along.
#[derive(Clone)]
pub(crate) struct TextIndex {
    slots: Slots,
    len: usize,
    hasher: RandomState,
}

impl TextIndex {
    /// An empty index with room for this many texts.
    pub(crate) fn with_capacity(texts: usize) -> Self {
        Self {
            slots: Slots::for_numbers(texts),
            len: 0,
            hasher: RandomState::default(),
        }
    }

    /// Adds the text at an index below [`MAX_PIECES`](super::MAX_PIECES).
    ///
    /// # Errors
    /// The index of an equal text that was added before.
    pub(crate) fn insert(&mut self, texts: &TextArena, index: usize) -> Result<(), usize> {
        if self.len == self.slots.capacity() {
            let mut larger = Slots::for_numbers(self.len * 2);
            for index in self.slots.numbers() {
                let hash = self.hash(texts.get(index));
                // The texts are different, so that there is a free slot for each.
                if let Err(free) = larger.find(hash, |_| false) {
                    larger.set(free, hash, index);
                }
            }
            self.slots = larger;
        }
        let text = texts.get(index);
        let hash = self.hash(text);
        let is_it = |other: u32| is_same_text(texts.get(other as usize), text);
        match self.slots.find(hash, is_it) {
            Ok(first) => Err(first as usize),
            Err(free) => {
                self.slots.set(free, hash, index);
                self.len += 1;
                Ok(())
            }
        }
    }

    /// The index of this text.
    pub(crate) fn get(&self, texts: &TextArena, text: &[u8]) -> Option<usize> {
        let is_it = |index: u32| is_same_text(texts.get(index as usize), text);
        let found = self.slots.find(self.hash(text), is_it);
        found.ok().map(|index| index as usize)
    }

    /// Unlike `hash_one`, it does not hash the length: the text is the only input.
    #[inline]
    fn hash(&self, text: &[u8]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(text);
        hasher.finish()
    }
}

impl fmt::Debug for TextIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TextIndex({} texts)", self.len)
    }
}

/// Whether two texts are equal. Most pieces have up to 16 bytes, which are compared as two words
/// that may overlap; a call of `memcmp` takes twice the time.
#[inline]
fn is_same_text(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    match a.len() {
        0..4 => a.iter().eq(b),
        4..8 => a.first_chunk::<4>() == b.first_chunk() && a.last_chunk::<4>() == b.last_chunk(),
        8..=16 => a.first_chunk::<8>() == b.first_chunk() && a.last_chunk::<8>() == b.last_chunk(),
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_differ_in_one_byte_are_different() {
        for len in 0..40 {
            let text = vec![b'a'; len];
            assert!(is_same_text(&text, &text.clone()));
            assert!(!is_same_text(&text, &vec![b'a'; len + 1]));
            for at in 0..len {
                let mut other = text.clone();
                other[at] = b'b';
                assert!(!is_same_text(&text, &other), "{len} {at}");
            }
        }
    }

    #[test]
    fn of_equal_texts_the_first_one_is_found() {
        for capacity in [0, 1_000] {
            let mut texts = TextArena::default();
            let mut index = TextIndex::with_capacity(capacity);
            for number in 0..1_000 {
                texts.push(number.to_string().as_bytes());
                assert_eq!(index.insert(&texts, number), Ok(()));
            }
            texts.push(b"77");
            assert_eq!(index.insert(&texts, 1_000), Err(77));
            for number in 0..1_000 {
                let text = number.to_string();
                assert_eq!(index.get(&texts, text.as_bytes()), Some(number));
            }
            assert_eq!(index.get(&texts, b"1000"), None);
            assert_eq!(index.get(&texts, b""), None);
        }
    }
}
