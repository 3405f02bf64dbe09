//! Reports for a terminal: rows of a name and a value, headings, and items below them.
//!
//! Names are padded to 21 columns, items are indented by
//! two. Writing to memory does not fail, so no method returns an error.
//!
//! ```text
//! pieces               4000
//!
//! unreachable pieces: 1
//!   310 abcd -> ab c d
//! ```

use std::fmt::Write as _;

/// The lines of a report.
#[derive(Debug, Default)]
pub(crate) struct TextTable {
    lines: String,
}

impl TextTable {
    /// Adds a row.
    pub(crate) fn row(&mut self, name: &str, value: &str) {
        let _ = writeln!(self.lines, "{name:<20} {value}");
    }

    /// Adds a heading after an empty line.
    pub(crate) fn heading(&mut self, text: &str) {
        let _ = writeln!(self.lines, "\n{text}");
    }

    /// Adds an item.
    pub(crate) fn item(&mut self, text: &str) {
        let _ = writeln!(self.lines, "  {text}");
    }

    /// Adds a heading and the items below it.
    pub(crate) fn list(&mut self, heading: &str, items: impl Iterator<Item = String>) {
        self.heading(heading);
        items.for_each(|item| self.item(&item));
    }

    /// All lines.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.lines.into_bytes()
    }
}
