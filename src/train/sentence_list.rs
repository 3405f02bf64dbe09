//! Batches -> prepared sentences in their order, in parallel.
//!
//! Input: groups of batches. Output: the sentences that training uses, prepared, in the order of the corpus; a sentence that
//! is empty after its preparation is replaced by the last one, as in the reference.
//!
//! Example: of the sentences `a`, a zero-width space (which normalization removes), `b` and `c`, `▁a`, `▁c` and `▁b` remain.
//!
//! Cost: linear. Memory: the text of all sentences.

use std::ops::ControlFlow;

use rayon::prelude::*;

use super::batch::{Batch, SentenceCounts, SentenceFilter};
use super::options::TrainOptions;
use super::prepare::Preparation;
use super::unigram::sentences::CountedTexts;
use crate::error::TrainError;

/// Sentences read so far.
pub(super) struct SentenceList<'o> {
    options: &'o TrainOptions,
    preparation: Preparation,
    texts: CountedTexts,
    counts: SentenceCounts,
}

impl<'o> SentenceList<'o> {
    pub(super) fn new(options: &'o TrainOptions, preparation: Preparation) -> Self {
        Self {
            options,
            preparation,
            texts: CountedTexts::default(),
            counts: SentenceCounts::default(),
        }
    }

    /// Appends the sentences of some batches.
    ///
    /// # Errors
    /// The error at the earliest position.
    pub(super) fn add(&mut self, batches: &[Batch]) -> Result<(), TrainError> {
        let prepared: Vec<_> = batches
            .par_iter()
            .map(|batch| self.prepare(batch))
            .collect();
        for result in prepared {
            let (counts, texts) = result?;
            self.counts.add(&counts);
            self.texts.append(&texts);
        }
        Ok(())
    }

    fn prepare(&self, batch: &Batch) -> Result<(SentenceCounts, CountedTexts), TrainError> {
        let mut filter = SentenceFilter::new(self.options);
        let mut texts = CountedTexts::default();
        let mut buffer = Vec::new();
        filter.for_each_used(batch, |sentence, count| {
            let text = self.preparation.prepare(sentence, &mut buffer)?;
            texts.push(&text, count);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok((filter.counts, texts))
    }

    /// The sentences that were read, by what became of them, and those to train on.
    ///
    /// # Errors
    /// No sentence has text.
    pub(super) fn finish(mut self) -> Result<(SentenceCounts, CountedTexts), TrainError> {
        self.texts.remove_empty();
        if self.texts.len() == 0 {
            return Err(TrainError::NoText);
        }
        Ok((self.counts, self.texts))
    }
}
