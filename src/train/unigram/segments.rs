//! Sentences -> counted segments of the corpus, with sentences in their order between them.
//!
//! Input: batches of prepared sentences in the order of the corpus. Output: [`SegmentedSentences`],
//! whose memory follows the distinct words, from which [`word_corpus`](super::word_corpus) makes
//! the input of unigram training.
//!
//! Where pieces do not cross words, whitespace begins a word, and every sentence begins with
//! whitespace, the order of the sentences matters in three places only:
//!
//! 1. the last sentence of each chunk of seeds, whose last word is followed by the end;
//! 2. which chunk a sentence belongs to, if there are several chunks;
//! 3. the last sentences of the corpus, which take the places of sentences that are empty after
//!    their preparation ([`CountedTexts::remove_empty`]).
//!
//! So the words of all other sentences are counted, with the words that end a sentence counted
//! apart, and the text is dropped. These sentences are kept in their order ("held"):
//!
//! * batches in which a chunk may end ([`stream_position`](super::stream_position)). The words
//!   before and after them are counted in different tables ("segments");
//! * with e empty sentences so far, the last e + 1 sentences. With n sentences in all, n - e
//!   remain, so the sentences from index n - e on are those that move. n - e only grows while
//!   sentences are read, so that sentences before it can be counted;
//! * the last [`SegmentRules::held_bytes`] bytes, so that a small corpus is held as a whole.
//!
//! ```text
//! corpus    s1 s2 s3 | s4 | s5 s6 | s7      (a chunk may end in s4)
//! held                 s4           s7
//! segments  1                2
//! ```
//!
//! Cost: linear, in parallel. Memory: the distinct words of each segment, and the text of the held
//! sentences. For an ordinary corpus these are less than 100 MiB; a corpus of which a share x is
//! empty holds about that share of its text.

use std::collections::VecDeque;

use foldhash::fast::SeedableRandomState;
use rayon::prelude::*;

use super::sentences::CountedTexts;
use super::stream_position::PositionBounds;
use super::word_keys::{WordAdder, key_text};
use crate::train::TrainError;
use crate::train::alphabet::{CharacterCounts, add_characters};
use crate::train::counts::{SharedTable, TextCounts, WordTable};
use crate::train::parallel::share_of_thread;
use crate::train::split::word_rules::WordRules;

/// What decides which sentences are held.
#[derive(Debug, Clone)]
pub(crate) struct SegmentRules {
    pub(crate) words: WordRules,
    /// The size of a chunk of seeds in bytes.
    pub(crate) chunk_bytes: u64,
    /// The number of bytes that are held at the end of what was read.
    pub(crate) held_bytes: usize,
    pub(crate) character_coverage: f32,
    /// The hasher of the tables.
    pub(crate) hasher: SeedableRandomState,
}

/// A part of the corpus of which only the words are known.
#[derive(Default)]
pub(super) struct CountedSegment {
    /// The words of the sentences; see [`split_key`](super::word_keys::split_key).
    pub(super) words: WordTable,
    /// The number of sentences.
    pub(super) sentences: u64,
    /// The number of empty sentences among them, which others will replace.
    pub(super) empty: u64,
}

/// A segment that is being counted.
struct OpenSegment {
    words: SharedTable,
    sentences: u64,
    empty: u64,
}

impl OpenSegment {
    fn new(hasher: SeedableRandomState) -> Self {
        Self {
            words: WordTable::new(hasher).into_shared(),
            sentences: 0,
            empty: 0,
        }
    }

    fn add(&mut self, batches: &[CountedTexts], rules: WordRules) -> Result<(), TrainError> {
        for batch in batches {
            self.sentences += batch.len() as u64;
            self.empty += batch.empty_texts();
        }
        let shares = batches.par_chunks(share_of_thread(batches.len()));
        shares.try_for_each(|share| {
            let sentences = share.iter().flat_map(CountedTexts::iter);
            WordAdder::new(&self.words).add_sentences(rules, sentences)
        })
    }

    fn finish(self) -> CountedSegment {
        CountedSegment {
            words: self.words.into_table(),
            sentences: self.sentences,
            empty: self.empty,
        }
    }
}

/// A batch that is kept until it is certain that its sentences do not move.
struct PendingBatch {
    texts: CountedTexts,
    /// The number of sentences up to its end.
    end: u64,
}

/// Divides the corpus into segments and held sentences.
pub(crate) struct SegmentCounter {
    rules: SegmentRules,
    bounds: PositionBounds,
    pending: VecDeque<PendingBatch>,
    /// The number of bytes of text in `pending`.
    pending_bytes: usize,
    /// Sentences read.
    sentences: u64,
    /// Sentences read that are not empty.
    remaining: u64,
    /// Batches to be counted next.
    countable: Vec<CountedTexts>,
    open: Option<OpenSegment>,
    finished: SegmentedSentences,
}

impl SegmentCounter {
    pub(crate) fn new(rules: SegmentRules) -> Self {
        Self {
            bounds: PositionBounds::new(rules.chunk_bytes, rules.character_coverage),
            finished: SegmentedSentences::new(rules.clone()),
            rules,
            pending: VecDeque::new(),
            pending_bytes: 0,
            sentences: 0,
            remaining: 0,
            countable: Vec::new(),
            open: None,
        }
    }

    /// Adds the next batches. Runs on the threads of the current pool.
    ///
    /// # Errors
    /// A word is of 4 GiB or more.
    pub(crate) fn add(&mut self, batches: Vec<CountedTexts>) -> Result<(), TrainError> {
        for texts in batches {
            self.sentences += texts.len() as u64;
            self.remaining += texts.len() as u64 - texts.empty_texts();
            self.pending_bytes += texts.texts.bytes();
            self.pending.push_back(PendingBatch {
                texts,
                end: self.sentences,
            });
        }
        while let Some(texts) = self.next_released() {
            if self.bounds.may_end_in(&texts) {
                self.end_segment()?;
                self.finished.hold(texts);
            } else {
                self.countable.push(texts);
            }
        }
        self.count()
    }

    /// The next batch that need not be pending any more.
    fn next_released(&mut self) -> Option<CountedTexts> {
        if self.must_wait(self.pending.front()?) {
            return None;
        }
        let texts = self.pending.pop_front()?.texts;
        self.pending_bytes -= texts.texts.bytes();
        Some(texts)
    }

    /// Whether the first pending batch remains pending.
    fn must_wait(&self, first: &PendingBatch) -> bool {
        // The last of the remaining sentences must be known.
        let may_move = first.end >= self.remaining;
        may_move || self.pending_bytes <= self.rules.held_bytes
    }

    fn count(&mut self) -> Result<(), TrainError> {
        if self.countable.is_empty() {
            return Ok(());
        }
        let hasher = &self.rules.hasher;
        let open = self
            .open
            .get_or_insert_with(|| OpenSegment::new(hasher.clone()));
        open.add(&self.countable, self.rules.words)?;
        self.countable.clear();
        Ok(())
    }

    fn end_segment(&mut self) -> Result<(), TrainError> {
        self.count()?;
        if let Some(open) = self.open.take() {
            self.finished.push(open.finish());
        }
        Ok(())
    }

    /// All that was read.
    ///
    /// # Errors
    /// No sentence has text.
    pub(crate) fn finish(mut self) -> Result<SegmentedSentences, TrainError> {
        if self.remaining == 0 {
            return Err(TrainError::NoCharacters);
        }
        self.end_segment()?;
        self.hold_pending();
        Ok(self.finished)
    }

    fn hold_pending(&mut self) {
        for batch in self.pending.drain(..) {
            self.finished.hold(batch.texts);
        }
    }
}

/// The corpus as segments and held sentences, alternately: `held[0]`, `segments[0]`, `held[1]` and
/// so on. The last element is one of `held`.
pub(crate) struct SegmentedSentences {
    pub(super) rules: SegmentRules,
    pub(super) held: Vec<Vec<CountedTexts>>,
    pub(super) segments: Vec<CountedSegment>,
}

/// A part of the corpus whose characters are counted by one thread.
enum CharacterSource<'s> {
    Table(&'s TextCounts),
    Texts(&'s CountedTexts),
}

impl CharacterSource<'_> {
    /// Adds the counts of the characters to those by code point.
    fn count(by_code: &mut Vec<u64>, source: &Self) {
        match source {
            Self::Table(table) => {
                table.visit(|key, count| add_characters(by_code, key_text(key), count));
            }
            Self::Texts(texts) => texts
                .iter()
                .for_each(|(text, count)| add_characters(by_code, text, count)),
        }
    }
}

impl SegmentedSentences {
    fn new(rules: SegmentRules) -> Self {
        Self {
            rules,
            held: vec![Vec::new()],
            segments: Vec::new(),
        }
    }

    fn hold(&mut self, texts: CountedTexts) {
        if let Some(last) = self.held.last_mut() {
            last.push(texts);
        }
    }

    /// Appends a segment, followed by no held batches yet.
    fn push(&mut self, segment: CountedSegment) {
        self.segments.push(segment);
        self.held.push(Vec::new());
    }

    /// How often each character occurs. Runs on the threads of the current pool.
    ///
    /// # Errors
    /// There are 2^63 characters or more.
    pub(crate) fn character_counts(&self) -> Result<CharacterCounts, TrainError> {
        CharacterCounts::of_parts(&self.character_sources(), CharacterSource::count)
    }

    fn character_sources(&self) -> Vec<CharacterSource<'_>> {
        let segments = self.segments.iter();
        let tables = segments.flat_map(|segment| segment.words.shards());
        let texts = self.held.iter().flatten();
        tables
            .map(CharacterSource::Table)
            .chain(texts.map(CharacterSource::Texts))
            .collect()
    }

    /// The sentences in the order of the reference, if all are held.
    pub(super) fn into_ordered(self) -> Option<CountedTexts> {
        self.segments
            .is_empty()
            .then(|| CountedTexts::ordered(self.held.into_iter().flatten()))
    }
}
