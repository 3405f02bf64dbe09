//! `--shards`: divides the documents among several files. After a run was killed, the next one
//! encodes only what is missing.
//!
//! The shards are `NAME-00000-of-00004.bin` and so on, each with its own index, and a
//! [`manifest`](super::manifest) for all. Shard K of N ends with the first document that ends at or
//! after K/N of the text. The division therefore depends on the text alone, and the concatenated
//! ids of all shards are those of a run without `--shards`. The shards are written one after the
//! other, each by all threads. After each one, the manifest is replaced.
//!
//! A run reads the manifest first. Complete shards are kept if the manifest has the same model,
//! options and input, and if their files have the recorded checksums. Their text is read and its
//! checksum is compared, but it is not encoded. If the text differs, all shards are written anew.
//!
//! Example: a run with `--shards 4` is killed in the third shard. The same command reads the first
//! half of the text, finds it unchanged, and encodes the rest.
//!
//! The input must be files, since it is read again. The first run decompresses compressed files
//! once more, to determine the size of the text.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use clap::ArgMatches;
use sha2::{Digest, Sha256};

use super::TrainingData;
use super::manifest::{self, FinishedShard, InputFile, Manifest, RunIdentity};
use super::shard_files::{FileSum, Shard, ShardFiles};
use crate::args;
use crate::input::{Block, Input, SharedInput};
use crate::io::{self, CliError, CliResult};
use crate::progress::Messages;
use crate::stream::Stream;
use spiece::input::plain_size;
use spiece::output::check_writable;
use spiece::{EncodeOptions, Tokenizer};

/// The maximum number of shards: their numbers have five digits.
const MAX_SHARDS: u32 = 99_999;

/// The number of shards, from `--shards`.
pub(super) fn count(matches: &ArgMatches) -> CliResult<Option<u32>> {
    let text = args::non_empty(matches, "shards");
    text.map(parse_count).transpose()
}

/// Parses the value of `--shards`.
fn parse_count(text: &str) -> CliResult<u32> {
    let count = text.parse().ok();
    count
        .filter(|count| (1..=MAX_SHARDS).contains(count))
        .ok_or_else(|| args::invalid("shards", text, "a number from 1 to 99999"))
}

/// What the shards depend on.
pub(super) fn identity(
    data: &TrainingData,
    stream: &Stream,
    tokenizer: &Tokenizer,
    options: &EncodeOptions,
) -> CliResult<RunIdentity> {
    // The derived texts have all fields, also those that will be added.
    let vocabulary = data.vocabulary_sha256.as_deref().unwrap_or_default();
    let options = [
        ("vocabulary_sha256", vocabulary.to_owned()),
        ("training_data", format!("{data:?}")),
        ("encoding", format!("{options:?}")),
        ("documents", format!("{:?}", stream.documents().documents)),
    ];
    Ok(RunIdentity {
        spiece: env!("CARGO_PKG_VERSION").to_owned(),
        model_sha256: sha256(&content(tokenizer)?),
        options: options.map(|(name, value)| (name.to_owned(), value)).into(),
        input: input_files(stream.files())?,
        text_bytes: 0,
    })
}

/// Bytes that are equal for equal tokenizers only.
fn content(tokenizer: &Tokenizer) -> CliResult<Vec<u8>> {
    let Some(pipeline) = tokenizer.pipeline() else {
        return Ok(tokenizer.to_bytes()?);
    };
    if let Ok(bytes) = tokenizer.to_bytes() {
        return Ok(bytes);
    }
    // No file holds some byte-level vocabularies, nor the normalization forms of some pipelines.
    match tokenizer.byte_bpe() {
        Some(bpe) => Ok(format!("{:?}", bpe.parts()).into_bytes()),
        None => {
            let mut bytes = format!("{:?}", pipeline.normalizer()).into_bytes();
            bytes.extend(pipeline.to_tokenizer_json()?);
            Ok(bytes)
        }
    }
}

/// The SHA-256 of bytes in hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// The same of the bytes of a file.
fn sha256_of_file(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hexadecimal(&hash.finalize())),
            count => hash.update(&buffer[..count]),
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Names and sizes of the files.
fn input_files(paths: &[PathBuf]) -> CliResult<Vec<InputFile>> {
    if paths.is_empty() {
        return Err(not_a_file(Path::new("-")));
    }
    paths.iter().map(|path| input_file(path)).collect()
}

/// What is known of a file before it is read: of a compressed one, that it is the same, since the size
/// of its text is not found again.
fn input_file(path: &Path) -> CliResult<InputFile> {
    if path.as_os_str() == "-" {
        return Err(not_a_file(path));
    }
    let metadata = path.metadata().map_err(CliError::reading(path))?;
    if !metadata.is_file() {
        return Err(not_a_file(path));
    }
    let is_compressed = plain_size(path).is_none();
    let hash = is_compressed.then(|| sha256_of_file(path));
    Ok(InputFile {
        name: path.display().to_string(),
        bytes: metadata.len(),
        compressed_sha256: hash.transpose().map_err(CliError::reading(path))?,
    })
}

/// The error for an input that cannot be read again.
fn not_a_file(path: &Path) -> CliError {
    let path = path.display();
    CliError::Usage(format!(
        "--shards reads the input again to continue; {path} is no file. Name files, or leave --shards out"
    ))
}

/// Writes all shards that are missing.
pub(super) fn write(
    data: &TrainingData,
    stream: &Stream,
    output: &Path,
    mut identity: RunIdentity,
    write_shard: impl Fn(&SharedInput, ShardFiles) -> CliResult<Shard>,
) -> CliResult {
    let manifest_path = manifest::path(output);
    let run = ShardRun {
        data,
        stream,
        output,
        manifest_path: manifest_path.clone(),
        shards: data.shards.unwrap_or(1),
    };
    run.refuse_inputs()?;
    check_writable(&[&manifest_path])?;
    let former = Manifest::read(&manifest_path);
    if former.is_none() && manifest_path.is_file() {
        let manifest = manifest_path.display();
        stream.say(&format!(
            "{manifest} is damaged, or of an older version: all shards are written anew"
        ));
    }
    identity.text_bytes = text_bytes(stream, &identity, former.as_ref())?;
    let begun = Manifest::new(identity, run.shards);
    let continued = run.continued(former, &begun);
    if !run.write(continued, &write_shard)? {
        stream.say("the input has changed: all shards are written anew");
        run.write(begun, &write_shard)?;
    }
    Ok(())
}

/// The size of the text. Compressed files are decompressed for that, unless the former manifest has
/// the size.
fn text_bytes(
    stream: &Stream,
    identity: &RunIdentity,
    former: Option<&Manifest>,
) -> CliResult<u64> {
    if let Some(former) = former
        && former.identity.input == identity.input
    {
        return Ok(former.identity.text_bytes);
    }
    let mut sum = 0;
    for (path, file) in stream.files().iter().zip(&identity.input) {
        sum += match plain_size(path) {
            Some(_) => file.bytes,
            None => decompressed_bytes(stream, path)?,
        };
    }
    Ok(sum)
}

/// The size of the text in a compressed file.
fn decompressed_bytes(stream: &Stream, path: &Path) -> CliResult<u64> {
    stream.say(&format!("{}: finding the size of the text", path.display()));
    // The pass that encodes the text gives the warnings.
    let mut text = io::open_text(path, &Messages::new(true))?;
    std::io::copy(&mut text, &mut std::io::sink()).map_err(CliError::reading(path))
}

/// A run over all shards.
struct ShardRun<'r> {
    data: &'r TrainingData,
    stream: &'r Stream,
    output: &'r Path,
    manifest_path: PathBuf,
    shards: u32,
}

impl ShardRun<'_> {
    /// Refuses to write over a file of the input, which is read again.
    fn refuse_inputs(&self) -> CliResult {
        let same = |left: &Path, right: &Path| match (left.canonicalize(), right.canonicalize()) {
            (Ok(left), Ok(right)) => left == right,
            _ => false,
        };
        let shards = (0..self.shards).flat_map(|number| self.data.paths(&self.shard_path(number)));
        // Most shards do not exist yet, and their names are not looked up for each file of the input.
        let mut written = shards
            .chain([self.manifest_path.clone()])
            .filter(|path| path.exists());
        let clash = written.find_map(|path| {
            let input = self.stream.files().iter().find(|input| same(&path, input));
            Some((path, input?))
        });
        match clash {
            Some((path, input)) => Err(CliError::Usage(format!(
                "--output: the run would write {}, which is the input {}; choose another name",
                path.display(),
                input.display()
            ))),
            None => Ok(()),
        }
    }

    /// The former manifest if its shards may be kept, otherwise that of a new run.
    fn continued(&self, former: Option<Manifest>, begun: &Manifest) -> Manifest {
        match former {
            Some(former) if former.identity == begun.identity => former,
            Some(former) => {
                self.report_difference(&former, begun);
                begun.clone()
            }
            None => begun.clone(),
        }
    }

    /// Says why the shards of the former run cannot be kept.
    fn report_difference(&self, former: &Manifest, begun: &Manifest) {
        let manifest = self.manifest_path.display();
        let difference = former.identity.difference(&begun.identity);
        self.stream.say(&format!(
            "{manifest} is of a run with {difference}: all shards are written anew"
        ));
    }

    /// Writes the shards that are missing or damaged. Returns false if the text of a complete shard
    /// has changed.
    fn write(
        &self,
        mut manifest: Manifest,
        write_shard: &impl Fn(&SharedInput, ShardFiles) -> CliResult<Shard>,
    ) -> CliResult<bool> {
        let input = self.stream.open_input();
        let text_bytes = manifest.identity.text_bytes;
        for (number, entry) in (0..self.shards).zip(0_usize..) {
            let path = self.shard_path(number);
            let end = self.part_end(number, text_bytes);
            locked(&input, |input| input.begin_part(end));
            let former = manifest.finished.get(entry).cloned().flatten();
            if let Some(kept) = former.filter(|shard| self.has_files(&path, shard)) {
                // The text is read without encoding it.
                let mut block = Block::default();
                while locked(&input, |input| input.read_block(&mut block))? {}
                if !kept.has_text(locked(&input, |input| input.read_part())) {
                    return Ok(false);
                }
                self.report("kept", &path, &kept.shard);
                continue;
            }
            let shard = write_shard(&input, ShardFiles::new(&path, self.data)?)?;
            self.report("written", &path, &shard);
            let part = locked(&input, |input| input.read_part());
            manifest.finish(entry, FinishedShard::new(shard, part));
            manifest.write(&self.manifest_path)?;
        }
        Ok(true)
    }

    /// The position in the text where the part of a shard ends; `None` for the last shard.
    fn part_end(&self, number: u32, text_bytes: u64) -> Option<u64> {
        let next = u128::from(number + 1);
        let shards = u128::from(self.shards);
        let is_last = next == shards;
        let end = u64::try_from(u128::from(text_bytes) * next / shards);
        end.ok().filter(|_| !is_last)
    }

    /// Whether the files of a shard exist and are unchanged.
    fn has_files(&self, path: &Path, finished: &FinishedShard) -> bool {
        let sum = |path: &PathBuf| File::open(path).and_then(|mut file| FileSum::of(&mut file));
        let sums: std::io::Result<Vec<FileSum>> = self.data.paths(path).iter().map(sum).collect();
        sums.is_ok_and(|sums| sums == finished.shard.files)
    }

    /// The file for the ids of a shard: `train.bin` gives `train-00003-of-00008.bin`.
    fn shard_path(&self, number: u32) -> PathBuf {
        let stem = self.output.file_stem().unwrap_or_default();
        let mut name = stem.to_owned();
        name.push(format!("-{number:05}-of-{:05}", self.shards));
        if let Some(extension) = self.output.extension() {
            name.push(".");
            name.push(extension);
        }
        self.output.with_file_name(name)
    }

    fn report(&self, what: &str, path: &Path, shard: &Shard) {
        let path = path.display();
        let content = shard.content();
        self.stream.say(&format!("{what}: {path} ({content})"));
    }
}

/// Calls `act` with the input, which no other thread uses between two shards.
fn locked<T>(input: &SharedInput, act: impl FnOnce(&mut Input) -> T) -> T {
    act(&mut input.lock().unwrap_or_else(PoisonError::into_inner))
}
