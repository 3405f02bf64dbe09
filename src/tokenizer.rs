//! The facade: a model that encodes and decodes.
//!
//! Input: a [`Model`]. Output: a [`Tokenizer`], which is made once and then shared by reference
//! among any number of threads. It owns the tables that are built from the model (see
//! [`encode`](crate::encode) and [`decode`](crate::decode)). The mutable state of a worker is in an
//! [`EncodeCache`]; the tokenizer keeps a bounded number of them between calls.
//!
//! The stages of encoding, with their modules:
//!
//! ```text
//! text -> segments at allowed special pieces    allowed_special
//!      -> normalized text (or raw text)         normalize, context
//!      -> ids, unknown ones unresolved          encode
//!      -> ids | tokens with spans               spans, raw_spans, token
//!      -> with extra pieces                     options, extra
//! ```
//!
//! [`encoder`] calls these stages for one worker, [`batch`] for many, and [`sampling`] for n-best
//! lists and random segmentations. [`decoding`] turns ids back into text.

mod config;
mod options;
mod extra;
mod special_ids;
mod pipeline;
mod cache;
mod context;
mod allowed_special;
mod spans;
mod raw_spans;
mod token;
mod encoder;
mod sampling;
mod batch;
mod flat_batch;
mod decoding;
mod message;
#[cfg(feature = "inspect")]
mod normalized;

use std::sync::{Arc, OnceLock};

pub use self::cache::EncodeCache;
pub use self::config::TokenizerConfig;
use self::context::{CheckedOptions, EncodeContext, NO_OPTIONS};
pub use self::encoder::Encoder;
#[cfg(feature = "inspect")]
pub(crate) use self::normalized::NormalizedEncoder;
pub use self::options::{
    EncodeOptions, ExtraOption, SampleOptions, SampleReplacement, ScoredSampleOptions,
};
use self::pipeline::Pipeline;
use self::special_ids::{SpecialIds, byte_ids};
pub use self::token::{Token, TokenRef, Tokens, TokensIter};
use crate::base::lossy_string;
use crate::decode::Decoder;
use crate::encode::EncodeError;
pub use crate::encode::encoded_lines::EncodedLines;
use crate::encode::vocabulary::Vocabulary;
use crate::model::Model;
use crate::model::text_normalizer::Normalized;
use crate::piece::PieceId;
use crate::trie::TrieTooLarge;

/// Encodes and decodes with a model; results equal those of SentencePiece 0.2.3.
///
/// A tokenizer does not change, and all its methods take `&self`: share one by reference or in an
/// [`Arc`](std::sync::Arc) among all threads.
///
/// ```
/// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
/// let ids = tokenizer.encode("Hello, world");
/// assert_eq!(tokenizer.decode(&ids)?, "Hello, world");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Tokenizer {
    model: Model,
    config: TokenizerConfig,
    pipeline: Pipeline,
    without_symbols: OnceLock<Result<Pipeline, TrieTooLarge>>,
    /// Made by the first call that decodes, because programs that only encode do not need it.
    decoder: OnceLock<Arc<Decoder>>,
    /// The byte piece of each byte, in models with byte fallback.
    byte_ids: Option<Box<[PieceId; 256]>>,
    /// The id of unknown text.
    unknown: PieceId,
    special: SpecialIds,
}

/// A tokenizer with options that were checked.
struct Prepared<'t> {
    tokenizer: &'t Tokenizer,
    pipeline: &'t Pipeline,
    options: Arc<CheckedOptions>,
}

impl<'t> Prepared<'t> {
    fn encoder(&self) -> Encoder<'t> {
        let options = Arc::clone(&self.options);
        Encoder::new(self.tokenizer, self.pipeline, Some(options))
    }
}

/// Construction.
impl Tokenizer {
    /// Makes the tables of a model. Cost: linear in the model, some milliseconds for 32,000 pieces.
    ///
    /// ```
    /// use spiece::{Model, Tokenizer};
    /// let model = Model::open("testdata/golden/llama2.model")?;
    /// let tokenizer = Tokenizer::new(model);
    /// assert_eq!(tokenizer.vocab_size(), tokenizer.model().len());
    /// # Ok::<(), spiece::ModelError>(())
    /// ```
    pub fn new(model: Model) -> Self {
        Self::with_config(model, TokenizerConfig::default())
    }

    /// Like [`new`](Tokenizer::new), with limits on memory; see [`TokenizerConfig`] for an example.
    pub fn with_config(model: Model, config: TokenizerConfig) -> Self {
        // The tries of pieces are the only tables that can be too large, and a model with such
        // tries is refused when it is made: see `check_tries` in model/validate.rs.
        let pipeline = Pipeline::new(&model, model.normalizer(), true, config)
            .expect("tries of pieces were checked when the model was made");
        Self {
            config,
            pipeline,
            without_symbols: OnceLock::new(),
            decoder: OnceLock::new(),
            byte_ids: byte_ids(&model),
            unknown: Vocabulary::new(&model, true).unknown(),
            special: SpecialIds::new(&model),
            model,
        }
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The limits on memory.
    pub fn config(&self) -> TokenizerConfig {
        self.config
    }
}

/// Encoding.
impl Tokenizer {
    /// The ids of `text`, which need not be UTF-8. Cost: linear in the text, and one allocation. An
    /// [`Encoder`] or a batch is faster for many texts.
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// let ids = tokenizer.encode("the right");
    /// let pieces = ids.iter().filter_map(|id| tokenizer.id_to_piece(*id));
    /// assert!(pieces.eq(["\u{2581}the".as_bytes(), "\u{2581}right".as_bytes()]));
    /// # Ok::<(), spiece::ModelError>(())
    /// ```
    pub fn encode(&self, text: impl AsRef<[u8]>) -> Vec<PieceId> {
        let mut ids = Vec::new();
        let mut cache = self.pipeline.pool.take();
        self.context().encode(&mut cache, text.as_ref(), &mut ids);
        self.pipeline.pool.give(cache);
        ids
    }

    /// The ids of `text`, each with its span in the text. For pieces and surfaces, use
    /// [`Encoder::tokens`].
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// let text = "the right, a";
    /// let tokens = tokenizer.encode_to_tokens(text);
    /// let parts: Vec<&str> = tokens.iter().map(|token| &text[token.begin..token.end]).collect();
    /// assert_eq!(parts, ["the", " right", ",", " a"]);
    /// # Ok::<(), spiece::ModelError>(())
    /// ```
    pub fn encode_to_tokens(&self, text: impl AsRef<[u8]>) -> Vec<Token> {
        self.encoder().tokens(text.as_ref()).as_slice().to_vec()
    }

    /// The number of ids of `text`.
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// assert_eq!(tokenizer.count("the right"), 2);
    /// # Ok::<(), spiece::ModelError>(())
    /// ```
    pub fn count(&self, text: impl AsRef<[u8]>) -> usize {
        self.encoder().count(text)
    }

    /// The normalized text: what is split into pieces, with whitespace marks (U+2581) for spaces.
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// assert_eq!(tokenizer.normalize("Hello, world"), "\u{2581}Hello,\u{2581}world");
    /// # Ok::<(), spiece::ModelError>(())
    /// ```
    pub fn normalize(&self, text: impl AsRef<[u8]>) -> String {
        lossy_string(self.encoder().normalize(text))
    }

    /// The normalized text, with the origin of each byte.
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// let normalized = tokenizer.normalize_with_offsets("a b");
    /// assert_eq!(normalized.as_bytes(), "\u{2581}a\u{2581}b".as_bytes());
    /// assert_eq!(normalized.to_original(7), 2);
    /// # Ok::<(), spiece::ModelError>(())
    /// ```
    pub fn normalize_with_offsets(&self, text: impl AsRef<[u8]>) -> Normalized {
        let mut normalized = Normalized {
            text: Vec::new(),
            origins: Vec::new(),
        };
        let normalizer = &self.pipeline.normalizer;
        let text = text.as_ref();
        normalizer.normalize_with_offsets(text, &mut normalized.text, &mut normalized.origins);
        normalized
    }

    /// A worker that encodes one text after another. Once its buffers have grown, it does not
    /// allocate.
    pub fn encoder(&self) -> Encoder<'_> {
        Encoder::new(self, &self.pipeline, None)
    }

    /// A worker with options; see [`EncodeOptions`] for an example.
    ///
    /// # Errors
    /// An option asks for a piece that the model does not have.
    pub fn encoder_with(&self, options: &EncodeOptions) -> Result<Encoder<'_>, EncodeError> {
        Ok(self.prepare(options)?.encoder())
    }

    /// The memory of a worker, to be stored beside the tokenizer; see [`EncodeCache`] for an
    /// example.
    pub fn create_cache(&self) -> EncodeCache {
        self.pipeline.pool.create()
    }

    /// Appends the ids of `text` to `ids`, with the memory of `cache`. A cache of another tokenizer
    /// is emptied first.
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// let mut cache = tokenizer.create_cache();
    /// let mut ids = Vec::new();
    /// tokenizer.encode_with(&mut cache, "one", &mut ids);
    /// tokenizer.encode_with(&mut cache, "two", &mut ids);
    /// assert_eq!(ids, [tokenizer.encode("one"), tokenizer.encode("two")].concat());
    /// # Ok::<(), spiece::ModelError>(())
    /// ```
    pub fn encode_with(
        &self,
        cache: &mut EncodeCache,
        text: impl AsRef<[u8]>,
        ids: &mut Vec<PieceId>,
    ) {
        self.context().encode(cache, text.as_ref(), ids);
    }

    /// The tokens of `text`, with the memory of `cache`. A cache of another tokenizer is emptied
    /// first.
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// let mut cache = tokenizer.create_cache();
    /// let tokens = tokenizer.tokens_with(&mut cache, "the right");
    /// let surfaces: Vec<&[u8]> = tokens.iter().map(|token| token.surface()).collect();
    /// assert_eq!(surfaces, [&b"the"[..], b" right"]);
    /// # Ok::<(), spiece::ModelError>(())
    /// ```
    pub fn tokens_with<'e, T: AsRef<[u8]> + ?Sized>(
        &'e self,
        cache: &'e mut EncodeCache,
        text: &'e T,
    ) -> Tokens<'e> {
        self.context().tokens(cache, text.as_ref())
    }

    /// The context of calls without options.
    fn context(&self) -> EncodeContext<'_> {
        EncodeContext {
            tokenizer: self,
            pipeline: &self.pipeline,
            options: &NO_OPTIONS,
        }
    }

    fn prepare(&self, options: &EncodeOptions) -> Result<Prepared<'_>, EncodeError> {
        let pipeline = if options.user_defined_symbols {
            &self.pipeline
        } else {
            self.pipeline_without_symbols()?
        };
        Ok(Prepared {
            tokenizer: self,
            pipeline,
            options: Arc::new(CheckedOptions::new(self, options)?),
        })
    }

    fn pipeline_without_symbols(&self) -> Result<&Pipeline, EncodeError> {
        let normalizer = &self.pipeline.normalizer;
        if normalizer.symbols().is_empty() {
            return Ok(&self.pipeline);
        }
        let make = || Pipeline::new(&self.model, normalizer.clone(), false, self.config);
        let pipeline = self.without_symbols.get_or_init(make);
        pipeline.as_ref().map_err(|_| EncodeError::TooLarge {
            what: "pieces in the model",
        })
    }
}

/// The vocabulary.
impl Tokenizer {
    /// The number of pieces. Ids are below it.
    pub fn vocab_size(&self) -> usize {
        self.model.len()
    }

    /// The text of a piece, or `None` if the model has no such id. For score and kind, see
    /// [`Model::piece`].
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// let id = tokenizer.encode("the")[0];
    /// assert_eq!(tokenizer.id_to_piece(id), Some("\u{2581}the".as_bytes()));
    /// # Ok::<(), spiece::ModelError>(())
    /// ```
    pub fn id_to_piece(&self, id: PieceId) -> Option<&[u8]> {
        self.model.piece(id).map(|piece| piece.text)
    }

    /// The id of the piece with this text. If both a piece for text and a control, unknown or byte
    /// piece have this text, this is the id of the latter.
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// assert_eq!(tokenizer.piece_to_id("<s>"), tokenizer.bos_id());
    /// assert_eq!(tokenizer.piece_to_id("not a piece"), None);
    /// # Ok::<(), spiece::ModelError>(())
    /// ```
    pub fn piece_to_id(&self, piece: impl AsRef<[u8]>) -> Option<PieceId> {
        self.model.piece_to_id(piece)
    }

    /// The id of the unknown piece.
    pub fn unk_id(&self) -> Option<PieceId> {
        self.special.unk
    }

    /// The id of the piece for the beginning of a text.
    pub fn bos_id(&self) -> Option<PieceId> {
        self.special.bos
    }

    /// The id of the piece for the end of a text.
    pub fn eos_id(&self) -> Option<PieceId> {
        self.special.eos
    }

    /// The id of the piece for padding.
    pub fn pad_id(&self) -> Option<PieceId> {
        self.special.pad
    }
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokenizer")
            .field("model_type", &self.model.model_type())
            .field("vocab_size", &self.vocab_size())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
