//! A vocabulary of tokens, which is no SentencePiece model: byte-level BPE or a pipeline.
//!
//! The facade asks the same of all; each method calls that of the same name.

use std::ops::Range;
#[cfg(feature = "tokenizer-json")]
use std::sync::Arc;

use super::cache::CacheParts;
use crate::byte_bpe::{ByteBpe, ByteBpeError};
use crate::decode::Decoder;
use crate::encode::EncodeError;
use crate::piece::{PieceId, PieceKind};
#[cfg(feature = "tokenizer-json")]
use crate::pipeline::{FoundTokens, Pipeline, PipelineError, PipelineModel, PipelineToken};
use crate::special::{SpecialNames, SpecialSet, SpecialToken};

/// See the [module page](self).
#[derive(Debug)]
#[cfg_attr(
    feature = "tokenizer-json",
    expect(clippy::large_enum_variant, reason = "tables are boxed")
)]
pub(super) enum TokenVocabulary {
    Bytes(ByteBpe),
    #[cfg(feature = "tokenizer-json")]
    Pipeline(Arc<Pipeline>),
}

/// The special tokens that a call finds in its texts.
#[derive(Debug)]
pub(super) enum FoundOfCall {
    Set(SpecialSet),
    #[cfg(feature = "tokenizer-json")]
    Tokens(FoundTokens),
}

/// See [`FoundOfCall`].
#[derive(Debug, Clone, Copy)]
pub(super) enum Found<'f> {
    Set(&'f SpecialSet),
    #[cfg(feature = "tokenizer-json")]
    Tokens(&'f FoundTokens),
}

impl FoundOfCall {
    pub(super) fn as_ref(&self) -> Found<'_> {
        match self {
            Self::Set(set) => Found::Set(set),
            #[cfg(feature = "tokenizer-json")]
            Self::Tokens(tokens) => Found::Tokens(tokens),
        }
    }
}

impl TokenVocabulary {
    pub(super) fn vocab_size(&self) -> usize {
        match self {
            Self::Bytes(bpe) => bpe.vocab_size(),
            #[cfg(feature = "tokenizer-json")]
            Self::Pipeline(pipeline) => pipeline.vocab_size(),
        }
    }

    pub(super) fn id_to_bytes(&self, id: PieceId) -> Option<&[u8]> {
        match self {
            Self::Bytes(bpe) => bpe.id_to_bytes(id),
            #[cfg(feature = "tokenizer-json")]
            Self::Pipeline(pipeline) => Some(pipeline.text_of(id.get())?.as_bytes()),
        }
    }

    pub(super) fn bytes_to_id(&self, text: impl AsRef<[u8]>) -> Option<PieceId> {
        match self {
            Self::Bytes(bpe) => bpe.bytes_to_id(text),
            #[cfg(feature = "tokenizer-json")]
            Self::Pipeline(pipeline) => {
                let text = std::str::from_utf8(text.as_ref()).ok()?;
                pipeline.id_of(text).map(PieceId::new)
            }
        }
    }

    pub(super) fn special_tokens(&self) -> &[SpecialToken] {
        match self {
            Self::Bytes(bpe) => bpe.special_tokens(),
            #[cfg(feature = "tokenizer-json")]
            Self::Pipeline(pipeline) => pipeline.added_tokens(),
        }
    }

    /// The kinds of the tokens that are not normal.
    pub(super) fn kinds(&self) -> impl Iterator<Item = (u32, PieceKind)> {
        let unknown = match self {
            Self::Bytes(_) => None,
            #[cfg(feature = "tokenizer-json")]
            Self::Pipeline(pipeline) => pipeline.model().unknown(),
        };
        let special = self
            .special_tokens()
            .iter()
            .map(|token| match token.special {
                true => (token.id, PieceKind::Control),
                false => (token.id, PieceKind::UserDefined),
            });
        // An unknown piece that is a special token can be allowed like the others.
        let unknown = unknown.map(|id| (id, PieceKind::Unknown));
        unknown.into_iter().chain(special)
    }

    pub(super) fn found_always(&self) -> Found<'_> {
        match self {
            Self::Bytes(bpe) => Found::Set(bpe.found_always()),
            #[cfg(feature = "tokenizer-json")]
            Self::Pipeline(pipeline) => Found::Tokens(pipeline.found_always()),
        }
    }

    pub(super) fn special_set_with(
        &self,
        allowed: &SpecialNames,
        finds_added: bool,
    ) -> Result<FoundOfCall, ByteBpeError> {
        let set = match self {
            Self::Bytes(bpe) => bpe.special_set_with(allowed, finds_added),
            #[cfg(feature = "tokenizer-json")]
            Self::Pipeline(pipeline) => {
                let allows = |text: &str| match allowed {
                    SpecialNames::None => false,
                    SpecialNames::All => true,
                    SpecialNames::Of(names) => names.iter().any(|name| name == text),
                };
                return Ok(FoundOfCall::Tokens(pipeline.found(allows, finds_added)));
            }
        };
        set.map(FoundOfCall::Set)
    }

    pub(super) fn normalize(
        &self,
        text: &[u8],
        out: &mut Vec<u8>,
        origins: Option<&mut Vec<usize>>,
    ) {
        match self {
            Self::Bytes(bpe) => bpe.normalize(text, out, origins),
            #[cfg(feature = "tokenizer-json")]
            Self::Pipeline(pipeline) => {
                if pipeline.normalize(text, out, origins).is_err() {
                    out.clear();
                }
            }
        }
    }

    #[inline]
    pub(super) fn encode_into(
        &self,
        text: &[u8],
        found: Found<'_>,
        parts: &mut CacheParts,
        ids: &mut Vec<PieceId>,
    ) {
        let cache = &mut parts.state.bpe;
        match (self, found) {
            (Self::Bytes(bpe), Found::Set(set)) => bpe.encode_into(text, set, cache, ids),
            #[cfg(feature = "tokenizer-json")]
            (Self::Pipeline(pipeline), Found::Tokens(found)) => {
                let encoded = pipeline.encode(text, found, &mut parts.pipeline, ids);
                if let Err(error) = encoded {
                    parts.failure = Some(no_result(error));
                }
            }
            #[cfg(feature = "tokenizer-json")]
            _ => debug_assert!(false, "the call found tokens of another vocabulary"),
        }
    }

    pub(super) fn encode_part(&self, part: &[u8], parts: &mut CacheParts, ids: &mut Vec<PieceId>) {
        let cache = &mut parts.state.bpe;
        match self {
            Self::Bytes(bpe) => bpe.encode_part(part, cache, ids),
            #[cfg(feature = "tokenizer-json")]
            Self::Pipeline(pipeline) => {
                pipeline.encode_part_of_long(part, &mut parts.pipeline, ids);
            }
        }
    }

    #[cfg_attr(
        not(feature = "tokenizer-json"),
        expect(unused_variables, reason = "pipelines alone use the state")
    )]
    pub(super) fn encode_long_into(
        &self,
        text: &[u8],
        found: Found<'_>,
        encode_parts: impl Fn(&[&[u8]]) -> Vec<PieceId>,
        parts: &mut CacheParts,
        ids: &mut Vec<PieceId>,
    ) {
        match (self, found) {
            (Self::Bytes(bpe), Found::Set(set)) => {
                bpe.encode_long_into(text, set, encode_parts, ids);
            }
            #[cfg(feature = "tokenizer-json")]
            (Self::Pipeline(pipeline), Found::Tokens(found)) => {
                let state = &mut parts.pipeline;
                let encoded = pipeline.encode_long(text, found, encode_parts, state, ids);
                if let Err(error) = encoded {
                    parts.failure = Some(no_result(error));
                }
            }
            #[cfg(feature = "tokenizer-json")]
            _ => debug_assert!(false, "the call found tokens of another vocabulary"),
        }
    }

    /// Pushes the tokens of a text into the buffer.
    pub(super) fn push_tokens(&self, text: &[u8], found: Found<'_>, parts: &mut CacheParts) {
        let cache = &mut parts.state.bpe;
        let tokens = &mut parts.buffers.tokens;
        let push = |id: PieceId, span: Range<usize>| tokens.push(id, span);
        match (self, found) {
            (Self::Bytes(bpe), Found::Set(set)) => {
                bpe.for_each_token(text, set, cache, push);
            }
            #[cfg(feature = "tokenizer-json")]
            (Self::Pipeline(pipeline), Found::Tokens(found)) => {
                let encoded = pipeline.for_each_token(text, found, &mut parts.pipeline, |token| {
                    parts.buffers.tokens.push_pipeline_token(token);
                });
                if let Err(error) = encoded {
                    parts.failure = Some(no_result(error));
                }
            }
            #[cfg(feature = "tokenizer-json")]
            _ => debug_assert!(false, "the call found tokens of another vocabulary"),
        }
    }

    /// Whether tokens are made by merges, some of which can be skipped.
    pub(super) fn has_merges(&self) -> bool {
        match self {
            Self::Bytes(_) => true,
            #[cfg(feature = "tokenizer-json")]
            Self::Pipeline(pipeline) => matches!(pipeline.model(), PipelineModel::Bpe(_)),
        }
    }

    /// Pushes the tokens of a text into the buffer if merges for which `skips_merge` returns true
    /// are skipped.
    pub(super) fn sample(
        &self,
        text: &[u8],
        found: Found<'_>,
        skips_merge: impl FnMut() -> bool,
        parts: &mut CacheParts,
    ) -> Result<(), EncodeError> {
        let tokens = &mut parts.buffers.tokens;
        match (self, found) {
            (Self::Bytes(bpe), Found::Set(special)) => {
                let push = |id, span| tokens.push(id, span);
                let cache = &mut parts.state.bpe;
                bpe.for_each_sampled_token(text, special, skips_merge, cache, push);
                Ok(())
            }
            #[cfg(feature = "tokenizer-json")]
            (Self::Pipeline(pipeline), Found::Tokens(found)) if self.has_merges() => {
                let push = |token: PipelineToken<'_>| tokens.push_pipeline_token(token);
                let state = &mut parts.pipeline;
                let sampled =
                    pipeline.for_each_sampled_token(text, found, skips_merge, state, push);
                sampled.map_err(no_result)
            }
            #[cfg(feature = "tokenizer-json")]
            _ => Err(EncodeError::NoSampling),
        }
    }

    pub(super) fn decoder(&self) -> Decoder {
        let ids = (0..self.vocab_size()).map(PieceId::from_index);
        match self {
            Self::Bytes(bpe) => Decoder::of_tokens(ids.map(|id| bpe.id_to_bytes(id))),
            // Only the bytes of byte-level vocabularies are those of the texts; see
            // `Pipeline::joins_bytes`.
            #[cfg(feature = "tokenizer-json")]
            Self::Pipeline(pipeline) => {
                let texts: Vec<Option<Vec<u8>>> =
                    ids.map(|id| pipeline.bytes_of(id.get())).collect();
                Decoder::of_tokens(texts.iter().map(|text| text.as_deref()))
            }
        }
    }
}

/// Why a text has no result.
#[cfg(feature = "tokenizer-json")]
fn no_result(error: PipelineError) -> EncodeError {
    EncodeError::NoResult {
        problem: error.to_string(),
    }
}
