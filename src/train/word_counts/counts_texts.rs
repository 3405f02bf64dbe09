//! What trainers do differently when they count.

use super::CountsError;
use crate::train::TrainError;
use crate::train::batch::Batch;
use crate::train::corpus::Corpus;
use crate::train::observer::{Observer, Reporter};
use crate::train::sentence_counts::SentenceCounts;
use crate::train::word_table::WordTable;
use crate::train::words::ReadTexts;

/// Counts texts, as a trainer does. No other type has it, so that its methods can have
/// types of this crate.
#[allow(private_interfaces)]
pub trait CountsTexts: Send + Sync {
    /// What is told of the progress of counting a corpus.
    fn observer(&self) -> &Observer;

    /// Whether the line feed at the end of a line belongs to it.
    fn line_feeds_are_text(&self) -> bool;

    /// Whether words can be counted, of a corpus or of a part of one.
    fn check_counts(&self, of_part: bool) -> Result<(), CountsError>;

    /// Adds the words of some texts to `counts`. Returns the texts, by what became of them.
    fn count_batches(
        &self,
        batches: Vec<Batch>,
        counts: &mut WordTable,
    ) -> Result<SentenceCounts, TrainError>;

    /// Adds the words of a corpus to `counts`. Returns the texts, by what became of them.
    fn count_corpus(
        &self,
        corpus: Corpus<'_>,
        counts: &mut WordTable,
        reporter: &mut Reporter,
    ) -> Result<ReadTexts, TrainError>;
}
