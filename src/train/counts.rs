//! A table that counts texts.
//!
//! Most words are short: a text of up to 15 bytes stands in its entry itself, as two numbers that are compared
//! and hashed as such, so that counting it needs no look into an arena. Longer texts stand one behind the
//! other in an arena. An entry takes 24 bytes and a control byte. A [`ShardedCounts`] splits the table by
//! the texts' hashes, so that two of them merge in parallel, shard by shard, and no single table has to
//! grow at once.
//!
//! Order never depends on hashes: whoever reads a table sorts, or does something that order cannot change. So the
//! hashes have another seed in each run, and nobody can write a corpus whose words all collide.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::SeedableRandomState;
use hashbrown::HashTable;
use rayon::prelude::*;

use crate::error::TrainError;
use crate::packed::{pack, unpack};

/// Shards of a table, a power of two.
const SHARDS: usize = 32;
/// What the last byte of a key says if the text is in the arena; otherwise it is the text's length.
const IN_ARENA: u64 = 0xff << 56;

/// A short text, packed, or where a long one stands: its start, and its length with [`IN_ARENA`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key([u64; 2]);

impl Key {
    /// The key of a text of `length` bytes at `start` in the arena.
    fn in_arena(start: usize, length: usize) -> Option<Key> {
        let length = u32::try_from(length).ok()?;
        Some(Key([start as u64, u64::from(length) | IN_ARENA]))
    }

    /// The text, in the arena or written to `buffer`.
    fn text<'t>(&self, arena: &'t [u8], buffer: &'t mut [[u8; 8]; 2]) -> &'t [u8] {
        let Key([low, high]) = *self;
        if high & IN_ARENA == IN_ARENA {
            // Both came from numbers of this size.
            let (start, length) = (usize::try_from(low).unwrap_or(0), usize::try_from(high & !IN_ARENA).unwrap_or(0));
            return &arena[start..start + length];
        }
        unpack(&self.0, buffer)
    }
}

/// A text on its way into a table.
pub(crate) struct Lookup<'t> {
    text: &'t [u8],
    short: Option<Key>,
    hash: u64,
}

impl<'t> Lookup<'t> {
    pub(crate) fn new(hasher: &SeedableRandomState, text: &'t [u8]) -> Lookup<'t> {
        let short = pack(text).map(Key);
        let hash = short.map_or_else(|| hash_text(hasher, text), |key| hash_key(hasher, key));
        Lookup { text, short, hash }
    }
}

fn hash_text(hasher: &SeedableRandomState, text: &[u8]) -> u64 {
    let mut state = hasher.build_hasher();
    state.write(text);
    state.finish()
}

fn hash_key(hasher: &SeedableRandomState, Key([low, high]): Key) -> u64 {
    let mut state = hasher.build_hasher();
    state.write_u64(low);
    state.write_u64(high);
    state.finish()
}

/// Texts with their counts.
#[derive(Default)]
pub(crate) struct TextCounts {
    entries: HashTable<Entry>,
    arena: Vec<u8>,
}

struct Entry {
    key: Key,
    count: u64,
}

impl TextCounts {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Bytes of long texts held.
    pub(crate) fn arena_bytes(&self) -> usize {
        self.arena.len()
    }

    /// Forgets every text, keeping the memory.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.arena.clear();
    }

    /// Adds `count` to the count of a text. A count stays at `u64::MAX` once it gets there.
    ///
    /// # Errors
    /// The text is of 4 GiB or more.
    pub(crate) fn add(
        &mut self,
        hasher: &SeedableRandomState,
        lookup: &Lookup<'_>,
        count: u64,
    ) -> Result<(), TrainError> {
        let arena = &self.arena;
        let found = match lookup.short {
            Some(key) => self.entries.find_mut(lookup.hash, |entry| entry.key == key),
            None => self.entries.find_mut(lookup.hash, |entry| entry.key.text(arena, &mut [[0; 8]; 2]) == lookup.text),
        };
        match found {
            Some(entry) => {
                entry.count = entry.count.saturating_add(count);
                Ok(())
            }
            None => self.insert(hasher, lookup, count),
        }
    }

    #[cold]
    fn insert(&mut self, hasher: &SeedableRandomState, lookup: &Lookup<'_>, count: u64) -> Result<(), TrainError> {
        let key = lookup.short.or_else(|| Key::in_arena(self.arena.len(), lookup.text.len()));
        let Some(key) = key else { return Err(TrainError::TooLarge { what: "bytes in a word" }) };
        if lookup.short.is_none() {
            self.arena.extend_from_slice(lookup.text);
        }
        let arena = &self.arena;
        let rehash = |entry: &Entry| Lookup::new(hasher, entry.key.text(arena, &mut [[0; 8]; 2])).hash;
        self.entries.insert_unique(lookup.hash, Entry { key, count }, rehash);
        Ok(())
    }

    /// Calls `visit` with each text and its count, in no particular order.
    pub(crate) fn for_each<E>(&self, mut visit: impl FnMut(&[u8], u64) -> Result<(), E>) -> Result<(), E> {
        let mut buffer = [[0; 8]; 2];
        self.entries.iter().try_for_each(|entry| visit(entry.key.text(&self.arena, &mut buffer), entry.count))
    }
}

/// Texts with their counts, in shards.
pub(crate) struct ShardedCounts {
    hasher: SeedableRandomState,
    shards: Vec<TextCounts>,
}

impl ShardedCounts {
    /// Tables that are to be merged must have the same `hasher`.
    pub(crate) fn new(hasher: SeedableRandomState) -> ShardedCounts {
        ShardedCounts { hasher, shards: (0..SHARDS).map(|_| TextCounts::default()).collect() }
    }

    pub(crate) fn add(&mut self, text: &[u8], count: u64) -> Result<(), TrainError> {
        let lookup = Lookup::new(&self.hasher, text);
        // The table inside a shard uses the low and the very highest bits.
        let shard = (lookup.hash >> 40) as usize % SHARDS;
        self.shards[shard].add(&self.hasher, &lookup, count)
    }

    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(TextCounts::len).sum()
    }

    pub(crate) fn shards(&self) -> &[TextCounts] {
        &self.shards
    }

    pub(crate) fn into_shards(self) -> Vec<TextCounts> {
        self.shards
    }

    /// All counts of `tables` in one, on the threads of the current pool. Cost: linear in all but the
    /// largest shard of each row.
    pub(crate) fn merge(tables: Vec<ShardedCounts>) -> Result<ShardedCounts, TrainError> {
        let hasher = tables.first().map_or_else(SeedableRandomState::default, |table| table.hasher.clone());
        let mut rows: Vec<Vec<TextCounts>> = (0..SHARDS).map(|_| Vec::new()).collect();
        for table in tables {
            for (row, shard) in rows.iter_mut().zip(table.shards) {
                row.push(shard);
            }
        }
        let shards: Result<Vec<TextCounts>, TrainError> =
            rows.into_par_iter().map(|row| merge_row(&hasher, row)).collect();
        Ok(ShardedCounts { shards: shards?, hasher })
    }
}

fn merge_row(hasher: &SeedableRandomState, mut row: Vec<TextCounts>) -> Result<TextCounts, TrainError> {
    row.sort_by_key(TextCounts::len);
    let mut merged = row.pop().unwrap_or_default();
    for table in row {
        table.for_each(|text, count| merged.add(hasher, &Lookup::new(hasher, text), count))?;
    }
    Ok(merged)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    impl ShardedCounts {
        fn texts(&self) -> Vec<(Vec<u8>, u64)> {
            let mut texts = Vec::new();
            for shard in self.shards() {
                let push = |text: &[u8], count| -> Result<(), ()> {
                    texts.push((text.to_vec(), count));
                    Ok(())
                };
                shard.for_each(push).unwrap();
            }
            texts
        }
    }

    proptest! {
        #[test]
        fn merged_tables_count_what_a_map_counts(
            additions in proptest::collection::vec(("[a-c]{0,3}|a{0,20}|\\PC{0,6}", 0u64..9, 0usize..3), 0..200), seed in any::<u64>()
        ) {
            let mut expected = BTreeMap::new();
            let hasher = SeedableRandomState::with_seed(seed, foldhash::SharedSeed::global_fixed());
            let mut tables: Vec<_> = (0..3).map(|_| ShardedCounts::new(hasher.clone())).collect();
            for (text, count, table) in &additions {
                *expected.entry(text.as_bytes().to_vec()).or_insert(0) += count;
                tables[*table].add(text.as_bytes(), *count).unwrap();
            }
            let merged = ShardedCounts::merge(tables).unwrap();
            prop_assert_eq!(merged.len(), expected.len());
            let found: BTreeMap<Vec<u8>, u64> = merged.texts().into_iter().collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn counts_saturate() {
        let mut table = ShardedCounts::new(SeedableRandomState::default());
        table.add(b"a", u64::MAX - 1).unwrap();
        table.add(b"a", 7).unwrap();
        assert_eq!(table.texts(), [(b"a".to_vec(), u64::MAX)]);
    }
}
