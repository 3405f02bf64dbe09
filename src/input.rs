//! Files of text: what they contain, decompression, and the texts of JSON Lines.
//!
//! Training and the subcommands read files through this module, so that all of them accept the same
//! files and refuse or doubt the same ones.
//!
//! Example: `corpus.jsonl.gz` with the field `text` is decompressed, and each of its lines, such as
//! `{"id": 7, "text": "two\nlines"}`, is a record with a text. [`Document`] says whether that text
//! is one document or each of its lines is one.

mod compressed;
mod content;
mod document;
#[cfg(feature = "jsonl")]
mod json_field;
#[cfg(feature = "jsonl")]
pub(crate) mod record_texts;

use std::borrow::Cow;
use std::fmt;
use std::io;

pub use self::content::{InputWarning, OpenText, plain_size};
pub(crate) use self::document::without_line_ends;
pub use self::document::{Document, Documents, OnBadRecord};
#[cfg(feature = "jsonl")]
pub use self::json_field::{JsonField, record_error};
pub use crate::error::reading_remedy;

/// Why a file cannot be read as text, and what to do about it. The error of an [`io::Error`].
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

/// What to do about an error of reading, if an [`InputError`] is its cause.
pub(crate) fn remedy_of(error: &io::Error) -> Option<&str> {
    let error = error.get_ref()?.downcast_ref::<InputError>()?;
    Some(&error.remedy)
}
