//! What became of the sentences that were read: figures for the summary of a run, for tables of
//! counts, and for the error of a corpus of which no sentence is used.
//!
//! The rules by which sentences are skipped are on the page of [`batch`](super::batch).

/// Sentences read, by what became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SentenceCounts {
    /// Used in training.
    pub used: u64,
    /// Skipped because they were empty.
    pub empty: u64,
    /// Skipped because they were longer than `max_sentence_length`.
    pub too_long: u64,
    /// Skipped because they contain U+2585.
    pub reserved: u64,
    /// Records of JSON Lines that were skipped because they have no text; see
    /// [`OnBadRecord::Skip`](crate::input::OnBadRecord::Skip).
    pub bad_records: u64,
}

impl SentenceCounts {
    pub(crate) fn add(&mut self, other: &Self) {
        self.used += other.used;
        self.empty += other.empty;
        self.too_long += other.too_long;
        self.reserved += other.reserved;
        self.bad_records += other.bad_records;
    }
}
