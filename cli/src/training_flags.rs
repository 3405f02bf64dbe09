//! The flags that `spiece train` and `spiece count` have in common, and what they say: options,
//! lists from files, the corpus, the trainer and its threads.
//!
//! The flags are generated from [`TrainFlags::DESCRIPTORS`], so that a new option of the library
//! needs no change here.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, ValueHint};

use super::args::{self, RETIRED_HELP};
use super::documents::note_json_lines;
use super::headings;
use super::io::{CliError, CliResult};
use super::list_files;
use super::progress::Messages;
use super::reference::typed_command;
use spiece::train::{RETIRED_OPTIONS, SpecRecording};
use spiece::{Corpus, Model, TrainFlags, Trainer};

/// The most threads, as for the other subcommands.
const MAX_JOBS: usize = 1024;

/// The help of `--jobs`.
const JOBS_HELP: &str = "Number of threads that run, 1 to 1024; the model does not depend on it [default: one for each \
                         core; BPE, word and char models: at most num_threads]";

/// Retired options that are switches.
const RETIRED_SWITCHES: &[&str] = &[
    "train_extremely_large_corpus",
    "enable_differential_privacy",
];

/// A flag for each option, the files of lists, the number of threads, and retired flags.
pub(super) fn training_flags() -> impl Iterator<Item = Arg> {
    let files = [
        args::file(
            "control_symbols_file",
            "File with more control symbols, one per line",
        ),
        args::file(
            "user_defined_symbols_file",
            "File with more user-defined symbols, one per line",
        ),
        args::file(
            "required_chars_file",
            "File with the required characters; replaces required_chars",
        ),
        args::value("jobs", JOBS_HELP).value_name("N"),
    ];
    let options = TrainFlags::DESCRIPTORS.iter().map(|option| {
        let note = default_note(option.name);
        let flag = args::flag_of(option).help(format!("{}{note}", option.help));
        match option.name.ends_with("_file")
            || option.name.ends_with("_tsv")
            || option.name == "input"
        {
            true => flag.value_hint(ValueHint::FilePath),
            false => flag,
        }
    });
    let retired = RETIRED_OPTIONS.iter().map(|name| {
        let make = match RETIRED_SWITCHES.contains(name) {
            true => args::switch,
            false => args::value,
        };
        make(name, RETIRED_HELP).hide(true)
    });
    let named = options.chain(files).map(headings::under_training_heading);
    named.chain(retired)
}

/// The default of an option in the help; empty if the default is blank.
pub(super) fn default_note(name: &str) -> String {
    let value = TrainFlags::default().get(name);
    let value = value.filter(|text| !text.trim().is_empty());
    value.map_or_else(String::new, |text| format!(" [default: {text}]"))
}

/// The corpus of `--input`. A file whose name says that it has records gets a note if they are not
/// read.
pub(super) fn corpus(flags: &TrainFlags, messages: &Messages) -> CliResult<Corpus<'static>> {
    if flags.json_field.is_empty() {
        for path in &flags.input {
            note_json_lines(path.as_ref(), messages);
        }
    }
    flags.corpus().map_err(args::invalid_option)
}

/// The trainer for the flags, with as many threads as `--jobs` says.
pub(super) fn trainer(flags: &TrainFlags, matches: &ArgMatches) -> CliResult<Trainer> {
    let jobs = jobs(matches)?;
    let trainer = flags.trainer()?;
    Ok(match jobs {
        Some(jobs) => trainer.with_threads(jobs),
        None => trainer,
    })
}

/// The value of `--jobs`; `None` if it is not given.
pub(super) fn jobs(matches: &ArgMatches) -> CliResult<Option<NonZeroUsize>> {
    let Some(text) = args::given(matches, "jobs") else {
        return Ok(None);
    };
    let jobs: Option<NonZeroUsize> = text.trim_ascii().parse().ok();
    match jobs.filter(|jobs| jobs.get() <= MAX_JOBS) {
        None => Err(args::invalid("jobs", text, "a number from 1 to 1024")),
        jobs => Ok(jobs),
    }
}

/// The flags of the command line, some of which may be missing.
pub(super) fn read_flags(matches: &ArgMatches, messages: &Messages) -> CliResult<TrainFlags> {
    let mut flags = TrainFlags::default();
    flags.recording = SpecRecording::All;
    for option in TrainFlags::DESCRIPTORS {
        if let Some(value) = args::given(matches, option.name) {
            set_option(&mut flags, option.name, value)?;
        }
    }
    warn_of_retired(matches, messages);
    add_lists_from_files(matches, messages, &mut flags)?;
    Ok(flags)
}

/// The flags that train a model like `model`, with those of the command line in their place, and a
/// warning for each thing that cannot be like it.
pub(super) fn read_flags_like(
    model: &Model,
    matches: &ArgMatches,
    messages: &Messages,
) -> CliResult<TrainFlags> {
    let mut record = model.training_like();
    record.flags.recording = SpecRecording::All;
    let given = TrainFlags::DESCRIPTORS.iter().map(|option| option.name);
    // The default of `spm_train` for the type is not given.
    let given = given.filter(|name| matches.value_source(name) == Some(ValueSource::CommandLine));
    let given = given.filter_map(|name| Some((name, args::given(matches, name)?)));
    record.set_flags(given).map_err(args::invalid_option)?;
    for gap in &record.gaps {
        messages.warn(&gap.to_string());
    }
    warn_of_retired(matches, messages);
    add_lists_from_files(matches, messages, &mut record.flags)?;
    Ok(record.flags)
}

/// Names the retired flags that are given.
pub(super) fn warn_of_retired(matches: &ArgMatches, messages: &Messages) {
    for name in RETIRED_OPTIONS {
        if args::is_given(matches, name) {
            messages.warn(&format!("--{name} is retired and has no effect"));
        }
    }
}

/// Sets one option.
pub(super) fn set_option(flags: &mut TrainFlags, name: &str, value: &str) -> CliResult {
    flags.set(name, value).map_err(args::invalid_option)
}

/// Reads the files of symbols and of required characters. Symbols are added to the symbols of the
/// flags; required characters replace the flag.
fn add_lists_from_files(
    matches: &ArgMatches,
    messages: &Messages,
    flags: &mut TrainFlags,
) -> CliResult {
    let lists = [
        ("control_symbols_file", &mut flags.control_symbols),
        ("user_defined_symbols_file", &mut flags.user_defined_symbols),
    ];
    for (flag, list) in lists {
        if let Some(path) = args::non_empty(matches, flag) {
            let symbols = list_files::symbols(path)?;
            // `spm_train` takes such a character as a part of the symbol.
            if let Some(problem) = list_files::invisible_character(path, &symbols) {
                messages.warn(&problem);
            }
            list.extend(symbols);
        }
    }
    if let Some(path) = args::non_empty(matches, "required_chars_file") {
        flags.required_chars = list_files::lines(path)?.concat();
    }
    Ok(())
}

/// An error if no input is given. `verb` and `example` are a subcommand and flags that would do.
pub(super) fn check_input(flags: &TrainFlags, verb: &str, example: &str) -> CliResult {
    if flags.input.is_empty() {
        return Err(missing("input", "the text to learn from", verb, example));
    }
    Ok(())
}

/// An error if no input or no name of the output is given, as [`check_input`], for `spiece train`.
pub(super) fn check_input_and_output(flags: &TrainFlags, example: &str) -> CliResult {
    check_input(flags, "train", example)?;
    if flags.model_prefix.is_empty() {
        return Err(missing(
            "model_prefix",
            "the files to write",
            "train",
            example,
        ));
    }
    Ok(())
}

/// The error for a flag that must be given, with a command line to type.
fn missing(name: &str, names: &str, verb: &str, example: &str) -> CliError {
    let command = typed_command(verb);
    args::missing(
        name,
        &format!(
            "it names {names}. For example:\n  {command} {example}\n{command} --help lists all flags"
        ),
    )
}

/// A flag that is set by SIGINT (Ctrl-C), SIGTERM and SIGHUP, so that training ends and removes its
/// temporary files. A second signal ends the program at once.
pub(super) fn stop_on_signal() -> Arc<AtomicBool> {
    let stop: Arc<AtomicBool> = Arc::default();
    let flag = Arc::clone(&stop);
    // If no handler can be installed, a signal ends the program at once.
    let _ = ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    stop
}
