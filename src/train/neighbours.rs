//! What one merge changes: how often which symbols stand next to the merged pair.
//!
//! Merging (a, b) to c at a place with the neighbours l and r takes one occurrence from (l, a) and (b, r)
//! and gives one to (l, c) and (c, r). All places together change the same few pairs many times, so the
//! changes are summed in two arrays indexed by the neighbour, and each pair is then looked up once.

use crate::train::pairs::Pair;
use crate::train::sequences::Match;
use crate::train::symbols::Symbol;

/// A symbol that stands next to the merged pair.
#[derive(Debug, Clone, Copy)]
struct Neighbour {
    count: u64,
    places: u32,
    /// The new pair with this symbol in it, or [`NO_PAIR`].
    pair: u32,
}

const NO_PAIR: u32 = u32::MAX;

impl Default for Neighbour {
    fn default() -> Neighbour {
        Neighbour {
            count: 0,
            places: 0,
            pair: NO_PAIR,
        }
    }
}

/// The neighbours on one side.
#[derive(Debug, Default)]
pub(crate) struct Side {
    /// By symbol.
    neighbours: Vec<Neighbour>,
    /// The symbols that were met, in the order in which they were.
    met: Vec<Symbol>,
    /// The neighbour and the place of the new pair, in order.
    places: Vec<(Symbol, u32)>,
}

impl Side {
    fn add(&mut self, symbol: Symbol, count: u64, place: u32) {
        let neighbour = &mut self.neighbours[symbol.index()];
        if neighbour.places == 0 {
            self.met.push(symbol);
        }
        neighbour.count += count;
        neighbour.places += 1;
        self.places.push((symbol, place));
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

    /// Says which pair a symbol makes with the new one.
    pub(crate) fn set_pair(&mut self, symbol: Symbol, pair: u32) {
        self.neighbours[symbol.index()].pair = pair;
    }

    /// Notes the places that `found` met in the pairs that were set here. The first of `pairs` has the
    /// number `first`.
    pub(crate) fn note_places(&self, found: &Side, first: usize, pairs: &mut [Pair]) {
        for &(symbol, place) in &found.places {
            let pair = self.neighbours[symbol.index()].pair;
            if pair != NO_PAIR {
                pairs[pair as usize - first].places.push(place);
            }
        }
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

    /// Adds the counts that `other` found.
    fn add_counts(&mut self, other: &Side) {
        for &symbol in &other.met {
            let more = other.neighbours[symbol.index()];
            let neighbour = &mut self.neighbours[symbol.index()];
            if neighbour.places == 0 {
                self.met.push(symbol);
            }
            neighbour.count += more.count;
            neighbour.places += more.places;
        }
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
        if let Some((symbol, place)) = found.left {
            self.left.add(symbol, found.count, place);
        }
        if let Some(symbol) = found.right {
            self.right.add(symbol, found.count, found.place);
        }
    }

    /// Number of places met.
    pub(crate) fn places(&self) -> usize {
        self.left.places.len() + self.right.places.len()
    }

    /// Adds the counts, but not the places, that `other` found.
    pub(crate) fn add_counts(&mut self, other: &Neighbours) {
        self.left.add_counts(&other.left);
        self.right.add_counts(&other.right);
    }
}
