//! The texts of a table in order.
//!
//! The first bytes of each text and its place in the table are sorted, on the threads of the
//! current pool; texts are read only where the first bytes are equal. For example, the first eight
//! bytes of `▁be` and `▁before` are `▁be` with three zeros and `▁befor`, which differ. This takes
//! 16 bytes for each text, or 32 bytes with its count.

use std::cmp::{Ordering, Reverse};

use rayon::prelude::*;

use super::{TextCounts, TextEntry, WordTable};
use crate::base::num::low_usize;
use crate::train::parallel::map_tasks;

/// A text: its first bytes as a number that sorts like the text, and its place: the shard and the
/// entry.
type SortedText = (u64, u64);

/// A text with its count: the count, the first sixteen bytes and the place.
type SortedCount = (Reverse<u64>, u128, u64);

/// The number of texts in a part.
const PART_TEXTS: usize = if cfg!(test) { 3 } else { 1 << 15 };

/// The number of bits of a place that hold the entry; the higher bits hold the shard.
const ENTRY_BITS: u32 = 56;

impl TextCounts {
    /// The results of `key` for the texts of this table with their counts and places, unsorted;
    /// `shard` is the number of the table.
    fn sortable_texts<K>(
        &self,
        shard: u64,
        key: impl Fn(&[u8], u64, u64) -> K,
    ) -> impl Iterator<Item = K> {
        let used = (0..)
            .zip(&self.entries)
            .filter(|(_, entry)| !entry.key.is_free());
        used.map(move |(number, entry)| {
            let mut buffer = [[0; 8]; 2];
            let text = entry.key.text(&self.arena, &mut buffer);
            key(text, entry.count, shard << ENTRY_BITS | number)
        })
    }
}

/// The first bytes of a text; zeros follow the end of a shorter text.
fn prefix_of<const N: usize>(text: &[u8]) -> [u8; N] {
    let mut bytes = [0; N];
    let length = text.len().min(N);
    bytes[..length].copy_from_slice(&text[..length]);
    bytes
}

impl WordTable {
    /// The entry at a place, and the arena with its text.
    fn entry(&self, place: u64) -> (&TextEntry, &[u8]) {
        let shard = &self.shards[low_usize(place >> ENTRY_BITS)];
        let number = low_usize(place & !(u64::MAX << ENTRY_BITS));
        (&shard.entries[number], &shard.arena)
    }

    /// The order of two places by their texts.
    fn compare(&self, left: u64, right: u64) -> Ordering {
        let (left, left_arena) = self.entry(left);
        let (right, right_arena) = self.entry(right);
        let mut left_bytes = [[0; 8]; 2];
        let mut right_bytes = [[0; 8]; 2];
        let left = left.key.text(left_arena, &mut left_bytes);
        left.cmp(right.key.text(right_arena, &mut right_bytes))
    }

    /// Calls `visit` with each text and its count, in the order of the bytes of the texts.
    pub(crate) fn for_each_sorted<E>(
        &self,
        mut visit: impl FnMut(&[u8], u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut texts: Vec<SortedText> = Vec::with_capacity(self.len());
        for (number, shard) in (0..).zip(&self.shards) {
            let key = |text: &[u8], _, place| (u64::from_be_bytes(prefix_of(text)), place);
            texts.extend(shard.sortable_texts(number, key));
        }
        texts.par_sort_unstable_by(|left, right| {
            let by_prefix = left.0.cmp(&right.0);
            by_prefix.then_with(|| self.compare(left.1, right.1))
        });
        let mut buffer = [[0; 8]; 2];
        texts.iter().try_for_each(|(_, place)| {
            let (entry, arena) = self.entry(*place);
            visit(entry.key.text(arena, &mut buffer), entry.count)
        })
    }

    /// The texts by count, descending, and then by bytes, in parts that follow each other. `push`
    /// adds a text and its count to a part.
    pub(crate) fn parts_by_count<P: Default + Send + Sync>(
        &self,
        push: impl Fn(&mut P, &[u8], u64) + Sync,
    ) -> Vec<P> {
        let key = |text: &[u8], count, place| {
            let prefix = u128::from_be_bytes(prefix_of(text));
            (Reverse(count), prefix, place)
        };
        let mut texts: Vec<SortedCount> = Vec::with_capacity(self.len());
        for (number, shard) in (0..).zip(&self.shards) {
            texts.extend(shard.sortable_texts(number, key));
        }
        texts.par_sort_unstable_by(|left, right| {
            let by_prefix = (left.0, left.1).cmp(&(right.0, right.1));
            by_prefix.then_with(|| self.compare(left.2, right.2))
        });
        let parts: Vec<&[SortedCount]> = texts.chunks(PART_TEXTS).collect();
        map_tasks(parts.len(), |number| {
            let mut part = P::default();
            let mut buffer = [[0; 8]; 2];
            for (Reverse(count), _, place) in parts[number] {
                let (entry, arena) = self.entry(*place);
                push(&mut part, entry.key.text(arena, &mut buffer), *count);
            }
            part
        })
    }
}
