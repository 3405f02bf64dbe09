//! Files of text: decompression, and the texts of JSON Lines.
//!
//! Input: the name of a file, and the field of the records if it has records. Output: its text.
//! Training and the subcommands read files through this module, so that all of them accept the same
//! files. Cost: that of decompression and of one pass over each record.
//!
//! Example: `corpus.jsonl.gz` with the field `text` is decompressed, and each of its lines, such as
//! `{"id": 7, "text": "two\nlines"}`, is a record with a text. For encoding, the text is one
//! document; for training, its lines are sentences.

mod compressed;
#[cfg(feature = "jsonl")]
mod json_field;
#[cfg(feature = "jsonl")]
pub(crate) mod record_texts;

pub use self::compressed::{Compression, decompressor};
#[cfg(feature = "jsonl")]
pub use self::json_field::{JsonField, RECORD_REMEDY, RecordError, is_blank};
pub use crate::error::reading_remedy;
