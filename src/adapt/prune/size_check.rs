//! The check of a model that was pruned to a size, on all lines of the text that was counted,
//! without encoding them again.
//!
//! Input: the ids that the original model gives for each line ([`LineIds`](super::line_ids)).
//! Output: a [`LineCheck`], or `None` if they do not suffice.
//!
//! - A line in which a removed piece was given has other pieces now.
//! - Any other line has the same pieces: the merges that make the kept pieces are checked as in
//!   [`text_check`](super::text_check).
//! - The number of tokens of the other lines: they are divided where no merge joins two tokens, in
//!   neither model, since the pruned one has a part of the pieces. A part without removed pieces
//!   stays, for the same reason. The texts of the others, which consist of normal pieces, are
//!   encoded with the pruned model.
//!
//! All characters must have stayed: otherwise unknown characters of several parts could become one
//! id.
//!
//! Example: `▁token izer ▁lower` without `izer`. The line has other pieces. Only the text
//! `▁tokenizer` is encoded; `▁lower` stays.
//!
//! Cost: a load for each token, and an encoding of the parts with removed pieces.

use super::record::TextRecord;
use super::token_ends::TokenEnds;
use super::{LineCheck, PieceUsage, PrunedModel};
use crate::adapt::error::PruneError;
use crate::model::Model;
use crate::piece::PieceId;
use crate::tokenizer::NormalizedEncoder;

/// Counts the tokens that the pruned model gives.
struct TokenRecount<'t> {
    original: &'t Model,
    encoder: NormalizedEncoder<'t>,
    /// Where lines are divided.
    ends: TokenEnds,
    /// By old id.
    is_kept: Vec<bool>,
    /// The text of a part.
    text: Vec<u8>,
}

impl PrunedModel {
    /// Counts the lines that have the same pieces, and checks that they have.
    pub(super) fn check_size(
        &self,
        original: &Model,
        usage: &PieceUsage,
    ) -> Result<Option<LineCheck>, PruneError> {
        let is_recorded = *usage.record() == TextRecord::GivenPieces && self.removed_chars == 0;
        let Some(line_ids) = usage.line_ids().filter(|_| is_recorded) else {
            return Ok(None);
        };
        let Some(ends) = TokenEnds::of(original) else {
            return Ok(None);
        };
        self.check_merges(original, usage)?;
        let mut recount = TokenRecount {
            original,
            encoder: NormalizedEncoder::new(self.tokenizer()),
            ends,
            is_kept: original
                .pieces()
                .map(|piece| self.keeps(piece.id))
                .collect(),
            text: Vec::new(),
        };
        let mut check = LineCheck {
            lines: usage.lines(),
            tokens_before: usage.tokens(),
            ..LineCheck::default()
        };
        line_ids
            .lines()
            .for_each(|line| recount.add(line, &mut check));
        Ok(Some(check))
    }
}

impl TokenRecount<'_> {
    /// Adds a line to the counts of the pruned model.
    fn add(&mut self, line: &[PieceId], check: &mut LineCheck) {
        let is_equal = self.keeps(line);
        check.equal += u64::from(is_equal);
        check.tokens_after += match is_equal {
            true => line.len() as u64,
            false => self.count(line),
        };
    }

    /// Whether all pieces are kept. The id of unknown text in a model without an unknown piece is
    /// no piece.
    fn keeps(&self, ids: &[PieceId]) -> bool {
        ids.iter()
            .all(|id| self.is_kept.get(id.index()).is_none_or(|kept| *kept))
    }

    /// The number of tokens that the pruned model gives for a line.
    fn count(&mut self, line: &[PieceId]) -> u64 {
        let mut count = 0;
        let mut rest = line;
        while !rest.is_empty() {
            let (part, others) = rest.split_at(self.ends.part_length(rest));
            count += match self.keeps(part) {
                true => part.len(),
                false => self.count_again(part),
            };
            rest = others;
        }
        count as u64
    }

    /// The number of tokens that the pruned model gives for the text of a part of normal pieces.
    fn count_again(&mut self, part: &[PieceId]) -> usize {
        self.text.clear();
        for piece in part.iter().filter_map(|id| self.original.piece(*id)) {
            self.text.extend_from_slice(piece.text);
        }
        self.encoder.encode(&self.text).len()
    }
}
