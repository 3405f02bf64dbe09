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
//! Byte-level BPE has none of that: the pretokens of raw text are counted as they are
//! ([`pattern_cuts`]), by the same threads, caches and tables.
//!
//! For example, the sentences "to be or not" and "to be, or" have these parts:
//!
//! ```text
//! to be or not   -> ▁to | ▁be | ▁or | ▁not
//! to be, or      -> ▁to | ▁be | , | ▁or          the comma has another script than the letters
//! counts: ▁to 2, ▁be 2, ▁or 2, ▁not 1, "," 1
//! ```

mod chunk_rule;
mod pattern_cuts;
mod prepared_cuts;
mod worker;

use std::cell::{Cell, RefCell};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;

pub(crate) use self::chunk_rule::pieces_are_local;
pub(crate) use self::pattern_cuts::{PatternCuts, PretokenSource};
pub(crate) use self::prepared_cuts::PreparedCuts;
use self::worker::Worker;
use crate::train::TrainError;
use crate::train::batch::{Batch, SentenceRules};
use crate::train::counts::{TableAdder, Tally, WordTable};
use crate::train::parallel::result_of;
use crate::train::sentence_counts::SentenceCounts;
use crate::train::split::parts::PartRules;

/// What is counted of prepared text.
pub(crate) enum CountedUnit {
    /// Its characters, for a char model.
    Characters,
    /// The parts that no piece crosses.
    Parts(PartRules),
}

/// How raw sentences are cut into chunks, and what is counted of a chunk. Equal chunks are counted
/// first, so that what a chunk consists of is found once for many occurrences.
///
/// SentencePiece's models have [`PreparedCuts`], byte-level BPE has [`PatternCuts`].
pub(crate) trait Cuts: Sized + Sync {
    /// What is known of a chunk, and of what it consists of.
    type Tally: Tally;
    /// The state of a thread: what it knows of its batch, and its buffers.
    type Local;

    /// The state of a thread that begins to count.
    fn local(&self) -> Self::Local;

    /// Called before the sentences of a batch are cut, with all of its bytes.
    fn begin_batch(&self, _bytes: &[u8], _local: &mut Self::Local) {}

    /// Adds the chunks of a sentence to `worker`; `occurrence` is how often it occurs, and its
    /// place in the corpus.
    fn cut(
        &self,
        sentence: &[u8],
        occurrence: (u64, u64),
        worker: &mut Worker<'_, '_, Self>,
    ) -> Result<(), TrainError>;

    /// Adds to `words` what is counted of a chunk that occurs so often.
    fn count(
        &self,
        chunk: &[u8],
        count: Self::Tally,
        local: &mut Self::Local,
        words: &mut TableAdder<'_, Self::Tally>,
    ) -> Result<(), TrainError>;

    /// Adds to `words` what is still in the buffers.
    fn finish(
        &self,
        _local: Self::Local,
        _words: &mut TableAdder<'_, Self::Tally>,
    ) -> Result<(), TrainError> {
        Ok(())
    }
}

/// Adds to `counts` what is counted of the sentences of every batch that `feed` sends, without
/// those that `rules` skip, on `threads` threads. `feed` runs on the calling thread, so that it can
/// report progress; it should return when sending fails. A single thread is the calling one, so
/// that platforms without threads can train. Returns the sentences, by what became of them.
///
/// # Errors
/// An error of `feed`, or the error at the earliest position of the input. Some words may have been
/// counted.
pub(crate) fn count_into<C: Cuts>(
    cuts: &C,
    rules: SentenceRules,
    threads: usize,
    counts: &mut WordTable<C::Tally>,
    feed: impl FnOnce(&dyn Fn(Batch) -> bool) -> Result<(), TrainError>,
) -> Result<SentenceCounts, TrainError> {
    let bytes_sent = Cell::new(0);
    let in_order = |batch: Batch| {
        let batch = batch.after(bytes_sent.get());
        bytes_sent.set(bytes_sent.get() + batch.bytes() as u64);
        batch
    };
    counts.with_adders(|adder| {
        let worker = || Worker::new(cuts, rules, adder());
        if threads == 1 {
            let worker = RefCell::new(worker());
            let failed = RefCell::new(None);
            feed(&|batch| {
                let result = worker.borrow_mut().count(&in_order(batch));
                *failed.borrow_mut() = result.err();
                failed.borrow().is_none()
            })?;
            if let Some(error) = failed.into_inner() {
                return Err(error);
            }
            return worker.into_inner().finish();
        }
        let (sender, receiver) = sync_channel(2 * threads);
        let receiver = Mutex::new(receiver);
        let failed = AtomicBool::new(false);
        let (fed, counted) = std::thread::scope(|scope| {
            let count_batches = || worker().count_all(&receiver, &failed);
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(count_batches)).collect();
            let fed = feed(&|batch| {
                !failed.load(Ordering::Relaxed) && sender.send(in_order(batch)).is_ok()
            });
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
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::train::options::TrainOptions;

    /// Runs of letters and of other bytes, of raw text, as they are: what byte-level BPE counts,
    /// for a simple pattern.
    struct LetterRuns;

    impl LetterRuns {
        fn runs(sentence: &[u8]) -> impl Iterator<Item = &[u8]> {
            let is_same = |a: &u8, b: &u8| a.is_ascii_alphabetic() == b.is_ascii_alphabetic();
            sentence.chunk_by(is_same)
        }
    }

    impl Cuts for LetterRuns {
        type Tally = u64;
        type Local = ();

        fn local(&self) {}

        fn cut(
            &self,
            sentence: &[u8],
            (count, _place): (u64, u64),
            worker: &mut Worker<'_, '_, Self>,
        ) -> Result<(), TrainError> {
            Self::runs(sentence).try_for_each(|run| worker.add(run, count))
        }

        fn count(
            &self,
            chunk: &[u8],
            count: u64,
            (): &mut (),
            words: &mut TableAdder<'_>,
        ) -> Result<(), TrainError> {
            words.add(chunk, count)
        }
    }

    fn sentence() -> impl Strategy<Value = Vec<u8>> {
        let bytes = proptest::collection::vec(any::<u8>(), 1..30);
        let words = proptest::collection::vec("[ab]{1,3}|[a-z]{10,90}| |, ", 1..8);
        prop_oneof![bytes, words.prop_map(|words| words.concat().into_bytes())]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        /// Nothing in the counting depends on preparation, or on text that is UTF-8.
        #[test]
        fn chunks_of_raw_bytes_are_counted(
            sentences in proptest::collection::vec((sentence(), 1u64..50), 0..60),
            batch in 1usize..20,
            threads in 1usize..4,
        ) {
            let mut expected: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
            for (sentence, count) in &sentences {
                for run in LetterRuns::runs(sentence) {
                    *expected.entry(run.to_vec()).or_default() += count;
                }
            }
            let rules = SentenceRules::new(&TrainOptions::default());
            let mut table = WordTable::default();
            let counted = count_into(&LetterRuns, rules, threads, &mut table, |send| {
                for sentences in sentences.chunks(batch) {
                    let mut batch = Batch::texts();
                    sentences.iter().for_each(|(text, count)| batch.push(text, *count));
                    assert!(send(batch));
                }
                Ok(())
            });
            prop_assert_eq!(counted.unwrap().used, sentences.len() as u64);
            let mut found = BTreeMap::new();
            for shard in table.shards() {
                shard.visit(|chunk, count| assert!(found.insert(chunk.to_vec(), count).is_none()));
            }
            prop_assert_eq!(found, expected);
        }
    }
}
