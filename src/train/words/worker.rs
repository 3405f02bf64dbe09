//! One thread's part of the counting: sentences -> raw chunks -> prepared text -> parts.
//!
//! In: batches of sentences. Out: additions to the shared counts. A raw chunk takes one of three
//! routes:
//!
//! | bytes of the chunk | route |
//! |---|---|
//! | up to 15 | counted in a [`RawChunkCache`], prepared when the cache evicts it |
//! | up to [`MAX_CACHED_CHUNK_BYTES`] | counted in a table, all of which is prepared when the table is full |
//! | more | prepared at once |
//!
//! For a char model the parts are characters. A thread counts them in a table of its own by code
//! point, and adds the table to the shared counts at the end.
//!
//! For example, in "the cat and the dog" the chunk "the" is added to the cache twice. It is
//! prepared and split once, when the cache evicts it or at the end, and its part `▁the` is then
//! counted with 2.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

use super::CountedUnit;
use super::chunk_rule::ChunkRule;
use super::context::CountContext;
use crate::base::WHITESPACE_MARK_STR;
use crate::train::TrainError;
use crate::train::alphabet::add_characters;
use crate::train::batch::{Batch, SentenceCounts, SentenceFilter};
use crate::train::counts::{SharedTable, TableAdder, TextCounts, TextLookup};
use crate::train::prepare::Preparation;
use crate::train::raw_chunk_cache::{CachedChunk, RawChunkCache, ShortText};
use crate::train::split::parts::PartSplitter;
use crate::train::swar::Block16;

/// The number of raw chunks too long for the [`RawChunkCache`] that a thread holds before it
/// prepares them.
const MAX_HELD_CHUNKS: usize = 1 << 12;
/// The number of bytes of these chunks that a thread holds.
const MAX_HELD_CHUNK_BYTES: usize = 1 << 17;
/// Short chunks that are looked up together.
const LOOKAHEAD: usize = 32;
/// Longer chunks rarely occur twice, so they are prepared at once.
const MAX_CACHED_CHUNK_BYTES: usize = 64;

/// One thread's part of the counting.
pub(super) struct CountWorker<'a> {
    context: &'a CountContext<'a>,
    filter: SentenceFilter,
    cache: RawChunkCache,
    /// Chunks to be added to `cache` next.
    short_chunks: Vec<CachedChunk>,
    /// Chunks too long for `cache`.
    held_chunks: TextCounts,
    parts: PartCounter<'a>,
    /// A chunk with a dummy prefix.
    prefixed_chunk: Vec<u8>,
}

/// The second half of a [`CountWorker`]: prepares text and counts its parts.
struct PartCounter<'a> {
    unit: UnitCounter,
    counts: TableAdder<'a>,
    buffer: Vec<u8>,
    plain_text: String,
}

/// How a thread counts a [`CountedUnit`].
enum UnitCounter {
    /// By code point, before they are added to the counts.
    Characters(Vec<u64>),
    Parts(PartSplitter),
}

impl UnitCounter {
    /// Splits prepared text and counts the parts.
    fn add(
        &mut self,
        counts: &mut TableAdder<'_>,
        text: &str,
        count: u64,
    ) -> Result<(), TrainError> {
        let splitter = match self {
            Self::Parts(splitter) => splitter,
            Self::Characters(characters) => {
                add_characters(characters, text, count);
                return Ok(());
            }
        };
        let mut result = Ok(());
        splitter.split(text, |part| {
            if result.is_ok() {
                result = counts.add(part.as_bytes(), count);
            }
        });
        result
    }
}

impl<'a> PartCounter<'a> {
    fn new(context: &CountContext<'_>, counts: &'a SharedTable) -> Self {
        PartCounter {
            unit: match &context.unit {
                CountedUnit::Characters => UnitCounter::Characters(Vec::new()),
                CountedUnit::Parts(rules) => UnitCounter::Parts(PartSplitter::new(rules)),
            },
            counts: counts.adder(),
            buffer: Vec::new(),
            plain_text: String::new(),
        }
    }

    /// Prepares `text` and adds its parts.
    fn add(
        &mut self,
        preparation: &Preparation,
        text: &[u8],
        count: u64,
    ) -> Result<(), TrainError> {
        let prepared = preparation.prepare(text, &mut self.buffer)?;
        self.unit.add(&mut self.counts, &prepared, count)
    }

    /// Adds a chunk that the chunk rule of `context` yields.
    fn add_chunk(
        &mut self,
        context: &CountContext<'_>,
        chunk: &[u8],
        count: u64,
    ) -> Result<(), TrainError> {
        let spaces = leading_spaces(chunk);
        let word = &chunk[spaces..];
        if !context.plain.make_up(word) {
            return self.add(&context.chunk_preparation, chunk, count);
        }
        // Preparing plain bytes, which are ASCII, only writes whitespace marks before them.
        let marks = context.chunk_rule.whitespace_marks(spaces);
        let text = &mut self.plain_text;
        text.clear();
        text.extend(std::iter::repeat_n(WHITESPACE_MARK_STR, marks));
        text.push_str(std::str::from_utf8(word).unwrap_or_default());
        self.unit.add(&mut self.counts, &self.plain_text, count)
    }

    /// Makes all additions that are still buffered.
    fn flush(&mut self) -> Result<(), TrainError> {
        if let UnitCounter::Characters(characters) = &mut self.unit {
            let characters = std::mem::take(characters);
            for (code, count) in (0..).zip(characters).filter(|(_, count)| *count > 0) {
                if let Some(c) = char::from_u32(code) {
                    self.counts
                        .add(c.encode_utf8(&mut [0; 4]).as_bytes(), count)?;
                }
            }
        }
        self.counts.flush()
    }
}

impl<'a> CountWorker<'a> {
    pub(super) fn new(context: &'a CountContext<'a>, counts: &'a SharedTable) -> Self {
        CountWorker {
            context,
            filter: SentenceFilter::new(context.options),
            cache: RawChunkCache::new(&context.work.hasher),
            short_chunks: Vec::with_capacity(LOOKAHEAD),
            held_chunks: TextCounts::default(),
            parts: PartCounter::new(context, counts),
            prefixed_chunk: Vec::new(),
        }
    }

    /// Counts batches until there are no more, or until an error, which sets `failed`.
    pub(super) fn run(
        mut self,
        batches: &Mutex<Receiver<Batch>>,
        failed: &AtomicBool,
    ) -> Result<SentenceCounts, TrainError> {
        let result = self.count_batches(batches);
        if result.is_err() {
            failed.store(true, Ordering::Relaxed);
            // The sender may be blocked on the full channel.
            while receive(batches).is_some() {}
        }
        result.and_then(|()| self.finish())
    }

    fn count_batches(&mut self, batches: &Mutex<Receiver<Batch>>) -> Result<(), TrainError> {
        let unused = SentenceFilter::new(self.context.options);
        let mut filter = std::mem::replace(&mut self.filter, unused);
        while let Some(batch) = receive(batches) {
            let may_have_mark = self.context.may_have_mark(batch.as_bytes());
            filter.for_each_used(&batch, |sentence, count| {
                let rule = self.context.rule_for(sentence, may_have_mark);
                self.add_sentence(rule, sentence, count)?;
                Ok(ControlFlow::Continue(()))
            })?;
        }
        self.filter = filter;
        Ok(())
    }

    /// Counts the contents of the caches.
    fn finish(mut self) -> Result<SentenceCounts, TrainError> {
        self.flush_short_chunks()?;
        self.flush_held_chunks()?;
        for entry in self.cache.take_entries() {
            self.add_evicted(&entry)?;
        }
        self.parts.flush()?;
        Ok(self.filter.counts)
    }

    fn add_sentence(
        &mut self,
        rule: ChunkRule,
        sentence: &[u8],
        count: u64,
    ) -> Result<(), TrainError> {
        match rule {
            ChunkRule::Sentence => self.parts.add(&self.context.preparation, sentence, count),
            ChunkRule::Words => self.add_words(sentence, count),
            ChunkRule::SpacedWords { dummy_prefix } => {
                self.add_spaced_words(sentence, count, dummy_prefix)
            }
        }
    }

    fn add_words(&mut self, sentence: &[u8], count: u64) -> Result<(), TrainError> {
        let mut start = 0;
        while start < sentence.len() {
            let block = Block16::at(sentence, start);
            let mut end = start + block.word() as usize;
            match block.word() {
                0 => {}
                Block16::LENGTH => {
                    end = next_space(sentence, end);
                    self.add_chunk(&sentence[start..end], count)?;
                }
                length => self.add_short_chunk(ShortText::of_block(block.0, length), count)?,
            }
            start = end + 1;
        }
        Ok(())
    }

    fn add_spaced_words(
        &mut self,
        sentence: &[u8],
        count: u64,
        dummy_prefix: bool,
    ) -> Result<(), TrainError> {
        let mut start = 0;
        if dummy_prefix {
            start = end_of_spaced_word(sentence, 0);
            let mut prefixed = std::mem::take(&mut self.prefixed_chunk);
            prefixed.clear();
            prefixed.push(b' ');
            prefixed.extend_from_slice(&sentence[..start]);
            self.add_chunk(&prefixed, count)?;
            self.prefixed_chunk = prefixed;
        }
        while start < sentence.len() {
            let block = Block16::at(sentence, start);
            match block.spaced_word() {
                Block16::LENGTH => {
                    let end = end_of_spaced_word(sentence, start);
                    self.add_chunk(&sentence[start..end], count)?;
                    start = end;
                }
                length => {
                    self.add_short_chunk(ShortText::of_block(block.0, length), count)?;
                    start += length as usize;
                }
            }
        }
        Ok(())
    }

    fn add_chunk(&mut self, chunk: &[u8], count: u64) -> Result<(), TrainError> {
        if let Some(short) = ShortText::new(chunk) {
            return self.add_short_chunk(short, count);
        }
        if chunk.len() > MAX_CACHED_CHUNK_BYTES {
            return self.parts.add_chunk(self.context, chunk, count);
        }
        if self.held_chunks.len() >= MAX_HELD_CHUNKS
            || self.held_chunks.arena_bytes() >= MAX_HELD_CHUNK_BYTES
        {
            self.flush_held_chunks()?;
        }
        let hasher = &self.context.work.hasher;
        let lookup = TextLookup::new(hasher, chunk);
        self.held_chunks.add(hasher, &lookup, count)
    }

    #[inline]
    fn add_short_chunk(&mut self, chunk: ShortText, count: u64) -> Result<(), TrainError> {
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
        // Read the sets of the chunks. The cache is larger than the first-level cache of a processor;
        // these reads are independent and overlap, so that the additions that follow do not wait for
        // each set in turn.
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
    fn add_evicted(&mut self, CachedChunk { text, count }: &CachedChunk) -> Result<(), TrainError> {
        let mut buffer = [[0; 8]; 2];
        let chunk = text.text(&mut buffer);
        self.parts.add_chunk(self.context, chunk, *count)
    }

    fn flush_held_chunks(&mut self) -> Result<(), TrainError> {
        let parts = &mut self.parts;
        self.held_chunks
            .for_each(|chunk, count| parts.add_chunk(self.context, chunk, count))?;
        self.held_chunks.clear();
        Ok(())
    }
}

fn receive(batches: &Mutex<Receiver<Batch>>) -> Option<Batch> {
    // A poisoned lock means that another thread panicked; the caller resumes that panic.
    batches.lock().ok()?.recv().ok()
}

/// Where the spaces at `start` and the word after them end.
fn end_of_spaced_word(sentence: &[u8], start: usize) -> usize {
    let word = start + leading_spaces(&sentence[start..]);
    next_space(sentence, word)
}

fn leading_spaces(text: &[u8]) -> usize {
    text.iter().take_while(|byte| **byte == b' ').count()
}

/// The position of the first space at `start` or after it, or the end.
fn next_space(sentence: &[u8], start: usize) -> usize {
    memchr::memchr(b' ', &sentence[start..]).map_or(sentence.len(), |length| start + length)
}
