//! The output formats of `encode` for tokens with spans, for any selection. The best ids and pieces
//! are written by [`best`](super::best), which is faster.
//!
//! ```text
//! $ echo 'Hi' | spiece encode --model=testdata/golden/llama2.model --output_format=json
//! {"pieces":[{"id":608,"piece":"▁H","surface":"H","begin":0,"end":1},{"id":1921,"piece":"i","surface":"i","begin":1,"end":2}]}
//! ```

use std::io::Write;

use crate::json;
use spiece::{PieceId, TokenRef, Tokens};

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

/// Appends the items as `write_text` writes them, with spaces between them, and a line feed.
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

/// Replaces the space after the last token by a line feed; a line without tokens is only a line
/// feed.
fn end_line(line_start: usize, out: &mut Vec<u8>) {
    match out[line_start..].last_mut() {
        Some(space) => *space = b'\n',
        None => out.push(b'\n'),
    }
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
