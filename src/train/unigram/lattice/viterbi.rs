//! The best segmentation of a lattice.
//!
//! The positions that a text shares with the previous one are not visited again.
//!
//! Example, with the pieces `a` (-2), `b` (-2) and `ab` (-3) and the text `ab`: the best paths to
//! the three positions have the scores 0, -2 and -3 (`a b` has -4, `ab` has -3). The best path is
//! `ab`.
//!
//! Source: A. Viterbi, "Error Bounds for Convolutional Codes and an Asymptotically Optimum Decoding
//! Algorithm", 1967; function `Lattice::Viterbi` of SentencePiece 0.2.3.

use super::{Edge, TextLattice, index};

/// The best paths from the start of a text to a position.
#[derive(Debug, Clone, Copy)]
struct BestPaths {
    /// The highest score.
    score: f32,
    /// The highest score of a path through an edge before [`BestPaths::edge`].
    earlier: f32,
    /// The first edge that ends here on a path with the highest score.
    edge: u32,
}

/// No path ends here yet.
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
    /// Finds the score of the best path to each position.
    pub(in crate::train::unigram) fn search(&mut self, lattice: &TextLattice) {
        self.best.clear();
        self.search_rest(lattice, |edge, _| edge.score);
    }

    /// Like [`Viterbi::search`], but reuses the results for the positions shared with the previous
    /// text, which must have been searched before.
    pub(in crate::train::unigram) fn continue_search(&mut self, lattice: &TextLattice) {
        self.best.truncate(lattice.shared + 1);
        self.search_rest(lattice, |edge, _| edge.score);
    }

    /// Like [`Viterbi::search`], as if the edge `excluded` had a score of negative infinity.
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

    /// Searches the positions without a result.
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
    /// The reference adds the score of the next edge before it compares, and keeps the first
    /// (longest) of the edges with the highest sum. Different path scores can give the same rounded
    /// sum, so the first edge with the highest path score is not always that edge. But rounding is
    /// monotonic: if the edges before the first best one give a lower sum, the first best one is
    /// taken. Only otherwise are all edges compared.
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

    /// The first edge to a position whose path score plus `next_score` is the highest sum.
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
