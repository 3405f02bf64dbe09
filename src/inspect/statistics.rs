//! Statistics of encoding a text.
//!
//! [`TextCounter`](super::TextCounter) makes the sums and lists of [`TextStatistics`]; the number
//! of pieces used, the entropy of the pieces, and efficiencies follow from these.
//!
//! *Rényi efficiency* of order α: the Rényi entropy of the distribution of the pieces divided by
//! the entropy of equal frequencies, log2(Σ p^α) / (1 - α) / log2(n). Zouhar et al., "Tokenization
//! and the noiseless channel", ACL 2023, <https://doi.org/10.18653/v1/2023.acl-long.284>, find that
//! α = 2.5 predicts the quality of translation best. n is the number of pieces that occur, or that
//! of all pieces of the model.
//!
//! # Example
//! The line `Hello, world!` of the model in `testdata/golden/llama2.model` has 13 bytes, 13
//! characters, 2 words and 10 tokens. 8 pieces occur once and one twice: Σ p^2.5 = 8 · 0.1^2.5 +
//! 0.2^2.5 = 0.0432, so the entropy is log2(0.0432) / -1.5 = 3.02 bits, and the efficiency over the
//! 9 observed pieces is 3.02 / log2(9) = 0.953.

use std::cmp::Reverse;

/// Statistics of a text that is encoded with a model.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct TextStatistics {
    /// The number of lines, empty ones included.
    pub lines: u64,
    /// The bytes of the lines, without line ends.
    pub bytes: u64,
    /// The characters of the lines.
    pub characters: u64,
    /// The words of the lines.
    pub words: u64,
    /// The tokens of the lines.
    pub tokens: u64,
    /// The tokens that are byte pieces.
    pub byte_tokens: u64,
    /// The tokens that are the unknown piece.
    pub unknown_tokens: u64,
    /// How often each piece occurs, by id.
    pub counts: Vec<u64>,
    /// The words with the most tokens, most tokens first.
    pub fragmented_words: Vec<FragmentedWord>,
    /// The lines with the most tokens for each byte, among those of at least 20 bytes.
    pub dense_lines: Vec<ExtremeLine>,
    /// The lines with the fewest tokens for each byte, among those of at least 20 bytes.
    pub sparse_lines: Vec<ExtremeLine>,
    /// The lines with the most tokens.
    pub long_lines: Vec<ExtremeLine>,
}

/// A word that takes several tokens.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct FragmentedWord {
    /// The number of tokens, wrapped in [`Reverse`] so that words with more tokens sort first.
    pub tokens: Reverse<u64>,
    /// The bytes of the word.
    pub bytes: u64,
    /// The word, or its first 200 bytes.
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::as_lossy_text"))]
    pub word: Vec<u8>,
}

/// A line with an extreme number of tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExtremeLine {
    /// The number that the line was added with.
    pub number: u64,
    /// The tokens of the line.
    pub tokens: u64,
    /// The bytes of the line.
    pub bytes: u64,
    /// The line, or its first 200 bytes.
    pub text: Vec<u8>,
}

impl TextStatistics {
    /// The number of different pieces that occur.
    pub fn pieces_used(&self) -> u64 {
        self.used_counts().count() as u64
    }

    /// The counts of the pieces that occur.
    fn used_counts(&self) -> impl Iterator<Item = u64> {
        self.counts.iter().copied().filter(|count| *count > 0)
    }

    /// The Rényi entropy of order `alpha` of the pieces, in bits; order 1 is the Shannon entropy.
    /// It is 0 without tokens.
    pub fn renyi_entropy(&self, alpha: f64) -> f64 {
        if self.tokens == 0 {
            return 0.0;
        }
        if alpha == 1.0 {
            return self.shannon_entropy();
        }
        let powers = self.shares().map(|share| share.powf(alpha));
        powers.sum::<f64>().log2() / (1.0 - alpha)
    }

    fn shannon_entropy(&self) -> f64 {
        let shares = self.shares();
        -shares.map(|share| share * share.log2()).sum::<f64>()
    }

    /// The proportion of each piece that occurs among all tokens.
    fn shares(&self) -> impl Iterator<Item = f64> {
        let tokens = self.tokens as f64;
        self.used_counts().map(move |count| count as f64 / tokens)
    }

    /// The Rényi entropy divided by that of equal frequencies of the pieces that occur; `None` if
    /// fewer than two do.
    pub fn observed_efficiency(&self, alpha: f64) -> Option<f64> {
        self.efficiency(alpha, self.pieces_used())
    }

    /// The Rényi entropy divided by that of equal frequencies of all pieces; `None` for fewer than
    /// two pieces.
    pub fn full_efficiency(&self, alpha: f64) -> Option<f64> {
        self.efficiency(alpha, self.counts.len() as u64)
    }

    /// The Rényi entropy divided by that of `pieces` equal frequencies.
    fn efficiency(&self, alpha: f64, pieces: u64) -> Option<f64> {
        (pieces > 1 && self.tokens > 0).then(|| self.renyi_entropy(alpha) / (pieces as f64).log2())
    }
}
