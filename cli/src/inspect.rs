//! `spiece inspect`: what a model contains, which pieces no text gives, and what a text costs.
//!
//! The facts are gathered into an [`InspectReport`], which [`text`] and [`json`] write;
//! another format is another module that reads the same report. All threads encode the texts; the
//! report does not depend on their number.
//!
//! ```text
//! $ spiece inspect testdata/golden/llama2.model | head -n 3
//! model                testdata/golden/llama2.model
//! type                 bpe
//! pieces               4000, as its trainer was asked for
//! ```
//!
//! docs/INSPECT.md describes the report and the keys of the JSON.

mod flags;
pub(crate) mod json;
mod languages;
pub(crate) mod report;
pub(crate) mod text;

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use self::languages::language_costs;
use self::report::{InspectReport, TextFile, TextReport};
use super::args;
use super::documents::document_flags;
use super::io::{CliError, CliResult};
use super::sheet::html;
use super::stream::{Gathering, Lines, output_error, threads_flag, with_output};
use spiece::Tokenizer;
use spiece::inspect::{Runtime, TextCounter, runtimes};

/// The command line: model, texts, format and output.
pub(crate) fn command() -> Command {
    let command = Command::new("inspect")
        .about("Reports what a tokenizer contains, and what a text costs with it")
        .long_about(
            "Reports what a tokenizer contains. Of a SentencePiece model: flags, special ids, pieces by kind, script and length, the pieces that no \
             text gives, the pieces that the normalizer never produces, and the options of training that the model \
             records. Of a byte-level vocabulary: special tokens, pattern, pieces, and the tokens that no UTF-8 text \
             gives, with the reason. Of any other tokenizer, such as BERT's: its stages with their settings, and the tokens that no \
             text gives. With --text also what encoding the text costs, with --languages what 28 languages cost, with --runtimes which \
             programs give the same ids.\n\nExample:\n  spiece inspect my.model --text=text.txt \
             --format=json --output=report.json\n  spiece inspect my.model --format=html --output=report.html   # \
             open it in a browser\n  \
             eval \"spiece train $(spiece inspect my.model --format=flags)\"   # train it again",
        )
        .args([
            model_argument("model", "MODEL", args::MODEL_HELP),
            text_flag("Report on this text, too; repeat it for several files; - is standard input"),
            args::value("format", "text, json, html, or flags: the recorded options as flags of spiece train")
                .default_value("text"),
            args::value("output", "Write to this file, which is replaced when the run has succeeded").value_name("FILE"),
            args::switch("languages", "Report what the Universal Declaration of Human Rights costs in 28 languages"),
            args::switch("runtimes", "Report which programs give the ids of this model, from which file, and why the others do not"),
            threads_flag(),
        ])
        .args(args::opening_flags())
        .args(document_flags());
    args::with_common_flags(command)
}

/// An argument that names a model file.
pub(crate) fn model_argument(id: &'static str, name: &'static str, help: &'static str) -> Arg {
    path_argument(id, name).help(help).required(true)
}

fn path_argument(id: &'static str, name: &'static str) -> Arg {
    Arg::new(id)
        .value_name(name)
        .value_parser(value_parser!(PathBuf))
}

/// The flag `--text`, which may be repeated.
pub(crate) fn text_flag(help: &'static str) -> Arg {
    path_argument("text", "FILE")
        .long("text")
        .help(help)
        .action(ArgAction::Append)
        .allow_hyphen_values(true)
}

/// The flag `--format`.
pub(crate) fn format_flag() -> Arg {
    args::value("format", "text, json or html").default_value("text")
}

/// The formats of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReportFormat {
    Text,
    Json,
    Html,
}

impl ReportFormat {
    /// The format of `--format`.
    pub(crate) fn new(matches: &ArgMatches) -> CliResult<Self> {
        match args::text(matches, "format") {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            "html" => Ok(Self::Html),
            other => Err(args::invalid(
                "format",
                other,
                "a format; --help lists them",
            )),
        }
    }

    /// The report in this format.
    fn render(self, report: &InspectReport<'_>) -> Vec<u8> {
        match self {
            Self::Text => text::sheet(report).to_text(),
            Self::Json => json::document(&json::InspectJson::new(report)),
            Self::Html => {
                let title = format!("{} - spiece inspect", report.visible_name());
                html::page(&title, &[("", text::sheet(report))])
            }
        }
    }
}

/// The files of `--text`.
pub(crate) fn text_files(matches: &ArgMatches) -> CliResult<Vec<PathBuf>> {
    let files = matches.get_many("text").unwrap_or_default();
    let files: Vec<PathBuf> = files.cloned().collect();
    let standard_inputs = files.iter().filter(|file| file.as_os_str() == "-");
    if standard_inputs.count() > 1 {
        let message = "--text=- is given twice; standard input can be read once";
        return Err(CliError::usage(message));
    }
    Ok(files)
}

/// The file of the argument `id`.
pub(crate) fn model_path<'m>(matches: &'m ArgMatches, id: &str) -> CliResult<&'m PathBuf> {
    let path = matches.get_one(id);
    path.ok_or_else(|| CliError::usage("MODEL is missing; it names the file of the model"))
}

/// Opens the model of the argument `id`. Returns its name for reports, too.
fn open_argument(matches: &ArgMatches, id: &str) -> CliResult<(String, Tokenizer)> {
    let path = model_path(matches, id)?;
    let options = args::opening_options(matches)?;
    let tokenizer = Tokenizer::open_with(path, &options)?;
    Ok((path.display().to_string(), tokenizer))
}

/// Inspects the model and the texts, and writes the report.
pub(crate) fn run(matches: &ArgMatches) -> CliResult {
    if args::text(matches, "format") == "flags" {
        return write_flags(matches);
    }
    let format = ReportFormat::new(matches)?;
    let files = text_files(matches)?;
    let wants_languages = args::is_on(matches, "languages")?;
    let wants_runtimes = args::is_on(matches, "runtimes")?;
    let messages = args::messages(matches)?;
    let (model_name, tokenizer) = open_argument(matches, "model")?;
    let runtimes = match wants_runtimes {
        true => Some(messages.during("converting", || known_runtimes(&model_name, &tokenizer))?),
        false => None,
    };
    with_output(args::output_file(matches).map(str::as_ref), |output| {
        let text = text_report(matches, &files, &tokenizer)?;
        let report = messages.during("inspecting", || {
            CliResult::Ok(InspectReport {
                text,
                languages: wants_languages.then(|| language_costs(&tokenizer)),
                runtimes,
                ..InspectReport::new(model_name, &tokenizer)?
            })
        })?;
        let bytes = format.render(&report);
        output.write_all(&bytes).map_err(output_error)
    })
}

/// The programs that read the model.
fn known_runtimes(model_name: &str, tokenizer: &Tokenizer) -> CliResult<Vec<Runtime>> {
    runtimes(tokenizer).ok_or_else(|| {
        CliError::Error(format!(
            "{model_name}: --runtimes is for SentencePiece models and byte-level vocabularies, and this is another pipeline of \
             tokenizers; docs/RUNTIMES.md says what other programs do with a tokenizer.json"
        ))
    })
}

/// Writes the recorded options of training as flags, and a warning for each thing that they do not
/// say.
fn write_flags(matches: &ArgMatches) -> CliResult {
    let wants_more = args::is_on(matches, "languages")? || args::is_on(matches, "runtimes")?;
    if wants_more || !text_files(matches)?.is_empty() {
        let message =
            "--format=flags is about the model alone; leave --text, --languages and --runtimes out";
        return Err(CliError::usage(message));
    }
    let messages = args::messages(matches)?;
    let (_, tokenizer) = open_argument(matches, "model")?;
    let record = tokenizer.require_model()?.training_record();
    for gap in &record.gaps {
        messages.warn(&gap.to_string());
    }
    with_output(args::output_file(matches).map(str::as_ref), |output| {
        let line = flags::command_line(&record);
        output.write_all(&line).map_err(output_error)
    })
}

/// Encodes the texts; `None` if there are none.
fn text_report(
    matches: &ArgMatches,
    files: &[PathBuf],
    tokenizer: &Tokenizer,
) -> CliResult<Option<TextReport>> {
    if files.is_empty() {
        return Ok(None);
    }
    let mut costs = Vec::new();
    // The sums of the files before.
    let (mut lines, mut bytes, mut tokens) = (0, 0, 0);
    let counter = Lines::new(matches)?.gather(files, &Counting(tokenizer), |file, counter| {
        let sums = counter.sums();
        costs.push(TextFile {
            name: file.display().to_string(),
            lines: sums.lines - lines,
            bytes: sums.bytes - bytes,
            tokens: sums.tokens - tokens,
        });
        (lines, bytes, tokens) = (sums.lines, sums.bytes, sums.tokens);
    })?;
    Ok(Some(TextReport {
        files: costs,
        statistics: counter.finish(),
    }))
}

/// Counts the tokens of lines.
struct Counting<'t>(&'t Tokenizer);

impl<'t> Gathering for Counting<'t> {
    type Part = TextCounter<'t>;

    fn part(&self) -> TextCounter<'t> {
        TextCounter::new(self.0)
    }

    fn add(&self, part: &mut TextCounter<'t>, number: u64, line: &[u8]) {
        part.add_line(number, line);
    }

    fn merge(&self, part: &mut TextCounter<'t>, other: TextCounter<'t>) {
        part.merge(other);
    }

    fn lines(&self, part: &TextCounter<'t>) -> u64 {
        part.sums().lines
    }
}
