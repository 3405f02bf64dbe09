//! Parameters of merging: how much is indexed at a time, and when several threads are used.
//!
//! Results do not depend on them; tests vary them. For example, with 32,000 merges wanted and a
//! `min_count_share` of 64, a pair is indexed if its count is at least 1/64 of the average count of
//! the pairs to merge, and if the pairs that are more frequent leave room for it.

/// Parameters of the work that do not change the result.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tuning {
    /// Determines the first `min_count`: the average count of the pairs to merge, if all
    /// occurrences were merged, divided by this. If it is higher, more memory goes to pairs that
    /// are never merged; if it is lower, the index is rebuilt more often.
    pub(super) min_count_share: u64,
    /// When the queue is empty, `min_count` is divided by half of this.
    pub(super) min_count_step: u64,
    /// The memory that the index may take when it is built, in bytes; or a byte for each slot of
    /// the words, if that is more. It may take twice as much before it is rebuilt.
    pub(super) min_index_bytes: usize,
    /// Pairs that may be different per pass over the words in which pairs are counted; if there may
    /// be more, most of the rare ones are left out first. The distinct pairs of long texts take
    /// several times the memory of the texts.
    pub(super) pairs_per_pass: u64,
    /// A pair is merged on as many threads as there are this many positions for each.
    pub(super) min_part_positions: usize,
}

impl Tuning {
    /// The first `min_count`, if all pairs together occur `total` times and `merges` merges are
    /// wanted.
    pub(super) fn first_min_count(&self, total: u64, merges: u64) -> u64 {
        total / merges.saturating_mul(self.min_count_share)
    }

    /// The memory that the index may take when it is built.
    pub(super) fn index_bytes(&self, slots: usize) -> usize {
        self.min_index_bytes.max(slots)
    }

    /// The `min_count` after `last`, which is lower.
    pub(super) fn lower_min_count(&self, last: u64) -> u64 {
        let lower = last.saturating_mul(2) / self.min_count_step;
        lower.min(last - 1)
    }
}

/// These values perform well on corpora of 20 to 500 MB in several languages; other values were not
/// compared.
pub(super) const TUNING: Tuning = Tuning {
    min_count_share: 64,
    min_count_step: 32,
    min_index_bytes: 1 << 24,
    pairs_per_pass: 1 << 19,
    min_part_positions: 2048,
};
