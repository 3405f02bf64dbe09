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
mod json_field;
pub(crate) mod record_texts;

pub use self::content::{InputWarning, OpenText, plain_size};
pub(crate) use self::document::without_line_ends;
pub use self::document::{Document, DocumentConflict, Documents, OnBadRecord};
pub use self::json_field::{JsonField, record_error};
pub use crate::error::{InputError, reading_remedy};
