//! Merges a few tokens.
//!
//! In a run of tokens of the first layer, each two neighbours can be adjacent in a piece of the
//! second. Most runs have two to five tokens, so all pairs are compared to find the next merge, and
//! the tokens after it move one place forward.
//!
//! Example: the tokens `▁one ▁of ▁the`, of which `▁of▁the` and then `▁one▁of▁the` are pieces. The
//! pair at 1 has the lowest rank; the run becomes `▁one ▁of▁the`, and the pair at 0 is looked up
//! again, which merges.
//!
//! Cost: n² for n tokens, at most [`MAX_TOKENS`].

use super::super::lookup::symbol_table::{NO_SYMBOL, SymbolMerge};
use super::super::lookup::token_merges::TokenMergeTable;
use crate::piece::PieceId;

/// The largest number of tokens.
pub(super) const MAX_TOKENS: usize = 16;

/// The buffers of a run.
#[derive(Debug)]
pub(in crate::encode::bpe) struct TokenRunMerge {
    symbols: [u32; MAX_TOKENS],
    /// What each symbol and the next one become; the last one nothing.
    merges: [SymbolMerge; MAX_TOKENS],
}

impl Default for TokenRunMerge {
    fn default() -> Self {
        Self {
            symbols: [NO_SYMBOL; MAX_TOKENS],
            merges: [SymbolMerge::NONE; MAX_TOKENS],
        }
    }
}

impl TokenRunMerge {
    /// Merges `tokens`, of which there are at most [`MAX_TOKENS`]; `merges` is what each and the
    /// next one become. Returns the symbols that remain.
    pub(super) fn merge(
        &mut self,
        tokens: &[PieceId],
        merges: &[SymbolMerge],
        table: &TokenMergeTable,
    ) -> &[u32] {
        let mut count = tokens.len().min(MAX_TOKENS);
        for (symbol, token) in self.symbols.iter_mut().zip(tokens) {
            *symbol = token.get();
        }
        for (own, merge) in self.merges.iter_mut().zip(merges) {
            *own = *merge;
        }
        while let Some(left) = self.next_merge(count) {
            self.symbols[left] = self.merges[left].symbol();
            self.symbols.copy_within(left + 2..count, left + 1);
            self.merges.copy_within(left + 2..count, left + 1);
            count -= 1;
            self.look_up(left, count, table);
            if left > 0 {
                self.look_up(left - 1, count, table);
            }
        }
        &self.symbols[..count]
    }

    /// Looks up what a symbol and the next one become.
    #[inline]
    fn look_up(&mut self, left: usize, count: usize, table: &TokenMergeTable) {
        self.merges[left] = if left + 1 < count {
            table.get(self.symbols[left], self.symbols[left + 1])
        } else {
            SymbolMerge::NONE
        };
    }

    /// The pair with the lowest rank, of equal ranks the leftmost.
    #[inline]
    fn next_merge(&self, count: usize) -> Option<usize> {
        let mut best = SymbolMerge::NONE;
        let mut found = None;
        for (left, merge) in self.merges[..count].iter().enumerate() {
            if merge.rank() < best.rank() {
                best = *merge;
                found = Some(left);
            }
        }
        found
    }
}
