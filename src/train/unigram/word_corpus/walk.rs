//! Segmented sentences -> what each chunk of seeds consists of.
//!
//! This is step 2 of [`word_corpus`](super), which has an example. Input: [`SegmentedSentences`]
//! with marked characters, and the words of their segments. Output: for each chunk the numbers of
//! its segments and its held sentences; nothing if a chunk ends in a segment.
//!
//! Cost: linear in the distinct words of the segments and the number of the held sentences.

use std::mem;

use rayon::prelude::*;

use crate::train::counts::{TextCounts, WordTable};
use crate::train::unigram::segments::{CountedSegment, SegmentedSentences};
use crate::train::unigram::sentences::CountedTexts;

/// A sentence with its count.
pub(super) type Counted<'t> = (&'t str, u64);

/// What a chunk consists of.
#[derive(Default)]
pub(super) struct ChunkPlan<'t> {
    /// Numbers of segments.
    pub(super) segments: Vec<usize>,
    pub(super) sentences: Vec<Counted<'t>>,
    pub(super) bytes: u64,
}

/// Finds the ends of the chunks.
pub(super) struct CorpusWalk<'t> {
    corpus: &'t SegmentedSentences,
    /// The bytes of each segment.
    segment_bytes: Vec<u64>,
    chunk_bytes: u64,
    /// The number of sentences that are not empty.
    remaining: u64,
    /// The index of the next sentence.
    at: u64,
    /// The sentences that replace empty ones, in their order. The last one is taken first.
    movable: Vec<Counted<'t>>,
    open: ChunkPlan<'t>,
    plan: CorpusPlan<'t>,
}

/// What the chunks consist of.
#[derive(Default)]
pub(super) struct CorpusPlan<'t> {
    pub(super) chunks: Vec<ChunkPlan<'t>>,
    /// Repetitions that are in no chunk.
    pub(super) dropped: Vec<Counted<'t>>,
}

impl<'t> CorpusWalk<'t> {
    /// A walk over `corpus`, whose segments have the words of `tables`.
    pub(super) fn new(corpus: &'t SegmentedSentences, tables: &[WordTable]) -> Self {
        let held = corpus.held.iter().flatten();
        let held_texts: u64 = held.clone().map(|texts| texts.len() as u64).sum();
        let held_empty: u64 = held.map(CountedTexts::empty_texts).sum();
        let sum = |part: fn(&CountedSegment) -> u64| corpus.segments.iter().map(part).sum::<u64>();
        let sentences = held_texts + sum(|segment| segment.sentences);
        let remaining = sentences - held_empty - sum(|segment| segment.empty);
        Self {
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
    pub(super) fn run(mut self) -> Option<CorpusPlan<'t>> {
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

    /// Appends a sentence to the open chunk. Repetitions beyond the end of the chunk are dropped.
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

/// The bytes of the sentences of a segment, with a NUL after each.
fn segment_bytes(words: &WordTable) -> u64 {
    let shards = words.shards().par_iter().map(shard_bytes);
    shards.reduce(|| 0, u64::saturating_add)
}

fn shard_bytes(shard: &TextCounts) -> u64 {
    let mut bytes = 0u64;
    shard.visit(|key, count| {
        // The mark of a word that ends a sentence is as long as the NUL.
        bytes = bytes.saturating_add(count.saturating_mul(key.len() as u64));
    });
    bytes
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
