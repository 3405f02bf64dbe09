//! One thread's part of the counting: sentences -> chunks -> what is counted of a chunk.
//!
//! The chunks are those of the [`Cuts`]. A chunk takes one of three routes to [`Cuts::count`]:
//!
//! | bytes of the chunk | route |
//! |---|---|
//! | up to 15 | counted in a [`RawChunkCache`], added when the cache evicts it |
//! | up to [`MAX_CACHED_CHUNK_BYTES`] | counted in a table, all of which is added when the table is full |
//! | more | added at once |

use std::hint::black_box;
use std::ops::{ControlFlow, Range};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

use super::Cuts;
use crate::train::TrainError;
use crate::train::batch::{Batch, PLACES_PER_BYTE, SentenceRules};
use crate::train::counts::{TableAdder, TextCounts, TextLookup};
use crate::train::raw_chunk_cache::{CachedChunk, RawChunkCache, ShortText};
use crate::train::sentence_counts::SentenceCounts;
use crate::train::swar::Block16;

/// The number of raw chunks too long for the [`RawChunkCache`] that a thread holds before it adds
/// them.
const MAX_HELD_CHUNKS: usize = 1 << 12;
/// The number of bytes of these chunks that a thread holds.
const MAX_HELD_CHUNK_BYTES: usize = 1 << 17;
/// Short chunks that are looked up together.
const LOOKAHEAD: usize = 32;
/// Longer chunks rarely occur twice, so they are added at once.
const MAX_CACHED_CHUNK_BYTES: usize = 64;

/// Counts the sentences of batches, for one thread.
pub(crate) struct Worker<'c, 't, C: Cuts> {
    cuts: &'c C,
    pub(super) local: C::Local,
    pub(super) words: TableAdder<'t, C::Tally>,
    rules: SentenceRules,
    sentences: SentenceCounts,
    cache: RawChunkCache<C::Tally>,
    /// Chunks to be added to `cache` next.
    short_chunks: Vec<CachedChunk<C::Tally>>,
    /// Chunks too long for `cache`.
    held_chunks: TextCounts<C::Tally>,
}

impl<'c, 't, C: Cuts> Worker<'c, 't, C> {
    pub(super) fn new(cuts: &'c C, rules: SentenceRules, words: TableAdder<'t, C::Tally>) -> Self {
        Self {
            cuts,
            local: cuts.local(),
            rules,
            sentences: SentenceCounts::default(),
            cache: RawChunkCache::new(words.hasher()),
            words,
            short_chunks: Vec::with_capacity(LOOKAHEAD),
            held_chunks: TextCounts::default(),
        }
    }

    /// Counts batches until there are no more, or until an error, which sets `failed`.
    pub(super) fn count_all(
        mut self,
        batches: &Mutex<Receiver<Batch>>,
        failed: &AtomicBool,
    ) -> Result<SentenceCounts, TrainError> {
        while let Some(batch) = receive(batches) {
            if let Err(error) = self.count(&batch) {
                failed.store(true, Ordering::Relaxed);
                // The sender may be blocked on the full channel.
                while receive(batches).is_some() {}
                return Err(error);
            }
        }
        self.finish()
    }

    /// Counts the sentences of a batch.
    pub(super) fn count(&mut self, batch: &Batch) -> Result<(), TrainError> {
        self.cuts.begin_batch(batch.as_bytes(), &mut self.local);
        let mut sentences = self.sentences;
        let mut place = batch.first_place();
        batch.for_each_used(self.rules, &mut sentences, |sentence, count| {
            self.cuts.cut(sentence, (count, place), self)?;
            place += PLACES_PER_BYTE * sentence.len() as u64;
            Ok(ControlFlow::Continue(()))
        })?;
        self.sentences = sentences;
        Ok(())
    }

    /// Adds a chunk that occurs so often.
    pub(super) fn add(&mut self, chunk: &[u8], count: C::Tally) -> Result<(), TrainError> {
        if let Some(short) = ShortText::new(chunk) {
            return self.add_short(short, count);
        }
        if chunk.len() > MAX_CACHED_CHUNK_BYTES {
            return self
                .cuts
                .count(chunk, count, &mut self.local, &mut self.words);
        }
        if self.held_chunks.len() >= MAX_HELD_CHUNKS
            || self.held_chunks.arena_bytes() >= MAX_HELD_CHUNK_BYTES
        {
            self.flush_held_chunks()?;
        }
        let hasher = self.words.hasher();
        self.held_chunks
            .add(hasher, &TextLookup::new(hasher, chunk), count)
    }

    /// As [`add`](Self::add), for a part of a text that is not empty.
    #[inline]
    pub(super) fn add_part(
        &mut self,
        text: &[u8],
        part: Range<usize>,
        count: C::Tally,
    ) -> Result<(), TrainError> {
        match u32::try_from(part.len()) {
            Ok(length) if length < Block16::LENGTH => {
                let block = Block16::at(text, part.start);
                self.add_short(ShortText::of_block(block.0, length), count)
            }
            _ => self.add(&text[part], count),
        }
    }

    /// As [`add`](Self::add), for a chunk of up to 15 bytes.
    #[inline]
    pub(super) fn add_short(
        &mut self,
        chunk: ShortText,
        count: C::Tally,
    ) -> Result<(), TrainError> {
        self.short_chunks.push(CachedChunk { text: chunk, count });
        if self.short_chunks.len() < LOOKAHEAD {
            Ok(())
        } else {
            self.flush_short_chunks()
        }
    }

    #[inline(never)]
    fn flush_short_chunks(&mut self) -> Result<(), TrainError> {
        let mut chunks = std::mem::take(&mut self.short_chunks);
        // Read the sets of the chunks. The cache is larger than the first-level cache of a
        // processor; these reads are independent and overlap, so that the additions that follow do
        // not wait for each set in turn.
        let touched = chunks.iter().map(|chunk| self.cache.touch(chunk.text));
        black_box(touched.fold(0, |read, set| read ^ set));
        let added =
            chunks
                .drain(..)
                .try_for_each(|chunk| match self.cache.add(chunk.text, chunk.count) {
                    None => Ok(()),
                    Some(evicted) => self.add_evicted(&evicted),
                });
        self.short_chunks = chunks;
        added
    }

    #[inline(never)]
    fn add_evicted(
        &mut self,
        CachedChunk { text, count }: &CachedChunk<C::Tally>,
    ) -> Result<(), TrainError> {
        let mut buffer = [[0; 8]; 2];
        let chunk = text.text(&mut buffer);
        self.cuts
            .count(chunk, *count, &mut self.local, &mut self.words)
    }

    fn flush_held_chunks(&mut self) -> Result<(), TrainError> {
        let Self {
            cuts, local, words, ..
        } = self;
        self.held_chunks
            .for_each(|chunk, count| cuts.count(chunk, count, local, words))?;
        self.held_chunks.clear();
        Ok(())
    }

    /// Adds what is still held. Returns the sentences, by what became of them.
    pub(super) fn finish(mut self) -> Result<SentenceCounts, TrainError> {
        self.flush_short_chunks()?;
        self.flush_held_chunks()?;
        for entry in self.cache.take_entries() {
            self.add_evicted(&entry)?;
        }
        self.cuts.finish(self.local, &mut self.words)?;
        self.words.flush()?;
        Ok(self.sentences)
    }
}

fn receive(batches: &Mutex<Receiver<Batch>>) -> Option<Batch> {
    // A poisoned lock means that another thread panicked; the caller resumes that panic.
    batches.lock().ok()?.recv().ok()
}
