//! Equal chunks of a thread are counted before anything else is done with them.
//!
//! | bytes of the chunk | where it is counted | when it is released |
//! |---|---|---|
//! | up to 15 | [`ShortTextCache`] | another chunk takes its entry |
//! | up to 64 | a table | the table is full |
//! | more | not at all | at once |

use std::hint::black_box;
use std::mem;

use foldhash::fast::SeedableRandomState;

use super::chunks::SentenceChunks;
use crate::train::TrainError;
use crate::train::short_texts::{CHUNK_SETS, CountedText, ShortText, ShortTextCache};
use crate::train::word_table::{TextCounts, TextLookup};

/// The number of chunks that the table holds.
const MAX_HELD_CHUNKS: usize = 1 << 12;
/// The number of their bytes.
const MAX_HELD_BYTES: usize = 1 << 17;
/// Short chunks that are looked up together.
const LOOKAHEAD: usize = 32;

/// The chunks that a thread holds.
pub(super) struct ChunkCounter<'h> {
    hasher: &'h SeedableRandomState,
    short: ShortTextCache<CHUNK_SETS>,
    long: TextCounts,
}

/// Different chunks with their counts.
#[derive(Default)]
pub(super) struct Released {
    pub(super) short: Vec<CountedText>,
    pub(super) long: TextCounts,
}

impl<'h> ChunkCounter<'h> {
    pub(super) fn new(hasher: &'h SeedableRandomState) -> Self {
        Self {
            hasher,
            short: ShortTextCache::new(hasher),
            long: TextCounts::default(),
        }
    }

    /// Counts the short and the long chunks. Adds those that are no longer held to `released`.
    pub(super) fn add(
        &mut self,
        chunks: &SentenceChunks,
        released: &mut Released,
    ) -> Result<(), TrainError> {
        for group in chunks.short.chunks(LOOKAHEAD) {
            self.add_short(group, chunks.count, &mut released.short);
        }
        for index in 0..chunks.long.len() {
            let lookup = TextLookup::new(self.hasher, chunks.long.get(index));
            self.long.add(self.hasher, &lookup, chunks.count)?;
        }
        let is_full =
            self.long.len() >= MAX_HELD_CHUNKS || self.long.arena_bytes() >= MAX_HELD_BYTES;
        if is_full {
            mem::swap(&mut self.long, &mut released.long);
        }
        Ok(())
    }

    fn add_short(&mut self, chunks: &[ShortText], count: u64, released: &mut Vec<CountedText>) {
        // Read the sets of the chunks. The cache is larger than the first-level cache of a
        // processor; these reads are independent and overlap, so that the additions that follow do
        // not wait for each set in turn.
        let touched = chunks.iter().map(|chunk| self.short.touch(*chunk));
        black_box(touched.fold(0, |read, set| read ^ set));
        for chunk in chunks {
            if let Some(chunk) = self.short.add(*chunk, count) {
                released.push(chunk);
            }
        }
    }

    /// All chunks that are held.
    pub(super) fn finish(mut self) -> Released {
        Released {
            short: self.short.take_entries().collect(),
            long: self.long,
        }
    }
}
