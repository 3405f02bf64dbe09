//! The flags of the command line, in all forms that `spm_train` accepts.
//!
//! Input: the arguments of the process. Output: arguments in the one form that `clap` is configured for, and functions
//! that read the parsed values. Cost: one pass over the arguments.
//!
//! `--vocab_size=8000`, `--vocab_size 8000`, `--vocab-size=8000` and `-vocab_size=8000` are one flag;
//! `--byte_fallback`, `--byte_fallback=true` and `--nobyte_fallback` are all accepted; a flag that is
//! given twice has its last value.
//!
//! ```text
//! --vocab-size=8000   ->  --vocab_size=8000
//! -vocab_size 8000    ->  --vocab_size 8000
//! --nobyte_fallback   ->  --byte_fallback=false
//! -q                  ->  -q                      (one letter: not changed)
//! ```

use std::collections::HashSet;
use std::ffi::OsString;
use std::str::FromStr;

use clap::builder::ValueParser;
use clap::{Arg, ArgAction, ArgMatches, Command};

use super::io::CliError;
use super::progress::Messages;
use crate::text::flag::parse_flag;

/// The arguments with the names of flags in one form: two hyphens in front, underscores inside, and
/// `--name=false` for the `--noname` of a switch of `command`. Arguments after `--` are not changed.
pub(crate) fn with_canonical_names(
    command: &Command,
    arguments: impl Iterator<Item = OsString>,
) -> Vec<OsString> {
    let switches = switch_names(command);
    let mut only_values = false;
    arguments
        .map(|argument| {
            only_values |= argument == "--";
            match argument.to_str() {
                Some(text) if !only_values => {
                    canonical_name(text, &switches).map_or(argument, OsString::from)
                }
                _ => argument,
            }
        })
        .collect()
}

/// The names of all switches. Only switches require an equals sign before their value; see [`switch`].
fn switch_names(command: &Command) -> HashSet<String> {
    let subcommands = command.get_subcommands();
    let flags = subcommands.flat_map(Command::get_arguments);
    flags
        .filter(|flag| flag.is_require_equals_set())
        .map(|flag| flag.get_id().to_string())
        .collect()
}

/// The canonical form of a flag of more than one letter; `None` for any other argument.
fn canonical_name(argument: &str, switches: &HashSet<String>) -> Option<String> {
    let body = argument
        .strip_prefix("--")
        .or_else(|| argument.strip_prefix('-'))?;
    let name_length = body.find('=').unwrap_or(body.len());
    let (name, value) = body.split_at(name_length);
    if !is_flag_name(name) {
        return None;
    }
    let name = name.replace('-', "_");
    match name.strip_prefix("no") {
        Some(switch) if value.is_empty() && switches.contains(switch) => {
            Some(format!("--{switch}=false"))
        }
        _ => Some(format!("--{name}{value}")),
    }
}

/// Whether `name` can be the name of a flag: at least two characters, a letter first. So `-5` and `-` stay values.
fn is_flag_name(name: &str) -> bool {
    name.len() > 1
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

/// A flag with a value, which may start with a hyphen. The last value counts.
pub(crate) fn value(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .help(help)
        .num_args(1)
        .allow_hyphen_values(true)
        .overrides_with(name)
        .value_parser(ValueParser::string())
}

/// A flag that is on or off: `--name`, `--name=true`, `--name=false`, `--noname`.
pub(crate) fn switch(name: &'static str, help: &'static str) -> Arg {
    value(name, help)
        .num_args(0..=1)
        .require_equals(true)
        .default_missing_value("true")
        .value_name("true|false")
}

/// The value of the flag `name` on the command line, or its default; `None` if it has neither.
pub(crate) fn given<'m>(matches: &'m ArgMatches, name: &str) -> Option<&'m str> {
    matches.get_one::<String>(name).map(String::as_str)
}

/// The number that the command line gives for the flag `name`, which has a default.
pub(crate) fn number<N: FromStr>(matches: &ArgMatches, name: &str) -> Result<N, CliError> {
    let text = given(matches, name).unwrap_or_default();
    text.trim_ascii()
        .parse()
        .map_err(|_| CliError::Usage(format!("--{name}: {text:?} is not a number that it takes")))
}

/// Whether the command line switches the flag `name` on.
pub(crate) fn is_on(matches: &ArgMatches, name: &str) -> Result<bool, CliError> {
    let Some(text) = given(matches, name) else {
        return Ok(false);
    };
    parse_flag(text)
        .ok_or_else(|| CliError::Usage(format!("--{name}: {text:?} is not true or false")))
}

/// The messages that `--quiet` and `--minloglevel` leave. Any level but 0 leaves errors only.
pub(crate) fn messages(matches: &ArgMatches) -> Messages {
    let is_quiet = matches.get_flag("quiet");
    let has_level = given(matches, "minloglevel").is_some_and(|level| level != "0");
    Messages::new(is_quiet || has_level)
}

/// Adds the flags that all subcommands share.
pub(crate) fn with_common_flags(command: Command) -> Command {
    command.arg(
        Arg::new("quiet")
            .long("quiet")
            .short('q')
            .help("Write nothing to standard error but errors")
            .action(ArgAction::SetTrue),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command() -> Command {
        Command::new("x")
            .subcommand(Command::new("y").args([switch("flag", ""), value("other", "")]))
    }

    fn canonical(arguments: &[&str]) -> Vec<OsString> {
        with_canonical_names(&command(), arguments.iter().map(OsString::from))
    }

    #[test]
    fn flags_are_renamed_to_their_canonical_form() {
        let cases = [
            ("--vocab-size=8-0", "--vocab_size=8-0"),
            ("-vocab_size", "--vocab_size"),
            ("--input=a-b", "--input=a-b"),
            ("--noflag", "--flag=false"),
            ("--noflag=1", "--noflag=1"),
            ("--noother", "--noother"),
            ("-5", "-5"),
            ("-", "-"),
            ("-q", "-q"),
            ("word-with-hyphens", "word-with-hyphens"),
            ("--", "--"),
        ];
        for (typed, expected) in cases {
            assert_eq!(canonical(&[typed]), [expected], "{typed}");
        }
        assert_eq!(canonical(&["--", "--a-b"])[1], "--a-b");
    }

    #[test]
    fn the_last_switch_counts() {
        let cases: &[(&[&str], Option<&str>)] = &[
            (&[], None),
            (&["--flag"], Some("true")),
            (&["--flag=false"], Some("false")),
            (&["--noflag"], Some("false")),
            (&["--noflag", "--flag"], Some("true")),
            (&["--flag", "--noflag"], Some("false")),
            (&["--flag=1", "--other", "-3", "--other=4"], Some("1")),
        ];
        for (arguments, expected) in cases {
            let arguments = canonical(&[&["x", "y"], *arguments].concat());
            let matches = command().try_get_matches_from(arguments).unwrap();
            let (_, matches) = matches.subcommand().unwrap();
            assert_eq!(given(matches, "flag"), *expected);
        }
    }
}
