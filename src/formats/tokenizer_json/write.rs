//! The parts of a `tokenizer.json` as a pipeline, which is written like any other.

use std::sync::Arc;

use super::export::JsonParts;
use super::normalization::{JsonNormalizer, has_suffix, other_examples_of_rules};
use super::version_2::write_version_2;
use super::write_pipeline::write_pipeline;
use super::{JsonVersion, TokenizerJson};
use crate::base::{WHITESPACE_MARK_STR, lossy_string};
use crate::byte_bpe::SpecialToken;
use crate::formats::order::symbols_of;
use crate::formats::{FileFormat, FormatError, Place, ReasonKind, TokenRoles};
use crate::model::ModelType;
use crate::piece::PieceId;
use crate::pipeline::{
    BpeModel, BpeOptions, DecoderStep, Matcher, MergeNotInVocabulary, ModelVocabulary,
    NormalizerStep, Pipeline, PipelineError, PipelineModel, PipelineParts, PostProcessorStep,
    PrecompiledRules, SpecialTokens, Template, TemplateKind, TemplatePart, UnigramModel,
};
use crate::tokenizer::{EncodeOptions, Tokenizer, TokenizerConfig};

impl JsonParts<'_> {
    /// The file with its verdict.
    pub(super) fn into_file(
        mut self,
        version: JsonVersion,
        roles: &TokenRoles,
    ) -> Result<TokenizerJson, FormatError> {
        let pipeline = self.pipeline()?;
        let (json, reasons) = match version {
            JsonVersion::V1 => (write_pipeline(&pipeline), Vec::new()),
            JsonVersion::V2 => write_version_2(&pipeline, roles)?,
        };
        self.replace_examples(pipeline);
        self.verdict.add_all(reasons);
        Ok(TokenizerJson {
            json,
            verdict: self.verdict,
        })
    }

    /// The file; the examples of the verdict are then texts with other ids.
    pub(super) fn json(&mut self) -> Result<Vec<u8>, FormatError> {
        let pipeline = self.pipeline()?;
        let json = write_pipeline(&pipeline);
        self.replace_examples(pipeline);
        Ok(json)
    }

    /// Replaces the examples of the verdict whose ids are equal, or leaves them out: the model may have no
    /// pieces for what differs.
    fn replace_examples(&mut self, pipeline: Pipeline) {
        if !self.verdict.reasons().iter().any(|it| it.example.is_some()) {
            return;
        }
        let ours = Tokenizer::new(self.model.clone());
        let theirs = Tokenizer::from_pipeline(pipeline, TokenizerConfig::default());
        // The library finds special tokens in every text.
        let special = theirs.special_tokens().map(|(_, text)| text.to_vec());
        let options = EncodeOptions::default().with_allowed_special(special);
        let Ok(mut encoder) = theirs.encoder_with(&options) else {
            return;
        };
        let model = self.model;
        self.verdict.replace_examples(
            |text| encoder.encode(text) != ours.encode(text),
            |kind| match kind {
                ReasonKind::NormalizationRules => other_examples_of_rules(model),
                _ => Vec::new(),
            },
        );
    }

    /// The pipeline of which `tokenizers` makes the ids of the file.
    fn pipeline(&self) -> Result<Pipeline, FormatError> {
        let model = match self.model.model_type() {
            ModelType::Unigram => self.unigram()?,
            _ => self.bpe()?,
        };
        let normalizer = self.normalizers.iter().map(normalizer);
        let size = model.vocabulary().len().max(self.scores.len());
        let template = self.template().map(PostProcessorStep::Template);
        Ok(Pipeline::new(PipelineParts {
            added_tokens: self.added.iter().map(|id| self.added_token(*id)).collect(),
            normalizer: normalizer.collect::<Result<_, _>>()?,
            pre_tokenizer: Arc::default(),
            model_size: u32::try_from(size).unwrap_or(u32::MAX),
            model: Arc::new(model),
            post_processor: template.into_iter().collect(),
            decoder: Some(self.decoder().into()),
            truncation: None,
            padding: None,
        })?)
    }

    /// The added token of a piece.
    pub(super) fn added_token(&self, id: PieceId) -> SpecialToken {
        let special = self.is_special(id);
        SpecialToken {
            special,
            normalized: !special,
            ..SpecialToken::new(self.key(id), id.get())
        }
    }

    /// The template that puts BOS and EOS around texts.
    fn template(&self) -> Option<Template> {
        if self.bos.is_none() && self.eos.is_none() {
            return None;
        }
        let around = |type_id: u32| -> Vec<TemplatePart> {
            let token = |id: PieceId| TemplatePart::Special {
                tokens: SpecialTokens::one(id.get(), self.key(id)),
                type_id,
            };
            let is_second = type_id == 1;
            let text = TemplatePart::Sequence { is_second, type_id };
            let parts = [self.bos.map(token), Some(text), self.eos.map(token)];
            parts.into_iter().flatten().collect()
        };
        Some(Template {
            single: around(0),
            pair: [around(0), around(1)].concat(),
            kind: TemplateKind::Own,
        })
    }

    /// The decoder: marks become spaces, byte pieces become bytes, the dummy prefix is removed.
    fn decoder(&self) -> Vec<DecoderStep> {
        let spec = self.model.normalizer_spec();
        let mut steps = Vec::new();
        if spec.escape_whitespaces() {
            steps.push(DecoderStep::Replace {
                pattern: Matcher::text(WHITESPACE_MARK_STR),
                content: " ".to_owned(),
            });
        }
        steps.extend([DecoderStep::ByteFallback, DecoderStep::Fuse]);
        if spec.add_dummy_prefix() {
            let stop = usize::from(has_suffix(self.model));
            steps.push(DecoderStep::Strip {
                content: ' ',
                start: 1 - stop,
                stop,
            });
        }
        steps
    }

    fn bpe(&self) -> Result<PipelineModel, FormatError> {
        let options = BpeOptions {
            unknown_token: self.unknown.map(|id| self.key(id).to_owned()),
            fuse_unknown: true,
            byte_fallback: self.model.trainer_spec().byte_fallback(),
            ..BpeOptions::default()
        };
        let texts: Vec<[String; 2]> = self
            .merges
            .iter()
            .map(|merge| {
                let (left, right) = symbols_of(self.model, *merge);
                [left, right].map(lossy_string)
            })
            .collect();
        let merges = texts.iter().map(|[left, right]| [&**left, &**right]);
        let vocabulary = ModelVocabulary::new(self.keys.iter().map(|key| &**key).zip(0..));
        let bpe = BpeModel::new(vocabulary, merges, options);
        let bpe = bpe.map_err(|MergeNotInVocabulary { text, .. }| {
            FormatError::component("model.merges", format!("{text:?} is not in the vocabulary"))
        })?;
        Ok(PipelineModel::Bpe(Box::new(bpe)))
    }

    fn unigram(&self) -> Result<PipelineModel, FormatError> {
        let vocabulary = ModelVocabulary::from_list(self.keys.iter().map(|key| &**key));
        let scores = self.scores.iter().copied().map(f64::from).collect();
        let unknown = self.unknown.map(PieceId::get);
        let fallback = self.model.trainer_spec().byte_fallback();
        let unigram = UnigramModel::new(vocabulary, scores, unknown, fallback);
        let unigram = unigram.map_err(PipelineError::from)?;
        Ok(PipelineModel::Unigram(Box::new(unigram)))
    }
}

fn normalizer(normalizer: &JsonNormalizer) -> Result<NormalizerStep, FormatError> {
    Ok(match normalizer {
        JsonNormalizer::Precompiled(charsmap) => {
            let rules = PrecompiledRules::from_bytes(charsmap);
            let problem = |error| FormatError::component("normalizer", format!("{error}"));
            NormalizerStep::Precompiled(rules.map_err(problem)?)
        }
        JsonNormalizer::Regex { pattern, content } => {
            let pattern = Matcher::expression(pattern);
            NormalizerStep::Replace {
                pattern: pattern.map_err(|source| FormatError::Pattern {
                    format: FileFormat::TokenizerJson,
                    place: Place::field("normalizer"),
                    source,
                })?,
                content: content.clone(),
            }
        }
        JsonNormalizer::Text { pattern, content } => NormalizerStep::Replace {
            pattern: Matcher::text(pattern.as_str()),
            content: content.clone(),
        },
        JsonNormalizer::Prepend(text) => NormalizerStep::Prepend(text.clone()),
    })
}
