//! The tables that turn text into ids.
//!
//! All threads share them. A tokenizer has a [`ModelStages`] that finds user-defined symbols in text
//! and makes a second one that does not on demand.

use std::sync::{Arc, OnceLock};

use super::cache::CachePool;
use super::config::TokenizerConfig;
use super::raw_spans::RawLengths;
use crate::encode::ModelEncoder;
use crate::encode::bpe::BpeEncoder;
use crate::model::Model;
use crate::normalize::Normalizer;
use crate::trie::TrieTooLarge;

/// The normalizer and the encoder of a model, with the caches that are not in use.
#[derive(Debug)]
pub(super) struct ModelStages {
    pub(super) normalizer: Normalizer,
    pub(super) encoder: ModelEncoder,
    /// Whether the encoder reads raw text; see [`ModelEncoder::reads_raw_text`].
    pub(super) reads_raw_text: bool,
    /// Made when tokens of raw text are first requested.
    pub(super) raw_lengths: OnceLock<RawLengths>,
    pub(super) pool: CachePool,
}

impl ModelStages {
    pub(super) fn new(
        model: &Model,
        normalizer: Normalizer,
        has_symbols: bool,
        config: TokenizerConfig,
    ) -> Result<Self, TrieTooLarge> {
        let (encoder, symbols) = ModelEncoder::new(model, has_symbols)?;
        let normalizer = normalizer.with_symbols(symbols);
        let reads_raw_text = encoder.reads_raw_text() && normalizer.only_marks_spaces();
        Ok(Self {
            normalizer,
            encoder,
            reads_raw_text,
            raw_lengths: OnceLock::new(),
            pool: CachePool::new(Arc::default(), config),
        })
    }

    /// The encoder of raw text, if the model can read raw text.
    #[inline]
    pub(super) fn raw_encoder(&self) -> Option<&BpeEncoder> {
        match &self.encoder {
            ModelEncoder::Bpe(bpe) if self.reads_raw_text => Some(bpe),
            _ => None,
        }
    }
}
