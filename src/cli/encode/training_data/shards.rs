//! `--shards`: the documents divided among several files, which a run that was killed need not encode again.
//!
//! Input: files that can be read again. Output: `NAME-00000-of-00004.bin` and so on, each with an index of its own, and the
//! [`manifest`](super::manifest). Method: shard K of N ends with the first document that ends at K/N of the text or behind
//! it, so the division depends on the text alone, and the ids of all shards one behind the other are those of one run. The
//! shards are written one after the other, each by all threads. After each one the manifest is replaced.
//!
//! A run reads the manifest first. Complete shards are kept if the manifest has the same model, options and input, and if
//! their files have the checksums that it says. Their text is read and its checksum compared, but not encoded. If the text
//! differs, all shards are written anew.
//!
//! Example: a run with `--shards 4` is killed in the third shard. The same command reads the first half of the text, finds
//! it unchanged, and encodes the rest.
//!
//! Cost: for .gz and .zst files one more decompression at the first run, to know the size of the text.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use clap::ArgMatches;
use sha2::{Digest, Sha256};

use super::manifest::{self, FinishedShard, InputFile, Manifest, RunIdentity};
use super::shard_files::{FileSum, Shard, ShardFiles};
use super::{TrainingData, describe};
use crate::cli::args;
use crate::cli::input::{Block, Input};
use crate::cli::io::{self, CliError, CliResult};
use crate::cli::stream::Stream;
use crate::input::compressed::Compression;
use crate::output::check_writable;
use crate::{EncodeOptions, Tokenizer};

/// The most shards: their numbers have five digits.
const MAX_SHARDS: u32 = 99_999;

/// The number of `--shards`.
pub(super) fn count(matches: &ArgMatches) -> CliResult<Option<u32>> {
    let Some(text) = args::non_empty(matches, "shards") else {
        return Ok(None);
    };
    let count: Option<u32> = text.parse().ok();
    let count = count.filter(|count| (1..=MAX_SHARDS).contains(count));
    count
        .map(Some)
        .ok_or_else(|| args::invalid("shards", text, "a number from 1 to 99999"))
}

/// What the shards depend on.
pub(super) fn identity(
    data: &TrainingData,
    stream: &Stream,
    tokenizer: &Tokenizer,
    options: &EncodeOptions,
    count: u32,
) -> CliResult<RunIdentity> {
    let model = Sha256::digest(tokenizer.model().to_bytes());
    let separator = data.separator.map(|id| id.get());
    let options: BTreeMap<&str, String> = BTreeMap::from([
        ("output_format", format!("{:?}", data.format)),
        ("index", data.index.name().to_owned()),
        (
            "separator",
            separator.map_or(String::new(), |id| id.to_string()),
        ),
        ("extra_options", format!("{:?}", options.extra)),
        ("documents", format!("{:?}", stream.documents())),
        ("shards", count.to_string()),
    ]);
    let options = options.into_iter();
    Ok(RunIdentity {
        spiece: env!("CARGO_PKG_VERSION").to_owned(),
        model_sha256: model.iter().map(|byte| format!("{byte:02x}")).collect(),
        options: options
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
        input: input_files(stream.files())?,
        text_bytes: 0,
    })
}

/// Names and sizes of the files.
fn input_files(paths: &[PathBuf]) -> CliResult<Vec<InputFile>> {
    if paths.is_empty() {
        return Err(not_a_file(Path::new("-")));
    }
    let file = |path: &PathBuf| {
        if path.as_os_str() == "-" {
            return Err(not_a_file(path));
        }
        let metadata = path
            .metadata()
            .map_err(|error| CliError::read(path, &error))?;
        if !metadata.is_file() {
            return Err(not_a_file(path));
        }
        Ok(InputFile {
            name: path.display().to_string(),
            bytes: metadata.len(),
        })
    };
    paths.iter().map(file).collect()
}

/// The error for an input that cannot be read again.
fn not_a_file(path: &Path) -> CliError {
    let path = path.display();
    CliError::Usage(format!(
        "--shards reads the input again to continue; {path} is no file. Name files, or leave --shards out"
    ))
}

/// Writes all shards that are not there yet.
pub(super) fn write(
    data: &TrainingData,
    stream: &Stream,
    output: &Path,
    mut identity: RunIdentity,
    write_shard: impl Fn(&Mutex<Input<'_>>, ShardFiles) -> CliResult<Shard>,
) -> CliResult {
    let manifest_path = manifest::path(output);
    check_writable(&[&manifest_path])?;
    let former = Manifest::read(&manifest_path);
    identity.text_bytes = text_bytes(stream, &identity, former.as_ref())?;
    let shards = data.shards.unwrap_or(1);
    let run = ShardRun {
        data,
        stream,
        output,
        manifest_path,
        shards,
    };
    let begun = Manifest::new(identity, shards);
    let continued = run.continued(former, &begun);
    if !run.write(continued, &write_shard)? {
        stream.say("the input has changed: all shards are written anew");
        run.write(begun, &write_shard)?;
    }
    Ok(())
}

/// The size of the text. A compressed file is decompressed for that, unless the former manifest knows the size.
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
        sum += match Compression::of(path) {
            Compression::None => file.bytes,
            _ => {
                stream.say(&format!("{}: finding the size of the text", path.display()));
                let read = io::open(path)
                    .and_then(|mut text| std::io::copy(&mut text, &mut std::io::sink()));
                read.map_err(|error| CliError::read(path, &error))?
            }
        };
    }
    Ok(sum)
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
    /// The former manifest if this run may keep its shards, else that of a run that begins.
    fn continued(&self, former: Option<Manifest>, begun: &Manifest) -> Manifest {
        match former {
            Some(former) if former.identity == begun.identity => former,
            Some(former) => {
                let manifest = self.manifest_path.display();
                let difference = former.identity.difference(&begun.identity);
                self.stream.say(&format!(
                    "{manifest} is of a run with {difference}: all shards are written anew"
                ));
                begun.clone()
            }
            None => begun.clone(),
        }
    }

    /// Writes the shards that are missing or damaged. False if the text of a complete shard has changed.
    fn write(
        &self,
        mut manifest: Manifest,
        write_shard: &impl Fn(&Mutex<Input<'_>>, ShardFiles) -> CliResult<Shard>,
    ) -> CliResult<bool> {
        let input = Mutex::new(self.stream.open_input());
        let text_bytes = manifest.identity.text_bytes;
        for (number, entry) in (0..self.shards).zip(0_usize..) {
            let path = self.shard_path(number);
            let end = self.part_end(number, text_bytes);
            self.locked(&input, |input| input.begin_part(end));
            let former = manifest.finished.get(entry).cloned().flatten();
            if let Some(kept) = former.filter(|shard| self.has_files(&path, shard)) {
                self.skip_part(&input)?;
                if !kept.has_text(self.locked(&input, |input| input.read_part())) {
                    return Ok(false);
                }
                self.report("kept", &path, &kept.shard);
                continue;
            }
            let shard = write_shard(&input, ShardFiles::new(&path, self.data)?)?;
            self.report("written", &path, &shard);
            let part = self.locked(&input, |input| input.read_part());
            manifest.finish(entry, FinishedShard::new(shard, part));
            manifest.write(&self.manifest_path)?;
        }
        Ok(true)
    }

    /// Calls `act` with the input, which no other thread uses between two shards.
    fn locked<'i, T>(&self, input: &Mutex<Input<'i>>, act: impl FnOnce(&mut Input<'i>) -> T) -> T {
        act(&mut input.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads a part of the input and encodes nothing.
    fn skip_part(&self, input: &Mutex<Input<'_>>) -> CliResult {
        let mut block = Block::default();
        while self.locked(input, |input| input.read_block(&mut block))? {}
        Ok(())
    }

    /// Where the part of a shard ends in the text; `None` for the last one.
    fn part_end(&self, number: u32, text_bytes: u64) -> Option<u64> {
        let next = u128::from(number + 1);
        let shards = u128::from(self.shards);
        let is_last = next == shards;
        let end = u64::try_from(u128::from(text_bytes) * next / shards);
        end.ok().filter(|_| !is_last)
    }

    /// Whether the files of a shard are there and unchanged.
    fn has_files(&self, path: &Path, finished: &FinishedShard) -> bool {
        let sum = |path: &PathBuf| File::open(path).and_then(|mut file| FileSum::of(&mut file));
        let sums: std::io::Result<Vec<FileSum>> = self.data.paths(path).iter().map(sum).collect();
        sums.is_ok_and(|sums| sums == finished.shard.files)
    }

    /// The ids of a shard: `train.bin` gives `train-00003-of-00008.bin`.
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
        let content = describe(shard);
        self.stream.say(&format!("{what}: {path} ({content})"));
    }
}
