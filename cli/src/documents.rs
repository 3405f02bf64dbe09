//! What a document is, and what becomes of bad records: the flags `--json_field`, `--document` and
//! `--on_bad_record`.
//!
//! Training cuts the text of a record at its line feeds unless `--document=record` is given; the
//! other subcommands take it as a whole unless `--document=line` is given.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use clap::{Arg, ArgMatches};

use super::args;
use super::headings;
use super::io::{CliError, CliResult};
use super::progress::Messages;
use spiece::TrainFlags;
use spiece::input::{Document, OnBadRecord};
use spiece::input::{Documents, JsonField, record_error};
use spiece::train::OptionError;

/// The flags that say what a document is.
const FLAGS: [&str; 3] = ["json_field", "document", "on_bad_record"];

/// The flags of subcommands that encode documents.
pub(crate) fn document_flags() -> impl Iterator<Item = Arg> {
    record_flags().map(|flag| {
        if flag.get_id() == "document" {
            return flag.help(DOCUMENT_HELP);
        }
        flag
    })
}

const DOCUMENT_HELP: &str = "What is encoded as one text: line (of a file, or with --json_field of a record's text), record (the whole text of a \
                             record, with its line feeds) or file [default: record with --json_field, else line]";

/// The flags as training has them.
pub(crate) fn record_flags() -> impl Iterator<Item = Arg> {
    let options = TrainFlags::DESCRIPTORS.iter();
    let options = options.filter(|option| FLAGS.contains(&option.name));
    options.map(|option| {
        let flag = args::flag_of(option).help_heading(headings::DOCUMENTS);
        match option.name {
            "json_field" => flag.value_name("NAME"),
            _ => flag,
        }
    })
}

/// Sets the given flags of records, for a corpus.
pub(crate) fn set_record_flags(matches: &ArgMatches, flags: &mut TrainFlags) -> CliResult {
    for name in FLAGS {
        if let Some(value) = value_of(matches, name) {
            flags.set(name, value).map_err(args::invalid_option)?;
        }
    }
    Ok(())
}

/// The value of a flag; `None` if the subcommand does not have the flag, or the value is empty.
fn value_of<'m>(matches: &'m ArgMatches, name: &str) -> Option<&'m str> {
    let value = matches.try_get_one::<String>(name).ok().flatten()?;
    Some(value.as_str()).filter(|value| !value.is_empty())
}

/// How files are read as documents.
#[derive(Debug)]
pub(crate) struct DocumentRules {
    pub(crate) documents: Documents,
    pub(crate) on_bad_record: OnBadRecord,
    /// Whether the subcommand reads JSON Lines.
    has_field_flag: bool,
    skipped: Mutex<SkippedRecords>,
}

/// Records that were skipped because they have no text.
#[derive(Debug, Default)]
struct SkippedRecords {
    count: u64,
    /// The first one: its number, and its file, line and cause.
    first: Option<(u64, String)>,
    /// The first one of the last report, which another pass over the same text finds again.
    reported: Option<String>,
}

impl DocumentRules {
    /// Each line is a document.
    pub(crate) fn lines() -> Self {
        Self::of(Documents::Lines)
    }

    /// These documents; a bad record is an error.
    pub(crate) fn of(documents: Documents) -> Self {
        Self {
            documents,
            on_bad_record: OnBadRecord::default(),
            has_field_flag: false,
            skipped: Mutex::default(),
        }
    }

    /// Reads the flags that the subcommand has.
    pub(crate) fn new(matches: &ArgMatches) -> CliResult<Self> {
        let mut flags = TrainFlags::default();
        set_record_flags(matches, &mut flags)?;
        let documents = match value_of(matches, "json_field") {
            None => Documents::without_field(flags.document),
            Some(path) => {
                let field = JsonField::parse(path).ok_or_else(|| {
                    let expected = "the name of a field, or names separated by dots";
                    args::invalid("json_field", path, expected)
                })?;
                let is_given = value_of(matches, "document").is_some();
                let document = if is_given {
                    flags.document
                } else {
                    Document::Record
                };
                Documents::with_field(document, field)
            }
        };
        Ok(Self {
            documents: documents
                .map_err(|conflict| args::invalid_option(OptionError::from(conflict)))?,
            on_bad_record: flags.on_bad_record,
            has_field_flag: matches.try_contains_id("json_field").is_ok(),
            skipped: Mutex::default(),
        })
    }

    /// What becomes of a record without a text. Its `number` counts lines through all files, and
    /// `line` those of its file.
    pub(crate) fn bad_record(
        &self,
        path: &Path,
        (number, line): (u64, u64),
        problem: &str,
    ) -> CliResult {
        if self.on_bad_record == OnBadRecord::Error {
            let error = std::io::Error::from(record_error(line, problem));
            return Err(CliError::read(path, &error));
        }
        let mut skipped = self.skipped.lock().unwrap_or_else(PoisonError::into_inner);
        skipped.count += 1;
        if skipped
            .first
            .as_ref()
            .is_none_or(|(first, _)| number < *first)
        {
            let place = format!("{}: line {line}: {problem}", path.display());
            skipped.first = Some((number, place));
        }
        Ok(())
    }

    /// Reports the records that were skipped in a pass over the input, once for the same input.
    pub(crate) fn report_skipped(&self, messages: &Messages) {
        let mut skipped = self.skipped.lock().unwrap_or_else(PoisonError::into_inner);
        let count = std::mem::take(&mut skipped.count);
        let Some((_, first)) = skipped.first.take() else {
            return;
        };
        if skipped.reported.as_ref() != Some(&first) {
            messages.warn(&format!(
                "{count} records without a text were skipped; the first: {first}"
            ));
            skipped.reported = Some(first);
        }
    }

    /// Writes a note on a file whose name says that it has records, if it is read without them.
    pub(crate) fn note_name(&self, path: &Path, messages: &Messages) {
        let is_plain = matches!(self.documents, Documents::Lines | Documents::Files);
        if is_plain && self.has_field_flag {
            note_json_lines(path, messages);
        }
    }
}

/// Writes a note on a file whose name says that it has records, and which is read as text.
pub(crate) fn note_json_lines(path: &Path, messages: &Messages) {
    let name = path.file_name().map(|name| name.to_string_lossy());
    let name = name.unwrap_or_default();
    let plain = name
        .strip_suffix(".gz")
        .or_else(|| name.strip_suffix(".zst"));
    let plain = plain.unwrap_or(&name);
    if [".jsonl", ".ndjson"]
        .iter()
        .any(|ending| plain.ends_with(ending))
    {
        messages.say(&format!(
            "note: {} is JSON Lines by its name and is read as plain text; --json_field=NAME reads the texts in the field \
             NAME of its records",
            path.display()
        ));
    }
}
