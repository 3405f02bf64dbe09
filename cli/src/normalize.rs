//! `spiece normalize`: text -> normalized text, with the flags of `spm_normalize`.
//!
//! With a model, the default is the whole normalization of the model, including the dummy prefix,
//! whitespace marks and user-defined symbols; with `--nouse_internal_normalization` only the rules
//! are applied, which is the default of `spm_normalize`.
//!
//! The rules are those of a model, of a file or built-in ones; `--decompile` writes them.
//!
//! ```text
//! $ echo 'Ｈｅｌｌｏ  ①' | spiece normalize --normalization_rule_name=nfkc
//! Hello 1
//! $ echo 'Hello world' | spiece normalize --model=testdata/golden/llama2.model
//! ▁Hello▁world
//! ```

use clap::{ArgMatches, Command};
use spiece::{Model, ModelError, NormalizerSpec, TextNormalizer};

use super::args::{self, is_on, non_empty};
use super::io::{self, CliError, CliResult};
use super::stream::{Stream, with_stream_flags};

pub(crate) fn command() -> Command {
    let command = Command::new("normalize")
        .about("Normalizes lines of text as a model does before it splits them")
        .long_about(
            "Normalizes lines of text: as a model does before it splits them, or by built-in rules, or by rules from \
             a file.\n\nExamples:\n  spiece normalize --model=my.model < text.txt\n  spiece normalize \
             --normalization_rule_name=nfkc < text.txt\n  spiece normalize --normalization_rule_name=nmt_nfkc \
             --decompile > rules.tsv",
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
            args::switch("decompile", "Write the rules as a file of rules, to be changed and used with --normalization_rule_tsv"),
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

/// Normalizes each line of the input, or writes the rules.
pub(crate) fn run(matches: &ArgMatches) -> CliResult {
    if is_on(matches, "decompile")? {
        return decompile(matches);
    }
    let stream = Stream::new(matches)?;
    let has_model = non_empty(matches, "model").is_some();
    let is_internal = is_on_or(matches, "use_internal_normalization", has_model)?;
    if has_model && is_internal {
        // The encoder also finds user-defined symbols.
        let tokenizer = args::tokenizer(matches)?;
        let make = || Ok(tokenizer.encoder());
        return stream.run(make, |encoder, _, line, out| {
            push_line(encoder.normalize(line), out);
            Ok(())
        });
    }
    let mut normalizer = TextNormalizer::of_spec(&spec(matches)?)?;
    if !is_internal {
        normalizer.set_add_dummy_prefix(false);
        normalizer.set_escape_whitespaces(false);
        let removes = is_on_or(matches, "remove_extra_whitespaces", true)?;
        normalizer.set_remove_extra_whitespaces(removes);
    }
    let make = || Ok(());
    stream.run(make, |(), _, line, out| {
        push_line(normalizer.normalize(line).as_bytes(), out);
        Ok(())
    })
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

/// The rules and flags of the model that is given, or the rules of a file, or built-in ones.
fn spec(matches: &ArgMatches) -> CliResult<NormalizerSpec> {
    if let Some(path) = non_empty(matches, "model") {
        return Ok(Model::open(path)?.normalizer_spec().clone());
    }
    if let Some(path) = non_empty(matches, "normalization_rule_tsv") {
        return spec_of_tsv(path);
    }
    match non_empty(matches, "normalization_rule_name") {
        Some(name) => spec_of_name("normalization_rule_name", name),
        None => Err(args::missing(
            "model",
            "give it, --normalization_rule_tsv or --normalization_rule_name",
        )),
    }
}

/// The spec of the built-in rules that the flag `flag` names.
pub(crate) fn spec_of_name(flag: &str, name: &str) -> CliResult<NormalizerSpec> {
    NormalizerSpec::named(name).map_err(|error| match error {
        ModelError::Charsmap { source, .. } => CliError::Usage(format!("--{flag}: {source}")),
        error => error.into(),
    })
}

/// The spec of the rules of a file, which it names as training does.
pub(crate) fn spec_of_tsv(path: &str) -> CliResult<NormalizerSpec> {
    let spec = NormalizerSpec::from_tsv(&io::read_file(path)?);
    let mut spec = spec.map_err(|error| match error {
        ModelError::Charsmap { source, .. } => CliError::in_file(path.as_ref(), source),
        error => CliError::in_file(path.as_ref(), error),
    })?;
    spec.normalization_rule_tsv = Some(path.into());
    Ok(spec)
}

/// Writes the rules of the spec, one a line, in the format in which they are read.
fn decompile(matches: &ArgMatches) -> CliResult {
    let mut lines = Vec::new();
    for (source, target) in spec(matches)?.rules()? {
        push_line(rule_line(&source, &target).as_bytes(), &mut lines);
    }
    io::write_output(args::output_file(matches), &lines)
}

/// A rule: code points of the source, code points of the target, and both as text in a comment.
fn rule_line(source: &str, target: &str) -> String {
    // These would disturb the comment.
    let controls = ['\u{8}', '\u{b}', '\u{c}', '\n', '\r'];
    let comment = format!("{source} => {target}").replace(controls, " ");
    format!("{}\t{}\t# {comment}", points(source), points(target))
}

/// The code points of `text` in hexadecimal.
fn points(text: &str) -> String {
    let points: Vec<String> = text
        .chars()
        .map(|c| format!("{:X}", u32::from(c)))
        .collect();
    points.join(" ")
}
