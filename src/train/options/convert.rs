//! Flags -> typed options, and back for the record of options in a model.
//!
//! [`OptionValue`] converts a flag that is a field of its own. The options that several flags make
//! follow below.

use std::path::PathBuf;

use super::error::{invalid_value, out_of_range};
use super::{
    InputFormat, NormalizationRules, PruningMethod, RuleSet, SeedSize, SentenceSelection,
    TrainFlags, TrainOptions,
};
use crate::train::OptionError;

/// The value of `random_seed` for no seed.
const NO_SEED: u32 = u32::MAX;
/// The value of an id for no piece.
const NO_ID: i32 = -1;

/// The type of an option whose flag has the type `Flag`. `option` is the name, for errors.
pub(super) trait OptionValue<Flag>: Sized {
    fn from_flag(option: &'static str, flag: &Flag) -> Result<Self, OptionError>;
    fn to_flag(&self, option: &'static str) -> Result<Flag, OptionError>;
}

impl<T: Clone> OptionValue<T> for T {
    fn from_flag(_: &'static str, flag: &T) -> Result<T, OptionError> {
        Ok(flag.clone())
    }

    fn to_flag(&self, _: &'static str) -> Result<T, OptionError> {
        Ok(self.clone())
    }
}

impl OptionValue<i32> for u32 {
    fn from_flag(option: &'static str, flag: &i32) -> Result<Self, OptionError> {
        Self::try_from(*flag)
            .map_err(|_| out_of_range(option, (*flag).into(), 0.0, i32::MAX.into()))
    }

    fn to_flag(&self, option: &'static str) -> Result<i32, OptionError> {
        i32::try_from(*self).map_err(|_| out_of_range(option, (*self).into(), 0.0, i32::MAX.into()))
    }
}

/// An id. Every negative number means that there is no such piece.
impl OptionValue<i32> for Option<u32> {
    fn from_flag(_: &'static str, flag: &i32) -> Result<Self, OptionError> {
        Ok(u32::try_from(*flag).ok())
    }

    fn to_flag(&self, option: &'static str) -> Result<i32, OptionError> {
        self.map_or(Ok(NO_ID), |id| id.to_flag(option))
    }
}

/// Every negative number means all candidates.
impl OptionValue<i32> for SeedSize {
    fn from_flag(_: &'static str, flag: &i32) -> Result<Self, OptionError> {
        Ok(match *flag {
            0 => Self::Automatic,
            size => u32::try_from(size).map_or(Self::Unlimited, Self::AtMost),
        })
    }

    fn to_flag(&self, option: &'static str) -> Result<i32, OptionError> {
        match self {
            Self::Automatic => Ok(0),
            Self::AtMost(size) => size.to_flag(option),
            Self::Unlimited => Ok(-1),
        }
    }
}

/// The path of a file; empty for none.
impl OptionValue<String> for Option<PathBuf> {
    fn from_flag(_: &'static str, flag: &String) -> Result<Self, OptionError> {
        Ok((!flag.is_empty()).then(|| flag.into()))
    }

    fn to_flag(&self, _: &'static str) -> Result<String, OptionError> {
        let path = self
            .as_deref()
            .map(|path| path.to_string_lossy().into_owned());
        Ok(path.unwrap_or_default())
    }
}

impl TrainFlags {
    /// Sets the options that do not have a flag of their own.
    pub(super) fn set_combined_options(
        &self,
        options: &mut TrainOptions,
    ) -> Result<(), OptionError> {
        options.input_format = match self.input_format.as_str() {
            "" | "text" => InputFormat::Text,
            "tsv" => InputFormat::Tsv,
            other => return Err(invalid_value("input_format", other, "text or tsv")),
        };
        options.sentences = match (self.input_sentence_size, self.shuffle_input_sentence) {
            (0, _) => SentenceSelection::All,
            (size, true) => SentenceSelection::Sample(size),
            (size, false) => SentenceSelection::First(size),
        };
        options.random_seed = (self.random_seed != NO_SEED).then(|| self.random_seed.into());
        if self.use_sparse_pruning {
            options.unigram.pruning = PruningMethod::Sparse {
                debias: self.post_l1_debias,
            };
        }
        if let Some(spec) = &self.denormalizer {
            options.denormalization = Some(NormalizationRules::Compiled {
                name: String::from_utf8_lossy(spec.name()).into_owned(),
                charsmap: spec.precompiled_charsmap().to_vec(),
            });
        } else if !self.denormalization_rule_tsv.is_empty() {
            let path = &self.denormalization_rule_tsv;
            options.denormalization = Some(NormalizationRules::TsvFile(path.into()));
        }
        options.symbol_ids.clone_from(&self.symbol_ids);
        let Some(spec) = &self.normalizer else {
            // A file of rules overrides named rules; an empty name is the default.
            options.normalization = match (
                self.normalization_rule_tsv.as_str(),
                self.normalization_rule_name.as_str(),
            ) {
                ("", "") => NormalizationRules::default(),
                ("", name) => NormalizationRules::BuiltIn(name.parse()?),
                (path, _) => NormalizationRules::TsvFile(path.into()),
            };
            return Ok(());
        };
        if !spec.escape_whitespaces() {
            return Err(invalid_value(
                "normalizer",
                "escape_whitespaces=false",
                "a normalizer that writes spaces as U+2581",
            ));
        }
        let name = String::from_utf8_lossy(spec.name()).into_owned();
        // Rules are looked up by name unless the spec contains them.
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

    /// Sets the flags of the options that do not have a flag of their own.
    pub(super) fn set_combined_flags(&mut self, options: &TrainOptions) {
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
        if let Some(seed) = options
            .random_seed
            .and_then(|seed| u32::try_from(seed).ok())
        {
            self.random_seed = seed;
        }
        if let PruningMethod::Sparse { debias } = options.unigram.pruning {
            self.use_sparse_pruning = true;
            self.post_l1_debias = debias;
        }
        match &options.normalization {
            NormalizationRules::BuiltIn(set) => {
                set.name().clone_into(&mut self.normalization_rule_name);
            }
            NormalizationRules::TsvFile(path) => {
                self.normalization_rule_tsv = path.to_string_lossy().into_owned();
            }
            NormalizationRules::Tsv(_) | NormalizationRules::Compiled { .. } => {}
        }
        self.symbol_ids.clone_from(&options.symbol_ids);
        if let Some(NormalizationRules::TsvFile(path)) = &options.denormalization {
            self.denormalization_rule_tsv = path.to_string_lossy().into_owned();
        }
    }
}

impl TrainOptions {
    /// Takes over the option that a flag without a field of its own is a part of.
    pub(super) fn take_combined_option(&mut self, flag: &str, from: &Self) {
        match flag {
            "input_format" => self.input_format = from.input_format,
            "input_sentence_size" | "shuffle_input_sentence" => self.sentences = from.sentences,
            "random_seed" => self.random_seed = from.random_seed,
            "normalization_rule_name" | "normalization_rule_tsv" => {
                self.normalization.clone_from(&from.normalization);
            }
            "denormalization_rule_tsv" => {
                self.denormalization.clone_from(&from.denormalization);
            }
            "use_sparse_pruning" | "post_l1_debias" => {
                self.unigram.pruning = from.unigram.pruning;
            }
            // How files are read and written is no option of learning.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::options::SpecialPiece;

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

    /// Every flag that is part of an option changes it, and no other option.
    #[test]
    fn options_are_set_by_the_names_of_flags() {
        for option in TrainFlags::DESCRIPTORS {
            let mut options = TrainOptions::default();
            options.max_words = std::num::NonZeroU8::new(3);
            options.normalization = NormalizationRules::Tsv(b"0041\t0061\n".to_vec());
            let before = options.clone();
            let value = match option.name {
                "input_format" => "tsv",
                "document" => "file",
                "on_bad_record" => "skip",
                "model_type" => "unigram",
                "character_coverage" => "0.99",
                "shrinking_factor" => "0.5",
                "max_sentence_length" => "99",
                "normalization_rule_name" => "nfkc",
                name => match TrainFlags::default().get(name).as_deref() {
                    Some("true") => "false",
                    Some("false") => "true",
                    _ => "9",
                },
            };
            // These have no effect alone.
            let with = match option.name {
                "shuffle_input_sentence" => Some(("input_sentence_size", "200")),
                "post_l1_debias" => Some(("use_sparse_pruning", "true")),
                _ => None,
            };
            let flags = [(option.name, value)];
            let set = options.set_flags(flags.into_iter().chain(with));
            assert_eq!(set, Ok(()), "{}", option.name);
            let is_file = matches!(
                option.name,
                "input"
                    | "json_field"
                    | "on_bad_record"
                    | "model_prefix"
                    | "vocabulary_output_piece_score"
            );
            assert_eq!(options == before, is_file, "{}", option.name);
            assert_eq!(options.max_words, before.max_words, "{}", option.name);
            let keeps_rules = !option.name.starts_with("normalization_rule");
            let rules = options.normalization == before.normalization;
            assert_eq!(rules, keeps_rules, "{}", option.name);
        }
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
