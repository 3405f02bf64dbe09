//! The encoder: a tokenizer, options and a cache in one value.
//!
//! [`EncodeContext`] does the work; this module takes the cache from the tokenizer's pool and
//! returns it.

use std::sync::Arc;

use super::Tokenizer;
use super::cache::{CacheParts, EncodeCache};
use super::context::{CheckedOptions, EncodeContext, NO_OPTIONS};
use super::options::{SampleOptions, ScoredSampleOptions};
use super::tables::TablesRef;
use super::tokens::Tokens;
use crate::base::rng::Rng;
use crate::encode::EncodeError;
use crate::encode::encoded_lines::EncodedLines;
use crate::piece::PieceId;

/// Encodes texts one after another, for one thread; made by [`Tokenizer::encoder`] and
/// [`Tokenizer::encoder_with`].
///
/// It borrows its tokenizer and has its own options and cache. When it is dropped, it returns the
/// cache to the tokenizer. Once its buffers have grown to the length of the texts, encoding
/// allocates no memory. To store this state beside the tokenizer, use an [`EncodeCache`].
///
/// ```
/// # let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
/// let mut encoder = tokenizer.encoder();
/// for line in ["one line", "and another"] {
///     for token in encoder.tokens(line) {
///         println!("{} {:?} {:?}", token.id(), token.piece(), &line[token.span()]);
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Encoder<'t> {
    tokenizer: &'t Tokenizer,
    tables: TablesRef<'t>,
    /// `None` for the default.
    options: Option<Arc<CheckedOptions>>,
    /// Present until the encoder is dropped.
    cache: Option<EncodeCache>,
}

impl<'t> Encoder<'t> {
    pub(super) fn new(
        tokenizer: &'t Tokenizer,
        tables: TablesRef<'t>,
        options: Option<Arc<CheckedOptions>>,
    ) -> Self {
        Encoder {
            tokenizer,
            tables,
            options,
            cache: Some(tables.pool().take()),
        }
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &'t Tokenizer {
        self.tokenizer
    }

    /// The context and the cache, which are used together.
    #[inline]
    pub(super) fn parts(&mut self) -> (EncodeContext<'_>, &mut EncodeCache) {
        let pool = self.tables.pool();
        let context = EncodeContext {
            tokenizer: self.tokenizer,
            tables: self.tables,
            options: self.options.as_deref().unwrap_or(&NO_OPTIONS),
        };
        let cache = self.cache.get_or_insert_with(|| pool.take());
        (context, cache)
    }

    /// The memory that the tables use.
    pub(super) fn memory(&mut self) -> &mut CacheParts {
        let pool = self.tables.pool();
        pool.parts_of(self.cache.get_or_insert_with(|| pool.take()))
    }

    /// Refuses a text with a special piece that is not allowed, if
    /// [`refuses_special`](crate::EncodeOptions::refuses_special) is set. The other methods give no
    /// ids for such a text, and [`take_failure`](Self::take_failure) has the error.
    ///
    /// ```
    /// use spiece::{EncodeError, EncodeOptions, Tokenizer};
    /// let tokenizer = Tokenizer::open("testdata/golden/llama2.model")?;
    /// let options = EncodeOptions::default()
    ///     .with_allowed_special(["<s>"])
    ///     .with_refuses_special(true);
    /// let encoder = tokenizer.encoder_with(&options)?;
    /// assert_eq!(encoder.check_special("<s> and text"), Ok(()));
    /// let error = encoder.check_special("text</s>").unwrap_err();
    /// assert!(matches!(error, EncodeError::RefusedSpecial { begin: 4, .. }));
    /// let mut encoder = encoder;
    /// assert!(encoder.encode("text</s>").is_empty());
    /// assert_eq!(encoder.take_failure(), Some(error));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`RefusedSpecial`](EncodeError::RefusedSpecial) with the first of them.
    pub fn check_special(&self, text: impl AsRef<[u8]>) -> Result<(), EncodeError> {
        let options = self.options.as_deref().unwrap_or(&NO_OPTIONS);
        options.check_special(text.as_ref())
    }

    /// Why a text since the last call has no ids, or only those of what stands before: some tokenizers
    /// of a `tokenizer.json` refuse some texts, as the library tokenizers does, and
    /// [`refuses_special`](crate::EncodeOptions::refuses_special) refuses special pieces. Batches return
    /// the error.
    pub fn take_failure(&mut self) -> Option<EncodeError> {
        self.cache.as_mut()?.take_failure()
    }

    /// The ids of `text`, which need not be UTF-8.
    ///
    /// ```
    /// # let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// let mut encoder = tokenizer.encoder();
    /// assert_eq!(encoder.encode("Hello"), tokenizer.encode("Hello"));
    /// # Ok::<(), spiece::OpenError>(())
    /// ```
    pub fn encode(&mut self, text: impl AsRef<[u8]>) -> &[PieceId] {
        let (context, cache) = self.parts();
        context.encode_to_buffer(cache, text.as_ref())
    }

    /// Appends the ids of `text` to `ids`.
    ///
    /// ```
    /// # let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// let mut encoder = tokenizer.encoder();
    /// let mut ids = Vec::new();
    /// encoder.encode_into("one", &mut ids);
    /// encoder.encode_into("two", &mut ids);
    /// assert_eq!(ids, [tokenizer.encode("one"), tokenizer.encode("two")].concat());
    /// # Ok::<(), spiece::OpenError>(())
    /// ```
    pub fn encode_into(&mut self, text: impl AsRef<[u8]>, ids: &mut Vec<PieceId>) {
        let (context, cache) = self.parts();
        context.encode(cache, text.as_ref(), ids);
    }

    /// The ids of each line of `text`, as [`encode`](Encoder::encode) gives them for the line
    /// alone. A line ends at a line feed, which is not part of it, or at the end of the text. For
    /// BPE models that read raw text, such as those of Llama, one call with many short lines is
    /// faster than one call for each line.
    ///
    /// ```
    /// # let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// let mut encoder = tokenizer.encoder();
    /// let lines = encoder.encode_lines("one line\nand another\n");
    /// assert!(lines.iter().eq([tokenizer.encode("one line"), tokenizer.encode("and another")]));
    /// # Ok::<(), spiece::OpenError>(())
    /// ```
    pub fn encode_lines(&mut self, text: impl AsRef<[u8]>) -> &EncodedLines {
        let (context, cache) = self.parts();
        context.encode_lines(cache, text.as_ref())
    }

    /// The number of ids of `text`.
    ///
    /// ```
    /// # let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// assert_eq!(tokenizer.encoder().count("the right"), 2);
    /// # Ok::<(), spiece::OpenError>(())
    /// ```
    pub fn count(&mut self, text: impl AsRef<[u8]>) -> usize {
        self.encode(text).len()
    }

    /// The normalized text: what is split into pieces, with whitespace marks (U+2581) for spaces.
    /// It is UTF-8 unless a rule of the model has a malformed replacement.
    ///
    /// ```
    /// # let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// assert_eq!(tokenizer.encoder().normalize("a b"), "\u{2581}a\u{2581}b".as_bytes());
    /// # Ok::<(), spiece::OpenError>(())
    /// ```
    pub fn normalize(&mut self, text: impl AsRef<[u8]>) -> &[u8] {
        let (context, cache) = self.parts();
        context.normalize(cache, text.as_ref())
    }

    /// The tokens of `text`: ids with spans, pieces and surfaces; see [`Tokens`].
    ///
    /// ```
    /// # let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// let mut encoder = tokenizer.encoder();
    /// let spans: Vec<_> = encoder.tokens("the right").iter().map(|token| token.span()).collect();
    /// assert_eq!(spans, [0..3, 3..9]);
    /// # Ok::<(), spiece::OpenError>(())
    /// ```
    pub fn tokens<'e, T: AsRef<[u8]> + ?Sized>(&'e mut self, text: &'e T) -> Tokens<'e> {
        let (context, cache) = self.parts();
        context.tokens(cache, text.as_ref())
    }

    /// The best segmentations of `text`, at most `size` of them, best first, with their scores. For
    /// a `size` of 0 or 1 and for an empty text, there is one, with a score of 0, as in the
    /// reference.
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/run/unigram.model")?;
    /// let best = tokenizer.encoder().nbest("les droits", 3)?;
    /// assert_eq!(best[0].0, tokenizer.encode("les droits"));
    /// assert!(best[0].1 >= best[1].1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`NoNbest`](EncodeError::NoNbest): the model is not a unigram model.
    /// [`TooMany`](EncodeError::TooMany): `size` is above 512.
    /// [`TooManyCandidates`](EncodeError::TooManyCandidates): too many pieces match the text; with
    /// typical models, this takes more than a million characters.
    pub fn nbest(
        &mut self,
        text: impl AsRef<[u8]>,
        size: usize,
    ) -> Result<Vec<(Vec<PieceId>, f32)>, EncodeError> {
        let mut found = Vec::new();
        self.for_each_nbest(text.as_ref(), size, |score, tokens| {
            found.push((tokens.ids().collect(), score));
        })?;
        Ok(found)
    }

    /// Calls `visit` with the score and the tokens of each of the best segmentations; see
    /// [`nbest`](Encoder::nbest).
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/run/unigram.model")?;
    /// let mut count = 0;
    /// tokenizer.encoder().for_each_nbest("les droits", 3, |score, tokens| {
    ///     println!("{score} {tokens:?}");
    ///     count += 1;
    /// })?;
    /// assert_eq!(count, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`nbest`](Encoder::nbest).
    pub fn for_each_nbest<T: AsRef<[u8]> + ?Sized>(
        &mut self,
        text: &T,
        size: usize,
        visit: impl FnMut(f32, Tokens<'_>),
    ) -> Result<(), EncodeError> {
        let (context, cache) = self.parts();
        context.for_each_nbest(cache, text.as_ref(), size, visit)
    }

    /// The tokens of a random segmentation of `text`, for subword regularization in training. The
    /// same seed gives the same segmentations.
    ///
    /// ```
    /// use spiece::{Rng, SampleOptions, Tokenizer};
    /// let tokenizer = Tokenizer::open("testdata/golden/llama2.model")?;
    /// let mut rng = Rng::with_seed(7);
    /// let mut encoder = tokenizer.encoder();
    /// let options = SampleOptions::Dropout { probability: 0.1 };
    /// let ids: Vec<_> = encoder.sample("regularization", &options, &mut rng)?.ids().collect();
    /// assert_eq!(tokenizer.decode(&ids)?, "regularization");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`NoSampling`](EncodeError::NoSampling): a word or char model.
    /// [`WrongSampling`](EncodeError::WrongSampling): the options are for another type of model.
    /// [`Alpha`](EncodeError::Alpha): a number that is negative, infinite or NaN.
    /// [`TooMany`](EncodeError::TooMany) and [`TooManyCandidates`](EncodeError::TooManyCandidates)
    /// as for [`nbest`](Encoder::nbest).
    pub fn sample<'e, T: AsRef<[u8]> + ?Sized>(
        &'e mut self,
        text: &'e T,
        options: &SampleOptions,
        rng: &mut Rng,
    ) -> Result<Tokens<'e>, EncodeError> {
        let (context, cache) = self.parts();
        context.sample(cache, text.as_ref(), options, rng)
    }

    /// Several random segmentations of `text` with their scores; see [`ScoredSampleOptions`] and
    /// [`SampleReplacement`]. With replacement there are as many as requested; without it there are
    /// fewer if the text has fewer segmentations. A text that normalizes to nothing has none, as in
    /// the reference.
    ///
    /// ```
    /// use spiece::{SampleReplacement, Rng, ScoredSampleOptions, Tokenizer};
    /// let tokenizer = Tokenizer::open("testdata/run/unigram.model")?;
    /// let options = ScoredSampleOptions::default()
    ///     .with_samples(3)
    ///     .with_replacement(SampleReplacement::Without { include_best: true });
    /// let mut rng = Rng::with_seed(7);
    /// let sample = tokenizer.encoder().sample_with_scores("les droits", &options, &mut rng)?;
    /// assert_eq!(sample.len(), 3);
    /// assert_eq!(sample[0], (tokenizer.encode("les droits"), 0.0));
    /// assert_ne!(sample[1].0, sample[2].0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`NoProbabilities`](EncodeError::NoProbabilities): the model is not a unigram model.
    /// [`Alpha`](EncodeError::Alpha): a number that is negative, infinite, NaN, or too large.
    /// [`TooManySamples`](EncodeError::TooManySamples): the number of samples times the number of
    /// characters is above 16 million. [`TooManyCandidates`](EncodeError::TooManyCandidates) as for
    /// [`nbest`](Encoder::nbest).
    ///
    /// [`SampleReplacement`]: crate::SampleReplacement
    pub fn sample_with_scores(
        &mut self,
        text: impl AsRef<[u8]>,
        options: &ScoredSampleOptions,
        rng: &mut Rng,
    ) -> Result<Vec<(Vec<PieceId>, f32)>, EncodeError> {
        let mut found = Vec::new();
        self.for_each_scored_sample(text.as_ref(), options, rng, |score, tokens| {
            found.push((tokens.ids().collect(), score));
        })?;
        Ok(found)
    }

    /// Calls `visit` with the score and the tokens of each random segmentation; see
    /// [`sample_with_scores`](Encoder::sample_with_scores).
    ///
    /// ```
    /// use spiece::{Rng, ScoredSampleOptions, Tokenizer};
    /// let tokenizer = Tokenizer::open("testdata/run/unigram.model")?;
    /// let options = ScoredSampleOptions::default().with_samples(5);
    /// let mut rng = Rng::with_seed(7);
    /// let mut log_probability = 0.0;
    /// tokenizer.encoder().for_each_scored_sample("les droits", &options, &mut rng, |score, _| {
    ///     log_probability += score;
    /// })?;
    /// assert!(log_probability < 0.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`sample_with_scores`](Encoder::sample_with_scores).
    pub fn for_each_scored_sample<T: AsRef<[u8]> + ?Sized>(
        &mut self,
        text: &T,
        options: &ScoredSampleOptions,
        rng: &mut Rng,
        visit: impl FnMut(f32, Tokens<'_>),
    ) -> Result<(), EncodeError> {
        let (context, cache) = self.parts();
        context.for_each_scored_sample(cache, text.as_ref(), (options, rng), visit)
    }

    /// The entropy of the segmentations of `text` in nats: how uncertain its segmentation is. The
    /// probability of a segmentation is proportional to exp(alpha · score), as in
    /// [`SampleOptions`].
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/run/unigram.model")?;
    /// let mut encoder = tokenizer.encoder();
    /// let flat = encoder.entropy("les droits", 0.1)?;
    /// let steep = encoder.entropy("les droits", 1.0)?;
    /// assert!(steep < flat);
    /// assert_eq!(encoder.entropy("", 1.0)?, 0.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`NoProbabilities`](EncodeError::NoProbabilities), [`Alpha`](EncodeError::Alpha) and
    /// [`TooManyCandidates`](EncodeError::TooManyCandidates) as for
    /// [`sample_with_scores`](Encoder::sample_with_scores).
    pub fn entropy(&mut self, text: impl AsRef<[u8]>, alpha: f32) -> Result<f32, EncodeError> {
        let (context, cache) = self.parts();
        context.entropy(cache, text.as_ref(), alpha)
    }
}

impl Drop for Encoder<'_> {
    fn drop(&mut self) {
        if let Some(cache) = self.cache.take() {
            self.tables.pool().give(cache);
        }
    }
}

impl std::fmt::Debug for Encoder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder")
            .field("tokenizer", &self.tokenizer)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
