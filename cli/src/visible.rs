//! Untrusted texts, escaped for a terminal.
//!
//! Control characters, characters that change the direction or are not visible, and bytes that are
//! not UTF-8 are escaped, and so is the backslash; so the output controls no terminal, and
//! different texts stay different.
//!
//! | text | output |
//! |---|---|
//! | `▁the` | `▁the` |
//! | ESC `[2J` | `\u{1b}[2J` |
//! | U+202E | `\u{202e}` |
//! | the byte FF | `\xff` |
//! | `\` | `\\` |

use std::fmt::Write as _;

/// The printable form of a text.
pub(crate) fn visible(text: &[u8]) -> String {
    let mut out = String::new();
    for chunk in text.utf8_chunks() {
        chunk.valid().chars().for_each(|c| push_char(c, &mut out));
        for byte in chunk.invalid() {
            // Writing to memory does not fail.
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// Appends a character or its escape.
fn push_char(c: char, out: &mut String) {
    if c == '\\' {
        out.push_str("\\\\");
    } else if c.is_control() || is_invisible(c) {
        let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
    } else {
        out.push(c);
    }
}

/// Whether `c` has no glyph or changes the text direction; also true for private-use characters and
/// unusual spaces such as U+202F.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202f}'
            | '\u{2060}'..='\u{206f}'
            | '\u{e000}'..='\u{f8ff}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{10ffff}'
    )
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn nothing_that_controls_a_terminal_is_left() {
        let table: [(&[u8], &str); 7] = [
            ("▁the é漢".as_bytes(), "▁the é漢"),
            (b"\x1b[2J\0\x7f\r\n", "\\u{1b}[2J\\u{0}\\u{7f}\\u{d}\\u{a}"),
            ("\u{9b}2J".as_bytes(), "\\u{9b}2J"),
            ("\u{202e}abc\u{2066}".as_bytes(), "\\u{202e}abc\\u{2066}"),
            (b"a\xff\xe2\x96b", "a\\xff\\xe2\\x96b"),
            (b"\\xff", "\\\\xff"),
            (b"", ""),
        ];
        for (text, expected) in table {
            assert_eq!(visible(text), expected);
        }
        for c in ('\0'..=char::MAX).filter(|c| c.is_control()) {
            let shown = visible(c.to_string().as_bytes());
            assert!(!shown.contains(c), "{c:?}");
        }
    }
}
