//! `spiece prune`: removes pieces from a model, and lists the new and old ids.
//!
//! OUT.ids.tsv has the new and old ids. The text is read twice: to count its pieces, and to compare
//! its lines before and after. With `--keep_text`, all lines must have the same pieces.
//!
//! ```text
//! $ spiece prune testdata/golden/llama2.model --keep_text=testdata/udhr_small.txt --model_prefix=small
//! pieces: 4,000 before, 2,671 after
//! checked: 274 of 274 lines have the same pieces; 23,396 tokens before, 23,396 now
//! written: small.model, small.vocab, small.ids.tsv
//! ```

mod bytes;

use std::path::PathBuf;

use clap::{ArgMatches, Command};
use indicatif::HumanCount;

use super::args;
use super::byte_files;
use super::documents::document_flags;
use super::io::{CliError, CliResult};
use super::model_files::{self, OutputSet, count};
use super::progress::Messages;
use super::stream::{Lines, threads_flag};
use spiece::Tokenizer;
use spiece::adapt::{
    IdMap, LineComparison, LineCounts, PieceUsage, PruneError, PruneGoal, PruneOptions,
    PrunedModel, UsageCounter,
};

/// The command line: the model, what to keep, the output.
pub(crate) fn command() -> Command {
    let command = Command::new("prune")
        .about("Removes pieces that a text does not need, or the rarest ones, from a BPE or unigram model")
        .long_about(
            "Removes pieces from a BPE or unigram model: those that a text does not need (--keep_text), after which all \
             lines of the text have the same pieces as before, or the rarest ones down to a size (--size). Writes \
             OUT.model, OUT.vocab and OUT.ids.tsv (new id, old id), by which the rows of embedding tables are \
             chosen.\n\nMODEL can be a byte-level vocabulary; then the files of --format are written in place of OUT.model \
             and OUT.vocab. Its bytes and special tokens stay.\n\nExample:\n  spiece prune tokenizer.model --keep_text=english.txt --model_prefix=small\n  spiece prune \
             tokenizer.model --size=16000 --text=english.txt --model_prefix=small\n  spiece prune llama3.json \
             --keep_text=english.txt --model_prefix=small",
        )
        .arg(model_files::model_argument("MODEL", "The .model file of a BPE or unigram model, or a byte-level vocabulary"))
        .arg(model_files::prefix_flag())
        .args([
            args::file("keep_text", "Keep the pieces that the lines of this file need"),
            args::switch(
                "keep_unused_tail",
                "With --keep_text: pieces that are merged but never given become unused and get the highest ids, for which no \
                 rows of embeddings are needed. Other programs than SentencePiece and spiece do not support that",
            ),
            args::value("size", "Keep so many pieces").value_name("N"),
            args::file("text", "With --size: remove the pieces that are rarest in this file; without, the last ids first"),
            args::switch("keep_chars", "Keep all pieces of one character [default: true]"),
            threads_flag(),
            byte_files::format_flag(),
        ])
        .args(args::vocabulary_flags())
        .args(document_flags());
    args::with_common_flags(command)
}

/// What the flags ask for.
struct Task {
    options: PruneOptions,
    /// The text; none for a size without text.
    text: Vec<PathBuf>,
    lines: Lines,
}

/// Prunes the model, compares the lines, writes and reports.
pub(crate) fn run(matches: &ArgMatches) -> CliResult {
    let messages = args::messages(matches)?;
    let task = task(matches)?;
    if let Some(file) = byte_files::open(matches, "MODEL")? {
        return bytes::run(matches, &messages, (&file, &task));
    }
    byte_files::refuse_for_model(matches, "MODEL", &[])?;
    let model = model_files::open_model(matches, "MODEL")?;
    let mut output = OutputSet::new(matches, &[".model", ".vocab", ".ids.tsv"])?;
    let tokenizer = Tokenizer::new(model.clone());
    let usage = count_pieces(&tokenizer, &task)?;
    let pruned = messages.during("pruning", || model.prune(&usage, &task.options))?;
    let new = Tokenizer::new(pruned.model().clone());
    let counts = compare_lines((&tokenizer, &new), pruned.ids(), &task)?;
    output.add_model(pruned.model(), &messages);
    output.add(".ids.tsv", pruned.ids().to_tsv());
    let written = output.write()?;
    report(&messages, &pruned);
    model_files::report_lines(&messages, counts);
    model_files::warn_of_older_releases(&messages, pruned.model());
    messages.say(&format!("written: {written}"));
    Ok(())
}

/// Reads the flags.
fn task(matches: &ArgMatches) -> CliResult<Task> {
    let (goal, text) = goal_and_text(matches)?;
    if text == Some("-") {
        return Err(CliError::usage(
            "the text is read twice, so it cannot be standard input; name a file",
        ));
    }
    let mut options = PruneOptions::new(goal);
    options.keep_chars =
        !args::is_given(matches, "keep_chars") || args::is_on(matches, "keep_chars")?;
    Ok(Task {
        options,
        text: text.map(PathBuf::from).into_iter().collect(),
        lines: Lines::new(matches)?,
    })
}

/// What to keep, and the text that tells it.
fn goal_and_text(matches: &ArgMatches) -> CliResult<(PruneGoal, Option<&str>)> {
    let keep_text = args::non_empty(matches, "keep_text");
    let text = args::non_empty(matches, "text");
    let with_tail = args::is_on(matches, "keep_unused_tail")?;
    let size = args::given_number(matches, "size")?;
    let usage = |message| Err(CliError::usage(message));
    match (keep_text, size) {
        (Some(_), Some(_)) => usage("--keep_text and --size exclude each other; give one of them"),
        (None, None) => usage("--keep_text or --size is missing; one of them says what to keep"),
        (Some(_), None) if text.is_some() => {
            usage("--text goes with --size; --keep_text names the text already")
        }
        (None, Some(_)) if with_tail => usage("--keep_unused_tail goes with --keep_text"),
        (Some(_), None) if with_tail => Ok((PruneGoal::UsedWithTail, keep_text)),
        (Some(_), None) => Ok((PruneGoal::Used, keep_text)),
        (None, Some(size)) => Ok((PruneGoal::Size(size), text)),
    }
}

/// Counts the pieces of the text.
fn count_pieces(tokenizer: &Tokenizer, task: &Task) -> CliResult<PieceUsage> {
    let give = |counter: &mut UsageCounter<'_>, _: u64, line: &[u8]| {
        counter.add(line);
        Ok(())
    };
    let make = || Ok(UsageCounter::new(tokenizer)?);
    let mut usage = UsageCounter::new(tokenizer)?.finish();
    if task.text.is_empty() {
        return Ok(usage);
    }
    for counter in task.lines.give(&task.text, make, give)? {
        usage.add(&counter.finish());
    }
    Ok(usage)
}

/// Reads the text again and encodes it with both models; `None` without text.
fn compare_lines(
    (old, new): (&Tokenizer, &Tokenizer),
    ids: &IdMap,
    task: &Task,
) -> CliResult<Option<LineCounts>> {
    if task.text.is_empty() {
        return Ok(None);
    }
    let make = || Ok(LineComparison::new(ids, old, new));
    let give = |comparison: &mut LineComparison<'_>, _: u64, line: &[u8]| {
        comparison.add(line);
        Ok(())
    };
    let mut counts = LineCounts::default();
    for comparison in task.lines.again().give(&task.text, make, give)? {
        counts.add(&comparison.finish());
    }
    let keeps_lines = !matches!(task.options.target, PruneGoal::Size(_));
    if keeps_lines && counts.equal < counts.lines {
        // The sum of scores of a long line of a unigram model is rounded in another way.
        let lines = HumanCount(counts.lines - counts.equal);
        return Err(CliError::Error(format!(
            "--keep_text: {lines} lines would have other pieces, so nothing was written; divide lines of more than 10,000 \
             tokens"
        )));
    }
    Ok(Some(counts))
}

/// Writes what became of the pieces.
fn report(messages: &Messages, pruned: &PrunedModel) {
    messages.say(&model_files::pieces_line(pruned.ids()));
    if pruned.tail() > 0 {
        messages.say(&format!(
            "unused tail: {} pieces; text gives ids below {} only",
            count(pruned.tail()),
            count(pruned.rows())
        ));
    }
    if pruned.removed_chars() > 0 {
        messages.say(&format!(
            "removed characters: {}, which become unknown or bytes",
            count(pruned.removed_chars())
        ));
    }
}

/// An invalid pruned model is a failure; all other errors are usage errors.
impl From<PruneError> for CliError {
    fn from(error: PruneError) -> Self {
        match error {
            PruneError::Model(_) | PruneError::Bytes(_) => Self::Error(error.to_string()),
            PruneError::TooSmall {
                keeps_chars: true, ..
            } => Self::Usage(format!("{error} (--keep_chars=false)")),
            _ => Self::Usage(error.to_string()),
        }
    }
}
