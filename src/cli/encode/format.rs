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
use crate::{Encoder, Model, PieceId, PieceKind, Tokens};

/// The bytes of a token and a space, padded with zeros; the last byte is their number.
type Entry<const N: usize> = [u8; N];

/// The texts of all ids, ready to be written.
pub(super) struct TokenTexts<'m, const N: usize> {
    /// The entry of each id.
    entries: Vec<Entry<N>>,
    /// The model, for texts that do not fit.
    model: &'m Model,
    /// Writes a text that does not fit an entry, without a space.
    write_long: fn(&Model, PieceId, &mut Vec<u8>),
}

/// The table for `--output_format=id`.
pub(super) type IdTexts<'m> = TokenTexts<'m, 8>;
/// The table for `--output_format=piece`.
pub(super) type PieceTexts<'m> = TokenTexts<'m, 16>;

impl<'m> IdTexts<'m> {
    /// The table of the ids in decimal. Cost: 8 bytes and one formatted number for each piece.
    pub(super) fn new(model: &'m Model) -> Self {
        TokenTexts::with_writer(model, write_id)
    }
}

impl<'m> PieceTexts<'m> {
    /// The table of the pieces' texts. Cost: 16 bytes and one copy for each piece.
    pub(super) fn new(model: &'m Model) -> Self {
        TokenTexts::with_writer(model, write_piece)
    }
}

impl<'m, const N: usize> TokenTexts<'m, N> {
    /// The table of the texts that `write` appends.
    fn with_writer(model: &'m Model, write: fn(&Model, PieceId, &mut Vec<u8>)) -> Self {
        let mut text = Vec::new();
        let entries = model.pieces().map(|piece| {
            text.clear();
            write(model, piece.id, &mut text);
            text.push(b' ');
            entry(&text)
        });
        TokenTexts {
            entries: entries.collect(),
            model,
            write_long: write,
        }
    }

    /// Appends the texts of `ids` with spaces between them, and a line feed.
    pub(super) fn write_line(&self, ids: &[PieceId], out: &mut Vec<u8>) {
        let line_start = out.len();
        let mut end = line_start;
        // Entries are stored whole; the padding after the last text is truncated below.
        out.resize(line_start + ids.len() * N + 1, 0);
        for (number, id) in ids.iter().enumerate() {
            let entry = self.entries.get(id.index()).unwrap_or(&[0; N]);
            let length = usize::from(entry[N - 1]);
            if length > 0 {
                out[end..end + N].copy_from_slice(entry);
                end += length;
                continue;
            }
            out.truncate(end);
            (self.write_long)(self.model, *id, out);
            out.push(b' ');
            end = out.len();
            out.resize(end + (ids.len() - number) * N + 1, 0);
        }
        // The last space becomes the line feed; a line without tokens is a line feed alone.
        let line_feed = if end > line_start { end - 1 } else { end };
        out[line_feed] = b'\n';
        out.truncate(line_feed + 1);
    }
}

/// The entry for a text with its space, or an entry of length 0 if it is too long.
fn entry<const N: usize>(text: &[u8]) -> Entry<N> {
    let mut entry = [0; N];
    if let (Ok(length), Some(start)) = (u8::try_from(text.len()), entry.get_mut(..text.len()))
        && text.len() < N
    {
        start.copy_from_slice(text);
        entry[N - 1] = length;
    }
    entry
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

/// Appends the pieces of the best segmentation of `line`. Only an unknown token is written as the text of its
/// span; without unknown tokens the ids are sufficient, and no spans are computed.
pub(super) fn write_best_pieces(
    encoder: &mut Encoder<'_>,
    texts: &PieceTexts<'_>,
    line: &[u8],
    out: &mut Vec<u8>,
) {
    let ids = encoder.encode(line);
    let is_unknown = |id: &PieceId| {
        texts
            .model
            .piece(*id)
            .is_some_and(|piece| piece.kind == PieceKind::Unknown)
    };
    if ids.iter().any(is_unknown) {
        write_pieces(&encoder.tokens(line), out);
    } else {
        texts.write_line(ids, out);
    }
}

/// Appends the ids with spaces between them, and a line feed.
pub(super) fn write_ids<'i>(ids: impl IntoIterator<Item = &'i PieceId>, out: &mut Vec<u8>) {
    for (number, id) in ids.into_iter().enumerate() {
        let space = if number > 0 { " " } else { "" };
        let _ = write!(out, "{space}{id}");
    }
    out.push(b'\n');
}

/// Appends the pieces with spaces between them, and a line feed.
pub(super) fn write_pieces(tokens: &Tokens<'_>, out: &mut Vec<u8>) {
    for (number, token) in tokens.iter().enumerate() {
        out.extend_from_slice(if number > 0 { b" " } else { b"" });
        out.extend_from_slice(token.piece());
    }
    out.push(b'\n');
}

/// Appends a JSON object: ids, pieces, surfaces and spans.
pub(super) fn write_json(tokens: &Tokens<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"pieces\":[");
    for (number, token) in tokens.iter().enumerate() {
        let span = token.span();
        let comma = if number > 0 { "," } else { "" };
        let _ = write!(out, "{comma}{{\"id\":{},\"piece\":", token.id());
        json::write_string(token.piece(), out);
        out.extend_from_slice(b",\"surface\":");
        json::write_string(token.surface(), out);
        let _ = write!(out, ",\"begin\":{},\"end\":{}}}", span.start, span.end);
    }
    out.extend_from_slice(b"]}\n");
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
        let ids = IdTexts::new(tokenizer.model());
        let pieces = PieceTexts::new(tokenizer.model());
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
            ids.write_line(encoder.encode(line), &mut out);
            assert_eq!(out, expected_ids, "{line:?}");
            out.clear();
            write_best_pieces(&mut encoder, &pieces, line.as_bytes(), &mut out);
            assert_eq!(out, expected_pieces, "{line:?}");
        }
    }

    #[test]
    fn an_id_that_the_table_does_not_have_is_written_the_slow_way() {
        let tokenizer = tokenizer();
        let mut out = Vec::new();
        let ids = [PieceId::new(1), PieceId::new(7_654_321), PieceId::new(20)];
        IdTexts::new(tokenizer.model()).write_line(&ids, &mut out);
        assert_eq!(out, b"1 7654321 20\n");
    }
}
