//! The orders of pairs that occur equally often.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::train::bpe::queue::{PairPlaces, TieOrder};
use crate::train::bpe::symbols::Symbol;

/// The order of `tokenizers` and rustbpe: the smallest id of the left token, then of the right one.
///
/// Bytes and merges are numbered in the order of their ids, except that a token with the text of a
/// special token has the id of that one, which is smaller.
pub(crate) struct SmallestIds<'l> {
    /// The ids of special tokens, by their bytes.
    pub(crate) special: &'l HashMap<Box<[u8]>, u32>,
}

/// Tokens in the order of their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum IdRank {
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

/// The order of plain implementations, which compare pairs of byte strings: the greatest left token, then the
/// greatest right one.
pub(crate) struct GreatestBytes;

impl TieOrder for GreatestBytes {
    /// No two tokens have the same bytes.
    type Key = [Box<[u8]>; 2];

    fn key(&self, places: &PairPlaces<'_>) -> Self::Key {
        let (left, right) = places.pair;
        [left, right].map(|symbol| places.symbols.text(symbol).into())
    }
}

/// minbpe's order: the pair that occurs first in the corpus, as it is after the merges so far.
///
/// The words of the buffer are in the order of their first occurrences in the corpus. The first
/// position of a pair in the buffer then decides:
///
/// *Proof.* All occurrences of a word in the corpus have the same symbols at any time. Let a pair
/// occur first in the corpus in an occurrence of the word w. It occurs at the same place inside the
/// first occurrence of w, which is not later; so that is where it occurs first. Words do not
/// overlap. So of two pairs, the one whose word begins first in the corpus occurs first, or if it
/// is the same word, the one that occurs first in it; and the buffer has them in this order.
pub(crate) struct FirstPlaces;

impl TieOrder for FirstPlaces {
    type Key = Reverse<Option<u32>>;

    fn key(&self, places: &PairPlaces<'_>) -> Self::Key {
        let PairPlaces {
            pair: (left, right),
            positions,
            symbols,
            words,
        } = places;
        let left = (*left, symbols.length(*left));
        let mut positions = positions.iter().copied();
        Reverse(positions.find(|position| words.has_pair_at(left, *right, *position)))
    }
}
