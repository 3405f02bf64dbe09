//! Continued BPE training: a model and a corpus -> the pieces that training would learn next.
//!
//! The model keeps its pieces, ids and scores; the caller appends the new pieces with scores below
//! all others, best first (see `adapt/extend`).
//!
//! # Method
//!
//! 1. The corpus is read, prepared and divided into parts as in training, except that text is not
//!    divided inside a piece of the model ([`kept_pairs`](super::split::kept_pairs)). Equal parts
//!    are counted together.
//! 2. The model segments each distinct part. Merging begins with these segments as symbols, where
//!    training begins with characters. They are the state of the encoder before unused pieces are
//!    split again and unknown characters become bytes, since these are the symbols that pieces with
//!    lower scores would merge.
//! 3. The loop of training repeatedly merges the best pair ([`merge`](super::bpe::merge)).
//!    Characters that are not pieces become pieces between the merges, by gain, or before all
//!    merges, by coverage.
//!
//! New pieces have lower scores than all old ones, in descending order. So the words are always
//! segmented as the model with the new pieces so far would segment them. It follows that training
//! in two steps gives the same result as training in one step, and that the text of every new piece
//! encodes to that piece.
//!
//! # Example
//!
//! A model has `ab` and the characters `a`, `b`, `c`. The corpus is `abc abc ab`. Its parts `▁abc`
//! (twice) and `▁ab` are segmented as `▁ ab c` and `▁ ab`, if `▁` is a character of the model.
//! Pairs: `▁ab` 3, `abc` 2. The first new piece is `▁ab`, the second one `▁abc`.
//!
//! It takes 4 bytes for each token of the distinct parts, not for each character.

mod characters;
mod segments;

use std::num::NonZeroUsize;
use std::ops::RangeInclusive;

pub use self::characters::NewCharacters;
use self::segments::{StateModel, StateSegmenter};
use super::bpe::merge::continuation::Continuation;
use super::bpe::merge::{LearnedMerge, MergeTrainer};
use super::bpe::queue::ShortestText;
use super::bpe::symbols::SymbolArena;
use super::bpe::word_buffer::WordBuffer;
use super::corpus::Corpus;
use super::counts::WordTable;
use super::execution::ExecutionConfig;
use super::meta::MetaPieces;
use super::observer::{Observer, Run, Stage, Summary};
use super::options::{PIECE_LENGTH, SENTENCE_LENGTH, SentenceSelection, TrainOptions};
use super::prepare::Preparation;
use super::reading::{CorpusReader, meta_trie};
use super::split::SplitRules;
use super::split::kept_pairs::KeptPairs;
use crate::model::{Model, ModelType};
use crate::piece::PieceKind;
use crate::train::TrainError;

/// What continued training learned, best first.
pub(crate) struct ContinuedPieces {
    pub(crate) pieces: Vec<LearnedMerge>,
    pub(crate) summary: Summary,
}

/// Continues the training of a BPE model.
pub(crate) struct ContinuedTrainer<'m> {
    model: &'m Model,
    /// The rules for pieces and sentences; the normalization is the model's.
    options: TrainOptions,
    characters: NewCharacters,
    meta: MetaPieces,
    work: ExecutionConfig,
}

impl<'m> ContinuedTrainer<'m> {
    /// Continues the training of `model` with the rules for pieces and sentences of `options`. The
    /// properties of the model itself, such as its normalization, are not taken from `options`.
    pub(crate) fn new(
        model: &'m Model,
        options: &TrainOptions,
        characters: NewCharacters,
    ) -> Result<Self, TrainError> {
        let options = TrainOptions {
            model_type: ModelType::Bpe,
            ..options.clone().with_normalization_of(model)
        };
        options.validate()?;
        Ok(ContinuedTrainer {
            model,
            work: ExecutionConfig::new(&options),
            options,
            characters,
            meta: MetaPieces::of_model(model),
        })
    }

    /// Sets the number of threads, which does not change the result.
    pub(crate) fn with_threads(mut self, threads: NonZeroUsize) -> Self {
        self.work.set_threads(threads);
        self
    }

    /// The first `wanted` new pieces, or fewer if the corpus does not yield as many.
    pub(crate) fn learn(
        &self,
        corpus: Corpus<'_>,
        wanted: usize,
        observer: &mut dyn Observer,
    ) -> Result<ContinuedPieces, TrainError> {
        let mut run = Run::new(observer, self.work.thread_pool()?);
        let rules = SplitRules::new(&self.options);
        let (words, sentences) = self
            .reader(&rules)?
            .count_words(corpus, &mut run.reporter)?;
        run.summary.sentences = sentences;
        run.summary.distinct_words = words.len();
        let pieces = self.merge(words, &rules, wanted, &mut run)?;
        run.summary.merges = pieces.len();
        run.summary.pieces = self.model.len() + pieces.len();
        Ok(ContinuedPieces {
            pieces,
            summary: run.summary,
        })
    }

    /// Reads the corpus.
    fn reader(&self, rules: &SplitRules) -> Result<CorpusReader<'_>, TrainError> {
        let preparation = Preparation {
            normalizer: self.model.normalizer(),
            meta_pieces: meta_trie(&self.meta)?,
            delimiter: self.options.pretokenization_delimiter.clone(),
            pretokenizer: None,
            allow_inconsistent_pretokenization: false,
        };
        // The pieces that merging makes; text yields no others.
        let mergeable = self
            .model
            .pieces()
            .filter(|piece| matches!(piece.kind, PieceKind::Normal | PieceKind::Unused))
            .filter_map(|piece| std::str::from_utf8(piece.text).ok());
        let kept_pairs = KeptPairs::of(mergeable, rules);
        Ok(CorpusReader::continued(
            &self.options,
            preparation,
            &self.meta,
            &self.work,
            kept_pairs,
        ))
    }

    fn merge(
        &self,
        words: WordTable,
        rules: &SplitRules,
        wanted: usize,
        run: &mut Run<'_>,
    ) -> Result<Vec<LearnedMerge>, TrainError> {
        run.reporter.start(Stage::Characters)?;
        let candidates = run.pool.install(|| {
            characters::candidates(self.model, &words, &self.options, self.characters)
        })?;
        run.summary.characters = candidates.len();
        run.reporter.start(Stage::Merging)?;
        let state = StateModel::new(self.model)?;
        let symbols = SymbolArena::of_texts(state.texts(), rules);
        let unfound = state.unfound_pieces();
        let words = run.pool.install(|| {
            WordBuffer::of_segments(
                words,
                &self.work.hasher,
                || StateSegmenter::new(&state),
                StateSegmenter::segment,
            )
        })?;
        drop(state);
        run.reporter.expect_merges(wanted);
        let trainer: MergeTrainer<'_, ShortestText> =
            MergeTrainer::new(rules, &run.pool, &self.work.hasher, symbols, words);
        let continuation = Continuation::new(candidates, unfound);
        let merges = trainer.run_continuation(continuation, wanted, &mut |merges| {
            run.reporter.merged(merges)
        })?;
        run.reporter.end_merges(&merges)?;
        Ok(merges)
    }
}

impl TrainOptions {
    /// The rules for pieces and sentences that a model was trained with, as its trainer spec
    /// records them. A length or coverage outside the range of its option is clamped to the range;
    /// a negative length becomes the default. The treatment of whitespace is taken from the
    /// normalizer. The vocabulary and the normalization rules are not taken over, and all sentences
    /// are used.
    pub fn of_model(model: &Model) -> Self {
        let spec = model.trainer_spec();
        let defaults = Self::default();
        let within = |recorded: i32, default: u32, range: &RangeInclusive<u32>| {
            let length = u32::try_from(recorded).unwrap_or(default);
            length.clamp(*range.start(), *range.end())
        };
        let options = Self {
            model_type: model.model_type(),
            sentences: SentenceSelection::All,
            max_sentence_length: within(
                spec.max_sentence_length(),
                defaults.max_sentence_length,
                &SENTENCE_LENGTH,
            ),
            max_sentencepiece_length: within(
                spec.max_sentencepiece_length(),
                defaults.max_sentencepiece_length,
                &PIECE_LENGTH,
            ),
            character_coverage: spec.character_coverage().clamp(0.98, 1.0),
            byte_fallback: spec.byte_fallback(),
            split_by_unicode_script: spec.split_by_unicode_script(),
            split_by_number: spec.split_by_number(),
            split_by_whitespace: spec.split_by_whitespace(),
            split_digits: spec.split_digits(),
            allow_whitespace_only_pieces: spec.allow_whitespace_only_pieces(),
            pretokenization_delimiter: String::from_utf8_lossy(spec.pretokenization_delimiter())
                .into_owned(),
            ..defaults
        };
        options.with_normalization_of(model)
    }

    /// The options with the model's treatment of whitespace.
    fn with_normalization_of(self, model: &Model) -> Self {
        let normalizer = model.normalizer().options();
        Self {
            treat_whitespace_as_suffix: normalizer.treat_whitespace_as_suffix,
            add_dummy_prefix: normalizer.add_dummy_prefix,
            remove_extra_whitespaces: normalizer.remove_extra_whitespaces,
            ..self
        }
    }
}

#[cfg(test)]
mod tests;
