//! Progress events of a training run, and a summary at its end.

use std::ops::ControlFlow;

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
}

/// Receives the events of a training run, on the thread that called
/// [`Trainer::train_observed`](crate::Trainer::train_observed). Closures are observers.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use spiece::train::Event;
/// use spiece::{Corpus, TrainError, TrainOptions, Trainer};
///
/// let mut options = TrainOptions::default();
/// options.vocab_size = 40;
/// options.hard_vocab_limit = false;
/// let trainer = Trainer::new(options)?;
///
/// let mut bytes_read = 0;
/// let mut observer = |event: Event<'_>| {
///     if let Event::Read { bytes, .. } = event {
///         bytes_read = bytes;
///     }
///     ControlFlow::Continue(())
/// };
/// let (model, summary) = trainer.train_observed(Corpus::texts(["pen", "apple"]), &mut observer)?;
/// assert_eq!(bytes_read, 8);
/// assert_eq!(summary.pieces, model.len());
///
/// // An observer can stop the run.
/// let mut stop = |_: Event<'_>| ControlFlow::Break(());
/// let stopped = trainer.train_observed(Corpus::texts(["pen", "apple"]), &mut stop);
/// assert!(matches!(stopped, Err(TrainError::Cancelled)));
/// # Ok::<(), TrainError>(())
/// ```
pub trait Observer {
    /// Called for each event; [`ControlFlow::Break`] ends the run with [`TrainError::Cancelled`].
    fn on_event(&mut self, event: Event<'_>) -> ControlFlow<()>;
}

impl<F: FnMut(Event<'_>) -> ControlFlow<()>> Observer for F {
    fn on_event(&mut self, event: Event<'_>) -> ControlFlow<()> {
        self(event)
    }
}

/// Ignores every event.
pub(crate) struct SilentObserver;

impl Observer for SilentObserver {
    fn on_event(&mut self, _event: Event<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

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
pub(crate) struct Run<'o> {
    pub(crate) reporter: Reporter<'o>,
    pub(crate) pool: Threads,
    pub(crate) summary: Summary,
}

impl<'o> Run<'o> {
    pub(crate) fn new(observer: &'o mut dyn Observer, pool: Threads) -> Self {
        Self {
            reporter: Reporter::new(observer),
            pool,
            summary: Summary::default(),
        }
    }
}

/// Merges between two events.
const MERGES_PER_EVENT: usize = 100;

/// Turns what the stages report into events.
pub(crate) struct Reporter<'o> {
    observer: &'o mut dyn Observer,
    bytes: u64,
    total: Option<u64>,
    merges_wanted: usize,
    merges_reported: usize,
}

impl<'o> Reporter<'o> {
    pub(crate) fn new(observer: &'o mut dyn Observer) -> Self {
        Reporter {
            observer,
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
    pub(crate) fn report(&mut self, event: Event<'_>) -> Result<(), TrainError> {
        self.observer
            .on_event(event)
            .continue_value()
            .ok_or(TrainError::Cancelled)
    }

    pub(crate) fn start(&mut self, stage: Stage) -> Result<(), TrainError> {
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
