//! The program `spiece`: parses the command line, runs a subcommand, returns the exit status.
//!
//! A subcommand is one file in `cli/` and one line in `SUBCOMMANDS`. Data goes to standard output and messages go to
//! standard error. The exit status is 0 on success (also if the reader of the output closes the pipe), 1 if an
//! operation failed, and 2 if the command line is wrong. Only this module prints, exits and handles signals; only this
//! module knows `clap`.
//!
//! ```text
//! $ echo 'Hello, world!' | spiece encode --model=testdata/golden/llama2.model --output_format=id
//! 608 462 1929 1925 1934 281 439 1929 1933 36
//! $ spiece encode --model=/no/such
//! spiece: cannot read /no/such: No such file or directory (os error 2); check its name and permissions
//! $ echo $?
//! 1
//! ```
//!
//! The modules, in the order of the data flow: `args` (flags), `input` (blocks of lines), `stream` (the parallel
//! loop over blocks), `ordered` (results in order), `io` (standard streams and errors), `progress` (messages).

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

use self::io::CliResult;

/// One subcommand: its command line and its operation.
struct Subcommand {
    /// Builds the command line: name, help and flags.
    command: fn() -> Command,
    /// Performs the operation for parsed flags.
    run: fn(&ArgMatches) -> CliResult,
}

/// All subcommands, in the order of the help.
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
    let command = program();
    let arguments = args::with_canonical_names(&command, std::env::args_os());
    let matches = match command.try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => return print_usage(&error),
    };
    let Some((name, matches)) = matches.subcommand() else {
        return ExitCode::from(2);
    };
    match run_subcommand(name, matches) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}

/// The command line of the program with all subcommands.
fn program() -> Command {
    let subcommands = SUBCOMMANDS.iter().map(|known| (known.command)());
    Command::new("spiece")
        .about("Trains, loads and runs SentencePiece models")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(subcommands)
}

/// Runs the subcommand `name`, which `clap` has found; `clap` returns the name and not an alias.
fn run_subcommand(name: &str, matches: &ArgMatches) -> CliResult {
    let subcommand = SUBCOMMANDS
        .iter()
        .find(|known| (known.command)().get_name() == name);
    subcommand.map_or(Ok(()), |known| (known.run)(matches))
}

/// Prints the help, or what is wrong with the command line.
fn print_usage(error: &clap::Error) -> ExitCode {
    // A failure to print cannot be reported anywhere else.
    let _ = error.print();
    ExitCode::from(if error.use_stderr() { 2 } else { 0 })
}
