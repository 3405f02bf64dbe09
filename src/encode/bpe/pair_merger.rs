//! Merges symbols by any rule that ranks pairs, such as a list of merges.

use super::lookup::symbol_table::SymbolMerge;
use super::lookup::token_merges::MergeSource;
use super::strategies::heap_merge::{HeapMerge, MergeObserver};

/// See the [module page](self).
#[derive(Debug, Default)]
pub(crate) struct PairMerger {
    heap: HeapMerge,
}

impl PairMerger {
    /// Merges `symbols`; `merge_of` gives the rank of a pair and the symbol that it becomes.
    /// Returns the symbols that remain, and the pair that merged last if one symbol remains.
    pub(crate) fn merge(
        &mut self,
        symbols: impl Iterator<Item = u32>,
        merge_of: impl Fn(u32, u32) -> Option<(u32, u32)>,
    ) -> (&[u32], Option<[u32; 2]>) {
        self.heap.symbols.clear();
        self.heap.symbols.extend(symbols);
        let mut last = LastCandidate(None);
        self.heap.merge(&mut RankedPairs(merge_of), &mut last);
        (&self.heap.symbols, last.0)
    }
}

/// A rule as a source of merges.
struct RankedPairs<F>(F);

impl<F: Fn(u32, u32) -> Option<(u32, u32)>> MergeSource for RankedPairs<F> {
    fn merge_of(&mut self, left: u32, right: u32) -> SymbolMerge {
        match (self.0)(left, right) {
            Some((rank, symbol)) => SymbolMerge::new(rank, symbol),
            None => SymbolMerge::NONE,
        }
    }
}

/// The pair that became a candidate last. Before two symbols become the only one, they are the only
/// pair, so that no other one can become a candidate after them.
struct LastCandidate(Option<[u32; 2]>);

impl MergeObserver for LastCandidate {
    fn on_candidate(&mut self, _symbol: u32, left: u32, right: u32) {
        self.0 = Some([left, right]);
    }
}
