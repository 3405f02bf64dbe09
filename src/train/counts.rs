//! A table that counts texts.
//!
//! The texts stand one behind the other in an arena; a hash table holds where each begins, how long it is
//! and how often it was added. That is 16 bytes and a control byte for each text beside its own bytes. A
//! [`ShardedCounts`] splits the table by the texts' hashes, so that two of them merge in parallel, shard
//! by shard, and no single table has to grow at once.
//!
//! Order never depends on hashes: whoever reads a table sorts, or does something that order cannot change.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use rayon::prelude::*;

use crate::error::TrainError;

/// Shards of a table, a power of two.
const SHARDS: usize = 32;

/// Texts with their counts.
#[derive(Default)]
pub(crate) struct TextCounts {
    entries: HashTable<Entry>,
    texts: Vec<u8>,
}

struct Entry {
    start: u32,
    length: u32,
    count: u64,
}

impl Entry {
    fn text<'t>(&self, texts: &'t [u8]) -> &'t [u8] {
        let start = self.start as usize;
        &texts[start..start + self.length as usize]
    }
}

/// Hashes a text, eight and more bytes at a time.
pub(crate) fn hash_text(hasher: &FixedState, text: &[u8]) -> u64 {
    let mut state = hasher.build_hasher();
    state.write(text);
    state.finish()
}

impl TextCounts {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Bytes of text held.
    pub(crate) fn text_bytes(&self) -> usize {
        self.texts.len()
    }

    /// Forgets every text, keeping the memory.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.texts.clear();
    }

    /// Adds `count` to the count of `text`, which has the hash `hash`. A count stays at `u64::MAX` once it
    /// gets there.
    ///
    /// # Errors
    /// The texts together would pass 4 GiB.
    pub(crate) fn add(&mut self, hasher: &FixedState, hash: u64, text: &[u8], count: u64) -> Result<(), TrainError> {
        let texts = &mut self.texts;
        if let Some(entry) = self.entries.find_mut(hash, |entry| entry.text(texts) == text) {
            entry.count = entry.count.saturating_add(count);
            return Ok(());
        }
        let (Ok(start), Ok(length)) = (u32::try_from(texts.len()), u32::try_from(text.len())) else {
            return Err(TrainError::TooLarge { what: "distinct words" });
        };
        texts.extend_from_slice(text);
        let texts = &self.texts;
        let rehash = |entry: &Entry| hash_text(hasher, entry.text(texts));
        self.entries.insert_unique(hash, Entry { start, length, count }, rehash);
        Ok(())
    }

    /// The texts with their counts, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.entries.iter().map(|entry| (entry.text(&self.texts), entry.count))
    }
}

/// Texts with their counts, in shards.
pub(crate) struct ShardedCounts {
    hasher: FixedState,
    shards: Vec<TextCounts>,
}

impl ShardedCounts {
    /// Tables that are to be merged must have the same `hasher`.
    pub(crate) fn new(hasher: FixedState) -> ShardedCounts {
        ShardedCounts { hasher, shards: (0..SHARDS).map(|_| TextCounts::default()).collect() }
    }

    pub(crate) fn add(&mut self, text: &[u8], count: u64) -> Result<(), TrainError> {
        let hash = hash_text(&self.hasher, text);
        // The table inside a shard uses the low and the very highest bits.
        let shard = (hash >> 40) as usize % SHARDS;
        self.shards[shard].add(&self.hasher, hash, text, count)
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
        let hasher = tables.first().map_or_else(FixedState::default, |table| table.hasher.clone());
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

fn merge_row(hasher: &FixedState, mut row: Vec<TextCounts>) -> Result<TextCounts, TrainError> {
    row.sort_by_key(TextCounts::len);
    let mut merged = row.pop().unwrap_or_default();
    for table in row {
        for (text, count) in table.iter() {
            merged.add(hasher, hash_text(hasher, text), text, count)?;
        }
    }
    Ok(merged)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn merged_tables_count_what_a_map_counts(
            additions in proptest::collection::vec(("[a-c]{0,3}", 0u64..9, 0usize..3), 0..200), seed in any::<u64>()
        ) {
            let mut expected = BTreeMap::new();
            let hasher = FixedState::with_seed(seed);
            let mut tables: Vec<_> = (0..3).map(|_| ShardedCounts::new(hasher.clone())).collect();
            for (text, count, table) in &additions {
                *expected.entry(text.as_bytes().to_vec()).or_insert(0) += count;
                tables[*table].add(text.as_bytes(), *count).unwrap();
            }
            let merged = ShardedCounts::merge(tables).unwrap();
            prop_assert_eq!(merged.len(), expected.len());
            let found: BTreeMap<Vec<u8>, u64> =
                merged.shards().iter().flat_map(TextCounts::iter).map(|(text, count)| (text.to_vec(), count)).collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn counts_saturate() {
        let mut table = ShardedCounts::new(FixedState::default());
        table.add(b"a", u64::MAX - 1).unwrap();
        table.add(b"a", 7).unwrap();
        assert_eq!(table.shards().iter().flat_map(TextCounts::iter).next(), Some((&b"a"[..], u64::MAX)));
    }
}
