//! N-best lists, random segmentations, and the entropy of segmentations.
//!
//! Unigram models list and sample
//! segmentations of a lattice (see [`encode::unigram`](crate::encode::unigram)); BPE models skip
//! merges at random; word and char models have a single segmentation. This module checks the
//! options, normalizes the text with origins and assigns spans.

use std::time::Instant;

use super::cache::{CacheParts, EncodeCache, TextBuffers};
use super::context::EncodeContext;
use super::model_tables::ModelContext;
use super::options::{
    SampleOptions, SampleReplacement, ScoredSampleOptions, check_alpha, check_nbest_size,
};
use super::tables::TablesRef;
use super::tokens::Tokens;
use crate::base::rng::Rng;
use crate::encode::EncodeError;
use crate::encode::ModelEncoder;
use crate::encode::bpe::DropoutText;
use crate::encode::unigram::UnigramEncoder;
use crate::encode::unigram::nbest::NbestRequest;
use crate::encode::unigram::sample::draw;
use crate::encode::unigram::scored_sample::{ScoredMethod, ScoredRequest};
#[cfg(feature = "formats")]
use crate::model::ModelType;
use crate::piece::PieceId;
#[cfg(feature = "formats")]
use crate::pipeline::PipelineToken;

impl<'t> EncodeContext<'t> {
    /// Calls `visit` with the score and the tokens of each of the best segmentations.
    pub(super) fn for_each_nbest(
        &self,
        cache: &mut EncodeCache,
        text: &[u8],
        size: usize,
        visit: impl FnMut(f32, Tokens<'_>),
    ) -> Result<(), EncodeError> {
        let Some((model, unigram)) = self.unigram() else {
            return Err(EncodeError::NoNbest);
        };
        check_nbest_size(size)?;
        let CacheParts { state, buffers, .. } = self.tables.pool().parts_of(cache);
        model.normalize_with_offsets(buffers, text);
        let request = self.nbest_request(size);
        let best = unigram.best(&buffers.normalized, request, &mut state.unigram)?;
        self.visit_each(&model, buffers, text, best, visit);
        Ok(())
    }

    /// Calls `visit` with the score and the tokens of each segmentation of the normalized text.
    fn visit_each(
        &self,
        model: &ModelContext<'_>,
        buffers: &mut TextBuffers,
        text: &[u8],
        segmentations: Vec<(Vec<PieceId>, f32)>,
        mut visit: impl FnMut(f32, Tokens<'_>),
    ) {
        for (ids, score) in segmentations {
            buffers.unresolved = ids;
            buffers.tokens.clear();
            model.assign_spans(buffers, 0);
            visit(score, self.finish(buffers, text));
        }
    }

    /// Calls `visit` with the score and the tokens of each of several random segmentations.
    pub(super) fn for_each_scored_sample(
        &self,
        cache: &mut EncodeCache,
        text: &[u8],
        (options, rng): (&ScoredSampleOptions, &mut Rng),
        visit: impl FnMut(f32, Tokens<'_>),
    ) -> Result<(), EncodeError> {
        let what = "samples with scores";
        let unigram = self.unigram().ok_or(EncodeError::NoProbabilities { what });
        let (model, unigram) = unigram?;
        check_alpha(options.alpha)?;
        let CacheParts { buffers, .. } = self.tables.pool().parts_of(cache);
        model.normalize_with_offsets(buffers, text);
        let request = ScoredRequest {
            samples: options.samples,
            alpha: options.alpha,
            method: match options.replacement {
                SampleReplacement::With => ScoredMethod::WithReplacement,
                SampleReplacement::Without {
                    include_best: false,
                } => ScoredMethod::WithoutReplacement,
                SampleReplacement::Without { include_best: true } => ScoredMethod::WithBest,
            },
        };
        let drawn = unigram.sample_with_scores(&buffers.normalized, request, &mut rng.0)?;
        self.visit_each(&model, buffers, text, drawn, visit);
        Ok(())
    }

    /// The entropy of the segmentations of a text.
    pub(super) fn entropy(
        &self,
        cache: &mut EncodeCache,
        text: &[u8],
        alpha: f32,
    ) -> Result<f32, EncodeError> {
        let what = "an entropy of segmentations";
        let unigram = self.unigram().ok_or(EncodeError::NoProbabilities { what });
        let (_, unigram) = unigram?;
        check_alpha(alpha)?;
        unigram.entropy(self.normalize(cache, text), alpha)
    }

    /// The model and its encoder, if it is a unigram model.
    fn unigram(&self) -> Option<(ModelContext<'t>, &'t UnigramEncoder)> {
        match self.tables {
            TablesRef::Model(model) => match &model.stages.encoder {
                ModelEncoder::Unigram(unigram) => Some((model, unigram)),
                _ => None,
            },
            #[cfg(feature = "formats")]
            TablesRef::Pipeline(_) => None,
        }
    }

    /// The search for `size` segmentations; its time begins now.
    fn nbest_request(&self, size: usize) -> NbestRequest {
        NbestRequest {
            size,
            deadline: self.deadline(),
        }
    }

    /// The time at which a search that begins now has to end; `None` without a limit.
    fn deadline(&self) -> Option<Instant> {
        let timeout = self.options.nbest_timeout?;
        Instant::now().checked_add(timeout)
    }

    /// The tokens of a random segmentation.
    pub(super) fn sample<'e>(
        &self,
        cache: &'e mut EncodeCache,
        text: &'e [u8],
        options: &SampleOptions,
        rng: &mut Rng,
    ) -> Result<Tokens<'e>, EncodeError>
    where
        't: 'e,
    {
        options.check()?;
        let parts = self.tables.pool().parts_of(cache);
        parts.buffers.tokens.clear();
        match (self.tables, *options) {
            (TablesRef::Model(model), _) => {
                model.normalize_with_offsets(&mut parts.buffers, text);
                parts.buffers.unresolved.clear();
                self.draw_ids(&model, parts, options, rng)?;
                model.assign_spans(&mut parts.buffers, 0);
            }
            #[cfg(feature = "formats")]
            (TablesRef::Pipeline(tables), _) if !tables.pipeline.has_merges() => {
                return Err(EncodeError::NoSampling);
            }
            #[cfg(feature = "formats")]
            (TablesRef::Pipeline(tables), SampleOptions::Dropout { probability }) => {
                let skips_merge = || rng.0.unit() < f64::from(probability);
                let found = self.found(tables);
                let CacheParts {
                    buffers, pipeline, ..
                } = parts;
                let push = |token: PipelineToken<'_>| buffers.tokens.push_pipeline_token(token);
                let sampled = (tables.pipeline).for_each_sampled_token(
                    text,
                    found,
                    skips_merge,
                    !self.options.untrimmed_spans,
                    pipeline,
                    push,
                );
                sampled?;
            }
            #[cfg(feature = "formats")]
            (TablesRef::Pipeline(_), _) => {
                let model_type = ModelType::Bpe;
                return Err(EncodeError::WrongSampling { model_type });
            }
        }
        Ok(self.finish(&mut parts.buffers, text))
    }

    /// Appends the ids of a random segmentation of the normalized text.
    fn draw_ids(
        &self,
        model: &ModelContext<'_>,
        parts: &mut CacheParts,
        options: &SampleOptions,
        rng: &mut Rng,
    ) -> Result<(), EncodeError> {
        let CacheParts { state, buffers, .. } = parts;
        let text = &buffers.normalized;
        let ids = &mut buffers.unresolved;
        match (&model.stages.encoder, *options) {
            (ModelEncoder::Bpe(bpe), SampleOptions::Dropout { probability }) => {
                let pieces = model.tables.model().table();
                let dropout = DropoutText {
                    text,
                    skips_merge: || rng.0.unit() < f64::from(probability),
                };
                bpe.sample(pieces, dropout, &mut state.bpe, ids);
            }
            (ModelEncoder::Unigram(unigram), SampleOptions::Lattice { alpha }) => {
                unigram.sample(text, alpha, &mut rng.0, ids)?;
            }
            (ModelEncoder::Unigram(unigram), SampleOptions::Nbest { size: 0 | 1, .. }) => {
                unigram.encode(text, &mut state.unigram, ids);
            }
            (ModelEncoder::Unigram(unigram), SampleOptions::Nbest { size, alpha }) => {
                let best = unigram.best(text, self.nbest_request(size), &mut state.unigram)?;
                *ids = draw_one(best, alpha, rng);
            }
            (ModelEncoder::Bpe(_) | ModelEncoder::Unigram(_), _) => {
                let model_type = model.tables.model().model_type();
                return Err(EncodeError::WrongSampling { model_type });
            }
            _ => return Err(EncodeError::NoSampling),
        }
        Ok(())
    }
}

/// Draws one of `best` with the weights exp(alpha · score). The highest exponent is subtracted from
/// all, which changes no probability and prevents underflow.
fn draw_one(mut best: Vec<(Vec<PieceId>, f32)>, alpha: f32, rng: &mut Rng) -> Vec<PieceId> {
    let exponents: Vec<f64> = best
        .iter()
        .map(|(_, score)| f64::from(alpha * score))
        .collect();
    let highest = exponents.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = exponents
        .iter()
        .map(|exponent| libm::exp(exponent - highest))
        .collect();
    let drawn = draw(&weights, &mut rng.0);
    best.swap_remove(drawn).0
}
