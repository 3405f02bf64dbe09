//! Results of several threads, put in order.
//!
//! Input: results with their numbers (0, 1, 2, ...), in any order. Output: calls of a sink, in the
//! order of the numbers, never two at the same time. Method: results are stored, and one thread at
//! a time passes on those that are next: the thread that hands over the next result, or a thread
//! that does nothing else ([`Ordered::pass_on_all`]). It also passes on what arrives meanwhile, so
//! that no thread waits for a call of the sink by another one. A thread that is too far ahead
//! waits, so the number of stored results is bounded.
//!
//! Example: the results arrive as 2, 1, 0, 4, 3. Results 2 and 1 are stored; with result 0 the sink
//! gets 0, 1 and 2; result 4 is stored; with result 3 the sink gets 3 and 4.
//!
//! Cost: two locks and a search in a B-tree for each result. A result is a block of 128 kB, so both
//! are negligible.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::io::{CliError, CliResult};

/// The number of results for each thread that may wait for an earlier one. It bounds the memory if
/// one block is much slower than the others.
const WAITING_PER_THREAD: usize = 4;

/// Takes a result and its number of lines.
pub(crate) type ResultWriter<'s, R> = Box<dyn FnMut(&mut R, u64) -> CliResult + Send + 's>;

/// A result and its number of lines, or the error of its block.
type Arrival<R> = CliResult<(R, u64)>;

/// Passes results to a sink in order. Shared by all threads of a run.
pub(crate) struct Ordered<'s, R> {
    state: Mutex<State<R>>,
    /// Locked by the thread that passes results on.
    sink: Mutex<ResultWriter<'s, R>>,
    /// Notified when something changes that a thread may wait for.
    progress: Condvar,
    /// While this many results wait, no thread starts another block.
    max_waiting: usize,
}

/// The part of [`Ordered`] that all threads change.
struct State<R> {
    /// The number of the result that the sink gets next.
    next: u64,
    /// Results that the sink has not got, with their numbers of lines.
    waiting: BTreeMap<u64, Arrival<R>>,
    /// Results that the sink is done with, to be used again.
    free: Vec<R>,
    /// A thread passes results on.
    is_passing_on: bool,
    /// No further results arrive.
    is_complete: bool,
    /// Why the run ends early.
    stopped: Option<CliError>,
    /// A thread panicked; its result will never arrive.
    has_panicked: bool,
}

impl<R> State<R> {
    /// No results yet.
    fn new() -> Self {
        Self {
            next: 0,
            waiting: BTreeMap::new(),
            free: Vec::new(),
            is_passing_on: false,
            is_complete: false,
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

    /// Whether the result that the sink gets next has not arrived yet, but can arrive.
    fn awaits_next(&self) -> bool {
        let has_next = self.waiting.contains_key(&self.next);
        !has_next && !self.is_complete && !self.is_stopped()
    }

    /// The result that the sink gets next, if it has arrived and the run is not stopped.
    fn take_next(&mut self) -> Option<Arrival<R>> {
        if self.is_stopped() {
            return None;
        }
        let result = self.waiting.remove(&self.next)?;
        self.next += 1;
        Some(result)
    }

    /// Keeps a result that was passed on for reuse; an error stops the run.
    fn finish(&mut self, passed_on: CliResult<R>) {
        match passed_on {
            Ok(result) => self.free.push(result),
            Err(error) => {
                self.stopped.get_or_insert(error);
            }
        }
    }
}

impl<R: Default> State<R> {
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
            state: Mutex::new(State::new()),
            sink: Mutex::new(sink),
            progress: Condvar::new(),
            max_waiting: threads * WAITING_PER_THREAD,
        }
    }

    /// A result to be filled for the next block, with the content of an earlier one; `None` if the
    /// run was stopped. Waits while too many results wait, so call it before the number of the
    /// block is taken.
    pub(crate) fn next_buffer(&self) -> Option<R> {
        let is_full = |state: &State<R>| state.is_full(self.max_waiting);
        self.wait_while(self.lock(), is_full).take_free()
    }

    /// Hands over the result with this number. An error stops the run when its turn comes, so that
    /// the results before it are complete.
    pub(crate) fn hand_over(&self, number: u64, result: Arrival<R>) {
        let mut state = self.lock();
        state.waiting.insert(number, result);
        if state.is_passing_on {
            self.progress.notify_all();
            return;
        }
        state.is_passing_on = true;
        while let Some(result) = state.take_next() {
            state = self.pass_on(state, result);
        }
        state.is_passing_on = false;
        self.progress.notify_all();
    }

    /// Passes on all results, until the run is [complete](Self::complete) or stopped. Other threads
    /// then pass on none.
    pub(crate) fn pass_on_all(&self) {
        let _guard = self.stop_on_panic();
        let is_other_passing_on = |state: &State<R>| state.is_passing_on && !state.is_stopped();
        let mut state = self.wait_while(self.lock(), is_other_passing_on);
        state.is_passing_on = true;
        loop {
            state = self.wait_while(state, State::awaits_next);
            let Some(result) = state.take_next() else {
                return;
            };
            state = self.pass_on(state, result);
        }
    }

    /// Says that no further results arrive, so that [`pass_on_all`](Self::pass_on_all) ends.
    pub(crate) fn complete(&self) {
        self.lock().is_complete = true;
        self.progress.notify_all();
    }

    /// Stops the run at once.
    pub(crate) fn stop(&self, error: CliError) {
        self.lock().stopped.get_or_insert(error);
        self.progress.notify_all();
    }

    /// A guard for a thread: if the thread panics, the other threads stop instead of waiting for
    /// its result.
    pub(crate) fn stop_on_panic(&self) -> StopOnPanic<'_, 's, R> {
        StopOnPanic { ordered: self }
    }

    /// The error that stopped the run, if any.
    pub(crate) fn finish(self) -> CliResult {
        let state = self
            .state
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        state.stopped.map_or(Ok(()), Err)
    }

    /// Passes on one result, with the state unlocked meanwhile.
    fn pass_on<'o>(
        &'o self,
        state: MutexGuard<'o, State<R>>,
        result: Arrival<R>,
    ) -> MutexGuard<'o, State<R>> {
        drop(state);
        let passed_on = self.call_sink(result);
        let mut state = self.lock();
        state.finish(passed_on);
        self.progress.notify_all();
        state
    }

    /// Calls the sink unless the result is an error. Returns the result.
    fn call_sink(&self, result: Arrival<R>) -> CliResult<R> {
        let (mut result, lines) = result?;
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        sink(&mut result, lines)?;
        Ok(result)
    }

    /// Locks the state. A lock that a panic has poisoned is usable: [`StopOnPanic`] stops the run.
    fn lock(&self) -> MutexGuard<'_, State<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits as long as the condition holds.
    fn wait_while<'o>(
        &'o self,
        state: MutexGuard<'o, State<R>>,
        condition: impl Fn(&State<R>) -> bool,
    ) -> MutexGuard<'o, State<R>> {
        let waited = self.progress.wait_while(state, |state| condition(state));
        waited.unwrap_or_else(PoisonError::into_inner)
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

    /// The sink waits until another thread has handed over the second result, which it could not do
    /// if that waited for the sink.
    #[test]
    fn results_are_handed_over_while_another_thread_passes_one_on() {
        let second_is_handed_over = std::sync::Barrier::new(2);
        let mut seen = Vec::new();
        let ordered = Ordered::new(
            Box::new(|_: &mut (), lines| {
                seen.push(lines);
                if lines == 1 {
                    second_is_handed_over.wait();
                }
                Ok(())
            }),
            2,
        );
        std::thread::scope(|scope| {
            scope.spawn(|| ordered.hand_over(0, Ok(((), 1))));
            while !ordered.lock().is_passing_on {
                std::thread::yield_now();
            }
            ordered.hand_over(1, Ok(((), 2)));
            second_is_handed_over.wait();
        });
        ordered.finish().unwrap();
        assert_eq!(seen, [1, 2]);
    }

    #[test]
    fn a_thread_of_its_own_passes_on_all_results() {
        let mut threads = Vec::new();
        let ordered = Ordered::new(
            Box::new(|_: &mut u64, lines| {
                threads.push((std::thread::current().id(), lines));
                Ok(())
            }),
            1,
        );
        let passing_on = std::thread::scope(|scope| {
            let thread = scope.spawn(|| ordered.pass_on_all());
            while !ordered.lock().is_passing_on {
                std::thread::yield_now();
            }
            for number in 0..20 {
                let result = ordered.next_buffer().unwrap();
                ordered.hand_over(number, Ok((result, number)));
            }
            ordered.complete();
            thread.thread().id()
        });
        ordered.finish().unwrap();
        let expected: Vec<_> = (0..20).map(|number| (passing_on, number)).collect();
        assert_eq!(threads, expected);
    }

    #[test]
    fn an_error_ends_the_thread_that_passes_on_results() {
        let ordered = Ordered::new(
            Box::new(|_: &mut (), _| Err(CliError::Error("full".to_owned()))),
            1,
        );
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| ordered.pass_on_all());
            ordered.hand_over(0, Ok(((), 1)));
            thread.join().unwrap();
        });
        assert!(ordered.next_buffer().is_none());
        let error = ordered.finish().unwrap_err();
        assert!(matches!(error, CliError::Error(message) if message == "full"));
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
