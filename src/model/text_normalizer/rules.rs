//! Normalizers of built-in rules, of a file of rules and of a list of rules.

use std::error::Error;

use super::TextNormalizer;
use crate::model::ModelError;
use crate::normalize::charsmap::{Charsmap, builtin_charsmap, compile};
use crate::normalize::rules::{BUILTIN_NAMES, Rules, parse_tsv};
use crate::normalize::{Normalizer, NormalizerOptions};

impl TextNormalizer {
    /// A normalizer with built-in rules: identity, nfkc, nmt_nfkc, nfkc_cf or nmt_nfkc_cf.
    ///
    /// ```
    /// let mut normalizer = spiece::TextNormalizer::named("nfkc")?;
    /// normalizer.set_add_dummy_prefix(false);
    /// normalizer.set_escape_whitespaces(false);
    /// assert_eq!(normalizer.normalize("  ＡＢＣ  ½ "), "ABC 1⁄2");
    /// # Ok::<(), spiece::ModelError>(())
    /// ```
    ///
    /// # Errors
    /// There are no rules with this name.
    pub fn named(name: &str) -> Result<Self, ModelError> {
        Self::new(named_charsmap(name)?)
    }

    /// A normalizer with the rules of a TSV file. Each line has the code points of the source in
    /// hexadecimal, a tab, and the code points of the replacement.
    ///
    /// # Errors
    /// A line is not a rule, or the rules cannot be compiled.
    pub fn from_tsv(file: &[u8]) -> Result<Self, ModelError> {
        Self::new(&charsmap_of_tsv(file)?)
    }

    fn new(charsmap: &[u8]) -> Result<Self, ModelError> {
        let rules = Charsmap::shared(charsmap).map_err(refuse)?;
        let normalizer = Normalizer::new(NormalizerOptions::default(), rules);
        Ok(Self::from_normalizer(normalizer))
    }

    /// A normalizer with a list of rules: pairs of a source and its replacement. If two pairs have
    /// the same source, the later one wins.
    ///
    /// ```
    /// let normalizer = spiece::TextNormalizer::from_rules([("foo", "bar"), ("apple", "orange")])?;
    /// assert_eq!(normalizer.normalize("foo apple"), "\u{2581}bar\u{2581}orange");
    /// # Ok::<(), spiece::ModelError>(())
    /// ```
    ///
    /// # Errors
    /// There are no pairs, a source is empty, a pair changes nothing, or the rules cannot be
    /// compiled.
    pub fn from_rules<S: AsRef<str>, T: AsRef<str>>(
        rules: impl IntoIterator<Item = (S, T)>,
    ) -> Result<Self, ModelError> {
        Self::new(&charsmap_of_rules(rules)?)
    }
}

/// The compiled built-in rules with this name.
pub(crate) fn named_charsmap(name: &str) -> Result<&'static [u8], ModelError> {
    builtin_charsmap(name)
        .ok_or_else(|| unknown_name(name))?
        .map_err(refuse)
}

/// The compiled rules of a list of pairs.
pub(crate) fn charsmap_of_rules<S: AsRef<str>, T: AsRef<str>>(
    rules: impl IntoIterator<Item = (S, T)>,
) -> Result<Vec<u8>, ModelError> {
    let pairs = rules.into_iter();
    let rules: Rules = pairs
        .map(|(source, target)| (code_points(source.as_ref()), code_points(target.as_ref())))
        .collect();
    compile(&rules).map_err(refuse)
}

fn code_points(text: &str) -> Vec<u32> {
    text.chars().map(u32::from).collect()
}

/// The compiled rules of a TSV file.
pub(crate) fn charsmap_of_tsv(file: &[u8]) -> Result<Vec<u8>, ModelError> {
    compile(&parse_tsv(file).map_err(refuse)?).map_err(refuse)
}

/// The error for a name that no built-in rules have.
fn unknown_name(name: &str) -> ModelError {
    refuse(format!(
        "there are no rules {name:?}; use {}",
        BUILTIN_NAMES.join(", ")
    ))
}

fn refuse(problem: impl Into<Box<dyn Error + Send + Sync>>) -> ModelError {
    ModelError::Charsmap {
        field: "normalization rules",
        source: problem.into(),
    }
}
