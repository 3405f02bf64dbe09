//! Sentences -> distinct words with their counts, in parallel, in memory proportional to the
//! distinct words.
//!
//! One thread reads batches. The others divide them into sentences, prepare these, split the result
//! at its boundaries (see [`crate::train::split`]) and count the parts in shared tables. A part is
//! a word, or a part of a word that ends where punctuation, a digit or another script follows; no
//! merge crosses parts. Addition commutes, so the result does not depend on the number of threads
//! or the size of the batches.
//!
//! Most of a corpus consists of a few words. Where words can be recognized in the raw sentence
//! ([`ChunkRule`](chunk_rule::ChunkRule)), a thread first counts raw chunks in a small cache, and
//! prepares a chunk only when the cache evicts it: once for many occurrences. That is exact because
//! the rule guarantees that preparing a sentence is the same as preparing its chunks one by one.
//! Chunks of plain ASCII ([`PlainBytes`](chunk_rule::PlainBytes)) need no normalization.
//!
//! For example, the sentences "to be or not" and "to be, or" have these parts:
//!
//! ```text
//! to be or not   -> ▁to | ▁be | ▁or | ▁not
//! to be, or      -> ▁to | ▁be | , | ▁or          the comma has another script than the letters
//! counts: ▁to 2, ▁be 2, ▁or 2, ▁not 1, "," 1
//! ```
//!
//! Cost: linear in the corpus, with a few instructions for each byte of a chunk that the cache
//! holds.

mod chunk_rule;
mod context;
mod worker;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;

pub(crate) use self::chunk_rule::pieces_are_local;
pub(crate) use self::context::CountContext;
use self::worker::CountWorker;
use crate::train::TrainError;
use crate::train::batch::{Batch, SentenceCounts};
use crate::train::counts::SharedTable;
use crate::train::parallel::result_of;
use crate::train::split::parts::PartRules;

/// What is counted of prepared text.
pub(crate) enum CountedUnit {
    /// Its characters, for a char model.
    Characters,
    /// The parts that no piece crosses.
    Parts(PartRules),
}

impl CountContext<'_> {
    /// Adds to `counts` what is counted of every batch that `feed` sends. `feed` runs on the calling
    /// thread, so that it can report progress; it should return when sending fails. Returns the
    /// sentences, by what became of them.
    ///
    /// # Errors
    /// An error of `feed`, or the error at the earliest position of the input. Some words may have
    /// been counted.
    pub(crate) fn count_into(
        &self,
        counts: &SharedTable,
        feed: impl FnOnce(&dyn Fn(Batch) -> bool) -> Result<(), TrainError>,
    ) -> Result<SentenceCounts, TrainError> {
        let threads = self.work.threads;
        let (sender, receiver) = sync_channel(2 * threads);
        let receiver = Mutex::new(receiver);
        let failed = AtomicBool::new(false);
        let (fed, counted) = std::thread::scope(|scope| {
            let count_batches = || CountWorker::new(self, counts).run(&receiver, &failed);
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(count_batches)).collect();
            let fed = feed(&|batch| !failed.load(Ordering::Relaxed) && sender.send(batch).is_ok());
            // The workers end when the channel is closed and empty.
            drop(sender);
            // A worker panics if a caller's pre-tokenizer does.
            let counted: Vec<_> = workers.into_iter().map(result_of).collect();
            (fed, counted)
        });
        fed?;
        let mut sum = SentenceCounts::default();
        let mut errors = Vec::new();
        for result in counted {
            match result {
                Ok(counts) => sum.add(&counts),
                Err(error) => errors.push(error),
            }
        }
        let earliest = errors.into_iter().min_by_key(TrainError::location);
        earliest.map_or(Ok(sum), Err)
    }
}
