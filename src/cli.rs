//! The command line: parse, dispatch, exit status.
//!
//! A verb is a file in `cli/` and a line in [`VERBS`]. Data goes to standard output and talk to standard
//! error; the exit status is 0, 1 if something failed, or 2 if the command line is wrong.

mod args;
mod decode;
mod encode;
mod eval;
mod export_vocab;
mod io;
mod json;
mod normalize;
mod progress;
mod stream;
mod train;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ArgMatches, Command};

use self::io::Failure;

/// One verb: its command line, and what it does.
struct Verb {
    command: fn() -> Command,
    run: fn(&ArgMatches) -> Result<(), Failure>,
}

const VERBS: &[Verb] = &[
    Verb {
        command: train::command,
        run: train::run,
    },
    Verb {
        command: encode::command,
        run: encode::run,
    },
    Verb {
        command: decode::command,
        run: decode::run,
    },
    Verb {
        command: normalize::command,
        run: normalize::run,
    },
    Verb {
        command: export_vocab::command,
        run: export_vocab::run,
    },
    Verb {
        command: eval::command,
        run: eval::run,
    },
];

/// Runs the program with these arguments, the first being its name.
pub(crate) fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let command = Command::new("spiece")
        .about("Trains, loads and runs SentencePiece models")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(VERBS.iter().map(|verb| (verb.command)()));
    let arguments = args::with_canonical_names(&command, arguments);
    let matches = match command.try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => return usage(&error),
    };
    let Some((name, matches)) = matches.subcommand() else {
        return ExitCode::from(2);
    };
    let verb = VERBS
        .iter()
        .find(|verb| (verb.command)().get_name() == name);
    match verb.map_or(Ok(()), |verb| (verb.run)(matches)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Prints help or what is wrong with the command line.
fn usage(error: &clap::Error) -> ExitCode {
    // Nobody is left to tell if this fails.
    let _ = error.print();
    ExitCode::from(if error.use_stderr() { 2 } else { 0 })
}
