//! A table that counts texts.
//!
//! Most words are short: a text of up to 15 bytes stands in its entry itself, as two numbers that are compared
//! and hashed as such, so that counting it needs no look into an arena. Longer texts stand one behind the
//! other in an arena. An entry takes 24 bytes, and nothing else has to be read to find it: the table is open,
//! and an entry stands at the place that its hash names or, if others were there before, behind it.
//!
//! Several threads count into one [`SharedCounts`], which is split by the texts' hashes into shards with a
//! lock each. A thread gathers what it has for a shard ([`CountAdder`]) and adds a hundred texts at a time: so it
//! seldom waits for a lock, and it can read all their places first, so that these memory accesses, which
//! all miss the caches, overlap in the processor. A word that all threads meet is held once, and nothing is
//! left to be merged.
//!
//! Order never depends on hashes: whoever reads a table sorts, or does something that order cannot change. So the
//! hashes have another seed in each run, and nobody can write a corpus whose words all collide.

use std::hash::{BuildHasher, Hasher};
use std::hint::black_box;
use std::sync::{Mutex, PoisonError};

use foldhash::fast::SeedableRandomState;

use crate::error::TrainError;
use crate::packed::{pack, unpack};
use crate::text::num::{low_usize, masked_index};

/// Shards of a table, a power of two.
const SHARDS: usize = 32;
/// What a thread gathers for a shard: short texts, and bytes of long ones.
const PENDING_TEXTS: usize = 128;
const PENDING_BYTES: usize = 1 << 12;
/// What the last byte of a key says if the text is in the arena; otherwise it is the text's length.
const IN_ARENA: u64 = 0xff << 56;
/// Which bits of its hash a key in the arena has, to tell most different texts without looking there.
const TAG: u64 = 0x00ff_ffff << 32;

/// A short text, packed, or where a long one stands: its start, and its length with a tag and [`IN_ARENA`].
/// Zeros, where there is none, would be the empty text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct PackedText([u64; 2]);

impl PackedText {
    /// The key of a text with this hash, of `length` bytes, at `start` in the arena.
    fn in_arena(start: usize, length: usize, hash: u64) -> Option<PackedText> {
        let length = u32::try_from(length).ok()?;
        Some(PackedText([
            start as u64,
            u64::from(length) | hash & TAG | IN_ARENA,
        ]))
    }

    fn is_free(&self) -> bool {
        self.0 == [0, 0]
    }

    /// Whether this is the key of a text in the arena that may have this hash.
    fn may_have_hash(&self, hash: u64) -> bool {
        self.0[1] & (IN_ARENA | TAG) == IN_ARENA | hash & TAG
    }

    /// The text, in the arena or written to `buffer`.
    fn text<'t>(&self, arena: &'t [u8], buffer: &'t mut [[u8; 8]; 2]) -> &'t [u8] {
        let PackedText([low, high]) = *self;
        if high & IN_ARENA == IN_ARENA {
            // Both were `usize` when the key was made.
            let length = low_usize(high & !(IN_ARENA | TAG));
            let start = low_usize(low);
            return &arena[start..start + length];
        }
        unpack(&self.0, buffer)
    }

    fn hash(&self, hasher: &SeedableRandomState, arena: &[u8]) -> u64 {
        match self.0[1] & IN_ARENA {
            IN_ARENA => hash_text(hasher, self.text(arena, &mut [[0; 8]; 2])),
            _ => hash_key(hasher, *self),
        }
    }
}

/// A text on its way into a table.
pub(crate) struct TextLookup<'t> {
    text: &'t [u8],
    short: Option<PackedText>,
    hash: u64,
}

impl<'t> TextLookup<'t> {
    pub(crate) fn new(hasher: &SeedableRandomState, text: &'t [u8]) -> TextLookup<'t> {
        let short = pack(text).map(PackedText);
        let hash = short.map_or_else(|| hash_text(hasher, text), |key| hash_key(hasher, key));
        TextLookup { text, short, hash }
    }
}

fn hash_text(hasher: &SeedableRandomState, text: &[u8]) -> u64 {
    let mut state = hasher.build_hasher();
    state.write(text);
    state.finish()
}

fn hash_key(hasher: &SeedableRandomState, PackedText([low, high]): PackedText) -> u64 {
    let mut state = hasher.build_hasher();
    state.write_u64(low);
    state.write_u64(high);
    state.finish()
}

/// Texts with their counts.
#[derive(Default)]
pub(crate) struct TextCounts {
    /// None, or a power of two of them, a quarter of which are free.
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
const FEWEST_ENTRIES: usize = 16;

impl TextCounts {
    pub(crate) fn len(&self) -> usize {
        self.used
    }

    /// Bytes of long texts held.
    pub(crate) fn arena_bytes(&self) -> usize {
        self.arena.len()
    }

    /// Forgets every text, keeping the memory.
    pub(crate) fn clear(&mut self) {
        self.entries.fill(TextEntry::default());
        self.used = 0;
        self.arena.clear();
    }

    /// Adds `count` to the count of a text, which is not empty. A count stays at `u64::MAX` once it gets
    /// there.
    ///
    /// # Errors
    /// The text is of 4 GiB or more.
    #[inline]
    pub(crate) fn add(
        &mut self,
        hasher: &SeedableRandomState,
        lookup: &TextLookup<'_>,
        count: u64,
    ) -> Result<(), TrainError> {
        let mut at = self.first_place(lookup.hash);
        while let Some(entry) = self.entries.get_mut(at) {
            let is_found = match lookup.short {
                Some(key) => entry.key == key,
                None => {
                    entry.key.may_have_hash(lookup.hash)
                        && entry.key.text(&self.arena, &mut [[0; 8]; 2]) == lookup.text
                }
            };
            if is_found {
                entry.count = entry.count.saturating_add(count);
                return Ok(());
            }
            if entry.key.is_free() {
                break;
            }
            at = (at + 1) & (self.entries.len() - 1);
        }
        self.insert(hasher, lookup, count)
    }

    /// Where the search for a text begins.
    fn first_place(&self, hash: u64) -> usize {
        let last = self.entries.len().saturating_sub(1);
        masked_index(hash, last)
    }

    /// Reads where the search for a text begins.
    fn touch(&self, hash: u64) -> u64 {
        self.entries
            .get(self.first_place(hash))
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

    /// Writes an entry to the first free place for this hash.
    fn put(&mut self, hash: u64, new: TextEntry) {
        let mut at = self.first_place(hash);
        while !self.entries[at].key.is_free() {
            at = (at + 1) & (self.entries.len() - 1);
        }
        self.entries[at] = new;
    }

    fn grow(&mut self, hasher: &SeedableRandomState) {
        let size = (2 * self.entries.len()).max(FEWEST_ENTRIES);
        let entries = std::mem::replace(&mut self.entries, vec![TextEntry::default(); size]);
        for entry in entries.into_iter().filter(|entry| !entry.key.is_free()) {
            self.put(entry.key.hash(hasher, &self.arena), entry);
        }
    }

    /// Calls `visit` with each text and its count, in no particular order.
    pub(crate) fn for_each<E>(
        &self,
        mut visit: impl FnMut(&[u8], u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut buffer = [[0; 8]; 2];
        let mut used = self.entries.iter().filter(|entry| !entry.key.is_free());
        used.try_for_each(|entry| visit(entry.key.text(&self.arena, &mut buffer), entry.count))
    }
}

/// Texts with their counts, in shards.
#[derive(Default)]
pub(crate) struct ShardedCounts {
    shards: Vec<TextCounts>,
}

impl ShardedCounts {
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(TextCounts::len).sum()
    }

    pub(crate) fn shards(&self) -> &[TextCounts] {
        &self.shards
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

/// Counts that several threads add to.
pub(crate) struct SharedCounts {
    hasher: SeedableRandomState,
    shards: Vec<Mutex<TextCounts>>,
}

impl SharedCounts {
    pub(crate) fn new(hasher: SeedableRandomState) -> SharedCounts {
        SharedCounts {
            hasher,
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
        }
    }

    /// A way to add for one thread.
    pub(crate) fn adder(&self) -> CountAdder<'_> {
        CountAdder {
            counts: self,
            pending: (0..SHARDS).map(|_| PendingAdditions::default()).collect(),
        }
    }

    /// What was counted; every [`CountAdder`] has to be flushed before.
    pub(crate) fn into_counts(self) -> ShardedCounts {
        let unlocked =
            |shard: Mutex<TextCounts>| shard.into_inner().unwrap_or_else(PoisonError::into_inner);
        ShardedCounts {
            shards: self.shards.into_iter().map(unlocked).collect(),
        }
    }
}

/// Adds to [`SharedCounts`], many texts at a time.
pub(crate) struct CountAdder<'c> {
    counts: &'c SharedCounts,
    pending: Vec<PendingAdditions>,
}

/// What is to be added to a shard.
#[derive(Default)]
struct PendingAdditions {
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

    fn add_to(
        &mut self,
        table: &mut TextCounts,
        hasher: &SeedableRandomState,
    ) -> Result<(), TrainError> {
        let hashes = self
            .short
            .iter()
            .map(|added| added.1)
            .chain(self.long.iter().map(|added| added.1));
        black_box(hashes.fold(0, |read, hash| read ^ table.touch(hash)));
        for (key, hash, count) in self.short.drain(..) {
            table.add(
                hasher,
                &TextLookup {
                    text: &[],
                    short: Some(key),
                    hash,
                },
                count,
            )?;
        }
        let mut start = 0;
        for (end, hash, count) in self.long.drain(..) {
            table.add(
                hasher,
                &TextLookup {
                    text: &self.bytes[start..end],
                    short: None,
                    hash,
                },
                count,
            )?;
            start = end;
        }
        self.bytes.clear();
        Ok(())
    }
}

impl CountAdder<'_> {
    /// Adds `count` to the count of a text, now or later.
    ///
    /// # Errors
    /// As [`TextCounts::add`].
    pub(crate) fn add(&mut self, text: &[u8], count: u64) -> Result<(), TrainError> {
        let lookup = TextLookup::new(&self.counts.hasher, text);
        // The table inside a shard uses the low and the very highest bits.
        let shard = (lookup.hash >> 40) as usize % SHARDS;
        self.pending[shard].add(&lookup, count);
        if self.pending[shard].is_full() {
            self.flush_shard(shard)
        } else {
            Ok(())
        }
    }

    #[inline(never)]
    fn flush_shard(&mut self, shard: usize) -> Result<(), TrainError> {
        let mut table = self.counts.shards[shard]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.pending[shard].add_to(&mut table, &self.counts.hasher)
    }

    /// Adds everything that was put off.
    pub(crate) fn flush(&mut self) -> Result<(), TrainError> {
        (0..SHARDS).try_for_each(|shard| self.flush_shard(shard))
    }
}

#[cfg(test)]
mod tests;
