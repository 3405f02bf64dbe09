//! `spiece normalize`: text -> normalized text, with the flags of `spm_normalize`.
//!
//! With a model, the default is the whole normalization of the model, including the dummy prefix, whitespace marks and
//! user-defined symbols; with `--nouse_internal_normalization` only the rules are applied, which is the default of
//! `spm_normalize`.

use crate::output::OutputFile;
use crate::{Model, TextNormalizer};
use clap::{ArgMatches, Command};

use super::args;
use super::encode::open_model;
use super::io::{self, CliError};
use super::stream::{Stream, with_stream_flags};

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

pub(crate) fn run(matches: &ArgMatches) -> Result<(), CliError> {
    let given = |name| args::given(matches, name).filter(|value| !value.is_empty());
    if args::is_on(matches, "decompile")? {
        return decompile(matches);
    }
    let stream = Stream::new(matches)?;
    let is_internal = match given("use_internal_normalization") {
        None => given("model").is_some(),
        Some(_) => args::is_on(matches, "use_internal_normalization")?,
    };
    if given("model").is_some() && is_internal {
        let tokenizer = open_model(matches)?;
        return stream.run(
            || Ok(tokenizer.encoder()),
            |encoder, _, line, out| {
                out.extend_from_slice(encoder.normalize(line));
                out.push(b'\n');
                Ok(())
            },
        );
    }
    let mut normalizer = normalizer(matches)?;
    if !is_internal {
        normalizer.set_add_dummy_prefix(false);
        normalizer.set_escape_whitespaces(false);
        let removes = given("remove_extra_whitespaces").is_none()
            || args::is_on(matches, "remove_extra_whitespaces")?;
        normalizer.set_remove_extra_whitespaces(removes);
    }
    stream.run(
        || Ok(()),
        |(), _, line, out| {
            out.extend_from_slice(normalizer.normalize(line).as_bytes());
            out.push(b'\n');
            Ok(())
        },
    )
}

/// The normalizer that the flags select.
fn normalizer(matches: &ArgMatches) -> Result<TextNormalizer, CliError> {
    let given = |name| args::given(matches, name).filter(|value| !value.is_empty());
    if let Some(path) = given("model") {
        return Ok(TextNormalizer::of_model(&Model::open(path)?));
    }
    if let Some(path) = given("normalization_rule_tsv") {
        let file = std::fs::read(path).map_err(|error| CliError::read(path.as_ref(), &error))?;
        return Ok(TextNormalizer::from_tsv(&file)?);
    }
    match given("normalization_rule_name") {
        Some(name) => Ok(TextNormalizer::named(name)?),
        None => {
            let message = "--model is missing; give it, --normalization_rule_tsv or --normalization_rule_name";
            Err(CliError::Usage(message.to_owned()))
        }
    }
}

/// Writes the rules of a model, one a line, in the format in which they are read.
fn decompile(matches: &ArgMatches) -> Result<(), CliError> {
    let given = |name| args::given(matches, name).filter(|value| !value.is_empty());
    let Some(path) = given("model") else {
        return Err(CliError::Usage(
            "--model is missing; it names the .model file".to_owned(),
        ));
    };
    let mut lines = String::new();
    for (source, target) in Model::open(path)?.normalization_rules()? {
        let line = format!(
            "{}\t{}\t# {source} => {target}",
            points(&source),
            points(&target)
        );
        lines.push_str(&line.replace(['\u{8}', '\u{b}', '\u{c}', '\n', '\r'], " "));
        lines.push('\n');
    }
    match given("output").filter(|path| !io::is_standard_output(path)) {
        Some(path) => {
            let mut file = OutputFile::create(path)?;
            let written = std::io::Write::write_all(&mut file, lines.as_bytes());
            written.map_err(|error| CliError::write(path, &error))?;
            Ok(file.commit()?)
        }
        None => io::write_to_standard_output(lines.as_bytes()),
    }
}

/// The code points of `text` in hexadecimal.
fn points(text: &str) -> String {
    let points: Vec<String> = text
        .chars()
        .map(|c| format!("{:X}", u32::from(c)))
        .collect();
    points.join(" ")
}
