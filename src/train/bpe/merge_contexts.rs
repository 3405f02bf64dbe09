//! The changes of one merge: how often each symbol is next to the merged pair.
//!
//! Merging (a, b) to c at a position with the symbols l before and r after it removes one
//! occurrence of (l, a) and of (b, r), and adds one of (l, c) and of (c, r). All positions together
//! change the same few pairs many times, so the changes are summed in two arrays indexed by the
//! neighbouring symbol, and each pair is then looked up once.
//!
//! # Example
//!
//! Merging `a b` in the words `a b a b` (count 1) and `x a b y` (count 5), from left to right:
//!
//! | position | left neighbour | right neighbour |
//! |---|---|---|
//! | first `a b` of the first word | none | `a`, count 1 |
//! | second `a b` of the first word | `ab`, count 1 | none |
//! | `a b` of the second word | `x`, count 5 | `y`, count 5 |
//!
//! The pair (b, a) loses 1, (x, a) loses 5, (b, y) loses 5; new are (ab, ab) 1, (x, ab) 5 and (ab,
//! y) 5. Where two merged occurrences touch, the first one saw the left symbol `a` of the second
//! one as its right neighbour; since the second was merged afterwards, the number of left
//! neighbours `ab` is subtracted from the new pair (ab, a).
//!
//! # Parts
//!
//! A frequent pair is merged on several threads, each with its own contexts: those of the positions
//! in one part of the word buffer. The buffer is divided at the starts of words. Neighbours never
//! lie in another word, so no occurrence, and no neighbour of an occurrence, is in two parts, and
//! the sums of all parts are the sums of one pass. Appending the positions in the order of the
//! parts keeps every list of positions ascending.

use crate::train::bpe::pairs::IndexedPair;
use crate::train::bpe::symbols::Symbol;
use crate::train::bpe::word_buffer::Occurrence;

/// How often a symbol is next to the merged pair.
#[derive(Debug, Clone, Copy)]
struct ContextCount {
    count: u64,
    positions: u32,
    /// The new pair with this symbol in it, or [`NO_PAIR`].
    pair: u32,
}

const NO_PAIR: u32 = u32::MAX;

impl Default for ContextCount {
    fn default() -> Self {
        Self {
            count: 0,
            positions: 0,
            pair: NO_PAIR,
        }
    }
}

/// The neighbours on one side.
#[derive(Debug, Default)]
pub(crate) struct ContextCounts {
    /// By symbol.
    neighbours: Vec<ContextCount>,
    /// The neighbouring symbols, in the order in which they were found.
    symbols: Vec<Symbol>,
    /// The neighbour and the position of the new pair, in order.
    positions: Vec<(Symbol, u32)>,
}

impl ContextCounts {
    #[inline]
    fn add(&mut self, symbol: Symbol, count: u64, position: u32) {
        let neighbour = &mut self.neighbours[symbol.index()];
        if neighbour.positions == 0 {
            self.symbols.push(symbol);
        }
        neighbour.count += count;
        neighbour.positions += 1;
        self.positions.push((symbol, position));
    }

    /// The neighbouring symbols.
    pub(crate) fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// How often a symbol is a neighbour.
    #[inline]
    pub(crate) fn count(&self, symbol: Symbol) -> u64 {
        self.neighbours[symbol.index()].count
    }

    /// The number of positions at which a symbol is a neighbour.
    #[inline]
    pub(crate) fn position_count(&self, symbol: Symbol) -> usize {
        self.neighbours[symbol.index()].positions as usize
    }

    /// Sets the pair that a symbol forms with the new one.
    pub(crate) fn set_pair(&mut self, symbol: Symbol, pair: u32) {
        self.neighbours[symbol.index()].pair = pair;
    }

    /// Adds the positions of `found` to the pairs that were set here. The first of `pairs` has the
    /// number `first`.
    pub(crate) fn record_positions(&self, found: &Self, first: usize, pairs: &mut [IndexedPair]) {
        for &(symbol, position) in &found.positions {
            let pair = self.neighbours[symbol.index()].pair;
            if pair != NO_PAIR {
                pairs[pair as usize - first].positions.push(position);
            }
        }
    }

    /// Forgets the last merge.
    fn clear(&mut self) {
        for symbol in self.symbols.drain(..) {
            self.neighbours[symbol.index()] = ContextCount::default();
        }
        self.positions.clear();
    }

    fn reset(&mut self, symbols: usize) {
        self.clear();
        if self.neighbours.len() < symbols {
            self.neighbours.resize(symbols, ContextCount::default());
        }
    }

    /// Adds the counts of `other`.
    fn add_counts(&mut self, other: &Self) {
        for &symbol in &other.symbols {
            let more = other.neighbours[symbol.index()];
            let neighbour = &mut self.neighbours[symbol.index()];
            if neighbour.positions == 0 {
                self.symbols.push(symbol);
            }
            neighbour.count += more.count;
            neighbour.positions += more.positions;
        }
    }
}

/// The neighbours on both sides.
#[derive(Debug, Default)]
pub(crate) struct MergeContexts {
    pub(crate) left: ContextCounts,
    pub(crate) right: ContextCounts,
}

impl MergeContexts {
    /// Forgets the last merge.
    pub(crate) fn clear(&mut self) {
        self.left.clear();
        self.right.clear();
    }

    /// Allocates memory for `symbols` different neighbours and forgets the last merge.
    pub(crate) fn reset(&mut self, symbols: usize) {
        self.left.reset(symbols);
        self.right.reset(symbols);
    }

    #[inline]
    pub(crate) fn add(&mut self, found: &Occurrence) {
        if let Some((symbol, position)) = found.left {
            self.left.add(symbol, found.count, position);
        }
        if let Some(symbol) = found.right {
            self.right.add(symbol, found.count, found.position);
        }
    }

    /// The number of positions found.
    pub(crate) fn positions(&self) -> usize {
        self.left.positions.len() + self.right.positions.len()
    }

    /// Adds the counts of `other`, but not its positions.
    pub(crate) fn add_counts(&mut self, other: &Self) {
        self.left.add_counts(&other.left);
        self.right.add_counts(&other.right);
    }
}
