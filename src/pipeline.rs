//! A tokenizer as a list of stages, as the files of the library tokenizers describe one.
//!
//! ```text
//! text -> added tokens -> normalizer -> added tokens -> pre-tokenizer -> model -> template -> ids
//!         as they are     steps         normalized      steps           one      texts' ends
//! ids  -> decoder steps -> text
//! ```
//!
//! | module | stage |
//! |---|---|
//! | `normalizer` | steps that change a text |
//! | `pre_tokenizer` | steps that cut it into parts |
//! | `model` | a part to tokens |
//! | `template` | what stands around texts, and which spans tokens have |
//! | `decoder` | steps from tokens to a text |
//! | `length` | truncation and padding, which are applied on demand |
//! | `layout` | a result as pieces of texts, special tokens and padding |
//! | `post_process` | what is done to the tokens of one or two texts: truncation, template, padding |
//! | `text` | a text on its way through the stages, with origins |
//! | `byte_path` | ids of byte-level pipelines, straight from the bytes |
//! | `listed_model` | the SentencePiece model that merges as a list of merges does |
//! | `part_texts` | which texts the model can get, for reports |
//! | `chunks` | where a text can be cut before everything else, so that results can be kept |
//!
//! Added tokens are those of `src/added.rs`.
//!
//! A [`Pipeline`] of a `tokenizer.json` gives the ids, tokens, spans and texts of tokenizers 0.23.3, for
//! every text; that of a byte-level vocabulary those of the program that the vocabulary is from. It is
//! made by a reader of files, and knows nothing of them.
//!
//! Example: `Hello world` in a model of BERT is `hello world` after the normalizer, the parts `hello`
//! and `world` after the pre-tokenizer, and one token each.

mod bert;
mod boundary;
mod byte_path;
mod characters;
mod chunks;
mod classes;
mod decoder;
mod error;
mod forms;
mod layout;
mod listed_model;
mod length;
mod matcher;
mod model;
mod normalizer;
mod part_texts;
mod post_process;
mod pre_tokenizer;
#[cfg(feature = "train")]
mod pretokens;
mod scripts;
mod template;
#[cfg(test)]
mod tests;
mod text;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

pub use self::bert::BertNormalizer;
pub(crate) use self::bert::has_capital;
use self::byte_path::BytePath;
pub(crate) use self::byte_path::NoByteBpe;
use self::chunks::Chunks;
pub(crate) use self::decoder::DecoderState;
pub use self::decoder::DecoderStep;
pub use self::error::PipelineError;
pub use self::forms::{UnicodeForm, UnicodeVersion};
pub use self::layout::{
    Layout, LayoutPiece, PaddingToken, PieceContent, SequenceRange, Side, SpanStep, SpecialTokens,
    TruncationError,
};
pub use self::length::{FinishedText, Padding, Truncation, TruncationStrategy};
pub use self::matcher::Matcher;
pub(crate) use self::matcher::MatcherTarget;
pub use self::model::{
    BpeModel, BpeOptions, ByteModel, ListedMerge, ModelVocabulary, PipelineModel, UnigramModel,
    WordLevelModel, WordPieceModel,
};
pub(crate) use self::model::{MergeNotInVocabulary, NoUnknownToken};
use self::model::{ModelState, ModelToken};
pub use self::normalizer::{NormalizerStep, PrecompiledRules};
pub(crate) use self::part_texts::{PartEncoder, PartTexts};
pub use self::pre_tokenizer::{Metaspace, PreTokenizerStep, PrependScheme};
pub(crate) use self::template::TextEnds;
pub use self::template::{PostProcessorStep, Template, TemplateKind, TemplatePart};
use self::text::{Malformed, MappedText};
use crate::added::{AddedTokens, FoundTokens, Search, SpecialToken};
use crate::base::byte_chars::byte_of;
use crate::base::{decode_char, is_char_start};
use crate::byte_bpe::ByteBpe;
use crate::decode::DecodeError;
use crate::encode::bpe::BpeCache;
use crate::encode::chunk_cache::{ChunkCache, KeyedText};
use crate::model::Model;
use crate::piece::PieceId;
use crate::special::{Scope, Segment};

/// Parts of a long text that threads encode have at least so many bytes.
const MIN_PART_BYTES: usize = 128 << 10;

/// The stages of a pipeline, as plain data. Those that a change does not touch are shared.
#[derive(Debug, Clone)]
pub(crate) struct PipelineParts {
    /// The added tokens, in the order of the file.
    pub(crate) added_tokens: Vec<SpecialToken>,
    pub(crate) normalizer: Arc<[NormalizerStep]>,
    pub(crate) pre_tokenizer: Arc<[PreTokenizerStep]>,
    pub(crate) model: Arc<PipelineModel>,
    /// The tokens of the model; more than those of the vocabulary if it has equal ones.
    pub(crate) model_size: u32,
    pub(crate) post_processor: Arc<[PostProcessorStep]>,
    /// `None`: texts of tokens are joined by spaces.
    pub(crate) decoder: Option<Arc<[DecoderStep]>>,
    pub(crate) truncation: Option<Truncation>,
    pub(crate) padding: Option<Padding>,
}

impl PipelineParts {
    /// Gives the added tokens their ids: those of the vocabulary, and otherwise the next ones after it.
    pub(crate) fn find_ids(&mut self) {
        let tokens = std::mem::take(&mut self.added_tokens);
        self.add_tokens(tokens);
    }

    /// Adds tokens with the rules of tokenizers for their ids: those of the vocabulary and of the tokens that were added
    /// before, and otherwise the next ones. The number of tokens that are new, or differ from the one before.
    pub(crate) fn add_tokens(&mut self, tokens: Vec<SpecialToken>) -> usize {
        let largest = self.added_tokens.iter().map(|token| token.id).max();
        let after_added = largest.map(|id| id.saturating_add(1));
        let mut next_id = match after_added {
            Some(next) if next > self.model_size || self.model_size == 0 => next,
            _ => self.model_size,
        };
        let mut numbers: HashMap<u32, usize> = HashMap::new();
        let mut ids: HashMap<String, u32> = HashMap::new();
        for (number, token) in self.added_tokens.iter().enumerate() {
            numbers.insert(token.id, number);
            ids.insert(token.text.clone(), token.id);
        }
        let mut added = 0;
        for mut token in tokens.into_iter().filter(|token| !token.text.is_empty()) {
            let known = ids.get(&token.text).copied();
            token.id = known
                .or_else(|| self.model.vocabulary().id(&token.text))
                .unwrap_or_else(|| {
                    next_id += 1;
                    next_id - 1
                });
            ids.insert(token.text.clone(), token.id);
            // A later token takes the place of one with the same id.
            match numbers.get(&token.id).map(|at| &mut self.added_tokens[*at]) {
                Some(before) if *before == token => continue,
                Some(before) => *before = token,
                None => {
                    numbers.insert(token.id, self.added_tokens.len());
                    self.added_tokens.push(token);
                }
            }
            added += 1;
        }
        added
    }
}

/// The stages with the tables of the first.
struct Stages {
    added: Arc<AddedTokens>,
    normalizer: Arc<[NormalizerStep]>,
    pre_tokenizer: Arc<[PreTokenizerStep]>,
    model: Arc<PipelineModel>,
    byte_path: Option<Arc<BytePath>>,
    /// One more than the largest id.
    size: usize,
    post_processor: Arc<[PostProcessorStep]>,
    decoder: Option<Arc<[DecoderStep]>>,
    truncation: Option<Truncation>,
    padding: Option<Padding>,
}

/// See the [module page](self).
#[derive(Debug)]
pub struct Pipeline {
    added: Arc<AddedTokens>,
    normalizer: Arc<[NormalizerStep]>,
    pre_tokenizer: Arc<[PreTokenizerStep]>,
    model: Arc<PipelineModel>,
    post_processor: Arc<[PostProcessorStep]>,
    decoder: Option<Arc<[DecoderStep]>>,
    truncation: Option<Truncation>,
    padding: Option<Padding>,
    ends: TextEnds,
    /// How ids are made of bytes, if the pipeline is byte-level.
    byte_path: Option<Arc<BytePath>>,
    /// The pipeline as a byte-level vocabulary; see [`byte_bpe`](Self::byte_bpe).
    byte_bpe: OnceLock<Result<Box<ByteBpe>, NoByteBpe>>,
    /// The texts of tokens by their roles, such as `bos_token`.
    roles: BTreeMap<String, String>,
    /// A SentencePiece model with the same ids, until a tokenizer takes it.
    equal_model: Option<Box<EqualModel>>,
    /// Where texts can be cut before everything else, if they can.
    chunks: Option<Chunks>,
    malformed: Malformed,
    /// Whether the ids of a text depend on the origins of its bytes.
    needs_origins: bool,
    /// Whether the ids of a text depend on whether it is the start of the caller's text.
    depends_on_start: bool,
    /// One more than the largest id.
    size: usize,
    /// The added tokens that are found without being allowed.
    found_always: FoundTokens,
}

/// A SentencePiece model with the ids of a pipeline.
#[derive(Debug)]
pub(crate) struct EqualModel {
    pub(crate) model: Model,
    /// Whether the added tokens are pieces of the model, with their kinds.
    pub(crate) has_added_tokens: bool,
    /// Whether it gives the ids of texts without added tokens.
    pub(crate) serves_parts: bool,
}

/// A token with its place.
#[derive(Debug, Clone)]
pub(crate) struct PipelineToken<'t> {
    pub(crate) id: u32,
    /// Its bytes in the caller's text.
    pub(crate) span: Range<usize>,
    /// The number of its part, from 0; added tokens are parts.
    pub(crate) word: u32,
    /// Its text, if that is not the text of its id.
    pub(crate) text: Option<&'t str>,
}

/// Which tokens a part of a text has.
enum Segmentation<'s> {
    Best,
    /// Those that are left if merges are skipped for which the function returns true.
    Sampled(&'s mut dyn FnMut() -> bool),
}

/// Passes the tokens of a text, with their spans trimmed.
struct TokenPass<'p, F> {
    pipeline: &'p Pipeline,
    text: &'p [u8],
    /// The number of the part at hand.
    word: u32,
    is_first: bool,
    /// Whether the post-processor trims spans.
    trims: bool,
    on_token: F,
}

impl<F: FnMut(PipelineToken<'_>)> TokenPass<'_, F> {
    /// An added token, which is a part of its own; `own` is its text.
    fn added(&mut self, id: u32, span: Range<usize>, own: &[u8]) {
        let own = match self.pipeline.has_byte_strings() {
            true => None,
            false => Some(String::from_utf8_lossy(own)),
        };
        self.pass(id, span, own.as_deref(), own.as_deref().unwrap_or_default());
        self.word += 1;
    }

    /// A token of the part at hand. Its text is that of its id, unless it is `own`.
    fn token(&mut self, id: u32, span: Range<usize>, own: Option<&str>) {
        let pipeline = self.pipeline;
        if pipeline.has_byte_strings() {
            return self.pass(id, span, None, "");
        }
        let known = || pipeline.model.vocabulary().text(id);
        // The text of an added token with this id can be another one.
        let own = own.or_else(|| known().filter(|_| pipeline.added.text(id).is_some()));
        let shown = own.or_else(known);
        self.pass(id, span, own, shown.unwrap_or_default());
    }

    fn pass(&mut self, id: u32, span: Range<usize>, text: Option<&str>, shown: &str) {
        let span = match self.trims {
            true => self.pipeline.trimmed(self.text, span, shown, self.is_first),
            false => span,
        };
        // Tokens of bytes for a character with an affix can be more than its bytes.
        let end = span.end.min(self.text.len());
        let span = span.start.min(end)..end;
        self.is_first = false;
        (self.on_token)(PipelineToken {
            id,
            span,
            word: self.word,
            text,
        });
    }
}

/// The buffers of a worker.
#[derive(Debug, Default)]
pub(crate) struct PipelineState {
    text: MappedText,
    model: ModelState,
    tokens: Vec<ModelToken>,
    cache: ChunkCache,
    /// The ids of parts, as the model gets them.
    parts: ChunkCache,
    /// The most bytes of the caches.
    max_cache_bytes: usize,
    /// The cache of the path of bytes, once it was used.
    bytes: Option<Box<BpeCache>>,
    /// The tokens that are found in the chunks of the cache.
    found: Arc<[bool]>,
}

impl PipelineState {
    /// Empties the cache if other tokens are found now.
    fn keep_chunks_of(&mut self, found: &FoundTokens) {
        let found = found.in_normalized();
        if !Arc::ptr_eq(found, &self.found) && **found != *self.found {
            self.cache = ChunkCache::with_max_bytes(self.max_cache_bytes / 2);
        }
        self.found = Arc::clone(found);
    }

    /// A state whose cache uses at most `max_bytes`.
    pub(crate) fn with_max_bytes(max_bytes: usize) -> Self {
        Self {
            cache: ChunkCache::with_max_bytes(max_bytes / 2),
            parts: ChunkCache::with_max_bytes(max_bytes / 2),
            max_cache_bytes: max_bytes,
            ..Self::default()
        }
    }

    /// The cache of the path of bytes, and the text that the normalizer changes.
    fn bytes_and_text(&mut self) -> (&mut BpeCache, &mut MappedText) {
        let max_bytes = self.max_cache_bytes;
        let make = || Box::new(BpeCache::with_max_bytes(max_bytes));
        (self.bytes.get_or_insert_with(make), &mut self.text)
    }

    /// The cache of the path of bytes.
    fn bytes(&mut self) -> &mut BpeCache {
        self.bytes_and_text().0
    }

    /// The bytes of memory in use.
    pub(crate) fn memory_usage(&self) -> usize {
        let tokens = self.tokens.capacity() * size_of::<ModelToken>();
        let bytes = self.bytes.as_ref().map_or(0, |cache| cache.size_bytes());
        let caches = self.cache.size_bytes() + self.parts.size_bytes() + bytes;
        caches + self.text.memory_usage() + tokens
    }
}

impl Pipeline {
    /// The pipeline of the parts of a file, in which the ids of added tokens are found again.
    pub(crate) fn new(mut parts: PipelineParts) -> Result<Self, PipelineError> {
        parts.find_ids();
        Self::of_parts(parts, None)
    }

    /// The pipeline of parts, with what it has in common with the pipeline before a change.
    pub(crate) fn of_parts(
        parts: PipelineParts,
        before: Option<&Self>,
    ) -> Result<Self, PipelineError> {
        let PipelineParts {
            added_tokens,
            normalizer,
            pre_tokenizer,
            model,
            model_size: _,
            post_processor,
            decoder,
            truncation,
            padding,
        } = parts;
        let added = AddedTokens::new(added_tokens, Search::All, |text| {
            normalized(&normalizer, text)
        })?;
        let ids = added.tokens().iter().map(|token| token.id);
        let largest = ids.chain(model.largest_id()).max();
        let same = before.filter(|before| {
            Arc::ptr_eq(&before.model, &model)
                && Arc::ptr_eq(&before.pre_tokenizer, &pre_tokenizer)
                && before.byte_path.is_some()
        });
        let byte_path = match (
            normalizer.iter().any(NormalizerStep::may_insert_at_start),
            same,
        ) {
            (true, _) => None,
            (false, Some(before)) => before.byte_path.clone(),
            (false, None) => BytePath::of(&pre_tokenizer, &model).map(Arc::new),
        };
        Ok(Self::of_stages(Stages {
            added: Arc::new(added),
            normalizer,
            pre_tokenizer,
            model,
            byte_path,
            size: largest.map_or(0, |largest| largest as usize + 1),
            post_processor,
            decoder,
            truncation,
            padding,
        }))
    }

    /// The stages as data.
    #[cfg(feature = "train")]
    pub(crate) fn parts(&self) -> PipelineParts {
        let model_size = match &*self.model {
            PipelineModel::Unigram(unigram) => unigram.scores().len(),
            model => model.vocabulary().len(),
        };
        PipelineParts {
            added_tokens: self.added_tokens().to_vec(),
            normalizer: Arc::clone(&self.normalizer),
            pre_tokenizer: Arc::clone(&self.pre_tokenizer),
            model: Arc::clone(&self.model),
            model_size: u32::try_from(model_size).unwrap_or(u32::MAX),
            post_processor: Arc::clone(&self.post_processor),
            decoder: self.decoder.clone(),
            truncation: self.truncation,
            padding: self.padding.clone(),
        }
    }

    fn of_stages(stages: Stages) -> Self {
        let Stages {
            added,
            normalizer,
            pre_tokenizer,
            model,
            byte_path,
            size,
            post_processor,
            decoder,
            truncation,
            padding,
        } = stages;
        let is_byte_level = normalizer
            .iter()
            .any(|step| matches!(step, NormalizerStep::ByteLevel))
            || pre_tokenizer
                .iter()
                .any(|step| matches!(step, PreTokenizerStep::ByteLevel { .. }));
        let mut pipeline = Self {
            malformed: match is_byte_level {
                true => Malformed::Kept,
                false => Malformed::Replaced,
            },
            byte_path,
            byte_bpe: OnceLock::new(),
            roles: BTreeMap::new(),
            equal_model: None,
            size,
            found_always: added.found(|_| false, true),
            ends: TextEnds::new(&post_processor),
            needs_origins: normalizer.iter().any(NormalizerStep::may_insert_at_start),
            depends_on_start: pre_tokenizer.iter().any(|step| {
                matches!(step, PreTokenizerStep::Metaspace(it) if it.prepend_scheme == PrependScheme::First)
            }),
            added,
            normalizer,
            pre_tokenizer,
            model,
            post_processor,
            decoder,
            truncation,
            padding,
            chunks: None,
        };
        if pipeline.byte_path.is_none() {
            pipeline.chunks = Chunks::of(&pipeline);
        }
        pipeline
    }

    /// A short name of the algorithm.
    pub(crate) fn model_type_name(&self) -> &'static str {
        match &*self.model {
            PipelineModel::Bytes(_) => "byte_bpe",
            PipelineModel::Bpe(_) if self.is_byte_level() => "byte_bpe",
            PipelineModel::Bpe(_) => "bpe",
            PipelineModel::Unigram(_) => "unigram",
            PipelineModel::WordPiece(_) => "wordpiece",
            PipelineModel::WordLevel(_) => "word_level",
        }
    }

    /// Whether the model and the steps are of a kind that SentencePiece models have, too.
    pub(crate) fn may_equal_model(&self) -> bool {
        let is_split = |step: &PreTokenizerStep| {
            matches!(
                step,
                PreTokenizerStep::Metaspace(_) | PreTokenizerStep::Split { .. }
            )
        };
        matches!(
            *self.model,
            PipelineModel::Bpe(_) | PipelineModel::Unigram(_)
        ) && self.byte_path.is_none()
            && self.malformed == Malformed::Replaced
            && self.pre_tokenizer.iter().all(is_split)
    }

    /// The texts of tokens by their roles, such as `bos_token`, if the file says them: files of version
    /// 2.0 do. They have no effect on ids.
    pub fn roles(&self) -> &BTreeMap<String, String> {
        &self.roles
    }

    pub(crate) fn set_roles(&mut self, roles: BTreeMap<String, String>) {
        self.roles = roles;
    }

    pub(crate) fn set_equal_model(&mut self, model: Option<EqualModel>) {
        self.equal_model = model.map(Box::new);
    }

    pub(crate) fn take_equal_model(&mut self) -> Option<EqualModel> {
        self.equal_model.take().map(|model| *model)
    }

    /// Passes the parts of a text with the added tokens that are found in it as it is, these with
    /// their ids.
    pub(crate) fn cut_as_is(
        &self,
        text: &[u8],
        scopes: &[Scope<'_, FoundTokens>],
        mut on_segment: impl FnMut(Segment),
    ) {
        self.added.cut_as_is(text, scopes, |segment| {
            on_segment(match segment {
                Segment::Special(number, span) => {
                    Segment::Special(self.added.id_of(number) as usize, span)
                }
                text => text,
            });
        });
    }

    /// The steps that change a text.
    pub fn normalizer(&self) -> &[NormalizerStep] {
        &self.normalizer
    }

    /// The steps that cut a text into parts.
    pub fn pre_tokenizer(&self) -> &[PreTokenizerStep] {
        &self.pre_tokenizer
    }

    /// What turns a part into tokens.
    pub fn model(&self) -> &PipelineModel {
        &self.model
    }

    /// The steps after the model.
    pub fn post_processor(&self) -> &[PostProcessorStep] {
        &self.post_processor
    }

    /// The steps from tokens to a text; `None` if the tokens are joined by spaces.
    pub fn decoder(&self) -> Option<&[DecoderStep]> {
        self.decoder.as_deref()
    }

    /// The added tokens, with their ids.
    pub fn added_tokens(&self) -> &[SpecialToken] {
        self.added.tokens()
    }

    /// One more than the largest id.
    pub fn vocab_size(&self) -> usize {
        self.size
    }

    /// The ids before and after a text.
    pub(crate) fn text_ends(&self) -> &TextEnds {
        &self.ends
    }

    /// Whether texts are cut into bytes, so that tokens are spelled in the characters of bytes.
    pub(crate) fn is_byte_level(&self) -> bool {
        self.malformed == Malformed::Kept
    }

    /// The score of a token; unigram models have some.
    pub(crate) fn score_of(&self, id: u32) -> Option<f64> {
        match &*self.model {
            PipelineModel::Unigram(unigram) => unigram.scores().get(id as usize).copied(),
            _ => None,
        }
    }

    /// The tokens that stand for bytes of unknown text, such as `<0x0A>`.
    pub(crate) fn byte_tokens(&self) -> Vec<u32> {
        let falls_back = match &*self.model {
            PipelineModel::Bpe(bpe) => bpe.options().byte_fallback,
            PipelineModel::Unigram(unigram) => unigram.has_byte_fallback(),
            _ => false,
        };
        if !falls_back {
            return Vec::new();
        }
        let vocabulary = self.model.vocabulary();
        let bytes = 0..=u8::MAX;
        bytes
            .filter_map(|byte| vocabulary.id(&format!("<0x{byte:02X}>")))
            .collect()
    }

    /// The text of an id: of an added token that is searched for in normalized text, its own
    /// normalized. It is UTF-8 unless the tokens are byte strings.
    pub(crate) fn text_of(&self, id: u32) -> Option<&[u8]> {
        if let PipelineModel::Bytes(bytes) = &*self.model {
            return bytes.byte_bpe().id_to_bytes(PieceId::new(id));
        }
        self.str_of(id).map(str::as_bytes)
    }

    /// The ids that have a token, ascending.
    pub(crate) fn ids_with_text(&self) -> Vec<PieceId> {
        let mut ids: Vec<u32> = match &*self.model {
            PipelineModel::Bytes(_) => (0..).take(self.size).collect(),
            model => model.vocabulary().ids().collect(),
        };
        ids.extend(self.added.tokens().iter().map(|token| token.id));
        ids.sort_unstable();
        ids.dedup();
        ids.into_iter().map(PieceId::new).collect()
    }

    /// Refuses an id without a token.
    pub(crate) fn check_id(&self, id: PieceId) -> Result<(), DecodeError> {
        self.known_text(id).map(|_| ())
    }

    fn known_text(&self, id: PieceId) -> Result<&[u8], DecodeError> {
        let pieces = self.size;
        self.text_of(id.get())
            .ok_or(DecodeError::NoPiece { id, pieces })
    }

    /// The text of an id, if the tokens are no byte strings.
    fn str_of(&self, id: u32) -> Option<&str> {
        let added = self.added.text(id);
        added.or_else(|| self.model.vocabulary().text(id))
    }

    /// The id of a token.
    pub(crate) fn id_of(&self, text: &[u8]) -> Option<u32> {
        if let PipelineModel::Bytes(bytes) = &*self.model {
            return bytes.byte_bpe().bytes_to_id(text).map(PieceId::get);
        }
        let text = std::str::from_utf8(text).ok()?;
        let added = self.added.id(text);
        added.or_else(|| self.model.vocabulary().id(text))
    }

    /// Whether the tokens are byte strings, and not texts.
    pub(crate) fn has_byte_strings(&self) -> bool {
        matches!(*self.model, PipelineModel::Bytes(_))
    }

    /// Whether tokens are made by merges, some of which can be skipped.
    pub(crate) fn has_merges(&self) -> bool {
        matches!(*self.model, PipelineModel::Bpe(_) | PipelineModel::Bytes(_))
    }

    /// The added tokens that are found without being allowed.
    pub(crate) fn found_always(&self) -> &FoundTokens {
        &self.found_always
    }

    /// The added tokens that a call finds: the special ones for which `allows` is true, and the
    /// others if `finds_added`.
    pub(crate) fn found(&self, allows: impl Fn(&str) -> bool, finds_added: bool) -> FoundTokens {
        self.added.found(allows, finds_added)
    }

    /// The text after the normalizer, without a search for added tokens, with the origin of each
    /// byte and the end of the text.
    pub(crate) fn normalize(
        &self,
        text: &[u8],
        out: &mut Vec<u8>,
        origins: Option<&mut Vec<usize>>,
    ) -> Result<(), PipelineError> {
        let mut mapped = MappedText::default();
        mapped.start(text, 0..text.len(), true, self.malformed);
        for step in self.normalizer.iter() {
            step.apply(&mut mapped, true)?;
        }
        let mut unused = Vec::new();
        let origins = origins.unwrap_or(&mut unused);
        mapped.push_bytes(out, origins);
        origins.push(text.len());
        Ok(())
    }

    /// Appends the ids of a text in which nothing is found, and which the normalizer keeps, by its
    /// bytes; false, and nothing is appended, if the other stages have to do it. Most calls have such
    /// short texts that these would take a tenth of the time.
    #[inline]
    pub(crate) fn encode_plain(
        &self,
        text: &[u8],
        found: &FoundTokens,
        state: &mut PipelineState,
        out: &mut Vec<PieceId>,
    ) -> bool {
        let Some(path) = &self.byte_path else {
            return false;
        };
        found.finds_nothing()
            && self.normalizer.iter().all(|step| step.keeps(text))
            && path.encode(text, state.bytes(), out)
    }

    /// Appends the ids of a text with the added tokens of its scopes.
    pub(crate) fn encode(
        &self,
        text: &[u8],
        scopes: &[Scope<'_, FoundTokens>],
        state: &mut PipelineState,
        out: &mut Vec<PieceId>,
    ) -> Result<(), PipelineError> {
        self.encode_after(None, text, scopes, state, out)
    }

    /// Appends the ids of the text from `start` on, which is a [boundary](Self::last_boundary).
    pub(crate) fn encode_rest(
        &self,
        (text, start): (&[u8], usize),
        found: &FoundTokens,
        state: &mut PipelineState,
        out: &mut Vec<PieceId>,
    ) -> Result<(), PipelineError> {
        let range = start..text.len();
        self.encode_after(Some(start), text, &[Scope { range, found }], state, out)
    }

    /// Appends the ids of the text in the scopes. If they begin at a boundary, text that begins there
    /// goes on with what stands before.
    fn encode_after(
        &self,
        boundary: Option<usize>,
        text: &[u8],
        scopes: &[Scope<'_, FoundTokens>],
        state: &mut PipelineState,
        out: &mut Vec<PieceId>,
    ) -> Result<(), PipelineError> {
        let mut result = Ok(());
        self.added.cut_as_is(text, scopes, |segment| match segment {
            Segment::Special(number, _) => out.push(PieceId::new(self.added.id_of(number))),
            Segment::Text(range) if result.is_ok() => {
                let goes_on = boundary == Some(range.start);
                result = self.encode_segment(text, (range, goes_on), scopes, state, out);
            }
            Segment::Text(_) => {}
        });
        result
    }

    /// Appends the ids of a part of a text without tokens that are found as they are. If it `goes_on`,
    /// it begins at a [boundary](Self::last_boundary).
    fn encode_segment(
        &self,
        text: &[u8],
        (range, goes_on): (Range<usize>, bool),
        scopes: &[Scope<'_, FoundTokens>],
        state: &mut PipelineState,
        out: &mut Vec<PieceId>,
    ) -> Result<(), PipelineError> {
        let Some(found) = only_found(scopes) else {
            return self.encode_part(text, range, true, scopes, state, out);
        };
        let scopes = &Scope::whole(text, found);
        if let Some(path) = &self.byte_path
            && self.encode_bytes(path, &text[range.clone()], found, state, out)?
        {
            return Ok(());
        }
        let Some(chunks) = &self.chunks else {
            return self.encode_part(text, range, true, scopes, state, out);
        };
        state.keep_chunks_of(found);
        let keyed = KeyedText::new(text);
        let mut start = range.start;
        while start < range.end {
            let end = chunks.end(self, &text[..range.end], start);
            let is_start = start == range.start && !goes_on;
            // Chunks that go on begin with a space. One at the start that does so can have other ids.
            let is_kept = match is_start {
                true => text[start] != b' ' && (start == 0 || !self.depends_on_start),
                false => true,
            };
            let key = keyed.key(start, end - start).filter(|_| is_kept);
            if !key.as_ref().is_some_and(|key| state.cache.get(key, out)) {
                let before = out.len();
                self.encode_part(text, start..end, is_start, scopes, state, out)?;
                if let Some(key) = &key {
                    state.cache.insert(key, &out[before..]);
                }
            }
            start = end;
        }
        Ok(())
    }

    /// Appends the ids of a part of a text by its bytes; false, and nothing is appended, if the other
    /// stages have to do it.
    fn encode_bytes(
        &self,
        path: &BytePath,
        text: &[u8],
        found: &FoundTokens,
        state: &mut PipelineState,
        out: &mut Vec<PieceId>,
    ) -> Result<bool, PipelineError> {
        let start = out.len();
        let mut is_complete = true;
        // Short texts make up most calls: nothing is moved out of the state.
        let (cache, mapped) = state.bytes_and_text();
        let passed = self.for_each_byte_part(text, found, mapped, |text, segment| match segment {
            Segment::Text(range) => is_complete &= path.encode(&text[range], cache, out),
            Segment::Special(number, _) => out.push(PieceId::new(self.added.id_of(number))),
        });
        if !is_complete {
            out.truncate(start);
        }
        Ok(passed? && is_complete)
    }

    /// Passes what the path of bytes encodes of a part of a text: the text after the normalizer, and a
    /// range of it or an added token. False, and nothing is passed, if the normalizer changes malformed
    /// text.
    fn for_each_byte_part(
        &self,
        text: &[u8],
        found: &FoundTokens,
        mapped: &mut MappedText,
        mut on_part: impl FnMut(&[u8], Segment),
    ) -> Result<bool, PipelineError> {
        let mut text = text;
        if !self.normalizer.iter().all(|step| step.keeps(text)) {
            if std::str::from_utf8(text).is_err() {
                return Ok(false);
            }
            mapped.start(text, 0..text.len(), false, self.malformed);
            for step in self.normalizer.iter() {
                step.apply(mapped, true)?;
            }
            text = mapped.text.as_bytes();
        }
        let scopes = Scope::whole(text, found);
        self.added
            .cut_normalized(text, &scopes, |segment| on_part(text, segment));
        Ok(true)
    }

    /// Appends the ids of a long text. `encode_parts` returns those of consecutive parts, each of
    /// which [`encode_part_of_long`](Self::encode_part_of_long) can encode on a thread of its own.
    pub(crate) fn encode_long(
        &self,
        text: &[u8],
        found: &FoundTokens,
        encode_parts: impl Fn(&[&[u8]]) -> Vec<PieceId>,
        state: &mut PipelineState,
        out: &mut Vec<PieceId>,
    ) -> Result<(), PipelineError> {
        let mut segments = Vec::new();
        let scopes = Scope::whole(text, found);
        self.added
            .cut_as_is(text, &scopes, |segment| segments.push(segment));
        for segment in segments {
            let range = match segment {
                Segment::Special(number, _) => {
                    out.push(PieceId::new(self.added.id_of(number)));
                    continue;
                }
                Segment::Text(range) => range,
            };
            let raw = &text[range.clone()];
            let is_raw = raw.len() >= 2 * MIN_PART_BYTES
                && self.normalizer.iter().all(|step| step.keeps(raw));
            let path = self.byte_path.as_ref().filter(|_| is_raw);
            let Some(path) = path else {
                self.encode_segment(text, (range, false), &scopes, state, out)?;
                continue;
            };
            let start = out.len();
            let raw_scopes = Scope::whole(raw, found);
            self.added
                .cut_normalized(raw, &raw_scopes, |segment| match segment {
                    Segment::Special(number, _) => {
                        out.push(PieceId::new(self.added.id_of(number)));
                    }
                    Segment::Text(range) => {
                        let text = &raw[range];
                        let text = match path.needs_space(text) {
                            true => Cow::Owned([b" ", text].concat()),
                            false => Cow::Borrowed(text),
                        };
                        out.extend(encode_parts(&path.parts(&text, MIN_PART_BYTES)));
                    }
                });
            if !path.undo_if_incomplete(start, out) {
                self.encode_segment(text, (range, false), &scopes, state, out)?;
            }
        }
        Ok(())
    }

    /// Appends the ids of a part of a long text.
    pub(crate) fn encode_part_of_long(
        &self,
        part: &[u8],
        state: &mut PipelineState,
        out: &mut Vec<PieceId>,
    ) {
        if let Some(path) = &self.byte_path {
            path.encode_part(part, state.bytes(), out);
        }
    }

    fn encode_part(
        &self,
        text: &[u8],
        range: Range<usize>,
        is_start: bool,
        scopes: &[Scope<'_, FoundTokens>],
        state: &mut PipelineState,
        out: &mut Vec<PieceId>,
    ) -> Result<(), PipelineError> {
        let tracks = self.needs_origins
            || (range.start == 0 && self.depends_on_start)
            || only_found(scopes).is_none();
        self.cut(text, range, is_start, scopes, tracks, &mut state.text)?;
        let PipelineState {
            text: mapped,
            model,
            tokens,
            parts,
            ..
        } = state;
        let keyed = KeyedText::new(mapped.text.as_bytes());
        for part in &mapped.parts {
            if let Some(id) = part.added {
                out.push(PieceId::new(id));
                continue;
            }
            let key = keyed.key(part.range.start, part.range.len());
            if key.as_ref().is_some_and(|key| parts.get(key, out)) {
                continue;
            }
            let start = out.len();
            tokens.clear();
            self.model
                .encode(&mapped.text[part.range.clone()], model, tokens)?;
            out.extend(tokens.iter().map(|token| PieceId::new(token.id)));
            if let Some(key) = &key {
                parts.insert(key, &out[start..]);
            }
        }
        Ok(())
    }

    /// Everything before the model. Origins have to be kept if the scopes find several sets of tokens
    /// in normalized text.
    fn cut(
        &self,
        text: &[u8],
        range: Range<usize>,
        is_start: bool,
        scopes: &[Scope<'_, FoundTokens>],
        tracks: bool,
        mapped: &mut MappedText,
    ) -> Result<(), PipelineError> {
        mapped.start(text, range, tracks, self.malformed);
        for step in self.normalizer.iter() {
            step.apply(mapped, is_start)?;
        }
        let (one, several);
        let scopes = match only_found(scopes) {
            Some(found) => {
                one = Scope::whole(mapped.text.as_bytes(), found);
                &one[..]
            }
            None => {
                several = mapped.scopes(scopes);
                &several[..]
            }
        };
        mapped.cut(|text, on_part| -> Result<(), PipelineError> {
            self.added
                .cut_normalized(text.as_bytes(), scopes, |segment| match segment {
                    Segment::Text(range) => on_part(range, None),
                    Segment::Special(number, range) => {
                        on_part(range, Some(self.added.id_of(number)))
                    }
                });
            Ok(())
        })?;
        for step in self.pre_tokenizer.iter() {
            step.apply(mapped)?;
        }
        Ok(())
    }

    /// Passes the tokens of a text with the added tokens of its scopes. The post-processor trims their spans if `trims`.
    pub(crate) fn for_each_token(
        &self,
        text: &[u8],
        scopes: &[Scope<'_, FoundTokens>],
        trims: bool,
        state: &mut PipelineState,
        on_token: impl FnMut(PipelineToken<'_>),
    ) -> Result<(), PipelineError> {
        self.for_each_token_of(Segmentation::Best, text, scopes, trims, state, on_token)
    }

    /// Passes the tokens of a text if merges for which `skips_merge` returns true are skipped.
    pub(crate) fn for_each_sampled_token(
        &self,
        text: &[u8],
        found: &FoundTokens,
        mut skips_merge: impl FnMut() -> bool,
        trims: bool,
        state: &mut PipelineState,
        on_token: impl FnMut(PipelineToken<'_>),
    ) -> Result<(), PipelineError> {
        let sampled = Segmentation::Sampled(&mut skips_merge);
        let scopes = Scope::whole(text, found);
        self.for_each_token_of(sampled, text, &scopes, trims, state, on_token)
    }

    fn for_each_token_of(
        &self,
        mut segmentation: Segmentation<'_>,
        text: &[u8],
        scopes: &[Scope<'_, FoundTokens>],
        trims: bool,
        state: &mut PipelineState,
        on_token: impl FnMut(PipelineToken<'_>),
    ) -> Result<(), PipelineError> {
        let mut segments = Vec::new();
        self.added
            .cut_as_is(text, scopes, |segment| segments.push(segment));
        let mut pass = TokenPass {
            pipeline: self,
            text,
            word: 0,
            is_first: true,
            trims,
            on_token,
        };
        for segment in segments {
            let range = match segment {
                Segment::Special(number, span) => {
                    pass.added(self.added.id_of(number), span.clone(), &text[span]);
                    continue;
                }
                Segment::Text(range) => range,
            };
            // The rule of tokenizers for skipped merges is that of its list.
            let is_ranked = matches!(segmentation, Segmentation::Best) || self.has_byte_strings();
            if let Some(path) = self.byte_path.as_ref().filter(|_| is_ranked)
                && let Some(found) = only_found(scopes)
            {
                let raw = &text[range.clone()];
                if path.knows(raw) && self.normalizer.iter().all(|step| step.keeps(raw)) {
                    self.pass_bytes(path, &mut segmentation, range, found, state, &mut pass);
                    continue;
                }
            }
            self.cut(text, range, true, scopes, true, &mut state.text)?;
            let PipelineState {
                text: mapped,
                model,
                tokens,
                ..
            } = state;
            for part in &mapped.parts {
                let own = &mapped.text[part.range.clone()];
                if let Some(id) = part.added {
                    pass.added(id, mapped.original(part, 0..own.len()), own.as_bytes());
                    continue;
                }
                tokens.clear();
                match &mut segmentation {
                    Segmentation::Best => self.model.encode(own, model, tokens)?,
                    Segmentation::Sampled(skips_merge) => {
                        self.model.sample(own, skips_merge, model, tokens)?;
                    }
                }
                for token in &*tokens {
                    let own = token.shows_part.then(|| &own[token.range.clone()]);
                    pass.token(token.id, mapped.original(part, token.range.clone()), own);
                }
                pass.word += 1;
            }
        }
        Ok(())
    }

    /// Passes the tokens of a range of the text that the normalizer leaves as it is, by its bytes. Where
    /// a token begins or ends inside a character, its span has the whole character, unless the tokens
    /// are byte strings.
    fn pass_bytes(
        &self,
        path: &BytePath,
        segmentation: &mut Segmentation<'_>,
        range: Range<usize>,
        found: &FoundTokens,
        state: &mut PipelineState,
        pass: &mut TokenPass<'_, impl FnMut(PipelineToken<'_>)>,
    ) {
        let raw = &pass.text[range.clone()];
        let scopes = Scope::whole(raw, found);
        self.added.cut_normalized(raw, &scopes, |segment| {
            let (Segment::Special(_, own) | Segment::Text(own)) = &segment;
            let part = &raw[own.clone()];
            let start = range.start + own.start;
            if let Segment::Special(number, _) = segment {
                return pass.added(self.added.id_of(number), start..start + part.len(), part);
            }
            let with_space = path.needs_space(part).then(|| [b" ", part].concat());
            let prefix = usize::from(with_space.is_some());
            let encoded = with_space.as_deref().unwrap_or(part);
            let on_part = &mut |pretoken: Range<usize>, ids: &[PieceId]| {
                let mut at = pretoken.start;
                for id in ids {
                    let end = at + self.byte_length(*id);
                    // The space before the text belongs to the first character.
                    let first = at.saturating_sub(prefix);
                    let last = end.saturating_sub(prefix);
                    let span = match self.has_byte_strings() {
                        true => first..last,
                        false => char_start(part, first)..char_end(part, last.max(first + 1)),
                    };
                    pass.token(id.get(), start + span.start..start + span.end, None);
                    at = end;
                }
                pass.word += 1;
            };
            match segmentation {
                Segmentation::Best => path.for_each_part(encoded, state.bytes(), on_part),
                Segmentation::Sampled(skips_merge) => {
                    path.sample_each_part(encoded, *skips_merge, state.bytes(), on_part);
                }
            }
        });
    }

    /// The bytes that a token of the model stands for in a byte-level pipeline.
    fn byte_length(&self, id: PieceId) -> usize {
        match &*self.model {
            PipelineModel::Bytes(bytes) => bytes.byte_bpe().id_to_bytes(id).map_or(0, <[u8]>::len),
            model => {
                let text = model.vocabulary().text(id.get());
                text.map_or(0, |text| text.chars().count())
            }
        }
    }

    /// The span of a token after the steps that trim it.
    fn trimmed(&self, text: &[u8], span: Range<usize>, own: &str, is_first: bool) -> Range<usize> {
        let mut span = span;
        for step in self.post_processor.iter() {
            let PostProcessorStep::TrimOffsets { add_prefix_space } = step else {
                continue;
            };
            let is_space = |c: &char| *c == '\u{120}' || c.is_whitespace();
            let mut leading = own.chars().take_while(is_space).count();
            let trailing = own.chars().rev().take_while(is_space).count();
            if leading == 1 && *add_prefix_space && (is_first || span.start == 0) {
                leading = 0;
            }
            span.start = forward(text, span.start, leading).min(span.end);
            if let Some(end) = backward(text, span.end, trailing) {
                span.end = end.max(span.start);
            }
        }
        span
    }

    /// Whether the text of ids is that of their [bytes](Self::bytes_of).
    pub(crate) fn joins_bytes(&self) -> bool {
        matches!(self.decoder(), Some([DecoderStep::ByteLevel]))
    }

    /// The bytes of an id in a byte-level vocabulary.
    pub(crate) fn bytes_of(&self, id: u32) -> Option<Cow<'_, [u8]>> {
        let text = self.text_of(id)?;
        if self.has_byte_strings() {
            return Some(Cow::Borrowed(text));
        }
        let chars = std::str::from_utf8(text).unwrap_or_default().chars();
        let bytes: Option<Vec<u8>> = chars.map(byte_of).collect();
        Some(bytes.map_or(Cow::Borrowed(text), Cow::Owned))
    }

    /// The text of ids, UTF-8 unless tokens are byte strings.
    ///
    /// # Errors
    /// An id has no token, or a step of the decoder fails.
    pub(crate) fn decode(
        &self,
        ids: &[PieceId],
        skips_special: bool,
    ) -> Result<Vec<u8>, DecodeError> {
        let texts = ids.iter().map(|id| self.known_text(*id));
        let mut texts = texts.collect::<Result<Vec<_>, _>>()?;
        if skips_special {
            texts.retain(|text| !self.added.is_hidden(text));
        }
        if self.has_byte_strings() {
            return Ok(texts.concat());
        }
        let tokens = texts.into_iter();
        let tokens = tokens.filter_map(|text| std::str::from_utf8(text).ok());
        Ok(self.decode_tokens(tokens)?.into_bytes())
    }

    /// The state of a decoder that takes ids one by one.
    pub(crate) fn decoder_state(&self) -> DecoderState {
        DecoderState::new(self.decoder())
    }

    /// Appends the text that is certain after the next id; nothing if the id has no token.
    pub(crate) fn decode_next(
        &self,
        id: u32,
        state: &mut DecoderState,
        out: &mut String,
    ) -> Result<(), PipelineError> {
        match self.str_of(id) {
            Some(token) => state.push(self.decoder(), token, out),
            None => Ok(()),
        }
    }

    /// Appends the text that is left after the last id.
    pub(crate) fn decode_end(
        &self,
        state: DecoderState,
        out: &mut String,
    ) -> Result<(), PipelineError> {
        state.finish(self.decoder(), out)
    }

    /// The ids that are left out of text without special tokens.
    pub(crate) fn hidden_ids(&self) -> impl Iterator<Item = u32> {
        let listed = match &*self.model {
            PipelineModel::Unigram(unigram) => 0..unigram.scores().len(),
            _ => 0..0,
        };
        let listed = listed.filter_map(|id| u32::try_from(id).ok());
        let known = self.model.vocabulary().tokens().map(|(_, id)| id);
        let added = self.added_tokens().iter().map(|token| token.id);
        let ids = listed.chain(known).chain(added);
        ids.filter(|id| {
            let text = self.text_of(*id);
            text.is_some_and(|text| self.added.is_hidden(text))
        })
    }

    /// The text of tokens.
    pub(crate) fn decode_tokens<'t>(
        &self,
        tokens: impl IntoIterator<Item = &'t str>,
    ) -> Result<String, PipelineError> {
        let mut state = self.decoder_state();
        let mut text = String::new();
        for token in tokens {
            state.push(self.decoder(), token, &mut text)?;
        }
        state.finish(self.decoder(), &mut text)?;
        Ok(text)
    }
}

/// What all scopes find in normalized text, if that is the same in the text as a whole.
fn only_found<'s>(scopes: &[Scope<'s, FoundTokens>]) -> Option<&'s FoundTokens> {
    match scopes {
        [scope] => Some(scope.found),
        [first, ..] => {
            let mut found = scopes.iter().map(|scope| scope.found);
            (!found.any(FoundTokens::finds_in_normalized)).then_some(first.found)
        }
        [] => None,
    }
}

/// A text after the normalizer.
fn normalized(normalizer: &[NormalizerStep], text: &str) -> Result<String, PipelineError> {
    let mut mapped = MappedText::default();
    mapped.start(text.as_bytes(), 0..text.len(), true, Malformed::Replaced);
    for step in normalizer {
        step.apply(&mut mapped, true)?;
    }
    Ok(mapped.text)
}

/// The character of several bytes that a position is inside of.
fn char_around(text: &[u8], at: usize) -> Option<Range<usize>> {
    if text.get(at).is_none_or(|byte| is_char_start(*byte)) {
        return None;
    }
    let starts = (at.saturating_sub(3)..at).rev();
    let mut chars = starts.map(|start| start..start + decode_char(&text[start..]).1);
    chars.find(|char| char.end > at)
}

/// The start of the character that a byte belongs to.
fn char_start(text: &[u8], at: usize) -> usize {
    char_around(text, at).map_or(at, |char| char.start)
}

/// The end of the character that the byte before `at` belongs to.
fn char_end(text: &[u8], at: usize) -> usize {
    char_around(text, at).map_or(at, |char| char.end)
}

/// The position as many characters after `at`.
fn forward(text: &[u8], mut at: usize, chars: usize) -> usize {
    for _ in 0..chars {
        // Beyond the text, positions count characters of one byte.
        at += crate::base::char_length(text.get(at..).unwrap_or_default()).max(1);
    }
    at
}

/// The position as many characters before `at`, if there are as many.
fn backward(text: &[u8], mut at: usize, chars: usize) -> Option<usize> {
    for _ in 0..chars {
        at = char_start(text, at.checked_sub(1)?);
    }
    Some(at)
}
