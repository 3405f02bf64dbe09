//! Texts -> distinct words with their counts, in parallel, in memory proportional to the distinct
//! words. A word is what merging begins with: a part of a sentence that no piece of SentencePiece's
//! models crosses, or a pretoken of byte-level BPE.
//!
//! One thread reads batches; the others take them ([`worker`]). Each stage returns what the next
//! one takes:
//!
//! ```text
//! batch -> sentences -> chunks -> equal chunks with their counts -> words -> table
//!          batch        chunks    chunk_counter                       parts    counts
//! ```
//!
//! 1. A sentence is cut into *chunks* ([`chunks`]): where its words can be recognized in raw text
//!    ([`chunk_rule`]), into these, otherwise it is one chunk. The chunks of byte-level BPE are its
//!    pretokens ([`pretokens`]).
//! 2. Equal chunks are counted ([`chunk_counter`]). Most of a corpus consists of a few words, so what
//!    follows is done once for many occurrences. That is exact, because the rule guarantees that
//!    preparing a sentence is the same as preparing its chunks one by one.
//! 3. A chunk is prepared and divided at its boundaries (see [`crate::train::split`]) into words
//!    ([`parts`]): a word, or a part of one that ends where punctuation, a digit or another script
//!    follows. A pretoken is a word as it is.
//! 4. The words are added to a table that all threads share. Addition commutes, so the result does
//!    not depend on the number of threads or the size of the batches.
//!
//! For example, the sentences "to be or not" and "to be, or":
//!
//! ```text
//! chunks   to 2, be 1, or 2, not 1, "be," 1
//! words    ▁to 2, ▁be 2, ▁or 2, ▁not 1, "," 1      the comma has another script than the letters
//! ```

mod chunk_counter;
mod chunk_rule;
mod chunks;
mod parts;
mod pretokens;
mod worker;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;

pub(crate) use self::chunk_rule::pieces_are_local;
pub(crate) use self::parts::{CountedUnit, PreparedText};
pub(crate) use self::pretokens::PretokenSource;
use self::worker::Worker;
use crate::train::TrainError;
use crate::train::batch::{Batch, SentenceRules};
use crate::train::parallel::result_of;
use crate::train::sentence_counts::SentenceCounts;
use crate::train::word_table::WordTable;

/// What divides texts into the words that are counted.
pub(crate) enum WordSource<'v> {
    /// SentencePiece's rules.
    Prepared(&'v PreparedText),
    /// Those of byte-level BPE.
    Pretokens(PretokenSource<'v>),
}

/// What became of texts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ReadTexts {
    pub(crate) sentences: SentenceCounts,
    /// How often special tokens were found, if the source looks for them.
    pub(crate) special_tokens: u64,
}

impl ReadTexts {
    fn add(&mut self, other: &Self) {
        self.sentences.add(&other.sentences);
        self.special_tokens += other.special_tokens;
    }
}

/// How texts are counted.
pub(crate) struct WordCounting<'c> {
    pub(crate) source: &'c WordSource<'c>,
    /// Which sentences are counted.
    pub(crate) rules: SentenceRules,
    pub(crate) threads: usize,
}

impl WordCounting<'_> {
    /// Adds the words of the sentences of all batches to `counts`. The batches are taken on the
    /// calling thread. A single thread is the calling one, so that platforms without threads can
    /// train.
    ///
    /// # Errors
    /// An error of `batches`, or the error at the earliest position of the input. Some words may
    /// have been counted.
    pub(crate) fn count(
        &self,
        mut batches: impl Iterator<Item = Result<Batch, TrainError>>,
        counts: &mut WordTable,
    ) -> Result<ReadTexts, TrainError> {
        counts.with_adders(|adder| {
            let worker = || Worker::new(self.source, self.rules, adder());
            if self.threads == 1 {
                let mut worker = worker();
                batches.try_for_each(|batch| worker.count(&batch?))?;
                return worker.finish();
            }
            let (sender, receiver) = sync_channel(2 * self.threads);
            let receiver = Mutex::new(receiver);
            let failed = AtomicBool::new(false);
            let (sent, counted) = std::thread::scope(|scope| {
                let count_batches = || worker().count_all(&receiver, &failed);
                let workers: Vec<_> = (0..self.threads)
                    .map(|_| scope.spawn(count_batches))
                    .collect();
                let sent = batches.try_for_each(|batch| {
                    // No worker receives after a failure, which is returned below.
                    if !failed.load(Ordering::Relaxed) && sender.send(batch?).is_ok() {
                        return Ok(());
                    }
                    Err(None)
                });
                // The workers end when the channel is closed and empty.
                drop(sender);
                // A worker panics if a caller's pre-tokenizer does.
                let counted: Vec<_> = workers.into_iter().map(result_of).collect();
                (sent, counted)
            });
            if let Err(Some(error)) = sent {
                return Err(error);
            }
            let mut sum = ReadTexts::default();
            let mut errors = Vec::new();
            for result in counted {
                match result {
                    Ok(texts) => sum.add(&texts),
                    Err(error) => errors.push(error),
                }
            }
            let earliest = errors.into_iter().min_by_key(TrainError::location);
            earliest.map_or(Ok(sum), Err)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::train::ByteTieOrder;
    use crate::train::options::TrainOptions;

    fn sentence() -> impl Strategy<Value = Vec<u8>> {
        let bytes = proptest::collection::vec(any::<u8>(), 1..30);
        let words = proptest::collection::vec("[ab]{1,3}|[a-z]{10,90}| |, ", 1..8);
        prop_oneof![bytes, words.prop_map(|words| words.concat().into_bytes())]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        /// SentenceChunks of every length, in batches of any size, on any number of threads.
        #[test]
        fn counted_pretokens_are_those_of_each_text(
            sentences in proptest::collection::vec((sentence(), 1u64..50), 0..60),
            batch in 1usize..20,
            threads in 1usize..4,
        ) {
            let pretokenizer = ByteTieOrder::default().pretokenizer("gpt2").unwrap();
            let mut expected: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
            for (sentence, count) in &sentences {
                // A byte that is not UTF-8 is U+FFFD.
                let mut text = String::new();
                for chunk in sentence.utf8_chunks() {
                    text.push_str(chunk.valid());
                    text.extend(chunk.invalid().iter().map(|_| '\u{FFFD}'));
                }
                for pretoken in pretokenizer.pretokens(&text) {
                    *expected.entry(pretoken.as_bytes().to_vec()).or_default() += count;
                }
            }
            let mut table = WordTable::default();
            let batches = sentences.chunks(batch).map(|sentences| {
                let mut batch = Batch::texts();
                sentences.iter().for_each(|(text, count)| batch.push(text, *count));
                Ok(batch)
            });
            let counting = WordCounting {
                source: &WordSource::Pretokens(PretokenSource::Pattern(&pretokenizer)),
                rules: SentenceRules::new(&TrainOptions::default()),
                threads,
            };
            let read = counting.count(batches, &mut table).unwrap();
            prop_assert_eq!(read.sentences.used, sentences.len() as u64);
            let mut found = BTreeMap::new();
            for shard in table.shards() {
                shard.visit(|chunk, count| assert!(found.insert(chunk.to_vec(), count).is_none()));
            }
            prop_assert_eq!(found, expected);
        }
    }
}
