//! `spiece merge`: the pieces of one model, then those of a second one that the first lacks.
//!
//! With `--text`, the lines of that file are encoded before and after.
//!
//! ```text
//! $ spiece merge testdata/golden/coverage_1.model testdata/golden/exhausted.model --model_prefix=both
//! pieces: 2,500 of A, 42 of B added, 2,542 together
//! old ids: 2,500 unchanged
//! unreachable pieces of B: 0
//! pieces of A that became unreachable: 0
//! written: both.model, both.vocab
//! ```

mod bytes;

use clap::{ArgMatches, Command};

use super::args;
use super::byte_files;
use super::io::{CliError, CliResult};
use super::model_files::{self, OutputSet, count, listed, listed_pieces};
use super::progress::Messages;
use spiece::Model;
use spiece::adapt::{MergeError, MergeOptions, MergedModel};

/// The command line: two models, the output, options.
pub(crate) fn command() -> Command {
    let command = Command::new("merge")
        .about("Adds the pieces of a second model to those of a first one, whose ids stay")
        .long_about(
            "Adds the pieces of the model B that the model A lacks after the pieces of A, with scores below all of A's. The \
             ids of A stay. In BPE models no text gets a token boundary that it did not have with A, so never more tokens. \
             Pieces of B that no text would give are reported. A and B can be byte-level vocabularies; then the files of \
             --format are written.\n\nExample:\n  spiece merge english.model chinese.model \
             --model_prefix=both --drop_unreachable",
        )
        .arg(model_files::model_argument("A", "The first .model file or byte-level vocabulary, whose ids, scores and flags stay"))
        .arg(model_files::model_argument("B", "The second one, of the same type"))
        .arg(model_files::prefix_flag())
        .args([
            args::switch("drop_unreachable", "Do not add pieces of B that no text would give"),
            args::switch("force", "Merge although B normalizes or cuts text differently; what A does is kept"),
            model_files::text_flag(),
            byte_files::format_flag(),
        ])
        .args(args::vocabulary_flags());
    args::with_common_flags(command)
}

/// Merges the models, checks, writes and reports.
pub(crate) fn run(matches: &ArgMatches) -> CliResult {
    let messages = args::messages(matches)?;
    let mut options = MergeOptions::default();
    options.drop_unreachable = args::is_on(matches, "drop_unreachable")?;
    options.allow_other_normalizer = args::is_on(matches, "force")?;
    if let Some(first) = byte_files::open_one(matches, "A")? {
        let second = byte_files::open_one(matches, "B")?;
        return bytes::run(matches, &messages, (&first, second.as_ref()), &options);
    }
    byte_files::refuse_for_model(matches, "A", &[])?;
    let first = model_files::open_model(matches, "A")?;
    let second = model_files::open_model(matches, "B")?;
    let text = model_files::text(matches, &messages)?;
    let mut output = OutputSet::new(matches, &[".model", ".vocab"])?;
    let merged = messages.during("merging", || first.merge(&second, &options))?;
    let models = [&first, merged.model()];
    let counts = model_files::compare_lines(text, merged.ids(), models, &messages);
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
    let model = merged.model();
    messages.say(&format!(
        "pieces: {} of A, {} of B added, {} together",
        count(first.len()),
        count(model.len() - first.len()),
        count(model.len())
    ));
    messages.say(&format!("old ids: {} unchanged", count(first.len())));
    let say = |what: &str, number, list| say_list(messages, what, number, list);
    let unreachable = merged.unreachable();
    let pieces = unreachable.iter().filter_map(|id| model.piece(*id));
    say(
        "unreachable pieces of B",
        unreachable.len(),
        listed_pieces(pieces),
    );
    if merged.dropped().next().is_some() {
        let texts = listed(merged.dropped());
        say(
            "not added, because no text would give them",
            merged.dropped().count(),
            texts,
        );
    }
    if merged.skipped().next().is_some() {
        let texts = listed(merged.skipped());
        say(
            "not added, because of their kind",
            merged.skipped().count(),
            texts,
        );
    }
    let lost = merged.no_longer_found();
    let pieces = lost.iter().filter_map(|id| first.piece(*id));
    say(
        "pieces of A that became unreachable",
        lost.len(),
        listed_pieces(pieces),
    );
}

/// Writes a number of pieces, and which ones.
fn say_list(messages: &Messages, what: &str, number: usize, list: String) {
    let separator = if list.is_empty() { "" } else { ": " };
    messages.say(&format!("{what}: {}{separator}{list}", count(number)));
}

/// Models that cannot be merged are a failure of the operation.
impl From<MergeError> for CliError {
    fn from(error: MergeError) -> Self {
        let message = error.to_string();
        match error {
            MergeError::Normalizer | MergeError::Pretokens => {
                Self::Error(format!("{message} with --force"))
            }
            _ => Self::Error(message),
        }
    }
}
