//! The facade: a model that encodes and decodes.
//!
//! A [`Tokenizer`] is made once, of a SentencePiece [`Model`] or of a pipeline, and then shared by
//! reference among any number of threads. It owns the [`tables`] of any of them (see [`encode`](crate::encode) and
//! [`decode`](crate::decode)). The mutable state of a worker is in an [`EncodeCache`]; the
//! tokenizer keeps a bounded number of them between calls.
//!
//! The stages of encoding, with their modules:
//!
//! ```text
//! text -> segments at allowed special pieces    allowed_special
//!      -> normalized text (or raw text)         normalize, model_text
//!      -> ids, unknown ones unresolved          encode
//!      -> ids | tokens with spans               spans, raw_spans, token, tokens
//!      -> with extra pieces                     options, extra
//! ```
//!
//! [`encoder`] calls these stages for one worker, [`batch`] for many, and [`sampling`] for n-best
//! lists and random segmentations. [`segments`] encodes a text whose parts have their own special
//! tokens, [`appending`] one that grows at its end. [`decoding`] turns ids back into text.

mod config;
mod options;
mod extra;
mod special_ids;
mod cache;
mod model_tables;
mod model_text;
#[cfg(feature = "formats")]
mod pipeline_tables;
mod tables;
mod context;
mod allowed_special;
mod spans;
mod raw_spans;
mod token;
mod tokens;
mod encoder;
mod error;
mod segments;
mod appending;
mod sampling;
mod prepared;
mod batch;
mod flat_batch;
mod decoding;
mod incremental;
mod message;
#[cfg(feature = "formats")]
mod normalized;

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

pub use self::appending::{Appended, AppendingEncoder};
pub use self::cache::EncodeCache;
pub use self::config::TokenizerConfig;
use self::context::{CheckedOptions, EncodeContext, NO_OPTIONS};
pub use self::encoder::Encoder;
pub use self::error::NoModelError;
pub use self::incremental::IncrementalDecoder;
pub(crate) use self::model_tables::ModelTables;
#[cfg(feature = "formats")]
pub(crate) use self::normalized::NormalizedEncoder;
pub use self::options::{
    EncodeOptions, ExtraOption, SampleOptions, SampleReplacement, ScoredSampleOptions,
};
#[cfg(feature = "formats")]
use self::pipeline_tables::PipelineTables;
pub use self::prepared::PreparedOptions;
pub use self::segments::TextSegment;
use self::special_ids::SpecialIds;
use self::tables::{Tables, TablesRef};
pub use self::token::Token;
pub use self::tokens::{TokenRef, Tokens, TokensIter};
#[cfg(feature = "formats")]
use crate::base::byte_chars::{printable, spelled};
use crate::base::lossy_string;
#[cfg(feature = "formats")]
use crate::byte_bpe::ByteBpe;
use crate::decode::Decoder;
use crate::encode::EncodeError;
pub use crate::encode::encoded_lines::EncodedLines;
use crate::model::text_normalizer::Normalized;
use crate::model::{Model, Piece};
use crate::piece::{PieceId, PieceKind};
#[cfg(feature = "formats")]
use crate::pipeline::Pipeline;

/// Encodes and decodes with a model; results equal those of SentencePiece 0.2.3.
///
/// A tokenizer does not change, and all its methods take `&self`: share one by reference among all
/// threads, or clone it. Clones share all tables, and the caches that are not in use.
///
/// ```
/// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
/// let ids = tokenizer.encode("Hello, world");
/// assert_eq!(tokenizer.decode(&ids)?, "Hello, world");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Tokenizer {
    tables: Tables,
    config: TokenizerConfig,
    /// Made by the first call that decodes, because programs that only encode do not need it.
    decoder: OnceLock<Arc<Decoder>>,
    special: SpecialIds,
}

/// A tokenizer with options that were checked.
struct Prepared<'t> {
    tokenizer: &'t Tokenizer,
    tables: TablesRef<'t>,
    options: Arc<CheckedOptions>,
}

impl<'t> Prepared<'t> {
    fn encoder(&self) -> Encoder<'t> {
        let options = Arc::clone(&self.options);
        Encoder::new(self.tokenizer, self.tables, Some(options))
    }

    /// Refuses texts with special pieces, if the options say so.
    fn check_special<T: AsRef<[u8]>>(&self, texts: &[T]) -> Result<(), EncodeError> {
        let mut texts = texts.iter();
        texts.try_for_each(|text| self.options.check_special(text.as_ref()))
    }
}

/// Construction.
impl Tokenizer {
    /// Makes the tables of a model, in some milliseconds for 32,000 pieces.
    ///
    /// ```
    /// use spiece::{Model, Tokenizer};
    /// let model = Model::open("testdata/golden/llama2.model")?;
    /// let tokenizer = Tokenizer::new(model);
    /// assert_eq!(tokenizer.model().map(Model::len), Some(tokenizer.vocab_size()));
    /// # Ok::<(), spiece::OpenError>(())
    /// ```
    pub fn new(model: Model) -> Self {
        Self::with_config(model, TokenizerConfig::default())
    }

    /// Like [`new`](Tokenizer::new), with limits on memory; see [`TokenizerConfig`] for an example.
    pub fn with_config(model: Model, config: TokenizerConfig) -> Self {
        Self {
            config,
            decoder: OnceLock::new(),
            special: SpecialIds::new(&model),
            tables: Tables::Model(Arc::new(ModelTables::new(model, config))),
        }
    }

    /// A tokenizer of a pipeline, or of a byte-level vocabulary as a pipeline.
    ///
    /// ```
    /// use spiece::byte_bpe::{ByteBpe, ByteBpeParts, ByteToken, SpecialToken};
    /// use spiece::{EncodeOptions, Pattern, Pretokenizer, Tokenizer, TokenizerConfig};
    /// let pattern = Pattern::named("gpt2").expect("a known pattern");
    /// let mut parts = ByteBpeParts::new(Pretokenizer::of(pattern));
    /// let texts = (0..=255).map(|byte| vec![byte]).chain([b"lo".to_vec(), b"low".to_vec()]);
    /// parts.tokens = (0..)
    ///     .zip(texts)
    ///     .map(|(id, bytes)| ByteToken { bytes: bytes.into(), id })
    ///     .collect();
    /// parts.special_tokens = vec![SpecialToken::new("<|end|>", 258)];
    /// let tokenizer = Tokenizer::from_pipeline(ByteBpe::new(parts)?, TokenizerConfig::default());
    /// assert_eq!(tokenizer.encode("low")[0].get(), 257);
    ///
    /// let options = EncodeOptions::default().with_allowed_special(["<|end|>"]);
    /// let ids = tokenizer.encoder_with(&options)?.encode("low<|end|>").to_vec();
    /// assert_eq!(ids, [257, 258]);
    /// assert_eq!(tokenizer.decode(&ids)?, "low<|end|>");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "formats")]
    pub fn from_pipeline(pipeline: impl Into<Pipeline>, config: TokenizerConfig) -> Self {
        Self::of_pipeline(pipeline.into(), config)
    }

    #[cfg(feature = "formats")]
    fn of_pipeline(mut pipeline: Pipeline, config: TokenizerConfig) -> Self {
        let equal = pipeline.take_equal_model();
        let whole = equal.as_ref().filter(|equal| equal.has_added_tokens);
        let special = SpecialIds::of_pipeline(&pipeline, whole.map(|equal| &equal.model));
        let tables = PipelineTables::new(Arc::new(pipeline), equal, config);
        Self {
            config,
            decoder: OnceLock::new(),
            special,
            tables: Tables::Pipeline(Arc::new(tables)),
        }
    }

    /// The pipeline; `None` for a tokenizer of a model.
    #[cfg(feature = "formats")]
    pub fn pipeline(&self) -> Option<&Arc<Pipeline>> {
        match &self.tables {
            Tables::Model(_) => None,
            Tables::Pipeline(tables) => Some(&tables.pipeline),
        }
    }

    /// The SentencePiece model; `None` for any other tokenizer, which needs the feature `formats`.
    pub fn model(&self) -> Option<&Model> {
        Some(self.model_tables()?.model())
    }

    /// The SentencePiece model, for what needs one.
    ///
    /// # Errors
    /// The tokenizer has none; the error says what it is.
    pub fn require_model(&self) -> Result<&Model, NoModelError> {
        Ok(self.require_model_tables()?.model())
    }

    pub(crate) fn require_model_tables(&self) -> Result<&ModelTables, NoModelError> {
        if let Some(tables) = self.model_tables() {
            return Ok(tables);
        }
        #[cfg(feature = "formats")]
        if !self.pipeline().is_some_and(|it| it.has_byte_strings()) {
            return Err(NoModelError::Pipeline);
        }
        Err(NoModelError::ByteLevel)
    }

    /// The byte-level vocabulary; `None` for any other tokenizer.
    #[cfg(feature = "formats")]
    pub fn byte_bpe(&self) -> Option<&ByteBpe> {
        self.pipeline()?.byte_bpe()
    }

    /// A piece in characters that can be written to a line and read again: if its bytes need not be
    /// text, each becomes the character with which GPT-2 writes it. Other pieces are as they are.
    #[cfg_attr(feature = "formats", doc = "```")]
    #[cfg_attr(not(feature = "formats"), doc = "```ignore")]
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("small.model");
    /// std::fs::write(&path, "minbpe v1\n\n0\n32 97\n")?;
    /// let tokenizer = spiece::Tokenizer::open(&path)?;
    /// assert_eq!(*tokenizer.printable_piece(b" a"), *"\u{120}a".as_bytes());
    /// assert_eq!(*tokenizer.piece_of_printable("\u{120}a".as_bytes()), *b" a");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn printable_piece<'p>(&self, piece: &'p [u8]) -> Cow<'p, [u8]> {
        #[cfg(feature = "formats")]
        if self.has_unprintable(piece) {
            return Cow::Owned(printable(piece).into_bytes());
        }
        Cow::Borrowed(piece)
    }

    /// The piece of which [`printable_piece`](Self::printable_piece) makes this text.
    pub fn piece_of_printable<'p>(&self, text: &'p [u8]) -> Cow<'p, [u8]> {
        #[cfg(feature = "formats")]
        if self.has_unprintable(text)
            && let Ok(spelling) = std::str::from_utf8(text)
            && let Some(bytes) = spelled(spelling)
        {
            return Cow::Owned(bytes);
        }
        Cow::Borrowed(text)
    }

    /// Whether pieces are byte strings and this is not the text of a special token.
    #[cfg(feature = "formats")]
    fn has_unprintable(&self, piece: &[u8]) -> bool {
        let Some(pipeline) = self.pipeline().filter(|it| it.has_byte_strings()) else {
            return false;
        };
        let mut special = pipeline.added_tokens().iter();
        !special.any(|token| token.text.as_bytes() == piece)
    }

    /// A short name of the algorithm: that of the type of a SentencePiece model (`bpe`, `unigram`,
    /// `word`, `char`), `byte_bpe`, `wordpiece` or `word_level`.
    pub fn model_type_name(&self) -> &'static str {
        match (&self.tables, self.model()) {
            (_, Some(model)) => model.model_type().name(),
            #[cfg(feature = "formats")]
            (Tables::Pipeline(tables), _) => tables.pipeline.model_type_name(),
            (Tables::Model(tables), _) => tables.model().model_type().name(),
        }
    }

    /// The limits on memory.
    pub fn config(&self) -> TokenizerConfig {
        self.config
    }
}

/// Encoding.
impl Tokenizer {
    /// The ids of `text`, which need not be UTF-8. An
    /// [`Encoder`] or a batch is faster for many texts, and tells if a text has no ids
    /// ([`Encoder::take_failure`]).
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// let ids = tokenizer.encode("the right");
    /// let pieces = ids.iter().filter_map(|id| tokenizer.id_to_piece(*id));
    /// assert!(pieces.eq(["\u{2581}the".as_bytes(), "\u{2581}right".as_bytes()]));
    /// # Ok::<(), spiece::OpenError>(())
    /// ```
    pub fn encode(&self, text: impl AsRef<[u8]>) -> Vec<PieceId> {
        let mut ids = Vec::new();
        let context = self.context();
        let pool = context.tables.pool();
        let mut cache = pool.take();
        context.encode(&mut cache, text.as_ref(), &mut ids);
        pool.give(cache);
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
    /// # Ok::<(), spiece::OpenError>(())
    /// ```
    pub fn encode_to_tokens(&self, text: impl AsRef<[u8]>) -> Vec<Token> {
        self.encoder().tokens(text.as_ref()).as_slice().to_vec()
    }

    /// The number of ids of `text`.
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// assert_eq!(tokenizer.count("the right"), 2);
    /// # Ok::<(), spiece::OpenError>(())
    /// ```
    pub fn count(&self, text: impl AsRef<[u8]>) -> usize {
        self.encoder().count(text)
    }

    /// The normalized text: what is split into pieces, with whitespace marks (U+2581) for spaces.
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// assert_eq!(tokenizer.normalize("Hello, world"), "\u{2581}Hello,\u{2581}world");
    /// # Ok::<(), spiece::OpenError>(())
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
    /// # Ok::<(), spiece::OpenError>(())
    /// ```
    pub fn normalize_with_offsets(&self, text: impl AsRef<[u8]>) -> Normalized {
        let mut normalized = Normalized {
            text: Vec::new(),
            origins: Vec::new(),
        };
        let Normalized { text: out, origins } = &mut normalized;
        let text = text.as_ref();
        match &self.tables {
            Tables::Model(tables) => {
                let normalizer = &tables.context().stages.normalizer;
                normalizer.normalize_with_offsets(text, out, origins);
            }
            #[cfg(feature = "formats")]
            Tables::Pipeline(tables) => tables.normalize(text, out, Some(origins)),
        }
        normalized
    }

    /// A worker that encodes one text after another. Once its buffers have grown, it does not
    /// allocate.
    pub fn encoder(&self) -> Encoder<'_> {
        Encoder::new(self, self.tables.by_default(), None)
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
        self.tables.by_default().pool().create()
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
    /// # Ok::<(), spiece::OpenError>(())
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
    /// # Ok::<(), spiece::OpenError>(())
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
            tables: self.tables.by_default(),
            options: &NO_OPTIONS,
        }
    }

    fn prepare(&self, options: &EncodeOptions) -> Result<Prepared<'_>, EncodeError> {
        Ok(Prepared {
            tokenizer: self,
            tables: self.tables.with_symbols(options.user_defined_symbols)?,
            options: Arc::new(CheckedOptions::new(self, options)?),
        })
    }
}

/// The vocabulary.
impl Tokenizer {
    /// The number of ids: ids are below it. Some ids of a byte-level
    /// vocabulary may have no piece.
    pub fn vocab_size(&self) -> usize {
        match &self.tables {
            Tables::Model(tables) => tables.model().len(),
            #[cfg(feature = "formats")]
            Tables::Pipeline(tables) => tables.pipeline.vocab_size(),
        }
    }

    /// The text of a piece, or `None` if the model has no such id. For score and kind, see
    /// [`Model::piece`].
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// let id = tokenizer.encode("the")[0];
    /// assert_eq!(tokenizer.id_to_piece(id), Some("\u{2581}the".as_bytes()));
    /// # Ok::<(), spiece::OpenError>(())
    /// ```
    pub fn id_to_piece(&self, id: PieceId) -> Option<&[u8]> {
        match &self.tables {
            Tables::Model(tables) => tables.model().piece(id).map(|piece| piece.text),
            #[cfg(feature = "formats")]
            Tables::Pipeline(tables) => tables.text_of(id),
        }
    }

    /// The id of the piece with this text. If both a piece for text and a control, unknown or byte
    /// piece have this text, this is the id of the latter.
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// assert_eq!(tokenizer.piece_to_id("<s>"), tokenizer.bos_id());
    /// assert_eq!(tokenizer.piece_to_id("not a piece"), None);
    /// # Ok::<(), spiece::OpenError>(())
    /// ```
    pub fn piece_to_id(&self, piece: impl AsRef<[u8]>) -> Option<PieceId> {
        match &self.tables {
            Tables::Model(tables) => tables.model().piece_to_id(piece),
            #[cfg(feature = "formats")]
            Tables::Pipeline(tables) => {
                let id = tables.pipeline.id_of(piece.as_ref());
                id.map(PieceId::new)
            }
        }
    }

    /// A piece: text, kind and score. The special tokens of a byte-level vocabulary or a pipeline
    /// are control pieces, and its added tokens that every text may contain are user-defined
    /// symbols; its pieces have the score 0, except those of a unigram pipeline, whose scores are
    /// rounded to 32 bits.
    pub fn piece(&self, id: PieceId) -> Option<Piece<'_>> {
        match &self.tables {
            Tables::Model(tables) => tables.model().piece(id),
            #[cfg(feature = "formats")]
            Tables::Pipeline(tables) => tables.piece(id),
        }
    }

    /// All pieces, in the order of their ids.
    pub fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        // The ids of a file can be far apart.
        #[cfg(feature = "formats")]
        let listed = self.pipeline().map(|pipeline| pipeline.ids_with_text());
        #[cfg(not(feature = "formats"))]
        let listed: Option<Vec<PieceId>> = None;
        let all = match listed {
            Some(_) => 0..0,
            None => 0..self.vocab_size(),
        };
        let ids = all.map(PieceId::from_index);
        let ids = ids.chain(listed.into_iter().flatten());
        ids.filter_map(|id| self.piece(id))
    }

    /// The pieces that text yields only if [`EncodeOptions::allowed_special`] names them, by their
    /// ids and texts: the control pieces of a SentencePiece model, the special tokens of a
    /// byte-level vocabulary or a pipeline.
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// let texts: Vec<&[u8]> = tokenizer.special_tokens().map(|(_, text)| text).collect();
    /// assert_eq!(texts, [b"<s>" as &[u8], b"</s>"]);
    /// # Ok::<(), spiece::OpenError>(())
    /// ```
    pub fn special_tokens(&self) -> impl Iterator<Item = (PieceId, &[u8])> {
        let pieces = self.model().map(|_| self.pieces());
        let control = pieces
            .into_iter()
            .flatten()
            .filter(|piece| piece.kind == PieceKind::Control);
        let control = control.map(|piece| (piece.id, piece.text));
        #[cfg(feature = "formats")]
        let control = {
            let pipeline = self.pipeline().into_iter();
            let tokens = pipeline.flat_map(|pipeline| pipeline.added_tokens());
            let special = tokens.filter(|token| token.special);
            control.chain(special.map(|token| (PieceId::new(token.id), token.text.as_bytes())))
        };
        control
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

impl From<Model> for Tokenizer {
    fn from(model: Model) -> Self {
        Self::new(model)
    }
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokenizer")
            .field("model_type", &self.model().map(Model::model_type))
            .field("vocab_size", &self.vocab_size())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
