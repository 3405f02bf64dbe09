//! The files of one shard: the ids, and the index of the documents.
//!
//! They get their names together, when they are complete, and the header of the ids is written
//! last. With `--shards` the files are read once more for their checksums, usually from the page
//! cache.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::Crc;
use indicatif::HumanCount;
use serde::{Deserialize, Serialize};

use super::TrainingData;
use super::documents::EncodedDocuments;
use super::format::IdFormat;
use super::index::{IndexKind, write_at_start};
use crate::io::{CliResult, joined_names};
use spiece::output::OutputGroup;
use spiece::output::WriteError;

/// The positions of the ids and of the index in the group of files.
const IDS: usize = 0;
const INDEX: usize = 1;

/// The files of a shard while they are written.
pub(super) struct ShardFiles {
    group: OutputGroup,
    paths: Vec<PathBuf>,
    format: IdFormat,
    index: IndexKind,
    ids: u64,
    documents: u64,
}

/// A complete shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Shard {
    pub(super) ids: u64,
    pub(super) documents: u64,
    /// The checksums of the files in the order of [`TrainingData::paths`]; empty if they are not
    /// wanted.
    pub(super) files: Vec<FileSum>,
}

impl Shard {
    /// The numbers of ids and documents, for a message.
    pub(super) fn content(&self) -> String {
        let ids = HumanCount(self.ids);
        let documents = HumanCount(self.documents);
        format!("{ids} ids, {documents} documents")
    }
}

/// The size and checksum of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileSum {
    bytes: u64,
    crc32: u32,
}

impl FileSum {
    /// Reads the whole file.
    pub(super) fn of(file: &mut File) -> io::Result<Self> {
        let mut buffer = vec![0; 1 << 16];
        let mut crc = Crc::new();
        let mut bytes = 0;
        file.seek(SeekFrom::Start(0))?;
        loop {
            let count = file.read(&mut buffer)?;
            if count == 0 {
                let crc32 = crc.sum();
                return Ok(Self { bytes, crc32 });
            }
            crc.update(&buffer[..count]);
            bytes += count as u64;
        }
    }
}

impl ShardFiles {
    /// Creates the files for the ids at `path`.
    pub(super) fn new(path: &Path, data: &TrainingData) -> CliResult<Self> {
        let paths = data.paths(path);
        let names: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        let mut files = Self {
            group: OutputGroup::create(&names)?,
            paths,
            format: data.format,
            index: data.index,
            ids: 0,
            documents: 0,
        };
        let header = vec![0; data.format.header_bytes()];
        files.write(IDS, |file| file.write_all(&header))?;
        files.write(INDEX, |file| file.write_all(&data.index.begin()))?;
        Ok(files)
    }

    /// The names of the files for a message.
    pub(super) fn names(&self) -> String {
        joined_names(&self.paths)
    }

    /// Appends the documents of a block.
    pub(super) fn add(&mut self, encoded: &EncodedDocuments) -> CliResult {
        let index = self.index;
        let start = self.ids;
        self.write(IDS, |file| file.write_all(&encoded.bytes))?;
        self.write(INDEX, |file| {
            file.write_all(&index.entries(start, &encoded.ends)?)
        })?;
        self.ids += encoded.ids();
        self.documents += encoded.ends.len() as u64;
        Ok(())
    }

    /// Writes the headers and gives the files their names.
    pub(super) fn finish(mut self, with_sums: bool) -> CliResult<Shard> {
        let header = self.format.header(self.ids)?;
        self.complete_index()?;
        if !header.is_empty() {
            self.write(IDS, |file| write_at_start(file, &header))?;
        }
        let files = if with_sums { self.sums()? } else { Vec::new() };
        self.group.commit()?;
        Ok(Shard {
            ids: self.ids,
            documents: self.documents,
            files,
        })
    }

    /// Writes the parts of the index that depend on all documents.
    fn complete_index(&mut self) -> CliResult<Option<()>> {
        let index = self.index;
        let width = self.format.width;
        let documents = self.documents;
        self.write(INDEX, |file| index.complete(file, width, documents))
    }

    /// The sizes and checksums of the files.
    fn sums(&mut self) -> CliResult<Vec<FileSum>> {
        (0..self.paths.len())
            .filter_map(|position| self.write(position, FileSum::of).transpose())
            .collect()
    }

    /// Calls `write` with a file; `None` if there is no such file.
    fn write<T>(
        &mut self,
        position: usize,
        write: impl FnOnce(&mut File) -> io::Result<T>,
    ) -> CliResult<Option<T>> {
        let Some((path, file)) = self.group.file(position) else {
            return Ok(None);
        };
        let written = write(file).map_err(|source| WriteError {
            path: path.to_owned(),
            source,
        })?;
        Ok(Some(written))
    }
}
