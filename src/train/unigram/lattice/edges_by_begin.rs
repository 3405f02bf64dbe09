//! The edges of a lattice by their beginnings.
//!
//! Input: the edges by end and then by beginning. Output: a row for each position, with the edges that begin there by end.
//! The edge of an unknown character comes after all others of its row, as in the reference, which adds it last.
//!
//! Method: counting sort. The rows lie in descending order of the positions, so that the sums to the end of the text read
//! the edges from the front.
//!
//! Example: of the edges `a` 0..1, `ab` 0..2, `b` 1..2, unknown 2..3 the rows are unknown; `b`; `a`, `ab`.
//!
//! Cost: linear in the edges and positions.

use std::ops::Range;

use super::{Edge, NO_EDGE};

/// The edges of a text. Its buffers are reused.
#[derive(Debug, Default)]
pub(super) struct EdgesByBegin {
    /// By position: the end of its row in `edges`.
    row_ends: Vec<u32>,
    /// The first of them are those of the text.
    edges: Vec<Edge>,
    /// The number of edges.
    size: usize,
}

impl EdgesByBegin {
    /// Sorts the edges of a text of so many characters. `unknown` has the indices of the edges of unknown characters.
    pub(super) fn sort(&mut self, edges: &[Edge], unknown: &[u32], characters: usize) {
        self.size = edges.len();
        if self.edges.len() < edges.len() {
            self.edges.resize(edges.len(), NO_EDGE);
        }
        self.row_ends.clear();
        self.row_ends.resize(characters, 0);
        let row_ends = &mut self.row_ends[..];
        let sorted = &mut self.edges[..];
        for edge in edges {
            row_ends[edge.begin as usize] += 1;
        }
        // The counts become the starts of the rows, and these, edge by edge, the ends.
        let mut start = 0;
        for row in row_ends.iter_mut().rev() {
            let count = *row;
            *row = start;
            start += count;
        }
        for edge in edges {
            let next = &mut row_ends[edge.begin as usize];
            sorted[*next as usize] = *edge;
            *next += 1;
        }
        for at in unknown {
            let row = self.row(edges[*at as usize].begin as usize);
            self.edges[row].rotate_left(1);
        }
    }

    /// The edges, row by row.
    pub(super) fn edges(&self) -> &[Edge] {
        &self.edges[..self.size]
    }

    /// Where the edges are that begin at a position.
    #[inline]
    pub(super) fn row(&self, position: usize) -> Range<usize> {
        let start = self.row_ends.get(position + 1).copied().unwrap_or(0);
        start as usize..self.row_ends[position] as usize
    }

    /// The ends of the rows, by position.
    pub(super) fn row_ends(&self) -> &[u32] {
        &self.row_ends
    }
}
