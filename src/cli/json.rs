//! Strings in JSON (RFC 8259, section 7), for `--output_format=json`.
//!
//! Input: bytes. Output: a quoted string. The quotation mark, the backslash and control characters are escaped; all other
//! characters are written as UTF-8. Cost: one pass over the text.
//!
//! ```text
//! say "hi"<tab>  ->  "say \"hi\"\u0009"
//! ```

use std::io::Write;

/// Appends `text` as a JSON string; bytes that are no UTF-8 become U+FFFD.
pub(crate) fn write_string(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for c in String::from_utf8_lossy(text).chars() {
        match c {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            // Writing to memory does not fail.
            '\0'..'\u{20}' | '\u{7f}' => drop(write!(out, "\\u{:04x}", u32::from(c))),
            _ => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    #[test]
    fn strings_are_escaped() {
        let mut out = Vec::new();
        super::write_string("a\"\\\n\u{7f}é\u{2028}".as_bytes(), &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\"a\\\"\\\\\\u000a\\u007fé\u{2028}\""
        );
    }
}
