//! Old ids and new ids of the pieces of a changed model.
//!
//! Example: the pieces `a b c` become `a x c`: new id 0 was 0, 1 is new, 2 was 2; old id 1 was
//! removed.

use std::io::Write;

use crate::piece::PieceId;

/// How the ids of a model and of a changed copy of it correspond.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdMap {
    /// The old id of each new piece.
    old: Vec<Option<PieceId>>,
    /// The new id of each old piece.
    new: Vec<Option<PieceId>>,
}

impl IdMap {
    /// The map for a model that had `old_len` pieces, from the old id of each new piece. Each old
    /// id occurs once at most.
    pub(crate) fn from_old_ids(old_len: usize, old: Vec<Option<PieceId>>) -> Self {
        let mut new = vec![None; old_len];
        for (index, id) in old.iter().enumerate() {
            if let Some(slot) = id.and_then(|id| new.get_mut(id.index())) {
                *slot = Some(PieceId::from_index(index));
            }
        }
        Self { old, new }
    }

    /// The number of pieces before the change.
    pub fn old_len(&self) -> usize {
        self.new.len()
    }

    /// The number of pieces after the change.
    pub fn new_len(&self) -> usize {
        self.old.len()
    }

    /// The id that the piece with a new id had; `None` if the piece is new, or there is none.
    pub fn old_id(&self, new: PieceId) -> Option<PieceId> {
        self.old.get(new.index()).copied().flatten()
    }

    /// The id that the piece with an old id has now; `None` if it was removed, or there was none.
    pub fn new_id(&self, old: PieceId) -> Option<PieceId> {
        self.new.get(old.index()).copied().flatten()
    }

    /// Old id and new id of each piece that both models have, by old id.
    pub fn kept(&self) -> impl Iterator<Item = (PieceId, PieceId)> + '_ {
        let old_ids = self.old_ids();
        old_ids.filter_map(|old| Some((old, self.new_id(old)?)))
    }

    /// All ids of the model before the change.
    pub(crate) fn old_ids(&self) -> impl Iterator<Item = PieceId> {
        (0..self.old_len()).map(PieceId::from_index)
    }

    /// Old id and new id of each piece whose id changed, by old id.
    pub fn moved(&self) -> impl Iterator<Item = (PieceId, PieceId)> + '_ {
        self.kept().filter(|(old, new)| old != new)
    }

    /// The old ids of the pieces that were removed.
    pub fn removed(&self) -> impl Iterator<Item = PieceId> + '_ {
        let old_ids = self.old_ids();
        old_ids.filter(|id| self.new_id(*id).is_none())
    }

    /// The new ids of the pieces that were added.
    pub fn added(&self) -> impl Iterator<Item = PieceId> + '_ {
        let new_ids = self.new_ids();
        new_ids.filter(|id| self.old_id(*id).is_none())
    }

    /// All ids of the changed model.
    pub(crate) fn new_ids(&self) -> impl Iterator<Item = PieceId> {
        (0..self.new_len()).map(PieceId::from_index)
    }

    /// One line for each new id: the new id, a tab, and the old id, or nothing for a piece that was
    /// added.
    pub fn to_tsv(&self) -> Vec<u8> {
        let mut lines = Vec::new();
        for (new, old) in self.old.iter().enumerate() {
            let old = old.map_or(String::new(), |old| old.to_string());
            // Writing to memory does not fail.
            let _ = writeln!(lines, "{new}\t{old}");
        }
        lines
    }

    /// Whether the old ids are mapped to the new ids, one by one.
    pub(crate) fn maps(&self, old: &[PieceId], new: &[PieceId]) -> bool {
        let mapped = old.iter().map(|id| self.new_id(*id));
        mapped.eq(new.iter().copied().map(Some))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_agree() {
        let ids: Vec<PieceId> = (0..4).map(PieceId::new).collect();
        let map = IdMap::from_old_ids(4, vec![Some(ids[0]), None, Some(ids[2]), Some(ids[1])]);
        assert_eq!((map.old_len(), map.new_len()), (4, 4));
        assert_eq!(map.new_id(ids[1]), Some(ids[3]));
        assert_eq!(map.old_id(ids[3]), Some(ids[1]));
        assert_eq!(map.removed().collect::<Vec<_>>(), [ids[3]]);
        assert_eq!(map.added().collect::<Vec<_>>(), [ids[1]]);
        assert_eq!(map.moved().collect::<Vec<_>>(), [(ids[1], ids[3])]);
        assert_eq!(map.to_tsv(), b"0\t0\n1\t\n2\t2\n3\t1\n");
        assert!(map.maps(&[ids[1], ids[0]], &[ids[3], ids[0]]));
        assert!(!map.maps(&[ids[3]], &[ids[3]]));
        assert!(!map.maps(&[ids[0]], &[]));
    }
}
