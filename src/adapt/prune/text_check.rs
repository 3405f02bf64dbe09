//! The check of a pruned model on all lines of the text that was counted, without encoding them
//! again.
//!
//! Input: the original and the pruned model, and the usage of the text with its [`TextRecord`].
//! Output: a [`LineCheck`] in which all lines are equal, or a broken guarantee, or `None` if the
//! record does not suffice and the lines have to be compared by a
//! [`PruneChecker`](super::PruneChecker).
//!
//! Why all lines are equal, for BPE: the merges of a line are those of the texts of its tokens
//! (locality, `docs/DESIGN.md`), so they make the given pieces, their halves, the halves of those,
//! and so on. These are checked to be in the pruned model, with the same scores, and the pruned
//! model to have no other pieces than the original. Then both execute the same merges (the second
//! fact in `docs/DESIGN.md`, changing trained models). User-defined symbols are the same in both
//! models, and unknown characters are unknown in both. Pieces of an unused tail merge as before;
//! since no token is one of them, nothing is divided at the end.
//!
//! For unigram: all pieces of all lines stay with their scores, and so does the lowest score; and
//! the longest line is too short for sums of 100,000. Then the best paths stay (`docs/DESIGN.md`).
//!
//! Example: the text `▁token izer ▁lower` has the tokens `▁token`, `izer` and `▁lower`. If `▁token`
//! is made of `▁to` and `ken`, these must be in the pruned model, too, however often the words
//! occur.
//!
//! Cost: a comparison for each piece of the models, whose halves are known since the pruning.

use super::record::TextRecord;
use super::{LineCheck, PieceUsage, PrunedModel};
use crate::adapt::error::PruneError;
use crate::adapt::pieces::{broken, is_same, lowest_score_bits, normal_scores};
use crate::model::{Model, Piece};
use crate::piece::{PieceId, PieceKind};
use crate::text::is_char;

/// The sums of scores of unigram models may be so large; above 100,000 the encoder changes them.
const MAX_SUM: f32 = 99_000.0;
/// What an unknown character or a byte of a user-defined symbol adds to a sum, beyond the score of
/// a piece.
const EXTRA_SCORE: f32 = 11.0;

impl PrunedModel {
    /// Checks that all lines of the text whose `usage` was counted have the same pieces in the
    /// pruned model; for [`PruneGoal::Size`](super::PruneGoal::Size), how many have, if the usage
    /// has the ids of the lines
    /// ([`UsageCounter::keep_line_ids`](super::UsageCounter::keep_line_ids)). `None` if that does
    /// not follow from the usage: for models with unused pieces, for very long lines of unigram
    /// models, and for `Size` without ids, with unigram models or with removed characters. Then use
    /// a [`PruneChecker`](super::PruneChecker).
    ///
    /// # Errors
    /// A guarantee is broken, which would be a bug of this crate, or `usage` is of another model.
    pub fn check_usage(
        &self,
        original: &Model,
        usage: &PieceUsage,
    ) -> Result<Option<LineCheck>, PruneError> {
        if usage.len() != self.ids.old_len() {
            return Err(PruneError::OtherModel);
        }
        if !self.keeps_text {
            return self.check_size(original, usage);
        }
        self.check_given(original, usage)?;
        let is_checked = match usage.record() {
            TextRecord::Incomplete => false,
            TextRecord::GivenPieces => {
                self.check_merges(original, usage)?;
                true
            }
            TextRecord::LongestLine(length) => self.bounds_sums(original, *length),
        };
        Ok(is_checked.then(|| LineCheck::all_equal(usage)))
    }

    /// Checks that the given pieces are there, before the tail, with the same text, kind and score.
    fn check_given(&self, original: &Model, usage: &PieceUsage) -> Result<(), PruneError> {
        for old in given(original, usage) {
            let new = self.new_piece(old.id);
            if !new.is_some_and(|new| is_same(old, new)) {
                return Err(broken(old, "stays, because the text gives it").into());
            }
        }
        Ok(())
    }

    /// The piece with this old id, if it is before the tail.
    fn new_piece(&self, old_id: PieceId) -> Option<Piece<'_>> {
        let id = self.ids.new_id(old_id).filter(|id| !self.is_tail(*id))?;
        self.model.piece(id)
    }

    /// Checks that the pruned model executes all merges that make the given pieces, as far as these
    /// are kept, and no other ones.
    pub(super) fn check_merges(
        &self,
        original: &Model,
        usage: &PieceUsage,
    ) -> Result<(), PruneError> {
        self.check_is_part(original)?;
        self.check_halves(original)?;
        let kept = given(original, usage).filter(|piece| self.keeps(piece.id));
        let mut made = kept.filter(is_made_by_merge);
        match made.find(|piece| !self.has_halves(piece.id)) {
            Some(piece) => Err(broken(piece, "is made by a merge, because it is given").into()),
            None => Ok(()),
        }
    }

    /// Whether the halves of a piece of the original are known.
    fn has_halves(&self, old_id: PieceId) -> bool {
        let halves = self.halves.get(old_id.index());
        halves.is_some_and(Option::is_some)
    }

    /// Whether no sum of scores of a unigram model is too large in a line of so many characters,
    /// and the lowest score stays.
    fn bounds_sums(&self, original: &Model, characters: u64) -> bool {
        let scores: Vec<f32> = normal_scores(original).collect();
        let is_finite = scores.iter().all(|score| score.is_finite());
        let largest = scores.into_iter().map(f32::abs).fold(0.0, f32::max) + EXTRA_SCORE;
        // A sum of so many scores is exact enough for a bound with a reserve of a hundredth.
        let characters = u16::try_from(characters).map_or(f32::INFINITY, f32::from);
        let keeps_lowest = lowest_score_bits(original) == lowest_score_bits(&self.model);
        is_finite && keeps_lowest && largest * characters < MAX_SUM
    }
}

/// Whether a piece of a BPE model, if text gives it, is the result of a merge.
fn is_made_by_merge(piece: &Piece<'_>) -> bool {
    piece.kind == PieceKind::Normal && !is_char(piece.text)
}

/// The pieces that the text gives.
fn given<'m>(original: &'m Model, usage: &PieceUsage) -> impl Iterator<Item = Piece<'m>> {
    original.pieces().filter(|piece| usage.count(piece.id) > 0)
}
