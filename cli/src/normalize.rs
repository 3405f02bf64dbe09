//! `spiece normalize`: text -> normalized text, with the flags of `spm_normalize`.
//!
//! With a model, the default is the whole normalization of the model, including the dummy prefix,
//! whitespace marks and user-defined symbols; with `--nouse_internal_normalization` only the rules
//! are applied, which is the default of `spm_normalize`.
//!
//! Input: lines of text, and a model, a file of rules or the name of built-in rules. Output: the
//! normalized lines, or the rules of the model with `--decompile`. Cost: one normalization of each
//! line, by all threads.
//!
//! ```text
//! $ echo 'Ｈｅｌｌｏ  ①' | spiece normalize --normalization_rule_name=nfkc
//! Hello 1
//! $ echo 'Hello world' | spiece normalize --model=testdata/golden/llama2.model
//! ▁Hello▁world
//! ```

use clap::{ArgMatches, Command};
use spiece::{Model, TextNormalizer};

use super::args::{self, is_on, non_empty};
use super::encode::open_model;
use super::io::{self, CliError, CliResult};
use super::stream::{Stream, with_stream_flags};

/// The command line: the source of the rules, the extent of the normalization, and the flags of all
/// subcommands that read lines.
pub(crate) fn command() -> Command {
    let command = Command::new("normalize")
        .about("Normalizes lines of text as a model does before it splits them")
        .long_about(
            "Normalizes lines of text: as a model does before it splits them, or by built-in rules, or by rules from \
             a file.\n\nExamples:\n  spiece normalize --model=my.model < text.txt\n  spiece normalize \
             --normalization_rule_name=nfkc < text.txt",
        )
        .args([
            args::switch(
                "use_internal_normalization",
                "Apply the whole normalization of the model, including the dummy prefix and whitespace marks (the default with \
                 a model), instead of the rules alone",
            ),
            args::value("normalization_rule_name", "Built-in rules: nmt_nfkc, nfkc, nmt_nfkc_cf, nfkc_cf or identity"),
            args::file("normalization_rule_tsv", "File of normalization rules in TSV form"),
            args::switch("remove_extra_whitespaces", "Remove whitespace at both ends and repeated whitespace inside (the default)"),
            args::switch("decompile", "Write the model's rules as a file of rules"),
        ]);
    with_stream_flags(command)
}

/// The command line with the default of `spm_normalize`: the rules of a model alone.
pub(crate) fn with_reference_defaults(command: Command) -> Command {
    command.mut_arg("use_internal_normalization", |flag| {
        flag.default_value("false").help(
            "Apply the whole normalization of the model, including the dummy prefix and whitespace marks, instead of \
             the rules alone",
        )
    })
}

/// Normalizes each line of the input, or writes the rules of the model.
pub(crate) fn run(matches: &ArgMatches) -> CliResult {
    if is_on(matches, "decompile")? {
        return decompile(matches);
    }
    let stream = Stream::new(matches)?;
    let has_model = non_empty(matches, "model").is_some();
    let is_internal = is_on_or(matches, "use_internal_normalization", has_model)?;
    if has_model && is_internal {
        return normalize_as_model(&stream, matches);
    }
    let mut normalizer = normalizer(matches)?;
    if !is_internal {
        apply_rules_only(&mut normalizer, matches)?;
    }
    normalize_by_rules(&stream, &normalizer)
}

/// Whether the switch `name` is on; `default` if it is not given.
fn is_on_or(matches: &ArgMatches, name: &str, default: bool) -> CliResult<bool> {
    non_empty(matches, name).map_or(Ok(default), |_| is_on(matches, name))
}

/// Appends a line.
fn push_line(text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(text);
    out.push(b'\n');
}

/// Writes each line as the encoder of the model normalizes it, with user-defined symbols.
fn normalize_as_model(stream: &Stream, matches: &ArgMatches) -> CliResult {
    let tokenizer = open_model(matches)?;
    stream.run(
        || Ok(tokenizer.encoder()),
        |encoder, _, line, out| {
            push_line(encoder.normalize(line), out);
            Ok(())
        },
    )
}

/// Writes each line as `normalizer` normalizes it.
fn normalize_by_rules(stream: &Stream, normalizer: &TextNormalizer) -> CliResult {
    stream.run(
        || Ok(()),
        |(), _, line, out| {
            push_line(normalizer.normalize(line).as_bytes(), out);
            Ok(())
        },
    )
}

/// Switches off what is not a rule: the dummy prefix, whitespace marks, and, if the flags say so,
/// the removal of whitespace.
fn apply_rules_only(normalizer: &mut TextNormalizer, matches: &ArgMatches) -> CliResult {
    normalizer.set_add_dummy_prefix(false);
    normalizer.set_escape_whitespaces(false);
    let removes = is_on_or(matches, "remove_extra_whitespaces", true)?;
    normalizer.set_remove_extra_whitespaces(removes);
    Ok(())
}

/// The normalizer that the flags select.
fn normalizer(matches: &ArgMatches) -> CliResult<TextNormalizer> {
    if let Some(path) = non_empty(matches, "model") {
        return Ok(TextNormalizer::of_model(&Model::open(path)?));
    }
    if let Some(path) = non_empty(matches, "normalization_rule_tsv") {
        return normalizer_of_file(path);
    }
    let name = non_empty(matches, "normalization_rule_name").ok_or_else(no_rules)?;
    Ok(TextNormalizer::named(name)?)
}

/// The error if no flag names rules.
fn no_rules() -> CliError {
    let remedy = "give it, --normalization_rule_tsv or --normalization_rule_name";
    args::missing("model", remedy)
}

/// The normalizer for a file of rules.
fn normalizer_of_file(path: &str) -> CliResult<TextNormalizer> {
    Ok(TextNormalizer::from_tsv(&io::read_file(path)?)?)
}

/// Writes the rules of a model, one a line, in the format in which they are read.
fn decompile(matches: &ArgMatches) -> CliResult {
    let lines = rule_lines(&args::model(matches)?)?;
    io::write_output(args::output_file(matches), &lines)
}

/// The lines of all rules of a model.
fn rule_lines(model: &Model) -> CliResult<Vec<u8>> {
    let mut lines = Vec::new();
    for (source, target) in model.normalization_rules()? {
        push_line(rule_line(&source, &target).as_bytes(), &mut lines);
    }
    Ok(lines)
}

/// A rule: code points of the source, code points of the target, and both as text in a comment.
/// Backspace, vertical tab, form feed, line feed and carriage return become spaces.
fn rule_line(source: &str, target: &str) -> String {
    let comment = format!("{source} => {target}").replace(CONTROL_CHARACTERS, " ");
    format!("{}\t{}\t# {comment}", points(source), points(target))
}

/// The control characters that would disturb the comment of a rule.
const CONTROL_CHARACTERS: [char; 5] = ['\u{8}', '\u{b}', '\u{c}', '\n', '\r'];

/// The code points of `text` in hexadecimal.
fn points(text: &str) -> String {
    let points: Vec<String> = text
        .chars()
        .map(|c| format!("{:X}", u32::from(c)))
        .collect();
    points.join(" ")
}
