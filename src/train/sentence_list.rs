//! Batches -> prepared sentences in their order, in parallel.
//!
//! A prepared sentence may be empty: the lines `a`, a zero-width space (which normalization
//! removes) and `b` give `▁a`, an empty text, and `▁b`.

use std::ops::ControlFlow;

use rayon::prelude::*;

use super::batch::{Batch, SentenceRules};
use super::prepare::Preparation;
use super::sentence_counts::SentenceCounts;
use super::unigram::sentences::CountedTexts;
use crate::train::TrainError;

/// Prepares sentences and counts the sentences read.
pub(super) struct SentencePreparer {
    rules: SentenceRules,
    preparation: Preparation,
    /// The sentences read, by what became of them.
    pub(super) counts: SentenceCounts,
}

impl SentencePreparer {
    pub(super) fn new(rules: SentenceRules, preparation: Preparation) -> Self {
        Self {
            rules,
            preparation,
            counts: SentenceCounts::default(),
        }
    }

    /// The prepared sentences of each batch. Runs on the threads of the current pool.
    ///
    /// # Errors
    /// The error at the earliest position.
    pub(super) fn prepare(&mut self, batches: &[Batch]) -> Result<Vec<CountedTexts>, TrainError> {
        let prepared: Vec<_> = batches
            .par_iter()
            .map(|batch| self.prepare_batch(batch))
            .collect();
        let mut all = Vec::with_capacity(prepared.len());
        for result in prepared {
            let (counts, texts) = result?;
            self.counts.add(&counts);
            all.push(texts);
        }
        Ok(all)
    }

    fn prepare_batch(&self, batch: &Batch) -> Result<(SentenceCounts, CountedTexts), TrainError> {
        let mut counts = SentenceCounts::default();
        let mut texts = CountedTexts::default();
        let mut buffer = Vec::new();
        batch.for_each_used(self.rules, &mut counts, |sentence, count| {
            let text = self.preparation.prepare(sentence, &mut buffer)?;
            texts.push(&text, count);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok((counts, texts))
    }
}
