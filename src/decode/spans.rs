//! Decoding with spans: ids to text, with the part of the text that each id stands for.
//!
//! The decoder of [`decode`](crate::decode) is called for one piece after another, and the length
//! of the text before and after each call is the span of the piece. A run of byte pieces is decoded
//! as a whole; then its characters are divided among the pieces, as in the reference: the last byte
//! of a character has its span, the other bytes have empty ones, and a byte that belongs to no
//! character has that of its U+FFFD.
//!
//! Example (Llama 2): the pieces `▁Hello`, `<0xE4>`, `<0xBD>`, `<0xA0>` give the text `Hello你` and
//! the spans 0..5, 5..5, 5..5 and 5..8.
//!
//! Spans are positions in the text before it is denormalized. Models with a denormalizer are rare;
//! for all others this is the decoded text.

use std::ops::Range;

use super::{DecodeState, Decoder, Role};
use crate::base::decode_char;
use crate::piece::PieceId;

/// A decoded text and the spans of its pieces; from
/// [`Tokenizer::decode_to_tokens`](crate::Tokenizer::decode_to_tokens).
///
/// ```
/// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
/// let ids = tokenizer.encode("Hello, 你");
/// let decoded = tokenizer.decode_to_tokens(&ids)?;
/// assert_eq!(decoded.text(), "Hello, 你".as_bytes());
/// for token in decoded.tokens() {
///     println!("{:?} {:?} {:?}", token.id, token.piece, decoded.surface(token));
/// }
/// assert_eq!(decoded.tokens().last().map(|token| token.span.end), Some(10));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodedText<'p> {
    /// The text before it is denormalized, to which the spans refer.
    raw: Vec<u8>,
    /// The denormalized text, in models with a denormalizer.
    denormalized: Option<Vec<u8>>,
    tokens: Vec<DecodedToken<'p>>,
}

/// A piece of a [`DecodedText`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecodedToken<'p> {
    /// The id; for a text that is not a piece, the id of the unknown piece, if the model has one.
    pub id: Option<PieceId>,
    /// The text of the piece.
    pub piece: &'p [u8],
    /// The part of the text that the piece became, in bytes.
    pub span: Range<usize>,
}

impl<'p> DecodedText<'p> {
    /// The decoded text.
    pub fn text(&self) -> &[u8] {
        self.denormalized.as_deref().unwrap_or(&self.raw)
    }

    /// The pieces, in the order in which they were given.
    pub fn tokens(&self) -> &[DecodedToken<'p>] {
        &self.tokens
    }

    /// The part of the text that a token became.
    pub fn surface(&self, token: &DecodedToken<'_>) -> &[u8] {
        self.raw.get(token.span.clone()).unwrap_or_default()
    }
}

/// A piece to decode.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GivenPiece<'p> {
    /// The text of the piece.
    pub(crate) text: &'p [u8],
    /// Its id, if the model has it.
    pub(crate) id: Option<PieceId>,
}

/// The state of decoding between two pieces.
struct SpanDecoder<'d, 'p> {
    decoder: &'d Decoder,
    unknown: Option<PieceId>,
    state: DecodeState,
    text: Vec<u8>,
    tokens: Vec<DecodedToken<'p>>,
    /// The bytes of the byte pieces at the end of `tokens`, which have no spans yet.
    run: Vec<u8>,
}

impl Decoder {
    /// The text of pieces, with spans. `unknown` is the id for texts that are not pieces.
    pub(crate) fn decode_with_spans<'p>(
        &self,
        pieces: impl Iterator<Item = GivenPiece<'p>>,
        unknown: Option<PieceId>,
    ) -> DecodedText<'p> {
        let (capacity, _) = pieces.size_hint();
        let mut spans = SpanDecoder::new(self, unknown, capacity);
        pieces.for_each(|piece| spans.push(piece));
        spans.finish()
    }
}

impl<'d, 'p> SpanDecoder<'d, 'p> {
    /// A decoder of no text yet, with room for `capacity` pieces.
    fn new(decoder: &'d Decoder, unknown: Option<PieceId>, capacity: usize) -> Self {
        Self {
            decoder,
            unknown,
            state: DecodeState::default(),
            text: Vec::new(),
            tokens: Vec::with_capacity(capacity),
            run: Vec::new(),
        }
    }

    fn push(&mut self, piece: GivenPiece<'p>) {
        // Text that is not a piece stands for itself.
        let role = piece
            .id
            .map_or(Role::Text, |id| self.decoder.roles[id.index()]);
        if let Role::Byte(byte) = role {
            self.run.push(byte);
            return self.add_token(piece, 0..0);
        }
        self.end_run();
        let begin = self.text.len();
        match piece.id {
            Some(id) => self
                .decoder
                .push(id.index(), &mut self.state, &mut self.text),
            None => self.state.push_text(piece.text, &mut self.text),
        }
        let span = begin..self.text.len();
        self.add_token(piece, span);
    }

    fn add_token(&mut self, piece: GivenPiece<'p>, span: Range<usize>) {
        self.tokens.push(DecodedToken {
            id: piece.id.or(self.unknown),
            piece: piece.text,
            span,
        });
    }

    /// Decodes the run of byte pieces and divides its text among them.
    fn end_run(&mut self) {
        if self.run.is_empty() {
            return;
        }
        let begin = self.text.len();
        self.decode_run();
        let first = self.tokens.len() - self.run.len();
        assign_spans(&self.run, begin, &mut self.tokens[first..]);
        self.run.clear();
    }

    /// Appends the text of the run of byte pieces.
    fn decode_run(&mut self) {
        for byte in &self.run {
            self.state.push_byte(*byte, &mut self.text);
        }
        self.state.end_bytes(&mut self.text);
    }

    /// The decoded text, with the spans of all pieces.
    fn finish(mut self) -> DecodedText<'p> {
        self.end_run();
        DecodedText {
            denormalized: self.decoder.denormalized(&self.text),
            raw: self.text,
            tokens: self.tokens,
        }
    }
}

/// Divides the text of a run of bytes, which begins at `at`, among the byte pieces.
fn assign_spans(run: &[u8], mut at: usize, tokens: &mut [DecodedToken<'_>]) {
    let mut offset = 0;
    while offset < run.len() {
        let (bytes, length) = first_char(&run[offset..]);
        let last = offset + bytes - 1;
        for token in &mut tokens[offset..last] {
            token.span = at..at;
        }
        tokens[last].span = at..at + length;
        at += length;
        offset += bytes;
    }
}

/// The first character of `bytes`, or the first byte if it belongs to no character: the number of
/// its bytes and of the bytes of its text.
fn first_char(bytes: &[u8]) -> (usize, usize) {
    match decode_char(bytes) {
        (Some(_), width) => (width, width),
        (None, _) => (1, '\u{FFFD}'.len_utf8()),
    }
}

#[cfg(test)]
mod tests {
    use crate::Tokenizer;

    fn open(name: &str) -> Tokenizer {
        let root = env!("CARGO_MANIFEST_DIR");
        Tokenizer::open(format!("{root}/testdata/{name}.model")).unwrap()
    }

    #[test]
    fn spans_of_byte_pieces_are_those_of_their_characters() {
        let tokenizer = open("golden/llama2");
        let pieces = [
            "\u{2581}a",
            "<0xE4>",
            "<0xBD>",
            "<0xA0>",
            "<0xE4>",
            "<s>",
            "x?",
            "\u{2581}a",
        ];
        let decoded = tokenizer.decode_pieces_to_tokens(&pieces);
        assert_eq!(decoded.text(), "a你\u{fffd}x? a".as_bytes());
        let spans: Vec<_> = decoded
            .tokens()
            .iter()
            .map(|token| token.span.clone())
            .collect();
        assert_eq!(spans, [0..1, 1..1, 1..1, 1..4, 4..7, 7..7, 7..9, 9..11]);
        assert_eq!(decoded.tokens()[6].id, tokenizer.unk_id());
        assert_eq!(decoded.surface(&decoded.tokens()[7]), b" a");
    }

    #[test]
    fn the_text_is_that_of_the_decoder_without_spans() {
        for name in [
            "golden/llama2",
            "run/unigram",
            "run/unigram_bytes",
            "run/word",
            "run/char",
        ] {
            let tokenizer = open(name);
            for text in ["", " les droits de l'homme ", "日本 <s> \u{1f600}", "a\nb"] {
                let ids = tokenizer.encode(text);
                let decoded = tokenizer.decode_to_tokens(&ids).unwrap();
                assert_eq!(
                    decoded.text(),
                    tokenizer.decode_to_bytes(&ids).unwrap(),
                    "{name} {text}"
                );
                assert_eq!(decoded.tokens().len(), ids.len());
            }
        }
    }
}
