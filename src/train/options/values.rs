//! The types of options that are more than a number, a switch or a text.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::error::{OptionError, invalid_value};

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
    /// [`TrainOptions::random_seed`](crate::TrainOptions::random_seed).
    Sample(u64),
}

impl SentenceSelection {
    /// The most sentences to use; `None` for all.
    pub(super) fn size(self) -> Option<u64> {
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
/// let rules: spiece::train::RuleSet = "nfkc".parse()?;
/// assert_eq!(rules, spiece::train::RuleSet::Nfkc);
/// assert_eq!(rules.to_string(), "nfkc");
/// # Ok::<(), spiece::train::OptionError>(())
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
            .ok_or_else(|| {
                let expected = "nmt_nfkc, nfkc, nmt_nfkc_cf, nfkc_cf or identity";
                invalid_value("normalization_rule_name", name, expected)
            })
    }
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
    pub(in crate::train) fn limit(self, automatic: usize) -> usize {
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
