//! The flags of `spm_train` by name, and their record in a model.
//!
//! In: names and values as text, as a command line or a binding passes them. Out: typed
//! [`TrainOptions`](crate::TrainOptions), and the fields of `trainer_spec` and `normalizer_spec`
//! that the model records.
//!
//! One table (the [`train_flags!`] call below) generates the struct, its defaults, its
//! documentation, the list that command lines are built from, setting and reading by name, and the
//! record. Presence is part of the record: a protobuf field that was set to its default is written,
//! a field that was never set is not. [`SpecRecording`] says which fields count as set. For
//! example, the default of `vocab_size` is 8000:
//!
//! | recording | `flags.vocab_size = 8000` | `flags.set("vocab_size", "8000")` | neither |
//! |---|---|---|---|
//! | [`Changed`](SpecRecording::Changed) | not recorded | not recorded | not recorded |
//! | [`Named`](SpecRecording::Named) | not recorded | recorded | not recorded |
//! | [`All`](SpecRecording::All) | recorded | recorded | recorded |
//!
//! A value that differs from its default is always recorded.

mod convert;
mod csv;
mod record;
mod value;

use std::collections::BTreeSet;

pub use self::record::{RecordGap, TrainingRecord};
use self::value::{FlagValue, parse_single};
use crate::error::OptionError;
use crate::model::{ModelType, NormalizerSpec, TrainerSpec};

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

/// Generates [`TrainFlags`] and everything that has one entry for each flag.
macro_rules! train_flags {
    ($($(#[doc = $doc:literal])+ $name:ident: $type:ty = $default:expr, $target:ident $(, $parse:path)?;)*) => {
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
            $($(#[doc = $doc])+ pub $name: $type,)*
            /// Which options the model records.
            pub recording: SpecRecording,
            /// Used and recorded in place of the normalizer flags `normalization_rule_name`,
            /// `normalization_rule_tsv`, `add_dummy_prefix` and `remove_extra_whitespaces`. It has
            /// no flag.
            pub normalizer: Option<NormalizerSpec>,
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
                    named: BTreeSet::new(),
                    omits_model_type: false,
                }
            }
        }

        impl TrainFlags {
            /// Every flag, in the order of the fields.
            pub const DESCRIPTORS: &'static [OptionDescriptor] = &[$(OptionDescriptor {
                name: stringify!($name),
                help: concat!($($doc),+).trim_ascii(),
                kind: <$type as FlagValue>::KIND,
            }),*];

            /// Sets a flag by the name and in the notation of `spm_train`, and marks it as set by
            /// name (see [`SpecRecording::Named`]). A [retired](RETIRED_OPTIONS) flag is accepted
            /// and ignored.
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
                        Ok(())
                    })*
                    _ if RETIRED_OPTIONS.contains(&name) => Ok(()),
                    _ => Err(OptionError::Unknown { option: name.to_owned() }),
                }
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
                if self.omits_model_type && !self.named.contains("model_type") {
                    spec.model_type = None;
                }
                spec
            }

            /// Sets the flags that a `trainer_spec` has, and marks them as set by name.
            fn read_trainer_spec(&mut self, spec: &TrainerSpec, gaps: &mut Vec<RecordGap>) {
                $(read_option!($target, self, spec, gaps, $name);)*
            }

            /// Whether `trainer_spec` has a field for the flag `name`.
            fn is_recorded_in_trainer_spec(name: &str) -> bool {
                let targets = [$((stringify!($name), stringify!($target))),*];
                targets.contains(&(name, "trainer_spec"))
            }
        }
    };
}

train_flags! {
    /// Files to train on; `-` is standard input; names that end in .gz or .zst are decompressed.
    input: Vec<String> = Vec::new(), trainer_spec;
    /// Format of the input: text (one sentence a line) or tsv (sentence, tab, count).
    input_format: String = String::new(), trainer_spec;
    /// Prefix of the output files: PREFIX.model and PREFIX.vocab.
    model_prefix: String = String::new(), trainer_spec;
    /// Algorithm of the model: bpe, unigram, word or char.
    model_type: ModelType = ModelType::Bpe, trainer_spec;
    /// Number of pieces, all kinds together.
    vocab_size: i32 = 8000, trainer_spec;
    /// Share of the corpus's characters that get a piece of their own, 0.98 to 1.
    character_coverage: f32 = 0.9995, trainer_spec;
    /// No character has to be a piece; needs byte_fallback. BPE: a search decides. Unigram: needs
    /// use_sparse_pruning.
    auto_character_coverage: bool = false, trainer_spec;
    /// Train on at most this many sentences; 0 is all.
    input_sentence_size: u64 = 0, trainer_spec;
    /// With input_sentence_size: use a random sample of the corpus instead of its beginning.
    shuffle_input_sentence: bool = true, trainer_spec;
    /// Seed of the sample of shuffle_input_sentence.
    random_seed: u32 = u32::MAX, elsewhere;
    /// Skip sentences of more bytes than this, 10 to 1073741824.
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
    /// Pieces that are always matched whole.
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
    /// Word and char models: every word or character becomes a piece, whatever vocab_size.
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
    /// Maximum number of threads, 1 to 1024. For unigram models instead the number of partial sums,
    /// which changes scores.
    num_threads: i32 = 16, trainer_spec;
    /// Unigram models: candidates to start with; 0 is 8 * vocab_size or 100000, a negative number
    /// all.
    seed_sentencepiece_size: i32 = 1_000_000, trainer_spec;
    /// Unigram models: file of candidates (piece, tab, count), used instead of those of the corpus.
    seed_sentencepieces_file: String = String::new(), trainer_spec;
    /// Unigram models: share of the pieces that a pruning step keeps, 0.5 to 0.95.
    shrinking_factor: f32 = 0.75, trainer_spec;
    /// Unigram models: iterations of estimation before each pruning step, 1 to 10.
    num_sub_iterations: i32 = 2, trainer_spec;
    /// Unigram models: score candidates by their count times this power of their length; 0 ignores
    /// the length.
    seed_piece_length_power: f32 = 1.0, elsewhere, parse_single;
    /// Unigram models: candidates of more than three bytes occur this many times bytes / (V ln V),
    /// V being vocab_size; 0 is twice.
    min_freq_alpha: f32 = 0.0, elsewhere, parse_single;
    /// Unigram models: drop candidates by a threshold on their expected counts, not by the loss of
    /// likelihood.
    use_sparse_pruning: bool = false, elsewhere;
    /// With use_sparse_pruning: estimate the scores once more without the threshold.
    post_l1_debias: bool = true, elsewhere;
}

impl TrainFlags {
    /// Flags with the defaults of the reference's bindings: the model type is unigram, the default
    /// of the protobuf schema, and is recorded only if it is set by name.
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
