//! Tasks on the threads of the current pool.
//!
//! Input: a number of tasks and a function of the number of a task. Output: the results in order.
//! For example, three tasks that return the squares of their numbers give 0, 1, 4.
//!
//! The loop is one function for all callers. A parallel iterator of its own takes about 10 KB of
//! machine code, which is not worth it for tasks of a millisecond and more.
//!
//! Cost: an indirect call and some synchronization for each task.

use std::sync::OnceLock;

use rayon::prelude::*;

/// What `task` returns for 0, 1, and so on, below `count`.
pub(crate) fn map_tasks<T: Send + Sync>(count: usize, task: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut results: Vec<OnceLock<T>> = Vec::new();
    results.resize_with(count, OnceLock::new);
    run_tasks(count, &|number| {
        // A number is given once, so that the result is not there yet.
        let _ = results[number].set(task(number));
    });
    results
        .into_iter()
        .filter_map(OnceLock::into_inner)
        .collect()
}

/// Calls `task` with 0, 1, and so on, below `count`.
fn run_tasks(count: usize, task: &(dyn Fn(usize) + Sync)) {
    let numbers = (0..count).into_par_iter().with_max_len(1);
    numbers.for_each(task);
}

/// How many of `items` items each thread of the current pool gets.
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
