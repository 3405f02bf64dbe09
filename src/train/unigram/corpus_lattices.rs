//! The lattices of the texts of the corpus, in groups of partial sums.
//!
//! Text i of a corpus belongs to the partial sum i mod n.
//!
//! A lattice reuses the lattice of the previous text for the characters with which both texts
//! begin. Texts of equal counts are in the order of their bytes, so that neighbours share most. A
//! group therefore contains several consecutive partial sums, as many as leave enough groups for
//! all threads; with 16 partial sums and one of them in a group, each text would be compared with
//! its sixteenth neighbour.
//!
//! Example with four partial sums in two groups: texts 0, 1, 4, 5, ... are in the first group, and
//! belong to the partial sums 0, 1, 0, 1, ...; texts 2, 3, 6, 7, ... are in the second one.

use std::ops::Range;

use rayon::prelude::*;

use super::lattice::TextLattice;
use super::lattice_store::{LatticeStore, StoreBuilder};
use super::math::FastMath;
use super::pieces::{PieceList, Renumbering};
use super::sentences::CountedTexts;
use crate::base::num::count_to_f32;
use crate::train::parallel::map_tasks;
use crate::trie::Trie;

/// The maximum number of partial sums in a group. Each needs one number for each seed.
const MAX_GROUP_PARTIALS: usize = 4;
/// The number of groups for each thread, so that all threads finish at about the same time. More
/// groups at once need more memory.
pub(super) const GROUPS_PER_THREAD: usize = 2;

/// Lattices of texts.
#[derive(Debug)]
pub(super) struct CorpusLattices {
    groups: Vec<TextGroup>,
}

/// The lattices of the texts of some partial sums.
#[derive(Debug)]
struct TextGroup {
    store: LatticeStore,
    /// The number of partial sums. The texts belong to them in turn.
    partials: usize,
}

impl CorpusLattices {
    /// The lattices of texts for `partials` partial sums. `trie` maps the seeds to their numbers.
    /// Runs on the current pool.
    pub(super) fn new(texts: &CountedTexts, trie: &Trie, partials: usize) -> Self {
        let wanted_groups = rayon::current_num_threads() * GROUPS_PER_THREAD;
        let size = partials
            .div_ceil(wanted_groups)
            .clamp(1, MAX_GROUP_PARTIALS);
        Self::with_groups(texts, trie, (partials, size))
    }

    /// The lattices of texts for `partials` partial sums, in groups of `size`.
    fn with_groups(texts: &CountedTexts, trie: &Trie, (partials, size): (usize, usize)) -> Self {
        let group = |first: usize| {
            let members = first..partials.min(first + size);
            TextGroup {
                partials: members.len(),
                store: store_texts(texts, trie, (partials, members)),
            }
        };
        Self {
            groups: map_tasks(partials.div_ceil(size), |number| group(number * size)),
        }
    }

    /// The number of groups.
    pub(super) fn groups(&self) -> usize {
        self.groups.len()
    }

    /// The number of partial sums of a group.
    pub(super) fn partials_of(&self, group: usize) -> usize {
        self.groups[group].partials
    }

    /// Calls `visit` for each text of a group, in order, with its lattice, its frequency and the
    /// number of its partial sum in the group. The edges are those of pieces. With `math`, the
    /// lattice includes the sums that [`TextLattice::expect`] needs.
    pub(super) fn for_each(
        &self,
        group: usize,
        pieces: &PieceList,
        math: Option<&FastMath>,
        mut visit: impl FnMut(&mut TextLattice, f32, usize),
    ) {
        let TextGroup { store, partials } = &self.groups[group];
        let mut partial = 0;
        store.for_each(pieces, math, |lattice, frequency| {
            visit(lattice, frequency, partial);
            partial += 1;
            if partial == *partials {
                partial = 0;
            }
        });
    }

    /// Gives the seeds new numbers and removes the edges of seeds without one. Runs on the current
    /// pool.
    pub(super) fn renumber(&mut self, numbers: &Renumbering) {
        self.groups
            .par_iter_mut()
            .for_each(|group| group.store.renumber(numbers, |_| true));
    }
}

/// The lattices of the texts that belong to the partial sums `members` out of `partials`.
fn store_texts(
    texts: &CountedTexts,
    trie: &Trie,
    (partials, members): (usize, Range<usize>),
) -> LatticeStore {
    let mut builder = StoreBuilder::new(trie);
    for turn in (0..texts.len()).step_by(partials) {
        for index in turn + members.start..texts.len().min(turn + members.end) {
            let (text, count) = texts.get(index);
            builder.push(text.as_bytes(), count_to_f32(count));
        }
    }
    builder.finish()
}

#[cfg(test)]
mod tests;
