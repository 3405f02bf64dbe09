//! Checks of the options before any input is read, with the reference's limits.

use std::fmt::Display;
use std::ops::RangeInclusive;

use super::error::{OptionError, conflict, invalid_value, out_of_range};
use super::{PruningMethod, TrainFlags, TrainOptions};
use crate::model::ModelType;

/// Samples of this many sentences or fewer are refused.
const MAX_TOO_FEW: u64 = 100;

impl TrainOptions {
    /// Checks what can be checked before any input is read: refuses values out of range and
    /// mutually exclusive options.
    ///
    /// # Errors
    /// The first invalid option, what is wrong with it and how to fix it.
    pub fn validate(&self) -> Result<(), OptionError> {
        TrainFlags::of_options(self)?.check_ranges()?;
        let is_unigram = self.model_type == ModelType::Unigram;
        let learns_parts = is_unigram || self.model_type == ModelType::Bpe;
        if let Some(sentences) = self.sentences.size()
            && sentences <= MAX_TOO_FEW
        {
            return Err(conflict(
                "input_sentence_size",
                &format!("{sentences} sentences are too few to train on"),
                "use all sentences, or more than 100",
            ));
        }
        let not_for_type = [
            (
                "use_all_vocab",
                self.use_all_vocab && learns_parts,
                "it is for word and char models",
            ),
            (
                "seed_sentencepieces_file",
                self.unigram.seed_file.is_some() && !is_unigram,
                "it is for unigram models",
            ),
            (
                "pretokenization_delimiter",
                !self.pretokenization_delimiter.is_empty() && !learns_parts,
                "it is for BPE and unigram models",
            ),
        ];
        for (option, is_given, problem) in not_for_type {
            if is_given {
                let remedy = "leave it out, or choose another model_type";
                return Err(conflict(option, problem, remedy));
            }
        }
        if is_unigram {
            let numbers = [
                ("seed_piece_length_power", self.unigram.seed_length_power),
                ("min_freq_alpha", self.unigram.min_count_alpha),
            ];
            for (option, value) in numbers {
                if !value.is_finite() {
                    return Err(invalid_value(option, &value.to_string(), "a finite number"));
                }
            }
        }
        let pieces = [
            ("unk_piece", &self.unk),
            ("bos_piece", &self.bos),
            ("eos_piece", &self.eos),
            ("pad_piece", &self.pad),
        ];
        for (option, piece) in pieces {
            if piece.text.is_empty() {
                let remedy = "give it a text; for a model without this piece leave out its id (-1)";
                return Err(conflict(option, "it is empty", remedy));
            }
        }
        if self.auto_character_coverage {
            self.validate_auto_coverage()?;
        }
        Ok(())
    }

    fn validate_auto_coverage(&self) -> Result<(), OptionError> {
        let is_sparse = matches!(self.unigram.pruning, PruningMethod::Sparse { .. });
        let (problem, remedy) = match self.model_type {
            ModelType::Word | ModelType::Char => (
                "it is for BPE and unigram models",
                "leave it out, or train such a model",
            ),
            ModelType::Unigram if !is_sparse => (
                "for unigram models it needs use_sparse_pruning",
                "add use_sparse_pruning, or train a BPE model",
            ),
            _ if !self.byte_fallback => ("it needs byte_fallback", "add byte_fallback"),
            _ if !self.required_chars.is_empty() => (
                "it chooses the characters itself",
                "leave required_chars out",
            ),
            _ => return Ok(()),
        };
        Err(conflict("auto_character_coverage", problem, remedy))
    }
}

/// Refuses a value outside the range, and NaN. The bounds are compared as doubles: the float 0.98
/// is a little more than the bound 0.98.
pub(super) fn check_bounds<Value: Copy + Into<f64> + Display, Bound: Copy + Into<f64>>(
    option: &'static str,
    value: Value,
    range: &RangeInclusive<Bound>,
) -> Result<(), OptionError> {
    let (low, high) = ((*range.start()).into(), (*range.end()).into());
    if (low..=high).contains(&value.into()) {
        return Ok(());
    }
    // The digits that a float was given as: 0.9, where its exact value is 0.8999999761581421.
    let digits = value.to_string().parse();
    Err(out_of_range(
        option,
        digits.unwrap_or(value.into()),
        low,
        high,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::options::SentenceSelection;

    /// A change that makes the default options invalid.
    type OptionChange = fn(&mut TrainOptions);

    #[test]
    fn values_out_of_range_are_refused() {
        let cases: &[(&str, OptionChange)] = &[
            ("vocab_size", |options| options.vocab_size = 0),
            ("vocab_size", |options| options.vocab_size = 1 << 31),
            ("character_coverage", |o| o.character_coverage = 0.5),
            ("character_coverage", |o| o.character_coverage = f32::NAN),
            ("max_sentencepiece_length", |o| {
                o.max_sentencepiece_length = 513
            }),
            ("max_sentencepiece_length", |o| {
                o.max_sentencepiece_length = 0
            }),
            ("num_threads", |options| options.num_threads = 0),
            ("max_sentence_length", |o| o.max_sentence_length = 9),
            ("seed_piece_length_power", |options| {
                options.model_type = ModelType::Unigram;
                options.unigram.seed_length_power = f32::NAN;
            }),
            ("min_freq_alpha", |options| {
                options.model_type = ModelType::Unigram;
                options.unigram.min_count_alpha = f32::INFINITY;
            }),
        ];
        for (culprit, change) in cases {
            let mut options = TrainOptions::default();
            change(&mut options);
            let error = options.validate().unwrap_err();
            let option = match &error {
                OptionError::Range { option, .. } | OptionError::Value { option, .. } => option,
                _ => panic!("{culprit}: {error:?}"),
            };
            assert_eq!(option, culprit, "{error:?}");
        }
        for coverage in [0.98, 0.99, 1.0] {
            let mut options = TrainOptions::default();
            options.character_coverage = coverage;
            assert_eq!(options.validate(), Ok(()), "{coverage}");
        }
    }

    #[test]
    fn numbers_are_written_with_the_digits_they_were_given_as() {
        let mut options = TrainOptions::default();
        options.character_coverage = 0.9;
        let error = options.validate().unwrap_err().to_string();
        assert_eq!(
            error,
            "character_coverage: 0.9 is out of range; use 0.98 to 1"
        );
        options = TrainOptions::default();
        options.model_type = ModelType::Unigram;
        options.unigram.shrinking_factor = 1.7;
        let error = options.validate().unwrap_err().to_string();
        assert_eq!(
            error,
            "shrinking_factor: 1.7 is out of range; use 0.5 to 0.95"
        );
        options.unigram.shrinking_factor = 0.75;
        options.unigram.min_count_alpha = f32::INFINITY;
        let error = options.validate().unwrap_err().to_string();
        assert_eq!(error, "min_freq_alpha: \"inf\" is not a finite number");
    }

    #[test]
    fn conflicts_are_refused() {
        let cases: &[(&str, OptionChange)] = &[
            ("input_sentence_size", |options| {
                options.sentences = SentenceSelection::First(100);
            }),
            ("input_sentence_size", |options| {
                options.sentences = SentenceSelection::Sample(0);
            }),
            ("use_all_vocab", |options| options.use_all_vocab = true),
            ("bos_piece", |options| options.bos.text.clear()),
            ("auto_character_coverage", |o| {
                o.auto_character_coverage = true
            }),
            ("auto_character_coverage", |options| {
                options.auto_character_coverage = true;
                options.byte_fallback = true;
                options.model_type = ModelType::Unigram;
            }),
            ("auto_character_coverage", |options| {
                options.auto_character_coverage = true;
                options.byte_fallback = true;
                options.model_type = ModelType::Char;
                options.unigram.pruning = PruningMethod::Sparse { debias: true };
            }),
            ("auto_character_coverage", |options| {
                options.auto_character_coverage = true;
                options.byte_fallback = true;
                options.required_chars = "a".to_owned();
            }),
        ];
        for (culprit, change) in cases {
            let mut options = TrainOptions::default();
            change(&mut options);
            let error = options.validate().unwrap_err();
            assert!(
                matches!(&error, OptionError::Conflict { option, .. } if option == culprit),
                "{culprit}: {error:?}"
            );
        }
    }
}
