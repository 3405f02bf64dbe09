//! Why keys cannot become a double array.

use std::fmt;

/// Why keys cannot become a double array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum BuildError {
    EmptyKey,
    NulInKey,
    NotSorted,
    ValueTooLarge(u32),
    TooLarge,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyKey => f.write_str("a key is empty"),
            Self::NulInKey => f.write_str("a key contains the byte 0"),
            Self::NotSorted => f.write_str("the keys are not sorted by their bytes"),
            Self::ValueTooLarge(value) => write!(f, "the value {value} does not fit 31 bits"),
            Self::TooLarge => f.write_str("the keys need more than 2^29 units"),
        }
    }
}

impl std::error::Error for BuildError {}
