//! Word counts as data: counting and training as two steps, which may run at different times and on
//! different machines.
//!
//! Everything that BPE, word and char training needs of a corpus is a table of words with their
//! counts (see [`words`](crate::train::words)). [`WordCounts`] is that table. From the sum of the
//! tables of parts of a corpus, counted by trainers with equal options, [`Trainer::train_counts`]
//! makes the model that [`Trainer::train`] makes of the whole corpus, byte for byte.
//!
//! Addition commutes, so tables of any parts of the corpus can be added in any order. A table
//! carries a [`CountFingerprint`]: the options that its words depend on. Tables with
//! different fingerprints cannot be added to each other, and a trainer refuses a table with a
//! fingerprint other than its own. The vocabulary size, the character coverage and the required
//! characters are not part of the fingerprint: words are counted once, and many vocabularies can be
//! trained from them.
//!
//! Example: "to be or not" is counted on one machine and "to be, or" on another.
//!
//! ```text
//! table 1: ▁to 1  ▁be 1  ▁or 1  ▁not 1
//! table 2: ▁to 1  ▁be 1  , 1    ▁or 1
//! sum:     ▁to 2  ▁be 2  ▁or 2  ▁not 1  , 1
//! ```
//!
//! Unigram models cannot be trained from counts. Their training begins with candidates that are
//! found by a search in the text of the sentences, in chunks of 500 MiB in the order of the corpus.
//! Ties between candidates with equal scores are broken by their positions in the corpus, which a
//! table of words does not have.
//!
//! A table takes 32 to 40 bytes for each distinct word, and the text of words of more than 15
//! bytes.

mod count_words;
mod counter;
mod counts_texts;
mod error;
#[cfg(feature = "parquet")]
mod file;
mod fingerprint;
mod rows;
#[cfg(test)]
mod tests;

use std::fmt;
use std::num::NonZeroU64;

use rayon::prelude::*;

pub use self::count_words::CountWords;
pub(in crate::train) use self::count_words::check_fits;
pub use self::counter::WordCounter;
pub(in crate::train) use self::counts_texts::CountsTexts;
pub use self::error::CountsError;
pub use self::fingerprint::CountFingerprint;
pub use self::rows::CountRows;
use super::Trainer;
use super::batch::Batch;
use super::corpus::Corpus;
use super::error::TrainError;
use super::observer::{Observer, Reporter, Run};
use super::options::{OptionError, SentenceSelection};
use super::sentence_counts::SentenceCounts;
use super::split::kept_pairs::KeptPairs;
use super::split::parts::{PartRules, PartSplitter};
use super::word_table::WordTable;
use super::words::ReadTexts;
use crate::model::{Model, ModelType};

/// Words with their counts, and the options that they depend on. Made by [`CountWords`].
///
/// ```
/// use spiece::train::CountWords;
/// use spiece::{Corpus, TrainOptions, Trainer};
///
/// let mut options = TrainOptions::default();
/// options.vocab_size = 40;
/// options.hard_vocab_limit = false;
/// let trainer = Trainer::new(options)?;
///
/// let mut counts = trainer.count(Corpus::texts(["pen", "pineapple"]))?;
/// counts.merge(&trainer.count(Corpus::texts(["apple", "pen"]))?)?;
/// let model = trainer.train_counts(counts)?;
///
/// let whole = trainer.train(Corpus::texts(["pen", "pineapple", "apple", "pen"]))?;
/// assert_eq!(model.to_bytes(), whole.to_bytes());
/// # Ok::<(), spiece::TrainError>(())
/// ```
pub struct WordCounts {
    words: WordTable,
    sentences: SentenceCounts,
    fingerprint: CountFingerprint,
    /// The names of the inputs, as the model records them.
    inputs: Vec<String>,
    /// The format of all inputs, as `spm_train` names it.
    input_format: String,
}

impl fmt::Debug for WordCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WordCounts")
            .field("words", &self.len())
            .field("sentences", &self.sentences)
            .finish_non_exhaustive()
    }
}

impl WordCounts {
    /// An empty table for words that are counted with these options.
    pub fn new(fingerprint: CountFingerprint) -> Self {
        Self {
            words: WordTable::default(),
            sentences: SentenceCounts::default(),
            fingerprint,
            inputs: Vec::new(),
            input_format: String::new(),
        }
    }

    /// As [`for_each`](Self::for_each), in the order of the bytes of the words. Needs 16 more bytes
    /// for each word.
    ///
    /// # Errors
    /// The first error of `visit`.
    pub fn for_each_sorted<E>(
        &self,
        mut visit: impl FnMut(&str, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        self.words
            .for_each_sorted(|word, count| visit(text_of(word), count))
    }

    /// The number of distinct words.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there is no word.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The sentences that were read, by what became of them.
    pub fn sentences(&self) -> SentenceCounts {
        self.sentences
    }

    /// The options that the words depend on.
    pub fn fingerprint(&self) -> &CountFingerprint {
        &self.fingerprint
    }

    /// The names of the inputs whose words were counted, in the form of
    /// [`TrainFlags::input`](crate::TrainFlags::input).
    pub fn inputs(&self) -> &[String] {
        &self.inputs
    }

    /// The format of the inputs, in the form of
    /// [`TrainFlags::input_format`](crate::TrainFlags::input_format).
    pub fn input_format(&self) -> &str {
        &self.input_format
    }

    /// Records that words of this input were counted. A model trained from the table with
    /// [`TrainFlags`](crate::TrainFlags) can then record the same inputs as training on the text.
    ///
    /// # Errors
    /// Earlier inputs have another format: a model records one format for all inputs.
    pub fn add_input(&mut self, format: &str, name: impl Into<String>) -> Result<(), TrainError> {
        if self.inputs.is_empty() {
            self.input_format = format.to_owned();
        } else if self.input_format != format {
            return Err(self.other_format(format).into());
        }
        self.inputs.push(name.into());
        Ok(())
    }

    fn other_format(&self, found: &str) -> CountsError {
        CountsError::Different {
            option: "input_format".to_owned(),
            expected: self.input_format.clone(),
            found: found.to_owned(),
        }
    }

    /// Adds `count` to the count of a word. The sum is checked when the table is written or trained
    /// on.
    ///
    /// # Errors
    /// The word is empty or the count is 0: [`CountsError::InvalidRow`].
    pub fn add(&mut self, word: &str, count: u64) -> Result<(), TrainError> {
        let problem = if word.is_empty() {
            "an empty word"
        } else if count == 0 {
            "the count 0"
        } else {
            return self.words.add(word.as_bytes(), count);
        };
        Err(CountsError::InvalidRow { problem }.into())
    }

    /// Adds to the numbers of sentences.
    pub fn add_sentences(&mut self, sentences: &SentenceCounts) {
        self.sentences.add(sentences);
    }

    /// Adds the words and sentences of another table.
    ///
    /// # Errors
    /// Its words were counted with other options: [`CountsError::Different`]; or on a selection of
    /// the sentences: [`CountsError::Sampled`].
    pub fn merge(&mut self, other: &Self) -> Result<(), TrainError> {
        self.fingerprint.check_equal(&other.fingerprint)?;
        if self.fingerprint.is_of_selection() {
            return Err(CountsError::Sampled.into());
        }
        for shard in other.words.shards() {
            shard.for_each(|word, count| self.words.add(word, count))?;
        }
        self.sentences.add(&other.sentences);
        let mut inputs = other.inputs.iter();
        inputs.try_for_each(|name| self.add_input(&other.input_format, name))
    }

    /// Adds the words and sentences that `count` counts into the table. If it fails, some words may
    /// have been added.
    pub(in crate::train) fn count_into(
        &mut self,
        count: impl FnOnce(&mut WordTable) -> Result<SentenceCounts, TrainError>,
    ) -> Result<(), TrainError> {
        let counted = count(&mut self.words)?;
        self.sentences.add(&counted);
        Ok(())
    }

    /// The table of the words.
    pub(in crate::train) fn into_words(self) -> WordTable {
        self.words
    }

    /// Refuses a word for which `is_word` is false. The words are divided among the threads of the
    /// current pool, each with a value that `start` makes.
    pub(in crate::train) fn check_words<S>(
        &self,
        start: impl Fn() -> S + Send + Sync,
        is_word: impl Fn(&mut S, &str) -> bool + Sync,
    ) -> Result<(), CountsError> {
        let shards = self.words.shards().par_iter();
        shards.try_for_each_init(start, |started, shard| {
            shard.for_each(|word, _| {
                let word = text_of(word);
                match is_word(started, word) {
                    true => Ok(()),
                    false => Err(CountsError::NotAWord {
                        word: word.to_owned(),
                    }),
                }
            })
        })
    }

    /// Calls `visit` with each word and its count, in no particular order. A count of 2^64 or more
    /// is `u64::MAX`.
    pub fn for_each(&self, mut visit: impl FnMut(&str, u64)) {
        for shard in self.words.shards() {
            shard.visit(|word, count| visit(text_of(word), count));
        }
    }

    /// Calls `visit` as [`for_each`](Self::for_each) does, and removes all words. The numbers of
    /// sentences are kept, and so is the memory, for reuse.
    ///
    /// A counter with bounded memory adds sentences until it has a certain number of words, and
    /// then passes the words to another table that sums them:
    ///
    /// ```
    /// use std::collections::HashMap;
    ///
    /// use spiece::train::CountWords;
    /// use spiece::{Corpus, TrainOptions, Trainer};
    ///
    /// let trainer = Trainer::new(TrainOptions::default())?;
    /// let mut sums: HashMap<String, u64> = HashMap::new();
    /// let mut counts = trainer.new_counts()?;
    /// for part in [["to be", "or not"], ["to be", ""]] {
    ///     trainer.count_into(Corpus::texts(part), &mut counts)?;
    ///     counts.drain(|word, count| *sums.entry(word.to_owned()).or_default() += count);
    /// }
    /// assert!(counts.is_empty());
    /// assert_eq!(sums["\u{2581}be"], 2);
    /// assert_eq!((counts.sentences().used, counts.sentences().empty), (3, 1));
    /// # Ok::<(), spiece::TrainError>(())
    /// ```
    pub fn drain(&mut self, visit: impl FnMut(&str, u64)) {
        self.for_each(visit);
        self.words.clear();
    }
}

/// A counted word as text: words are parts of valid text, and are checked when they are added.
fn text_of(word: &[u8]) -> &str {
    std::str::from_utf8(word).unwrap_or_default()
}

#[allow(private_interfaces)]
impl CountsTexts for Trainer {
    fn observer(&self) -> &Observer {
        &self.observer
    }

    fn line_feeds_are_text(&self) -> bool {
        false
    }

    fn check_counts(&self, of_part: bool) -> Result<(), CountsError> {
        if self.options.model_type == ModelType::Unigram {
            return Err(CountsError::Unigram);
        }
        match self.options.sentences {
            SentenceSelection::All => Ok(()),
            _ if of_part => Err(CountsError::Sampled),
            _ => Ok(()),
        }
    }

    fn count_batches(
        &self,
        batches: Vec<Batch>,
        counts: &mut WordTable,
    ) -> Result<SentenceCounts, TrainError> {
        self.reader()?.count_batches(batches, counts)
    }

    fn count_corpus(
        &self,
        corpus: Corpus<'_>,
        counts: &mut WordTable,
        reporter: &mut Reporter,
    ) -> Result<ReadTexts, TrainError> {
        let sentences = self.reader()?.count_words_into(corpus, counts, reporter)?;
        Ok(ReadTexts {
            sentences,
            special_tokens: 0,
        })
    }
}

impl CountWords for Trainer {
    fn count_fingerprint(&self) -> CountFingerprint {
        CountFingerprint::of(self)
    }
}

impl Trainer {
    /// Trains a model on counted words: the model that [`Trainer::train`] makes of the text.
    ///
    /// # Errors
    /// The words were counted with other options, or the options never yield one of the words: see
    /// [`CountsError`]. Also the errors of [`Trainer::train`].
    pub fn train_counts(&self, counts: WordCounts) -> Result<Model, TrainError> {
        let mut run = Run::new(&self.observer, self.work.thread_pool()?);
        self.check_counts(false)?;
        check_fits(self, &counts)?;
        self.options.check_used(&counts.sentences)?;
        if counts.is_empty() {
            return Err(TrainError::NoCharacters);
        }
        run.pool.install(|| self.check_words(&counts))?;
        run.summary.sentences = counts.sentences;
        let learned = self.learn_from_words(counts.words, &mut run)?;
        self.finish(learned, run)
    }

    /// Trains without the words that occur less often than `min_count`. This approximation needs
    /// less memory: the limit of 2^32 - 1 characters in distinct words applies to the remaining
    /// words only. Characters are counted before the words are removed, so the alphabet does not
    /// change. Pieces that occur mostly in rare words come later in the order or not at all; the
    /// scores of a word model are relative to the sum of the remaining words.
    ///
    /// # Errors
    /// The model is a unigram model.
    ///
    /// ```
    /// use std::num::NonZeroU64;
    ///
    /// let mut options = spiece::TrainOptions::default();
    /// options.vocab_size = 40;
    /// options.hard_vocab_limit = false;
    /// let two = NonZeroU64::new(2).unwrap();
    /// let trainer = spiece::Trainer::new(options)?.with_min_word_count(two)?;
    /// let model = trainer.train(spiece::Corpus::texts(["pen pen", "apple"]))?;
    /// let has = |text: &str| model.pieces().any(|piece| piece.text == text.as_bytes());
    /// assert!(has("\u{2581}pen") && has("l") && !has("le"));
    /// # Ok::<(), spiece::TrainError>(())
    /// ```
    pub fn with_min_word_count(mut self, min_count: NonZeroU64) -> Result<Self, TrainError> {
        if self.options.model_type == ModelType::Unigram {
            return Err(OptionError::Conflict {
                option: "min_word_count",
                problem: "unigram training has no table of words to remove words from".to_owned(),
                remedy: "train a bpe, word or char model, or use input_sentence_size",
            }
            .into());
        }
        self.min_word_count = min_count;
        Ok(self)
    }

    /// Refuses words that the options never yield. A word that they do yield is a single part when
    /// split again, since boundaries depend only on adjacent characters.
    fn check_words(&self, counts: &WordCounts) -> Result<(), CountsError> {
        let rules = PartRules::new(&self.options, KeptPairs::default());
        counts.check_words(
            || PartSplitter::new(&rules),
            |splitter, word| {
                let mut parts = 0;
                splitter.split(word, |_| parts += 1);
                parts == 1
            },
        )
    }
}
