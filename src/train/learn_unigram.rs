//! The stages of unigram models between reading and assembling: count words (or read sentences),
//! choose characters, choose seeds, estimate and prune. `train` has those of other models.

use super::Trainer;
use super::alphabet::{Alphabet, CharacterCounts};
use super::assemble::LearnedPiece;
use super::corpus::{Corpus, read_file};
use super::observer::{Run, Stage};
use super::split::SplitRules;
use super::split::word_rules::WordRules;
use super::unigram::sentences::CHUNK_BYTES;
use super::unigram::spool::SentenceSpool;
use super::unigram::word_corpus::{AfterFirstPass, FirstPass, UnigramTexts};
use super::unigram::{self, SeedFile, UnigramConfig};
use crate::model::ModelType;
use crate::train::TrainError;

/// Where the sentences come from when they are needed again.
enum SecondReading<'c> {
    Files(Corpus<'c>),
    /// What was read is kept.
    Spool(SentenceSpool),
}

impl Trainer {
    pub(super) fn learn_unigram(
        &self,
        corpus: Corpus<'_>,
        run: &mut Run,
    ) -> Result<Vec<LearnedPiece>, TrainError> {
        // First, so that a missing file is reported before the corpus is read.
        let seed_file = self.read_seed_file()?;
        let config = self.unigram_config(seed_file);
        let (texts, alphabet) = self.unigram_texts(corpus, config.chunk_bytes, run)?;
        unigram::learn(texts, &alphabet, &config, run).map_err(|error| match error {
            TrainError::Diverged { .. } => TrainError::Diverged {
                too_long: run.summary.sentences.too_long,
            },
            error => error,
        })
    }

    /// The corpus of a unigram model, with U+2585 for characters that are not in the alphabet, and
    /// the alphabet.
    fn unigram_texts(
        &self,
        corpus: Corpus<'_>,
        chunk_bytes: u64,
        run: &mut Run,
    ) -> Result<(UnigramTexts, Alphabet), TrainError> {
        let reader = self.reader()?;
        let Some(rules) = reader.word_corpus_rules(chunk_bytes) else {
            return self.ordered_texts(corpus, run);
        };
        let mut second_reading = match corpus.reread() {
            Some(files) => SecondReading::Files(files),
            None => SecondReading::Spool(SentenceSpool::new(self.work.spool_memory)),
        };
        let mut first_pass = FirstPass::new(rules);
        reader.for_each_group(corpus, run, |batches| {
            if let SecondReading::Spool(spool) = &mut second_reading {
                spool.push(&batches)?;
            }
            first_pass.add(batches)
        })?;
        self.options.check_used(&run.summary.sentences)?;
        let counted = first_pass.finish()?;
        run.reporter.start(Stage::Characters)?;
        let counts = run.pool.install(|| counted.character_counts())?;
        let alphabet = self.choose_characters(&counts)?;
        run.summary.note_alphabet(&alphabet);
        let words = match run.pool.install(|| counted.into_words(alphabet.known()))? {
            AfterFirstPass::Complete(words) => words,
            AfterFirstPass::Incomplete(mut second_pass) => {
                match second_reading {
                    SecondReading::Files(files) => {
                        reader.for_each_group(files, run, |batches| second_pass.add(batches))?;
                    }
                    SecondReading::Spool(spool) => {
                        run.reporter.start(Stage::Reading)?;
                        run.pool.install(|| {
                            spool.for_each_group(self.work.threads, |batches| {
                                second_pass.add(batches)
                            })
                        })?;
                    }
                }
                run.pool.install(|| second_pass.finish())?
            }
        };
        Ok((UnigramTexts::Words(words), alphabet))
    }

    /// As [`Trainer::unigram_texts`], with the sentences in their order.
    fn ordered_texts(
        &self,
        corpus: Corpus<'_>,
        run: &mut Run,
    ) -> Result<(UnigramTexts, Alphabet), TrainError> {
        let sentences = self.reader()?.read_sentences(corpus, run)?;
        run.reporter.start(Stage::Characters)?;
        let counts = run.pool.install(|| sentences.character_counts())?;
        let alphabet = self.choose_characters(&counts)?;
        run.summary.note_alphabet(&alphabet);
        let sentences = if self.options.auto_character_coverage {
            // No character is replaced: those without a piece are found later.
            sentences
        } else {
            sentences.mark_unknown(&alphabet.known())
        };
        Ok((UnigramTexts::Ordered(sentences), alphabet))
    }

    /// The file of seeds, if the options name one.
    fn read_seed_file(&self) -> Result<Option<SeedFile>, TrainError> {
        let Some(path) = &self.options.unigram.seed_file else {
            return Ok(None);
        };
        Ok(Some(SeedFile {
            path: path.clone(),
            content: read_file(path)?,
            limit: self.options.unigram.seed_size.limit(0),
        }))
    }

    fn unigram_config(&self, seed_file: Option<SeedFile>) -> UnigramConfig {
        let options = &self.options;
        let vocab_size = options.vocab_size as usize;
        UnigramConfig {
            split: SplitRules::new(options),
            words: options.split_by_whitespace.then(|| WordRules::new(options)),
            max_piece_length: options.max_sentencepiece_length as usize,
            seed_limit: self.seed_limit(),
            chunk_bytes: CHUNK_BYTES,
            seed_length_power: options.unigram.seed_length_power,
            min_count_alpha: options.unigram.min_count_alpha,
            seed_file,
            vocab_size,
            room: self.learned_size(),
            sub_iterations: options.unigram.num_sub_iterations as usize,
            shrinking_factor: options.unigram.shrinking_factor,
            pruning: options.unigram.pruning,
            requires_characters: !options.auto_character_coverage,
            partials: options.num_threads as usize,
        }
    }

    /// The maximum number of candidates of unigram training.
    fn seed_limit(&self) -> usize {
        let automatic = (8 * self.options.vocab_size as usize).max(100_000);
        self.options.unigram.seed_size.limit(automatic)
    }

    pub(super) fn choose_characters(
        &self,
        counts: &CharacterCounts,
    ) -> Result<Alphabet, TrainError> {
        if self.options.auto_character_coverage {
            // The reference makes NUL a seed, which can end in a model that cannot be loaded.
            if self.options.model_type == ModelType::Unigram && counts.of_nul() > 0 {
                return Err(TrainError::ReservedCharacter { character: '\0' });
            }
            return Ok(Alphabet::all(counts));
        }
        let alphabet = Alphabet::choose(counts, &self.options)?;
        let characters = alphabet.characters.len();
        // Word and char models may lack chosen characters.
        let needs_all = matches!(self.options.model_type, ModelType::Bpe | ModelType::Unigram);
        if needs_all && characters > self.learned_size() {
            return Err(TrainError::VocabularyTooSmall {
                vocab_size: self.options.vocab_size as usize,
                meta_pieces: self.meta.len(),
                characters,
            });
        }
        Ok(alphabet)
    }
}
