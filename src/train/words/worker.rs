//! One thread's part of the counting: the stages of the [parent module](super), in their order.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

use super::chunk_counter::{ChunkCounter, Released};
use super::chunks::SentenceChunks;
use super::parts::PartCounter;
use super::{ReadTexts, WordSource};
use crate::train::TrainError;
use crate::train::batch::{Batch, SentenceRules};
use crate::train::word_table::TableAdder;

/// Counts the sentences of batches, for one thread.
pub(super) struct Worker<'c, 't> {
    source: &'c WordSource<'c>,
    rules: SentenceRules,
    read: ReadTexts,
    chunks: SentenceChunks,
    cache: ChunkCounter<'t>,
    released: Released,
    parts: PartCounter<'c, 't>,
}

impl<'c, 't> Worker<'c, 't> {
    pub(super) fn new(
        source: &'c WordSource<'c>,
        rules: SentenceRules,
        words: TableAdder<'t>,
    ) -> Self {
        Self {
            source,
            rules,
            read: ReadTexts::default(),
            chunks: SentenceChunks::default(),
            cache: ChunkCounter::new(words.hasher()),
            released: Released::default(),
            parts: PartCounter::new(source, words),
        }
    }

    /// Counts batches until there are no more, or until an error, which sets `failed`.
    pub(super) fn count_all(
        mut self,
        batches: &Mutex<Receiver<Batch>>,
        failed: &AtomicBool,
    ) -> Result<ReadTexts, TrainError> {
        while let Some(batch) = receive(batches) {
            if let Err(error) = self.count(&batch) {
                failed.store(true, Ordering::Relaxed);
                // The sender may be blocked on the full channel.
                while receive(batches).is_some() {}
                return Err(error);
            }
        }
        self.finish()
    }

    /// Counts the sentences of a batch.
    pub(super) fn count(&mut self, batch: &Batch) -> Result<(), TrainError> {
        let may_have_mark = match self.source {
            WordSource::Prepared(text) => text.may_have_mark(batch.as_bytes()),
            WordSource::Pretokens(_) => false,
        };
        let mut sentences = self.read.sentences;
        batch.for_each_used(self.rules, &mut sentences, |sentence, count| {
            if self.chunks.is_full_for(count) {
                self.count_chunks()?;
                self.chunks.count = count;
            }
            match self.source {
                WordSource::Prepared(text) => text.cut(sentence, may_have_mark, &mut self.chunks),
                WordSource::Pretokens(source) => {
                    let special = source.cut(sentence, &mut self.chunks)?;
                    self.read.special_tokens += special * count;
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        self.read.sentences = sentences;
        Ok(())
    }

    /// Counts the chunks that were cut.
    fn count_chunks(&mut self) -> Result<(), TrainError> {
        let Self {
            chunks,
            cache,
            released,
            parts,
            ..
        } = self;
        cache.add(chunks, released)?;
        parts.add_released(released)?;
        parts.add_uncounted(chunks)?;
        chunks.clear();
        Ok(())
    }

    /// Adds what is still held. Returns what became of the texts.
    pub(super) fn finish(mut self) -> Result<ReadTexts, TrainError> {
        self.count_chunks()?;
        self.parts.add_released(&mut self.cache.finish())?;
        self.parts.finish()?;
        Ok(self.read)
    }
}

fn receive(batches: &Mutex<Receiver<Batch>>) -> Option<Batch> {
    // A poisoned lock means that another thread panicked; the caller resumes that panic.
    batches.lock().ok()?.recv().ok()
}
