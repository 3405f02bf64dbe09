//! Whether a piece that loses to another path on its own text loses in every text.
//!
//! Separates pieces that no text can give from pieces that lose by so little that rounding may let
//! them win.
//!
//! **Lemma.** Let p be a piece with score s, and q1 ... qk the path that wins on the text of p,
//! with the exact sum Q. Let the text of p have n bytes, let M be the greatest magnitude of a score
//! of a piece for text or of an unknown character, and let n·M <= 100,000. If Q - s > (k + 3) h
//! with h = 2^-24 (100,000 + 2 n M), then no text is encoded with p.
//!
//! *Proof.* Let p begin at a position of some text. All paths to that position share its sum S,
//! and |S| <= 100,000 after rebasing. The text of p consists of the same characters there as it
//! does alone, so the positions between q1 ... qk are visited and each of them is offered the next
//! piece. Addition in floats is monotonic, so the sum at the end of qk is at least the float sum
//! S + q1 + ... + qk, whatever else was offered. All sums within p have magnitudes below 100,000 +
//! 2 n M, so each addition errs by at most h: the end of p has a sum of at least S + Q - k h, and p
//! itself offers at most S + s + h. A position within p may be rebased. Since n M <= 100,000, that
//! happens at most once within p, and subtracts one number from both sums with an error of at most
//! h each. So the offer of p is below that of the path if Q - s > (k + 3) h. []
//!
//! Example: 16 characters of three bytes and scores down to -20 give n M = 960 and h = 0.0061. A
//! piece that loses to two pieces by 0.031 or more loses in every text.

use super::UnigramEncoder;
use super::viterbi::MAX_SUM;
use crate::piece::PieceId;

/// Half a unit in the last place of 1, for 32-bit floats.
const HALF_UNIT: f64 = 1.0 / (1 << 24) as f64;

impl UnigramEncoder {
    /// The greatest magnitude of the scores of `ids` and of an unknown character.
    pub(crate) fn greatest_score(&self, ids: impl Iterator<Item = PieceId>) -> f64 {
        let unknown = f64::from(self.tables.unknown_score.abs());
        ids.map(|id| f64::from(self.tables.score(id).abs()))
            .fold(unknown, f64::max)
    }

    /// Whether `path`, which wins on the text of the piece `id`, wins wherever that text of `bytes`
    /// bytes occurs. `greatest_score` is that of all pieces for text. False means that this is not
    /// certain.
    pub(crate) fn always_loses(
        &self,
        id: PieceId,
        path: &[PieceId],
        bytes: usize,
        greatest_score: f64,
    ) -> bool {
        let greatest_sum = bytes as f64 * greatest_score;
        let path_scores = path.iter().map(|id| f64::from(self.tables.score(*id)));
        let advantage = path_scores.sum::<f64>() - f64::from(self.tables.score(id));
        let max_sum = f64::from(MAX_SUM);
        let error = HALF_UNIT * (max_sum + 2.0 * greatest_sum);
        // The comparisons are false for NaN.
        greatest_sum <= max_sum && advantage > (path.len() as f64 + 3.0) * error
    }
}
