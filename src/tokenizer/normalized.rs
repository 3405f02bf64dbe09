//! Encoding of text that is normalized already.
//!
//! Input: normalized text. Output: the ids of the encoder alone, without normalizer, dummy prefix, allowed special
//! pieces and extra pieces. This is what decides whether a piece can be given at all; see `inspect/reachability.rs`.
//!
//! Example: with the model of Llama 2 the text `the` gives the piece `the`; [`Tokenizer::encode`] would put the dummy
//! prefix before it and give `▁the`.

use super::Tokenizer;
use super::cache::EncodeCache;
use super::spans::Resolver;
use crate::encode::ModelEncoder;
use crate::normalize::Normalizer;
use crate::piece::PieceId;

impl Tokenizer {
    /// Replaces `ids` by the ids of the normalized `text`, with one unknown id for each unknown character (for each
    /// unknown word in word models).
    pub(crate) fn encode_normalized(
        &self,
        cache: &mut EncodeCache,
        text: &[u8],
        ids: &mut Vec<PieceId>,
    ) {
        ids.clear();
        let parts = self.pipeline.pool.parts_of(cache);
        let pieces = self.model.table();
        let encoder = &self.pipeline.encoder;
        encoder.encode(pieces, text, &mut parts.state, ids);
    }

    /// Replaces the unknown ids of `ids`, which are those of the normalized `text`, by byte pieces or by one id for
    /// each run of them.
    pub(crate) fn resolve_normalized(
        &self,
        cache: &mut EncodeCache,
        text: &[u8],
        ids: &mut Vec<PieceId>,
    ) {
        let buffers = &mut self.pipeline.pool.parts_of(cache).buffers;
        buffers.normalized.clear();
        buffers.normalized.extend_from_slice(text);
        let resolver = Resolver {
            tokenizer: self,
            pipeline: &self.pipeline,
        };
        resolver.resolve_unknowns(buffers, ids, 0);
    }

    /// The normalizer, with the user-defined symbols.
    pub(crate) fn normalizer(&self) -> &Normalizer {
        &self.pipeline.normalizer
    }

    /// The encoder of the model's type.
    pub(crate) fn model_encoder(&self) -> &ModelEncoder {
        &self.pipeline.encoder
    }
}
