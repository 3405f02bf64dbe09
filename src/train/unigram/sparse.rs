//! Pruning by a threshold on expected counts ("sparse pruning"), instead of by losses.
//!
//! An epoch is one E step, after which a threshold is subtracted from the expected counts. Pieces
//! below the threshold are dropped; the differences of the others, at least 0.0001 each, are
//! normalized to probabilities. The threshold never falls. While there are more than 1.05 times the
//! wanted pieces, it rises to the count at rank r, from 0, where r is three quarters of the number
//! of pieces, but at least the wanted number. The last epoch is the first one that begins with at
//! most the wanted number of pieces, or the 51st. Subtraction favours frequent pieces. An optional
//! last E step without a threshold ("debiasing") removes this bias from the scores.
//!
//! Example with 2 wanted pieces. Threshold 0, expected counts `a` 8, `b` 5, `ab` 3, `abc` 1: the
//! rank is 3, and the count at rank 3 is 1, the new threshold. All four pieces reach it; their
//! values are 7, 4, 2 and 0.0001. If the next counts are 8.5, 4.5, 3.5 and 0.5, the threshold stays
//! 1 and drops `abc`. With three pieces the rank is 2: for the counts 8.5, 4.5 and 3.5 the
//! threshold becomes 3.5.
//!
//! Source: function `TrainSparsePruning` of SentencePiece 0.2.3.

use super::Estimation;
use super::pieces::{PieceList, ScoredSeed, log_probabilities};
use super::prune::PruneTarget;
use crate::train::TrainError;
use crate::train::observer::Run;

/// The maximum number of epochs.
const MAX_EPOCHS: usize = 51;
/// The threshold rises while there are more pieces than this many times the wanted number.
const TOLERANCE: f64 = 1.05;
/// The share of the pieces whose counts rank above a rising threshold.
const KEPT_SHARE: f32 = 0.75;
/// The smallest value of a piece that remains.
const MIN_VALUE: f32 = 1e-4;

/// How sparse pruning ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct SparsePruning {
    /// The number of pieces at which it ends.
    pub(super) wanted: usize,
    /// Whether scores are estimated once more, without a threshold.
    pub(super) debias: bool,
}

impl SparsePruning {
    /// Estimates and prunes until few enough pieces remain.
    ///
    /// # Errors
    /// No piece remains, a score is not finite, or the observer asks to stop.
    pub(super) fn run(self, estimation: &mut Estimation, run: &mut Run) -> Result<(), TrainError> {
        let mut threshold = 0.0;
        for _ in 0..MAX_EPOCHS {
            let before = estimation.pieces.len();
            estimation.estimate(self.wanted, run, |pieces, counts| {
                threshold = self.raised(threshold, pieces, counts);
                reduced(pieces, counts, threshold)
            })?;
            if before <= self.wanted {
                break;
            }
        }
        if self.debias {
            estimation.estimate(self.wanted, run, |pieces, counts| {
                reduced(pieces, counts, 0.0)
            })?;
        }
        Ok(())
    }

    /// The new threshold for these expected counts by seed, at least the previous `threshold`.
    fn raised(self, threshold: f32, pieces: &PieceList, counts: &[f32]) -> f32 {
        #[expect(
            clippy::cast_precision_loss,
            reason = "the reference compares in 64 bits"
        )]
        let are_too_many = pieces.len() as f64 > self.wanted as f64 * TOLERANCE;
        if !are_too_many {
            return threshold;
        }
        let mut ranked: Vec<f32> = pieces.iter().map(|piece| piece.value_in(counts)).collect();
        let target = PruneTarget {
            wanted: self.wanted,
            shrinking_factor: KEPT_SHARE,
        };
        let rank = target.size(ranked.len());
        let (_, at_rank, _) = ranked.select_nth_unstable_by(rank, |a, b| b.total_cmp(a));
        threshold.max(*at_rank)
    }
}

/// The pieces whose expected count reaches the threshold, with probabilities proportional to the
/// excess of their counts, at least [`MIN_VALUE`].
fn reduced(pieces: &PieceList, counts: &[f32], threshold: f32) -> Vec<ScoredSeed> {
    let mut kept = Vec::new();
    for piece in pieces.iter() {
        let count = piece.value_in(counts);
        if count >= threshold {
            kept.push(ScoredSeed {
                seed: piece.seed,
                score: (count - threshold).max(MIN_VALUE),
            });
        }
    }
    log_probabilities(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::unigram::testing::Pieces;

    const TWO: SparsePruning = SparsePruning {
        wanted: 2,
        debias: true,
    };

    fn four_pieces() -> Pieces {
        Pieces::new(&[("a", -1.0), ("b", -1.0), ("ab", -1.0), ("abc", -1.0)])
    }

    #[test]
    fn thresholds_of_the_module_example() {
        let pieces = four_pieces().list;
        assert_eq!(TWO.raised(0.0, &pieces, &[8.0, 5.0, 3.0, 1.0]), 1.0);
        assert_eq!(TWO.raised(1.0, &pieces, &[8.5, 4.5, 3.5, 0.5]), 1.0);
        let three = Pieces::new(&[("a", -1.0), ("b", -1.0), ("ab", -1.0)]).list;
        assert_eq!(TWO.raised(1.0, &three, &[8.5, 4.5, 3.5]), 3.5);
        let two = Pieces::new(&[("a", -1.0), ("b", -1.0)]).list;
        assert_eq!(TWO.raised(1.0, &two, &[9.0, 7.0]), 1.0);
    }

    #[test]
    fn pieces_below_the_threshold_are_dropped() {
        let pieces = four_pieces().list;
        let kept = reduced(&pieces, &[8.0, 5.0, 1.0, 0.5], 1.0);
        let seeds: Vec<u32> = kept.iter().map(|piece| piece.seed).collect();
        assert_eq!(seeds, [0, 1, 2]);
        for (piece, value) in kept.iter().zip([7.0, 4.0, 0.0001]) {
            let expected = (value / 11.0001f32).ln();
            assert!((piece.score - expected).abs() < 1e-5, "{piece:?}");
        }
    }

    #[test]
    fn debiasing_keeps_all_pieces() {
        let kept = reduced(&four_pieces().list, &[8.0, 0.0, 1e-9, 8.0], 0.0);
        assert_eq!(kept.len(), 4);
        assert_eq!(kept[1].score, kept[2].score);
    }
}
