//! `spiece compare`: two models on the same text.
//!
//! Input: two models, A and B, and texts. Output: a report as text, JSON or HTML: shared pieces,
//! changed ids, equal lines, boundaries that only one model has, the token counts of both, and the
//! lines that differ most. The exit status is 0 if all lines have the same ids and 1 if not, so a
//! script can check that a changed model gives the same ids. Method: all threads encode lines; the
//! report does not depend on the number of threads. Cost: one encoding with spans by each model.
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
use super::inspect::html::render_comparison;
use super::inspect::json;
use super::inspect::report::{InspectReport, piece_text, place_of, share};
use super::inspect::{
    ReportFormat, format_flag, model_argument, open_argument, text_files, text_flag,
};
use super::io::{CliError, CliResult};
use super::stream::{Gathering, Lines, output_error, threads_flag, with_output};
use super::table::TextTable;
use super::visible::visible;
use spiece::inspect::{
    Comparison, ComparisonCounter, DifferentLine, Inspection, VocabularyComparison,
};
use spiece::{PieceId, Tokenizer};

/// The command line: two models, texts, format and output.
pub(crate) fn command() -> Command {
    let command = Command::new("compare")
        .about("Compares two models on a text; exit status 1 if ids differ")
        .long_about(
            "Compares two models on a text: shared pieces, changed ids, equal lines, boundaries that only one of them \
             has, tokens of each. The exit status is 0 if all lines have equal ids, 1 if not (and if the run fails, \
             with a message), 2 if the command line is wrong.\n\nExample:\n  spiece compare old.model new.model \
             --text=text.txt\n  spiece compare old.model new.model --format=html \
             --output=report.html   # type a text, see both tokenizations",
        )
        .args([
            model_argument("a", "A", "The first .model file"),
            model_argument("b", "B", "The second .model file"),
            text_flag("The text to encode; repeat it for several files; - is standard input; required unless --format=html"),
            format_flag(),
            args::output_flag(),
            threads_flag(),
        ])
        .args(document_flags());
    args::with_common_flags(command)
}

/// Everything that a report says.
struct ComparisonReport<'t> {
    a: Side<'t>,
    b: Side<'t>,
    files: Vec<ComparedFile>,
    comparison: Comparison,
}

/// One of the models.
struct Side<'t> {
    /// The model as the command line names it.
    name: String,
    tokenizer: &'t Tokenizer,
}

impl<'t> Side<'t> {
    fn new(name: String, tokenizer: &'t Tokenizer) -> Self {
        Self { name, tokenizer }
    }

    /// The report on the model.
    fn inspect(&self) -> InspectReport<'t> {
        InspectReport {
            model_name: self.name.clone(),
            tokenizer: self.tokenizer,
            inspection: Inspection::new(self.tokenizer),
            text: None,
            languages: None,
        }
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
    let (name_a, a) = open_argument(matches, "a")?;
    let (name_b, b) = open_argument(matches, "b")?;
    let mut has_equal_ids = false;
    with_output(args::output_file(matches).map(str::as_ref), |output| {
        let (files, comparison) = compare(matches, &files, &Comparing { a: &a, b: &b })?;
        has_equal_ids = comparison.has_equal_ids();
        let report = ComparisonReport {
            a: Side::new(name_a, &a),
            b: Side::new(name_b, &b),
            files,
            comparison,
        };
        output
            .write_all(&report.in_format(format))
            .map_err(output_error)
    })?;
    if has_equal_ids {
        Ok(())
    } else {
        Err(CliError::Different)
    }
}

/// Encodes all files with both models.
fn compare(
    matches: &ArgMatches,
    files: &[PathBuf],
    comparing: &Comparing<'_>,
) -> CliResult<(Vec<ComparedFile>, Comparison)> {
    let mut compared = Vec::new();
    let mut before = Comparison::default();
    let counter = Lines::new(matches)?.gather(files, comparing, |file, counter| {
        let sums = counter.sums();
        compared.push(ComparedFile {
            name: file.display().to_string(),
            lines: sums.lines - before.lines,
            equal_lines: sums.equal_lines - before.equal_lines,
            tokens_a: sums.tokens_a - before.tokens_a,
            tokens_b: sums.tokens_b - before.tokens_b,
        });
        before = sums.clone();
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
    fn in_format(&self, format: ReportFormat) -> Vec<u8> {
        match format {
            ReportFormat::Text => self.text(),
            ReportFormat::Json => json::document(&self.json()),
            ReportFormat::Html => self.html(),
        }
    }

    /// The file of a line, and the line number in that file.
    fn place_of(&self, line: &DifferentLine) -> (&str, u64) {
        let files = self.files.iter().map(ComparedFile::name_and_lines);
        place_of(files, line.number)
    }

    /// The report for a terminal.
    fn text(&self) -> Vec<u8> {
        let mut out = TextTable::default();
        out.row("A", &visible(self.a.name.as_bytes()));
        out.row("B", &visible(self.b.name.as_bytes()));
        self.write_vocabulary(&mut out);
        for file in &self.files {
            out.row("file", &file.row());
        }
        self.write_totals(&mut out);
        out.heading("lines that differ most");
        self.write_worst_lines(&mut out);
        out.into_bytes()
    }

    /// The vocabularies.
    fn write_vocabulary(&self, out: &mut TextTable) {
        let vocabulary = &self.comparison.vocabulary;
        out.row("pieces", &pieces_row(vocabulary));
        out.row("changed ids", &vocabulary.changed_ids.to_string());
        out.row("changed scores", &vocabulary.changed_scores.to_string());
        for change in vocabulary.first_changes.iter().take(5) {
            let text = visible(piece_text(self.a.tokenizer, change.a));
            out.item(&format!("{text}: {} in A, {} in B", change.a, change.b));
        }
    }

    /// Lines, tokens and boundaries of all files.
    fn write_totals(&self, out: &mut TextTable) {
        let found = &self.comparison;
        let lines = format!("{} of {}", found.equal_lines, found.lines);
        out.row("equal lines", &lines);
        out.row("tokens", &tokens_row(found));
        let shorter = format!("{} in A, {} in B", found.shorter_a, found.shorter_b);
        out.row("shorter lines", &shorter);
        out.row("boundaries", &boundaries_row(found));
        out.row("lines with them", &lines_with_boundaries_row(found));
    }

    /// The lines that differ most.
    fn write_worst_lines(&self, out: &mut TextTable) {
        for line in &self.comparison.worst_lines {
            out.item(&self.worst_line(line));
        }
    }

    /// A line that differs, with its place and its token counts.
    fn worst_line(&self, line: &DifferentLine) -> String {
        let (file, number) = self.place_of(line);
        format!(
            "{}:{number}: {} tokens in A, {} in B: {}",
            visible(file.as_bytes()),
            line.tokens_a,
            line.tokens_b,
            visible(&line.text)
        )
    }

    /// The report as an HTML page, with the reports on both models.
    fn html(&self) -> Vec<u8> {
        let a = self.a.inspect();
        let b = self.b.inspect();
        render_comparison([&a, &b], &self.json())
    }

    /// The report as JSON.
    fn json(&self) -> ComparisonJson<'_> {
        let found = &self.comparison;
        let vocabulary = &found.vocabulary;
        ComparisonJson {
            a: &self.a.name,
            b: &self.b.name,
            equal_ids: found.has_equal_ids(),
            vocabulary: VocabularyJson {
                pieces_a: vocabulary.pieces_a,
                pieces_b: vocabulary.pieces_b,
                shared: vocabulary.shared,
                changed_ids: vocabulary.changed_ids,
                changed_scores: vocabulary.changed_scores,
                first_changes: (vocabulary.first_changes.iter())
                    .map(|change| ChangeJson {
                        piece: json::text(piece_text(self.a.tokenizer, change.a)),
                        a: change.a,
                        b: change.b,
                    })
                    .collect(),
            },
            files: &self.files,
            lines: found.lines,
            equal_lines: found.equal_lines,
            bytes: found.bytes,
            tokens_a: found.tokens_a,
            tokens_b: found.tokens_b,
            shorter_a: found.shorter_a,
            shorter_b: found.shorter_b,
            shared_boundaries: found.shared_boundaries,
            boundaries_only_a: found.only_a,
            boundaries_only_b: found.only_b,
            lines_with_boundaries_only_a: found.lines_only_a,
            lines_with_boundaries_only_b: found.lines_only_b,
            worst_lines: (found.worst_lines.iter())
                .map(|line| {
                    let (file, number) = self.place_of(line);
                    LineJson {
                        file,
                        line: number,
                        tokens_a: line.tokens_a,
                        tokens_b: line.tokens_b,
                        text: json::text(&line.text),
                    }
                })
                .collect(),
        }
    }
}

/// The keys of the report; docs/INSPECT.md describes them.
#[derive(Serialize)]
struct ComparisonJson<'r> {
    a: &'r str,
    b: &'r str,
    equal_ids: bool,
    vocabulary: VocabularyJson<'r>,
    files: &'r [ComparedFile],
    lines: u64,
    equal_lines: u64,
    bytes: u64,
    tokens_a: u64,
    tokens_b: u64,
    shorter_a: u64,
    shorter_b: u64,
    shared_boundaries: u64,
    boundaries_only_a: u64,
    boundaries_only_b: u64,
    lines_with_boundaries_only_a: u64,
    lines_with_boundaries_only_b: u64,
    worst_lines: Vec<LineJson<'r>>,
}

#[derive(Serialize)]
struct VocabularyJson<'r> {
    pieces_a: u64,
    pieces_b: u64,
    shared: u64,
    changed_ids: u64,
    changed_scores: u64,
    first_changes: Vec<ChangeJson<'r>>,
}

#[derive(Serialize)]
struct ChangeJson<'r> {
    piece: Cow<'r, str>,
    a: PieceId,
    b: PieceId,
}

#[derive(Serialize)]
struct LineJson<'r> {
    file: &'r str,
    line: u64,
    tokens_a: u64,
    tokens_b: u64,
    text: Cow<'r, str>,
}

fn pieces_row(found: &VocabularyComparison) -> String {
    format!(
        "{} in A, {} in B, {} in both",
        found.pieces_a, found.pieces_b, found.shared
    )
}

fn tokens_row(found: &Comparison) -> String {
    format!(
        "{} in A, {} in B ({:.4} x)",
        found.tokens_a,
        found.tokens_b,
        share(found.tokens_b, found.tokens_a)
    )
}

fn boundaries_row(found: &Comparison) -> String {
    format!(
        "{} shared, {} only in A, {} only in B",
        found.shared_boundaries, found.only_a, found.only_b
    )
}

fn lines_with_boundaries_row(found: &Comparison) -> String {
    format!(
        "{} with one only in A, {} with one only in B",
        found.lines_only_a, found.lines_only_b
    )
}

impl ComparedFile {
    fn name_and_lines(&self) -> (&str, u64) {
        (&self.name, self.lines)
    }

    /// The row of the file in the report for a terminal.
    fn row(&self) -> String {
        format!(
            "{}: {} of {} lines equal, {} tokens in A, {} in B",
            visible(self.name.as_bytes()),
            self.equal_lines,
            self.lines,
            self.tokens_a,
            self.tokens_b
        )
    }
}
