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
//! | `added` | added tokens, cut out before and after normalization |
//! | `normalizer` | steps that change a text |
//! | `pre_tokenizer` | steps that cut it into parts |
//! | `model` | a part to tokens |
//! | `template` | what stands around texts, and which spans tokens have |
//! | `decoder` | steps from tokens to a text |
//! | `text` | a text on its way through the stages, with origins |
//! | `byte_path` | ids of byte-level pipelines, straight from the bytes |
//! | `chunks` | where a text can be cut before everything else, so that results can be kept |
//!
//! A [`Pipeline`] gives the ids, tokens, spans and texts of tokenizers 0.23.3, for every text. It is
//! made by a reader of files, and knows nothing of them.
//!
//! Example: `Hello world` in a model of BERT is `hello world` after the normalizer, the parts `hello`
//! and `world` after the pre-tokenizer, and one token each.

mod added;
mod bert;
mod byte_path;
mod byte_trie;
mod characters;
mod chunks;
mod classes;
mod decoder;
mod error;
mod matcher;
mod model;
mod normalizer;
mod pre_tokenizer;
mod scripts;
mod template;
#[cfg(test)]
mod tests;
mod text;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use self::added::AddedTokens;
pub(crate) use self::added::FoundTokens;
pub use self::bert::BertNormalizer;
use self::byte_path::BytePath;
use self::chunks::Chunks;
pub use self::decoder::DecoderStep;
pub use self::error::PipelineError;
pub use self::matcher::Matcher;
pub(crate) use self::matcher::MatcherTarget;
pub use self::model::{
    BpeModel, BpeOptions, ListedMerge, ModelVocabulary, PipelineModel, UnigramModel,
    WordLevelModel, WordPieceModel,
};
pub(crate) use self::model::{MergeNotInVocabulary, NoUnknownToken};
use self::model::{ModelState, ModelToken};
pub use self::normalizer::{Normalizer, PrecompiledRules, UnicodeForm};
pub use self::pre_tokenizer::{Metaspace, PreTokenizer, PrependScheme};
pub(crate) use self::template::TextEnds;
pub use self::template::{PostProcessor, Template, TemplatePart};
use self::text::{Malformed, MappedText};
use crate::base::byte_chars::byte_of;
use crate::base::is_char_start;
use crate::byte_bpe::ByteBpe;
use crate::encode::bpe::BpeCache;
use crate::encode::chunk_cache::{ChunkCache, KeyedText};
use crate::model::Model;
use crate::piece::PieceId;
use crate::special::{Segment, SpecialToken};

/// Parts of a long text that threads encode have at least so many bytes.
const MIN_PART_BYTES: usize = 128 << 10;

/// The stages of a pipeline, as plain data.
#[derive(Debug)]
pub(crate) struct PipelineParts {
    /// The added tokens, in the order of the file; their ids are found again.
    pub(crate) added_tokens: Vec<SpecialToken>,
    pub(crate) normalizer: Vec<Normalizer>,
    pub(crate) pre_tokenizer: Vec<PreTokenizer>,
    pub(crate) model: PipelineModel,
    /// The tokens of the model; more than those of the vocabulary if it has equal ones.
    pub(crate) model_size: u32,
    pub(crate) post_processor: Vec<PostProcessor>,
    /// `None`: texts of tokens are joined by spaces.
    pub(crate) decoder: Option<Vec<DecoderStep>>,
}

/// See the [module page](self).
#[derive(Debug)]
pub struct Pipeline {
    added: AddedTokens,
    normalizer: Vec<Normalizer>,
    pre_tokenizer: Vec<PreTokenizer>,
    model: PipelineModel,
    post_processor: Vec<PostProcessor>,
    decoder: Option<Vec<DecoderStep>>,
    ends: TextEnds,
    /// How ids are made of bytes, if the pipeline is byte-level.
    byte_path: Option<BytePath>,
    /// The pipeline as a byte-level vocabulary; see [`byte_bpe`](Self::byte_bpe).
    byte_bpe: OnceLock<Option<Box<ByteBpe>>>,
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
    on_token: F,
}

impl<F: FnMut(PipelineToken<'_>)> TokenPass<'_, F> {
    /// An added token, which is a part of its own; `own` is its text.
    fn added(&mut self, id: u32, span: Range<usize>, own: &str) {
        self.pass(id, span, Some(own), own);
        self.word += 1;
    }

    /// A token of the part at hand. Its text is that of its id, unless it is `own`.
    fn token(&mut self, id: u32, span: Range<usize>, own: Option<&str>) {
        let pipeline = self.pipeline;
        let known = || pipeline.model.vocabulary().text(id);
        // The text of an added token with this id can be another one.
        let own = own.or_else(|| known().filter(|_| pipeline.added.text(id).is_some()));
        let shown = own.or_else(known);
        self.pass(id, span, own, shown.unwrap_or_default());
    }

    fn pass(&mut self, id: u32, span: Range<usize>, text: Option<&str>, shown: &str) {
        let span = self.pipeline.trimmed(self.text, span, shown, self.is_first);
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

    /// The cache of the path of bytes.
    fn bytes(&mut self) -> &mut BpeCache {
        let max_bytes = self.max_cache_bytes;
        let make = || Box::new(BpeCache::with_max_bytes(max_bytes));
        self.bytes.get_or_insert_with(make)
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
    pub(crate) fn new(parts: PipelineParts) -> Result<Self, PipelineError> {
        let PipelineParts {
            added_tokens,
            normalizer,
            pre_tokenizer,
            model,
            model_size,
            post_processor,
            decoder,
        } = parts;
        let added = AddedTokens::new(added_tokens, model.vocabulary(), model_size, &normalizer)?;
        let ids = added.tokens().iter().map(|token| token.id);
        let largest = ids.chain(model.vocabulary().largest_id()).max();
        let needs_origins = normalizer.iter().any(Normalizer::may_insert_at_start);
        let depends_on_start = pre_tokenizer.iter().any(|step| {
            matches!(step, PreTokenizer::Metaspace(it) if it.prepend_scheme == PrependScheme::First)
        });
        let is_byte_level = normalizer
            .iter()
            .any(|step| matches!(step, Normalizer::ByteLevel))
            || pre_tokenizer
                .iter()
                .any(|step| matches!(step, PreTokenizer::ByteLevel { .. }));
        let byte_path = match needs_origins {
            true => None,
            false => BytePath::of(&pre_tokenizer, &model),
        };
        let mut pipeline = Self {
            malformed: match is_byte_level {
                true => Malformed::Kept,
                false => Malformed::Replaced,
            },
            byte_path,
            byte_bpe: OnceLock::new(),
            equal_model: None,
            size: largest.map_or(0, |largest| largest as usize + 1),
            found_always: added.found(|_| false, true),
            ends: TextEnds::new(&post_processor),
            added,
            normalizer,
            pre_tokenizer,
            model,
            post_processor,
            decoder,
            chunks: None,
            needs_origins,
            depends_on_start,
        };
        if pipeline.byte_path.is_none() {
            pipeline.chunks = Chunks::of(&pipeline);
        }
        Ok(pipeline)
    }

    /// A short name of the algorithm.
    pub(crate) fn model_type_name(&self) -> &'static str {
        match &self.model {
            PipelineModel::Bpe(_) if self.malformed == Malformed::Kept => "byte_bpe",
            PipelineModel::Bpe(_) => "bpe",
            PipelineModel::Unigram(_) => "unigram",
            PipelineModel::WordPiece(_) => "wordpiece",
            PipelineModel::WordLevel(_) => "word_level",
        }
    }

    /// Whether the model and the steps are of a kind that SentencePiece models have, too.
    pub(crate) fn may_equal_model(&self) -> bool {
        let is_split = |step: &PreTokenizer| {
            matches!(
                step,
                PreTokenizer::Metaspace(_) | PreTokenizer::Split { .. }
            )
        };
        matches!(
            &self.model,
            PipelineModel::Bpe(_) | PipelineModel::Unigram(_)
        ) && self.byte_path.is_none()
            && self.malformed == Malformed::Replaced
            && self.pre_tokenizer.iter().all(is_split)
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
        found: &FoundTokens,
        mut on_segment: impl FnMut(Segment),
    ) {
        self.added.cut_as_is(text, found, |segment| {
            on_segment(match segment {
                Segment::Special(number, span) => {
                    Segment::Special(self.added.id_of(number) as usize, span)
                }
                text => text,
            });
        });
    }

    /// The steps that change a text.
    pub fn normalizer(&self) -> &[Normalizer] {
        &self.normalizer
    }

    /// The steps that cut a text into parts.
    pub fn pre_tokenizer(&self) -> &[PreTokenizer] {
        &self.pre_tokenizer
    }

    /// What turns a part into tokens.
    pub fn model(&self) -> &PipelineModel {
        &self.model
    }

    /// The steps after the model.
    pub fn post_processor(&self) -> &[PostProcessor] {
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
    pub(crate) fn vocab_size(&self) -> usize {
        self.size
    }

    /// The ids before and after a text.
    pub(crate) fn text_ends(&self) -> &TextEnds {
        &self.ends
    }

    /// The text of an id: of an added token that is searched for in normalized text, its own
    /// normalized.
    pub(crate) fn text_of(&self, id: u32) -> Option<&str> {
        let added = self.added.text(id);
        added.or_else(|| self.model.vocabulary().text(id))
    }

    /// The id of a token.
    pub(crate) fn id_of(&self, text: &str) -> Option<u32> {
        let added = self.added.id(text);
        added.or_else(|| self.model.vocabulary().id(text))
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
        mapped.start(text, 0..text.len(), true, Malformed::Replaced);
        for step in &self.normalizer {
            step.apply(&mut mapped, true)?;
        }
        out.extend_from_slice(mapped.text.as_bytes());
        if let Some(origins) = origins {
            origins.extend(mapped.origins.iter().map(|origin| origin.begin));
            origins.push(text.len());
        }
        Ok(())
    }

    /// Appends the ids of a text.
    pub(crate) fn encode(
        &self,
        text: &[u8],
        found: &FoundTokens,
        state: &mut PipelineState,
        out: &mut Vec<PieceId>,
    ) -> Result<(), PipelineError> {
        let mut result = Ok(());
        self.added.cut_as_is(text, found, |segment| match segment {
            Segment::Special(number, _) => out.push(PieceId::new(self.added.id_of(number))),
            Segment::Text(range) if result.is_ok() => {
                result = self.encode_segment(text, range, found, state, out);
            }
            Segment::Text(_) => {}
        });
        result
    }

    /// Appends the ids of a part of a text without tokens that are found as they are.
    fn encode_segment(
        &self,
        text: &[u8],
        range: Range<usize>,
        found: &FoundTokens,
        state: &mut PipelineState,
        out: &mut Vec<PieceId>,
    ) -> Result<(), PipelineError> {
        if let Some(path) = &self.byte_path
            && self.encode_bytes(path, &text[range.clone()], found, state, out)?
        {
            return Ok(());
        }
        let Some(chunks) = &self.chunks else {
            return self.encode_part(text, range, true, found, state, out);
        };
        state.keep_chunks_of(found);
        let keyed = KeyedText::new(text);
        let mut start = range.start;
        while start < range.end {
            let end = chunks.end(&text[..range.end], start);
            let is_start = start == range.start;
            // Chunks that go on begin with a space. One at the start that does so can have other ids.
            let is_kept = match is_start {
                true => text[start] != b' ' && (start == 0 || !self.depends_on_start),
                false => true,
            };
            let key = keyed.key(start, end - start).filter(|_| is_kept);
            if !key.as_ref().is_some_and(|key| state.cache.get(key, out)) {
                let before = out.len();
                self.encode_part(text, start..end, is_start, found, state, out)?;
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
        let mut encode = |text: &[u8], state: &mut PipelineState| {
            self.added
                .cut_normalized(text, found, |segment| match segment {
                    Segment::Text(range) => {
                        is_complete &= path.encode(&text[range], state.bytes(), out);
                    }
                    Segment::Special(number, _) => {
                        out.push(PieceId::new(self.added.id_of(number)));
                    }
                });
        };
        if self.normalizer.iter().all(|step| step.keeps(text)) {
            encode(text, state);
        } else if std::str::from_utf8(text).is_ok() {
            let mut mapped = std::mem::take(&mut state.text);
            mapped.start(text, 0..text.len(), false, self.malformed);
            let mut steps = self.normalizer.iter();
            let normalized = steps.try_for_each(|step| step.apply(&mut mapped, true));
            if normalized.is_ok() {
                encode(mapped.text.as_bytes(), state);
            }
            state.text = mapped;
            normalized?;
        } else {
            return Ok(false);
        }
        if !is_complete {
            out.truncate(start);
        }
        Ok(is_complete)
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
        self.added
            .cut_as_is(text, found, |segment| segments.push(segment));
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
                self.encode_segment(text, range, found, state, out)?;
                continue;
            };
            let start = out.len();
            self.added
                .cut_normalized(raw, found, |segment| match segment {
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
                self.encode_segment(text, range, found, state, out)?;
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
        found: &FoundTokens,
        state: &mut PipelineState,
        out: &mut Vec<PieceId>,
    ) -> Result<(), PipelineError> {
        let tracks = self.needs_origins || (range.start == 0 && self.depends_on_start);
        self.cut(text, range, is_start, found, tracks, &mut state.text)?;
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

    /// Everything before the model.
    fn cut(
        &self,
        text: &[u8],
        range: Range<usize>,
        is_start: bool,
        found: &FoundTokens,
        tracks: bool,
        mapped: &mut MappedText,
    ) -> Result<(), PipelineError> {
        mapped.start(text, range, tracks, self.malformed);
        for step in &self.normalizer {
            step.apply(mapped, is_start)?;
        }
        mapped.cut(|text, on_part| -> Result<(), PipelineError> {
            self.added
                .cut_normalized(text.as_bytes(), found, |segment| match segment {
                    Segment::Text(range) => on_part(range, None),
                    Segment::Special(number, range) => {
                        on_part(range, Some(self.added.id_of(number)))
                    }
                });
            Ok(())
        })?;
        for step in &self.pre_tokenizer {
            step.apply(mapped)?;
        }
        Ok(())
    }

    /// Passes the tokens of a text.
    pub(crate) fn for_each_token(
        &self,
        text: &[u8],
        found: &FoundTokens,
        state: &mut PipelineState,
        on_token: impl FnMut(PipelineToken<'_>),
    ) -> Result<(), PipelineError> {
        self.for_each_token_of(Segmentation::Best, text, found, state, on_token)
    }

    /// Passes the tokens of a text if merges for which `skips_merge` returns true are skipped.
    pub(crate) fn for_each_sampled_token(
        &self,
        text: &[u8],
        found: &FoundTokens,
        mut skips_merge: impl FnMut() -> bool,
        state: &mut PipelineState,
        on_token: impl FnMut(PipelineToken<'_>),
    ) -> Result<(), PipelineError> {
        let sampled = Segmentation::Sampled(&mut skips_merge);
        self.for_each_token_of(sampled, text, found, state, on_token)
    }

    fn for_each_token_of(
        &self,
        mut segmentation: Segmentation<'_>,
        text: &[u8],
        found: &FoundTokens,
        state: &mut PipelineState,
        on_token: impl FnMut(PipelineToken<'_>),
    ) -> Result<(), PipelineError> {
        let mut segments = Vec::new();
        self.added
            .cut_as_is(text, found, |segment| segments.push(segment));
        let mut pass = TokenPass {
            pipeline: self,
            text,
            word: 0,
            is_first: true,
            on_token,
        };
        for segment in segments {
            let range = match segment {
                Segment::Special(number, span) => {
                    let own = String::from_utf8_lossy(&text[span.clone()]);
                    pass.added(self.added.id_of(number), span, &own);
                    continue;
                }
                Segment::Text(range) => range,
            };
            if let (Segmentation::Best, Some(path)) = (&segmentation, &self.byte_path) {
                let raw = &text[range.clone()];
                let is_kept = path.knows(raw) && self.normalizer.iter().all(|step| step.keeps(raw));
                if is_kept && std::str::from_utf8(raw).is_ok() {
                    self.pass_bytes(path, range, found, state, &mut pass);
                    continue;
                }
            }
            self.cut(text, range, true, found, true, &mut state.text)?;
            let PipelineState {
                text: mapped,
                model,
                tokens,
                ..
            } = state;
            for part in &mapped.parts {
                let own = &mapped.text[part.range.clone()];
                if let Some(id) = part.added {
                    pass.added(id, mapped.original(part, 0..own.len()), own);
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
    /// a token begins or ends inside a character, its span has the whole character.
    fn pass_bytes(
        &self,
        path: &BytePath,
        range: Range<usize>,
        found: &FoundTokens,
        state: &mut PipelineState,
        pass: &mut TokenPass<'_, impl FnMut(PipelineToken<'_>)>,
    ) {
        let raw = &pass.text[range.clone()];
        self.added.cut_normalized(raw, found, |segment| {
            let (Segment::Special(_, own) | Segment::Text(own)) = &segment;
            let part = &raw[own.clone()];
            let start = range.start + own.start;
            if let Segment::Special(number, _) = segment {
                let own = String::from_utf8_lossy(part);
                return pass.added(self.added.id_of(number), start..start + part.len(), &own);
            }
            let with_space = path.needs_space(part).then(|| [b" ", part].concat());
            let prefix = usize::from(with_space.is_some());
            let encoded = with_space.as_deref().unwrap_or(part);
            path.for_each_part(encoded, state.bytes(), |pretoken, ids| {
                let mut at = pretoken.start;
                for id in ids {
                    let shown = self.model.vocabulary().text(id.get()).unwrap_or_default();
                    let end = at + shown.chars().count();
                    // The space before the text belongs to the first character.
                    let first = at.saturating_sub(prefix);
                    let last = end.saturating_sub(prefix).max(first + 1);
                    let span = start + char_start(part, first)..start + char_end(part, last);
                    pass.token(id.get(), span, None);
                    at = end;
                }
                pass.word += 1;
            });
        });
    }

    /// The span of a token after the steps that trim it.
    fn trimmed(&self, text: &[u8], span: Range<usize>, own: &str, is_first: bool) -> Range<usize> {
        let mut span = span;
        for step in &self.post_processor {
            let PostProcessor::TrimOffsets { add_prefix_space } = step else {
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
    pub(crate) fn bytes_of(&self, id: u32) -> Option<Vec<u8>> {
        let text = self.text_of(id)?;
        let bytes: Option<Vec<u8>> = text.chars().map(byte_of).collect();
        Some(bytes.unwrap_or_else(|| text.as_bytes().to_vec()))
    }

    /// The text of ids; those without a token are left out.
    pub(crate) fn decode(
        &self,
        ids: impl Iterator<Item = u32>,
        skips_special: bool,
    ) -> Result<String, PipelineError> {
        let shown = ids.filter(|id| !skips_special || !self.added.is_hidden(*id));
        let tokens = shown.filter_map(|id| self.text_of(id));
        self.decode_tokens(tokens.map(str::to_owned).collect())
    }

    /// The text of tokens.
    pub(crate) fn decode_tokens(&self, mut tokens: Vec<String>) -> Result<String, PipelineError> {
        let Some(steps) = &self.decoder else {
            return Ok(tokens.join(" "));
        };
        for step in steps {
            tokens = step.apply(tokens)?;
        }
        Ok(tokens.concat())
    }
}

/// The start of the character that a byte belongs to.
fn char_start(text: &[u8], mut at: usize) -> usize {
    while at > 0 && text.get(at).is_some_and(|byte| !is_char_start(*byte)) {
        at -= 1;
    }
    at
}

/// The end of the character that the byte before `at` belongs to.
fn char_end(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(|byte| !is_char_start(*byte)) {
        at += 1;
    }
    at
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
