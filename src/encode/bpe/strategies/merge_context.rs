//! What merging needs to know about a model.
//!
//! Input: the tables of a model, and the cache of pairs of one worker. Output: [`MergeTables`] and
//! [`MergeContext`], the structs that the strategies pass on. They are in a file of their own so
//! that no strategy imports from the module that chooses among the strategies.

use super::last_merge_table::LastMergeTable;
use crate::encode::bpe::classes::char_table::CharTable;
use crate::encode::bpe::lookup::pair_cache::{PairCache, PairLookup};
use crate::encode::bpe::lookup::symbol_table::SymbolTable;
use crate::encode::vocabulary::Vocabulary;
use crate::piece::{PieceId, PieceTable};

/// What all strategies know about a model.
#[derive(Debug)]
pub(in crate::encode::bpe) struct MergeTables {
    pub(in crate::encode::bpe) symbols: SymbolTable,
    pub(in crate::encode::bpe) chars: CharTable,
    pub(in crate::encode::bpe) last_merges: LastMergeTable,
    /// The number of pieces; lower symbols are pieces.
    pub(in crate::encode::bpe) piece_count: usize,
    pub(in crate::encode::bpe) unknown: PieceId,
}

impl MergeTables {
    /// The tables of these symbols and characters.
    pub(in crate::encode::bpe) fn new(
        vocabulary: &Vocabulary<'_>,
        symbols: SymbolTable,
        chars: CharTable,
    ) -> Self {
        Self {
            symbols,
            chars,
            last_merges: LastMergeTable::new(vocabulary.len()),
            piece_count: vocabulary.len(),
            unknown: vocabulary.unknown(),
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
pub(in crate::encode::bpe) struct MergeContext<'c> {
    pub(in crate::encode::bpe) tables: &'c MergeTables,
    pub(in crate::encode::bpe) pairs: PairLookup<'c>,
}
