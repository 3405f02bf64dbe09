//! The file formats for ids, and their headers.
//!
//! | format | content | read by |
//! |---|---|---|
//! | `u16` | ids of two bytes, little-endian; for models of 65,536 pieces at most | `numpy.memmap(path, dtype="<u2")`, nanoGPT, Megatron |
//! | `u32` | ids of four bytes | `numpy.memmap(path, dtype="<u4")`, Megatron |
//! | `npy` | a NumPy file of version 1.0: a header of 128 bytes, then ids of two bytes if they fit, else of four | `numpy.load(path, mmap_mode="r")` |
//! | `llmc` | a header of 256 numbers of four bytes, then ids of two bytes (the format of GPT-2) or four (of Llama 3) | llm.c |
//!
//! A header has a constant length and is written at the end of the run, when the number of ids is
//! known.
//!
//! Example: the header of a NumPy file with three ids of two bytes has the text `{'descr': '<u2',
//! 'fortran_order': False, 'shape': (3,), }`, padded with spaces and ended by a line feed.
//!
//! Sources: NumPy's `numpy.lib.format` (NEP 1), and `dev/data/data_common.py` of llm.c.

use crate::args;
use crate::io::{CliError, CliResult};

/// The size of the largest vocabulary whose ids fit in two bytes.
const MAX_U16_PIECES: usize = 1 << 16;

/// The length of the header of a NumPy file: a multiple of 64, so that the ids are aligned.
const NPY_HEADER_BYTES: usize = 128;

/// The header of llm.c has this many 4-byte numbers.
const LLMC_HEADER_NUMBERS: usize = 256;

/// The first two numbers of that header, a magic number and a version: for GPT-2, whose ids have
/// two bytes, and for Llama 3.
const LLMC_GPT2: [u32; 2] = [20_240_520, 1];
const LLMC_LLAMA3: [u32; 2] = [20_240_801, 7];

/// The size of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdWidth {
    Two,
    Four,
}

impl IdWidth {
    /// The number of bytes.
    pub(super) fn bytes(self) -> u64 {
        match self {
            Self::Two => 2,
            Self::Four => 4,
        }
    }

    /// The smallest width for the ids of a model with this number of pieces.
    fn for_pieces(pieces: usize) -> Self {
        if pieces <= MAX_U16_PIECES {
            Self::Two
        } else {
            Self::Four
        }
    }
}

/// What a file contains besides the ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Container {
    /// Nothing.
    Flat,
    /// The header of NumPy.
    Npy,
    /// The header of llm.c.
    LlmC,
}

/// The format of a file of ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IdFormat {
    pub(super) width: IdWidth,
    pub(super) container: Container,
}

impl IdFormat {
    /// Whether `name` is the name of a format of ids.
    pub(super) fn is_name(name: &str) -> bool {
        matches!(name, "u16" | "u32" | "npy" | "llmc")
    }

    /// The format with this name for a model with this number of pieces.
    ///
    /// # Errors
    /// No format of ids has the name, or the ids do not fit.
    pub(super) fn new(name: &str, pieces: usize) -> CliResult<Self> {
        let smallest = IdWidth::for_pieces(pieces);
        let (width, container) = match name {
            "u16" if smallest == IdWidth::Four => return Err(too_many_pieces(pieces)),
            "u16" => (IdWidth::Two, Container::Flat),
            "u32" => (IdWidth::Four, Container::Flat),
            "npy" => (smallest, Container::Npy),
            "llmc" => (smallest, Container::LlmC),
            _ => {
                return Err(args::invalid(
                    "output_format",
                    name,
                    "u16, u32, npy or llmc",
                ));
            }
        };
        Ok(Self { width, container })
    }

    /// The length of the header.
    pub(super) fn header_bytes(self) -> usize {
        match self.container {
            Container::Flat => 0,
            Container::Npy => NPY_HEADER_BYTES,
            Container::LlmC => LLMC_HEADER_NUMBERS * 4,
        }
    }

    /// The header of a file with `ids` ids.
    ///
    /// # Errors
    /// The format cannot count that many ids.
    pub(super) fn header(self, ids: u64) -> CliResult<Vec<u8>> {
        match self.container {
            Container::Flat => Ok(Vec::new()),
            Container::Npy => Ok(npy_header(self.width, ids)),
            Container::LlmC => llmc_header(self.width, ids),
        }
    }
}

/// The error for ids that do not fit in two bytes.
fn too_many_pieces(pieces: usize) -> CliError {
    CliError::Usage(format!(
        "--output_format=u16: the model has {pieces} pieces, and ids of two bytes reach {MAX_U16_PIECES}; use u32"
    ))
}

/// The header of a NumPy file: a magic number, the version, the length of the text, the text.
fn npy_header(width: IdWidth, ids: u64) -> Vec<u8> {
    let width = width.bytes();
    let text = format!("{{'descr': '<u{width}', 'fortran_order': False, 'shape': ({ids},), }}");
    let [text_bytes, ..] = (NPY_HEADER_BYTES - 10).to_le_bytes();
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend([text_bytes, 0]);
    header.extend_from_slice(text.as_bytes());
    header.resize(NPY_HEADER_BYTES - 1, b' ');
    header.push(b'\n');
    header
}

/// The header of llm.c. Its third number is the number of ids.
fn llmc_header(width: IdWidth, ids: u64) -> CliResult<Vec<u8>> {
    let [magic, version] = match width {
        IdWidth::Two => LLMC_GPT2,
        IdWidth::Four => LLMC_LLAMA3,
    };
    let count = i32::try_from(ids).map_err(|_| {
        CliError::Error(format!(
            "--output_format=llmc: a file has {ids} ids, and llm.c counts up to {}; divide the ids with --shards",
            i32::MAX
        ))
    })?;
    let numbers = [
        magic.to_le_bytes(),
        version.to_le_bytes(),
        count.to_le_bytes(),
    ];
    let mut header = numbers.concat();
    header.resize(LLMC_HEADER_NUMBERS * 4, 0);
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_width_follows_from_the_vocabulary() {
        let width = |name, pieces| IdFormat::new(name, pieces).map(|format| format.width);
        assert_eq!(width("u16", 65_536).unwrap(), IdWidth::Two);
        assert!(matches!(width("u16", 65_537), Err(CliError::Usage(_))));
        assert_eq!(width("u32", 10).unwrap(), IdWidth::Four);
        for name in ["npy", "llmc"] {
            assert_eq!(width(name, 65_536).unwrap(), IdWidth::Two);
            assert_eq!(width(name, 65_537).unwrap(), IdWidth::Four);
        }
        assert!(IdFormat::new("id", 10).is_err() && !IdFormat::is_name("id"));
    }

    #[test]
    fn headers_have_their_length_and_counts() {
        for name in ["npy", "llmc", "u16"] {
            let format = IdFormat::new(name, 10).unwrap();
            for ids in [0, 3, 1 << 30] {
                assert_eq!(format.header(ids).unwrap().len(), format.header_bytes());
            }
        }
        let npy = npy_header(IdWidth::Four, u64::MAX);
        assert!(
            npy.starts_with(b"\x93NUMPY\x01\x00\x76\x00{'descr': '<u4', 'fortran_order': False, ")
        );
        assert!(npy.ends_with(b" \n"));
        let llmc = llmc_header(IdWidth::Two, 7).unwrap();
        assert_eq!(
            llmc[..13],
            *b"\x88\xd8\x34\x01\x01\x00\x00\x00\x07\x00\x00\x00\x00"
        );
        assert!(llmc_header(IdWidth::Two, 1 << 31).is_err());
    }
}
