//! Blocks of documents -> the bytes of their ids.
//!
//! The ids are little-endian, and come with the place where each document ends. Memory is reused.
//!
//! Example: the documents `[10, 11]` and `[12]` with the separator 2 are the ids
//! `[10, 11, 2, 12, 2]` and the ends `[3, 5]`.

use super::format::IdWidth;
use crate::io::CliResult;
use crate::stream::Block;
use spiece::{Encoder, PieceId};

/// How documents become ids.
#[derive(Debug, Clone, Copy)]
pub(super) struct DocumentEncoding {
    pub(super) width: IdWidth,
    /// The piece after each document.
    pub(super) separator: Option<PieceId>,
}

/// The ids of a block.
#[derive(Debug, Default)]
pub(super) struct EncodedDocuments {
    pub(super) bytes: Vec<u8>,
    /// The number of ids up to the end of each document.
    pub(super) ends: Vec<u64>,
}

impl EncodedDocuments {
    /// The number of ids.
    pub(super) fn ids(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }
}

impl DocumentEncoding {
    /// Replaces the content of `encoded` by the ids of a block.
    pub(super) fn encode(
        self,
        encoder: &mut Encoder<'_>,
        block: &Block,
        encoded: &mut EncodedDocuments,
    ) -> CliResult {
        let EncodedDocuments { bytes, ends } = encoded;
        bytes.clear();
        ends.clear();
        let mut end = 0;
        block.for_each_document(|_, text| {
            let ids = encoder.encode(text).iter().chain(&self.separator);
            for id in ids {
                match self.width {
                    IdWidth::Two => bytes.extend_from_slice(&id.get().to_le_bytes()[..2]),
                    IdWidth::Four => bytes.extend_from_slice(&id.get().to_le_bytes()),
                }
                end += 1;
            }
            ends.push(end);
            Ok(())
        })
    }
}
