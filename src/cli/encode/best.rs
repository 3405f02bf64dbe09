//! The best segmentation of each line, as ids or pieces: the outputs that are written most.
//!
//! A token is stored as one word of 8 or 16 bytes that holds its text and a space, and the output advances by the length of
//! the text. So a token costs one store of constant size, instead of a division for each digit, or a copy of variable
//! length. The words of ids are computed ([`decimal`](super::decimal)); those of pieces come from a table that is made when
//! the program starts.
//!
//! Example: the piece `▁the` is the word of 16 bytes `"▁the "`, padded with zeros, whose last byte is the length 7.
//!
//! Texts that do not fit a word (ids of 7 digits and more, pieces of 15 bytes and more) are written by general code.

use super::decimal;
use super::format;
use super::text_buffer::TextBuffer;
use crate::cli::io::CliResult;
use crate::cli::stream::{Block, Conversion};
use crate::text::num::low_u8;
use crate::{Encoder, Model, PieceId};

/// Writes best segmentations.
pub(super) trait BestWriter: Sync {
    /// Appends the best segmentation of `line`, and a line feed.
    fn write_best(&self, encoder: &mut Encoder<'_>, line: &[u8], out: &mut TextBuffer);
}

/// The conversion of blocks of lines to their best segmentations.
pub(super) struct BestConversion<B, F> {
    /// Writes a line.
    pub(super) writer: B,
    /// Makes the encoder of a thread.
    pub(super) make_encoder: F,
}

impl<'t, B, F> Conversion for BestConversion<B, F>
where
    B: BestWriter,
    F: Fn() -> CliResult<Encoder<'t>> + Sync,
{
    type Worker = Encoder<'t>;
    type Result = TextBuffer;

    fn worker(&self) -> CliResult<Encoder<'t>> {
        (self.make_encoder)()
    }

    fn convert(&self, encoder: &mut Encoder<'t>, block: &Block, out: &mut TextBuffer) -> CliResult {
        out.clear();
        block.for_each_document(|_, line| {
            self.writer.write_best(encoder, line, out);
            Ok(())
        })
    }
}

/// Writes lines of ids.
pub(super) struct IdWriter;

impl IdWriter {
    /// Appends the ids that have a word, up to the first one that has none. Returns the other ids.
    #[inline]
    fn write_words<'i>(ids: &'i [PieceId], out: &mut TextBuffer) -> &'i [PieceId] {
        let buffer = out.spare(ids.len() * 8);
        let mut end = 0;
        let mut count = 0;
        while let Some(id) = ids.get(count)
            && let Some((word, length)) = decimal::word(id.get())
        {
            buffer[end..end + 8].copy_from_slice(&word);
            end += length;
            count += 1;
        }
        out.advance(end);
        &ids[count..]
    }

    /// Appends a line of ids.
    #[inline]
    fn write_line(mut ids: &[PieceId], out: &mut TextBuffer) {
        let line_start = out.len();
        loop {
            ids = Self::write_words(ids, out);
            let Some((id, rest)) = ids.split_first() else {
                break;
            };
            out.append(format!("{id} ").as_bytes());
            ids = rest;
        }
        out.end_line(line_start);
    }
}

impl BestWriter for IdWriter {
    fn write_best(&self, encoder: &mut Encoder<'_>, line: &[u8], out: &mut TextBuffer) {
        Self::write_line(encoder.encode(line), out);
    }
}

/// The bytes of a piece and a space, padded with zeros; the last byte is their number, or 0 if the piece does not fit.
type PieceWord = [u8; WORD_BYTES];

/// The size of a [`PieceWord`].
const WORD_BYTES: usize = 16;

/// The word of a piece.
fn piece_word(piece: &[u8]) -> PieceWord {
    let mut word = [0; WORD_BYTES];
    if let Some(to) = word[..WORD_BYTES - 1].get_mut(..=piece.len())
        && let Some((space, text)) = to.split_last_mut()
    {
        text.copy_from_slice(piece);
        *space = b' ';
        word[WORD_BYTES - 1] = low_u8(piece.len() as u64 + 1);
    }
    word
}

/// Writes lines of pieces.
pub(super) struct PieceWriter<'m> {
    /// The word of each piece.
    words: Vec<PieceWord>,
    /// The model, for pieces that have no word.
    model: &'m Model,
    /// The unknown piece; a model has one at most.
    unknown: Option<PieceId>,
}

impl<'m> PieceWriter<'m> {
    /// Builds the table. Cost: 16 bytes for each piece.
    pub(super) fn new(model: &'m Model) -> Self {
        PieceWriter {
            words: model.pieces().map(|piece| piece_word(piece.text)).collect(),
            model,
            unknown: model.unknown_piece(),
        }
    }

    /// Whether the unknown piece is among `ids`. Compares all ids, because the loop without an early end is vectorized.
    #[inline]
    fn has_unknown(&self, ids: &[PieceId]) -> bool {
        self.unknown
            .is_some_and(|unknown| ids.iter().fold(false, |found, id| found | (*id == unknown)))
    }

    /// Appends the pieces that have a word, up to the first one that has none. Returns the ids of the other pieces.
    #[inline]
    fn write_words<'i>(&self, ids: &'i [PieceId], out: &mut TextBuffer) -> &'i [PieceId] {
        let buffer = out.spare(ids.len() * WORD_BYTES);
        let mut end = 0;
        let mut count = 0;
        while let Some(id) = ids.get(count)
            && let Some(word) = self.words.get(id.index())
            && word[WORD_BYTES - 1] > 0
        {
            buffer[end..end + WORD_BYTES].copy_from_slice(word);
            end += usize::from(word[WORD_BYTES - 1]);
            count += 1;
        }
        out.advance(end);
        &ids[count..]
    }

    /// Appends a line of pieces.
    #[inline]
    fn write_line(&self, mut ids: &[PieceId], out: &mut TextBuffer) {
        let line_start = out.len();
        loop {
            ids = self.write_words(ids, out);
            let Some((id, rest)) = ids.split_first() else {
                break;
            };
            let piece = self.model.piece(*id).map_or(&[][..], |piece| piece.text);
            out.append(piece);
            out.append(b" ");
            ids = rest;
        }
        out.end_line(line_start);
    }
}

impl BestWriter for PieceWriter<'_> {
    /// Only an unknown token is written as the text of its span; without unknown tokens the ids are sufficient, and no
    /// spans are computed.
    fn write_best(&self, encoder: &mut Encoder<'_>, line: &[u8], out: &mut TextBuffer) {
        let ids = encoder.encode(line);
        if self.has_unknown(ids) {
            let mut text = Vec::new();
            format::write_pieces(&encoder.tokens(line), &mut text);
            out.append(&text);
        } else {
            self.write_line(ids, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tokenizer;

    fn tokenizer() -> Tokenizer {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/golden/llama2.model");
        Tokenizer::open(path).unwrap()
    }

    #[test]
    fn a_word_holds_pieces_of_up_to_14_bytes() {
        assert_eq!(piece_word(b"the"), *b"the \0\0\0\0\0\0\0\0\0\0\0\x04");
        assert_eq!(piece_word(b"12345678901234"), *b"12345678901234 \x0F");
        assert_eq!(piece_word(b"123456789012345"), [0; 16]);
        assert_eq!(piece_word(&[b'1'; 100]), [0; 16]);
    }

    #[test]
    fn words_write_what_the_general_functions_write() {
        let tokenizer = tokenizer();
        let pieces = PieceWriter::new(tokenizer.model());
        let mut encoder = tokenizer.encoder();
        let mut tokens_encoder = tokenizer.encoder();
        let long_piece = format!("{0}{0}", "\u{2581}".repeat(16));
        for line in [
            "",
            "a",
            "Hello, world!",
            " \u{1f600}\t",
            &long_piece,
            "internationalization",
        ] {
            let tokens = tokens_encoder.tokens(line);
            let mut expected_ids = Vec::new();
            format::write_ids(
                tokens.as_slice().iter().map(|token| &token.id),
                &mut expected_ids,
            );
            let mut expected_pieces = Vec::new();
            format::write_pieces(&tokens, &mut expected_pieces);
            let mut out = TextBuffer::default();
            IdWriter.write_best(&mut encoder, line.as_bytes(), &mut out);
            assert_eq!(out.text(), expected_ids, "{line:?}");
            out.clear();
            pieces.write_best(&mut encoder, line.as_bytes(), &mut out);
            assert_eq!(out.text(), expected_pieces, "{line:?}");
        }
    }

    #[test]
    fn an_id_of_seven_digits_is_written_between_others() {
        let mut out = TextBuffer::default();
        let ids = [PieceId::new(1), PieceId::new(7_654_321), PieceId::new(20)];
        IdWriter::write_line(&ids, &mut out);
        assert_eq!(out.text(), b"1 7654321 20\n");
    }
}
