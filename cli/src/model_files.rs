//! Models that a subcommand changes or trains: the model to read, the files to write, and lines of
//! the report.
//!
//! PREFIX.model, PREFIX.vocab and other files are written together: all before one is replaced, and
//! the model is replaced last.

use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, ValueHint};
use indicatif::HumanCount;

use super::args;
use super::input::line_ranges;
use super::io::{self, CliError, CliResult};
use super::progress::{LineCount, LineRun, Messages};
use spiece::adapt::{IdMap, LineComparison, LineCounts};
use spiece::output::{check_writable, write_files};
use spiece::{Model, Piece, Tokenizer};

/// Pieces that a line of a report lists.
const MAX_LISTED: usize = 12;

/// The argument for a model file.
pub(crate) fn model_argument(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .help(help)
        .value_name(name)
        .required(true)
        .value_hint(ValueHint::AnyPath)
}

/// The flag for the names of the output files.
pub(crate) fn prefix_flag() -> Arg {
    args::value(
        "model_prefix",
        "Write OUT.model and OUT.vocab; nothing changes if anything fails",
    )
    .value_name("OUT")
}

/// The flag for a text to compare the models with.
pub(crate) fn text_flag() -> Arg {
    let help =
        "Encode the lines of this file before and after, and report how many have the same pieces";
    args::file("text", help)
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
    /// The set of `--model_prefix`, which must be given. Checks that the files with these endings
    /// can be written.
    pub(crate) fn new(matches: &ArgMatches, endings: &[&str]) -> CliResult<Self> {
        let prefix = args::required(matches, "model_prefix", "it names the files to write")?;
        Self::with_prefix(prefix, endings)
    }

    /// As [`new`](Self::new), for names that begin with `prefix`.
    pub(crate) fn with_prefix(prefix: &str, endings: &[&str]) -> CliResult<Self> {
        let paths: Vec<PathBuf> = endings
            .iter()
            .map(|ending| io::with_ending(prefix, ending))
            .collect();
        let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        check_writable(&paths)?;
        Ok(Self {
            prefix: prefix.to_owned(),
            files: Vec::new(),
        })
    }

    /// Adds PREFIX.model and PREFIX.vocab.
    pub(crate) fn add_model(&mut self, model: &Model, messages: &Messages) {
        warn_of_broken_vocab(messages, model);
        let with_scores = model.trainer_spec().vocabulary_output_piece_score();
        self.add(".model", model.to_bytes());
        self.add(".vocab", model.to_vocab(with_scores));
    }

    /// Adds a file with this ending.
    pub(crate) fn add(&mut self, ending: &str, bytes: Vec<u8>) {
        let path = io::with_ending(&self.prefix, ending);
        self.files.push((path, bytes));
    }

    /// The name of the file that was added first, which is a tokenizer.
    pub(crate) fn first_name(&self) -> String {
        let first = self.files.first().map(|(path, _)| path.display());
        first.map(|path| path.to_string()).unwrap_or_default()
    }

    /// Writes all files, and returns their names for a message.
    pub(crate) fn write(self) -> CliResult<String> {
        let files = self.files.iter();
        let files: Vec<(&Path, &[u8])> = files.map(|(path, bytes)| (&**path, &**bytes)).collect();
        write_files(&files)?;
        let paths: Vec<PathBuf> = self.files.into_iter().map(|(path, _)| path).collect();
        Ok(io::joined_names(&paths))
    }
}

/// Warns of what older releases of SentencePiece cannot load.
pub(crate) fn warn_of_older_releases(messages: &Messages, model: &Model) {
    for problem in model.older_release_problems() {
        messages.warn(&problem.to_string());
    }
}

/// Warns if the texts of pieces break the lines or the columns of a .vocab file.
pub(crate) fn warn_of_broken_vocab(messages: &Messages, model: &Model) {
    let breaks = |piece: &Piece<'_>| piece.text.iter().any(|byte| b"\n\r\t".contains(byte));
    let pieces: Vec<Piece<'_>> = model.pieces().filter(breaks).collect();
    if pieces.is_empty() {
        return;
    }
    let remedy = if pieces.iter().any(|piece| piece.text.ends_with(b"\r")) {
        "; if they come from a file with CR LF at the ends of its lines, remove the CR"
    } else {
        ""
    };
    messages.warn(&format!(
        "{} pieces contain a line feed, a carriage return or a tab, at which programs that read the .vocab file divide it: \
         {}{remedy}",
        count(pieces.len()),
        listed_pieces(pieces.into_iter())
    ));
}

/// A number with commas between thousands.
pub(crate) fn count(number: usize) -> HumanCount {
    HumanCount(number as u64)
}

/// The numbers of pieces of two models.
pub(crate) fn pieces_line(ids: &IdMap) -> String {
    let before = count(ids.old_len());
    let after = count(ids.new_len());
    format!("pieces: {before} before, {after} after")
}

/// The content of the file of `--text`; `None` without that flag.
pub(crate) fn text(matches: &ArgMatches, messages: &Messages) -> CliResult<Option<Vec<u8>>> {
    match args::non_empty(matches, "text") {
        None => Ok(None),
        Some("-") => Err(CliError::usage(
            "--text: cannot be standard input; name a file",
        )),
        Some(path) => io::read_text(path.as_ref(), messages).map(Some),
    }
}

/// Encodes the lines of a text, if there is one, with both models.
pub(crate) fn compare_lines(
    text: Option<Vec<u8>>,
    ids: &IdMap,
    [old, new]: [&Model; 2],
    messages: &Messages,
) -> Option<LineCounts> {
    let text = text?;
    let [old, new] = [old, new].map(|model| Tokenizer::new(model.clone()));
    Some(compare_encodings(&text, ids, [&old, &new], messages))
}

/// Encodes the lines of a text with both tokenizers.
pub(crate) fn compare_encodings(
    text: &[u8],
    ids: &IdMap,
    [old, new]: [&Tokenizer; 2],
    messages: &Messages,
) -> LineCounts {
    let mut run = LineRun::default();
    run.total = Some(text.len() as u64);
    let mut lines = LineCount::new(messages, run);
    let mut comparison = LineComparison::new(ids, old, new);
    for line in line_ranges(text) {
        comparison.add(&text[line.clone()]);
        lines.advance(1, line.len() as u64 + 1);
    }
    comparison.finish()
}

/// Writes how many lines have the same pieces before and after a change.
pub(crate) fn report_lines(messages: &Messages, counts: Option<LineCounts>) {
    if let Some(counts) = counts {
        messages.say(&format!(
            "checked: {} of {} lines have the same pieces; {} tokens before, {} now",
            HumanCount(counts.equal),
            HumanCount(counts.lines),
            HumanCount(counts.tokens_before),
            HumanCount(counts.tokens_after)
        ));
    }
}

/// The texts as a list in quotes, the first ones only if there are many.
pub(crate) fn listed<'t>(texts: impl Iterator<Item = &'t [u8]>) -> String {
    list(texts, |text| format!("{:?}", String::from_utf8_lossy(text)))
}

/// The entries of `items`, the first ones only if there are many.
fn list<T>(mut items: impl Iterator<Item = T>, entry: impl Fn(T) -> String) -> String {
    let mut entries: Vec<String> = items.by_ref().take(MAX_LISTED).map(entry).collect();
    let more = items.count();
    if more > 0 {
        entries.push(format!("and {} more", count(more)));
    }
    entries.join(", ")
}

/// Pieces with ids and kinds as a list, the first ones only if there are many.
pub(crate) fn listed_pieces<'m>(pieces: impl Iterator<Item = Piece<'m>>) -> String {
    list(pieces, |piece| {
        let text = String::from_utf8_lossy(piece.text);
        format!("{} {text:?} ({})", piece.id, piece.kind)
    })
}
