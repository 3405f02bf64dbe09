//! The lattices of the texts of the corpus, by partial sum: stored, or searched in each pass.
//!
//! Input: the texts with their counts, and the seeds. Output: in each pass the lattices of the texts of a partial sum, in
//! order. Text i belongs to the partial sum i mod n.
//!
//! The edges of all texts are stored if they are not more than a bound ([`MAX_STORED_EDGES`], 4 bytes each). Otherwise each pass
//! searches them in a trie of the pieces, which takes no memory besides the texts, but several times as long. Whenever
//! dropped pieces are forgotten, the edges that remain are counted again, and stored if they fit. Both give the same
//! lattices, so that the bound does not change the model.
//!
//! Example with two partial sums and the texts `ab` (3 times), `b` (2 times) and `a` (once): the partial sum 0 has the
//! lattices of `ab` and `a`, the partial sum 1 that of `b`.
//!
//! Cost: see [`LatticeStore`] for stored lattices; others cost a step of the trie for each byte of each match.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::lattice::TextLattice;
use super::lattice_store::{self, LatticeStore};
use super::pieces::{PieceList, Renumbering, Seeds};
use super::seed_trie::SeedTrie;
use super::sentences::CountedTexts;
use crate::error::TrainError;
use crate::text::num::count_to_f32;

/// The most edges that are stored: 512 MiB.
pub(crate) const MAX_STORED_EDGES: usize = 1 << 27;

/// Lattices of texts.
#[derive(Debug)]
pub(super) struct CorpusLattices {
    partials: usize,
    max_stored_edges: usize,
    source: LatticeSource,
}

/// Where the edges come from.
#[derive(Debug)]
enum LatticeSource {
    /// By partial sum.
    Stored(Vec<LatticeStore>),
    Searched(SearchedTexts),
}

/// Texts whose edges are searched.
#[derive(Debug)]
struct SearchedTexts {
    texts: CountedTexts,
    trie: Arc<SeedTrie>,
}

impl CorpusLattices {
    /// The lattices of texts for so many partial sums. `trie` has the seeds with their numbers. At most
    /// `max_stored_edges` edges are stored.
    pub(super) fn new(
        texts: CountedTexts,
        trie: Arc<SeedTrie>,
        partials: usize,
        max_stored_edges: usize,
    ) -> CorpusLattices {
        let searched = SearchedTexts { texts, trie };
        CorpusLattices {
            partials,
            max_stored_edges,
            source: searched.stored_if_possible(partials, max_stored_edges),
        }
    }

    /// The number of partial sums.
    pub(super) fn partials(&self) -> usize {
        self.partials
    }

    /// Calls `visit` with the lattice and the frequency of each text of a partial sum, in order. The edges are those of
    /// pieces.
    pub(super) fn for_each(
        &self,
        partial: usize,
        pieces: &PieceList,
        visit: impl FnMut(&mut TextLattice, f32),
    ) {
        let mut lattice = TextLattice::default();
        match &self.source {
            LatticeSource::Stored(stores) => stores[partial].for_each(pieces, &mut lattice, visit),
            LatticeSource::Searched(texts) => {
                let indices = (partial..texts.texts.len()).step_by(self.partials);
                texts.for_each(indices, pieces, &mut lattice, visit);
            }
        }
    }

    /// Removes the edges of dropped seeds. `seeds` has the others with their new numbers. Runs on the current pool.
    ///
    /// # Errors
    /// As [`Seeds::trie`].
    pub(super) fn renumber(
        &mut self,
        numbers: &Renumbering,
        seeds: &Seeds,
    ) -> Result<(), TrainError> {
        match &mut self.source {
            LatticeSource::Stored(stores) => stores
                .par_iter_mut()
                .for_each(|store| store.renumber(numbers, |_| true)),
            LatticeSource::Searched(texts) => {
                let searched = SearchedTexts {
                    texts: std::mem::take(&mut texts.texts),
                    trie: Arc::new(seeds.trie()?),
                };
                self.source = searched.stored_if_possible(self.partials, self.max_stored_edges);
            }
        }
        Ok(())
    }
}

impl SearchedTexts {
    /// Stores the edges, unless they are more than `max_edges`.
    fn stored_if_possible(self, partials: usize, max_edges: usize) -> LatticeSource {
        let stored_edges = AtomicUsize::new(0);
        let store_partial = |partial| {
            let mut store = LatticeStore::default();
            for index in (partial..self.texts.len()).step_by(partials) {
                let before = store.edges();
                store.push(
                    &self.trie,
                    self.texts.text(index).as_bytes(),
                    self.frequency(index),
                );
                let added = store.edges() - before;
                let stored = stored_edges.fetch_add(added, Ordering::Relaxed) + added;
                if stored > max_edges {
                    return None;
                }
            }
            store.shrink();
            Some(store)
        };
        let stores: Option<Vec<LatticeStore>> = (0..partials)
            .into_par_iter()
            .with_max_len(1)
            .map(store_partial)
            .collect();
        match stores {
            Some(stores) => LatticeSource::Stored(stores),
            None => LatticeSource::Searched(self),
        }
    }

    fn for_each(
        &self,
        indices: impl Iterator<Item = usize>,
        pieces: &PieceList,
        lattice: &mut TextLattice,
        mut visit: impl FnMut(&mut TextLattice, f32),
    ) {
        for index in indices {
            lattice.clear();
            for rest in lattice_store::suffixes(self.texts.text(index).as_bytes()) {
                // A match has at least one byte.
                let mut position = lattice.start_position(rest.len());
                for seed in self.trie.seeds_in(rest) {
                    position.add(seed, pieces);
                }
                position.finish(pieces);
            }
            lattice.finish();
            visit(lattice, self.frequency(index));
        }
    }

    fn frequency(&self, index: usize) -> f32 {
        count_to_f32(self.texts.counts[index])
    }
}

#[cfg(test)]
mod tests;
