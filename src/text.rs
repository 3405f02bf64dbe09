//! Code-point rules: the marks that carry a meaning inside the library, and how
//! bytes become characters when nobody promised that they are UTF-8.
//!
//! In: bytes of any kind. Out: characters, with U+FFFD for what is no character.
//!
//! The reference decodes by hand and gives up one byte at a time: after a byte
//! that begins no well-formed sequence it tries again at the very next byte, so
//! a truncated four-byte sequence yields three replacement characters and not
//! one, as [`String::from_utf8_lossy`] would. What it takes as well-formed
//! (no overlong form, no surrogate, nothing above U+10FFFF) is exactly what
//! [`std::str::from_utf8`] takes, so the standard library is the judge here and
//! only the stepping is ours. Cost: constant for each character.

pub(crate) mod offsets;
#[cfg(feature = "train")]
pub(crate) mod script;

/// Stands for a space inside pieces ("lower one eighth block").
pub(crate) const WHITESPACE_MARK: char = '\u{2581}';
/// [`WHITESPACE_MARK`] as text; `.as_bytes()` gives its three bytes.
pub(crate) const WHITESPACE_MARK_STR: &str = "\u{2581}";
/// Stands for a character outside the alphabet during training.
pub(crate) const UNKNOWN_MARK: char = '\u{2585}';
/// [`UNKNOWN_MARK`] as text.
#[cfg(test)]
pub(crate) const UNKNOWN_MARK_STR: &str = "\u{2585}";
/// Stands during training for a place that no piece may cross.
pub(crate) const BOUNDARY_MARK: char = '\u{1f}';

/// The first character of `bytes` and its length; `(None, 1)` if the first byte
/// begins no well-formed sequence. Nothing at all gives `(None, 0)`.
pub(crate) fn decode_char(bytes: &[u8]) -> (Option<char>, usize) {
    let Some(&lead) = bytes.first() else {
        return (None, 0);
    };
    if lead.is_ascii() {
        return (Some(char::from(lead)), 1);
    }
    let width = match lead {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => return (None, 1),
    };
    let sequence = bytes
        .get(..width)
        .and_then(|sequence| std::str::from_utf8(sequence).ok());
    match sequence.and_then(|text| text.chars().next()) {
        Some(c) => (Some(c), width),
        None => (None, 1),
    }
}

/// Whether a byte of well-formed text begins a character.
#[inline]
pub(crate) fn is_char_start(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}

/// The length of the character at the start of `bytes` if it is well-formed.
#[inline]
pub(crate) fn char_width(bytes: &[u8]) -> Option<usize> {
    let continues = |at: usize| bytes.get(at).is_some_and(|byte| byte & 0xC0 == 0x80);
    let second = bytes.get(1).copied().unwrap_or(0);
    match *bytes.first()? {
        ..0x80 => Some(1),
        0xC2..=0xDF if continues(1) => Some(2),
        0xE0 if second < 0xA0 => None,
        0xED if second > 0x9F => None,
        0xE0..=0xEF if continues(1) && continues(2) => Some(3),
        0xF0 if second < 0x90 => None,
        0xF4 if second > 0x8F => None,
        0xF0..=0xF4 if continues(1) && continues(2) && continues(3) => Some(4),
        _ => None,
    }
}

/// The character at the start of raw text as it is in normalized text, where no rules but the common ones apply (a
/// space becomes a mark, a malformed byte U+FFFD), and its length in the raw text. Nothing at all gives nothing.
#[inline(always)]
pub(crate) fn plainly_normalized_char(raw: &[u8]) -> (&[u8], usize) {
    match raw {
        [] => (b"", 0),
        [b' ', ..] => (WHITESPACE_MARK_STR.as_bytes(), 1),
        [..0x80, ..] => (&raw[..1], 1),
        _ => match char_width(raw) {
            Some(width) => (&raw[..width], width),
            None => ("\u{FFFD}".as_bytes(), 1),
        },
    }
}

/// The length of the character at the start of `bytes` as its first byte alone tells it, well-formed or not:
/// how the reference steps over text that is normalized already.
#[inline]
pub(crate) fn char_length(bytes: &[u8]) -> usize {
    let width = match bytes.first() {
        None => 0,
        Some(0..=0xBF) => 1,
        Some(0xC0..=0xDF) => 2,
        Some(0xE0..=0xEF) => 3,
        Some(0xF0..) => 4,
    };
    width.min(bytes.len())
}

/// The characters of `bytes`, U+FFFD for each byte that belongs to none.
pub(crate) fn lossy_chars(bytes: &[u8]) -> LossyChars<'_> {
    LossyChars { rest: bytes }
}

/// The text that `bytes` are, with U+FFFD for each byte that belongs to no character.
pub(crate) fn lossy_string(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => lossy_chars(bytes).collect(),
    }
}

/// Iterator of [`lossy_chars`].
#[derive(Clone, Debug)]
pub(crate) struct LossyChars<'a> {
    rest: &'a [u8],
}

impl<'a> LossyChars<'a> {
    /// The bytes that are not decoded yet.
    #[cfg(test)]
    pub(crate) fn as_bytes(&self) -> &'a [u8] {
        self.rest
    }
}

impl Iterator for LossyChars<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        if self.rest.is_empty() {
            return None;
        }
        let (c, width) = decode_char(self.rest);
        self.rest = self.rest.get(width..).unwrap_or_default();
        Some(c.unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.rest.len().div_ceil(4), Some(self.rest.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_their_text() {
        assert_eq!(WHITESPACE_MARK_STR, WHITESPACE_MARK.to_string());
        assert_eq!(UNKNOWN_MARK_STR, UNKNOWN_MARK.to_string());
        assert_eq!(WHITESPACE_MARK_STR.as_bytes(), b"\xE2\x96\x81");
    }

    #[test]
    fn every_character_decodes_to_itself() {
        let mut buffer = [0; 5];
        for c in '\0'..=char::MAX {
            buffer[4] = b'x';
            let width = c.encode_utf8(&mut buffer).len();
            assert_eq!(decode_char(&buffer), (Some(c), width), "{c:?}");
            assert_eq!(char_width(&buffer), Some(width), "{c:?}");
        }
    }

    #[test]
    fn malformed_bytes_go_one_by_one() {
        let table: &[(&str, &[u8], &str)] = &[
            ("lone continuation", b"\x80a", "\u{FFFD}a"),
            ("overlong NUL", b"\xC0\x80", "\u{FFFD}\u{FFFD}"),
            (
                "overlong slash",
                b"\xE0\x80\xAF",
                "\u{FFFD}\u{FFFD}\u{FFFD}",
            ),
            ("surrogate", b"\xED\xA0\x80", "\u{FFFD}\u{FFFD}\u{FFFD}"),
            (
                "too large",
                b"\xF4\x90\x80\x80",
                "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}",
            ),
            ("cut short", b"\xF0\x9F\x98", "\u{FFFD}\u{FFFD}\u{FFFD}"),
            ("no such byte", b"\xFFz\xFE", "\u{FFFD}z\u{FFFD}"),
            ("cut by a letter", b"\xE3\x81b", "\u{FFFD}\u{FFFD}b"),
            ("a real U+FFFD", b"\xEF\xBF\xBD", "\u{FFFD}"),
            ("NUL is text", b"a\0b", "a\0b"),
        ];
        for (name, bytes, expected) in table {
            assert_eq!(lossy_chars(bytes).collect::<String>(), *expected, "{name}");
        }
    }

    #[test]
    fn widths_are_those_of_characters() {
        for first in 0..=255 {
            for second in 0..=255 {
                for tail in [[0x80, 0x80], [0xBF, 0x7F], [0xC0, 0xBF]] {
                    let bytes = [first, second, tail[0], tail[1]];
                    let (char, width) = decode_char(&bytes);
                    assert_eq!(char_width(&bytes), char.map(|_| width), "{bytes:x?}");
                    assert_eq!(
                        char_width(&bytes[..2]),
                        decode_char(&bytes[..2]).0.map(|c| c.len_utf8())
                    );
                }
            }
        }
        assert_eq!(char_width(b""), None);
    }

    #[test]
    fn a_rest_is_left_for_others() {
        let mut chars = lossy_chars("é漢".as_bytes());
        assert_eq!(chars.next(), Some('é'));
        assert_eq!(chars.as_bytes(), "漢".as_bytes());
        assert_eq!(decode_char(b""), (None, 0));
    }
}
