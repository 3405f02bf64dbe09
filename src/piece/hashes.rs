//! Finds pieces by the hashes of their texts.
//!
//! A hash table with linear probing, of which at most half of the slots are used. The hashes are
//! those of [`base::hash`](crate::base::hash): the hash of two joined texts follows from theirs, so
//! that BPE looks for the piece that two symbols become without assembling its text.
//!
//! Example: the slot of `the` has the lower half of its hash and its id. A text with the same hash
//! is compared with `the`, byte by byte.
//!
//! Memory: 24 to 40 bytes for each piece.

use crate::base::hash::TextHasher;
use crate::base::num::{low_u32, low_usize};
use crate::piece::PieceTable;

/// The id of a slot without a piece.
const FREE: u32 = u32::MAX;

/// The pieces of a model by their texts.
#[derive(Debug)]
pub(crate) struct PieceHashes {
    hasher: TextHasher,
    /// By piece.
    hashes: Vec<u64>,
    /// A power of two.
    slots: Vec<PieceSlot>,
    /// A hash shifted right by this is the number of its first slot.
    shift: u32,
}

/// A slot of the hash table.
#[derive(Debug, Clone, Copy)]
struct PieceSlot {
    /// Bits of the hash that the position of the slot does not depend on.
    tag: u32,
    id: u32,
}

impl PieceHashes {
    /// The table of all pieces, except for those with a text for which `is_left_out` holds.
    ///
    /// # Errors
    /// The id of a piece that has the text of one before it.
    pub(crate) fn of_unique(
        pieces: &PieceTable,
        is_left_out: impl Fn(&[u8]) -> bool,
    ) -> Result<Self, usize> {
        let slots = (pieces.len() * 2).next_power_of_two().max(64);
        let free = PieceSlot { tag: 0, id: FREE };
        let hasher = TextHasher::new();
        let texts = (0..pieces.len()).map(|id| pieces.text(id));
        let hashes: Vec<u64> = texts.map(|text| hasher.hash(text).hash()).collect();
        let mut table = Self {
            hasher,
            hashes: Vec::new(),
            slots: vec![free; slots],
            shift: 64 - slots.trailing_zeros(),
        };
        // The slots are anywhere in memory. In a loop without the computation of hashes, the
        // processor waits for several of them at once.
        for (id, hash) in hashes.iter().enumerate() {
            let text = pieces.text(id);
            if is_left_out(text) {
                continue;
            }
            let slot = table.find_slot(*hash, |id| pieces.text(id as usize) == text);
            if table.slots[slot].id != FREE {
                return Err(id);
            }
            table.slots[slot] = PieceSlot {
                tag: low_u32(*hash),
                id: low_u32(id as u64),
            };
        }
        table.hashes = hashes;
        Ok(table)
    }

    /// The hasher of the table.
    pub(crate) fn hasher(&self) -> &TextHasher {
        &self.hasher
    }

    /// The hash of each piece.
    pub(crate) fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// The piece with this hash for which `is_it` holds.
    #[inline]
    pub(crate) fn find(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let id = self.slots[self.find_slot(hash, is_it)].id;
        (id != FREE).then_some(id)
    }

    /// The piece with this text.
    pub(crate) fn get(&self, pieces: &PieceTable, text: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash(text).hash();
        self.find(hash, |id| pieces.text(id as usize) == text)
    }

    /// The slot of the piece with this hash for which `is_it` holds, or the free slot where it
    /// belongs.
    #[inline]
    fn find_slot(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> usize {
        // The position depends on the upper bits of the hash.
        let tag = low_u32(hash);
        let mask = self.slots.len() - 1;
        let mut at = low_usize(hash >> self.shift);
        loop {
            let slot = self.slots[at];
            if slot.id == FREE || slot.tag == tag && is_it(slot.id) {
                return at;
            }
            at = (at + 1) & mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::piece::PieceKind;

    #[test]
    fn pieces_are_found_and_repeated_ones_refused() {
        let mut pieces = PieceTable::default();
        for number in 0..1_000 {
            pieces.push(number.to_string().as_bytes(), 0.0, PieceKind::Normal);
        }
        pieces.push(b"\0", 0.0, PieceKind::Unused);
        pieces.push(b"\0", 0.0, PieceKind::Unused);
        let is_nul = |text: &[u8]| text == b"\0";
        let table = PieceHashes::of_unique(&pieces, is_nul).unwrap();
        for number in 0..1_000 {
            let text = number.to_string();
            assert_eq!(table.get(&pieces, text.as_bytes()), Some(number));
        }
        assert_eq!(table.get(&pieces, b"1000"), None);
        assert_eq!(table.get(&pieces, b"\0"), None);
        pieces.push(b"77", 0.0, PieceKind::Control);
        assert_eq!(PieceHashes::of_unique(&pieces, is_nul).unwrap_err(), 1_002);
        assert_eq!(
            PieceHashes::of_unique(&pieces, |_| false).unwrap_err(),
            1_001
        );
    }
}
