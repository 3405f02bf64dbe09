//! Reading the corpus into counts of distinct words, or into prepared sentences in their order.
//!
//! BPE, word and char models are trained from a [`WordTable`], whose memory grows with the distinct
//! words. Unigram training gets the sentences batch by batch ([`CountedTexts`]), and counts their
//! words or keeps them. For example, the lines `to be` and `or be` give the counts `▁to` 1, `▁be`
//! 2, `▁or` 1, or the sentences `▁to▁be` and `▁or▁be`.
//!
//! A random sample of a corpus takes two passes if the corpus can be read again: the first draws
//! the positions, the second reads the sentences at these positions. A stream is sampled into
//! memory.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::Trainer;
use super::batch::{Batch, SentenceRules};
use super::corpus::{Batches, Corpus, ReadAs};
use super::execution_config::ExecutionConfig;
use super::meta_pieces::MetaPieces;
use super::observer::{Reporter, Run, Stage};
use super::options::{InputFormat, SentenceSelection, TrainOptions};
use super::prepare::Preparation;
use super::sample::{DEFAULT_SEED, Reservoir, SentenceCursor};
use super::sentence_counts::SentenceCounts;
use super::sentence_list::SentencePreparer;
use super::split::kept_pairs::KeptPairs;
use super::split::parts::PartRules;
use super::split::word_rules::WordRules;
use super::unigram::sentences::CountedTexts;
use super::unigram::word_corpus::WordCorpusRules;
use super::word_table::WordTable;
use super::words::{CountedUnit, PreparedText, WordCounting, WordSource, pieces_are_local};
use crate::model::ModelType;
use crate::normalize::{Normalizer, NormalizerOptions};
use crate::train::{OptionError, TrainError};
use crate::trie::prefix::PrefixTrie;

/// Batches per thread that are prepared at the same time, while as many are read. With more, the
/// threads would wait longer for the first group.
const BATCHES_PER_THREAD: usize = 1;

/// Reads a corpus for a training run.
pub(crate) struct CorpusReader<'a> {
    options: &'a TrainOptions,
    preparation: Preparation,
    meta: &'a MetaPieces,
    work: &'a ExecutionConfig,
    /// The pairs of characters between which text is not divided although the rules would allow it.
    kept_pairs: KeptPairs,
}

impl Trainer {
    /// The reader of a corpus with the options of this trainer.
    pub(super) fn reader(&self) -> Result<CorpusReader<'_>, TrainError> {
        let options = NormalizerOptions {
            add_dummy_prefix: self.options.add_dummy_prefix,
            remove_extra_whitespaces: self.options.remove_extra_whitespaces,
            escape_whitespaces: true,
            treat_whitespace_as_suffix: self.options.treat_whitespace_as_suffix,
        };
        let preparation = Preparation {
            normalizer: Normalizer::new(options, self.specs.charsmap.clone()),
            meta_pieces: meta_trie(&self.meta)?,
            delimiter: self.options.pretokenization_delimiter.clone(),
            pretokenizer: self.pretokenizer.clone(),
            allow_inconsistent_pretokenization: self.allow_inconsistent_pretokenization,
        };
        Ok(CorpusReader {
            options: &self.options,
            preparation,
            meta: &self.meta,
            work: &self.work,
            kept_pairs: KeptPairs::default(),
        })
    }
}

/// The texts of the meta pieces.
pub(crate) fn meta_trie(meta: &MetaPieces) -> Result<Arc<PrefixTrie>, TrainError> {
    let trie = PrefixTrie::new(meta.texts().map(str::as_bytes));
    let conflict = |_| OptionError::Conflict {
        option: "user_defined_symbols",
        problem: "the symbols are too large for one trie of 2^29 cells".to_owned(),
        remedy: "name fewer or shorter symbols",
    };
    Ok(trie.map(Arc::new).map_err(conflict)?)
}

impl<'a> CorpusReader<'a> {
    /// A reader for continued training: text is not divided between two characters of `kept_pairs`.
    pub(crate) fn continued(
        options: &'a TrainOptions,
        preparation: Preparation,
        meta: &'a MetaPieces,
        work: &'a ExecutionConfig,
        kept_pairs: KeptPairs,
    ) -> Self {
        CorpusReader {
            options,
            preparation,
            meta,
            work,
            kept_pairs,
        }
    }

    pub(crate) fn count_words(
        &self,
        corpus: Corpus<'_>,
        reporter: &mut Reporter,
    ) -> Result<(WordTable, SentenceCounts), TrainError> {
        let mut words = WordTable::new(self.work.hasher.clone());
        let unit = match self.options.model_type {
            ModelType::Char => CountedUnit::Characters,
            _ => CountedUnit::Parts(self.word_rules()),
        };
        let sentences = self.count_units_into(unit, corpus, &mut words, reporter)?;
        self.options.check_used(&sentences)?;
        Ok((words, sentences))
    }

    /// Adds the words of the corpus to `counts`. Returns the sentences, by what became of them.
    pub(super) fn count_words_into(
        &self,
        corpus: Corpus<'_>,
        counts: &mut WordTable,
        reporter: &mut Reporter,
    ) -> Result<SentenceCounts, TrainError> {
        let unit = CountedUnit::Parts(self.word_rules());
        self.count_units_into(unit, corpus, counts, reporter)
    }

    /// Adds the parts of the corpus, or its characters, to `counts`. Returns the sentences, by what
    /// became of them.
    fn count_units_into(
        &self,
        unit: CountedUnit,
        corpus: Corpus<'_>,
        counts: &mut WordTable,
        reporter: &mut Reporter,
    ) -> Result<SentenceCounts, TrainError> {
        let mut batches = self.selected_batches(corpus, reporter)?;
        let read = std::iter::from_fn(|| batches.next(reporter).transpose());
        let mut sentences = self.count_in(unit, read, counts)?;
        batches.check_found()?;
        sentences.add(&batches.skipped());
        Ok(sentences)
    }

    /// Adds the words of some sentences to `counts`. Returns the sentences, by what became of them.
    pub(super) fn count_batches(
        &self,
        batches: Vec<Batch>,
        counts: &mut WordTable,
    ) -> Result<SentenceCounts, TrainError> {
        let unit = CountedUnit::Parts(self.word_rules());
        self.count_in(unit, batches.into_iter().map(Ok), counts)
    }

    /// The prepared sentences of the corpus in the order in which the reference has them.
    pub(super) fn read_sentences(
        &self,
        corpus: Corpus<'_>,
        run: &mut Run,
    ) -> Result<CountedTexts, TrainError> {
        let mut texts = CountedTexts::default();
        self.for_each_group(corpus, run, |group| {
            group.iter().for_each(|batch| texts.append(batch));
            Ok(())
        })?;
        self.options.check_used(&run.summary.sentences)?;
        texts.remove_empty();
        if texts.len() == 0 {
            return Err(TrainError::NoCharacters);
        }
        Ok(texts)
    }

    /// The rules for counting words without the order of all sentences; `None` if unigram training
    /// needs it: with `auto_character_coverage`, if pieces cross words, or if sentences do not
    /// begin with whitespace.
    pub(super) fn word_corpus_rules(&self, chunk_bytes: u64) -> Option<WordCorpusRules> {
        let options = self.options;
        let is_counted = options.add_dummy_prefix
            && !options.auto_character_coverage
            && pieces_are_local(options, &self.preparation, self.meta);
        is_counted.then(|| WordCorpusRules {
            words: WordRules::new(options),
            chunk_bytes,
            hasher: self.work.hasher.clone(),
        })
    }

    /// Calls `add` with the prepared sentences of all batches, a group of batches at a time, on the
    /// threads of the pool. The next group is read meanwhile.
    pub(super) fn for_each_group(
        &self,
        corpus: Corpus<'_>,
        run: &mut Run,
        mut add: impl FnMut(Vec<CountedTexts>) -> Result<(), TrainError> + Send,
    ) -> Result<(), TrainError> {
        let mut batches = self.selected_batches(corpus, &mut run.reporter)?;
        let mut sentences = SentencePreparer::new(self.rules(), self.preparation.clone());
        let group_size = BATCHES_PER_THREAD * self.work.threads;
        let mut group = batches.next_group(group_size, &mut run.reporter)?;
        while !group.is_empty() {
            let mut added = Ok(());
            let next = run.pool.in_place_scope(|scope| {
                scope.spawn(|_| added = sentences.prepare(&group).and_then(&mut add));
                batches.next_group(group_size, &mut run.reporter)
            });
            // If both fail, report the error that is earlier in the corpus.
            added?;
            group = next?;
        }
        batches.check_found()?;
        let mut counts = sentences.counts;
        counts.add(&batches.skipped());
        run.summary.sentences = counts;
        Ok(())
    }

    /// The batches of the sentences to train on.
    fn selected_batches<'c>(
        &self,
        corpus: Corpus<'c>,
        reporter: &mut Reporter,
    ) -> Result<Batches<'c>, TrainError> {
        if self.options.input_format == InputFormat::Tsv && corpus.has_records() {
            return Err(OptionError::Conflict {
                option: "json_field",
                problem: "a record has no count, which input_format=tsv needs".to_owned(),
                remedy: "use one of the two",
            }
            .into());
        }
        // An error of the options before one of the files.
        corpus.documents(self.options.document)?;
        let takes_first = matches!(self.options.sentences, SentenceSelection::First(_));
        // Training on the first sentences may not need the later files.
        if !takes_first {
            corpus.check_files()?;
        }
        match self.options.sentences {
            SentenceSelection::All => self.batches(Stage::Reading, corpus, reporter),
            SentenceSelection::First(size) => {
                let selection = SentenceCursor::first(size);
                Ok(self
                    .batches(Stage::Reading, corpus, reporter)?
                    .selected(selection, self.rules()))
            }
            SentenceSelection::Sample(size) => self.sample(size, corpus, reporter),
        }
    }

    /// How text is divided into the parts that are counted.
    fn word_rules(&self) -> PartRules {
        PartRules::new(self.options, self.kept_pairs.clone())
    }

    fn count_in(
        &self,
        unit: CountedUnit,
        batches: impl Iterator<Item = Result<Batch, TrainError>>,
        counts: &mut WordTable,
    ) -> Result<SentenceCounts, TrainError> {
        let text = PreparedText::new(self.options, self.preparation.clone(), self.meta, unit);
        let counting = WordCounting {
            source: &WordSource::Prepared(&text),
            rules: self.rules(),
            threads: self.work.threads,
        };
        Ok(counting.count(batches, counts)?.sentences)
    }

    fn rules(&self) -> SentenceRules {
        SentenceRules::new(self.options)
    }

    /// The batches of all sentences, which are read in this stage.
    fn batches<'c>(
        &self,
        stage: Stage,
        corpus: Corpus<'c>,
        reporter: &mut Reporter,
    ) -> Result<Batches<'c>, TrainError> {
        reporter.start(stage)?;
        reporter.expect_bytes(corpus.total_bytes());
        let read_as = ReadAs::Sentences {
            // One more byte is enough to detect that a line is too long; the rest is for the count
            // of a tsv row.
            line_limit: self.options.max_sentence_length as usize + 100,
        };
        let batch_bytes = self.work.batch_bytes;
        Ok(Batches::new(
            corpus,
            self.options.document,
            read_as,
            batch_bytes,
        )?)
    }

    /// The batches of a random sample of `size` sentences.
    fn sample<'c>(
        &self,
        size: u64,
        corpus: Corpus<'c>,
        reporter: &mut Reporter,
    ) -> Result<Batches<'c>, TrainError> {
        let seed = self.options.random_seed.unwrap_or(DEFAULT_SEED);
        match corpus.reread() {
            Some(again) => {
                let mut reservoir = Reservoir::new(size, seed);
                self.for_each_used(corpus, reporter, |_, _| {
                    let position = reservoir.offered();
                    reservoir.offer(|| position);
                })?;
                let selection = SentenceCursor::at(reservoir.into_kept());
                Ok(self
                    .batches(Stage::Reading, again, reporter)?
                    .selected(selection, self.rules()))
            }
            None => {
                let mut reservoir = Reservoir::new(size, seed);
                let skipped = self.for_each_used(corpus, reporter, |sentence, count| {
                    reservoir.offer(|| (sentence.to_vec(), count));
                })?;
                let kept = Corpus::counted_texts(reservoir.into_kept());
                Ok(self
                    .batches(Stage::Reading, kept, reporter)?
                    .after_skipped(skipped))
            }
        }
    }

    /// Calls `use_sentence` with each sentence of the corpus that training can use, and its count.
    /// Returns the sentences, by what became of them.
    fn for_each_used(
        &self,
        corpus: Corpus<'_>,
        reporter: &mut Reporter,
        mut use_sentence: impl FnMut(&[u8], u64),
    ) -> Result<SentenceCounts, TrainError> {
        let mut batches = self.batches(Stage::Sampling, corpus, reporter)?;
        let mut counts = SentenceCounts::default();
        while let Some(batch) = batches.next(reporter)? {
            batch.for_each_used(self.rules(), &mut counts, |sentence, count| {
                use_sentence(sentence, count);
                Ok(ControlFlow::Continue(()))
            })?;
        }
        counts.add(&batches.skipped());
        Ok(counts)
    }
}
