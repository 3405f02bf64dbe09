//! `--output_format=u16|u32|npy|llmc`: the ids of a corpus in the formats that training programs
//! read.
//!
//! The documents are lines, JSON records or files. Their ids are written as little-endian numbers,
//! one document after the other, and an index of the documents in a second file ([`index`]). Each
//! document has the pieces of `--extra_options` around it and the piece of `--separator` after it.
//! All threads encode documents ([`documents`]), with a few blocks for each thread in memory; the
//! files get their names when they are complete. With `--shards` the documents are divided among
//! several files, and the next run continues a run that was killed ([`shards`]).
//!
//! Example: for the two lines `to be` and `or`, `--output_format=u16 --output=train.bin
//! --separator=2` writes the ids `[10, 11, 2, 12, 2]` as ten bytes, and the 64-bit numbers `[0, 3,
//! 5]` to `train.bin.offsets`.

mod documents;
mod format;
mod index;
mod manifest;
mod shard_files;
mod shards;

use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches};
use indicatif::HumanCount;

use self::documents::{DocumentEncoding, EncodedDocuments};
use self::format::{Container, IdFormat};
use self::index::IndexKind;
use self::shard_files::{Shard, ShardFiles};
use super::{encode_options, restriction};
use crate::args;
use crate::input::SharedInput;
use crate::io::{self, CliError, CliResult};
use crate::stream::{Block, Stream, write_at_once};
use spiece::output::is_stream;
use spiece::{EncodeOptions, Encoder, PieceId, Tokenizer};

/// Flags that are for training data only.
const FLAGS: [&str; 3] = ["separator", "index", "shards"];

/// The flags of training data.
pub(super) fn flags() -> [Arg; 3] {
    [
        args::value(
            "separator",
            "Put this piece after each document; an id, or the text of a piece",
        )
        .value_name("ID|PIECE"),
        args::value(
            "index",
            "Write where documents begin. offsets: OUTPUT.offsets, numbers of 64 bits; megatron: NAME.idx \
             beside NAME.bin; none [default: offsets for files]",
        ),
        args::value(
            "shards",
            "Write N files, NAME-00000-of-0000N.bin and so on. A run that was killed is continued by the same \
             command",
        )
        .value_name("N"),
    ]
}

/// Whether `--output_format` names training data.
pub(super) fn is_wanted(matches: &ArgMatches) -> bool {
    IdFormat::is_name(args::text(matches, "output_format"))
}

/// Fails if a flag of training data is given with another output format.
pub(super) fn check_absent(matches: &ArgMatches) -> CliResult {
    let format = args::text(matches, "output_format");
    let given = FLAGS.iter().find(|flag| args::is_given(matches, flag));
    match given {
        Some(flag) => Err(CliError::Usage(format!(
            "--{flag} is for training data and not for --output_format={format}; add --output_format=u16, u32, npy or llmc"
        ))),
        None => Ok(()),
    }
}

/// Encodes the input to training data. Checks all flags before the input is read.
pub(super) fn run(matches: &ArgMatches, stream: &Stream) -> CliResult {
    if args::is_on(matches, "generate_vocabulary")? {
        return Err(CliError::usage(
            "--generate_vocabulary writes counts of pieces and no training data; give it without --output_format",
        ));
    }
    let tokenizer = restriction::open_model(matches)?;
    let options = encode_options(matches, &tokenizer)?;
    let data = TrainingData::new(matches, stream, &tokenizer)?;
    // Invalid options are an error even if the input is empty.
    tokenizer.encoder_with(&options)?;
    data.write(stream, &tokenizer, &options)
}

/// What to write.
#[derive(Debug)]
struct TrainingData {
    format: IdFormat,
    index: IndexKind,
    /// The piece after each document.
    separator: Option<PieceId>,
    /// The number of files; `None` for one file without a manifest.
    shards: Option<u32>,
    /// The SHA-256 of the file of `--vocabulary`, which a model that it restricts does not have.
    vocabulary_sha256: Option<String>,
}

impl TrainingData {
    /// Reads the flags. Checks that the ids of the model fit in the format.
    fn new(matches: &ArgMatches, stream: &Stream, tokenizer: &Tokenizer) -> CliResult<Self> {
        let name = args::text(matches, "output_format");
        let format = IdFormat::new(name, tokenizer.vocab_size())?;
        let is_file = match stream.output_path() {
            Some(path) => !is_stream(path)?,
            None => false,
        };
        let index = IndexKind::new(matches, is_file, format)?;
        let shards = shards::count(matches)?;
        if !is_file && (format.container != Container::Flat || shards.is_some()) {
            return Err(CliError::Usage(format!(
                "--output_format={name} writes what can be known only at the end to the beginning of a file; name a file \
                 with --output, which --shards needs, too"
            )));
        }
        let vocabulary = args::non_empty(matches, "vocabulary");
        let vocabulary = vocabulary.filter(|_| shards.is_some()).map(io::read_file);
        Ok(Self {
            format,
            index,
            separator: separator(matches, tokenizer)?,
            shards,
            vocabulary_sha256: vocabulary.transpose()?.map(|file| shards::sha256(&file)),
        })
    }

    /// Encodes the input and writes the files.
    fn write(&self, stream: &Stream, tokenizer: &Tokenizer, options: &EncodeOptions) -> CliResult {
        let make = || Ok(tokenizer.encoder_with(options)?);
        match (stream.output_path(), self.shards) {
            (Some(path), Some(_)) => {
                let identity = shards::identity(self, stream, tokenizer, options)?;
                let writer = |input: &SharedInput, files: ShardFiles| {
                    self.write_shard(stream, input, files, make)
                };
                shards::write(self, stream, path, identity, writer)
            }
            (Some(path), None) if !is_stream(path)? => self.write_file(stream, path, make),
            _ => stream.with_output(|output| {
                let take = |encoded: &mut EncodedDocuments| write_at_once(output, &encoded.bytes);
                self.encode(stream, &stream.open_input(), make, take)
            }),
        }
    }

    /// Writes one file and its index.
    fn write_file<'t>(
        &self,
        stream: &Stream,
        path: &Path,
        make: impl Fn() -> CliResult<Encoder<'t>>,
    ) -> CliResult {
        let files = ShardFiles::new(path, self)?;
        let names = files.names();
        let shard = self.write_shard(stream, &stream.open_input(), files, make)?;
        stream.say(&format!("written: {names} ({})", shard.content()));
        Ok(())
    }

    /// Writes a part of the input to a set of files.
    fn write_shard<'t>(
        &self,
        stream: &Stream,
        input: &SharedInput,
        mut files: ShardFiles,
        make: impl Fn() -> CliResult<Encoder<'t>>,
    ) -> CliResult<Shard> {
        self.encode(stream, input, make, |encoded| files.add(encoded))?;
        files.finish(self.shards.is_some())
    }

    /// Encodes the input; `take` gets the ids of its blocks in order.
    fn encode<'t>(
        &self,
        stream: &Stream,
        input: &SharedInput,
        make: impl Fn() -> CliResult<Encoder<'t>>,
        mut take: impl FnMut(&mut EncodedDocuments) -> CliResult,
    ) -> CliResult {
        let encoding = DocumentEncoding {
            width: self.format.width,
            separator: self.separator,
        };
        let encode = |encoder: &mut Encoder<'t>, block: &Block, encoded: &mut EncodedDocuments| {
            encoding.encode(encoder, block, encoded)?;
            encoder
                .take_failure()
                .map_or(Ok(()), |error| Err(error.into()))
        };
        let encoders = stream.lines.map(input, &make, &encode, &mut take);
        encoders.map(drop)
    }

    /// The files for the ids at `path`: the file of the ids, and that of the index if there is one.
    fn paths(&self, path: &Path) -> Vec<PathBuf> {
        let index = self.index.path(path);
        std::iter::once(path.to_owned()).chain(index).collect()
    }
}

/// The piece of `--separator`.
fn separator(matches: &ArgMatches, tokenizer: &Tokenizer) -> CliResult<Option<PieceId>> {
    let Some(text) = args::non_empty(matches, "separator") else {
        return Ok(None);
    };
    let number: Option<u32> = text.parse().ok();
    let id = match number {
        Some(number) => tokenizer
            .pieces()
            .map(|piece| piece.id)
            .find(|id| *id == PieceId::new(number)),
        None => tokenizer.piece_to_id(text),
    };
    let missing = || {
        let pieces = HumanCount(tokenizer.vocab_size() as u64);
        CliError::Usage(format!(
            "--separator: {text:?} is neither an id below {pieces} nor a piece of the model; spiece export-vocab lists the \
             pieces"
        ))
    };
    id.map(Some).ok_or_else(missing)
}
