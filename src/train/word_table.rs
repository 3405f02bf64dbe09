//! A table that counts texts.
//!
//! Most words are short: a text of up to 15 bytes is stored inside its entry, as two numbers that
//! are compared and hashed as such, so that counting it does not access an arena. Longer texts are
//! stored in an arena. An entry takes 24 bytes. The table uses open addressing with linear probing:
//! an entry is at the index given by its hash or, if that is occupied, at the next free index.
//!
//! Several threads count into one [`WordTable`], which is divided by the hashes of the texts into
//! shards with a lock each. A thread buffers its additions to a shard ([`TableAdder`]) and
//! makes about a hundred at a time, so it rarely waits for a lock. It first reads all the entries,
//! so that these memory accesses, which miss the processor's caches, overlap. A word that several
//! threads count is stored once, so no tables have to be merged at the end.
//!
//! For example, "the" is the entry `[low, high]` with the bytes `t h e` in `low`, and the length 3
//! in the highest byte of `high`:
//!
//! ```text
//! add("the", 1)   low 0x00000000_00656874, high 0x03000000_00000000; hash h; shard (h >> 40) % 32
//! add("the", 2)   the same entry: count 3
//! add("internationalization", 1)   20 bytes: start, length, 24 bits of the hash and the mark 0xff of the arena
//! ```
//!
//! The order of the entries never affects a result: callers sort the entries, or do something that
//! does not depend on the order. So the hash seed can differ in each run, and nobody can construct
//! a corpus whose words all collide.

mod key;
mod sorted;

use std::convert::Infallible;
use std::hint::black_box;
use std::sync::{Mutex, PoisonError};

use foldhash::fast::SeedableRandomState;

use self::key::PackedText;
pub(crate) use self::key::TextLookup;
use crate::base::num::{low_u32, low_usize, masked_index};
use crate::train::TrainError;
use crate::train::short_texts::ShortText;

/// Shards of a table, a power of two.
const SHARDS: usize = 32;
/// Short texts that a thread buffers for a shard.
const PENDING_TEXTS: usize = 128;
/// Bytes of long texts that a thread buffers for a shard.
const PENDING_BYTES: usize = 1 << 12;

/// Texts with their counts.
#[derive(Default)]
pub(crate) struct TextCounts {
    /// Empty, or at least a quarter of the entries are free.
    entries: Vec<TextEntry>,
    used: usize,
    arena: Vec<u8>,
}

#[derive(Debug, Clone, Copy, Default)]
struct TextEntry {
    key: PackedText,
    count: u64,
}

/// Entries of the smallest table.
const MIN_ENTRIES: usize = 16;

impl TextCounts {
    /// An empty table with room for `texts` texts.
    fn with_capacity(texts: usize) -> Self {
        // A quarter of the entries is free.
        let size = texts / 3 * 4 + texts % 3 * 2;
        Self {
            entries: vec![TextEntry::default(); size],
            ..Self::default()
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.used
    }

    /// Bytes of long texts held.
    pub(crate) fn arena_bytes(&self) -> usize {
        self.arena.len()
    }

    /// Forgets every text, keeping the memory.
    pub(crate) fn clear(&mut self) {
        if self.used == 0 {
            return;
        }
        self.entries.fill(TextEntry::default());
        self.used = 0;
        self.arena.clear();
    }

    /// Adds `count` to the count of a text, which is not empty. The count saturates at
    /// `u64::MAX`.
    ///
    /// # Errors
    /// The text has 4 GiB or more.
    #[inline]
    pub(crate) fn add(
        &mut self,
        hasher: &SeedableRandomState,
        lookup: &TextLookup<'_>,
        count: u64,
    ) -> Result<(), TrainError> {
        let mut at = self.first_index(lookup.hash);
        while let Some(entry) = self.entries.get_mut(at) {
            if lookup.matches(entry.key, &self.arena) {
                entry.count = entry.count.saturating_add(count);
                return Ok(());
            }
            if entry.key.is_free() {
                break;
            }
            at = self.next_index(at);
        }
        self.insert(hasher, lookup, count)
    }

    /// Where the search for a text begins.
    #[inline]
    fn first_index(&self, hash: u64) -> usize {
        // The lower half of the hash, as a fraction of 2^32, times the number of entries. The
        // number need not be a power of two, so a mask would not do.
        let fraction = u64::from(low_u32(hash));
        low_usize((fraction * self.entries.len() as u64) >> u32::BITS)
    }

    /// The index that a search visits after `at`.
    #[inline]
    fn next_index(&self, at: usize) -> usize {
        if at + 1 < self.entries.len() {
            at + 1
        } else {
            0
        }
    }

    /// The first free index for this hash.
    #[inline]
    fn first_free_index(&self, hash: u64) -> usize {
        let mut at = self.first_index(hash);
        while !self.entries[at].key.is_free() {
            at = self.next_index(at);
        }
        at
    }

    /// Reads the entry where the search for a text begins, to load it into the processor's cache.
    #[inline]
    fn touch(&self, hash: u64) -> u64 {
        self.entries
            .get(self.first_index(hash))
            .map_or(0, |entry| entry.count)
    }

    #[inline(never)]
    fn insert(
        &mut self,
        hasher: &SeedableRandomState,
        lookup: &TextLookup<'_>,
        count: u64,
    ) -> Result<(), TrainError> {
        let key = lookup
            .short
            .or_else(|| PackedText::in_arena(self.arena.len(), lookup.text.len(), lookup.hash));
        let Some(key) = key else {
            return Err(TrainError::TooLarge {
                what: "bytes in a word",
            });
        };
        if lookup.short.is_none() {
            self.arena.extend_from_slice(lookup.text);
        }
        if self.used >= self.entries.len() / 4 * 3 {
            self.grow(hasher);
        }
        self.put(lookup.hash, TextEntry { key, count });
        self.used += 1;
        Ok(())
    }

    /// Writes an entry to the first free index for this hash.
    #[inline]
    fn put(&mut self, hash: u64, new: TextEntry) {
        let at = self.first_free_index(hash);
        self.entries[at] = new;
    }

    /// Grows the table by a quarter, in its place, so that a word needs at most 40 bytes at any
    /// time. If it grew by half, a word would need up to 48; by an eighth, each would be moved twice
    /// as often.
    fn grow(&mut self, hasher: &SeedableRandomState) {
        let used = self.entries.len();
        let size = (used + used / 4).max(MIN_ENTRIES);
        self.entries.resize(size, TextEntry::default());
        // From the last entry to the first, since nearly all of them move up. All entries above the
        // current one have their place. The few that cannot be placed among these, because they
        // were far from their index or the search for them continues at the start, are put last.
        let mut others = Vec::new();
        for at in (0..used).rev() {
            let entry = std::mem::take(&mut self.entries[at]);
            if entry.key.is_free() {
                continue;
            }
            let hash = entry.key.hash(hasher, &self.arena);
            let first = self.first_index(hash);
            let above = self.entries.get_mut(first..).filter(|_| first >= at);
            let free = above.and_then(|above| above.iter_mut().find(|entry| entry.key.is_free()));
            match free {
                Some(free) => *free = entry,
                None => others.push((hash, entry)),
            }
        }
        for (hash, entry) in others {
            self.put(hash, entry);
        }
    }

    /// Removes the texts with a count below `min_count`. Afterwards texts can be visited, but not
    /// added.
    pub(crate) fn remove_rare(&mut self, min_count: u64) {
        let entries = self.entries.iter_mut();
        for entry in entries.filter(|entry| !entry.key.is_free() && entry.count < min_count) {
            *entry = TextEntry::default();
            self.used -= 1;
        }
    }

    /// Calls `visit` with each text and its count, in no particular order.
    pub(crate) fn visit(&self, mut visit: impl FnMut(&[u8], u64)) {
        let Ok(()) = self.for_each::<Infallible>(|text, count| {
            visit(text, count);
            Ok(())
        });
    }

    /// Calls `visit` with each text and its count, in no particular order.
    pub(crate) fn for_each<E>(
        &self,
        mut visit: impl FnMut(&[u8], u64) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.used == 0 {
            return Ok(());
        }
        let mut buffer = [[0; 8]; 2];
        let mut used = self.entries.iter().filter(|entry| !entry.key.is_free());
        used.try_for_each(|entry| visit(entry.key.text(&self.arena, &mut buffer), entry.count))
    }

    /// Calls `take` with each text and its count, in no particular order; the count becomes 0 if
    /// `take` returns true. The text keeps its entry.
    pub(crate) fn take_counts(&mut self, mut take: impl FnMut(&[u8], u64) -> bool) {
        let mut buffer = [[0; 8]; 2];
        let arena = &self.arena;
        for entry in self.entries.iter_mut().filter(|entry| entry.count > 0) {
            if take(entry.key.text(arena, &mut buffer), entry.count) {
                entry.count = 0;
            }
        }
    }
}

/// The distinct words of a corpus (or other texts) with their counts, divided by their hashes into
/// shards. One thread adds with [`WordTable::add`], several with a [`TableAdder`] each.
pub(crate) struct WordTable {
    hasher: SeedableRandomState,
    shards: Vec<TextCounts>,
}

impl Default for WordTable {
    fn default() -> Self {
        Self::new(SeedableRandomState::default())
    }
}

impl WordTable {
    pub(crate) fn new(hasher: SeedableRandomState) -> Self {
        Self::with_capacity(hasher, 0)
    }

    /// An empty table with room for about `texts` distinct texts. Tables that have the right size
    /// from the start take half the time of tables that grow.
    pub(crate) fn with_capacity(hasher: SeedableRandomState, texts: usize) -> Self {
        let shard = || TextCounts::with_capacity(texts.div_ceil(SHARDS));
        Self {
            hasher,
            shards: (0..SHARDS).map(|_| shard()).collect(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(TextCounts::len).sum()
    }

    /// Adds `count` to the count of a text, which is not empty.
    pub(crate) fn add(&mut self, text: &[u8], count: u64) -> Result<(), TrainError> {
        let lookup = TextLookup::new(&self.hasher, text);
        self.shards[shard_of(lookup.hash)].add(&self.hasher, &lookup, count)
    }

    /// Calls `work` with a function that makes an adder. Each thread has its own, which it has to
    /// flush at the end.
    pub(crate) fn with_adders<R>(
        &mut self,
        work: impl for<'t> FnOnce(&'t (dyn Fn() -> TableAdder<'t> + Sync)) -> R,
    ) -> R {
        let shards: Vec<_> = self.shards.iter_mut().map(Mutex::new).collect();
        work(&|| TableAdder {
            hasher: &self.hasher,
            shards: &shards,
            pending: (0..SHARDS).map(|_| PendingAdditions::default()).collect(),
        })
    }

    /// As [`TextCounts::remove_rare`].
    pub(crate) fn remove_rare(&mut self, min_count: u64) {
        for shard in &mut self.shards {
            shard.remove_rare(min_count);
        }
    }

    /// Removes all texts, keeping the memory.
    pub(crate) fn clear(&mut self) {
        self.shards.iter_mut().for_each(TextCounts::clear);
    }

    pub(crate) fn shards(&self) -> &[TextCounts] {
        &self.shards
    }

    pub(crate) fn shards_mut(&mut self) -> &mut [TextCounts] {
        &mut self.shards
    }

    /// The shards in at most `groups` groups of about equal size.
    pub(crate) fn into_groups(self, groups: usize) -> Vec<Vec<TextCounts>> {
        let mut shards = self.shards;
        let size = shards.len().div_ceil(groups.max(1)).max(1);
        let mut grouped = Vec::new();
        while !shards.is_empty() {
            grouped.push(shards.split_off(shards.len().saturating_sub(size)));
        }
        grouped
    }
}

/// The shard of a text with this hash. The table inside a shard is indexed by the low 32 bits.
#[inline]
fn shard_of(hash: u64) -> usize {
    masked_index(hash >> 40, SHARDS - 1)
}

/// Adds to a [`WordTable`], many texts at a time, while other threads do so, too.
pub(crate) struct TableAdder<'t> {
    hasher: &'t SeedableRandomState,
    shards: &'t [Mutex<&'t mut TextCounts>],
    pending: Vec<PendingAdditions>,
}

/// Additions to a shard that have not been made yet.
#[derive(Default)]
struct PendingAdditions {
    /// Keys, hashes, counts.
    short: Vec<(PackedText, u64, u64)>,
    /// Ends in `bytes`, hashes, counts.
    long: Vec<(usize, u64, u64)>,
    bytes: Vec<u8>,
}

impl PendingAdditions {
    fn add(&mut self, lookup: &TextLookup<'_>, count: u64) {
        match lookup.short {
            Some(key) => self.short.push((key, lookup.hash, count)),
            None => {
                self.bytes.extend_from_slice(lookup.text);
                self.long.push((self.bytes.len(), lookup.hash, count));
            }
        }
    }

    fn is_full(&self) -> bool {
        self.short.len() >= PENDING_TEXTS || self.bytes.len() >= PENDING_BYTES
    }

    /// Reads the entries of all additions; the reads are independent, so that they overlap.
    #[inline]
    fn touch_entries(&self, table: &TextCounts) {
        black_box(self.hashes().fold(0, |read, hash| read ^ table.touch(hash)));
    }

    /// The hashes of all additions.
    #[inline]
    fn hashes(&self) -> impl Iterator<Item = u64> {
        let short = self.short.iter().map(|added| added.1);
        let long = self.long.iter().map(|added| added.1);
        short.chain(long)
    }

    fn add_to(
        &mut self,
        table: &mut TextCounts,
        hasher: &SeedableRandomState,
    ) -> Result<(), TrainError> {
        self.touch_entries(table);
        for (key, hash, count) in self.short.drain(..) {
            table.add(hasher, &TextLookup::of_key(key, hash), count)?;
        }
        let mut start = 0;
        for (end, hash, count) in self.long.drain(..) {
            let text = &self.bytes[start..end];
            table.add(hasher, &TextLookup::of_long_text(text, hash), count)?;
            start = end;
        }
        self.bytes.clear();
        Ok(())
    }
}

impl<'t> TableAdder<'t> {
    /// The hasher of the table.
    pub(crate) fn hasher(&self) -> &'t SeedableRandomState {
        self.hasher
    }

    /// Adds `count` to the count of a text, now or later.
    pub(crate) fn add(&mut self, text: &[u8], count: u64) -> Result<(), TrainError> {
        self.add_found(&TextLookup::new(self.hasher, text), count)
    }

    /// As [`add`](Self::add).
    #[inline]
    pub(crate) fn add_short(&mut self, text: ShortText, count: u64) -> Result<(), TrainError> {
        self.add_found(&TextLookup::of_short(self.hasher, text), count)
    }

    #[inline]
    fn add_found(&mut self, lookup: &TextLookup<'_>, count: u64) -> Result<(), TrainError> {
        let shard = shard_of(lookup.hash);
        self.pending[shard].add(lookup, count);
        if self.pending[shard].is_full() {
            self.flush_shard(shard)
        } else {
            Ok(())
        }
    }

    #[inline(never)]
    fn flush_shard(&mut self, shard: usize) -> Result<(), TrainError> {
        // A thread that panics while it adds resumes its panic in the caller, who then has no use
        // for the table.
        let table = self.shards[shard].lock();
        let mut table = table.unwrap_or_else(PoisonError::into_inner);
        self.pending[shard].add_to(&mut table, self.hasher)
    }

    /// Makes all additions that are still buffered.
    pub(crate) fn flush(&mut self) -> Result<(), TrainError> {
        (0..SHARDS).try_for_each(|shard| self.flush_shard(shard))
    }
}

#[cfg(test)]
mod tests;
