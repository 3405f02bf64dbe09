//! What a document of the input is.

use super::json_field::JsonField;
use std::fmt;

/// What one text of the input is: a sentence of training, or what is encoded as a whole.
///
/// ```
/// use spiece::input::Document;
/// assert_eq!(Document::from_name("record"), Some(Document::Record));
/// assert_eq!(Document::Record.to_string(), "record");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Document {
    /// A line of a file. In JSON Lines: a line of the text of a record, as if the text were a file.
    #[default]
    Line,
    /// The whole text of a record of JSON Lines, with its line feeds.
    Record,
    /// The whole text of a file, with its line feeds.
    File,
}

impl Document {
    const ALL: [Self; 3] = [Self::Line, Self::Record, Self::File];
    pub(crate) const EXPECTED: &'static str = "line, record or file";

    /// The one with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| choice.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Record => "record",
            Self::File => "file",
        }
    }
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What to do about a record of JSON Lines without a text: a line that is no JSON, has no such
/// field, or another value than a text in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum OnBadRecord {
    /// The run fails; the error names the file, the line and the cause.
    #[default]
    Error,
    /// The record is skipped and counted, and the first one is reported.
    Skip,
}

impl OnBadRecord {
    const ALL: [Self; 2] = [Self::Error, Self::Skip];
    pub(crate) const EXPECTED: &'static str = "error or skip";

    /// The one with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| choice.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Skip => "skip",
        }
    }
}

impl fmt::Display for OnBadRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A kind of document that files of this kind do not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentConflict {
    /// What is wrong.
    pub problem: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
}

/// What the documents of files are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Documents {
    /// Lines.
    Lines,
    /// Whole files.
    Files,
    /// The lines of the texts of records.
    RecordLines(JsonField),
    /// The texts of records.
    Records(JsonField),
}

impl Documents {
    /// Documents of this kind in files without records.
    ///
    /// # Errors
    /// A document is a record.
    pub fn without_field(document: Document) -> Result<Self, DocumentConflict> {
        match document {
            Document::Line => Ok(Self::Lines),
            Document::File => Ok(Self::Files),
            Document::Record => Err(DocumentConflict {
                problem: "record is for JSON Lines, and no field is named",
                remedy: "name the field of the text with json_field",
            }),
        }
    }

    /// Documents of this kind in files of records, whose texts are in `field`.
    ///
    /// # Errors
    /// A document is a file.
    pub fn with_field(document: Document, field: JsonField) -> Result<Self, DocumentConflict> {
        match document {
            Document::Line => Ok(Self::RecordLines(field)),
            Document::Record => Ok(Self::Records(field)),
            Document::File => Err(DocumentConflict {
                problem: "file excludes json_field, with which a file has many texts",
                remedy: "use document=record or document=line",
            }),
        }
    }
}

/// A text without the carriage returns and line feeds at its end, which the sentence iterator of
/// the reference's package drops, too.
pub(crate) fn without_line_ends(text: &[u8]) -> &[u8] {
    let is_text = |byte: &u8| !matches!(byte, b'\r' | b'\n');
    let length = text.iter().rposition(is_text).map_or(0, |last| last + 1);
    &text[..length]
}
