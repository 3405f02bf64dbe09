//! All options of training, in one table.
//!
//! Each row of the table (the [`train_options!`] call below) is a flag of `spm_train`: its name,
//! type and default, where a model records it, which field of [`TrainOptions`] it is, its range,
//! and whether counts of words depend on it. From the table follow
//!
//! * [`TrainFlags`]: the flags in `spm_train`'s own notation (-1 for no id, an empty text for no
//!   file), set and read by name, for command lines and bindings;
//! * [`TrainOptions`]: typed options for Rust code, and the conversions between both ([`convert`]);
//! * the check of ranges ([`validate`] has the rules between options);
//! * the record in a model, and reading it back ([`record`]);
//! * the options that [`CountFingerprint`](crate::train::CountFingerprint) compares.
//!
//! A new option is a new row. A typed option that several flags make is a row of the second table
//! and a few lines in [`convert`].
//!
//! Presence is part of the record: a protobuf field that was set to its default is written, a field
//! that was never set is not. [`SpecRecording`] says which fields count as set. For example, the
//! default of `vocab_size` is 8000:
//!
//! | recording | `flags.vocab_size = 8000` | `flags.set("vocab_size", "8000")` | neither |
//! |---|---|---|---|
//! | [`Changed`](SpecRecording::Changed) | not recorded | not recorded | not recorded |
//! | [`Named`](SpecRecording::Named) | not recorded | recorded | not recorded |
//! | [`All`](SpecRecording::All) | recorded | recorded | recorded |
//!
//! A value that differs from its default is always recorded. The flags are what is recorded, since
//! typed options do not say whether no id was -1 or -2.

mod convert;
pub(super) mod csv;
mod error;
pub(super) mod flag_value;
pub(super) mod option_text;
mod record;
mod validate;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU8;
use std::ops::RangeInclusive;

use self::convert::OptionValue;
pub use self::error::OptionError;
pub(crate) use self::error::conflict;
use self::flag_value::{FlagValue, parse_single};
pub use self::record::{RecordGap, TrainingRecord};
use self::validate::check_bounds;
pub use self::values::{
    InputFormat, NormalizationRules, PruningMethod, RuleSet, SeedSize, SentenceSelection,
    SpecialPiece, UnigramOptions,
};
use crate::input::{Document, OnBadRecord};
use crate::model::{ModelType, NormalizerSpec, TrainerSpec};

/// Allowed values of `max_sentencepiece_length`, in characters.
pub(crate) const PIECE_LENGTH: RangeInclusive<u32> = 1..=512;
/// Allowed values of `max_sentence_length`, in bytes.
pub(crate) const SENTENCE_LENGTH: RangeInclusive<u32> = 10..=1 << 30;

/// Which options the specs of a model record, besides those that differ from their defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SpecRecording {
    /// No others. Used by [`Trainer::new`](crate::Trainer::new).
    Changed,
    /// Those that were set by name, as SentencePiece's library calls do. The default of
    /// [`TrainFlags`].
    #[default]
    Named,
    /// All, as the program `spm_train` does.
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
    /// Values separated by commas; a value with a comma or a quote is written in double quotes.
    List,
}

/// Describes one flag: enough to build a command line or a form from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OptionDescriptor {
    /// The name that `spm_train` gives the flag.
    pub name: &'static str,
    /// What the flag does, as a help text.
    pub help: &'static str,
    /// What values the flag takes.
    pub kind: OptionKind,
}

/// Flags of older releases of `spm_train`, which are accepted and ignored.
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

/// Reads one option from the spec where the model records it under its own name.
macro_rules! read_option {
    (trainer_spec, $flags:ident, $spec:ident, $gaps:ident, $name:ident) => {
        match FlagValue::of_record(&$spec.$name) {
            Some(Ok(value)) => {
                $flags.$name = value;
                $flags.named.insert(stringify!($name));
            }
            Some(Err(value)) => $gaps.push(RecordGap::Value {
                name: stringify!($name),
                value,
            }),
            None => {}
        }
    };
    (elsewhere, $flags:ident, $spec:ident, $gaps:ident, $name:ident) => {};
}

/// Parses a flag with the parser of its type, or with the given function.
macro_rules! parse_flag {
    ($text:ident) => {
        FlagValue::parse($text)
    };
    ($text:ident, $parse:path) => {
        $parse($text)
    };
}

/// Whether counts of words depend on the value of an option itself (`words`). `by_rule`: a part of
/// the fingerprint is computed from it; see [`CountFingerprint`](crate::train::CountFingerprint).
macro_rules! words_depend {
    (words) => {
        true
    };
    (by_rule) => {
        false
    };
    (model) => {
        false
    };
}

/// The default of an option, as the type of the typed option.
macro_rules! with_type {
    ($type:ty, $default:expr) => {{
        let value: $type = $default;
        value
    }};
}

/// Generates [`TrainFlags`], [`TrainOptions`], and everything that has one entry for each flag.
macro_rules! train_options {
    (
        flags {
            $($name:ident: $type:ty = $default:expr, $target:ident, $affects:ident
                $(, parse $parse:path)? $(, as $typed:ty)? $(, to $field:ident.$part:ident)? $(, in $range:expr)?,
                $help:literal;)*
        }
        options {
            $($(#[doc = $doc:literal])+ $option:ident: $option_type:ty = $option_default:expr;)*
        }
    ) => {
        /// The flags of `spm_train`, with its names, meanings and defaults, except that
        /// `model_type` is BPE.
        ///
        /// For programs and bindings that take options by name. Rust code that knows its options
        /// uses [`TrainOptions`](crate::TrainOptions). The fields hold `spm_train`'s own notation:
        /// -1 for no id, an empty string for no file.
        ///
        /// ```
        /// let mut flags = spiece::TrainFlags::default();
        /// flags.set("vocab_size", "40")?;
        /// flags.set("hard_vocab_limit", "false")?;
        /// flags.set("normalization_rule_name", "identity")?;
        /// let model = flags.trainer()?.train(spiece::Corpus::texts(["pen", "pineapple"]))?;
        /// // Options that were set by name are recorded in the model even if the value is the default.
        /// assert_eq!(flags.get("vocab_size").as_deref(), Some("40"));
        /// # Ok::<(), spiece::TrainError>(())
        /// ```
        #[derive(Debug, Clone)]
        #[non_exhaustive]
        pub struct TrainFlags {
            $(#[doc = $help] pub $name: $type,)*
            /// Which options the model records.
            pub recording: SpecRecording,
            /// Used and recorded in place of the normalizer flags `normalization_rule_name`,
            /// `normalization_rule_tsv`, `add_dummy_prefix` and `remove_extra_whitespaces`. It has
            /// no flag.
            pub normalizer: Option<NormalizerSpec>,
            /// Used in place of the flag `denormalization_rule_tsv`: its rules and their name. It has
            /// no flag.
            pub denormalizer: Option<NormalizerSpec>,
            /// As [`TrainOptions::symbol_ids`](crate::TrainOptions::symbol_ids). It has no flag, and
            /// no model records it.
            pub symbol_ids: BTreeMap<String, u32>,
            /// The flags that were set by name.
            named: BTreeSet<&'static str>,
            /// Whether the model type is recorded only if it was set by name; see
            /// [`TrainFlags::for_schema`].
            omits_model_type: bool,
        }

        impl Default for TrainFlags {
            fn default() -> TrainFlags {
                TrainFlags {
                    $($name: $default,)*
                    recording: SpecRecording::default(),
                    normalizer: None,
                    denormalizer: None,
                    symbol_ids: BTreeMap::new(),
                    named: BTreeSet::new(),
                    omits_model_type: false,
                }
            }
        }

        impl TrainFlags {
            /// Every flag, in the order of the fields.
            pub const DESCRIPTORS: &'static [OptionDescriptor] = &[$(OptionDescriptor {
                name: stringify!($name),
                help: $help,
                kind: <$type as FlagValue>::KIND,
            }),*];

            /// Sets a flag by the name and in the notation of `spm_train`, and marks it as set by
            /// name (see [`SpecRecording::Named`]). A [retired](RETIRED_OPTIONS) flag is accepted
            /// and ignored. A flag of rules or of whitespace takes the place of what
            /// [`normalizer`](Self::normalizer) and [`denormalizer`](Self::denormalizer) say about it.
            ///
            /// # Errors
            /// [`OptionError::Unknown`] for an unknown name, [`OptionError::Value`] for text that
            /// cannot be read as a value of the flag. Ranges are checked by
            /// [`TrainFlags::options`].
            pub fn set(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
                match name {
                    $(stringify!($name) => {
                        self.$name = parse_flag!(value $(, $parse)?).ok_or_else(|| OptionError::Value {
                            option: stringify!($name),
                            value: value.to_owned(),
                            expected: <$type as FlagValue>::EXPECTED,
                        })?;
                        self.named.insert(stringify!($name));
                        self.override_specs(name);
                        Ok(())
                    })*
                    _ if RETIRED_OPTIONS.contains(&name) => Ok(()),
                    _ => Err(OptionError::Unknown { option: name.to_owned() }),
                }
            }

            /// The typed options that these flags stand for.
            ///
            /// # Errors
            /// A value that the option cannot have.
            pub fn options(&self) -> Result<TrainOptions, OptionError> {
                self.check_ranges()?;
                let mut options = TrainOptions::default();
                $($(options.$name = <$typed>::from_flag(stringify!($name), &self.$name)?;)?)*
                $($(options.$field.$part = OptionValue::from_flag(stringify!($name), &self.$name)?;)?)*
                self.set_combined_options(&mut options)?;
                Ok(options)
            }

            /// The flags that express `options`. Rules in memory have no flag.
            ///
            /// # Errors
            /// A number of 2^31 or more: the specs of a model hold 32-bit signed numbers.
            pub(crate) fn of_options(options: &TrainOptions) -> Result<TrainFlags, OptionError> {
                let mut flags = TrainFlags::default();
                flags.recording = SpecRecording::Changed;
                $($(flags.$name = <$typed as OptionValue<$type>>::to_flag(&options.$name, stringify!($name))?;)?)*
                $($(flags.$name = options.$field.$part.to_flag(stringify!($name))?;)?)*
                flags.set_combined_flags(options);
                Ok(flags)
            }

            /// Refuses values out of range, and NaN.
            fn check_ranges(&self) -> Result<(), OptionError> {
                $($(check_bounds(stringify!($name), self.$name, &$range)?;)?)*
                Ok(())
            }

            /// The value of a flag, in the notation of [`TrainFlags::set`]; `None` for an unknown
            /// name.
            pub fn get(&self, name: &str) -> Option<String> {
                match name {
                    $(stringify!($name) => Some(self.$name.text()),)*
                    _ => None,
                }
            }

            /// The `trainer_spec` that records these flags.
            pub(crate) fn trainer_spec(&self) -> TrainerSpec {
                let defaults = TrainFlags::default();
                let mut spec = TrainerSpec::default();
                $(record_option!($target, spec, $name, {
                    self.$name.record(self.is_recorded(stringify!($name), self.$name != defaults.$name))
                });)*
                let is_program = self.recording == SpecRecording::All;
                if self.omits_model_type && !is_program && !self.named.contains("model_type") {
                    spec.model_type = None;
                }
                spec
            }

            /// Sets the flags that a `trainer_spec` has, and marks them as set by name.
            fn read_trainer_spec(&mut self, spec: &TrainerSpec, gaps: &mut Vec<RecordGap>) {
                $(read_option!($target, self, spec, gaps, $name);)*
            }

            /// Makes a flag what it is if it is not set.
            pub(crate) fn forget(&mut self, name: &str) {
                let defaults = TrainFlags::default();
                match name {
                    $(stringify!($name) => self.$name = defaults.$name,)*
                    _ => {}
                }
                self.named.remove(name);
            }

            /// Whether `trainer_spec` has a field for the flag `name`.
            fn is_recorded_in_trainer_spec(name: &str) -> bool {
                let targets = [$((stringify!($name), stringify!($target))),*];
                targets.contains(&(name, "trainer_spec"))
            }
        }

        /// What to train and how. The defaults are those of SentencePiece, except that the model
        /// type is BPE.
        ///
        /// ```
        /// use spiece::train::{NormalizationRules, RuleSet, SpecialPiece};
        /// use spiece::TrainOptions;
        ///
        /// let mut options = TrainOptions::default();
        /// options.vocab_size = 32_000;
        /// options.byte_fallback = true;
        /// options.normalization = NormalizationRules::BuiltIn(RuleSet::Identity);
        /// options.pad = SpecialPiece::new("<pad>", Some(3));
        /// options.validate()?;
        /// # Ok::<(), spiece::train::OptionError>(())
        /// ```
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub struct TrainOptions {
            $($(#[doc = $help] pub $name: $typed,)?)*
            $($(#[doc = $doc])+ pub $option: $option_type,)*
        }

        impl Default for TrainOptions {
            fn default() -> TrainOptions {
                TrainOptions {
                    $($($name: with_type!($typed, $default),)?)*
                    $($option: $option_default,)*
                }
            }
        }

        impl TrainOptions {
            /// Sets options by the names and in the notation of [`TrainFlags::set`]. All other
            /// options keep their values.
            ///
            /// ```
            /// let mut options = spiece::TrainOptions::default();
            /// options.set_flags([("input_sentence_size", "200"), ("shuffle_input_sentence", "false")])?;
            /// assert_eq!(options.sentences, spiece::train::SentenceSelection::First(200));
            /// # Ok::<(), spiece::train::OptionError>(())
            /// ```
            ///
            /// # Errors
            /// As [`TrainFlags::set`] and [`TrainFlags::options`].
            pub fn set_flags<'f>(
                &mut self,
                flags: impl IntoIterator<Item = (&'f str, &'f str)>,
            ) -> Result<(), OptionError> {
                let mut all = TrainFlags::of_options(self)?;
                let mut names = Vec::new();
                for (name, value) in flags {
                    all.set(name, value)?;
                    names.push(name);
                }
                let from = all.options()?;
                for name in names {
                    match name {
                        $($(stringify!($name) => self.$name = <$typed>::clone(&from.$name),)?)*
                        $($(stringify!($name) => self.$field.$part = from.$field.$part.clone(),)?)*
                        _ => self.take_combined_option(name, &from),
                    }
                }
                Ok(())
            }

            /// The names and values of the options of which counts of words depend on the value.
            pub(super) fn that_words_depend_on(&self) -> Vec<(&'static str, String)> {
                let mut values = Vec::new();
                $($(if words_depend!($affects) {
                    values.push((stringify!($name), <$typed as FlagValue>::text(&self.$name)));
                })?)*
                values
            }
        }
    };
}

train_options! {
    flags {
        input: Vec<String> = Vec::new(), trainer_spec, model,
            "Files to train on; `-` is standard input; gzip and Zstandard are decompressed.";
        input_format: String = String::new(), trainer_spec, model,
            "Format of the input: text (one sentence a line) or tsv (sentence, tab, count).";
        json_field: String = String::new(), elsewhere, model,
            "The files are JSON Lines: each line is an object, and its field of this name is a text; meta.body is the field body of the object meta.";
        document: Document = Document::Line, elsewhere, words, as Document,
            "What a sentence of files and readers is: line (of a file, or with json_field of a record's text), record (the whole text of a record, with its line feeds) or file.";
        on_bad_record: OnBadRecord = OnBadRecord::Error, elsewhere, model,
            "What to do about a record that has no text: error or skip.";
        model_prefix: String = String::new(), trainer_spec, model,
            "Prefix of the output files: PREFIX.model and PREFIX.vocab.";
        model_type: ModelType = ModelType::Bpe, trainer_spec, by_rule, as ModelType,
            "Algorithm of the model: bpe, unigram, word or char.";
        vocab_size: i32 = 8000, trainer_spec, model, as u32, in 1..=i32::MAX.unsigned_abs(),
            "Number of pieces, all kinds together.";
        character_coverage: f32 = 0.9995, trainer_spec, model, as f32, in 0.98..=1.0,
            "Share of the corpus's characters that get a piece of their own, 0.98 to 1.";
        auto_character_coverage: bool = false, trainer_spec, model, as bool,
            "No character has to be a piece; needs byte_fallback. BPE: a search decides. Unigram: needs use_sparse_pruning.";
        input_sentence_size: u64 = 0, trainer_spec, by_rule,
            "Train on at most this many sentences; 0 is all.";
        shuffle_input_sentence: bool = true, trainer_spec, by_rule,
            "With input_sentence_size: use a random sample of the corpus instead of its beginning.";
        random_seed: u32 = u32::MAX, elsewhere, by_rule,
            "Seed of the sample of shuffle_input_sentence.";
        max_sentence_length: i32 = 4192, trainer_spec, words, as u32, in SENTENCE_LENGTH,
            "Skip sentences of more bytes than this, 10 to 1073741824.";
        max_sentencepiece_length: i32 = 16, trainer_spec, by_rule, as u32, in PIECE_LENGTH,
            "Longest piece in characters, 1 to 512.";
        split_by_unicode_script: bool = true, trainer_spec, words, as bool,
            "No piece has characters of two scripts.";
        split_by_number: bool = true, trainer_spec, words, as bool,
            "Digits are a script of their own for split_by_unicode_script.";
        split_by_whitespace: bool = true, trainer_spec, words, as bool,
            "No piece has whitespace inside.";
        split_digits: bool = false, trainer_spec, words, as bool,
            "Each digit is a piece of its own.";
        pretokenization_delimiter: String = String::new(), trainer_spec, words, as String,
            "No piece crosses this string.";
        treat_whitespace_as_suffix: bool = false, trainer_spec, words, as bool,
            "Whitespace ends a piece instead of beginning it.";
        allow_whitespace_only_pieces: bool = false, trainer_spec, words, as bool,
            "Runs of whitespace may become pieces.";
        control_symbols: Vec<String> = Vec::new(), trainer_spec, by_rule, as Vec<String>,
            "Pieces that text never yields, such as `<sep>`.";
        user_defined_symbols: Vec<String> = Vec::new(), trainer_spec, by_rule, as Vec<String>,
            "Pieces that are always matched whole.";
        required_chars: String = String::new(), trainer_spec, model, as String,
            "Characters that get a piece whatever the coverage.";
        byte_fallback: bool = false, trainer_spec, words, as bool,
            "Unknown characters become pieces for their UTF-8 bytes.";
        vocabulary_output_piece_score: bool = true, trainer_spec, model,
            "The .vocab file has a column of scores.";
        normalization_rule_name: String = "nmt_nfkc".to_owned(), elsewhere, by_rule,
            "Normalization: nmt_nfkc, nfkc, nmt_nfkc_cf, nfkc_cf or identity.";
        normalization_rule_tsv: String = String::new(), elsewhere, by_rule,
            "File of normalization rules, used instead of the named ones.";
        denormalization_rule_tsv: String = String::new(), elsewhere, model,
            "File of rules to apply to decoded text.";
        add_dummy_prefix: bool = true, elsewhere, words, as bool,
            "Put whitespace before the first word, so that it looks like the others.";
        remove_extra_whitespaces: bool = true, elsewhere, words, as bool,
            "Remove whitespace at both ends and repeated whitespace inside.";
        hard_vocab_limit: bool = true, trainer_spec, model, as bool,
            "Fail if the corpus does not support vocab_size pieces; if false, make fewer.";
        use_all_vocab: bool = false, trainer_spec, model, as bool,
            "Word and char models: every word or character becomes a piece, whatever vocab_size.";
        unk_id: i32 = 0, trainer_spec, by_rule, to unk.id,
            "Id of the unknown piece; -1 for none (needs byte_fallback).";
        bos_id: i32 = 1, trainer_spec, by_rule, to bos.id,
            "Id of the begin-of-sentence piece; -1 for none.";
        eos_id: i32 = 2, trainer_spec, by_rule, to eos.id,
            "Id of the end-of-sentence piece; -1 for none.";
        pad_id: i32 = -1, trainer_spec, by_rule, to pad.id,
            "Id of the padding piece; -1 for none.";
        unk_piece: String = "<unk>".to_owned(), trainer_spec, by_rule, to unk.text,
            "Text of the unknown piece.";
        bos_piece: String = "<s>".to_owned(), trainer_spec, by_rule, to bos.text,
            "Text of the begin-of-sentence piece.";
        eos_piece: String = "</s>".to_owned(), trainer_spec, by_rule, to eos.text,
            "Text of the end-of-sentence piece.";
        pad_piece: String = "<pad>".to_owned(), trainer_spec, by_rule, to pad.text,
            "Text of the padding piece.";
        unk_surface: String = " \u{2047} ".to_owned(), trainer_spec, model, as String,
            "What the unknown piece decodes to.";
        num_threads: i32 = 16, trainer_spec, model, as u32, in 1..=1024,
            "Maximum number of threads, 1 to 1024. For unigram models instead the number of partial sums, which changes scores.";
        seed_sentencepiece_size: i32 = 1_000_000, trainer_spec, model, to unigram.seed_size,
            "Unigram models: candidates to start with; 0 is 8 * vocab_size or 100000, a negative number all.";
        seed_sentencepieces_file: String = String::new(), trainer_spec, model, to unigram.seed_file,
            "Unigram models: file of candidates (piece, tab, count), used instead of those of the corpus.";
        shrinking_factor: f32 = 0.75, trainer_spec, model, to unigram.shrinking_factor, in 0.5..=0.95,
            "Unigram models: share of the pieces that a pruning step keeps, 0.5 to 0.95.";
        num_sub_iterations: i32 = 2, trainer_spec, model, to unigram.num_sub_iterations, in 1..=10,
            "Unigram models: iterations of estimation before each pruning step, 1 to 10.";
        seed_piece_length_power: f32 = 1.0, elsewhere, model, parse parse_single, to unigram.seed_length_power,
            "Unigram models: score candidates by their count times this power of their length; 0 ignores the length.";
        min_freq_alpha: f32 = 0.0, elsewhere, model, parse parse_single, to unigram.min_count_alpha,
            "Unigram models: candidates of more than three bytes occur this many times bytes / (V ln V), V being vocab_size; 0 is twice.";
        use_sparse_pruning: bool = false, elsewhere, model,
            "Unigram models: drop candidates by a threshold on their expected counts, not by the loss of likelihood.";
        post_l1_debias: bool = true, elsewhere, model,
            "With use_sparse_pruning: estimate the scores once more without the threshold.";
    }
    options {
        /// Form of the input lines of files and readers.
        input_format: InputFormat = InputFormat::Text;
        /// Which sentences to train on.
        sentences: SentenceSelection = SentenceSelection::All;
        /// Seed of [`SentenceSelection::Sample`]; `None` is a fixed seed. Samples are repeatable in
        /// both cases.
        random_seed: Option<u64> = None;
        /// Rules that text is normalized with.
        normalization: NormalizationRules = NormalizationRules::default();
        /// Rules that decoded text is denormalized with.
        denormalization: Option<NormalizationRules> = None;
        /// The unknown piece. Without an id, `byte_fallback` is needed.
        unk: SpecialPiece = SpecialPiece::new("<unk>", Some(0));
        /// The begin-of-sentence piece.
        bos: SpecialPiece = SpecialPiece::new("<s>", Some(1));
        /// The end-of-sentence piece.
        eos: SpecialPiece = SpecialPiece::new("</s>", Some(2));
        /// The padding piece.
        pad: SpecialPiece = SpecialPiece::new("<pad>", None);
        /// Ids of control symbols, user-defined symbols and byte pieces, by their texts; the others
        /// take the lowest ids that are free. A text that is none of these pieces has no effect.
        symbol_ids: BTreeMap<String, u32> = BTreeMap::new();
        /// Longest piece in words, for pieces of several words (`split_by_whitespace=false`);
        /// `None` is no limit. With a limit, no piece has a space after a colon. For
        /// [`Model::extend`](crate::Model::extend) only.
        max_words: Option<NonZeroU8> = None;
        /// Options that only unigram models have.
        unigram: UnigramOptions = UnigramOptions::default();
    }
}

impl TrainFlags {
    /// Flags with the defaults of the reference's bindings: the model type is unigram, the default
    /// of the protobuf schema, and is recorded only if it is set by name, or all flags are.
    ///
    /// ```
    /// use spiece::{ModelType, TrainFlags};
    /// let flags = TrainFlags::for_schema();
    /// assert_eq!(flags.model_type, ModelType::Unigram);
    /// ```
    pub fn for_schema() -> Self {
        Self {
            model_type: ModelType::Unigram,
            omits_model_type: true,
            ..Self::default()
        }
    }

    /// Takes out of the specs what the flag `name`, which was set, says otherwise.
    fn override_specs(&mut self, name: &str) {
        match name {
            "normalization_rule_name" | "normalization_rule_tsv" => {
                let Some(spec) = self.normalizer.take() else {
                    return;
                };
                // The treatment of whitespace stays.
                if let Some(value) = spec.add_dummy_prefix {
                    self.add_dummy_prefix = value;
                    self.named.insert("add_dummy_prefix");
                }
                if let Some(value) = spec.remove_extra_whitespaces {
                    self.remove_extra_whitespaces = value;
                    self.named.insert("remove_extra_whitespaces");
                }
            }
            "denormalization_rule_tsv" => self.denormalizer = None,
            "add_dummy_prefix" => {
                if let Some(spec) = &mut self.normalizer {
                    spec.add_dummy_prefix = Some(self.add_dummy_prefix);
                }
            }
            "remove_extra_whitespaces" => {
                if let Some(spec) = &mut self.normalizer {
                    spec.remove_extra_whitespaces = Some(self.remove_extra_whitespaces);
                }
            }
            _ => {}
        }
    }

    /// Whether the model records the flag `name`.
    pub(crate) fn is_recorded(&self, name: &str, differs_from_default: bool) -> bool {
        let by_policy = match self.recording {
            SpecRecording::Changed => false,
            SpecRecording::Named => self.named.contains(name),
            SpecRecording::All => true,
        };
        by_policy || differs_from_default
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_spm_train_reads_them() {
        let mut flags = TrainFlags::default();
        for (name, value) in [
            ("vocab_size", " 123 "),
            ("byte_fallback", ""),
            ("split_digits", "YES"),
            ("hard_vocab_limit", "f"),
            ("user_defined_symbols", "a,\"b,c\""),
            ("model_type", "BPE"),
            ("mining_sentence_size", "anything"),
            // Above the middle of 1 and the next float, but not as a double.
            ("seed_piece_length_power", "1.00000005960464477540"),
            ("shrinking_factor", "1.00000005960464477540"),
        ] {
            flags.set(name, value).unwrap();
        }
        assert_eq!(flags.vocab_size, 123);
        assert_eq!(flags.seed_piece_length_power, 1.0 + f32::EPSILON);
        assert_eq!(flags.shrinking_factor, 1.0);
        assert!(flags.byte_fallback && flags.split_digits && !flags.hard_vocab_limit);
        assert_eq!(flags.user_defined_symbols, ["a", "b,c"]);
        for (name, value) in [
            ("vocab_size", "1e3"),
            ("vocab_size", "2147483648"),
            ("unk_id", ""),
            ("byte_fallback", "2"),
        ] {
            assert!(
                matches!(flags.set(name, value), Err(OptionError::Value { .. })),
                "{name}={value}"
            );
        }
        assert!(matches!(
            flags.set("vocabsize", "1"),
            Err(OptionError::Unknown { .. })
        ));
    }

    #[test]
    fn every_option_reads_what_it_writes() {
        let defaults = TrainFlags::default();
        for option in TrainFlags::DESCRIPTORS {
            let mut flags = TrainFlags::default();
            let text = flags.get(option.name).unwrap();
            flags.set(option.name, &text).unwrap();
            assert_eq!(
                flags.get(option.name),
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
    fn given_flags_are_recorded_even_at_their_default() {
        let mut flags = TrainFlags::default();
        flags.set("vocab_size", "8000").unwrap();
        flags.split_digits = true;
        let spec = flags.trainer_spec();
        assert_eq!(
            (spec.vocab_size, spec.split_digits, spec.bos_id),
            (Some(8000), Some(true), None)
        );
        flags.recording = SpecRecording::All;
        assert_eq!(flags.trainer_spec().bos_id, Some(1));
    }
}
