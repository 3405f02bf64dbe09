//! One table of a chunk cache.
//!
//! See the [page of the cache](super) for the method.
//!
//! A set of two entries fills one or two cache lines, and each set has two tags of 16 bits. Ids
//! below 2^16 are stored in 16 bits each; if one id is higher, all ids of the entry are stored in
//! 32 bits.
//!
//! Cost: a lookup reads one tag, and one entry if the tag matches.

use super::key::{ChunkKey, KEY_WORDS};
use crate::base::num::{low_u16, low_u32, masked_index};
use crate::piece::PieceId;

/// A chunk and its ids.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChunkEntry<const WORDS: usize, const HALVES: usize> {
    text: [u64; WORDS],
    /// The ids in one element each, or, if one of them is above 65,535, in two elements each: low
    /// half, high half. Then the note, and last the number of ids with the flags [`WIDE`] and
    /// [`MANY`].
    halves: [u16; HALVES],
}

/// Elements of an entry that are no ids.
const OTHER_HALVES: usize = 2;
/// The bits of the last element that count ids.
const COUNT: u16 = 0x1F;
/// The flag for ids in two elements each.
const WIDE: u16 = 0x20;
/// The flag for more ids than [`ChunkEntry::append_to`] copies at once.
const MANY: u16 = 0x40;
/// So many ids are copied at once: they are in the first eight elements, whether wide or not.
const AT_ONCE: usize = 4;

impl<const WORDS: usize, const HALVES: usize> ChunkEntry<WORDS, HALVES> {
    /// No chunk: no key has this text, because its last byte is no length.
    const FREE: Self = Self {
        text: [u64::MAX; WORDS],
        halves: [0; HALVES],
    };

    /// `None` if there are too many ids.
    #[inline]
    fn new(text: [u64; WORDS], ids: &[PieceId], note: u16) -> Option<Self> {
        let mut halves = [0; HALVES];
        let (room, other) = halves.split_at_mut(HALVES - OTHER_HALVES);
        let all = ids.iter().fold(0, |all, id| all | id.get());
        let low_half = |bits: u32| low_u16(u64::from(bits));
        let mut flags = 0;
        if all > u32::from(u16::MAX) {
            let (pairs, _) = room.as_chunks_mut::<2>();
            for (pair, id) in pairs.get_mut(..ids.len())?.iter_mut().zip(ids) {
                *pair = [low_half(id.get()), low_half(id.get() >> 16)];
            }
            flags |= WIDE;
        } else {
            for (half, id) in room.get_mut(..ids.len())?.iter_mut().zip(ids) {
                *half = low_half(id.get());
            }
        }
        if ids.len() > AT_ONCE {
            flags |= MANY;
        }
        other.copy_from_slice(&[note, low_half(low_u32(ids.len() as u64)) | flags]);
        Some(Self { text, halves })
    }

    /// The note of the chunk.
    #[inline]
    pub(super) fn note(&self) -> u16 {
        self.halves[HALVES - OTHER_HALVES]
    }

    /// Appends the ids.
    #[inline(always)]
    pub(super) fn append_to(&self, out: &mut Vec<PieceId>) {
        let state = self.halves[HALVES - 1];
        if state & MANY != 0 || out.len() + AT_ONCE > out.capacity() {
            return self.append_many(out);
        }
        // Most entries have at most four ids. Always copying four and truncating is faster than a
        // copy whose length is not known at compile time. Copying three takes 1 % fewer
        // instructions for English, but 2 to 3 % more time, since entries with four ids are
        // mispredicted. So are wide entries, if a branch chooses between the two forms.
        let length = out.len() + usize::from(state & COUNT);
        let narrow = |at: usize| PieceId::new(self.halves[at].into());
        let wide = |at: usize| {
            let [low, high] = [self.halves[2 * at], self.halves[2 * at + 1]];
            PieceId::new(u32::from(high) << 16 | u32::from(low))
        };
        match state & WIDE {
            0 => out.extend_from_slice(&[narrow(0), narrow(1), narrow(2), narrow(3)]),
            _ => out.extend_from_slice(&[wide(0), wide(1), wide(2), wide(3)]),
        }
        out.truncate(length);
    }

    /// As [`append_to`](Self::append_to), for any number of ids of any size.
    #[inline(never)]
    fn append_many(&self, out: &mut Vec<PieceId>) {
        let state = self.halves[HALVES - 1];
        let count = usize::from(state & COUNT);
        let wide = |[low, high]: &[u16; 2]| PieceId::new(u32::from(*high) << 16 | u32::from(*low));
        match state & WIDE {
            0 => {
                for id in self.halves.iter().take(count) {
                    out.push(PieceId::new(u32::from(*id)));
                }
            }
            _ => out.extend(self.halves.as_chunks().0.iter().take(count).map(wide)),
        }
    }
}

/// The two ways of a set: one or two whole cache lines.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct CacheSet<const WORDS: usize, const HALVES: usize>([ChunkEntry<WORDS, HALVES>; 2]);

/// Bits of the hashes of the two ways of a set, so that most misses need not read the set.
#[derive(Debug, Clone, Copy, Default)]
struct Tags {
    /// 0 if the way is free.
    first: u16,
    second: u16,
}

/// The flag in the tag of way 1: a chunk of this set has too many ids for this table and may be in
/// the other table.
const OVERFLOWED: u16 = 1;

impl Tags {
    /// The tag of a hash: bits that the index of the set does not depend on; never 0 or
    /// [`OVERFLOWED`].
    #[inline]
    fn of(hash: u64) -> u16 {
        low_u16(hash >> 24) & !OVERFLOWED | 2
    }
}

/// A chunk is not in a table.
pub(super) struct Miss {
    /// Whether it may be in the table for more ids.
    pub(super) may_have_overflowed: bool,
}

/// A table of chunks whose keys have `WORDS` words.
#[derive(Debug)]
pub(super) struct ChunkTable<const WORDS: usize, const HALVES: usize> {
    /// None, or a power of two.
    sets: Vec<CacheSet<WORDS, HALVES>>,
    /// One for each set; all of them fit the second-level cache of the processor. A branch on the
    /// set itself would be mispredicted on a miss, and the processor would notice only when the
    /// memory has answered.
    tags: Vec<Tags>,
    /// Entries that were replaced since the table last grew.
    evictions: usize,
    /// The limit for sets and tags, in bytes.
    max_bytes: usize,
}

/// Bytes of the sets of a table that has just received its first entry.
const MIN_BYTES: usize = 1 << 14;
/// The factor by which tables grow.
const GROWTH: usize = 4;

impl<const WORDS: usize, const HALVES: usize> ChunkTable<WORDS, HALVES> {
    /// Bytes of a set and its tags.
    const SET_BYTES: usize = size_of::<CacheSet<WORDS, HALVES>>() + size_of::<Tags>();

    /// An empty table that will need at most `max_bytes` of memory.
    pub(super) fn with_max_bytes(max_bytes: usize) -> Self {
        Self {
            sets: Vec::new(),
            tags: Vec::new(),
            evictions: 0,
            max_bytes,
        }
    }

    /// The memory that the table needs now, in bytes.
    pub(super) fn size_bytes(&self) -> usize {
        self.sets.len() * Self::SET_BYTES
    }

    /// The entry of a chunk, if it is in way 0 of its set.
    #[inline]
    pub(super) fn first_way(
        &self,
        text: &[u64; WORDS],
        hash: u64,
    ) -> Option<&ChunkEntry<WORDS, HALVES>> {
        let set = self.set_index(hash);
        if self.tags.get(set)?.first != Tags::of(hash) {
            return None;
        }
        let CacheSet([first, _]) = self.sets.get(set)?;
        (first.text == *text).then_some(first)
    }

    /// The entry of a chunk, if it is in way 1 of its set. It moves to way 0.
    #[inline]
    pub(super) fn promote(
        &mut self,
        text: &[u64; WORDS],
        hash: u64,
    ) -> Result<&ChunkEntry<WORDS, HALVES>, Miss> {
        let set = self.set_index(hash);
        let Some(tags) = self.tags.get_mut(set) else {
            return Err(Miss {
                may_have_overflowed: true,
            });
        };
        let miss = Miss {
            may_have_overflowed: tags.second & OVERFLOWED != 0,
        };
        if tags.second & !OVERFLOWED != Tags::of(hash) {
            return Err(miss);
        }
        let Some(CacheSet([first, second])) = self.sets.get_mut(set) else {
            return Err(miss);
        };
        if second.text != *text {
            return Err(miss);
        }
        std::mem::swap(first, second);
        *tags = Tags {
            first: tags.second & !OVERFLOWED,
            second: tags.first | tags.second & OVERFLOWED,
        };
        Ok(first)
    }

    /// Inserts a chunk that is not in the table. Returns false if it has too many ids for an entry.
    #[inline]
    pub(super) fn insert(
        &mut self,
        text: [u64; WORDS],
        hash: u64,
        ids: &[PieceId],
        note: u16,
    ) -> bool {
        // Always true of an empty table.
        if self.evictions >= self.sets.len() / 2 {
            self.grow();
        }
        if self.sets.is_empty() {
            return false;
        }
        let set = self.set_index(hash);
        let Some(entry) = ChunkEntry::new(text, ids, note) else {
            self.tags[set].second |= OVERFLOWED;
            return false;
        };
        self.put(set, Tags::of(hash), entry);
        true
    }

    /// Writes an entry to way 0 of a set if that is free, and to way 1 otherwise.
    #[inline]
    fn put(&mut self, set: usize, tag: u16, entry: ChunkEntry<WORDS, HALVES>) {
        let tags = &mut self.tags[set];
        let CacheSet([first, second]) = &mut self.sets[set];
        if tags.first == 0 {
            tags.first = tag;
            *first = entry;
        } else {
            self.evictions += usize::from(tags.second & !OVERFLOWED != 0);
            tags.second = tag | tags.second & OVERFLOWED;
            *second = entry;
        }
    }

    /// Makes the table four times as large, or allocates it, within the limit. The flags of sets
    /// with overflows are dropped; the ids of the chunks concerned are computed once more.
    #[cold]
    fn grow(&mut self) {
        self.evictions = 0;
        let count = match self.sets.len() {
            0 => MIN_BYTES / size_of::<CacheSet<WORDS, HALVES>>(),
            count => count * GROWTH,
        };
        if count > self.max_bytes / Self::SET_BYTES {
            return;
        }
        let old_sets =
            std::mem::replace(&mut self.sets, vec![CacheSet([ChunkEntry::FREE; 2]); count]);
        let old_tags = std::mem::replace(&mut self.tags, vec![Tags::default(); count]);
        for (CacheSet([first, second]), tags) in old_sets.into_iter().zip(old_tags) {
            self.move_entry(first, tags.first);
            self.move_entry(second, tags.second & !OVERFLOWED);
        }
        self.evictions = 0;
    }

    /// Writes an entry of a smaller table, if there was one.
    fn move_entry(&mut self, entry: ChunkEntry<WORDS, HALVES>, tag: u16) {
        if tag != 0 {
            let set = self.set_index(ChunkKey::hash_of(&key_text(&entry.text)));
            self.put(set, tag, entry);
        }
    }

    /// The set of a hash.
    #[inline]
    fn set_index(&self, hash: u64) -> usize {
        let mask = self.sets.len().wrapping_sub(1);
        masked_index(hash >> 40, mask)
    }
}

/// The text of an entry as the text of a key.
fn key_text(text: &[u64]) -> [u64; KEY_WORDS] {
    match *text {
        [first, second] => [first, second & (u64::MAX >> 8), second & !(u64::MAX >> 8)],
        [first, second, third] => [first, second, third],
        _ => [0; KEY_WORDS],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_fills_one_or_two_cache_lines() {
        assert_eq!(size_of::<CacheSet<2, 8>>(), 64);
        assert_eq!(size_of::<CacheSet<KEY_WORDS, 20>>(), 128);
    }

    #[test]
    fn a_chunk_seen_once_does_not_evict_a_promoted_chunk() {
        let mut table = ChunkTable::<2, 8>::with_max_bytes(MIN_BYTES * 2);
        // The same set and different tags: the tag starts at bit 25, the set at bit 40.
        let hash = |chunk: u64| chunk << 26;
        let is_found = |table: &mut ChunkTable<2, 8>, chunk: u64| {
            let text = [chunk, chunk];
            table.first_way(&text, hash(chunk)).is_some()
                || table.promote(&text, hash(chunk)).is_ok()
        };
        for chunk in 1..=2 {
            assert!(table.insert([chunk, chunk], hash(chunk), &[PieceId::new(9)], 0));
        }
        // Chunk 2 is hit in way 1 and promoted; chunk 1 is replaced by chunk 3, chunk 3 by chunk 4.
        assert!(is_found(&mut table, 2));
        for chunk in 3..=4 {
            table.insert([chunk, chunk], hash(chunk), &[], 0);
        }
        assert_eq!(
            [1, 2, 3, 4].map(|chunk| is_found(&mut table, chunk)),
            [false, true, false, true]
        );
        assert_eq!(table.evictions, 2);
    }
}
