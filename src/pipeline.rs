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
//! | `chunks` | where a text can be cut before everything else, so that results can be kept |
//!
//! A [`Pipeline`] gives the ids, tokens, spans and texts of tokenizers 0.23.3, for every text. It is
//! made by a reader of files, and knows nothing of them.
//!
//! Example: `Hello world` in a model of BERT is `hello world` after the normalizer, the parts `hello`
//! and `world` after the pre-tokenizer, and one token each.

mod added;
mod byte_trie;
mod characters;
mod chunks;
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

use std::ops::Range;
use std::sync::Arc;

use self::added::AddedTokens;
pub(crate) use self::added::FoundTokens;
use self::chunks::Chunks;
pub use self::decoder::DecoderStep;
pub use self::error::PipelineError;
pub use self::matcher::Matcher;
pub use self::model::{
    BpeModel, BpeOptions, ModelVocabulary, PipelineModel, UnigramModel, WordLevelModel,
    WordPieceModel,
};
pub(crate) use self::model::{MergeNotInVocabulary, NoUnknownToken};
use self::model::{ModelState, ModelToken};
pub use self::normalizer::{Normalizer, PrecompiledRules, UnicodeForm};
pub use self::pre_tokenizer::{Metaspace, PreTokenizer, PrependScheme};
pub(crate) use self::template::TextEnds;
pub use self::template::{PostProcessor, Template, TemplatePart};
use self::text::{MappedText, Part};
use crate::base::byte_chars::byte_of;
use crate::encode::chunk_cache::{ChunkCache, KeyedText};
use crate::piece::PieceId;
use crate::special::{Segment, SpecialToken};

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
    /// Where texts can be cut before everything else, if they can.
    chunks: Option<Chunks>,
    /// Whether the ids of a text depend on the origins of its bytes.
    needs_origins: bool,
    /// Whether the ids of a text depend on whether it is the start of the caller's text.
    depends_on_start: bool,
    /// One more than the largest id.
    size: usize,
    /// The added tokens that are found without being allowed.
    found_always: FoundTokens,
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

/// The buffers of a worker.
#[derive(Debug, Default)]
pub(crate) struct PipelineState {
    text: MappedText,
    model: ModelState,
    tokens: Vec<ModelToken>,
    cache: ChunkCache,
    /// The ids of parts, as the model gets them.
    parts: ChunkCache,
    /// The most bytes of the cache.
    max_cache_bytes: usize,
    /// The tokens that are found in the chunks of the cache.
    found: Arc<[bool]>,
}

impl PipelineState {
    /// Empties the cache if other tokens are found now.
    fn keep_chunks_of(&mut self, found: &FoundTokens) {
        let found = found.in_normalized();
        if !Arc::ptr_eq(found, &self.found) && **found != *self.found {
            self.cache = ChunkCache::with_max_bytes(self.max_cache_bytes);
        }
        self.found = Arc::clone(found);
    }

    /// A state whose cache uses at most `max_bytes`.
    pub(crate) fn with_max_bytes(max_bytes: usize) -> Self {
        Self {
            cache: ChunkCache::with_max_bytes(max_bytes / 2),
            parts: ChunkCache::with_max_bytes(max_bytes / 2),
            max_cache_bytes: max_bytes / 2,
            ..Self::default()
        }
    }

    /// The bytes of memory in use.
    pub(crate) fn memory_usage(&self) -> usize {
        let tokens = self.tokens.capacity() * size_of::<ModelToken>();
        self.cache.size_bytes() + self.parts.size_bytes() + self.text.memory_usage() + tokens
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
        let mut pipeline = Self {
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
        pipeline.chunks = Chunks::of(&pipeline);
        Ok(pipeline)
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
        mapped.start(text, 0..text.len(), true);
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
        mapped.start(text, range, tracks);
        for step in &self.normalizer {
            step.apply(mapped, is_start)?;
        }
        mapped.cut(|text, on_part| -> Result<(), PipelineError> {
            self.added
                .cut_normalized(text, found, |segment| match segment {
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
        mut on_token: impl FnMut(PipelineToken<'_>),
    ) -> Result<(), PipelineError> {
        let mut segments = Vec::new();
        self.added
            .cut_as_is(text, found, |segment| segments.push(segment));
        let mut word = 0;
        let mut is_first = true;
        let mut pass = |token: PipelineToken<'_>, own: &str| {
            let span = self.trimmed(text, token.span, own, is_first);
            is_first = false;
            on_token(PipelineToken { span, ..token });
        };
        for segment in segments {
            let range = match segment {
                Segment::Special(number, span) => {
                    let id = self.added.id_of(number);
                    let own = String::from_utf8_lossy(&text[span.clone()]);
                    let token = PipelineToken {
                        id,
                        span,
                        word,
                        text: Some(&own),
                    };
                    pass(token, &own);
                    word += 1;
                    continue;
                }
                Segment::Text(range) => range,
            };
            self.cut(text, range, true, found, true, &mut state.text)?;
            let PipelineState {
                text: mapped,
                model,
                tokens,
                ..
            } = state;
            for part in &mapped.parts {
                self.pass_part(mapped, part, model, tokens, word, &mut pass)?;
                word += 1;
            }
        }
        Ok(())
    }

    /// Passes the tokens of a part.
    fn pass_part(
        &self,
        mapped: &MappedText,
        part: &Part,
        model: &mut ModelState,
        tokens: &mut Vec<ModelToken>,
        word: u32,
        pass: &mut impl FnMut(PipelineToken<'_>, &str),
    ) -> Result<(), PipelineError> {
        let text = &mapped.text[part.range.clone()];
        if let Some(id) = part.added {
            let span = mapped.original(part, 0..text.len());
            pass(
                PipelineToken {
                    id,
                    span,
                    word,
                    text: Some(text),
                },
                text,
            );
            return Ok(());
        }
        tokens.clear();
        self.model.encode(text, model, tokens)?;
        for token in &*tokens {
            let known = || self.model.vocabulary().text(token.id);
            let own = match token.shows_part {
                true => Some(&text[token.range.clone()]),
                // The text of an added token with this id can be another one.
                false => known().filter(|_| self.added.text(token.id).is_some()),
            };
            let shown = own.or_else(known);
            let span = mapped.original(part, token.range.clone());
            let token = PipelineToken {
                id: token.id,
                span,
                word,
                text: own,
            };
            pass(token, shown.unwrap_or_default());
        }
        Ok(())
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
        at = at.checked_sub(1)?;
        while at > 0
            && text
                .get(at)
                .is_some_and(|byte| !crate::base::is_char_start(*byte))
        {
            at -= 1;
        }
    }
    Some(at)
}
