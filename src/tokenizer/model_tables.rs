//! The tables of a SentencePiece model, which all threads share.

use std::sync::{Arc, OnceLock};

use super::cache::CachePool;
use super::config::TokenizerConfig;
use super::raw_spans::RawLengths;
use super::special_ids::byte_ids;
use crate::encode::bpe::BpeEncoder;
use crate::encode::unigram::UnigramEncoder;
use crate::encode::unigram::words::WordNormalizer;
use crate::encode::vocabulary::Vocabulary;
use crate::encode::{EncodeError, ModelEncoder};
use crate::model::Model;
use crate::normalize::Normalizer;
use crate::normalize::plain_chars::PlainChars;
use crate::piece::PieceId;
use crate::trie::TrieTooLarge;

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

/// A SentencePiece model, with its stages that find user-defined symbols or those that do not.
#[derive(Debug, Clone, Copy)]
pub(super) struct ModelContext<'t> {
    pub(super) tables: &'t ModelTables,
    pub(super) stages: &'t ModelStages,
}

impl ModelContext<'_> {
    #[inline]
    pub(super) fn has_byte_fallback(&self) -> bool {
        self.tables.byte_ids.is_some()
    }
}

/// The normalizer and the encoder of a model, with the caches that are not in use.
#[derive(Debug)]
pub(super) struct ModelStages {
    pub(super) normalizer: Normalizer,
    pub(super) encoder: ModelEncoder,
    /// Whether the encoder reads raw text; see [`ModelEncoder::reads_raw_text`].
    pub(super) reads_raw_text: bool,
    /// If a unigram model encodes raw text word by word; see [`UnigramEncoder::encode_words`].
    plain_chars: Option<PlainChars>,
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
        let reads_words = matches!(&encoder, ModelEncoder::Unigram(it) if it.has_single_words())
            && Vocabulary::new(model, has_symbols)
                .symbols()
                .all(|(symbol, _)| !symbol.contains(&b' '));
        let plain_chars = reads_words.then(|| PlainChars::of(&normalizer));
        Ok(Self {
            normalizer,
            encoder,
            reads_raw_text,
            plain_chars: plain_chars.flatten(),
            raw_lengths: OnceLock::new(),
            pool: CachePool::new(Arc::default(), config),
        })
    }

    /// The encoder of words of raw text and what it needs to know of the normalizer, if the model is
    /// encoded word by word.
    #[inline]
    pub(super) fn word_encoder(&self) -> Option<(&UnigramEncoder, WordNormalizer<'_>)> {
        let word_normalizer = WordNormalizer {
            normalizer: &self.normalizer,
            plain_chars: self.plain_chars.as_ref()?,
        };
        match &self.encoder {
            ModelEncoder::Unigram(unigram) => Some((unigram, word_normalizer)),
            _ => None,
        }
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
