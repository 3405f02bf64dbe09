//! Blocks of documents -> the bytes of their ids.
//!
//! Input: blocks. Output: little-endian ids, and where each document ends. Cost: one encoding of
//! the text, and two or four bytes for each id; memory is reused.
//!
//! Example: the documents `[10, 11]` and `[12]` with the separator 2 are the ids
//! `[10, 11, 2, 12, 2]` and the ends `[3, 5]`.

use super::format::IdWidth;
use crate::encode::text_buffer::TextBuffer;
use crate::io::CliResult;
use crate::stream::{Block, Conversion};
use spiece::{Encoder, PieceId};

/// How documents become ids.
pub(super) struct DocumentEncoding<F> {
    /// Makes the encoder of a thread.
    pub(super) make_encoder: F,
    pub(super) width: IdWidth,
    /// The piece after each document.
    pub(super) separator: Option<PieceId>,
}

/// The ids of a block.
#[derive(Debug, Default)]
pub(super) struct EncodedDocuments {
    bytes: TextBuffer,
    /// The number of ids up to the end of each document.
    ends: Vec<u64>,
}

impl EncodedDocuments {
    /// The ids.
    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.text()
    }

    /// The number of ids up to the end of each document.
    pub(super) fn ends(&self) -> &[u64] {
        &self.ends
    }

    /// The number of ids.
    pub(super) fn ids(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Removes all ids and keeps the memory.
    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Appends ids.
    #[inline]
    fn append(&mut self, ids: &[PieceId], width: IdWidth) {
        match width {
            // Wider ids were refused when the model was opened.
            IdWidth::Two => self.append_words(ids, |id| {
                let [low, high, ..] = id.to_le_bytes();
                [low, high]
            }),
            IdWidth::Four => self.append_words(ids, u32::to_le_bytes),
        }
    }

    #[inline]
    fn append_words<const BYTES: usize>(
        &mut self,
        ids: &[PieceId],
        word: impl Fn(u32) -> [u8; BYTES],
    ) {
        let length = ids.len() * BYTES;
        let buffer = self.bytes.spare(length);
        for (to, id) in buffer.chunks_exact_mut(BYTES).zip(ids) {
            to.copy_from_slice(&word(id.get()));
        }
        self.bytes.advance(length);
    }
}

impl<'t, F: Fn() -> CliResult<Encoder<'t>> + Sync> Conversion for DocumentEncoding<F> {
    type Worker = Encoder<'t>;
    type Result = EncodedDocuments;

    fn worker(&self) -> CliResult<Encoder<'t>> {
        (self.make_encoder)()
    }

    fn convert(
        &self,
        encoder: &mut Encoder<'t>,
        block: &Block,
        encoded: &mut EncodedDocuments,
    ) -> CliResult {
        encoded.clear();
        let separator = self.separator.as_slice();
        let mut end = 0;
        block.for_each_document(|_, text| {
            let ids = encoder.encode(text);
            encoded.append(ids, self.width);
            end += (ids.len() + separator.len()) as u64;
            encoded.append(separator, self.width);
            encoded.ends.push(end);
            Ok(())
        })
    }
}
