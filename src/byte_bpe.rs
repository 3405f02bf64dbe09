//! Byte-level BPE: the vocabularies of GPT, Llama 3, Qwen, DeepSeek and Mistral.
//!
//! Tokens are byte strings. A text is encoded in these steps, which are those of a
//! [`Pipeline`](crate::pipeline::Pipeline):
//!
//! 1. Special tokens that the caller allows are cut out; without an allowance their text is
//!    ordinary text.
//! 2. What remains is normalized (NFC, in few vocabularies), and gets a space before it, in few.
//! 3. A pattern cuts it into pretokens ([`Pretokenizer`]).
//! 4. Each pretoken is looked up as a whole, if the vocabulary asks for it; otherwise its bytes are
//!    merged by rank.
//!
//! Every byte is a token, so every text can be encoded, and unless the text is normalized or gets a
//! space, or the pattern leaves bytes out, decoding gives the same bytes, well-formed UTF-8 or not.
//!
//! A [`ByteBpe`] is the content of such a vocabulary: what is trained, extended, merged, pruned and
//! written. A [`Tokenizer`](crate::Tokenizer) of it encodes and decodes.
//!
//! Example: `low<|end|>` with the special token allowed is `low` and `<|end|>`; without, `<|end|>`
//! is cut into the pretokens `<|`, `end` and `|>` by the pattern of GPT-2.

pub(crate) mod error;
pub(crate) mod parts;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::Arc;

use unicode_normalization_alignments::UnicodeNormalization;

pub use self::error::ByteBpeError;
pub use self::parts::{ByteBpeParts, ByteToken, TextForm};
pub use crate::added::SpecialToken;
use crate::added::{AddedTokens, AddedTokensError, Search};
use crate::base::TextArena;
use crate::decode::DecodeError;
use crate::encode::bpe::BpeCache;
use crate::encode::bpe::bytes::{ByteEncoder, ByteTokensError};
use crate::pattern::Pretokenizer;
use crate::piece::{MAX_PIECES, MAX_TEXT_BYTES, PieceId, PieceKind, PieceTable};

/// A byte-level vocabulary; see the [module page](self).
///
/// [`ByteBpeParts`] has an example.
#[derive(Debug, Clone)]
pub struct ByteBpe {
    encoder: Arc<ByteEncoder>,
    pretokenizer: Pretokenizer,
    text_form: TextForm,
    adds_prefix_space: bool,
    added: Arc<AddedTokens>,
    /// The bytes of each id; empty for ids without a token.
    texts: TextArena,
    empty_token: Option<PieceId>,
}

impl ByteBpe {
    /// The highest id that a token may have. Known vocabularies have ids below 2^18; the limit
    /// bounds the memory of a vocabulary with gaps.
    pub const MAX_ID: u32 = (1 << 24) - 1;

    /// A tokenizer of these parts.
    ///
    /// # Errors
    /// The tokens are no vocabulary; see the variants of [`ByteBpeError`].
    pub fn new(parts: ByteBpeParts) -> Result<Self, ByteBpeError> {
        let ByteBpeParts {
            tokens,
            special_tokens,
            empty_token,
            pretokenizer,
            whole_pretokens_first,
            text_form,
            adds_prefix_space,
        } = parts;
        if tokens.len() > MAX_PIECES {
            return Err(ByteBpeError::TooManyTokens {
                tokens: tokens.len(),
            });
        }
        let bytes = tokens.iter().map(|token| token.bytes.len()).sum();
        if bytes > MAX_TEXT_BYTES {
            return Err(ByteBpeError::TooManyBytes { bytes });
        }
        let texts = texts_by_id(&tokens, empty_token, &special_tokens)?;
        let mut special_texts = HashSet::with_capacity(special_tokens.len());
        for token in &special_tokens {
            if !special_texts.insert(&token.text[..]) {
                let text = token.text.clone();
                return Err(ByteBpeError::RepeatedSpecial { text });
            }
        }
        let mut table = PieceTable::with_capacity(tokens.len(), bytes);
        for token in &tokens {
            table.push(&token.bytes, 0.0, PieceKind::Normal);
        }
        let ids = tokens.iter().map(|token| PieceId::new(token.id)).collect();
        let encoder = ByteEncoder::new(table, ids, whole_pretokens_first);
        let encoder = encoder.map_err(|error| match error {
            ByteTokensError::NoToken(byte) => ByteBpeError::MissingByte { byte },
            ByteTokensError::Repeated(index) => ByteBpeError::RepeatedToken {
                bytes: tokens[index].bytes.clone(),
                id: tokens[index].id,
            },
        })?;
        let added = AddedTokens::new(special_tokens, Search::Found, |text| {
            Ok::<_, AddedTokensError>(in_form(text_form, text))
        })?;
        Ok(Self {
            encoder: Arc::new(encoder),
            pretokenizer,
            text_form,
            adds_prefix_space,
            added: Arc::new(added),
            texts,
            empty_token: empty_token.map(PieceId::new),
        })
    }

    /// The number of ids: one more than the highest. Some of them may have no token.
    pub fn vocab_size(&self) -> usize {
        self.texts.len()
    }

    /// The bytes of a token, or the text of a special token; `None` if no token has the id.
    pub fn id_to_bytes(&self, id: PieceId) -> Option<&[u8]> {
        let is_in_range = id.index() < self.texts.len();
        let bytes = is_in_range.then(|| self.texts.get(id.index()))?;
        let is_token = !bytes.is_empty() || self.empty_token == Some(id);
        is_token.then_some(bytes)
    }

    /// The id of the token without bytes.
    pub(crate) fn empty_token(&self) -> Option<PieceId> {
        self.empty_token
    }

    /// The id of the token with these bytes; if none merges to them, that of the special token with
    /// this text.
    pub fn bytes_to_id(&self, bytes: impl AsRef<[u8]>) -> Option<PieceId> {
        let bytes = bytes.as_ref();
        if bytes.is_empty() {
            return self.empty_token;
        }
        let special = || {
            let id = self.added.id(std::str::from_utf8(bytes).ok()?);
            id.map(PieceId::new)
        };
        self.encoder.id_of(bytes).or_else(special)
    }

    /// The special tokens, in the order in which they were given.
    pub fn special_tokens(&self) -> &[SpecialToken] {
        self.added.tokens()
    }

    /// The special tokens, ready to be searched for.
    pub(crate) fn added_tokens(&self) -> &Arc<AddedTokens> {
        &self.added
    }

    /// What merges bytes.
    pub(crate) fn encoder(&self) -> &Arc<ByteEncoder> {
        &self.encoder
    }

    /// The pretokenizer.
    pub fn pretokenizer(&self) -> &Pretokenizer {
        &self.pretokenizer
    }

    /// The parts of which [`new`](Self::new) makes the same tokenizer. All tokens are copied.
    pub fn parts(&self) -> ByteBpeParts {
        let tokens = self.tokens().map(|(bytes, id)| ByteToken {
            bytes: bytes.into(),
            id: id.get(),
        });
        ByteBpeParts {
            tokens: tokens.collect(),
            special_tokens: self.special_tokens().to_vec(),
            empty_token: self.empty_token.map(PieceId::get),
            pretokenizer: self.pretokenizer.clone(),
            whole_pretokens_first: self.looks_up_pretokens(),
            text_form: self.text_form,
            adds_prefix_space: self.adds_prefix_space,
        }
    }

    /// The tokens and their ids, in the order of the ranks.
    pub(crate) fn tokens(&self) -> impl ExactSizeIterator<Item = (&[u8], PieceId)> {
        self.encoder.tokens()
    }

    /// For each token, by rank, the ranks of the two tokens that merge to it, the same two in every
    /// text; `None` for single bytes and for tokens that no text is merged to. It costs
    /// merging each token.
    pub(crate) fn last_merges(&self) -> Vec<Option<[u32; 2]>> {
        self.encoder.last_merges()
    }

    /// Whether a pretoken that is a token as a whole is this token, before any merging.
    pub fn looks_up_pretokens(&self) -> bool {
        self.encoder.whole_pretokens_first()
    }

    /// The form in which text is encoded.
    pub fn text_form(&self) -> TextForm {
        self.text_form
    }

    /// Whether a text is in the form in which text is encoded.
    pub(crate) fn is_in_form(&self, text: &str) -> bool {
        in_form(self.text_form, text) == text
    }

    /// Whether a space is put before texts that do not begin with one.
    pub fn adds_prefix_space(&self) -> bool {
        self.adds_prefix_space
    }

    /// The ids that merging gives for bytes that are one pretoken, whether they are a token as a whole
    /// or not.
    ///
    /// Cost: merging by a heap, without a cache.
    pub fn merge_pretoken(&self, pretoken: impl AsRef<[u8]>) -> Vec<PieceId> {
        self.encoder.merge_alone(pretoken.as_ref())
    }

    /// Appends the ids of one pretoken.
    pub(crate) fn encode_pretoken(
        &self,
        pretoken: &[u8],
        cache: &mut BpeCache,
        ids: &mut Vec<PieceId>,
    ) {
        self.encoder.encode_whole(pretoken, cache, ids);
    }

    /// The bytes of ids, those of special tokens included.
    ///
    /// # Errors
    /// No token has one of the ids.
    pub fn decode_to_bytes(&self, ids: &[PieceId]) -> Result<Vec<u8>, DecodeError> {
        let mut bytes = Vec::with_capacity(ids.len() * 4);
        for id in ids {
            let pieces = self.vocab_size();
            let token = self
                .id_to_bytes(*id)
                .ok_or(DecodeError::NoPiece { id: *id, pieces })?;
            bytes.extend_from_slice(token);
        }
        Ok(bytes)
    }
}

/// A text in the form of a vocabulary.
fn in_form(form: TextForm, text: &str) -> String {
    match form {
        TextForm::AsIs => text.to_owned(),
        TextForm::Nfc => text.nfc().map(|(c, _)| c).collect(),
    }
}

/// The bytes of each id, empty for ids without a token.
fn texts_by_id(
    tokens: &[ByteToken],
    empty_token: Option<u32>,
    special: &[SpecialToken],
) -> Result<TextArena, ByteBpeError> {
    if let Some(empty) = tokens.iter().find(|token| token.bytes.is_empty()) {
        return Err(ByteBpeError::EmptyToken { id: empty.id });
    }
    let cannot_be_found =
        |token: &&SpecialToken| token.text.is_empty() || token.text.contains('\0');
    if let Some(token) = special.iter().find(cannot_be_found) {
        return Err(ByteBpeError::SpecialText { id: token.id });
    }
    let tokens = tokens.iter().map(|token| (token.id, &token.bytes[..]));
    let empty = empty_token.map(|id| (id, &[][..]));
    let mut by_id: Vec<(u32, &[u8])> = tokens.chain(empty).collect();
    by_id.sort_unstable_by_key(|(id, _)| *id);
    if let Some(pair) = by_id.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(ByteBpeError::RepeatedId { id: pair[0].0 });
    }
    let special = special.iter();
    by_id.extend(special.map(|token| (token.id, token.text.as_bytes())));
    // The sort is stable: of those with one id, the first one is decoded.
    by_id.sort_by_key(|(id, _)| *id);
    by_id.dedup_by_key(|(id, _)| *id);
    let highest = by_id.last().map_or(0, |(id, _)| *id);
    if highest > ByteBpe::MAX_ID {
        return Err(ByteBpeError::IdTooLarge { id: highest });
    }
    Ok(TextArena::by_id(&by_id))
}
