//! The typed options of training.
//!
//! An absent id is `None`, the normalization is an enum, lengths are unsigned. The flags of
//! `spm_train`, by name and as text, are [`TrainFlags`](crate::TrainFlags), which convert to these
//! options. Errors name an option by its flag, for example `vocab_size` or `unk_id`.
//!
//! [`TrainOptions::validate`] checks what can be checked before any input is read.

mod validate;

pub(crate) use validate::{
    NUM_THREADS, PIECE_LENGTH, SENTENCE_LENGTH, SUB_ITERATIONS, VOCAB_SIZE, invalid_value,
    out_of_range,
};

use std::fmt;
use std::num::NonZeroU8;
use std::path::PathBuf;
use std::str::FromStr;

use crate::error::OptionError;
use crate::model::ModelType;

/// The form of an input line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum InputFormat {
    /// A line is a sentence.
    #[default]
    Text,
    /// A line is a sentence, a tab, and how often the sentence occurs (1 or more).
    Tsv,
}

/// Which sentences of the corpus to train on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SentenceSelection {
    /// All sentences.
    #[default]
    All,
    /// The first sentences, at most this many; more than 100.
    First(u64),
    /// A random sample of at most this many sentences; more than 100. See
    /// [`TrainOptions::random_seed`].
    Sample(u64),
}

impl SentenceSelection {
    /// The most sentences to use; `None` for all.
    fn size(self) -> Option<u64> {
        match self {
            Self::All => None,
            Self::First(size) | Self::Sample(size) => Some(size),
        }
    }
}

/// A piece with a special role, such as `<unk>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SpecialPiece {
    /// Its text; must not be empty, even if there is no such piece.
    pub text: String,
    /// Its id, below the vocabulary size, or `None` for a model without such a piece.
    pub id: Option<u32>,
}

impl SpecialPiece {
    /// A special piece with this text and this id.
    pub fn new(text: impl Into<String>, id: Option<u32>) -> Self {
        let text = text.into();
        Self { text, id }
    }
}

/// A built-in set of normalization rules.
///
/// ```
/// let rules: spiece::RuleSet = "nfkc".parse()?;
/// assert_eq!(rules, spiece::RuleSet::Nfkc);
/// assert_eq!(rules.to_string(), "nfkc");
/// # Ok::<(), spiece::OptionError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum RuleSet {
    /// No rules.
    Identity,
    /// Unicode's NFKC.
    Nfkc,
    /// NFKC, some control characters removed and some spaces unified: SentencePiece's default.
    #[default]
    NmtNfkc,
    /// NFKC with Unicode case folding.
    NfkcCf,
    /// [`RuleSet::NmtNfkc`] with Unicode case folding.
    NmtNfkcCf,
}

impl RuleSet {
    /// Every set.
    pub const ALL: [Self; 5] = [
        Self::Identity,
        Self::Nfkc,
        Self::NmtNfkc,
        Self::NfkcCf,
        Self::NmtNfkcCf,
    ];

    /// The name that SentencePiece gives the set.
    pub fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Nfkc => "nfkc",
            Self::NmtNfkc => "nmt_nfkc",
            Self::NfkcCf => "nfkc_cf",
            Self::NmtNfkcCf => "nmt_nfkc_cf",
        }
    }
}

impl fmt::Display for RuleSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for RuleSet {
    type Err = OptionError;

    fn from_str(name: &str) -> Result<Self, OptionError> {
        Self::ALL
            .into_iter()
            .find(|set| set.name() == name)
            .ok_or_else(|| unknown_rule_set(name))
    }
}

fn unknown_rule_set(name: &str) -> OptionError {
    invalid_value(
        "normalization_rule_name",
        name,
        "nmt_nfkc, nfkc, nmt_nfkc_cf, nfkc_cf or identity",
    )
}

/// Where normalization rules come from.
///
/// Rules in TSV form have a line for each rule: code points in hexadecimal, a tab, and the code
/// points that replace them, for example `0041<tab>0061` for A to a.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NormalizationRules {
    /// A built-in set.
    BuiltIn(RuleSet),
    /// A TSV file. The model records its path.
    TsvFile(PathBuf),
    /// The content of a TSV file.
    Tsv(Vec<u8>),
    /// Compiled rules: a `precompiled_charsmap`, and the name that models record for it.
    Compiled {
        /// The name.
        name: String,
        /// The charsmap; empty for the identity.
        charsmap: Vec<u8>,
    },
}

impl Default for NormalizationRules {
    fn default() -> Self {
        Self::BuiltIn(RuleSet::default())
    }
}

/// The number of candidates that unigram training starts with, besides single characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SeedSize {
    /// The larger of 100,000 and 8 times the size of the vocabulary.
    Automatic,
    /// At most this many.
    AtMost(u32),
    /// All candidates.
    Unlimited,
}

impl SeedSize {
    /// The maximum number of candidates; `automatic` is the value of [`Self::Automatic`].
    pub(super) fn limit(self, automatic: usize) -> usize {
        match self {
            Self::Automatic => automatic,
            Self::AtMost(size) => size as usize,
            Self::Unlimited => usize::MAX,
        }
    }
}

/// How unigram training drops candidates until few enough remain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum PruningMethod {
    /// Each step drops the candidates whose removal lowers the likelihood of the corpus least.
    #[default]
    Loss,
    /// A rising threshold is subtracted from the expected counts, and candidates below it are
    /// dropped. An experimental method of SentencePiece (`use_sparse_pruning` of `spm_train`). The
    /// options `shrinking_factor` and `num_sub_iterations` have no effect.
    Sparse {
        /// Estimate the scores of the remaining candidates without the threshold.
        debias: bool,
    },
}

/// Options of unigram training.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct UnigramOptions {
    /// The number of candidates.
    pub seed_size: SeedSize,
    /// A file of candidates, used instead of those of the corpus. A line is a piece, a tab and its
    /// count.
    pub seed_file: Option<PathBuf>,
    /// The share of the pieces that a pruning step keeps, 0.5 to 0.95.
    pub shrinking_factor: f32,
    /// Iterations of expectation maximization between two pruning steps, 1 to 10.
    pub num_sub_iterations: u32,
    /// The score of a candidate is its count times this power of its length; a finite number.
    pub seed_length_power: f32,
    /// Candidates of more than three bytes must occur at least this many times N / (V ln V), where
    /// N is the size of the corpus in bytes and V that of the vocabulary; a finite number.
    pub min_count_alpha: f32,
    /// How candidates are dropped.
    pub pruning: PruningMethod,
}

impl Default for UnigramOptions {
    fn default() -> Self {
        Self {
            seed_size: SeedSize::AtMost(1_000_000),
            seed_file: None,
            shrinking_factor: 0.75,
            num_sub_iterations: 2,
            seed_length_power: 1.0,
            min_count_alpha: 0.0,
            pruning: PruningMethod::Loss,
        }
    }
}

/// What to train and how. The defaults are those of SentencePiece, except that the model type is
/// BPE.
///
/// ```
/// use spiece::{NormalizationRules, RuleSet, SpecialPiece, TrainOptions};
///
/// let mut options = TrainOptions::default();
/// options.vocab_size = 32_000;
/// options.byte_fallback = true;
/// options.normalization = NormalizationRules::BuiltIn(RuleSet::Identity);
/// options.pad = SpecialPiece::new("<pad>", Some(3));
/// options.validate()?;
/// # Ok::<(), spiece::OptionError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TrainOptions {
    /// Algorithm of the model. The default is BPE.
    pub model_type: ModelType,
    /// Number of pieces of all kinds, 1 to 2^31 - 1.
    pub vocab_size: u32,
    /// Fail if the corpus does not support `vocab_size` pieces; if false, make fewer.
    pub hard_vocab_limit: bool,
    /// Form of the input lines of files and readers.
    pub input_format: InputFormat,
    /// Which sentences to train on.
    pub sentences: SentenceSelection,
    /// Seed of [`SentenceSelection::Sample`]; `None` is a fixed seed. Samples are repeatable in
    /// both cases.
    pub random_seed: Option<u64>,
    /// Sentences of more bytes are skipped; 10 to 2^30.
    pub max_sentence_length: u32,
    /// Longest piece in characters, 1 to 512.
    pub max_sentencepiece_length: u32,
    /// Share of the corpus's characters that get a piece of their own, 0.98 to 1.
    pub character_coverage: f32,
    /// No character has to be a piece; needs `byte_fallback`. BPE: a search divides the vocabulary
    /// between characters and merges. Unigram: the best candidates become pieces; needs
    /// [`PruningMethod::Sparse`].
    pub auto_character_coverage: bool,
    /// Characters that get a piece whatever the coverage.
    pub required_chars: String,
    /// Unknown characters become pieces for their UTF-8 bytes.
    pub byte_fallback: bool,
    /// No piece has characters of two scripts.
    pub split_by_unicode_script: bool,
    /// Digits are a script of their own for `split_by_unicode_script`.
    pub split_by_number: bool,
    /// No piece has whitespace inside.
    pub split_by_whitespace: bool,
    /// Each digit is a piece of its own.
    pub split_digits: bool,
    /// Whitespace ends a piece instead of beginning it.
    pub treat_whitespace_as_suffix: bool,
    /// Runs of whitespace may become pieces.
    pub allow_whitespace_only_pieces: bool,
    /// Longest piece in words, for pieces of several words (`split_by_whitespace=false`); `None` is
    /// no limit. With a limit, no piece has a space after a colon. For
    /// [`Model::extend`](crate::Model::extend) only.
    pub max_words: Option<NonZeroU8>,
    /// No piece crosses this string; empty for none.
    pub pretokenization_delimiter: String,
    /// Rules that text is normalized with.
    pub normalization: NormalizationRules,
    /// Rules that decoded text is denormalized with.
    pub denormalization: Option<NormalizationRules>,
    /// Put whitespace before the first word, so that it looks like the others.
    pub add_dummy_prefix: bool,
    /// Remove whitespace at both ends and repeated whitespace inside.
    pub remove_extra_whitespaces: bool,
    /// Control symbols: pieces that text never yields, such as `<sep>`.
    pub control_symbols: Vec<String>,
    /// User-defined symbols: pieces that are always matched whole.
    pub user_defined_symbols: Vec<String>,
    /// The unknown piece. Without an id, `byte_fallback` is needed.
    pub unk: SpecialPiece,
    /// The begin-of-sentence piece.
    pub bos: SpecialPiece,
    /// The end-of-sentence piece.
    pub eos: SpecialPiece,
    /// The padding piece.
    pub pad: SpecialPiece,
    /// What the unknown piece decodes to.
    pub unk_surface: String,
    /// Options that only unigram models have.
    pub unigram: UnigramOptions,
    /// Word and char models: every word or character becomes a piece, whatever `vocab_size`.
    pub use_all_vocab: bool,
    /// 1 to 1024. BPE, word and char models: the maximum number of threads, which does not change
    /// the model. Unigram models: the number of partial sums of the estimation, which changes the
    /// last bits of scores and does not limit the threads; see
    /// [`Trainer::with_threads`](crate::Trainer::with_threads).
    pub num_threads: u32,
}

impl Default for TrainOptions {
    fn default() -> Self {
        Self {
            model_type: ModelType::Bpe,
            vocab_size: 8000,
            hard_vocab_limit: true,
            input_format: InputFormat::Text,
            sentences: SentenceSelection::All,
            random_seed: None,
            max_sentence_length: 4192,
            max_sentencepiece_length: 16,
            character_coverage: 0.9995,
            auto_character_coverage: false,
            required_chars: String::new(),
            byte_fallback: false,
            split_by_unicode_script: true,
            split_by_number: true,
            split_by_whitespace: true,
            split_digits: false,
            treat_whitespace_as_suffix: false,
            allow_whitespace_only_pieces: false,
            max_words: None,
            pretokenization_delimiter: String::new(),
            normalization: NormalizationRules::default(),
            denormalization: None,
            add_dummy_prefix: true,
            remove_extra_whitespaces: true,
            control_symbols: Vec::new(),
            user_defined_symbols: Vec::new(),
            unk: SpecialPiece::new("<unk>", Some(0)),
            bos: SpecialPiece::new("<s>", Some(1)),
            eos: SpecialPiece::new("</s>", Some(2)),
            pad: SpecialPiece::new("<pad>", None),
            unk_surface: " \u{2047} ".to_owned(),
            unigram: UnigramOptions::default(),
            use_all_vocab: false,
            num_threads: 16,
        }
    }
}
