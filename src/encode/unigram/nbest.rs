//! The n best segmentations of a text, in the order of the reference.
//!
//! A* search from the end of the text to its start (Nagata, "A stochastic Japanese morphological
//! analyzer using a forward-DP backward-A* N-best search algorithm", COLING 1994,
//! <https://aclanthology.org/C94-1032/>). A *hypothesis* is a path from a node to the end of the
//! text. Its priority is the sum of its scores plus the best sum of all paths from the start to its
//! node, which [`Lattice::viterbi_forward`] computes. This estimate is exact, so hypotheses that
//! reach the start are found in the order of their scores.
//!
//! Equal scores have the order of the reference's priority queue, the binary heap of the GNU C++
//! library ([`Heap`]). The limits of the search are those of the
//! reference. If the search exceeds one of them, the result is the single best segmentation. The
//! same happens after the deadline, if the caller sets one.
//!
//! Example: the pieces `a`, `b` (-2 each) and `ab` (-3), the text `ab`, n = 2. Priorities are given
//! in parentheses:
//!
//! | step | taken from the agenda | added to the agenda |
//! |---|---|---|
//! | 1 | end (-3) | `ab` (-3), `b` (-4) |
//! | 2 | `ab` (-3) | start before `ab` (-3) |
//! | 3 | start before `ab` (-3): result `ab` | |
//! | 4 | `b` (-4) | `a b` (-4) |
//! | 5 | `a b` (-4) | start before `a b` (-4) |
//! | 6 | start before `a b` (-4): result `a b` | |
//!
//! The number of hypotheses grows with n and with the number of segmentations of nearly equal
//! scores, up to [`MAX_HYPOTHESES`].

use std::collections::HashMap;
use std::iter;
use std::time::Instant;

use foldhash::fast::FixedState;

use super::lattice::{END, Lattice, START, ScoredIds};
use crate::base::heap::Heap;
use crate::encode::EncodeError;
use crate::piece::PieceId;

/// The agenda is reduced when it has this many entries.
const MAX_AGENDA: usize = 10_000;
/// The number of entries of a reduced agenda, or ten for each requested result if that is fewer.
const REDUCED_AGENDA: usize = 512;
/// The agenda is also reduced after this many new hypotheses.
const MAX_NEW_HYPOTHESES: usize = 100_000;
/// The search fails when this many hypotheses were added.
const MAX_HYPOTHESES: usize = 500_000;
/// The search fails if the agenda must be reduced more often than this.
const MAX_REDUCTIONS: u32 = 10;

/// The search reads the clock once for every this many hypotheses taken from the agenda.
const STEPS_PER_CLOCK: usize = 1 << 12;

/// The number of results, and the deadline.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NbestRequest {
    /// The number of segmentations.
    pub(crate) size: usize,
    /// When the search fails; `None` for no limit.
    pub(crate) deadline: Option<Instant>,
}

/// A path from a node to the end of the text.
#[derive(Debug, Clone, Copy)]
struct Hypothesis {
    node: usize,
    /// The hypothesis that begins after the node; `None` for the node [`END`].
    next: Option<usize>,
    /// The sum of the scores of the path.
    sum: f32,
}

impl Hypothesis {
    /// The empty path at the end of the text.
    const EMPTY: Self = Self {
        node: END,
        next: None,
        sum: 0.0,
    };
}

/// The state of a search.
#[derive(Debug)]
struct NbestSearch<'l> {
    lattice: &'l Lattice,
    /// For each node, the best sum of the paths from the start to the end of the node.
    best_sums: Vec<f32>,
    /// The hypotheses that are still to be extended, by their indices.
    agenda: Heap<usize>,
    hypotheses: Vec<Hypothesis>,
    /// The number of hypotheses that were ever added.
    added: usize,
    /// The number of reductions of the agenda.
    reductions: u32,
    /// The agenda is reduced when there are this many hypotheses.
    max_hypotheses: usize,
    /// The number of entries of a reduced agenda.
    reduced_agenda: usize,
}

/// The search exceeded a limit.
struct LimitExceeded;

impl<'l> NbestSearch<'l> {
    /// A search for `size` results that has only the empty hypothesis.
    fn new(lattice: &'l Lattice, size: usize) -> Self {
        let (best_sums, _) = lattice.viterbi_forward();
        let mut search = Self {
            lattice,
            best_sums,
            agenda: Heap::default(),
            hypotheses: Vec::new(),
            added: 1,
            reductions: 0,
            max_hypotheses: MAX_NEW_HYPOTHESES,
            reduced_agenda: REDUCED_AGENDA.min(size * 10),
        };
        search.add(Hypothesis::EMPTY, search.best_sums[END]);
        search
    }

    /// The best segmentations, as many as requested, or fewer if there are no more.
    fn run(mut self, request: NbestRequest) -> Result<Vec<ScoredIds>, LimitExceeded> {
        let mut results = Vec::new();
        let mut steps = 0_usize;
        while let Some((score, top)) = self.agenda.pop() {
            steps += 1;
            let is_late = |deadline| Instant::now() >= deadline;
            if steps.is_multiple_of(STEPS_PER_CLOCK) && request.deadline.is_some_and(is_late) {
                return Err(LimitExceeded);
            }
            if self.hypotheses[top].node != START {
                self.extend(top);
                self.check_limits()?;
                continue;
            }
            results.push((self.ids(top), score));
            if results.len() == request.size {
                break;
            }
        }
        Ok(results)
    }

    fn add(&mut self, hypothesis: Hypothesis, priority: f32) {
        self.agenda.push(priority, self.hypotheses.len());
        self.hypotheses.push(hypothesis);
    }

    /// Adds a hypothesis for each node that ends where the hypothesis `top` begins.
    fn extend(&mut self, top: usize) {
        let Hypothesis { node, sum, .. } = self.hypotheses[top];
        let previous = self.lattice.ending_before(node);
        self.added += previous.len();
        for left in previous {
            let hypothesis = Hypothesis {
                node: *left,
                next: Some(top),
                sum: self.lattice.nodes[*left].score + sum,
            };
            self.add(hypothesis, self.best_sums[*left] + sum);
        }
    }

    /// Reduces the agenda if it is too large.
    fn check_limits(&mut self) -> Result<(), LimitExceeded> {
        if self.added >= MAX_HYPOTHESES {
            return Err(LimitExceeded);
        }
        let is_reducible = self.agenda.len() > self.reduced_agenda;
        let has_many_hypotheses = self.hypotheses.len() >= self.max_hypotheses;
        if self.agenda.len() < MAX_AGENDA && !(is_reducible && has_many_hypotheses) {
            return Ok(());
        }
        if self.reductions >= MAX_REDUCTIONS {
            return Err(LimitExceeded);
        }
        self.reductions += 1;
        self.keep_best();
        self.max_hypotheses = self.hypotheses.len() + MAX_NEW_HYPOTHESES;
        Ok(())
    }

    /// Keeps [`NbestSearch::reduced_agenda`] entries of the agenda, and the hypotheses that they consist
    /// of.
    fn keep_best(&mut self) {
        let mut kept = KeptHypotheses::default();
        let mut agenda = Heap::default();
        let best = iter::from_fn(|| self.agenda.pop()).take(self.reduced_agenda);
        for (priority, hypothesis) in best {
            agenda.push(priority, kept.keep(&self.hypotheses, hypothesis));
        }
        self.agenda = agenda;
        self.hypotheses = kept.hypotheses;
    }

    /// The ids of a hypothesis that begins at [`START`].
    fn ids(&self, hypothesis: usize) -> Vec<PieceId> {
        let next = |at: &usize| self.hypotheses[*at].next;
        let path = iter::successors(next(&hypothesis), next);
        path.map(|at| self.hypotheses[at].node)
            .filter(|node| *node != END)
            .map(|node| self.lattice.nodes[node].id)
            .collect()
    }
}

/// The hypotheses that remain after a reduction of the agenda.
#[derive(Debug, Default)]
struct KeptHypotheses {
    hypotheses: Vec<Hypothesis>,
    /// Old index -> new index.
    indexes: HashMap<usize, usize, FixedState>,
}

impl KeptHypotheses {
    /// Copies the hypothesis with the index `first` in `old`, and the hypotheses that follow it,
    /// unless they were copied before. Returns the new index.
    fn keep(&mut self, old: &[Hypothesis], first: usize) -> usize {
        let new_index = self.index_or_next(first);
        let mut next = Some(first);
        while let Some(at) = next.filter(|at| !self.indexes.contains_key(at)) {
            let index = self.hypotheses.len();
            self.indexes.insert(at, index);
            self.hypotheses.push(old[at]);
            next = old[at].next;
            self.hypotheses[index].next = next.map(|next| self.index_or_next(next));
        }
        new_index
    }

    /// The new index of a hypothesis; the index of the next copy if it was not copied.
    fn index_or_next(&self, old: usize) -> usize {
        let index = self.indexes.get(&old).copied();
        index.unwrap_or(self.hypotheses.len())
    }
}

/// The requested best segmentations and their scores; fewer if there are no more, and one if a
/// limit is exceeded.
///
/// # Errors
/// The lattice has too many pairs of adjacent nodes.
pub(super) fn best(
    lattice: &Lattice,
    request: NbestRequest,
) -> Result<Vec<ScoredIds>, EncodeError> {
    lattice.check_pairs()?;
    let results = NbestSearch::new(lattice, request.size).run(request);
    Ok(results.unwrap_or_else(|LimitExceeded| vec![lattice.best()]))
}
