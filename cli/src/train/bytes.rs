//! `spiece train --model_type=byte_bpe`: byte-level BPE, in the files of other programs.
//!
//! ```text
//! $ spiece train --quiet --model_type=byte_bpe --input=text.txt --model_prefix=my --vocab_size=1000
//! $ ls
//! my.json  text.txt
//! ```
//!
//! The flags of SentencePiece that concern characters, normalization or the `.model` file are
//! refused, with the flag that does the same, if there is one.

use std::num::NonZeroUsize;

use clap::{Arg, ArgMatches};

use super::superwords::{self, ByteSuperwordStage, SUPERWORD_PATTERN};
use crate::args::{self, PATTERN};
use crate::byte_files::{self, ByteFormat, FORMAT, SPECIAL_TOKENS};
use crate::count_tables;
use crate::headings;
use crate::io::{CliError, CliResult};
use crate::list_files;
use crate::model_files::OutputSet;
use crate::progress::{Messages, Progress};
use crate::training_flags::{self, check_input_and_output, set_option, stop_on_signal};
use spiece::TrainFlags;
use spiece::formats::ByteFileOptions;
use spiece::train::{ByteTrainOptions, ByteTrainer, OptionDescriptor};

/// The value of `--model_type`.
pub(crate) const MODEL_TYPE: &str = "byte_bpe";
/// The flags of the shortest command line.
const EXAMPLE: &str = "--model_type=byte_bpe --input=text.txt --model_prefix=my --vocab_size=32000";
const TIE_ORDER: &str = "tie_order";
const MIN_FREQUENCY: &str = "min_frequency";
const MAX_TOKEN_LENGTH: &str = "max_token_length";
const SPLIT_SPECIAL_TOKENS: &str = "split_special_tokens";
const REQUIRED_TOKENS: &str = "required_tokens";
const REQUIRED_TOKENS_FILE: &str = "required_tokens_file";
const FORBIDDEN_TOKENS: &str = "forbidden_tokens";

/// The flags of `spm_train` that mean the same here.
const SHARED_FLAGS: &[&str] = &[
    "input",
    "input_format",
    "model_prefix",
    "model_type",
    "vocab_size",
    "num_threads",
    "document",
    "json_field",
    "on_bad_record",
];

/// What takes the place of other flags.
const REMEDIES: &[(&str, &str)] = &[
    ("max_sentencepiece_length", "use --max_token_length"),
    ("control_symbols", "use --special_tokens"),
    ("user_defined_symbols", "use --special_tokens"),
    ("control_symbols_file", "use --special_tokens"),
    ("user_defined_symbols_file", "use --special_tokens"),
];

/// The flags of byte-level BPE alone, for `train`.
pub(super) fn flags() -> impl Iterator<Item = Arg> {
    let flags = [
        args::value(
            MIN_FREQUENCY,
            "Merge only pairs that occur so often; with --like, too [default: 0]",
        )
        .value_name("N"),
        args::value(
            MAX_TOKEN_LENGTH,
            "Tokens have fewer bytes, or characters, than this (two are always allowed); with --like, too [default: no limit]",
        )
        .value_name("N"),
        args::value(
            REQUIRED_TOKENS,
            "Tokens that the vocabulary has whatever the text; the merges that make them come first",
        )
        .value_name("A,B,..."),
        args::file(
            REQUIRED_TOKENS_FILE,
            "File with more required tokens, one per line, with \\n, \\t, \\\\ and \\x20 for bytes",
        ),
        args::file(
            FORBIDDEN_TOKENS,
            "File of tokens that no merge makes (lines `never_made TOKEN`) or that are never a part of another \
             token (`never_merged TOKEN`), with bytes as in required_tokens_file; # begins a comment",
        ),
        superwords::pattern_flag(
            "With --superword_from: how text is cut into the parts that no superword crosses, which is the pattern \
             of the trained vocabulary [default: superbpe, which cuts out numbers and runs of symbols]",
        ),
        byte_files::format_flag(),
    ];
    let flags = flags.map(|flag| flag.help_heading(headings::BYTE_BPE));
    cut_flags().into_iter().chain(flags)
}

/// The flags that say how text is cut, for `train` and `count`.
pub(crate) fn cut_flags() -> [Arg; 4] {
    let flags = [
        args::value(
            PATTERN,
            "How text is cut into the parts that no token crosses: gpt2, cl100k, o200k, llama3, qwen2, a name of \
             another tokenizer, llama3-place-digits or o200k-place-digits (numbers in groups of three from the right), a regular \
             expression, or none [default: gpt2]",
        ),
        args::value(
            TIE_ORDER,
            "Whose tokens and ids: hf (the library tokenizers), rustbpe, minbpe, or greatest (of pairs that occur \
             equally often, the one with the greatest bytes) [default: hf]",
        )
        .value_name("ORDER"),
        args::value(
            SPECIAL_TOKENS,
            "The special tokens; with the order hf they have the first ids, otherwise the last. With --like: further special tokens",
        )
        .value_name("A,B,..."),
        args::switch(
            SPLIT_SPECIAL_TOKENS,
            "Cut the special tokens out of the text, so that they are not learned and no token crosses them. With --like: the \
             added tokens, which are cut out by default",
        ),
    ];
    flags.map(|flag| flag.help_heading(headings::BYTE_BPE))
}

/// Adds byte-level BPE to the help of `--model_type`.
pub(crate) fn with_model_type(flag: Arg) -> Arg {
    let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
    let note = training_flags::default_note("model_type");
    let more = format!(" byte_bpe: byte-level BPE, as GPT and Llama 3 have it{note}");
    flag.help(help.replace(&note, &more))
}

/// Whether the command line asks for byte-level BPE. If not, the flags that only it has are
/// refused.
pub(crate) fn is_wanted(matches: &ArgMatches) -> CliResult<bool> {
    let model_type = args::given(matches, "model_type");
    if model_type.is_some_and(|name| name.eq_ignore_ascii_case(MODEL_TYPE)) {
        return Ok(true);
    }
    // The library's option has the values of the reference alone.
    let known = model_type.map(|name| TrainFlags::default().set("model_type", name));
    if let Some(Err(error)) = known {
        return Err(CliError::Usage(format!("--{error}, nor {MODEL_TYPE}")));
    }
    let own = [
        PATTERN,
        TIE_ORDER,
        MIN_FREQUENCY,
        MAX_TOKEN_LENGTH,
        SPECIAL_TOKENS,
        SPLIT_SPECIAL_TOKENS,
        REQUIRED_TOKENS,
        REQUIRED_TOKENS_FILE,
        FORBIDDEN_TOKENS,
        SUPERWORD_PATTERN,
        FORMAT,
    ];
    match own.into_iter().find(|flag| has(matches, flag)) {
        Some(flag) => Err(CliError::Usage(format!(
            "--{flag} is for byte-level BPE; add --model_type={MODEL_TYPE}"
        ))),
        None => Ok(false),
    }
}

/// Whether the subcommand has this flag and it is given.
fn has(matches: &ArgMatches, flag: &str) -> bool {
    matches
        .try_get_one::<String>(flag)
        .is_ok_and(|value| value.is_some())
}

/// Refuses the flags that byte-level BPE does not have.
fn refuse_others(matches: &ArgMatches) -> CliResult {
    let names = TrainFlags::DESCRIPTORS
        .iter()
        .map(|option: &OptionDescriptor| option.name);
    let names = names.chain(REMEDIES.iter().map(|(flag, _)| *flag));
    let names = names.chain(["required_chars_file"]);
    let mut others = names.filter(|flag| !SHARED_FLAGS.contains(flag) && has(matches, flag));
    let Some(flag) = others.next() else {
        return Ok(());
    };
    let remedy = REMEDIES.iter().find(|(name, _)| *name == flag);
    let remedy = remedy.map_or("leave it out", |(_, remedy)| remedy);
    Err(CliError::Usage(format!(
        "--{flag}: byte-level BPE, which has all bytes and takes text as it is, does not have this; {remedy}"
    )))
}

/// The trainer of the command line, and the flags that say what is read.
pub(crate) fn trainer(
    matches: &ArgMatches,
    messages: &Messages,
) -> CliResult<(ByteTrainer, TrainFlags)> {
    let (options, flags) = options(matches, messages)?;
    Ok((trainer_with(options, matches, &flags)?, flags))
}

/// The options of the command line, and the flags that say what is read.
fn options(matches: &ArgMatches, messages: &Messages) -> CliResult<(ByteTrainOptions, TrainFlags)> {
    refuse_others(matches)?;
    let mut flags = TrainFlags::default();
    for name in SHARED_FLAGS.iter().filter(|name| **name != "model_type") {
        if let Some(value) = args::given(matches, name) {
            set_option(&mut flags, name, value)?;
        }
    }
    training_flags::warn_of_retired(matches, messages);
    let given = ByteTrainOptions::FLAGS.into_iter();
    let given = given.filter(|name| has(matches, name));
    let given = given.map(|name| (name, args::text(matches, name)));
    // An empty pattern is the default, counts are read without regard to their format, and forbidden
    // tokens are in a file.
    let given = given.filter(|flag| {
        !matches!(
            *flag,
            (PATTERN, "") | ("input_format", count_tables::COUNTS_FORMAT) | (FORBIDDEN_TOKENS, _)
        )
    });
    let mut options = ByteTrainOptions::from_flags(given).map_err(args::invalid_option)?;
    // `spiece count` has neither of the files.
    let file = |flag| {
        has(matches, flag)
            .then(|| args::non_empty(matches, flag))
            .flatten()
    };
    if let Some(path) = file(REQUIRED_TOKENS_FILE) {
        let lines = list_files::lines(path)?.join("\n");
        let added = options.add_required_lines(&lines);
        added.map_err(|error| CliError::in_file(path.as_ref(), error))?;
    }
    if let Some(path) = file(FORBIDDEN_TOKENS) {
        let lines = list_files::lines(path)?.join("\n");
        let added = options.add_forbidden_lines(&lines);
        added.map_err(|error| CliError::in_file(path.as_ref(), error))?;
    }
    Ok((options, flags))
}

fn trainer_with(
    options: ByteTrainOptions,
    matches: &ArgMatches,
    flags: &TrainFlags,
) -> CliResult<ByteTrainer> {
    let trainer = ByteTrainer::new(options)?;
    Ok(match threads(matches, flags)? {
        Some(threads) => trainer.with_threads(threads),
        None => trainer,
    })
}

fn threads(matches: &ArgMatches, flags: &TrainFlags) -> CliResult<Option<NonZeroUsize>> {
    Ok(training_flags::jobs(matches)?.or(most_threads(flags)))
}

/// The number of cores, but at most `--num_threads`, as for other BPE models.
fn most_threads(flags: &TrainFlags) -> Option<NonZeroUsize> {
    let most = usize::try_from(flags.num_threads).ok()?;
    let cores = std::thread::available_parallelism().ok()?;
    NonZeroUsize::new(cores.get().min(most))
}

/// Trains, writes the files, and reports a summary.
pub(super) fn run(matches: &ArgMatches, messages: &Messages) -> CliResult {
    let (mut options, mut flags) = options(matches, messages)?;
    let wanted = options.vocab_size;
    let superwords = ByteSuperwordStage::new(matches, &flags, &mut options)?;
    if superwords.is_some() && args::is_given(matches, FORBIDDEN_TOKENS) {
        return Err(CliError::usage(
            "--forbidden_tokens does not go with --superword_from, whose second stage does not know them; leave one out",
        ));
    }
    let mut trainer = trainer_with(options, matches, &flags)?;
    check_input_and_output(&flags, EXAMPLE)?;
    let counts = messages.during("reading tables", || count_tables::counted_input(&mut flags))?;
    if let Some(count) = args::given_number(matches, "min_word_count")? {
        trainer = trainer.with_min_word_count(count);
    }
    if counts.is_some() && superwords.is_some() {
        return Err(superwords::needs_text());
    }
    let format = ByteFormat::new(matches)?;
    // What the format cannot hold is known before training.
    let untrained = trainer.untrained()?;
    let untrained = match &superwords {
        Some(stage) => stage.untrained(&untrained)?,
        None => untrained,
    };
    format.files(&untrained, &ByteFileOptions::default())?;
    let mut output = OutputSet::with_prefix(&flags.model_prefix, format.endings())?;
    let progress = Progress::new(messages, stop_on_signal());
    let trainer = trainer.with_observer(progress.observer());
    let trained = match counts {
        Some(counts) => trainer.train_counts(counts),
        None => trainer.train(training_flags::corpus(&flags, messages)?),
    };
    let mut summary = progress.finish();
    let mut trained = trained?;
    // A special token that was learned as text may be the reason of an error that follows.
    let are_left_out = trainer.options().split_special_tokens;
    progress.note_special_tokens(summary.special_tokens, are_left_out);
    if let Some(stage) = superwords {
        let corpus = training_flags::corpus(&flags, messages)?;
        let first = trained.vocab_size();
        let extended = stage.extend(
            &trained,
            corpus,
            threads(matches, &flags)?,
            progress.observer(),
        );
        progress.finish();
        trained = extended?;
        summary.merges += trained.vocab_size() - first;
        summary.pieces = trained.vocab_size();
    }
    for (ending, content) in format.files(&trained, &ByteFileOptions::default())? {
        output.add(ending, content);
    }
    let name = output.first_name();
    let written = output.write()?;
    progress.summarize_bytes(&summary, wanted, &written);
    progress.suggest(&name);
    Ok(())
}
