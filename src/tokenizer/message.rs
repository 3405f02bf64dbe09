//! Results as messages of the reference's schema `SentencePieceText`, in the bytes of protobuf.
//!
//! The bytes are those that the reference's `SerializeAsString` gives for its result. Programs in
//! other languages read them with the schema of `sentencepiece.proto`.
//!
//! ```text
//! SentencePieceText          1 text   2 pieces (repeated)   3 score (only in n-best lists)
//! SentencePiece              1 piece  2 id  3 surface  4 begin  5 end
//! NBestSentencePieceText     1 nbests (repeated)
//! ```
//!
//! In results of encoding, control pieces and all bytes of a character except the last have no
//! surface. The last byte has a surface even if it is empty: normalization may turn one character
//! into several, of which only the last has its span.

use std::ops::Range;

use super::tokens::{TokenRef, Tokens};
use crate::decode::spans::DecodedText;
use crate::model::wire::{write_bytes_field, write_float_field, write_varint_field};
use crate::piece::PieceKind;

/// The id of a token without an id, as the reference's unsigned field stores it.
const NO_ID: u64 = u32::MAX as u64;

impl Tokens<'_> {
    /// The tokens as a `SentencePieceText` message. `score` is that of an n-best list.
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// let mut encoder = tokenizer.encoder();
    /// let message = encoder.tokens("a").to_message(None);
    /// // text "a"; a piece "▁a" with id 263, surface "a", begin 0, end 1
    /// assert_eq!(&message[..5], b"\x0a\x01a\x12\x10");
    /// # Ok::<(), spiece::OpenError>(())
    /// ```
    pub fn to_message(&self, score: Option<f32>) -> Vec<u8> {
        let mut message = Vec::new();
        write_bytes_field(1, self.text, &mut message);
        for token in self.iter() {
            token.message().write(&mut message);
        }
        if let Some(score) = score {
            write_float_field(3, score, &mut message);
        }
        message
    }
}

impl<'e> TokenRef<'e> {
    /// The fields of the token.
    fn message(&self) -> TokenMessage<'e> {
        TokenMessage {
            piece: self.piece(),
            id: self.id().get().into(),
            surface: self.has_surface().then(|| self.surface()),
            span: self.span(),
        }
    }

    fn has_surface(&self) -> bool {
        match self.kind() {
            Some(PieceKind::Control) => false,
            Some(PieceKind::Byte) => self.is_last_byte(),
            _ => true,
        }
    }
}

impl DecodedText<'_> {
    /// The text and its pieces as a `SentencePieceText` message.
    pub fn to_message(&self) -> Vec<u8> {
        let mut message = Vec::new();
        write_bytes_field(1, self.text(), &mut message);
        for token in self.tokens() {
            let piece = TokenMessage {
                piece: token.piece,
                id: token.id.map_or(NO_ID, |id| id.get().into()),
                surface: Some(self.surface(token)),
                span: token.span.clone(),
            };
            piece.write(&mut message);
        }
        message
    }
}

/// The fields of a piece in a message.
struct TokenMessage<'t> {
    piece: &'t [u8],
    id: u64,
    surface: Option<&'t [u8]>,
    span: Range<usize>,
}

impl TokenMessage<'_> {
    /// Appends the piece to the message of a text.
    fn write(&self, message: &mut Vec<u8>) {
        write_bytes_field(2, &self.to_bytes(), message);
    }

    /// The message of the piece.
    fn to_bytes(&self) -> Vec<u8> {
        let mut piece = Vec::with_capacity(self.piece.len() * 2 + 16);
        write_bytes_field(1, self.piece, &mut piece);
        write_varint_field(2, self.id, &mut piece);
        if let Some(surface) = self.surface {
            write_bytes_field(3, surface, &mut piece);
        }
        write_varint_field(4, self.span.start as u64, &mut piece);
        write_varint_field(5, self.span.end as u64, &mut piece);
        piece
    }
}

#[cfg(all(test, feature = "train"))]
mod tests {
    use crate::{Corpus, ModelType, Tokenizer, TrainOptions, Trainer};

    #[test]
    fn the_last_byte_of_a_character_has_a_surface_even_if_it_is_empty() {
        let mut options = TrainOptions::default();
        options.model_type = ModelType::Bpe;
        options.vocab_size = 266;
        options.byte_fallback = true;
        let trainer = Trainer::new(options).unwrap();
        let corpus = Corpus::texts(["one two", "two one"]);
        let model = trainer.train(corpus).unwrap();
        let tokenizer = Tokenizer::new(model);
        // NFKC makes `1\u{2044}2` of the first character. The bytes are those of SentencePiece
        // 0.2.3.
        let message = tokenizer.encoder().tokens("\u{BD}e").to_message(None);
        let expected = b"\n\x03\xc2\xbde\x12\x0e\n\x03\xe2\x96\x81\x10\x85\x02\x1a\x00 \x00(\x00\
            \x12\x10\n\x06<0x31>\x104\x1a\x00 \x00(\x00\
            \x12\x0f\n\x06<0xE2>\x10\xe5\x01 \x00(\x00\
            \x12\x0f\n\x06<0x81>\x10\x84\x01 \x00(\x00\
            \x12\x11\n\x06<0x84>\x10\x87\x01\x1a\x00 \x00(\x00\
            \x12\x12\n\x06<0x32>\x105\x1a\x02\xc2\xbd \x00(\x02\
            \x12\r\n\x01e\x10\x86\x02\x1a\x01e \x02(\x03";
        assert_eq!(message, expected);
    }
}
