//! The merging of one chunk, as symbols.
//!
//! In: the symbols of its characters. Out: what is left when no pair merges any more. Short chunks look
//! through all their pairs for the best one, again and again, which is fastest for a handful; long ones
//! keep their pairs in a heap and their symbols in a linked list, n log n for any input.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::pairs::Pairs;
use super::symbols::{Merge, NO_SYMBOL};

/// The most symbols of a short chunk: as many as a word has bits.
pub(super) const SHORT: usize = 32;

/// A short chunk, in arrays that stay in the processor's registers and first cache.
#[derive(Debug)]
pub(super) struct ShortChunk {
    symbols: [u32; SHORT],
    /// A bit for each symbol that was not merged into the one before.
    alive: u32,
}

/// When a pair of a short chunk merges, the lowest first: its rank and, in the lower bits, its place.
type Turn = u32;
const PLACE_BITS: u32 = SHORT.trailing_zeros();
/// The pair does not merge.
const NEVER: Turn = Turn::MAX;
/// Ranks below this can be told apart by their turns.
pub(super) const RANK_LIMIT: u32 = NEVER >> PLACE_BITS;

impl ShortChunk {
    /// The chunk that consists of these symbols, of which only the first [`SHORT`] count.
    #[inline]
    pub(super) fn new(symbols: impl Iterator<Item = u32>) -> ShortChunk {
        let mut chunk = ShortChunk { symbols: [NO_SYMBOL; SHORT], alive: 0 };
        for (place, symbol) in chunk.symbols.iter_mut().zip(symbols) {
            *place = symbol;
            chunk.alive = chunk.alive << 1 | 1;
        }
        chunk
    }

    /// The places of the symbols that are left, from left to right, and the symbols.
    #[inline]
    pub(super) fn left(&self) -> impl Iterator<Item = (usize, u32)> {
        let mut alive = self.alive;
        std::iter::from_fn(move || {
            let place = alive.trailing_zeros() as usize;
            alive &= alive.wrapping_sub(1);
            self.symbols.get(place).map(|symbol| (place, *symbol))
        })
    }

    /// Merges what merges; the two symbols that merged last. All ranks are below [`RANK_LIMIT`].
    pub(super) fn merge(&mut self, pairs: &mut Pairs<'_>) -> Option<(u32, u32)> {
        let mut last = None;
        let count = self.alive.count_ones() as usize;
        let (mut turns, mut joined) = ([NEVER; SHORT], [NO_SYMBOL; SHORT]);
        for left in 1..count {
            self.look_at(left - 1, left, pairs, &mut turns, &mut joined);
        }
        loop {
            let best = turns[..count].iter().fold(NEVER, |best, turn| best.min(*turn));
            if best == NEVER {
                return last;
            }
            let at = best as usize % SHORT;
            let Some(right) = self.after(at) else { return last };
            last = Some((self.symbols[at], self.symbols[right]));
            self.symbols[at] = joined[at];
            self.alive &= !(1 << right);
            turns[right] = NEVER;
            match self.after(at) {
                Some(after) => self.look_at(at, after, pairs, &mut turns, &mut joined),
                None => turns[at] = NEVER,
            }
            if let Some(before) = self.before(at) {
                self.look_at(before, at, pairs, &mut turns, &mut joined);
            }
        }
    }

    /// Sees what the symbols at `left` and, next to it, at `right` become.
    #[inline]
    fn look_at(
        &self,
        left: usize,
        right: usize,
        pairs: &mut Pairs<'_>,
        turns: &mut [Turn; SHORT],
        joined: &mut [u32; SHORT],
    ) {
        let merge = pairs.get(self.symbols[left], self.symbols[right]);
        let place = u32::try_from(left).unwrap_or(0);
        turns[left] = if merge.rank < RANK_LIMIT { (merge.rank << PLACE_BITS) | place } else { NEVER };
        joined[left] = merge.symbol;
    }

    /// The place of the symbol behind the one at `at`.
    #[inline]
    fn after(&self, at: usize) -> Option<usize> {
        let behind = self.alive & (NEVER - 1) << at;
        (behind != 0).then(|| behind.trailing_zeros() as usize)
    }

    /// The place of the symbol before the one at `at`.
    #[inline]
    fn before(&self, at: usize) -> Option<usize> {
        let ahead = self.alive & !(u32::MAX << at);
        (ahead != 0).then(|| ahead.ilog2() as usize)
    }
}

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
    let MergeScratch { symbols, nodes, waiting, .. } = scratch;
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
        let merge = if after == NOWHERE { Merge::NONE } else { pairs.get(nodes[left].symbol, nodes[after].symbol) };
        nodes[left].merge = merge;
        if merge != Merge::NONE {
            consider(merge, nodes[left].symbol, nodes[after].symbol);
            waiting.push(Reverse(Waiting { rank: merge.rank, left, symbol: merge.symbol }));
        }
    };
    for left in 0..count {
        look_at(nodes, waiting, left);
    }
    while let Some(Reverse(Waiting { rank, left, symbol })) = waiting.pop() {
        if nodes[left].merge != (Merge { rank, symbol }) || is_skipped() {
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
