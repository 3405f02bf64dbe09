//! What one merge changes: how often which symbols stand next to the merged pair.
//!
//! Merging (a, b) to c at a place with the neighbours l and r takes one occurrence from (l, a) and (b, r)
//! and gives one to (l, c) and (c, r). All places together change the same few pairs many times, so the
//! changes are summed in two arrays indexed by the neighbour, and each pair is then looked up once.

use crate::train::sequences::Match;
use crate::train::symbols::Symbol;

/// A symbol that stands next to the merged pair.
#[derive(Debug, Clone, Copy, Default)]
struct Neighbour {
    count: u64,
    places: u32,
}

/// The neighbours on one side.
#[derive(Debug, Default)]
pub(crate) struct Side {
    /// By symbol.
    neighbours: Vec<Neighbour>,
    /// The symbols that were met, in the order in which they were.
    met: Vec<Symbol>,
    /// The neighbour and the block of the new pair at each place, in order.
    places: Vec<(Symbol, u32)>,
}

impl Side {
    fn add(&mut self, symbol: Symbol, count: u64, block: u32) {
        let neighbour = &mut self.neighbours[symbol.index()];
        if neighbour.places == 0 {
            self.met.push(symbol);
        }
        neighbour.count += count;
        neighbour.places += 1;
        self.places.push((symbol, block));
    }

    /// The symbols that were met.
    pub(crate) fn met(&self) -> &[Symbol] {
        &self.met
    }

    /// How often a symbol occurs.
    pub(crate) fn count(&self, symbol: Symbol) -> u64 {
        self.neighbours[symbol.index()].count
    }

    /// In how many places of the words a symbol occurs.
    pub(crate) fn places_of(&self, symbol: Symbol) -> usize {
        self.neighbours[symbol.index()].places as usize
    }

    /// Every place: the neighbour, and the block of the new pair.
    pub(crate) fn places(&self) -> &[(Symbol, u32)] {
        &self.places
    }

    fn reset(&mut self, symbols: usize) {
        for symbol in self.met.drain(..) {
            self.neighbours[symbol.index()] = Neighbour::default();
        }
        self.places.clear();
        if self.neighbours.len() < symbols {
            self.neighbours.resize(symbols, Neighbour::default());
        }
    }

    /// Adds what `other` found further right in the corpus.
    fn append(&mut self, other: &Side) {
        for &symbol in &other.met {
            let more = other.neighbours[symbol.index()];
            let neighbour = &mut self.neighbours[symbol.index()];
            if neighbour.places == 0 {
                self.met.push(symbol);
            }
            neighbour.count += more.count;
            neighbour.places += more.places;
        }
        self.places.extend_from_slice(&other.places);
    }
}

/// The neighbours on both sides.
#[derive(Debug, Default)]
pub(crate) struct Neighbours {
    pub(crate) left: Side,
    pub(crate) right: Side,
}

impl Neighbours {
    /// Makes room for `symbols` different neighbours and forgets the last merge.
    pub(crate) fn reset(&mut self, symbols: usize) {
        self.left.reset(symbols);
        self.right.reset(symbols);
    }

    pub(crate) fn add(&mut self, found: &Match) {
        if let Some((symbol, block)) = found.left {
            self.left.add(symbol, found.count, block);
        }
        if let Some(symbol) = found.right {
            self.right.add(symbol, found.count, found.block);
        }
    }

    pub(crate) fn append(&mut self, other: &Neighbours) {
        self.left.append(&other.left);
        self.right.append(&other.right);
    }
}
