//! The pairs of a list of merges: the first one of each piece, all others, and their order.
//!
//! Input: the pairs in the order of the list, with the pieces that they give. Output: the place of
//! a pair in the list, for the pairs that SentencePiece executes.
//!
//! Example: the list `a b`, `ab c`, `b c`, `a bc` has the first pairs `a b`, `ab c` and `b c` of
//! the pieces `ab`, `abc` and `bc`; `a bc` is another pair of `abc`, after three first pairs.
//!
//! Cost: linear; the other pairs are sorted once if the place of one is asked for.

use crate::convert::merges::listed::ListedMerge;
use crate::piece::PieceId;
use crate::text::num::low_u32;

/// The position for pieces without a pair.
const NO_POSITION: u32 = u32::MAX;

/// The first pair of a piece.
#[derive(Debug, Clone, Copy)]
pub(super) struct FirstPair {
    /// Its position among the first pairs; [`NO_POSITION`] if the piece has none.
    position: u32,
    /// The bytes of the left text.
    split: u32,
}

impl FirstPair {
    const NONE: Self = Self {
        position: NO_POSITION,
        split: 0,
    };

    /// Its position among the first pairs, if the piece has one.
    pub(super) fn position(self) -> Option<u32> {
        (self.position != NO_POSITION).then_some(self.position)
    }

    /// Its place in the list, if the piece has one.
    fn place(self) -> PairPlace {
        PairPlace {
            first: self.position,
            other: 0,
        }
    }

    /// Whether the left text of this pair has `split` bytes.
    pub(super) fn has_split(self, split: usize) -> bool {
        self.position != NO_POSITION && self.split as usize == split
    }
}

/// A pair of a piece behind its first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct OtherPair {
    piece: PieceId,
    /// The bytes of the left text.
    split: u32,
    place: PairPlace,
}

impl OtherPair {
    /// The piece, and the bytes of the left text.
    fn key(&self) -> (PieceId, u32) {
        (self.piece, self.split)
    }
}

/// The place of a pair in the list; pairs in the order of the list have ascending places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PairPlace {
    /// The position of the last first pair up to here.
    first: u32,
    /// 0 for a first pair, otherwise the number of other pairs up to here.
    other: u32,
}

/// The pairs of a list.
#[derive(Debug)]
pub(super) struct ListedPairs {
    /// The first pair of each piece that has one, in the order of the list.
    first: Vec<ListedMerge>,
    /// By the id of the piece.
    by_piece: Vec<FirstPair>,
    others: Vec<OtherPair>,
}

impl ListedPairs {
    /// An empty list for this many pieces, with room for `capacity` first pairs.
    pub(super) fn new(pieces: usize, capacity: usize) -> Self {
        Self {
            first: Vec::with_capacity(capacity),
            by_piece: vec![FirstPair::NONE; pieces],
            others: Vec::new(),
        }
    }

    /// The first pair of each piece, by id.
    pub(super) fn by_piece(&self) -> &[FirstPair] {
        &self.by_piece
    }

    /// The first pair of a piece.
    #[inline]
    pub(super) fn first_of(&self, piece: PieceId) -> FirstPair {
        self.by_piece[piece.index()]
    }

    /// Adds the first pair of a piece, whose left text has `split` bytes.
    #[inline]
    pub(super) fn add_first(&mut self, piece: PieceId, [left, right]: [PieceId; 2], split: usize) {
        self.by_piece[piece.index()] = FirstPair {
            position: self.first_count(),
            // A file has less than 4 GiB.
            split: low_u32(split as u64),
        };
        self.first.push(ListedMerge { piece, left, right });
    }

    /// Adds another pair of a piece that has a first one.
    pub(super) fn add_other(&mut self, piece: PieceId, split: usize) {
        self.others.push(OtherPair {
            piece,
            split: low_u32(split as u64),
            place: self.place_of_next(),
        });
    }

    /// The place of the next other pair.
    fn place_of_next(&self) -> PairPlace {
        PairPlace {
            first: self.first_count().saturating_sub(1),
            other: low_u32(self.others.len() as u64) + 1,
        }
    }

    /// The number of first pairs.
    pub(super) fn first_count(&self) -> u32 {
        low_u32(self.first.len() as u64)
    }

    /// Takes the first pair of each piece that has one, in the order of the list.
    pub(super) fn take_first(&mut self) -> Vec<ListedMerge> {
        std::mem::take(&mut self.first)
    }

    /// Ends the list. Places can be looked up only after this.
    pub(super) fn finish(&mut self) {
        self.others.sort_unstable();
    }

    /// The bytes of the left texts of the pairs of a piece behind its first one.
    pub(super) fn other_splits(&self, piece: PieceId) -> impl Iterator<Item = usize> {
        let start = self.others.partition_point(|other| other.piece < piece);
        let others = self.others[start..].iter();
        others
            .take_while(move |other| other.piece == piece)
            .map(|other| other.split as usize)
    }

    /// The place of the pair of a piece whose left text has `split` bytes: the last one, if the
    /// list has it more than once.
    pub(super) fn place(&self, piece: PieceId, split: usize) -> Option<PairPlace> {
        let first = self.by_piece.get(piece.index())?;
        match first.has_split(split) {
            true => Some(first.place()),
            false => self.place_of_other((piece, low_u32(split as u64))),
        }
    }

    /// The same for a pair behind the first one of its piece.
    fn place_of_other(&self, pair: (PieceId, u32)) -> Option<PairPlace> {
        let end = self.others.partition_point(|other| other.key() <= pair);
        let last = self.others[..end].last()?;
        (last.key() == pair).then_some(last.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_the_order_of_the_list() {
        let id = PieceId::new;
        let mut pairs = ListedPairs::new(9, 0);
        let list = [(7, 1), (3, 1), (7, 2), (3, 2), (5, 1), (7, 3), (3, 2)];
        for (piece, split) in list {
            match pairs.first_of(id(piece)).position() {
                None => pairs.add_first(id(piece), [id(0), id(1)], split),
                Some(_) => pairs.add_other(id(piece), split),
            }
        }
        pairs.finish();
        let order = [(7, 1), (3, 1), (7, 2), (5, 1), (7, 3), (3, 2)];
        let places = order.map(|(piece, split)| pairs.place(id(piece), split));
        assert!(places.iter().all(Option::is_some));
        assert!(places.is_sorted_by(|a, b| a < b), "{places:?}");
        let first: Vec<u32> = pairs
            .take_first()
            .iter()
            .map(|merge| merge.piece.get())
            .collect();
        assert_eq!(first, [7, 3, 5]);
        let other_splits = |piece| pairs.other_splits(id(piece)).collect::<Vec<usize>>();
        assert_eq!(other_splits(3), [2, 2]);
        assert_eq!(other_splits(7), [2, 3]);
        assert_eq!(other_splits(5), [0; 0]);
        for (piece, split) in [(7, 4), (3, 3), (5, 2), (4, 1), (8, 0), (9, 1)] {
            assert_eq!(pairs.place(id(piece), split), None, "{piece} {split}");
        }
    }
}
