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
    /// Whether accents are removed.
    pub(crate) fn removes_accents(&self) -> bool {
        self.strip_accents.unwrap_or(self.lowercase)
    }

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

/// Whether a WordPiece piece has a letter that text in lower case never has. Pieces with a bracket at
/// their start, such as `[unused1]`, stand for no text.
pub(crate) fn has_capital(piece: &str) -> bool {
    !piece.starts_with('[') && piece.bytes().any(|byte| byte.is_ascii_uppercase())
}
