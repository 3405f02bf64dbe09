//! The lattices of many texts in 4 bytes for each character that a text does not share with the
//! text before.
//!
//! Input: texts with frequencies, and the seeds. Output: the lattices one after the other, as often
//! as needed, with the edges of dropped pieces left out. So the pieces of a text are searched only
//! once.
//!
//! Format: for each character the longest seed with which the text ends there, or [`NO_SEED`]. The
//! other seeds that end there are suffixes of it, which the list of pieces links ([`PieceList`]). A
//! text has its number of characters, how many of them it shares with the beginning of the text
//! before, and its frequency. Words of equal counts follow each other in the order of their bytes,
//! so that many characters are shared.
//!
//! Example, with the seeds `a` (0), `b` (1) and `ab` (2), and the texts `abc` and `abb`:
//!
//! ```text
//! abc: 3 characters, 0 shared: 0, 2, NO_SEED
//! abb: 3 characters, 2 shared: 1
//! ```
//!
//! A seed that was dropped never becomes a piece again. A pass leaves out its edges, and
//! [`LatticeStore::renumber`] replaces it by the longest of its suffixes that remains.
//!
//! Cost: a pass reads 4 bytes for each character that is not shared, and loads a score at random
//! for each edge that ends there.

use super::lattice::{TextLattice, index};
use super::math::FastMath;
use super::pieces::{NO_SEED, PieceList, Renumbering};
use super::seed_trie::SeedTrie;
use crate::text::utf8::{char_starts, common_length, floor_char_boundary, is_char_start};

/// A text of the store.
#[derive(Debug, Clone, Copy)]
struct StoredText {
    /// The characters at the beginning that are those of the text before.
    shared: u32,
    characters: u32,
    frequency: f32,
}

impl StoredText {
    /// The characters that are not shared.
    fn added(self) -> usize {
        (self.characters - self.shared) as usize
    }
}

/// Lattices of texts.
#[derive(Debug, Default)]
pub(super) struct LatticeStore {
    texts: Vec<StoredText>,
    /// Of all texts, without shared characters.
    longest: Vec<u32>,
}

impl LatticeStore {
    /// Calls `visit` with the lattice and the frequency of each text, in order. The edges are those
    /// of pieces. With `math`, a lattice has what [`TextLattice::expect`] needs.
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

    /// Gives the seeds new numbers, and removes the edges of those without one, and the texts for
    /// which `is_kept` is false.
    pub(super) fn renumber(
        &mut self,
        numbers: &Renumbering,
        mut is_kept: impl FnMut(usize) -> bool,
    ) {
        let mut read = 0;
        let mut written = 0;
        // The seeds of the current text, and how many of its characters the last kept text has,
        // too.
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
                // Not beyond what was read: characters that were shared with removed texts were
                // read with these.
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

/// Makes a store. Every seed is a piece.
#[derive(Debug)]
pub(super) struct StoreBuilder<'t> {
    trie: &'t SeedTrie,
    store: LatticeStore,
    /// The text before.
    text: Vec<u8>,
    /// By byte of the text: where the search for the seeds that begin there ended, or the end of
    /// the text.
    searched: Vec<usize>,
    /// By byte that is not shared: the longest seed that ends with it.
    longest: Vec<u32>,
}

impl<'t> StoreBuilder<'t> {
    /// `trie` has the seeds with their numbers.
    pub(super) fn new(trie: &'t SeedTrie) -> Self {
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
        let shared = shared_bytes(&self.text, text);
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

    /// Finds the longest seeds that end after the first `shared` bytes, which are those of the text
    /// before.
    fn search(&mut self, text: &[u8], shared: usize) {
        self.longest.clear();
        self.longest.resize(text.len() - shared, NO_SEED);
        self.searched.resize(text.len(), 0);
        for begin in char_starts(text) {
            // A search that ended in the shared bytes ends there again.
            if begin < shared && self.searched[begin] < shared {
                continue;
            }
            let length = self.trie.walk(&text[begin..], |length, seed| {
                let added = (begin + length).checked_sub(shared + 1);
                if let Some(longest) = added.map(|at| &mut self.longest[at])
                    && *longest == NO_SEED
                {
                    *longest = seed;
                }
            });
            self.searched[begin] = begin + length;
        }
    }

    /// The store of all texts.
    pub(super) fn finish(mut self) -> LatticeStore {
        self.store.shrink();
        self.store
    }
}

/// The number of bytes with which both texts begin, without a part of a character.
fn shared_bytes(before: &[u8], text: &[u8]) -> usize {
    floor_char_boundary(text, common_length(before, text))
}

/// The number of characters of a text.
fn characters(text: &[u8]) -> u32 {
    index(char_starts(text).count())
}

#[cfg(test)]
mod tests;
