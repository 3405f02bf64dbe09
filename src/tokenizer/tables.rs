//! The tables of a tokenizer: those of a SentencePiece model, or a pipeline.
//!
//! Everything above this module is the same for all: options, extra pieces, caches, batches. What
//! differs is behind [`TablesRef`], which [`EncodeContext`](super::context::EncodeContext) asks.
//!
//! | | SentencePiece model | pipeline |
//! |---|---|---|
//! | found by allowance | control pieces | special tokens |
//! | found in every text | user-defined symbols | added tokens that are not special |
//! | normalizer | that of the model | a list of steps |
//! | text without a piece | unknown, or byte pieces | what the model says |
//! | long text on threads | split where no piece can cross (BPE) | split between pretokens, if it is byte-level |
//! | random segmentations | of the model's type | dropout of BPE |

#[cfg(feature = "formats")]
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::OnceLock;
#[cfg(feature = "formats")]
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Tokenizer;
#[cfg(feature = "formats")]
use super::cache::CacheParts;
use super::cache::CachePool;
use super::config::TokenizerConfig;
use super::context::ModelContext;
use super::special_ids::byte_ids;
use super::stages::ModelStages;
#[cfg(feature = "formats")]
use crate::added::FoundTokens;
use crate::encode::EncodeError;
#[cfg(feature = "formats")]
use crate::encode::ModelEncoder;
use crate::encode::vocabulary::Vocabulary;
use crate::model::Model;
#[cfg(feature = "formats")]
use crate::model::Piece;
#[cfg(feature = "formats")]
use crate::normalize::Normalizer;
use crate::piece::PieceId;
#[cfg(feature = "formats")]
use crate::piece::PieceKind;
#[cfg(feature = "formats")]
use crate::pipeline::{EqualModel, Pipeline, PipelineToken};
#[cfg(feature = "formats")]
use crate::special::{Scope, Segment};
use crate::trie::TrieTooLarge;

/// See the [module page](self).
#[derive(Debug, Clone)]
pub(super) enum Tables {
    Model(Arc<ModelTables>),
    #[cfg(feature = "formats")]
    Pipeline(Arc<PipelineTables>),
}

/// The tables that a worker uses: of a model, with or without user-defined symbols.
#[derive(Debug, Clone, Copy)]
pub(super) enum TablesRef<'t> {
    Model(ModelContext<'t>),
    #[cfg(feature = "formats")]
    Pipeline(&'t PipelineTables),
}

impl<'t> TablesRef<'t> {
    /// The caches that are not in use.
    #[inline]
    pub(super) fn pool(&self) -> &'t CachePool {
        match self {
            Self::Model(model) => &model.stages.pool,
            #[cfg(feature = "formats")]
            Self::Pipeline(tables) => &tables.pool,
        }
    }
}

impl Tables {
    /// The tables of calls without options.
    #[inline]
    pub(super) fn by_default(&self) -> TablesRef<'_> {
        match self {
            Self::Model(tables) => TablesRef::Model(tables.context()),
            #[cfg(feature = "formats")]
            Self::Pipeline(tables) => TablesRef::Pipeline(tables),
        }
    }

    /// The tables that find user-defined symbols in text, or those that do not.
    pub(super) fn with_symbols(&self, finds_symbols: bool) -> Result<TablesRef<'_>, EncodeError> {
        Ok(match self {
            Self::Model(tables) => TablesRef::Model(tables.context_with(finds_symbols)?),
            #[cfg(feature = "formats")]
            Self::Pipeline(tables) => TablesRef::Pipeline(tables),
        })
    }
}

/// A SentencePiece model with the tables that are made from it. Modules that need a tokenizer of
/// such a model take this type.
#[derive(Debug)]
pub(crate) struct ModelTables {
    model: Model,
    config: TokenizerConfig,
    pub(super) stages: ModelStages,
    /// Made when it is first needed.
    without_symbols: OnceLock<Result<ModelStages, TrieTooLarge>>,
    /// The byte piece of each byte, in models with byte fallback.
    pub(super) byte_ids: Option<Box<[PieceId; 256]>>,
    /// The id of unknown text.
    pub(super) unknown: PieceId,
}

impl ModelTables {
    pub(crate) fn new(model: Model, config: TokenizerConfig) -> Self {
        // The tries of pieces are the only tables that can be too large, and a model with such
        // tries is refused when it is made: see `check_tries` in model/validate.rs.
        let stages = ModelStages::new(&model, model.normalizer(), true, config)
            .expect("tries of pieces were checked when the model was made");
        Self {
            config,
            stages,
            without_symbols: OnceLock::new(),
            byte_ids: byte_ids(&model),
            unknown: Vocabulary::new(&model, true).unknown(),
            model,
        }
    }

    pub(crate) fn model(&self) -> &Model {
        &self.model
    }

    /// The normalizer, with the user-defined symbols.
    #[cfg(feature = "formats")]
    pub(crate) fn normalizer(&self) -> &Normalizer {
        &self.stages.normalizer
    }

    /// The encoder of the model's type.
    #[cfg(feature = "formats")]
    pub(crate) fn encoder(&self) -> &ModelEncoder {
        &self.stages.encoder
    }

    #[inline]
    pub(super) fn context(&self) -> ModelContext<'_> {
        ModelContext {
            tables: self,
            stages: &self.stages,
        }
    }

    /// The context that finds user-defined symbols in text, or the one that does not.
    pub(super) fn context_with(
        &self,
        finds_symbols: bool,
    ) -> Result<ModelContext<'_>, EncodeError> {
        Ok(ModelContext {
            tables: self,
            stages: self.stages(finds_symbols)?,
        })
    }

    /// The stages that find user-defined symbols in text, or those that do not.
    fn stages(&self, finds_symbols: bool) -> Result<&ModelStages, EncodeError> {
        let normalizer = &self.stages.normalizer;
        if finds_symbols || normalizer.symbols().is_empty() {
            return Ok(&self.stages);
        }
        let make = || ModelStages::new(&self.model, normalizer.clone(), false, self.config);
        let stages = self.without_symbols.get_or_init(make);
        stages.as_ref().map_err(|_| EncodeError::TooLarge {
            what: "pieces in the model",
        })
    }
}

/// A pipeline, with the caches that are not in use.
#[cfg(feature = "formats")]
#[derive(Debug)]
pub(super) struct PipelineTables {
    pub(super) pipeline: Arc<Pipeline>,
    /// The kinds of the tokens that are not normal.
    kinds: HashMap<u32, PieceKind>,
    /// The tables of a SentencePiece model with the same ids.
    equal_model: Option<EqualTables>,
    /// The tables of a model that merges as the list of the pipeline does, once they are made.
    listed_model: OnceLock<Option<ModelTables>>,
    /// The bytes of the texts that were encoded before; see [`MIN_BYTES_OF_LISTED_MODEL`].
    encoded_bytes: AtomicUsize,
    config: TokenizerConfig,
    pub(super) pool: CachePool,
}

/// Making the tables of a listed model takes some tenths of a second. Then texts are encoded in less
/// than half of the time, so that it pays after so many bytes.
#[cfg(feature = "formats")]
const MIN_BYTES_OF_LISTED_MODEL: usize = 1 << 20;

/// The tables of a model that has the ids of a pipeline; see [`EqualModel`].
#[cfg(feature = "formats")]
#[derive(Debug)]
struct EqualTables {
    tables: ModelTables,
    has_added_tokens: bool,
    serves_parts: bool,
}

#[cfg(feature = "formats")]
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
        let by_model =
            |model: &ModelContext<'_>, parts: &mut CacheParts, text: &[u8], ids: &mut _| {
                model.encode_segment(parts, text, ids);
            };
        if !self.encode_by_model(text, found, by_model, parts, ids) {
            self.encode_scopes(text, &Scope::whole(text, found), parts, ids);
        }
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

    /// Appends the ids of a text by the model that is equal to the pipeline, of which `encode`
    /// appends those of a part; false if there is none.
    #[inline]
    pub(super) fn encode_by_model(
        &self,
        text: &[u8],
        found: &FoundTokens,
        encode: impl Fn(&ModelContext<'_>, &mut CacheParts, &[u8], &mut Vec<PieceId>),
        parts: &mut CacheParts,
        ids: &mut Vec<PieceId>,
    ) -> bool {
        let equal = self.equal_model.as_ref().filter(|it| it.serves_parts);
        let tables = equal.map(|equal| &equal.tables);
        let listed = || match found.finds_in_normalized() {
            true => None,
            false => self.listed_model(text.len()),
        };
        let Some(tables) = tables.or_else(listed) else {
            return false;
        };
        let model = tables.context();
        self.pipeline
            .cut_as_is(text, &Scope::whole(text, found), |segment| match segment {
                Segment::Text(range) => encode(&model, parts, &text[range], ids),
                Segment::Special(id, _) => ids.push(PieceId::from_index(id)),
            });
        true
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

    /// Pushes the tokens of a text into the buffer.
    pub(super) fn push_tokens(
        &self,
        text: &[u8],
        scopes: &[Scope<'_, FoundTokens>],
        parts: &mut CacheParts,
    ) {
        let tokens = &mut parts.buffers.tokens;
        let push = |token: PipelineToken<'_>| tokens.push_pipeline_token(token);
        let state = &mut parts.pipeline;
        let encoded = self.pipeline.for_each_token(text, scopes, state, push);
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
#[cfg(feature = "formats")]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the score of a piece has 32 bits"
)]
fn nearest_f32(score: f64) -> f32 {
    score as f32
}

impl Tokenizer {
    /// The model with its tables.
    pub(crate) fn model_tables(&self) -> Option<&ModelTables> {
        match &self.tables {
            Tables::Model(tables) => Some(tables),
            #[cfg(feature = "formats")]
            Tables::Pipeline(tables) => {
                let equal = tables.equal_model.as_ref();
                let equal = equal.filter(|equal| equal.has_added_tokens)?;
                Some(&equal.tables)
            }
        }
    }

    /// The model with its tables, to be changed.
    #[cfg(test)]
    pub(super) fn model_tables_mut(&mut self) -> &mut ModelTables {
        match &mut self.tables {
            Tables::Model(tables) => Arc::get_mut(tables).expect("the tables have one owner"),
            #[cfg(feature = "formats")]
            Tables::Pipeline(_) => panic!("a test of models has a pipeline"),
        }
    }
}
