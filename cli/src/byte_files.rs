//! Byte-level vocabularies as files: which one an argument names, and the files of `--format`.

use std::path::Path;

use clap::{Arg, ArgMatches};

use super::args;
use super::headings;
use super::io::{CliError, CliResult, flag_of};
use super::progress::Messages;
use spiece::adapt::IdMap;
use spiece::formats::{
    ByteFileOptions, ByteFormatOptions, ByteVocabulary, Converted, FileFormat, FormatError,
    ReadPostProcessor,
};
use spiece::{ByteBpe, Tokenizer, TokenizerConfig};

/// The name of the flag.
pub(crate) const FORMAT: &str = "format";

/// The flag for the texts of special tokens.
pub(crate) const SPECIAL_TOKENS: &str = "special_tokens";

/// The formats by the names of `--format`, and the endings of their files.
const FORMATS: [(&str, FileFormat, &[&str]); 4] = [
    ("tokenizer.json", FileFormat::TokenizerJson, &[".json"]),
    ("tiktoken", FileFormat::Tiktoken, &[".tiktoken"]),
    (
        "vocab-merges",
        FileFormat::VocabMerges,
        &["-vocab.json", "-merges.txt"],
    ),
    ("minbpe", FileFormat::Minbpe, &[".model"]),
];

/// The flag for the format.
pub(crate) fn format_flag() -> Arg {
    let help = "What is written: tokenizer.json (OUT.json), tiktoken (OUT.tiktoken), vocab-merges (OUT-vocab.json and \
                OUT-merges.txt), or minbpe (OUT.model) [default: tokenizer.json]";
    args::value(FORMAT, help)
        .value_name("FORMAT")
        .help_heading(headings::BYTE_LEVEL)
}

/// A byte-level vocabulary that was read.
pub(crate) struct ByteFile {
    pub(crate) tokenizer: Tokenizer,
    post_processor: Option<ReadPostProcessor>,
}

impl ByteFile {
    /// The options of the files of a vocabulary that was made of this one: they have its
    /// post-processor. If they cannot, a warning says why.
    pub(crate) fn file_options(&self, ids: &IdMap, messages: &Messages) -> ByteFileOptions {
        let mut options = ByteFileOptions::default();
        if let Some(read) = &self.post_processor {
            match read.with_ids(|id| ids.new_id(id)) {
                Ok(copied) => options.post_processor = copied,
                Err(reason) => messages.warn(&format!(
                    "the post-processor is not copied: {}",
                    reason.explanation
                )),
            }
        }
        options
    }
}

/// The byte-level vocabulary of an argument; `None` if the file is of another kind.
pub(crate) fn open(matches: &ArgMatches, name: &str) -> CliResult<Option<ByteFile>> {
    let options = args::byte_format_options(matches)?;
    read(matches, name, |path| ByteVocabulary::open(path, &options))
}

/// As [`open`], for one of several files: `--pattern` and `--special_ids` are for those that have
/// neither.
pub(crate) fn open_one(matches: &ArgMatches, name: &str) -> CliResult<Option<ByteFile>> {
    let options = args::byte_format_options(matches)?;
    read(matches, name, |path| {
        match ByteVocabulary::open(path, &options) {
            Err(FormatError::PatternGiven { .. }) => {
                ByteVocabulary::open(path, &ByteFormatOptions::default())
            }
            read => read,
        }
    })
}

fn read(
    matches: &ArgMatches,
    name: &str,
    open: impl Fn(&Path) -> Result<Option<Converted<ByteVocabulary>>, FormatError>,
) -> CliResult<Option<ByteFile>> {
    let path = Path::new(args::text(matches, name));
    let Some(mut vocabulary) = open_vocabulary(path, open)? else {
        return Ok(None);
    };
    let post_processor = vocabulary.value.post_processor.take();
    let bpe = vocabulary.into_bpe();
    let bpe = bpe.map_err(|error| CliError::in_file(path, error))?;
    Ok(Some(ByteFile {
        tokenizer: Tokenizer::from_pipeline(bpe, TokenizerConfig::default()),
        post_processor,
    }))
}

/// The vocabulary that `open` reads at a path; `None` for a file of another kind and for a pipe.
pub(crate) fn open_vocabulary(
    path: &Path,
    open: impl Fn(&Path) -> Result<Option<Converted<ByteVocabulary>>, FormatError>,
) -> CliResult<Option<Converted<ByteVocabulary>>> {
    // A pipe could not be read again.
    if !path.is_file() && !path.is_dir() {
        return Ok(None);
    }
    open(path).map_err(|error| {
        let flag = flag_of(&error);
        CliError::in_file(path, format!("{error}{flag}"))
    })
}

/// Refuses these flags, which have no default, for this reason.
pub(crate) fn refuse(matches: &ArgMatches, flags: &[&str], reason: &str) -> CliResult {
    match flags.iter().find(|flag| args::is_given(matches, flag)) {
        Some(flag) => Err(CliError::Usage(format!("--{flag} {reason}; leave it out"))),
        None => Ok(()),
    }
}

/// Refuses the flags of byte-level vocabularies, with those that only this subcommand has, for the
/// model of the argument `name`.
pub(crate) fn refuse_for_model(matches: &ArgMatches, name: &str, more: &[&str]) -> CliResult {
    let flags = [&[args::PATTERN, args::SPECIAL_IDS], more, &[FORMAT]].concat();
    let reason = format!("is for byte-level vocabularies, and {name} is none");
    refuse(matches, &flags, &reason)
}

/// What `--format` asks for.
pub(crate) struct ByteFormat {
    format: FileFormat,
    endings: &'static [&'static str],
}

impl ByteFormat {
    pub(crate) fn new(matches: &ArgMatches) -> CliResult<Self> {
        let name = args::given(matches, FORMAT).unwrap_or(FORMATS[0].0);
        let known = FORMATS.into_iter().find(|(known, ..)| *known == name);
        let expected = "tokenizer.json, tiktoken, vocab-merges or minbpe";
        let (_, format, endings) = known.ok_or_else(|| args::invalid(FORMAT, name, expected))?;
        Ok(Self { format, endings })
    }

    /// The endings of the files.
    pub(crate) fn endings(&self) -> &'static [&'static str] {
        self.endings
    }

    /// The endings and contents of the files.
    pub(crate) fn files(
        &self,
        bpe: &ByteBpe,
        options: &ByteFileOptions,
    ) -> CliResult<Vec<(&'static str, Vec<u8>)>> {
        let written = bpe.to_format(self.format, options);
        let written = written.map_err(args::in_flag(FORMAT))?;
        if !written.verdict.is_exact() {
            return Err(CliError::Error(format!(
                "--{FORMAT}: {}\nnothing was written; choose another format",
                written.verdict
            )));
        }
        let contents = written.files.into_iter().map(|(_, content)| content);
        Ok(self.endings.iter().copied().zip(contents).collect())
    }
}
