//! Which characters are adjacent in some piece: the test that splits text into chunks.
//!
//! The set has every bigram (two adjacent characters) of every piece, as pairs of numbers. Both
//! encoders use it: [`bpe`](super::bpe) numbers characters by dense classes,
//! [`unigram`](super::unigram) by their UTF-8 bytes. In both, the number 0 is a character that
//! occurs in no piece, and the frequent characters have numbers below [`MAX_DENSE_CODE`].
//!
//! **Lemma (bigram boundary).** Let characters x and y be adjacent in no piece. Then the
//! segmentation of a text ...x y... is the segmentation of the text up to x followed by that of the
//! text from y on. Proof: no piece contains the bigram x y, so no piece of any segmentation spans
//! the position between them; BPE merges only produce pieces, so no merge spans it either, and no
//! candidate pair on one side depends on the other side. The order of the merges of one side is
//! therefore the same with and without the other side.
//!
//! Example: with the pieces `th`, `he`, `the` and `e▁`, the bigrams are `t h`, `h e` and `e ▁`. The
//! text `the▁the` has the boundary `▁ t` and therefore the chunks `the▁` and `the`, whose ids are
//! computed (and cached) separately.
//!
//! Pairs of frequent characters are in a square of bits, all other pairs in a Bloom filter. A false
//! positive of the filter joins two chunks that could be separate, which changes no result.
//!
//! Cost: one load per bigram. Memory: 8 KiB, and 1 to 2 bytes for each rare bigram of each piece.

use super::bloom_filter::BloomFilter;
use crate::base::num::mix_high;

/// Characters with numbers below this have their bigrams in the square of bits.
pub(super) const MAX_DENSE_CODE: u32 = 256;
/// Words of the square.
const DENSE_WORDS: usize = (MAX_DENSE_CODE * MAX_DENSE_CODE / 64) as usize;

/// The bigrams of all pieces; see the [module page](self).
#[derive(Debug)]
pub(super) struct BigramSet {
    dense: Box<[u64; DENSE_WORDS]>,
    sparse: BloomFilter,
}

/// Collects bigrams for a [`BigramSet`].
#[derive(Debug)]
pub(super) struct BigramSetBuilder {
    dense: Box<[u64; DENSE_WORDS]>,
    /// The other bigrams, with duplicates.
    sparse: Vec<u64>,
}

impl BigramSetBuilder {
    pub(super) fn new() -> Self {
        Self {
            dense: Box::new([0; DENSE_WORDS]),
            sparse: Vec::new(),
        }
    }

    /// Adds a bigram; neither character is 0.
    #[inline]
    pub(super) fn add(&mut self, before: u32, after: u32) {
        match dense_bit(before, after) {
            Some((word, bit)) => self.dense[word] |= 1 << bit,
            None => self.sparse.push(bigram_hash(before, after)),
        }
    }

    pub(super) fn build(self) -> BigramSet {
        // Most rare bigrams occur several times. The duplicates make the filter larger, but
        // removing them would cost more than it saves.
        BigramSet {
            dense: self.dense,
            sparse: BloomFilter::of(&self.sparse),
        }
    }
}

impl BigramSet {
    /// False only if the two characters are adjacent in no piece.
    #[inline]
    pub(super) fn can_be_adjacent(&self, before: u32, after: u32) -> bool {
        if let Some((word, bit)) = dense_bit(before, after) {
            return self.dense[word] >> bit & 1 != 0;
        }
        before != 0 && after != 0 && self.sparse.may_contain(bigram_hash(before, after))
    }
}

/// The word and the bit of a bigram in the square, if both characters are frequent.
#[inline(always)]
fn dense_bit(before: u32, after: u32) -> Option<(usize, u32)> {
    if (before | after) >= MAX_DENSE_CODE {
        return None;
    }
    let bit = before * MAX_DENSE_CODE + after;
    Some((bit as usize / 64, bit % 64))
}

/// A hash with random upper bits.
#[inline]
fn bigram_hash(before: u32, after: u32) -> u64 {
    mix_high(u64::from(before) << 32 | u64::from(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_bigrams_can_be_adjacent_and_most_others_cannot() {
        let bigrams = [
            (1, 2),
            (2, 1),
            (255, 255),
            (255, 256),
            (70_000, 3),
            (9, 0x00E4_B880),
        ];
        let mut builder = BigramSetBuilder::new();
        for (before, after) in bigrams {
            builder.add(before, after);
        }
        let set = builder.build();
        for (before, after) in bigrams {
            assert!(set.can_be_adjacent(before, after), "{before} {after}");
            assert!(!set.can_be_adjacent(0, after), "0 {after}");
            assert!(!set.can_be_adjacent(before, 0), "{before} 0");
        }
        assert!(!set.can_be_adjacent(1, 1));
        let false_positives = (1000..2000)
            .filter(|code| set.can_be_adjacent(5, *code))
            .count();
        assert!(false_positives < 200, "{false_positives} of 1000");
    }
}
