//! A vocabulary of tokens, which is no SentencePiece model: byte-level BPE or WordPiece.
//!
//! The facade asks the same of both; each method calls that of the same name.

use std::ops::Range;

use crate::byte_bpe::{ByteBpe, ByteBpeError};
use crate::decode::Decoder;
use crate::encode::bpe::BpeCache;
use crate::piece::{PieceId, PieceKind};
use crate::special::{SpecialNames, SpecialSet, SpecialToken};
use crate::wordpiece::WordPiece;

/// See the [module page](self).
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "tables are boxed")]
pub(super) enum TokenVocabulary {
    Bytes(ByteBpe),
    Words(WordPiece),
}

/// Calls a method of either.
macro_rules! either {
    ($self:ident, $vocabulary:ident => $call:expr) => {
        match $self {
            Self::Bytes($vocabulary) => $call,
            Self::Words($vocabulary) => $call,
        }
    };
}

impl TokenVocabulary {
    pub(super) fn vocab_size(&self) -> usize {
        either!(self, vocabulary => vocabulary.vocab_size())
    }

    pub(super) fn id_to_bytes(&self, id: PieceId) -> Option<&[u8]> {
        either!(self, vocabulary => vocabulary.id_to_bytes(id))
    }

    pub(super) fn bytes_to_id(&self, text: impl AsRef<[u8]>) -> Option<PieceId> {
        either!(self, vocabulary => vocabulary.bytes_to_id(text))
    }

    pub(super) fn special_tokens(&self) -> &[SpecialToken] {
        either!(self, vocabulary => vocabulary.special_tokens())
    }

    /// The kinds of the tokens that are not normal.
    pub(super) fn kinds(&self) -> impl Iterator<Item = (u32, PieceKind)> {
        let unknown = match self {
            Self::Bytes(_) => None,
            Self::Words(words) => Some((words.unknown().get(), PieceKind::Unknown)),
        };
        let special = self
            .special_tokens()
            .iter()
            .map(|token| match token.special {
                true => (token.id, PieceKind::Control),
                false => (token.id, PieceKind::UserDefined),
            });
        // An unknown piece that is a special token can be allowed like the others.
        unknown.into_iter().chain(special)
    }

    pub(super) fn found_always(&self) -> &SpecialSet {
        either!(self, vocabulary => vocabulary.found_always())
    }

    pub(super) fn special_set_with(
        &self,
        allowed: &SpecialNames,
        finds_added: bool,
    ) -> Result<SpecialSet, ByteBpeError> {
        either!(self, vocabulary => vocabulary.special_set_with(allowed, finds_added))
    }

    pub(super) fn normalize(
        &self,
        text: &[u8],
        out: &mut Vec<u8>,
        origins: Option<&mut Vec<usize>>,
    ) {
        either!(self, vocabulary => vocabulary.normalize(text, out, origins));
    }

    #[inline]
    pub(super) fn encode_into(
        &self,
        text: &[u8],
        special: &SpecialSet,
        cache: &mut BpeCache,
        ids: &mut Vec<PieceId>,
    ) {
        either!(self, vocabulary => vocabulary.encode_into(text, special, cache, ids));
    }

    pub(super) fn encode_part(&self, part: &[u8], cache: &mut BpeCache, ids: &mut Vec<PieceId>) {
        either!(self, vocabulary => vocabulary.encode_part(part, cache, ids));
    }

    pub(super) fn encode_long_into(
        &self,
        text: &[u8],
        special: &SpecialSet,
        encode_parts: impl Fn(&[&[u8]]) -> Vec<PieceId>,
        ids: &mut Vec<PieceId>,
    ) {
        either!(self, vocabulary => vocabulary.encode_long_into(text, special, encode_parts, ids));
    }

    pub(super) fn for_each_token(
        &self,
        text: &[u8],
        special: &SpecialSet,
        cache: &mut BpeCache,
        on_token: impl FnMut(PieceId, Range<usize>),
    ) {
        match self {
            Self::Bytes(bpe) => bpe.for_each_token(text, special, cache, on_token),
            Self::Words(words) => words.for_each_token(text, special, on_token),
        }
    }

    pub(super) fn decoder(&self) -> Decoder {
        let ids = (0..self.vocab_size()).map(PieceId::from_index);
        match self {
            Self::Bytes(bpe) => Decoder::of_tokens(ids.map(|id| bpe.id_to_bytes(id))),
            Self::Words(words) => {
                let added = words.decoded_special_tokens();
                let piece = |id: PieceId| match added.get(&id) {
                    Some(text) => Some(text.as_deref()),
                    None => Some(Some(words.id_to_bytes(id)?)),
                };
                Decoder::of_words(ids.map(piece), words.decoding())
            }
        }
    }
}
