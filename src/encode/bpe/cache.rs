//! The chunks that one thread has seen: text -> ids.
//!
//! Each entry is one cache line with text and ids inside; a text has one place where it can be, and the
//! latest that belongs there stays. The table starts small and doubles while entries push each other out,
//! up to a limit, so that it is cheap to begin with and bounded in the end. Remembering changes no result.

use super::table::spread;
use crate::packed::pack;
use crate::piece::PieceId;

/// Words of a packed text: up to 23 bytes are remembered.
const WORDS: usize = 3;
/// The most ids that are remembered for a text.
const IDS: usize = 9;
/// Ids that are copied at once, in one step of fixed size; few texts have more.
const FEW_IDS: usize = 4;
/// Entries at the start and at the end, as powers of two.
const SMALLEST: u32 = 8;
/// See [`SMALLEST`]. With 2^14 or 2^17 entries encoding is as fast.
const LARGEST: u32 = 15;

/// One text and its ids. No ids: a free entry.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Entry {
    text: [u64; WORDS],
    count: u32,
    ids: [PieceId; IDS],
}

const FREE: Entry = Entry { text: [0; WORDS], count: 0, ids: [PieceId::new(0); IDS] };

/// Ids of short texts.
#[derive(Debug)]
pub(super) struct ChunkCache {
    /// A power of two of them.
    entries: Vec<Entry>,
    /// How many entries were pushed out since the table grew.
    pushed_out: usize,
}

/// A text to look for.
#[derive(Debug, Clone, Copy)]
pub(super) struct CacheKey {
    text: [u64; WORDS],
    hash: u64,
}

impl CacheKey {
    /// The key of a text that is short enough to be remembered.
    #[inline]
    pub(super) fn of(text: &[u8]) -> Option<CacheKey> {
        let text: [u64; WORDS] = pack(text)?;
        Some(CacheKey { text, hash: hash_of(&text) })
    }
}

#[inline]
fn hash_of(text: &[u64; WORDS]) -> u64 {
    spread(text[0] ^ spread(text[1] ^ text[2].rotate_left(29)))
}

impl Default for ChunkCache {
    fn default() -> ChunkCache {
        ChunkCache { entries: vec![FREE; 1 << SMALLEST], pushed_out: 0 }
    }
}

impl ChunkCache {
    /// Appends the ids of a text, if they are known.
    #[inline]
    pub(super) fn get(&self, key: &CacheKey, out: &mut Vec<PieceId>) -> bool {
        let entry = &self.entries[self.place(key.hash)];
        if entry.text != key.text || entry.count == 0 {
            return false;
        }
        let count = entry.count as usize;
        if count <= FEW_IDS {
            let length = out.len() + count;
            out.extend_from_slice(&entry.ids[..FEW_IDS]);
            out.truncate(length);
        } else {
            out.extend_from_slice(&entry.ids[..count]);
        }
        true
    }

    /// Remembers the ids of a text, unless there are too many.
    pub(super) fn insert(&mut self, key: &CacheKey, ids: &[PieceId]) {
        let Some(count) = u32::try_from(ids.len()).ok().filter(|_| ids.len() <= IDS) else { return };
        if self.pushed_out > self.entries.len() / 2 && self.entries.len() < 1 << LARGEST {
            self.grow();
        }
        let mut entry = Entry { text: key.text, count, ids: FREE.ids };
        entry.ids[..ids.len()].copy_from_slice(ids);
        let place = self.place(key.hash);
        self.pushed_out += usize::from(self.entries[place].count > 0);
        self.entries[place] = entry;
    }

    fn grow(&mut self) {
        let larger = vec![FREE; self.entries.len() * 2];
        let entries = std::mem::replace(&mut self.entries, larger);
        for entry in entries.into_iter().filter(|entry| entry.count > 0) {
            let place = self.place(hash_of(&entry.text));
            self.entries[place] = entry;
        }
        self.pushed_out = 0;
    }

    /// The upper bits of a hash as a place.
    #[inline]
    fn place(&self, hash: u64) -> usize {
        let mask = (self.entries.len() - 1) as u64;
        usize::try_from((hash >> 40) & mask).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &[u8]) -> CacheKey {
        CacheKey::of(text).unwrap()
    }

    #[test]
    fn what_is_found_was_put_in() {
        let mut cache = ChunkCache::default();
        let ids = |n: u32| vec![PieceId::new(n); (n % 9) as usize + 1];
        for n in 0..200_000u32 {
            let n = n % 70_000;
            let key = key(n.to_string().as_bytes());
            let mut found = vec![PieceId::new(7)];
            if cache.get(&key, &mut found) {
                assert_eq!(found[1..], ids(n));
            }
            cache.insert(&key, &ids(n));
            found.truncate(1);
            assert!(cache.get(&key, &mut found));
            assert_eq!(found[1..], ids(n));
        }
        assert_eq!(cache.entries.len(), 1 << LARGEST);
    }

    #[test]
    fn what_is_too_long_is_not_remembered() {
        let mut cache = ChunkCache::default();
        let mut found = Vec::new();
        assert!(CacheKey::of(&[b'a'; 8 * WORDS]).is_none());
        cache.insert(&key(b"a"), &[PieceId::new(1); IDS + 1]);
        assert!(!cache.get(&key(b"a"), &mut found));
        cache.insert(&key(b"a"), &[PieceId::new(1)]);
        assert!(!cache.get(&key(b"a\0"), &mut found));
        assert!(found.is_empty());
    }
}
