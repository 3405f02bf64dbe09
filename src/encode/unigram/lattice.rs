//! All segmentations of a line at once: a node for each piece at each place where it stands.
//!
//! In: a unigram model and a normalized line. Out: a [`Lattice`], on which n-best search and sampling work.
//! Places are characters, not bytes. The order of nodes decides between equal sums, so it is the reference's:
//! by the place where they begin, then by length, the unknown character last.
//!
//! Here a user-defined symbol scores by its characters, where the search for the single best segmentation
//! counts bytes: the reference differs from itself in this, and so do we.
//!
//! A text has as many nodes as pieces stand in it, wherever they overlap: about four a character in the models
//! that people use, thousands in one that is made to have them. So both the nodes and the steps of the n-best
//! search's first pass have a limit, and a text beyond it is refused. A node takes 44 bytes in all.

use super::{UnigramEncoder, symbol_score};
use crate::error::EncodeError;
use crate::piece::PieceId;
use crate::text::char_length;

/// The node before the line and the one behind it.
pub(super) const START: usize = 0;
/// See [`START`].
pub(super) const END: usize = 1;

/// The most nodes: 370 MB of them, or about two million characters of ordinary text.
pub(super) const MOST_NODES: usize = 1 << 23;
/// The most pairs of a node and one that ends where it begins: some tenths of a second.
const MOST_PAIRS: usize = 1 << 28;

/// A piece at a place.
#[derive(Debug, Clone, Copy)]
pub(super) struct LatticeNode {
    pub(super) id: PieceId,
    pub(super) score: f32,
    /// The places of its first character and behind its last one.
    pub(super) begin: usize,
    end: usize,
}

/// Nodes by the places where they begin and end.
#[derive(Debug)]
pub(super) struct Lattice {
    pub(super) nodes: Vec<LatticeNode>,
    /// Where in `nodes` those that begin at each place begin; [`START`] and [`END`] are not among them.
    begins: Vec<usize>,
    /// Nodes by the places where they end, and where those of each place begin.
    by_end: Vec<usize>,
    ends: Vec<usize>,
}

impl Lattice {
    /// # Errors
    /// There are too many nodes.
    pub(super) fn new(unigram: &UnigramEncoder, text: &[u8]) -> Result<Lattice, EncodeError> {
        let mut places = vec![0];
        while let Some(rest) = text
            .get(places[places.len() - 1]..)
            .filter(|rest| !rest.is_empty())
        {
            places.push(text.len() - rest.len() + char_length(rest));
        }
        let length = places.len() - 1;
        let outside = |place| LatticeNode {
            id: PieceId::new(0),
            score: 0.0,
            begin: place,
            end: place,
        };
        let mut lattice = Lattice {
            nodes: vec![outside(0), outside(length)],
            begins: Vec::with_capacity(length + 1),
            by_end: Vec::new(),
            ends: vec![0; length + 2],
        };
        for begin in 0..length {
            lattice.begins.push(lattice.nodes.len());
            lattice.add_nodes(unigram, text, &places, begin);
            if lattice.nodes.len() > MOST_NODES {
                return Err(EncodeError::TooManyCandidates { limit: MOST_NODES });
            }
        }
        lattice.begins.push(lattice.nodes.len());
        lattice.sort_by_end();
        Ok(lattice)
    }

    /// Adds the nodes that begin at character `begin`.
    fn add_nodes(&mut self, unigram: &UnigramEncoder, text: &[u8], places: &[usize], begin: usize) {
        let mut has_char = false;
        for found in unigram.pieces.prefixes(&text[places[begin]..]) {
            // A piece that ends inside of a character, in a strange model, takes all of it.
            let end = begin
                + places[begin..].partition_point(|place| *place < places[begin] + found.length);
            let id = unigram.pieces.id(found.cell);
            let is_symbol = unigram.is_symbol.get(id.index()).copied().unwrap_or(false);
            let score = if is_symbol {
                symbol_score(end - begin)
            } else {
                found.score
            };
            self.nodes.push(LatticeNode {
                id,
                score,
                begin,
                end,
            });
            has_char |= end == begin + 1;
        }
        if !has_char {
            self.nodes.push(LatticeNode {
                id: unigram.unknown,
                score: unigram.unknown_score,
                begin,
                end: begin + 1,
            });
        }
    }

    fn sort_by_end(&mut self) {
        let inner = || std::iter::once(START).chain(END + 1..self.nodes.len());
        for node in inner() {
            self.ends[self.nodes[node].end + 1] += 1;
        }
        for place in 1..self.ends.len() {
            self.ends[place] += self.ends[place - 1];
        }
        let mut next = self.ends.clone();
        self.by_end = vec![START; self.nodes.len() - 1];
        for node in inner() {
            let end = self.nodes[node].end;
            self.by_end[next[end]] = node;
            next[end] += 1;
        }
    }

    /// The number of characters.
    pub(super) fn length(&self) -> usize {
        self.begins.len() - 1
    }

    /// The nodes that begin at a place.
    pub(super) fn beginning_at(&self, place: usize) -> std::ops::Range<usize> {
        if place == self.length() {
            END..END + 1
        } else {
            self.begins[place]..self.begins[place + 1]
        }
    }

    /// The nodes that end at a place.
    pub(super) fn ending_at(&self, place: usize) -> &[usize] {
        &self.by_end[self.ends[place]..self.ends[place + 1]]
    }

    /// Whether the places have so many nodes on both sides that [`viterbi_forward`](Lattice::viterbi_forward) would take long.
    ///
    /// # Errors
    /// They have.
    pub(super) fn check_pairs(&self) -> Result<(), EncodeError> {
        let pairs_at = |place| self.beginning_at(place).len() * self.ending_at(place).len();
        let pairs = (0..=self.length())
            .map(pairs_at)
            .fold(0, usize::saturating_add);
        if pairs > MOST_PAIRS {
            Err(EncodeError::TooManyCandidates { limit: MOST_PAIRS })
        } else {
            Ok(())
        }
    }

    /// For each node the best sum of scores up to its end, and the node before it on the way there.
    pub(super) fn viterbi_forward(&self) -> (Vec<f32>, Vec<usize>) {
        let (mut sums, mut before) = (vec![0.0; self.nodes.len()], vec![START; self.nodes.len()]);
        for place in 0..=self.length() {
            for right in self.beginning_at(place) {
                let mut best: Option<(f32, usize)> = None;
                for left in self.ending_at(place) {
                    let sum = sums[*left] + self.nodes[right].score;
                    if best.is_none_or(|(best, _)| sum > best) {
                        best = Some((sum, *left));
                    }
                }
                (sums[right], before[right]) = best.unwrap_or((0.0, START));
            }
        }
        (sums, before)
    }

    /// The best segmentation and its score.
    pub(super) fn best(&self) -> (Vec<PieceId>, f32) {
        let (sums, before) = self.viterbi_forward();
        let (mut ids, mut node) = (Vec::new(), before[END]);
        while node != START {
            ids.push(self.nodes[node].id);
            node = before[node];
        }
        ids.reverse();
        (ids, sums[END])
    }
}
