//! Whether two symbols can be neighbours in the end.
//!
//! Two symbols next to each other are *at peace* if merging their joined text leaves these two. A row of symbols,
//! each of which is what its own text becomes, is what merging leaves of the whole text just if all neighbours
//! in it are at peace. For until the first merge across a border, what happens on the two sides of the border
//! is what happens to these two texts alone, whatever is farther away; so that merge would happen with them
//! alone too, and the other way round. Hence there is one such row for a text, and one for each of its
//! beginnings.
//!
//! To see whether two symbols are at peace, their merges are undone, the latest first, and each two parts that
//! touch at the border and existed at the same time are looked at: would they have merged before either
//! became part of something larger? That takes pieces whose parts have better ranks than themselves. Others
//! ([`Origin::Irregular`]) are joined and merged.

use super::Bpe;
use super::origins::Origin;
use super::pairs::Pairs;
use super::short::{SHORT, ShortChunk};
use super::symbols::NO_RANK;
use crate::text::num::{low_usize, mix64};

/// Places for remembered neighbours, as a power of two.
const SIZE: u32 = 14;
/// Marks a pair that is not at peace.
const WAR: u64 = 1 << 63;

/// Pairs of symbols that one thread has seen.
#[derive(Debug, Default)]
pub(super) struct PeaceCache {
    /// None until a pair is remembered. Pairs that are at peace, or with [`WAR`] that are not.
    places: Vec<u64>,
}

impl Bpe {
    /// Whether two symbols are at peace, each of them what its own text becomes; an unknown character always is.
    /// `None` if they are too long to tell.
    #[inline]
    pub(super) fn at_peace(
        &self,
        left: u32,
        right: u32,
        seen: &mut PeaceCache,
        pairs: &mut Pairs<'_>,
    ) -> Option<bool> {
        if !self.symbols.is_known(left) || !self.symbols.is_known(right) {
            return Some(true);
        }
        let pair = u64::from(left) << 32 | u64::from(right);
        let index = low_usize(mix64(pair) >> (64 - SIZE));
        let known = seen
            .places
            .get(index)
            .copied()
            .filter(|known| known & !WAR == pair);
        let known = match known {
            Some(known) => known,
            None => {
                let known = if self.find_peace(left, right, pairs)? {
                    pair
                } else {
                    pair | WAR
                };
                if seen.places.is_empty() {
                    seen.places.resize(1 << SIZE, u64::MAX);
                }
                seen.places[index] = known;
                known
            }
        };
        Some(known & WAR == 0)
    }

    fn find_peace(&self, left: u32, right: u32, pairs: &mut Pairs<'_>) -> Option<bool> {
        match (self.origin(left, pairs), self.origin(right, pairs)) {
            (Origin::TooLong, _) | (_, Origin::TooLong) => None,
            (Origin::Irregular, _) | (_, Origin::Irregular) => self.merge_both(left, right, pairs),
            _ => Some(self.undo_both(left, right, pairs)),
        }
    }

    /// Merges the joined text of two symbols.
    fn merge_both(&self, left: u32, right: u32, pairs: &mut Pairs<'_>) -> Option<bool> {
        let (first, second) = (
            self.symbols.text(pairs.pieces, left),
            self.symbols.text(pairs.pieces, right),
        );
        if self
            .symbols_of(first)
            .chain(self.symbols_of(second))
            .count()
            > SHORT
        {
            return None;
        }
        let mut chunk = ShortChunk::default();
        self.short_chunk(&mut chunk, [first, second]);
        chunk.merge(pairs);
        Some(chunk.left().eq([left, right]))
    }

    /// Undoes the merges of two symbols, the latest first. Equal ranks merge from left to right.
    fn undo_both(&self, left: u32, right: u32, pairs: &mut Pairs<'_>) -> bool {
        let (mut left, mut right) = (left, right);
        let (mut left_until, mut right_until) = (NO_RANK, NO_RANK);
        loop {
            let rank = pairs.get(left, right).rank();
            if rank < left_until && rank <= right_until {
                return false;
            }
            let (left_rank, right_rank) = (self.symbols.rank(left), self.symbols.rank(right));
            match (self.origin(left, pairs), self.origin(right, pairs)) {
                (Origin::Merged(_, part), Origin::Merged(..)) if left_rank > right_rank => {
                    (left, left_until) = (part, left_rank);
                }
                (_, Origin::Merged(part, _)) => (right, right_until) = (part, right_rank),
                (Origin::Merged(_, part), _) => (left, left_until) = (part, left_rank),
                _ => return true,
            }
        }
    }
}
