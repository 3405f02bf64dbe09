//! The chunk cache: text of a chunk -> ids, for the chunks that one worker has seen.
//!
//! Chunks have at most [`MAX_KEY_BYTES`] bytes. A cache changes no result, because the ids of a
//! chunk depend on its text alone (see [`bigrams`](super::bigrams)).
//!
//! The cache is a two-way set-associative hash table. A set has two ways. A new chunk goes to way 0
//! if that is free; otherwise it replaces the chunk in way 1; on a hit in way 1 the two ways are
//! swapped (the chunk is promoted). So chunks seen once cannot evict frequent chunks. There are two
//! tables: one for keys below 16 bytes with few ids, which most chunks have, and one for all other
//! chunks. The smaller an entry is, the more entries the caches of the processor hold.
//!
//! Misses are detected by *tags*: 14 bits of the hash of each way, in a separate array that fits
//! the second-level cache of the processor. In text of many languages a third of the chunks are
//! seen for the first time, and for these no lookup waits for memory.
//!
//! Tables start small and grow fourfold while entries are evicted, up to a limit, so they are cheap
//! to create and bounded. (Doubling would move more entries, which takes 8 % of the time of a line
//! of 1 MB.)
//!
//! Example: the chunk `▁the` hashes to set 5, whose ways hold `▁and` and `▁of`. The miss is known
//! from the tags; after the merge `insert` replaces `▁of`. The next `▁the` hits way 1, is promoted,
//! and the set holds `▁the`, `▁and`.
//!
//! Cost: a hit reads one tag and one cache line; a miss reads tags only. Memory: see
//! [`ChunkCache::with_max_bytes`].

mod key;
mod table;

#[cfg(feature = "formats")]
pub(crate) use self::key::MAX_SMALL_KEY_BYTES;
pub(crate) use self::key::{ChunkKey, KeyedText, MAX_KEY_BYTES, SmallKey};
use self::key::{KEY_WORDS, SMALL_KEY_WORDS};
use self::table::{ChunkTable, Miss};
use crate::piece::PieceId;

/// Elements of an entry of the table for small keys, which fills half a cache line: room for 6 ids of
/// 16 bits, or for 3 of 32 bits.
const SMALL_HALVES: usize = 8;
/// As [`SMALL_HALVES`], of the other table, whose entries fill a cache line: room for 18 ids, or for 9.
const LARGE_HALVES: usize = 20;

/// Ids of chunks, each with a note of 16 bits; see the [module page](self).
#[derive(Debug)]
pub(crate) struct ChunkCache {
    small: ChunkTable<SMALL_KEY_WORDS, SMALL_HALVES>,
    large: ChunkTable<KEY_WORDS, LARGE_HALVES>,
}

impl ChunkCache {
    /// The limit of [`ChunkCache::default`]: two tables of 4 MiB each, and their tags. Tables of
    /// twice the size make texts of many languages 8 % slower. Tables of half the size were as fast
    /// for 10 MB of text, but a worker may see more.
    pub(crate) const DEFAULT_MAX_BYTES: usize = 2 * ((4 << 20) + (256 << 10));

    /// An empty cache that will need at most `max_bytes` of memory, half of it for each table.
    /// Tables have 16 KiB and tags at first and grow by factors of four; below 34 KiB nothing is
    /// cached.
    pub(crate) fn with_max_bytes(max_bytes: usize) -> Self {
        Self {
            small: ChunkTable::with_max_bytes(max_bytes / 2),
            large: ChunkTable::with_max_bytes(max_bytes / 2),
        }
    }

    /// The memory that the tables need now, in bytes.
    pub(crate) fn size_bytes(&self) -> usize {
        self.small.size_bytes() + self.large.size_bytes()
    }

    /// Appends the ids of a chunk. Returns whether it is cached.
    pub(crate) fn get(&mut self, key: &ChunkKey, out: &mut Vec<PieceId>) -> bool {
        key.small().is_some_and(|key| self.get_first_way(&key, out))
            || self.get_other(key, out).is_some()
    }

    /// As [`get`](Self::get), but only finds chunks in way 0 of the table for small keys. Most hits
    /// are there.
    #[inline(always)]
    pub(crate) fn get_first_way(&self, key: &SmallKey, out: &mut Vec<PieceId>) -> bool {
        self.get_first_way_with_note(key, out).is_some()
    }

    /// As [`get_first_way`](Self::get_first_way). Returns the note of the chunk.
    #[inline(always)]
    pub(crate) fn get_first_way_with_note(
        &self,
        key: &SmallKey,
        out: &mut Vec<PieceId>,
    ) -> Option<u16> {
        let entry = self.small.first_way(&key.text, key.hash)?;
        entry.append_to(out);
        Some(entry.note())
    }

    /// As [`get`](Self::get). Returns the note of the chunk.
    #[inline]
    pub(crate) fn get_with_note(&mut self, key: &ChunkKey, out: &mut Vec<PieceId>) -> Option<u16> {
        let first_way = key
            .small()
            .and_then(|key| self.get_first_way_with_note(&key, out));
        first_way.or_else(|| self.get_other(key, out))
    }

    /// As [`get_with_note`](Self::get_with_note), for chunks that
    /// [`get_first_way`](Self::get_first_way) does not find.
    #[inline(never)]
    pub(crate) fn get_other(&mut self, key: &ChunkKey, out: &mut Vec<PieceId>) -> Option<u16> {
        if let Some(key) = key.small() {
            match self.small.promote(&key.text, key.hash) {
                // The chunk may have too many ids for the table for small keys.
                Err(Miss {
                    may_have_overflowed: true,
                }) => {}
                found => {
                    let entry = found.ok()?;
                    entry.append_to(out);
                    return Some(entry.note());
                }
            }
        }
        let entry = match self.large.first_way(&key.text, key.hash) {
            Some(first) => first,
            None => self.large.promote(&key.text, key.hash).ok()?,
        };
        entry.append_to(out);
        Some(entry.note())
    }

    /// Caches the ids of a chunk that is not cached, unless there are too many ids.
    pub(crate) fn insert(&mut self, key: &ChunkKey, ids: &[PieceId]) {
        self.insert_with_note(key, ids, 0);
    }

    /// As [`insert`](Self::insert), with a note.
    pub(crate) fn insert_with_note(&mut self, key: &ChunkKey, ids: &[PieceId], note: u16) {
        let is_inserted = key
            .small()
            .is_some_and(|key| self.small.insert(key.text, key.hash, ids, note));
        if !is_inserted {
            self.large.insert(key.text, key.hash, ids, note);
        }
    }
}

impl Default for ChunkCache {
    fn default() -> Self {
        Self::with_max_bytes(Self::DEFAULT_MAX_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &[u8]) -> ChunkKey {
        KeyedText::new(text).key(0, text.len()).unwrap()
    }

    /// Some ids that depend on `n`: up to 20, some of them above 65,535.
    fn ids(n: u32) -> Vec<PieceId> {
        (0..n % 20)
            .chain([n % 7 * 20_000])
            .map(PieceId::new)
            .collect()
    }

    /// Asks a cache for many chunks, many of them again and again, and checks each answer. Returns
    /// the hits.
    fn check_lookups(cache: &mut ChunkCache) -> usize {
        let mut hits = 0;
        for n in 0..300_000u32 {
            let n = n % 50_000 % (n % 40_000 + 1);
            let text = format!("{n}{}", &"and some more bytes"[..n as usize % 19]);
            let key = key(text.as_bytes());
            let note = u16::try_from(n).unwrap();
            let mut found = vec![PieceId::new(7)];
            if let Some(found_note) = cache.get_with_note(&key, &mut found) {
                assert_eq!((&found[1..], found_note), (&ids(n)[..], note));
                hits += 1;
            } else {
                cache.insert_with_note(&key, &ids(n), note);
            }
            found.truncate(1);
            let has_room = ids(n).len() <= if n % 7 > 3 { 9 } else { 18 };
            let expected = has_room.then_some(note).filter(|_| cache.size_bytes() > 0);
            assert_eq!(cache.get_with_note(&key, &mut found), expected);
            let expected = if expected.is_some() {
                ids(n)
            } else {
                Vec::new()
            };
            assert_eq!(found[1..], expected);
        }
        hits
    }

    #[test]
    fn lookups_return_what_was_inserted() {
        let mut cache = ChunkCache::default();
        let hits = check_lookups(&mut cache);
        assert!(hits > 20_000, "{hits}");
        let size = cache.size_bytes();
        assert!(
            (2 << 20..=ChunkCache::DEFAULT_MAX_BYTES).contains(&size),
            "{size}"
        );
    }

    #[test]
    fn caches_stay_below_their_limit() {
        for max_bytes in [0, 1000, 34 << 10, 200_000, 1 << 20] {
            let mut cache = ChunkCache::with_max_bytes(max_bytes);
            check_lookups(&mut cache);
            let size = cache.size_bytes();
            assert!(size <= max_bytes, "{size} of {max_bytes}");
            assert_eq!(size > 0, max_bytes >= 34 << 10, "{size} of {max_bytes}");
        }
    }

    #[test]
    fn chunks_with_too_many_ids_are_not_cached() {
        let mut cache = ChunkCache::default();
        let mut found = Vec::new();
        cache.insert(&key(b"a"), &[PieceId::new(1); LARGE_HALVES - 1]);
        assert!(!cache.get(&key(b"a"), &mut found));
        cache.insert(&key(b"a"), &[PieceId::new(1)]);
        assert!(!cache.get(&key(b"a\0"), &mut found));
        assert!(found.is_empty());
    }
}
