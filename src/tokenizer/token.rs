//! Tokens: ids with their spans in the text.
//!
//! [`spans`](super::spans) and [`raw_spans`](super::raw_spans) assign the spans.
//! [`Tokens`](super::Tokens) is the view that a caller gets.
//!
//! A [`Token`] is plain data that can be stored and compared. The normalized text that only some
//! tokens need, for example unknown ones, is in a separate list. The list is sorted by the index of
//! the token and searched when the text is requested.
//!
//! Example: the text `"é 日"` in a model with `▁` and `é` but without `日` has these tokens:
//!
//! | token | id | span | surface | piece |
//! |---|---|---|---|---|
//! | 0 | of `▁` | 0..0 | `""` | `▁` (the dummy prefix) |
//! | 1 | of `é` | 0..2 | `"é"` | `é` |
//! | 2 | of `▁` | 2..3 | `" "` | `▁` |
//! | 3 | unknown | 3..6 | `"日"` | `日`, or `<unk>` with [`ExtraOption::UnkPiece`] |

use std::ops::Range;

use super::options::ExtraOption;
use crate::piece::PieceId;
#[cfg(feature = "formats")]
use crate::pipeline::PipelineToken;

/// An id and the span of the text that it stands for.
///
/// ```
/// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
/// let tokens = tokenizer.encode_to_tokens("the right");
/// assert_eq!((tokens[1].begin, tokens[1].end), (3, 9));
/// assert_eq!(tokens, tokenizer.encode_to_tokens("the right"));
/// # Ok::<(), spiece::OpenError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Token {
    /// The id of the piece.
    pub id: PieceId,
    /// Where the span begins, in bytes of the caller's text.
    pub begin: usize,
    /// Where the span ends, in bytes of the caller's text.
    pub end: usize,
}

/// The number of no part.
const NO_WORD: u32 = u32::MAX;

/// The tokens of a text while they are collected, and the texts of tokens whose text differs from
/// that of their piece.
#[derive(Debug, Default)]
pub(super) struct TokenBuffer {
    tokens: Vec<Token>,
    /// The number of the part of each token; empty if it is not known.
    words: Vec<u32>,
    /// Sorted by `token`.
    own_texts: Vec<OwnText>,
    /// The normalized texts of the tokens in `own_texts`, concatenated.
    texts: Vec<u8>,
    /// Whether `own_texts` has tokens that are not unknown, see [`TokenBuffer::push_extended`].
    has_extended_pieces: bool,
    /// The sorted indexes of the last byte pieces of characters with empty spans: if normalization
    /// turned one character into several, only the last of them has the span.
    empty_last_bytes: Vec<usize>,
}

/// The normalized text of a token that does not have the text of its piece.
#[derive(Debug, Clone)]
struct OwnText {
    /// The number of the token.
    token: usize,
    /// The place in [`TokenBuffer::texts`].
    range: Range<usize>,
}

impl TokenBuffer {
    pub(super) fn clear(&mut self) {
        self.tokens.clear();
        self.words.clear();
        self.own_texts.clear();
        self.texts.clear();
        self.has_extended_pieces = false;
        self.empty_last_bytes.clear();
    }

    #[inline]
    pub(super) fn push(&mut self, id: PieceId, span: Range<usize>) {
        self.tokens.push(Token {
            id,
            begin: span.start,
            end: span.end,
        });
    }

    /// Appends a token for each byte piece of one character. The last one has its span, the others
    /// are empty.
    pub(super) fn push_bytes(&mut self, ids: impl Iterator<Item = PieceId>, span: Range<usize>) {
        for id in ids {
            self.push(id, span.start..span.start);
        }
        if span.is_empty() {
            self.empty_last_bytes
                .extend(self.tokens.len().checked_sub(1));
        }
        self.extend_last(span.end);
    }

    /// The tokens.
    #[inline]
    pub(super) fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// The number of the part of a token, if it has one.
    pub(super) fn word(&self, token: usize) -> Option<u32> {
        let word = self.words.get(token).copied();
        word.filter(|word| *word != NO_WORD)
    }

    /// Whether a known token can have another text than its piece, see
    /// [`push_extended`](Self::push_extended).
    #[inline]
    pub(super) fn has_extended_pieces(&self) -> bool {
        self.has_extended_pieces
    }

    /// Whether a token is the last byte piece of a character that has an empty span.
    pub(super) fn is_empty_last_byte(&self, token: usize) -> bool {
        self.empty_last_bytes.binary_search(&token).is_ok()
    }

    /// Makes the last token end at `end`.
    #[inline]
    fn extend_last(&mut self, end: usize) {
        if let Some(token) = self.tokens.last_mut() {
            token.end = end;
        }
    }

    /// Appends an unknown token with its normalized text.
    pub(super) fn push_unknown(&mut self, id: PieceId, span: Range<usize>, text: &[u8]) {
        self.push_with_text(id, span, text);
    }

    /// Appends a token of a pipeline.
    #[cfg(feature = "formats")]
    pub(super) fn push_pipeline_token(&mut self, token: PipelineToken<'_>) {
        self.words.push(token.word);
        if let Some(text) = token.text {
            self.push_own_text(text.as_bytes());
        }
        self.push(PieceId::new(token.id), token.span);
    }

    /// Appends a token of a piece that ends inside a character, with the text that includes the
    /// whole character.
    pub(super) fn push_extended(&mut self, id: PieceId, span: Range<usize>, text: &[u8]) {
        self.has_extended_pieces = true;
        self.push_with_text(id, span, text);
    }

    fn push_with_text(&mut self, id: PieceId, span: Range<usize>, text: &[u8]) {
        self.push_own_text(text);
        self.push(id, span);
    }

    /// Stores the text of the next token.
    fn push_own_text(&mut self, text: &[u8]) {
        let token = self.tokens.len();
        let range = self.append_text(text);
        self.own_texts.push(OwnText { token, range });
    }

    /// Appends to the texts of tokens and returns the range.
    fn append_text(&mut self, text: &[u8]) -> Range<usize> {
        let start = self.texts.len();
        self.texts.extend_from_slice(text);
        start..self.texts.len()
    }

    /// Extends the last token, which is unknown, with more text that ends at `end`.
    pub(super) fn extend_unknown(&mut self, end: usize, text: &[u8]) {
        self.extend_last_text(text);
        self.extend_last(end);
    }

    /// Appends to the text of the last token in `own_texts`.
    fn extend_last_text(&mut self, text: &[u8]) {
        let range = self.append_text(text);
        if let Some(own) = self.own_texts.last_mut() {
            own.range.end = range.end;
        }
    }

    /// Applies extra options to the tokens of a text of `length` bytes.
    pub(super) fn apply_extra(
        &mut self,
        extra: &[ExtraOption],
        [before, after]: &[Vec<PieceId>; 2],
        length: usize,
    ) {
        for option in extra {
            match option {
                ExtraOption::Bos => before.iter().rev().for_each(|id| self.push_front(*id)),
                ExtraOption::Eos => after.iter().for_each(|id| self.push(*id, length..length)),
                ExtraOption::Reverse => self.reverse(),
                ExtraOption::UnkPiece => {}
            }
        }
    }

    fn push_front(&mut self, id: PieceId) {
        self.tokens.insert(
            0,
            Token {
                id,
                begin: 0,
                end: 0,
            },
        );
        self.token_numbers().for_each(|number| *number += 1);
        if !self.words.is_empty() {
            self.words.insert(0, NO_WORD);
        }
    }

    fn reverse(&mut self) {
        self.tokens.reverse();
        if !self.words.is_empty() {
            self.words.resize(self.tokens.len(), NO_WORD);
            self.words.reverse();
        }
        self.own_texts.reverse();
        self.empty_last_bytes.reverse();
        self.reverse_token_numbers();
    }

    /// Numbers tokens from the other end.
    fn reverse_token_numbers(&mut self) {
        let count = self.tokens.len();
        for number in self.token_numbers() {
            *number = count - 1 - *number;
        }
    }

    /// The numbers of tokens that the lists beside the tokens contain.
    fn token_numbers(&mut self) -> impl Iterator<Item = &mut usize> {
        self.own_texts
            .iter_mut()
            .map(|own| &mut own.token)
            .chain(&mut self.empty_last_bytes)
    }

    /// The normalized text of a token that does not have the text of its piece.
    pub(super) fn own_text(&self, token: usize) -> Option<&[u8]> {
        let found = self.own_texts.binary_search_by_key(&token, |own| own.token);
        let own = &self.own_texts[found.ok()?];
        Some(&self.texts[own.range.clone()])
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.tokens.capacity() * size_of::<Token>()
            + self.own_texts.capacity() * size_of::<OwnText>()
            + self.empty_last_bytes.capacity() * size_of::<usize>()
            + self.texts.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::ExtraOption::{Bos, Eos, Reverse};
    use super::*;

    /// Options that move tokens.
    const EXTRA_LISTS: [&[ExtraOption]; 4] = [
        &[],
        &[Bos, Eos],
        &[Bos, Reverse, Bos],
        &[Reverse, Eos, Reverse],
    ];

    fn text_ends() -> [Vec<PieceId>; 2] {
        [1, 2].map(|id| vec![PieceId::new(id)])
    }

    fn buffer() -> TokenBuffer {
        let mut buffer = TokenBuffer::default();
        buffer.push(PieceId::new(5), 0..2);
        buffer.push_unknown(PieceId::new(0), 2..3, b"x");
        buffer.extend_unknown(4, b"y");
        buffer.push(PieceId::new(6), 4..5);
        buffer.push_unknown(PieceId::new(0), 5..6, b"z");
        buffer
    }

    #[test]
    fn unknown_texts_follow_their_tokens_when_extra_options_move_them() {
        for extra in EXTRA_LISTS {
            let mut buffer = buffer();
            buffer.apply_extra(extra, &text_ends(), 6);
            for (index, token) in buffer.tokens.iter().enumerate() {
                let expected: Option<&[u8]> = match (token.begin, token.end) {
                    (2, 4) => Some(b"xy"),
                    (5, 6) if token.id.get() == 0 => Some(b"z"),
                    _ => None,
                };
                assert_eq!(buffer.own_text(index), expected, "{extra:?} {index}");
            }
        }
    }

    #[test]
    fn empty_last_bytes_follow_their_tokens_when_extra_options_move_them() {
        for extra in EXTRA_LISTS {
            let mut buffer = TokenBuffer::default();
            buffer.push_bytes([3, 4].map(PieceId::new).into_iter(), 0..0);
            buffer.push_bytes([3, 5].map(PieceId::new).into_iter(), 0..2);
            buffer.push_bytes([3, 6].map(PieceId::new).into_iter(), 2..2);
            buffer.apply_extra(extra, &text_ends(), 2);
            for (index, token) in buffer.tokens.iter().enumerate() {
                let expected = [4, 6].contains(&token.id.get());
                assert_eq!(
                    buffer.is_empty_last_byte(index),
                    expected,
                    "{extra:?} {index}"
                );
            }
        }
    }

    #[test]
    fn a_token_has_24_bytes_and_compares_by_id_and_span() {
        assert!(size_of::<Token>() <= 24);
        assert_eq!(buffer().tokens, buffer().tokens);
        let mut other = buffer();
        other.clear();
        other.push(PieceId::new(5), 0..3);
        assert_ne!(buffer().tokens[0], other.tokens[0]);
    }
}
