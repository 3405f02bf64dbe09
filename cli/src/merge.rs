//! `spiece merge`: the pieces of one model, then those of a second one that the first lacks.
//!
//! Input: two models of one type. Output: OUT.model and OUT.vocab, and a report. Before the files
//! are written, the guarantees are checked with the texts of all pieces, and with the lines of
//! `--text`. Cost: that of [`spiece::Model::merge`].
//!
//! ```text
//! $ spiece merge testdata/golden/coverage_1.model testdata/golden/exhausted.model --model_prefix=both
//! pieces: 2,500 of A, 42 of B added, 2,542 together
//! old ids: 2,500 unchanged
//! unreachable pieces of B: 0
//! pieces of A that became unreachable: 0
//! checked: 2,542 texts, 4,839 tokens with A, 4,766 now; 2,498 without added pieces have the same ids
//! checked: 2,542 texts have no new boundary
//! written: both.model, both.vocab
//! ```

use clap::{ArgMatches, Command};

use super::args;
use super::io::{CliError, CliResult};
use super::model_files::{self, OutputSet, count, listed, listed_pieces};
use super::progress::Messages;
use spiece::{MergeError, MergeOptions, MergedModel, Model};

/// The command line: two models, the output, options.
pub(crate) fn command() -> Command {
    let command = Command::new("merge")
        .about("Adds the pieces of a second model to those of a first one, whose ids stay")
        .long_about(
            "Adds the pieces of the model B that the model A lacks behind the pieces of A, with scores below all of A's. The \
             ids of A stay. In BPE models no text gets a token boundary that it did not have with A, so never more tokens. \
             Pieces of B that no text would give are reported.\n\nExample:\n  spiece merge english.model chinese.model \
             --model_prefix=both --drop_unreachable",
        )
        .arg(model_files::model_argument("A", "The first .model file, whose ids, scores and flags stay"))
        .arg(model_files::model_argument("B", "The second .model file, of the same type"))
        .arg(model_files::prefix_flag())
        .args([
            args::switch("drop_unreachable", "Do not add pieces of B that no text would give"),
            args::switch("force", "Merge although B normalizes text differently; A's normalization is kept"),
            model_files::text_flag(),
        ]);
    args::with_common_flags(command)
}

/// Merges the models, checks, writes and reports.
pub(crate) fn run(matches: &ArgMatches) -> CliResult {
    let messages = args::messages(matches)?;
    let first = model_files::open_model(matches, "A")?;
    let second = model_files::open_model(matches, "B")?;
    let mut options = MergeOptions::default();
    options.drop_unreachable = args::is_on(matches, "drop_unreachable")?;
    options.allow_other_normalizer = args::is_on(matches, "force")?;
    let mut output = OutputSet::new(matches, &[".model", ".vocab"])?;
    let merged = first.merge(&second, &options)?;
    let models = [&first, merged.model()];
    let counts = model_files::compare_text(matches, &messages, merged.ids(), models)?;
    output.add_model(merged.model(), &messages);
    let written = output.write()?;
    report(&messages, &first, &merged);
    model_files::report_lines(&messages, counts);
    model_files::warn_of_older_releases(&messages, merged.model());
    messages.say(&format!("written: {written}"));
    Ok(())
}

/// Writes what became of the pieces.
fn report(messages: &Messages, first: &Model, merged: &MergedModel) {
    messages.say(&pieces_line(first, merged.model()));
    messages.say(&format!("old ids: {} unchanged", count(first.len())));
    messages.say(&unreachable_line(merged));
    let dropped = "not added, because no text would give them";
    report_left_out(messages, dropped, || merged.dropped());
    let skipped = "not added, because of their kind";
    report_left_out(messages, skipped, || merged.skipped());
    messages.say(&lost_line(first, merged));
}

/// The numbers of pieces.
fn pieces_line(first: &Model, model: &Model) -> String {
    let old = count(first.len());
    let added = count(model.len() - first.len());
    let all = count(model.len());
    format!("pieces: {old} of A, {added} of B added, {all} together")
}

/// Which added pieces no text gives.
fn unreachable_line(merged: &MergedModel) -> String {
    let ids = merged.unreachable();
    let pieces = ids.iter().filter_map(|id| merged.model().piece(*id));
    let line = format!("unreachable pieces of B: {}", count(ids.len()));
    with_list(&line, &listed_pieces(pieces))
}

/// Writes which pieces were left out for a reason, if any.
fn report_left_out<'t, T: Iterator<Item = &'t [u8]>>(
    messages: &Messages,
    reason: &str,
    texts: impl Fn() -> T,
) {
    let number = texts().count();
    if number > 0 {
        let line = format!("{reason}: {}", count(number));
        messages.say(&with_list(&line, &listed(texts())));
    }
}

/// Which pieces of A no text gives now.
fn lost_line(first: &Model, merged: &MergedModel) -> String {
    let ids = merged.no_longer_found();
    let pieces = ids.iter().filter_map(|id| first.piece(*id));
    let line = format!("pieces of A that became unreachable: {}", count(ids.len()));
    with_list(&line, &listed_pieces(pieces))
}

/// A line with a list behind it, if that is not empty.
fn with_list(line: &str, list: &str) -> String {
    if list.is_empty() {
        return line.to_owned();
    }
    format!("{line}: {list}")
}

/// Models that cannot be merged are a failure of the operation.
impl From<MergeError> for CliError {
    fn from(error: MergeError) -> Self {
        let message = error.to_string();
        match error {
            MergeError::Normalizer => Self::Error(format!("{message} with --force")),
            _ => Self::Error(message),
        }
    }
}
