//! Continued BPE training: a model and a corpus -> the pieces that training would learn next.
//!
//! The model keeps its pieces, ids and scores; the caller appends the new pieces with scores below
//! all others, best first (see `adapt/extend`).
//!
//! # Method
//!
//! 1. The corpus is read, prepared and divided into parts as in training, except that text is not
//!    divided inside a piece of the model ([`kept_pairs`](crate::train::split::kept_pairs)). Equal
//!    parts are counted together.
//! 2. The model segments each distinct part. Merging begins with these segments as symbols, where
//!    training begins with characters. They are the state of the encoder before unused pieces are
//!    split again and unknown characters become bytes, since these are the symbols that pieces with
//!    lower scores would merge.
//! 3. The loop of training repeatedly merges the best pair ([`merge`](crate::train::bpe::merge)).
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

use foldhash::fast::SeedableRandomState;

pub use self::characters::NewCharacters;
use self::segments::{StateModel, StateSegmenter};
use crate::model::{Model, ModelType};
use crate::piece::PieceKind;
use crate::train::TrainError;
use crate::train::bpe::merge::continuation::Continuation;
use crate::train::bpe::merge::{LearnedMerge, MergeTrainer};
use crate::train::bpe::queue::{ShortestText, TieOrder};
use crate::train::bpe::symbols::SymbolArena;
use crate::train::bpe::word_buffer::WordBuffer;
use crate::train::corpus::Corpus;
use crate::train::corpus_reader::{CorpusReader, meta_trie};
use crate::train::execution_config::ExecutionConfig;
use crate::train::meta_pieces::MetaPieces;
use crate::train::observer::{Observer, Run, Stage, Summary};
use crate::train::options::TrainOptions;
use crate::train::prepare::Preparation;
use crate::train::split::SplitRules;
use crate::train::split::kept_pairs::KeptPairs;
use crate::train::word_table::WordTable;

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
        observer: &Observer,
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
        run: &mut Run,
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
        let continuation = Continuation::new(candidates, unfound);
        let merging = (rules, ShortestText, &self.work.hasher);
        go_on_merging(merging, (symbols, words), continuation, wanted, run)
    }
}

/// The first `wanted` merges of segmented words, or fewer if no pair is left.
pub(super) fn go_on_merging(
    (rules, order, hasher): (&SplitRules, impl TieOrder, &SeedableRandomState),
    (symbols, words): (SymbolArena, WordBuffer),
    continuation: Continuation,
    wanted: usize,
    run: &mut Run,
) -> Result<Vec<LearnedMerge>, TrainError> {
    run.reporter.expect_merges(wanted);
    let trainer = MergeTrainer::new((rules, order), &run.pool, hasher, symbols, words);
    let merges = trainer.run_continuation(continuation, wanted, &mut |merges| {
        run.reporter.merged(merges)
    })?;
    run.reporter.end_merges(&merges)?;
    Ok(merges)
}

#[cfg(test)]
mod tests;
