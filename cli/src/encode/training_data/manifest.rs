//! The manifest of a sharded run: what the shards are made of, and which are complete.
//!
//! `NAME.shards.json` stands beside the shards. It is a JSON object that replaces the former one
//! after each shard:
//!
//! | key | content |
//! |---|---|
//! | `spiece` | the version of the program |
//! | `model_sha256` | of the bytes of the model file, in hexadecimal |
//! | `options` | each option that changes the files |
//! | `input` | names and sizes in bytes of the files, and the SHA-256 of compressed ones |
//! | `text_bytes` | the size of the text, decompressed |
//! | `finished` | for each shard `null` or its numbers of ids and documents, the sizes and CRC-32 of its files, and the end and CRC-32 of its text |
//!
//! | `crc32` | of all before it |
//!
//! The next run keeps a shard if all of these are the same and if its files and its text have the
//! checksums. The checksums detect damage and changes, not forgery.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use flate2::Crc;
use serde::{Deserialize, Serialize};

use super::shard_files::Shard;
use crate::input::ReadPart;
use crate::io::{CliError, CliResult, with_ending};
use spiece::output::write_files;

/// What the shards of a run depend on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RunIdentity {
    pub(super) spiece: String,
    pub(super) model_sha256: String,
    pub(super) options: BTreeMap<String, String>,
    pub(super) input: Vec<InputFile>,
    pub(super) text_bytes: u64,
}

/// A file of the input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct InputFile {
    pub(super) name: String,
    pub(super) bytes: u64,
    /// Of the bytes of a compressed file. Formats such as gzip end with the CRC-32 of the text, with which
    /// that of the file depends on its size alone.
    pub(super) compressed_sha256: Option<String>,
}

/// The content of the manifest file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    #[serde(flatten)]
    pub(super) identity: RunIdentity,
    pub(super) finished: Vec<Option<FinishedShard>>,
    /// See [`checksum`](Self::checksum).
    crc32: u32,
}

/// A complete shard and the part of the text that it contains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FinishedShard {
    #[serde(flatten)]
    pub(super) shard: Shard,
    pub(super) text_end: u64,
    pub(super) text_crc32: u32,
}

impl FinishedShard {
    /// A shard with the part of the text that was read for it.
    pub(super) fn new(shard: Shard, part: ReadPart) -> Self {
        Self {
            shard,
            text_end: part.end,
            text_crc32: part.checksum,
        }
    }

    /// Whether the shard was made from this part of the text.
    pub(super) fn has_text(&self, part: ReadPart) -> bool {
        part.end == self.text_end && part.checksum == self.text_crc32
    }
}

impl Manifest {
    /// The manifest of a run that begins.
    pub(super) fn new(identity: RunIdentity, shards: u32) -> Self {
        Self {
            identity,
            finished: (0..shards).map(|_| None).collect(),
            crc32: 0,
        }
    }

    /// The CRC-32 of everything else.
    fn checksum(&self) -> Option<u32> {
        let mut crc = Crc::new();
        crc.update(&serde_json::to_vec(&(&self.identity, &self.finished)).ok()?);
        Some(crc.sum())
    }

    /// Records a complete shard.
    pub(super) fn finish(&mut self, number: usize, shard: FinishedShard) {
        if let Some(entry) = self.finished.get_mut(number) {
            *entry = Some(shard);
        }
    }

    /// The manifest in a file; `None` if there is none, or if it is damaged.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let bytes = std::fs::read(path).ok()?;
        let manifest: Self = serde_json::from_slice(&bytes).ok()?;
        let is_whole = manifest.checksum() == Some(manifest.crc32);
        is_whole.then_some(manifest)
    }

    /// Replaces the manifest file.
    pub(super) fn write(&mut self, path: &Path) -> CliResult {
        self.crc32 = self.checksum().unwrap_or_default();
        let json = serde_json::to_vec_pretty(&self);
        let mut bytes = json.map_err(|error| {
            CliError::Error(format!("cannot write {}: {error}", path.display()))
        })?;
        bytes.push(b'\n');
        Ok(write_files(&[(path, &bytes)])?)
    }
}

impl RunIdentity {
    /// What differs from another run, for a message.
    pub(super) fn difference(&self, other: &Self) -> &'static str {
        if self.model_sha256 != other.model_sha256 {
            return "another model";
        }
        if self.options != other.options {
            return "other options";
        }
        if self.spiece != other.spiece {
            return "another version of spiece";
        }
        "another input"
    }
}

/// The path of the manifest for the shards of `output`.
pub(super) fn path(output: &Path) -> PathBuf {
    with_ending(output, ".shards.json")
}
