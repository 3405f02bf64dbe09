//! Whole lines at once: for models with unused pieces, and for dropout.
//!
//! Dropout (Provilkov et al., "BPE-dropout: simple and effective subword regularization", ACL 2020,
//! <https://doi.org/10.18653/v1/2020.acl-main.170>) skips each merge with a given probability when its turn
//! comes.
//!
//! An unused piece at the end of all merging is taken apart into the two parts that it had when the pair
//! came up last, anywhere in the line, and so on for the parts; a piece that was not merged is unknown. The
//! reference ends this after a hundred steps down and then writes the unused piece itself.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;

use super::Bpe;
use super::merge::{self, MergeScratch};
use super::pairs::{PairCache, Pairs};
use super::symbols::NO_SYMBOL;
use crate::piece::{PieceId, PieceTable};

/// Steps down before a piece is written as it is.
const DEPTH_LIMIT: u32 = 100;

/// Buffers for whole lines.
#[derive(Debug, Default)]
pub(super) struct WholeScratch {
    merge: MergeScratch,
    pairs: PairCache,
    /// What unused pieces were merged from.
    parts: HashMap<u32, (u32, u32), FxBuildHasher>,
    /// The user-defined symbols of the line, from left to right.
    frozen: Vec<PieceId>,
}

/// Stands for a user-defined symbol. It merges with nothing.
const FROZEN: u32 = NO_SYMBOL - 1;

impl Bpe {
    /// Appends the ids of `text`; merges for which `is_skipped` says so do not happen.
    pub(super) fn segment_whole(
        &self,
        pieces: &PieceTable,
        text: &[u8],
        scratch: &mut WholeScratch,
        is_skipped: impl FnMut() -> bool,
        out: &mut Vec<PieceId>,
    ) {
        let WholeScratch {
            merge,
            pairs,
            parts,
            frozen,
        } = scratch;
        parts.clear();
        frozen.clear();
        merge.symbols.clear();
        let mut at = 0;
        while at < text.len() {
            if let Some((length, id)) = self.user_defined.longest_with_value(&text[at..]) {
                merge.symbols.push(FROZEN);
                frozen.push(PieceId::from_index(id));
                at += length;
                continue;
            }
            let (class, width) = self.chars.class_at(&text[at..]);
            merge.symbols.push(self.chars.symbol(class));
            at += width;
        }
        let mut pairs = Pairs {
            symbols: &self.symbols,
            pieces,
            cache: pairs,
        };
        merge::merge_long(&mut pairs, merge, is_skipped, |merge, left, right| {
            if self.is_unused(merge.symbol()) {
                parts.insert(merge.symbol(), (left, right));
            }
        });
        let mut frozen = frozen.iter();
        for symbol in &merge.symbols {
            match symbol {
                &FROZEN => out.extend(frozen.next()),
                symbol => self.take_apart(*symbol, parts, 0, out),
            }
        }
    }

    fn take_apart(
        &self,
        symbol: u32,
        parts: &HashMap<u32, (u32, u32), FxBuildHasher>,
        depth: u32,
        out: &mut Vec<PieceId>,
    ) {
        if depth > DEPTH_LIMIT || !self.is_unused(symbol) {
            out.push(self.id_of(symbol));
        } else if let Some((left, right)) = parts.get(&symbol) {
            self.take_apart(*left, parts, depth + 1, out);
            self.take_apart(*right, parts, depth + 1, out);
        } else {
            out.push(self.unknown);
        }
    }

    fn is_unused(&self, symbol: u32) -> bool {
        self.unused.get(symbol as usize).copied().unwrap_or(false)
    }

    /// Appends the ids of `text`, with each merge skipped with the probability `dropout`.
    pub(crate) fn sample(
        &self,
        pieces: &PieceTable,
        text: &[u8],
        mut is_skipped: impl FnMut() -> bool,
        scratch: &mut super::BpeCache,
        out: &mut Vec<PieceId>,
    ) {
        self.segment_whole(pieces, text, &mut scratch.whole, &mut is_skipped, out);
    }
}
