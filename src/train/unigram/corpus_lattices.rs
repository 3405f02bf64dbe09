//! The lattices of the texts of the corpus, by partial sum.
//!
//! Input: the texts with their counts, and the seeds. Output: in each pass the lattices of the texts of a partial sum, in
//! order. Text i belongs to the partial sum i mod n.
//!
//! Example with two partial sums and the texts `ab` (3 times), `b` (2 times) and `a` (once): the partial sum 0 has the
//! lattices of `ab` and `a`, the partial sum 1 that of `b`.
//!
//! Cost: see [`LatticeStore`].

use rayon::prelude::*;

use super::lattice::TextLattice;
use super::lattice_store::{LatticeStore, StoreBuilder};
use super::pieces::{PieceList, Renumbering};
use super::seed_trie::SeedTrie;
use super::sentences::CountedTexts;
use crate::text::num::count_to_f32;

/// Lattices of texts.
#[derive(Debug)]
pub(super) struct CorpusLattices {
    /// By partial sum.
    stores: Vec<LatticeStore>,
}

impl CorpusLattices {
    /// The lattices of texts for so many partial sums. `trie` has the seeds with their numbers. Runs on the current pool.
    pub(super) fn new(texts: &CountedTexts, trie: &SeedTrie, partials: usize) -> CorpusLattices {
        let store = |partial| {
            let mut builder = StoreBuilder::new(trie);
            for index in (partial..texts.len()).step_by(partials) {
                let (text, count) = texts.get(index);
                builder.push(text.as_bytes(), count_to_f32(count));
            }
            builder.finish()
        };
        let stores = (0..partials).into_par_iter().with_max_len(1).map(store);
        CorpusLattices {
            stores: stores.collect(),
        }
    }

    /// The number of partial sums.
    pub(super) fn partials(&self) -> usize {
        self.stores.len()
    }

    /// Calls `visit` with the lattice and the frequency of each text of a partial sum, in order. The edges are those of
    /// pieces.
    pub(super) fn for_each(
        &self,
        partial: usize,
        pieces: &PieceList,
        visit: impl FnMut(&mut TextLattice, f32),
    ) {
        self.stores[partial].for_each(pieces, visit);
    }

    /// Gives the seeds new numbers and removes the edges of those without one. Runs on the current pool.
    pub(super) fn renumber(&mut self, numbers: &Renumbering) {
        self.stores
            .par_iter_mut()
            .for_each(|store| store.renumber(numbers, |_| true));
    }
}

#[cfg(test)]
mod tests;
