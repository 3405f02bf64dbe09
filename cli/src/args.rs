//! The flags of the command line, in all forms that `spm_train` accepts.
//!
//! `--vocab_size=8000`, `--vocab_size 8000`, `--vocab-size=8000` and `-vocab_size=8000` are the
//! same flag; `--byte_fallback`, `--byte_fallback=true` and `--nobyte_fallback` are all accepted.
//! If a flag is given twice, the last value counts. `--byte_fallback true` is accepted where it can
//! mean only one thing; `--byte_fallback false` is refused.
//!
//! ```text
//! --vocab-size=8000   ->  --vocab_size=8000
//! -vocab_size 8000    ->  --vocab_size 8000
//! --nobyte_fallback   ->  --byte_fallback=false
//! -q                  ->  -q                      (one letter: not changed)
//! ```

use std::collections::HashSet;
use std::ffi::OsString;
use std::fmt::Display;
use std::str::FromStr;

use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Command, ValueHint};

use super::headings;
use super::io::{CliError, CliResult, is_standard_output};
use super::progress::Messages;
use spiece::byte_bpe::SpecialToken;
use spiece::formats::ByteFormatOptions;
use spiece::pipeline::UnicodeVersion;
use spiece::train::{OptionDescriptor, OptionKind};
use spiece::{ExtraOption, Model, PatternSyntax, Pretokenizer, Tokenizer, TrainFlags};

/// The help text of a flag that only older releases of SentencePiece have.
pub(crate) const RETIRED_HELP: &str = "Retired; has no effect";

/// Brings the names of flags into one form: two leading hyphens, underscores inside, and
/// `--name=false` for the `--noname` of a switch. Arguments after `--` are not changed.
///
/// # Errors
/// A switch has its value in the next argument, as in `--hard_vocab_limit false`.
pub(crate) fn with_canonical_names(
    command: &mut Command,
    arguments: Vec<OsString>,
) -> Result<Vec<OsString>, clap::Error> {
    let name = arguments.get(1);
    let subcommand = name.and_then(|name| command.find_subcommand(name));
    let verb = subcommand.unwrap_or(command);
    let switches = switch_names(verb);
    let takes_files = verb.get_positionals().next().is_some();
    let mut canonical = Vec::with_capacity(arguments.len());
    let mut arguments = arguments.into_iter().peekable();
    while let Some(argument) = arguments.next() {
        if argument == "--" {
            canonical.push(argument);
            canonical.extend(arguments);
            break;
        }
        let text = argument.to_str().unwrap_or_default();
        let switch = bare_switch(text, &switches);
        let next = arguments.peek().and_then(|next| next.to_str());
        if let Some((name, is_on)) = &switch
            && let Some(word) = next.filter(|next| !next.is_empty())
            && let Some(value) = parse_switch(word)
        {
            // Releases of the reference until 0.2.0 take the word as the value. Newer ones take it
            // as a file or ignore it, so that `--hard_vocab_limit false` sets the limit. Only if
            // all of them set the switch to true, it is clear what is meant.
            if !value || !is_on || takes_files {
                let message = separate_value(text, name, *is_on, word);
                return Err(command.error(ErrorKind::UnknownArgument, message));
            }
            arguments.next();
        }
        canonical.push(match (canonical_name(text), switch) {
            (_, Some((name, false))) => format!("--{name}=false").into(),
            (Some(renamed), _) => renamed.into(),
            (None, _) => argument,
        });
    }
    Ok(canonical)
}

/// The error for a switch with its value in the next argument.
fn separate_value(typed: &str, name: &str, is_on: bool, word: &str) -> String {
    let remedy = if is_on {
        format!("{typed}={word}")
    } else {
        format!("{typed} alone, or --{name}={word}")
    };
    format!(
        "{typed} {word}: the value of a switch follows an equals sign; write {remedy}. SentencePiece 0.2.3 takes {word:?} as a \
         file or ignores it, and sets the switch to {is_on}; releases until 0.2.0 took it as the value"
    )
}

/// The names of the switches of a command. Only switches require an equals sign before their value;
/// see [`switch`].
fn switch_names(command: &Command) -> HashSet<String> {
    let flags = command.get_arguments();
    let switches = flags.filter(|flag| flag.is_require_equals_set());
    let names = switches.flat_map(|flag| {
        let short = flag.get_short().map(String::from);
        short.into_iter().chain([flag.get_id().to_string()])
    });
    names.collect()
}

/// The name of a switch without a value, and whether it is set to true.
fn bare_switch(argument: &str, switches: &HashSet<String>) -> Option<(String, bool)> {
    let name = without_hyphens(argument)?.replace('-', "_");
    match name.strip_prefix("no") {
        Some(switch) if switches.contains(switch) => Some((switch.to_owned(), false)),
        _ => switches.contains(&name).then_some((name, true)),
    }
}

/// The canonical form of a flag of more than one letter; `None` for any other argument.
fn canonical_name(argument: &str) -> Option<String> {
    let body = without_hyphens(argument)?;
    // The equals sign stays with the value.
    let (name, value) = body.split_at(body.find('=').unwrap_or(body.len()));
    let is_flag_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    // `-5` and `-` are values.
    let is_name = name.len() > 1
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(is_flag_char);
    is_name.then(|| format!("--{}{value}", name.replace('-', "_")))
}

/// The argument without its one or two leading hyphens; `None` if it has none.
fn without_hyphens(argument: &str) -> Option<&str> {
    let after_two = argument.strip_prefix("--");
    after_two.or_else(|| argument.strip_prefix('-'))
}

/// A flag with a value, which may start with a hyphen. The last value counts.
pub(crate) fn value(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .help(help)
        .value_name("VALUE")
        .allow_hyphen_values(true)
        .overrides_with(name)
}

/// A flag that names a file.
pub(crate) fn file(name: &'static str, help: &'static str) -> Arg {
    value(name, help)
        .value_name("FILE")
        .value_hint(ValueHint::FilePath)
}

/// A flag that names a folder.
pub(crate) fn folder(name: &'static str, help: &'static str) -> Arg {
    value(name, help)
        .value_name("DIR")
        .value_hint(ValueHint::DirPath)
}

/// The flags that name a tokenizer.
pub(crate) fn tokenizer_flags() -> [Arg; 5] {
    let [pattern, special_ids, lowercase] = opening_flags();
    let model = file("model", MODEL_HELP);
    [model, pattern, special_ids, lowercase, unicode_flag()]
}

/// The flag for the normalization forms of tokenizers.
pub(crate) fn unicode_flag() -> Arg {
    value(
        UNICODE,
        "The version of Unicode of the normalization forms of a tokenizer.json or vocab.txt: 9, as tokenizers up to 0.23 has them, \
         or 17, as tokenizers 1.0 has them. Without it, what the version of the file is for",
    )
    .help_heading(headings::FILES)
}

/// The flag for the version of Unicode.
pub(crate) const UNICODE: &str = "unicode";

/// What a model may be.
pub(crate) const MODEL_HELP: &str = "The model: a .model file, tokenizer.json, GGUF, .tiktoken, tekken.json, minbpe's .model, \
                                     BERT's vocab.txt, vocab.json beside merges.txt, or a folder with one of them; the content decides";

/// The flags for what some files lack.
pub(crate) fn opening_flags() -> [Arg; 3] {
    let [pattern, special_ids] = vocabulary_flags();
    let lowercase = switch(
        LOWERCASE,
        "Whether text becomes lower case and loses its accents, for BERT's vocab.txt, which does not say it. Without this \
         flag it does unless a piece has a capital letter, or as tokenizer_config.json beside it says",
    );
    [
        pattern,
        special_ids,
        lowercase.help_heading(headings::FILES),
    ]
}

/// The flags for what the files of some byte-level vocabularies lack.
pub(crate) fn vocabulary_flags() -> [Arg; 2] {
    let pattern = value(
        PATTERN,
        "How a byte-level vocabulary without a pattern of its own (.tiktoken, vocab.json) cuts text: gpt2, cl100k, o200k, \
         llama3, qwen2, or a regular expression. Vocabularies of OpenAI are known without it",
    );
    let special_ids = value(
        SPECIAL_IDS,
        "The special tokens of such a vocabulary with their ids, for example '<|bos|>=128000,<|eos|>=128001'",
    )
    .value_name("TEXT=ID,...");
    [pattern, special_ids].map(|flag| flag.help_heading(headings::FILES))
}

/// The flag for the pattern of a vocabulary.
pub(crate) const PATTERN: &str = "pattern";
/// The flag for the special tokens of a vocabulary and their ids.
pub(crate) const SPECIAL_IDS: &str = "special_ids";
/// The flag for the normalizer of a `vocab.txt`.
pub(crate) const LOWERCASE: &str = "lowercase";

/// The flag for the file to write.
pub(crate) fn output_flag() -> Arg {
    let help = "Write to this file, which is replaced when the run has succeeded";
    file("output", help)
}

/// A flag that is on or off: `--name`, `--name=true`, `--name=false`, `--noname`.
pub(crate) fn switch(name: &'static str, help: &'static str) -> Arg {
    value(name, help)
        .num_args(0..=1)
        .require_equals(true)
        .default_missing_value("true")
        .value_name("true|false")
}

/// The flag of an option of training, whose help does not have the default.
pub(crate) fn flag_of(option: &OptionDescriptor) -> Arg {
    let value = value(option.name, option.help);
    match option.kind {
        OptionKind::Flag => switch(option.name, option.help),
        OptionKind::List => value.value_name("A,B,..."),
        _ => value.value_name("VALUE"),
    }
}

/// The value of the flag `name` on the command line, or its default; `None` if it has neither.
pub(crate) fn given<'m>(matches: &'m ArgMatches, name: &str) -> Option<&'m str> {
    matches.get_one::<String>(name).map(String::as_str)
}

/// Whether the command line gives the flag `name`, or it has a default.
pub(crate) fn is_given(matches: &ArgMatches, name: &str) -> bool {
    given(matches, name).is_some()
}

/// The value of the flag `name`; `None` if it is empty, which means "not given", as in the
/// reference.
pub(crate) fn non_empty<'m>(matches: &'m ArgMatches, name: &str) -> Option<&'m str> {
    given(matches, name).filter(|value| !value.is_empty())
}

/// The value of the flag `name`, which must be given; `remedy` says what the flag is for.
pub(crate) fn required<'m>(
    matches: &'m ArgMatches,
    name: &str,
    remedy: &str,
) -> CliResult<&'m str> {
    non_empty(matches, name).ok_or_else(|| missing(name, remedy))
}

/// The error if the flag `name` is not given; `remedy` says what the flag is for.
pub(crate) fn missing(name: &str, remedy: &str) -> CliError {
    CliError::Usage(format!("--{name} is missing; {remedy}"))
}

/// The value of the flag `name`; empty if it is not given and has no default.
pub(crate) fn text<'m>(matches: &'m ArgMatches, name: &str) -> &'m str {
    given(matches, name).unwrap_or_default()
}

/// The error for an invalid value of the flag `name`; `expected` completes "is not".
pub(crate) fn invalid(name: &str, value: &str, expected: &str) -> CliError {
    CliError::Usage(format!("--{name}: {value:?} is not {expected}"))
}

/// The error for an invalid option value that the library reports. Its message begins with the name
/// of the option.
pub(crate) fn invalid_option(error: impl Display) -> CliError {
    CliError::Usage(format!("--{error}"))
}

/// Makes the error for a value of the flag `name` that the library refuses.
pub(crate) fn in_flag<E: Display>(name: &str) -> impl Fn(E) -> CliError {
    move |problem| CliError::Usage(format!("--{name}: {problem}"))
}

/// The texts of the flag `name`, separated by commas, with quotes around those that have commas, as
/// in other lists; none if it is not given.
pub(crate) fn list(matches: &ArgMatches, name: &str) -> CliResult<Vec<String>> {
    let mut flags = TrainFlags::default();
    if let Some(value) = given(matches, name) {
        let set = flags.set("control_symbols", value);
        set.map_err(in_flag(name))?;
    }
    Ok(flags.control_symbols)
}

/// The numeric value of the flag `name`, which has a default.
pub(crate) fn number<N: FromStr>(matches: &ArgMatches, name: &str) -> CliResult<N> {
    to_number(name, text(matches, name))
}

fn to_number<N: FromStr>(name: &str, text: &str) -> CliResult<N> {
    let number = text.trim_ascii().parse();
    number.map_err(|_| invalid(name, text, "a number that it takes"))
}

/// The numeric value of the flag `name`; `None` if it is not given.
pub(crate) fn given_number<N: FromStr>(matches: &ArgMatches, name: &str) -> CliResult<Option<N>> {
    given(matches, name)
        .map(|text| to_number(name, text))
        .transpose()
}

/// Whether the flag `name` is on; false if it is not given.
pub(crate) fn is_on(matches: &ArgMatches, name: &str) -> CliResult<bool> {
    Ok(given_switch(matches, name)?.unwrap_or(false))
}

/// Whether the flag `name` is on; `None` if it is not given.
fn given_switch(matches: &ArgMatches, name: &str) -> CliResult<Option<bool>> {
    given(matches, name)
        .map(|text| parse_switch(text).ok_or_else(|| invalid(name, text, "true or false")))
        .transpose()
}

/// The value of a switch, in the spellings of the reference.
fn parse_switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "" | "true" | "t" | "yes" | "y" | "1" => Some(true),
        "false" | "f" | "no" | "n" | "0" => Some(false),
        _ => None,
    }
}

/// The file that `--model` names.
pub(crate) fn model_path(matches: &ArgMatches) -> CliResult<&str> {
    required(matches, "model", "it names the file of the model")
}

/// The tokenizer of [`tokenizer_flags`].
pub(crate) fn tokenizer(matches: &ArgMatches) -> CliResult<Tokenizer> {
    let options = opening_options(matches)?;
    Ok(Tokenizer::open_with(model_path(matches)?, &options)?)
}

/// What [`opening_flags`] say.
pub(crate) fn opening_options(matches: &ArgMatches) -> CliResult<ByteFormatOptions> {
    let mut options = byte_format_options(matches)?;
    options.lowercase = given_switch(matches, LOWERCASE)?;
    Ok(options)
}

/// What `--pattern`, `--special_ids` and `--unicode` say about a file.
pub(crate) fn byte_format_options(matches: &ArgMatches) -> CliResult<ByteFormatOptions> {
    let mut options = ByteFormatOptions::default();
    if non_empty(matches, SPECIAL_IDS).is_some() {
        let tokens = list(matches, SPECIAL_IDS)?.into_iter().map(|token| {
            // A text may have equals signs, an id has none.
            let parts = token.rsplit_once('=');
            let parts = parts.and_then(|(text, id)| Some((text, id.parse().ok()?)));
            let (text, id) = parts.ok_or_else(|| invalid(SPECIAL_IDS, &token, "TEXT=ID"))?;
            Ok(SpecialToken::new(text, id))
        });
        options.special_tokens = Some(tokens.collect::<CliResult<_>>()?);
    }
    // Not all subcommands have it.
    if let Ok(Some(version)) = matches.try_get_one::<String>(UNICODE) {
        options.unicode = Some(match &**version {
            "9" => UnicodeVersion::V9,
            "17" => UnicodeVersion::V17,
            _ => return Err(invalid(UNICODE, version, "9 or 17")),
        });
    }
    if let Some(pattern) = non_empty(matches, PATTERN) {
        let parsed = Pretokenizer::parse(pattern, PatternSyntax::Rust);
        options.pretokenizer = Some(parsed.map_err(in_flag(PATTERN))?);
    }
    Ok(options)
}

/// The model of `--model`, for subcommands that need no tokenizer.
pub(crate) fn model(matches: &ArgMatches) -> CliResult<Model> {
    Ok(Model::open(model_path(matches)?)?)
}

/// The options of `--extra_options`.
pub(crate) fn extra_options(matches: &ArgMatches) -> CliResult<Vec<ExtraOption>> {
    Ok(ExtraOption::parse_list(text(matches, "extra_options"))?)
}

/// The file of `--output`; `None` is standard output.
pub(crate) fn output_file(matches: &ArgMatches) -> Option<&str> {
    non_empty(matches, "output").filter(|name| !is_standard_output(name))
}

/// The messages that `--quiet` and `--minloglevel` leave. Any level except 0 leaves errors only.
pub(crate) fn messages(matches: &ArgMatches) -> CliResult<Messages> {
    let level = given(matches, "minloglevel");
    let quiet = is_on(matches, "quiet")? || level.is_some_and(|level| level != "0");
    Ok(Messages::new(quiet))
}

/// Adds the flags that all subcommands share.
pub(crate) fn with_common_flags(command: Command) -> Command {
    // The SentencePiece programs have this flag in place of `--quiet`.
    let help = "Messages to leave out: 0 none, 1 or more all but errors";
    let log_level = value("minloglevel", help).hide(true);
    let quiet = switch("quiet", "Write nothing to standard error but errors").short('q');
    command
        .next_help_heading(None::<&str>)
        .args([quiet, log_level])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command() -> Command {
        let flags = [switch("flag", "").short('f'), value("other", "")];
        let with_files = Command::new("z").args(flags.clone()).arg(Arg::new("files"));
        let commands = [Command::new("y").args(flags), with_files];
        Command::new("x").subcommands(commands)
    }

    /// The canonical form of the arguments of the subcommand `y`.
    fn canonical(arguments: &[&str]) -> Result<Vec<OsString>, String> {
        let arguments = ["x", "y"].iter().chain(arguments).map(OsString::from);
        with_canonical_names(&mut command(), arguments.collect())
            .map(|canonical| canonical[2..].to_vec())
            .map_err(|error| error.to_string())
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
            assert_eq!(canonical(&[typed]).unwrap(), [expected], "{typed}");
        }
        assert_eq!(canonical(&["--", "--a-b"]).unwrap()[1], "--a-b");
        let path = ["x", "--flag", "--a-b"].map(OsString::from).to_vec();
        let canonical = with_canonical_names(&mut command(), path).unwrap();
        assert_eq!(canonical[2], "--a_b", "without a subcommand");
    }

    #[test]
    fn a_switch_with_a_separate_value_is_true_or_refused() {
        let accepted: [(&[&str], &[&str]); 5] = [
            (&["--flag", "True", "--other"], &["--flag", "--other"]),
            (&["-flag", "1"], &["--flag"]),
            (&["-f", "yes"], &["-f"]),
            (&["--flag", "word"], &["--flag", "word"]),
            (&["--flag", "--", "false"], &["--flag", "--", "false"]),
        ];
        for (typed, expected) in accepted {
            assert_eq!(canonical(typed).unwrap(), expected, "{typed:?}");
        }
        let refused = [
            (["--flag", "false"], "write --flag=false"),
            (["-f", "0"], "write -f=0"),
            (["--noflag", "true"], "write --noflag alone, or --flag=true"),
            (["--noflag", "N"], "write --noflag alone, or --flag=N"),
        ];
        for (typed, remedy) in refused {
            let error = canonical(&typed).unwrap_err();
            assert!(error.contains(remedy), "{typed:?}: {error}");
        }
        let arguments = ["x", "z", "--flag", "true"].map(OsString::from).to_vec();
        let error = with_canonical_names(&mut command(), arguments).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("write --flag=true"), "{message}");
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
            let names = ["x", "y"].map(OsString::from).into_iter();
            let arguments = names.chain(canonical(arguments).unwrap());
            let matches = command().try_get_matches_from(arguments).unwrap();
            let (_, matches) = matches.subcommand().unwrap();
            assert_eq!(given(matches, "flag"), *expected);
        }
    }
}
