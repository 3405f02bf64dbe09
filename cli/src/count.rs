//! `spiece count`: counts words, to train on the counts later, once or many times.
//!
//! The words of text files are counted by the rules of the flags of `spiece train`, or the tables
//! of `--merge` are added. The table is a Parquet file (feature `parquet`), of which `spiece train
//! --input_format=counts` makes the same model as of the text. Memory grows with the number of
//! distinct words.
//!
//! ```text
//! $ spiece count --input=a.txt --output=a.parquet --quiet
//! $ spiece count --input=b.txt --output=b.parquet --quiet
//! $ spiece count --merge a.parquet b.parquet --output=all.parquet --quiet
//! $ spiece train --model_type=bpe --input=all.parquet --input_format=counts --model_prefix=m --vocab_size=8000
//! ```

use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::args;
use super::count_tables::{self, open_tables};
use super::io::{CliError, CliResult};
use super::progress::{Messages, Progress};
use super::train::bytes;
use super::training_flags;
use spiece::TrainFlags;
use spiece::train::{ByteTieOrder, CountWords, CountsError, Summary, WordCounts};

/// The flag that names tables to add.
const MERGE: &str = "merge";
/// The flags of the shortest command line.
const EXAMPLE: &str = "--input=text.txt --output=counts.parquet";
/// The `vocab_size` if none is given. Counts do not depend on it; this one has room for the ids of
/// all special pieces.
const ANY_VOCAB_SIZE: i32 = i32::MAX;

/// The command line: the flags of `train`, tables to add, and the output.
pub(crate) fn command() -> Command {
    let merge = Arg::new(MERGE)
        .long(MERGE)
        .help("Add these tables, which were counted with equal options, instead of counting text")
        .num_args(1..)
        .action(ArgAction::Append)
        .value_name("FILE");
    let command = Command::new("count")
        .about("Counts the words of text, to train on later: the table that training makes first")
        .long_about(
            "Counts the words of text files and writes a table of words and counts, a Parquet file with the columns word and \
             count. Tables of the parts of a corpus are added with --merge, or by any program that groups the rows by word \
             and adds the counts. spiece train --input_format=counts makes the same model of the table as of the text. Takes \
             the flags of spiece train; those that counts do not depend on (vocab_size, character_coverage, ...) have no \
             effect. For BPE, byte-level BPE, word and char models.\n\nExample:\n  spiece count --input=text.txt --output=counts.parquet \
             --byte_fallback --split_digits\n  spiece train --model_type=bpe --input=counts.parquet --input_format=counts \
             --byte_fallback --split_digits --vocab_size=32000 --model_prefix=my",
        )
        .args(training_flags::training_flags())
        .args(bytes::cut_flags())
        .mut_arg("model_type", bytes::with_model_type)
        .arg(args::file("output", "Write the table to this file"))
        .arg(merge);
    args::with_common_flags(command)
}

/// Counts or adds, and writes the table.
pub(crate) fn run(matches: &ArgMatches) -> CliResult {
    let messages = args::messages(matches)?;
    let output = args::required(matches, "output", "it names the table to write")?;
    let output = Path::new(output);
    spiece::output::check_writable(&[output])?;
    let stop = training_flags::stop_on_signal();
    let progress = Progress::new(&messages, stop);
    let counts = match merged_files(matches)? {
        Some(files) => messages.during("adding tables", || open_tables(&files))?,
        None => count(matches, &messages, &progress)?,
    };
    count_tables::save(&counts, output)?;
    let mut summary = Summary::default();
    summary.sentences = counts.sentences();
    summary.distinct_words = counts.len();
    progress.summarize_counts(&summary, output);
    Ok(())
}

/// The files of `--merge`; `None` without it.
fn merged_files(matches: &ArgMatches) -> CliResult<Option<Vec<PathBuf>>> {
    let Some(files) = matches.get_many::<String>(MERGE) else {
        return Ok(None);
    };
    if args::is_given(matches, "input") {
        return Err(CliError::usage(
            "--merge and --input exclude each other; count the text first",
        ));
    }
    Ok(Some(files.map(PathBuf::from).collect()))
}

/// Counts the words of `--input`.
fn count(matches: &ArgMatches, messages: &Messages, progress: &Progress) -> CliResult<WordCounts> {
    if bytes::is_wanted(matches)? {
        let (trainer, flags) = bytes::trainer(matches, messages)?;
        // Training would refuse the table, perhaps hours later.
        if trainer.options().tie_order == ByteTieOrder::Minbpe {
            return Err(args::invalid_option(CountsError::Order));
        }
        training_flags::check_input(&flags, "count", EXAMPLE)?;
        let corpus = training_flags::corpus(&flags, messages)?;
        let trainer = trainer.with_observer(progress.observer());
        let counted = trainer.count(corpus);
        let summary = progress.finish();
        let counts = with_inputs(counted?, &flags)?;
        let are_left_out = trainer.options().split_special_tokens;
        progress.note_special_tokens(summary.special_tokens, are_left_out);
        return Ok(counts);
    }
    let mut flags = training_flags::read_flags(matches, messages)?;
    training_flags::check_input(&flags, "count", EXAMPLE)?;
    if !args::is_given(matches, "vocab_size") {
        flags.vocab_size = ANY_VOCAB_SIZE;
    }
    let corpus = training_flags::corpus(&flags, messages)?;
    let trainer = training_flags::trainer(&flags, matches)?.with_observer(progress.observer());
    let counted = trainer.count(corpus);
    progress.finish();
    with_inputs(counted?, &flags)
}

/// The counts, with the names of the inputs.
fn with_inputs(mut counts: WordCounts, flags: &TrainFlags) -> CliResult<WordCounts> {
    for name in &flags.input {
        counts.add_input(&flags.input_format, name)?;
    }
    Ok(counts)
}
