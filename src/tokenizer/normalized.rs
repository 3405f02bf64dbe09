//! Encoding of text that is already normalized.
//!
//! The ids are those of the encoder alone, without normalizer, dummy prefix, allowed special pieces
//! and extra pieces. This shows whether encoding can give a piece at all; see
//! `inspect/reachability.rs`.
//!
//! Example: with the model of Llama 2, the text `the` gives the piece `the`;
//! [`Tokenizer::encode`](super::Tokenizer::encode) would add the dummy prefix and give `▁the`.

use super::cache::EncodeCache;
use super::model_tables::ModelTables;
use crate::piece::PieceId;

/// Encodes normalized texts. Its buffers are reused.
pub(crate) struct NormalizedEncoder<'t> {
    tables: &'t ModelTables,
    cache: EncodeCache,
    /// The ids of the last text.
    ids: Vec<PieceId>,
}

impl<'t> NormalizedEncoder<'t> {
    pub(crate) fn new(tables: &'t ModelTables) -> Self {
        NormalizedEncoder {
            tables,
            cache: tables.stages.pool.create(),
            ids: Vec::new(),
        }
    }

    /// The ids of a text, with one unknown id for each unknown character (for each unknown word in
    /// word models).
    pub(crate) fn encode(&mut self, text: &[u8]) -> &[PieceId] {
        self.ids.clear();
        let stages = &self.tables.stages;
        let state = &mut stages.pool.parts_of(&mut self.cache).state;
        let pieces = self.tables.model().table();
        stages.encoder.encode(pieces, text, state, &mut self.ids);
        &self.ids
    }

    /// The ids of `text`, with byte pieces for unknown characters, or one unknown id for each run
    /// of them.
    pub(crate) fn encode_resolved(&mut self, text: &[u8]) -> &[PieceId] {
        self.encode(text);
        let pool = &self.tables.stages.pool;
        let buffers = &mut pool.parts_of(&mut self.cache).buffers;
        buffers.normalized.clear();
        buffers.normalized.extend_from_slice(text);
        let context = self.tables.context();
        context.resolve_unknowns(buffers, &mut self.ids, 0);
        &self.ids
    }

    /// Whether the text of a piece encodes to the piece alone.
    pub(crate) fn gives(&mut self, id: PieceId, text: &[u8]) -> bool {
        self.encode(text) == [id]
    }
}
