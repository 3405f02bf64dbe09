//! Training: a corpus goes in, a model comes out. The stages:
//!
//! ```text
//! corpus -> batches -> sentences -> prepare -> split -> count words   (parallel)
//!        -> choose characters -> merge pairs (or estimate and prune) -> assemble -> Model
//! ```
//!
//! [`Trainer::train`] calls these stages in order. The model is identical to the reference's, byte
//! for byte, and depends only on the corpus and the options: not on the number of threads, buffer
//! sizes or hash order.
//!
//! [`ByteTrainer`] trains byte-level BPE with the tokens of several other trainers, and [`PipelineTrainer`]
//! BPE and WordPiece like a `tokenizer.json`, with the same counting and merging.
//!
//! Limits, each reported as a typed error: fewer than 2^63 characters in all, 2^32 - 1 characters
//! in distinct words, 2^31 symbols, 2^32 - 1 indexed pairs. Counts are 64 bits wide on every
//! target.

// In the order of the flow.
mod sentence_counts;
mod error;
pub(crate) mod options;
mod parallel;
mod normalizer_specs;
pub(crate) mod meta_pieces;
pub(crate) mod execution_config;
pub(crate) mod corpus;
mod batch;
mod sample;
pub(crate) mod prepare;
pub(crate) mod split;
pub(crate) mod words;
mod word_counts;
mod sentence_list;
pub(crate) mod corpus_reader;
mod learn_unigram;
mod swar;
mod short_texts;
pub(crate) mod word_table;
pub(crate) mod alphabet;
pub(crate) mod bpe;
pub(crate) mod bytes;
mod pipeline;
mod unigram;
mod word_char;
mod log_f32;
mod pow_f32;
mod assemble;
mod like;
pub(crate) mod observer;
#[cfg(test)]
mod tests;

use std::fmt;
use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::Arc;

pub use bytes::{ByteTieOrder, ByteTrainOptions, ByteTrainer, ParseByteTieOrderError};
pub use corpus::Corpus;
pub use error::TrainError;
pub use observer::{Event, Observer, Stage, Summary};
pub use options::{
    InputFormat, NormalizationRules, OptionDescriptor, OptionError, OptionKind, PruningMethod,
    RETIRED_OPTIONS, RecordGap, RuleSet, SeedSize, SentenceSelection, SpecRecording, SpecialPiece,
    TrainFlags, TrainOptions, TrainingRecord, UnigramOptions,
};
pub use pipeline::{PipelineTrainOptions, PipelineTrainer};
pub use sentence_counts::SentenceCounts;
pub use word_counts::{
    CountFingerprint, CountRows, CountWords, CountsError, WordCounter, WordCounts,
};

use crate::model::{Model, ModelType};
use alphabet::{Alphabet, CharacterCounts};
use assemble::{LearnedPiece, VocabularyLimit};
use bpe::coverage_search;
use bpe::merge::MergeTrainer;
use bpe::queue::ShortestText;
use bpe::symbols::SymbolArena;
use bpe::word_buffer::{CharacterSpelling, WordBuffer};
use execution_config::ExecutionConfig;
use meta_pieces::MetaPieces;
use normalizer_specs::NormalizerSpecs;
use observer::Run;
use prepare::PretokenizerCallback;
use split::SplitRules;
use word_table::WordTable;

/// Trains models. The options are checked and the normalization rules compiled on construction.
///
/// ```
/// use spiece::train::{NormalizationRules, RuleSet};
///
/// let mut options = spiece::TrainOptions::default();
/// options.vocab_size = 30;
/// options.normalization = NormalizationRules::BuiltIn(RuleSet::Identity);
/// options.hard_vocab_limit = false;
/// let trainer = spiece::Trainer::new(options)?;
/// let model = trainer.train(spiece::Corpus::texts(["pen", "pineapple", "apple"]))?;
/// assert!(model.pieces().any(|piece| piece.text == "apple".as_bytes()));
/// # Ok::<(), spiece::TrainError>(())
/// ```
pub struct Trainer {
    options: TrainOptions,
    /// The options as the model records them.
    record: TrainFlags,
    meta: MetaPieces,
    specs: NormalizerSpecs,
    pretokenizer: Option<Arc<PretokenizerCallback>>,
    allow_inconsistent_pretokenization: bool,
    work: ExecutionConfig,
    observer: Observer,
    /// Words that occur less often are ignored.
    min_word_count: NonZeroU64,
}

impl fmt::Debug for Trainer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trainer")
            .field("options", &self.options)
            .field("has_pretokenizer", &self.pretokenizer.is_some())
            .finish_non_exhaustive()
    }
}

impl Trainer {
    /// A trainer with these options.
    ///
    /// # Errors
    /// Every problem that does not depend on the corpus: those of [`TrainOptions::validate`],
    /// colliding special pieces, a vocabulary too small for them, normalization rules that cannot
    /// be read.
    pub fn new(options: TrainOptions) -> Result<Self, TrainError> {
        options.validate()?;
        let record = TrainFlags::of_options(&options)?;
        Self::with_record(options, record)
    }

    /// A trainer whose models record the options as `record` says.
    pub(crate) fn with_record(
        options: TrainOptions,
        record: TrainFlags,
    ) -> Result<Self, TrainError> {
        options.validate()?;
        if options.max_words.is_some() {
            let problem = "training from the beginning has no limit in words".to_owned();
            return Err(OptionError::Conflict {
                option: "max_words",
                problem,
                remedy: "train without it, and then extend the model with it",
            }
            .into());
        }
        let meta = MetaPieces::new(&options)?;
        let vocab_size = options.vocab_size as usize;
        // The search for characters needs room for at least one more piece.
        if meta.len() + usize::from(options.auto_character_coverage) > vocab_size {
            return Err(TrainError::VocabularyTooSmall {
                vocab_size,
                meta_pieces: meta.len(),
                characters: 0,
            });
        }
        let specs = NormalizerSpecs::new(&options, &record)?;
        let work = ExecutionConfig::new(&options);
        Ok(Self {
            options,
            record,
            meta,
            specs,
            pretokenizer: None,
            allow_inconsistent_pretokenization: false,
            work,
            observer: Observer::default(),
            min_word_count: NonZeroU64::MIN,
        })
    }

    /// Sets a function that splits every normalized sentence into chunks; no piece crosses from one
    /// chunk to the next. The concatenation of the chunks must be the sentence. The function is
    /// called from several threads.
    ///
    /// ```
    /// use spiece::{Corpus, TrainOptions, Trainer};
    ///
    /// let mut options = TrainOptions::default();
    /// options.vocab_size = 40;
    /// options.hard_vocab_limit = false;
    /// // No piece has a hyphen inside.
    /// let split = |sentence: &str| sentence.split_inclusive('-').map(str::to_owned).collect();
    /// let trainer = Trainer::new(options)?.with_pretokenizer(split)?;
    /// let model = trainer.train(Corpus::texts(["well-known", "well-read"]))?;
    /// let is_split = |text: &[u8]| !text[..text.len() - 1].contains(&b'-');
    /// assert!(model.pieces().all(|piece| is_split(piece.text)));
    /// # Ok::<(), spiece::TrainError>(())
    /// ```
    ///
    /// # Errors
    /// The model is a word or char model, or `pretokenization_delimiter` is set, which cannot be
    /// combined with a pre-tokenizer.
    pub fn with_pretokenizer(
        mut self,
        pretokenizer: impl Fn(&str) -> Vec<String> + Send + Sync + 'static,
    ) -> Result<Self, TrainError> {
        if matches!(self.options.model_type, ModelType::Word | ModelType::Char) {
            return Err(OptionError::Conflict {
                option: "model_type",
                problem: format!("a {} model has no pre-tokenizer", self.options.model_type),
                remedy: "train a BPE or unigram model",
            }
            .into());
        }
        if !self.options.pretokenization_delimiter.is_empty() {
            return Err(OptionError::Conflict {
                option: "pretokenization_delimiter",
                problem: "a pre-tokenizer is set as well".to_owned(),
                remedy: "use one of the two",
            }
            .into());
        }
        self.pretokenizer = Some(Arc::new(pretokenizer));
        Ok(self)
    }

    /// Accepts pre-tokenizer chunks whose concatenation is not the sentence. Training then uses the
    /// chunks.
    #[must_use]
    pub fn allow_inconsistent_pretokenization(mut self, allow: bool) -> Self {
        self.allow_inconsistent_pretokenization = allow;
        self
    }

    /// Sets the number of threads. The model does not depend on this number.
    ///
    /// The default is the number of cores of the machine, and for BPE, word and char models at most
    /// [`TrainOptions::num_threads`]. For unigram models `num_threads` is the number of partial
    /// sums, which the model depends on; this method does not change it. Values above 1024 are
    /// treated as 1024. Each thread has its own buffers, so memory grows with the number.
    ///
    /// ```
    /// use std::num::NonZeroUsize;
    ///
    /// use spiece::{Corpus, ModelType, TrainOptions, Trainer};
    ///
    /// let mut options = TrainOptions::default();
    /// options.model_type = ModelType::Unigram;
    /// options.vocab_size = 20;
    /// options.hard_vocab_limit = false;
    /// let train = |threads| {
    ///     let trainer = Trainer::new(options.clone())?.with_threads(threads);
    ///     trainer.train(Corpus::texts(["pen", "pineapple", "apple"]))
    /// };
    /// let one = train(NonZeroUsize::MIN)?;
    /// let four = train(NonZeroUsize::new(4).unwrap())?;
    /// assert_eq!(one.to_bytes(), four.to_bytes());
    /// # Ok::<(), spiece::TrainError>(())
    /// ```
    #[must_use]
    pub fn with_threads(mut self, threads: NonZeroUsize) -> Self {
        self.work.set_threads(threads);
        self
    }

    /// Sets the function that is called with the events of training and counting. The default is none.
    #[must_use]
    pub fn with_observer(mut self, observer: Observer) -> Self {
        self.observer = observer;
        self
    }

    /// The options.
    pub fn options(&self) -> &TrainOptions {
        &self.options
    }

    /// Trains a model on `corpus`. Memory grows with the distinct words of the corpus, not with its
    /// size. The exceptions are unigram models with `auto_character_coverage`, with pieces that
    /// cross words, or with sentences that do not begin with whitespace: their memory grows with
    /// the text of the sentences.
    ///
    /// # Errors
    /// The corpus cannot be read, or does not fit the options; see [`TrainError`].
    /// [`TrainError::Cancelled`] if the observer asks to stop.
    pub fn train(&self, corpus: Corpus<'_>) -> Result<Model, TrainError> {
        let mut run = Run::new(&self.observer, self.work.thread_pool()?);
        let learned = match self.options.model_type {
            ModelType::Unigram => self.learn_unigram(corpus, &mut run)?,
            ModelType::Bpe | ModelType::Word | ModelType::Char => {
                // 1. Read the corpus, and count its words (for a char model its characters).
                let (words, sentences) = self.reader()?.count_words(corpus, &mut run.reporter)?;
                run.summary.sentences = sentences;
                self.learn_from_words(words, &mut run)?
            }
        };
        self.finish(learned, run)
    }

    /// Steps 2 to 4 of BPE, word and char models: from counted words to the learned pieces, best
    /// first.
    fn learn_from_words(
        &self,
        mut words: WordTable,
        run: &mut Run,
    ) -> Result<Vec<LearnedPiece>, TrainError> {
        // 2. Choose the characters that become pieces.
        run.reporter.start(Stage::Characters)?;
        let characters = run.pool.install(|| CharacterCounts::of(&words))?;
        let alphabet = self.choose_characters(&characters)?;
        run.summary.note_alphabet(&alphabet);
        run.summary.distinct_words = match self.options.model_type {
            // Training a char model counts characters, but a table of counts has words.
            ModelType::Char => characters.len(),
            _ => words.len(),
        };
        // 3. Leave rare words out. Their characters were counted.
        if self.min_word_count > NonZeroU64::MIN {
            words.remove_rare(self.min_word_count.get());
        }
        // 4. Learn the pieces.
        let room = if self.options.use_all_vocab {
            usize::MAX
        } else {
            self.learned_size()
        };
        match self.options.model_type {
            ModelType::Bpe => self.learn_bpe(words, &characters, &alphabet, run),
            ModelType::Word => run
                .pool
                .install(|| word_char::word_pieces(&words, &alphabet, room)),
            ModelType::Char => word_char::char_pieces(&alphabet, room),
            ModelType::Unigram => Err(CountsError::Unigram.into()),
        }
    }

    /// Merges pairs, best first, until the vocabulary is full.
    fn learn_bpe(
        &self,
        words: WordTable,
        characters: &CharacterCounts,
        alphabet: &Alphabet,
        run: &mut Run,
    ) -> Result<Vec<LearnedPiece>, TrainError> {
        run.reporter.start(Stage::Merging)?;
        let rules = SplitRules::new(&self.options);
        let symbols = SymbolArena::new(alphabet, &rules);
        let spelling = CharacterSpelling::of(&symbols);
        let words = run
            .pool
            .install(|| WordBuffer::new(words, &spelling, &self.work.hasher))?;
        let mut wanted = self.learned_size();
        if !self.options.auto_character_coverage {
            // All characters of the alphabet fit: `choose_characters` has checked it.
            wanted -= alphabet.characters.len();
        }
        run.reporter.expect_merges(wanted);
        let merger = MergeTrainer::new(
            (&rules, ShortestText),
            &run.pool,
            &self.work.hasher,
            symbols,
            words,
        );
        let merges = merger.run(wanted, &mut |merges| run.reporter.merged(merges))?;
        run.reporter.end_merges(&merges)?;
        run.summary.merges = merges.len();
        let texts = if self.options.auto_character_coverage {
            coverage_search::divide(merges, characters, self.learned_size())
        } else {
            assemble::learned_texts(merges, alphabet)
        };
        Ok(assemble::bpe_pieces(texts))
    }

    /// Step 5: assembles the model from the learned pieces.
    fn finish(&self, learned: Vec<LearnedPiece>, mut run: Run) -> Result<Model, TrainError> {
        run.reporter.start(Stage::Assembling)?;
        // A char model may always have fewer pieces than `vocab_size`.
        let limit = VocabularyLimit {
            size: if self.options.use_all_vocab {
                learned.len() + self.meta.len()
            } else {
                self.options.vocab_size as usize
            },
            is_hard: self.options.hard_vocab_limit && self.options.model_type != ModelType::Char,
            too_long: run.summary.sentences.too_long,
        };
        let pieces = assemble::assemble(&self.meta, &learned, limit)?;
        run.summary.pieces = pieces.len();
        let is_recorded_as_given = limit.is_hard && !self.options.use_all_vocab;
        let recorded_size = match i32::try_from(pieces.len()) {
            _ if is_recorded_as_given => None,
            Ok(pieces) => Some(pieces),
            Err(_) => return Err(TrainError::TooLarge { what: "pieces" }),
        };
        let specs = self.specs.specs(&self.record, recorded_size);
        let model = Model::from_parts(pieces, specs)?;
        run.finish()?;
        Ok(model)
    }

    /// The number of pieces of the vocabulary besides the meta pieces.
    fn learned_size(&self) -> usize {
        (self.options.vocab_size as usize).saturating_sub(self.meta.len())
    }
}

// Defined here so that `options` does not depend on the trainer.
impl TrainFlags {
    /// The files that the flag `input` names, with JSON records if `json_field` is set.
    ///
    /// # Errors
    /// `json_field` is no path.
    pub fn corpus(&self) -> Result<Corpus<'static>, OptionError> {
        let corpus = Corpus::files(&self.input);
        if self.json_field.is_empty() {
            return Ok(corpus);
        }
        Ok(corpus
            .with_json_field(&self.json_field)?
            .on_bad_record(self.on_bad_record))
    }

    /// A trainer with these options, whose models record the flags as [`TrainFlags::recording`]
    /// says.
    ///
    /// # Errors
    /// As [`TrainFlags::options`] and [`Trainer::new`].
    pub fn trainer(&self) -> Result<Trainer, TrainError> {
        Trainer::with_record(self.options()?, self.clone())
    }
}
