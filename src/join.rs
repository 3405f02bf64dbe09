//! Two functions at the same time, without a thread pool.
//!
//! Input: two functions. Output: both results. The second function runs on a thread that ends with the call, so making a
//! tokenizer leaves no pool behind. Where no thread can be started (for example on wasm32), both functions run
//! on the caller's thread, one after the other.
//!
//! Cost: one thread is started and joined in each call. Memory that the second function allocates may be returned to the
//! system when its thread ends, so the larger tables belong to the first.

use std::thread;

/// Runs both functions and returns their results.
///
/// A panic of either function is continued on the caller's thread.
pub(crate) fn join<A, B: Send>(first: impl FnOnce() -> A, second: impl Fn() -> B + Sync) -> (A, B) {
    thread::scope(
        |scope| match thread::Builder::new().spawn_scoped(scope, &second) {
            Ok(handle) => {
                let first = first();
                let second = handle.join();
                (
                    first,
                    second.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                )
            }
            Err(_) => (first(), second()),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::join;

    #[test]
    fn both_results_are_returned() {
        let words = ["one", "two"];
        assert_eq!(
            join(|| words[0].len(), || words[1].to_owned()),
            (3, "two".to_owned())
        );
    }
}
