//! Writes the best segmentation of each line, as ids or pieces: the most common outputs.
//!
//! The text of a token and a space are stored as one word of 8 or 16 bytes, and the output advances
//! by their length. A token therefore costs one load and one store of constant size, instead of a
//! division for each digit or a copy of variable length. The words come from a table that is built
//! before the input is read ([`TokenWords`]).
//!
//! Example: the piece `▁the` is the 16-byte word `"▁the "`, padded with zeros, whose last byte
//! is the length 7. The id 278 is the 8-byte word `"278 "`, whose last byte is the length 4.
//!
//! Texts that do not fit in a word (ids of 7 or more digits, pieces of 15 or more bytes) are
//! written by general code.
//!
//! Tried and rejected: computing the words of ids from tables of three digits each, which needs no
//! table for each model. A token took 33 instructions instead of 18, and 10 MB of English took 4 %
//! longer.

use super::format;
use super::text_buffer::TextBuffer;
use crate::input::line_ranges;
use crate::io::CliResult;
use crate::stream::{Block, Conversion};
use spiece::{Encoder, Model, PieceId, PieceKind};

/// Writes best segmentations.
pub(super) trait BestWriter: Sync {
    /// Appends the best segmentation of `document`, and a line feed.
    fn write_document(&self, encoder: &mut Encoder<'_>, document: &[u8], out: &mut TextBuffer);

    /// Appends the best segmentation of each line of `text`, and a line feed each.
    fn write_lines(&self, encoder: &mut Encoder<'_>, text: &[u8], out: &mut TextBuffer);
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
        if let Some(text) = block.text_of_lines() {
            self.writer.write_lines(encoder, text, out);
            return Ok(());
        }
        block.for_each_document(|_, document| {
            self.writer.write_document(encoder, document, out);
            Ok(())
        })
    }
}

/// The text of each token and a space, padded with zeros; the last byte is the length of both, or 0
/// if they do not fit.
struct TokenWords<const BYTES: usize>(Vec<[u8; BYTES]>);

impl<const BYTES: usize> TokenWords<BYTES> {
    /// Appends tokens up to the first one that has no word. Returns the ids from there on.
    #[inline]
    fn write_words<'i>(&self, ids: &'i [PieceId], out: &mut TextBuffer) -> &'i [PieceId] {
        let size = ids.len() * BYTES;
        let mut free = out.spare(size);
        let mut count = 0;
        while let Some(id) = ids.get(count)
            && let Some(word) = self.0.get(id.get() as usize)
            && let length @ 1.. = usize::from(word[BYTES - 1])
            && let Some(to) = free.first_chunk_mut()
        {
            *to = *word;
            free = &mut free[length..];
            count += 1;
        }
        let written = size - free.len();
        out.advance(written);
        &ids[count..]
    }

    /// Appends a line of tokens; `append` appends the text of a token that has no word.
    #[inline]
    fn write_line(
        &self,
        mut ids: &[PieceId],
        out: &mut TextBuffer,
        append: impl Fn(PieceId, &mut TextBuffer),
    ) {
        let line_start = out.len();
        loop {
            ids = self.write_words(ids, out);
            let Some((id, rest)) = ids.split_first() else {
                break;
            };
            append(*id, out);
            out.append(b" ");
            ids = rest;
        }
        out.end_line(line_start);
    }
}

/// Writes lines of ids.
pub(super) struct IdWriter {
    words: TokenWords<8>,
}

impl IdWriter {
    /// Builds the table for ids below `count`. Cost: 8 bytes for each id.
    pub(super) fn new(count: usize) -> Self {
        let mut words = Vec::with_capacity(count.next_multiple_of(10));
        words.extend((0..10).map(digit_word));
        // A number has the digits of its tenth, followed by its last digit.
        for tenth in 1..count.div_ceil(10) {
            let start = words[tenth];
            words.extend((0..10).map(|digit| append_digit(start, digit)));
        }
        words.truncate(count);
        Self {
            words: TokenWords(words),
        }
    }

    /// Appends a line of ids.
    #[inline]
    fn write_line(&self, ids: &[PieceId], out: &mut TextBuffer) {
        self.words.write_line(ids, out, |id, out| {
            out.append(id.to_string().as_bytes());
        });
    }
}

impl BestWriter for IdWriter {
    fn write_document(&self, encoder: &mut Encoder<'_>, document: &[u8], out: &mut TextBuffer) {
        self.write_line(encoder.encode(document), out);
    }

    fn write_lines(&self, encoder: &mut Encoder<'_>, text: &[u8], out: &mut TextBuffer) {
        for ids in encoder.encode_lines(text).iter() {
            self.write_line(ids, out);
        }
    }
}

/// Shifting an 8-byte word right by this gives the length of its text with the space.
const LENGTH_SHIFT: u32 = 56;

/// The word of an id of one digit.
fn digit_word(digit: u64) -> [u8; 8] {
    let text = (u64::from(b'0') + digit) | (u64::from(b' ') << 8);
    (text | (2 << LENGTH_SHIFT)).to_le_bytes()
}

/// The word of the id that has the digits of `word` followed by `digit`.
fn append_digit(word: [u8; 8], digit: u64) -> [u8; 8] {
    let word = u64::from_le_bytes(word);
    let length = word >> LENGTH_SHIFT;
    if !(2..7).contains(&length) {
        return [0; 8];
    }
    // The digit replaces the space, and another space follows.
    let space = u64::from(b' ');
    let space_shift = 8 * (length - 1);
    let replaced = word + ((u64::from(b'0') + digit - space) << space_shift);
    let longer = replaced + (space << (space_shift + 8)) + (1 << LENGTH_SHIFT);
    longer.to_le_bytes()
}

/// The size of the word of a piece.
const PIECE_WORD_BYTES: usize = 16;

/// The word of a piece.
fn piece_word(piece: &[u8]) -> [u8; PIECE_WORD_BYTES] {
    let mut word = [0; PIECE_WORD_BYTES];
    if let Some(to) = word[..PIECE_WORD_BYTES - 1].get_mut(..=piece.len())
        && let Some((space, text)) = to.split_last_mut()
    {
        text.copy_from_slice(piece);
        *space = b' ';
        [word[PIECE_WORD_BYTES - 1], ..] = (piece.len() + 1).to_le_bytes();
    }
    word
}

/// Writes lines of pieces.
pub(super) struct PieceWriter<'m> {
    words: TokenWords<PIECE_WORD_BYTES>,
    /// The model, for pieces that have no word.
    model: &'m Model,
    /// The unknown piece; a model has one at most.
    unknown: Option<PieceId>,
}

impl<'m> PieceWriter<'m> {
    /// Builds the table. Cost: 16 bytes for each piece.
    pub(super) fn new(model: &'m Model) -> Self {
        let words = model.pieces().map(|piece| piece_word(piece.text));
        PieceWriter {
            words: TokenWords(words.collect()),
            model,
            unknown: model
                .pieces()
                .find(|piece| piece.kind == PieceKind::Unknown)
                .map(|piece| piece.id),
        }
    }

    /// Whether the unknown piece is among `ids`. Compares all ids, because a loop without an early
    /// exit is vectorized.
    #[inline]
    fn has_unknown(&self, ids: &[PieceId]) -> bool {
        self.unknown
            .is_some_and(|unknown| ids.iter().fold(false, |found, id| found | (*id == unknown)))
    }

    /// Appends a line of pieces.
    #[inline]
    fn write_line(&self, ids: &[PieceId], out: &mut TextBuffer) {
        self.words.write_line(ids, out, |id, out| {
            let piece = self.model.piece(id).map_or(&[][..], |piece| piece.text);
            out.append(piece);
        });
    }
}

impl BestWriter for PieceWriter<'_> {
    /// Only an unknown token is written as the text of its span. Without unknown tokens, the ids
    /// suffice and no spans are computed.
    fn write_document(&self, encoder: &mut Encoder<'_>, document: &[u8], out: &mut TextBuffer) {
        let ids = encoder.encode(document);
        if self.has_unknown(ids) {
            write_tokens(encoder, document, out);
        } else {
            self.write_line(ids, out);
        }
    }

    fn write_lines(&self, encoder: &mut Encoder<'_>, text: &[u8], out: &mut TextBuffer) {
        let lines = encoder.encode_lines(text);
        if !self.has_unknown(lines.ids()) {
            lines.iter().for_each(|ids| self.write_line(ids, out));
            return;
        }
        // Computing the spans of a line overwrites the result that the encoder holds.
        let lines = lines.clone();
        for (range, ids) in line_ranges(text).zip(lines.iter()) {
            if self.has_unknown(ids) {
                write_tokens(encoder, &text[range], out);
            } else {
                self.write_line(ids, out);
            }
        }
    }
}

/// Appends a line of pieces with the texts of unknown tokens.
fn write_tokens(encoder: &mut Encoder<'_>, line: &[u8], out: &mut TextBuffer) {
    let mut text = Vec::new();
    format::write_pieces(&encoder.tokens(line), &mut text);
    out.append(&text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use spiece::Tokenizer;

    fn tokenizer() -> Tokenizer {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../testdata/golden/llama2.model"
        );
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
    fn a_word_holds_ids_of_up_to_6_digits() {
        let words = IdWriter::new(1_000_001).words.0;
        assert_eq!(words.len(), 1_000_001);
        for id in (0..2000).chain([9_999, 10_000, 99_999, 100_000, 999_999]) {
            let text = format!("{id} ");
            let mut expected = [0; 8];
            expected[..text.len()].copy_from_slice(text.as_bytes());
            [expected[7], ..] = text.len().to_le_bytes();
            assert_eq!(words[id], expected, "{id}");
        }
        assert_eq!(words[1_000_000], [0; 8]);
        assert_eq!(append_digit(words[1_000_000], 5), [0; 8]);
    }

    #[test]
    fn there_are_as_many_words_as_ids() {
        for count in [0, 1, 9, 10, 11, 20, 101] {
            assert_eq!(IdWriter::new(count).words.0.len(), count);
        }
    }

    #[test]
    fn words_write_what_the_general_functions_write() {
        let tokenizer = tokenizer();
        let pieces = PieceWriter::new(tokenizer.model());
        let ids = IdWriter::new(tokenizer.vocab_size());
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
            ids.write_document(&mut encoder, line.as_bytes(), &mut out);
            assert_eq!(out.text(), expected_ids, "{line:?}");
            out.clear();
            pieces.write_document(&mut encoder, line.as_bytes(), &mut out);
            assert_eq!(out.text(), expected_pieces, "{line:?}");
        }
    }

    #[test]
    fn lines_are_written_as_each_line_alone() {
        let root = env!("CARGO_MANIFEST_DIR");
        for name in ["golden/llama2", "run/unigram", "run/word"] {
            let tokenizer = Tokenizer::open(format!("{root}/../testdata/{name}.model")).unwrap();
            let pieces = PieceWriter::new(tokenizer.model());
            let ids = IdWriter::new(tokenizer.vocab_size());
            let mut encoder = tokenizer.encoder();
            let lines = [
                "les droits",
                "",
                "\u{4e8c}\u{1f600} les",
                "les",
                "\u{1f600}",
            ];
            let mut written = TextBuffer::default();
            let mut expected = TextBuffer::default();
            for line in lines {
                pieces.write_document(&mut encoder, line.as_bytes(), &mut expected);
            }
            pieces.write_lines(&mut encoder, lines.join("\n").as_bytes(), &mut written);
            assert_eq!(written.text(), expected.text(), "pieces of {name}");
            written.clear();
            expected.clear();
            for line in lines {
                ids.write_document(&mut encoder, line.as_bytes(), &mut expected);
            }
            ids.write_lines(&mut encoder, lines.join("\n").as_bytes(), &mut written);
            assert_eq!(written.text(), expected.text(), "ids of {name}");
        }
    }

    #[test]
    fn an_id_of_seven_digits_is_written_between_others() {
        let mut out = TextBuffer::default();
        let ids = [PieceId::new(1), PieceId::new(7_654_321), PieceId::new(20)];
        IdWriter::new(10).write_line(&ids, &mut out);
        assert_eq!(out.text(), b"1 7654321 20\n");
    }
}
