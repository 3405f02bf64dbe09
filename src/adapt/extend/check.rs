//! The check of an extended model: what was promised holds.
//!
//! Input: the old model, the extended model, and lines of text. Output: counts, or the guarantee that is broken. Every
//! piece's own text is a line of text, too. Cost: encodes all texts with both models.

use std::collections::HashSet;

use super::ExtendedModel;
use crate::adapt::boundaries::{BoundaryCheck, BoundaryComparison};
use crate::adapt::edit::check::as_raw_text;
use crate::adapt::found::unreachable_pieces;
use crate::error::{ExtendError, GuaranteeError};
use crate::model::Model;
use crate::piece::{PieceId, PieceKind};
use crate::text::lossy_string;
use crate::tokenizer::{NormalizedEncoder, Tokenizer};

/// What [`ExtendedModel::check`] has found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExtendCheck {
    /// Old pieces whose ids, texts, scores and kinds are unchanged.
    pub unchanged: usize,
    /// Ids of pieces that no text gives, all of which were so before.
    pub unreachable: Vec<PieceId>,
    /// Texts that were compared.
    pub texts: BoundaryCheck,
}

impl ExtendedModel {
    /// Checks the guarantees G0 to G3 of the module page on the pieces, on the text of each piece, and on `lines`.
    ///
    /// # Errors
    /// A guarantee is broken, which would be a bug of this crate.
    pub fn check<'t>(
        &self,
        old: &Model,
        lines: impl IntoIterator<Item = &'t [u8]>,
    ) -> Result<ExtendCheck, ExtendError> {
        let unchanged = self.check_pieces(old)?;
        let unreachable = self.check_reachable()?;
        let texts = self.check_texts(lines)?;
        Ok(ExtendCheck {
            unchanged,
            unreachable,
            texts,
        })
    }

    /// Checks that the old pieces are unchanged, and that the scores of learned pieces descend below all others.
    fn check_pieces(&self, old: &Model) -> Result<usize, GuaranteeError> {
        let mut unchanged = 0;
        for (old_id, new_id) in self.ids.kept() {
            let piece = old.piece(old_id).filter(|_| old_id == new_id);
            let is_kept = piece.is_some_and(|piece| {
                piece.score.is_nan() || self.model.piece(new_id) == Some(piece)
            });
            if !is_kept {
                return Err(self.broken_piece(new_id, "is unchanged"));
            }
            unchanged += 1;
        }
        let base_scores = self.base.pieces().map(|piece| piece.score);
        let mut lowest = base_scores.fold(f32::INFINITY, f32::min);
        for piece in &self.pieces {
            let score = self.model.piece(piece.id).map(|new| new.score);
            let score = score.filter(|score| *score < lowest);
            lowest = score.ok_or_else(|| {
                self.broken_piece(piece.id, "has a score below those of all pieces before")
            })?;
        }
        Ok(unchanged)
    }

    /// Checks that all learned pieces are reachable, and all old ones that were so. Returns the others.
    fn check_reachable(&self) -> Result<Vec<PieceId>, GuaranteeError> {
        let unreachable = unreachable_pieces(&self.model);
        let learned: HashSet<PieceId> = self.pieces.iter().map(|piece| piece.id).collect();
        if let Some(id) = unreachable.iter().find(|id| learned.contains(id)) {
            return Err(self.broken_piece(*id, "is reachable"));
        }
        let base = Tokenizer::new(self.base.clone());
        let mut encoder = NormalizedEncoder::new(&base);
        // None of them was learned, so their ids are those of the base.
        let mut was_reachable = |id: &&PieceId| {
            let piece = self.base.piece(**id);
            piece.is_some_and(|piece| encoder.gives(piece.id, piece.text))
        };
        match unreachable.iter().find(|id| was_reachable(id)) {
            Some(id) => Err(self.broken_piece(*id, "is still reachable")),
            None => Ok(unreachable),
        }
    }

    /// Compares texts with the base.
    fn check_texts<'t>(
        &self,
        lines: impl IntoIterator<Item = &'t [u8]>,
    ) -> Result<BoundaryCheck, ExtendError> {
        let mut check = BoundaryCheck::default();
        let old = Tokenizer::new(self.base.clone());
        let new = Tokenizer::new(self.model.clone());
        let mut comparison = BoundaryComparison::new(
            [&old, &new],
            &self.text_change,
            self.keeps_boundaries(),
            std::iter::empty(),
        )?;
        for piece in self.model.pieces() {
            if piece.kind != PieceKind::Control {
                comparison.compare(&as_raw_text(piece.text), &mut check)?;
            }
        }
        for line in lines {
            comparison.compare(line, &mut check)?;
        }
        Ok(check)
    }

    fn broken_piece(&self, id: PieceId, promise: &str) -> GuaranteeError {
        let text = self.model.piece(id).map(|piece| lossy_string(piece.text));
        let text = text.unwrap_or_default();
        GuaranteeError::new(format!("piece {id} {text:?} {promise}"))
    }
}
