//! A cache for long chunks and for large windows, by their whole texts.
//!
//! Real text repeats a few long chunks very often: rulers such as 80 hyphens, and deep indentation.
//! Their pieces are longer than a small window, so small windows do not fit together. A chunk with
//! unique content, such as a URL, is segmented by small windows and never enters this cache. Runs
//! of spaces of different lengths are different chunks, but consist of the same large windows,
//! which a second instance of this cache contains.
//!
//! Example: 200 spaces in normalized text have 600 bytes. All large windows of the chunk except the
//! last have 32 spaces, so all of these except the first are hits, and so are those of a run of 300
//! spaces.
//!
//! The table is direct-mapped; a new chunk replaces the one that shares its entry. The table
//! changes no result, because the whole text is compared.
//!
//! Cost: one hash and one comparison of the text. At most [`ENTRIES`] entries of [`MAX_BYTES`]
//! bytes of text. Without a cache of long chunks, source code takes 12 % and English with rulers 25
//! % more instructions.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use crate::base::num::masked_index;
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
    /// The ids of `chunk`, if they are cached.
    pub(super) fn get(&self, chunk: &[u8]) -> Option<&[PieceId]> {
        let entry = self.entries.get(self.index(chunk)?)?;
        (entry.text == chunk).then_some(&entry.ids[..])
    }

    /// Caches the ids of `chunk`, unless it is too long. The buffers of the replaced entry are used
    /// again.
    pub(super) fn insert(&mut self, chunk: &[u8], ids: &[PieceId]) {
        if let Some(index) = self.index(chunk) {
            self.allocate();
            self.entries[index].replace(chunk, ids);
        }
    }

    /// Allocates the table before its first entry.
    fn allocate(&mut self) {
        if self.entries.is_empty() {
            self.entries.resize(ENTRIES, LongChunkEntry::default());
        }
    }

    /// The memory of the table in bytes.
    pub(super) fn size_bytes(&self) -> usize {
        self.entries.iter().map(LongChunkEntry::size_bytes).sum()
    }

    /// The entry of a chunk, unless the chunk is too long.
    fn index(&self, chunk: &[u8]) -> Option<usize> {
        (chunk.len() <= MAX_BYTES).then(|| masked_index(self.hasher.hash_one(chunk), ENTRIES - 1))
    }
}

impl LongChunkEntry {
    /// Copies a chunk and its ids into the buffers of this entry.
    fn replace(&mut self, text: &[u8], ids: &[PieceId]) {
        text.clone_into(&mut self.text);
        ids.clone_into(&mut self.ids);
    }

    /// The memory of the entry in bytes.
    fn size_bytes(&self) -> usize {
        size_of_val(self) + self.text.capacity() + self.ids.capacity() * size_of::<PieceId>()
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
            assert_eq!(cache.get(&chunk), None, "{length}");
            cache.insert(&chunk, &ids(length));
            let expected = (length <= MAX_BYTES).then(|| ids(length));
            assert_eq!(cache.get(&chunk), expected.as_deref(), "{length}");
        }
        assert!(cache.size_bytes() < ENTRIES * (MAX_BYTES * 10 + 100));
    }
}
