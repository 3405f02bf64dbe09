//! The options of a training run: the flags of `spm_train`, each written down once.
//!
//! One table (the [`train_options!`] call below) makes the struct, its defaults, its documentation, the
//! list that the command line is built from, setting by name, and the record in the model's
//! `trainer_spec`. Presence is part of that record: a protobuf field that was set to its default is
//! written, a field that was never set is not. The program `spm_train` sets every field; the calls of
//! its bindings set those that the caller names. [`Recorded`] chooses between the two.
//!
//! [`TrainOptions::validate`] refuses what the reference refuses, before any input is read.

mod validate;
mod value;

use std::collections::BTreeSet;

use self::value::OptionValue;
use crate::error::OptionError;
use crate::model::{ModelType, TrainerSpec};

/// Which options the model's `trainer_spec` and `normalizer_spec` record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Recorded {
    /// Those given through [`TrainOptions::set`] and those that differ from their default, as the
    /// reference's library calls do.
    #[default]
    Given,
    /// Every option, as the program `spm_train` does.
    All,
}

/// What kind of value an option takes on a command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionKind {
    /// `true` or `false`; the bare name means `true`.
    Flag,
    /// One value.
    Value,
    /// Values separated by commas; a value with a comma or a quote stands in double quotes.
    List,
}

/// One option: enough to build a command line or a form from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OptionInfo {
    /// The name that `spm_train` gives it.
    pub name: &'static str,
    /// What it does.
    pub help: &'static str,
    /// What it takes.
    pub kind: OptionKind,
}

/// Flags of older releases that are accepted and do nothing.
pub const RETIRED_OPTIONS: &[&str] = &[
    "accept_language",
    "self_test_sample_size",
    "mining_sentence_size",
    "training_sentence_size",
    "train_extremely_large_corpus",
    "enable_differential_privacy",
    "differential_privacy_noise_level",
    "differential_privacy_clipping_threshold",
];

/// Writes one option into the spec where the model records it under its own name.
macro_rules! record_option {
    (trainer_spec, $spec:ident, $name:ident, $record:expr) => {
        $spec.$name = $record;
    };
    (elsewhere, $spec:ident, $name:ident, $record:expr) => {};
}

/// Makes [`TrainOptions`] and everything that has one entry for each option.
macro_rules! train_options {
    ($($(#[doc = $doc:literal])+ $name:ident: $type:ty = $default:expr, $place:ident;)*) => {
        /// What to train and how; the names, meanings and defaults are `spm_train`'s
        /// (only `model_type` differs: BPE).
        ///
        /// ```
        /// let mut options = spiece::TrainOptions::default();
        /// options.vocab_size = 32_000;
        /// options.byte_fallback = true;
        /// options.set("character_coverage", "0.99995")?;
        /// # Ok::<(), spiece::OptionError>(())
        /// ```
        #[derive(Debug, Clone)]
        #[non_exhaustive]
        pub struct TrainOptions {
            $($(#[doc = $doc])+ pub $name: $type,)*
            /// Which of these the model records.
            pub recorded: Recorded,
            given: BTreeSet<&'static str>,
        }

        impl Default for TrainOptions {
            fn default() -> TrainOptions {
                TrainOptions {
                    $($name: $default,)*
                    recorded: Recorded::Given,
                    given: BTreeSet::new(),
                }
            }
        }

        impl TrainOptions {
            /// Every option, in the order of this struct.
            pub const ALL: &'static [OptionInfo] = &[$(OptionInfo {
                name: stringify!($name),
                help: concat!($($doc),+).trim_ascii(),
                kind: <$type as OptionValue>::KIND,
            }),*];

            /// Sets an option by the name and in the notation of `spm_train`, and has it recorded even
            /// if the value is the default. A retired option is accepted and does nothing.
            ///
            /// # Errors
            /// An unknown name, or a value that the option cannot take.
            pub fn set(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
                match name {
                    $(stringify!($name) => {
                        self.$name = OptionValue::parse(value).ok_or_else(|| OptionError::Value {
                            option: stringify!($name),
                            value: value.to_owned(),
                            expected: <$type as OptionValue>::EXPECTED,
                        })?;
                        self.given.insert(stringify!($name));
                        Ok(())
                    })*
                    _ if RETIRED_OPTIONS.contains(&name) => Ok(()),
                    _ => Err(OptionError::Unknown { option: name.to_owned() }),
                }
            }

            /// The value of an option, in the notation of [`TrainOptions::set`]; `None` for an unknown name.
            pub fn get(&self, name: &str) -> Option<String> {
                match name {
                    $(stringify!($name) => Some(self.$name.text()),)*
                    _ => None,
                }
            }

            /// The model's record of these options.
            pub(crate) fn trainer_spec(&self) -> TrainerSpec {
                let defaults = TrainOptions::default();
                let mut spec = TrainerSpec::default();
                $(record_option!($place, spec, $name, {
                    self.$name.record(self.is_recorded(stringify!($name), self.$name != defaults.$name))
                });)*
                spec
            }
        }
    };
}

train_options! {
    /// Files to train on; `-` is standard input; names that end in .gz or .zst are decompressed.
    input: Vec<String> = Vec::new(), trainer_spec;
    /// Format of the input: text (one sentence a line) or tsv (sentence, tab, count).
    input_format: String = String::new(), trainer_spec;
    /// Where the model goes: PREFIX.model and PREFIX.vocab.
    model_prefix: String = String::new(), trainer_spec;
    /// Algorithm of the model; spiece trains bpe.
    model_type: ModelType = ModelType::Bpe, trainer_spec;
    /// Number of pieces, all kinds together.
    vocab_size: i32 = 8000, trainer_spec;
    /// Share of the corpus's characters that get a piece of their own, 0.98 to 1.
    character_coverage: f32 = 0.9995, trainer_spec;
    /// Let a search divide the vocabulary between characters and merges; needs byte_fallback.
    auto_character_coverage: bool = false, trainer_spec;
    /// Train on that many sentences only; 0 is all.
    input_sentence_size: u64 = 0, trainer_spec;
    /// With input_sentence_size: a random sample of the corpus rather than its beginning.
    shuffle_input_sentence: bool = true, trainer_spec;
    /// Seed of that sample.
    random_seed: u32 = u32::MAX, elsewhere;
    /// Skip sentences of more bytes, 10 to 1073741824.
    max_sentence_length: i32 = 4192, trainer_spec;
    /// Longest piece in characters, 1 to 512.
    max_sentencepiece_length: i32 = 16, trainer_spec;
    /// No piece has characters of two scripts.
    split_by_unicode_script: bool = true, trainer_spec;
    /// Digits are a script of their own for split_by_unicode_script.
    split_by_number: bool = true, trainer_spec;
    /// No piece has whitespace inside.
    split_by_whitespace: bool = true, trainer_spec;
    /// Each digit is a piece of its own.
    split_digits: bool = false, trainer_spec;
    /// No piece crosses this string.
    pretokenization_delimiter: String = String::new(), trainer_spec;
    /// Whitespace ends a piece instead of beginning it.
    treat_whitespace_as_suffix: bool = false, trainer_spec;
    /// Runs of whitespace may become pieces.
    allow_whitespace_only_pieces: bool = false, trainer_spec;
    /// Pieces that text never yields, such as `<sep>`.
    control_symbols: Vec<String> = Vec::new(), trainer_spec;
    /// Pieces that are always cut out whole.
    user_defined_symbols: Vec<String> = Vec::new(), trainer_spec;
    /// Characters that get a piece whatever the coverage.
    required_chars: String = String::new(), trainer_spec;
    /// Unknown characters become pieces for their UTF-8 bytes.
    byte_fallback: bool = false, trainer_spec;
    /// The .vocab file has a column of scores.
    vocabulary_output_piece_score: bool = true, trainer_spec;
    /// Normalization: nmt_nfkc, nfkc, nmt_nfkc_cf, nfkc_cf or identity.
    normalization_rule_name: String = "nmt_nfkc".to_owned(), elsewhere;
    /// File of normalization rules, used instead of the named ones.
    normalization_rule_tsv: String = String::new(), elsewhere;
    /// File of rules to apply to decoded text.
    denormalization_rule_tsv: String = String::new(), elsewhere;
    /// Put whitespace before the first word, so that it looks like the others.
    add_dummy_prefix: bool = true, elsewhere;
    /// Remove whitespace at both ends and repeated whitespace inside.
    remove_extra_whitespaces: bool = true, elsewhere;
    /// Fail if the corpus does not support vocab_size pieces; if false, make fewer.
    hard_vocab_limit: bool = true, trainer_spec;
    /// For word and char models only.
    use_all_vocab: bool = false, trainer_spec;
    /// Id of the unknown piece; -1 for none (needs byte_fallback).
    unk_id: i32 = 0, trainer_spec;
    /// Id of the begin-of-sentence piece; -1 for none.
    bos_id: i32 = 1, trainer_spec;
    /// Id of the end-of-sentence piece; -1 for none.
    eos_id: i32 = 2, trainer_spec;
    /// Id of the padding piece; -1 for none.
    pad_id: i32 = -1, trainer_spec;
    /// Text of the unknown piece.
    unk_piece: String = "<unk>".to_owned(), trainer_spec;
    /// Text of the begin-of-sentence piece.
    bos_piece: String = "<s>".to_owned(), trainer_spec;
    /// Text of the end-of-sentence piece.
    eos_piece: String = "</s>".to_owned(), trainer_spec;
    /// Text of the padding piece.
    pad_piece: String = "<pad>".to_owned(), trainer_spec;
    /// What the unknown piece decodes to.
    unk_surface: String = " \u{2047} ".to_owned(), trainer_spec;
    /// Most threads to use, 1 to 1024; the result is the same for every number.
    num_threads: i32 = 16, trainer_spec;
    /// For unigram models; recorded only.
    seed_sentencepiece_size: i32 = 1_000_000, trainer_spec;
    /// For unigram models only.
    seed_sentencepieces_file: String = String::new(), trainer_spec;
    /// For unigram models; recorded only.
    shrinking_factor: f32 = 0.75, trainer_spec;
    /// For unigram models; recorded only.
    num_sub_iterations: i32 = 2, trainer_spec;
}

impl TrainOptions {
    /// Whether the model records the option `name`.
    pub(crate) fn is_recorded(&self, name: &str, differs_from_default: bool) -> bool {
        self.recorded == Recorded::All || differs_from_default || self.given.contains(name)
    }

    /// Whether the input is in rows of sentence, tab, count.
    pub(crate) fn is_tsv(&self) -> bool {
        self.input_format == "tsv"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_spm_train_reads_them() {
        let mut options = TrainOptions::default();
        for (name, value) in [
            ("vocab_size", " 123 "),
            ("byte_fallback", ""),
            ("split_digits", "YES"),
            ("hard_vocab_limit", "f"),
            ("user_defined_symbols", "a,\"b,c\""),
            ("model_type", "BPE"),
            ("mining_sentence_size", "anything"),
        ] {
            options.set(name, value).unwrap();
        }
        assert_eq!(options.vocab_size, 123);
        assert!(options.byte_fallback && options.split_digits && !options.hard_vocab_limit);
        assert_eq!(options.user_defined_symbols, ["a", "b,c"]);
        for (name, value) in [
            ("vocab_size", "1e3"),
            ("vocab_size", "2147483648"),
            ("unk_id", ""),
            ("byte_fallback", "2"),
        ] {
            assert!(
                matches!(options.set(name, value), Err(OptionError::Value { .. })),
                "{name}={value}"
            );
        }
        assert!(matches!(
            options.set("vocabsize", "1"),
            Err(OptionError::Unknown { .. })
        ));
    }

    #[test]
    fn every_option_reads_what_it_writes() {
        let defaults = TrainOptions::default();
        for option in TrainOptions::ALL {
            let mut options = TrainOptions::default();
            let text = options.get(option.name).unwrap();
            options.set(option.name, &text).unwrap();
            assert_eq!(
                options.get(option.name),
                defaults.get(option.name),
                "{}",
                option.name
            );
        }
        assert_eq!(
            defaults.get("character_coverage").as_deref(),
            Some("0.9995")
        );
        assert_eq!(defaults.get("no_such_option"), None);
    }

    #[test]
    fn given_options_are_recorded_even_at_their_default() {
        let mut options = TrainOptions::default();
        options.set("vocab_size", "8000").unwrap();
        options.split_digits = true;
        let spec = options.trainer_spec();
        assert_eq!(
            (spec.vocab_size, spec.split_digits, spec.bos_id),
            (Some(8000), Some(true), None)
        );
        options.recorded = Recorded::All;
        assert_eq!(options.trainer_spec().bos_id, Some(1));
    }
}
