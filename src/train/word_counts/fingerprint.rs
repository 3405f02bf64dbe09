//! The options that word counts depend on.
//!
//! If two fingerprints are equal, the words of every sentence and the choice of sentences are
//! equal. Options marked `words` in the table of [`options`](crate::train::options) are part of it
//! as they are; those marked `by_rule` by the rules here.
//!
//! | part | because |
//! |---|---|
//! | `model_type` | word models count words, BPE and char models count smaller parts |
//! | `document`, `max_sentence_length`, `input_sentence_size` | they choose the sentences |
//! | the normalization rules, `add_dummy_prefix`, ... | they change the text |
//! | `split_by_whitespace`, `split_digits`, ... | they divide the text |
//! | special pieces, `byte_fallback`, the delimiter | no word crosses them |
//! | `max_sentencepiece_length`, whether it is 1 | every character is a word if it is 1 |
//!
//! Not included: `vocab_size`, `character_coverage`, `required_chars`, `hard_vocab_limit`, the
//! number of threads, and `input_format`, since a row with a count and a repeated line yield the
//! same words.
//!
//! For byte-level BPE it has the pattern alone ([`ByteTrainer`](crate::train::ByteTrainer)).
//!
//! Example: `split_digits=true` divides `▁42` into `▁`, `4` and `2`; a table that was counted
//! without it has the word `▁42`, and the comparison names `split_digits`.

use std::collections::BTreeMap;
use std::fmt;

use crate::model::ModelType;
use crate::train::CountsError;
use crate::train::Trainer;
use crate::train::options::{SentenceSelection, TrainOptions};
use crate::train::sample::DEFAULT_SEED;

/// The version of the counting rules. It changes when a release counts different words with the
/// same options.
const RULES_VERSION: &str = "1";
/// The part that names the choice of sentences.
const SELECTION: &str = "input_sentence_size";
/// The value of [`SELECTION`] if all sentences are used.
const ALL_SENTENCES: &str = "0";

/// The options that word counts depend on, as text. Two tables can be added to each other if these
/// are equal.
///
/// The text form has one line `name=value` for each option, in the order of the names; control
/// characters, backslashes and characters outside ASCII are escaped as in Rust.
///
/// ```
/// use spiece::train::CountFingerprint;
/// use spiece::train::CountWords;
/// use spiece::{TrainOptions, Trainer};
///
/// let fingerprint = Trainer::new(TrainOptions::default())?.count_fingerprint();
/// assert!(fingerprint.to_string().contains("split_digits=false\n"));
/// assert_eq!(CountFingerprint::from_text(&fingerprint.to_string()), fingerprint);
///
/// let mut options = TrainOptions::default();
/// options.vocab_size = 100;
/// assert_eq!(Trainer::new(options.clone())?.count_fingerprint(), fingerprint);
/// options.split_digits = true;
/// let other = Trainer::new(options)?.count_fingerprint();
/// assert!(fingerprint.check_equal(&other).unwrap_err().to_string().contains("split_digits"));
/// # Ok::<(), spiece::TrainError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CountFingerprint {
    options: BTreeMap<String, String>,
}

impl CountFingerprint {
    /// The fingerprint of words that depend on these options, by name.
    pub(in crate::train) fn from_parts<'n>(
        parts: impl IntoIterator<Item = (&'n str, String)>,
    ) -> Self {
        let version = ("counting_rules", RULES_VERSION.to_owned());
        let parts = std::iter::once(version).chain(parts);
        let escaped =
            |(name, value): (&str, String)| (name.to_owned(), value.escape_default().to_string());
        Self {
            options: parts.map(escaped).collect(),
        }
    }

    /// The fingerprint of the words of prepared text.
    pub(super) fn of(trainer: &Trainer) -> Self {
        let options = &trainer.options;
        // The model types that the words can be used for.
        let counted_type = match options.model_type {
            ModelType::Word => "word",
            ModelType::Unigram => "unigram",
            ModelType::Bpe | ModelType::Char => "bpe or char",
        };
        // No word crosses them; byte pieces follow from `byte_fallback`.
        let mut texts: Vec<_> = trainer.meta.texts_without_bytes().collect();
        texts.sort();
        // All lengths of two or more divide text at the same places.
        let length = options.max_sentencepiece_length.min(2);
        let parts = [
            ("model_type", counted_type.to_owned()),
            (SELECTION, selection(options)),
            ("normalization_rules", trainer.specs.rules_digest()),
            ("special_pieces", texts.join("\n")),
            ("max_sentencepiece_length", length.to_string()),
            // Functions cannot be compared: the caller must set the same function everywhere.
            (
                "has_pretokenizer",
                trainer.pretokenizer.is_some().to_string(),
            ),
            (
                "allow_inconsistent_pretokenization",
                trainer.allow_inconsistent_pretokenization.to_string(),
            ),
        ];
        Self::from_parts(parts.into_iter().chain(options.that_words_depend_on()))
    }

    /// Reads the text form. Any text is accepted: lines that no trainer writes make the fingerprint
    /// different from those of all trainers.
    pub fn from_text(text: &str) -> Self {
        Self {
            options: text
                .lines()
                .map(|line| line.split_once('=').unwrap_or((line, "")))
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        }
    }

    /// Compares with the fingerprint `found` of other words.
    ///
    /// # Errors
    /// [`CountsError::Different`] with the model type if it differs, else with the first option that
    /// differs.
    pub fn check_equal(&self, found: &Self) -> Result<(), CountsError> {
        // That words are of another kind says more than an option that one kind alone has.
        let kind = self.options.keys().filter(|name| *name == "model_type");
        for option in kind.chain(self.options.keys()).chain(found.options.keys()) {
            let (expected, found) = (self.options.get(option), found.options.get(option));
            if expected != found {
                return Err(CountsError::Different {
                    option: option.clone(),
                    expected: expected.cloned().unwrap_or_default(),
                    found: found.cloned().unwrap_or_default(),
                });
            }
        }
        Ok(())
    }

    /// Whether only a selection of the sentences was used.
    pub(super) fn is_of_selection(&self) -> bool {
        let selection = self.options.get(SELECTION);
        selection.is_some_and(|selection| selection != ALL_SENTENCES)
    }
}

impl fmt::Display for CountFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.options
            .iter()
            .try_for_each(|(name, value)| writeln!(f, "{name}={value}"))
    }
}

/// Which sentences are used.
fn selection(options: &TrainOptions) -> String {
    match options.sentences {
        SentenceSelection::All => ALL_SENTENCES.to_owned(),
        SentenceSelection::First(size) => format!("the first {size}"),
        SentenceSelection::Sample(size) => {
            let seed = options.random_seed.unwrap_or(DEFAULT_SEED);
            format!("a sample of {size} with the seed {seed}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_another_kind_are_named_as_such_whichever_came_first() {
        let words = CountFingerprint::from_text("add_dummy_prefix=true\nmodel_type=unigram");
        let pretokens = CountFingerprint::from_text("model_type=byte_bpe\npattern=gpt2");
        for (own, other) in [(&words, &pretokens), (&pretokens, &words)] {
            let error = own.check_equal(other).unwrap_err();
            let is_model_type =
                matches!(&error, CountsError::Different { option, .. } if option == "model_type");
            assert!(is_model_type, "{error}");
        }
    }
}
