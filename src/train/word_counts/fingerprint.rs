//! The options that word counts depend on.
//!
//! Input: the options of a trainer. Output: names and values as text. If they are equal, the words
//! of every sentence and the choice of sentences are equal.
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
//! Example: `split_digits=true` divides `▁42` into `▁`, `4` and `2`; a table that was counted
//! without it has the word `▁42`, and the comparison names `split_digits`.

use std::collections::BTreeMap;
use std::fmt;

use crate::error::CountsError;
use crate::model::ModelType;
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
/// use spiece::{CountFingerprint, TrainOptions, Trainer};
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
    pub(super) fn of(trainer: &Trainer) -> Self {
        let options = &trainer.options;
        let mut parts = BTreeMap::new();
        let mut set = |name: &str, value: String| {
            parts.insert(name.to_owned(), value.escape_default().to_string());
        };
        set("counting_rules", RULES_VERSION.to_owned());
        set("model_type", counted_type(options).to_owned());
        set(SELECTION, selection(options));
        set("normalization_rules", trainer.specs.rules_digest());
        set("special_pieces", special_pieces(trainer));
        // All lengths of two or more divide text at the same places.
        let length = options.max_sentencepiece_length.min(2);
        set("max_sentencepiece_length", length.to_string());
        // Functions cannot be compared: the caller must set the same function everywhere.
        set(
            "has_pretokenizer",
            trainer.pretokenizer.is_some().to_string(),
        );
        set(
            "allow_inconsistent_pretokenization",
            trainer.allow_inconsistent_pretokenization.to_string(),
        );
        for (name, value) in options.that_words_depend_on() {
            set(name, value);
        }
        Self { options: parts }
    }

    /// Reads the text form. Any text is accepted: lines that no trainer writes make the fingerprint
    /// different from those of all trainers.
    pub fn from_text(text: &str) -> Self {
        Self {
            options: text.lines().map(parse_line).collect(),
        }
    }

    /// Compares with the fingerprint `found` of other words.
    ///
    /// # Errors
    /// [`CountsError::Different`] with the first option that differs.
    pub fn check_equal(&self, found: &Self) -> Result<(), CountsError> {
        match self.first_difference(found) {
            Some(option) => Err(CountsError::Different {
                option: option.to_owned(),
                expected: self.value(option),
                found: found.value(option),
            }),
            None => Ok(()),
        }
    }

    /// The first option that differs from that of `other`.
    fn first_difference<'f>(&'f self, other: &'f Self) -> Option<&'f str> {
        let mut names = self.options.keys().chain(other.options.keys());
        let differs = |name: &&String| self.options.get(*name) != other.options.get(*name);
        names.find(differs).map(String::as_str)
    }

    /// The value of an option; empty if there is none.
    fn value(&self, option: &str) -> String {
        self.options.get(option).cloned().unwrap_or_default()
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

/// The name and the value of a line of the text form.
fn parse_line(line: &str) -> (String, String) {
    let (name, value) = line.split_once('=').unwrap_or((line, ""));
    (name.to_owned(), value.to_owned())
}

/// The model types that the words can be used for.
fn counted_type(options: &TrainOptions) -> &'static str {
    match options.model_type {
        ModelType::Word => "word",
        ModelType::Unigram => "unigram",
        ModelType::Bpe | ModelType::Char => "bpe or char",
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

/// The texts that no word crosses, except byte pieces, in the order of their bytes.
fn special_pieces(trainer: &Trainer) -> String {
    let mut texts: Vec<_> = trainer.meta.texts_without_bytes().collect();
    texts.sort();
    texts.join("\n")
}
