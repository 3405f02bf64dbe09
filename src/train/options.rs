//! The options of a training run: the flags of `spm_train`, each written down once.
//!
//! One table (the [`train_options!`] call below) makes the struct, its defaults, its documentation, the
//! list that the command line is built from, setting by name, and the record in the model's
//! `trainer_spec`. Presence is part of that record: a protobuf field that was set to its default is
//! written, a field that was never set is not. The program `spm_train` sets every field; the calls of
//! its bindings set those that the caller names. [`Recorded`] chooses between the two.
//!
//! [`TrainOptions::validate`] refuses what the reference refuses, before any input is read.

use std::collections::BTreeSet;

use crate::error::OptionError;
use crate::model::proto;
use crate::train::csv::split_csv;

/// The algorithm behind a model. spiece trains [`ModelType::Bpe`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModelType {
    /// A unigram language model.
    Unigram,
    /// Byte-pair encoding over code points.
    Bpe,
    /// Whole words between whitespace.
    Word,
    /// Single characters.
    Char,
}

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

/// A type that an option can have: how it is read from text and how the model records it.
trait OptionValue: Sized {
    const KIND: OptionKind;
    const EXPECTED: &'static str;
    type Record;
    fn parse(text: &str) -> Option<Self>;
    fn record(&self, present: bool) -> Self::Record;
}

impl OptionValue for bool {
    const KIND: OptionKind = OptionKind::Flag;
    const EXPECTED: &'static str = "true or false";
    type Record = Option<bool>;

    fn parse(text: &str) -> Option<bool> {
        match text.to_ascii_lowercase().as_str() {
            "" | "true" | "t" | "yes" | "y" | "1" => Some(true),
            "false" | "f" | "no" | "n" | "0" => Some(false),
            _ => None,
        }
    }

    fn record(&self, present: bool) -> Option<bool> {
        present.then_some(*self)
    }
}

/// Implements [`OptionValue`] for an integer type of the schema.
macro_rules! integer_option {
    ($type:ty, $expected:literal) => {
        impl OptionValue for $type {
            const KIND: OptionKind = OptionKind::Value;
            const EXPECTED: &'static str = $expected;
            type Record = Option<$type>;

            fn parse(text: &str) -> Option<$type> {
                text.trim_ascii().parse().ok()
            }

            fn record(&self, present: bool) -> Option<$type> {
                present.then_some(*self)
            }
        }
    };
}
integer_option!(i32, "a whole number of at most 31 bits");
integer_option!(u32, "a whole number from 0 to 4294967295");
integer_option!(u64, "a whole number, 0 or more");

impl OptionValue for f32 {
    const KIND: OptionKind = OptionKind::Value;
    const EXPECTED: &'static str = "a number";
    type Record = Option<f32>;

    /// Reads a double and narrows it, as the reference does: the two roundings show in the model.
    #[allow(clippy::cast_possible_truncation)]
    fn parse(text: &str) -> Option<f32> {
        text.trim_ascii().parse::<f64>().ok().map(|value| value as f32)
    }

    fn record(&self, present: bool) -> Option<f32> {
        present.then_some(*self)
    }
}

impl OptionValue for String {
    const KIND: OptionKind = OptionKind::Value;
    const EXPECTED: &'static str = "text";
    type Record = Option<Vec<u8>>;

    fn parse(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    fn record(&self, present: bool) -> Option<Vec<u8>> {
        present.then(|| self.clone().into_bytes())
    }
}

impl OptionValue for Vec<String> {
    const KIND: OptionKind = OptionKind::List;
    const EXPECTED: &'static str = "a comma separated list";
    type Record = Vec<Vec<u8>>;

    fn parse(text: &str) -> Option<Vec<String>> {
        Some(split_csv(text))
    }

    fn record(&self, _present: bool) -> Vec<Vec<u8>> {
        self.iter().map(|value| value.clone().into_bytes()).collect()
    }
}

impl OptionValue for ModelType {
    const KIND: OptionKind = OptionKind::Value;
    const EXPECTED: &'static str = "bpe (spiece trains no other), unigram, word or char";
    type Record = Option<i32>;

    fn parse(text: &str) -> Option<ModelType> {
        match text.to_ascii_lowercase().as_str() {
            "unigram" => Some(ModelType::Unigram),
            "bpe" => Some(ModelType::Bpe),
            "word" => Some(ModelType::Word),
            "char" => Some(ModelType::Char),
            _ => None,
        }
    }

    fn record(&self, _present: bool) -> Option<i32> {
        Some(match self {
            ModelType::Unigram => proto::trainer_spec::ModelType::Unigram,
            ModelType::Bpe => proto::trainer_spec::ModelType::Bpe,
            ModelType::Word => proto::trainer_spec::ModelType::Word,
            ModelType::Char => proto::trainer_spec::ModelType::Char,
        } as i32)
    }
}

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
                help: concat!($($doc),+),
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

            /// The model's record of these options.
            pub(crate) fn trainer_spec(&self) -> proto::TrainerSpec {
                let defaults = TrainOptions::default();
                let mut spec = proto::TrainerSpec::default();
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
    /// Pieces that text never yields, such as <sep>.
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

    /// Refuses what can be refused without looking at the input: values out of range and options
    /// that exclude each other.
    ///
    /// # Errors
    /// The first option at fault, what is wrong with it and what to do.
    pub fn validate(&self) -> Result<(), OptionError> {
        self.validate_ranges()?;
        self.validate_model_type()?;
        self.validate_texts()?;
        self.validate_coverage()
    }

    fn validate_ranges(&self) -> Result<(), OptionError> {
        let integers = [
            ("vocab_size", self.vocab_size, 1, i32::MAX),
            ("max_sentencepiece_length", self.max_sentencepiece_length, 1, 512),
            ("num_sub_iterations", self.num_sub_iterations, 1, 10),
            ("num_threads", self.num_threads, 1, 1024),
            ("max_sentence_length", self.max_sentence_length, 10, 1 << 30),
        ];
        for (option, value, low, high) in integers {
            check_range(option, f64::from(value), f64::from(low), f64::from(high))?;
        }
        // The bounds are doubles and the values single floats: 0.98f32 is a little more than 0.98.
        check_range("character_coverage", f64::from(self.character_coverage), 0.98, 1.0)?;
        check_range("shrinking_factor", f64::from(self.shrinking_factor), 0.5, 0.95)?;
        if (1..=100).contains(&self.input_sentence_size) {
            return Err(OptionError::Conflict {
                option: "input_sentence_size",
                problem: format!("{} sentences are too few to train on", self.input_sentence_size),
                remedy: "use 0 for all sentences, or more than 100",
            });
        }
        Ok(())
    }

    fn validate_model_type(&self) -> Result<(), OptionError> {
        let conflict =
            |option, problem: &str, remedy| Err(OptionError::Conflict { option, problem: problem.to_owned(), remedy });
        if self.model_type != ModelType::Bpe {
            return Err(OptionError::Conflict {
                option: "model_type",
                problem: format!("spiece trains bpe models, not {:?} models", self.model_type).to_lowercase(),
                remedy: "use bpe, or train this model with spm_train (spiece runs what it makes)",
            });
        }
        if self.use_all_vocab {
            return conflict("use_all_vocab", "it is for word and char models", "leave it out");
        }
        if !self.seed_sentencepieces_file.is_empty() {
            return conflict("seed_sentencepieces_file", "it is for unigram models", "leave it out");
        }
        Ok(())
    }

    fn validate_texts(&self) -> Result<(), OptionError> {
        let pieces = [
            ("unk_piece", &self.unk_piece),
            ("bos_piece", &self.bos_piece),
            ("eos_piece", &self.eos_piece),
            ("pad_piece", &self.pad_piece),
        ];
        for (option, piece) in pieces {
            if piece.is_empty() {
                return Err(OptionError::Conflict {
                    option,
                    problem: "it is empty".to_owned(),
                    remedy: "give it a text; to do without the piece set its id to -1",
                });
            }
        }
        if !["", "text", "tsv"].contains(&self.input_format.as_str()) {
            return Err(OptionError::Value {
                option: "input_format",
                value: self.input_format.clone(),
                expected: "text or tsv",
            });
        }
        Ok(())
    }

    fn validate_coverage(&self) -> Result<(), OptionError> {
        let conflict = |problem: &str, remedy| {
            Err(OptionError::Conflict { option: "auto_character_coverage", problem: problem.to_owned(), remedy })
        };
        if self.auto_character_coverage && !self.byte_fallback {
            return conflict("it needs byte_fallback", "add byte_fallback");
        }
        if self.auto_character_coverage && !self.required_chars.is_empty() {
            return conflict("it chooses the characters itself", "leave required_chars out");
        }
        Ok(())
    }
}

/// Refuses a value outside `low..=high`, and NaN.
fn check_range(option: &'static str, value: f64, low: f64, high: f64) -> Result<(), OptionError> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(OptionError::Range { option, value, low, high })
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
        for (name, value) in
            [("vocab_size", "1e3"), ("vocab_size", "2147483648"), ("unk_id", ""), ("byte_fallback", "2")]
        {
            assert!(matches!(options.set(name, value), Err(OptionError::Value { .. })), "{name}={value}");
        }
        assert!(matches!(options.set("vocabsize", "1"), Err(OptionError::Unknown { .. })));
    }

    #[test]
    fn given_options_are_recorded_even_at_their_default() {
        let mut options = TrainOptions::default();
        options.set("vocab_size", "8000").unwrap();
        options.split_digits = true;
        let spec = options.trainer_spec();
        assert_eq!((spec.vocab_size, spec.split_digits, spec.bos_id), (Some(8000), Some(true), None));
        options.recorded = Recorded::All;
        assert_eq!(options.trainer_spec().bos_id, Some(1));
    }

    #[test]
    fn refusals() {
        let cases: &[(&str, &[(&str, &str)])] = &[
            ("vocab_size", &[("vocab_size", "0")]),
            ("character_coverage", &[("character_coverage", "0.5")]),
            ("character_coverage", &[("character_coverage", "nan")]),
            ("max_sentencepiece_length", &[("max_sentencepiece_length", "513")]),
            ("num_threads", &[("num_threads", "0")]),
            ("max_sentence_length", &[("max_sentence_length", "9")]),
            ("input_sentence_size", &[("input_sentence_size", "100")]),
            ("model_type", &[("model_type", "unigram")]),
            ("use_all_vocab", &[("use_all_vocab", "true")]),
            ("bos_piece", &[("bos_piece", "")]),
            ("input_format", &[("input_format", "csv")]),
            ("auto_character_coverage", &[("auto_character_coverage", "true")]),
            (
                "auto_character_coverage",
                &[("auto_character_coverage", "1"), ("byte_fallback", "1"), ("required_chars", "a")],
            ),
        ];
        for (culprit, settings) in cases {
            let mut options = TrainOptions::default();
            for (name, value) in *settings {
                options.set(name, value).unwrap();
            }
            let message = options.validate().unwrap_err().to_string();
            assert!(message.contains(culprit), "{settings:?}: {message}");
        }
        for coverage in ["0.98", "1.0", "1"] {
            let mut options = TrainOptions::default();
            options.set("character_coverage", coverage).unwrap();
            assert!(options.validate().is_ok());
        }
    }
}
