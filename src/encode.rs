//! Normalized text to ids: one encoder for each type of model.
//!
//! BPE, unigram and char models give one unknown id for each unknown character, word models one for
//! each unknown word. The span of each id therefore follows from the ids alone. The
//! [`tokenizer`](crate::tokenizer) replaces unknown ids by byte pieces, or joins them.
//!
//! Example: the BPE model of Llama 2 splits `▁Hello,▁world` into `▁Hello` `,` `▁world`, a word
//! model into `▁Hello,` and `▁world`, a char model into 13 characters.
//!
//! Encoding is linear in the text; the modules name the exceptions. Each worker has an
//! [`EncodeState`] with the buffers and caches of the encoder. The size of the caches is bounded.

pub(crate) mod bpe;
mod bigrams;
mod bloom_filter;
mod char;
pub(crate) mod chunk_cache;
mod error;
pub(crate) mod encoded_lines;
pub(crate) mod unigram;
pub(crate) mod vocabulary;
mod word;

use std::sync::Arc;

use self::bpe::{BpeCache, BpeEncoder};
use self::char::CharEncoder;
pub use self::error::EncodeError;
use self::unigram::{UnigramCache, UnigramEncoder};
use self::vocabulary::Vocabulary;
use self::word::WordEncoder;
use crate::base::char_length;
use crate::model::{Model, ModelType};
use crate::piece::{PieceId, PieceTable};
use crate::trie::TrieTooLarge;
use crate::trie::prefix::{KeyScopes, PrefixTrie};

/// The encoder of a model, by its type.
#[derive(Debug)]
pub(crate) enum ModelEncoder {
    Bpe(Box<BpeEncoder>),
    Unigram(UnigramEncoder),
    Word(WordEncoder),
    Char(CharEncoder),
}

/// Buffers and caches of one worker. Only those of the model's type are used.
#[derive(Debug, Default)]
pub(crate) struct EncodeState {
    pub(crate) bpe: BpeCache,
    pub(crate) unigram: UnigramCache,
}

impl EncodeState {
    /// A state whose caches use at most `max_bytes`.
    pub(crate) fn with_max_bytes(max_bytes: usize) -> Self {
        Self {
            bpe: BpeCache::with_max_bytes(max_bytes),
            unigram: UnigramCache::with_max_bytes(max_bytes),
        }
    }

    /// The bytes of memory in use.
    pub(crate) fn memory_usage(&self) -> usize {
        self.bpe.size_bytes() + self.unigram.size_bytes()
    }
}

impl ModelEncoder {
    /// The encoder of a model, and its user-defined symbols. If `has_symbols` is false, there are
    /// none, and their texts are ordinary text.
    pub(crate) fn new(
        model: &Model,
        has_symbols: bool,
    ) -> Result<(Self, Arc<PrefixTrie>), TrieTooLarge> {
        let vocabulary = Vocabulary::new(model, has_symbols);
        let symbols = Arc::new(PrefixTrie::with_values(vocabulary.symbols())?);
        let encoder = match model.model_type() {
            ModelType::Bpe => {
                Self::Bpe(Box::new(BpeEncoder::new(&vocabulary, Arc::clone(&symbols))))
            }
            ModelType::Unigram => Self::Unigram(UnigramEncoder::new(&vocabulary)?),
            ModelType::Word => Self::Word(WordEncoder::new(&vocabulary)),
            ModelType::Char => Self::Char(CharEncoder::new(&vocabulary, Arc::clone(&symbols))),
        };
        Ok((encoder, symbols))
    }

    /// Appends the ids of `text`. `pieces` is the piece table of the model.
    pub(crate) fn encode(
        &self,
        pieces: &PieceTable,
        text: &[u8],
        state: &mut EncodeState,
        out: &mut Vec<PieceId>,
    ) {
        match self {
            Self::Bpe(bpe) => bpe.encode(pieces, text, &mut state.bpe, out),
            Self::Unigram(unigram) => unigram.encode(text, &mut state.unigram, out),
            Self::Word(word) => word.encode(pieces, text, out),
            Self::Char(char) => char.encode(pieces, text, out),
        }
    }

    /// Appends the ids of `text`, in which user-defined symbols are found only in the scopes.
    /// `without_symbols` is the encoder of the same model without them, and `state` is its state.
    ///
    /// Unigram models choose among all paths, so symbols out of scope are left out of the search. In
    /// the other models a symbol stands alone: the text between symbols has the ids that it has by
    /// itself without symbols.
    pub(crate) fn encode_with_symbols_in(
        &self,
        without_symbols: &Self,
        (text, scopes): (&[u8], &KeyScopes),
        pieces: &PieceTable,
        state: &mut EncodeState,
        out: &mut Vec<PieceId>,
    ) {
        let symbols = match self {
            Self::Bpe(bpe) => bpe.symbols(),
            Self::Char(char) => char.symbols(),
            Self::Word(word) => return word.encode_with_symbols_in(text, scopes, pieces, out),
            Self::Unigram(unigram) => {
                return unigram.encode_with_symbols_in(text, scopes, &mut state.unigram, out);
            }
        };
        let (mut start, mut at) = (0, 0);
        while at < text.len() {
            let searched = &text[at..scopes.end_of(at).unwrap_or(at)];
            let Some((length, id)) = symbols.longest_with_value(searched) else {
                at += char_length(&text[at..]);
                continue;
            };
            without_symbols.encode(pieces, &text[start..at], state, out);
            out.push(PieceId::new(id));
            at += length;
            start = at;
        }
        without_symbols.encode(pieces, &text[start..], state, out);
    }

    /// Positions at which normalized text can be divided: the parts have the ids of the whole, apart
    /// from unknown ids that are joined. Whether there is a boundary depends on the characters before
    /// and after it alone.
    pub(crate) fn boundaries(&self, text: &[u8]) -> Vec<usize> {
        match self {
            Self::Bpe(bpe) => bpe.find_boundaries::<false>(text, 1),
            Self::Unigram(unigram) => unigram.boundaries(text),
            Self::Word(_) => WordEncoder::boundaries(text),
            Self::Char(char) => char.boundaries(text),
        }
    }

    /// Appends the ids of `text` after a [boundary](Self::boundaries), before which the scores of a
    /// unigram model add up to `sum`. Returns the sum after it.
    pub(crate) fn encode_from(
        &self,
        pieces: &PieceTable,
        (text, sum): (&[u8], f32),
        state: &mut EncodeState,
        out: &mut Vec<PieceId>,
    ) -> f32 {
        if let Self::Unigram(unigram) = self {
            return unigram.encode_from(text, sum, &mut state.unigram, out);
        }
        self.encode(pieces, text, state, out);
        sum
    }

    /// Whether the encoder can encode raw text directly, provided that normalization only replaces
    /// spaces by whitespace marks and malformed bytes by U+FFFD.
    pub(crate) fn reads_raw_text(&self) -> bool {
        matches!(self, Self::Bpe(bpe) if bpe.accepts_raw_text())
    }

    /// The length of the part of `rest` that an unknown id at its start covers.
    pub(crate) fn unknown_length(&self, rest: &[u8]) -> usize {
        match self {
            Self::Word(_) => WordEncoder::word_length(rest),
            _ => char_length(rest),
        }
    }

    /// The length of the part of `rest` that a piece of `length` bytes at its start covers. In a
    /// unigram model a piece that ends inside a character covers the whole character.
    #[inline]
    pub(crate) fn piece_length(&self, length: usize, rest: &[u8]) -> usize {
        match self {
            Self::Unigram(unigram) => unigram.whole_length(length, rest),
            _ => length,
        }
    }

    /// Whether [`piece_length`](Self::piece_length) can be more than the length of the piece.
    pub(crate) fn extends_pieces(&self) -> bool {
        matches!(self, Self::Unigram(unigram) if unigram.has_half_chars())
    }
}
