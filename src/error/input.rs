//! The error of a file whose content cannot be used.

use std::borrow::Cow;
use std::{fmt, io};

/// Why the content of a file cannot be used, and what to do about it. The error of an
/// [`io::Error`].
#[derive(Debug, PartialEq, Eq)]
pub struct InputError {
    /// What is wrong.
    pub problem: Cow<'static, str>,
    /// What to do about it.
    pub remedy: Cow<'static, str>,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

impl std::error::Error for InputError {}

impl From<InputError> for io::Error {
    fn from(error: InputError) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}
