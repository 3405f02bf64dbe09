//! Progress events of a training run, and a summary at its end.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::input::InputWarning;
use crate::train::TrainError;
use crate::train::alphabet::Alphabet;
use crate::train::bpe::merge::LearnedMerge;
use crate::train::execution_config::Threads;
use crate::train::sentence_counts::SentenceCounts;

/// The stages of a training run, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// Drawing a sample of the sentences.
    Sampling,
    /// Reading, normalizing and counting.
    Reading,
    /// Choosing the characters.
    Characters,
    /// Merging pairs (BPE models).
    Merging,
    /// Finding candidate pieces (unigram models).
    Seeding,
    /// Estimating the scores of pieces and dropping pieces (unigram models).
    Estimating,
    /// Putting the pieces in order.
    Assembling,
}

/// Something that happened in a training run.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A stage begins.
    Started(Stage),
    /// Input was read. Bytes are counted after decompression.
    Read {
        /// Bytes so far.
        bytes: u64,
        /// Bytes in all, if known.
        total: Option<u64>,
    },
    /// The input is probably not what was meant. Reported again when the file is read again.
    Warned(&'a InputWarning),
    /// Pairs were merged. Reported about once every hundred merges, and after the last one.
    Merged {
        /// Merges so far.
        done: usize,
        /// Merges wanted.
        wanted: usize,
        /// The text of the last new piece.
        piece: &'a str,
        /// How often the pair that it was merged from occurred.
        count: u64,
    },
    /// The scores of the pieces of a unigram model were estimated. Reported once per iteration.
    Estimated {
        /// Iterations so far.
        iteration: usize,
        /// Pieces that remain.
        pieces: usize,
        /// Pieces at which the estimation ends.
        wanted: usize,
        /// The average natural logarithm of the probability of a word of the corpus, before this
        /// iteration.
        log_likelihood: f64,
    },
    /// The run is done; its result is returned next.
    Finished(&'a Summary),
}

/// A function that is called with the events of training, counting and extending, on the thread that
/// calls these. It is a setting of a trainer
/// ([`Trainer::with_observer`](crate::Trainer::with_observer)) and of
/// [`ExtendOptions`](crate::adapt::ExtendOptions). The default ignores all events. Two observers are
/// equal if one is a clone of the other, or if they ignore all events.
///
/// ```
/// use std::ops::ControlFlow;
/// use std::sync::mpsc::channel;
///
/// use spiece::train::{Event, Observer};
/// use spiece::{Corpus, TrainError, TrainOptions, Trainer};
///
/// let mut options = TrainOptions::default();
/// options.vocab_size = 40;
/// options.hard_vocab_limit = false;
/// let (sender, summaries) = channel();
/// let observer = Observer::new(move |event| {
///     if let Event::Finished(summary) = event {
///         sender.send(summary.clone()).expect("the receiver lives");
///     }
///     ControlFlow::Continue(())
/// });
/// let trainer = Trainer::new(options)?.with_observer(observer);
/// let model = trainer.train(Corpus::texts(["pen", "apple"]))?;
/// assert_eq!(summaries.recv().map(|summary| summary.pieces), Ok(model.len()));
///
/// // An observer can stop the run.
/// let trainer = trainer.with_observer(Observer::new(|_| ControlFlow::Break(())));
/// let stopped = trainer.train(Corpus::texts(["pen", "apple"]));
/// assert!(matches!(stopped, Err(TrainError::Cancelled)));
/// # Ok::<(), TrainError>(())
/// ```
#[derive(Clone, Default)]
pub struct Observer(Option<Arc<EventFunction>>);

type EventFunction = dyn Fn(Event<'_>) -> ControlFlow<()> + Send + Sync;

impl Observer {
    /// An observer that calls `on_event` with each event; [`ControlFlow::Break`] ends the run with
    /// [`TrainError::Cancelled`].
    pub fn new(on_event: impl Fn(Event<'_>) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(on_event)))
    }

    /// Hands an event to the function.
    ///
    /// # Errors
    /// [`TrainError::Cancelled`] if it asks to stop.
    pub(crate) fn report(&self, event: Event<'_>) -> Result<(), TrainError> {
        match self.0.as_ref().map(|on_event| on_event(event)) {
            None | Some(ControlFlow::Continue(())) => Ok(()),
            Some(ControlFlow::Break(())) => Err(TrainError::Cancelled),
        }
    }
}

#[cfg(test)]
impl Observer {
    /// An observer that sends the figures of each run.
    pub(crate) fn of_summaries() -> (Self, std::sync::mpsc::Receiver<Summary>) {
        let (sender, summaries) = std::sync::mpsc::channel();
        let observer = Self::new(move |event| {
            if let Event::Finished(summary) = event {
                sender.send(summary.clone()).unwrap();
            }
            ControlFlow::Continue(())
        });
        (observer, summaries)
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            None => "Observer(silent)",
            Some(_) => "Observer(function)",
        })
    }
}

impl PartialEq for Observer {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

impl Eq for Observer {}

/// What a training run found.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Summary {
    /// Sentences, by what became of them.
    pub sentences: SentenceCounts,
    /// Distinct words (more exactly: distinct parts of text that no piece crosses, which are
    /// characters for char models).
    pub distinct_words: usize,
    /// Characters that have a piece of their own. With `auto_character_coverage` and in continued
    /// training: characters that may get one.
    pub characters: usize,
    /// The share of all characters read that these are; 0 in continued training.
    pub coverage: f64,
    /// Pieces made by merging. In continued training: all new pieces, including characters.
    pub merges: usize,
    /// Pieces of all kinds.
    pub pieces: usize,
    /// In byte-level training on texts: how often special tokens were found in them. They are left out
    /// with `split_special_tokens`, and are text like any other without it.
    pub special_tokens: u64,
}

impl Summary {
    pub(crate) fn note_alphabet(&mut self, alphabet: &Alphabet) {
        self.characters = alphabet.characters.len();
        self.coverage = alphabet.coverage;
    }
}

/// State shared by the stages of a training run.
pub(crate) struct Run {
    pub(crate) reporter: Reporter,
    pub(crate) pool: Threads,
    pub(crate) summary: Summary,
}

impl Run {
    pub(crate) fn new(observer: &Observer, pool: Threads) -> Self {
        Self {
            reporter: Reporter::new(observer),
            pool,
            summary: Summary::default(),
        }
    }

    /// Reports the end of the run.
    pub(crate) fn finish(self) -> Result<(), TrainError> {
        self.reporter.report(Event::Finished(&self.summary))
    }
}

/// Merges between two events.
const MERGES_PER_EVENT: usize = 100;

/// Turns what the stages report into events.
pub(crate) struct Reporter {
    observer: Observer,
    bytes: u64,
    total: Option<u64>,
    merges_wanted: usize,
    merges_reported: usize,
}

impl Reporter {
    pub(crate) fn new(observer: &Observer) -> Self {
        Self {
            observer: observer.clone(),
            bytes: 0,
            total: None,
            merges_wanted: 0,
            merges_reported: 0,
        }
    }

    /// Hands an event to the observer.
    ///
    /// # Errors
    /// [`TrainError::Cancelled`] if the observer asks to stop.
    pub(crate) fn report(&self, event: Event<'_>) -> Result<(), TrainError> {
        self.observer.report(event)
    }

    pub(crate) fn start(&self, stage: Stage) -> Result<(), TrainError> {
        self.report(Event::Started(stage))
    }

    /// Begins a pass over `total` bytes, if known.
    pub(crate) fn expect_bytes(&mut self, total: Option<u64>) {
        self.bytes = 0;
        self.total = total;
    }

    pub(crate) fn read(&mut self, bytes: usize) -> Result<(), TrainError> {
        self.bytes += bytes as u64;
        self.report(Event::Read {
            bytes: self.bytes,
            total: self.total,
        })
    }

    pub(crate) fn expect_merges(&mut self, wanted: usize) {
        self.merges_wanted = wanted;
        self.merges_reported = 0;
    }

    pub(crate) fn merged(&mut self, merges: &[LearnedMerge]) -> Result<(), TrainError> {
        if merges.len().is_multiple_of(MERGES_PER_EVENT) {
            return self.report_merges(merges);
        }
        Ok(())
    }

    /// Reports the number of merges at the end, however many there are.
    pub(crate) fn end_merges(&mut self, merges: &[LearnedMerge]) -> Result<(), TrainError> {
        if merges.len() == self.merges_reported {
            return Ok(());
        }
        self.report_merges(merges)
    }

    fn report_merges(&mut self, merges: &[LearnedMerge]) -> Result<(), TrainError> {
        let Some(last) = merges.last() else {
            return Ok(());
        };
        self.merges_reported = merges.len();
        self.report(Event::Merged {
            done: merges.len(),
            wanted: self.merges_wanted,
            piece: &last.to_text(),
            count: last.count,
        })
    }
}
