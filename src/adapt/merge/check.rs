//! The check of a merged model: what was promised holds.
//!
//! Input: the first model, the merged model, and lines of text. Output: counts, or the guarantee
//! that is broken. Every piece's own text is a line of text, too. Cost: encodes all texts with both
//! models.

use super::MergedModel;
use crate::adapt::boundaries::{BoundaryCheck, BoundaryComparison};
use crate::adapt::error::{GuaranteeError, MergeError};
use crate::adapt::piece_texts::PieceTexts;
use crate::adapt::pieces::{broken, scores};
use crate::model::Model;
use crate::piece::PieceKind;
use crate::tokenizer::Tokenizer;

impl MergedModel {
    /// Checks the guarantees of the module page on the pieces, on the text of each piece, and on
    /// `lines`.
    ///
    /// # Errors
    /// A guarantee is broken, which would be a bug of this crate.
    pub fn check<'t>(
        &self,
        first: &Model,
        lines: impl IntoIterator<Item = &'t [u8]>,
    ) -> Result<BoundaryCheck, MergeError> {
        self.check_pieces(first)?;
        let mut check = BoundaryCheck::default();
        let old = Tokenizer::new(first.clone());
        let new = Tokenizer::new(self.model.clone());
        let added = self.model.pieces().skip(first.len());
        let symbols = added.filter(|piece| piece.kind == PieceKind::UserDefined);
        let mut comparison = BoundaryComparison::new(
            [&old, &new],
            &self.text_change,
            self.keeps_boundaries(),
            symbols.map(|piece| piece.text),
        )?;
        let mut texts = PieceTexts::new(&new);
        for piece in self.model.pieces() {
            if let Some(text) = texts.raw(piece.text) {
                comparison.compare(&text, &mut check)?;
            }
        }
        for line in lines {
            comparison.compare(line, &mut check)?;
        }
        Ok(check)
    }

    /// Checks that the first model's pieces are unchanged, and that all added scores are below
    /// theirs.
    fn check_pieces(&self, first: &Model) -> Result<(), GuaranteeError> {
        for piece in first.pieces() {
            if self.model.piece(piece.id) != Some(piece) && !piece.score.is_nan() {
                return Err(broken(piece, "is unchanged"));
            }
        }
        let lowest = scores(first).fold(f32::INFINITY, f32::min);
        let mut added = scores(&self.model).skip(first.len());
        if added.any(|score| score >= lowest) {
            let text = "scores of added pieces are below all others".to_owned();
            return Err(GuaranteeError::new(text));
        }
        Ok(())
    }
}
