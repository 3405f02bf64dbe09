//! `--superword_from`: training in two stages, words first and then pieces of several words.
//!
//! A model is trained, and extended on the same text by pieces that may cross words; the text is
//! read twice. For example, `--vocab_size=200000 --superword_from=80000` trains 80,000 pieces and
//! learns 120,000 more, such as `▁of▁the`. The second stage counts lines instead of words, so its
//! memory follows the distinct lines.

use std::num::{NonZeroU8, NonZeroUsize};

use clap::{Arg, ArgMatches};

use crate::args;
use crate::io::{CliError, CliResult};
use spiece::adapt::{ExtendOptions, ExtendSize, NewCharacters};
use spiece::train::Observer;
use spiece::{Corpus, Model, ModelType, TrainFlags, TrainOptions};

/// Longest superword in words, unless a flag says another number.
const DEFAULT_MAX_WORDS: NonZeroU8 = NonZeroU8::MIN.saturating_add(3);
/// Longest superword in characters, unless a flag says another number.
const MAX_SUPERWORD_LENGTH: u32 = 64;

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

/// The second stage of training.
pub(super) struct SuperwordStage {
    options: TrainOptions,
    vocab_size: usize,
}

impl SuperwordStage {
    /// The stage that `--superword_from` asks for; `flags` are then those of the first stage.
    pub(super) fn new(matches: &ArgMatches, flags: &mut TrainFlags) -> CliResult<Option<Self>> {
        let Some(first) = args::given_number(matches, "superword_from")? else {
            return match args::is_given(matches, "max_words") {
                true => usage("--max_words goes with --superword_from"),
                false => Ok(None),
            };
        };
        if flags.model_type != ModelType::Bpe {
            return usage("--superword_from is for BPE models; add --model_type=bpe");
        }
        if flags.input.iter().any(|file| file == "-") {
            return usage(
                "--superword_from reads the text twice, so it cannot be standard input; name a file",
            );
        }
        let vocab_size = usize::try_from(flags.vocab_size).unwrap_or_default();
        if usize::try_from(first).is_ok_and(|first| first >= vocab_size) {
            return usage("--superword_from has to be below --vocab_size; the rest are superwords");
        }
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
        observer: &mut dyn Observer,
    ) -> CliResult<Model> {
        let mut options = ExtendOptions::new(model, ExtendSize::Vocabulary(self.vocab_size));
        options.training = self.options;
        // The first stage has chosen the characters.
        options.characters = NewCharacters::Never;
        options.threads = threads;
        let extended = model.extend_observed(corpus, &options, observer)?;
        Ok(extended.model().clone())
    }
}

fn usage<T>(message: &str) -> CliResult<T> {
    Err(CliError::usage(message))
}
