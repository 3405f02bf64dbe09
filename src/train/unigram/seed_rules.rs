//! Which substrings become seeds, and how much their length counts.
//!
//! The score of a seed is its count times a power of its length in characters. The power is
//! `seed_piece_length_power`, by default 1: a higher one prefers long seeds, 0 makes the count
//! alone decide.
//!
//! `min_freq_alpha` raises the smallest count, which is 2 by default, for candidates of more than
//! three bytes: to alpha * N / (V ln V), where N is the number of bytes of the corpus (of the
//! chunk, if it has several), each sentence and a NUL as often as its count says, and V is
//! `vocab_size`. By Zipf's law that is about the count of the last piece of a vocabulary.
//!
//! Example with alpha 0.5, a corpus of 1 MB and `vocab_size` 8000: V ln V is 71,898, and candidates
//! of four bytes or more need a count of at least 6 (6.95 without its fraction).
//!
//! All of it is computed in 32-bit floats, as in the reference. Source: functions `CalculateScore`
//! and `MakeSeedSentencePiecesFromCorpus` of SentencePiece 0.2.3.

use crate::base::num::count_to_f32;
use crate::train::OptionError;
use crate::train::log_f32::log_f32;
use crate::train::pow_f32::pow_f32;
use crate::train::split::SplitRules;

/// How many substrings become seeds, and which.
#[derive(Debug, Clone)]
pub(super) struct SeedRules {
    pub(super) split: SplitRules,
    /// The length of the longest substring, in characters.
    pub(super) max_length: usize,
    /// The number of substrings to keep.
    pub(super) limit: usize,
    pub(super) weights: LengthWeights,
    pub(super) counts: CountRule,
}

/// The factor of the count in the score, by length.
#[derive(Debug, Clone)]
pub(super) struct LengthWeights {
    by_length: Box<[f32]>,
}

impl LengthWeights {
    /// The weights of 0 to `max_length` characters.
    pub(super) fn new(power: f32, max_length: usize) -> Self {
        Self {
            by_length: (0u16..)
                .take(max_length + 1)
                .map(|length| weight(length.into(), power))
                .collect(),
        }
    }

    /// The weight of a length of at most the `max_length` of [`LengthWeights::new`].
    pub(super) fn of(&self, characters: u16) -> f32 {
        self.by_length[usize::from(characters)]
    }
}

/// A power of a length. The reference has its own formulas for the powers 1, 0.5 and 0.
fn weight(length: f32, power: f32) -> f32 {
    match power {
        1.0 => length,
        0.5 => length.sqrt(),
        0.0 => 1.0,
        // No seed besides the characters has one character.
        _ if length < 2.0 => 1.0,
        _ => pow_f32(length, power),
    }
}

/// What the smallest count of a candidate depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct CountRule {
    pub(super) alpha: f32,
    pub(super) vocab_size: usize,
}

impl CountRule {
    /// The smallest counts in a chunk of this many bytes.
    ///
    /// # Errors
    /// The smallest count is -1 or less, 2^64 or more, or not a number: the reference's conversion
    /// to an integer is undefined then.
    pub(super) fn min_counts(self, chunk_bytes: u64) -> Result<MinCounts, OptionError> {
        let vocab_size = count_to_f32(self.vocab_size.max(1) as u64);
        let expected_ranks = (vocab_size * log_f32(vocab_size)).max(1.0);
        let smallest = self.alpha * count_to_f32(chunk_bytes) / expected_ranks;
        // 2^64, and not a number is neither.
        if !(smallest > -1.0 && smallest < 18_446_744_073_709_551_616.0) {
            return Err(OptionError::Conflict {
                option: "min_freq_alpha",
                problem: format!("with this corpus it asks for a count of at least {smallest}"),
                remedy: "use a value of 0 or more, such as 0.1",
            });
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the fraction is cut off"
        )]
        let long = smallest as u64;
        Ok(MinCounts::new(long))
    }
}

/// The smallest counts of candidates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MinCounts {
    /// For candidates of more than [`MAX_EXEMPT_BYTES`].
    long: u64,
}

/// The smallest count of short candidates. A substring that occurs once is no candidate.
const MIN_COUNT: u64 = 2;
/// Candidates of at most this many bytes are exempt from `min_freq_alpha`.
const MAX_EXEMPT_BYTES: usize = 3;

impl MinCounts {
    fn new(long: u64) -> Self {
        Self {
            long: long.max(MIN_COUNT),
        }
    }

    /// Whether a node of the suffix tree with this many bytes, a NUL at its end included, may be a
    /// candidate.
    pub(super) fn allow(self, bytes: usize, count: u64) -> bool {
        count >= self.long || bytes <= MAX_EXEMPT_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_powers_of_the_length() {
        let weights = |power| {
            let weights = LengthWeights::new(power, 4);
            [weights.of(2), weights.of(3), weights.of(4)]
        };
        assert_eq!(weights(1.0), [2.0, 3.0, 4.0]);
        assert_eq!(weights(0.0), [1.0, 1.0, 1.0]);
        assert_eq!(weights(2.0), [4.0, 9.0, 16.0]);
        assert_eq!(weights(-1.0), [0.5, 1.0 / 3.0, 0.25]);
        assert_eq!(weights(0.5), [2f32.sqrt(), 3f32.sqrt(), 2.0]);
        assert_eq!(LengthWeights::new(1.0, 512).of(512), 512.0);
    }

    #[test]
    fn min_counts_of_the_module_example() {
        let rule = CountRule {
            alpha: 0.5,
            vocab_size: 8000,
        };
        let counts = rule.min_counts(1_000_000).unwrap();
        assert_eq!(counts, MinCounts { long: 6 });
        assert!(counts.allow(3, 2) && counts.allow(4, 6));
        assert!(!counts.allow(4, 5));
        assert_eq!(rule.min_counts(10).unwrap(), MinCounts { long: 2 });
    }

    #[test]
    fn counts_that_no_candidate_can_have_are_refused() {
        for alpha in [-1.0, 1e30, f32::NAN, f32::INFINITY] {
            let rule = CountRule {
                alpha,
                vocab_size: 1,
            };
            assert!(rule.min_counts(1000).is_err(), "{alpha}");
        }
        let rule = CountRule {
            alpha: -0.0001,
            vocab_size: 1,
        };
        assert_eq!(rule.min_counts(1000).unwrap(), MinCounts { long: 2 });
    }
}
