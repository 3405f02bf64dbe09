//! Results of several threads, put in order.
//!
//! Input: results with their numbers (0, 1, 2, ...), in any order. Output: calls of a sink, in the order of the numbers,
//! never two at the same time. Method: the thread that hands over the next result passes it on, together with all that
//! wait behind it. A thread that is too far ahead waits, so the number of waiting results is bounded.
//!
//! Example: the results arrive as 2, 1, 0, 4, 3. Results 2 and 1 are stored; with result 0 the sink gets 0, 1 and 2;
//! result 4 is stored; with result 3 the sink gets 3 and 4.
//!
//! Cost: a lock and a search in a B-tree for each result. A result is a block of 128 kB, so both are negligible.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::io::{CliError, CliResult};

/// The number of results for each thread that may wait for an earlier one. It bounds the memory if one block is much
/// slower than the others.
const WAITING_PER_THREAD: usize = 4;

/// Takes a result and its number of lines.
pub(crate) type ResultWriter<'s, R> = Box<dyn FnMut(&mut R, u64) -> CliResult + Send + 's>;

/// A result and its number of lines, or the error of its block.
type Arrival<R> = CliResult<(R, u64)>;

/// Passes results to a sink in order. Shared by all threads of a run.
pub(crate) struct Ordered<'s, R> {
    state: Mutex<State<'s, R>>,
    /// Notified when results were passed on or the run was stopped.
    progress: Condvar,
    /// While this many results wait, no thread starts another block.
    max_waiting: usize,
}

/// The part of [`Ordered`] that its lock protects.
struct State<'s, R> {
    /// Called under the lock, so that it never runs twice at the same time.
    sink: ResultWriter<'s, R>,
    /// The number of the result that the sink gets next.
    next: u64,
    /// Results that arrived before an earlier one, with their numbers of lines.
    waiting: BTreeMap<u64, Arrival<R>>,
    /// Results that the sink is done with, to be used again.
    free: Vec<R>,
    /// Why the run ends early.
    stopped: Option<CliError>,
    /// A thread panicked; its result will never arrive.
    has_panicked: bool,
}

impl<'s, R> State<'s, R> {
    /// No results yet.
    fn new(sink: ResultWriter<'s, R>) -> Self {
        State {
            sink,
            next: 0,
            waiting: BTreeMap::new(),
            free: Vec::new(),
            stopped: None,
            has_panicked: false,
        }
    }

    /// Whether no further result is passed on.
    fn is_stopped(&self) -> bool {
        self.stopped.is_some() || self.has_panicked
    }

    /// Whether a thread has to wait before it starts another block.
    fn is_full(&self, max_waiting: usize) -> bool {
        self.waiting.len() >= max_waiting && !self.is_stopped()
    }

    /// Stores a result and passes on all results that are next.
    fn add(&mut self, number: u64, result: Arrival<R>) {
        self.waiting.insert(number, result);
        while let Some(result) = self.take_next() {
            self.pass_on(result);
        }
    }

    /// The result that the sink gets next, if it has arrived and the run is not stopped.
    fn take_next(&mut self) -> Option<Arrival<R>> {
        if self.is_stopped() {
            return None;
        }
        self.waiting.remove(&self.next)
    }

    /// Passes on one result; an error stops the run.
    fn pass_on(&mut self, result: Arrival<R>) {
        self.next += 1;
        if let Err(error) = self.call_sink(result) {
            self.stopped = Some(error);
        }
    }

    /// Calls the sink unless the result is an error, and keeps the result for reuse.
    fn call_sink(&mut self, result: Arrival<R>) -> CliResult {
        let (mut result, lines) = result?;
        (self.sink)(&mut result, lines)?;
        self.free.push(result);
        Ok(())
    }
}

impl<R: Default> State<'_, R> {
    /// A result to be filled; `None` if the run was stopped.
    fn take_free(&mut self) -> Option<R> {
        let is_running = !self.is_stopped();
        is_running.then(|| self.free.pop().unwrap_or_default())
    }
}

impl<'s, R: Default> Ordered<'s, R> {
    /// No results yet; the first result is number 0.
    pub(crate) fn new(sink: ResultWriter<'s, R>, threads: usize) -> Self {
        Ordered {
            state: Mutex::new(State::new(sink)),
            progress: Condvar::new(),
            max_waiting: threads * WAITING_PER_THREAD,
        }
    }

    /// A result to be filled for the next block, with the content of an earlier one; `None` if the run was stopped.
    /// Waits while too many results wait, so call it before the number of the block is taken.
    pub(crate) fn next_buffer(&self) -> Option<R> {
        self.wait_while_full().take_free()
    }

    /// Locks the state when few results wait or the run is stopped.
    fn wait_while_full(&self) -> MutexGuard<'_, State<'s, R>> {
        let waited = self
            .progress
            .wait_while(self.lock(), |state| state.is_full(self.max_waiting));
        waited.unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands over the result with this number. An error stops the run when its turn comes, so that the results before
    /// it are complete.
    pub(crate) fn hand_over(&self, number: u64, result: Arrival<R>) {
        self.lock().add(number, result);
        self.progress.notify_all();
    }

    /// Stops the run at once.
    pub(crate) fn stop(&self, error: CliError) {
        self.lock().stopped.get_or_insert(error);
        self.progress.notify_all();
    }

    /// A guard for a thread: if the thread panics, the other threads stop instead of waiting for its result.
    pub(crate) fn stop_on_panic(&self) -> StopOnPanic<'_, 's, R> {
        StopOnPanic { ordered: self }
    }

    /// The error that stopped the run, if any.
    pub(crate) fn finish(self) -> CliResult {
        let state = self.state.into_inner();
        let stopped = state.unwrap_or_else(PoisonError::into_inner).stopped;
        stopped.map_or(Ok(()), Err)
    }

    /// Locks the state. A lock that a panic has poisoned is usable: [`StopOnPanic`] stops the run.
    fn lock(&self) -> MutexGuard<'_, State<'s, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`Ordered::stop_on_panic`].
pub(crate) struct StopOnPanic<'o, 's, R: Default> {
    /// What the thread would leave incomplete.
    ordered: &'o Ordered<'s, R>,
}

impl<R: Default> Drop for StopOnPanic<'_, '_, R> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.ordered.lock().has_panicked = true;
            self.ordered.progress.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_out_in_order_and_are_recycled() {
        let mut seen = Vec::new();
        let ordered = Ordered::new(
            Box::new(|result: &mut Vec<u8>, lines| {
                seen.push((result.clone(), lines));
                Ok(())
            }),
            2,
        );
        for number in [2, 1, 0, 4, 3] {
            ordered.hand_over(u64::from(number), Ok((vec![number], 1)));
        }
        assert!(
            ordered
                .next_buffer()
                .is_some_and(|buffer| !buffer.is_empty())
        );
        ordered.finish().unwrap();
        let numbers: Vec<u8> = seen.iter().map(|(result, _)| result[0]).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn an_error_stops_the_run_after_the_results_before_it() {
        let mut count = 0;
        let ordered = Ordered::new(
            Box::new(|_: &mut (), _| {
                count += 1;
                Ok(())
            }),
            1,
        );
        ordered.hand_over(1, Err(CliError::Error("second".to_owned())));
        assert!(ordered.next_buffer().is_some());
        ordered.hand_over(0, Ok(((), 1)));
        ordered.hand_over(2, Ok(((), 1)));
        assert!(ordered.next_buffer().is_none());
        let error = ordered.finish().unwrap_err();
        assert!(matches!(error, CliError::Error(message) if message == "second"));
        assert_eq!(count, 1);
    }

    #[test]
    fn a_panic_releases_the_threads_that_wait() {
        let ordered = Ordered::new(Box::new(|_: &mut (), _| Ok(())), 1);
        for number in 1..=4 {
            ordered.hand_over(number, Ok(((), 1)));
        }
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| ordered.next_buffer());
            let panics = scope.spawn(|| {
                let _guard = ordered.stop_on_panic();
                panic!("as the test wants");
            });
            assert!(panics.join().is_err());
            assert!(waits.join().unwrap().is_none());
        });
    }
}
