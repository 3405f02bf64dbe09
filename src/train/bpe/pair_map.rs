//! A map from pairs of symbols to small values.
//!
//! Symbols are numbered from the most frequent character on, so most pairs in text that is not
//! merged yet consist of the first symbols. These pairs are in a square table; the others are
//! hashed.

use foldhash::fast::SeedableRandomState;

use crate::train::bpe::symbols::Symbol;
use crate::train::execution_config::SeededMap;

/// Symbols on each side of the square: the part of it that occurs in text stays in the processor's
/// cache.
const SIDE: usize = 256;

/// A map whose values start as `empty`, which means that there is no value.
#[derive(Debug)]
pub(crate) struct PairMap<T> {
    side: usize,
    square: Vec<T>,
    others: SeededMap<u64, T>,
    empty: T,
}

/// Two symbols as one number.
#[inline]
pub(super) fn key(left: Symbol, right: Symbol) -> u64 {
    u64::from(left.0) << 32 | u64::from(right.0)
}

/// The symbols that `key` was made of.
#[allow(clippy::cast_possible_truncation)]
fn symbols_of(key: u64) -> (Symbol, Symbol) {
    (Symbol((key >> 32) as u32), Symbol(key as u32))
}

impl<T: Copy + PartialEq> PairMap<T> {
    /// A map for pairs of `symbols` symbols, or of more.
    pub(crate) fn new(symbols: usize, empty: T, hasher: &SeedableRandomState) -> Self {
        let side = symbols.min(SIDE);
        Self {
            side,
            square: vec![empty; side * side],
            others: SeededMap::with_hasher(hasher.clone()),
            empty,
        }
    }

    /// The cell of a pair in the square, if it has one.
    #[inline]
    fn cell(&self, left: Symbol, right: Symbol) -> Option<usize> {
        let left = left.index();
        let right = right.index();
        (left < self.side && right < self.side).then_some(left * self.side + right)
    }

    #[inline]
    pub(crate) fn get(&self, left: Symbol, right: Symbol) -> Option<T> {
        let found = match self.cell(left, right) {
            Some(cell) => self.square.get(cell),
            None => self.others.get(&key(left, right)),
        };
        found.copied().filter(|value| *value != self.empty)
    }

    /// The value of a pair, which is inserted as `empty` if there is none.
    #[inline]
    pub(crate) fn value_mut(&mut self, left: Symbol, right: Symbol) -> &mut T {
        match self.cell(left, right) {
            Some(cell) => &mut self.square[cell],
            None => self.others.entry(key(left, right)).or_insert(self.empty),
        }
    }

    pub(crate) fn remove(&mut self, left: Symbol, right: Symbol) {
        match self.cell(left, right) {
            Some(cell) => self.square[cell] = self.empty,
            None => _ = self.others.remove(&key(left, right)),
        }
    }

    /// Every pair that has a value, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ((Symbol, Symbol), T)> {
        let symbols = (0..).map(Symbol).take(self.side);
        let cells = symbols
            .clone()
            .flat_map(move |left| symbols.clone().map(move |right| (left, right)));
        let in_square = cells
            .zip(self.square.iter().copied())
            .filter(|(_, value)| *value != self.empty);
        in_square.chain(
            self.others
                .iter()
                .map(|(key, value)| (symbols_of(*key), *value)),
        )
    }
}
