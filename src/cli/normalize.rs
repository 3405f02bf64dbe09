//! `spiece normalize`: text -> normalized text, with the flags of `spm_normalize`.
//!
//! With a model, the default is the whole normalization of the model, including the dummy prefix, whitespace marks and
//! user-defined symbols; with `--nouse_internal_normalization` only the rules are applied, which is the default of
//! `spm_normalize`.
//!
//! Input: lines of text, and a model, a file of rules or the name of built-in rules. Output: the normalized lines, or the
//! rules of the model with `--decompile`. Cost: one normalization of each line, by all threads.
//!
//! ```text
//! $ echo 'Ｈｅｌｌｏ  ①' | spiece normalize --normalization_rule_name=nfkc
//! Hello 1
//! $ echo 'Hello world' | spiece normalize --model=testdata/golden/llama2.model
//! ▁Hello▁world
//! ```

use crate::output::OutputFile;
use crate::{Model, TextNormalizer};
use clap::{ArgMatches, Command};

use super::args;
use super::encode::open_model;
use super::io::{self, CliError};
use super::stream::{Stream, with_stream_flags};

/// The command line: the source of the rules, the extent of the normalization, and the flags of all subcommands that
/// read lines.
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
            args::value("normalization_rule_tsv", "File of normalization rules in TSV form").value_name("FILE"),
            args::switch("remove_extra_whitespaces", "Remove whitespace at both ends and repeated whitespace inside (the default)"),
            args::switch("decompile", "Write the model's rules as a file of rules"),
        ]);
    with_stream_flags(command)
}

/// The value of the flag `name`; an empty value means that the flag is not given.
fn given<'m>(matches: &'m ArgMatches, name: &str) -> Option<&'m str> {
    args::given(matches, name).filter(|value| !value.is_empty())
}

/// Normalizes each line of the input, or writes the rules of the model.
pub(crate) fn run(matches: &ArgMatches) -> Result<(), CliError> {
    if args::is_on(matches, "decompile")? {
        return decompile(matches);
    }
    let stream = Stream::new(matches)?;
    let has_model = given(matches, "model").is_some();
    let is_internal = match given(matches, "use_internal_normalization") {
        None => has_model,
        Some(_) => args::is_on(matches, "use_internal_normalization")?,
    };
    if has_model && is_internal {
        return normalize_as_model(&stream, matches);
    }
    let mut normalizer = normalizer(matches)?;
    if !is_internal {
        apply_rules_only(&mut normalizer, matches)?;
    }
    normalize_by_rules(&stream, &normalizer)
}

/// Writes each line as the encoder of the model normalizes it, with user-defined symbols.
fn normalize_as_model(stream: &Stream, matches: &ArgMatches) -> Result<(), CliError> {
    let tokenizer = open_model(matches)?;
    stream.run(
        || Ok(tokenizer.encoder()),
        |encoder, _, line, out| {
            out.extend_from_slice(encoder.normalize(line));
            out.push(b'\n');
            Ok(())
        },
    )
}

/// Writes each line as `normalizer` normalizes it.
fn normalize_by_rules(stream: &Stream, normalizer: &TextNormalizer) -> Result<(), CliError> {
    stream.run(
        || Ok(()),
        |(), _, line, out| {
            out.extend_from_slice(normalizer.normalize(line).as_bytes());
            out.push(b'\n');
            Ok(())
        },
    )
}

/// Switches off what is not a rule: the dummy prefix, whitespace marks, and, if the flags say so, the removal of
/// whitespace.
fn apply_rules_only(normalizer: &mut TextNormalizer, matches: &ArgMatches) -> Result<(), CliError> {
    normalizer.set_add_dummy_prefix(false);
    normalizer.set_escape_whitespaces(false);
    let is_default = given(matches, "remove_extra_whitespaces").is_none();
    let removes = is_default || args::is_on(matches, "remove_extra_whitespaces")?;
    normalizer.set_remove_extra_whitespaces(removes);
    Ok(())
}

/// The normalizer that the flags select.
fn normalizer(matches: &ArgMatches) -> Result<TextNormalizer, CliError> {
    if let Some(path) = given(matches, "model") {
        return Ok(TextNormalizer::of_model(&Model::open(path)?));
    }
    if let Some(path) = given(matches, "normalization_rule_tsv") {
        let file = std::fs::read(path).map_err(|error| CliError::read(path.as_ref(), &error))?;
        return Ok(TextNormalizer::from_tsv(&file)?);
    }
    match given(matches, "normalization_rule_name") {
        Some(name) => Ok(TextNormalizer::named(name)?),
        None => {
            let message = "--model is missing; give it, --normalization_rule_tsv or --normalization_rule_name";
            Err(CliError::Usage(message.to_owned()))
        }
    }
}

/// Writes the rules of a model, one a line, in the format in which they are read.
fn decompile(matches: &ArgMatches) -> Result<(), CliError> {
    let Some(path) = given(matches, "model") else {
        return Err(CliError::Usage(
            "--model is missing; it names the .model file".to_owned(),
        ));
    };
    let mut lines = String::new();
    for (source, target) in Model::open(path)?.normalization_rules()? {
        lines.push_str(&rule_line(&source, &target));
        lines.push('\n');
    }
    match given(matches, "output").filter(|path| !io::is_standard_output(path)) {
        Some(path) => {
            let mut file = OutputFile::create(path)?;
            let written = std::io::Write::write_all(&mut file, lines.as_bytes());
            written.map_err(|error| CliError::write(path, &error))?;
            Ok(file.commit()?)
        }
        None => io::write_to_standard_output(lines.as_bytes()),
    }
}

/// A rule: code points of the source, code points of the target, and both as text in a comment. Backspace, vertical
/// tab, form feed, line feed and carriage return become spaces.
fn rule_line(source: &str, target: &str) -> String {
    let source_points = points(source);
    let target_points = points(target);
    let line = format!("{source_points}\t{target_points}\t# {source} => {target}");
    line.replace(['\u{8}', '\u{b}', '\u{c}', '\n', '\r'], " ")
}

/// The code points of `text` in hexadecimal.
fn points(text: &str) -> String {
    let points: Vec<String> = text
        .chars()
        .map(|c| format!("{:X}", u32::from(c)))
        .collect();
    points.join(" ")
}
