//! Whole texts at once: for models with unused pieces, and for dropout.
//!
//! The text is not split into chunks, because the result of a pair may depend on other parts of the
//! text.
//!
//! Unused pieces take part in merges, but are not returned: an unused piece that remains is
//! *resegmented* into the two symbols of the pair that last became a candidate for it, anywhere in
//! the text. These symbols are resegmented in turn. An unused piece for which there was no
//! candidate becomes unknown. The reference stops after a hundred levels and then writes the unused
//! piece itself.
//!
//! Dropout (Provilkov et al., "BPE-dropout: simple and effective subword regularization", ACL 2020,
//! <https://doi.org/10.18653/v1/2020.acl-main.170>) skips each merge with a given probability when
//! its turn comes.
//!
//! Example: pieces `th` (unused, rank 0), `the` (1). The text `the` merges to `th e`, then to
//! `the`. The text `tha` merges to `th a`; `th` is unused, and its candidate was `t h`, so the ids
//! are those of `t`, `h`, `a`.
//!
//! Cost: n log n in the length of the text.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::heap_merge::{HeapMerge, MergeObserver};
use super::merge_context::MergeTables;
use crate::encode::bpe::lookup::pair_cache::{PairCache, PairLookup};
use crate::encode::bpe::lookup::symbol_table::{NO_SYMBOL, SymbolTable};
use crate::encode::bpe::spelling::Spelling;
use crate::piece::{PieceId, PieceTable};
use crate::trie::prefix::PrefixTrie;

/// Levels of resegmentation after which an unused piece is written as it is.
const MAX_RESEGMENT_DEPTH: u32 = 100;
/// The symbol of every user-defined symbol. It merges with nothing.
const USER_DEFINED: u32 = NO_SYMBOL - 1;

/// For each unused piece, the two symbols of the pair that last became a candidate for it.
type SymbolParts = HashMap<u32, (u32, u32), FixedState>;

/// Buffers for whole texts.
#[derive(Debug, Default)]
pub(in crate::encode::bpe) struct FullMergeState {
    heap: HeapMerge,
    pairs: PairCache,
    /// The parts of unused pieces.
    parts: SymbolParts,
    /// The ids of the user-defined symbols of the text, from left to right.
    user_defined: Vec<PieceId>,
}

impl FullMergeState {
    /// The memory that the pair cache needs now, in bytes.
    pub(in crate::encode::bpe) fn size_bytes(&self) -> usize {
        self.pairs.size_bytes()
    }
}

/// What merging of whole texts needs to know about a model.
pub(in crate::encode::bpe) struct FullMerge<'m, S> {
    pub(in crate::encode::bpe) tables: &'m MergeTables<S>,
    /// The symbols of all pieces; those of `tables` may be only the first layer.
    pub(in crate::encode::bpe) symbols: &'m SymbolTable,
    pub(in crate::encode::bpe) pieces: &'m PieceTable,
    pub(in crate::encode::bpe) user_defined: &'m PrefixTrie,
    /// Whether each piece is unused; empty if none is.
    pub(in crate::encode::bpe) unused: &'m [bool],
}

/// Records the parts of unused pieces, and skips merges.
struct FullMergeObserver<'o, F> {
    unused: &'o [bool],
    parts: &'o mut SymbolParts,
    skips_merge: F,
}

impl<F: FnMut() -> bool> MergeObserver for FullMergeObserver<'_, F> {
    fn skips_merge(&mut self) -> bool {
        (self.skips_merge)()
    }

    fn on_candidate(&mut self, symbol: u32, left: u32, right: u32) {
        if is_unused(self.unused, symbol) {
            self.parts.insert(symbol, (left, right));
        }
    }
}

impl<S: Spelling> FullMerge<'_, S> {
    /// Appends the ids of `text`; merges for which `skips_merge` returns true are skipped.
    pub(in crate::encode::bpe) fn encode(
        &self,
        text: &[u8],
        skips_merge: impl FnMut() -> bool,
        state: &mut FullMergeState,
        out: &mut Vec<PieceId>,
    ) {
        self.read_symbols(text, state);
        state.parts.clear();
        let mut pairs = PairLookup {
            symbols: self.symbols,
            pieces: self.pieces,
            cache: &mut state.pairs,
        };
        let mut observer = FullMergeObserver {
            unused: self.unused,
            parts: &mut state.parts,
            skips_merge,
        };
        state.heap.merge(&mut pairs, &mut observer);
        self.append_ids(state, out);
    }

    /// Appends the ids of the symbols that remain.
    fn append_ids(&self, state: &FullMergeState, out: &mut Vec<PieceId>) {
        let mut user_defined = state.user_defined.iter();
        for symbol in &state.heap.symbols {
            match *symbol {
                USER_DEFINED => out.extend(user_defined.next()),
                symbol => self.resegment(symbol, &state.parts, 0, out),
            }
        }
    }

    /// Makes symbols of the units and user-defined symbols of a text.
    fn read_symbols(&self, text: &[u8], state: &mut FullMergeState) {
        let symbols = &mut state.heap.symbols;
        symbols.clear();
        state.user_defined.clear();
        let mut at = 0;
        while at < text.len() {
            if let Some((length, id)) = self.user_defined.longest_with_value(&text[at..]) {
                symbols.push(USER_DEFINED);
                state.user_defined.push(PieceId::new(id));
                at += length;
                continue;
            }
            let (unit, width) = self.tables.spelling.unit_at(&text[at..]);
            symbols.push(unit.symbol);
            at += width;
        }
    }

    /// Appends the id of a symbol, or if it is unused, the ids of its parts.
    fn resegment(&self, symbol: u32, parts: &SymbolParts, depth: u32, out: &mut Vec<PieceId>) {
        if depth > MAX_RESEGMENT_DEPTH || !is_unused(self.unused, symbol) {
            out.push(self.tables.id_of(symbol));
        } else if let Some((left, right)) = parts.get(&symbol) {
            self.resegment(*left, parts, depth + 1, out);
            self.resegment(*right, parts, depth + 1, out);
        } else {
            out.push(self.tables.unknown);
        }
    }
}

/// Whether a symbol is an unused piece.
fn is_unused(unused: &[bool], symbol: u32) -> bool {
    unused.get(symbol as usize).copied().unwrap_or(false)
}
