//! The check of a merged model: what was promised holds.
//!
//! Input: the first model, the merged model, and lines of text. Output: counts, or the guarantee that is broken. Every
//! piece's own text is a line of text, too. Cost: encodes all texts with both models.

use super::MergedModel;
use crate::adapt::edit::check::as_raw_text;
use crate::error::{GuaranteeError, MergeError, ModelError};
use crate::model::Model;
use crate::piece::{PieceId, PieceKind};
use crate::text::lossy_string;
use crate::tokenizer::{NormalizedEncoder, Tokenizer};
use crate::trie::prefix::PrefixTrie;

/// What [`MergedModel::check`] has compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MergeCheck {
    /// Texts that were encoded with the first and the merged model.
    pub texts: usize,
    /// Texts without an added piece, which have the same ids.
    pub unaffected: usize,
    /// Texts with no new boundary; 0 if the guarantee does not apply.
    pub without_new_boundary: usize,
    /// Tokens of all texts with the first model.
    pub tokens_before: u64,
    /// Tokens of all texts with the merged model.
    pub tokens_after: u64,
}

impl MergedModel {
    /// Checks the guarantees of the module page on the pieces, on the text of each piece, and on `lines`.
    ///
    /// # Errors
    /// A guarantee is broken, which would be a bug of this crate.
    pub fn check<'t>(
        &self,
        first: &Model,
        lines: impl IntoIterator<Item = &'t [u8]>,
    ) -> Result<MergeCheck, MergeError> {
        self.check_pieces(first)?;
        let mut check = MergeCheck::default();
        let old = Tokenizer::new(first.clone());
        let new = Tokenizer::new(self.model.clone());
        let mut comparison = BoundaryComparison::new(self, &old, &new)?;
        for piece in self.model.pieces() {
            comparison.compare(&as_raw_text(piece.text), &mut check)?;
        }
        for line in lines {
            comparison.compare(line, &mut check)?;
        }
        Ok(check)
    }

    /// Checks that the first model's pieces are unchanged, and that all added scores are below theirs.
    fn check_pieces(&self, first: &Model) -> Result<(), GuaranteeError> {
        let mut lowest = f32::INFINITY;
        for piece in first.pieces() {
            if self.model.piece(piece.id) != Some(piece) && !piece.score.is_nan() {
                let text = lossy_string(piece.text);
                return Err(GuaranteeError::new(format!(
                    "piece {} {text:?} is unchanged",
                    piece.id
                )));
            }
            lowest = lowest.min(piece.score);
        }
        let mut added = self.model.pieces().skip(first.len());
        if added.any(|piece| piece.score >= lowest) {
            let text = "scores of added pieces are below all others".to_owned();
            return Err(GuaranteeError::new(text));
        }
        Ok(())
    }
}

/// Encodes texts with the first and the merged model, and compares ids and boundaries.
struct BoundaryComparison<'c> {
    merged: &'c MergedModel,
    first: &'c Tokenizer,
    first_unknown: Option<PieceId>,
    keeps_boundaries: bool,
    /// The user-defined symbols that were added.
    added_symbols: PrefixTrie,
    old: NormalizedEncoder<'c>,
    new: NormalizedEncoder<'c>,
}

impl<'c> BoundaryComparison<'c> {
    /// A comparison of the tokenizers of the first and of the merged model.
    fn new(
        merged: &'c MergedModel,
        old: &'c Tokenizer,
        new: &'c Tokenizer,
    ) -> Result<BoundaryComparison<'c>, ModelError> {
        let first = old.model();
        let added = merged.model.pieces().skip(first.len());
        let symbols = added.filter(|piece| piece.kind == PieceKind::UserDefined);
        let added_symbols = PrefixTrie::new(symbols.map(|piece| piece.text));
        Ok(BoundaryComparison {
            merged,
            first: old,
            first_unknown: first.unknown_piece(),
            keeps_boundaries: merged.keeps_boundaries(),
            added_symbols: added_symbols.map_err(|_| ModelError::TrieTooLarge)?,
            old: NormalizedEncoder::new(old),
            new: NormalizedEncoder::new(new),
        })
    }

    fn compare(&mut self, text: &[u8], check: &mut MergeCheck) -> Result<(), GuaranteeError> {
        if self.has_added_symbol(text) {
            // Normalization copies added symbols, so the normalized texts can differ.
            return Ok(());
        }
        let normalized = self.first.encoder().normalize(text).to_vec();
        let old = self.old.encode(&normalized);
        let new = self.new.encode(&normalized);
        check.texts += 1;
        check.tokens_before += old.len() as u64;
        check.tokens_after += new.len() as u64;
        let is_unknown =
            |id: &PieceId| Some(*id) == self.first_unknown || id.index() >= self.first.vocab_size();
        let has_unknown = old.iter().any(is_unknown);
        let change = &self.merged.text_change;
        if !change.can_change(text, &normalized, has_unknown) {
            check.unaffected += 1;
            if old != new {
                return Err(broken("has the ids of the first model", text));
            }
        }
        if !self.keeps_boundaries || self.has_added_symbol(&normalized) {
            return Ok(());
        }
        check.without_new_boundary += 1;
        if is_subset(
            &self.new.boundaries(&normalized),
            &self.old.boundaries(&normalized),
        ) {
            Ok(())
        } else {
            Err(broken("has no new boundary", text))
        }
    }

    fn has_added_symbol(&self, text: &[u8]) -> bool {
        self.added_symbols.find(text).is_some()
    }
}

fn broken(promise: &str, text: &[u8]) -> GuaranteeError {
    GuaranteeError::new(format!("the text {:?} {promise}", lossy_string(text)))
}

/// Whether the ascending `part` has only values of the ascending `whole`.
fn is_subset(part: &[usize], whole: &[usize]) -> bool {
    let mut whole = whole.iter();
    part.iter().all(|wanted| whole.any(|value| value == wanted))
}
