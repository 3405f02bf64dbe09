//! Counted segments and held sentences -> the distinct words, and those of each chunk of seeds.
//!
//! Input: [`SegmentedSentences`] and the alphabet. Output: a [`WordCorpus`]: the texts of expectation maximization, and for each
//! chunk of seeds the words with what follows them. Both equal what [`CountedTexts`] gives for the same sentences.
//!
//! Every sentence, and every word but the first of a sentence, begins with U+2581. So a word is followed by the byte E2 (the
//! next word), by NUL and E2 (it ends a sentence), or by NUL and the end (it ends the last sentence of a chunk).
//!
//! Method:
//!
//! 1. Characters without a piece become U+2585, in the words of the tables and in the held sentences.
//! 2. A walk over the corpus finds the ends of the chunks. All lengths are known now: those of held sentences, the sum for each
//!    segment, and, from the end of the corpus, the sentences that replace empty ones. A chunk that ends inside a
//!    segment cannot be resolved, because the sentence at its end is not known; the caller reads the corpus again and keeps its order.
//! 3. The tables and the held sentences of each chunk are added.
//!
//! Example: the chunks have 20 bytes. A segment has the words `▁a` 2 and `▁b` (ends a sentence) 2, which are 18 bytes with two
//! NULs; the held sentences are `▁c` and `▁d`, 5 bytes each.
//!
//! ```text
//! chunk 1   ▁a | E2 2 times, ▁b | 00 E2 2 times, ▁c | 00     23 bytes: the test precedes each sentence
//! chunk 2   ▁d | 00
//! ```
//!
//! Cost: linear in the distinct words of the segments and the text of the held sentences.

use std::mem;

use foldhash::fast::SeedableRandomState;
use rayon::prelude::*;

use super::entries::Entries;
use super::segments::{
    CountedSegment, SegmentRules, SegmentedSentences, WordAdder, key_text, share_of_thread,
    split_key,
};
use super::sentences::{CountedTexts, Following};
use crate::error::TrainError;
use crate::text::{WHITESPACE_MARK, WHITESPACE_MARK_STR};
use crate::train::alphabet::{Alphabet, KnownCharacters};
use crate::train::counts::{CountAdder, ShardedCounts, SharedCounts, TextCounts};
use crate::train::parallel::map_tasks;
use crate::train::split::word_rules::WordRules;

/// The corpus of a unigram model.
pub(crate) enum UnigramTexts {
    /// Sentences in their order.
    Ordered(CountedTexts),
    /// Distinct words.
    Words(WordCorpus),
}

/// What became of segmented sentences when the alphabet was known.
pub(crate) enum ResolvedTexts {
    Words(WordCorpus),
    /// Words end at other places than expected. These are the sentences, in which no character is replaced yet.
    Ordered(CountedTexts),
    /// The order of sentences that were not held is needed.
    Unresolved,
}

/// The distinct words of a corpus.
pub(crate) struct WordCorpus {
    /// By count descending, then by bytes.
    pub(super) words: CountedTexts,
    pub(super) chunks: Vec<WordChunk>,
}

/// The words of a chunk of seeds.
pub(super) struct WordChunk {
    /// See [`split_key`].
    words: ShardedCounts,
    /// The last word of the last sentence.
    last: String,
    /// The size of the chunk, repetitions and a NUL for each sentence included.
    bytes: u64,
}

impl WordChunk {
    /// The words with what follows them. Runs on the threads of the current pool.
    ///
    /// # Errors
    /// There are 2^32 of them.
    pub(super) fn into_entries(self) -> Result<Entries, TrainError> {
        const TOO_LARGE: TrainError = TrainError::TooLarge {
            what: "distinct words",
        };
        let shards = self.words.shards();
        let parts = map_tasks(shards.len(), |shard| self.shard_entries(&shards[shard]));
        let mut entries = Entries::of_chunk(self.bytes);
        for part in parts {
            let part = part.ok_or(TOO_LARGE)?;
            if !entries.append(&part) {
                return Err(TOO_LARGE);
            }
        }
        if entries.push(self.last.as_bytes(), &Following::End.bytes(), 1) {
            Ok(entries)
        } else {
            Err(TOO_LARGE)
        }
    }

    /// The words of a shard, without the last word of the chunk; `None` if there are 2^32 of them.
    fn shard_entries(&self, shard: &TextCounts) -> Option<Entries> {
        let first = WHITESPACE_MARK_STR.as_bytes()[0];
        let next_word = Following::Byte(first).bytes();
        let next_sentence = Following::Sentence(first).bytes();
        let mut entries = Entries::default();
        let mut fits = true;
        shard.visit(|key, count| {
            let (word, ends_sentence) = split_key(key);
            let (following, count) = if ends_sentence {
                let is_last = count > 0 && word == self.last.as_bytes();
                (&next_sentence, count - u64::from(is_last))
            } else {
                (&next_word, count)
            };
            if count > 0 {
                fits &= entries.push(word, following, count);
            }
        });
        fits.then_some(entries)
    }
}

impl SegmentedSentences {
    /// The corpus with U+2585 for every character that is not in the alphabet. Runs on the threads of the current pool.
    ///
    /// # Errors
    /// A word is of 4 GiB or more.
    pub(crate) fn resolve(mut self, alphabet: &Alphabet) -> Result<ResolvedTexts, TrainError> {
        let known = alphabet.known();
        if !known.contains(WHITESPACE_MARK) {
            // No whitespace remains, so that sentences are words.
            let ordered = self.into_ordered();
            return Ok(ordered.map_or(ResolvedTexts::Unresolved, ResolvedTexts::Ordered));
        }
        self.mark_unknown(&known)?;
        let tables = self.take_tables();
        let Some(plan) = CorpusWalk::new(&self, &tables).run() else {
            return Ok(ResolvedTexts::Unresolved);
        };
        plan.build(tables, &self.rules).map(ResolvedTexts::Words)
    }

    /// The words of each segment, which has none then.
    fn take_tables(&mut self) -> Vec<ShardedCounts> {
        self.segments
            .iter_mut()
            .map(|segment| mem::take(&mut segment.words))
            .collect()
    }

    fn mark_unknown(&mut self, known: &KnownCharacters) -> Result<(), TrainError> {
        self.held
            .par_iter_mut()
            .flatten()
            .for_each(|texts| *texts = mem::take(texts).mark_unknown(known));
        for segment in &mut self.segments {
            let words = mem::take(&mut segment.words);
            segment.words = mark_words(words, known, &self.rules.hasher)?;
        }
        Ok(())
    }
}

/// The same words with U+2585 for unknown characters. Words that become equal are added.
fn mark_words(
    mut words: ShardedCounts,
    known: &KnownCharacters,
    hasher: &SeedableRandomState,
) -> Result<ShardedCounts, TrainError> {
    let shards = words.shards_mut().par_iter_mut();
    let changed: Vec<(Vec<u8>, u64)> = shards
        .flat_map_iter(|shard| take_unknown(shard, known))
        .collect();
    let counts = words.into_shared(hasher.clone());
    let mut adder = WordAdder::new(&counts);
    let mut marked = String::new();
    for (key, count) in changed {
        known.mark(key_text(&key), &mut marked);
        adder.add_word(&marked, split_key(&key).1, count)?;
    }
    adder.flush()?;
    Ok(counts.into_counts())
}

/// Takes the counts of the keys with unknown characters.
fn take_unknown(shard: &mut TextCounts, known: &KnownCharacters) -> Vec<(Vec<u8>, u64)> {
    let mut taken = Vec::new();
    shard.take_counts(|key, count| {
        let is_taken = known.lacks_any(key_text(key));
        if is_taken {
            taken.push((key.to_vec(), count));
        }
        is_taken
    });
    taken
}

/// The bytes of the sentences of a segment, with a NUL after each.
fn segment_bytes(words: &ShardedCounts) -> u64 {
    let shards = words.shards().par_iter().map(shard_bytes);
    shards.reduce(|| 0, u64::saturating_add)
}

fn shard_bytes(shard: &TextCounts) -> u64 {
    let mut bytes = 0u64;
    shard.visit(|key, count| {
        // The mark of a word that ends a sentence has the length of the NUL.
        bytes = bytes.saturating_add(count.saturating_mul(key.len() as u64));
    });
    bytes
}

/// A sentence with its count.
type Counted<'t> = (&'t str, u64);

/// What a chunk consists of.
#[derive(Default)]
struct ChunkPlan<'t> {
    /// Numbers of segments.
    segments: Vec<usize>,
    sentences: Vec<Counted<'t>>,
    bytes: u64,
}

/// Finds the ends of the chunks.
struct CorpusWalk<'t> {
    corpus: &'t SegmentedSentences,
    /// The bytes of each segment.
    segment_bytes: Vec<u64>,
    chunk_bytes: u64,
    /// The number of sentences that are not empty.
    remaining: u64,
    /// The index of the next sentence.
    at: u64,
    /// The sentences that replace empty ones, the last of them first.
    movable: Vec<Counted<'t>>,
    open: ChunkPlan<'t>,
    plan: CorpusPlan<'t>,
}

/// What the chunks consist of.
#[derive(Default)]
struct CorpusPlan<'t> {
    chunks: Vec<ChunkPlan<'t>>,
    /// Repetitions that are in no chunk.
    dropped: Vec<Counted<'t>>,
}

impl<'t> CorpusWalk<'t> {
    /// A walk over `corpus`, whose segments have the words of `tables`.
    fn new(corpus: &'t SegmentedSentences, tables: &[ShardedCounts]) -> Self {
        let held = corpus.held.iter().flatten();
        let held_texts: u64 = held.clone().map(|texts| texts.len() as u64).sum();
        let held_empty: u64 = held.map(CountedTexts::empty_texts).sum();
        let sum = |part: fn(&CountedSegment) -> u64| corpus.segments.iter().map(part).sum::<u64>();
        let sentences = held_texts + sum(|segment| segment.sentences);
        let remaining = sentences - held_empty - sum(|segment| segment.empty);
        CorpusWalk {
            corpus,
            segment_bytes: tables.iter().map(segment_bytes).collect(),
            chunk_bytes: corpus.rules.chunk_bytes,
            remaining,
            at: 0,
            movable: movable(corpus, sentences - remaining),
            open: ChunkPlan::default(),
            plan: CorpusPlan::default(),
        }
    }

    /// The plan; `None` if a chunk ends in a segment.
    fn run(mut self) -> Option<CorpusPlan<'t>> {
        let corpus = self.corpus;
        for (number, held) in corpus.held.iter().enumerate() {
            for (text, count) in held.iter().flat_map(CountedTexts::iter) {
                if self.at < self.remaining {
                    self.pass_sentence(text, count);
                }
            }
            if let Some(segment) = corpus.segments.get(number) {
                self.pass_segment(number, segment)?;
            }
        }
        Some(self.plan)
    }

    fn pass_sentence(&mut self, text: &'t str, count: u64) {
        if text.is_empty() {
            self.append_movable();
        } else {
            self.append((text, count));
        }
        self.at += 1;
        self.end_full_chunk();
    }

    /// Ends the open chunk if it is full, or if no sentence remains.
    fn end_full_chunk(&mut self) {
        if self.open.bytes >= self.chunk_bytes || self.at == self.remaining {
            self.plan.chunks.push(mem::take(&mut self.open));
        }
    }

    /// Passes a segment; `None` if a chunk ends in it.
    fn pass_segment(&mut self, number: usize, segment: &CountedSegment) -> Option<()> {
        let bytes = self.segment_bytes[number];
        self.open.bytes = self.open.bytes.saturating_add(bytes);
        self.open.segments.push(number);
        for _ in 0..segment.empty {
            self.append_movable();
        }
        self.at += segment.sentences;
        (self.open.bytes < self.chunk_bytes).then_some(())
    }

    /// Appends the sentence that takes the place of an empty one.
    fn append_movable(&mut self) {
        if let Some(sentence) = self.movable.pop() {
            self.append(sentence);
        }
    }

    /// Appends a sentence to the open chunk, up to the end of that.
    fn append(&mut self, (text, count): Counted<'t>) {
        let length = text.len() as u64 + 1;
        let missing = self.chunk_bytes.saturating_sub(self.open.bytes);
        let repetitions = missing.div_ceil(length).min(count);
        let bytes = repetitions.saturating_mul(length);
        self.open.bytes = self.open.bytes.saturating_add(bytes);
        self.open.sentences.push((text, repetitions));
        if repetitions < count {
            self.plan.dropped.push((text, count - repetitions));
        }
    }
}

/// Of the last `last` sentences, which are held, those that are not empty, in their order.
fn movable(corpus: &SegmentedSentences, last: u64) -> Vec<Counted<'_>> {
    let batches = corpus.held.last().map_or(&[][..], Vec::as_slice);
    let batches = batches.iter().rev();
    let backwards = batches.flat_map(|texts| (0..texts.len()).rev().map(|at| texts.get(at)));
    let mut movable = Vec::new();
    for (_, sentence) in (0..last).zip(backwards) {
        if !sentence.0.is_empty() {
            movable.push(sentence);
        }
    }
    movable.reverse();
    movable
}

impl CorpusPlan<'_> {
    /// The words of `tables`, one for each segment, and of the sentences.
    fn build(
        self,
        mut tables: Vec<ShardedCounts>,
        rules: &SegmentRules,
    ) -> Result<WordCorpus, TrainError> {
        let mut chunks = Vec::new();
        for plan in &self.chunks {
            chunks.push(plan.build(&mut tables, rules)?);
        }
        let words = chunks.iter().map(|chunk| chunk.words.len()).sum();
        let totals = SharedCounts::with_capacity(rules.hasher.clone(), words);
        for chunk in &chunks {
            add_totals(&totals, &chunk.words)?;
        }
        WordAdder::new(&totals).add_texts(rules.words, self.dropped)?;
        let words = CountedTexts::by_count(&totals.into_counts());
        Ok(WordCorpus { words, chunks })
    }
}

impl ChunkPlan<'_> {
    fn build(
        &self,
        tables: &mut [ShardedCounts],
        rules: &SegmentRules,
    ) -> Result<WordChunk, TrainError> {
        let mut segments = self.segments.iter();
        let mut take = || Some(mem::take(&mut tables[*segments.next()?]));
        let counts = take().unwrap_or_default().into_shared(rules.hasher.clone());
        while let Some(table) = take() {
            add_table(&counts, &table)?;
        }
        let shares = self
            .sentences
            .par_chunks(share_of_thread(self.sentences.len()));
        shares.try_for_each(|share| {
            WordAdder::new(&counts).add_sentences(rules.words, share.iter().copied())
        })?;
        Ok(WordChunk {
            last: self.last_word(rules.words).to_owned(),
            bytes: self.bytes,
            words: counts.into_counts(),
        })
    }

    fn last_word(&self, rules: WordRules) -> &str {
        let mut last = "";
        if let Some((text, _)) = self.sentences.last() {
            rules.split(text, |word| last = word);
        }
        last
    }
}

/// Adds all counts of a table.
fn add_table(counts: &SharedCounts, table: &ShardedCounts) -> Result<(), TrainError> {
    add_keys(counts, table, |adder, key, count| adder.add(key, count))
}

/// Adds the counts of all words of a table, whether they end a sentence or not.
fn add_totals(totals: &SharedCounts, table: &ShardedCounts) -> Result<(), TrainError> {
    add_keys(totals, table, |adder, key, count| match count {
        0 => Ok(()),
        _ => adder.add(split_key(key).0, count),
    })
}

/// Calls `add` with each key of a table and its count, in parallel, and makes the additions.
fn add_keys(
    counts: &SharedCounts,
    table: &ShardedCounts,
    add: impl Fn(&mut CountAdder<'_>, &[u8], u64) -> Result<(), TrainError> + Sync,
) -> Result<(), TrainError> {
    table.shards().par_iter().try_for_each(|shard| {
        let mut adder = counts.adder();
        shard.for_each(|key, count| add(&mut adder, key, count))?;
        adder.flush()
    })
}

#[cfg(test)]
mod tests;
