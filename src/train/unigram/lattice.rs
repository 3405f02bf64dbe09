//! The lattice of one text: every way to segment it into pieces.
//!
//! Positions are characters, 0 to n. An edge is a piece that occurs in the text, from its begin
//! position to its end position. A position at which no piece of one character begins has an edge
//! for an unknown character.
//!
//! Example, with the pieces `a`, `b` and `ab` and the text `abc`:
//!
//! ```text
//! 0 --a--> 1 --b--> 2 --unknown--> 3
//! 0 ------ab------> 2
//! ```
//!
//! There are two segmentations, `a b c` and `ab c`. The edges are stored by end and then by
//! beginning: `a`, `ab`, `b`, unknown. The edges that end at a position and the sum of the paths to
//! it depend only on the text before the position. So the next text keeps them for the prefix that
//! it shares with this one ([`TextLattice::next_text`]).
//!
//! 32-bit sums depend on the order of their operands. Sums of paths from the start add the edges in
//! the order above. Sums of paths to the end and sums of expected counts add them in the order in
//! which the reference creates them ([`EdgesByBegin`]).
//!
//! Source: T. Kudo, "Subword Regularization", 2018, <https://arxiv.org/abs/1804.10959>; classes
//! `Lattice` and `Model` of SentencePiece 0.2.3.

mod edges_by_begin;
mod viterbi;

use std::ops::Range;

use self::edges_by_begin::EdgesByBegin;
pub(super) use self::viterbi::Viterbi;
use super::math::{ExpectedCount, FastMath};
use super::pieces::{DROPPED, PieceList};
use super::seed_totals::SeedTotals;

/// A piece at a position of the text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Edge {
    pub(super) seed: u32,
    pub(super) begin: u32,
    pub(super) end: u32,
    pub(super) score: f32,
}

/// A placeholder that is overwritten before it is read.
const NO_EDGE: Edge = Edge {
    seed: 0,
    begin: 0,
    end: 0,
    score: DROPPED,
};

/// The number of spare edges in an allocation, so that allocations are rare.
const SPARE_EDGES: usize = 1024;

/// The lattice of a text. One value is reused for many texts.
#[derive(Debug)]
pub(super) struct TextLattice {
    /// The first ones belong to the text. The others are left over from earlier texts, so that
    /// adding an edge does not change the length of the vector.
    edges: Vec<Edge>,
    /// By position: the number of edges that end there or before.
    ends: Vec<u32>,
    /// The indices of the edges of unknown characters, ascending.
    unknown: Vec<u32>,
    /// The number of leading characters shared with the previous text.
    shared: usize,
    /// By position: the logarithm of the summed probabilities of all paths from the start.
    forward: Vec<f32>,
    /// By position: the same for all paths to the end.
    backward: Vec<f32>,
    by_begin: EdgesByBegin,
    /// By edge. The first ones belong to the text.
    counts: Vec<ExpectedCount>,
}

impl Default for TextLattice {
    /// The lattice of an empty text.
    fn default() -> Self {
        Self {
            edges: Vec::new(),
            ends: vec![0],
            unknown: Vec::new(),
            shared: 0,
            forward: vec![0.0],
            backward: Vec::new(),
            by_begin: EdgesByBegin::default(),
            counts: Vec::new(),
        }
    }
}

impl TextLattice {
    /// Begins the next text with the first `shared` characters of this one, and adds a character
    /// for each element of `longest`, which is the longest seed that ends with that character.
    /// Other seeds that end there are its suffixes.
    pub(super) fn next_text(&mut self, shared: usize, longest: &[u32], pieces: &PieceList) {
        self.extend(shared, longest, pieces, |_, _| ());
    }

    /// Like [`TextLattice::next_text`], and computes the sums of the paths from the start, which
    /// [`TextLattice::expect`] needs. The sum of a position is computed while the processor loads
    /// the pieces that end at the next one.
    pub(super) fn next_summed_text(
        &mut self,
        math: &FastMath,
        shared: usize,
        longest: &[u32],
        pieces: &PieceList,
    ) {
        self.forward.truncate(shared + 1);
        self.extend(shared, longest, pieces, |edges, forward| {
            forward.push(sum_paths(math, edges, forward));
        });
    }

    /// Implements [`TextLattice::next_text`]. Calls `visit` with the edges that end at each added
    /// position.
    #[inline(always)]
    fn extend(
        &mut self,
        shared: usize,
        longest: &[u32],
        pieces: &PieceList,
        mut visit: impl FnMut(&[Edge], &mut Vec<f32>),
    ) {
        self.ends.truncate(shared + 1);
        self.shared = shared;
        let mut size = self.size();
        while self.unknown.pop_if(|edge| *edge as usize >= size).is_some() {}
        let unknown = pieces.unknown();
        for (seed, begin) in longest.iter().zip(index(shared)..) {
            let needed = size + pieces.max_suffixes() + 1;
            if self.edges.len() < needed {
                self.edges.resize(needed + SPARE_EDGES, NO_EDGE);
            }
            let free = &mut self.edges[size..needed];
            let mut count = write_edges(begin + 1, *seed, pieces, free);
            let has_character = count > 0 && free[count - 1].begin == begin;
            if !has_character {
                self.unknown.push(index(size + count));
                free[count] = Edge {
                    seed: unknown.seed,
                    begin,
                    end: begin + 1,
                    score: unknown.score,
                };
                count += 1;
            }
            visit(&free[..count], &mut self.forward);
            size += count;
            self.ends.push(index(size));
        }
    }

    /// The number of edges.
    fn size(&self) -> usize {
        self.ends.last().map_or(0, |size| *size as usize)
    }

    /// The number of characters, one less than the number of positions.
    pub(super) fn characters(&self) -> usize {
        self.ends.len() - 1
    }

    pub(super) fn edges(&self) -> &[Edge] {
        &self.edges[..self.size()]
    }

    /// The indices of the edges that end at a position.
    #[inline]
    pub(super) fn edges_to(&self, position: usize) -> Range<usize> {
        // No edge ends at position 0.
        let before = position.saturating_sub(1);
        self.ends[before] as usize..self.ends[position] as usize
    }

    /// The edge that spans the whole text, if there is one.
    pub(super) fn whole(&self) -> Option<usize> {
        let longest = self.edges_to(self.characters()).next()?;
        (self.edges[longest].begin == 0).then_some(longest)
    }

    /// Adds the expected count of each edge, in a text that occurs `frequency` times, to the total
    /// of its seed. Returns the logarithm of the probability of the text. This text and all texts
    /// before it must have been begun with [`TextLattice::next_summed_text`].
    ///
    /// The probability of an edge is that of all paths through it, divided by that of all paths.
    pub(super) fn expect(
        &mut self,
        math: &FastMath,
        frequency: f32,
        totals: &mut SeedTotals<'_>,
    ) -> f32 {
        let frequency = f64::from(frequency);
        self.by_begin
            .set(&self.edges[..self.size()], &self.unknown, self.characters());
        self.count_backward(math, frequency);
        self.add_counts(math, frequency, totals);
        self.forward[self.characters()]
    }

    /// Computes the sums to the end and, with them, the counts of the edges. Each sum depends on
    /// the one before it. The counts do not, so the processor can compute them meanwhile.
    fn count_backward(&mut self, math: &FastMath, frequency: f64) {
        let last = self.characters();
        let size = self.size();
        let all = self.forward[last];
        // Values left over from another text are overwritten before they are read.
        if self.backward.len() <= last {
            self.backward.resize(last + 1, 0.0);
        }
        if self.counts.len() < size {
            self.counts.resize(size, ExpectedCount::default());
        }
        let edges = &self.edges[..size];
        let backward = &mut self.backward[..=last];
        let counts = &mut self.counts[..size];
        backward[last] = 0.0;
        for (position, before) in self.forward[..last].iter().enumerate().rev() {
            // Every position has an edge. The first path initializes the sum.
            let mut sum = f32::NEG_INFINITY;
            for (number, at) in self.by_begin.row(position).enumerate() {
                let edge = &edges[at as usize];
                let after = backward[edge.end as usize];
                counts[at as usize] =
                    math.expected_count(frequency, ((before + edge.score) + after) - all);
                let path = edge.score + after;
                sum = if number == 0 {
                    path
                } else {
                    math.log_sum(sum, path)
                };
            }
            backward[position] = sum;
        }
    }

    /// Adds the counts to the totals of their seeds, in the order in which the edges begin: the
    /// order matters because a seed may occur twice.
    fn add_counts(&self, math: &FastMath, frequency: f64, totals: &mut SeedTotals<'_>) {
        let mut add = |edge: &Edge, count: &ExpectedCount| {
            let total = totals.at(edge.seed);
            *total = math.add_count(*total, *count, frequency);
        };
        let edges = self.edges();
        if self.unknown.is_empty() {
            // Edges of the same seed have the same length, so their order by end is their order by
            // beginning.
            for (edge, count) in edges.iter().zip(&self.counts) {
                add(edge, count);
            }
            return;
        }
        // Unknown characters count for the first piece, which may have another length.
        for position in 0..self.characters() {
            for at in self.by_begin.row(position) {
                add(&edges[at as usize], &self.counts[at as usize]);
            }
        }
    }
}

/// The logarithm of the summed probabilities of all paths to a position, from the sums of the
/// positions before it and the edges that end at it.
#[inline]
fn sum_paths(math: &FastMath, edges: &[Edge], forward: &[f32]) -> f32 {
    let mut paths = edges
        .iter()
        .map(|edge| edge.score + forward[edge.begin as usize]);
    // Every position has an edge.
    let mut sum = paths.next().unwrap_or(f32::NEG_INFINITY);
    for path in paths {
        sum = math.log_sum(sum, path);
    }
    sum
}

/// Writes the edges of the pieces that are suffixes of the seed `longest` and end at `end`, from
/// the longest to the shortest. Returns their number. The edge of a dropped seed is written, too,
/// and overwritten by the next one: a branch on dropped seeds would be unpredictable.
#[inline]
fn write_edges(end: u32, longest: u32, pieces: &PieceList, edges: &mut [Edge]) -> usize {
    let mut count = 0;
    let mut seed = longest;
    while let Some(state) = pieces.state(seed)
        && let Some(edge) = edges.get_mut(count)
    {
        *edge = Edge {
            seed,
            begin: end - state.length,
            end,
            score: state.score,
        };
        count += usize::from(state.score > DROPPED);
        seed = state.suffix;
    }
    count
}

/// Indices of edges and positions: a text has at most 2^30 bytes, and edges are counted with the
/// seeds that begin at a position, so that both are below 2^32 wherever memory suffices.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "texts that do not fit are refused when they are read"
)]
pub(super) fn index(value: usize) -> u32 {
    debug_assert!(u32::try_from(value).is_ok());
    value as u32
}

#[cfg(test)]
impl TextLattice {
    /// A lattice of these edges, which may be in any order.
    pub(super) fn of_edges(mut edges: Vec<Edge>, characters: usize) -> Self {
        edges.sort_by_key(|edge| (edge.end, edge.begin));
        let mut lattice = Self::default();
        for position in 1..=characters {
            let before = edges.iter().filter(|edge| edge.end as usize <= position);
            let start = lattice.size();
            let end = before.count();
            lattice.ends.push(index(end));
            let sum = sum_paths(&FastMath::new(), &edges[start..end], &lattice.forward);
            lattice.forward.push(sum);
        }
        lattice.edges = edges;
        lattice
    }
}

#[cfg(test)]
mod tests;
