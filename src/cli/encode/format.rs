//! The output formats of `encode`.
//!
//! Ids and pieces are copied from tables in which each entry is ready to be written: text, a space, padding and the
//! length, in 8 or 16 bytes. So a token costs a load and one store of constant size, instead of a division for each
//! digit, or two loads and a copy of variable length for a piece. The first ids are the most frequent in models with
//! ranks, so the part of a table that is in use fits the cache.
//!
//! Example: the id 301 is the entry `"301 ", 0, 0, 0, 4`. Writing it stores all 8 bytes and advances by 4.
//!
//! Texts that do not fit an entry (ids of 7 digits and more, pieces of 15 bytes and more) have the length 0 and are
//! written by the general code.

use std::io::Write;

use crate::cli::json;
use crate::text::num::low_u8;
use crate::{Encoder, Model, PieceId, TokenRef, Tokens};

/// The bytes of a token and a space, padded with zeros; the last byte is their number.
type Entry<const N: usize> = [u8; N];

/// Appends the text of a token, without a space.
type TextWriter = fn(&Model, PieceId, &mut Vec<u8>);

/// The texts of all ids, ready to be written.
struct TokenTexts<'m, const N: usize> {
    /// The entry of each id; the length 0 marks a text that does not fit.
    entries: Vec<Entry<N>>,
    /// The model, for texts that do not fit.
    model: &'m Model,
    /// Writes a text that does not fit.
    write_text: TextWriter,
}

impl<'m, const N: usize> TokenTexts<'m, N> {
    /// The table of the texts that `write_text` appends. Cost: N bytes and one call for each piece.
    fn new(model: &'m Model, write_text: TextWriter) -> Self {
        let mut text = Vec::new();
        let entries = model.pieces().map(|piece| {
            text.clear();
            write_text(model, piece.id, &mut text);
            text.push(b' ');
            entry(&text)
        });
        TokenTexts {
            entries: entries.collect(),
            model,
            write_text,
        }
    }

    /// Appends the texts of `ids` with spaces between them, and a line feed.
    #[inline]
    fn write_line(&self, mut ids: &[PieceId], out: &mut Vec<u8>) {
        let line_start = out.len();
        loop {
            ids = self.write_entries(ids, out);
            let Some((id, rest)) = ids.split_first() else {
                break;
            };
            (self.write_text)(self.model, *id, out);
            out.push(b' ');
            ids = rest;
        }
        end_line(line_start, out);
    }

    /// Appends the texts of the first ids that have entries, each with a space. Returns the other ids.
    #[inline]
    fn write_entries<'i>(&self, ids: &'i [PieceId], out: &mut Vec<u8>) -> &'i [PieceId] {
        let start = out.len();
        // Each entry is stored whole, so that the last one needs N bytes; the padding is truncated below.
        out.resize(start + ids.len() * N, 0);
        let buffer = &mut out[start..];
        let mut end = 0;
        let mut count = 0;
        while let Some(id) = ids.get(count)
            && let Some((entry, length)) = self.entry(*id)
        {
            buffer[end..end + N].copy_from_slice(entry);
            end += length;
            count += 1;
        }
        out.truncate(start + end);
        &ids[count..]
    }

    /// The entry of an id and its length; `None` if its text does not fit.
    #[inline]
    fn entry(&self, id: PieceId) -> Option<(&Entry<N>, usize)> {
        let entry = self.entries.get(id.index())?;
        let length = usize::from(entry[N - 1]);
        (length > 0).then_some((entry, length))
    }
}

/// Replaces the space after the last token by the line feed; a line without tokens is a line feed alone.
#[inline]
fn end_line(line_start: usize, out: &mut Vec<u8>) {
    match out[line_start..].last_mut() {
        Some(space) => *space = b'\n',
        None => out.push(b'\n'),
    }
}

/// The entry for a text with its space, or an entry of length 0 if it is too long.
fn entry<const N: usize>(text: &[u8]) -> Entry<N> {
    let mut entry = [0; N];
    if text.len() < N {
        entry[..text.len()].copy_from_slice(text);
        entry[N - 1] = low_u8(text.len() as u64);
    }
    entry
}

/// Writes the best segmentation of a line from a table.
pub(super) trait BestWriter: Sync {
    /// Appends the best segmentation of `line`, and a line feed.
    fn write_best(&self, encoder: &mut Encoder<'_>, line: &[u8], out: &mut Vec<u8>);
}

/// Writes lines of ids.
pub(super) struct IdWriter<'m>(TokenTexts<'m, 8>);

impl<'m> IdWriter<'m> {
    /// Builds the table of the ids in decimal.
    pub(super) fn new(model: &'m Model) -> Self {
        IdWriter(TokenTexts::new(model, write_id))
    }
}

impl BestWriter for IdWriter<'_> {
    fn write_best(&self, encoder: &mut Encoder<'_>, line: &[u8], out: &mut Vec<u8>) {
        self.0.write_line(encoder.encode(line), out);
    }
}

/// Writes lines of pieces.
pub(super) struct PieceWriter<'m> {
    /// The table of the pieces' texts.
    texts: TokenTexts<'m, 16>,
    /// The unknown piece; a model has one at most.
    unknown: Option<PieceId>,
}

impl<'m> PieceWriter<'m> {
    /// Builds the table of the pieces' texts.
    pub(super) fn new(model: &'m Model) -> Self {
        PieceWriter {
            texts: TokenTexts::new(model, write_piece),
            unknown: model.unknown_piece(),
        }
    }

    /// Whether the unknown piece is among `ids`. Compares all ids, because the loop without an early end is vectorized.
    #[inline]
    fn has_unknown(&self, ids: &[PieceId]) -> bool {
        self.unknown
            .is_some_and(|unknown| ids.iter().fold(false, |found, id| found | (*id == unknown)))
    }
}

impl BestWriter for PieceWriter<'_> {
    /// Only an unknown token is written as the text of its span; without unknown tokens the ids are sufficient, and no
    /// spans are computed.
    fn write_best(&self, encoder: &mut Encoder<'_>, line: &[u8], out: &mut Vec<u8>) {
        let ids = encoder.encode(line);
        if self.has_unknown(ids) {
            write_pieces(&encoder.tokens(line), out);
        } else {
            self.texts.write_line(ids, out);
        }
    }
}

/// Appends an id in decimal.
fn write_id(_: &Model, id: PieceId, out: &mut Vec<u8>) {
    // Writing to memory does not fail.
    let _ = write!(out, "{id}");
}

/// Appends the text of a piece; nothing if the model lacks the id.
fn write_piece(model: &Model, id: PieceId, out: &mut Vec<u8>) {
    out.extend_from_slice(model.piece(id).map_or(&[], |piece| piece.text));
}

/// Appends the ids with spaces between them, and a line feed.
pub(super) fn write_ids<'i>(ids: impl IntoIterator<Item = &'i PieceId>, out: &mut Vec<u8>) {
    write_joined(ids.into_iter(), out, |id, out| drop(write!(out, "{id}")));
}

/// Appends the pieces with spaces between them, and a line feed.
pub(super) fn write_pieces(tokens: &Tokens<'_>, out: &mut Vec<u8>) {
    write_joined(tokens.iter(), out, |token, out| {
        out.extend_from_slice(token.piece());
    });
}

/// Appends the texts that `write_text` appends for the items, with spaces between them, and a line feed.
fn write_joined<T>(
    items: impl Iterator<Item = T>,
    out: &mut Vec<u8>,
    write_text: impl Fn(T, &mut Vec<u8>),
) {
    let line_start = out.len();
    for item in items {
        write_text(item, out);
        out.push(b' ');
    }
    end_line(line_start, out);
}

/// Appends a JSON object: ids, pieces, surfaces and spans.
pub(super) fn write_json(tokens: &Tokens<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"pieces\":[");
    for (number, token) in tokens.iter().enumerate() {
        out.extend_from_slice(if number > 0 { b"," } else { b"" });
        write_json_token(&token, out);
    }
    out.extend_from_slice(b"]}\n");
}

/// Appends the JSON object of one token.
fn write_json_token(token: &TokenRef<'_>, out: &mut Vec<u8>) {
    let _ = write!(out, "{{\"id\":{},\"piece\":", token.id());
    json::write_string(token.piece(), out);
    out.extend_from_slice(b",\"surface\":");
    json::write_string(token.surface(), out);
    let span = token.span();
    let _ = write!(out, ",\"begin\":{},\"end\":{}}}", span.start, span.end);
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
    fn an_entry_holds_up_to_all_but_one_byte() {
        assert_eq!(entry::<8>(b"301 "), *b"301 \0\0\0\x04");
        assert_eq!(entry::<8>(b"123456 "), *b"123456 \x07");
        assert_eq!(entry::<8>(b"1234567 "), [0; 8]);
        assert_eq!(entry::<8>(b"12345678 "), [0; 8]);
    }

    #[test]
    fn tables_write_what_the_slow_functions_write() {
        let tokenizer = tokenizer();
        let ids = IdWriter::new(tokenizer.model());
        let pieces = PieceWriter::new(tokenizer.model());
        let mut encoder = tokenizer.encoder();
        let long_piece = format!("{0}{0}", "\u{2581}".repeat(16));
        for line in [
            "",
            "a",
            "Hello, world!",
            " \u{1f600}\t",
            &long_piece,
            "internationalization",
        ] {
            let mut expected_ids = Vec::new();
            let mut expected_pieces = Vec::new();
            let tokens = encoder.tokens(line);
            write_ids(
                tokens.as_slice().iter().map(|token| &token.id),
                &mut expected_ids,
            );
            write_pieces(&tokens, &mut expected_pieces);
            let mut out = Vec::new();
            ids.write_best(&mut encoder, line.as_bytes(), &mut out);
            assert_eq!(out, expected_ids, "{line:?}");
            out.clear();
            pieces.write_best(&mut encoder, line.as_bytes(), &mut out);
            assert_eq!(out, expected_pieces, "{line:?}");
        }
    }

    #[test]
    fn an_id_that_the_table_does_not_have_is_written_the_slow_way() {
        let tokenizer = tokenizer();
        let mut out = Vec::new();
        let ids = [PieceId::new(1), PieceId::new(7_654_321), PieceId::new(20)];
        let writer = IdWriter::new(tokenizer.model());
        writer.0.write_line(&ids, &mut out);
        assert_eq!(out, b"1 7654321 20\n");
    }
}
