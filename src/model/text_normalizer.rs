//! A normalizer without a tokenizer: from a model, built-in rules, a file of rules or a list of
//! rules.
//!
//! User-defined symbols are ignored; for the normalization that encoding uses, see
//! [`Tokenizer::normalize`](crate::Tokenizer::normalize).

#[cfg(feature = "train")]
pub(crate) mod rules;

use crate::base::lossy_string;
use crate::normalize::Normalizer;

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
