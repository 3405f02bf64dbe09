//! What a [`ByteBpe`](super::ByteBpe) is made of, as readers of files give it.

use crate::pattern::Pretokenizer;

/// A token that merging makes, or a single byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByteToken {
    /// Its bytes, which need not be UTF-8; not empty.
    pub bytes: Box<[u8]>,
    /// Its id. Ids may have gaps, but not be above [`ByteBpe::MAX_ID`](super::ByteBpe::MAX_ID).
    pub id: u32,
}

/// A token that is cut out of a text before anything else, if the caller allows it.
///
/// The last four properties are those of the added tokens of the library tokenizers. In all other
/// formats, special tokens are found as they are: all four are false.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecialToken {
    /// Its text; neither empty nor with a NUL.
    pub text: String,
    /// Its id.
    pub id: u32,
    /// Whether it is found only if the caller allows it. If not, it is found in every text.
    pub special: bool,
    /// Whether it is searched for in the normalized text, with its own text normalized; after
    /// those that are not.
    pub normalized: bool,
    /// Whether the white space before it belongs to it.
    pub lstrip: bool,
    /// Whether the white space after it belongs to it.
    pub rstrip: bool,
    /// Whether it is found only where no letter, mark, digit or underscore is next to it.
    pub single_word: bool,
}

impl SpecialToken {
    /// A token that is found as it is, if the caller allows it.
    pub fn new(text: impl Into<String>, id: u32) -> Self {
        Self {
            text: text.into(),
            id,
            special: true,
            normalized: false,
            lstrip: false,
            rstrip: false,
            single_word: false,
        }
    }
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
#[derive(Debug, Clone)]
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
