//! Training: a corpus goes in, a model comes out, in five stages.
//!
//! ```text
//! corpus -> batches -> sentences -> prepare -> split -> count words   (parallel)
//!        -> choose characters -> merge pairs -> assemble -> Model
//! ```
//!
//! Limits, all checked with a typed error: 2^63 characters in all, 2^32 - 1 characters in distinct words, 2^31 symbols,
//! 2^32 - 1 indexed pairs. Counts are 64 bits wide on every target.
//!
//! [`Trainer::train`] is that list as calls. The model is the reference's, byte for byte, and depends on the
//! corpus and the options alone: not on threads, on the sizes of buffers or on hash order.

// In the order of the flow.
mod options;
mod flags;
mod rules;
mod meta;
mod execution;
mod corpus;
mod compressed;
mod batch;
mod sample;
mod prepare;
mod split;
mod words;
mod swar;
mod raw_chunk_cache;
mod counts;
mod alphabet;
mod bpe;
mod assemble;
mod observer;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

pub use batch::SentenceCounts;
pub use corpus::Corpus;
pub use flags::{OptionDescriptor, OptionKind, RETIRED_OPTIONS, SpecRecording, TrainFlags};
pub use observer::{Event, Observer, Stage, Summary};
pub use options::{
    InputFormat, NormalizationRules, RuleSet, SentenceSelection, SpecialPiece, TrainOptions,
};

use crate::error::{OptionError, TrainError};
use crate::model::Model;
use crate::normalize::{Normalizer, NormalizerOptions};
use crate::trie::prefix::PrefixTrie;
use alphabet::{Alphabet, CharacterCounts};
use batch::SentenceFilter;
use bpe::merge::{LearnedMerge, MergeTrainer};
use bpe::symbols::SymbolArena;
use bpe::word_buffer::WordBuffer;
use corpus::Batches;
use execution::ExecutionConfig;
use meta::MetaPieces;
use observer::Reporter;
use prepare::{Preparation, Pretokenizer};
use rules::NormalizerSpecs;
use sample::{DEFAULT_SEED, Reservoir, SentenceCursor};
use split::SplitRules;
use words::{WordCountJob, WordCounts};

/// Trains models. Its options are checked and its normalization rules compiled when it is made.
///
/// ```
/// use spiece::{NormalizationRules, RuleSet};
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
    pretokenizer: Option<Arc<Pretokenizer>>,
    allow_inconsistent_pretokenization: bool,
    work: ExecutionConfig,
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
    /// Everything that is wrong whatever the corpus: see [`TrainOptions::validate`]; besides, special
    /// pieces that collide, a vocabulary too small for them, normalization rules that cannot be read.
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
        let meta = MetaPieces::new(&options)?;
        let vocab_size = options.vocab_size as usize;
        // The search for characters needs at least one piece besides.
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
        })
    }

    /// Sets a function that splits every normalized sentence into chunks; no piece crosses from one chunk to the
    /// next. The concatenation of the chunks must be the sentence. The function is called from several threads.
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
    /// `pretokenization_delimiter` is set: the two exclude each other.
    pub fn with_pretokenizer(
        mut self,
        pretokenizer: impl Fn(&str) -> Vec<String> + Send + Sync + 'static,
    ) -> Result<Self, TrainError> {
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

    /// Accepts chunks of a pre-tokenizer whose concatenation is not the sentence. Training uses the chunks.
    #[must_use]
    pub fn allow_inconsistent_pretokenization(mut self, allow: bool) -> Self {
        self.allow_inconsistent_pretokenization = allow;
        self
    }

    /// The options.
    pub fn options(&self) -> &TrainOptions {
        &self.options
    }

    /// Trains a model on `corpus`. Memory grows with the distinct words of the corpus, not with its size.
    ///
    /// # Errors
    /// The corpus cannot be read, or does not fit the options; see [`TrainError`].
    pub fn train(&self, corpus: Corpus<'_>) -> Result<Model, TrainError> {
        self.train_observed(corpus, &mut observer::Silent)
            .map(|(model, _)| model)
    }

    /// Trains a model, reports progress to `observer`, and returns figures about the run.
    ///
    /// # Errors
    /// As [`Trainer::train`]; [`TrainError::Cancelled`] if the observer asks to stop.
    pub fn train_observed(
        &self,
        corpus: Corpus<'_>,
        observer: &mut dyn Observer,
    ) -> Result<(Model, Summary), TrainError> {
        let mut reporter = Reporter::new(observer);
        let pool = self.thread_pool()?;
        // 1. Read, normalize, split, count.
        let counted = self.count_words(corpus, &mut reporter)?;
        let mut summary = Summary {
            sentences: counted.sentences,
            ..Summary::default()
        };
        // 2. Choose the characters.
        reporter.start(Stage::Characters)?;
        let counts = pool.install(|| CharacterCounts::of(&counted.words))?;
        let alphabet = self.choose_characters(&counts)?;
        summary.note_words(&counted, &alphabet);
        // 3. Merge pairs.
        reporter.start(Stage::Merging)?;
        let merges = self.merge(counted, &alphabet, &pool, &mut reporter)?;
        summary.merges = merges.len();
        // 4. Put the pieces in order.
        reporter.start(Stage::Assembling)?;
        let learned = if self.options.auto_character_coverage {
            bpe::coverage_search::divide(merges, &counts, self.learned_size())
        } else {
            assemble::learned_texts(merges, &alphabet)
        };
        let pieces = assemble::assemble(&self.meta, &learned, &self.options)?;
        summary.pieces = pieces.len();
        let recorded_size = self.recorded_size(pieces.len())?;
        let specs = self.specs.specs(&self.record, recorded_size);
        let model = Model::from_parts(pieces, specs)?;
        Ok((model, summary))
    }

    /// The size of the vocabulary as the model records it, where that is not the option `vocab_size`.
    fn recorded_size(&self, pieces: usize) -> Result<Option<i32>, TrainError> {
        if self.options.hard_vocab_limit {
            return Ok(None);
        }
        match i32::try_from(pieces) {
            Ok(pieces) => Ok(Some(pieces)),
            Err(_) => Err(TrainError::TooLarge { what: "pieces" }),
        }
    }

    /// The number of pieces of the vocabulary besides the meta pieces.
    fn learned_size(&self) -> usize {
        (self.options.vocab_size as usize).saturating_sub(self.meta.len())
    }

    fn thread_pool(&self) -> Result<rayon::ThreadPool, TrainError> {
        rayon::ThreadPoolBuilder::new()
            .num_threads(self.work.threads)
            .build()
            .map_err(|error| TrainError::Threads {
                source: Box::new(error),
            })
    }

    fn preparation(&self) -> Result<Preparation, TrainError> {
        let options = NormalizerOptions {
            add_dummy_prefix: self.options.add_dummy_prefix,
            remove_extra_whitespaces: self.options.remove_extra_whitespaces,
            escape_whitespaces: true,
            treat_whitespace_as_suffix: self.options.treat_whitespace_as_suffix,
        };
        let meta_pieces = PrefixTrie::new(self.meta.texts().map(str::as_bytes)).map_err(|_| {
            OptionError::Conflict {
                option: "user_defined_symbols",
                problem: "the symbols are too large for one trie of 2^29 cells".to_owned(),
                remedy: "name fewer or shorter symbols",
            }
        })?;
        Ok(Preparation {
            normalizer: Normalizer::new(options, self.specs.charsmap.clone()),
            meta_pieces: Arc::new(meta_pieces),
            delimiter: self.options.pretokenization_delimiter.clone(),
            pretokenizer: self.pretokenizer.clone(),
            allow_inconsistent_pretokenization: self.allow_inconsistent_pretokenization,
        })
    }

    fn count_words(
        &self,
        corpus: Corpus<'_>,
        reporter: &mut Reporter<'_>,
    ) -> Result<WordCounts, TrainError> {
        let takes_first = matches!(self.options.sentences, SentenceSelection::First(_));
        // A run on the first sentences may not need the later files.
        if !takes_first {
            corpus.check_files()?;
        }
        let mut filter = SentenceFilter::new(&self.options);
        let (corpus, mut selection) = self.select(corpus, &mut filter, reporter)?;
        reporter.start(Stage::Reading)?;
        reporter.expect_bytes(corpus.total_bytes());
        let mut batches = self.batches(corpus);
        let mut counted = self.counting()?.count(|send| {
            while let Some(mut batch) = batches.next()? {
                reporter.read(batch.bytes())?;
                if let Some(selection) = &mut selection {
                    batch = selection.select(&batch, &mut filter)?;
                }
                if !send(batch) || selection.as_ref().is_some_and(SentenceCursor::is_complete) {
                    return Ok(());
                }
            }
            selection
                .as_ref()
                .map_or(Ok(()), SentenceCursor::check_found)
        })?;
        counted.sentences.add(&SentenceCounts {
            used: 0,
            ..filter.counts
        });
        if counted.sentences.used == 0 {
            return Err(TrainError::NoText);
        }
        Ok(counted)
    }

    fn counting(&self) -> Result<WordCountJob<'_>, TrainError> {
        Ok(WordCountJob::new(
            &self.options,
            self.preparation()?,
            &self.meta,
            &self.work,
        ))
    }

    fn batches<'c>(&self, corpus: Corpus<'c>) -> Batches<'c> {
        // One byte more marks a line as too long; a row also has a count of some bytes.
        let line_limit = self.options.max_sentence_length as usize + 100;
        Batches::new(corpus, line_limit, self.work.batch_bytes)
    }

    /// The corpus to count and, if only a part of its sentences is wanted, which.
    fn select<'c>(
        &self,
        corpus: Corpus<'c>,
        filter: &mut SentenceFilter,
        reporter: &mut Reporter<'_>,
    ) -> Result<(Corpus<'c>, Option<SentenceCursor>), TrainError> {
        let wanted = match self.options.sentences {
            SentenceSelection::All => return Ok((corpus, None)),
            SentenceSelection::First(size) => {
                return Ok((corpus, Some(SentenceCursor::first(size))));
            }
            SentenceSelection::Sample(size) => size,
        };
        let seed = self.options.random_seed.unwrap_or(DEFAULT_SEED);
        reporter.start(Stage::Sampling)?;
        match corpus.reread() {
            Some(again) => {
                let mut reservoir = Reservoir::new(wanted, seed);
                let mut first_pass = SentenceFilter::new(&self.options);
                self.for_each_used(corpus, &mut first_pass, reporter, |_, _| {
                    let position = reservoir.offered();
                    reservoir.offer(|| position);
                })?;
                Ok((again, Some(SentenceCursor::at(reservoir.into_kept()))))
            }
            None => {
                let mut reservoir = Reservoir::new(wanted, seed);
                self.for_each_used(corpus, filter, reporter, |sentence, count| {
                    reservoir.offer(|| (sentence.to_vec(), count));
                })?;
                Ok((Corpus::counted_texts(reservoir.into_kept()), None))
            }
        }
    }

    fn for_each_used(
        &self,
        corpus: Corpus<'_>,
        filter: &mut SentenceFilter,
        reporter: &mut Reporter<'_>,
        mut use_sentence: impl FnMut(&[u8], u64),
    ) -> Result<(), TrainError> {
        reporter.expect_bytes(corpus.total_bytes());
        let mut batches = self.batches(corpus);
        while let Some(batch) = batches.next()? {
            reporter.read(batch.bytes())?;
            filter.for_each_used(&batch, |sentence, count| {
                use_sentence(sentence, count);
                Ok(ControlFlow::Continue(()))
            })?;
        }
        Ok(())
    }

    fn choose_characters(&self, counts: &CharacterCounts) -> Result<Alphabet, TrainError> {
        if self.options.auto_character_coverage {
            return Ok(Alphabet::all(counts));
        }
        let alphabet = Alphabet::choose(counts, &self.options)?;
        if alphabet.characters.len() > self.learned_size() {
            return Err(TrainError::VocabularyTooSmall {
                vocab_size: self.options.vocab_size as usize,
                meta_pieces: self.meta.len(),
                characters: alphabet.characters.len(),
            });
        }
        Ok(alphabet)
    }

    fn merge(
        &self,
        counted: WordCounts,
        alphabet: &Alphabet,
        pool: &rayon::ThreadPool,
        reporter: &mut Reporter<'_>,
    ) -> Result<Vec<LearnedMerge>, TrainError> {
        let characters = if self.options.auto_character_coverage {
            0
        } else {
            alphabet.characters.len()
        };
        let wanted = self.learned_size() - characters;
        let rules = SplitRules::new(&self.options);
        let symbols = SymbolArena::new(alphabet, &rules);
        let words = pool.install(|| WordBuffer::new(counted.words, &symbols, &self.work.hasher))?;
        reporter.expect_merges(wanted);
        let merger = MergeTrainer::new(&rules, pool, &self.work.hasher, symbols, words);
        merger.run(wanted, &mut |merges| reporter.merged(merges))
    }
}

// Here and not in `flags`, which need not know the trainer.
impl TrainFlags {
    /// The files that the flag `input` names; `-` is standard input.
    pub fn corpus(&self) -> Corpus<'static> {
        Corpus::files(&self.input)
    }

    /// A trainer with these options, whose models record the flags as [`TrainFlags::recording`] says.
    ///
    /// # Errors
    /// As [`TrainFlags::options`] and [`Trainer::new`].
    pub fn trainer(&self) -> Result<Trainer, TrainError> {
        Trainer::with_record(self.options()?, self.clone())
    }
}
