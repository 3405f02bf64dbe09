//! How many steps the stages of a pipeline take, for tests that they are linear in the text.
//!
//! A step is a byte that is looked at, or one round of an inner loop. Outside tests nothing is counted.

#[cfg(test)]
std::thread_local! {
    static STEPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts steps of this thread.
#[inline]
pub(crate) fn count(steps: usize) {
    #[cfg(test)]
    STEPS.with(|all| all.set(all.get() + steps));
    #[cfg(not(test))]
    let _ = steps;
}

/// The steps that a function takes.
#[cfg(all(test, feature = "formats"))]
pub(crate) fn steps_of(run: impl FnOnce()) -> usize {
    let before = STEPS.get();
    run();
    STEPS.get() - before
}
