//! `spiece convert`: converts a tokenizer to the format of another program.
//!
//! Input: a `.model` file, a `tokenizer.json` or a GGUF file, recognized by its content. Only the
//! header of a GGUF file is read. Output: the format that the extension of the output name selects;
//! all files of a folder are written before one is replaced. The verdict is printed: "ids equal for
//! all text", or the reasons why not. An output whose ids are not equal is written only with
//! `--force`. Cost: reading, and encoding every piece once.
//!
//! ```text
//! $ spiece convert testdata/golden/llama2.model hf/
//! verdict: ids equal for all text
//! written: hf/tokenizer.model, hf/special_tokens_map.json, hf/tokenizer_config.json, hf/tokenizer.json
//! ```

use std::path::{Path, PathBuf};

use clap::{ArgMatches, Command};

use super::args;
use super::io::{self, CliError, CliResult};
use super::model_files::{model_argument, warn_of_older_releases};
use spiece::Model;
use spiece::formats::{
    ConvertError, ConvertedModel, FileFormat, GgufOptions, JsonOptions, Verdict,
};
use spiece::output::{check_writable, write_files};

/// The command line: input, output, options of formats.
pub(crate) fn command() -> Command {
    let command = Command::new("convert")
        .about("Converts between .model files and the formats of other programs, with a verdict on whether the ids are equal")
        .long_about(
            "Converts a BPE or unigram model. FROM is a .model file, a tokenizer.json or a GGUF file, recognized by its content. TO ends in \
             .model, in .json (tokenizer.json), in .gguf (the vocabulary for llama.cpp), or in / (a folder for AutoTokenizer.from_pretrained of transformers). Prints whether \
             the ids are equal for all text, and each reason why not, with an example. What is not equal is refused unless \
             --force is given.\n\nExample:\n  spiece convert tokenizer.model hf/ --bos\n  spiece convert tokenizer.json \
             tokenizer.model",
        )
        .arg(model_argument("FROM", "The .model file, tokenizer.json or GGUF file"))
        .arg(model_argument("TO", "The .model, .json or .gguf file, or folder (with a / at the end) to write"))
        .args([
            args::switch("force", "Write the output even if some texts have other ids"),
            args::switch("bos", "Put the BOS piece before every text (not for .model)"),
            args::switch("eos", "Put the EOS piece behind every text (not for .model)"),
            args::file("chat_template", "File with a chat template for tokenizer_config.json (folders)"),
        ]);
    args::with_common_flags(command)
}

/// The files to write, and the verdict.
struct ConvertTask {
    files: Vec<(PathBuf, Vec<u8>)>,
    verdict: Verdict,
}

impl ConvertTask {
    fn one_file(path: &Path, bytes: Vec<u8>, verdict: Verdict) -> Self {
        let files = vec![(path.to_owned(), bytes)];
        Self { files, verdict }
    }
}

/// Reads, converts and writes the model, unless the verdict forbids it.
pub(crate) fn run(matches: &ArgMatches) -> CliResult {
    let messages = args::messages(matches)?;
    let is_forced = args::is_on(matches, "force")?;
    let from = args::text(matches, "FROM");
    let to = Path::new(args::text(matches, "TO"));
    let format = format_of_output(to)?;
    let options = json_options(matches, format)?;
    let source = ConvertedModel::open(Path::new(from))?;
    let mut conversion = convert(&source.model, to, format, &options)?;
    for reason in source.verdict.reasons().iter().rev() {
        conversion.verdict.add(reason.clone());
    }
    if !conversion.verdict.is_exact() && !is_forced {
        return Err(refusal(from, &conversion.verdict));
    }
    write(&conversion.files, to, format)?;
    let paths: Vec<PathBuf> = conversion.files.into_iter().map(|(path, _)| path).collect();
    if matches!(format, FileFormat::Model | FileFormat::Folder) {
        warn_of_older_releases(&messages, &source.model);
    }
    messages.say(&format!("verdict: {}", conversion.verdict));
    messages.say(&format!("written: {}", io::joined_names(&paths)));
    Ok(())
}

/// The error that lists the reasons.
fn refusal(from: &str, verdict: &Verdict) -> CliError {
    CliError::Error(format!("{from}: {verdict}\n{FORCE_REMEDY}"))
}

/// What to do about a verdict that is not exact.
const FORCE_REMEDY: &str = "nothing was written; --force writes the output all the same";

/// The format that the output name selects.
fn format_of_output(to: &Path) -> CliResult<FileFormat> {
    FileFormat::of_path(to).ok_or_else(|| unknown_format(to))
}

/// The error for an output name that selects no format.
fn unknown_format(to: &Path) -> CliError {
    let to = to.display();
    CliError::Usage(format!("{to}: {UNKNOWN_FORMAT}"))
}

/// The message of [`unknown_format`].
const UNKNOWN_FORMAT: &str = "the name does not say which format to write; use .model, .json, .gguf, or a folder with / at its end";

/// The options for `tokenizer.json`, folders and GGUF. An option that the format does not support
/// is an error.
fn json_options(matches: &ArgMatches, format: FileFormat) -> CliResult<JsonOptions> {
    let mut options = JsonOptions::default();
    options.add_bos = args::is_on(matches, "bos")?;
    options.add_eos = args::is_on(matches, "eos")?;
    if (options.add_bos || options.add_eos) && format == FileFormat::Model {
        return Err(no_added_pieces(format));
    }
    if let Some(path) = args::non_empty(matches, "chat_template") {
        if format != FileFormat::Folder {
            return Err(no_chat_template(format));
        }
        options.chat_template = Some(read_chat_template(path)?);
    }
    Ok(options)
}

/// The error for `--bos` or `--eos` with a format that has neither.
fn no_added_pieces(format: FileFormat) -> CliError {
    CliError::Usage(format!(
        "--bos and --eos are for tokenizer.json, folders and GGUF, not for {format}"
    ))
}

/// The error for `--chat_template` with a format that has none.
fn no_chat_template(format: FileFormat) -> CliError {
    CliError::Usage(format!("--chat_template is for folders, not for {format}"))
}

/// Reads a chat template, which is UTF-8.
fn read_chat_template(path: &str) -> CliResult<String> {
    let template = String::from_utf8(io::read_file(path)?);
    template.map_err(|_| CliError::Error(format!("{path}: the chat template is not UTF-8")))
}

/// The files of the output, and the verdict of writing them.
fn convert(
    model: &Model,
    to: &Path,
    format: FileFormat,
    options: &JsonOptions,
) -> CliResult<ConvertTask> {
    match format {
        FileFormat::TokenizerJson => to_tokenizer_json(model, to, options),
        FileFormat::Gguf => to_gguf(model, to, options),
        FileFormat::Folder => to_folder(model, to, options),
        _ => Ok(ConvertTask::one_file(
            to,
            model.to_bytes(),
            Verdict::default(),
        )),
    }
}

fn to_tokenizer_json(model: &Model, to: &Path, options: &JsonOptions) -> CliResult<ConvertTask> {
    let converted = model.to_tokenizer_json(options)?;
    Ok(ConvertTask::one_file(to, converted.json, converted.verdict))
}

fn to_gguf(model: &Model, to: &Path, options: &JsonOptions) -> CliResult<ConvertTask> {
    let vocab = model.to_gguf_vocab(&gguf_options(options))?;
    Ok(ConvertTask::one_file(to, vocab.bytes, vocab.verdict))
}

/// The options that GGUF files share with `tokenizer.json`.
fn gguf_options(json: &JsonOptions) -> GgufOptions {
    let mut gguf = GgufOptions::default();
    gguf.add_bos = json.add_bos;
    gguf.add_eos = json.add_eos;
    gguf
}

/// The folder for `transformers`. `tokenizer.model` comes first, so it is replaced last.
fn to_folder(model: &Model, to: &Path, options: &JsonOptions) -> CliResult<ConvertTask> {
    let folder = model.to_transformers_folder(options)?;
    let files = folder.files.into_iter().rev();
    Ok(ConvertTask {
        files: files.map(|(name, bytes)| (to.join(name), bytes)).collect(),
        verdict: folder.verdict,
    })
}

/// Writes all files or none. A folder that does not exist is created, and removed again if the
/// files cannot be written.
fn write(files: &[(PathBuf, Vec<u8>)], to: &Path, format: FileFormat) -> CliResult {
    let is_new = format == FileFormat::Folder && !to.exists();
    if is_new {
        std::fs::create_dir(to)
            .map_err(|error| CliError::write(&to.display().to_string(), &error))?;
    }
    let contents: Vec<(&Path, &[u8])> = files
        .iter()
        .map(|(path, bytes)| (path.as_path(), bytes.as_slice()))
        .collect();
    let paths: Vec<&Path> = contents.iter().map(|(path, _)| *path).collect();
    let written = check_writable(&paths).and_then(|()| write_files(&contents));
    if written.is_err() && is_new {
        // The error of writing is the one to report.
        let _ = std::fs::remove_dir(to);
    }
    Ok(written?)
}

/// An option that needs a piece that the model lacks is a usage error; all other errors are
/// failures.
impl From<ConvertError> for CliError {
    fn from(error: ConvertError) -> Self {
        match error {
            ConvertError::NoSuchPiece { .. } => Self::Usage(error.to_string()),
            _ => Self::Error(error.to_string()),
        }
    }
}
