//! Training of unigram models.
//!
//! ```text
//! texts -> seeds -> lattices -> [ (E step, M step) x num_sub_iterations, prune ] until few enough
//!           -> drop unreachable pieces -> add required characters, cut to vocab_size
//! ```
//!
//! A unigram model gives each piece a probability, and a text the probability of its best (or of
//! all) segmentations. Training starts with far more candidates than wanted ([`seeds`]). It
//! repeatedly fits their probabilities by expectation maximization ([`em`]) and drops the
//! candidates whose removal reduces the likelihood of the corpus least ([`prune`]). [`sparse`] is
//! an alternative pruning method.
//!
//! The result depends on the order of floating-point sums, and so on the option `num_threads`,
//! which is the number of partial sums (see [`em`]). It does not depend on the number of threads
//! that run.
//!
//! Source: T. Kudo, "Subword Regularization", 2018, <https://arxiv.org/abs/1804.10959>; file
//! `unigram_model_trainer.cc` of SentencePiece 0.2.3.

mod corpus_lattices;
mod em;
mod entries;
mod finalize;
mod lattice;
mod lattice_store;
mod math;
mod partial_sums;
mod pieces;
mod prune;
mod seed_candidates;
mod seed_file;
mod seed_nodes;
mod seeds;
mod seed_rules;
mod seed_totals;
pub(crate) mod sentences;
mod sparse;
pub(crate) mod spool;
mod suffix;
mod suffixes;
mod two_best;
pub(crate) mod word_corpus;
mod word_keys;
#[cfg(test)]
mod testing;

use std::path::PathBuf;

use self::corpus_lattices::CorpusLattices;
use self::math::FastMath;
use self::pieces::{MAX_SEEDS, PieceList, Renumbering, ScoredSeed, Seeds, TOO_MANY_SEEDS};
use self::prune::{OwnLattices, PruneTarget};
use self::seed_rules::{CountRule, LengthWeights, SeedRules};
use self::seeds::ScoredSeeds;
use self::sparse::SparsePruning;
use self::word_corpus::{UnigramTexts, WordChunk};
use crate::train::TrainError;
use crate::train::alphabet::Alphabet;
use crate::train::assemble::LearnedPiece;
use crate::train::observer::{Event, Run, Stage};
use crate::train::options::PruningMethod;
use crate::train::split::SplitRules;
use crate::train::split::word_rules::WordRules;
use crate::trie::Trie;

/// Training fails after this many consecutive pruning steps that drop no piece.
///
/// A step keeps a share below 1 of the pieces, and all pieces without a replacement. These are the
/// single characters, which are fewer than the wanted pieces, and texts for which the search of
/// [`two_best`] reaches its limits. Only the latter could prevent termination, as in the reference;
/// no corpus is known to do so.
const MAX_IDLE_STEPS: usize = 100;

/// Dropped seeds are forgotten when they are at least one in this many.
const MIN_FORGOTTEN_SHARE: usize = 8;

/// A file of seeds.
#[derive(Debug, Clone)]
pub(crate) struct SeedFile {
    /// For error messages.
    pub(crate) path: PathBuf,
    pub(crate) content: Vec<u8>,
    /// The number of seeds at which reading ends.
    pub(crate) limit: usize,
}

/// The options of unigram training, as the algorithm needs them.
#[derive(Debug, Clone)]
pub(crate) struct UnigramConfig {
    pub(crate) split: SplitRules,
    /// How sentences are divided into words; `None` if pieces may cross words.
    pub(crate) words: Option<WordRules>,
    pub(crate) max_piece_length: usize,
    /// The maximum number of seeds in addition to characters.
    pub(crate) seed_limit: usize,
    /// The size of the chunks in which seeds are searched, in bytes.
    pub(crate) chunk_bytes: u64,
    /// Seeds are scored by their count times this power of their length.
    pub(crate) seed_length_power: f32,
    /// The factor in the smallest count of a long seed (`min_freq_alpha`).
    pub(crate) min_count_alpha: f32,
    /// Seeds that replace those of the corpus.
    pub(crate) seed_file: Option<SeedFile>,
    pub(crate) vocab_size: usize,
    /// The number of learned pieces wanted.
    pub(crate) room: usize,
    pub(crate) sub_iterations: usize,
    pub(crate) shrinking_factor: f32,
    pub(crate) pruning: PruningMethod,
    /// Whether all characters of the alphabet must become pieces.
    pub(crate) requires_characters: bool,
    /// The number of partial sums (`num_threads`).
    pub(crate) partials: usize,
}

impl UnigramConfig {
    fn seed_rules(&self) -> SeedRules {
        SeedRules {
            split: self.split,
            max_length: self.max_piece_length,
            limit: self.seed_limit,
            weights: LengthWeights::new(self.seed_length_power, self.max_piece_length),
            counts: CountRule {
                alpha: self.min_count_alpha,
                vocab_size: self.vocab_size,
            },
        }
    }

    /// The characters that must become pieces.
    fn required_characters<'a>(&self, alphabet: &'a Alphabet) -> &'a [(char, u64)] {
        if self.requires_characters {
            &alphabet.characters
        } else {
            &[]
        }
    }
}

/// Learns the pieces of a unigram model from texts whose unknown characters are marked.
///
/// # Errors
/// A line of the seed file is malformed, `min_freq_alpha` gives an invalid smallest count, the
/// corpus has too many distinct words or seeds for 32-bit numbers, a word is of 4 GiB or more,
/// training diverges or does not reach the wanted size, or the observer asks to stop.
pub(crate) fn learn(
    mut texts: UnigramTexts,
    alphabet: &Alphabet,
    config: &UnigramConfig,
    run: &mut Run,
) -> Result<Vec<LearnedPiece>, TrainError> {
    run.reporter.start(Stage::Seeding)?;
    let ScoredSeeds { seeds, pieces } = run
        .pool
        .install(|| choose_seeds(&mut texts, alphabet, config))?;
    if seeds.len() >= MAX_SEEDS {
        return Err(TOO_MANY_SEEDS);
    }
    run.reporter.start(Stage::Estimating)?;
    let estimation = run
        .pool
        .install(|| Estimation::new(texts, seeds, pieces, config));
    let mut estimation = estimation?;
    run.summary.distinct_words = estimation.texts;
    estimation.prune_to_size(config, run)?;
    run.pool.install(|| {
        let reachable = prune::reachable(&estimation.own, &estimation.pieces);
        estimation.pieces.replace(reachable)
    })?;
    Ok(finalize::finalize(
        &estimation.seeds,
        &estimation.pieces,
        config.required_characters(alphabet),
        config.room,
    ))
}

/// Chooses the seeds. Takes the chunks out of counted words to free them early.
fn choose_seeds(
    texts: &mut UnigramTexts,
    alphabet: &Alphabet,
    config: &UnigramConfig,
) -> Result<ScoredSeeds, TrainError> {
    let mut characters = alphabet.characters.clone();
    characters.retain(|(_, count)| *count > 0);
    let mut rules = config.seed_rules();
    if let Some(file) = &config.seed_file {
        rules.limit = file.limit;
        return seed_file::choose(&characters, &file.content, &file.path, &rules);
    }
    match texts {
        UnigramTexts::Ordered(sentences) => {
            let chunks = sentences.chunks(config.chunk_bytes);
            let entries = chunks
                .iter()
                .map(|chunk| sentences.entries(chunk, config.words));
            seeds::choose(&characters, entries, &rules)
        }
        UnigramTexts::Words(words) => {
            let chunks = std::mem::take(&mut words.chunks);
            let entries = chunks.into_iter().map(WordChunk::into_entries);
            seeds::choose(&characters, entries, &rules)
        }
    }
}

/// The state of expectation maximization.
struct Estimation {
    seeds: Seeds,
    pieces: PieceList,
    /// The number of E steps so far.
    iterations: usize,
    /// The number of texts.
    texts: usize,
    /// The sum of their frequencies.
    total: f64,
    math: FastMath,
    /// The lattices of the texts.
    corpus: CorpusLattices,
    /// A trie of the seeds, until `own` is built from it.
    trie: Option<Trie>,
    /// The lattices of the pieces. They are built after the first step, which drops many seeds.
    own: OwnLattices,
}

impl Estimation {
    fn new(
        texts: UnigramTexts,
        seeds: Seeds,
        pieces: Vec<ScoredSeed>,
        config: &UnigramConfig,
    ) -> Result<Self, TrainError> {
        let trie = seeds.trie()?;
        let pieces = PieceList::new(&seeds, &trie, pieces)?;
        // The texts whose likelihood is estimated; sentences are freed if they are not these texts.
        let texts = match (texts, config.words) {
            (UnigramTexts::Words(corpus), _) => corpus.words,
            (UnigramTexts::Ordered(sentences), Some(rules)) => sentences.words(rules)?,
            (UnigramTexts::Ordered(sentences), None) => sentences,
        };
        Ok(Self {
            seeds,
            pieces,
            iterations: 0,
            texts: texts.len(),
            total: texts.total(),
            math: FastMath::new(),
            corpus: CorpusLattices::new(&texts, &trie, config.partials),
            trie: Some(trie),
            own: OwnLattices::default(),
        })
    }

    /// Estimates and prunes until few enough pieces remain.
    fn prune_to_size(&mut self, config: &UnigramConfig, run: &mut Run) -> Result<(), TrainError> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "the reference multiplies in 64 bits and cuts the fraction off"
        )]
        let wanted = (config.vocab_size as f64 * 1.1) as usize;
        match config.pruning {
            PruningMethod::Loss => self.prune_by_loss(wanted, config, run),
            PruningMethod::Sparse { debias } => SparsePruning { wanted, debias }.run(self, run),
        }
    }

    fn prune_by_loss(
        &mut self,
        wanted: usize,
        config: &UnigramConfig,
        run: &mut Run,
    ) -> Result<(), TrainError> {
        let target = PruneTarget {
            wanted,
            shrinking_factor: config.shrinking_factor,
        };
        let mut idle_steps = 0;
        loop {
            let before = self.pieces.len();
            for _ in 0..config.sub_iterations {
                self.estimate(wanted, run, em::maximize)?;
            }
            run.pool.install(|| self.prune(target))?;
            let pieces = self.pieces.len();
            if pieces <= wanted {
                return Ok(());
            }
            idle_steps = if pieces < before { 0 } else { idle_steps + 1 };
            if idle_steps == MAX_IDLE_STEPS {
                return Err(TrainError::NoConvergence {
                    vocab_size: config.vocab_size,
                    pieces,
                });
            }
        }
    }

    /// Runs an E step and replaces the pieces by those that `update` computes from the expected
    /// counts by seed.
    fn estimate(
        &mut self,
        wanted: usize,
        run: &mut Run,
        update: impl FnOnce(&PieceList, &[f32]) -> Vec<ScoredSeed>,
    ) -> Result<(), TrainError> {
        let expected = run
            .pool
            .install(|| em::expect(&self.corpus, &self.pieces, &self.math));
        let updated = update(&self.pieces, &expected.counts);
        self.pieces.replace(updated)?;
        run.pool.install(|| self.forget_dropped())?;
        self.iterations += 1;
        run.reporter.report(Event::Estimated {
            iteration: self.iterations,
            pieces: self.pieces.len(),
            wanted,
            log_likelihood: expected.log_likelihood / self.total,
        })
    }

    fn prune(&mut self, target: PruneTarget) -> Result<(), TrainError> {
        let replacements = prune::replacements(&self.own, &self.pieces);
        let counts = prune::count_pieces(&self.corpus, &self.pieces);
        let kept = prune::prune(&self.pieces, &replacements, &counts, target);
        self.pieces.replace(kept)?;
        self.forget_dropped()
    }

    /// Removes all data of seeds that are no longer pieces, if they are many, and gives the others
    /// new numbers.
    fn forget_dropped(&mut self) -> Result<(), TrainError> {
        let dropped = self.seeds.len() - self.pieces.len();
        if self.trie.is_none() && dropped < self.seeds.len() / MIN_FORGOTTEN_SHARE {
            return Ok(());
        }
        let numbers = Renumbering::new(&self.pieces);
        match self.trie.take() {
            None => self.own.renumber(&numbers),
            Some(trie) => {
                self.own = OwnLattices::new(&numbers, &trie, |seed| self.seeds.text(seed));
            }
        }
        self.seeds = self.seeds.renumbered(&numbers);
        self.pieces.renumber(&numbers);
        self.corpus.renumber(&numbers);
        Ok(())
    }
}
