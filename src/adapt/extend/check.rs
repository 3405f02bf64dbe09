//! The check of an extended model: what was promised holds.
//!
//! Input: the old model, the extended model, and lines of text. Output: counts, or the guarantee
//! that is broken. Every piece's own text is a line of text, too. Cost: encodes all texts with both
//! models; one half of the pieces on a second thread.

use std::collections::HashSet;
use std::ops::Range;

use super::ExtendedModel;
use crate::adapt::boundaries::{BoundaryCheck, BoundaryComparison};
use crate::adapt::error::{ExtendError, GuaranteeError};
use crate::adapt::piece_texts::PieceTexts;
use crate::adapt::pieces::{broken, scores};
use crate::join::join;
use crate::model::{Model, Piece};
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
    /// Checks the guarantees G0 to G3 of the module page on the pieces, on the text of each piece,
    /// and on `lines`.
    ///
    /// # Errors
    /// A guarantee is broken, which would be a bug of this crate.
    pub fn check<'t>(
        &self,
        old: &Model,
        lines: impl IntoIterator<Item = &'t [u8]>,
    ) -> Result<ExtendCheck, ExtendError> {
        let unchanged = self.check_pieces(old)?;
        let (base, new) = self.tokenizers();
        let middle = self.model.len() / 2;
        let part = |range, lines: &mut dyn Iterator<Item = &'t [u8]>| {
            self.check_part([&base, &new], range, lines)
        };
        let mut lines = lines.into_iter();
        let (second, first) = join(
            || part(middle..self.model.len(), &mut lines),
            || part(0..middle, &mut std::iter::empty()),
        );
        let mut all = first?;
        all.append(second?);
        Ok(ExtendCheck {
            unchanged,
            unreachable: all.unreachable,
            texts: all.texts,
        })
    }

    /// The tokenizers of the base and of the extended model.
    fn tokenizers(&self) -> (Tokenizer, Tokenizer) {
        join(
            || Tokenizer::new(self.base.clone()),
            || Tokenizer::new(self.model.clone()),
        )
    }

    /// Checks that the old pieces are unchanged, and that the scores of learned pieces descend
    /// below all others.
    fn check_pieces(&self, old: &Model) -> Result<usize, GuaranteeError> {
        let mut unchanged = 0;
        for (old_id, new_id) in self.ids.kept() {
            let piece = old.piece(old_id).filter(|_| old_id == new_id);
            if !piece.is_some_and(|piece| self.has(piece)) {
                return Err(self.broken(new_id, "is unchanged"));
            }
            unchanged += 1;
        }
        self.check_scores()?;
        Ok(unchanged)
    }

    /// Whether the extended model has a piece of the old model. NaN equals itself here.
    fn has(&self, old: Piece<'_>) -> bool {
        old.score.is_nan() || self.model.piece(old.id) == Some(old)
    }

    /// Checks that the score of each learned piece is below those of all pieces before.
    fn check_scores(&self) -> Result<(), GuaranteeError> {
        let mut lowest = scores(&self.base).fold(f32::INFINITY, f32::min);
        for piece in &self.pieces {
            let score = self.model.piece(piece.id).map(|new| new.score);
            let score = score.filter(|score| *score < lowest);
            lowest = score.ok_or_else(|| {
                self.broken(piece.id, "has a score below those of all pieces before")
            })?;
        }
        Ok(())
    }

    /// Checks some pieces, their texts, and lines.
    fn check_part(
        &self,
        tokenizers: [&Tokenizer; 2],
        range: Range<usize>,
        lines: &mut dyn Iterator<Item = &[u8]>,
    ) -> Result<PartCheck, ExtendError> {
        Ok(PartCheck {
            unreachable: self.check_reachable(tokenizers, range.clone())?,
            texts: self.check_texts(tokenizers, range, lines)?,
        })
    }

    /// Checks that all learned pieces are reachable, and all old ones that were so. Returns the
    /// others.
    fn check_reachable(
        &self,
        [base, new]: [&Tokenizer; 2],
        range: Range<usize>,
    ) -> Result<Vec<PieceId>, GuaranteeError> {
        let mut new_encoder = NormalizedEncoder::new(new);
        let mut base_encoder = NormalizedEncoder::new(base);
        let learned = self.learned_ids();
        let mut unreachable = Vec::new();
        for piece in pieces_in(&self.model, range) {
            if !piece.kind.is_given_for_text() || new_encoder.gives(piece.id, piece.text) {
                continue;
            }
            if learned.contains(&piece.id) {
                return Err(broken(piece, "is reachable"));
            }
            // It was not learned, so its id is that of the base.
            let old = self.base.piece(piece.id);
            if old.is_some_and(|old| base_encoder.gives(old.id, old.text)) {
                return Err(broken(piece, "is still reachable"));
            }
            unreachable.push(piece.id);
        }
        Ok(unreachable)
    }

    fn learned_ids(&self) -> HashSet<PieceId> {
        self.pieces.iter().map(|piece| piece.id).collect()
    }

    /// Compares texts with the base.
    fn check_texts(
        &self,
        tokenizers: [&Tokenizer; 2],
        range: Range<usize>,
        lines: &mut dyn Iterator<Item = &[u8]>,
    ) -> Result<BoundaryCheck, ExtendError> {
        let mut check = BoundaryCheck::default();
        let mut comparison = BoundaryComparison::new(
            tokenizers,
            &self.text_change,
            self.keeps_boundaries(),
            std::iter::empty(),
        )?;
        let pieces = pieces_in(&self.model, range);
        let mut texts = PieceTexts::new(tokenizers[1]);
        for piece in pieces.filter(|piece| piece.kind != PieceKind::Control) {
            if let Some(text) = texts.raw(piece.text) {
                comparison.compare(&text, &mut check)?;
            }
        }
        for line in lines {
            comparison.compare(line, &mut check)?;
        }
        Ok(check)
    }

    fn broken(&self, id: PieceId, promise: &str) -> GuaranteeError {
        GuaranteeError::new(format!(
            "piece {id} {:?} {promise}",
            lossy_string(self.text(id))
        ))
    }
}

/// What the check of some pieces has found.
struct PartCheck {
    unreachable: Vec<PieceId>,
    texts: BoundaryCheck,
}

impl PartCheck {
    /// Adds what the check of the pieces behind has found.
    fn append(&mut self, behind: Self) {
        self.unreachable.extend(behind.unreachable);
        self.texts.add(&behind.texts);
    }
}

/// The pieces with these ids.
fn pieces_in(model: &Model, ids: Range<usize>) -> impl Iterator<Item = Piece<'_>> {
    ids.filter_map(|index| model.piece(PieceId::from_index(index)))
}
