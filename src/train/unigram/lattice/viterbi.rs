//! The best segmentation of a lattice.
//!
//! Input: a lattice. Output: the score of the best path to each position, and the edges of the best
//! path. Method: dynamic programming over the positions.
//!
//! Example, with the pieces `a` (-2), `b` (-2) and `ab` (-3) and the text `ab`: the best paths have
//! the scores 0, -2 and, of -4 for `a b` and -3 for `ab`, -3. The best path is `ab`.
//!
//! Cost: linear in the edges, without those to positions that the text before shares. Source: A.
//! Viterbi, "Error Bounds for Convolutional Codes and an Asymptotically Optimum Decoding
//! Algorithm", 1967; function `Lattice::Viterbi` of SentencePiece 0.2.3.

use super::{Edge, TextLattice, index};

/// The best paths from the start of a text to a position.
#[derive(Debug, Clone, Copy)]
struct BestPaths {
    /// The highest score.
    score: f32,
    /// The highest score of the edges before [`BestPaths::edge`].
    earlier: f32,
    /// The first of the edges that end here with the highest score.
    edge: u32,
}

/// Nothing ends here yet.
const UNREACHED: BestPaths = BestPaths {
    score: f32::NEG_INFINITY,
    earlier: f32::NEG_INFINITY,
    edge: 0,
};

/// The best segmentation of lattices. Its buffers are reused.
#[derive(Debug, Default)]
pub(in crate::train::unigram) struct Viterbi {
    /// By position.
    best: Vec<BestPaths>,
}

impl Viterbi {
    /// Finds the score of the best path to each position. Cost: linear in the edges.
    pub(in crate::train::unigram) fn search(&mut self, lattice: &TextLattice) {
        self.best.clear();
        self.search_rest(lattice, |edge, _| edge.score);
    }

    /// As [`Viterbi::search`], after the same for the text before: what belongs to the shared
    /// positions is used again.
    pub(in crate::train::unigram) fn continue_search(&mut self, lattice: &TextLattice) {
        self.best.truncate(lattice.shared + 1);
        self.search_rest(lattice, |edge, _| edge.score);
    }

    /// As [`Viterbi::search`], as if the edge `excluded` had a score of negative infinity.
    pub(in crate::train::unigram) fn search_without(
        &mut self,
        lattice: &TextLattice,
        excluded: usize,
    ) {
        self.best.clear();
        self.search_rest(lattice, |edge, at| {
            if at == excluded {
                f32::NEG_INFINITY
            } else {
                edge.score
            }
        });
    }

    /// Adds the positions that are not known yet.
    #[inline]
    fn search_rest(&mut self, lattice: &TextLattice, score_of: impl Fn(&Edge, usize) -> f32) {
        if self.best.is_empty() {
            self.best.push(BestPaths {
                score: 0.0,
                ..UNREACHED
            });
        }
        for position in self.best.len()..=lattice.characters() {
            let mut best = UNREACHED;
            let range = lattice.edges_to(position);
            for (at, edge) in range.clone().zip(&lattice.edges[range]) {
                let path = self.best[edge.begin as usize].score + score_of(edge, at);
                if path > best.score {
                    best = BestPaths {
                        score: path,
                        earlier: best.score,
                        edge: index(at),
                    };
                }
            }
            self.best.push(best);
        }
    }

    /// The score of the best path.
    pub(in crate::train::unigram) fn score(&self) -> f32 {
        self.best.last().map_or(0.0, |best| best.score)
    }

    /// The score of the best path that ends with an edge, after [`Viterbi::search`].
    #[inline]
    pub(in crate::train::unigram) fn score_with(&self, edge: &Edge) -> f32 {
        self.best[edge.begin as usize].score + edge.score
    }

    /// Calls `visit` with the edges of the best path, last to first, after [`Viterbi::search`].
    ///
    /// Of the edges before a given one the first whose path gives the same sum is taken: the
    /// longest, as in the reference, which keeps the first of equal sums. It does not suffice that
    /// the path itself is as good, since different sums can be rounded to the same value. But sums
    /// with higher scores are not lower. So if the edges before the first best one give a lower
    /// sum, that one is taken, and only otherwise all have to be compared.
    pub(in crate::train::unigram) fn trace(
        &self,
        lattice: &TextLattice,
        mut visit: impl FnMut(&Edge),
    ) {
        let mut position = lattice.characters();
        let mut next_score = 0.0;
        while position > 0 {
            let best = self.best[position];
            let highest_sum = best.score + next_score;
            let is_first = best.earlier + next_score < highest_sum;
            let edge = if is_first {
                &lattice.edges[best.edge as usize]
            } else {
                let first = self.first_edge(lattice, position, next_score);
                first.unwrap_or(&lattice.edges[best.edge as usize])
            };
            visit(edge);
            position = edge.begin as usize;
            next_score = edge.score;
        }
    }

    /// The first edge to a position whose path gives, with `next_score`, the highest sum.
    #[cold]
    fn first_edge<'l>(
        &self,
        lattice: &'l TextLattice,
        position: usize,
        next_score: f32,
    ) -> Option<&'l Edge> {
        let best = self.best[position];
        let highest_sum = best.score + next_score;
        let candidates = &lattice.edges[lattice.edges_to(position)];
        candidates
            .iter()
            .find(|edge| self.score_with(edge) + next_score == highest_sum)
    }
}
