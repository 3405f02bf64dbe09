//! Ids and token boundaries before and after pieces were added to a model.
//!
//! Input: a model, a model with more pieces, and texts. Output: counts, or the guarantee that a
//! text breaks: a text that the new pieces cannot concern has the same ids, and, where that is
//! promised, no text has a boundary between tokens that it did not have before.
//!
//! Example: the new piece `abc`, and the text `abcd`, whose tokens were `ab c d` and are `abc d`.
//! Its boundaries were 2 and 3; now there is only 3, which is not new.
//!
//! Cost: encodes each text with both models.

use super::pieces::broken_text;
use super::text_change::TextChange;
use crate::adapt::error::GuaranteeError;
use crate::error::ModelError;
use crate::piece::PieceId;
use crate::tokenizer::{NormalizedEncoder, Tokenizer};
use crate::trie::prefix::PrefixTrie;

/// Texts that were compared before and after pieces were added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BoundaryCheck {
    /// Texts that were encoded with the old and the new model.
    pub texts: usize,
    /// Texts that the new pieces cannot concern, which have the same ids.
    pub unaffected: usize,
    /// Texts with no new boundary; 0 if the guarantee does not apply.
    pub without_new_boundary: usize,
    /// Tokens of all texts with the old model.
    pub tokens_before: u64,
    /// Tokens of all texts with the new model.
    pub tokens_after: u64,
}

impl BoundaryCheck {
    /// Adds the counts of other texts.
    pub(in crate::adapt) fn add(&mut self, other: &Self) {
        self.texts += other.texts;
        self.unaffected += other.unaffected;
        self.without_new_boundary += other.without_new_boundary;
        self.tokens_before += other.tokens_before;
        self.tokens_after += other.tokens_after;
    }

    /// Counts a text with so many tokens.
    fn add_text(&mut self, before: usize, after: usize) {
        self.texts += 1;
        self.tokens_before += before as u64;
        self.tokens_after += after as u64;
    }
}

/// Encodes texts with a model and with a model that has more pieces, and compares ids and
/// boundaries.
pub(in crate::adapt) struct BoundaryComparison<'c> {
    text_change: &'c TextChange,
    old_tokenizer: &'c Tokenizer,
    old_unknown: Option<PieceId>,
    /// Whether no text has a new boundary.
    keeps_boundaries: bool,
    /// The user-defined symbols that were added.
    added_symbols: PrefixTrie,
    old: NormalizedEncoder<'c>,
    new: NormalizedEncoder<'c>,
}

impl<'c> BoundaryComparison<'c> {
    /// A comparison of the tokenizers of two models, of which the second has the user-defined
    /// symbols `added` in addition.
    pub(in crate::adapt) fn new<'t>(
        [old, new]: [&'c Tokenizer; 2],
        text_change: &'c TextChange,
        keeps_boundaries: bool,
        added: impl Iterator<Item = &'t [u8]>,
    ) -> Result<Self, ModelError> {
        Ok(BoundaryComparison {
            text_change,
            old_tokenizer: old,
            old_unknown: old.model().unknown_piece(),
            keeps_boundaries,
            added_symbols: PrefixTrie::new(added).map_err(|_| ModelError::TrieTooLarge)?,
            old: NormalizedEncoder::new(old),
            new: NormalizedEncoder::new(new),
        })
    }

    /// Compares what both models make of `text`, and counts it.
    pub(in crate::adapt) fn compare(
        &mut self,
        text: &[u8],
        check: &mut BoundaryCheck,
    ) -> Result<(), GuaranteeError> {
        if self.has_added_symbol(text) {
            // Normalization copies added symbols, so the normalized texts can differ.
            return Ok(());
        }
        let normalized = self.old_tokenizer.encoder().normalize(text).to_vec();
        self.compare_ids(text, &normalized, check)?;
        if self.keeps_boundaries && !self.has_added_symbol(&normalized) {
            check.without_new_boundary += 1;
            if self.has_new_boundary(&normalized) {
                return Err(broken_text(text, "has no new boundary"));
            }
        }
        Ok(())
    }

    fn has_added_symbol(&self, text: &[u8]) -> bool {
        self.added_symbols.find(text).is_some()
    }

    /// Counts the tokens of a text, and compares the ids if the new pieces cannot concern it.
    fn compare_ids(
        &mut self,
        text: &[u8],
        normalized: &[u8],
        check: &mut BoundaryCheck,
    ) -> Result<(), GuaranteeError> {
        let old = self.old.encode(normalized);
        let new = self.new.encode(normalized);
        check.add_text(old.len(), new.len());
        let is_unknown = |id: &PieceId| {
            Some(*id) == self.old_unknown || id.index() >= self.old_tokenizer.vocab_size()
        };
        let has_unknown = old.iter().any(is_unknown);
        if self.text_change.can_change(text, normalized, has_unknown) {
            return Ok(());
        }
        check.unaffected += 1;
        if old == new {
            return Ok(());
        }
        Err(broken_text(text, "has the same ids as before"))
    }

    /// Whether the new model divides a normalized text where the old one does not.
    fn has_new_boundary(&mut self, normalized: &[u8]) -> bool {
        let old = self.old.boundaries(normalized);
        !is_subset(&self.new.boundaries(normalized), &old)
    }
}

/// Whether the ascending `part` has only values of the ascending `whole`.
fn is_subset(part: &[usize], whole: &[usize]) -> bool {
    let mut whole = whole.iter();
    part.iter().all(|wanted| whole.any(|value| value == wanted))
}
