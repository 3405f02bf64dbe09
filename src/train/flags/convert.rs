//! Flags -> typed options, and back for the record of options in a model.
//!
//! A value that the typed options cannot represent (a negative length, an unknown name) is an error
//! here, so the conversion is lossless. Ranges are checked by [`TrainOptions::validate`].

use std::ops::RangeInclusive;

use super::{SpecRecording, TrainFlags};
use crate::error::OptionError;
use crate::model::NormalizerSpec;
use crate::train::options::{
    InputFormat, NUM_THREADS, NormalizationRules, PIECE_LENGTH, PruningMethod, RuleSet,
    SENTENCE_LENGTH, SUB_ITERATIONS, SeedSize, SentenceSelection, SpecialPiece, TrainOptions,
    UnigramOptions, VOCAB_SIZE, invalid_value, out_of_range,
};

/// The value of `random_seed` for no seed.
const NO_SEED: u32 = u32::MAX;
/// The value of an id for no piece.
const NO_ID: i32 = -1;

impl TrainFlags {
    /// The typed options that these flags stand for.
    ///
    /// # Errors
    /// An invalid value of an option, or a flag that spiece does not support.
    pub fn options(&self) -> Result<TrainOptions, OptionError> {
        let mut options = TrainOptions::default();
        self.size_options(&mut options)?;
        self.special_piece_options(&mut options);
        self.selection_options(&mut options)?;
        self.normalization_options(&mut options)?;
        self.splitting_options(&mut options);
        self.symbol_options(&mut options);
        options.model_type = self.model_type;
        options.hard_vocab_limit = self.hard_vocab_limit;
        options.character_coverage = self.character_coverage;
        options.auto_character_coverage = self.auto_character_coverage;
        options.use_all_vocab = self.use_all_vocab;
        options.unigram = self.unigram_options()?;
        Ok(options)
    }

    fn size_options(&self, options: &mut TrainOptions) -> Result<(), OptionError> {
        options.vocab_size = unsigned("vocab_size", self.vocab_size, &VOCAB_SIZE)?;
        options.num_threads = unsigned("num_threads", self.num_threads, &NUM_THREADS)?;
        options.max_sentence_length = unsigned(
            "max_sentence_length",
            self.max_sentence_length,
            &SENTENCE_LENGTH,
        )?;
        options.max_sentencepiece_length = unsigned(
            "max_sentencepiece_length",
            self.max_sentencepiece_length,
            &PIECE_LENGTH,
        )?;
        Ok(())
    }

    fn unigram_options(&self) -> Result<UnigramOptions, OptionError> {
        let mut options = UnigramOptions::default();
        options.seed_size = SeedSize::of_flag(self.seed_sentencepiece_size);
        options.seed_file = (!self.seed_sentencepieces_file.is_empty())
            .then(|| self.seed_sentencepieces_file.clone().into());
        options.shrinking_factor = self.shrinking_factor;
        options.num_sub_iterations = unsigned(
            "num_sub_iterations",
            self.num_sub_iterations,
            &SUB_ITERATIONS,
        )?;
        options.seed_length_power = self.seed_piece_length_power;
        options.min_count_alpha = self.min_freq_alpha;
        if self.use_sparse_pruning {
            options.pruning = PruningMethod::Sparse {
                debias: self.post_l1_debias,
            };
        }
        Ok(options)
    }

    fn special_piece_options(&self, options: &mut TrainOptions) {
        options.unk = special_piece(&self.unk_piece, self.unk_id);
        options.bos = special_piece(&self.bos_piece, self.bos_id);
        options.eos = special_piece(&self.eos_piece, self.eos_id);
        options.pad = special_piece(&self.pad_piece, self.pad_id);
        options.unk_surface = self.unk_surface.clone();
    }

    fn selection_options(&self, options: &mut TrainOptions) -> Result<(), OptionError> {
        options.input_format = input_format(&self.input_format)?;
        options.sentences = self.sentence_selection();
        options.random_seed = (self.random_seed != NO_SEED).then(|| self.random_seed.into());
        Ok(())
    }

    fn normalization_options(&self, options: &mut TrainOptions) -> Result<(), OptionError> {
        options.denormalization = tsv_file(&self.denormalization_rule_tsv);
        if let Some(spec) = &self.normalizer {
            return normalizer_spec_options(spec, options);
        }
        options.normalization = self.normalization()?;
        options.add_dummy_prefix = self.add_dummy_prefix;
        options.remove_extra_whitespaces = self.remove_extra_whitespaces;
        Ok(())
    }

    fn splitting_options(&self, options: &mut TrainOptions) {
        options.split_by_unicode_script = self.split_by_unicode_script;
        options.split_by_number = self.split_by_number;
        options.split_by_whitespace = self.split_by_whitespace;
        options.split_digits = self.split_digits;
        options.treat_whitespace_as_suffix = self.treat_whitespace_as_suffix;
        options.allow_whitespace_only_pieces = self.allow_whitespace_only_pieces;
        options.pretokenization_delimiter = self.pretokenization_delimiter.clone();
    }

    fn symbol_options(&self, options: &mut TrainOptions) {
        options.required_chars = self.required_chars.clone();
        options.byte_fallback = self.byte_fallback;
        options.control_symbols = self.control_symbols.clone();
        options.user_defined_symbols = self.user_defined_symbols.clone();
    }

    fn sentence_selection(&self) -> SentenceSelection {
        match (self.input_sentence_size, self.shuffle_input_sentence) {
            (0, _) => SentenceSelection::All,
            (size, true) => SentenceSelection::Sample(size),
            (size, false) => SentenceSelection::First(size),
        }
    }

    /// A file of rules overrides named rules; an empty name is the default.
    fn normalization(&self) -> Result<NormalizationRules, OptionError> {
        match tsv_file(&self.normalization_rule_tsv) {
            Some(file) => Ok(file),
            None => self.rule_set().map(NormalizationRules::BuiltIn),
        }
    }

    /// The rules that the flag names.
    fn rule_set(&self) -> Result<RuleSet, OptionError> {
        match self.normalization_rule_name.as_str() {
            "" => Ok(RuleSet::default()),
            name => name.parse(),
        }
    }

    /// The flags that express `options`, for recording them. Rules in memory have no flag.
    ///
    /// # Errors
    /// A size or an id of 2^31 or more: the specs of a model hold 32-bit signed numbers.
    pub(crate) fn of_options(options: &TrainOptions) -> Result<Self, OptionError> {
        let mut flags = Self::default();
        flags.recording = SpecRecording::Changed;
        flags.set_sizes(options)?;
        flags.set_special_pieces(options)?;
        flags.set_selection(options);
        flags.set_normalization(options);
        flags.set_splitting(options);
        flags.model_type = options.model_type;
        flags.use_all_vocab = options.use_all_vocab;
        flags.set_unigram(&options.unigram)?;
        flags.hard_vocab_limit = options.hard_vocab_limit;
        flags.character_coverage = options.character_coverage;
        flags.auto_character_coverage = options.auto_character_coverage;
        flags.required_chars = options.required_chars.clone();
        flags.byte_fallback = options.byte_fallback;
        flags.control_symbols = options.control_symbols.clone();
        flags.user_defined_symbols = options.user_defined_symbols.clone();
        Ok(flags)
    }

    fn set_sizes(&mut self, options: &TrainOptions) -> Result<(), OptionError> {
        self.vocab_size = signed("vocab_size", options.vocab_size)?;
        self.max_sentence_length = signed("max_sentence_length", options.max_sentence_length)?;
        self.max_sentencepiece_length =
            signed("max_sentencepiece_length", options.max_sentencepiece_length)?;
        self.num_threads = signed("num_threads", options.num_threads)?;
        Ok(())
    }

    fn set_unigram(&mut self, options: &UnigramOptions) -> Result<(), OptionError> {
        self.seed_sentencepiece_size = match options.seed_size {
            SeedSize::Automatic => 0,
            SeedSize::AtMost(size) => signed("seed_sentencepiece_size", size)?,
            SeedSize::Unlimited => -1,
        };
        if let Some(path) = &options.seed_file {
            self.seed_sentencepieces_file = path.to_string_lossy().into_owned();
        }
        self.shrinking_factor = options.shrinking_factor;
        self.num_sub_iterations = signed("num_sub_iterations", options.num_sub_iterations)?;
        self.seed_piece_length_power = options.seed_length_power;
        self.min_freq_alpha = options.min_count_alpha;
        if let PruningMethod::Sparse { debias } = options.pruning {
            self.use_sparse_pruning = true;
            self.post_l1_debias = debias;
        }
        Ok(())
    }

    fn set_special_pieces(&mut self, options: &TrainOptions) -> Result<(), OptionError> {
        self.unk_id = id_flag("unk_id", &options.unk)?;
        self.bos_id = id_flag("bos_id", &options.bos)?;
        self.eos_id = id_flag("eos_id", &options.eos)?;
        self.pad_id = id_flag("pad_id", &options.pad)?;
        self.unk_piece = options.unk.text.clone();
        self.bos_piece = options.bos.text.clone();
        self.eos_piece = options.eos.text.clone();
        self.pad_piece = options.pad.text.clone();
        self.unk_surface = options.unk_surface.clone();
        Ok(())
    }

    fn set_selection(&mut self, options: &TrainOptions) {
        if options.input_format == InputFormat::Tsv {
            self.input_format = "tsv".to_owned();
        }
        match options.sentences {
            SentenceSelection::All => {}
            SentenceSelection::First(size) => {
                self.input_sentence_size = size;
                self.shuffle_input_sentence = false;
            }
            SentenceSelection::Sample(size) => self.input_sentence_size = size,
        }
    }

    fn set_normalization(&mut self, options: &TrainOptions) {
        if let NormalizationRules::BuiltIn(set) = options.normalization {
            self.normalization_rule_name = set.name().to_owned();
        }
        self.normalization_rule_tsv = options.normalization.tsv_path();
        let denormalization = options.denormalization.as_ref();
        self.denormalization_rule_tsv = denormalization
            .map(NormalizationRules::tsv_path)
            .unwrap_or_default();
        self.add_dummy_prefix = options.add_dummy_prefix;
        self.remove_extra_whitespaces = options.remove_extra_whitespaces;
    }

    fn set_splitting(&mut self, options: &TrainOptions) {
        self.split_by_unicode_script = options.split_by_unicode_script;
        self.split_by_number = options.split_by_number;
        self.split_by_whitespace = options.split_by_whitespace;
        self.split_digits = options.split_digits;
        self.treat_whitespace_as_suffix = options.treat_whitespace_as_suffix;
        self.allow_whitespace_only_pieces = options.allow_whitespace_only_pieces;
        self.pretokenization_delimiter = options.pretokenization_delimiter.clone();
    }
}

impl SeedSize {
    /// Every negative number means all candidates.
    fn of_flag(size: i32) -> Self {
        match size {
            0 => Self::Automatic,
            size => u32::try_from(size).map_or(Self::Unlimited, Self::AtMost),
        }
    }
}

impl NormalizationRules {
    /// The path of rules that are in a file; empty otherwise.
    fn tsv_path(&self) -> String {
        match self {
            Self::TsvFile(path) => path.to_string_lossy().into_owned(),
            _ => String::new(),
        }
    }
}

/// Sets the options of a normalizer that is given as a spec. Rules are looked up by name unless the
/// spec contains them.
fn normalizer_spec_options(
    spec: &NormalizerSpec,
    options: &mut TrainOptions,
) -> Result<(), OptionError> {
    if !spec.escape_whitespaces() {
        return Err(unmarked_spaces());
    }
    let name = String::from_utf8_lossy(spec.name()).into_owned();
    options.normalization = match (name.as_str(), spec.precompiled_charsmap()) {
        ("", []) => NormalizationRules::default(),
        (name, []) => NormalizationRules::BuiltIn(name.parse()?),
        (_, charsmap) => NormalizationRules::Compiled {
            name: if name.is_empty() {
                RuleSet::default().name().to_owned()
            } else {
                name
            },
            charsmap: charsmap.to_vec(),
        },
    };
    options.add_dummy_prefix = spec.add_dummy_prefix();
    options.remove_extra_whitespaces = spec.remove_extra_whitespaces();
    Ok(())
}

fn unmarked_spaces() -> OptionError {
    invalid_value(
        "normalizer",
        "escape_whitespaces=false",
        "a normalizer that writes spaces as U+2581",
    )
}

/// Converts the value of a flag and refuses negative ones. `range` is for the error; it is checked
/// by [`TrainOptions::validate`].
fn unsigned(
    option: &'static str,
    value: i32,
    range: &RangeInclusive<u32>,
) -> Result<u32, OptionError> {
    let low = f64::from(*range.start());
    let high = f64::from(*range.end());
    u32::try_from(value).map_err(|_| out_of_range(option, value.into(), low, high))
}

/// The value of an option as the flag and the model hold it.
fn signed(option: &'static str, value: u32) -> Result<i32, OptionError> {
    i32::try_from(value).map_err(|_| too_large(option, value))
}

/// The error for a value that a model cannot record.
fn too_large(option: &'static str, value: u32) -> OptionError {
    out_of_range(option, value.into(), 0.0, i32::MAX.into())
}

fn id_flag(option: &'static str, piece: &SpecialPiece) -> Result<i32, OptionError> {
    piece.id.map_or(Ok(NO_ID), |id| signed(option, id))
}

/// Every negative id means that there is no such piece.
fn special_piece(text: &str, id: i32) -> SpecialPiece {
    SpecialPiece::new(text, u32::try_from(id).ok())
}

fn input_format(name: &str) -> Result<InputFormat, OptionError> {
    match name {
        "" | "text" => Ok(InputFormat::Text),
        "tsv" => Ok(InputFormat::Tsv),
        _ => Err(unknown_format(name)),
    }
}

fn unknown_format(name: &str) -> OptionError {
    invalid_value("input_format", name, "text or tsv")
}

/// The file of rules that a flag names, if it names one.
fn tsv_file(path: &str) -> Option<NormalizationRules> {
    (!path.is_empty()).then(|| NormalizationRules::TsvFile(path.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Options given by name and options given as fields are the same, and so are the records of
    /// both.
    #[test]
    fn flags_and_options_convert_into_one_another() {
        let settings: &[(&str, &str)] = &[
            ("vocab_size", "300"),
            ("input_format", "tsv"),
            ("input_sentence_size", "200"),
            ("shuffle_input_sentence", "false"),
            ("random_seed", "7"),
            ("unk_id", "3"),
            ("bos_id", "-1"),
            ("bos_piece", "[B]"),
            ("normalization_rule_name", "nfkc_cf"),
            ("split_digits", "true"),
            ("control_symbols", "a,b"),
            ("remove_extra_whitespaces", "false"),
            ("model_type", "unigram"),
            ("seed_sentencepiece_size", "-1"),
            ("seed_sentencepieces_file", "seeds.tsv"),
            ("shrinking_factor", "0.5"),
            ("num_sub_iterations", "3"),
            ("seed_piece_length_power", "0.25"),
            ("min_freq_alpha", "1.5"),
            ("use_sparse_pruning", "true"),
            ("post_l1_debias", "false"),
        ];
        let mut flags = TrainFlags::default();
        for (name, value) in settings {
            flags.set(name, value).unwrap();
        }
        let options = flags.options().unwrap();
        assert_eq!(options.vocab_size, 300);
        assert_eq!(options.input_format, InputFormat::Tsv);
        assert_eq!(options.sentences, SentenceSelection::First(200));
        assert_eq!(options.random_seed, Some(7));
        assert_eq!(options.unk.id, Some(3));
        assert_eq!(options.bos, SpecialPiece::new("[B]", None));
        let record = TrainFlags::of_options(&options).unwrap();
        assert_eq!(record.trainer_spec(), flags.trainer_spec());
        let again = record.options().unwrap();
        assert_eq!(again.sentences, options.sentences);
        assert_eq!(again.unigram, options.unigram);
        assert_eq!(options.unigram.seed_length_power, 0.25);
        let sparse = PruningMethod::Sparse { debias: false };
        assert_eq!(options.unigram.pruning, sparse);
        assert_eq!(again.normalization, options.normalization);
    }

    #[test]
    fn default_flags_are_the_default_options() {
        assert_eq!(
            TrainFlags::default().options().unwrap(),
            TrainOptions::default()
        );
    }

    #[test]
    fn values_that_options_cannot_hold_are_refused() {
        let cases: &[(&str, &str)] = &[
            ("vocab_size", "-1"),
            ("num_threads", "-1"),
            ("max_sentence_length", "-1"),
            ("num_sub_iterations", "-1"),
        ];
        for (name, value) in cases {
            let mut flags = TrainFlags::default();
            flags.set(name, value).unwrap();
            let error = flags.options().unwrap_err();
            assert!(
                matches!(&error, OptionError::Range { option, .. } if option == name),
                "{error:?}"
            );
        }
        let cases: &[(&str, &str)] = &[("input_format", "csv"), ("normalization_rule_name", "nfd")];
        for (name, value) in cases {
            let mut flags = TrainFlags::default();
            flags.set(name, value).unwrap();
            let error = flags.options().unwrap_err();
            assert!(
                matches!(&error, OptionError::Value { option, .. } if option == name),
                "{error:?}"
            );
        }
        // A file of rules is used instead of a name, whatever the name.
        let mut flags = TrainFlags::default();
        flags.set("normalization_rule_name", "nfd").unwrap();
        flags.set("normalization_rule_tsv", "rules.tsv").unwrap();
        assert!(flags.options().is_ok());
    }
}
