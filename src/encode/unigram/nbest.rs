//! The n best segmentations, in the reference's order.
//!
//! In: a lattice. Out: segmentations with their scores, best first. Method: A* from the end to the start, with
//! the best sum from the start to each node, which is exact, as the estimate of what is still to come.
//!
//! The order among equal scores is that of the reference's priority queue, the binary heap of the GNU C++
//! library: [`Agenda`] makes the same moves. The limits on the search are the reference's too, and when it
//! runs into one, the single best segmentation is all that is found; only its time-out is left out.
//!
//! Cost: the search grows with n and with the number of close segmentations, up to the limits.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;

use super::lattice::{END, Lattice, START};
use crate::error::EncodeError;
use crate::piece::PieceId;

/// The agenda is cut down when it holds this many entries.
const AGENDA_LIMIT: usize = 10_000;
/// So many entries stay then, or ten for each result that is wanted.
const AGENDA_REST: usize = 512;
/// It is also cut down after this many new hypotheses.
const HYPOTHESIS_LIMIT: usize = 100_000;
/// The search ends in failure after this many.
const SEARCH_LIMIT: usize = 500_000;
/// And after the agenda was cut down this often.
const SHRINK_LIMIT: u32 = 10;

/// The end of a segmentation: a node, and the hypothesis behind it.
#[derive(Debug, Clone, Copy)]
struct Hypothesis {
    node: usize,
    next: Option<usize>,
    /// The sum of scores from the node to the end.
    sum: f32,
}

/// Hypotheses that wait, by the best score that they can still get.
#[derive(Debug, Default)]
struct Agenda {
    /// A heap, the greatest first: (score, hypothesis).
    heap: Vec<(f32, usize)>,
}

impl Agenda {
    fn push(&mut self, score: f32, hypothesis: usize) {
        self.heap.push((score, hypothesis));
        self.rise(self.heap.len() - 1);
    }

    /// Moves an entry up, past those that are less.
    fn rise(&mut self, mut at: usize) {
        while at > 0 && self.heap[(at - 1) / 2].0 < self.heap[at].0 {
            self.heap.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    /// Takes the top. The hole that it leaves sinks to the bottom, past the greater child each time (the
    /// right one of equals); there the last entry goes in, and rises to where it belongs.
    fn pop(&mut self) -> Option<(f32, usize)> {
        let last = self.heap.pop()?;
        let Some(&top) = self.heap.first() else {
            return Some(last);
        };
        let (mut hole, count) = (0, self.heap.len());
        while 2 * hole + 1 < count {
            let (left, right) = (2 * hole + 1, 2 * hole + 2);
            let child = if right < count && self.heap[left].0 <= self.heap[right].0 {
                right
            } else {
                left
            };
            self.heap[hole] = self.heap[child];
            hole = child;
        }
        self.heap[hole] = last;
        self.rise(hole);
        Some(top)
    }
}

/// A search that is under way.
#[derive(Debug, Default)]
struct Search {
    agenda: Agenda,
    hypotheses: Vec<Hypothesis>,
    total: usize,
    shrinks: u32,
    hypothesis_limit: usize,
}

impl Search {
    fn add(&mut self, hypothesis: Hypothesis, score: f32) {
        self.hypotheses.push(hypothesis);
        self.total += 1;
        self.agenda.push(score, self.hypotheses.len() - 1);
    }

    /// Keeps the best entries of the agenda and what hangs on them; false if that was done too often.
    fn shrink(&mut self, rest: usize) -> bool {
        if self.shrinks >= SHRINK_LIMIT {
            return false;
        }
        self.shrinks += 1;
        let (mut agenda, mut kept) = (Agenda::default(), Vec::new());
        let mut places: HashMap<usize, usize, FxBuildHasher> = HashMap::default();
        for _ in 0..rest.min(self.agenda.heap.len()) {
            let Some((score, hypothesis)) = self.agenda.pop() else {
                break;
            };
            let place = self.keep(hypothesis, &mut kept, &mut places);
            agenda.push(score, place);
        }
        (self.agenda, self.hypotheses) = (agenda, kept);
        self.hypothesis_limit = self.hypotheses.len() + HYPOTHESIS_LIMIT;
        true
    }

    /// Copies a hypothesis and those behind it, unless they are there already; gives its new place.
    fn keep(
        &self,
        hypothesis: usize,
        kept: &mut Vec<Hypothesis>,
        places: &mut HashMap<usize, usize, FxBuildHasher>,
    ) -> usize {
        let (mut first, mut behind): (Option<usize>, Option<usize>) = (None, None);
        let mut next = Some(hypothesis);
        while let Some(old) = next {
            let known = places.get(&old).copied();
            let place = known.unwrap_or(kept.len());
            first = first.or(Some(place));
            if let Some(behind) = behind {
                kept[behind].next = Some(place);
            }
            if known.is_some() {
                break;
            }
            kept.push(self.hypotheses[old]);
            places.insert(old, place);
            behind = Some(place);
            next = self.hypotheses[old].next;
        }
        first.unwrap_or(0)
    }

    /// The ids from a hypothesis at the start of the line to its end.
    fn ids(&self, lattice: &Lattice, hypothesis: usize) -> Vec<PieceId> {
        let mut ids = Vec::new();
        let mut next = self.hypotheses[hypothesis].next;
        while let Some(hypothesis) = next {
            let Hypothesis {
                node, next: behind, ..
            } = self.hypotheses[hypothesis];
            if node != END {
                ids.push(lattice.nodes[node].id);
            }
            next = behind;
        }
        ids
    }
}

/// The `size` best segmentations and their scores; fewer if there are no more.
///
/// # Errors
/// There is too much to compare.
pub(super) fn best(
    lattice: &Lattice,
    size: usize,
) -> Result<Vec<(Vec<PieceId>, f32)>, EncodeError> {
    lattice.check_pairs()?;
    let (sums, _) = lattice.viterbi_forward();
    let mut search = Search {
        hypothesis_limit: HYPOTHESIS_LIMIT,
        ..Search::default()
    };
    let mut results = Vec::new();
    search.add(
        Hypothesis {
            node: END,
            next: None,
            sum: 0.0,
        },
        sums[END],
    );
    let rest = AGENDA_REST.min(size * 10);
    while let Some((score, top)) = search.agenda.pop() {
        let Hypothesis { node, sum, .. } = search.hypotheses[top];
        if node == START {
            results.push((search.ids(lattice, top), score));
            if results.len() == size {
                break;
            }
            continue;
        }
        for left in lattice.ending_at(lattice.nodes[node].begin) {
            let hypothesis = Hypothesis {
                node: *left,
                next: Some(top),
                sum: lattice.nodes[*left].score + sum,
            };
            search.add(hypothesis, sums[*left] + sum);
        }
        if search.total >= SEARCH_LIMIT || search.hypotheses.len() >= SEARCH_LIMIT {
            return Ok(vec![lattice.best()]);
        }
        let waiting = search.agenda.heap.len();
        let is_large = waiting >= AGENDA_LIMIT
            || (waiting > rest && search.hypotheses.len() >= search.hypothesis_limit);
        if is_large && !search.shrink(rest) {
            return Ok(vec![lattice.best()]);
        }
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::Agenda;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_agenda_pops_the_greatest_score(scores in proptest::collection::vec(0u8..9, 0..60)) {
            let mut agenda = Agenda::default();
            let mut sorted: Vec<f32> = scores.iter().map(|score| f32::from(*score)).collect();
            for (at, score) in sorted.iter().enumerate() {
                agenda.push(*score, at);
            }
            sorted.sort_by(|a, b| b.total_cmp(a));
            let popped: Vec<f32> = std::iter::from_fn(|| agenda.pop()).map(|(score, _)| score).collect();
            prop_assert_eq!(popped, sorted);
        }
    }
}
