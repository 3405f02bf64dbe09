//! `--superword_from`: training in two stages, words first and then pieces of several words.
//!
//! A model is trained, and extended on the same text by pieces that may cross words; the text is
//! read twice. For example, `--vocab_size=200000 --superword_from=80000` trains 80,000 pieces and
//! learns 120,000 more, such as `▁of▁the`. The second stage counts lines instead of words, so its
//! memory follows the distinct lines.
//!
//! Byte-level BPE has the same two stages, as SuperBPE has them. The pattern of the first stage cuts
//! words; that of the second, `--superword_pattern`, is the one of the trained vocabulary.

use std::num::{NonZeroU8, NonZeroUsize};
use std::str::FromStr;

use clap::{Arg, ArgMatches};

use crate::args;
use crate::io::{CliError, CliResult};
use spiece::adapt::{ByteExtendOptions, ExtendOptions, ExtendSize, NewCharacters, Superwords};
use spiece::byte_bpe::SpecialToken;
use spiece::train::{ByteTieOrder, ByteTrainOptions, Observer};
use spiece::{ByteBpe, Corpus, Model, ModelType, TrainFlags, TrainOptions};

/// Longest superword in words, unless a flag says another number.
const DEFAULT_MAX_WORDS: NonZeroU8 = NonZeroU8::MIN.saturating_add(3);
/// Longest superword in characters, unless a flag says another number.
const MAX_SUPERWORD_LENGTH: u32 = 64;

/// The flag for the number of tokens of the first stage.
pub(super) const SUPERWORD_FROM: &str = "superword_from";
/// The flag for the pattern of byte-level superwords.
pub(crate) const SUPERWORD_PATTERN: &str = "superword_pattern";

/// The flag for the pattern that byte-level superwords do not cross.
pub(crate) fn pattern_flag(help: &'static str) -> Arg {
    args::value(SUPERWORD_PATTERN, help).value_name("PATTERN")
}

/// The flag for the most words of a piece.
pub(crate) fn max_words_flag(help: &'static str) -> Arg {
    args::value("max_words", help).value_name("N")
}

/// Lets pieces cross words, with the limits of `--max_words` and `--max_sentencepiece_length` or
/// their defaults.
pub(crate) fn cross_words(matches: &ArgMatches, options: &mut TrainOptions) -> CliResult {
    let max_words = args::given_number(matches, "max_words")?;
    options.split_by_whitespace = false;
    options.max_words = Some(max_words.unwrap_or(DEFAULT_MAX_WORDS));
    if !args::is_given(matches, "max_sentencepiece_length") {
        let length = &mut options.max_sentencepiece_length;
        *length = MAX_SUPERWORD_LENGTH.max(*length);
    }
    Ok(())
}

/// The superwords of byte-level BPE that `--max_words` and `--superword_pattern` ask for.
pub(crate) fn byte_superwords(matches: &ArgMatches) -> CliResult<Superwords> {
    let name = args::non_empty(matches, SUPERWORD_PATTERN).unwrap_or("superbpe");
    // What is between the matches is text, too, as for tokenizers.
    let pretokenizer = ByteTieOrder::Tokenizers.pretokenizer(name);
    let pretokenizer = pretokenizer.map_err(args::in_flag(SUPERWORD_PATTERN))?;
    let max_words = args::given_number(matches, "max_words")?;
    Ok(Superwords::new(
        pretokenizer,
        max_words.unwrap_or(DEFAULT_MAX_WORDS),
    ))
}

/// The size of the first stage, if `--superword_from` asks for two; `whole` is that of both.
fn first_size<N: FromStr + Copy + PartialOrd>(
    matches: &ArgMatches,
    flags: &TrainFlags,
    whole: N,
) -> CliResult<Option<N>> {
    let Some(first) = args::given_number(matches, SUPERWORD_FROM)? else {
        return match args::is_given(matches, "max_words") {
            true => usage("--max_words goes with --superword_from"),
            false => Ok(None),
        };
    };
    if flags.input.iter().any(|file| file == "-") {
        return usage(
            "--superword_from reads the text twice, so it cannot be standard input; name a file",
        );
    }
    if first >= whole {
        return usage("--superword_from has to be below --vocab_size; the rest are superwords");
    }
    Ok(Some(first))
}

/// The second stage of training.
pub(super) struct SuperwordStage {
    options: TrainOptions,
    vocab_size: usize,
}

impl SuperwordStage {
    /// The stage that `--superword_from` asks for; `flags` are then those of the first stage.
    pub(super) fn new(matches: &ArgMatches, flags: &mut TrainFlags) -> CliResult<Option<Self>> {
        let Some(first) = first_size(matches, flags, flags.vocab_size)? else {
            return Ok(None);
        };
        if flags.model_type != ModelType::Bpe {
            return usage(
                "--superword_from is for BPE models; add --model_type=bpe or --model_type=byte_bpe",
            );
        }
        let vocab_size = usize::try_from(flags.vocab_size).unwrap_or_default();
        flags.vocab_size = first;
        let mut options = flags.options().map_err(args::invalid_option)?;
        cross_words(matches, &mut options)?;
        Ok(Some(Self {
            options,
            vocab_size,
        }))
    }

    /// Extends the model of the first stage.
    pub(super) fn extend(
        self,
        model: &Model,
        corpus: Corpus<'_>,
        threads: Option<NonZeroUsize>,
        observer: Observer,
    ) -> CliResult<Model> {
        let mut options = ExtendOptions::new(model, ExtendSize::Vocabulary(self.vocab_size));
        options.training = self.options;
        // The first stage has chosen the characters.
        options.characters = NewCharacters::Never;
        options.threads = threads;
        options.observer = observer;
        let extended = model.extend(corpus, &options)?;
        Ok(extended.model().clone())
    }
}

/// The second stage of byte-level training.
pub(super) struct ByteSuperwordStage {
    options: ByteExtendOptions,
    /// The special tokens that have the last ids.
    last: Vec<String>,
}

impl ByteSuperwordStage {
    /// The stage that `--superword_from` asks for; `options` are then those of the first stage.
    pub(super) fn new(
        matches: &ArgMatches,
        flags: &TrainFlags,
        options: &mut ByteTrainOptions,
    ) -> CliResult<Option<Self>> {
        let Some(first) = first_size(matches, flags, options.vocab_size)? else {
            return match args::is_given(matches, SUPERWORD_PATTERN) {
                true => usage("--superword_pattern goes with --superword_from"),
                false => Ok(None),
            };
        };
        let last = match options.tie_order {
            ByteTieOrder::Tokenizers => Vec::new(),
            ByteTieOrder::Minbpe => {
                return usage(
                    "--superword_from does not go with --tie_order=minbpe, which has no superwords; use hf or rustbpe",
                );
            }
            ByteTieOrder::Greatest => {
                return usage(
                    "--superword_from does not go with --tie_order=greatest; use hf or rustbpe",
                );
            }
            _ if options.split_special_tokens => {
                return usage(
                    "--superword_from with --split_special_tokens needs --tie_order=hf, whose first stage has the special tokens",
                );
            }
            _ => std::mem::take(&mut options.special_tokens),
        };
        let after = u32::try_from(last.len()).unwrap_or(u32::MAX);
        let size = options.vocab_size.saturating_sub(after);
        options.vocab_size = first.saturating_sub(after);
        let mut extension = ByteExtendOptions::new(ExtendSize::Vocabulary(size as usize));
        extension.superwords = Some(byte_superwords(matches)?);
        extension.min_frequency = options.min_frequency;
        extension.max_token_length = options.max_token_length;
        extension.document = options.document;
        extension.input_format = options.input_format;
        Ok(Some(Self {
            options: extension,
            last,
        }))
    }

    /// Extends the vocabulary of the first stage.
    pub(super) fn extend(
        mut self,
        first: &ByteBpe,
        corpus: Corpus<'_>,
        threads: Option<NonZeroUsize>,
        observer: Observer,
    ) -> CliResult<ByteBpe> {
        self.options.threads = threads;
        self.options.observer = observer;
        let extended = first.extend(corpus, &self.options)?;
        self.with_last_tokens(extended.bpe())
    }

    /// The vocabulary with the pattern of the superwords, before any is learned.
    pub(super) fn untrained(&self, first: &ByteBpe) -> CliResult<ByteBpe> {
        let mut options = self.options.clone();
        options.size = ExtendSize::Learn(0);
        let none = first.extend(Corpus::texts([""]), &options)?;
        self.with_last_tokens(none.bpe())
    }

    fn with_last_tokens(&self, bpe: &ByteBpe) -> CliResult<ByteBpe> {
        let mut parts = bpe.parts();
        let ids = u32::try_from(bpe.vocab_size()).unwrap_or(u32::MAX)..;
        let last = self.last.iter().zip(ids);
        let last = last.map(|(text, id)| SpecialToken::new(text.as_str(), id));
        parts.special_tokens.extend(last);
        let whole = ByteBpe::new(parts);
        whole.map_err(|error| CliError::Error(error.to_string()))
    }
}

/// The error for counted words.
pub(super) fn needs_text() -> CliError {
    CliError::usage("--superword_from needs text, and --input_format=counts has only words")
}

fn usage<T>(message: &str) -> CliResult<T> {
    Err(CliError::usage(message))
}
