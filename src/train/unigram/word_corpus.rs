//! Counted segments and held sentences -> the distinct words, and those of each chunk of seeds.
//!
//! Input: [`SegmentedSentences`] and the alphabet. Output: a [`WordCorpus`]: the texts of
//! expectation maximization, and for each chunk of seeds the words with what follows them. Both
//! equal what [`CountedTexts`] gives for the same sentences.
//!
//! Every sentence, and every word but the first of a sentence, begins with U+2581. So a word is
//! followed by the byte E2 (the next word), by NUL and E2 (it ends a sentence), or by NUL and the
//! end (it ends the last sentence of a chunk).
//!
//! Method:
//!
//! 1. Characters without a piece become U+2585, in the words of the tables and in the held
//!    sentences.
//! 2. A walk over the corpus finds the ends of the chunks. All lengths are known now: those of held
//!    sentences, the sum for each segment, and, from the end of the corpus, the sentences that
//!    replace empty ones. A chunk that ends inside a segment cannot be resolved, because the
//!    sentence at its end is not known; the caller reads the corpus again and keeps its order.
//! 3. The tables and the held sentences of each chunk are added.
//!
//! Example: the chunks have 20 bytes. A segment has the words `▁a` 2 and `▁b` (ends a sentence) 2,
//! which are 18 bytes with two NULs; the held sentences are `▁c` and `▁d`, 5 bytes each.
//!
//! ```text
//! chunk 1   ▁a | E2 2 times, ▁b | 00 E2 2 times, ▁c | 00     23 bytes: the test precedes each sentence
//! chunk 2   ▁d | 00
//! ```
//!
//! Cost: linear in the distinct words of the segments and the text of the held sentences.

mod walk;

use std::mem;

use rayon::prelude::*;

use self::walk::{ChunkPlan, CorpusPlan, CorpusWalk};
use super::entries::Entries;
use super::segments::{SegmentRules, SegmentedSentences};
use super::sentences::{CountedTexts, Following};
use super::word_keys::{WordAdder, key_text, split_key};
use crate::base::{WHITESPACE_MARK, WHITESPACE_MARK_STR};
use crate::train::TrainError;
use crate::train::alphabet::{Alphabet, KnownCharacters};
use crate::train::counts::{SharedTable, TableAdder, TextCounts, WordTable};
use crate::train::parallel::map_tasks;
use crate::train::parallel::share_of_thread;
use crate::train::split::word_rules::WordRules;

/// The corpus of a unigram model.
pub(crate) enum UnigramTexts {
    /// Sentences in their order.
    Ordered(CountedTexts),
    /// Distinct words.
    Words(WordCorpus),
}

/// The result of [`SegmentedSentences::resolve`].
pub(crate) enum ResolvedTexts {
    Words(WordCorpus),
    /// U+2581 is not in the alphabet, so sentences are words. No character of these sentences is
    /// replaced yet.
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

impl SegmentedSentences {
    /// The corpus with U+2585 for every character that is not in the alphabet. Runs on the threads
    /// of the current pool.
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

    /// Takes the words out of each segment.
    fn take_tables(&mut self) -> Vec<WordTable> {
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
            segment.words = mark_words(words, known)?;
        }
        Ok(())
    }
}

/// The same words with U+2585 for unknown characters. Words that become equal are added.
fn mark_words(mut words: WordTable, known: &KnownCharacters) -> Result<WordTable, TrainError> {
    let shards = words.shards_mut().par_iter_mut();
    let changed: Vec<(Vec<u8>, u64)> = shards
        .flat_map_iter(|shard| take_unknown(shard, known))
        .collect();
    let table = words.into_shared();
    let mut adder = WordAdder::new(&table);
    let mut marked = String::new();
    for (key, count) in changed {
        known.mark(key_text(&key), &mut marked);
        adder.add_word(&marked, split_key(&key).1, count)?;
    }
    adder.flush()?;
    Ok(table.into_table())
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

impl CorpusPlan<'_> {
    /// The corpus of the words of `tables`, one table for each segment, and of the planned
    /// sentences.
    fn build(
        self,
        mut tables: Vec<WordTable>,
        rules: &SegmentRules,
    ) -> Result<WordCorpus, TrainError> {
        let mut chunks = Vec::new();
        for plan in &self.chunks {
            chunks.push(plan.build(&mut tables, rules)?);
        }
        let words = chunks.iter().map(|chunk| chunk.words.len()).sum();
        let totals = WordTable::with_capacity(rules.hasher.clone(), words).into_shared();
        for chunk in &chunks {
            add_totals(&totals, &chunk.words)?;
        }
        WordAdder::new(&totals).add_texts(rules.words, self.dropped)?;
        let words = CountedTexts::by_count(&totals.into_table());
        Ok(WordCorpus { words, chunks })
    }
}

impl ChunkPlan<'_> {
    fn build(
        &self,
        tables: &mut [WordTable],
        rules: &SegmentRules,
    ) -> Result<WordChunk, TrainError> {
        let mut segments = self.segments.iter();
        let mut take = || Some(mem::take(&mut tables[*segments.next()?]));
        let words = take().unwrap_or_else(|| WordTable::new(rules.hasher.clone()));
        let words = words.into_shared();
        while let Some(table) = take() {
            add_table(&words, &table)?;
        }
        let shares = self
            .sentences
            .par_chunks(share_of_thread(self.sentences.len()));
        shares.try_for_each(|share| {
            WordAdder::new(&words).add_sentences(rules.words, share.iter().copied())
        })?;
        Ok(WordChunk {
            last: self.last_word(rules.words).to_owned(),
            bytes: self.bytes,
            words: words.into_table(),
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
fn add_table(counts: &SharedTable, table: &WordTable) -> Result<(), TrainError> {
    add_keys(counts, table, |adder, key, count| adder.add(key, count))
}

/// Adds the counts of all words of a table, whether they end a sentence or not.
fn add_totals(totals: &SharedTable, table: &WordTable) -> Result<(), TrainError> {
    add_keys(totals, table, |adder, key, count| match count {
        0 => Ok(()),
        _ => adder.add(split_key(key).0, count),
    })
}

/// Calls `add` with each key of a table and its count, in parallel, and flushes the buffers.
fn add_keys(
    counts: &SharedTable,
    table: &WordTable,
    add: impl Fn(&mut TableAdder<'_>, &[u8], u64) -> Result<(), TrainError> + Sync,
) -> Result<(), TrainError> {
    table.shards().par_iter().try_for_each(|shard| {
        let mut adder = counts.adder();
        shard.for_each(|key, count| add(&mut adder, key, count))?;
        adder.flush()
    })
}

#[cfg(test)]
mod tests;
