//! Models that a subcommand changes: the model to read, the files to write, and lines of the report.
//!
//! Input: a model as the first argument, and `--model_prefix`. Output: PREFIX.model, PREFIX.vocab and other files, which
//! are written together, all or none. A subcommand checks its guarantees before it writes; the files are read back and must
//! have the bytes that were checked. Cost: that of reading and writing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches};
use indicatif::HumanCount;

use super::args;
use super::io::{self, CliError, CliResult};
use super::progress::Messages;
use crate::output::{FileContent, WriteContent, check_writable, write_contents};
use crate::text::lossy_string;
use crate::{BoundaryCheck, Model, Piece};

/// Pieces that a line of a report lists.
const MAX_LISTED: usize = 12;

/// The argument for a model file.
pub(crate) fn model_argument(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).help(help).value_name(name).required(true)
}

/// The flag for the names of the output files.
pub(crate) fn prefix_flag() -> Arg {
    args::value(
        "model_prefix",
        "Write OUT.model and OUT.vocab; all files are replaced together",
    )
    .value_name("OUT")
}

/// Reads the model of an argument.
pub(crate) fn open_model(matches: &ArgMatches, name: &str) -> CliResult<Model> {
    Ok(Model::open(args::text(matches, name))?)
}

/// Files that are written together.
pub(crate) struct OutputSet {
    prefix: String,
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl OutputSet {
    /// The set of `--model_prefix`, which must be given. Checks that the files with these endings can be written.
    pub(crate) fn new(matches: &ArgMatches, endings: &[&str]) -> CliResult<Self> {
        let missing =
            || CliError::usage("--model_prefix is missing; it names OUT.model and OUT.vocab");
        let prefix = args::non_empty(matches, "model_prefix").ok_or_else(missing)?;
        let paths: Vec<PathBuf> = endings.iter().map(|ending| path(prefix, ending)).collect();
        let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        check_writable(&paths)?;
        Ok(Self {
            prefix: prefix.to_owned(),
            files: Vec::new(),
        })
    }

    /// Adds PREFIX.model and PREFIX.vocab.
    pub(crate) fn add_model(&mut self, model: &Model) {
        let with_scores = model.trainer_spec().vocabulary_output_piece_score();
        self.add(".model", model.to_bytes());
        self.add(".vocab", model.to_vocab(with_scores));
    }

    /// Adds a file with this ending.
    pub(crate) fn add(&mut self, ending: &str, bytes: Vec<u8>) {
        self.files.push((path(&self.prefix, ending), bytes));
    }

    /// The path of the file with this ending.
    pub(crate) fn path(&self, ending: &str) -> PathBuf {
        path(&self.prefix, ending)
    }

    /// Writes all files, reads them back, and returns their names for a message.
    pub(crate) fn write(&self) -> CliResult<String> {
        self.write_with(None)
    }

    /// Like [`write`](Self::write), with one more file, which is given by its ending and a function that writes it.
    pub(crate) fn write_with(&self, extra: Option<(&str, WriteContent<'_>)>) -> CliResult<String> {
        let extra = extra.map(|(ending, write)| (self.path(ending), write));
        let files = self.files.iter();
        let mut contents: Vec<(&Path, FileContent<'_>)> = files
            .map(|(path, bytes)| (path.as_path(), FileContent::Bytes(bytes)))
            .collect();
        if let Some((path, write)) = &extra {
            contents.push((path, FileContent::Written(*write)));
        }
        write_contents(&contents)?;
        for (path, bytes) in &self.files {
            // A device or a pipe cannot be read back.
            if path.is_file() && io::read_file_at(path)? != *bytes {
                let path = path.display();
                return Err(CliError::Error(format!(
                    "{path} does not have the bytes that were written; another process may have written it"
                )));
            }
        }
        let extra = extra.into_iter().map(|(path, _)| path);
        let paths = self.files.iter().map(|(path, _)| path.clone());
        let paths: Vec<PathBuf> = paths.chain(extra).collect();
        Ok(io::joined_names(&paths))
    }
}

fn path(prefix: &str, ending: &str) -> PathBuf {
    let mut path = OsString::from(prefix);
    path.push(ending);
    PathBuf::from(path)
}

/// A number with commas between thousands.
pub(crate) fn count(number: usize) -> HumanCount {
    HumanCount(number as u64)
}

/// Writes what the comparison with the model before has shown. `[old, new]` are words for the old tokens and the new pieces.
pub(crate) fn report_boundaries(messages: &Messages, check: &BoundaryCheck, [old, new]: [&str; 2]) {
    messages.say(&format!(
        "checked: {} texts, {} tokens {old}, {} now; {} without {new} pieces have the same ids",
        count(check.texts),
        HumanCount(check.tokens_before),
        HumanCount(check.tokens_after),
        count(check.unaffected)
    ));
    // No text is counted if the guarantee does not apply.
    if check.without_new_boundary > 0 {
        messages.say(&format!(
            "checked: {} texts have no new boundary",
            count(check.without_new_boundary)
        ));
    }
}

/// The texts as a list in quotes, the first ones only if there are many.
pub(crate) fn listed<'t>(texts: impl Iterator<Item = &'t [u8]>) -> String {
    let texts: Vec<&[u8]> = texts.collect();
    let shown = texts.iter().take(MAX_LISTED);
    let mut list: Vec<String> = shown
        .map(|text| format!("{:?}", lossy_string(text)))
        .collect();
    if texts.len() > MAX_LISTED {
        list.push(format!("and {} more", count(texts.len() - MAX_LISTED)));
    }
    list.join(", ")
}

/// Pieces with ids and kinds as a list, the first ones only if there are many.
pub(crate) fn listed_pieces<'m>(pieces: impl Iterator<Item = Piece<'m>>) -> String {
    let pieces: Vec<Piece<'_>> = pieces.collect();
    let shown = pieces.iter().take(MAX_LISTED);
    let line = |piece: &Piece<'_>| {
        format!(
            "{} {:?} ({})",
            piece.id,
            lossy_string(piece.text),
            piece.kind
        )
    };
    let mut list: Vec<String> = shown.map(line).collect();
    if pieces.len() > MAX_LISTED {
        list.push(format!("and {} more", count(pieces.len() - MAX_LISTED)));
    }
    list.join(", ")
}

/// The lines of the file of the flag `name`; none without the flag.
pub(crate) fn text_of_flag(matches: &ArgMatches, name: &str) -> CliResult<Vec<u8>> {
    match args::non_empty(matches, name) {
        None => Ok(Vec::new()),
        Some("-") => Err(CliError::Usage(format!(
            "--{name}: cannot be standard input; name a file"
        ))),
        Some(path) => io::read_file(path),
    }
}

/// The lines of a text; the last one may lack its line feed.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    let is_empty = text.is_empty();
    text.split(|byte| *byte == b'\n').filter(move |_| !is_empty)
}
