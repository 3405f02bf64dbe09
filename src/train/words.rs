//! Sentences -> distinct words with their counts, in parallel, in memory that follows the distinct words.
//!
//! One thread reads batches; the others cut them into sentences, prepare these, cut what comes out at its
//! seams (see [`crate::train::split`]) and count the parts, each thread in a table of its own. The tables
//! are merged at the end. A part is a word, or less than a word where punctuation or a digit or another
//! script follows; a rule of the trainer never needs more. Addition commutes, so neither the number of
//! threads nor the size of the batches shows in the result.
//!
//! Most of a corpus is the same few words. Where words can be told apart in the raw sentence
//! ([`ChunkRule`]), a thread first counts raw chunks in a small table that stays in the cache, and
//! prepares a chunk only when that table is emptied: once for many occurrences. That is exact where
//! preparing a sentence is preparing its chunks one by one, which the rule makes sure of.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use foldhash::fast::SeedableRandomState;
use memchr::memmem;

use crate::error::TrainError;
use crate::text::WHITESPACE_MARK;
use crate::train::batch::{Batch, SentenceCounts, SentenceFilter};
use crate::train::counts::{Lookup, ShardedCounts, TextCounts};
use crate::train::meta::MetaPieces;
use crate::train::options::TrainOptions;
use crate::train::prepare::Preparation;
use crate::train::split::{Segmenter, SplitRules};
use crate::train::work::Work;

/// Raw chunks that a thread holds before it prepares them, and their bytes: about what the second-level
/// cache takes. From 2^14 to 2^18 chunks the time of a training run does not change.
const CACHED_CHUNKS: usize = 1 << 15;
const CACHED_BYTES: usize = 1 << 19;
/// Longer chunks are seldom seen twice and go straight through.
const CACHED_CHUNK_LENGTH: usize = 64;

/// How a raw sentence falls into chunks that can be prepared one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChunkRule {
    /// It does not: rules look beyond spaces, or pieces do.
    Sentence,
    /// Into the words between spaces, each prepared as if it were a sentence: spaces are collapsed and
    /// every word gets a space before it.
    Words,
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
    /// * if runs of whitespace may be pieces, nothing may be replaced by a space, which could make a run
    ///   across two chunks.
    fn of(options: &TrainOptions, preparation: &Preparation, meta: &MetaPieces) -> ChunkRule {
        let mark = WHITESPACE_MARK.encode_utf8(&mut [0; 4]).to_owned();
        let charsmap = preparation.normalizer.charsmap();
        let pieces_are_local = options.split_by_whitespace
            && !options.treat_whitespace_as_suffix
            && preparation.pretokenizer.is_none()
            && !preparation.delimiter.contains(WHITESPACE_MARK)
            && !meta.texts().any(|piece| piece.contains(WHITESPACE_MARK));
        let rules_are_local = charsmap
            .is_none_or(|charsmap| !charsmap.any_key_contains(b' ') && !charsmap.replacements_contain(mark.as_bytes()));
        let makes_spaces = charsmap.is_some_and(|charsmap| charsmap.replacements_contain(b" "));
        if !pieces_are_local || !rules_are_local {
            ChunkRule::Sentence
        } else if options.remove_extra_whitespaces {
            if options.add_dummy_prefix { ChunkRule::Words } else { ChunkRule::Sentence }
        } else if options.allow_whitespace_only_pieces && makes_spaces {
            ChunkRule::Sentence
        } else {
            ChunkRule::SpacedWords { dummy_prefix: options.add_dummy_prefix }
        }
    }
}

/// Everything that counting threads share.
pub(crate) struct Counting<'a> {
    options: &'a TrainOptions,
    preparation: Preparation,
    /// Prepares a chunk of `chunk_rule` as it would be prepared inside a sentence.
    chunk_preparation: Preparation,
    chunk_rule: ChunkRule,
    rules: SplitRules,
    work: &'a Work,
}

/// The distinct words and what was read to find them.
pub(crate) struct Counted {
    pub(crate) words: ShardedCounts,
    pub(crate) sentences: SentenceCounts,
}

impl<'a> Counting<'a> {
    pub(crate) fn new(
        options: &'a TrainOptions,
        preparation: Preparation,
        meta: &MetaPieces,
        work: &'a Work,
    ) -> Counting<'a> {
        let chunk_rule = ChunkRule::of(options, &preparation, meta);
        let chunk_preparation = match chunk_rule {
            // The prefix is a part of the first chunk already.
            ChunkRule::SpacedWords { .. } => preparation.without_dummy_prefix(),
            _ => preparation.clone(),
        };
        Counting { options, preparation, chunk_preparation, chunk_rule, rules: SplitRules::new(options), work }
    }

    /// Counts the words of every batch that `feed` sends, in as many parts as there are threads. `feed`
    /// runs on this thread, so that it may report progress; it should end when sending fails.
    ///
    /// # Errors
    /// Whatever `feed` returns, or the error at the earliest place of the input.
    pub(crate) fn count(
        self,
        feed: impl FnOnce(&dyn Fn(Batch) -> bool) -> Result<(), TrainError>,
    ) -> Result<Vec<Counted>, TrainError> {
        let Work { threads, hasher, .. } = self.work;
        let (sender, receiver) = sync_channel(2 * threads);
        let receiver = Mutex::new(receiver);
        let failed = AtomicBool::new(false);
        let (fed, counted) = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..*threads)
                .map(|_| scope.spawn(|| Counter::new(&self, hasher.clone()).run(&receiver, &failed)))
                .collect();
            let fed = feed_until_failure(&sender, &failed, feed);
            drop(sender);
            let counted: Vec<_> = workers.into_iter().map(join).collect();
            (fed, counted)
        });
        fed?;
        earliest_error(counted)
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
    worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Everything that the threads found, or the error at the earliest place.
fn earliest_error(results: Vec<Result<Counted, TrainError>>) -> Result<Vec<Counted>, TrainError> {
    let (counted, errors): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    let earliest = errors.into_iter().filter_map(Result::err).min_by_key(TrainError::place);
    earliest.map_or_else(|| counted.into_iter().collect(), Err)
}

impl Counted {
    /// What several threads counted, in one, on the threads of the current pool.
    pub(crate) fn merge(parts: Vec<Counted>) -> Result<Counted, TrainError> {
        let mut sentences = SentenceCounts::default();
        parts.iter().for_each(|part| sentences.add(&part.sentences));
        let tables = parts.into_iter().map(|part| part.words).collect();
        Ok(Counted { words: ShardedCounts::merge(tables)?, sentences })
    }
}

/// One thread's part of the counting.
struct Counter<'a> {
    shared: &'a Counting<'a>,
    filter: SentenceFilter,
    hasher: SeedableRandomState,
    chunks: TextCounts,
    words: Words,
    /// A chunk that had to be put together.
    chunk: Vec<u8>,
}

/// The second half of a [`Counter`]: prepares text and counts its parts.
struct Words {
    segmenter: Segmenter,
    counts: ShardedCounts,
    buffer: Vec<u8>,
}

impl Words {
    fn add(&mut self, preparation: &Preparation, sentence: &[u8], count: u64) -> Result<(), TrainError> {
        let text = preparation.prepare(sentence, &mut self.buffer)?;
        let mut result = Ok(());
        self.segmenter.cut(&text, |part| {
            if result.is_ok() {
                result = self.counts.add(part.as_bytes(), count);
            }
        });
        result
    }
}

impl<'a> Counter<'a> {
    fn new(shared: &'a Counting<'a>, hasher: SeedableRandomState) -> Counter<'a> {
        Counter {
            shared,
            filter: SentenceFilter::new(shared.options),
            hasher: hasher.clone(),
            chunks: TextCounts::default(),
            words: Words {
                segmenter: Segmenter::new(shared.rules),
                counts: ShardedCounts::new(hasher),
                buffer: Vec::new(),
            },
            chunk: Vec::new(),
        }
    }

    fn run(mut self, batches: &Mutex<Receiver<Batch>>, failed: &AtomicBool) -> Result<Counted, TrainError> {
        let result = self.count_batches(batches);
        if result.is_err() {
            failed.store(true, Ordering::Relaxed);
            // Whoever feeds may be waiting for room.
            while receive(batches).is_some() {}
        }
        result.map(|()| Counted { words: self.words.counts, sentences: self.filter.counts })
    }

    fn count_batches(&mut self, batches: &Mutex<Receiver<Batch>>) -> Result<(), TrainError> {
        let mut filter = std::mem::replace(&mut self.filter, SentenceFilter::new(self.shared.options));
        while let Some(batch) = receive(batches) {
            filter.for_each_used(&batch, |sentence, count| {
                self.add_sentence(sentence, count).map(ControlFlow::Continue)
            })?;
        }
        self.filter = filter;
        self.flush_chunks()
    }

    fn add_sentence(&mut self, sentence: &[u8], count: u64) -> Result<(), TrainError> {
        // A mark in the raw text is whitespace to some steps and text to others.
        match self.shared.chunk_rule {
            ChunkRule::Sentence => self.words.add(&self.shared.preparation, sentence, count),
            _ if has_whitespace_mark(sentence) => self.words.add(&self.shared.preparation, sentence, count),
            ChunkRule::Words => self.add_words(sentence, count),
            ChunkRule::SpacedWords { dummy_prefix } => self.add_spaced_words(sentence, count, dummy_prefix),
        }
    }

    fn add_words(&mut self, sentence: &[u8], count: u64) -> Result<(), TrainError> {
        let mut start = 0;
        for space in memchr::memchr_iter(b' ', sentence).chain([sentence.len()]) {
            if start < space {
                self.add_chunk(&sentence[start..space], count)?;
            }
            start = space + 1;
        }
        Ok(())
    }

    fn add_spaced_words(&mut self, sentence: &[u8], count: u64, dummy_prefix: bool) -> Result<(), TrainError> {
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
            let end = end_of_spaced_word(sentence, start);
            self.add_chunk(&sentence[start..end], count)?;
            start = end;
        }
        Ok(())
    }

    fn add_chunk(&mut self, chunk: &[u8], count: u64) -> Result<(), TrainError> {
        if chunk.len() > CACHED_CHUNK_LENGTH {
            return self.words.add(&self.shared.chunk_preparation, chunk, count);
        }
        if self.chunks.len() >= CACHED_CHUNKS || self.chunks.arena_bytes() >= CACHED_BYTES {
            self.flush_chunks()?;
        }
        self.chunks.add(&self.hasher, &Lookup::new(&self.hasher, chunk), count)
    }

    fn flush_chunks(&mut self) -> Result<(), TrainError> {
        let (chunks, words) = (&self.chunks, &mut self.words);
        chunks.for_each(|chunk, count| words.add(&self.shared.chunk_preparation, chunk, count))?;
        self.chunks.clear();
        Ok(())
    }
}

fn receive(batches: &Mutex<Receiver<Batch>>) -> Option<Batch> {
    // A poisoned lock means that another thread panicked; that panic is what the caller will see.
    batches.lock().ok()?.recv().ok()
}

fn has_whitespace_mark(sentence: &[u8]) -> bool {
    let mut mark = [0; 4];
    memmem::find(sentence, WHITESPACE_MARK.encode_utf8(&mut mark).as_bytes()).is_some()
}

/// Where the spaces at `start` and the word behind them end.
fn end_of_spaced_word(sentence: &[u8], start: usize) -> usize {
    let spaces = sentence[start..].iter().take_while(|byte| **byte == b' ').count();
    let word = start + spaces;
    memchr::memchr(b' ', &sentence[word..]).map_or(sentence.len(), |length| word + length)
}
