//! Why keys cannot become a double array.

/// Why keys cannot become a double array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum BuildError {
    #[error("a key is empty")]
    EmptyKey,
    #[error("a key contains the byte 0")]
    NulInKey,
    #[error("the keys are not sorted by their bytes")]
    NotSorted,
    #[error("the value {0} does not fit 31 bits")]
    ValueTooLarge(u32),
    #[error("the keys need more than 2^29 units")]
    TooLarge,
}
