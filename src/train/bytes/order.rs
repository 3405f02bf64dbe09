//! The orders of pairs that occur equally often.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::train::bpe::queue::{PairPlaces, TieOrder};
use crate::train::bpe::symbols::Symbol;

/// The order of `tokenizers` and rustbpe: the smallest id of the left token, then of the right one.
///
/// Bytes and merges are numbered in the order of their ids, except that a token with the text of a
/// special token has the id of that one, which is smaller.
pub(super) struct SmallestIds<'l> {
    /// The ids of special tokens, by their bytes.
    pub(super) special: &'l HashMap<Box<[u8]>, u32>,
}

/// Tokens in the order of their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum IdRank {
    Special(u32),
    Other(Symbol),
}

impl TieOrder for SmallestIds<'_> {
    type Key = Reverse<(IdRank, IdRank)>;

    fn key(&self, places: &PairPlaces<'_>) -> Self::Key {
        let rank = |symbol| {
            let special = match self.special.is_empty() {
                true => None,
                false => self.special.get(places.symbols.text(symbol)),
            };
            special.map_or(IdRank::Other(symbol), |id| IdRank::Special(*id))
        };
        let (left, right) = places.pair;
        Reverse((rank(left), rank(right)))
    }
}
