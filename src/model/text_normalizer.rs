//! A normalizer without a tokenizer: from a model, built-in rules, a file of rules or a list of
//! rules.
//!
//! Input: text. Output: normalized text and, on request, offsets in both directions. User-defined
//! symbols are ignored; for the normalization that encoding uses, see
//! [`Tokenizer::normalize`](crate::Tokenizer::normalize).

#[cfg(feature = "train")]
use std::error::Error;
#[cfg(feature = "train")]
use std::sync::Arc;

use crate::base::lossy_string;
#[cfg(feature = "train")]
use crate::model::ModelError;
use crate::normalize::Normalizer;
#[cfg(feature = "train")]
use crate::normalize::NormalizerOptions;
#[cfg(feature = "train")]
use crate::normalize::charsmap::{Charsmap, builtin_charsmap, compile};
#[cfg(feature = "train")]
use crate::normalize::rules::{BUILTIN_NAMES, Rules, parse_tsv};

/// Normalizes text without encoding it.
#[derive(Debug, Clone)]
pub struct TextNormalizer {
    normalizer: Normalizer,
}

impl TextNormalizer {
    /// Makes `normalizer` available to callers of the library.
    pub(crate) fn from_normalizer(normalizer: Normalizer) -> Self {
        Self { normalizer }
    }

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
    #[cfg(feature = "train")]
    pub fn named(name: &str) -> Result<Self, ModelError> {
        Self::new(named_charsmap(name)?)
    }

    /// A normalizer with the rules of a TSV file. Each line has the code points of the source in
    /// hexadecimal, a tab, and the code points of the replacement.
    ///
    /// # Errors
    /// A line is not a rule, or the rules cannot be compiled.
    #[cfg(feature = "train")]
    pub fn from_tsv(file: &[u8]) -> Result<Self, ModelError> {
        Self::new(&charsmap_of_tsv(file)?)
    }

    #[cfg(feature = "train")]
    fn new(charsmap: &[u8]) -> Result<Self, ModelError> {
        Charsmap::shared(charsmap)
            .map(Self::with_rules)
            .map_err(refuse)
    }

    /// The normalizer with these rules and default options.
    #[cfg(feature = "train")]
    fn with_rules(rules: Option<Arc<Charsmap>>) -> Self {
        Self {
            normalizer: Normalizer::new(NormalizerOptions::default(), rules),
        }
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
    #[cfg(feature = "train")]
    pub fn from_rules<S: AsRef<str>, T: AsRef<str>>(
        rules: impl IntoIterator<Item = (S, T)>,
    ) -> Result<Self, ModelError> {
        Self::new(&charsmap_of_rules(rules)?)
    }

    /// Sets whether one space is added before the text (default: true).
    pub fn set_add_dummy_prefix(&mut self, add: bool) {
        self.normalizer.options.add_dummy_prefix = add;
    }

    /// Sets whether spaces at the start and the end and repeated spaces are removed (default:
    /// true).
    pub fn set_remove_extra_whitespaces(&mut self, remove: bool) {
        self.normalizer.options.remove_extra_whitespaces = remove;
    }

    /// Sets whether spaces are written as U+2581 (default: true).
    pub fn set_escape_whitespaces(&mut self, escape: bool) {
        self.normalizer.options.escape_whitespaces = escape;
    }

    /// The normalized text.
    pub fn normalize(&self, text: impl AsRef<[u8]>) -> String {
        lossy_string(&self.normalizer.normalized(text.as_ref()))
    }

    /// The normalized text with the offsets of its bytes in `text`.
    pub fn normalize_with_offsets(&self, text: impl AsRef<[u8]>) -> Normalized {
        let mut normalized = Normalized {
            text: Vec::new(),
            origins: Vec::new(),
        };
        let Normalized { text: out, origins } = &mut normalized;
        self.normalizer
            .normalize_with_offsets(text.as_ref(), out, origins);
        normalized
    }
}

/// The compiled built-in rules with this name.
#[cfg(feature = "train")]
pub(crate) fn named_charsmap(name: &str) -> Result<&'static [u8], ModelError> {
    builtin_charsmap(name)
        .ok_or_else(|| unknown_name(name))?
        .map_err(refuse)
}

/// The compiled rules of a list of pairs.
#[cfg(feature = "train")]
pub(crate) fn charsmap_of_rules<S: AsRef<str>, T: AsRef<str>>(
    rules: impl IntoIterator<Item = (S, T)>,
) -> Result<Vec<u8>, ModelError> {
    let pairs = rules.into_iter();
    let rules: Rules = pairs
        .map(|(source, target)| (code_points(source.as_ref()), code_points(target.as_ref())))
        .collect();
    compile(&rules).map_err(refuse)
}

#[cfg(feature = "train")]
fn code_points(text: &str) -> Vec<u32> {
    text.chars().map(u32::from).collect()
}

/// The compiled rules of a TSV file.
#[cfg(feature = "train")]
pub(crate) fn charsmap_of_tsv(file: &[u8]) -> Result<Vec<u8>, ModelError> {
    compile(&parse_tsv(file).map_err(refuse)?).map_err(refuse)
}

/// The error for a name that no built-in rules have.
#[cfg(feature = "train")]
fn unknown_name(name: &str) -> ModelError {
    refuse(format!(
        "there are no rules {name:?}; use {}",
        BUILTIN_NAMES.join(", ")
    ))
}

#[cfg(feature = "train")]
fn refuse(problem: impl Into<Box<dyn Error + Send + Sync>>) -> ModelError {
    ModelError::Charsmap {
        field: "normalization rules",
        source: problem.into(),
    }
}

/// A normalized text and the origin of each of its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Normalized {
    pub(crate) text: Vec<u8>,
    pub(crate) origins: Vec<usize>,
}

impl Normalized {
    /// The normalized text. It is UTF-8 unless the charsmap of a damaged model has a malformed
    /// replacement.
    pub fn as_bytes(&self) -> &[u8] {
        &self.text
    }

    /// The offset in the original text that the normalized byte at `offset` comes from; for the end
    /// of the normalized text, the end of the original text without trailing spaces that were
    /// removed.
    pub fn to_original(&self, offset: usize) -> usize {
        let origin = self.origins.get(offset).or(self.origins.last());
        origin.copied().unwrap_or(0)
    }

    /// The offset of the first normalized byte that comes from the original byte at `offset` or
    /// from a later one.
    pub fn from_original(&self, offset: usize) -> usize {
        self.origins
            .partition_point(|origin| *origin < offset)
            .min(self.text.len())
    }
}

#[cfg(all(test, feature = "train"))]
mod tests {
    use super::TextNormalizer;

    #[test]
    fn offsets_map_in_both_directions() {
        let normalizer = TextNormalizer::named("nfkc").unwrap();
        let text = " ㍿ a";
        let normalized = normalizer.normalize_with_offsets(text);
        assert_eq!(normalized.as_bytes(), "▁株式会社▁a".as_bytes());
        assert_eq!(normalized.to_original(3), 1);
        assert_eq!(normalized.to_original(3 + 12), 4);
        assert_eq!(normalized.to_original(3 + 12 + 3 + 1), text.len());
        assert_eq!(normalized.from_original(1), 0);
        assert_eq!(normalized.from_original(4), 3 + 12);
        assert_eq!(normalized.from_original(99), normalized.as_bytes().len());
        assert!(TextNormalizer::named("none").is_err());
        assert!(TextNormalizer::from_tsv(b"x").is_err());
        assert_eq!(
            TextNormalizer::from_tsv(b"61\t62\n")
                .unwrap()
                .normalize("a"),
            "▁b"
        );
    }
}
