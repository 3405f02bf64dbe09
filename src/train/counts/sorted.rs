//! The texts of a table in order.
//!
//! Input: counts in shards. Output: the texts in the order of their bytes, with their counts. Method: the entries of each
//! shard are sorted, as numbers of 32 bits, on the threads of the current pool; a heap with the first text of each shard then gives
//! the first of all. For example, shards `[b, d]` and `[a, c]` give `a`, `b`, `c`, `d`.
//!
//! Cost: O(n log n) comparisons of texts. Memory: 4 bytes for each text.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::{ShardedCounts, TextCounts};
use crate::text::num::low_u32;

impl TextCounts {
    /// The numbers of the used entries, by text.
    fn sorted_entries(&self) -> Vec<u32> {
        // A table of 2^32 entries would need 96 GiB for one shard of 32; its words would have more characters than training
        // can hold.
        let used = (0..)
            .zip(&self.entries)
            .filter(|(_, entry)| !entry.key.is_free());
        let mut numbers: Vec<u32> = used.map(|(number, _)| low_u32(number)).collect();
        numbers.sort_unstable_by(|a, b| {
            self.text(*a, &mut [[0; 8]; 2])
                .cmp(self.text(*b, &mut [[0; 8]; 2]))
        });
        numbers
    }

    /// The text of an entry, in the arena or written to `buffer`.
    fn text<'t>(&'t self, number: u32, buffer: &'t mut [[u8; 8]; 2]) -> &'t [u8] {
        self.entries[number as usize].key.text(&self.arena, buffer)
    }
}

impl ShardedCounts {
    /// Calls `visit` with each text and its count, in the order of the bytes of the texts.
    pub(crate) fn for_each_sorted<E>(
        &self,
        mut visit: impl FnMut(&[u8], u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let sorted: Vec<Vec<u32>> = self
            .shards
            .par_iter()
            .map(TextCounts::sorted_entries)
            .collect();
        let mut rest: Vec<_> = sorted.iter().map(|numbers| numbers.iter()).collect();
        // Texts are owned, because those inside of entries have no bytes to borrow; a shard has one at a time.
        let first_of = |shard: usize, number: &u32| {
            let text = self.shards[shard].text(*number, &mut [[0; 8]; 2]).to_vec();
            let count = self.shards[shard].entries[*number as usize].count;
            Reverse((text, shard, count))
        };
        let mut first = BinaryHeap::new();
        for (shard, numbers) in rest.iter_mut().enumerate() {
            first.extend(numbers.next().map(|number| first_of(shard, number)));
        }
        while let Some(Reverse((text, shard, count))) = first.pop() {
            visit(&text, count)?;
            first.extend(rest[shard].next().map(|number| first_of(shard, number)));
        }
        Ok(())
    }
}
