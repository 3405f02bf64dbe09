//! The tables of a tokenizer: those of a SentencePiece model, or a vocabulary of tokens.
//!
//! Everything above this module is the same for all: options, extra pieces, caches, batches. What
//! differs is behind [`TablesRef`], which [`EncodeContext`](super::context::EncodeContext) asks.
//!
//! | | SentencePiece model | byte-level BPE | pipeline |
//! |---|---|---|---|
//! | found by allowance | control pieces | special tokens | special tokens |
//! | found in every text | user-defined symbols | added tokens that are not special | added tokens that are not special |
//! | normalizer | that of the model | NFC or nothing | a list of steps |
//! | text without a piece | unknown, or byte pieces | none: every byte is a token | what the model says |
//! | long text on threads | split where no piece can cross (BPE) | split between pretokens | the same if it is byte-level |
//! | random segmentations | of the model's type | dropout | dropout of BPE |

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::Tokenizer;
use super::cache::{CacheParts, CachePool};
use super::config::TokenizerConfig;
use super::context::ModelContext;
use super::pipeline::Pipeline;
use super::special_ids::byte_ids;
use super::vocabulary::{Found, TokenVocabulary};
use crate::encode::EncodeError;
#[cfg(feature = "inspect")]
use crate::encode::ModelEncoder;
use crate::encode::vocabulary::Vocabulary;
use crate::model::{Model, ModelError, Piece};
#[cfg(feature = "inspect")]
use crate::normalize::Normalizer;
use crate::piece::{PieceId, PieceKind};
#[cfg(feature = "tokenizer-json")]
use crate::pipeline::EqualModel;
#[cfg(feature = "tokenizer-json")]
use crate::special::Segment;
use crate::trie::TrieTooLarge;

/// See the [module page](self).
#[derive(Debug)]
pub(super) enum Tables {
    Model(Box<ModelTables>),
    Tokens(Box<TokenTables>),
}

/// The tables that a worker uses: of a model, with or without user-defined symbols.
#[derive(Debug, Clone, Copy)]
pub(super) enum TablesRef<'t> {
    Model(ModelContext<'t>),
    Tokens(&'t TokenTables),
}

impl<'t> TablesRef<'t> {
    /// The caches that are not in use.
    #[inline]
    pub(super) fn pool(&self) -> &'t CachePool {
        match self {
            Self::Model(model) => &model.pipeline.pool,
            Self::Tokens(tokens) => &tokens.pool,
        }
    }
}

impl Tables {
    /// The tables of calls without options.
    #[inline]
    pub(super) fn by_default(&self) -> TablesRef<'_> {
        match self {
            Self::Model(tables) => TablesRef::Model(tables.context()),
            Self::Tokens(tokens) => TablesRef::Tokens(tokens),
        }
    }

    /// The tables that find user-defined symbols in text, or those that do not.
    pub(super) fn with_symbols(&self, finds_symbols: bool) -> Result<TablesRef<'_>, EncodeError> {
        Ok(match self {
            Self::Model(tables) => TablesRef::Model(ModelContext {
                tables,
                pipeline: tables.pipeline(finds_symbols)?,
            }),
            Self::Tokens(tokens) => TablesRef::Tokens(tokens),
        })
    }
}

/// A SentencePiece model with the tables that are made from it. Modules that need a tokenizer of
/// such a model take this type.
#[derive(Debug)]
pub(crate) struct ModelTables {
    model: Model,
    config: TokenizerConfig,
    pub(super) pipeline: Pipeline,
    /// Made when it is first needed.
    without_symbols: OnceLock<Result<Pipeline, TrieTooLarge>>,
    /// The byte piece of each byte, in models with byte fallback.
    pub(super) byte_ids: Option<Box<[PieceId; 256]>>,
    /// The id of unknown text.
    pub(super) unknown: PieceId,
}

impl ModelTables {
    pub(crate) fn new(model: Model, config: TokenizerConfig) -> Self {
        // The tries of pieces are the only tables that can be too large, and a model with such
        // tries is refused when it is made: see `check_tries` in model/validate.rs.
        let pipeline = Pipeline::new(&model, model.normalizer(), true, config)
            .expect("tries of pieces were checked when the model was made");
        Self {
            config,
            pipeline,
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
    #[cfg(feature = "inspect")]
    pub(crate) fn normalizer(&self) -> &Normalizer {
        &self.pipeline.normalizer
    }

    /// The encoder of the model's type.
    #[cfg(feature = "inspect")]
    pub(crate) fn encoder(&self) -> &ModelEncoder {
        &self.pipeline.encoder
    }

    #[inline]
    pub(super) fn context(&self) -> ModelContext<'_> {
        ModelContext {
            tables: self,
            pipeline: &self.pipeline,
        }
    }

    /// The pipeline that finds user-defined symbols in text, or the one that does not.
    fn pipeline(&self, finds_symbols: bool) -> Result<&Pipeline, EncodeError> {
        let normalizer = &self.pipeline.normalizer;
        if finds_symbols || normalizer.symbols().is_empty() {
            return Ok(&self.pipeline);
        }
        let make = || Pipeline::new(&self.model, normalizer.clone(), false, self.config);
        let pipeline = self.without_symbols.get_or_init(make);
        pipeline.as_ref().map_err(|_| EncodeError::TooLarge {
            what: "pieces in the model",
        })
    }
}

/// A vocabulary of tokens, with the caches that are not in use.
#[derive(Debug)]
pub(super) struct TokenTables {
    pub(super) vocabulary: TokenVocabulary,
    /// The kinds of the tokens that are not normal.
    kinds: HashMap<u32, PieceKind>,
    /// The tables of a SentencePiece model with the same ids.
    #[cfg(feature = "tokenizer-json")]
    equal_model: Option<EqualTables>,
    pub(super) pool: CachePool,
}

/// The tables of a model that has the ids of a pipeline; see [`EqualModel`].
#[cfg(feature = "tokenizer-json")]
#[derive(Debug)]
struct EqualTables {
    tables: ModelTables,
    has_added_tokens: bool,
    serves_parts: bool,
}

impl TokenTables {
    pub(super) fn new(vocabulary: TokenVocabulary, config: TokenizerConfig) -> Self {
        Self {
            kinds: vocabulary.kinds().collect(),
            vocabulary,
            #[cfg(feature = "tokenizer-json")]
            equal_model: None,
            pool: CachePool::new(Arc::default(), config),
        }
    }

    /// Adds a model that has the ids of the pipeline.
    #[cfg(feature = "tokenizer-json")]
    pub(super) fn with_equal_model(self, equal: EqualModel, config: TokenizerConfig) -> Self {
        let equal_model = Some(EqualTables {
            tables: ModelTables::new(equal.model, config),
            has_added_tokens: equal.has_added_tokens,
            serves_parts: equal.serves_parts,
        });
        Self {
            equal_model,
            ..self
        }
    }

    /// Appends the ids of a text.
    #[inline]
    pub(super) fn encode_into(
        &self,
        text: &[u8],
        found: Found<'_>,
        parts: &mut CacheParts,
        ids: &mut Vec<PieceId>,
    ) {
        #[cfg(feature = "tokenizer-json")]
        {
            let encode =
                |model: &ModelContext<'_>, parts: &mut CacheParts, text: &[u8], ids: &mut _| {
                    model.encode_segment(parts, text, ids);
                };
            if self.encode_by_model(text, found, encode, parts, ids) {
                return;
            }
        }
        self.vocabulary.encode_into(text, found, parts, ids);
    }

    /// Appends the ids of a text by the model that is equal to the pipeline, of which `encode`
    /// appends those of a part; false if there is none.
    #[cfg(feature = "tokenizer-json")]
    #[inline]
    pub(super) fn encode_by_model(
        &self,
        text: &[u8],
        found: Found<'_>,
        encode: impl Fn(&ModelContext<'_>, &mut CacheParts, &[u8], &mut Vec<PieceId>),
        parts: &mut CacheParts,
        ids: &mut Vec<PieceId>,
    ) -> bool {
        if let Some(equal) = self.equal_model.as_ref().filter(|it| it.serves_parts)
            && let (TokenVocabulary::Pipeline(pipeline), Found::Tokens(found)) =
                (&self.vocabulary, found)
        {
            let model = equal.tables.context();
            pipeline.cut_as_is(text, found, |segment| match segment {
                Segment::Text(range) => encode(&model, parts, &text[range], ids),
                Segment::Special(id, _) => ids.push(PieceId::from_index(id)),
            });
            return true;
        }
        false
    }

    /// A token as a piece. It has no score.
    pub(super) fn piece(&self, id: PieceId) -> Option<Piece<'_>> {
        let kind = self.kinds.get(&id.get()).copied();
        Some(Piece {
            id,
            text: self.vocabulary.id_to_bytes(id)?,
            score: 0.0,
            kind: kind.unwrap_or(PieceKind::Normal),
        })
    }
}

impl Tokenizer {
    /// The model with its tables.
    ///
    /// # Errors
    /// [`ModelError::ByteLevel`], `ModelError::Pipeline`
    pub(crate) fn model_tables(&self) -> Result<&ModelTables, ModelError> {
        match &self.tables {
            Tables::Model(tables) => Ok(tables),
            Tables::Tokens(tokens) => Err(match tokens.vocabulary {
                #[cfg(feature = "tokenizer-json")]
                TokenVocabulary::Pipeline(_) => {
                    let equal = tokens.equal_model.as_ref();
                    return match equal.filter(|equal| equal.has_added_tokens) {
                        Some(equal) => Ok(&equal.tables),
                        None => Err(ModelError::Pipeline),
                    };
                }
                TokenVocabulary::Bytes(_) => ModelError::ByteLevel,
            }),
        }
    }

    /// The model with its tables, to be changed.
    #[cfg(test)]
    pub(super) fn model_tables_mut(&mut self) -> &mut ModelTables {
        match &mut self.tables {
            Tables::Model(tables) => tables,
            Tables::Tokens(_) => panic!("a test of models has a tokenizer of tokens"),
        }
    }
}
