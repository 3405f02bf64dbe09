//! The check of a pruned model on lines of text.
//!
//! Input: lines. Output: how many have the same pieces as before, and the numbers of tokens. Where
//! pruning promises the same pieces, a line with others is an error. Cost: two encodings of each
//! line.

use super::{PieceUsage, PrunedModel};
use crate::adapt::error::{GuaranteeError, PruneError};
use crate::text::lossy_string;
use crate::tokenizer::{Encoder, Tokenizer};

/// What [`PruneChecker`] has compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LineCheck {
    /// Lines that were encoded with both models.
    pub lines: u64,
    /// Lines that have the same pieces in both models.
    pub equal: u64,
    /// Tokens of all lines with the original model.
    pub tokens_before: u64,
    /// Tokens of all lines with the pruned model.
    pub tokens_after: u64,
}

impl LineCheck {
    /// The check of a text whose lines all have the same pieces.
    pub(super) fn all_equal(usage: &PieceUsage) -> Self {
        Self {
            lines: usage.lines(),
            equal: usage.lines(),
            tokens_before: usage.tokens(),
            tokens_after: usage.tokens(),
        }
    }

    /// Adds the counts of other lines.
    pub fn add(&mut self, other: &Self) {
        self.lines += other.lines;
        self.equal += other.equal;
        self.tokens_before += other.tokens_before;
        self.tokens_after += other.tokens_after;
    }
}

/// Encodes lines with the original and the pruned model, and compares them.
#[derive(Debug)]
pub struct PruneChecker<'t> {
    pruned: &'t PrunedModel,
    old: Encoder<'t>,
    new: Encoder<'t>,
    check: LineCheck,
}

impl<'t> PruneChecker<'t> {
    /// A checker for the tokenizers of the original and of the pruned model.
    pub fn new(pruned: &'t PrunedModel, old: &'t Tokenizer, new: &'t Tokenizer) -> Self {
        PruneChecker {
            pruned,
            old: old.encoder(),
            new: new.encoder(),
            check: LineCheck::default(),
        }
    }

    /// Checks a line of the text whose usage was counted.
    ///
    /// # Errors
    /// The line must have the same pieces and has others, or an id of the unused tail is given.
    /// Either would be a bug of this crate, or the line is not one of the text.
    pub fn add(&mut self, line: impl AsRef<[u8]>) -> Result<(), PruneError> {
        let line = line.as_ref();
        let old = self.old.encode(line);
        let new = self.new.encode(line);
        let is_equal = self.pruned.ids.maps(old, new);
        self.check.lines += 1;
        self.check.equal += u64::from(is_equal);
        self.check.tokens_before += old.len() as u64;
        self.check.tokens_after += new.len() as u64;
        let has_tail = new.iter().any(|id| self.pruned.is_tail(*id));
        if (self.pruned.keeps_text && !is_equal) || has_tail {
            return Err(broken_line(line).into());
        }
        Ok(())
    }

    /// What was compared.
    pub fn finish(self) -> LineCheck {
        self.check
    }
}

fn broken_line(line: &[u8]) -> GuaranteeError {
    let line = lossy_string(line);
    GuaranteeError::new(format!("the line {line:?} has the same pieces as before"))
}
