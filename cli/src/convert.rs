//! `spiece convert`: converts a tokenizer to the format of another program.
//!
//! The input is recognized by its content; only the header of a GGUF file is read. The extension of
//! the output name selects its format; all files of a folder are written before one is replaced. The
//! verdict is printed: "ids equal for all text", or the reasons why not. An output whose ids are not
//! equal is written only with `--force`.
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

/// Reads, converts and writes the model, unless the verdict forbids it.
pub(crate) fn run(matches: &ArgMatches) -> CliResult {
    let messages = args::messages(matches)?;
    let is_forced = args::is_on(matches, "force")?;
    let from = args::text(matches, "FROM");
    let to = Path::new(args::text(matches, "TO"));
    let format = FileFormat::of_path(to).ok_or_else(|| {
        CliError::Usage(format!(
            "{}: the name does not say which format to write; use .model, .json, .gguf, or a folder with / at its end",
            to.display()
        ))
    })?;
    let options = json_options(matches, format)?;
    let source = ConvertedModel::open(Path::new(from))?;
    let (files, mut verdict) = convert(&source.model, to, format, &options)?;
    for reason in source.verdict.reasons().iter().rev() {
        verdict.add(reason.clone());
    }
    if !verdict.is_exact() && !is_forced {
        return Err(CliError::Error(format!(
            "{from}: {verdict}\nnothing was written; --force writes the output all the same"
        )));
    }
    write(&files, to, format)?;
    let paths: Vec<PathBuf> = files.into_iter().map(|(path, _)| path).collect();
    if matches!(format, FileFormat::Model | FileFormat::Folder) {
        warn_of_older_releases(&messages, &source.model);
    }
    messages.say(&format!("verdict: {verdict}"));
    messages.say(&format!("written: {}", io::joined_names(&paths)));
    Ok(())
}

/// The options for `tokenizer.json`, folders and GGUF. An option that the format does not support
/// is an error.
fn json_options(matches: &ArgMatches, format: FileFormat) -> CliResult<JsonOptions> {
    let mut options = JsonOptions::default();
    options.add_bos = args::is_on(matches, "bos")?;
    options.add_eos = args::is_on(matches, "eos")?;
    if (options.add_bos || options.add_eos) && format == FileFormat::Model {
        return Err(CliError::Usage(format!(
            "--bos and --eos are for tokenizer.json, folders and GGUF, not for {format}"
        )));
    }
    if let Some(path) = args::non_empty(matches, "chat_template") {
        if format != FileFormat::Folder {
            return Err(CliError::Usage(format!(
                "--chat_template is for folders, not for {format}"
            )));
        }
        let template = String::from_utf8(io::read_file(path)?);
        let template = template
            .map_err(|_| CliError::Error(format!("{path}: the chat template is not UTF-8")))?;
        options.chat_template = Some(template);
    }
    Ok(options)
}

/// Names of files and what they hold.
type FileContents = Vec<(PathBuf, Vec<u8>)>;

/// The files to write, and the verdict of the format.
fn convert(
    model: &Model,
    to: &Path,
    format: FileFormat,
    options: &JsonOptions,
) -> CliResult<(FileContents, Verdict)> {
    let (bytes, verdict) = match format {
        FileFormat::TokenizerJson => {
            let converted = model.to_tokenizer_json(options)?;
            (converted.json, converted.verdict)
        }
        FileFormat::Gguf => {
            let mut gguf = GgufOptions::default();
            gguf.add_bos = options.add_bos;
            gguf.add_eos = options.add_eos;
            let vocab = model.to_gguf_vocab(&gguf)?;
            (vocab.bytes, vocab.verdict)
        }
        FileFormat::Folder => {
            let folder = model.to_transformers_folder(options)?;
            // `tokenizer.model` comes first, so it is replaced last.
            let files = folder.files.into_iter().rev();
            let files = files.map(|(name, bytes)| (to.join(name), bytes));
            return Ok((files.collect(), folder.verdict));
        }
        _ => (model.to_bytes(), Verdict::default()),
    };
    Ok((vec![(to.to_owned(), bytes)], verdict))
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
