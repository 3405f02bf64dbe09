//! A `tokenizer.json` as a [`Pipeline`].
//!
//! Types of components are read as tokenizers 0.23.3 reads them: a normalizer, a pre-tokenizer or a
//! decoder by its type, or by its fields if it has none or one that is not known; a post-processor by
//! its fields alone; a model without a type by its fields.

use std::cell::Cell;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value};

use super::parse::{JsonModel, JsonPipeline, JsonVocab};
use crate::byte_bpe::SpecialToken;
use crate::formats::{FileFormat, FormatError, Place};
use crate::pattern::SplitBehavior;
use crate::piece::{MAX_PIECE_BYTES, MAX_PIECES};
use crate::pipeline::{
    BertNormalizer, BpeModel, BpeOptions, DecoderStep, EqualModel, Matcher, MergeNotInVocabulary,
    Metaspace, ModelVocabulary, NormalizerStep, Padding, Pipeline, PipelineModel, PipelineParts,
    PostProcessorStep, PreTokenizerStep, PrecompiledRules, PrependScheme, Side, SpecialTokens,
    Template, TemplateKind, TemplatePart, Truncation, TruncationStrategy, UnicodeForm,
    UnicodeVersion, UnigramModel, WordLevelModel, WordPieceModel,
};

/// Reads the text of a `tokenizer.json`.
pub(in crate::formats) fn read_pipeline(
    json: &str,
    unicode: Option<UnicodeVersion>,
) -> Result<Pipeline, FormatError> {
    JsonPipeline::parse(json)?
        .into_pipeline(unicode)
        .map(with_equal_model)
}

impl JsonPipeline<'_> {
    /// The pipeline that is described, with the normalization forms of a version of Unicode, or those of
    /// the release of tokenizers that the file is for.
    pub(in crate::formats) fn into_pipeline(
        mut self,
        unicode: Option<UnicodeVersion>,
    ) -> Result<Pipeline, FormatError> {
        let roles = self.role_to_token.take();
        let mut pipeline = Pipeline::new(self.into_parts(unicode)?)?;
        pipeline.set_roles(roles.unwrap_or_default());
        Ok(pipeline)
    }

    /// The stages of the pipeline.
    pub(super) fn into_parts(
        mut self,
        unicode: Option<UnicodeVersion>,
    ) -> Result<PipelineParts, FormatError> {
        let of_release = match self.version.as_deref() {
            None | Some("1.0") => UnicodeVersion::V9,
            Some("2.0") => {
                self.lower()?;
                UnicodeVersion::V17
            }
            Some(version) => {
                let problem =
                    format!("{version:?} is not known; it is 1.0 or 2.0 in files of tokenizers");
                return Err(FormatError::component("version", problem));
            }
        };
        let unicode = unicode.unwrap_or(of_release);
        let compiled = Cell::new(0);
        let component = |name: &str, json| PlacedComponent::new(name, json, &compiled);
        let mut normalizer = Vec::new();
        if let Some(json) = &self.normalizer {
            component("normalizer", json).read_normalizer(unicode, &mut normalizer)?;
        }
        let mut pre_tokenizer = Vec::new();
        if let Some(json) = &self.pre_tokenizer {
            component("pre_tokenizer", json).read_pre_tokenizer(&mut pre_tokenizer)?;
        }
        let mut post_processor = Vec::new();
        if let Some(json) = &self.post_processor {
            component("post_processor", json).read_post_processor(&mut post_processor)?;
        }
        let decoder = match &self.decoder {
            Some(json) => {
                let mut steps = Vec::new();
                component("decoder", json).read_decoder(&mut steps)?;
                Some(steps)
            }
            None => None,
        };
        let truncation = self.truncation.as_ref();
        let truncation = truncation.map(|json| component("truncation", json).truncation());
        let padding = self.padding.as_ref();
        let padding = padding.map(|json| component("padding", json).padding());
        let read = read_model(&self.model)?;
        let added_tokens = self.added_tokens.iter().map(|token| SpecialToken {
            text: token.content.to_string(),
            id: token.id,
            special: token.special,
            normalized: token.normalized,
            lstrip: token.lstrip,
            rstrip: token.rstrip,
            single_word: token.single_word,
        });
        Ok(PipelineParts {
            added_tokens: added_tokens.collect(),
            normalizer: normalizer.into(),
            pre_tokenizer: pre_tokenizer.into(),
            model_size: read.size,
            model: Arc::new(read.model),
            post_processor: post_processor.into(),
            decoder: decoder.map(Arc::from),
            truncation: truncation.transpose()?,
            padding: padding.transpose()?,
        })
    }
}

/// The pipeline, with the SentencePiece model that has the same ids if there is one.
pub(in crate::formats) fn with_equal_model(mut pipeline: Pipeline) -> Pipeline {
    let equal = pipeline.may_equal_model().then(|| equal_model(&pipeline));
    pipeline.set_equal_model(equal.flatten());
    pipeline
}

fn equal_model(pipeline: &Pipeline) -> Option<EqualModel> {
    let added = pipeline.added_tokens();
    let are_cut_out = added.iter().all(|token| !token.normalized);
    let are_special = added.iter().all(|token| token.special);
    // Models have no symbols that are found before normalization. That such a file equals one is not
    // worth the time that a look at each piece takes.
    if are_cut_out && !are_special {
        return None;
    }
    let exact = |added: &[SpecialToken]| {
        let converted = super::import::convert(pipeline, added);
        converted.ok()?.into_exact().ok()
    };
    if let Some(model) = exact(added) {
        return Some(EqualModel {
            model,
            has_added_tokens: true,
            serves_parts: are_cut_out && are_special,
        });
    }
    if !are_cut_out || added.is_empty() {
        return None;
    }
    // The added tokens are cut out before; between them the model alone decides.
    Some(EqualModel {
        model: exact(&[])?,
        has_added_tokens: false,
        serves_parts: true,
    })
}

/// The model of a file.
pub(super) struct ReadModel {
    pub(super) model: PipelineModel,
    /// The number of its tokens; see [`PipelineParts`].
    pub(super) size: u32,
}

pub(super) fn read_model(json: &JsonModel<'_>) -> Result<ReadModel, FormatError> {
    let model = pipeline_model(json)?;
    let size = match &json.vocab {
        Some(JsonVocab::Scores(scores)) => scores.len(),
        _ => model.vocabulary().len(),
    };
    Ok(ReadModel {
        model,
        size: u32::try_from(size).unwrap_or(u32::MAX),
    })
}

fn pipeline_model(json: &JsonModel<'_>) -> Result<PipelineModel, FormatError> {
    let missing = |field: &str| FormatError::component(format!("model.{field}"), "it is missing");
    let vocab = json.vocab.as_ref().ok_or_else(|| missing("vocab"))?;
    let largest = vocab.ids().map(|(_, id)| id).max();
    if let Some(largest) = largest.filter(|largest| *largest as usize >= MAX_PIECES) {
        let problem = format!("the id {largest} is too large; number the tokens from 0 on");
        return Err(FormatError::component("model.vocab", problem));
    }
    let is_list = matches!(vocab, JsonVocab::Scores(_));
    let has_merges = json.merges.is_given();
    let kind = match json.kind.as_deref() {
        Some(kind) => kind,
        None if is_list => "Unigram",
        None if has_merges => "BPE",
        None if json.continuing_subword_prefix.is_some() => "WordPiece",
        None => "WordLevel",
    };
    if is_list != (kind == "Unigram") {
        let expected = match kind {
            "Unigram" => "a list of pieces with scores",
            _ => "an object of tokens with ids",
        };
        let problem = format!("a model of the type {kind} has {expected} here");
        return Err(FormatError::component("model.vocab", problem));
    }
    if matches!(kind, "Unigram" | "WordPiece")
        && let Some((text, _)) = vocab.ids().find(|(text, _)| text.len() >= MAX_PIECE_BYTES)
    {
        let problem = format!(
            "a token has {} bytes, and those that texts are searched for have fewer than {MAX_PIECE_BYTES}; remove it",
            text.len()
        );
        return Err(FormatError::component("model.vocab", problem));
    }
    let text = |text: &Option<super::JsonText<'_>>| text.as_ref().map(|text| text.to_string());
    let unknown = || text(&json.unk_token).ok_or_else(|| missing("unk_token"));
    let vocabulary = || ModelVocabulary::new(vocab.ids());
    let too_large = |_| FormatError::from(crate::pipeline::PipelineError::TooLarge);
    Ok(match kind {
        "BPE" => {
            if !has_merges {
                return Err(missing("merges"));
            }
            let options = BpeOptions {
                dropout: json.dropout,
                unknown_token: text(&json.unk_token),
                continuing_subword_prefix: text(&json.continuing_subword_prefix),
                end_of_word_suffix: text(&json.end_of_word_suffix),
                fuse_unknown: json.fuse_unk.unwrap_or_default(),
                byte_fallback: json.byte_fallback.unwrap_or_default(),
                whole_parts_first: json.ignore_merges.unwrap_or_default(),
            };
            let is_merge = |merge: &&[super::JsonText<'_>; 2]| !merge[0].starts_with("#version");
            let merges = json.merges.iter().filter(is_merge);
            let merges = merges.map(|[left, right]| [&**left, &**right]);
            let bpe = BpeModel::new(vocabulary(), merges, options);
            PipelineModel::Bpe(Box::new(bpe.map_err(|error| {
                let MergeNotInVocabulary { merge, text } = error;
                let problem = format!("{text:?} is not in the vocabulary; remove the merge");
                FormatError::component(format!("model.merges[{merge}]"), problem)
            })?))
        }
        "Unigram" => {
            let scores: Vec<f64> = vocab.scores().collect();
            if json.unk_id.is_some_and(|id| id as usize >= scores.len()) {
                return Err(FormatError::component("model.unk_id", "it is no piece"));
            }
            let JsonVocab::Scores(pieces) = vocab else {
                return Err(missing("vocab"));
            };
            let vocabulary = ModelVocabulary::from_list(pieces.iter().map(|(text, _)| &**text));
            let fallback = json.byte_fallback.unwrap_or_default();
            let unigram = UnigramModel::new(vocabulary, scores, json.unk_id, fallback);
            PipelineModel::Unigram(Box::new(unigram.map_err(too_large)?))
        }
        "WordPiece" => {
            let prefix = text(&json.continuing_subword_prefix);
            let prefix = prefix.ok_or_else(|| missing("continuing_subword_prefix"))?;
            let max_chars = json.max_input_chars_per_word;
            let max_chars = max_chars.ok_or_else(|| missing("max_input_chars_per_word"))?;
            let max_chars = usize::try_from(max_chars).unwrap_or(usize::MAX);
            let wordpiece = WordPieceModel::new(vocabulary(), unknown()?, prefix, max_chars);
            PipelineModel::WordPiece(Box::new(wordpiece.map_err(too_large)?))
        }
        "WordLevel" => {
            PipelineModel::WordLevel(Box::new(WordLevelModel::new(vocabulary(), unknown()?)))
        }
        _ => {
            let problem =
                format!("{kind:?} is not known; it is BPE, Unigram, WordPiece or WordLevel");
            return Err(FormatError::component("model.type", problem));
        }
    })
}

/// A component of the file, with its place.
pub(super) struct PlacedComponent<'j> {
    place: String,
    json: &'j Value,
    /// The bytes of the compiled expressions of the file, as far as it has been read.
    compiled: &'j Cell<usize>,
}

/// Steps of a component: time and memory of a text have this factor.
const MAX_STEPS: usize = 1000;
/// Bytes of the compiled expressions of a file.
const MAX_COMPILED: usize = 64 << 20;

impl<'j> PlacedComponent<'j> {
    pub(super) fn new(
        place: impl Into<String>,
        json: &'j Value,
        compiled: &'j Cell<usize>,
    ) -> Self {
        Self {
            place: place.into(),
            json,
            compiled,
        }
    }

    /// The next of the steps of a component.
    fn push<S>(&self, steps: &mut Vec<S>, step: S) -> Result<(), FormatError> {
        if steps.len() >= MAX_STEPS {
            return Err(self.error(format!(
                "it is step {}, and a component has {MAX_STEPS} at most; leave some out",
                steps.len() + 1
            )));
        }
        steps.push(step);
        Ok(())
    }

    fn error(&self, problem: impl Into<String>) -> FormatError {
        FormatError::component(&*self.place, problem)
    }

    fn kind(&self) -> &'j str {
        self.json
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    fn object(&self) -> Result<&'j Map<String, Value>, FormatError> {
        self.json
            .as_object()
            .ok_or_else(|| self.error("it is no object"))
    }

    fn has(&self, fields: &[&str]) -> bool {
        fields.iter().all(|field| self.json.get(field).is_some())
    }

    fn field(&self, name: &str) -> Result<Self, FormatError> {
        let place = format!("{}.{name}", self.place);
        match self.json.get(name) {
            Some(json) => Ok(Self {
                place,
                json,
                compiled: self.compiled,
            }),
            None => Err(FormatError::component(place, "it is missing")),
        }
    }

    /// A field that may be missing or null.
    fn optional(&self, name: &str) -> Option<Self> {
        self.field(name).ok().filter(|field| !field.json.is_null())
    }

    fn bool(&self) -> Result<bool, FormatError> {
        self.json
            .as_bool()
            .ok_or_else(|| self.error("it is neither true nor false"))
    }

    fn text(&self) -> Result<&'j str, FormatError> {
        self.json
            .as_str()
            .ok_or_else(|| self.error("it is no text"))
    }

    fn char(&self) -> Result<char, FormatError> {
        let mut chars = self.text()?.chars();
        match (chars.next(), chars.next()) {
            (Some(c), None) => Ok(c),
            _ => Err(self.error("it is not one character")),
        }
    }

    fn number(&self) -> Result<u64, FormatError> {
        self.json
            .as_u64()
            .ok_or_else(|| self.error("it is no number, or negative"))
    }

    fn id(&self) -> Result<u32, FormatError> {
        let id = u32::try_from(self.number()?).ok();
        let id = id.filter(|id| (*id as usize) < MAX_PIECES);
        id.ok_or_else(|| self.error("the id is too large"))
    }

    fn size(&self) -> Result<usize, FormatError> {
        Ok(usize::try_from(self.number()?).unwrap_or(usize::MAX))
    }

    fn elements(&self) -> Result<impl Iterator<Item = Self> + use<'j>, FormatError> {
        let elements = self
            .json
            .as_array()
            .ok_or_else(|| self.error("it is no list"))?;
        let (place, compiled) = (self.place.clone(), self.compiled);
        let elements = elements.iter().enumerate();
        Ok(elements.map(move |(at, json)| Self::new(format!("{place}[{at}]"), json, compiled)))
    }

    /// A text or an expression.
    fn matcher(&self) -> Result<Matcher, FormatError> {
        if let Some(text) = self.optional("String") {
            return Ok(Matcher::text(text.text()?));
        }
        let expression = self.field("Regex")?;
        let made = Matcher::expression(expression.text()?);
        let matcher = made.map_err(|source| FormatError::Pattern {
            format: FileFormat::TokenizerJson,
            place: Place::Field(expression.place.clone()),
            source,
        })?;
        let compiled = self.compiled.get() + matcher.memory_usage();
        if compiled > MAX_COMPILED {
            return Err(expression.error(format!(
                "with it the expressions of the file need more than {MAX_COMPILED} bytes when they are compiled; repeat less \
                 in them, or leave some out"
            )));
        }
        self.compiled.set(compiled);
        Ok(matcher)
    }

    fn behavior(&self) -> Result<SplitBehavior, FormatError> {
        match self.text()? {
            "Removed" => Ok(SplitBehavior::Removed),
            "Isolated" => Ok(SplitBehavior::Isolated),
            "MergedWithPrevious" => Ok(SplitBehavior::MergedWithPrevious),
            "MergedWithNext" => Ok(SplitBehavior::MergedWithNext),
            "Contiguous" => Ok(SplitBehavior::Contiguous),
            other => Err(self.error(format!(
                "{other:?} is not known; it is Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous"
            ))),
        }
    }

    fn side(&self) -> Result<Side, FormatError> {
        match self.text()? {
            "Left" => Ok(Side::Left),
            "Right" => Ok(Side::Right),
            other => Err(self.error(format!("{other:?} is not known; it is Left or Right"))),
        }
    }

    fn truncation(&self) -> Result<Truncation, FormatError> {
        self.object()?;
        let strategy = self.field("strategy")?;
        Ok(Truncation {
            max_length: self.field("max_length")?.size()?,
            strategy: match strategy.text()? {
                "LongestFirst" => TruncationStrategy::LongestFirst,
                "OnlyFirst" => TruncationStrategy::OnlyFirst,
                "OnlySecond" => TruncationStrategy::OnlySecond,
                other => {
                    return Err(strategy.error(format!(
                        "{other:?} is not known; it is LongestFirst, OnlyFirst or OnlySecond"
                    )));
                }
            },
            stride: self.field("stride")?.size()?,
            // Files of old versions cut off the end, and do not say so.
            direction: match self.field("direction") {
                Ok(direction) => direction.side()?,
                Err(_) => Side::Right,
            },
        })
    }

    fn padding(&self) -> Result<Padding, FormatError> {
        self.object()?;
        let strategy = self.field("strategy")?;
        let fixed_length = match strategy.json.as_str() {
            Some("BatchLongest") => None,
            Some(other) => {
                return Err(strategy.error(format!(
                    "{other:?} is not known; it is BatchLongest or an object with Fixed"
                )));
            }
            None => Some(strategy.field("Fixed")?.size()?),
        };
        let u32_of = |name: &str| {
            let field = self.field(name)?;
            let number = u32::try_from(field.number()?);
            number.map_err(|_| field.error("it is 2^32 or more"))
        };
        let multiple = self.optional("pad_to_multiple_of");
        Ok(Padding {
            fixed_length,
            direction: self.field("direction")?.side()?,
            pad_to_multiple_of: multiple.map(|multiple| multiple.size()).transpose()?,
            pad_id: u32_of("pad_id")?,
            pad_type_id: u32_of("pad_type_id")?,
            pad_token: self.field("pad_token")?.text()?.to_owned(),
        })
    }

    fn unknown_type(&self) -> FormatError {
        match self.kind() {
            "" => self.error("it has no type, and no known fields"),
            kind => self.error(format!(
                "the type {kind:?} is not one of tokenizers 0.23; save the file with that release"
            )),
        }
    }

    pub(super) fn read_normalizer(
        &self,
        unicode: UnicodeVersion,
        steps: &mut Vec<NormalizerStep>,
    ) -> Result<(), FormatError> {
        self.object()?;
        let form = |form| NormalizerStep::Unicode(form, unicode);
        let step = match self.kind() {
            "Sequence" => {
                let elements = self.field("normalizers")?.elements()?;
                return { elements }
                    .try_for_each(|element| element.read_normalizer(unicode, steps));
            }
            "StripAccents" => NormalizerStep::StripAccents,
            "NFC" => form(UnicodeForm::Nfc),
            "NFD" => form(UnicodeForm::Nfd),
            "NFKC" => form(UnicodeForm::Nfkc),
            "NFKD" => form(UnicodeForm::Nfkd),
            "Lowercase" => NormalizerStep::Lowercase,
            "Nmt" => NormalizerStep::Nmt,
            "ByteLevel" => NormalizerStep::ByteLevel,
            // From here on by the fields: a type does not count.
            kind if kind == "Bert"
                || self.has(&["clean_text", "handle_chinese_chars", "lowercase"]) =>
            {
                let strip_accents = self.optional("strip_accents");
                let bert = BertNormalizer {
                    clean_text: self.field("clean_text")?.bool()?,
                    handle_chinese_chars: self.field("handle_chinese_chars")?.bool()?,
                    strip_accents: strip_accents.map(|field| field.bool()).transpose()?,
                    lowercase: self.field("lowercase")?.bool()?,
                };
                NormalizerStep::Bert(bert, unicode)
            }
            kind if kind == "Strip" || self.has(&["strip_left", "strip_right"]) => {
                NormalizerStep::Strip {
                    left: self.field("strip_left")?.bool()?,
                    right: self.field("strip_right")?.bool()?,
                }
            }
            kind if kind == "Precompiled" || self.has(&["precompiled_charsmap"]) => {
                let charsmap = self.field("precompiled_charsmap")?;
                let bytes = BASE64_STANDARD.decode(charsmap.text()?);
                let bytes = bytes.map_err(|error| charsmap.error(error.to_string()))?;
                let rules = PrecompiledRules::from_bytes(&bytes);
                NormalizerStep::Precompiled(
                    rules.map_err(|error| charsmap.error(error.to_string()))?,
                )
            }
            kind if kind == "Replace" || self.has(&["pattern", "content"]) => {
                NormalizerStep::Replace {
                    pattern: self.field("pattern")?.matcher()?,
                    content: self.field("content")?.text()?.to_owned(),
                }
            }
            kind if kind == "Prepend" || self.has(&["prepend"]) => {
                NormalizerStep::Prepend(self.field("prepend")?.text()?.to_owned())
            }
            _ => return Err(self.unknown_type()),
        };
        self.push(steps, step)
    }

    pub(super) fn read_pre_tokenizer(
        &self,
        steps: &mut Vec<PreTokenizerStep>,
    ) -> Result<(), FormatError> {
        self.object()?;
        let step = match self.kind() {
            "Sequence" => {
                let elements = self.field("pretokenizers")?.elements()?;
                return { elements }.try_for_each(|element| element.read_pre_tokenizer(steps));
            }
            "BertPreTokenizer" => PreTokenizerStep::Bert,
            "ByteLevel" => PreTokenizerStep::ByteLevel {
                add_prefix_space: self.field("add_prefix_space")?.bool()?,
                use_regex: self.optional_bool("use_regex", true)?,
            },
            "CharDelimiterSplit" | "Delimiter" => {
                PreTokenizerStep::CharDelimiter(self.field("delimiter")?.char()?)
            }
            "Metaspace" => PreTokenizerStep::Metaspace(self.metaspace()?),
            "Whitespace" => PreTokenizerStep::Whitespace,
            "WhitespaceSplit" => PreTokenizerStep::WhitespaceSplit,
            "Split" => PreTokenizerStep::Split {
                pattern: self.field("pattern")?.matcher()?,
                behavior: self.field("behavior")?.behavior()?,
                invert: self.field("invert")?.bool()?,
            },
            "Punctuation" => PreTokenizerStep::Punctuation(match self.optional("behavior") {
                Some(behavior) => behavior.behavior()?,
                None => SplitBehavior::Isolated,
            }),
            "Digits" => PreTokenizerStep::Digits {
                individual: self.field("individual_digits")?.bool()?,
            },
            "UnicodeScripts" => PreTokenizerStep::UnicodeScripts,
            "FixedLength" => {
                let length = self.optional("length").map(|length| length.size());
                let length = length.transpose()?.unwrap_or(5);
                if length == 0 {
                    return Err(self
                        .field("length")?
                        .error("it is 0; parts have characters"));
                }
                PreTokenizerStep::FixedLength(length)
            }
            _ => return Err(self.unknown_type()),
        };
        self.push(steps, step)
    }

    fn optional_bool(&self, name: &str, default: bool) -> Result<bool, FormatError> {
        match self.optional(name) {
            Some(field) => field.bool(),
            None => Ok(default),
        }
    }

    fn metaspace(&self) -> Result<Metaspace, FormatError> {
        let mut prepend_scheme = match self.optional("prepend_scheme") {
            None => PrependScheme::Always,
            Some(scheme) => match scheme.text()? {
                "first" => PrependScheme::First,
                "never" => PrependScheme::Never,
                "always" => PrependScheme::Always,
                other => return Err(scheme.error(format!("{other:?} is not known"))),
            },
        };
        if !self.optional_bool("add_prefix_space", true)? {
            if self.has(&["prepend_scheme"]) && prepend_scheme != PrependScheme::Never {
                return Err(self.error("add_prefix_space and prepend_scheme contradict each other"));
            }
            prepend_scheme = PrependScheme::Never;
        }
        Ok(Metaspace {
            replacement: self.field("replacement")?.char()?,
            prepend_scheme,
            split: self.optional_bool("split", true)?,
        })
    }

    pub(super) fn read_post_processor(
        &self,
        steps: &mut Vec<PostProcessorStep>,
    ) -> Result<(), FormatError> {
        self.object()?;
        if self.has(&["sep", "cls"]) {
            let [sep, cls] = [self.field("sep")?, self.field("cls")?].map(|field| field.token());
            let (sep, cls) = (sep?, cls?);
            let is_roberta = self.has(&["trim_offsets", "add_prefix_space"]);
            if is_roberta && self.field("trim_offsets")?.bool()? {
                let add_prefix_space = self.field("add_prefix_space")?.bool()?;
                self.push(steps, PostProcessorStep::TrimOffsets { add_prefix_space })?;
            }
            let template = bert_template(&cls, &sep, is_roberta);
            return self.push(steps, PostProcessorStep::Template(template));
        }
        let is_template = self.has(&["single", "pair", "special_tokens"]);
        let is_byte_level = self.has(&["add_prefix_space", "trim_offsets"]);
        match self.kind() {
            "ByteLevel" if is_byte_level || !is_template => {
                if self.field("trim_offsets")?.bool()? {
                    let add_prefix_space = self.field("add_prefix_space")?.bool()?;
                    self.push(steps, PostProcessorStep::TrimOffsets { add_prefix_space })?;
                } else {
                    self.push(steps, PostProcessorStep::NumberSequences)?;
                }
            }
            _ if is_template => {
                let template = Template {
                    single: self.template("single")?,
                    pair: self.template("pair")?,
                    kind: TemplateKind::Own,
                };
                self.push(steps, PostProcessorStep::Template(template))?;
            }
            "Sequence" => {
                let mut elements = self.field("processors")?.elements()?;
                elements.try_for_each(|element| element.read_post_processor(steps))?;
                if steps.is_empty() {
                    self.push(steps, PostProcessorStep::NumberSequences)?;
                }
            }
            _ => return Err(self.unknown_type()),
        }
        Ok(())
    }

    /// A token of `sep` and `cls`.
    fn token(&self) -> Result<(String, u32), FormatError> {
        let mut elements = self.elements()?;
        match [elements.next(), elements.next(), elements.next()] {
            [Some(text), Some(id), None] => Ok((text.text()?.to_owned(), id.id()?)),
            _ => Err(self.error("it is not a text and an id")),
        }
    }

    fn template(&self, name: &str) -> Result<Vec<TemplatePart>, FormatError> {
        let special = self.field("special_tokens")?;
        let read = |part: PlacedComponent<'_>| {
            if let Some(sequence) = part.optional("Sequence") {
                let id = sequence.field("id")?;
                let is_second = match id.text()? {
                    "A" => false,
                    "B" if name == "pair" => true,
                    "B" => return Err(id.error("there is no second text")),
                    _ => return Err(id.error("it is neither A nor B")),
                };
                let type_id = sequence.field("type_id")?.id()?;
                return Ok(TemplatePart::Sequence { is_second, type_id });
            }
            let token = part.field("SpecialToken")?;
            let found = special.field(token.field("id")?.text()?)?;
            let ids = found.field("ids")?.elements()?.map(|id| id.id());
            let texts = found.field("tokens")?.elements()?;
            let texts = texts.map(|text| text.text().map(str::to_owned));
            Ok(TemplatePart::Special {
                tokens: Arc::new(SpecialTokens {
                    ids: ids.collect::<Result<_, _>>()?,
                    texts: texts.collect::<Result<_, _>>()?,
                }),
                type_id: token.field("type_id")?.id()?,
            })
        };
        self.field(name)?.elements()?.map(read).collect()
    }

    pub(super) fn read_decoder(&self, steps: &mut Vec<DecoderStep>) -> Result<(), FormatError> {
        self.object()?;
        let step = match self.kind() {
            "Sequence" => {
                let elements = self.field("decoders")?.elements()?;
                return { elements }.try_for_each(|element| element.read_decoder(steps));
            }
            "ByteLevel" => DecoderStep::ByteLevel,
            "Fuse" => DecoderStep::Fuse,
            "ByteFallback" => DecoderStep::ByteFallback,
            "Metaspace" => {
                let metaspace = self.metaspace()?;
                DecoderStep::Metaspace {
                    replacement: metaspace.replacement,
                    strips_first: metaspace.prepend_scheme != PrependScheme::Never,
                }
            }
            kind if kind == "BPEDecoder" || self.has(&["suffix"]) => DecoderStep::Bpe {
                suffix: self.field("suffix")?.text()?.to_owned(),
            },
            kind if kind == "WordPiece" || self.has(&["prefix", "cleanup"]) => {
                DecoderStep::WordPiece {
                    prefix: self.field("prefix")?.text()?.to_owned(),
                    cleanup: self.field("cleanup")?.bool()?,
                }
            }
            kind if kind == "CTC"
                || self.has(&["pad_token", "word_delimiter_token", "cleanup"]) =>
            {
                DecoderStep::Ctc {
                    pad_token: self.field("pad_token")?.text()?.to_owned(),
                    word_delimiter_token: self.field("word_delimiter_token")?.text()?.to_owned(),
                    cleanup: self.field("cleanup")?.bool()?,
                }
            }
            kind if kind == "Replace" || self.has(&["pattern", "content"]) => {
                DecoderStep::Replace {
                    pattern: self.field("pattern")?.matcher()?,
                    content: self.field("content")?.text()?.to_owned(),
                }
            }
            kind if kind == "Strip" || self.has(&["content", "start", "stop"]) => {
                DecoderStep::Strip {
                    content: self.field("content")?.char()?,
                    start: self.field("start")?.size()?,
                    stop: self.field("stop")?.size()?,
                }
            }
            _ => return Err(self.unknown_type()),
        };
        self.push(steps, step)
    }
}

/// The templates of BERT and RoBERTa.
fn bert_template(cls: &(String, u32), sep: &(String, u32), is_roberta: bool) -> Template {
    let special = |(text, id): &(String, u32), type_id| TemplatePart::Special {
        tokens: SpecialTokens::one(*id, text),
        type_id,
    };
    let sequence = |is_second, type_id| TemplatePart::Sequence { is_second, type_id };
    let single = vec![special(cls, 0), sequence(false, 0), special(sep, 0)];
    let mut pair = single.clone();
    match is_roberta {
        true => pair.extend([special(sep, 0), sequence(true, 0), special(sep, 0)]),
        false => pair.extend([sequence(true, 1), special(sep, 1)]),
    }
    let kind = match is_roberta {
        true => TemplateKind::Roberta,
        false => TemplateKind::Bert,
    };
    Template { single, pair, kind }
}
