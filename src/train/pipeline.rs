//! Training like a pipeline: a corpus goes in, and the pipeline comes out with another BPE or WordPiece
//! model. All other stages stay.
//!
//! ```text
//! 1 texts -> added tokens -> normalizer -> pre-tokenizer -> counts of pretokens
//! 2 pretokens -> alphabet -> symbols: characters with the prefix and the suffix
//! 3 merge pairs, best first, until the vocabulary is full
//! 4 ids -> model -> pipeline, with the ids of templates and padding
//! ```
//!
//! The model is that of `BpeTrainer` or `WordPieceTrainer` of tokenizers 0.23.3. Merging is that of
//! [`bpe`](super::bpe), with the order of ties of byte-level BPE: the smallest id of the left token, then of
//! the right one. The special tokens have the smallest ids for this, wherever they stand in the end. A
//! `WordPieceTrainer` is a `BpeTrainer` with a prefix, of which the vocabulary counts.
//!
//! In a byte-level pipeline the pretokens are bytes; the texts of tokens have the characters that stand for
//! them ([`PretokenUnits`]).
//!
//! # Where the result of tokenizers is one of several
//!
//! It depends on the order of a hash table, which is another one in each run, in these places. Here there is
//! one order:
//!
//! | place | here |
//! |---|---|
//! | characters with equal counts at the limit of the alphabet | those with the smallest code points are kept |
//! | ids of characters with affixes, on which ties between pairs depend | as the words have them, if the words are sorted by their characters |
//! | a pair that occurs again after it was merged, which needs an affix that is text of the corpus ([`plain`]) | in the words that are sorted first |
//!
//! # What transformers loses
//!
//! `train_new_from_iterator` of transformers 5.24 trains a pipeline without its added tokens, and then adds
//! those that are special. Added tokens that are not special are lost, and so are tokens of the model
//! that merging does not make: those of bytes (`byte_fallback`), and an unknown token that is no special token.
//! Here they are kept. With [`special_ids_first`](PipelineTrainOptions::special_ids_first) they come after
//! all tokens that transformers has, so that the ids of these are equal.

mod ids;
mod options;
mod plain;
#[cfg(test)]
mod tests;
mod units;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::num::NonZeroUsize;
use std::sync::Arc;

use self::ids::{KeptTokens, renumber_stages};
pub use self::options::PipelineTrainOptions;
use self::plain::PlainMerger;
use self::units::{Affixes, PretokenUnits, Spelling, alphabet};
use super::TrainError;
use super::bpe::merge::MergeTrainer;
use super::bpe::symbols::SymbolArena;
use super::bpe::word_buffer::WordBuffer;
use super::bytes::{PretokenReader, SmallestIds, length_limit};
use super::corpus::Corpus;
use super::execution_config::ExecutionConfig;
use super::observer::{Observer, Run, Stage};
use super::split::SplitRules;
use super::word_table::WordTable;
use super::words::PretokenSource;
use crate::added::FoundTokens;
use crate::base::byte_chars::byte_char;
use crate::base::num::low_u32;
use crate::piece::MAX_PIECE_BYTES;
use crate::pipeline::{
    BpeModel, BpeOptions, ModelVocabulary, Pipeline, PipelineError, PipelineModel, PipelineParts,
    PreTokenizerStep, WordPieceModel,
};

/// Trains the BPE or WordPiece model of a pipeline anew.
///
/// ```
/// use spiece::train::{PipelineTrainOptions, PipelineTrainer};
/// use spiece::{Corpus, Tokenizer, TokenizerConfig};
///
/// let bert = Tokenizer::open("testdata/wordpiece/vocab.txt")?;
/// let bert = bert.pipeline().expect("it is a vocab.txt");
/// let trainer = PipelineTrainer::new(bert, PipelineTrainOptions::new(60))?;
/// let trained = trainer.train(Corpus::texts(["low lower lowest", "new newer newest"]))?;
/// let tokenizer = Tokenizer::from_pipeline(trained, TokenizerConfig::default());
/// assert_eq!(tokenizer.encode("Lowest").len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PipelineTrainer {
    options: PipelineTrainOptions,
    /// The pipeline, without the added tokens that are text.
    cutter: Pipeline,
    /// The added tokens that are cut out of the corpus.
    found: FoundTokens,
    parts: PipelineParts,
    roles: BTreeMap<String, String>,
    model: ModelSettings,
    affixes: Affixes,
    kept: KeptTokens,
    work: ExecutionConfig,
    observer: Observer,
}

/// What the new model has of the old one.
#[derive(Debug)]
enum ModelSettings {
    Bpe(BpeOptions),
    WordPiece {
        unknown_token: String,
        prefix: String,
        max_chars: usize,
    },
}

impl ModelSettings {
    /// # Errors
    /// The model is of another type.
    fn of(pipeline: &Pipeline) -> Result<Self, TrainError> {
        match pipeline.model() {
            PipelineModel::Bpe(bpe) => Ok(Self::Bpe(bpe.options().clone())),
            PipelineModel::WordPiece(words) => Ok(Self::WordPiece {
                unknown_token: words.unknown_token().to_owned(),
                prefix: words.prefix().to_owned(),
                max_chars: words.max_chars(),
            }),
            _ => Err(TrainError::PipelineModel {
                found: pipeline.model_type_name(),
            }),
        }
    }

    /// The prefix and the suffix of tokens, where the options say nothing else.
    fn affixes(&self, options: &PipelineTrainOptions) -> Affixes {
        let (prefix, suffix) = match self {
            Self::Bpe(bpe) => (
                bpe.continuing_subword_prefix.clone(),
                bpe.end_of_word_suffix.clone(),
            ),
            Self::WordPiece { prefix, .. } => (Some(prefix.clone()), None),
        };
        Affixes {
            prefix: options.continuing_subword_prefix.clone().or(prefix),
            suffix: options.end_of_word_suffix.clone().or(suffix),
        }
    }
}

/// What merging gives.
struct Learned {
    /// The texts of the symbols: characters, characters with affixes, merged ones.
    texts: Vec<String>,
    /// The symbols of each merge.
    merges: Vec<[usize; 2]>,
}

impl PipelineTrainer {
    /// A trainer like a pipeline.
    ///
    /// # Errors
    /// The model is neither BPE nor WordPiece of a `tokenizer.json` or `vocab.txt`, or a special token is
    /// empty or has a NUL.
    pub fn new(pipeline: &Pipeline, options: PipelineTrainOptions) -> Result<Self, TrainError> {
        let model = ModelSettings::of(pipeline)?;
        let parts = pipeline.parts();
        let kept = KeptTokens::new(&parts, &options)?;
        let mut cut = PipelineParts {
            added_tokens: Vec::new(),
            ..parts.clone()
        };
        if options.split_special_tokens {
            cut.added_tokens.clone_from(&kept.added);
        }
        cut.find_ids();
        let cutter = Pipeline::of_parts(cut, Some(pipeline))?;
        Ok(Self {
            found: cutter.found(|_| true, true),
            cutter,
            parts,
            roles: pipeline.roles().clone(),
            affixes: model.affixes(&options),
            model,
            kept,
            options,
            work: ExecutionConfig::of_machine(),
            observer: Observer::default(),
        })
    }

    /// Sets the number of threads, at most 1024. The default is the number of cores. The tokens do
    /// not depend on it.
    #[must_use]
    pub fn with_threads(mut self, threads: NonZeroUsize) -> Self {
        self.work.set_threads(threads);
        self
    }

    /// Sets the function that is called with the events of training. The default is none.
    #[must_use]
    pub fn with_observer(mut self, observer: Observer) -> Self {
        self.observer = observer;
        self
    }

    /// The options.
    pub fn options(&self) -> &PipelineTrainOptions {
        &self.options
    }

    /// Trains on `corpus`. Memory grows with the distinct pretokens, not with the corpus; a text is in
    /// memory as a whole, unless the pipeline is byte-level. Bytes that are not UTF-8 are read as
    /// U+FFFD.
    ///
    /// # Errors
    /// The corpus cannot be read, or has no text; a step of the pipeline fails; a template of the pipeline
    /// has a token that is nowhere else. [`TrainError::Cancelled`] if the observer asks to stop.
    pub fn train(&self, corpus: Corpus<'_>) -> Result<Pipeline, TrainError> {
        let mut run = Run::new(&self.observer, self.work.thread_pool()?);
        let reader = PretokenReader {
            source: PretokenSource::Pipeline {
                pipeline: &self.cutter,
                found: &self.found,
            },
            document: self.options.document,
            input_format: self.options.input_format,
            work: &self.work,
        };
        let words = reader.count(corpus, &mut run)?;
        run.reporter.start(Stage::Merging)?;
        let spelling = self.spelling(&words);
        let learned = self.merge(words, &spelling, &mut run)?;
        run.reporter.start(Stage::Assembling)?;
        let trained = self.pipeline(&learned)?;
        run.summary.pieces = trained.vocab_size();
        run.finish()?;
        Ok(trained)
    }

    /// The characters that become tokens although the corpus does not have them.
    fn initial_alphabet(&self) -> Vec<char> {
        let steps = self.parts.pre_tokenizer.iter();
        let has_bytes = { steps }.any(|step| matches!(step, PreTokenizerStep::ByteLevel { .. }));
        match &self.options.initial_alphabet {
            Some(characters) => characters.clone(),
            None if has_bytes => (0..=u8::MAX).map(byte_char).collect(),
            None => Vec::new(),
        }
    }

    /// Step 2.
    fn spelling(&self, words: &WordTable) -> Spelling {
        let units = match self.cutter.has_pretokens_of_bytes() {
            true => PretokenUnits::Bytes,
            false => PretokenUnits::Characters,
        };
        let initial = self.initial_alphabet();
        let mut characters = alphabet(words, units, &initial, self.options.limit_alphabet);
        // A special token of one character is in the vocabulary, whatever the limit is.
        characters.extend(self.kept.counted().filter_map(|text| {
            let mut chars = text.chars();
            chars.next().filter(|_| chars.next().is_none())
        }));
        characters.sort_unstable();
        characters.dedup();
        Spelling::new(words, units, &characters, self.affixes.clone())
    }

    /// Step 3.
    fn merge(
        &self,
        words: WordTable,
        spelling: &Spelling,
        run: &mut Run,
    ) -> Result<Learned, TrainError> {
        let ranks = self.kept.counted().zip(0..);
        let ranks: HashMap<Box<[u8]>, u32> = ranks
            .map(|(text, rank)| (text.as_bytes().into(), rank))
            .collect();
        let initial = spelling.texts.iter();
        let initial = initial.filter(|text| !ranks.contains_key(text.as_bytes()));
        let vocab_size = self.options.vocab_size as usize;
        let room = vocab_size.saturating_sub(ranks.len() + initial.count());
        run.reporter.expect_merges(room);
        let prefix = self.affixes.prefix();
        let copies = spelling.is_ambiguous().then(|| spelled(&words, spelling));
        let symbols = SymbolArena::of_units(spelling.texts.iter().map(|text| &**text), prefix);
        let words = run
            .pool
            .install(|| WordBuffer::new(words, spelling, &self.work.hasher))?;
        let rules = SplitRules::of_bytes(length_limit(self.options.max_token_length));
        let order = SmallestIds { special: &ranks };
        let merger = MergeTrainer::new(
            (&rules, order),
            &run.pool,
            &self.work.hasher,
            symbols,
            words,
        );
        let (merges, symbols) = merger.run_with_symbols(
            (room, self.options.min_frequency),
            &|text| ranks.contains_key(text),
            &mut |merges| run.reporter.merged(merges),
        )?;
        run.reporter.end_merges(&merges)?;
        // The texts of units and their joined texts are UTF-8.
        let texts = symbols.texts();
        let texts = texts.map(|(text, _)| String::from_utf8_lossy(text).into_owned());
        let learned = Learned {
            texts: texts.collect(),
            merges: symbols
                .merged_parts()
                .iter()
                .map(|(left, right)| [left.index(), right.index()])
                .collect(),
        };
        let texts: HashSet<&str> = learned.texts.iter().map(|text| &**text).collect();
        let learned = match copies {
            Some(words) if texts.len() < learned.texts.len() => {
                self.merge_plainly(words, &spelling.texts, prefix)
            }
            _ => learned,
        };
        run.summary.merges = learned.merges.len();
        Ok(learned)
    }

    /// Step 3, if a symbol has the text of another one.
    fn merge_plainly(
        &self,
        words: Vec<(Vec<u32>, u64)>,
        initial: &[String],
        continuing_prefix: &str,
    ) -> Learned {
        let mut texts: Vec<String> = self.kept.counted().map(str::to_owned).collect();
        let counted: HashMap<String, u32> = texts.iter().cloned().zip(0..).collect();
        let id_of_symbol: Vec<u32> = initial
            .iter()
            .map(|text| {
                counted.get(text).copied().unwrap_or_else(|| {
                    texts.push(text.clone());
                    low_u32(texts.len() as u64 - 1)
                })
            })
            .collect();
        let mut merger = PlainMerger {
            texts,
            continuing_prefix,
            vocab_size: self.options.vocab_size as usize,
            min_frequency: self.options.min_frequency,
            max_length: length_limit(self.options.max_token_length),
        };
        let words = words.into_iter().map(|(symbols, count)| {
            let symbols = symbols.into_iter();
            let ids = symbols.map(|symbol| id_of_symbol[symbol as usize]);
            (ids.collect(), count)
        });
        let merges = merger.merge(words);
        Learned {
            texts: merger.texts,
            merges: merges
                .into_iter()
                .map(|(left, right)| [left as usize, right as usize])
                .collect(),
        }
    }

    /// Step 4.
    fn pipeline(&self, learned: &Learned) -> Result<Pipeline, TrainError> {
        let tokens = self.kept.number(&learned.texts)?;
        let vocabulary = ModelVocabulary::new(tokens.into_iter());
        let mut parts = self.parts.clone();
        parts.model_size =
            u32::try_from(vocabulary.len()).map_err(|_| TrainError::TooLarge { what: "tokens" })?;
        parts.model = Arc::new(self.model(vocabulary, learned)?);
        parts.added_tokens.clone_from(&self.kept.added);
        parts.find_ids();
        renumber_stages(&mut parts)?;
        let mut trained = Pipeline::of_parts(parts, None)?;
        trained.set_roles(self.roles.clone());
        Ok(trained)
    }

    fn model(
        &self,
        vocabulary: ModelVocabulary,
        learned: &Learned,
    ) -> Result<PipelineModel, TrainError> {
        match &self.model {
            ModelSettings::WordPiece {
                unknown_token,
                max_chars,
                ..
            } => {
                let is_too_long = |(text, _): (&str, u32)| text.len() >= MAX_PIECE_BYTES;
                if vocabulary.tokens().any(is_too_long) {
                    let what = "bytes in a token";
                    return Err(TrainError::TooLarge { what });
                }
                let prefix = self.affixes.prefix();
                let model = WordPieceModel::new(vocabulary, unknown_token, prefix, *max_chars);
                let model = model.map_err(|_| PipelineError::TooLarge)?;
                Ok(PipelineModel::WordPiece(Box::new(model)))
            }
            ModelSettings::Bpe(options) => {
                let options = BpeOptions {
                    continuing_subword_prefix: self.affixes.prefix.clone(),
                    end_of_word_suffix: self.affixes.suffix.clone(),
                    ..options.clone()
                };
                let merges = learned.merges.iter();
                let merges = merges.map(|pair| pair.map(|symbol| &*learned.texts[symbol]));
                // Every symbol is in the vocabulary, so that no merge is refused.
                let model = BpeModel::new(vocabulary, merges, options)
                    .map_err(|_| TrainError::TooLarge { what: "merges" })?;
                Ok(PipelineModel::Bpe(Box::new(model)))
            }
        }
    }
}

/// The symbols of all words, with their counts, the words sorted by their characters.
fn spelled(words: &WordTable, spelling: &Spelling) -> Vec<(Vec<u32>, u64)> {
    let mut sorted: Vec<(Box<[u8]>, u64)> = Vec::with_capacity(words.len());
    for shard in words.shards() {
        shard.visit(|word, count| sorted.push((word.into(), count)));
    }
    sorted.sort_unstable_by(|(a, _), (b, _)| spelling.order(a, b));
    let sorted = sorted.into_iter();
    sorted
        .map(|(word, count)| (spelling.symbols(&word), count))
        .collect()
}
