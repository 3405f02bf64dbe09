//! The two best segmentations of a lattice.
//!
//! A* search from the end of the text. A hypothesis is a path from an edge to the end; its priority
//! is its score plus the score of the best path from the start to it, which a Viterbi search gives
//! exactly. The first two hypotheses that reach the start are the result.
//!
//! Example, with the pieces `a` (-2), `b` (-2) and `ab` (-3) and the text `ab`:
//!
//! ```text
//! pop the end (-3)   push b (priority -2 - 2 = -4) and ab (-3)
//! pop ab (-3)        push the start after ab (-3)
//! pop the start: the best path is ab
//! pop b (-4)         push a (-4);  pop a: push the start after a b (-4)
//! pop the start: the second-best path is a b
//! ```
//!
//! Priorities are 32-bit sums from the right, which differ from the sums of the Viterbi search in
//! the last bits, and hypotheses of equal priority leave the queue in an order that depends on the
//! heap. So the [`Heap`] is that of the reference, and so are the limits
//! of the search.
//!
//! A search makes at most 500,000 hypotheses; it is linear in the edges unless many paths have
//! almost equal scores. Source: function `Lattice::NBest` of SentencePiece 0.2.3.

use std::iter;

use super::lattice::{TextLattice, Viterbi, index};
use crate::base::heap::Heap;

/// The queue shrinks when it has this many hypotheses.
const MAX_QUEUE: usize = 10_000;
/// The number of hypotheses that remain in a queue that has shrunk: ten for each path wanted.
const SHRUNK_QUEUE: usize = 20;
/// The queue also shrinks when this many hypotheses were made since it last shrank.
const MAX_HYPOTHESES: usize = 100_000;
/// The search ends without a result when this many hypotheses were made.
const MAX_HYPOTHESES_IN_ALL: usize = 500_000;
/// The search ends without a result when the queue would have to shrink more often.
const MAX_SHRINKS: usize = 10;
/// The edge of a hypothesis at the start or at the end of the text.
const NO_EDGE: u32 = u32::MAX;
/// The continuation of the hypothesis at the end of the text.
const NO_HYPOTHESIS: u32 = u32::MAX;

/// A path from an edge to the end of the text.
#[derive(Debug, Clone, Copy)]
struct PathHypothesis {
    /// [`NO_EDGE`] at the end of the text and before its start.
    edge: u32,
    /// Where the edge begins.
    begin: u32,
    is_complete: bool,
    /// The hypothesis that this one extends.
    next: u32,
    /// The score from the edge to the end.
    score: f32,
    /// The score of the best complete path with this ending.
    priority: f32,
}

impl PathHypothesis {
    /// The empty path at `end`, the end of the text.
    fn at_end(end: u32, priority: f32) -> Self {
        Self {
            edge: NO_EDGE,
            begin: end,
            is_complete: false,
            next: NO_HYPOTHESIS,
            score: 0.0,
            priority,
        }
    }

    /// The complete path that extends this one, which has the number `number` and begins at the
    /// start of the text.
    fn completed(self, number: u32) -> Self {
        Self {
            edge: NO_EDGE,
            is_complete: true,
            next: number,
            priority: self.score,
            ..self
        }
    }
}

/// A search. Its buffers are reused.
#[derive(Debug, Default)]
pub(super) struct TwoBest {
    viterbi: Viterbi,
    hypotheses: Vec<PathHypothesis>,
    /// The hypotheses that may be extended.
    queue: Heap<u32>,
    /// The two paths.
    paths: [Vec<u32>; 2],
}

/// The paths that a search found, as edges from left to right.
#[derive(Debug)]
pub(super) struct Paths<'s> {
    /// Empty if the search reached its limits.
    pub(super) best: &'s [u32],
    /// Absent if there is only one path, or if the search reached its limits.
    pub(super) second: Option<&'s [u32]>,
}

impl TwoBest {
    /// The two best paths of `lattice`, or the only one.
    pub(super) fn search(&mut self, lattice: &TextLattice) -> Paths<'_> {
        self.begin(lattice);
        let mut found = 0;
        let mut limits = Limits::default();
        while found < 2
            && let Some((_, top)) = self.queue.pop()
        {
            if self.hypotheses[top as usize].is_complete {
                self.copy_path(top, found);
                found += 1;
                continue;
            }
            limits.total += self.extend(lattice, top);
            if limits.are_exceeded(self) {
                self.paths[0].clear();
                found = 1;
                break;
            }
        }
        let [best, second] = &self.paths;
        Paths {
            best,
            second: (found == 2).then_some(second),
        }
    }

    fn begin(&mut self, lattice: &TextLattice) {
        self.viterbi.search(lattice);
        self.hypotheses.clear();
        self.queue.clear();
        self.paths[0].clear();
        let end = lattice.edges().last().map_or(0, |edge| edge.end);
        self.push(PathHypothesis::at_end(end, self.viterbi.score()));
    }

    /// Pushes every extension of a hypothesis to the left. Returns their number.
    fn extend(&mut self, lattice: &TextLattice, top: u32) -> usize {
        let extended = self.hypotheses[top as usize];
        if extended.begin == 0 {
            self.push(extended.completed(top));
            return 1;
        }
        let range = lattice.edges_to(extended.begin as usize);
        let count = range.len();
        for (at, found) in range.clone().zip(&lattice.edges()[range]) {
            self.push(PathHypothesis {
                edge: index(at),
                begin: found.begin,
                is_complete: false,
                next: top,
                score: found.score + extended.score,
                priority: self.viterbi.score_with(found) + extended.score,
            });
        }
        count
    }

    /// Stores the edges of a complete hypothesis as the path with this number.
    fn copy_path(&mut self, complete: u32, number: usize) {
        let edges = &mut self.paths[number];
        edges.clear();
        let mut at = self.hypotheses[complete as usize].next;
        while at != NO_HYPOTHESIS {
            let hypothesis = &self.hypotheses[at as usize];
            if hypothesis.edge != NO_EDGE {
                edges.push(hypothesis.edge);
            }
            at = hypothesis.next;
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "there are at most 500,000 hypotheses and as many edges at one position"
    )]
    fn push(&mut self, hypothesis: PathHypothesis) {
        self.queue
            .push(hypothesis.priority, self.hypotheses.len() as u32);
        self.hypotheses.push(hypothesis);
    }

    /// Keeps only the [`SHRUNK_QUEUE`] first hypotheses of the queue.
    fn shrink(&mut self) {
        let first = iter::from_fn(|| self.queue.pop()).take(SHRUNK_QUEUE);
        let kept: Vec<(f32, u32)> = first.collect();
        self.queue.clear();
        for (priority, number) in kept {
            self.queue.push(priority, number);
        }
    }

    /// The number of hypotheses that are in the queue or are extended by those.
    fn reachable(&self) -> usize {
        let mut seen = vec![false; self.hypotheses.len()];
        let mut count = 0;
        for mut at in self.queue.values() {
            while at != NO_HYPOTHESIS && !seen[at as usize] {
                seen[at as usize] = true;
                count += 1;
                at = self.hypotheses[at as usize].next;
            }
        }
        count
    }
}

/// How far a search may go.
struct Limits {
    /// Hypotheses made.
    total: usize,
    /// Hypotheses that the reference would have freed when its queue shrank.
    freed: usize,
    /// The number of hypotheses that are not freed at which the queue shrinks.
    held_limit: usize,
    shrinks: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            total: 1,
            freed: 0,
            held_limit: MAX_HYPOTHESES,
            shrinks: 0,
        }
    }
}

impl Limits {
    /// Shrinks the queue if it is too large. Returns true if the search has to end without a
    /// result.
    fn are_exceeded(&mut self, search: &mut TwoBest) -> bool {
        if self.total >= MAX_HYPOTHESES_IN_ALL {
            return true;
        }
        let held = search.hypotheses.len() - self.freed;
        let queued = search.queue.len();
        if queued < MAX_QUEUE && (queued <= SHRUNK_QUEUE || held < self.held_limit) {
            return false;
        }
        if self.shrinks >= MAX_SHRINKS {
            return true;
        }
        search.shrink();
        self.shrinks += 1;
        let kept = search.reachable();
        self.freed = search.hypotheses.len() - kept;
        self.held_limit = kept + MAX_HYPOTHESES;
        false
    }
}

#[cfg(test)]
mod tests;
