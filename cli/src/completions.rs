//! `spiece completions`: a script that completes verbs and flags in a shell.
//!
//! ```text
//! $ spiece completions bash > ~/.local/share/bash-completion/completions/spiece
//! $ spiece completions zsh > "${fpath[1]}/_spiece"
//! $ spiece completions fish > ~/.config/fish/completions/spiece.fish
//! ```

use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::{Shell, generate};

use super::args;
use super::io::{self, CliError, CliResult};

/// The argument for the shell.
const SHELL: &str = "shell";

/// The command line: the shell.
pub(crate) fn command() -> Command {
    let shell = Arg::new(SHELL)
        .value_name("SHELL")
        .help("The shell that reads the script")
        .required(true)
        .value_parser(value_parser!(Shell));
    let command = Command::new("completions")
        .about("Writes a script that completes verbs and flags in a shell")
        .long_about(
            "Writes a script to standard output that completes verbs, flags and names of files in a shell.\n\nExamples:\n  \
             spiece completions bash > ~/.local/share/bash-completion/completions/spiece\n  spiece completions zsh > \
             \"${fpath[1]}/_spiece\"\n  spiece completions fish > ~/.config/fish/completions/spiece.fish\n  spiece \
             completions powershell >> $PROFILE",
        )
        .arg(shell);
    args::with_common_flags(command)
}

/// Writes the script for the whole program.
pub(crate) fn run(matches: &ArgMatches) -> CliResult {
    let shell = matches.get_one(SHELL).copied();
    let shell: Shell =
        shell.ok_or_else(|| CliError::usage("SHELL is missing; it names the shell"))?;
    let mut script = Vec::new();
    generate(shell, &mut super::program(), super::NAME, &mut script);
    io::write_output(None, &script)
}
