//! The programs of SentencePiece that this program replaces: `spm_train`, `spm_encode` and the
//! others.
//!
//! The name under which the process was started (`argv[0]`) selects the command line of the program
//! of that name, whose flags have the defaults of that program. A link named `spm_train` to the
//! file of `spiece` is enough for a script that calls `spm_train`; see
//! [`install_links`](super::install_links).
//!
//! ```text
//! started as                      command line
//! /usr/bin/spiece train           spiece train, trains BPE models by default
//! /usr/local/bin/spm_train        spm_train, trains unigram models by default
//! C:\bin\SPM_TRAIN.EXE            the same; names of files have no case on Windows
//! ```
//!
//! Two defaults of subcommands differ from those of the programs of SentencePiece 0.2.3:
//! `--model_type` of training and `--use_internal_normalization`. Programs that need an output or
//! an input file keep the freedom of the subcommands: standard input and output are used without
//! one.

use std::env::consts::EXE_SUFFIX;
use std::ffi::OsStr;
use std::path::Path;

use clap::Command;

/// The version that a program of SentencePiece prints: that of this program.
const VERSION: &str = concat!("(spiece ", env!("CARGO_PKG_VERSION"), ")");

/// A program of SentencePiece that a subcommand replaces.
pub(crate) struct ReferenceProgram {
    /// The name of the program.
    pub(crate) name: &'static str,
    /// Gives the command line of the subcommand the defaults of the program.
    pub(crate) with_defaults: fn(Command) -> Command,
}

impl ReferenceProgram {
    /// A program whose defaults are those of the subcommand.
    pub(crate) const fn with_same_defaults(name: &'static str) -> Self {
        Self {
            name,
            with_defaults: |command| command,
        }
    }

    /// The command line of the program, made from that of its subcommand.
    pub(crate) fn command(&self, subcommand: Command) -> Command {
        let replaced = format!("spiece {}", subcommand.get_name());
        let long_about = subcommand.get_long_about().map(ToString::to_string);
        let long_about = long_about.unwrap_or_default();
        (self.with_defaults)(subcommand)
            .name(self.name)
            .bin_name(self.name)
            .version(VERSION)
            .long_about(long_about.replace(&replaced, self.name))
    }

    /// The name of the file of the program: `spm_train`, or `spm_train.exe` on Windows.
    pub(crate) fn file_name(&self) -> String {
        format!("{}{EXE_SUFFIX}", self.name)
    }

    /// Whether a process that was started as `file` is this program.
    pub(crate) fn is_name_of(&self, file: &OsStr) -> bool {
        is_program_file(Path::new(file), self.name)
    }
}

/// The name under which the process was started, unless that is one of a program of SentencePiece.
pub(crate) fn own_name() -> Option<String> {
    let file = std::env::args_os().next()?;
    let is_reference = super::reference_programs().any(|program| program.is_name_of(&file));
    (!is_reference).then(|| file.display().to_string())
}

/// What a user types for the subcommand `verb`: the name under which the process was started, and
/// the verb, unless the name stands for it.
pub(crate) fn typed_command(verb: &str) -> String {
    match own_name() {
        Some(program) => format!("{program} {verb}"),
        None => std::env::args_os()
            .next()
            .map_or_else(|| verb.to_owned(), |name| name.display().to_string()),
    }
}

/// Whether the path `file` names the program `name`: the last part of the path is the name, with or
/// without `.exe`.
pub(crate) fn is_program_file(file: &Path, name: &str) -> bool {
    let Some(file_name) = file.file_name().and_then(OsStr::to_str) else {
        return false;
    };
    if cfg!(windows) {
        return without_exe(&file_name.to_ascii_lowercase()) == name;
    }
    without_exe(file_name) == name
}

/// The name of a file without the ending of programs on Windows.
fn without_exe(file_name: &str) -> &str {
    file_name.strip_suffix(".exe").unwrap_or(file_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_recognized_by_the_last_part_of_its_path() {
        let cases = [
            ("spm_train", true),
            ("/usr/local/bin/spm_train", true),
            ("./spm_train.exe", true),
            ("spm_train.old", false),
            ("spm_trainer", false),
            ("spm_train/spiece", false),
            ("spiece", false),
            ("", false),
        ];
        let program = ReferenceProgram::with_same_defaults("spm_train");
        for (file, expected) in cases {
            assert_eq!(program.is_name_of(OsStr::new(file)), expected, "{file:?}");
        }
        assert_eq!(
            program.is_name_of(OsStr::new("SPM_TRAIN.EXE")),
            cfg!(windows)
        );
    }
}
