//! The reference's refusals that need no look at the input.

use super::TrainOptions;
use crate::error::OptionError;
use crate::model::ModelType;

impl TrainOptions {
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
            (
                "max_sentencepiece_length",
                self.max_sentencepiece_length,
                1,
                512,
            ),
            ("num_sub_iterations", self.num_sub_iterations, 1, 10),
            ("num_threads", self.num_threads, 1, 1024),
            ("max_sentence_length", self.max_sentence_length, 10, 1 << 30),
        ];
        for (option, value, low, high) in integers {
            check_range(option, f64::from(value), f64::from(low), f64::from(high))?;
        }
        // The bounds are doubles and the values single floats: 0.98f32 is a little more than 0.98.
        check_range(
            "character_coverage",
            f64::from(self.character_coverage),
            0.98,
            1.0,
        )?;
        check_range(
            "shrinking_factor",
            f64::from(self.shrinking_factor),
            0.5,
            0.95,
        )?;
        if (1..=100).contains(&self.input_sentence_size) {
            return Err(OptionError::Conflict {
                option: "input_sentence_size",
                problem: format!(
                    "{} sentences are too few to train on",
                    self.input_sentence_size
                ),
                remedy: "use 0 for all sentences, or more than 100",
            });
        }
        Ok(())
    }

    fn validate_model_type(&self) -> Result<(), OptionError> {
        let conflict = |option, problem: &str, remedy| {
            Err(OptionError::Conflict {
                option,
                problem: problem.to_owned(),
                remedy,
            })
        };
        if self.model_type != ModelType::Bpe {
            return Err(OptionError::Conflict {
                option: "model_type",
                problem: format!("spiece trains bpe models, not {:?} models", self.model_type)
                    .to_lowercase(),
                remedy: "use bpe, or train this model with spm_train (spiece runs what it makes)",
            });
        }
        if self.use_all_vocab {
            return conflict(
                "use_all_vocab",
                "it is for word and char models",
                "leave it out",
            );
        }
        if !self.seed_sentencepieces_file.is_empty() {
            return conflict(
                "seed_sentencepieces_file",
                "it is for unigram models",
                "leave it out",
            );
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
            Err(OptionError::Conflict {
                option: "auto_character_coverage",
                problem: problem.to_owned(),
                remedy,
            })
        };
        if self.auto_character_coverage && !self.byte_fallback {
            return conflict("it needs byte_fallback", "add byte_fallback");
        }
        if self.auto_character_coverage && !self.required_chars.is_empty() {
            return conflict(
                "it chooses the characters itself",
                "leave required_chars out",
            );
        }
        Ok(())
    }
}

/// Refuses a value outside `low..=high`, and NaN.
fn check_range(option: &'static str, value: f64, low: f64, high: f64) -> Result<(), OptionError> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(OptionError::Range {
        option,
        value,
        low,
        high,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals() {
        let cases: &[(&str, &[(&str, &str)])] = &[
            ("vocab_size", &[("vocab_size", "0")]),
            ("character_coverage", &[("character_coverage", "0.5")]),
            ("character_coverage", &[("character_coverage", "nan")]),
            (
                "max_sentencepiece_length",
                &[("max_sentencepiece_length", "513")],
            ),
            ("num_threads", &[("num_threads", "0")]),
            ("max_sentence_length", &[("max_sentence_length", "9")]),
            ("input_sentence_size", &[("input_sentence_size", "100")]),
            ("model_type", &[("model_type", "unigram")]),
            ("use_all_vocab", &[("use_all_vocab", "true")]),
            ("bos_piece", &[("bos_piece", "")]),
            ("input_format", &[("input_format", "csv")]),
            (
                "auto_character_coverage",
                &[("auto_character_coverage", "true")],
            ),
            (
                "auto_character_coverage",
                &[
                    ("auto_character_coverage", "1"),
                    ("byte_fallback", "1"),
                    ("required_chars", "a"),
                ],
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
