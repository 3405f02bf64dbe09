//! Pretoken counts as data: see [`word_counts`](crate::train::word_counts).
//!
//! A table of pretokens has the same form as one of words: they are UTF-8, because bytes that are
//! not are read as U+FFFD.

use std::ops::Range;

use super::{ByteTieOrder, ByteTrainer};
use crate::byte_bpe::ByteBpe;
use crate::pattern::{PatternSyntax, Pretokenizer, Split, SplitBehavior};
use crate::train::TrainError;
use crate::train::batch::Batch;
use crate::train::corpus::Corpus;
use crate::train::observer::{Observer, Reporter, Run};
use crate::train::options::csv::join_csv;
use crate::train::sentence_counts::SentenceCounts;
use crate::train::word_counts::{
    CountFingerprint, CountWords, CountsError, CountsTexts, WordCounts, check_fits,
};
use crate::train::word_table::WordTable;
use crate::train::words::ReadTexts;

#[allow(private_interfaces)]
impl CountsTexts for ByteTrainer {
    fn observer(&self) -> &Observer {
        &self.observer
    }

    fn line_feeds_are_text(&self) -> bool {
        true
    }

    fn check_counts(&self, _of_part: bool) -> Result<(), CountsError> {
        Ok(())
    }

    fn count_batches(
        &self,
        batches: Vec<Batch>,
        counts: &mut WordTable,
    ) -> Result<SentenceCounts, TrainError> {
        let batches = batches.into_iter().map(Ok);
        Ok(self.reader().count_batches(batches, counts)?.sentences)
    }

    fn count_corpus(
        &self,
        corpus: Corpus<'_>,
        counts: &mut WordTable,
        reporter: &mut Reporter,
    ) -> Result<ReadTexts, TrainError> {
        self.reader().count_into(corpus, counts, reporter)
    }
}

impl CountWords for ByteTrainer {
    /// The pattern, and the special tokens if they are cut out.
    fn count_fingerprint(&self) -> CountFingerprint {
        let mut parts = vec![
            ("model_type", "byte_bpe".to_owned()),
            ("pattern", pattern_text(&self.options.pretokenizer)),
        ];
        if self.options.split_special_tokens {
            let mut special = self.options.special_tokens.clone();
            special.sort_unstable();
            special.dedup();
            parts.push(("split_special_tokens", join_csv(&special)));
        }
        CountFingerprint::from_parts(parts)
    }
}

impl ByteTrainer {
    /// Trains on counted pretokens: the tokens that [`train`](Self::train) makes of the text.
    ///
    /// # Errors
    /// The pretokens were counted with another pattern, or the pattern never cuts so; the order of
    /// ties is that of minbpe, which depends on the order of the text ([`CountsError::Order`]). Also
    /// the errors of [`train`](Self::train).
    pub fn train_counts(&self, counts: WordCounts) -> Result<ByteBpe, TrainError> {
        if self.options.tie_order == ByteTieOrder::Minbpe {
            return Err(CountsError::Order.into());
        }
        check_fits(self, &counts)?;
        let mut run = Run::new(&self.observer, self.work.thread_pool()?);
        run.summary.sentences = counts.sentences();
        run.summary.distinct_words = counts.len();
        run.pool.install(|| self.check_pretokens(&counts))?;
        let merges = self.merge_counted(counts.into_words(), &mut run)?;
        self.finish(merges, run)
    }

    /// Refuses words that a known pattern divides: it makes one pretoken of each of its pretokens.
    /// Of other patterns that is not known.
    fn check_pretokens(&self, counts: &WordCounts) -> Result<(), CountsError> {
        let pretokenizer = &self.options.pretokenizer;
        if pretokenizer.name().is_none() {
            return Ok(());
        }
        counts.check_words(
            || (),
            |(), word| {
                let mut is_whole = false;
                let check: &mut dyn FnMut(Range<usize>) =
                    &mut |part| is_whole |= part.len() == word.len();
                pretokenizer.for_each(word.as_bytes(), check);
                is_whole
            },
        )
    }
}

/// A text that is equal for pretokenizers that are equal, and for those that cut as a known one.
fn pattern_text(pretokenizer: &Pretokenizer) -> String {
    if let Some(name) = pretokenizer.name() {
        return name.to_owned();
    }
    let splits = pretokenizer.splits().iter().map(split_text);
    splits.collect::<Vec<_>>().join("\n")
}

fn split_text(split: &Split) -> String {
    let behavior = match split.behavior {
        SplitBehavior::Isolated => "isolated",
        SplitBehavior::Removed => "removed",
        SplitBehavior::MergedWithPrevious => "merged_with_previous",
        SplitBehavior::MergedWithNext => "merged_with_next",
        SplitBehavior::Contiguous => "contiguous",
    };
    let syntax = match split.pattern.syntax() {
        PatternSyntax::Rust => "rust",
        PatternSyntax::Oniguruma => "oniguruma",
    };
    let inverted = if split.invert { " inverted" } else { "" };
    format!(
        "{behavior}{inverted} {syntax} {}",
        split.pattern.expression()
    )
}
