//! The output formats of `encode` for people and programs.
//!
//! ```text
//! $ echo 'Hi' | spiece encode --model=testdata/golden/llama2.model --output_format=json
//! {"pieces":[{"id":608,"piece":"▁H","surface":"H","begin":0,"end":1},{"id":1921,"piece":"i","surface":"i","begin":1,"end":2}]}
//! ```

use std::borrow::Cow;

use serde::Serialize;

use super::Format;
use spiece::Tokens;

/// Appends one segmentation as a line.
pub(super) fn write(format: Format, tokens: &Tokens<'_>, out: &mut Vec<u8>) {
    let start = out.len();
    match format {
        Format::Piece => {
            for token in tokens.iter() {
                out.extend_from_slice(&token.printable_piece());
                out.push(b' ');
            }
            end_line(start, out);
        }
        Format::Id => {
            let mut digits = itoa::Buffer::new();
            for id in tokens.ids() {
                out.extend_from_slice(digits.format(id.get()).as_bytes());
                out.push(b' ');
            }
            end_line(start, out);
        }
        Format::Json => write_json(tokens, out),
    }
}

/// Replaces the space after the last token of the line that begins at `start` by a line feed.
pub(super) fn end_line(start: usize, out: &mut Vec<u8>) {
    match out[start..].last_mut() {
        Some(space) => *space = b'\n',
        None => out.push(b'\n'),
    }
}

#[derive(Serialize)]
struct JsonToken<'t> {
    id: u32,
    piece: Cow<'t, str>,
    surface: Cow<'t, str>,
    begin: usize,
    end: usize,
}

fn write_json(tokens: &Tokens<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"pieces\":[");
    for (number, token) in tokens.iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        let token = JsonToken {
            id: token.id().get(),
            piece: match token.printable_piece() {
                Cow::Borrowed(piece) => String::from_utf8_lossy(piece),
                Cow::Owned(piece) => Cow::Owned(String::from_utf8_lossy(&piece).into_owned()),
            },
            surface: String::from_utf8_lossy(token.surface()),
            begin: token.span().start,
            end: token.span().end,
        };
        // Neither writing to memory nor a value of this type fails.
        let _ = serde_json::to_writer(&mut *out, &token);
    }
    out.extend_from_slice(b"]}\n");
}
