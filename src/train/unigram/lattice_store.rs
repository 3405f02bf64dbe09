//! The lattices of many texts in 4 bytes for each edge.
//!
//! Input: texts with frequencies, and the seeds. Output: the lattices one after the other, as often as needed, with the
//! edges of dropped pieces left out. So the pieces of a text are searched only once.
//!
//! Format: the edges of all texts follow each other, in the order of [`TextLattice`]. An edge is the number of its seed; its
//! length is that of the seed, its score that of the piece. The highest bit marks the last edge of a position. A position
//! without edges has one entry, [`NO_SEED`]. Edges for unknown characters are not stored: a position has one if its first
//! edge has more than one character. A text has its number of positions and its frequency.
//!
//! Example, with the seeds `a` (0), `b` (1) and `ab` (2), and the text `abc`:
//!
//! ```text
//! position 0: 0, 2 + LAST    position 1: 1 + LAST    position 2: NO_SEED + LAST
//! ```
//!
//! A seed that was dropped never becomes a piece again. A pass leaves out its edges, and
//! [`LatticeStore::renumber`] removes them, so that the store shrinks as the training proceeds.
//!
//! Cost: a pass reads 4 bytes for each edge and loads a score at random.

use super::lattice::{OpenPosition, TextLattice};
use super::pieces::{PieceList, Renumbering};
use super::seed_trie::SeedTrie;

/// Marks the last edge of a position.
const LAST: u32 = 1 << 31;
/// The entry of a position without edges.
const NO_SEED: u32 = LAST - 1;
/// Seeds are numbered below this.
pub(super) const MAX_SEEDS: usize = NO_SEED as usize;

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
    /// The most entries of a position.
    max_position: usize,
}

impl LatticeStore {
    /// Adds the lattice of a text in which every seed is a piece. `trie` has the seeds with their numbers.
    pub(super) fn push(&mut self, trie: &SeedTrie, text: &[u8], frequency: f32) {
        let mut characters = 0;
        for rest in suffixes(text) {
            let first = self.edges.len();
            self.edges.extend(trie.seeds_in(rest));
            self.end_position(first);
            characters += 1;
        }
        self.texts.push(StoredText {
            characters,
            frequency,
        });
    }

    /// The number of entries.
    pub(super) fn edges(&self) -> usize {
        self.edges.len()
    }

    /// Marks the end of the position whose entries begin at `first`.
    fn end_position(&mut self, first: usize) {
        if self.edges.len() == first {
            self.edges.push(NO_SEED);
        }
        if let Some(last) = self.edges.last_mut() {
            *last |= LAST;
        }
        self.max_position = self.max_position.max(self.edges.len() - first);
    }

    /// Releases unused memory after the last [`LatticeStore::push`].
    pub(super) fn shrink(&mut self) {
        self.texts.shrink_to_fit();
        self.edges.shrink_to_fit();
    }

    /// Calls `visit` with the lattice and the frequency of each text, in order. The edges are those of pieces.
    pub(super) fn for_each(
        &self,
        pieces: &PieceList,
        lattice: &mut TextLattice,
        mut visit: impl FnMut(&mut TextLattice, f32),
    ) {
        let mut entries = self.edges.iter();
        for text in &self.texts {
            lattice.clear();
            for _ in 0..text.characters {
                let position = lattice.start_position(self.max_position);
                load_position(&mut entries, pieces, position);
            }
            lattice.finish();
            visit(lattice, text.frequency);
        }
    }

    /// Gives the seeds new numbers, and removes the edges of those without one, and the texts for which `is_kept` is false.
    pub(super) fn renumber(
        &mut self,
        numbers: &Renumbering,
        mut is_kept: impl FnMut(usize) -> bool,
    ) {
        let old_texts = std::mem::take(&mut self.texts);
        let mut edges = CompactedEdges::new(&mut self.edges);
        for (index, text) in old_texts.into_iter().enumerate() {
            let start = edges.written;
            for _ in 0..text.characters {
                edges.move_position(numbers);
            }
            if is_kept(index) {
                self.texts.push(text);
            } else {
                edges.written = start;
            }
        }
        let kept = edges.written;
        self.edges.truncate(kept);
        self.shrink();
    }
}

/// The rest of a text from each of its characters on.
pub(super) fn suffixes(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_start = |byte: u8| byte & 0xC0 != 0x80;
    let starts = (0..text.len()).filter(move |at| is_start(text[*at]));
    starts.map(move |at| &text[at..])
}

/// Adds the edges of the next position.
#[inline]
fn load_position(
    entries: &mut std::slice::Iter<'_, u32>,
    pieces: &PieceList,
    mut position: OpenPosition<'_>,
) {
    for entry in entries {
        position.add(entry & !LAST, pieces);
        if entry & LAST != 0 {
            break;
        }
    }
    position.finish(pieces);
}

/// Reads entries and writes those that remain to the front.
struct CompactedEdges<'e> {
    edges: &'e mut [u32],
    read: usize,
    written: usize,
}

impl<'e> CompactedEdges<'e> {
    fn new(edges: &'e mut [u32]) -> CompactedEdges<'e> {
        CompactedEdges {
            edges,
            read: 0,
            written: 0,
        }
    }

    fn move_position(&mut self, numbers: &Renumbering) {
        let first = self.written;
        loop {
            let entry = self.edges[self.read];
            self.read += 1;
            if let Some(number) = numbers.number(entry & !LAST) {
                self.write(number);
            }
            if entry & LAST != 0 {
                break;
            }
        }
        if self.written == first {
            self.write(NO_SEED);
        }
        self.edges[self.written - 1] |= LAST;
    }

    fn write(&mut self, entry: u32) {
        self.edges[self.written] = entry;
        self.written += 1;
    }
}

#[cfg(test)]
mod tests;
