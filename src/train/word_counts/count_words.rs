//! The one way in which corpora are counted, whatever their words are.

use super::counts_texts::CountsTexts;
use super::{CountFingerprint, CountsError, WordCounter, WordCounts};
use crate::train::TrainError;
use crate::train::corpus::Corpus;
use crate::train::observer::{Event, Reporter, Summary};
use crate::train::words::ReadTexts;

/// Counts the words that a trainer trains on: the words of a [`Trainer`](crate::Trainer), the
/// pretokens of a [`ByteTrainer`](crate::train::ByteTrainer). Tables of the parts of a corpus can be
/// [added](WordCounts::merge).
///
/// ```
/// use spiece::Corpus;
/// use spiece::train::{ByteTieOrder, ByteTrainOptions, ByteTrainer, CountWords};
///
/// let pretokenizer = ByteTieOrder::default().pretokenizer("gpt2")?;
/// let trainer = ByteTrainer::new(ByteTrainOptions::new(259, pretokenizer))?;
/// let mut counts = trainer.count(Corpus::texts(["low lower"]))?;
/// counts.merge(&trainer.count(Corpus::texts(["lowest"]))?)?;
/// let trained = trainer.train_counts(counts)?;
/// let whole = trainer.train(Corpus::texts(["low lower", "lowest"]))?;
/// assert_eq!(trained.parts(), whole.parts());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait CountWords: CountsTexts {
    /// The options that word counts of this trainer depend on.
    fn count_fingerprint(&self) -> CountFingerprint;

    /// An empty table for the words of this trainer.
    ///
    /// # Errors
    /// The model is a unigram model: [`CountsError::Unigram`].
    fn new_counts(&self) -> Result<WordCounts, TrainError> {
        self.check_counts(false)?;
        Ok(WordCounts::new(self.count_fingerprint()))
    }

    /// Counts the words of a corpus.
    ///
    /// # Errors
    /// The corpus cannot be read; the model is a unigram model. [`TrainError::Cancelled`] if the
    /// observer of the trainer asks to stop.
    fn count(&self, corpus: Corpus<'_>) -> Result<WordCounts, TrainError> {
        let mut counts = self.new_counts()?;
        add_corpus(self, corpus, &mut counts)?;
        Ok(counts)
    }

    /// Adds the words of a part of a corpus to `counts`. If this fails, some words may have been
    /// added.
    ///
    /// # Errors
    /// The corpus cannot be read, or `counts` has another fingerprint. Parts of a corpus cannot be
    /// sampled: [`CountsError::Sampled`]. [`TrainError::Cancelled`] if the observer of the trainer
    /// asks to stop.
    fn count_into(&self, corpus: Corpus<'_>, counts: &mut WordCounts) -> Result<(), TrainError> {
        self.check_counts(true)?;
        check_fits(self, counts)?;
        add_corpus(self, corpus, counts)
    }

    /// A counter for texts that are added one by one, or for a part of a corpus. It uses the threads
    /// that the trainer has.
    ///
    /// # Errors
    /// The model is a unigram model, or not all sentences are wanted
    /// ([`TrainOptions::sentences`](crate::TrainOptions::sentences)).
    fn counter(&self) -> Result<WordCounter<'_>, TrainError>
    where
        Self: Sized,
    {
        self.check_counts(true)?;
        Ok(WordCounter::new(self, self.new_counts()?))
    }
}

/// Adds the words of a corpus to `counts`, and reports its texts.
fn add_corpus(
    trainer: &(impl CountsTexts + ?Sized),
    corpus: Corpus<'_>,
    counts: &mut WordCounts,
) -> Result<(), TrainError> {
    let mut reporter = Reporter::new(trainer.observer());
    let mut read = ReadTexts::default();
    counts.count_into(|table| {
        read = trainer.count_corpus(corpus, table, &mut reporter)?;
        Ok(read.sentences)
    })?;
    reporter.report(Event::Finished(&Summary {
        sentences: read.sentences,
        distinct_words: counts.len(),
        special_tokens: read.special_tokens,
        ..Summary::default()
    }))
}

/// Refuses counts that were made with other options than those of `trainer`.
pub(in crate::train) fn check_fits(
    trainer: &(impl CountWords + ?Sized),
    counts: &WordCounts,
) -> Result<(), CountsError> {
    trainer
        .count_fingerprint()
        .check_equal(counts.fingerprint())
}
