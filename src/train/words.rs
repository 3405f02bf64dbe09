//! Sentences -> distinct words with their counts, in parallel, in memory that follows the distinct words.
//!
//! One thread reads batches; the others cut them into sentences, prepare these, split the result at its
//! boundaries (see [`crate::train::split`]) and count the parts in tables that they share. A part is a word, or
//! less than a word where punctuation or a digit or another script follows; a rule of the trainer never
//! needs more. Addition commutes, so neither the number of threads nor the size of the batches shows in the
//! result.
//!
//! Most of a corpus is the same few words. Where words can be told apart in the raw sentence
//! ([`ChunkRule`]), a thread first counts raw chunks in a small cache, and prepares a chunk only when it
//! leaves that cache: once for many occurrences. That is exact where preparing a sentence is preparing its
//! chunks one by one, which the rule makes sure of. Of a chunk of plain ASCII it is known what it becomes
//! ([`PlainBytes`]).

use std::hint::black_box;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use memchr::memmem;

use crate::error::TrainError;
use crate::text::{WHITESPACE_MARK, WHITESPACE_MARK_STR};
use crate::train::batch::{Batch, SentenceCounts, SentenceFilter};
use crate::train::counts::{CountAdder, ShardedCounts, SharedCounts, TextCounts, TextLookup};
use crate::train::execution::ExecutionConfig;
use crate::train::meta::MetaPieces;
use crate::train::options::TrainOptions;
use crate::train::prepare::Preparation;
use crate::train::raw_chunk_cache::{CachedChunk, RawChunkCache, ShortText};
use crate::train::split::{BoundarySplitter, SplitRules};
use crate::train::swar::Block16;

/// Raw chunks too long for the [`RawChunkCache`] that a thread holds before it prepares them, and their bytes.
const LONG_CHUNKS: usize = 1 << 12;
const LONG_CHUNK_BYTES: usize = 1 << 17;
/// Short chunks that are looked up together.
const TOGETHER: usize = 32;
/// Longer chunks are seldom seen twice and go straight through.
const CACHED_CHUNK_LENGTH: usize = 64;

/// How a raw sentence falls into chunks that can be prepared one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChunkRule {
    /// It does not: rules look beyond spaces, or pieces do.
    Sentence,
    /// Into the words between spaces, each prepared as if it were a sentence: spaces are collapsed and
    /// every word gets a space before it.
    PieceCandidates,
    /// Into words with the spaces before them; `dummy_prefix` puts one before the sentence.
    SpacedWords { dummy_prefix: bool },
}

impl ChunkRule {
    /// The rule for these options. The conditions keep the meaning of spaces local:
    /// * pieces do not reach across spaces: `split_by_whitespace`, whitespace as prefix, no pre-tokenizer,
    ///   no meta piece or delimiter with whitespace in it;
    /// * normalization does not either: no key of the charsmap has a space in it, and nothing is
    ///   replaced by a whitespace mark;
    /// * collapsing spaces needs the dummy prefix, or the first word would differ from the others;
    ///
    /// If runs of whitespace may be pieces, a sentence in which the rules extend a run across two chunks is prepared
    /// as a whole; see [`Normalizer::extends_run_by_raw_space`](crate::normalize::Normalizer).
    fn of(options: &TrainOptions, preparation: &Preparation, meta: &MetaPieces) -> ChunkRule {
        let mark = WHITESPACE_MARK.encode_utf8(&mut [0; 4]).to_owned();
        let charsmap = preparation.normalizer.charsmap();
        let pieces_are_local = options.split_by_whitespace
            && !options.treat_whitespace_as_suffix
            && preparation.pretokenizer.is_none()
            && !preparation.delimiter.contains(WHITESPACE_MARK)
            && !meta.texts().any(|piece| piece.contains(WHITESPACE_MARK));
        let rules_are_local = charsmap.is_none_or(|charsmap| {
            !charsmap.any_key_contains(b' ') && !charsmap.replacements_contain(mark.as_bytes())
        });
        if !pieces_are_local || !rules_are_local {
            ChunkRule::Sentence
        } else if options.remove_extra_whitespaces {
            if options.add_dummy_prefix {
                ChunkRule::PieceCandidates
            } else {
                ChunkRule::Sentence
            }
        } else {
            ChunkRule::SpacedWords {
                dummy_prefix: options.add_dummy_prefix,
            }
        }
    }
}

/// The ASCII characters that preparation leaves alone wherever they stand among themselves: no rule of the
/// normalizer and no meta piece or delimiter begins with them.
struct PlainBytes([bool; 256]);

impl PlainBytes {
    fn of(preparation: &Preparation, meta: &MetaPieces) -> PlainBytes {
        let begins = |text: &str, byte| text.as_bytes().first() == Some(&byte);
        let is_plain = |byte: u8| {
            byte.is_ascii()
                && byte != b' '
                && preparation
                    .normalizer
                    .charsmap()
                    .is_none_or(|charsmap| charsmap.leads().plain_length(&[byte; 2]) > 0)
                && !meta.texts().any(|piece| begins(piece, byte))
                && !begins(&preparation.delimiter, byte)
        };
        let mut plain = [false; 256];
        plain
            .iter_mut()
            .zip(0..=u8::MAX)
            .for_each(|(plain, byte)| *plain = is_plain(byte));
        PlainBytes(plain)
    }

    /// Whether these are all of `text`.
    fn make_up(&self, text: &[u8]) -> bool {
        text.iter().all(|byte| self.0[usize::from(*byte)])
    }
}

/// Everything that counting threads share.
pub(crate) struct WordCountJob<'a> {
    options: &'a TrainOptions,
    preparation: Preparation,
    /// Prepares a chunk of `chunk_rule` as it would be prepared inside a sentence.
    chunk_preparation: Preparation,
    chunk_rule: ChunkRule,
    plain: PlainBytes,
    rules: SplitRules,
    work: &'a ExecutionConfig,
    whitespace_mark: memmem::Finder<'static>,
}

/// The distinct words and what was read to find them.
pub(crate) struct WordCounts {
    pub(crate) words: ShardedCounts,
    pub(crate) sentences: SentenceCounts,
}

impl<'a> WordCountJob<'a> {
    pub(crate) fn new(
        options: &'a TrainOptions,
        preparation: Preparation,
        meta: &MetaPieces,
        work: &'a ExecutionConfig,
    ) -> WordCountJob<'a> {
        let chunk_rule = ChunkRule::of(options, &preparation, meta);
        let chunk_preparation = match chunk_rule {
            // The prefix is a part of the first chunk already.
            ChunkRule::SpacedWords { .. } => preparation.without_dummy_prefix(),
            _ => preparation.clone(),
        };
        WordCountJob {
            plain: PlainBytes::of(&preparation, meta),
            options,
            preparation,
            chunk_preparation,
            chunk_rule,
            rules: SplitRules::new(options),
            work,
            whitespace_mark: memmem::Finder::new(WHITESPACE_MARK_STR).into_owned(),
        }
    }

    /// Counts the words of every batch that `feed` sends. `feed` runs on this thread, so that it may report
    /// progress; it should end when sending fails.
    ///
    /// # Errors
    /// Whatever `feed` returns, or the error at the earliest place of the input.
    pub(crate) fn count(
        self,
        feed: impl FnOnce(&dyn Fn(Batch) -> bool) -> Result<(), TrainError>,
    ) -> Result<WordCounts, TrainError> {
        let ExecutionConfig {
            threads, hasher, ..
        } = self.work;
        let counts = SharedCounts::new(hasher.clone());
        let (sender, receiver) = sync_channel(2 * threads);
        let receiver = Mutex::new(receiver);
        let failed = AtomicBool::new(false);
        let (fed, counted) = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..*threads)
                .map(|_| scope.spawn(|| CountWorker::new(&self, &counts).run(&receiver, &failed)))
                .collect();
            let fed = feed_until_failure(&sender, &failed, feed);
            drop(sender);
            let counted: Vec<_> = workers.into_iter().map(join).collect();
            (fed, counted)
        });
        fed?;
        Ok(WordCounts {
            sentences: earliest_error(counted)?,
            words: counts.into_counts(),
        })
    }
}

fn feed_until_failure(
    sender: &SyncSender<Batch>,
    failed: &AtomicBool,
    feed: impl FnOnce(&dyn Fn(Batch) -> bool) -> Result<(), TrainError>,
) -> Result<(), TrainError> {
    feed(&|batch| !failed.load(Ordering::Relaxed) && sender.send(batch).is_ok())
}

/// The worker's result; a panic in it (in a caller's pre-tokenizer, say) goes on in this thread.
fn join<T>(worker: std::thread::ScopedJoinHandle<'_, T>) -> T {
    worker
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// What the threads read, or the error at the earliest place.
fn earliest_error(
    results: Vec<Result<SentenceCounts, TrainError>>,
) -> Result<SentenceCounts, TrainError> {
    let (counted, errors): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    let earliest = errors
        .into_iter()
        .filter_map(Result::err)
        .min_by_key(TrainError::place);
    let mut sum = SentenceCounts::default();
    counted
        .iter()
        .flatten()
        .for_each(|sentences| sum.add(sentences));
    earliest.map_or(Ok(sum), Err)
}

/// One thread's part of the counting.
struct CountWorker<'a> {
    shared: &'a WordCountJob<'a>,
    filter: SentenceFilter,
    chunks: RawChunkCache,
    /// What goes there next.
    short_chunks: Vec<CachedChunk>,
    /// Chunks too long for `chunks`.
    long_chunks: TextCounts,
    words: PieceCandidates<'a>,
    /// A chunk that had to be put together.
    chunk: Vec<u8>,
}

/// The second half of a [`CountWorker`]: prepares text and counts its parts.
struct PieceCandidates<'a> {
    segmenter: BoundarySplitter,
    counts: CountAdder<'a>,
    buffer: Vec<u8>,
    plain_text: String,
}

impl PieceCandidates<'_> {
    fn add(
        &mut self,
        preparation: &Preparation,
        sentence: &[u8],
        count: u64,
    ) -> Result<(), TrainError> {
        let text = preparation.prepare(sentence, &mut self.buffer)?;
        add_parts(&mut self.segmenter, &mut self.counts, &text, count)
    }

    /// Adds a chunk of `shared.chunk_rule`.
    fn add_chunk(
        &mut self,
        shared: &WordCountJob<'_>,
        chunk: &[u8],
        count: u64,
    ) -> Result<(), TrainError> {
        let spaces = chunk.iter().take_while(|byte| **byte == b' ').count();
        let word = &chunk[spaces..];
        if !shared.plain.make_up(word) {
            return self.add(&shared.chunk_preparation, chunk, count);
        }
        let marks = if shared.chunk_rule == ChunkRule::PieceCandidates {
            1
        } else {
            spaces
        };
        self.plain_text.clear();
        self.plain_text
            .extend(std::iter::repeat_n(WHITESPACE_MARK_STR, marks));
        // Plain bytes are ASCII.
        self.plain_text
            .push_str(std::str::from_utf8(word).unwrap_or_default());
        add_parts(
            &mut self.segmenter,
            &mut self.counts,
            &self.plain_text,
            count,
        )
    }
}

/// Cuts prepared text at its seams and counts the parts.
fn add_parts(
    segmenter: &mut BoundarySplitter,
    counts: &mut CountAdder<'_>,
    text: &str,
    count: u64,
) -> Result<(), TrainError> {
    let mut result = Ok(());
    segmenter.cut(text, |part| {
        if result.is_ok() {
            result = counts.add(part.as_bytes(), count);
        }
    });
    result
}

impl<'a> CountWorker<'a> {
    fn new(shared: &'a WordCountJob<'a>, counts: &'a SharedCounts) -> CountWorker<'a> {
        CountWorker {
            shared,
            filter: SentenceFilter::new(shared.options),
            chunks: RawChunkCache::new(&shared.work.hasher),
            short_chunks: Vec::with_capacity(TOGETHER),
            long_chunks: TextCounts::default(),
            words: PieceCandidates {
                segmenter: BoundarySplitter::new(shared.rules),
                counts: counts.adder(),
                buffer: Vec::new(),
                plain_text: String::new(),
            },
            chunk: Vec::new(),
        }
    }

    fn run(
        mut self,
        batches: &Mutex<Receiver<Batch>>,
        failed: &AtomicBool,
    ) -> Result<SentenceCounts, TrainError> {
        let result = self.count_batches(batches);
        if result.is_err() {
            failed.store(true, Ordering::Relaxed);
            // Whoever feeds may be waiting for room.
            while receive(batches).is_some() {}
        }
        result.and_then(|()| self.finish())
    }

    fn count_batches(&mut self, batches: &Mutex<Receiver<Batch>>) -> Result<(), TrainError> {
        let mut filter =
            std::mem::replace(&mut self.filter, SentenceFilter::new(self.shared.options));
        while let Some(batch) = receive(batches) {
            let chunk_rule = self.shared.chunk_rule;
            let has_marks =
                chunk_rule != ChunkRule::Sentence && self.has_whitespace_mark(batch.as_bytes());
            filter.for_each_used(&batch, |sentence, count| {
                // A mark in the raw text is whitespace to some steps and text to others.
                let crosses_chunks =
                    has_marks && self.has_whitespace_mark(sentence) || self.extends_run(sentence);
                let rule = if crosses_chunks {
                    ChunkRule::Sentence
                } else {
                    chunk_rule
                };
                self.add_sentence(rule, sentence, count)
                    .map(ControlFlow::Continue)
            })?;
        }
        self.filter = filter;
        Ok(())
    }

    /// Whether a run of whitespace that may be a piece lies in two chunks of the sentence.
    fn extends_run(&self, sentence: &[u8]) -> bool {
        self.shared.options.allow_whitespace_only_pieces
            && matches!(self.shared.chunk_rule, ChunkRule::SpacedWords { .. })
            && self
                .shared
                .preparation
                .normalizer
                .extends_run_by_raw_space(sentence)
    }

    fn has_whitespace_mark(&self, text: &[u8]) -> bool {
        self.shared.whitespace_mark.find(text).is_some()
    }

    /// Passes on what is still in the caches.
    fn finish(mut self) -> Result<SentenceCounts, TrainError> {
        self.flush_short_chunks()?;
        self.flush_long_chunks()?;
        for entry in self.chunks.into_entries() {
            self.words
                .add_chunk(self.shared, entry.text.text(&mut [[0; 8]; 2]), entry.count)?;
        }
        self.words.counts.flush()?;
        Ok(self.filter.counts)
    }

    fn add_sentence(
        &mut self,
        rule: ChunkRule,
        sentence: &[u8],
        count: u64,
    ) -> Result<(), TrainError> {
        match rule {
            ChunkRule::Sentence => self.words.add(&self.shared.preparation, sentence, count),
            ChunkRule::PieceCandidates => self.add_words(sentence, count),
            ChunkRule::SpacedWords { dummy_prefix } => {
                self.add_spaced_words(sentence, count, dummy_prefix)
            }
        }
    }

    fn add_words(&mut self, sentence: &[u8], count: u64) -> Result<(), TrainError> {
        let mut start = 0;
        while start < sentence.len() {
            let window = Block16::at(sentence, start);
            let mut end = start + window.word() as usize;
            match window.word() {
                0 => {}
                Block16::LENGTH => {
                    end = memchr::memchr(b' ', &sentence[end..])
                        .map_or(sentence.len(), |length| end + length);
                    self.add_chunk(&sentence[start..end], count)?;
                }
                length => self.add_short_chunk(ShortText::of_window(window.0, length), count)?,
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
            let mut chunk = std::mem::take(&mut self.chunk);
            chunk.clear();
            chunk.push(b' ');
            chunk.extend_from_slice(&sentence[..start]);
            let added = self.add_chunk(&chunk, count);
            self.chunk = chunk;
            added?;
        }
        while start < sentence.len() {
            let window = Block16::at(sentence, start);
            match window.spaced_word() {
                Block16::LENGTH => {
                    let end = end_of_spaced_word(sentence, start);
                    self.add_chunk(&sentence[start..end], count)?;
                    start = end;
                }
                length => {
                    self.add_short_chunk(ShortText::of_window(window.0, length), count)?;
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
        if chunk.len() > CACHED_CHUNK_LENGTH {
            return self.words.add_chunk(self.shared, chunk, count);
        }
        if self.long_chunks.len() >= LONG_CHUNKS
            || self.long_chunks.arena_bytes() >= LONG_CHUNK_BYTES
        {
            self.flush_long_chunks()?;
        }
        let hasher = &self.shared.work.hasher;
        self.long_chunks
            .add(hasher, &TextLookup::new(hasher, chunk), count)
    }

    #[inline]
    fn add_short_chunk(&mut self, chunk: ShortText, count: u64) -> Result<(), TrainError> {
        self.short_chunks.push(CachedChunk { text: chunk, count });
        if self.short_chunks.len() < TOGETHER {
            Ok(())
        } else {
            self.flush_short_chunks()
        }
    }

    #[inline(never)]
    fn flush_short_chunks(&mut self) -> Result<(), TrainError> {
        let mut chunks = std::mem::take(&mut self.short_chunks);
        // The cache is larger than the fastest memory; read this way, the places come at once.
        black_box(
            chunks
                .iter()
                .fold(0, |read, chunk| read ^ self.chunks.touch(chunk.text)),
        );
        let added =
            chunks
                .drain(..)
                .try_for_each(|chunk| match self.chunks.add(chunk.text, chunk.count) {
                    None => Ok(()),
                    Some(evicted) => self.add_evicted(&evicted),
                });
        self.short_chunks = chunks;
        added
    }

    #[inline(never)]
    fn add_evicted(&mut self, CachedChunk { text, count }: &CachedChunk) -> Result<(), TrainError> {
        self.words
            .add_chunk(self.shared, text.text(&mut [[0; 8]; 2]), *count)
    }

    fn flush_long_chunks(&mut self) -> Result<(), TrainError> {
        let (chunks, words) = (&self.long_chunks, &mut self.words);
        chunks.for_each(|chunk, count| words.add_chunk(self.shared, chunk, count))?;
        self.long_chunks.clear();
        Ok(())
    }
}

fn receive(batches: &Mutex<Receiver<Batch>>) -> Option<Batch> {
    // A poisoned lock means that another thread panicked; that panic is what the caller will see.
    batches.lock().ok()?.recv().ok()
}

/// Where the spaces at `start` and the word behind them end.
fn end_of_spaced_word(sentence: &[u8], start: usize) -> usize {
    let spaces = sentence[start..]
        .iter()
        .take_while(|byte| **byte == b' ')
        .count();
    let word = start + spaces;
    memchr::memchr(b' ', &sentence[word..]).map_or(sentence.len(), |length| word + length)
}
