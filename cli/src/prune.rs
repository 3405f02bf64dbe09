//! `spiece prune`: removes pieces from a model, and lists the new and old ids.
//!
//! Input: a BPE or unigram model, and a text or a size. Output: OUT.model, OUT.vocab and
//! OUT.ids.tsv (new id, old id), and with `--weights` OUT.safetensors with the rows of the kept
//! ids; all are written together. All threads encode the text once. The new model is checked before
//! it is written ([`PrunedModel::check_usage`]). With `--keep_text`, checking the pieces that the
//! text gives and their halves proves that all lines have the same pieces. With `--size`, the ids
//! of the lines are kept in memory to count the lines with the same pieces. Where that does not
//! suffice (unused pieces, unigram models with `--size` or very long lines, `--size` with more than
//! 16 million tokens or `--keep_chars=false`), the text is read again and encoded with both models.
//! Cost: one encoding of the text, or three.
//!
//! ```text
//! $ spiece prune testdata/golden/llama2.model --keep_text=testdata/udhr_small.txt --model_prefix=small
//! pieces: 4,000 before, 2,671 after
//! kept pieces that became unreachable: 0
//! checked: 274 of 274 lines have the same pieces; 23,396 tokens before, 23,396 now
//! written: small.model, small.vocab, small.ids.tsv
//! ```

use std::path::{Path, PathBuf};

use clap::{ArgMatches, Command};
use indicatif::HumanCount;

use super::args;
use super::documents::document_flags;
use super::io::{CliError, CliResult};
use super::model_files::{self, OutputSet, count};
use super::progress::Messages;
use super::stream::{Lines, threads_flag};
use spiece::{
    LineCheck, PieceUsage, PruneChecker, PruneError, PruneGoal, PruneOptions, PrunedModel,
    RowGather, Tokenizer, UsageCounter, WeightsError,
};

/// The ending of the file with the gathered rows.
const WEIGHTS_ENDING: &str = ".safetensors";

/// The command line: the model, what to keep, the output.
pub(crate) fn command() -> Command {
    let command = Command::new("prune")
        .about("Removes pieces that a text does not need, or the rarest ones, from a BPE or unigram model")
        .long_about(
            "Removes pieces from a BPE or unigram model: those that a text does not need (--keep_text), after which all \
             lines of the text have the same pieces as before, or the rarest ones down to a size (--size). Writes \
             OUT.model, OUT.vocab and OUT.ids.tsv (new id, old id); with --weights also OUT.safetensors with the rows of \
             embedding tables.\n\nExample:\n  spiece prune tokenizer.model --keep_text=english.txt --model_prefix=small \
             --weights=model.safetensors --tensors=model.embed_tokens.weight,lm_head.weight\n  spiece prune \
             tokenizer.model --size=16000 --text=english.txt --model_prefix=small",
        )
        .arg(model_files::model_argument("MODEL", "The .model file"))
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
            args::file("weights", "A .safetensors file with tables of embeddings"),
            args::value("tensors", "The names of the tables: tensors with a row for each piece").value_name("NAME,..."),
            threads_flag(),
        ])
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

/// Prunes the model, checks, writes and reports.
pub(crate) fn run(matches: &ArgMatches) -> CliResult {
    let messages = args::messages(matches)?;
    let task = task(matches)?;
    let names = tensor_names(matches)?;
    let model = model_files::open_model(matches, "MODEL")?;
    let endings = [".model", ".vocab", ".ids.tsv", WEIGHTS_ENDING];
    let written_endings = if names.is_empty() {
        &endings[..3]
    } else {
        &endings
    };
    let mut output = OutputSet::new(matches, written_endings)?;
    let tokenizer = Tokenizer::new(model.clone());
    let usage = count_pieces(&tokenizer, &task)?;
    let pruned = model.prune(&usage, &task.options)?;
    pruned.check(&model)?;
    let check = match pruned.check_usage(&model, &usage)? {
        Some(check) => check,
        None => check_lines(&tokenizer, &pruned, &task)?,
    };
    output.add_model(pruned.model(), &messages);
    output.add(".ids.tsv", pruned.ids().to_tsv());
    let gather = gather(matches, &pruned, &names)?;
    let written = write(&mut output, gather)?;
    report(&messages, &pruned);
    report_lines(&messages, &task, &check);
    if !names.is_empty() {
        messages.say(&rows_line(&pruned, &names));
    }
    model_files::warn_of_older_releases(&messages, pruned.model());
    messages.say(&format!("written: {written}"));
    Ok(())
}

/// Reads the flags.
fn task(matches: &ArgMatches) -> CliResult<Task> {
    let (goal, text) = goal_and_text(matches)?;
    if text == Some("-") {
        return Err(text_is_standard_input());
    }
    let mut options = PruneOptions::new(goal);
    options.keep_chars = keeps_chars(matches)?;
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

/// The error for a text that cannot be read again.
fn text_is_standard_input() -> CliError {
    CliError::usage("the text is read twice, so it cannot be standard input; name a file")
}

/// Whether all pieces of one character stay.
fn keeps_chars(matches: &ArgMatches) -> CliResult<bool> {
    Ok(!args::is_given(matches, "keep_chars") || args::is_on(matches, "keep_chars")?)
}

/// The names of `--tensors`; empty without `--weights`.
fn tensor_names(matches: &ArgMatches) -> CliResult<Vec<String>> {
    let names = args::text(matches, "tensors").split(',');
    let names: Vec<String> = names
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect();
    let has_weights = args::non_empty(matches, "weights").is_some();
    if has_weights == names.is_empty() {
        return Err(weights_without_tensors());
    }
    Ok(names)
}

/// The error for one of `--weights` and `--tensors` without the other.
fn weights_without_tensors() -> CliError {
    CliError::usage(
        "--weights and --tensors go together: a .safetensors file and the names of its tables",
    )
}

/// Counts the pieces of the text.
fn count_pieces(tokenizer: &Tokenizer, task: &Task) -> CliResult<PieceUsage> {
    if task.text.is_empty() {
        return Ok(PieceUsage::none(tokenizer.model()));
    }
    let make = || {
        let mut counter = UsageCounter::new(tokenizer)?;
        if matches!(task.options.target, PruneGoal::Size(_)) {
            counter.keep_line_ids();
        }
        Ok(counter)
    };
    let give = |counter: &mut UsageCounter<'_>, _: u64, line: &[u8]| {
        counter.add(line);
        Ok(())
    };
    let counters = task.lines.give(&task.text, make, give)?;
    let mut usages = counters.into_iter().map(UsageCounter::finish);
    // The first usage is not added to an empty one, which would copy its ids.
    let first = usages.next();
    let mut usage = first.unwrap_or_else(|| PieceUsage::none(tokenizer.model()));
    usages.for_each(|other| usage.add(&other));
    Ok(usage)
}

/// Reads the text again and encodes it with both models.
fn check_lines(old: &Tokenizer, pruned: &PrunedModel, task: &Task) -> CliResult<LineCheck> {
    let mut check = LineCheck::default();
    if task.text.is_empty() {
        return Ok(check);
    }
    let make = || Ok(PruneChecker::new(pruned, old, pruned.tokenizer()));
    let give = |checker: &mut PruneChecker<'_>, _: u64, line: &[u8]| Ok(checker.add(line)?);
    for checker in task.lines.give(&task.text, make, give)? {
        check.add(&checker.finish());
    }
    Ok(check)
}

/// The rows to gather; `None` without `--weights`.
fn gather(
    matches: &ArgMatches,
    pruned: &PrunedModel,
    names: &[String],
) -> CliResult<Option<RowGather>> {
    let weights = args::non_empty(matches, "weights");
    let weights = weights.map(|path| pruned.gather_rows(path, names));
    Ok(weights.transpose()?)
}

/// Writes all files, and checks them.
fn write(output: &mut OutputSet, gather: Option<RowGather>) -> CliResult<String> {
    let Some(gather) = gather else {
        return output.write();
    };
    let path = output.path(WEIGHTS_ENDING);
    let written = output.write_with(Some((WEIGHTS_ENDING, &|out| gather.write_to(out))))?;
    if Path::new(&path).is_file() {
        gather.check(&path)?;
    }
    Ok(written)
}

/// Writes what became of the pieces.
fn report(messages: &Messages, pruned: &PrunedModel) {
    messages.say(&model_files::pieces_line(pruned.ids()));
    if pruned.tail() > 0 {
        messages.say(&tail_line(pruned));
    }
    if pruned.removed_chars() > 0 {
        messages.say(&removed_chars_line(pruned));
    }
    messages.say("kept pieces that became unreachable: 0");
}

/// The line on unused pieces.
fn tail_line(pruned: &PrunedModel) -> String {
    format!(
        "unused tail: {} pieces; text gives ids below {} only",
        count(pruned.tail()),
        count(pruned.rows())
    )
}

/// The line on characters that are no pieces any more.
fn removed_chars_line(pruned: &PrunedModel) -> String {
    format!(
        "removed characters: {}, which become unknown or bytes",
        count(pruned.removed_chars())
    )
}

/// Writes which lines are as before.
fn report_lines(messages: &Messages, task: &Task, check: &LineCheck) {
    if task.text.is_empty() {
        return;
    }
    messages.say(&format!(
        "checked: {} of {} lines have the same pieces; {} tokens before, {} now",
        HumanCount(check.equal),
        HumanCount(check.lines),
        HumanCount(check.tokens_before),
        HumanCount(check.tokens_after)
    ));
}

/// The line on the rows of the tables with these names.
fn rows_line(pruned: &PrunedModel, names: &[String]) -> String {
    let rows = count(pruned.rows());
    let names = names.join(", ");
    format!("rows: {rows} of each of {names}, equal to those of the old ids bit for bit")
}

/// A broken guarantee or an invalid pruned model is a failure; all other errors are usage errors.
impl From<PruneError> for CliError {
    fn from(error: PruneError) -> Self {
        match error {
            PruneError::Guarantee(_) | PruneError::Model(_) => Self::Error(error.to_string()),
            _ => Self::Usage(error.to_string()),
        }
    }
}

/// Weights that cannot be read are a failure.
impl From<WeightsError> for CliError {
    fn from(error: WeightsError) -> Self {
        Self::Error(error.to_string())
    }
}
