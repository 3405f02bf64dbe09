//! Training of byte-level BPE: a corpus goes in, a [`ByteBpe`] comes out.
//!
//! ```text
//! 1 texts -> pretokens of a pattern -> counts
//! 2 counts -> words of bytes, without the rare ones
//! 3 merge pairs, best first, until the vocabulary is full
//! 4 ids -> ByteBpe
//! ```
//!
//! Counting, the word buffer, the pair index and the queue are those of SentencePiece's BPE; see
//! [`bpe`](super::bpe). Five things are different: texts are cut by a pattern ([`PretokenSource`]),
//! each byte is an initial symbol ([`ByteSpelling`]), every pair may merge as long as the token is
//! not too long ([`SplitRules::of_bytes`]), ties have another order ([`order`]), and nothing is
//! normalized.
//!
//! # The references
//!
//! | | `tokenizers` | rustbpe | minbpe | plain implementations of courses |
//! |---|---|---|---|---|
//! | ties | smallest (left id, right id) | the same | the pair that occurs first | greatest (left bytes, right bytes) |
//! | ids | special tokens, bytes, merges | bytes, merges, special tokens | the same | the same |
//! | order of the bytes | by the characters that stand for them: `!` first | by value | by value | by value |
//! | expressions are those of | Oniguruma | the crate `fancy-regex` | the package `regex` | the package `regex` |
//!
//! minbpe's order needs the place of the first occurrence of each distinct pretoken, and nothing
//! else of the order of the text ([`order::FirstPlaces`]).
//!
//! # Required and forbidden tokens
//!
//! Required tokens are made by merges before all others ([`seeds`]), and forbidden ones are pairs that
//! are no candidates ([`TokenBans`](super::bpe::bans::TokenBans)). No reference has either.
//!
//! # Special tokens that are learned
//!
//! A merge that spells a special token of `tokenizers` has that token's id, and does not count as a
//! token of the vocabulary. All of them stop when no pair is left (minbpe with an error).

mod counts;
mod first_places;
mod options;
mod order;
mod seeds;
mod token_lines;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::iter;
use std::num::{NonZeroU64, NonZeroUsize};

use self::first_places::OrderedCounts;
pub(crate) use self::options::length_limit;
pub use self::options::{ByteTieOrder, ByteTrainOptions, ParseByteTieOrderError};
pub(crate) use self::order::{FirstPlaces, GreatestBytes, SmallestIds};
use self::seeds::SeedTokens;
use super::TrainError;
use super::batch::{Batch, SentenceRules};
use super::bpe::merge::{LearnedMerge, MergeTrainer};
use super::bpe::queue::TieOrder;
use super::bpe::symbols::SymbolArena;
use super::bpe::word_buffer::{ByteSpelling, WordBuffer};
use super::corpus::{Batches, Corpus, ReadAs};
use super::execution_config::ExecutionConfig;
use super::observer::{Observer, Reporter, Run, Stage, Summary};
use super::options::{InputFormat, OptionError};
use super::split::SplitRules;
use super::word_table::WordTable;
use super::words::{PretokenSource, ReadTexts, WordCounting, WordSource};
use crate::added::FoundTokens;
use crate::byte_bpe::{ByteBpe, ByteBpeParts, ByteToken, SpecialToken};
use crate::input::Document;
use crate::pipeline::Pipeline;

/// Trains byte-level BPE.
///
/// ```
/// use spiece::train::{ByteTieOrder, ByteTrainOptions, ByteTrainer};
/// use spiece::{Corpus, Tokenizer, TokenizerConfig};
///
/// let pretokenizer = ByteTieOrder::Tokenizers.pretokenizer("gpt2")?;
/// let mut options = ByteTrainOptions::new(260, pretokenizer);
/// options.special_tokens = vec!["<|endoftext|>".to_owned()];
/// let trained = ByteTrainer::new(options)?.train(Corpus::texts(["low lower", "lowest"]))?;
/// assert_eq!(trained.id_to_bytes(0.into()), Some(&b"<|endoftext|>"[..]));
/// let tokenizer = Tokenizer::from_pipeline(trained, TokenizerConfig::default());
/// assert_eq!(tokenizer.encode("low").len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ByteTrainer {
    options: ByteTrainOptions,
    layout: IdLayout,
    seeds: SeedTokens,
    special: Option<SpecialSearch>,
    work: ExecutionConfig,
    observer: Observer,
    /// Pretokens that occur less often are ignored.
    min_word_count: NonZeroU64,
}

impl ByteTrainer {
    /// A trainer with these options.
    ///
    /// # Errors
    /// `vocab_size` has no room for the bytes and the special tokens; a special token is empty or
    /// has a NUL, or is, for `tokenizers`, the spelling of other bytes; `split_special_tokens` is set
    /// with the order of minbpe. A [required](ByteTrainOptions::required_tokens) token is empty, no
    /// pretoken of its own, too long or forbidden; a forbidden one is empty, or a byte that is never to
    /// be made. Also the errors of [`untrained`](Self::untrained).
    pub fn new(options: ByteTrainOptions) -> Result<Self, TrainError> {
        let mut layout = IdLayout::new(&options)?;
        let seeds = SeedTokens::new(&options, &layout.bytes)?;
        layout.make_room(seeds.merged())?;
        if options.split_special_tokens && options.tie_order == ByteTieOrder::Minbpe {
            return Err(OptionError::Conflict {
                option: "split_special_tokens",
                problem: "minbpe trains on special tokens as on other text".to_owned(),
                remedy: "leave it out, or choose another tie_order",
            }
            .into());
        }
        let mut trainer = Self {
            layout,
            seeds,
            options,
            special: None,
            work: ExecutionConfig::of_machine(),
            observer: Observer::default(),
            min_word_count: NonZeroU64::MIN,
        };
        if !trainer.layout.special.is_empty() {
            trainer.special = Some(SpecialSearch::new(trainer.untrained()?));
        }
        Ok(trainer)
    }

    /// Sets the number of threads, at most 1024. The default is the number of cores. The tokens do
    /// not depend on it.
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

    /// Trains without the pretokens that occur less often than `min_count`. This approximation
    /// needs less memory for merging.
    #[must_use]
    pub fn with_min_word_count(mut self, min_count: NonZeroU64) -> Self {
        self.min_word_count = min_count;
        self
    }

    /// The options.
    pub fn options(&self) -> &ByteTrainOptions {
        &self.options
    }

    /// The vocabulary before training: bytes, special tokens, and required ones with their parts.
    ///
    /// # Errors
    /// The special tokens are refused; see [`ByteBpe::new`].
    pub fn untrained(&self) -> Result<ByteBpe, TrainError> {
        self.vocabulary(Vec::new())
    }

    /// Trains on `corpus`. Memory grows with the distinct pretokens, not with the corpus. Bytes
    /// that are not UTF-8 are read as U+FFFD.
    ///
    /// # Errors
    /// The corpus cannot be read, or has no text. [`TrainError::Cancelled`] if the observer asks to
    /// stop.
    pub fn train(&self, corpus: Corpus<'_>) -> Result<ByteBpe, TrainError> {
        let mut run = Run::new(&self.observer, self.work.thread_pool()?);
        let reader = self.reader();
        // Step 1 reads the corpus, and counts its pretokens.
        let merges = match self.options.tie_order {
            ByteTieOrder::Tokenizers | ByteTieOrder::Rustbpe | ByteTieOrder::Greatest => {
                let words = reader.count(corpus, &mut run)?;
                self.merge_counted(words, &mut run)?
            }
            ByteTieOrder::Minbpe => {
                let words = OrderedCounts::read(&reader, corpus, &mut run)?;
                self.merge_in_order(&words, &mut run)?
            }
        };
        self.finish(merges, run)
    }

    fn reader(&self) -> PretokenReader<'_> {
        PretokenReader {
            source: self.source(),
            document: self.options.document,
            input_format: self.options.input_format,
            work: &self.work,
        }
    }

    fn source(&self) -> PretokenSource<'_> {
        let pretokenizer = &self.options.pretokenizer;
        match &self.special {
            None => PretokenSource::Pattern(pretokenizer),
            Some(special) if self.options.split_special_tokens => PretokenSource::Pipeline {
                pipeline: &special.pipeline,
                found: &special.found,
            },
            Some(special) => PretokenSource::Counting {
                pretokenizer,
                pipeline: &special.pipeline,
                found: &special.found,
            },
        }
    }

    /// Steps 2 and 3, if the order of ties does not depend on the text.
    fn merge_counted(
        &self,
        mut words: WordTable,
        run: &mut Run,
    ) -> Result<Vec<LearnedMerge>, TrainError> {
        words.remove_rare(self.min_word_count.get());
        run.reporter.start(Stage::Merging)?;
        let symbols = self.seeds.symbols();
        let hasher = &self.work.hasher;
        let words = run.pool.install(|| match self.seeds.merged() {
            [] => WordBuffer::new(words, &ByteSpelling::of(&symbols), hasher),
            _ => WordBuffer::new(words, &self.seeds, hasher),
        })?;
        if self.options.tie_order == ByteTieOrder::Greatest {
            return self.merge(GreatestBytes, symbols, words, run);
        }
        let order = SmallestIds {
            special: &self.layout.learnable,
        };
        self.merge(order, symbols, words, run)
    }

    /// Steps 2 and 3, if pairs that occur equally often are merged in the order of the text.
    fn merge_in_order(
        &self,
        words: &OrderedCounts,
        run: &mut Run,
    ) -> Result<Vec<LearnedMerge>, TrainError> {
        let words = words.frequent(self.min_word_count.get());
        run.reporter.start(Stage::Merging)?;
        let symbols = self.seeds.symbols();
        let words = match self.seeds.merged() {
            [] => WordBuffer::in_order(words, &ByteSpelling::of(&symbols))?,
            _ => WordBuffer::in_order(words, &self.seeds)?,
        };
        self.merge(FirstPlaces, symbols, words, run)
    }

    /// Merges pairs, best first, until the vocabulary is full.
    fn merge(
        &self,
        order: impl TieOrder,
        symbols: SymbolArena,
        words: WordBuffer,
        run: &mut Run,
    ) -> Result<Vec<LearnedMerge>, TrainError> {
        let wanted = self.layout.room;
        run.reporter.expect_merges(wanted);
        let rules = SplitRules::of_bytes(length_limit(self.options.max_token_length));
        let merger = MergeTrainer::new(
            (&rules, order),
            &run.pool,
            &self.work.hasher,
            symbols,
            words,
        );
        let merges = merger.run_occurring(
            (wanted, self.options.min_frequency),
            &|text| self.layout.learnable.contains_key(text),
            &mut |merges| run.reporter.merged(merges),
        )?;
        run.reporter.end_merges(&merges)?;
        run.summary.merges = self.seeds.merged().len() + merges.len();
        Ok(merges)
    }

    /// Step 4: gives the tokens their ids.
    fn finish(&self, merges: Vec<LearnedMerge>, mut run: Run) -> Result<ByteBpe, TrainError> {
        run.reporter.start(Stage::Assembling)?;
        let trained = self.vocabulary(merges)?;
        run.summary.pieces = trained.vocab_size();
        run.finish()?;
        Ok(trained)
    }

    fn vocabulary(&self, merges: Vec<LearnedMerge>) -> Result<ByteBpe, TrainError> {
        let mut parts = ByteBpeParts::new(self.options.pretokenizer.clone());
        parts.whole_pretokens_first = self.options.tie_order != ByteTieOrder::Tokenizers;
        let seeds = self.seeds.merged().iter().cloned();
        let merged = seeds.chain(merges.into_iter().map(|merge| merge.text));
        (parts.tokens, parts.special_tokens) = self.layout.tokens(merged.collect())?;
        Ok(ByteBpe::new(parts)?)
    }
}

/// Finds the special tokens of the options in texts.
#[derive(Debug)]
struct SpecialSearch {
    pipeline: Pipeline,
    found: FoundTokens,
}

impl SpecialSearch {
    /// `untrained` has the special tokens.
    fn new(untrained: ByteBpe) -> Self {
        let pipeline = Pipeline::from(untrained);
        let found = pipeline.found(|_| true, true);
        Self { pipeline, found }
    }
}

impl ReadTexts {
    /// Writes the figures of texts with so many distinct pretokens to a summary.
    ///
    /// # Errors
    /// There is no text.
    fn summarize(&self, distinct_words: usize, summary: &mut Summary) -> Result<(), TrainError> {
        if self.sentences.used == 0 {
            return Err(TrainError::NoText {
                sentences: self.sentences,
                max_sentence_length: 0,
            });
        }
        summary.sentences = self.sentences;
        summary.special_tokens = self.special_tokens;
        summary.distinct_words = distinct_words;
        Ok(())
    }
}

/// Reads a corpus of raw text, and counts its pretokens.
pub(crate) struct PretokenReader<'t> {
    pub(crate) source: PretokenSource<'t>,
    pub(crate) document: Option<Document>,
    pub(crate) input_format: InputFormat,
    pub(crate) work: &'t ExecutionConfig,
}

impl<'t> PretokenReader<'t> {
    /// The pretokens of the corpus.
    pub(crate) fn count(&self, corpus: Corpus<'_>, run: &mut Run) -> Result<WordTable, TrainError> {
        let mut words = WordTable::new(self.work.hasher.clone());
        let read = self.count_into(corpus, &mut words, &mut run.reporter)?;
        read.summarize(words.len(), &mut run.summary)?;
        Ok(words)
    }

    /// Adds the pretokens of the corpus to `counts`.
    fn count_into(
        &self,
        corpus: Corpus<'_>,
        counts: &mut WordTable,
        reporter: &mut Reporter,
    ) -> Result<ReadTexts, TrainError> {
        let mut batches = self.batches(corpus, reporter)?;
        let read = iter::from_fn(|| batches.next(reporter).transpose());
        let mut texts = self.count_batches(read, counts)?;
        texts.sentences.add(&batches.skipped());
        Ok(texts)
    }

    /// Adds the pretokens of these texts to `counts`.
    fn count_batches(
        &self,
        batches: impl Iterator<Item = Result<Batch, TrainError>>,
        counts: &mut WordTable,
    ) -> Result<ReadTexts, TrainError> {
        let counting = WordCounting {
            source: &WordSource::Pretokens(self.source),
            rules: self.rules(),
            threads: self.work.threads,
        };
        counting.count(batches, counts)
    }

    fn rules(&self) -> SentenceRules {
        SentenceRules::of_all(self.input_format)
    }

    /// The texts of the corpus.
    fn batches<'c>(
        &self,
        corpus: Corpus<'c>,
        reporter: &mut Reporter,
    ) -> Result<Batches<'c>, TrainError>
    where
        't: 'c,
    {
        let document = self.document.unwrap_or(match corpus.has_records() {
            true => Document::Record,
            false => Document::Line,
        });
        // An error of the options before one of the files.
        corpus.documents(document)?;
        corpus.check_files()?;
        reporter.start(Stage::Reading)?;
        reporter.expect_bytes(corpus.total_bytes());
        let read_as = ReadAs::Raw(self.source);
        Ok(Batches::new(
            corpus,
            document,
            read_as,
            self.work.batch_bytes,
        )?)
    }
}

/// Which ids the tokens get.
#[derive(Debug)]
struct IdLayout {
    /// All bytes, in the order of their ids.
    bytes: Vec<u8>,
    /// The texts of the special tokens, each once.
    special: Vec<String>,
    /// Whether special tokens come before the bytes.
    special_first: bool,
    /// The special tokens whose ids learned tokens share, by their bytes.
    learnable: HashMap<Box<[u8]>, u32>,
    /// How many merged tokens the vocabulary has room for.
    room: usize,
}

impl IdLayout {
    fn new(options: &ByteTrainOptions) -> Result<Self, TrainError> {
        let special_first = options.tie_order == ByteTieOrder::Tokenizers;
        let mut special: Vec<String> = Vec::with_capacity(options.special_tokens.len());
        let mut learnable = HashMap::new();
        for text in &options.special_tokens {
            let refuse = |problem| OptionError::Piece {
                option: "special_tokens",
                piece: text.clone(),
                problem,
            };
            if text.is_empty() || text.contains('\0') {
                return Err(refuse("is empty or has a NUL; leave it out").into());
            }
            if special.contains(text) {
                continue;
            }
            if special_first && text.chars().all(stands_for_byte) {
                if !text.is_ascii() {
                    return Err(refuse(
                        "stands for other bytes in tokenizer.json; add an ASCII character that no text has, as in <é>",
                    )
                    .into());
                }
                learnable.insert(text.as_bytes().into(), id_of(special.len())?);
            }
            special.push(text.clone());
        }
        let bytes: Vec<u8> = if special_first {
            let (printable, others) =
                (0..=u8::MAX).partition::<Vec<u8>, _>(|byte| is_printable(*byte));
            [printable, others].concat()
        } else {
            (0..=u8::MAX).collect()
        };
        let single_bytes = bytes
            .iter()
            .filter(|byte| !learnable.contains_key(&[**byte][..]));
        let fixed = special.len() + single_bytes.count();
        let size = options.vocab_size as usize;
        let Some(room) = size.checked_sub(fixed) else {
            return Err(OptionError::Conflict {
                option: "vocab_size",
                problem: format!(
                    "{size} is too small for 256 bytes and {} special tokens",
                    special.len()
                ),
                remedy: "raise it, or remove special tokens",
            }
            .into());
        };
        Ok(Self {
            bytes,
            special,
            special_first,
            learnable,
            room,
        })
    }

    /// Leaves less room for what is merged in training.
    fn make_room(&mut self, seeds: &[Box<[u8]>]) -> Result<(), TrainError> {
        let needed = seeds
            .iter()
            .filter(|text| !self.learnable.contains_key(*text));
        let needed = needed.count();
        self.room = self.room.checked_sub(needed).ok_or_else(|| OptionError::Conflict {
            option: "vocab_size",
            problem: format!(
                "it has room for {} tokens besides bytes and special tokens, and required_tokens make {needed} with their parts",
                self.room
            ),
            remedy: "raise it, or remove required tokens",
        })?;
        Ok(())
    }

    /// The tokens in the order of their ranks, and the special tokens.
    fn tokens(
        &self,
        merges: Vec<Box<[u8]>>,
    ) -> Result<(Vec<ByteToken>, Vec<SpecialToken>), TrainError> {
        let tokens = self.bytes.len() + merges.len();
        let (first_token, first_special) = match self.special_first {
            true => (self.special.len(), 0),
            false => (0, tokens),
        };
        let mut free_ids = id_of(first_token)?..;
        let special_ids = id_of(first_special)?..;
        id_of(tokens + self.special.len())?;
        let single_bytes = self.bytes.iter().map(|byte| Box::from([*byte]));
        let tokens = single_bytes.chain(merges).filter_map(|bytes: Box<[u8]>| {
            let shared = self.learnable.get(&bytes).copied();
            let id = shared.or_else(|| free_ids.next())?;
            Some(ByteToken { bytes, id })
        });
        let special = self.special.iter().zip(special_ids);
        let special = special.map(|(text, id)| SpecialToken::new(text.as_str(), id));
        Ok((tokens.collect(), special.collect()))
    }
}

fn id_of(number: usize) -> Result<u32, TrainError> {
    u32::try_from(number).map_err(|_| TrainError::TooLarge { what: "tokens" })
}

/// Whether a byte is printable in Latin-1. In tokenizer.json, such a byte stands for itself, and
/// the others are the characters from U+0100 on.
fn is_printable(byte: u8) -> bool {
    matches!(byte, 0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF)
}

/// Whether a character stands for a byte in tokenizer.json.
fn stands_for_byte(c: char) -> bool {
    match u8::try_from(u32::from(c)) {
        Ok(byte) => is_printable(byte),
        Err(_) => ('\u{100}'..'\u{144}').contains(&c),
    }
}
