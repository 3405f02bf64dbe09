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
use super::batch::{Batch, SentenceCounts, SentenceFilter};
use super::corpus::{Batches, Corpus, ReadAs};
use super::counts::{SharedTable, WordTable};
use super::execution::ExecutionConfig;
use super::meta::MetaPieces;
use super::observer::{Event, Reporter, Run, Stage};
use super::options::{InputFormat, SentenceSelection, TrainOptions};
use super::prepare::Preparation;
use super::sample::{DEFAULT_SEED, Reservoir, SentenceCursor};
use super::sentence_list::SentencePreparer;
use super::split::kept_pairs::KeptPairs;
use super::split::parts::PartRules;
use super::split::word_rules::WordRules;
use super::unigram::sentences::CountedTexts;
use super::unigram::word_corpus::WordCorpusRules;
use super::words::{CountedUnit, PreparedCuts, count_into, pieces_are_local};
use crate::model::ModelType;
use crate::normalize::{Normalizer, NormalizerOptions};
use crate::train::{OptionError, TrainError};
use crate::trie::prefix::PrefixTrie;

/// The batches of the corpus, or of the selected sentences.
struct SelectedBatches<'c> {
    batches: Batches<'c>,
    /// The sentences wanted; `None` for all.
    selection: Option<SentenceCursor>,
    /// Counts the sentences that the selection skips.
    filter: SentenceFilter,
}

impl SelectedBatches<'_> {
    /// The next batch; `None` if there is none, or if all wanted sentences were found.
    fn next(&mut self, reporter: &mut Reporter<'_>) -> Result<Option<Batch>, TrainError> {
        if self.is_complete() {
            return Ok(None);
        }
        let Some(batch) = next_batch(&mut self.batches, reporter)? else {
            return Ok(None);
        };
        match &mut self.selection {
            Some(selection) => selection.select(&batch, &mut self.filter).map(Some),
            None => Ok(Some(batch)),
        }
    }

    /// Whether all wanted sentences were found.
    fn is_complete(&self) -> bool {
        self.selection
            .as_ref()
            .is_some_and(SentenceCursor::is_complete)
    }

    /// The next batches, at most `size`; empty at the end.
    fn next_group(
        &mut self,
        size: usize,
        reporter: &mut Reporter<'_>,
    ) -> Result<Vec<Batch>, TrainError> {
        let mut group = Vec::new();
        while group.len() < size {
            let Some(batch) = self.next(reporter)? else {
                break;
            };
            group.push(batch);
        }
        Ok(group)
    }

    /// To be called after the last batch: fails if wanted sentences were not found.
    fn check_found(&self) -> Result<(), TrainError> {
        self.selection
            .as_ref()
            .map_or(Ok(()), SentenceCursor::check_found)
    }

    /// The sentences that the selection skipped, by the reason, and the records without a text.
    fn skipped(&self) -> SentenceCounts {
        SentenceCounts {
            used: 0,
            bad_records: self.filter.counts.bad_records + self.batches.bad_records(),
            ..self.filter.counts
        }
    }
}

/// The next batch, after its warnings and its size were reported.
pub(super) fn next_batch(
    batches: &mut Batches<'_>,
    reporter: &mut Reporter<'_>,
) -> Result<Option<Batch>, TrainError> {
    let batch = batches.next();
    for warning in batches.take_warnings() {
        reporter.report(Event::Warned(&warning))?;
    }
    if let Ok(Some(batch)) = &batch {
        reporter.read(batch.bytes())?;
    }
    batch
}

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
        reporter: &mut Reporter<'_>,
    ) -> Result<(WordTable, SentenceCounts), TrainError> {
        let words = WordTable::new(self.work.hasher.clone()).into_shared();
        let unit = match self.options.model_type {
            ModelType::Char => CountedUnit::Characters,
            _ => CountedUnit::Parts(self.word_rules()),
        };
        let sentences = self.count_units_into(unit, corpus, &words, reporter)?;
        self.options.check_used(&sentences)?;
        Ok((words.into_table(), sentences))
    }

    /// Adds the words of the corpus to `counts`. Returns the sentences, by what became of them.
    pub(super) fn count_words_into(
        &self,
        corpus: Corpus<'_>,
        counts: &SharedTable,
        reporter: &mut Reporter<'_>,
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
        counts: &SharedTable,
        reporter: &mut Reporter<'_>,
    ) -> Result<SentenceCounts, TrainError> {
        let mut batches = self.selected_batches(corpus, reporter)?;
        let mut sentences = self.count_into(unit, counts, |send| {
            while let Some(batch) = batches.next(reporter)? {
                if !send(batch) {
                    return Ok(());
                }
            }
            batches.check_found()
        })?;
        sentences.add(&batches.skipped());
        Ok(sentences)
    }

    /// Adds the words of some sentences to `counts`. Returns the sentences, by what became of them.
    pub(super) fn count_batches(
        &self,
        batches: Vec<Batch>,
        counts: &SharedTable,
    ) -> Result<SentenceCounts, TrainError> {
        self.count_into(CountedUnit::Parts(self.word_rules()), counts, |send| {
            // Sending fails after an error, which is returned.
            let _all_sent = batches.into_iter().all(send);
            Ok(())
        })
    }

    /// The prepared sentences of the corpus in the order in which the reference has them.
    pub(super) fn read_sentences(
        &self,
        corpus: Corpus<'_>,
        run: &mut Run<'_>,
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
        run: &mut Run<'_>,
        mut add: impl FnMut(Vec<CountedTexts>) -> Result<(), TrainError> + Send,
    ) -> Result<(), TrainError> {
        let mut batches = self.selected_batches(corpus, &mut run.reporter)?;
        let mut sentences = SentencePreparer::new(self.options, self.preparation.clone());
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
        reporter: &mut Reporter<'_>,
    ) -> Result<SelectedBatches<'c>, TrainError> {
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
        let mut filter = SentenceFilter::new(self.options);
        let (corpus, selection) = self.select(corpus, &mut filter, reporter)?;
        reporter.start(Stage::Reading)?;
        reporter.expect_bytes(corpus.total_bytes());
        Ok(SelectedBatches {
            batches: self.batches(corpus)?,
            selection,
            filter,
        })
    }

    /// How text is divided into the parts that are counted.
    fn word_rules(&self) -> PartRules {
        PartRules::new(self.options, self.kept_pairs.clone())
    }

    fn count_into(
        &self,
        unit: CountedUnit,
        counts: &SharedTable,
        feed: impl FnOnce(&dyn Fn(Batch) -> bool) -> Result<(), TrainError>,
    ) -> Result<SentenceCounts, TrainError> {
        let cuts = PreparedCuts::new(self.options, self.preparation.clone(), self.meta, unit);
        let filter = SentenceFilter::new(self.options);
        count_into(&cuts, &filter, self.work.threads, counts, feed)
    }

    fn batches<'c>(&self, corpus: Corpus<'c>) -> Result<Batches<'c>, TrainError> {
        let document = self.options.document;
        let line_limit = self.line_limit();
        let read_as = ReadAs::Sentences { line_limit };
        Ok(Batches::new(
            corpus,
            document,
            read_as,
            self.work.batch_bytes,
        )?)
    }

    /// The number of bytes to read of a line.
    fn line_limit(&self) -> usize {
        // One more byte is enough to detect that a line is too long; the rest is for the count of a
        // tsv row.
        self.options.max_sentence_length as usize + 100
    }

    /// The corpus to read and, if not all of its sentences are wanted, the selection.
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
        reporter.start(Stage::Sampling)?;
        match corpus.reread() {
            Some(again) => {
                let mut reservoir = self.reservoir(wanted);
                let mut first_pass = SentenceFilter::new(self.options);
                self.for_each_used(corpus, &mut first_pass, reporter, |_, _| {
                    let position = reservoir.offered();
                    reservoir.offer(|| position);
                })?;
                Ok((again, Some(SentenceCursor::at(reservoir.into_kept()))))
            }
            None => {
                let mut reservoir = self.reservoir(wanted);
                self.for_each_used(corpus, filter, reporter, |sentence, count| {
                    reservoir.offer(|| (sentence.to_vec(), count));
                })?;
                Ok((Corpus::counted_texts(reservoir.into_kept()), None))
            }
        }
    }

    /// A sampler of `wanted` items.
    fn reservoir<T>(&self, wanted: u64) -> Reservoir<T> {
        let seed = self.options.random_seed.unwrap_or(DEFAULT_SEED);
        Reservoir::new(wanted, seed)
    }

    fn for_each_used(
        &self,
        corpus: Corpus<'_>,
        filter: &mut SentenceFilter,
        reporter: &mut Reporter<'_>,
        mut use_sentence: impl FnMut(&[u8], u64),
    ) -> Result<(), TrainError> {
        reporter.expect_bytes(corpus.total_bytes());
        let mut batches = self.batches(corpus)?;
        while let Some(batch) = next_batch(&mut batches, reporter)? {
            filter.for_each_used(&batch, |sentence, count| {
                use_sentence(sentence, count);
                Ok(ControlFlow::Continue(()))
            })?;
        }
        filter.counts.bad_records += batches.bad_records();
        Ok(())
    }
}
