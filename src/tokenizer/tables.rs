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

use std::sync::Arc;

use super::Tokenizer;
use super::cache::CachePool;
use super::model_tables::{ModelContext, ModelTables};
#[cfg(feature = "formats")]
use super::pipeline_tables::PipelineTables;
use crate::encode::EncodeError;

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
