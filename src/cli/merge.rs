//! `spiece merge`: the pieces of one model, then those of a second one that the first lacks.
//!
//! Input: two models of one type. Output: OUT.model and OUT.vocab, and a report. Before the files are written, the
//! guarantees are checked with the texts of all pieces, and with the lines of `--text`. Cost: that of
//! [`crate::Model::merge`].
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
use crate::{MergeError, MergeOptions, MergedModel, Model};

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
            args::file("text", "Lines to check the new model with, besides the texts of its pieces"),
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
    let text = model_files::text_of_flag(matches, "text")?;
    let check = merged.check(&first, model_files::lines(&text))?;
    output.add_model(merged.model());
    let written = output.write()?;
    report(&messages, &first, &merged);
    model_files::report_boundaries(&messages, &check, ["with A", "added"]);
    messages.say(&format!("written: {written}"));
    Ok(())
}

/// Writes what became of the pieces.
fn report(messages: &Messages, first: &Model, merged: &MergedModel) {
    let model = merged.model();
    messages.say(&format!(
        "pieces: {} of A, {} of B added, {} together",
        count(first.len()),
        count(model.len() - first.len()),
        count(model.len())
    ));
    messages.say(&format!("old ids: {} unchanged", count(first.len())));
    let pieces = merged
        .unreachable()
        .iter()
        .filter_map(|id| model.piece(*id));
    let unreachable = merged.unreachable().len();
    messages.say(&with_list(
        &format!("unreachable pieces of B: {}", count(unreachable)),
        &listed_pieces(pieces),
    ));
    let lists = [
        (
            "not added, because no text would give them",
            merged.dropped().count(),
            listed(merged.dropped()),
        ),
        (
            "not added, because of their kind",
            merged.skipped().count(),
            listed(merged.skipped()),
        ),
    ];
    for (name, number, list) in lists.iter().filter(|(_, number, _)| *number > 0) {
        messages.say(&with_list(&format!("{name}: {}", count(*number)), list));
    }
    let lost = merged.no_longer_found();
    let list = listed_pieces(lost.iter().filter_map(|id| first.piece(*id)));
    messages.say(&with_list(
        &format!("pieces of A that became unreachable: {}", count(lost.len())),
        &list,
    ));
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
