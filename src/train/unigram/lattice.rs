//! The lattice of one text: every way to segment it into pieces.
//!
//! Positions are characters, 0 to n. An edge is a piece that occurs in the text, from its first position to its end. A
//! position at which no piece of one character begins has an edge for an unknown character.
//!
//! Example, with the pieces `a`, `b` and `ab` and the text `abc`:
//!
//! ```text
//! 0 --a--> 1 --b--> 2 --unknown--> 3
//! 0 ------ab------> 2
//! ```
//!
//! Two segmentations, `a b c` and `ab c`.
//!
//! The order of the edges, by beginning and then by length (an unknown character last), is the order in which the
//! reference makes them. All sums and comparisons follow it, since 32-bit sums depend on the order.
//!
//! Source: T. Kudo, "Subword Regularization", 2018, <https://arxiv.org/abs/1804.10959>; classes `Lattice` and `Model` of
//! SentencePiece 0.2.3.

use super::math::FastMath;

/// A piece at a position of the text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Edge {
    pub(super) seed: u32,
    pub(super) begin: u32,
    pub(super) end: u32,
    pub(super) score: f32,
}

/// The lattice of a text. One is reused for many texts.
#[derive(Debug, Default)]
pub(super) struct TextLattice {
    edges: Vec<Edge>,
    /// The first edge of each position, and the number of edges.
    starts: Vec<u32>,
    /// By position: the logarithm of the sum of all paths from the start.
    forward: Vec<f32>,
    /// By position: the same to the end.
    backward: Vec<f32>,
}

impl TextLattice {
    /// Removes everything.
    pub(super) fn clear(&mut self) {
        self.edges.clear();
        self.starts.clear();
    }

    /// Begins the edges of the next position.
    #[inline]
    pub(super) fn start_position(&mut self) {
        self.starts.push(index(self.edges.len()));
    }

    /// Adds an edge of `length` characters at the position begun last.
    #[inline]
    pub(super) fn add(&mut self, seed: u32, length: u32, score: f32) {
        let begin = index(self.starts.len()) - 1;
        self.edges.push(Edge {
            seed,
            begin,
            end: begin + length,
            score,
        });
    }

    /// Ends the last position.
    pub(super) fn finish(&mut self) {
        self.start_position();
    }

    /// Positions without the last one: the number of characters.
    pub(super) fn characters(&self) -> usize {
        self.starts.len() - 1
    }

    pub(super) fn edges(&self) -> &[Edge] {
        &self.edges
    }

    fn edges_at(&self, position: usize) -> &[Edge] {
        let start = self.starts[position] as usize;
        let end = self.starts[position + 1] as usize;
        &self.edges[start..end]
    }

    /// The edge that spans the whole text, if there is one.
    pub(super) fn whole(&self) -> Option<usize> {
        let end = index(self.characters());
        let first = self.edges_at(0).iter();
        let mut matching = first.enumerate().filter(|(_, edge)| edge.end == end);
        matching.next().map(|(at, _)| at)
    }

    /// Adds the expected count of each edge, in a text that occurs `frequency` times, to the total of its seed. Returns the
    /// logarithm of the probability of the text.
    ///
    /// The probability of an edge is that of all paths through it, divided by that of all paths. Cost: linear in the
    /// edges.
    pub(super) fn expect(&mut self, math: &FastMath, frequency: f32, totals: &mut [f32]) -> f32 {
        self.sum_forward(math);
        self.sum_backward(math);
        let all = self.forward[self.characters()];
        let frequency = f64::from(frequency);
        for edge in &self.edges {
            let before = self.forward[edge.begin as usize];
            let after = self.backward[edge.end as usize];
            let x = ((before + edge.score) + after) - all;
            let total = &mut totals[edge.seed as usize];
            *total = math.add_exp(*total, frequency, x);
        }
        all
    }

    fn sum_forward(&mut self, math: &FastMath) {
        self.forward.clear();
        self.forward
            .resize(self.characters() + 1, f32::NEG_INFINITY);
        self.forward[0] = 0.0;
        // By beginning, so that the sum at each end is taken in the order of the beginnings.
        for edge in &self.edges {
            let path = edge.score + self.forward[edge.begin as usize];
            let sum = &mut self.forward[edge.end as usize];
            *sum = math.log_sum(*sum, path);
        }
    }

    fn sum_backward(&mut self, math: &FastMath) {
        let last = self.characters();
        self.backward.clear();
        self.backward.resize(last + 1, 0.0);
        for position in (0..last).rev() {
            let mut sum = f32::NEG_INFINITY;
            for edge in self.edges_at(position) {
                sum = math.log_sum(sum, edge.score + self.backward[edge.end as usize]);
            }
            self.backward[position] = sum;
        }
    }
}

/// Indices of edges and positions: a text has at most 2^30 bytes, and edges are counted with the seeds that begin at a
/// position, so that both are below 2^32 wherever memory suffices.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "texts that do not fit are refused when they are read"
)]
fn index(value: usize) -> u32 {
    debug_assert!(u32::try_from(value).is_ok());
    value as u32
}

/// The best segmentation of lattices. Its buffers are reused.
#[derive(Debug, Default)]
pub(super) struct Viterbi {
    /// By edge: the score of the best path that ends with it.
    best: Vec<f32>,
    /// By position: the highest of the edges that end there.
    highest: Vec<f32>,
    /// Edges by end, and then by beginning: the ranges of the ends, and the edges.
    ending: Vec<u32>,
    by_end: Vec<u32>,
}

impl Viterbi {
    /// Finds the score of the best path to each edge. Cost: linear in the edges.
    pub(super) fn search(&mut self, lattice: &TextLattice) {
        self.search_without(lattice, None);
    }

    /// As [`Viterbi::search`], as if the edge `excluded` had a score of negative infinity.
    pub(super) fn search_without(&mut self, lattice: &TextLattice, excluded: Option<usize>) {
        self.best.clear();
        self.highest.clear();
        self.highest
            .resize(lattice.characters() + 1, f32::NEG_INFINITY);
        self.highest[0] = 0.0;
        for (at, edge) in lattice.edges().iter().enumerate() {
            let score = if excluded == Some(at) {
                f32::NEG_INFINITY
            } else {
                edge.score
            };
            let path = self.highest[edge.begin as usize] + score;
            self.best.push(path);
            let highest = &mut self.highest[edge.end as usize];
            *highest = highest.max(path);
        }
    }

    /// The score of the best path.
    pub(super) fn score(&self) -> f32 {
        self.highest.last().copied().unwrap_or(0.0)
    }

    /// The score of the best path that ends with an edge.
    pub(super) fn best(&self, edge: usize) -> f32 {
        self.best[edge]
    }

    /// Calls `visit` with the edges of the best path, last to first, after [`Viterbi::search`].
    ///
    /// Of the edges before a given one the first whose path gives the same sum is taken: the longest, as in the
    /// reference, which keeps the first of equal sums. It does not suffice that the path itself is as good, since
    /// different sums can be rounded to the same value.
    pub(super) fn trace(&mut self, lattice: &TextLattice, mut visit: impl FnMut(&Edge)) {
        self.sort_by_end(lattice);
        let mut position = lattice.characters();
        let mut next_score = 0.0;
        while position > 0 {
            let target = self.highest[position] + next_score;
            let is_best = |edge: &&u32| self.best[**edge as usize] + next_score == target;
            let Some(found) = self.edges_to(position).iter().find(is_best) else {
                return;
            };
            let edge = &lattice.edges()[*found as usize];
            visit(edge);
            position = edge.begin as usize;
            next_score = edge.score;
        }
    }

    /// Sorts the edges by their ends. The sort is stable, so that edges with one end stay in the order of their
    /// beginnings.
    pub(super) fn sort_by_end(&mut self, lattice: &TextLattice) {
        self.ending.clear();
        self.ending.resize(lattice.characters() + 2, 0);
        for edge in lattice.edges() {
            self.ending[edge.end as usize + 1] += 1;
        }
        for position in 1..self.ending.len() {
            self.ending[position] += self.ending[position - 1];
        }
        self.by_end.clear();
        self.by_end.resize(lattice.edges().len(), 0);
        for (at, edge) in lattice.edges().iter().enumerate() {
            let slot = &mut self.ending[edge.end as usize];
            self.by_end[*slot as usize] = index(at);
            *slot += 1;
        }
        // Each entry has moved to the start of the next range.
        self.ending.rotate_right(1);
        self.ending[0] = 0;
    }

    /// The edges that end at a position, by beginning, after [`Viterbi::sort_by_end`].
    pub(super) fn edges_to(&self, position: usize) -> &[u32] {
        let start = self.ending[position] as usize;
        let end = self.ending[position + 1] as usize;
        &self.by_end[start..end]
    }
}

#[cfg(test)]
mod tests;
