//! Runs two functions at the same time, without a thread pool.
//!
//! Input: two functions. Output: both results. The second function runs on a thread that ends with
//! the call, so making a tokenizer leaves no pool behind. The caller's thread runs both functions,
//! one after the other, if threads of this module already occupy all cores, if the other thread has
//! not begun when the first function ends, or if no thread can be started (for example on wasm32).
//!
//! Cost: one thread is started and joined in each call. Memory that the second function allocates
//! may be returned to the system when its thread ends, so the larger tables belong to the first.

use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};

/// The number of second functions that are running on threads of this module, in the whole process.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// The number of cores that this process may use. It is determined once, because that takes as long
/// as starting a thread.
pub(crate) fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, NonZeroUsize::get))
}

/// Counts a running function in [`RUNNING`] until it is dropped.
struct Running;

impl Running {
    fn new() -> Self {
        RUNNING.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Joins a thread and returns its result. A panic of the thread is resumed on the caller's thread.
pub(crate) fn result_of<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    let result = thread.join();
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Runs both functions and returns their results.
///
/// A panic of either function is resumed on the caller's thread.
pub(crate) fn join<A, B: Send>(first: impl FnOnce() -> A, second: impl Fn() -> B + Sync) -> (A, B) {
    // The scope joins its thread at the end, even if that thread had to wait for a core and has
    // nothing left to do.
    if RUNNING.load(Ordering::Relaxed) + 1 >= cores() {
        return (first(), second());
    }
    let is_claimed = AtomicBool::new(false);
    // `Relaxed` is enough: the result is passed on by joining the thread, and only one caller can
    // see `false`.
    let claim = || !is_claimed.swap(true, Ordering::Relaxed);
    thread::scope(|scope| {
        let run_if_unclaimed = || {
            claim().then(|| {
                let _running = Running::new();
                second()
            })
        };
        let thread = thread::Builder::new().spawn_scoped(scope, run_if_unclaimed);
        let first = first();
        if claim() {
            return (first, second());
        }
        let result = thread.ok().and_then(result_of);
        // The function is claimed, and not by this thread, so the other thread has a result.
        let second = result.unwrap_or_else(&second);
        (first, second)
    })
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::join;

    #[test]
    fn both_results_are_returned() {
        let words = ["one", "two"];
        assert_eq!(
            join(|| words[0].len(), || words[1].to_owned()),
            (3, "two".to_owned())
        );
    }

    #[test]
    fn each_function_runs_once_whichever_ends_first() {
        for round in 0..300_u64 {
            let runs = AtomicUsize::new(0);
            let wait = |turns: u64| (0..turns * 100).map(black_box).sum::<u64>();
            let (first, second) = join(
                || wait(round % 7),
                || (runs.fetch_add(1, Ordering::Relaxed), wait(round % 5)),
            );
            assert_eq!((first, second), (wait(round % 7), (0, wait(round % 5))));
            assert_eq!(runs.load(Ordering::Relaxed), 1);
        }
    }

    #[test]
    #[should_panic(expected = "second")]
    fn a_panic_of_the_second_function_is_continued() {
        join(|| (), || panic!("second"));
    }
}
