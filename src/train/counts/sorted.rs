//! The texts of a table in order.
//!
//! Input: counts in shards. Output: the texts in the order of their bytes, with their counts. Method: for each text its first
//! eight bytes and its place in the table are sorted, on the threads of the current pool; texts are read only where the first eight
//! bytes are equal. For example, `▁be` and `▁before` have `▁be` with zeros and `▁befo`, which differ.
//!
//! Cost: O(n log n) comparisons. Memory: 16 bytes for each text.

use rayon::prelude::*;

use super::{ShardedCounts, TextCounts, TextEntry};
use crate::text::num::low_usize;

/// A text: its first bytes as a number that is lower for a lower text, and where it is: the shard and the entry.
type SortedText = (u64, u64);

/// Bits of the number of an entry in the place of a text; the shard has the others.
const ENTRY_BITS: u32 = 56;

impl TextCounts {
    /// The texts of this table, unsorted; `shard` is its number.
    fn sortable_texts(&self, shard: u64) -> impl Iterator<Item = SortedText> {
        let used = (0..)
            .zip(&self.entries)
            .filter(|(_, entry)| !entry.key.is_free());
        used.map(move |(number, entry)| {
            let mut buffer = [[0; 8]; 2];
            let text = entry.key.text(&self.arena, &mut buffer);
            (prefix_of(text), shard << ENTRY_BITS | number)
        })
    }
}

/// The first eight bytes of a text as a number; zeros follow the end of a shorter text.
fn prefix_of(text: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = text.len().min(8);
    bytes[..length].copy_from_slice(&text[..length]);
    u64::from_be_bytes(bytes)
}

impl ShardedCounts {
    /// The entry at a place, and the arena with its text.
    fn entry(&self, place: u64) -> (&TextEntry, &[u8]) {
        let shard = &self.shards[low_usize(place >> ENTRY_BITS)];
        let number = low_usize(place & !(u64::MAX << ENTRY_BITS));
        (&shard.entries[number], &shard.arena)
    }

    /// The order of two places by their texts.
    fn compare(&self, left: u64, right: u64) -> std::cmp::Ordering {
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
            texts.extend(shard.sortable_texts(number));
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
}
