//! `spiece convert`: converts a tokenizer to the format of another program.
//!
//! The input is recognized by its content; only the header of a GGUF file is read. `--format`, or
//! the name of the output, selects its format; all files of a conversion are written before one is
//! replaced. The verdict is printed: "ids equal for all text", or the reasons why not. An output
//! whose ids are not equal is written only with `--force`. What an output does not hold, such as
//! the pattern in a `.tiktoken` file, is printed, too.
//!
//! ```text
//! $ spiece convert testdata/golden/llama2.model hf/
//! verdict: ids equal for all text
//! written: hf/tokenizer.model, hf/special_tokens_map.json, hf/tokenizer_config.json, hf/tokenizer.json
//! other programs: spiece inspect testdata/golden/llama2.model --runtimes says which give the same ids; see docs/RUNTIMES.md
//! ```

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{ArgMatches, Command};

use super::args;
use super::byte_files;
use super::inspect::report::lost_capitals;
use super::io::{self, CliError, CliResult};
use super::model_files::{model_argument, warn_of_older_releases};
use spiece::formats::{
    ByteFileOptions, ByteFiles, ByteFormatOptions, ByteVocabulary, Converted, FileFormat,
    FormatError, GgufOptions, JsonOptions, JsonVersion, Missing, TOKEN_ROLES, Verdict,
    model_type_of_folder, roles_of_folder,
};
use spiece::inspect::WordPieceCounts;
use spiece::output::{check_writable, write_files};
use spiece::pipeline::Pipeline;
use spiece::{ByteBpe, Model, Tokenizer};

/// The bytes that decide the format of a file.
const START_BYTES: u64 = 1 << 16;

/// The command line: input, output, options of formats.
pub(crate) fn command() -> Command {
    let command = Command::new("convert")
        .about("Converts tokenizers between the formats of programs, with a verdict on whether the ids are equal")
        .long_about(
            "Converts a BPE or unigram model, a byte-level vocabulary, or the pipeline of a tokenizer.json. FROM is a .model file, \
             tokenizer.json, GGUF, .tiktoken, tekken.json, minbpe's .model, vocab.json beside merges.txt, vocab.txt, or a folder with one \
             of them; the content decides. The name of TO \
             decides what is written, or --format.\n\n\
             A model: .model, .json (tokenizer.json), .gguf (the vocabulary for llama.cpp), or a folder, with / at its end, for \
             AutoTokenizer.from_pretrained of transformers.\n\
             A byte-level vocabulary: .json, .tiktoken, vocab.json (and merges.txt beside it), .gguf, a folder, or --format=minbpe.\n\
             A tokenizer.json: .json or a folder, and of these formats and vocab.txt those that can express it.\n\
             A vocab.txt: .json or a folder; --lowercase=false if its model tells upper and lower case.\n\n\
             Prints whether the ids are equal for all text, and each reason why not, with an example. What is not equal is refused unless \
             --force is given. Prints also what the format does not hold: .tiktoken has no pattern and no special tokens.\n\n\
             Example:\n  spiece convert tokenizer.model hf/ --bos\n  spiece convert tokenizer.json \
             tokenizer.model\n  spiece convert vocab.txt tokenizer.json --lowercase=false\n  spiece convert cl100k_base.tiktoken tokenizer.json\n  \
             spiece convert tokenizer.model tokenizer.json --pattern=llama3 --special_ids='<|begin_of_text|>=128000,<|end_of_text|>=128001'",
        )
        .arg(model_argument("FROM", "The tokenizer to read"))
        .arg(model_argument("TO", "The file to write, or folder with / at its end"))
        .args([
            args::value("format", "Write this format: model, tokenizer.json, tokenizer.json@2 (for tokenizers 1.0), gguf, tiktoken, vocab-merges, minbpe, vocab.txt or folder")
                .value_name("FORMAT"),
            args::switch("force", "Write the output even if some texts have other ids"),
            args::switch("bos", "Put the BOS piece before every text (models, not for .model)"),
            args::switch("eos", "Put the EOS piece after every text (models, not for .model)"),
        ])
        .next_help_heading("Folders for transformers, tokenizer.json@2")
        .arg(args::file("chat_template", "File with a chat template for tokenizer_config.json (folders)"))
        .args(TOKEN_ROLES.map(|role| {
            args::value(role, "The special token that has this role (folders, tokenizer.json@2)").value_name("TOKEN")
        }))
        .args(args::opening_flags())
        .arg(args::unicode_flag());
    args::with_common_flags(command)
}

/// What is read: each kind has formats of its own.
enum Source {
    Model(Box<Converted<Model>>),
    Bytes(Box<Converted<ByteVocabulary>>),
    Pipeline(Arc<Pipeline>),
}

impl Source {
    /// The file at `path`. Texts of models alone get pieces at their ends on demand.
    fn open(path: &str, options: &ByteFormatOptions, adds_ends: bool) -> CliResult<Self> {
        if !adds_ends && let Some(pipeline) = open_pipeline(path.as_ref(), options)? {
            return Ok(Self::Pipeline(pipeline));
        }
        let open = |path: &Path| ByteVocabulary::open(path, options);
        if let Some(vocabulary) = byte_files::open_vocabulary(path.as_ref(), open)? {
            return Ok(Self::Bytes(Box::new(vocabulary)));
        }
        let model = Converted::<Model>::open(path)?;
        let byte_level = "byte-level vocabularies";
        for (flag, is_given, what) in [
            (args::PATTERN, options.pretokenizer.is_some(), byte_level),
            (
                args::SPECIAL_IDS,
                options.special_tokens.is_some(),
                byte_level,
            ),
            (
                args::LOWERCASE,
                options.lowercase.is_some(),
                "BERT's vocab.txt",
            ),
            (
                args::UNICODE,
                options.unicode.is_some(),
                "tokenizer.json and vocab.txt",
            ),
        ] {
            if is_given {
                return Err(CliError::Usage(format!(
                    "{path}: --{flag} is for {what}, and this is a SentencePiece model"
                )));
            }
        }
        Ok(Self::Model(Box::new(model)))
    }

    /// Where to read what other programs than that of the verdict do with the files.
    fn other_readers(&self, path: &str) -> String {
        match self {
            Self::Model(_) | Self::Bytes(_) => format!(
                "other programs: spiece inspect {path} --runtimes says which give the same ids; see docs/RUNTIMES.md"
            ),
            Self::Pipeline(_) => "other programs: see docs/RUNTIMES.md".to_owned(),
        }
    }
}

/// The pipeline of a `tokenizer.json` or `vocab.txt`, or of a folder with one; `None` for a file of
/// another kind, and for a pipe, which could not be read again.
fn open_pipeline(path: &Path, options: &ByteFormatOptions) -> CliResult<Option<Arc<Pipeline>>> {
    let files = [path.join("tokenizer.json"), path.join("vocab.txt")];
    let file = match path.is_dir() {
        true => files.iter().find(|file| file.is_file()),
        false => None,
    };
    let file = file.map_or(path, |file| file);
    if !file.is_file() {
        return Ok(None);
    }
    let mut start = Vec::new();
    let opened = File::open(file).and_then(|file| file.take(START_BYTES).read_to_end(&mut start));
    opened.map_err(CliError::reading(file))?;
    let format = FileFormat::of_content(&start);
    if !matches!(format, FileFormat::TokenizerJson | FileFormat::VocabTxt) {
        return Ok(None);
    }
    let tokenizer = Tokenizer::open_with(path, options)?;
    Ok(tokenizer.pipeline().map(Arc::clone))
}

/// What a conversion makes.
struct Conversion {
    /// Names of files and what they hold.
    files: FileContents,
    verdict: Verdict,
    /// Sentences about what the files do not hold.
    missing: Vec<String>,
}

/// Names of files and what they hold.
type FileContents = Vec<(PathBuf, Vec<u8>)>;

/// Reads, converts and writes the model, unless the verdict forbids it.
pub(crate) fn run(matches: &ArgMatches) -> CliResult {
    let messages = args::messages(matches)?;
    let is_forced = args::is_on(matches, "force")?;
    let from = args::text(matches, "FROM");
    let to = Path::new(args::text(matches, "TO"));
    let format = format(matches, to)?;
    let options = json_options(matches, to, format)?;
    let file_options = file_options(&options, from.as_ref())?;
    let adds_ends = options.add_bos || options.add_eos;
    let opening = args::opening_options(matches)?;
    let source = messages.during("reading", || Source::open(from, &opening, adds_ends))?;
    let mut converted = messages.during("converting", || match &source {
        Source::Model(source) => convert_model(&source.value, to, format, &options),
        Source::Bytes(source) => convert_bytes(source, to, format, &options, &file_options),
        Source::Pipeline(pipeline) => {
            let written = pipeline.to_format(format, &file_options);
            let written = written.map_err(|error| CliError::in_file(from.as_ref(), error))?;
            Ok(conversion_of(written, to, format))
        }
    })?;
    let read = match &source {
        Source::Model(source) => Some(&source.verdict),
        Source::Bytes(source) => Some(&source.verdict),
        Source::Pipeline(_) => None,
    };
    for reason in read.into_iter().flat_map(Verdict::reasons).rev() {
        converted.verdict.add(reason.clone());
    }
    let Conversion {
        files,
        verdict,
        missing,
    } = converted;
    if !verdict.is_exact() && !is_forced {
        return Err(CliError::Error(format!(
            "{from}: {verdict}\nnothing was written; --force writes the output all the same"
        )));
    }
    write(&files, to)?;
    let paths: Vec<PathBuf> = files.into_iter().map(|(path, _)| path).collect();
    if let Source::Model(source) = &source
        && matches!(format, FileFormat::Model | FileFormat::Folder)
    {
        warn_of_older_releases(&messages, &source.value);
    }
    if let Source::Pipeline(pipeline) = &source
        && let Some(warning) =
            WordPieceCounts::new(pipeline).and_then(|words| lost_capitals(&words))
    {
        messages.warn(&warning);
    }
    messages.say(&format!("verdict: {verdict}"));
    missing.iter().for_each(|sentence| messages.say(sentence));
    messages.say(&format!("written: {}", io::joined_names(&paths)));
    if matches!(
        format,
        FileFormat::TokenizerJson | FileFormat::Folder | FileFormat::Gguf
    ) {
        messages.say(&source.other_readers(from));
    }
    Ok(())
}

/// The format of `--format`, or of the name of the output.
fn format(matches: &ArgMatches, to: &Path) -> CliResult<FileFormat> {
    if let Some(name) = args::non_empty(matches, "format") {
        return name.parse().map_err(|_| {
            let expected =
                "model, tokenizer.json, tokenizer.json@2, gguf, tiktoken, vocab-merges, minbpe, vocab.txt or folder";
            args::invalid("format", name, expected)
        });
    }
    FileFormat::of_path(to).ok_or_else(|| {
        CliError::Usage(format!(
            "{}: the name does not say which format to write; use .model, .json, .gguf, .tiktoken, vocab.json, vocab.txt, a folder with / at its \
             end, or --format",
            to.display()
        ))
    })
}

/// The options for `tokenizer.json`, folders and GGUF. An option that the format does not support
/// is an error.
fn json_options(matches: &ArgMatches, to: &Path, format: FileFormat) -> CliResult<JsonOptions> {
    let mut options = JsonOptions::default();
    if format == FileFormat::TokenizerJson2 {
        options.version = JsonVersion::V2;
    } else if format == FileFormat::Folder {
        let model_type = model_type_of_folder(to);
        options.model_type = model_type.map_err(|error| CliError::in_file(to, error))?;
    }
    options.add_bos = args::is_on(matches, "bos")?;
    options.add_eos = args::is_on(matches, "eos")?;
    if (options.add_bos || options.add_eos) && format == FileFormat::Model {
        return Err(CliError::Usage(format!(
            "--bos and --eos are for tokenizer.json, folders and GGUF, not for {format}"
        )));
    }
    let roles = TOKEN_ROLES.iter().filter_map(|role| {
        let text = args::non_empty(matches, role)?;
        Some(((*role).to_owned(), text.to_owned()))
    });
    options.roles = roles.collect();
    if let Some(role) = options.roles.keys().next()
        && !matches!(format, FileFormat::Folder | FileFormat::TokenizerJson2)
    {
        return Err(CliError::Usage(format!(
            "--{role} is for folders and tokenizer.json@2, not for {format}"
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

/// A model in another format.
fn convert_model(
    model: &Model,
    to: &Path,
    format: FileFormat,
    options: &JsonOptions,
) -> CliResult<Conversion> {
    let one = |file, verdict| Conversion {
        files: vec![(to.to_owned(), file)],
        verdict,
        missing: Vec::new(),
    };
    Ok(match format {
        FileFormat::Model => one(model.to_bytes(), Verdict::default()),
        FileFormat::TokenizerJson | FileFormat::TokenizerJson2 => {
            let converted = model.to_tokenizer_json(options)?;
            one(converted.json, converted.verdict)
        }
        FileFormat::Gguf => {
            let mut gguf = GgufOptions::default();
            gguf.add_bos = options.add_bos;
            gguf.add_eos = options.add_eos;
            let vocab = model.to_gguf_vocab(&gguf)?;
            one(vocab.bytes, vocab.verdict)
        }
        FileFormat::Folder => {
            let folder = model.to_transformers_folder(options)?;
            // `tokenizer.model` comes first, so it is replaced last.
            let files = folder.files.into_iter().rev();
            Conversion {
                files: files.map(|(name, file)| (to.join(name), file)).collect(),
                verdict: folder.verdict,
                missing: Vec::new(),
            }
        }
        _ => {
            return Err(CliError::Error(format!(
                "{format} files hold byte-level vocabularies, and this is a SentencePiece model, whose pieces are characters; \
                 write .model, .json, .gguf or a folder"
            )));
        }
    })
}

/// A byte-level vocabulary in another format.
fn convert_bytes(
    source: &Converted<ByteVocabulary>,
    to: &Path,
    format: FileFormat,
    options: &JsonOptions,
    file_options: &ByteFileOptions,
) -> CliResult<Conversion> {
    if options.add_bos || options.add_eos {
        return Err(CliError::Usage(
            "--bos and --eos are for SentencePiece models; a byte-level vocabulary does not say which token begins or ends a text"
                .to_owned(),
        ));
    }
    let failed = |error: FormatError| CliError::Error(error.to_string());
    let bpe = ByteBpe::new(source.value.parts.clone()).map_err(|error| failed(error.into()))?;
    let written = bpe.to_format(format, file_options);
    Ok(conversion_of(written.map_err(failed)?, to, format))
}

/// The options of files that are not made of a model. A folder that is read knows roles of tokens.
fn file_options(options: &JsonOptions, from: &Path) -> CliResult<ByteFileOptions> {
    let mut file_options = ByteFileOptions::default();
    file_options
        .chat_template
        .clone_from(&options.chat_template);
    file_options.roles.clone_from(&options.roles);
    file_options.model_type.clone_from(&options.model_type);
    if from.is_dir() {
        let roles = roles_of_folder(from);
        file_options.known_roles = roles.map_err(|error| CliError::in_file(from, error))?;
    }
    Ok(file_options)
}

/// Files with the paths that TO gives them.
fn conversion_of(written: ByteFiles, to: &Path, format: FileFormat) -> Conversion {
    let missing = written.missing.iter();
    let is_one = written.files.len() == 1;
    let files = written.files.into_iter();
    Conversion {
        missing: missing
            .map(|missing| {
                let flag = match missing {
                    Missing::Lowercase(lowercase) => {
                        format!(
                            " (do_lower_case of transformers, --lowercase={lowercase} of spiece)"
                        )
                    }
                    _ => String::new(),
                };
                format!("to be given to the program, since it is not in {format}: {missing}{flag}")
            })
            .collect(),
        files: files
            .map(
                |(name, file)| match is_one && format != FileFormat::Folder {
                    true => (to.to_owned(), file),
                    false => (path_of(to, name), file),
                },
            )
            .collect(),
        verdict: written.verdict,
    }
}

/// The path of one of several files: in the folder TO, or beside the other ones with a common
/// beginning.
fn path_of(to: &Path, name: &str) -> PathBuf {
    if FileFormat::of_path(to) == Some(FileFormat::Folder) || to.is_dir() {
        return to.join(name);
    }
    let own = to.file_name().unwrap_or_default().to_string_lossy();
    let start = ["vocab.json", "merges.txt"]
        .into_iter()
        .find_map(|end| own.strip_suffix(end));
    match start {
        Some(start) => to.with_file_name(format!("{start}{name}")),
        None => to.with_file_name(format!("{own}-{name}")),
    }
}

/// Writes all files or none. A folder that does not exist is created, and removed again if the
/// files cannot be written.
fn write(files: &[(PathBuf, Vec<u8>)], to: &Path) -> CliResult {
    let is_new = FileFormat::of_path(to) == Some(FileFormat::Folder) && !to.exists();
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
impl From<FormatError> for CliError {
    fn from(error: FormatError) -> Self {
        match error {
            FormatError::NoSuchPiece { .. } => Self::Usage(error.to_string()),
            _ => Self::Error(error.to_string()),
        }
    }
}
