//! The index of the documents in a file of ids.
//!
//! | index | file | content, little-endian |
//! |---|---|---|
//! | `offsets` | `NAME.bin.offsets` beside `NAME.bin` | for N documents N + 1 numbers of 64 bits: where each document begins, counted in ids, and the number of all ids |
//! | `megatron` | `NAME.idx` beside `NAME.bin` | the index of Megatron's `IndexedDataset`, each document being one sequence |
//!
//! Document `i` has the ids from `offsets[i]` to `offsets[i + 1]`, including its separator.
//!
//! The file of Megatron has `MMIDIDX\0\0`, the version 1 (64 bits), the type of the ids (one byte:
//! 8 for two bytes, 4 for four), the number of sequences and the number of documents plus one (64
//! bits each), the lengths of the sequences (32 bits each), their positions in bytes (64 bits
//! each), and the numbers 0 to N (64 bits each). The lengths are written together with the ids. The
//! positions are computed from them at the end, so memory does not grow with the number of
//! documents.
//!
//! Example: documents of 3 and 2 ids have the offsets `[0, 3, 5]`; Megatron's lengths are `[3, 2]`,
//! and with ids of two bytes the positions are `[0, 6]`.
//!
//! Source: `megatron/core/datasets/indexed_dataset.py` of Megatron-LM.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use clap::ArgMatches;

use super::format::{Container, IdFormat, IdWidth};
use crate::args;
use crate::io::{CliError, CliResult, with_ending};

/// The size of an offset in bytes.
const OFFSET_BYTES: usize = 8;

/// The first bytes of an index of Megatron.
const MEGATRON_MAGIC: &[u8] = b"MMIDIDX\0\0";

/// The number of bytes before the lengths.
const MEGATRON_HEADER_BYTES: usize = 34;

/// Which index is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IndexKind {
    None,
    Offsets,
    Megatron,
}

impl IndexKind {
    /// The index that `--index` selects. Only files have an index.
    pub(super) fn new(matches: &ArgMatches, is_file: bool, format: IdFormat) -> CliResult<Self> {
        let kind = match args::non_empty(matches, "index") {
            None if is_file => return Ok(Self::Offsets),
            None | Some("none") => return Ok(Self::None),
            Some("offsets") => Self::Offsets,
            Some("megatron") => Self::Megatron,
            Some(other) => return Err(args::invalid("index", other, "offsets, megatron or none")),
        };
        if !is_file {
            return Err(CliError::usage(
                "--index is a file beside the output; name a file with --output",
            ));
        }
        if kind == Self::Megatron {
            check_megatron(args::text(matches, "output"), format)?;
        }
        Ok(kind)
    }

    /// The file of the index for the ids at `path`.
    pub(super) fn path(self, path: &Path) -> Option<PathBuf> {
        match self {
            Self::None => None,
            Self::Offsets => Some(with_ending(path, ".offsets")),
            Self::Megatron => Some(path.with_extension("idx")),
        }
    }

    /// The bytes before the entries of the documents; a header is filled in at the end.
    pub(super) fn begin(self) -> Vec<u8> {
        match self {
            Self::None => Vec::new(),
            Self::Offsets => vec![0; OFFSET_BYTES],
            Self::Megatron => vec![0; MEGATRON_HEADER_BYTES],
        }
    }

    /// The entries of the documents of a block. `ends` are counted from `start`, the number of ids
    /// before the block.
    pub(super) fn entries(self, start: u64, ends: &[u64]) -> io::Result<Vec<u8>> {
        match self {
            Self::None => Ok(Vec::new()),
            Self::Offsets => Ok(offsets(start, ends)),
            Self::Megatron => lengths(ends),
        }
    }

    /// Completes the file of the index after all entries have been written.
    pub(super) fn complete(
        self,
        file: &mut File,
        width: IdWidth,
        documents: u64,
    ) -> io::Result<()> {
        match self {
            Self::None | Self::Offsets => Ok(()),
            Self::Megatron => complete_megatron(file, width, documents),
        }
    }
}

/// Fails if Megatron cannot read ids of this format in the file `output`.
fn check_megatron(output: &str, format: IdFormat) -> CliResult {
    if format.container != Container::Flat {
        return Err(CliError::usage(
            "--index=megatron is for ids without a header; add --output_format=u16 or u32",
        ));
    }
    if Path::new(output).extension() != Some("bin".as_ref()) {
        return Err(CliError::usage(
            "--index=megatron: Megatron reads NAME.bin and NAME.idx; name the output NAME.bin",
        ));
    }
    Ok(())
}

/// The ends of documents as 64-bit offsets, `start` being the offset of the block.
fn offsets(start: u64, ends: &[u64]) -> Vec<u8> {
    let offsets = ends.iter().map(|end| (start + end).to_le_bytes());
    offsets.collect::<Vec<_>>().concat()
}

/// The lengths of documents, 32 bits each.
fn lengths(ends: &[u64]) -> io::Result<Vec<u8>> {
    let mut start = 0;
    let mut bytes = Vec::with_capacity(ends.len() * 4);
    for end in ends {
        let length = i32::try_from(end - start).map_err(|_| {
            io::Error::other(
                "a document has 2^31 ids or more, which Megatron cannot count; divide it",
            )
        })?;
        bytes.extend_from_slice(&length.to_le_bytes());
        start = *end;
    }
    Ok(bytes)
}

/// Appends the positions and numbers of the documents, and writes the header.
fn complete_megatron(file: &mut File, width: IdWidth, documents: u64) -> io::Result<()> {
    append_positions(file, width, documents)?;
    append_numbers(file, documents)?;
    write_at_start(file, &megatron_header(width, documents))
}

/// Appends the numbers from 0 to `last`.
fn append_numbers(file: &mut File, last: u64) -> io::Result<()> {
    let mut output = BufWriter::new(file);
    for number in 0..=last {
        output.write_all(&number.to_le_bytes())?;
    }
    output.flush()
}

/// The bytes before the lengths.
fn megatron_header(width: IdWidth, documents: u64) -> Vec<u8> {
    let id_type = match width {
        IdWidth::Two => 8,
        IdWidth::Four => 4,
    };
    let mut header = MEGATRON_MAGIC.to_vec();
    header.extend_from_slice(&1_u64.to_le_bytes());
    header.push(id_type);
    header.extend_from_slice(&documents.to_le_bytes());
    header.extend_from_slice(&(documents + 1).to_le_bytes());
    header
}

/// Overwrites the beginning of a file.
pub(super) fn write_at_start(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    file.write_all(bytes)
}

/// Appends the positions of the documents, which are sums of the lengths in the file.
fn append_positions(file: &mut File, width: IdWidth, documents: u64) -> io::Result<()> {
    // The number of lengths that are read at a time.
    const CHUNK: u64 = 1 << 14;
    let mut position = 0;
    let mut read = 0;
    while read < documents {
        let count = CHUNK.min(documents - read);
        let lengths = read_lengths(file, read, count)?;
        let mut positions = Vec::new();
        for length in lengths.chunks_exact(4) {
            positions.extend_from_slice(&u64::to_le_bytes(position));
            let length: [u8; 4] = length.try_into().unwrap_or_default();
            position += u64::from(u32::from_le_bytes(length)) * width.bytes();
        }
        file.seek(SeekFrom::End(0))?;
        file.write_all(&positions)?;
        read += count;
    }
    file.seek(SeekFrom::End(0)).map(drop)
}

/// The bytes of `count` lengths in the file, from the document `first`.
fn read_lengths(file: &mut File, first: u64, count: u64) -> io::Result<Vec<u8>> {
    let mut lengths = Vec::new();
    file.seek(SeekFrom::Start(MEGATRON_HEADER_BYTES as u64 + first * 4))?;
    let found = BufReader::new(file)
        .take(count * 4)
        .read_to_end(&mut lengths)?;
    if found as u64 != count * 4 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(lengths)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index_of(kind: IndexKind, blocks: &[&[u64]]) -> Vec<u8> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&kind.begin()).unwrap();
        let mut start = 0;
        let mut documents = 0;
        for ends in blocks {
            file.write_all(&kind.entries(start, ends).unwrap()).unwrap();
            start += ends.last().unwrap_or(&0);
            documents += ends.len() as u64;
        }
        kind.complete(&mut file, IdWidth::Two, documents).unwrap();
        let mut bytes = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn offsets_begin_with_zero_and_end_with_the_number_of_ids() {
        let bytes = index_of(IndexKind::Offsets, &[&[3, 3], &[], &[2]]);
        let expected = [0_u64, 3, 3, 5].map(u64::to_le_bytes).concat();
        assert_eq!(bytes, expected);
    }

    #[test]
    fn the_index_of_megatron_has_lengths_positions_and_documents() {
        let bytes = index_of(IndexKind::Megatron, &[&[3, 3], &[2]]);
        let mut expected =
            b"MMIDIDX\0\0\x01\0\0\0\0\0\0\0\x08\x03\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0".to_vec();
        expected.extend([3_i32, 0, 2].map(i32::to_le_bytes).concat());
        expected.extend([0_u64, 6, 6].map(u64::to_le_bytes).concat());
        expected.extend([0_u64, 1, 2, 3].map(u64::to_le_bytes).concat());
        assert_eq!(bytes, expected);
        let many: Vec<u64> = (1..=40_000).collect();
        let bytes = index_of(IndexKind::Megatron, &[&many]);
        assert_eq!(bytes.len(), 34 + 40_000 * 12 + 40_001 * 8);
        let position = 34 + 40_000 * 4 + 39_999 * 8;
        assert_eq!(bytes[position..position + 8], 79_998_u64.to_le_bytes());
        assert!(lengths(&[1 << 31]).is_err());
    }
}
