//! Encoding of text that is already normalized.
//!
//! Input: normalized text. Output: the ids of the encoder alone, without normalizer, dummy prefix,
//! allowed special pieces and extra pieces, and the boundaries between their tokens. This shows
//! whether encoding can give a piece at all; see `inspect/reachability.rs`.
//!
//! Example: with the model of Llama 2, the text `the` gives the piece `the`; [`Tokenizer::encode`]
//! would add the dummy prefix and give `▁the`.
//!
//! Cost: that of encoding.

use super::Tokenizer;
use super::cache::EncodeCache;
use super::spans::Resolver;
use crate::encode::ModelEncoder;
use crate::normalize::Normalizer;
use crate::piece::PieceId;
#[cfg(feature = "train")]
use crate::piece::PieceKind;

/// Encodes normalized texts. Its buffers are reused.
pub(crate) struct NormalizedEncoder<'t> {
    tokenizer: &'t Tokenizer,
    cache: EncodeCache,
    /// The ids of the last text.
    ids: Vec<PieceId>,
}

impl<'t> NormalizedEncoder<'t> {
    pub(crate) fn new(tokenizer: &'t Tokenizer) -> Self {
        NormalizedEncoder {
            tokenizer,
            cache: tokenizer.create_cache(),
            ids: Vec::new(),
        }
    }

    /// The ids of a text, with one unknown id for each unknown character (for each unknown word in
    /// word models).
    pub(crate) fn encode(&mut self, text: &[u8]) -> &[PieceId] {
        self.ids.clear();
        let pipeline = &self.tokenizer.pipeline;
        let state = &mut pipeline.pool.parts_of(&mut self.cache).state;
        let pieces = self.tokenizer.model.table();
        pipeline.encoder.encode(pieces, text, state, &mut self.ids);
        &self.ids
    }

    /// The ids of `text`, with byte pieces for unknown characters, or one unknown id for each run
    /// of them.
    pub(crate) fn encode_resolved(&mut self, text: &[u8]) -> &[PieceId] {
        self.encode(text);
        let pipeline = &self.tokenizer.pipeline;
        let buffers = &mut pipeline.pool.parts_of(&mut self.cache).buffers;
        buffers.normalized.clear();
        buffers.normalized.extend_from_slice(text);
        let resolver = Resolver {
            tokenizer: self.tokenizer,
            pipeline,
        };
        resolver.resolve_unknowns(buffers, &mut self.ids, 0);
        &self.ids
    }

    /// Whether the text of a piece encodes to the piece alone.
    pub(crate) fn gives(&mut self, id: PieceId, text: &[u8]) -> bool {
        self.encode(text) == [id]
    }

    /// Whether a piece is the result of encoding its text; see
    /// [`BpeEncoder::keeps`](crate::encode::bpe::BpeEncoder::keeps). `None` if only encoding can
    /// tell.
    #[cfg(feature = "train")]
    pub(crate) fn keeps(&mut self, id: PieceId) -> Option<bool> {
        let pipeline = &self.tokenizer.pipeline;
        let ModelEncoder::Bpe(encoder) = &pipeline.encoder else {
            return None;
        };
        let state = &mut pipeline.pool.parts_of(&mut self.cache).state;
        encoder.keeps(self.tokenizer.model.table(), id, &mut state.bpe)
    }

    /// The boundaries between the tokens of `text`, which is the text of the last
    /// [`encode`](Self::encode): ascending positions, without start and end.
    #[cfg(feature = "train")]
    pub(crate) fn boundaries(&self, text: &[u8]) -> Vec<usize> {
        let mut at = 0;
        let mut boundaries = Vec::with_capacity(self.ids.len());
        for id in &self.ids {
            at += self.token_length(*id, text.get(at..).unwrap_or_default());
            boundaries.push(at);
        }
        boundaries.pop();
        boundaries
    }

    /// The bytes of the token `id` at the start of `rest`.
    #[cfg(feature = "train")]
    fn token_length(&self, id: PieceId, rest: &[u8]) -> usize {
        let pieces = self.tokenizer.model.table();
        let encoder = &self.tokenizer.pipeline.encoder;
        let is_known = id.index() < pieces.len()
            && pieces.kind(id.index()) != PieceKind::Unknown
            && rest.starts_with(pieces.text(id.index()));
        if is_known {
            encoder.piece_length(pieces.text(id.index()).len(), rest)
        } else {
            encoder.unknown_length(rest)
        }
    }
}

impl Tokenizer {
    /// The normalizer, with the user-defined symbols.
    pub(crate) fn normalizer(&self) -> &Normalizer {
        &self.pipeline.normalizer
    }

    /// The encoder of the model's type.
    pub(crate) fn model_encoder(&self) -> &ModelEncoder {
        &self.pipeline.encoder
    }
}

#[cfg(all(test, feature = "train"))]
mod tests {
    use super::*;
    use crate::{Model, ModelType};

    #[test]
    fn boundaries_are_positions_in_the_normalized_text() {
        let mut builder = Model::builder();
        builder.model_type(ModelType::Bpe);
        builder.piece("<unk>", 0.0, PieceKind::Unknown);
        builder.piece("ab", -1.0, PieceKind::Normal);
        builder.piece("a", -2.0, PieceKind::Normal);
        let tokenizer = Tokenizer::new(builder.build().unwrap());
        let mut encoder = NormalizedEncoder::new(&tokenizer);
        for (text, boundaries) in [("abaé中ab", &[2, 3, 5, 8][..]), ("", &[])] {
            encoder.encode(text.as_bytes());
            assert_eq!(encoder.boundaries(text.as_bytes()), boundaries);
        }
    }
}
