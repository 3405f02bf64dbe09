//! The program `spiece`: parses the command line, runs a subcommand and returns the exit status.
//!
//! A subcommand is one module and one entry in `SUBCOMMANDS`. Data goes to standard
//! output, messages go to standard error. The exit status is 0 on success (also if the reader of
//! the output closes the pipe), 1 if an operation failed or `spiece compare` found different ids,
//! and 2 if the command line is wrong.
//!
//! Started under the name of a SentencePiece program (`spm_train`, for example), the program
//! behaves as the subcommand that replaces it, with the defaults of that program; see `reference`.
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
//! The modules besides the subcommands, in the order of the data flow: `reference` and
//! `install_links` (names of the program), `args` and `training_flags` (flags), `headings` (their
//! groups in the help), `documents` (what a document is), `count_tables` (words and counts instead
//! of text), `input` (blocks of lines), `stream` (the parallel loop over blocks), `sheet` and
//! `visible` (reports), `io` (standard streams and errors), `model_files` (changed and trained
//! models), `progress` (messages).

mod args;
mod byte_files;
mod compare;
mod completions;
mod convert;
mod count;
mod count_tables;
mod decode;
mod documents;
mod edit;
mod encode;
mod eval;
mod export_vocab;
mod extend;
mod headings;
mod input;
mod inspect;
mod install_links;
mod io;
mod list_files;
mod man;
mod merge;
mod model_files;
mod normalize;
mod progress;
mod prune;
mod reference;
mod sheet;
mod stream;
mod train;
mod training_flags;
mod visible;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ArgMatches, Command};

use self::io::CliResult;
use self::reference::ReferenceProgram;

/// One subcommand: its command line and its operation.
struct Subcommand {
    /// Builds the command line: name, help and flags.
    command: fn() -> Command,
    /// Performs the operation for parsed flags.
    run: fn(&ArgMatches) -> CliResult,
    /// The SentencePiece program that the subcommand replaces.
    replaces: Option<ReferenceProgram>,
}

/// All subcommands, in the order of the help.
const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand {
        command: train::command,
        run: train::run,
        replaces: Some(ReferenceProgram {
            name: "spm_train",
            with_defaults: train::with_reference_defaults,
        }),
    },
    Subcommand {
        command: count::command,
        run: count::run,
        replaces: None,
    },
    Subcommand {
        command: encode::command,
        run: encode::run,
        replaces: Some(ReferenceProgram::with_same_defaults("spm_encode")),
    },
    Subcommand {
        command: decode::command,
        run: decode::run,
        replaces: Some(ReferenceProgram::with_same_defaults("spm_decode")),
    },
    Subcommand {
        command: normalize::command,
        run: normalize::run,
        replaces: Some(ReferenceProgram {
            name: "spm_normalize",
            with_defaults: normalize::with_reference_defaults,
        }),
    },
    Subcommand {
        command: export_vocab::command,
        run: export_vocab::run,
        replaces: Some(ReferenceProgram::with_same_defaults("spm_export_vocab")),
    },
    Subcommand {
        command: eval::command,
        run: eval::run,
        replaces: Some(ReferenceProgram::with_same_defaults("spm_eval")),
    },
    Subcommand {
        command: inspect::command,
        run: inspect::run,
        replaces: None,
    },
    Subcommand {
        command: compare::command,
        run: compare::run,
        replaces: None,
    },
    Subcommand {
        command: convert::command,
        run: convert::run,
        replaces: None,
    },
    Subcommand {
        command: edit::command,
        run: edit::run,
        replaces: None,
    },
    Subcommand {
        command: extend::command,
        run: extend::run,
        replaces: None,
    },
    Subcommand {
        command: merge::command,
        run: merge::run,
        replaces: None,
    },
    Subcommand {
        command: prune::command,
        run: prune::run,
        replaces: None,
    },
    Subcommand {
        command: install_links::command,
        run: install_links::run,
        replaces: None,
    },
    Subcommand {
        command: completions::command,
        run: completions::run,
        replaces: None,
    },
    Subcommand {
        command: man::command,
        run: man::run,
        replaces: None,
    },
];

/// The name of the program.
const NAME: &str = "spiece";

/// Runs the program with the arguments of the process.
#[must_use]
pub fn main() -> ExitCode {
    match run(std::env::args_os().collect()) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => error.report(),
        Err(error) => {
            // Help, or what is wrong with the command line. A failure to print cannot be reported.
            let _ = error.print();
            ExitCode::from(if error.use_stderr() { 2 } else { 0 })
        }
    }
}

/// Runs the subcommand that the arguments name: by the name of the program, if that is a link, or
/// by the first argument after it.
fn run(arguments: Vec<OsString>) -> Result<CliResult, clap::Error> {
    for subcommand in SUBCOMMANDS {
        let (Some(name), Some(program)) = (arguments.first(), &subcommand.replaces) else {
            continue;
        };
        if program.is_name_of(name) {
            let command = program.command((subcommand.command)());
            return parse(command, arguments).map(|matches| (subcommand.run)(&matches));
        }
    }
    let program = program();
    let names = program.get_subcommands().map(Command::get_name);
    let names: Vec<String> = names.map(str::to_owned).collect();
    let matches = parse(program, arguments)?;
    // clap gives the name of the subcommand, not an alias.
    let found = matches.subcommand().and_then(|(found, matches)| {
        let at = names.iter().position(|name| name == found)?;
        Some((&SUBCOMMANDS[at], matches))
    });
    Ok(found.map_or(Ok(()), |(subcommand, matches)| (subcommand.run)(matches)))
}

/// The whole command line, with the subcommands in the order of [`SUBCOMMANDS`].
fn program() -> Command {
    Command::new(NAME)
        .about("Trains, loads, runs, converts and changes tokenizers")
        .long_about(
            "Trains, loads, runs, converts and changes tokenizers: SentencePiece models, the tokenizer.json of Hugging Face, \
             .tiktoken and other byte-level vocabularies, BERT's vocab.txt, and the vocabularies in GGUF files. The tokens are those of \
             SentencePiece, tokenizers and tiktoken.",
        )
        .after_help(
            "Begin with:\n  spiece train --input=text.txt --model_prefix=my --vocab_size=8000\n  spiece encode --model=my.model \
             text.txt\n  spiece inspect my.model\n\nspiece COMMAND --help describes a command.",
        )
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(SUBCOMMANDS.iter().map(|known| (known.command)()))
}

/// The SentencePiece programs that subcommands replace.
fn reference_programs() -> impl Iterator<Item = &'static ReferenceProgram> {
    SUBCOMMANDS
        .iter()
        .filter_map(|subcommand| subcommand.replaces.as_ref())
}

/// The flags and values of `arguments`, in all forms that `spm_train` accepts.
fn parse(mut command: Command, arguments: Vec<OsString>) -> Result<ArgMatches, clap::Error> {
    let arguments = args::with_canonical_names(&mut command, arguments)?;
    command.try_get_matches_from(arguments)
}
