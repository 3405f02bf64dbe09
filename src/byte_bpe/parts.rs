//! What a [`ByteBpe`](super::ByteBpe) is made of, as readers of files give it.

use crate::pattern::Pretokenizer;
use crate::special::SpecialToken;

/// A token that merging makes, or a single byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByteToken {
    /// Its bytes, which need not be UTF-8; not empty.
    pub bytes: Box<[u8]>,
    /// Its id. Ids may have gaps, but not be above [`ByteBpe::MAX_ID`](super::ByteBpe::MAX_ID).
    pub id: u32,
}

/// The form in which text is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum TextForm {
    /// As the caller gives it.
    #[default]
    AsIs,
    /// Normalization form C of Unicode. It needs the feature `nfc`.
    Nfc,
}

impl TextForm {
    /// A short name: `as_is` or `nfc`.
    pub fn name(self) -> &'static str {
        match self {
            Self::AsIs => "as_is",
            Self::Nfc => "nfc",
        }
    }
}

/// What a [`ByteBpe`](super::ByteBpe) is made of.
///
/// ```
/// use spiece::byte_bpe::{ByteBpe, ByteBpeParts, ByteToken};
/// use spiece::{Pattern, Pretokenizer};
///
/// let bytes = (0..=255).map(|byte| vec![byte]);
/// let texts = bytes.chain([b"lo".to_vec(), b"low".to_vec()]);
/// let pattern = Pattern::named("gpt2").expect("a known pattern");
/// let mut parts = ByteBpeParts::new(Pretokenizer::of(pattern));
/// parts.tokens = (0..)
///     .zip(texts)
///     .map(|(id, bytes)| ByteToken { bytes: bytes.into(), id })
///     .collect();
/// let tokenizer = ByteBpe::new(parts)?;
/// let ids = tokenizer.encode("low loan");
/// assert_eq!(ids[..3], [257.into(), 32.into(), 256.into()]);
/// assert_eq!(tokenizer.decode_to_bytes(&ids)?, b"low loan");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByteBpeParts {
    /// The tokens that merge, in the order of their ranks: the first one merges first. Every single
    /// byte is among them.
    pub tokens: Vec<ByteToken>,
    /// The special tokens. Several may have the same id, as in o200k_harmony, or the id of a token:
    /// it is then decoded to the token, or to the first of them.
    pub special_tokens: Vec<SpecialToken>,
    /// Cuts texts into pretokens.
    pub pretokenizer: Pretokenizer,
    /// Whether a pretoken that is a token as a whole is this token, before any merging: so in
    /// tiktoken, and in tokenizers with `ignore_merges`.
    pub whole_pretokens_first: bool,
    /// The form in which text is encoded.
    pub text_form: TextForm,
    /// Whether a space is put before each part of the text, between special tokens, that does not
    /// begin with one.
    pub adds_prefix_space: bool,
}

impl ByteBpeParts {
    /// No tokens, and everything else as in most vocabularies: text as it is, whole pretokens
    /// first, no space before the text.
    pub fn new(pretokenizer: Pretokenizer) -> Self {
        Self {
            tokens: Vec::new(),
            special_tokens: Vec::new(),
            pretokenizer,
            whole_pretokens_first: true,
            text_form: TextForm::AsIs,
            adds_prefix_space: false,
        }
    }
}
