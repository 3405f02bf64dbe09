//! The program `spiece`: parses the command line, runs a subcommand, returns the exit status.
//!
//! A subcommand is one file in `cli/` and one line in `SUBCOMMANDS`. Data goes to standard output and messages go to
//! standard error. The exit status is 0 on success (also if the reader of the output closes the pipe), 1 if an
//! operation failed, and 2 if the command line is wrong. Only this module prints, exits and handles signals; only this
//! module knows `clap`.

mod args;
mod decode;
mod encode;
mod eval;
mod export_vocab;
mod input;
mod io;
mod json;
mod normalize;
mod ordered;
mod progress;
mod stream;
mod train;

use std::process::ExitCode;

use clap::{ArgMatches, Command};

use self::io::CliError;

/// One subcommand: its command line and its operation.
struct Subcommand {
    command: fn() -> Command,
    run: fn(&ArgMatches) -> Result<(), CliError>,
}

const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand {
        command: train::command,
        run: train::run,
    },
    Subcommand {
        command: encode::command,
        run: encode::run,
    },
    Subcommand {
        command: decode::command,
        run: decode::run,
    },
    Subcommand {
        command: normalize::command,
        run: normalize::run,
    },
    Subcommand {
        command: export_vocab::command,
        run: export_vocab::run,
    },
    Subcommand {
        command: eval::command,
        run: eval::run,
    },
];

/// Runs the program with the arguments of the process.
#[must_use]
pub fn main() -> ExitCode {
    let command = Command::new("spiece")
        .about("Trains, loads and runs SentencePiece models")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(SUBCOMMANDS.iter().map(|known| (known.command)()));
    let arguments = args::with_canonical_names(&command, std::env::args_os());
    let matches = match command.try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => return print_usage(&error),
    };
    let Some((name, matches)) = matches.subcommand() else {
        return ExitCode::from(2);
    };
    let subcommand = SUBCOMMANDS
        .iter()
        .find(|known| (known.command)().get_name() == name);
    match subcommand.map_or(Ok(()), |known| (known.run)(matches)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}

/// Prints the help, or what is wrong with the command line.
fn print_usage(error: &clap::Error) -> ExitCode {
    // A failure to print cannot be reported anywhere else.
    let _ = error.print();
    ExitCode::from(if error.use_stderr() { 2 } else { 0 })
}
