//! The check of a pruned model on all lines of the text that was counted, without encoding them again.
//!
//! Input: the original and the pruned model, and the usage of the text with its [`TextRecord`]. Output: a [`LineCheck`] in which
//! all lines are equal, or a broken guarantee, or `None` if the record does not suffice and the lines have to be compared by a
//! [`PruneChecker`](super::PruneChecker).
//!
//! Why all lines are equal, for BPE: the merges of a line are those of the texts of its tokens (locality, `docs/DESIGN.md`), so they
//! make the given pieces, their halves, the halves of those, and so on. These are checked to be in the pruned model, with the same
//! scores, and the pruned model to have no other pieces than the original. Then both execute the same merges (the second fact in
//! `docs/DESIGN.md`, changing trained models). User-defined symbols are the same in both models, and unknown characters are
//! unknown in both. Pieces of an unused tail merge as before; since no token is one of them, nothing is divided at the end.
//!
//! For unigram: all pieces of all lines stay with their scores, and so does the lowest score; and the longest line is too short
//! for sums of 100,000. Then the best paths stay (`docs/DESIGN.md`).
//!
//! Example: the text `▁token izer ▁lower` has the tokens `▁token`, `izer` and `▁lower`. If `▁token` is made of `▁to` and `ken`, these
//! must be in the pruned model, too, however often the words occur.
//!
//! Cost: a comparison for each piece of the models, whose halves are known since the pruning.

use super::record::TextRecord;
use super::{LineCheck, PieceUsage, PrunedModel};
use crate::error::PruneError;
use crate::model::Model;
use crate::piece::PieceKind;
use crate::text::is_char;

/// The sums of scores of unigram models may be so large; above 100,000 the encoder changes them.
const MAX_SUM: f32 = 99_000.0;
/// What an unknown character or a byte of a user-defined symbol adds to a sum, beyond the score of a piece.
const EXTRA_SCORE: f32 = 11.0;

impl PrunedModel {
    /// Checks that all lines of the text whose `usage` was counted have the same pieces in the pruned model; for
    /// [`PruneGoal::Size`](super::PruneGoal::Size), how many have, if the usage has the ids of the lines
    /// ([`UsageCounter::keep_line_ids`](super::UsageCounter::keep_line_ids)). `None` if that does not follow from the usage: for
    /// models with unused pieces, for very long lines of unigram models, and for `Size` without ids, with unigram models or with
    /// removed characters. Then use a [`PruneChecker`](super::PruneChecker).
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
        let tokens = usage.tokens();
        Ok(is_checked.then_some(LineCheck {
            lines: usage.lines(),
            equal: usage.lines(),
            tokens_before: tokens,
            tokens_after: tokens,
        }))
    }

    /// Checks that the given pieces are there, before the tail, with the same text, kind and score.
    fn check_given(&self, original: &Model, usage: &PieceUsage) -> Result<(), PruneError> {
        for old in given(original, usage) {
            let new_id = self
                .ids
                .new_id(old.id)
                .filter(|id| id.index() < self.rows());
            let new = new_id.and_then(|id| self.model.piece(id));
            let is_same = new.is_some_and(|new| {
                new.text == old.text
                    && new.kind == old.kind
                    && new.score.to_bits() == old.score.to_bits()
            });
            if !is_same {
                return Err(super::broken(old, "stays, because the text gives it").into());
            }
        }
        Ok(())
    }

    /// Checks that the pruned model executes all merges that make the given pieces, as far as these are kept, and no other ones.
    pub(super) fn check_merges(
        &self,
        original: &Model,
        usage: &PieceUsage,
    ) -> Result<(), PruneError> {
        self.check_is_part(original)?;
        self.check_halves(original)?;
        let is_made = |piece: &crate::Piece<'_>| {
            let is_merged = piece.kind == PieceKind::Normal && !is_char(piece.text);
            is_merged && self.ids.new_id(piece.id).is_some()
        };
        let has_halves = |piece: &crate::Piece<'_>| {
            let halves = self.halves.get(piece.id.index());
            halves.is_some_and(Option::is_some)
        };
        let mut made = given(original, usage).filter(is_made);
        match made.find(|piece| !has_halves(piece)) {
            Some(piece) => {
                Err(super::broken(piece, "is made by a merge, because it is given").into())
            }
            None => Ok(()),
        }
    }

    /// Whether no sum of scores of a unigram model is too large in a line of so many characters, and the lowest score
    /// stays.
    fn bounds_sums(&self, original: &Model, characters: u64) -> bool {
        let scores = |model: &Model| {
            let normal = model
                .pieces()
                .filter(|piece| piece.kind == PieceKind::Normal);
            normal.map(|piece| piece.score).collect::<Vec<f32>>()
        };
        let old = scores(original);
        let lowest = |scores: &[f32]| scores.iter().copied().fold(f32::MAX, f32::min).to_bits();
        let is_finite = old.iter().all(|score| score.is_finite());
        let largest = old.iter().map(|score| score.abs()).fold(0.0, f32::max) + EXTRA_SCORE;
        // A sum of so many scores is exact enough for a bound with a reserve of a hundredth.
        let characters = u16::try_from(characters).map_or(f32::INFINITY, f32::from);
        is_finite && lowest(&old) == lowest(&scores(&self.model)) && largest * characters < MAX_SUM
    }
}

/// The pieces that the text gives.
fn given<'m>(original: &'m Model, usage: &PieceUsage) -> impl Iterator<Item = crate::Piece<'m>> {
    original.pieces().filter(|piece| usage.count(piece.id) > 0)
}
