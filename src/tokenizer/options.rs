//! Options of encoding: pieces to add, what text may yield, and how to sample.

use std::time::Duration;

use crate::encode::EncodeError;
use crate::model::ModelType;

/// A change to the result of encoding. Several changes are applied in the given order.
///
/// ```
/// use spiece::{EncodeOptions, ExtraOption, Tokenizer};
/// let tokenizer = Tokenizer::open("testdata/golden/llama2.model")?;
/// let options = EncodeOptions::default().with_extra([ExtraOption::Bos, ExtraOption::Eos]);
/// let ids = tokenizer.encoder_with(&options)?.encode("one").to_vec();
/// assert_eq!(ids.first().copied(), tokenizer.bos_id());
/// assert_eq!(ids.last().copied(), tokenizer.eos_id());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum ExtraOption {
    /// Insert the beginning-of-sentence piece at the start.
    Bos,
    /// Append the end-of-sentence piece.
    Eos,
    /// Reverse the order of the ids.
    Reverse,
    /// Show unknown tokens with the text of the unknown piece, such as `<unk>`, instead of the text
    /// that they stand for. Ids do not change.
    UnkPiece,
}

impl ExtraOption {
    /// Parses a list in the notation of the reference's programs: names separated by colons, such
    /// as `bos:eos`. The names are `bos`, `eos`, `reverse`, and `unk` or `unk_piece`. An empty
    /// string is an empty list.
    ///
    /// ```
    /// use spiece::ExtraOption;
    /// assert_eq!(ExtraOption::parse_list("bos:eos")?, [ExtraOption::Bos, ExtraOption::Eos]);
    /// assert!(ExtraOption::parse_list("bos,eos").is_err());
    /// # Ok::<(), spiece::EncodeError>(())
    /// ```
    ///
    /// # Errors
    /// [`EncodeError::UnknownExtra`] for any other name.
    pub fn parse_list(list: &str) -> Result<Vec<Self>, EncodeError> {
        if list.is_empty() {
            return Ok(Vec::new());
        }
        list.split(':').map(Self::parse).collect()
    }

    fn parse(name: &str) -> Result<Self, EncodeError> {
        Self::of_name(name).ok_or_else(|| EncodeError::UnknownExtra {
            name: name.to_owned(),
        })
    }

    /// The option with this name.
    fn of_name(name: &str) -> Option<Self> {
        match name {
            "bos" => Some(Self::Bos),
            "eos" => Some(Self::Eos),
            "reverse" => Some(Self::Reverse),
            "unk" | "unk_piece" => Some(Self::UnkPiece),
            _ => None,
        }
    }
}

/// How to encode. The default is the reference's: nothing is added, and user-defined symbols are
/// found.
///
/// ```
/// use spiece::{EncodeOptions, ExtraOption, Tokenizer};
/// let tokenizer = Tokenizer::open("testdata/golden/llama2.model")?;
/// let options = EncodeOptions::default()
///     .with_extra([ExtraOption::Bos])
///     .with_allowed_special(["</s>"]);
/// let ids = tokenizer.encoder_with(&options)?.encode("yes</s>").to_vec();
/// assert_eq!(ids.first().copied(), tokenizer.bos_id());
/// assert_eq!(ids.last().copied(), tokenizer.eos_id());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
#[non_exhaustive]
pub struct EncodeOptions {
    /// Changes to the result, applied in order.
    pub extra: Vec<ExtraOption>,
    /// Whether user-defined symbols are found in text. Switch it off for untrusted text, such as
    /// the part of a chat that a user wrote: chat markers in it are then ordinary text. In a
    /// byte-level vocabulary, these are the added tokens that are not special.
    pub user_defined_symbols: bool,
    /// The texts of control pieces (of special tokens, in a byte-level vocabulary) that are found
    /// in text. Without this, text never yields such a piece. Only for trusted text.
    /// [`Tokenizer::special_tokens`](crate::Tokenizer::special_tokens) has them all.
    pub allowed_special: Vec<Vec<u8>>,
    /// Whether texts with control pieces or special tokens that are not allowed are refused, as
    /// tiktoken does by default. Such a text has no ids: batches and
    /// [`Tokenizer::encode_long`](crate::Tokenizer::encode_long) return the error, and
    /// [`Encoder::take_failure`](crate::Encoder::take_failure) has it after a call that cannot fail.
    /// Otherwise they are ordinary text.
    pub refuses_special: bool,
    /// The time limit for the search of an n-best list. A search that takes longer gives only the
    /// best segmentation. `None`, the default, means no limit; the reference's limit is 30 seconds.
    /// With a limit, results depend on the machine and its load.
    pub nbest_timeout: Option<Duration>,
    /// Whether spans of tokens keep the white space that the post-processor of a `tokenizer.json` takes out of them. What
    /// it takes out depends on the token that is the first of a result, so that results that are cut need the spans from
    /// before; `pipeline::SpanStep` takes it out there.
    pub untrimmed_spans: bool,
}

impl Default for EncodeOptions {
    fn default() -> Self {
        Self {
            extra: Vec::new(),
            user_defined_symbols: true,
            allowed_special: Vec::new(),
            refuses_special: false,
            nbest_timeout: None,
            untrimmed_spans: false,
        }
    }
}

impl EncodeOptions {
    /// Replaces [`extra`](Self::extra).
    pub fn with_extra(mut self, extra: impl IntoIterator<Item = ExtraOption>) -> Self {
        self.extra = extra.into_iter().collect();
        self
    }

    /// Sets [`user_defined_symbols`](Self::user_defined_symbols).
    pub fn with_user_defined_symbols(mut self, are_found: bool) -> Self {
        self.user_defined_symbols = are_found;
        self
    }

    /// Replaces [`allowed_special`](Self::allowed_special).
    pub fn with_allowed_special<T: Into<Vec<u8>>>(
        mut self,
        texts: impl IntoIterator<Item = T>,
    ) -> Self {
        self.allowed_special = texts.into_iter().map(Into::into).collect();
        self
    }

    /// Sets [`refuses_special`](Self::refuses_special).
    pub fn with_refuses_special(mut self, refuses: bool) -> Self {
        self.refuses_special = refuses;
        self
    }

    /// Sets [`untrimmed_spans`](Self::untrimmed_spans).
    pub fn with_untrimmed_spans(mut self, are_untrimmed: bool) -> Self {
        self.untrimmed_spans = are_untrimmed;
        self
    }

    /// Sets [`nbest_timeout`](Self::nbest_timeout).
    ///
    /// ```
    /// use std::time::Duration;
    /// use spiece::{EncodeOptions, Tokenizer};
    /// let tokenizer = Tokenizer::open("testdata/run/unigram.model")?;
    /// let options = EncodeOptions::default().with_nbest_timeout(Some(Duration::ZERO));
    /// let text = "les droits de l'homme ".repeat(300);
    /// assert_eq!(tokenizer.encoder_with(&options)?.nbest(&text, 5)?.len(), 1);
    /// assert_eq!(tokenizer.encoder().nbest(&text, 5)?.len(), 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_nbest_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.nbest_timeout = timeout;
        self
    }
}

/// How a random segmentation is drawn; see [`Encoder::sample`](crate::Encoder::sample).
///
/// The score of a segmentation is the sum of the scores of its pieces, the logarithm of its
/// probability. `alpha` is the smoothing exponent: a segmentation has the weight exp(alpha ·
/// score), so 0 makes all segmentations equally likely and large values leave only the best one.
/// See Kudo, "Subword Regularization", ACL 2018, <https://doi.org/10.18653/v1/P18-1007>, and for
/// dropout Provilkov et al., "BPE-Dropout", ACL 2020,
/// <https://doi.org/10.18653/v1/2020.acl-main.170>.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum SampleOptions {
    /// Unigram models: draw among all segmentations of the text.
    Lattice {
        /// The smoothing exponent, 0 or more.
        alpha: f32,
    },
    /// Unigram models: draw among the best segmentations.
    Nbest {
        /// The number of best segmentations, up to 512. With 0 or 1, the result is the best one,
        /// without randomness.
        size: usize,
        /// The smoothing exponent, 0 or more.
        alpha: f32,
    },
    /// BPE models: skip each merge with a probability.
    Dropout {
        /// The probability. 0 gives the usual segmentation; 1 or more gives single characters.
        probability: f32,
    },
}

impl SampleOptions {
    /// The options that the reference's two numbers mean for a model.
    ///
    /// For BPE models `alpha` is the dropout probability and `nbest_size` has no effect. For other
    /// models, a negative `nbest_size` draws among all segmentations, and any other value among
    /// that many best ones. The reference's own defaults are an `nbest_size` of -1 and an `alpha`
    /// of 0.1.
    ///
    /// ```
    /// use spiece::{ModelType, SampleOptions};
    /// let unigram = SampleOptions::from_reference(ModelType::Unigram, -1, 0.1)?;
    /// assert_eq!(unigram, SampleOptions::Lattice { alpha: 0.1 });
    /// let bpe = SampleOptions::from_reference(ModelType::Bpe, -1, 0.1)?;
    /// assert_eq!(bpe, SampleOptions::Dropout { probability: 0.1 });
    /// # Ok::<(), spiece::EncodeError>(())
    /// ```
    ///
    /// # Errors
    /// Values that the reference refuses for every type of model: [`Alpha`](EncodeError::Alpha) for
    /// an `alpha` that is negative, infinite or NaN, and [`TooMany`](EncodeError::TooMany) for an
    /// `nbest_size` above 512.
    pub fn from_reference(
        model_type: ModelType,
        nbest_size: i32,
        alpha: f32,
    ) -> Result<Self, EncodeError> {
        let options = match usize::try_from(nbest_size) {
            Ok(size) => Self::Nbest { size, alpha },
            Err(_) => Self::Lattice { alpha },
        };
        options.check()?;
        Ok(match model_type {
            ModelType::Bpe => Self::Dropout { probability: alpha },
            _ => options,
        })
    }

    /// Checks that the numbers are in their ranges.
    pub(super) fn check(&self) -> Result<(), EncodeError> {
        check_alpha(self.alpha())?;
        if let Self::Nbest { size, .. } = *self {
            check_nbest_size(size)?;
        }
        Ok(())
    }

    /// The number that the reference calls `alpha`: the smoothing exponent, or the probability of
    /// dropout.
    fn alpha(&self) -> f32 {
        match *self {
            Self::Lattice { alpha } | Self::Nbest { alpha, .. } => alpha,
            Self::Dropout { probability } => probability,
        }
    }
}

/// Checks that segmentations can be weighted with this exponent.
pub(super) fn check_alpha(alpha: f32) -> Result<(), EncodeError> {
    if !alpha.is_finite() || alpha < 0.0 {
        return Err(EncodeError::Alpha { alpha });
    }
    Ok(())
}

/// Several random segmentations with their probabilities; see
/// [`Encoder::sample_with_scores`](crate::Encoder::sample_with_scores).
///
/// The default is one sample with an `alpha` of 1, with replacement, as in the reference.
///
/// ```
/// use spiece::{SampleReplacement, ScoredSampleOptions};
/// let options = ScoredSampleOptions::default().with_samples(8).with_alpha(0.5);
/// assert_eq!(options.replacement, SampleReplacement::With);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ScoredSampleOptions {
    /// The number of segmentations.
    pub samples: usize,
    /// The smoothing exponent, 0 or more; see [`SampleOptions`].
    pub alpha: f32,
    /// Whether a segmentation can be drawn more than once.
    pub replacement: SampleReplacement,
}

impl Default for ScoredSampleOptions {
    fn default() -> Self {
        Self {
            samples: 1,
            alpha: 1.0,
            replacement: SampleReplacement::With,
        }
    }
}

impl ScoredSampleOptions {
    /// Sets [`samples`](Self::samples).
    pub fn with_samples(mut self, samples: usize) -> Self {
        self.samples = samples;
        self
    }

    /// Sets [`alpha`](Self::alpha).
    pub fn with_alpha(mut self, alpha: f32) -> Self {
        self.alpha = alpha;
        self
    }

    /// Sets [`replacement`](Self::replacement).
    pub fn with_replacement(mut self, replacement: SampleReplacement) -> Self {
        self.replacement = replacement;
        self
    }
}

/// Whether a sample can contain a segmentation more than once. This also determines the scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum SampleReplacement {
    /// Segmentations are drawn independently. The scores are the logarithms of their probabilities.
    With,
    /// No segmentation is drawn twice. The scores are the logarithms of the probabilities that the
    /// sample contains the segmentation, given the best one that was not drawn (Kool, van Hoof,
    /// Welling, "Stochastic beams and where to find them", ICML 2019,
    /// <https://arxiv.org/abs/1903.06059>). The sum of f / exp(score) over a sample is an unbiased
    /// estimate of the sum of f over all segmentations.
    Without {
        /// Whether the best segmentation is always in the sample, as its first element with a score
        /// of 0. The others are then drawn from the rest.
        include_best: bool,
    },
}

/// The maximum number of segmentations that can be requested; the reference's limit.
const MAX_NBEST: usize = 512;

/// Checks that `size` segmentations can be requested.
pub(super) fn check_nbest_size(size: usize) -> Result<(), EncodeError> {
    if size > MAX_NBEST {
        return Err(EncodeError::TooMany { size });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{ExtraOption, SampleOptions};
    use crate::encode::EncodeError;
    use crate::model::ModelType;

    #[test]
    fn extra_options_are_parsed_by_name() {
        use ExtraOption::{Bos, Eos, Reverse, UnkPiece};
        let cases: [(&str, &[ExtraOption]); 4] = [
            ("", &[]),
            ("bos", &[Bos]),
            (
                "reverse:eos:unk:unk_piece",
                &[Reverse, Eos, UnkPiece, UnkPiece],
            ),
            ("bos:bos", &[Bos, Bos]),
        ];
        for (list, options) in cases {
            assert_eq!(ExtraOption::parse_list(list).unwrap(), options, "{list}");
        }
        for list in ["BOS", "bos:", ":", "bos eos"] {
            let error = ExtraOption::parse_list(list).unwrap_err();
            assert!(matches!(error, EncodeError::UnknownExtra { .. }), "{list}");
        }
    }

    #[test]
    fn the_two_numbers_of_the_reference_depend_on_the_model_type() {
        let cases = [
            (
                ModelType::Unigram,
                8,
                SampleOptions::Nbest {
                    size: 8,
                    alpha: 0.5,
                },
            ),
            (
                ModelType::Unigram,
                -7,
                SampleOptions::Lattice { alpha: 0.5 },
            ),
            (
                ModelType::Bpe,
                8,
                SampleOptions::Dropout { probability: 0.5 },
            ),
            (
                ModelType::Bpe,
                -1,
                SampleOptions::Dropout { probability: 0.5 },
            ),
        ];
        for (model_type, nbest_size, expected) in cases {
            let options = SampleOptions::from_reference(model_type, nbest_size, 0.5);
            assert_eq!(options, Ok(expected));
        }
    }

    #[test]
    fn numbers_out_of_range_are_refused_for_every_model_type() {
        for model_type in [ModelType::Unigram, ModelType::Bpe, ModelType::Word] {
            let too_many = SampleOptions::from_reference(model_type, 513, 0.5);
            assert_eq!(too_many, Err(EncodeError::TooMany { size: 513 }));
            for alpha in [f32::NAN, f32::INFINITY, -0.1] {
                let error = SampleOptions::from_reference(model_type, -1, alpha).unwrap_err();
                assert!(matches!(error, EncodeError::Alpha { .. }), "{alpha}");
            }
        }
    }
}
