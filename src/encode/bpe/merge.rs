//! The merging of a chunk of any length, as symbols.
//!
//! In: the symbols of its characters. Out: what is left when no pair merges any more. The pairs wait in a heap and
//! the symbols stand in a linked list: n log n for any input. Chunks that are short merge faster in another
//! way ([`short`](super::short)).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::pairs::Pairs;
use super::symbols::{Merge, NO_SYMBOL};

/// Buffers for merging.
#[derive(Debug, Default)]
pub(super) struct MergeScratch {
    /// The symbols, before and after.
    pub(super) symbols: Vec<u32>,
    nodes: Vec<Node>,
    waiting: BinaryHeap<Reverse<Waiting>>,
}

/// A pair that may merge: the lowest rank first, then the leftmost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    rank: u32,
    left: usize,
    symbol: u32,
}

/// A symbol of a long chunk.
#[derive(Debug, Clone, Copy)]
struct Node {
    /// [`NO_SYMBOL`] once it was merged into the one before, or if it never merges.
    symbol: u32,
    /// What the pair with the next symbol becomes.
    merge: Merge,
    before: usize,
    after: usize,
}

/// The place of a node that does not exist.
const NOWHERE: usize = usize::MAX;

/// Merges `scratch.symbols`. A merge for which `is_skipped` says so does not happen; `consider` sees every
/// pair that gets a chance, in the reference's order.
pub(super) fn merge_long(
    pairs: &mut Pairs<'_>,
    scratch: &mut MergeScratch,
    mut is_skipped: impl FnMut() -> bool,
    mut consider: impl FnMut(Merge, u32, u32),
) {
    let MergeScratch {
        symbols,
        nodes,
        waiting,
        ..
    } = scratch;
    nodes.clear();
    waiting.clear();
    let count = symbols.len();
    nodes.extend(symbols.iter().enumerate().map(|(at, symbol)| Node {
        symbol: *symbol,
        merge: Merge::NONE,
        before: at.checked_sub(1).unwrap_or(NOWHERE),
        after: if at + 1 < count { at + 1 } else { NOWHERE },
    }));
    let mut look_at = |nodes: &mut [Node], waiting: &mut BinaryHeap<_>, left: usize| {
        let after = nodes[left].after;
        let merge = if after == NOWHERE {
            Merge::NONE
        } else {
            pairs.get(nodes[left].symbol, nodes[after].symbol)
        };
        nodes[left].merge = merge;
        if merge != Merge::NONE {
            consider(merge, nodes[left].symbol, nodes[after].symbol);
            waiting.push(Reverse(Waiting {
                rank: merge.rank(),
                left,
                symbol: merge.symbol(),
            }));
        }
    };
    for left in 0..count {
        look_at(nodes, waiting, left);
    }
    while let Some(Reverse(Waiting { rank, left, symbol })) = waiting.pop() {
        if nodes[left].merge != Merge::new(rank, symbol) || is_skipped() {
            continue;
        }
        join(nodes, left, symbol);
        let before = nodes[left].before;
        if before != NOWHERE {
            look_at(nodes, waiting, before);
        }
        look_at(nodes, waiting, left);
    }
    symbols.clear();
    let mut at = if count == 0 { NOWHERE } else { 0 };
    while at != NOWHERE {
        symbols.push(nodes[at].symbol);
        at = nodes[at].after;
    }
}

/// Makes the node at `left` and the one behind it one.
fn join(nodes: &mut [Node], left: usize, symbol: u32) {
    let right = nodes[left].after;
    let after = nodes[right].after;
    nodes[right].symbol = NO_SYMBOL;
    nodes[right].merge = Merge::NONE;
    nodes[left].symbol = symbol;
    nodes[left].after = after;
    if after != NOWHERE {
        nodes[after].before = left;
    }
}
