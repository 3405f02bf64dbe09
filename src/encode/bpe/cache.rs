//! The chunks that one thread has seen: text -> ids.
//!
//! Each entry is one cache line with text and ids inside; a text has one place where it can be, and the
//! latest that belongs there stays. The table starts small and doubles while entries push each other out,
//! up to a limit, so that it is cheap to begin with and bounded in the end. Remembering changes no result.

use super::table::hash_of;
use crate::piece::PieceId;

/// The longest text that is remembered, in bytes.
const TEXT: usize = 24;
/// The most ids that are remembered for a text.
const IDS: usize = 9;
/// Entries at the start and at the end, as powers of two.
const SMALLEST: u32 = 8;
/// See [`SMALLEST`].
const LARGEST: u32 = 15;

/// One text and its ids. No text: a free entry.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Entry {
    text: [u64; TEXT / 8],
    length: u8,
    count: u8,
    ids: [PieceId; IDS],
}

const FREE: Entry = Entry { text: [0; TEXT / 8], length: 0, count: 0, ids: [PieceId::new(0); IDS] };

/// Ids of short texts.
#[derive(Debug, Default)]
pub(super) struct ChunkCache {
    entries: Vec<Entry>,
    /// How many entries were pushed out since the table grew.
    pushed_out: usize,
}

impl ChunkCache {
    /// Appends the ids of `text`, if they are known.
    #[inline]
    pub(super) fn get(&self, text: &[u8], out: &mut Vec<PieceId>) -> bool {
        let (Some(key), false) = (key_of(text), self.entries.is_empty()) else { return false };
        let entry = &self.entries[self.place(&key)];
        if usize::from(entry.length) != text.len() || entry.text != key {
            return false;
        }
        out.extend_from_slice(&entry.ids[..usize::from(entry.count)]);
        true
    }

    /// Remembers the ids of `text`, unless one of them is too long.
    pub(super) fn insert(&mut self, text: &[u8], ids: &[PieceId]) {
        let (Some(key), Ok(length), Ok(count)) = (key_of(text), u8::try_from(text.len()), u8::try_from(ids.len()))
        else {
            return;
        };
        if ids.len() > IDS {
            return;
        }
        if self.entries.is_empty() {
            self.entries = vec![FREE; 1 << SMALLEST];
        } else if self.pushed_out > self.entries.len() / 2 && self.entries.len() < 1 << LARGEST {
            self.grow();
        }
        let mut entry = Entry { text: key, length, count, ids: FREE.ids };
        entry.ids[..ids.len()].copy_from_slice(ids);
        let place = self.place(&key);
        self.pushed_out += usize::from(self.entries[place].length > 0);
        self.entries[place] = entry;
    }

    fn grow(&mut self) {
        let larger = vec![FREE; self.entries.len() * 2];
        let entries = std::mem::replace(&mut self.entries, larger);
        for entry in entries.into_iter().filter(|entry| entry.length > 0) {
            let place = self.place(&entry.text);
            self.entries[place] = entry;
        }
        self.pushed_out = 0;
    }

    fn place(&self, key: &[u64; TEXT / 8]) -> usize {
        let mask = (self.entries.len() - 1) as u64;
        usize::try_from(hash_of(key) & mask).unwrap_or(0)
    }
}

/// The text in words, with zeros behind it.
#[inline]
fn key_of(text: &[u8]) -> Option<[u64; TEXT / 8]> {
    let mut bytes = [0; TEXT];
    bytes.get_mut(..text.len())?.copy_from_slice(text);
    let (words, _) = bytes.as_chunks::<8>();
    let mut key = [0; TEXT / 8];
    for (word, bytes) in key.iter_mut().zip(words) {
        *word = u64::from_le_bytes(*bytes);
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_was_put_in() {
        let mut cache = ChunkCache::default();
        let ids = |n: u32| vec![PieceId::new(n); (n % 9) as usize + 1];
        for n in 0..200_000u32 {
            let n = n % 70_000;
            let mut found = Vec::new();
            if cache.get(n.to_string().as_bytes(), &mut found) {
                assert_eq!(found, ids(n));
            }
            cache.insert(n.to_string().as_bytes(), &ids(n));
            found.clear();
            assert!(cache.get(n.to_string().as_bytes(), &mut found));
            assert_eq!(found, ids(n));
        }
        assert_eq!(cache.entries.len(), 1 << LARGEST);
    }

    #[test]
    fn what_is_too_long_is_not_remembered() {
        let mut cache = ChunkCache::default();
        let mut found = Vec::new();
        cache.insert(&[b'a'; TEXT + 1], &[PieceId::new(1)]);
        assert!(!cache.get(&[b'a'; TEXT + 1], &mut found));
        cache.insert(b"a", &[PieceId::new(1); IDS + 1]);
        assert!(!cache.get(b"a", &mut found));
        cache.insert(b"a", &[PieceId::new(1)]);
        assert!(!cache.get(b"a\0", &mut found));
        assert!(found.is_empty());
    }
}
