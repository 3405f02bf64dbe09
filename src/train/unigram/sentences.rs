//! The sentences of the corpus in their order, for unigram training.
//!
//! Where the order of most sentences does not matter, only their words are counted; see
//! [`word_corpus`](super::word_corpus).
//!
//! Training needs two things of the sentences: the texts of expectation maximization, and the
//! entries in which seeds are searched.
//!
//! Characters without a piece are replaced by U+2585, and so are boundary marks. With
//! `split_by_whitespace` the texts are the distinct words by count, descending; otherwise they are
//! the sentences as they are.
//!
//! Example: `▁to▁be` (2 times) and `▁be` give the words `▁be` 3 and `▁to` 2, and the entries
//!
//! ```text
//! ▁to | E2      2 times    the next word begins with E2
//! ▁be | 00 E2   2 times    the end of a sentence; the next one begins with E2
//! ▁be | 00      1 time     the end of the corpus
//! ```

use std::ops::Range;

use super::entries::Entries;
use super::word_keys::{WordAdder, key_text};
use crate::base::arena::StrArena;
use crate::base::num::count_to_f32;
use crate::train::TrainError;
use crate::train::alphabet::{CharacterCounts, KnownCharacters, add_characters};
use crate::train::execution_config::SeededMap;
use crate::train::split::word_rules::WordRules;
use crate::train::word_table::WordTable;

/// Texts with their counts.
#[derive(Debug, Default)]
pub(crate) struct CountedTexts {
    pub(crate) texts: StrArena,
    pub(crate) counts: Vec<u64>,
}

impl CountedTexts {
    pub(crate) fn push(&mut self, text: &str, count: u64) {
        self.texts.push(text);
        self.counts.push(count);
    }

    pub(crate) fn len(&self) -> usize {
        self.counts.len()
    }

    pub(crate) fn text(&self, index: usize) -> &str {
        self.texts.get(index)
    }

    /// A text and its count.
    pub(crate) fn get(&self, index: usize) -> (&str, u64) {
        (self.text(index), self.counts[index])
    }

    /// All texts with their counts.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// The number of empty texts.
    pub(crate) fn empty_texts(&self) -> u64 {
        self.texts.iter().filter(|text| text.is_empty()).count() as u64
    }

    /// Removes empty texts as the reference does: the last text takes the place of each.
    pub(crate) fn remove_empty(&mut self) {
        let mut order: Vec<usize> = (0..self.len()).collect();
        let mut at = 0;
        while at < order.len() {
            if self.texts.get(order[at]).is_empty() {
                order.swap_remove(at);
            } else {
                at += 1;
            }
        }
        if order.len() == self.len() {
            return;
        }
        let mut kept = Self::default();
        for index in order {
            kept.push(self.text(index), self.counts[index]);
        }
        *self = kept;
    }

    /// How often each character occurs. Runs on the threads of the current pool.
    ///
    /// # Errors
    /// There are 2^63 characters or more.
    pub(crate) fn character_counts(&self) -> Result<CharacterCounts, TrainError> {
        let indices: Vec<usize> = (0..self.len()).collect();
        CharacterCounts::of_parts(&indices, |by_code, index| {
            add_characters(by_code, self.text(*index), self.counts[*index]);
        })
    }

    /// The same texts with U+2585 for every character that is not in the alphabet.
    pub(crate) fn mark_unknown(mut self, known: &KnownCharacters) -> Self {
        let Some(first) = self.iter().position(|(text, _)| known.lacks_any(text)) else {
            return self;
        };
        let mut marked = StrArena::with_capacity(self.len(), self.texts.bytes());
        let mut buffer = String::new();
        for index in 0..self.len() {
            let text = self.text(index);
            if index < first || !known.lacks_any(text) {
                marked.push(text);
            } else {
                known.mark(text, &mut buffer);
                marked.push(&buffer);
            }
        }
        self.texts = marked;
        self
    }

    /// Appends other texts.
    pub(crate) fn append(&mut self, other: &Self) {
        self.texts.append(&other.texts);
        self.counts.extend_from_slice(&other.counts);
    }

    /// The texts of all parts, in order.
    pub(crate) fn concatenated(parts: Vec<Self>) -> Self {
        let texts = parts.iter().map(Self::len).sum();
        let bytes = parts.iter().map(|part| part.texts.bytes()).sum();
        let mut all = Self::with_capacity(texts, bytes);
        for part in parts {
            all.append(&part);
        }
        all
    }

    /// An empty list with room for `texts` texts of `bytes` bytes in all.
    fn with_capacity(texts: usize, bytes: usize) -> Self {
        Self {
            texts: StrArena::with_capacity(texts, bytes),
            counts: Vec::with_capacity(texts),
        }
    }

    /// The sum of the counts.
    pub(crate) fn total(&self) -> f64 {
        let counts = self.counts.iter();
        counts.map(|count| f64::from(count_to_f32(*count))).sum()
    }

    /// The distinct words by count, descending, and then by bytes. Runs on the threads of the
    /// current pool.
    ///
    /// # Errors
    /// A word is of 4 GiB or more.
    pub(crate) fn words(&self, rules: WordRules) -> Result<Self, TrainError> {
        let mut words = WordTable::default();
        words.with_adders(|adder| {
            WordAdder::new(adder(), self.len()).add_texts(rules, self.iter())
        })?;
        Ok(Self::by_count(&words))
    }

    /// The texts of a table by count, descending, and then by bytes. Runs on the threads of the
    /// current pool.
    pub(super) fn by_count(counts: &WordTable) -> Self {
        Self::concatenated(counts.parts_by_count(|part: &mut Self, key, count| {
            part.push(key_text(key), count);
        }))
    }

    /// The chunks in which the reference searches seeds. Each has at least `chunk_bytes` bytes,
    /// including a NUL for each sentence, except the last one.
    pub(super) fn chunks(&self, chunk_bytes: u64) -> Vec<SeedChunk> {
        let mut chunks = Vec::new();
        let mut start = 0;
        let mut size = ChunkSize::new(chunk_bytes);
        for (index, (text, count)) in self.iter().enumerate() {
            let last_count = size.add(text, count);
            if size.is_full() || index + 1 == self.len() {
                chunks.push(SeedChunk {
                    sentences: start..index + 1,
                    last_count,
                    bytes: size.bytes,
                });
                start = index + 1;
                size = ChunkSize::new(chunk_bytes);
            }
        }
        chunks
    }

    /// The distinct words of a chunk, or its sentences if `rules` is `None`, with what follows
    /// them.
    ///
    /// # Errors
    /// There are 2^32 of them.
    pub(super) fn entries(
        &self,
        chunk: &SeedChunk,
        rules: Option<WordRules>,
    ) -> Result<Entries, TrainError> {
        let mut counts: SeededMap<(&str, Following), u64> = SeededMap::default();
        let last = chunk.sentences.end - 1;
        for index in chunk.sentences.clone() {
            let text = self.text(index);
            let (next, count) = if index == last {
                (Following::End, chunk.last_count)
            } else {
                let next = first_byte(self.text(index + 1));
                (Following::Sentence(next), self.counts[index])
            };
            let sentence = Sentence { text, count, next };
            sentence.for_each_part(rules, |part, following, count| {
                *counts.entry((part, following)).or_default() += count;
            });
        }
        let mut entries = Entries::of_chunk(chunk.bytes);
        for ((text, following), count) in counts {
            if !entries.push(text.as_bytes(), &following.bytes(), count) {
                return Err(TrainError::TooLarge {
                    what: "distinct words",
                });
            }
        }
        Ok(entries)
    }
}

/// The size of a chunk, in bytes.
pub(crate) const CHUNK_BYTES: u64 = 524_288_000;

/// How much of a chunk of seeds is filled.
pub(super) struct ChunkSize {
    limit: u64,
    /// Repetitions and a NUL for each sentence included.
    pub(super) bytes: u64,
}

impl ChunkSize {
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, bytes: 0 }
    }

    /// Adds a sentence that occurs `count` times, up to the repetition that fills the chunk, which
    /// was not full. Returns the number of repetitions in the chunk. As in the reference the others
    /// are in no chunk.
    pub(super) fn add(&mut self, text: &str, count: u64) -> u64 {
        let length = text.len() as u64 + 1;
        let repetitions = (self.limit - self.bytes).div_ceil(length).min(count);
        self.bytes = self
            .bytes
            .saturating_add(repetitions.saturating_mul(length));
        repetitions
    }

    pub(super) fn is_full(&self) -> bool {
        self.bytes >= self.limit
    }
}

/// Sentences in which seeds are searched together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SeedChunk {
    sentences: Range<usize>,
    /// How often the last sentence occurs in the chunk. Its other repetitions are in no chunk.
    last_count: u64,
    /// Its size, repetitions and a NUL for each sentence included.
    bytes: u64,
}

/// A sentence of a chunk.
struct Sentence<'t> {
    text: &'t str,
    count: u64,
    /// What follows the last repetition.
    next: Following,
}

impl<'t> Sentence<'t> {
    /// Calls `add` with each word of the sentence (or the whole sentence if `rules` is `None`),
    /// what follows it, and how often.
    fn for_each_part(
        &self,
        rules: Option<WordRules>,
        mut add: impl FnMut(&'t str, Following, u64),
    ) {
        let mut previous = None;
        let mut add_word = |word: &'t str| {
            if let Some(previous) = previous.replace(word) {
                add(previous, Following::Byte(first_byte(word)), self.count);
            }
        };
        match rules {
            Some(rules) => rules.split(self.text, add_word),
            None => add_word(self.text),
        }
        let last = previous.unwrap_or(self.text);
        if self.count > 1 {
            let again = Following::Sentence(first_byte(self.text));
            add(last, again, self.count - 1);
        }
        add(last, self.next, 1);
    }
}

/// What follows a word in the corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Following {
    /// Another word, which begins with this byte.
    Byte(u8),
    /// Another sentence.
    Sentence(u8),
    /// The end of the chunk of seeds.
    End,
}

impl Following {
    pub(super) fn bytes(self) -> Vec<u8> {
        match self {
            Self::Byte(byte) => vec![byte],
            Self::Sentence(byte) => vec![0, byte],
            Self::End => vec![0],
        }
    }
}

fn first_byte(text: &str) -> u8 {
    text.as_bytes().first().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests;
