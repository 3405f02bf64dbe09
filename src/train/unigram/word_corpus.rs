//! The distinct words of a corpus, and those of each chunk of seeds.
//!
//! Where pieces do not cross words, and every sentence begins with whitespace, each sentence and
//! each of its words begins with U+2581. So a word is followed by the byte E2 (the next word), by
//! NUL and E2 (it ends a sentence), or by NUL and the end (it ends the last sentence of a chunk of
//! seeds). It is then enough to count words, those that end a sentence apart from the others, and
//! to know which chunk a sentence belongs to. The result equals what [`CountedTexts`] gives for the
//! sentences in their order.
//!
//! [`FirstPass`] counts the words of all sentences. Then the alphabet can be chosen, the other
//! characters become U+2585, and the size of the corpus is known, which depends on that. The words
//! of a corpus that is one chunk are complete. Otherwise [`SecondPass`] gets all sentences again
//! and counts the words of each chunk. It is also needed if U+2581 itself is not in the alphabet:
//! then no whitespace remains, and the words are whole sentences.
//!
//! Some sentences are empty after their preparation, and the last sentences take their places
//! ([`CountedTexts::remove_empty`]). With n sentences of which e are empty, n - e remain, and those
//! from index n - e on move. The last of the remaining sentences is the first one from index
//! n - e - 1 on that is not empty: if there is an empty one at this index, it is the last to be
//! replaced, and the first of those that move takes its place. n - e only grows while sentences are
//! read, so the first pass holds the sentences from index n - e - 1 on and drops the text of all
//! others.
//!
//! Example: the sentences `▁a▁b` (2 times), `▁c` and `▁d` in chunks of 20 bytes.
//!
//! ```text
//! chunk 1   ▁a | E2 2 times, ▁b | 00 E2 2 times, ▁c | 00     23 bytes: the test precedes each sentence
//! chunk 2   ▁d | 00
//! ```
//!
//! Memory: the distinct words of each chunk, and the text of as many sentences as are empty.

use std::collections::VecDeque;
use std::mem;

use foldhash::fast::SeedableRandomState;
use rayon::prelude::*;

use super::entries::Entries;
use super::sentences::{ChunkSize, CountedTexts, Following};
use super::word_keys::{WordAdder, key_text, split_key};
use crate::base::{WHITESPACE_MARK, WHITESPACE_MARK_STR};
use crate::train::TrainError;
use crate::train::alphabet::{CharacterCounts, KnownCharacters, add_characters};
use crate::train::parallel::map_tasks;
use crate::train::parallel::share_of_thread;
use crate::train::split::word_rules::WordRules;
use crate::train::word_table::{TextCounts, WordTable};

/// The corpus of a unigram model.
pub(crate) enum UnigramTexts {
    /// Sentences in their order.
    Ordered(CountedTexts),
    /// Distinct words.
    Words(WordCorpus),
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
    words: WordTable,
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

impl WordCorpus {
    /// The corpus of these chunks, and of `dropped`, the sentences that are in no chunk. Runs on
    /// the threads of the current pool.
    ///
    /// # Errors
    /// A word is of 4 GiB or more.
    fn new(
        rules: &WordCorpusRules,
        chunks: Vec<WordChunk>,
        dropped: &CountedTexts,
    ) -> Result<Self, TrainError> {
        let words = chunks.iter().map(|chunk| chunk.words.len()).sum();
        let mut totals = WordTable::with_capacity(rules.hasher.clone(), words);
        let shards = chunks.iter().flat_map(|chunk| chunk.words.shards());
        let shards: Vec<_> = shards.collect();
        totals.with_adders(|adder| {
            shards.into_par_iter().try_for_each(|shard| {
                let mut adder = adder();
                shard.for_each(|key, count| match count {
                    0 => Ok(()),
                    _ => adder.add(split_key(key).0, count),
                })?;
                adder.flush()
            })?;
            WordAdder::new(adder(), dropped.len()).add_texts(rules.words, dropped.iter())
        })?;
        let words = CountedTexts::by_count(&totals);
        Ok(Self { words, chunks })
    }
}

/// How a corpus is counted.
#[derive(Debug, Clone)]
pub(crate) struct WordCorpusRules {
    pub(crate) words: WordRules,
    /// The size of a chunk of seeds in bytes.
    pub(crate) chunk_bytes: u64,
    /// The hasher of the tables.
    pub(crate) hasher: SeedableRandomState,
}

impl WordCorpusRules {
    fn table(&self) -> WordTable {
        WordTable::new(self.hasher.clone())
    }

    /// Adds the words of sentences to a table, on the threads of the current pool.
    fn count(&self, table: &mut WordTable, sentences: &[(&str, u64)]) -> Result<(), TrainError> {
        let shares = sentences.par_chunks(share_of_thread(sentences.len()));
        table.with_adders(|adder| {
            shares.try_for_each(|share| {
                WordAdder::new(adder(), share.len())
                    .add_sentences(self.words, share.iter().copied())
            })
        })
    }

    /// The last word of a sentence that is not empty.
    fn last_word(&self, sentence: &str) -> String {
        let mut last = "";
        self.words.split(sentence, |word| last = word);
        last.to_owned()
    }
}

/// Counts the words of all sentences.
pub(crate) struct FirstPass {
    rules: WordCorpusRules,
    words: WordTable,
    /// Sentences read.
    sentences: u64,
    /// Those that are not empty.
    remaining: u64,
    /// The last batches, each with the number of sentences up to its end.
    held: VecDeque<(CountedTexts, u64)>,
}

impl FirstPass {
    pub(crate) fn new(rules: WordCorpusRules) -> Self {
        Self {
            words: rules.table(),
            rules,
            sentences: 0,
            remaining: 0,
            held: VecDeque::new(),
        }
    }

    /// Adds the next batches. Runs on the threads of the current pool.
    ///
    /// # Errors
    /// A word is of 4 GiB or more.
    pub(crate) fn add(&mut self, batches: Vec<CountedTexts>) -> Result<(), TrainError> {
        let sentences: Vec<_> = batches.iter().flat_map(CountedTexts::iter).collect();
        self.rules.count(&mut self.words, &sentences)?;
        for texts in batches {
            self.sentences += texts.len() as u64;
            self.remaining += texts.len() as u64 - texts.empty_texts();
            self.held.push_back((texts, self.sentences));
        }
        while self
            .held
            .front()
            .is_some_and(|(_, end)| *end < self.remaining)
        {
            self.held.pop_front();
        }
        Ok(())
    }

    /// What was counted.
    ///
    /// # Errors
    /// No sentence has text.
    pub(crate) fn finish(self) -> Result<CountedSentences, TrainError> {
        if self.remaining == 0 {
            return Err(TrainError::NoCharacters);
        }
        let held: u64 = self.held.iter().map(|(texts, _)| texts.len() as u64).sum();
        let held_texts = self.held.iter().flat_map(|(texts, _)| texts.iter());
        let mut last = "";
        let mut moving = CountedTexts::default();
        for (index, (text, count)) in (self.sentences - held..).zip(held_texts) {
            if text.is_empty() {
                continue;
            }
            if last.is_empty() && index + 1 >= self.remaining {
                last = text;
            }
            if index >= self.remaining {
                moving.push(text, count);
            }
        }
        Ok(CountedSentences {
            last: last.to_owned(),
            rules: self.rules,
            words: self.words,
            remaining: self.remaining,
            moving,
        })
    }
}

/// The result of the first pass.
pub(crate) struct CountedSentences {
    rules: WordCorpusRules,
    words: WordTable,
    /// The number of sentences that are not empty.
    remaining: u64,
    /// The sentences that take the places of empty ones, in their order.
    moving: CountedTexts,
    /// The last sentence.
    last: String,
}

/// What follows the first pass.
pub(crate) enum AfterFirstPass {
    Complete(WordCorpus),
    /// All sentences are to be read again.
    Incomplete(Box<SecondPass>),
}

impl CountedSentences {
    /// How often each character occurs. Runs on the threads of the current pool.
    ///
    /// # Errors
    /// There are 2^63 characters or more.
    pub(crate) fn character_counts(&self) -> Result<CharacterCounts, TrainError> {
        CharacterCounts::of_parts(self.words.shards(), |by_code, shard| {
            shard.visit(|key, count| add_characters(by_code, key_text(key), count));
        })
    }

    /// The corpus with U+2585 for every character that is not `known`, or what has to be read for
    /// it. Runs on the threads of the current pool.
    ///
    /// # Errors
    /// A word is of 4 GiB or more.
    pub(crate) fn into_words(self, known: KnownCharacters) -> Result<AfterFirstPass, TrainError> {
        if known.contains(WHITESPACE_MARK) {
            let words = mark_words(self.words, &known)?;
            let bytes = sentence_bytes(&words);
            // The last repetition of the last sentence begins before the end of the chunk.
            if bytes <= self.rules.chunk_bytes {
                let mut last = String::new();
                known.mark(&self.last, &mut last);
                let chunk = WordChunk {
                    last: self.rules.last_word(&last),
                    words,
                    bytes,
                };
                let corpus = WordCorpus::new(&self.rules, vec![chunk], &CountedTexts::default())?;
                return Ok(AfterFirstPass::Complete(corpus));
            }
        }
        let moving = self.moving.mark_unknown(&known);
        Ok(AfterFirstPass::Incomplete(Box::new(SecondPass {
            known,
            missing: self.remaining,
            unmoved: moving.len(),
            moving,
            open: OpenChunk::new(&self.rules),
            chunks: Vec::new(),
            dropped: CountedTexts::default(),
            rules: self.rules,
        })))
    }
}

/// The same words with U+2585 for unknown characters. Words that become equal are added.
fn mark_words(mut words: WordTable, known: &KnownCharacters) -> Result<WordTable, TrainError> {
    let shards = words.shards_mut().par_iter_mut();
    let changed: Vec<(Vec<u8>, u64)> = shards
        .flat_map_iter(|shard| take_unknown(shard, known))
        .collect();
    words.with_adders(|adder| {
        let mut adder = WordAdder::new(adder(), changed.len());
        let mut marked = String::new();
        for (key, count) in changed {
            known.mark(key_text(&key), &mut marked);
            adder.add_word(&marked, split_key(&key).1, count)?;
        }
        adder.flush()
    })?;
    Ok(words)
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

/// The bytes of the sentences of which these are the words, with a NUL after each sentence.
fn sentence_bytes(words: &WordTable) -> u64 {
    let mut bytes = 0u64;
    for shard in words.shards() {
        shard.visit(|key, count| {
            // The mark of a word that ends a sentence is as long as the NUL.
            bytes = bytes.saturating_add(count.saturating_mul(key.len() as u64));
        });
    }
    bytes
}

/// Counts the words of each chunk.
pub(crate) struct SecondPass {
    rules: WordCorpusRules,
    known: KnownCharacters,
    /// The number of sentences that are in no chunk yet.
    missing: u64,
    /// The sentences that take the places of empty ones. The last one is taken first.
    moving: CountedTexts,
    /// How many of `moving` are not taken.
    unmoved: usize,
    open: OpenChunk,
    chunks: Vec<WordChunk>,
    /// Repetitions that are in no chunk.
    dropped: CountedTexts,
}

struct OpenChunk {
    words: WordTable,
    size: ChunkSize,
}

impl OpenChunk {
    fn new(rules: &WordCorpusRules) -> Self {
        Self {
            words: rules.table(),
            size: ChunkSize::new(rules.chunk_bytes),
        }
    }
}

impl SecondPass {
    /// Adds the next batches, which are those of the first pass. Runs on the threads of the current
    /// pool.
    ///
    /// # Errors
    /// There are more empty sentences than in the first pass, or a word is of 4 GiB or more.
    pub(crate) fn add(&mut self, batches: Vec<CountedTexts>) -> Result<(), TrainError> {
        let known = &self.known;
        let batches: Vec<_> = batches
            .into_par_iter()
            .map(|texts| texts.mark_unknown(known))
            .collect();
        let mut sentences = Vec::new();
        for (mut text, mut count) in batches.iter().flat_map(CountedTexts::iter) {
            if self.missing == 0 {
                // The other sentences took the places of empty ones.
                break;
            }
            self.missing -= 1;
            if text.is_empty() {
                self.unmoved = self
                    .unmoved
                    .checked_sub(1)
                    .ok_or(TrainError::InputChanged)?;
                (text, count) = self.moving.get(self.unmoved);
            }
            let repetitions = self.open.size.add(text, count);
            sentences.push((text, repetitions));
            if repetitions < count {
                self.dropped.push(text, count - repetitions);
            }
            if self.open.size.is_full() || self.missing == 0 {
                let mut full = mem::replace(&mut self.open, OpenChunk::new(&self.rules));
                self.rules.count(&mut full.words, &sentences)?;
                sentences.clear();
                self.chunks.push(WordChunk {
                    last: self.rules.last_word(text),
                    words: full.words,
                    bytes: full.size.bytes,
                });
            }
        }
        self.rules.count(&mut self.open.words, &sentences)
    }

    /// The corpus. Runs on the threads of the current pool.
    ///
    /// # Errors
    /// The sentences are not those of the first pass, or a word is of 4 GiB or more.
    pub(crate) fn finish(self) -> Result<WordCorpus, TrainError> {
        if self.missing > 0 || self.unmoved > 0 {
            return Err(TrainError::InputChanged);
        }
        WordCorpus::new(&self.rules, self.chunks, &self.dropped)
    }
}

#[cfg(test)]
mod tests;
