//! The edges of a lattice by their beginnings.
//!
//! Each position has a list ("row") of the edges that begin there, by end. The edge of an unknown
//! character is the last of its row, as in the reference.
//!
//! The rows are linked lists of indices. The edges are added from the last to the first, each at
//! the start of its row.
//!
//! Example: of the edges `a` 0..1, `ab` 0..2, `b` 1..2, unknown 2..3 the rows are `a`, `ab`; `b`;
//! unknown.
//!
//! Sorting copies of the edges took half as long again.

use super::{Edge, index};

/// Marks the end of a row.
const END: u32 = u32::MAX;

/// The edges of a text by their beginnings. Its buffers are reused.
#[derive(Debug, Default)]
pub(super) struct EdgesByBegin {
    /// By position: the first edge of its row.
    first: Vec<u32>,
    /// By edge: the next one of its row. The first ones belong to the text.
    next: Vec<u32>,
}

impl EdgesByBegin {
    /// Links the edges of a text of `characters` characters. `unknown` holds the indices of the
    /// edges of unknown characters.
    pub(super) fn set(&mut self, edges: &[Edge], unknown: &[u32], characters: usize) {
        self.first.clear();
        self.first.resize(characters, END);
        if self.next.len() < edges.len() {
            self.next.resize(edges.len(), END);
        }
        let first = &mut self.first[..];
        for (at, (edge, next)) in edges.iter().zip(&mut self.next).enumerate().rev() {
            let first = &mut first[edge.begin as usize];
            *next = *first;
            *first = index(at);
        }
        for at in unknown {
            self.move_to_end(*at, edges[*at as usize].begin as usize);
        }
    }

    /// Moves `at`, the first edge of a row, to the end of the row.
    fn move_to_end(&mut self, at: u32, position: usize) {
        let second = self.next[at as usize];
        let Some(last) = self.row(position).last() else {
            return;
        };
        if last != at {
            self.first[position] = second;
            self.next[last as usize] = at;
            self.next[at as usize] = END;
        }
    }

    /// The indices of the edges that begin at a position.
    #[inline]
    pub(super) fn row(&self, position: usize) -> impl Iterator<Item = u32> {
        let is_edge = |at: &u32| *at != END;
        let first = Some(self.first[position]).filter(is_edge);
        std::iter::successors(first, move |at| {
            Some(self.next[*at as usize]).filter(is_edge)
        })
    }
}
