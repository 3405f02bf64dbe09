//! What a [`ByteBpe`](super::ByteBpe) is made of, as readers of files give it.

use std::collections::{HashMap, HashSet};

use crate::added::SpecialToken;
use crate::base::TextArena;
use crate::base::byte_chars::printable;
use crate::encode::bpe::merge_list::ListOrder;
use crate::pattern::Pretokenizer;

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
    /// Normalization form C of Unicode.
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
/// use spiece::{Pattern, Pretokenizer, Tokenizer, TokenizerConfig};
///
/// let bytes = (0..=255).map(|byte| vec![byte]);
/// let texts = bytes.chain([b"lo".to_vec(), b"low".to_vec()]);
/// let pattern = Pattern::named("gpt2").expect("a known pattern");
/// let mut parts = ByteBpeParts::new(Pretokenizer::of(pattern));
/// parts.tokens = (0..)
///     .zip(texts)
///     .map(|(id, bytes)| ByteToken { bytes: bytes.into(), id })
///     .collect();
/// let bpe = ByteBpe::new(parts)?;
/// let tokenizer = Tokenizer::from_pipeline(bpe, TokenizerConfig::default());
/// let ids = tokenizer.encode("low loan");
/// assert_eq!(ids[..3], [257, 32, 256]);
/// assert_eq!(tokenizer.decode(&ids)?, "low loan");
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
    /// The id of a token without bytes, which no text has: the vocabularies of Whisper have one.
    pub empty_token: Option<u32>,
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
            empty_token: None,
            pretokenizer,
            whole_pretokens_first: true,
            text_form: TextForm::AsIs,
            adds_prefix_space: false,
        }
    }

    /// Adds tokens in the order of a list of merges. Returns the positions of those that are left out:
    /// tokens that no text is merged to, and that special tokens stand for. tokenizers and GPT-2 have
    /// special tokens in the vocabulary, too.
    ///
    /// # Errors
    /// The index of a special token with the id of another token.
    pub(crate) fn add_in_order(
        &mut self,
        order: &ListOrder,
        texts: &TextArena,
        ids: &[u32],
    ) -> Result<HashSet<usize>, usize> {
        let special = self.special_tokens.iter().enumerate();
        let special: HashMap<u32, usize> = special.map(|(index, it)| (it.id, index)).collect();
        let mut left_out = HashSet::new();
        self.tokens.reserve(order.tokens.len());
        for (rank, at) in order.tokens.iter().enumerate() {
            let (bytes, id) = (texts.get(*at), ids[*at]);
            if let Some(index) = special.get(&id).copied() {
                let text = &self.special_tokens[index].text;
                let is_same = text.as_bytes() == bytes;
                // By rank, it would be merged if its bytes become two symbols.
                let is_found = rank < order.merging
                    || self.whole_pretokens_first && self.pretokenizer.may_cut_out(bytes);
                if !is_found && (is_same || *text == printable(bytes)) {
                    left_out.insert(*at);
                    continue;
                }
                if !is_same {
                    return Err(index);
                }
            }
            let bytes = bytes.into();
            self.tokens.push(ByteToken { bytes, id });
        }
        Ok(left_out)
    }
}
