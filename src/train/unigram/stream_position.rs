//! Where chunks of seeds may end, estimated while the corpus is read.
//!
//! Input: batches of prepared sentences in their order. Output: whether a chunk of seeds (see
//! [`sentences`](super::sentences)) may end in a batch.
//!
//! The end of a chunk depends on numbers that are known only after the last sentence: the lengths
//! of unknown characters, which are replaced by the three bytes of U+2585, and the lengths of the
//! sentences that take the places of empty ones. So two positions are followed, with sentences that
//! are a little shorter and a little longer than read. A chunk ends between the sentences at which
//! the two positions reach its size. The result is an estimate, which has to be verified when the
//! lengths are known.
//!
//! Example: chunks of 100 bytes, sentences of 10 bytes with their NUL, 5 % of uncertainty.
//!
//! | sentence | low | high | the chunk may end |
//! |---|---|---|---|
//! | 9 | 85.5 | 94.5 | no |
//! | 10 | 95 | chunk 2, 0 | yes |
//! | 11 | chunk 2, 0 | chunk 2, 10.5 | yes |
//! | 12 | chunk 2, 9.5 | chunk 2, 21 | no |
//!
//! Cost: a few instructions for each sentence, and a search for boundary marks in the text.

use memchr::memchr2_iter;

use super::sentences::CountedTexts;
use crate::base::{BOUNDARY_MARK, UNKNOWN_MARK};

/// The number of units in a byte. Positions are counted in these units.
const UNITS: u64 = 1 << 20;
/// The share of unknown characters in a part of the corpus is expected to be at most this many
/// times `1 - character_coverage`.
const UNKNOWN_FACTOR: f32 = 4.0;
/// The least uncertainty: 1 in 2^16.
const MIN_SLACK: u64 = UNITS >> 16;
/// How many bytes longer the unknown mark is than a boundary mark or a NUL, which are always
/// unknown.
const MARK_GROWTH: u64 = (UNKNOWN_MARK.len_utf8() - BOUNDARY_MARK.len_utf8()) as u64;
/// The boundary mark in UTF-8.
const BOUNDARY_BYTE: u8 = 0x1F;

/// A position in the text that the reference divides into chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct StreamPosition {
    /// Chunks that have ended.
    chunks: u64,
    /// Units in the open chunk.
    filled: u64,
}

impl StreamPosition {
    /// Appends a text of `length` units (not 0) `count` times, up to the end of the chunk of `size`
    /// units.
    fn advance(&mut self, length: u64, count: u64, size: u64) {
        let repetitions = (size - self.filled).div_ceil(length).min(count);
        self.filled = self
            .filled
            .saturating_add(repetitions.saturating_mul(length));
        if self.filled >= size {
            self.chunks += 1;
            self.filled = 0;
        }
    }
}

/// The least and the greatest position that the next sentence may have.
#[derive(Debug, Default)]
pub(super) struct PositionBounds {
    low: StreamPosition,
    high: StreamPosition,
    /// Units of a chunk.
    size: u64,
    /// The uncertainty of a byte, in units.
    slack: u64,
    /// Bytes of sentences so far, with their counts.
    bytes: u64,
    /// Sentences that are not empty.
    sentences: u64,
}

impl PositionBounds {
    /// Bounds for chunks of `chunk_bytes` bytes.
    pub(super) fn new(chunk_bytes: u64, coverage: f32) -> Self {
        Self {
            size: chunk_bytes.saturating_mul(UNITS),
            slack: slack(coverage),
            ..Self::default()
        }
    }

    /// Advances past the sentences of a batch. Returns false if no chunk ends in it, provided that
    /// the estimates hold.
    pub(super) fn may_end_in(&mut self, texts: &CountedTexts) -> bool {
        let before = self.chunk();
        for (text, count) in texts.iter() {
            self.pass(text, count);
        }
        before.is_none() || self.chunk() != before
    }

    /// The chunk of the next sentence, if it is certain.
    fn chunk(&self) -> Option<u64> {
        (self.low.chunks == self.high.chunks).then_some(self.low.chunks)
    }

    fn pass(&mut self, text: &str, count: u64) {
        if text.is_empty() {
            self.pass_empty();
            return;
        }
        let bytes = stream_bytes(text);
        self.low
            .advance(bytes * (UNITS - self.slack), count, self.size);
        self.high
            .advance(bytes * (UNITS + self.slack), count, self.size);
        self.bytes = self.bytes.saturating_add(bytes.saturating_mul(count));
        self.sentences += 1;
    }

    /// Passes an empty sentence. Another one takes its place, which is probably not longer than
    /// twice the mean.
    fn pass_empty(&mut self) {
        let mean = self.bytes / self.sentences.max(1);
        self.high
            .advance(mean.saturating_mul(2 * UNITS).max(1), 1, self.size);
    }
}

/// The bytes of a sentence and its NUL after the replacement of characters that are always unknown.
fn stream_bytes(text: &str) -> u64 {
    let growing = memchr2_iter(0, BOUNDARY_BYTE, text.as_bytes()).count();
    text.len() as u64 + 1 + MARK_GROWTH * growing as u64
}

/// The uncertainty of the length of a byte, in units.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "an estimate; the coverage is from 0.98 to 1"
)]
fn slack(character_coverage: f32) -> u64 {
    let unknown = (1.0 - character_coverage).clamp(0.0, 0.1);
    (UNKNOWN_FACTOR * unknown * UNITS as f32) as u64 + MIN_SLACK
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batches(sizes: &[usize], coverage: f32) -> Vec<bool> {
        let mut bounds = PositionBounds::new(100, coverage);
        let batch = |size: &usize| {
            let mut texts = CountedTexts::default();
            texts.push(&"x".repeat(*size), 1);
            bounds.may_end_in(&texts)
        };
        sizes.iter().map(batch).collect()
    }

    #[test]
    fn a_chunk_may_end_only_near_a_multiple_of_its_size() {
        let mut expected = vec![false; 25];
        // A chunk has ten sentences of ten bytes each, or eleven if they are 1 % shorter.
        for index in [9, 10, 19, 20, 21] {
            expected[index] = true;
        }
        assert_eq!(batches(&[9; 25], 0.9975), expected);
    }

    #[test]
    fn empty_sentences_widen_the_bounds() {
        assert_eq!(batches(&[9, 9, 9, 9, 9, 9, 9], 1.0), [false; 7]);
        let widened = batches(&[9, 9, 9, 0, 0, 0, 9], 1.0);
        assert_eq!(widened, [false, false, false, false, false, false, true]);
    }

    #[test]
    fn the_boundary_byte_is_the_boundary_mark() {
        assert_eq!(char::from(BOUNDARY_BYTE), BOUNDARY_MARK);
    }

    #[test]
    fn repetitions_beyond_the_end_of_a_chunk_do_not_move_the_next_one() {
        let mut position = StreamPosition::default();
        position.advance(30, u64::MAX, 100);
        assert_eq!((position.chunks, position.filled), (1, 0));
        position.advance(30, 2, 100);
        assert_eq!((position.chunks, position.filled), (1, 60));
    }
}
