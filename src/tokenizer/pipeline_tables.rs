//! The tables of a pipeline: the pipeline itself, and those of a model that has its ids.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::cache::{CacheParts, CachePool};
use super::config::TokenizerConfig;
use super::model_tables::{ModelContext, ModelTables};
use crate::added::FoundTokens;
use crate::model::Piece;
use crate::piece::{PieceId, PieceKind};
use crate::pipeline::{EqualModel, Pipeline, PipelineToken};
use crate::special::{Scope, Segment};

/// A pipeline, with the caches that are not in use.
#[derive(Debug)]
pub(super) struct PipelineTables {
    pub(super) pipeline: Arc<Pipeline>,
    /// The kinds of the tokens that are not normal.
    kinds: HashMap<u32, PieceKind>,
    /// The tables of a SentencePiece model with the same ids.
    pub(super) equal_model: Option<EqualTables>,
    /// The tables of a model that merges as the list of the pipeline does, once they are made.
    listed_model: OnceLock<Option<ModelTables>>,
    /// The bytes of the texts that were encoded before; see [`MIN_BYTES_OF_LISTED_MODEL`].
    encoded_bytes: AtomicUsize,
    config: TokenizerConfig,
    pub(super) pool: CachePool,
}

/// Making the tables of a listed model takes some tenths of a second. Then texts are encoded in less
/// than half of the time, so that it pays after so many bytes.
const MIN_BYTES_OF_LISTED_MODEL: usize = 1 << 20;

/// The tables of a model that has the ids of a pipeline; see [`EqualModel`].
#[derive(Debug)]
pub(super) struct EqualTables {
    pub(super) tables: ModelTables,
    pub(super) has_added_tokens: bool,
    serves_parts: bool,
}

impl PipelineTables {
    /// `equal` is a model that has the ids of the pipeline.
    pub(super) fn new(
        pipeline: Arc<Pipeline>,
        equal: Option<EqualModel>,
        config: TokenizerConfig,
    ) -> Self {
        let special = pipeline.added_tokens().iter().map(|token| {
            let kind = match token.special {
                true => PieceKind::Control,
                false => PieceKind::UserDefined,
            };
            (token.id, kind)
        });
        let bytes = pipeline.byte_tokens().into_iter();
        let bytes = bytes.map(|id| (id, PieceKind::Byte));
        // An unknown piece that is a special token can be allowed like the others.
        let unknown = pipeline.model().unknown();
        let unknown = unknown.map(|id| (id, PieceKind::Unknown));
        Self {
            kinds: bytes.chain(unknown).chain(special).collect(),
            equal_model: equal.map(|equal| EqualTables {
                tables: ModelTables::new(equal.model, config),
                has_added_tokens: equal.has_added_tokens,
                serves_parts: equal.serves_parts,
            }),
            listed_model: match pipeline.may_have_listed_model() {
                true => OnceLock::new(),
                false => OnceLock::from(None),
            },
            encoded_bytes: AtomicUsize::new(0),
            config,
            pipeline,
            pool: CachePool::new(Arc::default(), config),
        }
    }

    /// Appends the ids of a text.
    #[inline]
    pub(super) fn encode(
        &self,
        text: &[u8],
        found: &FoundTokens,
        parts: &mut CacheParts,
        ids: &mut Vec<PieceId>,
    ) {
        if self
            .pipeline
            .encode_plain(text, found, &mut parts.pipeline, ids)
        {
            return;
        }
        let Some(model) = self.model_of_parts(text.len(), found) else {
            return self.encode_scopes(text, &Scope::whole(text, found), parts, ids);
        };
        let scopes = Scope::whole(text, found);
        self.pipeline
            .cut_as_is(text, &scopes, |segment| match segment {
                Segment::Text(range) => model.encode_segment(parts, &text[range], ids),
                Segment::Special(id, _) => ids.push(PieceId::from_index(id)),
            });
    }

    /// Appends the ids of a text with what its scopes find.
    #[inline]
    pub(super) fn encode_scopes(
        &self,
        text: &[u8],
        scopes: &[Scope<'_, FoundTokens>],
        parts: &mut CacheParts,
        ids: &mut Vec<PieceId>,
    ) {
        let start = ids.len();
        let encoded = self.pipeline.encode(text, scopes, &mut parts.pipeline, ids);
        if encoded.is_err() {
            ids.truncate(start);
        }
        parts.note_failure(encoded);
    }

    /// The model that has the ids of the pipeline for what stands between added tokens in a text of
    /// so many bytes, if there is one.
    #[inline]
    pub(super) fn model_of_parts(
        &self,
        bytes: usize,
        found: &FoundTokens,
    ) -> Option<ModelContext<'_>> {
        let equal = self.equal_model.as_ref().filter(|it| it.serves_parts);
        let tables = match equal {
            Some(equal) => Some(&equal.tables),
            None if found.finds_in_normalized() => None,
            None => self.listed_model(bytes),
        };
        tables.map(ModelTables::context)
    }

    /// The tables of the listed model, if there is one and it pays; the next text has so many bytes.
    #[inline]
    fn listed_model(&self, bytes: usize) -> Option<&ModelTables> {
        if let Some(made) = self.listed_model.get() {
            return made.as_ref();
        }
        let before = self.encoded_bytes.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) < MIN_BYTES_OF_LISTED_MODEL {
            return None;
        }
        let make = || {
            let model = self.pipeline.listed_model()?;
            Some(ModelTables::new(model, self.config))
        };
        self.listed_model.get_or_init(make).as_ref()
    }

    /// Pushes the tokens of a text into the buffer, with their spans trimmed if `trims`.
    pub(super) fn push_tokens(
        &self,
        text: &[u8],
        scopes: &[Scope<'_, FoundTokens>],
        trims: bool,
        parts: &mut CacheParts,
    ) {
        let tokens = &mut parts.buffers.tokens;
        let push = |token: PipelineToken<'_>| tokens.push_pipeline_token(token);
        let state = &mut parts.pipeline;
        let pipeline = &self.pipeline;
        let encoded = pipeline.for_each_token(text, scopes, trims, state, push);
        if encoded.is_err() {
            tokens.clear();
        }
        parts.note_failure(encoded);
    }

    /// Appends a text after the normalizer, and the origins of its bytes; nothing if a step fails.
    pub(super) fn normalize(
        &self,
        text: &[u8],
        out: &mut Vec<u8>,
        origins: Option<&mut Vec<usize>>,
    ) {
        if self.pipeline.normalize(text, out, origins).is_err() {
            out.clear();
        }
    }

    /// The text of an id.
    pub(super) fn text_of(&self, id: PieceId) -> Option<&[u8]> {
        self.pipeline.text_of(id.get())
    }

    /// A token as a piece.
    pub(super) fn piece(&self, id: PieceId) -> Option<Piece<'_>> {
        let kind = self.kinds.get(&id.get()).copied();
        Some(Piece {
            id,
            text: self.text_of(id)?,
            score: self.pipeline.score_of(id.get()).map_or(0.0, nearest_f32),
            kind: kind.unwrap_or(PieceKind::Normal),
        })
    }
}

/// The nearest number of 32 bits.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the score of a piece has 32 bits"
)]
fn nearest_f32(score: f64) -> f32 {
    score as f32
}
