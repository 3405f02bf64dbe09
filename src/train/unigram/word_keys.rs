//! Tables of words that distinguish the words that end a sentence.
//!
//! A key is the text of the word and, if it ends a sentence, a mark: `▁to▁be` (2 times) and `▁be`
//! give the keys `▁to` 2 and `▁be` with the mark 3.

use crate::train::TrainError;
use crate::train::short_texts::{CHUNK_SETS, CountedText, ShortText, ShortTextCache};
use crate::train::split::word_rules::WordRules;
use crate::train::word_table::TableAdder;

/// Follows the text of a word that ends a sentence, in the keys of tables. No text contains this
/// byte.
const END_MARK: u8 = 0xFF;

/// The text of a key, and whether the word ends a sentence.
pub(super) fn split_key(key: &[u8]) -> (&[u8], bool) {
    match key.strip_suffix(&[END_MARK]) {
        Some(text) => (text, true),
        None => (key, false),
    }
}

/// The text of a key of a table of words.
pub(super) fn key_text(key: &[u8]) -> &str {
    let (text, _) = split_key(key);
    // Words are parts of valid text.
    std::str::from_utf8(text).unwrap_or_default()
}

/// Fewer texts are added without a cache, which costs more than counting them: a chunk of seeds can
/// consist of one sentence with a large count.
const MIN_CACHED_TEXTS: usize = 100;

/// Adds words and sentences to a table whose keys distinguish the words that end a sentence.
pub(super) struct WordAdder<'c> {
    adder: TableAdder<'c>,
    /// Short words are counted here first.
    cache: Option<ShortTextCache<CHUNK_SETS>>,
    key: Vec<u8>,
}

impl<'c> WordAdder<'c> {
    /// An adder to a table, for about this many texts.
    pub(super) fn new(adder: TableAdder<'c>, texts: usize) -> Self {
        let is_cached = texts >= MIN_CACHED_TEXTS;
        Self {
            cache: is_cached.then(|| ShortTextCache::new(adder.hasher())),
            adder,
            key: Vec::new(),
        }
    }

    /// Adds the words of all of these sentences, and flushes the buffers.
    pub(super) fn add_sentences<'t>(
        mut self,
        rules: WordRules,
        sentences: impl Iterator<Item = (&'t str, u64)>,
    ) -> Result<(), TrainError> {
        for (text, count) in sentences {
            self.add_sentence(rules, text, count)?;
        }
        self.flush()
    }

    /// Adds the words of a sentence.
    fn add_sentence(
        &mut self,
        rules: WordRules,
        sentence: &str,
        count: u64,
    ) -> Result<(), TrainError> {
        let mut result = Ok(());
        let mut last = "";
        rules.split(sentence, |word| {
            let previous = std::mem::replace(&mut last, word);
            if result.is_ok() && !previous.is_empty() {
                result = self.add_word(previous, false, count);
            }
        });
        result?;
        if last.is_empty() {
            return Ok(());
        }
        self.add_word(last, true, count)
    }

    /// Adds the words of all of these texts, none of which ends a sentence, and flushes the
    /// buffers.
    pub(super) fn add_texts<'t>(
        mut self,
        rules: WordRules,
        texts: impl IntoIterator<Item = (&'t str, u64)>,
    ) -> Result<(), TrainError> {
        for (text, count) in texts {
            self.add_words(rules, text, count)?;
        }
        self.flush()
    }

    /// Adds the words of a text, none of which ends a sentence.
    fn add_words(&mut self, rules: WordRules, text: &str, count: u64) -> Result<(), TrainError> {
        let mut result = Ok(());
        rules.split(text, |word| {
            if result.is_ok() {
                result = self.add_key(word.as_bytes(), count);
            }
        });
        result
    }

    /// Adds a word that ends a sentence or not.
    pub(super) fn add_word(
        &mut self,
        word: &str,
        ends_sentence: bool,
        count: u64,
    ) -> Result<(), TrainError> {
        if !ends_sentence {
            return self.add_key(word.as_bytes(), count);
        }
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        key.extend_from_slice(word.as_bytes());
        key.push(END_MARK);
        let added = self.add_key(&key, count);
        self.key = key;
        added
    }

    #[inline]
    fn add_key(&mut self, key: &[u8], count: u64) -> Result<(), TrainError> {
        let (Some(cache), Some(text)) = (&mut self.cache, ShortText::new(key)) else {
            return self.adder.add(key, count);
        };
        match cache.add(text, count) {
            None => Ok(()),
            Some(evicted) => add_cached(&mut self.adder, &evicted),
        }
    }

    /// Makes the additions that are still buffered.
    pub(super) fn flush(mut self) -> Result<(), TrainError> {
        if let Some(mut cache) = self.cache {
            for entry in cache.take_entries() {
                add_cached(&mut self.adder, &entry)?;
            }
        }
        self.adder.flush()
    }
}

/// Adds an entry of the cache.
fn add_cached(adder: &mut TableAdder<'_>, entry: &CountedText) -> Result<(), TrainError> {
    adder.add(entry.text.text(&mut [[0; 8]; 2]), entry.count)
}
