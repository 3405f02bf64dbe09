//! Texts inside HTML: in markup, and in the JSON of a script element.
//!
//! The parser of HTML reads the output as text, whatever the input is.
//!
//! | where | escaped | as |
//! |---|---|---|
//! | markup | `<` `>` `&` `"` `'` | character references |
//! | JSON in a script element | `<` `>` `&`, control characters, invisible and bidirectional ones, U+2028, U+2029 | `\uXXXX` |
//!
//! Inside a script element only `<` could end the element or begin a comment. The invisible
//! characters are escaped so that an editor shows the file as it is. In JSON all of these occur
//! inside strings only, where `\uXXXX` means the same.

use std::fmt::Write as _;

use crate::visible::is_invisible;

/// Text for the content of an element or for an attribute in quotes.
pub(super) fn escape_markup(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match reference(c) {
            Some(reference) => out.push_str(reference),
            None => out.push(c),
        }
    }
    out
}

/// The character reference of a character that markup gives a meaning.
fn reference(c: char) -> Option<&'static str> {
    match c {
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '&' => Some("&amp;"),
        '"' => Some("&quot;"),
        '\'' => Some("&#39;"),
        _ => None,
    }
}

/// A JSON document for the content of a script element.
pub(super) fn escape_script_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if needs_escape(c) {
            push_escape(c, &mut out);
        } else {
            out.push(c);
        }
    }
    out
}

/// Whether a character of a JSON string is escaped.
fn needs_escape(c: char) -> bool {
    matches!(c, '<' | '>' | '&') || c.is_control() || is_invisible(c)
}

/// Appends a character as JSON escapes, one for each unit of UTF-16.
fn push_escape(c: char, out: &mut String) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        // Writing to memory does not fail.
        let _ = write!(out, "\\u{unit:04x}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_could_end_a_script_element_or_hide_text_is_left() {
        let table = [
            ("\"</script>\"", "\"\\u003c/script\\u003e\""),
            ("\"<!--&amp;\"", "\"\\u003c!--\\u0026amp;\""),
            ("\"\u{202e}\u{2028}\u{2066}\"", "\"\\u202e\\u2028\\u2066\""),
            ("\"\u{e0041}\"", "\"\\udb40\\udc41\""),
            ("\"▁é漢\u{9b}\"", "\"▁é漢\\u009b\""),
        ];
        for (json, expected) in table {
            assert_eq!(escape_script_json(json), expected);
        }
        for c in '\0'..=char::MAX {
            let escaped = escape_script_json(&c.to_string());
            assert!(!needs_escape(c) || escaped.is_ascii(), "{c:?}");
        }
    }

    #[test]
    fn markup_has_no_special_characters() {
        assert_eq!(
            escape_markup("</title>\"a\" & 'b'"),
            "&lt;/title&gt;&quot;a&quot; &amp; &#39;b&#39;"
        );
    }
}
