//! The ids of long chunks that came before.
//!
//! Input: the normalized text of a chunk that the chunk cache cannot hold. Output: its ids, if they are cached.
//!
//! Real text repeats a few long chunks very often: rulers such as 80 times `-`, and deep indentation. Their pieces are
//! longer than a window, so the windows do not fit together and the heap would merge each of them again. A chunk with
//! unique content, such as a URL, is segmented by windows and never enters this cache.
//!
//! Method: a direct-mapped table; a new chunk replaces the one that shares its entry. The table changes no result,
//! because the whole text is compared.
//!
//! Cost: one hash and one comparison of the text. At most [`ENTRIES`] entries of [`MAX_BYTES`] bytes of text. Without
//! this cache, source code takes 12 % and English with rulers 25 % more instructions.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use crate::piece::PieceId;

/// Entries of the table, a power of two.
const ENTRIES: usize = 64;
/// Longer chunks are not cached.
const MAX_BYTES: usize = 1024;

/// A chunk and its ids.
#[derive(Debug, Clone, Default)]
struct LongChunkEntry {
    /// Empty in a free entry.
    text: Vec<u8>,
    ids: Vec<PieceId>,
}

/// The ids of long chunks, by their texts.
#[derive(Debug, Default)]
pub(super) struct LongChunkCache {
    /// Empty until the first insertion.
    entries: Vec<LongChunkEntry>,
    hasher: RandomState,
}

impl LongChunkCache {
    /// Appends the ids of `chunk`, if they are cached.
    pub(super) fn get(&self, chunk: &[u8], out: &mut Vec<PieceId>) -> bool {
        if chunk.len() > MAX_BYTES || self.entries.is_empty() {
            return false;
        }
        let entry = &self.entries[self.index(chunk)];
        let is_hit = entry.text == chunk;
        if is_hit {
            out.extend_from_slice(&entry.ids);
        }
        is_hit
    }

    /// Caches the ids of `chunk`, unless it is too long. The buffers of the replaced entry are used again.
    pub(super) fn insert(&mut self, chunk: &[u8], ids: &[PieceId]) {
        if chunk.len() > MAX_BYTES {
            return;
        }
        if self.entries.is_empty() {
            self.entries.resize(ENTRIES, LongChunkEntry::default());
        }
        let index = self.index(chunk);
        let entry = &mut self.entries[index];
        entry.text.clear();
        entry.text.extend_from_slice(chunk);
        entry.ids.clear();
        entry.ids.extend_from_slice(ids);
    }

    /// The memory of the table in bytes.
    pub(super) fn size_bytes(&self) -> usize {
        let contents: usize = self.entries.iter().map(LongChunkEntry::size_bytes).sum();
        contents + size_of_val(&self.entries[..])
    }

    fn index(&self, chunk: &[u8]) -> usize {
        let mask = ENTRIES as u64 - 1;
        crate::text::num::low_usize(self.hasher.hash_one(chunk) & mask)
    }
}

impl LongChunkEntry {
    fn size_bytes(&self) -> usize {
        self.text.capacity() + self.ids.capacity() * size_of::<PieceId>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_ids_are_those_of_the_same_text() {
        let mut cache = LongChunkCache::default();
        let ids = |length: usize| vec![PieceId::new(7); length];
        for length in (24..1100).step_by(7) {
            let chunk = vec![b'-'; length];
            let mut found = Vec::new();
            assert!(!cache.get(&chunk, &mut found), "{length}");
            cache.insert(&chunk, &ids(length));
            assert_eq!(
                cache.get(&chunk, &mut found),
                length <= MAX_BYTES,
                "{length}"
            );
            assert_eq!(found, ids(if length <= MAX_BYTES { length } else { 0 }));
        }
        assert!(cache.size_bytes() < ENTRIES * (MAX_BYTES * 10 + 100));
    }
}
