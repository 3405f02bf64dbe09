//! The stages between reading and assembling, for each type of model.
//!
//! Input: the corpus. Output: the learned pieces, best first.
//!
//! | model | stages |
//! |---|---|
//! | BPE | count words, choose characters, merge pairs |
//! | unigram | count words (or read sentences), choose characters, choose seeds, estimate and prune |
//! | word | count words, choose characters, take the most frequent words of these characters |
//! | char | count characters, choose characters |
//!
//! Example: from `to be or not to be` a word model learns `▁be`, `▁to`, `▁not`, `▁or`, and a char
//! model `▁`, `o`, `t`, ...

use super::Trainer;
use super::alphabet::{Alphabet, CharacterCounts};
use super::assemble::{self, LearnedPiece};
use super::bpe::{
    coverage_search,
    merge::{LearnedMerge, MergeTrainer},
    queue::ShortestText,
    symbols::SymbolArena,
    word_buffer::{Characters, WordBuffer},
};
use super::corpus::{Corpus, read_file};
use super::counts::ShardedCounts;
use super::observer::{Run, Stage};
use super::split::SplitRules;
use super::split::word_rules::WordRules;
use super::unigram::sentences::CHUNK_BYTES;
use super::unigram::word_corpus::{ResolvedTexts, UnigramTexts};
use super::unigram::{self, SeedFile, UnigramConfig};
use super::word_char;
use crate::error::TrainError;
use crate::model::ModelType;

/// The corpus as BPE, word and char models need it.
pub(super) struct CountedCorpus {
    pub(super) words: ShardedCounts,
    characters: CharacterCounts,
    alphabet: Alphabet,
}

impl CountedCorpus {
    /// The number of distinct parts of text that training a model of this type counts.
    fn distinct_parts(&self, model_type: ModelType) -> usize {
        match model_type {
            // Training a char model counts characters, but a table of counts has words.
            ModelType::Char => self.characters.len(),
            _ => self.words.len(),
        }
    }
}

impl Trainer {
    fn learn_bpe(
        &self,
        counted: CountedCorpus,
        run: &mut Run<'_>,
    ) -> Result<Vec<LearnedPiece>, TrainError> {
        let CountedCorpus {
            words,
            characters,
            alphabet,
        } = counted;
        run.reporter.start(Stage::Merging)?;
        let merges = self.merge(words, &alphabet, run)?;
        run.summary.merges = merges.len();
        let texts = if self.options.auto_character_coverage {
            coverage_search::divide(merges, &characters, self.learned_size())
        } else {
            assemble::learned_texts(merges, &alphabet)
        };
        Ok(assemble::bpe_pieces(texts))
    }

    fn learn_words(
        &self,
        counted: &CountedCorpus,
        run: &mut Run<'_>,
    ) -> Result<Vec<LearnedPiece>, TrainError> {
        let room = self.room_for_all();
        run.pool
            .install(|| word_char::word_pieces(&counted.words, &counted.alphabet, room))
    }

    fn learn_characters(&self, alphabet: &Alphabet) -> Result<Vec<LearnedPiece>, TrainError> {
        word_char::char_pieces(alphabet, self.room_for_all())
    }

    pub(super) fn learn_unigram(
        &self,
        corpus: Corpus<'_>,
        run: &mut Run<'_>,
    ) -> Result<Vec<LearnedPiece>, TrainError> {
        // First, so that a missing file is reported before the corpus is read.
        let seed_file = self.read_seed_file()?;
        let config = self.unigram_config(seed_file);
        let (texts, alphabet) = self.unigram_texts(corpus, config.chunk_bytes, run)?;
        unigram::learn(texts, &alphabet, &config, run)
    }

    /// The corpus of a unigram model, with U+2585 for characters that are not in the alphabet, and
    /// the alphabet.
    fn unigram_texts(
        &self,
        corpus: Corpus<'_>,
        chunk_bytes: u64,
        run: &mut Run<'_>,
    ) -> Result<(UnigramTexts, Alphabet), TrainError> {
        let reader = self.reader()?;
        let Some(rules) = reader.segment_rules(chunk_bytes) else {
            return self.ordered_texts(corpus, run);
        };
        let again = corpus.reread();
        let segments = reader.count_sentences(corpus, rules, run)?;
        run.reporter.start(Stage::Characters)?;
        let counts = run.pool.install(|| segments.character_counts())?;
        let alphabet = self.choose_characters(&counts)?;
        run.summary.note_words(0, &alphabet);
        match run.pool.install(|| segments.resolve(&alphabet))? {
            ResolvedTexts::Words(words) => Ok((UnigramTexts::Words(words), alphabet)),
            ResolvedTexts::Ordered(texts) => Ok((
                UnigramTexts::Ordered(texts.mark_unknown(&alphabet.known())),
                alphabet,
            )),
            ResolvedTexts::Unresolved => {
                self.ordered_texts(again.ok_or(TrainError::SecondReading)?, run)
            }
        }
    }

    /// As [`Trainer::unigram_texts`], with the sentences in their order.
    fn ordered_texts(
        &self,
        corpus: Corpus<'_>,
        run: &mut Run<'_>,
    ) -> Result<(UnigramTexts, Alphabet), TrainError> {
        let sentences = self.reader()?.read_sentences(corpus, run)?;
        run.reporter.start(Stage::Characters)?;
        let counts = run.pool.install(|| sentences.character_counts())?;
        let alphabet = self.choose_characters(&counts)?;
        // The number of words is known once the sentences are split.
        run.summary.note_words(0, &alphabet);
        let sentences = if self.options.auto_character_coverage {
            // No character is replaced: those without a piece are found later.
            sentences
        } else {
            sentences.mark_unknown(&alphabet.known())
        };
        Ok((UnigramTexts::Ordered(sentences), alphabet))
    }

    /// Counts the words and the characters of the corpus, and chooses the characters.
    pub(super) fn count_corpus(
        &self,
        corpus: Corpus<'_>,
        run: &mut Run<'_>,
    ) -> Result<CountedCorpus, TrainError> {
        let counted = self.reader()?.count_words(corpus, &mut run.reporter)?;
        run.summary.sentences = counted.sentences;
        self.choose_alphabet(counted.words, run)
    }

    /// Counts the characters of the words, chooses the alphabet, and then removes rare words if a
    /// minimum count is set.
    pub(super) fn choose_alphabet(
        &self,
        words: ShardedCounts,
        run: &mut Run<'_>,
    ) -> Result<CountedCorpus, TrainError> {
        run.reporter.start(Stage::Characters)?;
        let characters = run.pool.install(|| CharacterCounts::of(&words))?;
        let alphabet = self.choose_characters(&characters)?;
        let mut counted = CountedCorpus {
            words,
            characters,
            alphabet,
        };
        let parts = counted.distinct_parts(self.options.model_type);
        run.summary.note_words(parts, &counted.alphabet);
        self.remove_rare_words(&mut counted.words);
        Ok(counted)
    }

    /// The learned pieces of a BPE, word or char model.
    pub(super) fn learn_from(
        &self,
        counted: CountedCorpus,
        run: &mut Run<'_>,
    ) -> Result<Vec<LearnedPiece>, TrainError> {
        match self.options.model_type {
            ModelType::Word => self.learn_words(&counted, run),
            ModelType::Char => self.learn_characters(&counted.alphabet),
            // Unigram models are not learned from counted words.
            ModelType::Bpe | ModelType::Unigram => self.learn_bpe(counted, run),
        }
    }

    /// The maximum number of learned pieces of a word or char model.
    fn room_for_all(&self) -> usize {
        if self.options.use_all_vocab {
            usize::MAX
        } else {
            self.learned_size()
        }
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

    fn choose_characters(&self, counts: &CharacterCounts) -> Result<Alphabet, TrainError> {
        if self.options.auto_character_coverage {
            // The reference makes NUL a seed, which can end in a model that cannot be loaded.
            if self.options.model_type == ModelType::Unigram && counts.of_nul() > 0 {
                return Err(TrainError::ReservedCharacter { character: '\0' });
            }
            return Ok(Alphabet::all(counts));
        }
        let alphabet = Alphabet::choose(counts, &self.options)?;
        let characters = alphabet.characters.len();
        if self.needs_all_characters() && characters > self.learned_size() {
            return Err(self.vocabulary_too_small(characters));
        }
        Ok(alphabet)
    }

    /// Whether every chosen character must be a piece. Word and char models may lack characters.
    fn needs_all_characters(&self) -> bool {
        matches!(self.options.model_type, ModelType::Bpe | ModelType::Unigram)
    }

    fn vocabulary_too_small(&self, characters: usize) -> TrainError {
        TrainError::VocabularyTooSmall {
            vocab_size: self.options.vocab_size as usize,
            meta_pieces: self.meta.len(),
            characters,
        }
    }

    fn merge(
        &self,
        words: ShardedCounts,
        alphabet: &Alphabet,
        run: &mut Run<'_>,
    ) -> Result<Vec<LearnedMerge>, TrainError> {
        let wanted = self.wanted_merges(alphabet);
        let rules = SplitRules::new(&self.options);
        let symbols = SymbolArena::new(alphabet, &rules);
        let words = run
            .pool
            .install(|| WordBuffer::new(words, &Characters::of(&symbols), &self.work.hasher))?;
        run.reporter.expect_merges(wanted);
        let merger: MergeTrainer<'_, ShortestText> =
            MergeTrainer::new(&rules, &run.pool, &self.work.hasher, symbols, words);
        let merges = merger.run(wanted, &mut |merges| run.reporter.merged(merges))?;
        run.reporter.end_merges(&merges)?;
        Ok(merges)
    }

    /// The number of merges that the vocabulary has room for.
    fn wanted_merges(&self, alphabet: &Alphabet) -> usize {
        if self.options.auto_character_coverage {
            self.learned_size()
        } else {
            self.learned_size() - alphabet.characters.len()
        }
    }
}
