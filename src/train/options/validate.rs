//! Validation of the options before any input is read, with the reference's limits.

use std::ops::RangeInclusive;

use super::{PruningMethod, TrainOptions};
use crate::error::OptionError;
use crate::model::ModelType;

/// Allowed values of `vocab_size`: ids are 31 bits wide in the model.
pub(crate) const VOCAB_SIZE: RangeInclusive<u32> = 1..=i32::MAX.unsigned_abs();
/// Allowed values of `max_sentencepiece_length`, in characters.
pub(crate) const PIECE_LENGTH: RangeInclusive<u32> = 1..=512;
/// Allowed values of `max_sentence_length`, in bytes.
pub(crate) const SENTENCE_LENGTH: RangeInclusive<u32> = 10..=1 << 30;
/// Allowed values of `num_threads`.
pub(crate) const NUM_THREADS: RangeInclusive<u32> = 1..=1024;

/// Allowed values of `num_sub_iterations`.
pub(crate) const SUB_ITERATIONS: RangeInclusive<u32> = 1..=10;
/// Samples of this many sentences or fewer are refused.
const MAX_TOO_FEW: u64 = 100;

impl TrainOptions {
    /// Checks what can be checked before any input is read: refuses values out of range and
    /// mutually exclusive options.
    ///
    /// # Errors
    /// The first invalid option, what is wrong with it and how to fix it.
    pub fn validate(&self) -> Result<(), OptionError> {
        self.validate_ranges()?;
        self.validate_sentences()?;
        self.validate_model_type()?;
        self.validate_unigram()?;
        self.validate_texts()?;
        self.validate_coverage()
    }

    fn validate_ranges(&self) -> Result<(), OptionError> {
        check_length("vocab_size", self.vocab_size, &VOCAB_SIZE)?;
        check_length(
            "max_sentencepiece_length",
            self.max_sentencepiece_length,
            &PIECE_LENGTH,
        )?;
        check_length("num_threads", self.num_threads, &NUM_THREADS)?;
        check_length(
            "max_sentence_length",
            self.max_sentence_length,
            &SENTENCE_LENGTH,
        )?;
        let iterations = self.unigram.num_sub_iterations;
        check_length("num_sub_iterations", iterations, &SUB_ITERATIONS)?;
        let factor = f64::from(self.unigram.shrinking_factor);
        check_range("shrinking_factor", factor, 0.5, 0.95)?;
        // The bounds are doubles and the value a single float: 0.98f32 is a little more than 0.98.
        check_range(
            "character_coverage",
            f64::from(self.character_coverage),
            0.98,
            1.0,
        )
    }

    fn validate_sentences(&self) -> Result<(), OptionError> {
        match self.sentences.size() {
            Some(size) if size <= MAX_TOO_FEW => Err(too_few(size)),
            _ => Ok(()),
        }
    }

    fn validate_model_type(&self) -> Result<(), OptionError> {
        let is_unigram = self.model_type == ModelType::Unigram;
        let learns_parts = is_unigram || self.model_type == ModelType::Bpe;
        if self.use_all_vocab && learns_parts {
            let problem = "it is for word and char models";
            return Err(not_for_type("use_all_vocab", problem));
        }
        if self.unigram.seed_file.is_some() && !is_unigram {
            let problem = "it is for unigram models";
            return Err(not_for_type("seed_sentencepieces_file", problem));
        }
        if !self.pretokenization_delimiter.is_empty() && !learns_parts {
            let problem = "it is for BPE and unigram models";
            return Err(not_for_type("pretokenization_delimiter", problem));
        }
        Ok(())
    }

    fn validate_unigram(&self) -> Result<(), OptionError> {
        if self.model_type != ModelType::Unigram {
            return Ok(());
        }
        check_finite("seed_piece_length_power", self.unigram.seed_length_power)?;
        check_finite("min_freq_alpha", self.unigram.min_count_alpha)
    }

    fn validate_texts(&self) -> Result<(), OptionError> {
        let pieces = [
            ("unk_piece", &self.unk),
            ("bos_piece", &self.bos),
            ("eos_piece", &self.eos),
            ("pad_piece", &self.pad),
        ];
        for (option, piece) in pieces {
            if piece.text.is_empty() {
                return Err(empty_piece(option));
            }
        }
        Ok(())
    }

    fn validate_coverage(&self) -> Result<(), OptionError> {
        if !self.auto_character_coverage {
            return Ok(());
        }
        if matches!(self.model_type, ModelType::Word | ModelType::Char) {
            return Err(coverage_conflict(
                "it is for BPE and unigram models",
                "leave it out, or train such a model",
            ));
        }
        let is_sparse = matches!(self.unigram.pruning, PruningMethod::Sparse { .. });
        if self.model_type == ModelType::Unigram && !is_sparse {
            return Err(coverage_conflict(
                "for unigram models it needs use_sparse_pruning",
                "add use_sparse_pruning, or train a BPE model",
            ));
        }
        if !self.byte_fallback {
            return Err(coverage_conflict(
                "it needs byte_fallback",
                "add byte_fallback",
            ));
        }
        if !self.required_chars.is_empty() {
            return Err(coverage_conflict(
                "it chooses the characters itself",
                "leave required_chars out",
            ));
        }
        Ok(())
    }
}

fn too_few(sentences: u64) -> OptionError {
    OptionError::Conflict {
        option: "input_sentence_size",
        problem: format!("{sentences} sentences are too few to train on"),
        remedy: "use all sentences, or more than 100",
    }
}

fn not_for_type(option: &'static str, problem: &str) -> OptionError {
    let remedy = "leave it out, or choose another model_type";
    conflict(option, problem, remedy)
}

fn empty_piece(option: &'static str) -> OptionError {
    conflict(
        option,
        "it is empty",
        "give it a text; for a model without this piece leave out its id (-1)",
    )
}

fn coverage_conflict(problem: &str, remedy: &'static str) -> OptionError {
    conflict("auto_character_coverage", problem, remedy)
}

/// The error for an option that conflicts with others, or whose value is unusable.
pub(crate) fn conflict(option: &'static str, problem: &str, remedy: &'static str) -> OptionError {
    OptionError::Conflict {
        option,
        problem: problem.to_owned(),
        remedy,
    }
}

fn check_length(
    option: &'static str,
    value: u32,
    range: &RangeInclusive<u32>,
) -> Result<(), OptionError> {
    let low = f64::from(*range.start());
    let high = f64::from(*range.end());
    check_range(option, value.into(), low, high)
}

/// Refuses NaN and infinities.
fn check_finite(option: &'static str, value: f32) -> Result<(), OptionError> {
    check_range(option, value.into(), f32::MIN.into(), f32::MAX.into())
}

/// Refuses a value outside `low..=high`, and NaN.
pub(crate) fn check_range(
    option: &'static str,
    value: f64,
    low: f64,
    high: f64,
) -> Result<(), OptionError> {
    if (low..=high).contains(&value) {
        Ok(())
    } else {
        Err(out_of_range(option, value, low, high))
    }
}

/// The error for a value that is not one of the option's values.
pub(crate) fn invalid_value(
    option: &'static str,
    value: &str,
    expected: &'static str,
) -> OptionError {
    OptionError::Value {
        option,
        value: value.to_owned(),
        expected,
    }
}

/// The error for a value outside `low..=high`.
pub(crate) fn out_of_range(option: &'static str, value: f64, low: f64, high: f64) -> OptionError {
    OptionError::Range {
        option,
        value,
        low,
        high,
    }
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
            assert!(
                matches!(&error, OptionError::Range { option, .. } if option == culprit),
                "{culprit}: {error:?}"
            );
        }
        for coverage in [0.98, 0.99, 1.0] {
            let mut options = TrainOptions::default();
            options.character_coverage = coverage;
            assert_eq!(options.validate(), Ok(()), "{coverage}");
        }
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
