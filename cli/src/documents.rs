//! What a document is: the flags `--json_field` and `--document`.
//!
//! Input: parsed flags. Output: [`Documents`]. Without these flags, each line is a document.

use std::sync::Arc;

use clap::{Arg, ArgMatches};

use super::args;
use super::io::{CliError, CliResult};
use spiece::Corpus;
use spiece::input::JsonField;

/// What a document is.
#[derive(Debug, Clone)]
pub(crate) enum Documents {
    /// A line.
    Lines,
    /// A file, with its line feeds.
    Files,
    /// The text of a record. Each line that is not blank is a record.
    Records(Arc<JsonField>),
}

impl Documents {
    /// Reads the flags that the subcommand has.
    pub(crate) fn new(matches: &ArgMatches) -> CliResult<Self> {
        let wants_files = wants_files(matches)?;
        match value_of(matches, "json_field") {
            Some(_) if wants_files => Err(records_and_files()),
            Some(path) => Self::records(path),
            None if wants_files => Ok(Self::Files),
            None => Ok(Self::Lines),
        }
    }

    /// Records whose text is in the field `path`.
    fn records(path: &str) -> CliResult<Self> {
        let field = JsonField::parse(path).ok_or_else(|| invalid_field(path))?;
        Ok(Self::Records(Arc::new(field)))
    }
}

/// Whether `--document` says that each file is a document.
fn wants_files(matches: &ArgMatches) -> CliResult<bool> {
    match value_of(matches, "document") {
        None | Some("line") => Ok(false),
        Some("file") => Ok(true),
        Some(other) => Err(args::invalid("document", other, "line or file")),
    }
}

/// The error if both flags are given.
fn records_and_files() -> CliError {
    CliError::usage(
        "--json_field and --document=file exclude each other; each record is a document",
    )
}

fn invalid_field(path: &str) -> CliError {
    args::invalid("json_field", path, FIELD_PATH)
}

/// What `--json_field` takes.
const FIELD_PATH: &str = "the name of a field, or names separated by dots";

/// The value of a flag; `None` if the subcommand does not have the flag, or the value is empty.
fn value_of<'m>(matches: &'m ArgMatches, name: &str) -> Option<&'m str> {
    let value = matches.try_get_one::<String>(name).ok().flatten()?;
    Some(value.as_str()).filter(|value| !value.is_empty())
}

/// The flag for the field of a record that holds its text.
pub(crate) fn json_field_flag() -> Arg {
    args::value("json_field", JSON_FIELD_HELP).value_name("NAME")
}

/// The help of `--json_field`.
const JSON_FIELD_HELP: &str = "The files are JSON Lines: each line is an object, and its field NAME is a text; meta.body is the field body of the \
                               object meta";

/// The flag for what a document is.
pub(crate) fn document_flag() -> Arg {
    args::value("document", "What is encoded as one text: line or file").default_value("line")
}

/// The corpus, with JSON records if `--json_field` is given.
pub(crate) fn with_records<'c>(corpus: Corpus<'c>, matches: &ArgMatches) -> CliResult<Corpus<'c>> {
    match value_of(matches, "json_field") {
        Some(path) => corpus
            .with_json_field(path)
            .map_err(|_| invalid_field(path)),
        None => Ok(corpus),
    }
}
