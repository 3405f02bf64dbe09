//! Flags as people type them for `spm_train`.
//!
//! `--vocab_size=8000`, `--vocab_size 8000`, `--vocab-size=8000` and `-vocab_size=8000` are one flag;
//! `--byte_fallback`, `--byte_fallback=true` and `--nobyte_fallback` are all understood; a flag that is
//! given twice has its last value.

use std::collections::HashSet;
use std::ffi::OsString;
use std::str::FromStr;

use clap::builder::ValueParser;
use clap::{Arg, ArgAction, ArgMatches, Command};

use super::io::CliError;
use super::progress::Messages;
use crate::text::flag::parse_flag;

/// The arguments with the names of flags in one form: two hyphens in front, underscores inside, and
/// `--name=false` for the `--noname` of a switch of `command`. What follows `--` stays as it is.
pub(crate) fn with_canonical_names(
    command: &Command,
    arguments: impl Iterator<Item = OsString>,
) -> Vec<OsString> {
    let switches: HashSet<String> = command
        .get_subcommands()
        .flat_map(Command::get_arguments)
        .filter(|flag| flag.is_require_equals_set())
        .map(|flag| flag.get_id().to_string())
        .collect();
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

/// The canonical form of a flag of more than one letter.
fn canonical_name(argument: &str, switches: &HashSet<String>) -> Option<String> {
    let body = argument
        .strip_prefix("--")
        .or_else(|| argument.strip_prefix('-'))?;
    let (name, value) = body.split_at(body.find('=').unwrap_or(body.len()));
    let is_name = name.len() > 1
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    let name = is_name.then(|| name.replace('-', "_"))?;
    match name.strip_prefix("no") {
        Some(switch) if value.is_empty() && switches.contains(switch) => {
            Some(format!("--{switch}=false"))
        }
        _ => Some(format!("--{name}{value}")),
    }
}

/// A flag with a value of its own.
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

/// What the command line says about the flag `name`.
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

/// What the command line wants to hear.
pub(crate) fn messages(matches: &ArgMatches) -> Messages {
    Messages::new(
        matches.get_flag("quiet")
            || given(matches, "minloglevel").is_some_and(|level| level != "0"),
    )
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
