//! The lattices of many texts, in 4 bytes for each character that a text does not share with the
//! beginning of the previous text.
//!
//! The lattices are read one after the other, in any number of passes, so that the trie is searched
//! only once for each text.
//!
//! Each character has the longest seed that ends with it, or [`NO_SEED`]. The other seeds that end
//! there are suffixes of it, which the list of pieces links ([`PieceList`]). Each text has its
//! number of characters, how many of them it shares with the beginning of the previous text, and
//! its frequency. Words of equal counts follow each other in the order of their bytes, so that many
//! characters are shared.
//!
//! Example, with the seeds `a` (0), `b` (1) and `ab` (2), and the texts `abc` and `abb`:
//!
//! ```text
//! abc: 3 characters, 0 shared: 0, 2, NO_SEED
//! abb: 3 characters, 2 shared: 1
//! ```
//!
//! A seed that was dropped never becomes a piece again. A pass skips its edges, and
//! [`LatticeStore::renumber`] replaces it by the longest of its suffixes that remains.
//!
//! A pass reads 4 bytes for each character that is not shared, and loads a score at random for each
//! edge that ends there.

use super::lattice::{TextLattice, index};
use super::math::FastMath;
use super::pieces::{NO_SEED, PieceList, Renumbering};
use crate::base::utf8::{char_starts, common_length, floor_char_boundary, is_char_start};
use crate::trie::Trie;

/// A text of the store.
#[derive(Debug, Clone, Copy)]
struct StoredText {
    /// The number of leading characters shared with the previous text.
    shared: u32,
    characters: u32,
    frequency: f32,
}

impl StoredText {
    /// The number of characters that are not shared.
    fn added(self) -> usize {
        (self.characters - self.shared) as usize
    }
}

/// Lattices of texts.
#[derive(Debug, Default)]
pub(super) struct LatticeStore {
    texts: Vec<StoredText>,
    /// For each character that is not shared, of all texts: the longest seed that ends with it.
    longest: Vec<u32>,
}

impl LatticeStore {
    /// Calls `visit` with the lattice and the frequency of each text, in order. The edges are those
    /// of pieces. With `math`, the lattice includes the sums that [`TextLattice::expect`] needs.
    pub(super) fn for_each(
        &self,
        pieces: &PieceList,
        math: Option<&FastMath>,
        mut visit: impl FnMut(&mut TextLattice, f32),
    ) {
        let mut lattice = TextLattice::default();
        let mut unread = &self.longest[..];
        for text in &self.texts {
            let (longest, rest) = unread.split_at(text.added());
            unread = rest;
            let shared = text.shared as usize;
            match math {
                None => lattice.next_text(shared, longest, pieces),
                Some(math) => lattice.next_summed_text(math, shared, longest, pieces),
            }
            visit(&mut lattice, text.frequency);
        }
    }

    /// Gives the seeds new numbers. Removes the edges of seeds without one and the texts for whose
    /// index `is_kept` is false.
    pub(super) fn renumber(
        &mut self,
        numbers: &Renumbering,
        mut is_kept: impl FnMut(usize) -> bool,
    ) {
        let mut read = 0;
        let mut written = 0;
        // The longest seeds of the current text, and how many of its leading characters it shares
        // with the last kept text.
        let mut current: Vec<u32> = Vec::new();
        let mut shared = 0;
        let mut number = 0;
        self.texts.retain_mut(|text| {
            current.truncate(text.shared as usize);
            let seeds = &self.longest[read..read + text.added()];
            current.extend(seeds.iter().map(|seed| numbers.longest_remaining(*seed)));
            read += seeds.len();
            shared = text.shared.min(shared);
            let keeps = is_kept(number);
            number += 1;
            if keeps {
                // Writing never passes reading: characters shared with removed texts were read with
                // those texts.
                let moved = &current[shared as usize..];
                self.longest[written..written + moved.len()].copy_from_slice(moved);
                written += moved.len();
                text.shared = shared;
                shared = text.characters;
            }
            keeps
        });
        self.longest.truncate(written);
        self.shrink();
    }

    fn shrink(&mut self) {
        self.texts.shrink_to_fit();
        self.longest.shrink_to_fit();
    }
}

/// Builds a store in which every seed is a piece.
#[derive(Debug)]
pub(super) struct StoreBuilder<'t> {
    trie: &'t Trie,
    store: LatticeStore,
    /// The previous text.
    text: Vec<u8>,
    /// By byte: where the search for the seeds that begin there ended, at most the end of the text.
    searched: Vec<usize>,
    /// By byte that is not shared: the longest seed that ends with it.
    longest: Vec<u32>,
}

impl<'t> StoreBuilder<'t> {
    /// An empty store. `trie` maps the seeds to their numbers.
    pub(super) fn new(trie: &'t Trie) -> Self {
        Self {
            trie,
            store: LatticeStore::default(),
            text: Vec::new(),
            searched: Vec::new(),
            longest: Vec::new(),
        }
    }

    /// Adds a text.
    pub(super) fn push(&mut self, text: &[u8], frequency: f32) {
        let shared = floor_char_boundary(text, common_length(&self.text, text));
        self.search(text, shared);
        let (before, added) = text.split_at(shared);
        let is_end = |at: &usize| added.get(*at).is_none_or(|next| is_char_start(*next));
        let ends = (1..=added.len()).filter(is_end);
        let longest = ends.map(|end| self.longest[end - 1]);
        self.store.longest.extend(longest);
        let shared_characters = characters(before);
        self.store.texts.push(StoredText {
            shared: shared_characters,
            characters: shared_characters + characters(added),
            frequency,
        });
        self.text.truncate(shared);
        self.text.extend_from_slice(added);
    }

    /// Finds the longest seeds that end after the first `shared` bytes, which are shared with the
    /// previous text.
    fn search(&mut self, text: &[u8], shared: usize) {
        self.longest.clear();
        self.longest.resize(text.len() - shared, NO_SEED);
        self.searched.resize(text.len(), 0);
        for begin in char_starts(text) {
            // A search that ended in the shared bytes ends there again.
            if begin < shared && self.searched[begin] < shared {
                continue;
            }
            let mut seeds = self.trie.prefixes(&text[begin..]);
            for seed in seeds.by_ref() {
                let end = begin + seed.length;
                if end > shared
                    && let longest @ &mut NO_SEED = &mut self.longest[end - shared - 1]
                {
                    *longest = seed.value;
                }
            }
            self.searched[begin] = begin + seeds.walked();
        }
    }

    /// The store of all texts.
    pub(super) fn finish(mut self) -> LatticeStore {
        self.store.shrink();
        self.store
    }
}

/// The number of characters of a text.
fn characters(text: &[u8]) -> u32 {
    index(char_starts(text).count())
}

#[cfg(test)]
mod tests;
