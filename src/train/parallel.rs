//! Tasks on the threads of the current pool.
//!
//! All callers share one loop. A separate parallel iterator for each of them would take about 10 KB
//! of machine code, which is not worth it for tasks of a millisecond or more.

use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::thread::ScopedJoinHandle;

use rayon::prelude::*;

/// The results of `task` for the numbers below `count`, in order.
pub(crate) fn map_tasks<T: Send + Sync>(count: usize, task: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut results: Vec<OnceLock<T>> = Vec::new();
    results.resize_with(count, OnceLock::new);
    run_tasks(count, &|number| {
        // Each number is passed once, so the cell is still empty.
        let _ = results[number].set(task(number));
    });
    results
        .into_iter()
        .filter_map(OnceLock::into_inner)
        .collect()
}

/// Calls `task` with each number below `count`.
fn run_tasks(count: usize, task: &(dyn Fn(usize) + Sync)) {
    let numbers = (0..count).into_par_iter().with_max_len(1);
    numbers.for_each(task);
}

/// Joins a thread and returns its result. A panic of the thread is resumed on the caller's thread.
pub(crate) fn result_of<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// The number of items per thread if `items` items are divided among the current pool.
pub(crate) fn share_of_thread(items: usize) -> usize {
    items.div_ceil(rayon::current_num_threads()).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_tasks() {
        for count in [0, 1, 3, 1000] {
            let squares = map_tasks(count, |number| number * number);
            let expected: Vec<usize> = (0..count).map(|number| number * number).collect();
            assert_eq!(squares, expected);
        }
    }
}
