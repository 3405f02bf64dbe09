//! The lattices of many texts in 4 bytes for each edge.
//!
//! Input: texts with frequencies, and the seeds. Output: the lattices one after the other, as often as needed, with the
//! edges of dropped pieces left out. So the pieces of a text are searched only once.
//!
//! Format: the edges of all texts follow each other, in the order of [`TextLattice`]. An edge is the number of its seed; its
//! length is that of the seed, its score that of the piece. The highest bit marks the last edge of a position. A text has
//! its number of positions and its frequency.
//!
//! Example, with the seeds `a` (0), `b` (1) and `ab` (2), and the text `abc`:
//!
//! ```text
//! position 0: 0, 2 + LAST    position 1: 1 + LAST    position 2: UNKNOWN + LAST
//! ```
//!
//! A seed that was dropped never becomes a piece again. So a pass writes the edges back without those of dropped seeds,
//! and the store shrinks as the training proceeds. If the seed of one character is dropped, an edge for an unknown
//! character takes its place, at the end of the position.
//!
//! Cost: a pass reads and writes 4 bytes for each edge and loads a score at random.

use super::lattice::TextLattice;
use super::pieces::{DROPPED, PieceList, Seeds};
use crate::trie::DoubleArray;

/// Marks the last edge of a position.
const LAST: u32 = 1 << 31;
/// The edge of an unknown character.
const UNKNOWN: u32 = LAST - 1;
/// Seeds are numbered below this.
pub(super) const MAX_SEEDS: usize = UNKNOWN as usize;

/// A text of the store.
#[derive(Debug, Clone, Copy)]
struct StoredText {
    characters: u32,
    frequency: f32,
}

/// Lattices of texts.
#[derive(Debug, Default)]
pub(super) struct LatticeStore {
    texts: Vec<StoredText>,
    edges: Vec<u32>,
}

impl LatticeStore {
    /// Adds the lattice of a text in which every seed is a piece. `trie` has the seeds with their numbers.
    pub(super) fn push(&mut self, trie: &DoubleArray, seeds: &Seeds, text: &str, frequency: f32) {
        let mut characters = 0;
        for (at, _) in text.char_indices() {
            self.push_position(trie, seeds, &text.as_bytes()[at..]);
            characters += 1;
        }
        self.texts.push(StoredText {
            characters,
            frequency,
        });
    }

    /// Adds the edges that begin at the start of `rest`.
    fn push_position(&mut self, trie: &DoubleArray, seeds: &Seeds, rest: &[u8]) {
        let mut has_character = false;
        for (_, seed) in trie.common_prefixes(rest) {
            let seed = seed_number(seed);
            has_character |= seeds.length(seed) == 1;
            self.edges.push(seed);
        }
        if !has_character {
            self.edges.push(UNKNOWN);
        }
        if let Some(last) = self.edges.last_mut() {
            *last |= LAST;
        }
    }

    /// Releases unused memory after the last [`LatticeStore::push`].
    pub(super) fn shrink(&mut self) {
        self.texts.shrink_to_fit();
        self.edges.shrink_to_fit();
    }

    /// Calls `visit` with the lattice and the frequency of each text, in order, and forgets the edges of dropped seeds.
    pub(super) fn for_each(
        &mut self,
        pieces: &PieceList,
        lattice: &mut TextLattice,
        mut visit: impl FnMut(&mut TextLattice, f32),
    ) {
        let mut cursor = Cursor {
            edges: &mut self.edges,
            read: 0,
            written: 0,
        };
        for text in &self.texts {
            lattice.clear();
            for _ in 0..text.characters {
                cursor.load_position(pieces, lattice);
            }
            lattice.finish();
            visit(lattice, text.frequency);
        }
        let kept = cursor.written;
        self.edges.truncate(kept);
    }
}

/// Reads edges and writes those that remain to the front.
struct Cursor<'e> {
    edges: &'e mut [u32],
    read: usize,
    written: usize,
}

impl Cursor<'_> {
    /// Adds the edges of the next position to `lattice`.
    #[inline]
    fn load_position(&mut self, pieces: &PieceList, lattice: &mut TextLattice) {
        lattice.start_position();
        let mut has_character = false;
        loop {
            let entry = self.edges[self.read];
            self.read += 1;
            let seed = entry & !LAST;
            if let Some(state) = pieces.state(seed)
                && state.score > DROPPED
            {
                has_character |= state.length == 1;
                lattice.add(seed, state.length, state.score);
                self.write(seed);
            }
            if entry & LAST != 0 {
                break;
            }
        }
        if !has_character {
            let unknown = pieces.unknown();
            lattice.add(unknown.seed, 1, unknown.score);
            self.write(UNKNOWN);
        }
        self.edges[self.written - 1] |= LAST;
    }

    fn write(&mut self, entry: u32) {
        self.edges[self.written] = entry;
        self.written += 1;
    }
}

/// A value of the trie as the number of a seed. Seeds are numbered below [`MAX_SEEDS`].
#[expect(
    clippy::cast_possible_truncation,
    reason = "the trie was made of 32-bit values"
)]
fn seed_number(value: usize) -> u32 {
    value as u32
}

#[cfg(test)]
mod tests;
