//! `spiece compare`: two models on the same text.
//!
//! The report says which pieces are shared, which ids change, how many lines are equal, which
//! boundaries only one model has, how many tokens both have, and which lines differ most. The exit
//! status is 0 if all lines have the same ids and 1 if not, so a script can check that a changed
//! model gives the same ids. All threads encode lines; the report does not depend on their number.
//!
//! ```text
//! $ spiece compare old.model new.model --text=text.txt | grep boundaries
//! boundaries           51234 shared, 310 only in A, 0 only in B
//! ```
//!
//! Here B joins tokens of A and splits none. docs/INSPECT.md describes the report and its JSON
//! keys.

use std::borrow::Cow;
use std::path::PathBuf;

use clap::{ArgMatches, Command};
use serde::Serialize;

use super::args;
use super::documents::document_flags;
use super::inspect::json;
use super::inspect::report::{InspectReport, place_of, share};
use super::inspect::text;
use super::inspect::{
    ReportFormat, format_flag, model_argument, model_path, text_files, text_flag,
};
use super::io::{CliError, CliResult};
use super::sheet::{Sheet, html};
use super::stream::{Gathering, Lines, output_error, threads_flag, with_output};
use super::visible::visible;
use spiece::formats::{ByteFormatOptions, FormatError};
use spiece::inspect::{
    Comparison, ComparisonCounter, ComparisonSums, DifferentLine, VocabularyComparison,
};
use spiece::{OpenError, Tokenizer};

/// The command line: two models, texts, format and output.
pub(crate) fn command() -> Command {
    let command = Command::new("compare")
        .about("Compares two models on a text; exit status 1 if ids differ")
        .long_about(
            "Compares two models on a text: shared pieces, changed ids, equal lines, boundaries that only one of them \
             has, tokens of each. Both may be of any kind: SentencePiece models, byte-level vocabularies, BERT's vocab.txt, the pipeline of a tokenizer.json. The exit status is 0 if all lines have equal ids, 1 if not (and if the run fails, \
             with a message), 2 if the command line is wrong.\n\nExample:\n  spiece compare old.model new.model \
             --text=text.txt\n  spiece compare old.model new.model --text=text.txt --format=html \
             --output=report.html",
        )
        .args([
            model_argument("a", "A", args::MODEL_HELP),
            model_argument("b", "B", "The second model, of any of these formats"),
            text_flag("The text to encode; repeat it for several files; - is standard input; required unless --format=html"),
            format_flag(),
            args::output_flag(),
            threads_flag(),
        ])
        .args(args::opening_flags())
        .args(document_flags());
    args::with_common_flags(command)
}

/// Everything that a report says.
struct ComparisonReport<'t> {
    a: ComparedSide<'t>,
    b: ComparedSide<'t>,
    files: Vec<ComparedFile>,
    comparison: Comparison,
}

/// One of the models.
struct ComparedSide<'t> {
    /// The model as the command line names it.
    name: String,
    tokenizer: &'t Tokenizer,
}

impl<'t> ComparedSide<'t> {
    /// The report on the model.
    fn inspect(&self) -> CliResult<InspectReport<'t>> {
        InspectReport::new(self.name.clone(), self.tokenizer)
    }
}

/// One of the texts.
#[derive(Serialize)]
struct ComparedFile {
    #[serde(rename = "file")]
    name: String,
    lines: u64,
    equal_lines: u64,
    tokens_a: u64,
    tokens_b: u64,
}

/// Compares the models and writes the report.
pub(crate) fn run(matches: &ArgMatches) -> CliResult {
    let format = ReportFormat::new(matches)?;
    let files = text_files(matches)?;
    if files.is_empty() && format != ReportFormat::Html {
        let remedy = "it names the text that both models encode";
        return Err(args::missing("text", remedy));
    }
    let a = OpenedSide::new(matches, "a")?;
    let b = OpenedSide::new(matches, "b")?;
    if args::is_given(matches, args::LOWERCASE) && !a.takes_lowercase && !b.takes_lowercase {
        return Err(CliError::usage(
            "--lowercase is for BERT's vocab.txt, and neither A nor B is one; leave it out",
        ));
    }
    let mut has_equal_ids = false;
    with_output(args::output_file(matches).map(str::as_ref), |output| {
        let (files, comparison) = compare(
            matches,
            &files,
            &Comparing {
                a: &a.tokenizer,
                b: &b.tokenizer,
            },
        )?;
        has_equal_ids = comparison.sums.has_equal_ids();
        let report = ComparisonReport {
            a: ComparedSide {
                name: a.name,
                tokenizer: &a.tokenizer,
            },
            b: ComparedSide {
                name: b.name,
                tokenizer: &b.tokenizer,
            },
            files,
            comparison,
        };
        let messages = args::messages(matches)?;
        let page = messages.during("comparing vocabularies", || report.in_format(format))?;
        output.write_all(&page).map_err(output_error)
    })?;
    if has_equal_ids {
        Ok(())
    } else {
        Err(CliError::Different)
    }
}

/// One of the models, as it is opened.
struct OpenedSide {
    /// The model as the command line names it.
    name: String,
    tokenizer: Tokenizer,
    /// Whether `--lowercase` has an effect on it.
    takes_lowercase: bool,
}

impl OpenedSide {
    /// Opens one of the models, with `--lowercase` only if it is a `vocab.txt`, and `--pattern` only if
    /// its file needs that: the other one may have its own.
    fn new(matches: &ArgMatches, id: &str) -> CliResult<Self> {
        let path = model_path(matches, id)?;
        let mut options = args::opening_options(matches)?;
        let mut without_pattern = ByteFormatOptions::default();
        without_pattern.lowercase = options.lowercase;
        let mut opened = Tokenizer::open_with(path, &without_pattern);
        if let Err(error) = &opened
            && let OpenError::Format(FormatError::BertOptionGiven { .. }) = error.without_path()
        {
            options.lowercase = None;
            opened = Tokenizer::open(path);
        }
        let tokenizer = match opened {
            Ok(tokenizer) => tokenizer,
            Err(_) => Tokenizer::open_with(path, &options)?,
        };
        Ok(Self {
            name: path.display().to_string(),
            tokenizer,
            takes_lowercase: options.lowercase.is_some(),
        })
    }
}

/// Encodes all files with both models.
fn compare(
    matches: &ArgMatches,
    files: &[PathBuf],
    comparing: &Comparing<'_>,
) -> CliResult<(Vec<ComparedFile>, Comparison)> {
    let mut compared = Vec::new();
    let mut before = ComparisonSums::default();
    let counter = Lines::new(matches)?.gather(files, comparing, |file, counter| {
        let sums = counter.sums();
        compared.push(ComparedFile {
            name: file.display().to_string(),
            lines: sums.lines - before.lines,
            equal_lines: sums.equal_lines - before.equal_lines,
            tokens_a: sums.tokens_a - before.tokens_a,
            tokens_b: sums.tokens_b - before.tokens_b,
        });
        before = *sums;
    })?;
    Ok((compared, counter.finish()))
}

/// Compares two models on lines.
struct Comparing<'t> {
    a: &'t Tokenizer,
    b: &'t Tokenizer,
}

impl<'t> Gathering for Comparing<'t> {
    type Part = ComparisonCounter<'t>;

    fn part(&self) -> ComparisonCounter<'t> {
        ComparisonCounter::new(self.a, self.b)
    }

    fn add(&self, part: &mut ComparisonCounter<'t>, number: u64, line: &[u8]) {
        part.add_line(number, line);
    }

    fn merge(&self, part: &mut ComparisonCounter<'t>, other: ComparisonCounter<'t>) {
        part.merge(other);
    }

    fn lines(&self, part: &ComparisonCounter<'t>) -> u64 {
        part.sums().lines
    }
}

impl ComparisonReport<'_> {
    /// The report in this format.
    fn in_format(&self, format: ReportFormat) -> CliResult<Vec<u8>> {
        Ok(match format {
            ReportFormat::Text => self.sheet().to_text(),
            ReportFormat::Json => json::document(&self.json()),
            ReportFormat::Html => {
                let names = [&self.a, &self.b].map(|side| visible(side.name.as_bytes()));
                let sheets = [
                    ("", self.sheet()),
                    ("A", text::sheet(&self.a.inspect()?)),
                    ("B", text::sheet(&self.b.inspect()?)),
                ];
                html::page(
                    &format!("{} - spiece compare", names.join(" and ")),
                    &sheets,
                )
            }
        })
    }

    /// The file of a line, and the line number in that file.
    fn place_of(&self, line: &DifferentLine) -> (&str, u64) {
        let files = self.files.iter();
        place_of(
            files.map(|file| (file.name.as_str(), file.lines)),
            line.number,
        )
    }

    /// The report for people.
    fn sheet(&self) -> Sheet {
        let mut out = Sheet::default();
        out.row("A", visible(self.a.name.as_bytes()));
        out.row("B", visible(self.b.name.as_bytes()));
        write_vocabulary(&self.comparison.vocabulary, &mut out);
        for file in &self.files {
            out.row(
                "file",
                format!(
                    "{}: {} of {} lines equal, {} tokens in A, {} in B",
                    visible(file.name.as_bytes()),
                    file.equal_lines,
                    file.lines,
                    file.tokens_a,
                    file.tokens_b
                ),
            );
        }
        write_sums(&self.comparison.sums, &mut out);
        let worst_lines = self.comparison.worst_lines.iter().map(|line| {
            let (file, number) = self.place_of(line);
            format!(
                "{}:{number}: {} tokens in A, {} in B: {}",
                visible(file.as_bytes()),
                line.tokens_a,
                line.tokens_b,
                visible(&line.text)
            )
        });
        out.list("lines that differ most", worst_lines);
        out
    }

    /// The report as JSON.
    fn json(&self) -> CompareJson<'_> {
        let worst_lines = self.comparison.worst_lines.iter().map(|line| {
            let (file, number) = self.place_of(line);
            DifferentLineJson {
                file,
                line: number,
                tokens_a: line.tokens_a,
                tokens_b: line.tokens_b,
                text: json::text(&line.text),
            }
        });
        CompareJson {
            a: &self.a.name,
            b: &self.b.name,
            equal_ids: self.comparison.sums.has_equal_ids(),
            vocabulary: &self.comparison.vocabulary,
            files: &self.files,
            sums: self.comparison.sums,
            worst_lines: worst_lines.collect(),
        }
    }
}

/// Pieces, and what changes of those that both models have.
fn write_vocabulary(found: &VocabularyComparison, out: &mut Sheet) {
    out.row(
        "pieces",
        format!(
            "{} in A, {} in B, {} in both",
            found.pieces_a, found.pieces_b, found.shared
        ),
    );
    out.row("changed ids", found.changed_ids.to_string());
    out.row("changed scores", found.changed_scores.to_string());
    let changes = found.first_changes.iter().take(5);
    let changes = changes.map(|change| {
        let text = visible(&change.piece);
        format!("{text} {} in A, {} in B", change.a, change.b)
    });
    let changes: Vec<String> = changes.collect();
    if !changes.is_empty() {
        out.row("first of them", changes.join("; "));
    }
}

/// Lines, tokens and boundaries of all texts.
fn write_sums(sums: &ComparisonSums, out: &mut Sheet) {
    out.row(
        "equal lines",
        format!("{} of {}", sums.equal_lines, sums.lines),
    );
    out.row(
        "tokens",
        format!(
            "{} in A, {} in B ({:.4} x)",
            sums.tokens_a,
            sums.tokens_b,
            share(sums.tokens_b, sums.tokens_a)
        ),
    );
    out.row(
        "shorter lines",
        format!("{} in A, {} in B", sums.shorter_a, sums.shorter_b),
    );
    out.row(
        "boundaries",
        format!(
            "{} shared, {} only in A, {} only in B",
            sums.shared_boundaries, sums.boundaries_only_a, sums.boundaries_only_b
        ),
    );
    out.row(
        "lines with them",
        format!(
            "{} with one only in A, {} with one only in B",
            sums.lines_with_boundaries_only_a, sums.lines_with_boundaries_only_b
        ),
    );
}

/// The keys of the report; docs/INSPECT.md describes them.
#[derive(Serialize)]
struct CompareJson<'r> {
    a: &'r str,
    b: &'r str,
    equal_ids: bool,
    vocabulary: &'r VocabularyComparison,
    files: &'r [ComparedFile],
    #[serde(flatten)]
    sums: ComparisonSums,
    worst_lines: Vec<DifferentLineJson<'r>>,
}

#[derive(Serialize)]
struct DifferentLineJson<'r> {
    file: &'r str,
    line: u64,
    tokens_a: u64,
    tokens_b: u64,
    text: Cow<'r, str>,
}
