//! Distinct pretokens in the order of their first occurrences, for [`FirstPlaces`].
//!
//! Texts are read in their order on one thread. For example, ` to be to` and ` or be` give
//! ` to` 2, ` be` 2, ` or` 1.

use std::hash::BuildHasher;
use std::ops::{ControlFlow, Range};

use foldhash::fast::SeedableRandomState;
use hashbrown::HashTable;

use super::PretokenReader;
use crate::base::TextArena;
use crate::train::TrainError;
use crate::train::corpus::Corpus;
use crate::train::observer::Run;
use crate::train::words::ReadTexts;

/// Texts with their counts, in the order in which they were first added.
#[derive(Default)]
pub(super) struct OrderedCounts {
    texts: TextArena,
    counts: Vec<u64>,
    /// The indexes of the texts.
    index: HashTable<usize>,
    hasher: SeedableRandomState,
}

impl OrderedCounts {
    /// The pretokens of a corpus.
    pub(super) fn read(
        reader: &PretokenReader<'_>,
        corpus: Corpus<'_>,
        run: &mut Run,
    ) -> Result<Self, TrainError> {
        let mut counts = Self::default();
        let mut batches = reader.batches(corpus, &mut run.reporter)?;
        let mut read = ReadTexts::default();
        while let Some(batch) = batches.next(&mut run.reporter)? {
            batch.for_each_used(reader.rules(), &mut read.sentences, |text, count| {
                let add: &mut dyn FnMut(&[u8], Range<usize>) =
                    &mut |text, pretoken| counts.add(&text[pretoken], count);
                let special = reader.source.for_each(text, add)?;
                read.special_tokens += special * count;
                Ok(ControlFlow::Continue(()))
            })?;
        }
        read.sentences.add(&batches.skipped());
        read.summarize(counts.counts.len(), &mut run.summary)?;
        Ok(counts)
    }

    fn add(&mut self, text: &[u8], count: u64) {
        let Self {
            texts,
            counts,
            index,
            hasher,
        } = self;
        let hash = hasher.hash_one(text);
        if let Some(found) = index.find(hash, |found| texts.get(*found) == text) {
            counts[*found] = counts[*found].saturating_add(count);
            return;
        }
        index.insert_unique(hash, counts.len(), |found| {
            hasher.hash_one(texts.get(*found))
        });
        texts.push(text);
        counts.push(count);
    }

    /// The texts that occur at least `min_count` times.
    pub(super) fn frequent(&self, min_count: u64) -> impl Iterator<Item = (&[u8], u64)> + Clone {
        let counts = self.counts.iter().copied().enumerate();
        let frequent = counts.filter(move |(_, count)| *count >= min_count);
        frequent.map(|(index, count)| (self.texts.get(index), count))
    }
}
