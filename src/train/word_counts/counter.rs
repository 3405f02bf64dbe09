//! Counting sentence by sentence.
//!
//! The sentences come from a stream that the caller reads: a worker of a cluster adds the rows of
//! its partition and returns the rows of the table. They are collected and counted many at a time,
//! so that the caches of the counting threads are effective (see [`words`](crate::train::words)).

use std::fmt;

use super::WordCounts;
use super::counts_texts::CountsTexts;
use crate::train::TrainError;
use crate::train::batch::Batch;
use crate::train::execution_config::BATCH_BYTES;

/// Bytes of sentences that are counted together, to amortize the cost of starting the counting
/// threads.
const COLLECTED_BYTES: usize = 1 << 24;

/// Counts sentences that are added one at a time. Made by
/// [`CountWords::counter`](super::CountWords::counter).
///
/// ```
/// use spiece::train::CountWords;
/// use spiece::{TrainOptions, Trainer};
///
/// let trainer = Trainer::new(TrainOptions::default())?;
/// let mut counter = trainer.counter()?;
/// counter.add(b"to be or not", 1)?;
/// counter.add_lines(b"to be\nto be, or")?;
/// let counts = counter.finish()?;
/// let mut words = Vec::new();
/// counts.for_each(|word, count| words.push((word.to_owned(), count)));
/// words.sort();
/// assert_eq!(words[0], (",".to_owned(), 1));
/// assert_eq!(words[1], ("\u{2581}be".to_owned(), 3));
/// # Ok::<(), spiece::TrainError>(())
/// ```
pub struct WordCounter<'t> {
    trainer: &'t dyn CountsTexts,
    counts: WordCounts,
    /// Full batches.
    full: Vec<Batch>,
    next: Batch,
    collected_bytes: usize,
}

impl fmt::Debug for WordCounter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WordCounter")
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

impl<'t> WordCounter<'t> {
    pub(in crate::train) fn new(trainer: &'t dyn CountsTexts, counts: WordCounts) -> Self {
        WordCounter {
            trainer,
            counts,
            full: Vec::new(),
            next: Batch::texts(),
            collected_bytes: 0,
        }
    }

    /// Adds a sentence that occurs `count` times. A line feed in it is text.
    ///
    /// # Errors
    /// As [`flush`](Self::flush), if enough sentences were collected to be counted now. A count of
    /// 0 is found only then.
    pub fn add(&mut self, sentence: &[u8], count: u64) -> Result<(), TrainError> {
        self.next.push(sentence, count);
        if self.next.bytes() < BATCH_BYTES {
            return Ok(());
        }
        let batch = std::mem::replace(&mut self.next, Batch::texts());
        self.collected_bytes += batch.bytes();
        self.full.push(batch);
        if self.collected_bytes < COLLECTED_BYTES {
            return Ok(());
        }
        self.flush()
    }

    /// Adds the lines of a text, as if the text were a file: for byte-level BPE with their line
    /// feeds, otherwise without them. A line feed at the end ends the last line; an empty text is
    /// one empty line.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_lines(&mut self, text: &[u8]) -> Result<(), TrainError> {
        let text_end = text.strip_suffix(b"\n").unwrap_or(text).len();
        let line_feed = usize::from(self.trainer.line_feeds_are_text());
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', &text[..text_end]) {
            self.add(&text[start..end + line_feed], 1)?;
            start = end + 1;
        }
        let end = if line_feed == 0 { text_end } else { text.len() };
        self.add(&text[start..end], 1)
    }

    /// Counts everything that was added.
    ///
    /// # Errors
    /// A sentence was added with the count 0; a pre-tokenizer fails.
    pub fn flush(&mut self) -> Result<(), TrainError> {
        let mut batches = std::mem::take(&mut self.full);
        batches.push(std::mem::replace(&mut self.next, Batch::texts()));
        self.collected_bytes = 0;
        self.counts
            .count_into(|table| self.trainer.count_batches(batches, table))
    }

    /// The words counted so far. Call [`flush`](Self::flush) before to count all sentences that
    /// were added.
    pub fn counts(&self) -> &WordCounts {
        &self.counts
    }

    /// As [`counts`](Self::counts), to be [drained](WordCounts::drain).
    pub fn counts_mut(&mut self) -> &mut WordCounts {
        &mut self.counts
    }

    /// The words of all sentences.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn finish(mut self) -> Result<WordCounts, TrainError> {
        self.flush()?;
        Ok(self.counts)
    }
}
