//! What merging needs to know about a model: the structs that the strategies pass on. They are in a
//! file of their own so that no strategy imports from the module that chooses among the strategies.

use super::last_merge_table::{LastMergeTable, MAX_SYMBOL_BYTES};
use crate::encode::bpe::lookup::pair_cache::{PairCache, PairLookup};
use crate::encode::bpe::lookup::symbol_table::SymbolTable;
use crate::piece::{PieceId, PieceTable};

/// What all strategies know about a model.
#[derive(Debug)]
pub(in crate::encode::bpe) struct MergeTables<S> {
    pub(in crate::encode::bpe) symbols: SymbolTable,
    /// The initial symbols of texts.
    pub(in crate::encode::bpe) spelling: S,
    pub(in crate::encode::bpe) last_merges: LastMergeTable,
    /// The number of pieces; lower symbols are pieces.
    pub(in crate::encode::bpe) piece_count: usize,
    pub(in crate::encode::bpe) unknown: PieceId,
    /// Four times the length of the longest piece in bytes, within limits: a window of this length
    /// always has a symbol that ends between a third and two thirds of it.
    pub(in crate::encode::bpe) widest_window: usize,
}

impl<S> MergeTables<S> {
    /// `unknown` is the id of symbols that are no pieces.
    pub(in crate::encode::bpe) fn new(
        symbols: SymbolTable,
        pieces: &PieceTable,
        spelling: S,
        unknown: PieceId,
    ) -> Self {
        Self {
            widest_window: (4 * pieces.longest()).clamp(256, 4 * MAX_SYMBOL_BYTES),
            last_merges: LastMergeTable::new(symbols.piece_count()),
            piece_count: symbols.piece_count(),
            symbols,
            spelling,
            unknown,
        }
    }

    /// The id of a symbol in the output.
    #[inline]
    pub(in crate::encode::bpe) fn id_of(&self, symbol: u32) -> PieceId {
        self.piece_of(symbol).unwrap_or(self.unknown)
    }

    /// The id of a symbol that is a piece.
    #[inline]
    pub(in crate::encode::bpe) fn piece_of(&self, symbol: u32) -> Option<PieceId> {
        ((symbol as usize) < self.piece_count).then(|| PieceId::new(symbol))
    }

    /// Looks pairs up with the cache of a worker.
    #[inline]
    pub(in crate::encode::bpe) fn pair_lookup<'p>(
        &'p self,
        pieces: &'p PieceTable,
        cache: &'p mut PairCache,
    ) -> PairLookup<'p> {
        PairLookup {
            symbols: &self.symbols,
            pieces,
            cache,
        }
    }
}

/// The tables of a model and a lookup of pairs: what functions of single symbols need.
pub(in crate::encode::bpe) struct MergeContext<'c, S> {
    pub(in crate::encode::bpe) tables: &'c MergeTables<S>,
    pub(in crate::encode::bpe) pairs: PairLookup<'c>,
}
