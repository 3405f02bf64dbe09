//! The check of an edited model: what was promised holds.
//!
//! Input: the original, the edited model, and lines of text. Output: counts, or the guarantee that
//! is broken. Every piece's own text is a line of text, too (see
//! [`piece_texts`](crate::adapt::piece_texts)). Cost: encodes all texts with both models.

use super::EditedModel;
use crate::adapt::error::{EditError, GuaranteeError};
use crate::adapt::piece_texts::PieceTexts;
use crate::adapt::pieces::{broken_text, is_same};
use crate::model::{Model, Piece};
use crate::piece::{PieceId, PieceKind};
use crate::text::lossy_string;
use crate::tokenizer::Tokenizer;

/// What [`EditedModel::check`] has compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EditCheck {
    /// Pieces that are as they were.
    pub pieces: usize,
    /// Texts that were encoded with both models.
    pub texts: usize,
    /// Texts whose pieces must not differ, and do not.
    pub unaffected: usize,
    /// Texts whose pieces may differ by the conditions, and do.
    pub changed: usize,
}

impl EditedModel {
    /// Checks the guarantees of the module page on the pieces, on the text of each piece, and on
    /// `lines`.
    ///
    /// # Errors
    /// [`EditError::Guarantee`], which would be a bug of this crate.
    pub fn check<'t>(
        &self,
        original: &Model,
        lines: impl IntoIterator<Item = &'t [u8]>,
    ) -> Result<EditCheck, EditError> {
        let mut check = EditCheck {
            pieces: self.check_pieces(original)?,
            ..EditCheck::default()
        };
        let old = Tokenizer::new(original.clone());
        let new = Tokenizer::new(self.model.clone());
        let comparison = EditComparison {
            edited: self,
            old_unknown: original.unknown_piece(),
            old: &old,
            new: &new,
        };
        let mut texts = PieceTexts::new(&old);
        for piece in original.pieces().chain(self.model.pieces()) {
            if let Some(text) = texts.raw(piece.text) {
                comparison.compare(&text, &mut check)?;
            }
        }
        for line in lines {
            comparison.compare(line, &mut check)?;
        }
        Ok(check)
    }

    /// Checks that pieces which no step names are as they were, and returns their number.
    fn check_pieces(&self, original: &Model) -> Result<usize, GuaranteeError> {
        let mut unchanged = 0;
        for piece in original.pieces() {
            if self.named[piece.id.index()] {
                continue;
            }
            if !self.is_unchanged(piece) {
                return Err(changed_piece(piece));
            }
            unchanged += 1;
        }
        Ok(unchanged)
    }

    /// Whether a piece of the original is as it was.
    fn is_unchanged(&self, old: Piece<'_>) -> bool {
        self.ids
            .new_id(old.id)
            .and_then(|id| self.model.piece(id))
            .is_some_and(|new| is_same(old, new))
    }
}

fn changed_piece(piece: Piece<'_>) -> GuaranteeError {
    let text = lossy_string(piece.text);
    GuaranteeError::new(format!(
        "piece {} {text:?}, which no step names, is unchanged",
        piece.id
    ))
}

/// Encodes texts with both models.
struct EditComparison<'e> {
    edited: &'e EditedModel,
    old: &'e Tokenizer,
    new: &'e Tokenizer,
    old_unknown: Option<PieceId>,
}

impl EditComparison<'_> {
    fn compare(&self, text: &[u8], check: &mut EditCheck) -> Result<(), GuaranteeError> {
        let old = self.old.encode(text);
        let new = self.new.encode(text);
        let is_same = self.edited.ids.maps(&old, &new);
        check.texts += 1;
        if self.can_change(text, &old) {
            check.changed += usize::from(!is_same);
            return Ok(());
        }
        check.unaffected += 1;
        if is_same {
            return Ok(());
        }
        Err(broken_text(text, "has the pieces that it had"))
    }

    fn can_change(&self, text: &[u8], old: &[PieceId]) -> bool {
        let has_unknown = old.iter().any(|id| self.is_unknown(*id));
        let normalized = self.old.encoder().normalize(text).to_vec();
        let change = &self.edited.text_change;
        change.can_change(text, &normalized, has_unknown)
    }

    /// Whether the original gives an id for an unknown character.
    fn is_unknown(&self, id: PieceId) -> bool {
        Some(id) == self.old_unknown || self.old.model().piece(id).is_none_or(is_byte)
    }
}

/// Whether a piece stands for a byte of an unknown character.
fn is_byte(piece: Piece<'_>) -> bool {
    piece.kind == PieceKind::Byte
}
