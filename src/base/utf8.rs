//! Stepping over the characters of bytes that need not be UTF-8.
//!
//! The library steps over text with these functions, except in `encode::bpe`: its ASCII scan tests
//! eight bytes at once, and its table of characters decodes characters of two and three bytes
//! itself.
//!
//! | function | examines | on malformed bytes | used for |
//! |---|---|---|---|
//! | [`decode_char`] | the whole character | no character, length 1 | text of the caller |
//! | [`char_width`] | the whole character | `None` | the same, where the length is enough |
//! | [`char_length`] | the first byte | the length that it declares | normalized text |
//! | [`is_char_start`], [`is_continuation`] | one byte | | well-formed text |
//! | [`char_starts`] | every byte | | well-formed text |
//! | [`floor_char_boundary`] | backwards, at most 3 bytes | | well-formed text |
//! | [`plainly_normalized_char`] | the whole character | U+FFFD, length 1 | raw text of models without rules |
//! | [`lossy_chars`], [`lossy_string`] | everything | U+FFFD for each byte | messages, training |
//!
//! The reference steps over a malformed byte alone and tries again at the next byte. So a four-byte
//! sequence whose last byte is missing, `F0 9F 98`, gives three replacement characters, where
//! [`String::from_utf8_lossy`] gives one. Well-formed is what [`std::str::from_utf8`] accepts: no
//! overlong form, no surrogate, nothing above U+10FFFF.

use super::WHITESPACE_MARK_STR;

/// Whether `bytes` are the beginning of a character but not a complete one.
pub(crate) fn may_become_char(bytes: &[u8]) -> bool {
    bytes.len() < 4
        && matches!(std::str::from_utf8(bytes), Err(error) if error.valid_up_to() == 0 && error.error_len().is_none())
}

/// The bytes at the end that are the beginning of a character, but no character.
pub(crate) fn begun_char(bytes: &[u8]) -> usize {
    let longest = bytes.len().min(3);
    let mut lengths = (1..=longest).rev();
    let begins = |length: &usize| may_become_char(&bytes[bytes.len() - length..]);
    lengths.find(begins).unwrap_or(0)
}

/// The first character of `bytes` and its length in bytes. The result is `(None, 1)` if the first
/// byte begins no well-formed sequence, and `(None, 0)` for empty input.
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

/// Whether a byte is a continuation byte (`0b10xx_xxxx`): the second or a later byte of a
/// character.
#[inline]
pub(crate) fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// Whether a byte of well-formed text begins a character.
#[inline]
pub(crate) fn is_char_start(byte: u8) -> bool {
    !is_continuation(byte)
}

/// Where the characters of well-formed `text` start.
#[cfg(feature = "train")]
#[inline]
pub(crate) fn char_starts(text: &[u8]) -> impl Iterator<Item = usize> {
    (0..text.len()).filter(|at| is_char_start(text[*at]))
}

/// The length of the longest common prefix of two texts, in bytes.
#[inline]
pub(crate) fn common_length(a: &[u8], b: &[u8]) -> usize {
    let (a_words, _) = a.as_chunks::<8>();
    let (b_words, _) = b.as_chunks::<8>();
    let mut length = 0;
    for at in 0..a_words.len().min(b_words.len()) {
        let differences = u64::from_le_bytes(a_words[at]) ^ u64::from_le_bytes(b_words[at]);
        if differences != 0 {
            return length + differences.trailing_zeros() as usize / 8;
        }
        length += 8;
    }
    let rest = a[length..].iter().zip(&b[length..]);
    length + rest.take_while(|(a, b)| a == b).count()
}

/// The last position that is not after `at` and does not lie inside a character of well-formed
/// `text`; the end of the text for positions after it.
#[inline]
pub(crate) fn floor_char_boundary(text: &[u8], at: usize) -> usize {
    let mut at = at.min(text.len());
    while text.get(at).is_some_and(|byte| is_continuation(*byte)) && at > 0 {
        at -= 1;
    }
    at
}

/// The length of the character at the start of `bytes`; `None` if the bytes there are not
/// well-formed. Equal to [`decode_char`] without the character, and faster.
#[inline]
pub(crate) fn char_width(bytes: &[u8]) -> Option<usize> {
    let continues = |at: usize| bytes.get(at).is_some_and(|byte| is_continuation(*byte));
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

/// The first character of raw text after normalization without rules (a space becomes the
/// whitespace mark, a malformed byte U+FFFD), and its length in the raw text. Empty input gives an
/// empty character and length 0.
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

/// Whether a text is one character by [`char_length`], or empty.
#[inline]
pub(crate) fn is_char(text: &[u8]) -> bool {
    char_length(text) == text.len()
}

/// The length that the first byte of `bytes` declares, cut at the end of `bytes`; the other bytes
/// are not examined. The reference steps over normalized text in this way.
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

/// The first four bytes of `text`, the first one lowest, with zeros after the end of a shorter text.
#[inline(always)]
pub(crate) fn first_word(text: &[u8]) -> u32 {
    match text.first_chunk() {
        Some(four) => u32::from_le_bytes(*four),
        None => last_word(text),
    }
}

/// As [`first_word`], for at most three bytes. If it were inlined, the scan of wide characters would take
/// 6 % longer.
#[cold]
#[inline(never)]
fn last_word(text: &[u8]) -> u32 {
    let join = |word: u32, byte: &u8| word << 8 | u32::from(*byte);
    text.iter().take(3).rev().fold(0, join)
}

/// The characters of `bytes`, with U+FFFD for each byte that belongs to no character.
pub(crate) fn lossy_chars(bytes: &[u8]) -> LossyChars<'_> {
    LossyChars { rest: bytes }
}

/// `bytes` as text, with U+FFFD for each byte that belongs to no character.
pub(crate) fn lossy_string(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => lossy_chars(bytes).collect(),
    }
}

/// The iterator that [`lossy_chars`] returns.
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
    fn malformed_bytes_are_replaced_one_by_one() {
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
    fn char_width_agrees_with_decode_char() {
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
    fn as_bytes_returns_the_bytes_that_are_not_decoded_yet() {
        let mut chars = lossy_chars("é漢".as_bytes());
        assert_eq!(chars.next(), Some('é'));
        assert_eq!(chars.as_bytes(), "漢".as_bytes());
        assert_eq!(decode_char(b""), (None, 0));
    }

    #[test]
    fn common_lengths_are_those_of_single_bytes() {
        for length in 0..40 {
            let text = vec![b'a'; length];
            for at in 0..length {
                let mut other = text.clone();
                other[at] = b'b';
                assert_eq!(common_length(&text, &other), at);
                assert_eq!(common_length(&text[..at], &text), at);
            }
            assert_eq!(common_length(&text, &text), length);
        }
    }

    #[test]
    fn floor_char_boundary_agrees_with_str() {
        let text = "aé漢😀z";
        for at in 0..text.len() + 3 {
            let expected = (0..=at.min(text.len()))
                .rev()
                .find(|at| text.is_char_boundary(*at));
            assert_eq!(Some(floor_char_boundary(text.as_bytes(), at)), expected);
        }
        assert_eq!(floor_char_boundary(b"\x80\x80", 1), 0);
    }
}
