//! `spiece train --like=tokenizer.json`: the BPE or WordPiece model of a pipeline, trained anew.
//!
//! ```text
//! $ spiece train --quiet --like=tokenizer.json --input=text.txt --model_prefix=my --vocab_size=8000
//! $ ls
//! my.json  text.txt  tokenizer.json
//! ```
//!
//! What the command line does not say is as in the file, the number of tokens as well.

use std::num::NonZeroUsize;

use clap::{Arg, ArgMatches};

use super::like::{LIKE, example};
use crate::args;
use crate::headings;
use crate::io::{CliError, CliResult};
use crate::model_files::OutputSet;
use crate::progress::{Messages, Progress};
use crate::training_flags::{self, check_input_and_output, set_option, stop_on_signal};
use spiece::TrainFlags;
use spiece::formats::{ByteFileOptions, FileFormat};
use spiece::pipeline::Pipeline;
use spiece::train::{OptionDescriptor, PipelineTrainOptions, PipelineTrainer};

/// The flags of `spm_train` that mean the same here.
const SHARED_FLAGS: &[&str] = &[
    "input",
    "input_format",
    "model_prefix",
    "vocab_size",
    "num_threads",
    "document",
    "json_field",
    "on_bad_record",
];

/// What takes the place of other flags.
const REMEDIES: &[(&str, &str)] = &[
    ("max_sentencepiece_length", "use --max_token_length"),
    ("character_coverage", "use --limit_alphabet"),
    ("required_chars", "use --initial_alphabet"),
    ("required_chars_file", "use --initial_alphabet"),
    ("control_symbols", "use --special_tokens"),
    ("user_defined_symbols", "use --special_tokens"),
    ("control_symbols_file", "use --special_tokens"),
    ("user_defined_symbols_file", "use --special_tokens"),
    ("model_type", "the type is that of the file"),
    ("pattern", "text is cut as the file says"),
    ("tie_order", "the order is that of the library tokenizers"),
    ("format", "a tokenizer.json is written"),
];

/// Flags of other trainers that are refused, too.
const OTHER_FLAGS: &[&str] = &[
    "min_word_count",
    "superword_from",
    "max_words",
    "superword_pattern",
];

/// The flags that only training like a pipeline has.
pub(super) fn flags() -> [Arg; 5] {
    let flags = [
        args::value(
            "limit_alphabet",
            "At most so many characters become tokens, the most frequent ones; others are left out of the text \
             [default: no limit]",
        )
        .value_name("N"),
        args::value(
            "initial_alphabet",
            "Characters that become tokens although the text lacks them, one after the other [default: those of \
             bytes if the file is byte-level]",
        )
        .value_name("CHARS"),
        args::value(
            "continuing_subword_prefix",
            "What tokens within words begin with, for example ## [default: that of the file]",
        )
        .value_name("TEXT"),
        args::value(
            "end_of_word_suffix",
            "What tokens at the end of words end with, for example </w> [default: that of the file]",
        )
        .value_name("TEXT"),
        args::switch(
            "special_ids_first",
            "Number the special tokens from 0, as train_new_from_iterator of transformers does; without it, ids of \
             the file are kept as far as the new vocabulary reaches",
        ),
    ];
    flags.map(|flag| flag.help_heading(headings::LIKE))
}

/// The flags of [`flags`].
const OWN_FLAGS: [&str; 5] = [
    "limit_alphabet",
    "initial_alphabet",
    "continuing_subword_prefix",
    "end_of_word_suffix",
    "special_ids_first",
];

/// Refuses the flags of training like a pipeline, where there is none.
pub(super) fn refuse_own(matches: &ArgMatches) -> CliResult {
    match OWN_FLAGS.iter().find(|flag| has(matches, flag)) {
        Some(flag) => Err(CliError::Usage(format!(
            "--{flag} is for training like a tokenizer.json; add --{LIKE}=FILE"
        ))),
        None => Ok(()),
    }
}

/// Refuses the flags that have no meaning here.
fn refuse_others(matches: &ArgMatches) -> CliResult {
    let names = TrainFlags::DESCRIPTORS
        .iter()
        .map(|option: &OptionDescriptor| option.name);
    let names = names.chain(REMEDIES.iter().map(|(flag, _)| *flag));
    let names = names.chain(OTHER_FLAGS.iter().copied());
    let is_own =
        |flag: &&str| SHARED_FLAGS.contains(flag) || PipelineTrainOptions::FLAGS.contains(flag);
    let mut others = names.filter(|flag| !is_own(flag) && has(matches, flag));
    let Some(flag) = others.next() else {
        return Ok(());
    };
    let remedy = REMEDIES.iter().find(|(name, _)| *name == flag);
    let remedy = remedy.map_or("leave it out", |(_, remedy)| remedy);
    Err(CliError::Usage(format!(
        "--{flag}: training like a tokenizer.json does not have this; {remedy}"
    )))
}

/// Whether the subcommand has this flag and it is given.
fn has(matches: &ArgMatches, flag: &str) -> bool {
    matches
        .try_get_one::<String>(flag)
        .is_ok_and(|value| value.is_some())
}

/// Trains like the pipeline, writes PREFIX.json, and reports a summary.
pub(super) fn run(pipeline: &Pipeline, matches: &ArgMatches, messages: &Messages) -> CliResult {
    refuse_others(matches)?;
    let mut flags = TrainFlags::default();
    for name in SHARED_FLAGS {
        if let Some(value) = args::given(matches, name) {
            set_option(&mut flags, name, value)?;
        }
    }
    training_flags::warn_of_retired(matches, messages);
    check_input_and_output(&flags, &example(matches))?;
    let given = PipelineTrainOptions::FLAGS.into_iter();
    let given = given.filter(|name| has(matches, name));
    let given = given.map(|name| (name, args::text(matches, name)));
    let size = u32::try_from(pipeline.vocab_size()).unwrap_or(u32::MAX);
    let options = PipelineTrainOptions::from_flags(size, given).map_err(args::invalid_option)?;
    let wanted = options.vocab_size;
    let are_left_out = options.split_special_tokens;
    let mut trainer = PipelineTrainer::new(pipeline, options)?;
    if let Some(threads) = training_flags::jobs(matches)?.or(most_threads(&flags)) {
        trainer = trainer.with_threads(threads);
    }
    let mut output = OutputSet::with_prefix(&flags.model_prefix, &[".json"])?;
    let progress = Progress::new(messages, stop_on_signal());
    let trainer = trainer.with_observer(progress.observer());
    let corpus = training_flags::corpus(&flags, messages)?;
    let trained = trainer.train(corpus);
    let summary = progress.finish();
    let trained = trained?;
    if are_left_out {
        progress.note_special_tokens(summary.special_tokens, true);
    }
    if summary.pieces > wanted as usize {
        messages.warn(&format!(
            "--vocab_size={wanted} is less than the {} tokens that are written: added tokens and characters alone are more; raise \
             it, or leave rare characters out with --limit_alphabet",
            summary.pieces
        ));
    }
    let written = trained.to_format(FileFormat::TokenizerJson, &ByteFileOptions::default())?;
    for reason in written.verdict.reasons() {
        messages.warn(&reason.explanation);
    }
    for (_, content) in written.files {
        output.add(".json", content);
    }
    let name = output.first_name();
    let written = output.write()?;
    progress.summarize_bytes(&summary, wanted, &written);
    progress.suggest(&name);
    Ok(())
}

/// The number of cores, but at most `--num_threads`, as for other BPE models.
fn most_threads(flags: &TrainFlags) -> Option<NonZeroUsize> {
    let most = usize::try_from(flags.num_threads).ok()?;
    let cores = std::thread::available_parallelism().ok()?;
    NonZeroUsize::new(cores.get().min(most))
}
