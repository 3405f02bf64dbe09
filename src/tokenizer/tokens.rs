//! The tokens of one text, as a view: with the texts of their pieces and their surfaces.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use super::Tokenizer;
use super::tables::Tables;
use super::token::{Token, TokenBuffer};
use crate::base::lossy_string;
use crate::piece::{PieceId, PieceKind};

/// The tokens of a text: a view of the buffers of an [`Encoder`](crate::Encoder) or
/// [`EncodeCache`](crate::EncodeCache), valid until the next text.
///
/// ```
/// # let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
/// let mut encoder = tokenizer.encoder();
/// let tokens = encoder.tokens("the right");
/// for token in tokens {
///     println!("{} {:?} {:?}", token.id(), token.span(), token.piece());
/// }
/// let second = tokens.get(1).expect("there are two words");
/// assert_eq!(second.piece(), "\u{2581}right".as_bytes());
/// assert_eq!(second.surface(), b" right");
/// # Ok::<(), spiece::OpenError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Tokens<'e> {
    pub(super) buffer: &'e TokenBuffer,
    pub(super) text: &'e [u8],
    pub(super) tokenizer: &'e Tokenizer,
    /// Whether unknown tokens have the unknown piece's text; see [`ExtraOption::UnkPiece`](super::ExtraOption::UnkPiece).
    pub(super) shows_unk_piece: bool,
}

/// One of the tokens of a text; from [`Tokens::get`] and [`Tokens::iter`].
#[derive(Clone, Copy)]
pub struct TokenRef<'e> {
    tokens: Tokens<'e>,
    token: Token,
    index: usize,
}

/// The iterator of [`Tokens::iter`].
#[derive(Debug, Clone)]
pub struct TokensIter<'e> {
    tokens: Tokens<'e>,
    indexes: Range<usize>,
}

impl<'e> Tokens<'e> {
    /// The tokens as plain data.
    #[inline]
    pub fn as_slice(&self) -> &'e [Token] {
        self.buffer.tokens()
    }

    /// The number of tokens.
    pub fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// Whether there are no tokens.
    pub fn is_empty(&self) -> bool {
        self.as_slice().is_empty()
    }

    /// The token at `index`, from 0.
    #[inline]
    pub fn get(&self, index: usize) -> Option<TokenRef<'e>> {
        let token = *self.as_slice().get(index)?;
        Some(TokenRef {
            tokens: *self,
            token,
            index,
        })
    }

    /// The ids.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = PieceId> + use<'e> {
        self.as_slice().iter().map(|token| token.id)
    }

    /// The tokens, each with its piece and surface.
    pub fn iter(&self) -> TokensIter<'e> {
        TokensIter {
            tokens: *self,
            indexes: 0..self.len(),
        }
    }
}

impl<'e> TokenRef<'e> {
    /// The id of the piece.
    #[inline]
    pub fn id(&self) -> PieceId {
        self.token.id
    }

    /// The [piece](Self::piece) in [printable](Tokenizer::printable_piece) characters.
    pub fn printable_piece(&self) -> Cow<'e, [u8]> {
        self.tokens.tokenizer.printable_piece(self.piece())
    }

    /// The bytes of the caller's text that the token stands for. With byte fallback, all bytes of a
    /// character except the last have an empty span, as in the reference.
    #[inline]
    pub fn span(&self) -> Range<usize> {
        self.token.begin..self.token.end
    }

    /// The token as plain data.
    pub fn token(&self) -> Token {
        self.token
    }

    /// The text of the piece. For an unknown token this is the normalized text that it stands for,
    /// unless [`ExtraOption::UnkPiece`](crate::ExtraOption::UnkPiece) is given. In n-best lists and samples of a unigram model, a
    /// piece that ends inside a character has the text of the whole character, as in the reference.
    /// It is UTF-8 if the pieces of the model are.
    #[inline]
    pub fn piece(&self) -> &'e [u8] {
        let model = match &self.tokens.tokenizer.tables {
            Tables::Model(tables) => tables.model(),
            #[cfg(feature = "formats")]
            Tables::Pipeline(tables) => {
                let piece = || tables.text_of(self.id());
                return self.own_text().or_else(piece).unwrap_or_default();
            }
        };
        match model.piece(self.id()) {
            Some(piece) if piece.kind != PieceKind::Unknown => self.known_text(piece.text),
            Some(piece) if self.tokens.shows_unk_piece => piece.text,
            _ => self.own_text().unwrap_or_default(),
        }
    }

    /// The number of the part that the pre-tokenizer made and that the token belongs to, from 0; an
    /// added token is a part. `None` for tokens around the text, and for models without parts.
    pub fn word(&self) -> Option<u32> {
        self.tokens.buffer.word(self.index)
    }

    /// The text of a known piece, whose text in the model is `text`.
    #[inline]
    fn known_text(&self, text: &'e [u8]) -> &'e [u8] {
        if self.tokens.buffer.has_extended_pieces() {
            self.own_text().unwrap_or(text)
        } else {
            text
        }
    }

    /// The text of the token, if it differs from the text of its piece.
    #[inline]
    fn own_text(&self) -> Option<&'e [u8]> {
        self.tokens.buffer.own_text(self.index)
    }

    /// The kind of the piece, if the model has it.
    pub(super) fn kind(&self) -> Option<PieceKind> {
        let piece = self.tokens.tokenizer.piece(self.id());
        piece.map(|piece| piece.kind)
    }

    /// Whether a byte piece is the last one of its character: the one that has the span of the
    /// character.
    pub(super) fn is_last_byte(&self) -> bool {
        !self.span().is_empty() || self.tokens.buffer.is_empty_last_byte(self.index)
    }

    /// The part of the caller's text that the token stands for.
    #[inline]
    pub fn surface(&self) -> &'e [u8] {
        self.tokens.text.get(self.span()).unwrap_or_default()
    }
}

impl<'e> Iterator for TokensIter<'e> {
    type Item = TokenRef<'e>;

    #[inline]
    fn next(&mut self) -> Option<TokenRef<'e>> {
        self.tokens.get(self.indexes.next()?)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.indexes.size_hint()
    }
}

impl DoubleEndedIterator for TokensIter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.tokens.get(self.indexes.next_back()?)
    }
}

impl ExactSizeIterator for TokensIter<'_> {}

impl std::iter::FusedIterator for TokensIter<'_> {}

impl<'e> IntoIterator for Tokens<'e> {
    type Item = TokenRef<'e>;
    type IntoIter = TokensIter<'e>;

    fn into_iter(self) -> TokensIter<'e> {
        self.iter()
    }
}

impl<'e> IntoIterator for &Tokens<'e> {
    type Item = TokenRef<'e>;
    type IntoIter = TokensIter<'e>;

    fn into_iter(self) -> TokensIter<'e> {
        self.iter()
    }
}

impl fmt::Debug for Tokens<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl fmt::Debug for TokenRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let piece = lossy_string(self.piece());
        write!(f, "{} {:?} {piece:?}", self.id(), self.span())
    }
}
