//! The check of a pruned model on all lines of the text that was counted, without encoding them again.
//!
//! Input: the tokenizers of the original and of the pruned model, and the usage of the text with its
//! [`TextRecord`]. Output: a [`LineCheck`] in which all lines are equal, or a broken guarantee, or `None` if the record does
//! not suffice and the lines have to be compared by a [`PruneChecker`](super::PruneChecker).
//!
//! Why all lines are equal, for BPE: with the pruned model, each token of the text encodes to itself, and each two
//! neighbours between which merges are possible encode to themselves. Both are found out by the last merges of the pieces, as for long
//! chunks (`encode/bpe/strategies/token_pairs.rs`), or by encoding them. By
//! lemma 5 (`docs/DESIGN.md`) each line then encodes to the same tokens: the lemma speaks of the pruned model alone, so nothing
//! depends on how the pieces were chosen. User-defined symbols and the normalizer are the same in both models, and unknown
//! characters are unknown in both, since the pruned model has no other pieces. An unused tail is checked on a copy in
//! which it is normal: while merging it is the same, and since no token is of the tail, nothing is divided at the end.
//!
//! For unigram: all pieces of all lines stay with their scores, and so does the lowest score; and the longest line is too short
//! for sums of 100,000. Then the best paths stay (`docs/DESIGN.md`).
//!
//! Example: the text `▁token izer ▁lower` has the tokens `▁token`, `izer` and `▁lower`, and the text `▁tokenizer` made of the
//! only pair. Four texts are encoded, however often the words occur.
//!
//! Cost: one merge of each distinct piece, and two lookups per merge of the two pieces of each distinct pair.

use super::record::{TextRecord, TokenPairKey, pair_ids};
use super::{LineCheck, PieceUsage, PrunedModel};
use crate::error::{GuaranteeError, PruneError};
use crate::model::Model;
use crate::piece::{PieceId, PieceKind};
use crate::text::lossy_string;
use crate::tokenizer::{NormalizedEncoder, Tokenizer};

/// The sums of scores of unigram models may be so large; above 100,000 the encoder changes them.
const MAX_SUM: f32 = 99_000.0;
/// What an unknown character or a byte of a user-defined symbol adds to a sum, beyond the score of a piece.
const EXTRA_SCORE: f32 = 11.0;

impl PrunedModel {
    /// Checks that all lines of the text whose `usage` was counted have the same pieces in the pruned model, whose tokenizer is
    /// `new`; for [`PruneGoal::Size`](super::PruneGoal::Size), how many have, if the usage has the ids of the lines
    /// ([`UsageCounter::keep_line_ids`](super::UsageCounter::keep_line_ids)). `None` if that does not follow from the usage: for
    /// models with unused pieces, for texts with too many different words, for very long lines of unigram models, and for
    /// `Size` without ids, with unigram models or with removed characters. Then use a [`PruneChecker`](super::PruneChecker).
    ///
    /// # Errors
    /// A guarantee is broken, which would be a bug of this crate, or `usage` is of another model.
    pub fn check_usage(
        &self,
        original: &Model,
        new: &Tokenizer,
        usage: &PieceUsage,
    ) -> Result<Option<LineCheck>, PruneError> {
        if usage.len() != self.ids.old_len() {
            return Err(PruneError::OtherModel);
        }
        if !self.keeps_text {
            return self.check_size(original, new, usage);
        }
        self.check_given(original, usage)?;
        let is_checked = match usage.record() {
            TextRecord::Incomplete => false,
            TextRecord::Pairs(pairs) => {
                self.check_pairs(original, new, usage, pairs.iter().copied())?;
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

    /// Checks that the given pieces that are kept, and the pairs, of kept pieces, are encoded to themselves by the pruned model.
    pub(super) fn check_pairs(
        &self,
        original: &Model,
        new: &Tokenizer,
        usage: &PieceUsage,
        pairs: impl Iterator<Item = TokenPairKey>,
    ) -> Result<(), PruneError> {
        let without_tail;
        let mut encoder = NormalizedEncoder::new(new);
        if self.tail > 0 {
            without_tail = self.without_tail()?;
            encoder = NormalizedEncoder::new(&without_tail);
        }
        let mut text = Vec::new();
        let mut new_ids = Vec::new();
        let mut check = |old_ids: &[PieceId]| {
            new_ids.clear();
            new_ids.extend(old_ids.iter().filter_map(|id| self.ids.new_id(*id)));
            if new_ids.len() == old_ids.len() && encoder.keeps(&new_ids) == Some(true) {
                return Ok(());
            }
            text.clear();
            for id in old_ids {
                text.extend_from_slice(original.piece(*id).map_or(&[], |piece| piece.text));
            }
            match self.ids.maps(old_ids, encoder.encode(&text)) {
                true => Ok(()),
                false => Err(broken_text(&text)),
            }
        };
        for piece in given(original, usage).filter(|piece| piece.kind.is_given_for_text()) {
            if self.ids.new_id(piece.id).is_some() {
                check(&[piece.id])?;
            }
        }
        // In order, so that pairs with the same left token ask for the same merges one after the other.
        let mut in_order: Vec<TokenPairKey> = pairs.collect();
        in_order.sort_unstable();
        for pair in in_order {
            check(&pair_ids(pair))?;
        }
        Ok(())
    }

    /// The pruned model with an unused tail that is normal again.
    fn without_tail(&self) -> Result<Tokenizer, PruneError> {
        let mut editor = self.model.edit();
        for index in self.rows()..self.model.len() {
            editor.set_kind(PieceId::from_index(index), PieceKind::Normal);
        }
        Ok(Tokenizer::new(editor.finish()?))
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

fn broken_text(text: &[u8]) -> PruneError {
    let text = lossy_string(text);
    let guarantee =
        format!("the text {text:?}, which occurs in a line, has the same pieces as before");
    GuaranteeError::new(guarantee).into()
}
