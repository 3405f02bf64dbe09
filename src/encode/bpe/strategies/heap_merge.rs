//! Merges a sequence of symbols of any length.
//!
//! The merge with the lowest rank happens first, of equal ranks the leftmost.
//!
//! The symbols are nodes of a linked list, and the candidates for merges wait in a heap. A
//! candidate becomes stale when one of its symbols merges. Stale candidates are recognized when
//! they are popped, because the node then has another merge.
//!
//! Example: pieces `th` (rank 0), `he` (1), `the` (2), text `t h e`. The heap has (rank 0, node 0)
//! and (1, node 1). Popping the first joins nodes 0 and 1 to `th` and pushes (2, node 0) for
//! `th e`. (1, node 1) is popped, but node 1 has been joined, so it is dropped. Popping (2, node 0)
//! leaves `the`.
//!
//! Cost: n log n for n symbols, whatever the input is.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::encode::bpe::lookup::symbol_table::{NO_SYMBOL, SymbolMerge};
use crate::encode::bpe::lookup::token_merges::MergeSource;

/// The index of a node that does not exist.
const NO_NODE: usize = usize::MAX;

/// Observes merges, and can prevent them.
pub(in crate::encode::bpe) trait MergeObserver {
    /// Whether the next merge is skipped permanently.
    fn skips_merge(&mut self) -> bool {
        false
    }

    /// A pair that merges to `symbol` became a candidate, in the reference's order.
    fn on_candidate(&mut self, _symbol: u32, _left: u32, _right: u32) {}

    /// Two symbols became `symbol`. The nodes are the positions in the input at which they begin,
    /// and at which the right one ends.
    fn on_merge(&mut self, _symbol: u32, _parts: [u32; 2], _nodes: [usize; 3]) {}
}

/// Skips nothing.
impl MergeObserver for () {}

/// Buffers for merging.
#[derive(Debug, Default)]
pub(in crate::encode::bpe) struct HeapMerge {
    /// The symbols: first the input, then the result.
    pub(in crate::encode::bpe) symbols: Vec<u32>,
    nodes: Vec<MergeNode>,
    candidates: BinaryHeap<Reverse<MergeCandidate>>,
}

/// A pair that may merge. The derived order is that of the merges: rank, then position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct MergeCandidate {
    rank: u32,
    left: usize,
    symbol: u32,
}

impl MergeCandidate {
    fn new(left: usize, merge: SymbolMerge) -> Self {
        Self {
            rank: merge.rank(),
            left,
            symbol: merge.symbol(),
        }
    }

    fn merge(self) -> SymbolMerge {
        SymbolMerge::new(self.rank, self.symbol)
    }
}

/// A symbol of the sequence.
#[derive(Debug, Clone, Copy)]
struct MergeNode {
    /// [`NO_SYMBOL`] if the node was joined to the one before, or if the symbol never merges.
    symbol: u32,
    /// What this symbol and the next one become.
    merge: SymbolMerge,
    previous: usize,
    next: usize,
}

impl HeapMerge {
    /// Merges [`symbols`](Self::symbols).
    pub(in crate::encode::bpe) fn merge(
        &mut self,
        pairs: &mut impl MergeSource,
        observer: &mut impl MergeObserver,
    ) {
        self.init_nodes();
        for left in 0..self.nodes.len() {
            self.add_candidate(left, pairs, observer);
        }
        while let Some(Reverse(candidate)) = self.candidates.pop() {
            if !self.is_current(candidate) || observer.skips_merge() {
                continue;
            }
            let MergeCandidate { left, symbol, .. } = candidate;
            let node = self.nodes[left];
            let parts = [node.symbol, self.nodes[node.next].symbol];
            let [right, end] = self.join_with_next(left, symbol);
            observer.on_merge(symbol, parts, [left, right, end]);
            let previous = self.nodes[left].previous;
            if previous != NO_NODE {
                self.add_candidate(previous, pairs, observer);
            }
            self.add_candidate(left, pairs, observer);
        }
        self.collect_symbols();
    }

    /// Whether a candidate is not stale: neither of its symbols has merged since.
    fn is_current(&self, candidate: MergeCandidate) -> bool {
        self.nodes[candidate.left].merge == candidate.merge()
    }

    /// Makes a node of each symbol.
    fn init_nodes(&mut self) {
        self.nodes.clear();
        self.candidates.clear();
        let count = self.symbols.len();
        let nodes = self
            .symbols
            .iter()
            .enumerate()
            .map(|(at, symbol)| MergeNode {
                symbol: *symbol,
                merge: SymbolMerge::NONE,
                previous: if at == 0 { NO_NODE } else { at - 1 },
                next: if at + 1 < count { at + 1 } else { NO_NODE },
            });
        self.nodes.extend(nodes);
    }

    /// Looks up what a node and the next one become, and adds a candidate if they merge.
    fn add_candidate(
        &mut self,
        left: usize,
        pairs: &mut impl MergeSource,
        observer: &mut impl MergeObserver,
    ) {
        let MergeNode { symbol, next, .. } = self.nodes[left];
        self.nodes[left].merge = SymbolMerge::NONE;
        if next == NO_NODE {
            return;
        }
        let right = self.nodes[next].symbol;
        let merge = pairs.merge_of(symbol, right);
        self.nodes[left].merge = merge;
        if merge != SymbolMerge::NONE {
            observer.on_candidate(merge.symbol(), symbol, right);
            let candidate = MergeCandidate::new(left, merge);
            self.candidates.push(Reverse(candidate));
        }
    }

    /// Joins a node and the next one to `symbol`. Returns the next one and the one after it, or the
    /// number of nodes.
    fn join_with_next(&mut self, left: usize, symbol: u32) -> [usize; 2] {
        let right = self.nodes[left].next;
        let next = self.clear_node(right);
        self.nodes[left].symbol = symbol;
        self.link(left, next);
        [right, next.min(self.nodes.len())]
    }

    /// Makes `next`, or [`NO_NODE`], the node after `left`.
    #[inline]
    fn link(&mut self, left: usize, next: usize) {
        self.nodes[left].next = next;
        if next != NO_NODE {
            self.nodes[next].previous = left;
        }
    }

    /// Removes the symbol of a node that was joined to the one before. Returns the node after it.
    fn clear_node(&mut self, at: usize) -> usize {
        let node = &mut self.nodes[at];
        node.symbol = NO_SYMBOL;
        node.merge = SymbolMerge::NONE;
        node.next
    }

    /// Writes the symbols that remain.
    fn collect_symbols(&mut self) {
        self.symbols.clear();
        let mut at = if self.nodes.is_empty() { NO_NODE } else { 0 };
        while at != NO_NODE {
            self.symbols.push(self.nodes[at].symbol);
            at = self.nodes[at].next;
        }
    }
}
