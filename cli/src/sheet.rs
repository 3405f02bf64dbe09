//! Reports for people, as text for a terminal or as a page of HTML.
//!
//! A [`Sheet`] has rows of a name and a value, counts, headings, and lists below them. In text, names
//! are padded to 21 columns and items are indented by two; [`html`] writes tables and bars.
//!
//! ```text
//! pieces               4000
//! kinds                normal 3741, unknown 1, control 2, byte 256
//!
//! unreachable pieces: 1
//!   310 abcd -> ab c d
//! ```

pub(crate) mod html;

use std::fmt::Write as _;

/// The lines of a report.
#[derive(Debug, Default)]
pub(crate) struct Sheet {
    parts: Vec<Part>,
}

#[derive(Debug)]
enum Part {
    Row {
        name: String,
        value: String,
    },
    /// A row of numbers with their names, of which text has the first ones.
    Counts {
        name: &'static str,
        counts: Vec<(String, u64)>,
        most_in_text: usize,
    },
    /// A heading, and the items below it.
    List {
        heading: String,
        items: Vec<ListItem>,
    },
}

#[derive(Debug)]
struct ListItem {
    text: String,
    /// What the length of a bar stands for, if the items are compared by a number.
    size: Option<f64>,
}

impl Sheet {
    /// Adds a row.
    pub(crate) fn row(&mut self, name: &str, value: impl Into<String>) {
        self.parts.push(Part::Row {
            name: name.to_owned(),
            value: value.into(),
        });
    }

    /// Adds a row of numbers with their names. Text has the first ones, and how many there are
    /// besides.
    pub(crate) fn counts(
        &mut self,
        name: &'static str,
        counts: impl Iterator<Item = (String, u64)>,
        most_in_text: usize,
    ) {
        self.parts.push(Part::Counts {
            name,
            counts: counts.collect(),
            most_in_text,
        });
    }

    /// Adds a heading after an empty line.
    pub(crate) fn heading(&mut self, text: &str) {
        self.list(text, std::iter::empty());
    }

    /// Adds a heading and the items below it.
    pub(crate) fn list(&mut self, heading: &str, items: impl Iterator<Item = String>) {
        let items = items.map(|text| ListItem { text, size: None });
        self.parts.push(Part::List {
            heading: heading.to_owned(),
            items: items.collect(),
        });
    }

    /// As [`list`](Self::list), for items that are compared by a number.
    pub(crate) fn measured_list(
        &mut self,
        heading: &str,
        items: impl Iterator<Item = (String, f64)>,
    ) {
        let items = items.map(|(text, size)| ListItem {
            text,
            size: Some(size),
        });
        self.parts.push(Part::List {
            heading: heading.to_owned(),
            items: items.collect(),
        });
    }

    /// The report for a terminal.
    pub(crate) fn to_text(&self) -> Vec<u8> {
        let mut lines = String::new();
        // Writing to memory does not fail.
        for part in &self.parts {
            let _ = match part {
                Part::Row { name, value } => writeln!(lines, "{name:<20} {value}"),
                Part::Counts {
                    name,
                    counts,
                    most_in_text,
                } => {
                    let first = counts.iter().take(*most_in_text);
                    let first = first.map(|(name, count)| format!("{name} {count}"));
                    let more = counts.len().saturating_sub(*most_in_text);
                    let more = (more > 0).then(|| format!("{more} more"));
                    let list: Vec<String> = first.chain(more).collect();
                    writeln!(lines, "{name:<20} {}", list.join(", "))
                }
                Part::List { heading, items } => {
                    let _ = writeln!(lines, "\n{heading}");
                    (items.iter()).try_for_each(|item| writeln!(lines, "  {}", item.text))
                }
            };
        }
        lines.into_bytes()
    }
}
