//! Finds pieces by the hashes of their texts.
//!
//! The hashes are those of [`base::hash`](crate::base::hash): the hash of two joined texts follows
//! from theirs, so that BPE looks for the piece that two symbols become without assembling its
//! text.
//!
//! Memory: 24 to 32 bytes for each piece.

use super::slots::Slots;
use crate::base::hash::{TextHash, TextHasher};
use crate::piece::PieceTable;

/// The pieces of a model by their texts.
#[derive(Debug)]
pub(crate) struct PieceHashes {
    hasher: TextHasher,
    /// By piece.
    hashes: Vec<TextHash>,
    slots: Slots,
}

impl PieceHashes {
    /// The table of all pieces, except for those for which `is_left_out` holds.
    ///
    /// # Errors
    /// The id of a piece that has the text of one before it.
    pub(crate) fn of_unique(
        pieces: &PieceTable,
        is_left_out: impl Fn(usize) -> bool,
    ) -> Result<Self, usize> {
        let hasher = TextHasher::new();
        let texts = (0..pieces.len()).map(|id| pieces.texts().get_with_rest(id));
        let hashes = texts.map(|(text, length)| hasher.hash_start(text, length));
        let hashes: Vec<TextHash> = hashes.collect();
        let mut slots = Slots::for_numbers(pieces.len());
        // The slots are anywhere in memory. In a loop without the computation of hashes, the
        // processor waits for several of them at once.
        for (id, hash) in hashes.iter().map(|hash| hash.hash()).enumerate() {
            if is_left_out(id) {
                continue;
            }
            match slots.find(hash, |other| pieces.text(other as usize) == pieces.text(id)) {
                Ok(_) => return Err(id),
                Err(free) => slots.set(free, hash, id),
            }
        }
        Ok(Self {
            hasher,
            hashes,
            slots,
        })
    }

    /// The hasher of the table.
    pub(crate) fn hasher(&self) -> &TextHasher {
        &self.hasher
    }

    /// The hash of each piece.
    #[inline]
    pub(crate) fn hashes(&self) -> &[TextHash] {
        &self.hashes
    }

    /// The piece with this hash for which `is_it` holds.
    #[inline]
    pub(crate) fn find(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        self.slots.find(hash, is_it).ok()
    }

    /// The piece with this text.
    pub(crate) fn get(&self, pieces: &PieceTable, text: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash(text).hash();
        self.find(hash, |id| pieces.text(id as usize) == text)
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
        let is_nul = |id: usize| (1_000..1_002).contains(&id);
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
