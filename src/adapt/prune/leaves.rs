//! Which pieces to remove for a given size.
//!
//! BPE, *leaf pruning*: each piece that merges make is joined from two halves by its last merge. A
//! piece that is half of no piece that remains is a *leaf*. The leaf with the lowest count is
//! removed (the highest id among equal counts), and its count is added to its halves. Pieces that
//! no merge makes are removed first. Because halves of remaining pieces remain, every remaining
//! piece is made by the same merges as before, so that none becomes unreachable. The idea of
//! removing leaves by frequency: Purason, Chizhov, Yamshchikov and Fishel,
//! <https://arxiv.org/abs/2512.03989>.
//!
//! Example: counts `abc` = `ab` `c` 3, `ab` = `a` `b` 0, `bc` = `b` `c` 5; the characters stay. The
//! leaves are `abc` and `bc`. `abc` is removed, and `ab` has the count 3. Now `ab` is a leaf, and
//! is removed next.
//!
//! Unigram: the piece with the lowest count is removed; among equal counts the one with the lowest
//! score, then the one with the highest id. Without a text, the lowest scores go first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::is_removable;
use super::usage::PieceUsage;
use crate::base::is_char;
use crate::encode::bpe::Tracer;
use crate::model::Model;
use crate::model::ModelError;
use crate::piece::PieceId;

/// The halves of the last merge of a piece; characters that are no pieces have no id.
pub(super) type PieceHalves = [Option<PieceId>; 2];

/// Finds the halves of the last merges of pieces.
pub(super) struct HalvesFinder<'m> {
    model: &'m Model,
    tracer: Tracer<'m>,
}

impl<'m> HalvesFinder<'m> {
    pub(super) fn new(model: &'m Model) -> Result<Self, ModelError> {
        let tracer = Tracer::new(model)?;
        Ok(HalvesFinder { model, tracer })
    }

    /// The halves of the last merge of a piece; `None` for pieces that no merge makes.
    pub(super) fn halves(&self, index: usize) -> Option<PieceHalves> {
        let pieces = self.model.table();
        let text = pieces.text(index);
        if !is_removable(pieces.kind(index)) || is_char(text) {
            return None;
        }
        self.tracer.last_merge(text)
    }
}

/// Marks the pieces that the pieces in `keep` are made of.
pub(super) fn close(keep: &mut [bool], mut halves: impl FnMut(usize) -> Option<PieceHalves>) {
    let mut open: Vec<usize> = (0..keep.len()).filter(|index| keep[*index]).collect();
    while let Some(index) = open.pop() {
        for half in halves(index).into_iter().flatten().flatten() {
            if !std::mem::replace(&mut keep[half.index()], true) {
                open.push(half.index());
            }
        }
    }
}

/// Clears pieces in `keep` until `size` remain, or none can be removed. Those that `is_fixed` stay.
pub(super) fn remove_leaves(
    keep: &mut [bool],
    size: usize,
    is_fixed: &[bool],
    halves: &[Option<PieceHalves>],
    usage: &PieceUsage,
) {
    let mut leaves = Leaves::new(is_fixed, halves, usage);
    let mut remaining = keep.iter().filter(|kept| **kept).count();
    while remaining > size
        && let Some(index) = leaves.remove_rarest()
    {
        keep[index] = false;
        remaining -= 1;
    }
}

/// The pieces that can be removed next: no remaining piece is made of them.
struct Leaves<'p> {
    is_fixed: &'p [bool],
    halves: &'p [Option<PieceHalves>],
    /// By index, the count in the text and those of the removed pieces that are made of the piece.
    counts: Vec<u64>,
    /// By index, how often the piece is a half of remaining pieces.
    parents: Vec<usize>,
    /// The greatest is removed first: pieces that no merge makes, then low counts, then high ids.
    queue: BinaryHeap<Reverse<(bool, u64, Reverse<usize>)>>,
}

impl<'p> Leaves<'p> {
    fn new(is_fixed: &'p [bool], halves: &'p [Option<PieceHalves>], usage: &PieceUsage) -> Self {
        let indices = 0..halves.len();
        let mut leaves = Self {
            is_fixed,
            halves,
            counts: indices.clone().map(|index| usage.count_at(index)).collect(),
            parents: vec![0; halves.len()],
            queue: BinaryHeap::new(),
        };
        for half in halves.iter().flatten().flatten().flatten() {
            leaves.parents[half.index()] += 1;
        }
        indices.for_each(|index| leaves.add_if_leaf(index));
        leaves
    }

    /// Adds a piece if no remaining piece is made of it and it is not fixed.
    fn add_if_leaf(&mut self, index: usize) {
        if self.parents[index] == 0 && !self.is_fixed[index] {
            let is_made = self.halves[index].is_some();
            let key = (is_made, self.counts[index], Reverse(index));
            self.queue.push(Reverse(key));
        }
    }

    /// Removes the rarest leaf, and returns its index.
    fn remove_rarest(&mut self) -> Option<usize> {
        let Reverse((_, count, Reverse(index))) = self.queue.pop()?;
        for half in self.halves[index].into_iter().flatten().flatten() {
            self.remove_parent(half.index(), count);
        }
        Some(index)
    }

    /// Takes a piece with this count, which was made of `half`, from its parents.
    fn remove_parent(&mut self, half: usize, count: u64) {
        self.counts[half] += count;
        self.parents[half] -= 1;
        self.add_if_leaf(half);
    }
}

/// The pieces of a unigram model without the rarest, until `size` remain, or none can be removed.
/// Those that `is_fixed` stay.
pub(super) fn without_rarest(
    size: usize,
    is_fixed: &[bool],
    model: &Model,
    usage: &PieceUsage,
) -> Vec<bool> {
    let mut keep = vec![true; model.len()];
    let mut removable: Vec<usize> = (0..keep.len()).filter(|index| !is_fixed[*index]).collect();
    let score = |index: usize| model.table().score(index);
    removable.sort_by(|a, b| {
        let counts = usage.count_at(*a).cmp(&usage.count_at(*b));
        let scores = || score(*a).total_cmp(&score(*b));
        counts.then_with(scores).then_with(|| b.cmp(a))
    });
    let excess = keep.len().saturating_sub(size);
    for index in removable.into_iter().take(excess) {
        keep[index] = false;
    }
    keep
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ModelType, PieceKind};

    #[test]
    fn the_example_of_the_module_page() {
        let mut builder = Model::builder();
        builder.model_type(ModelType::Bpe);
        builder.piece("<unk>", 0.0, PieceKind::Unknown);
        for (rank, text) in [
            (1.0, "ab"),
            (2.0, "bc"),
            (3.0, "abc"),
            (4.0, "a"),
            (4.0, "b"),
            (4.0, "c"),
        ] {
            builder.piece(text, -rank, PieceKind::Normal);
        }
        let model = builder.build().unwrap();
        let finder = HalvesFinder::new(&model).unwrap();
        let halves: Vec<_> = (0..7).map(|index| finder.halves(index)).collect();
        let id = |number| Some(PieceId::new(number));
        assert_eq!(halves[3], Some([id(1), id(6)]));
        let mut usage = PieceUsage::none(&model);
        let is_fixed = [true, false, false, false, true, true, true];
        let mut keep = vec![true; 7];
        remove_leaves(&mut keep, 5, &is_fixed, &halves, &usage);
        assert_eq!(keep, [true, true, false, false, true, true, true]);
        let tokenizer = crate::Tokenizer::new(model.clone());
        let mut counter = super::super::UsageCounter::new(&tokenizer).unwrap();
        for _ in 0..3 {
            counter.add("bc");
        }
        usage.add(&counter.finish());
        assert_eq!(usage.count(PieceId::new(2)), 3);
        let mut keep = vec![true; 7];
        remove_leaves(&mut keep, 5, &is_fixed, &halves, &usage);
        assert_eq!(keep, [true, false, true, false, true, true, true]);
    }

    #[test]
    fn halves_of_kept_pieces_are_kept() {
        let half = |number| Some(PieceId::new(number));
        let halves = [None, Some([half(0), None]), Some([half(1), half(0)]), None];
        let mut keep = [false, false, true, false];
        close(&mut keep, |index| halves[index]);
        assert_eq!(keep, [true, true, true, false]);
    }
}
