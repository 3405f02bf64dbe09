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

use std::ops::Range;

use super::math::{ExpectedCount, FastMath};
use super::pieces::{DROPPED, PieceList};

/// A piece at a position of the text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Edge {
    pub(super) seed: u32,
    pub(super) begin: u32,
    pub(super) end: u32,
    pub(super) score: f32,
}

/// What is overwritten before it is read.
const NO_EDGE: Edge = Edge {
    seed: 0,
    begin: 0,
    end: 0,
    score: DROPPED,
};

/// The lattice of a text. One is reused for many texts.
#[derive(Debug, Default)]
pub(super) struct TextLattice {
    /// The first of them are those of the text; the others are left from other texts, so that adding an edge does not move the end of a vector.
    edges: Vec<Edge>,
    /// The number of edges of the text.
    size: usize,
    /// The first edge of each position, and the number of edges.
    starts: Vec<u32>,
    /// By position: the logarithm of the sum of all paths from the start.
    forward: Vec<f32>,
    /// By position: the same to the end.
    backward: Vec<f32>,
    /// By edge.
    counts: Vec<ExpectedCount>,
}

impl TextLattice {
    /// Removes everything.
    pub(super) fn clear(&mut self) {
        self.size = 0;
        self.starts.clear();
    }

    /// Begins the next position, which has at most so many edges, that for an unknown character not included.
    #[inline]
    pub(super) fn start_position(&mut self, max_edges: usize) -> OpenPosition<'_> {
        let begin = index(self.starts.len());
        self.starts.push(index(self.size));
        let needed = self.size + max_edges + 1;
        if self.edges.len() < needed {
            self.edges.resize(needed, NO_EDGE);
        }
        OpenPosition {
            edges: &mut self.edges[self.size..needed],
            size: 0,
            size_of_text: &mut self.size,
            begin,
            has_character: false,
        }
    }

    /// Ends the last position.
    pub(super) fn finish(&mut self) {
        self.starts.push(index(self.size));
    }

    /// Positions without the last one: the number of characters.
    pub(super) fn characters(&self) -> usize {
        self.starts.len() - 1
    }

    pub(super) fn edges(&self) -> &[Edge] {
        &self.edges[..self.size]
    }

    fn edges_at(&self, position: usize) -> &[Edge] {
        &self.edges[edge_range(&self.starts, position)]
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
        let frequency = f64::from(frequency);
        self.count_backward(math, frequency);
        // From the start to the end: a seed that occurs twice in the text receives the counts in this order.
        for (edge, count) in self.edges[..self.size].iter().zip(&self.counts) {
            let total = &mut totals[edge.seed as usize];
            *total = math.add_count(*total, *count, frequency);
        }
        self.forward[self.characters()]
    }

    fn sum_forward(&mut self, math: &FastMath) {
        let last = self.characters();
        self.forward.clear();
        self.forward.resize(last + 1, f32::NEG_INFINITY);
        self.forward[0] = 0.0;
        // By beginning, so that the sum at each end is taken in the order of the beginnings.
        for edge in &self.edges[..self.size] {
            let path = edge.score + self.forward[edge.begin as usize];
            let sum = &mut self.forward[edge.end as usize];
            *sum = if *sum == f32::NEG_INFINITY {
                path
            } else {
                math.log_sum(*sum, path)
            };
        }
    }

    /// Computes the sums to the end and, with them, the counts of the edges. Each sum depends on the one before it; the
    /// counts do not, so that the processor computes them while it waits.
    fn count_backward(&mut self, math: &FastMath, frequency: f64) {
        let last = self.characters();
        let all = self.forward[last];
        // What another text left is overwritten before it is read.
        if self.backward.len() <= last {
            self.backward.resize(last + 1, 0.0);
        }
        self.backward[last] = 0.0;
        if self.counts.len() < self.size {
            self.counts.resize(self.size, ExpectedCount::default());
        }
        for position in (0..last).rev() {
            let before = self.forward[position];
            let range = edge_range(&self.starts, position);
            let edges = &self.edges[range.clone()];
            let mut paths = edges
                .iter()
                .zip(&mut self.counts[range])
                .map(|(edge, count)| {
                    let after = self.backward[edge.end as usize];
                    *count = math.expected_count(frequency, ((before + edge.score) + after) - all);
                    edge.score + after
                });
            // Every position has an edge. The first path is the sum so far, without a computation.
            let first = paths.next().unwrap_or(f32::NEG_INFINITY);
            let sum = paths.fold(first, |sum, path| math.log_sum(sum, path));
            self.backward[position] = sum;
        }
    }
}

/// The position of a lattice to which edges are added, from the shortest to the longest.
pub(super) struct OpenPosition<'l> {
    edges: &'l mut [Edge],
    /// The number of edges of the position.
    size: usize,
    /// That of the text, without this position.
    size_of_text: &'l mut usize,
    begin: u32,
    /// Whether there is an edge of one character.
    has_character: bool,
}

impl OpenPosition<'_> {
    /// Adds the edge of a seed, if the seed is a piece. The edge is written in any case and overwritten by the next one,
    /// since nobody can foresee which seeds were dropped.
    #[inline]
    pub(super) fn add(&mut self, seed: u32, pieces: &PieceList) {
        if let Some(state) = pieces.state(seed) {
            let is_piece = state.score > DROPPED;
            self.has_character |= is_piece && state.length == 1;
            self.write(seed, state.length, state.score);
            self.size += usize::from(is_piece);
        }
    }

    /// Adds an edge for an unknown character, unless there is an edge of one character, and ends the position.
    #[inline]
    pub(super) fn finish(mut self, pieces: &PieceList) {
        if !self.has_character {
            let unknown = pieces.unknown();
            self.write(unknown.seed, 1, unknown.score);
            self.size += 1;
        }
        *self.size_of_text += self.size;
    }

    #[inline]
    fn write(&mut self, seed: u32, length: u32, score: f32) {
        self.edges[self.size] = Edge {
            seed,
            begin: self.begin,
            end: self.begin + length,
            score,
        };
    }
}

#[cfg(test)]
impl TextLattice {
    /// Adds a position with edges of these seeds, lengths and scores.
    pub(super) fn push_position(&mut self, edges: &[(u32, u32, f32)]) {
        let mut position = self.start_position(edges.len());
        for (seed, length, score) in edges {
            position.write(*seed, *length, *score);
            position.size += 1;
        }
        *position.size_of_text += position.size;
    }
}

/// The indices of the edges that begin at a position.
#[inline]
fn edge_range(starts: &[u32], position: usize) -> Range<usize> {
    starts[position] as usize..starts[position + 1] as usize
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

/// The best paths from the start of a text to a position.
#[derive(Debug, Clone, Copy)]
struct BestPaths {
    /// The highest score.
    score: f32,
    /// The highest score of the edges before [`BestPaths::edge`].
    earlier: f32,
    /// The first of the edges that end here with the highest score.
    edge: u32,
    /// The first of all edges that end here.
    first: u32,
}

/// Nothing ends here yet.
const UNREACHED: BestPaths = BestPaths {
    score: f32::NEG_INFINITY,
    earlier: f32::NEG_INFINITY,
    edge: 0,
    first: u32::MAX,
};

/// The best segmentation of lattices. Its buffers are reused.
#[derive(Debug, Default)]
pub(super) struct Viterbi {
    /// By position.
    best: Vec<BestPaths>,
}

impl Viterbi {
    /// Finds the score of the best path to each position. Cost: linear in the edges.
    pub(super) fn search(&mut self, lattice: &TextLattice) {
        self.search_with(lattice, |edge, _| edge.score);
    }

    /// As [`Viterbi::search`], as if the edge `excluded` had a score of negative infinity.
    pub(super) fn search_without(&mut self, lattice: &TextLattice, excluded: usize) {
        self.search_with(lattice, |edge, at| {
            if at == excluded {
                f32::NEG_INFINITY
            } else {
                edge.score
            }
        });
    }

    #[inline]
    fn search_with(&mut self, lattice: &TextLattice, score_of: impl Fn(&Edge, usize) -> f32) {
        self.best.clear();
        self.best.resize(lattice.characters() + 1, UNREACHED);
        self.best[0].score = 0.0;
        for position in 0..lattice.characters() {
            let before = self.best[position].score;
            let range = edge_range(&lattice.starts, position);
            for (at, edge) in range.clone().zip(&lattice.edges[range]) {
                let path = before + score_of(edge, at);
                let best = &mut self.best[edge.end as usize];
                if path > best.score {
                    *best = BestPaths {
                        score: path,
                        earlier: best.score,
                        edge: index(at),
                        first: best.first.min(index(at)),
                    };
                }
            }
        }
    }

    /// The score of the best path.
    pub(super) fn score(&self) -> f32 {
        self.best.last().map_or(0.0, |best| best.score)
    }

    /// The score of the best path that ends with an edge, after [`Viterbi::search`].
    #[inline]
    pub(super) fn score_with(&self, edge: &Edge) -> f32 {
        self.best[edge.begin as usize].score + edge.score
    }

    /// Calls `visit` with the edges of the best path, last to first, after [`Viterbi::search`].
    ///
    /// Of the edges before a given one the first whose path gives the same sum is taken: the longest, as in the
    /// reference, which keeps the first of equal sums. It does not suffice that the path itself is as good, since
    /// different sums can be rounded to the same value. But sums with higher scores are not lower. So if the edges
    /// before the first best one give a lower sum, that one is taken, and only otherwise all have to be compared.
    pub(super) fn trace(&self, lattice: &TextLattice, mut visit: impl FnMut(&Edge)) {
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
        let candidates = &lattice.edges[best.first as usize..=best.edge as usize];
        candidates.iter().find(|edge| {
            edge.end as usize == position && self.score_with(edge) + next_score == highest_sum
        })
    }
}

#[cfg(test)]
mod tests;
