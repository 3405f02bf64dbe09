//! The settings of the component `BertNormalizer`.

/// What is done to a text before it is cut into words: the component `BertNormalizer` of the library
/// tokenizers. The default is that of uncased BERT models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BertNormalizer {
    /// Whether control characters are removed and all white space becomes spaces.
    pub clean_text: bool,
    /// Whether each Chinese character is a word.
    pub handle_chinese_chars: bool,
    /// Whether accents are removed; `None` for the same as `lowercase`.
    pub strip_accents: Option<bool>,
    /// Whether letters become lower case.
    pub lowercase: bool,
}

impl Default for BertNormalizer {
    fn default() -> Self {
        Self {
            clean_text: true,
            handle_chinese_chars: true,
            strip_accents: None,
            lowercase: true,
        }
    }
}

impl BertNormalizer {
    /// No change at all.
    pub const NONE: Self = Self {
        clean_text: false,
        handle_chinese_chars: false,
        strip_accents: None,
        lowercase: false,
    };

    /// The default for models that tell upper and lower case.
    pub const CASED: Self = Self {
        clean_text: true,
        handle_chinese_chars: true,
        strip_accents: None,
        lowercase: false,
    };
}
