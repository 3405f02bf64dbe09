//! All segmentations of a text as a graph: a node for each occurrence of a piece.
//!
//! N-best search and sampling need it.
//!
//! Positions are counted in characters, not in bytes. The order of the nodes decides between equal
//! sums, so it is that of the reference: by position, then by length, the unknown character last.
//!
//! A user-defined symbol has a score by its length in characters here, but in bytes in the search
//! for the best path. The reference has the same difference.
//!
//! Nodes are added in their order, so that the nodes that begin at a position are a range. The
//! nodes that end at a position are found by a counting sort.
//!
//! Example: the text `les` with the pieces `l` (-3), `e` (-3), `s` (-3), `le` (-4) and `les` (-5).
//! Nodes 0 and 1 are [`START`] and [`END`]:
//!
//! | position | nodes that begin there | nodes that end there |
//! |---|---|---|
//! | 0 | 2 `l`, 3 `le`, 4 `les` | 0 (start) |
//! | 1 | 5 `e` | 2 `l` |
//! | 2 | 6 `s` | 3 `le`, 5 `e` |
//! | 3 | 1 (end) | 4 `les`, 6 `s` |
//!
//! A node takes 44 bytes. Ordinary models have about four nodes for each character, but a model can
//! have thousands. Therefore the number of nodes is limited, and also the number of steps of
//! [`Lattice::viterbi_forward`]. A text that exceeds a limit is an error.

use std::iter;
use std::ops::Range;

use super::tables::{UnigramTables, symbol_score};
use super::trie::PiecePrefix;
use crate::base::char_length;
use crate::encode::EncodeError;
use crate::piece::PieceId;

/// The node before the text. It has no piece.
pub(super) const START: usize = 0;
/// The node after the text. It has no piece.
pub(super) const END: usize = 1;

/// The limit for the number of nodes: 370 MB, or about two million characters of ordinary text.
pub(super) const MAX_NODES: usize = 1 << 23;
/// The limit for the number of pairs of adjacent nodes: a few tenths of a second.
const MAX_NODE_PAIRS: usize = 1 << 28;

/// A piece at a position.
#[derive(Debug, Clone, Copy)]
pub(super) struct LatticeNode {
    pub(super) id: PieceId,
    pub(super) score: f32,
    /// The position of the first character.
    pub(super) begin: usize,
    /// The position after the last character.
    end: usize,
}

impl LatticeNode {
    /// [`START`] or [`END`], at `position`.
    fn without_piece(position: usize) -> Self {
        Self {
            id: PieceId::new(0),
            score: 0.0,
            begin: position,
            end: position,
        }
    }

    /// The piece `found`, which covers `chars` characters from position `begin` on.
    fn of_piece(tables: &UnigramTables, found: &PiecePrefix, begin: usize, chars: usize) -> Self {
        let id = tables.pieces.id(found.cell);
        let score = if tables.is_symbol(id) {
            symbol_score(chars)
        } else {
            found.score
        };
        Self {
            id,
            score,
            begin,
            end: begin + chars,
        }
    }

    /// An unknown character at position `begin`.
    fn unknown(tables: &UnigramTables, begin: usize) -> Self {
        Self {
            id: tables.unknown,
            score: tables.unknown_score,
            begin,
            end: begin + 1,
        }
    }
}

/// A segmentation and its score.
pub(super) type ScoredIds = (Vec<PieceId>, f32);

/// Nodes by the positions at which they begin and end.
#[derive(Debug)]
pub(super) struct Lattice {
    pub(super) nodes: Vec<LatticeNode>,
    /// For each position, the first node that begins there; then the number of nodes.
    begins: Vec<usize>,
    /// The nodes sorted by their ends, except [`END`].
    by_end: Vec<usize>,
    /// For each position, the index in `by_end` of the first node that ends there; then the length
    /// of `by_end`.
    ends: Vec<usize>,
}

impl Lattice {
    /// The lattice of `text`.
    ///
    /// # Errors
    /// The lattice has more than [`MAX_NODES`] nodes.
    pub(super) fn new(tables: &UnigramTables, text: &[u8]) -> Result<Self, EncodeError> {
        let offsets = char_offsets(text);
        let length = offsets.len() - 1;
        let mut lattice = Self {
            nodes: vec![
                LatticeNode::without_piece(0),
                LatticeNode::without_piece(length),
            ],
            begins: Vec::with_capacity(length + 1),
            by_end: Vec::new(),
            ends: vec![0; length + 2],
        };
        for begin in 0..length {
            lattice.begins.push(lattice.nodes.len());
            lattice.add_nodes(tables, text, &offsets, begin);
            check_limit(lattice.nodes.len(), MAX_NODES)?;
        }
        lattice.begins.push(lattice.nodes.len());
        lattice.sort_by_end();
        Ok(lattice)
    }

    /// Adds the nodes that begin at position `begin`.
    fn add_nodes(&mut self, tables: &UnigramTables, text: &[u8], offsets: &[usize], begin: usize) {
        let offset = offsets[begin];
        let mut has_char = false;
        for found in tables.pieces.prefixes(&text[offset..]) {
            // In a model that was not trained, a piece can end inside a character. It covers the
            // whole character.
            let chars = offsets[begin..].partition_point(|next| *next < offset + found.length);
            let node = LatticeNode::of_piece(tables, &found, begin, chars);
            self.nodes.push(node);
            has_char |= chars == 1;
        }
        if !has_char {
            self.nodes.push(LatticeNode::unknown(tables, begin));
        }
    }

    /// Fills `by_end` and `ends` by a counting sort, which keeps the order of the nodes that end at
    /// the same position.
    fn sort_by_end(&mut self) {
        self.count_ends();
        let mut next = self.ends.clone();
        self.by_end = vec![START; self.nodes.len() - 1];
        for node in nodes_before_end(self.nodes.len()) {
            let end = self.nodes[node].end;
            self.by_end[next[end]] = node;
            next[end] += 1;
        }
    }

    /// Fills `ends`.
    fn count_ends(&mut self) {
        for node in nodes_before_end(self.nodes.len()) {
            self.ends[self.nodes[node].end + 1] += 1;
        }
        for position in 1..self.ends.len() {
            self.ends[position] += self.ends[position - 1];
        }
    }

    /// The number of characters.
    pub(super) fn length(&self) -> usize {
        self.begins.len() - 1
    }

    /// The nodes that begin at a position.
    pub(super) fn beginning_at(&self, position: usize) -> Range<usize> {
        if position == self.length() {
            END..END + 1
        } else {
            self.begins[position]..self.begins[position + 1]
        }
    }

    /// The nodes that end at a position.
    pub(super) fn ending_at(&self, position: usize) -> &[usize] {
        &self.by_end[self.ends[position]..self.ends[position + 1]]
    }

    /// The nodes that end where a node begins.
    pub(super) fn ending_before(&self, node: usize) -> &[usize] {
        self.ending_at(self.nodes[node].begin)
    }

    /// The ids of the nodes of a path.
    pub(super) fn ids(&self, path: &[usize]) -> Vec<PieceId> {
        path.iter().map(|node| self.nodes[*node].id).collect()
    }

    /// Checks that [`viterbi_forward`](Lattice::viterbi_forward) is not too slow.
    ///
    /// # Errors
    /// The lattice has more than [`MAX_NODE_PAIRS`] pairs of adjacent nodes.
    pub(super) fn check_pairs(&self) -> Result<(), EncodeError> {
        let pairs = (0..=self.length())
            .map(|position| self.beginning_at(position).len() * self.ending_at(position).len());
        check_limit(pairs.fold(0, usize::saturating_add), MAX_NODE_PAIRS)
    }

    /// For each node, the best sum of scores of the paths from [`START`] to the end of the node,
    /// and the node before it on that path.
    ///
    /// It takes one step for each pair of adjacent nodes, see
    /// [`check_pairs`](Lattice::check_pairs).
    pub(super) fn viterbi_forward(&self) -> (Vec<f32>, Vec<usize>) {
        let mut sums = vec![0.0; self.nodes.len()];
        let mut previous = vec![START; self.nodes.len()];
        for position in 0..=self.length() {
            for right in self.beginning_at(position) {
                if let Some((sum, left)) = self.best_before(right, &sums) {
                    sums[right] = sum;
                    previous[right] = left;
                }
            }
        }
        (sums, previous)
    }

    /// The best sum to the end of `node`, given the best sums to the nodes before it, and the first
    /// node that gives it.
    fn best_before(&self, node: usize, sums: &[f32]) -> Option<(f32, usize)> {
        let mut best: Option<(f32, usize)> = None;
        for left in self.ending_before(node) {
            let sum = sums[*left] + self.nodes[node].score;
            if best.is_none_or(|(best, _)| sum > best) {
                best = Some((sum, *left));
            }
        }
        best
    }

    /// The best segmentation and its score.
    pub(super) fn best(&self) -> ScoredIds {
        let (sums, previous) = self.viterbi_forward();
        (self.ids(&path_to_end(&previous)), sums[END])
    }
}

/// The first `count` nodes except [`END`].
fn nodes_before_end(count: usize) -> impl Iterator<Item = usize> {
    iter::once(START).chain(END + 1..count)
}

/// The path to [`END`], given the node before each node.
fn path_to_end(previous: &[usize]) -> Vec<usize> {
    let before = |node: &usize| Some(previous[*node]).filter(|node| *node != START);
    let mut path: Vec<usize> = iter::successors(before(&END), before).collect();
    path.reverse();
    path
}

fn check_limit(count: usize, limit: usize) -> Result<(), EncodeError> {
    if count > limit {
        Err(EncodeError::TooManyCandidates { limit })
    } else {
        Ok(())
    }
}

/// The byte offset of each character of `text`, and the length of `text`.
fn char_offsets(text: &[u8]) -> Vec<usize> {
    let mut offsets = vec![0];
    let mut offset = 0;
    while offset < text.len() {
        offset += char_length(&text[offset..]);
        offsets.push(offset);
    }
    offsets
}
