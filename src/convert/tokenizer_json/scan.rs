//! A scanner of JSON: strings and numbers one after another, without a tree of values.
//!
//! Input: a text. Output: on request its next string, number or bracket, or the end of its next
//! value; an error names the line and the column. What a caller asks for is checked as strictly as
//! `serde_json` does. In a skipped value only strings and brackets are recognized; a caller that
//! skips a value must have it checked elsewhere.
//!
//! Example: in `["a", 1]` a caller expects `[`, asks for a string, expects a comma, asks for an id,
//! and expects `]`.
//!
//! Cost: linear. Eight bytes of a string are tested at a time: the bits that show a quote, a
//! backslash or a control character are computed for all of them by subtractions without a branch.
//!
//! Source: RFC 8259; "Determine if a word has a byte equal to n" in S. E. Anderson, *Bit Twiddling
//! Hacks*,
//! <https://graphics.stanford.edu/~seander/bithacks.html>.

use std::ops::Range;

use crate::error::ConvertError;
use crate::text::num::low_usize;

use super::syntax;

/// What is wrong at the position of a scanner; see [`JsonScanner::error`]. Small, because every
/// value that is read returns one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScanProblem(pub(super) &'static str);

/// The value 1 in each byte of a word.
const ONES: u64 = 0x0101_0101_0101_0101;
/// The highest bit of each byte of a word.
const HIGHEST_BITS: u64 = 0x8080_8080_8080_8080;
/// Digits of the largest id.
const MAX_ID_DIGITS: usize = 10;
/// Characters below this one need an escape.
const FIRST_UNESCAPED: u8 = b' ';

/// A string: its range in the text, without the quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RawString {
    pub(super) range: Range<usize>,
    pub(super) has_escapes: bool,
}

/// A position in a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct JsonScanner<'j> {
    text: &'j str,
    position: usize,
}

impl<'j> JsonScanner<'j> {
    pub(super) fn new(text: &'j str) -> Self {
        JsonScanner { text, position: 0 }
    }

    /// The position in bytes: at the next value, or at the whitespace or punctuation before it.
    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// The first byte of the next value or the next punctuation; `None` at the end of the text.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        let byte = *self.text.as_bytes().get(self.position)?;
        if byte > b' ' {
            return Some(byte);
        }
        self.position = after_blanks(self.text.as_bytes(), self.position);
        self.text.as_bytes().get(self.position).copied()
    }

    /// Moves past `byte` if it is the next one.
    #[inline]
    pub(super) fn accept(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.position += usize::from(is_next);
        is_next
    }

    /// Moves past `byte`, which must be the next one.
    ///
    /// # Errors
    /// `missing`, if another byte is the next one.
    #[inline]
    pub(super) fn expect(&mut self, byte: u8, missing: &'static str) -> Result<(), ScanProblem> {
        match self.accept(byte) {
            true => Ok(()),
            false => Err(ScanProblem(missing)),
        }
    }

    /// Whether a list that ends with `close` has another element, and goes to it. `is_first` is
    /// cleared.
    ///
    /// # Errors
    /// A comma is missing.
    #[inline]
    pub(super) fn has_next(&mut self, close: u8, is_first: &mut bool) -> Result<bool, ScanProblem> {
        let next = self.peek();
        if next == Some(close) {
            self.position += 1;
            return Ok(false);
        }
        if !std::mem::take(is_first) {
            if next != Some(b',') {
                return Err(ScanProblem("a comma is missing"));
            }
            self.position += 1;
        }
        Ok(true)
    }

    /// Moves past the next value, which must be a string.
    ///
    /// # Errors
    /// It is not a string, has no end, or contains a control character.
    #[inline]
    pub(super) fn string(&mut self) -> Result<RawString, ScanProblem> {
        self.expect(b'"', "a text is missing")?;
        let bytes = self.text.as_bytes();
        let start = self.position;
        let mut has_escapes = false;
        loop {
            self.position = special_byte(bytes, self.position);
            match bytes.get(self.position) {
                Some(b'"') => break,
                Some(b'\\') => has_escapes = true,
                Some(_) => return Err(ScanProblem("a text has a control character")),
                None => return Err(ScanProblem("a text has no end")),
            }
            // The backslash and the character behind it.
            self.position += 2;
        }
        let range = start..self.position;
        self.position += 1;
        Ok(RawString { range, has_escapes })
    }

    /// A string with its escapes replaced.
    ///
    /// # Errors
    /// An escape is not valid JSON.
    pub(super) fn unescaped(&self, string: &RawString) -> Result<String, ScanProblem> {
        let Range { start, end } = string.range;
        let problem =
            ScanProblem("the text before has an escape that is none, or half a character");
        serde_json::from_str(&self.text[start - 1..end + 1]).map_err(|_| problem)
    }

    /// Moves past the next value, which must be an unsigned 32-bit integer.
    ///
    /// # Errors
    /// It is not.
    #[inline]
    pub(super) fn id(&mut self) -> Result<u32, ScanProblem> {
        self.peek();
        let bytes = self.text.as_bytes();
        let start = self.position;
        let mut number = 0_u64;
        let mut end = start;
        while let Some(digit @ b'0'..=b'9') = bytes.get(end) {
            number = number
                .wrapping_mul(10)
                .wrapping_add(u64::from(digit - b'0'));
            end += 1;
        }
        let has_fraction = matches!(bytes.get(end), Some(b'.' | b'e' | b'E'));
        let length = end - start;
        let has_zeros = length > 1 && bytes[start] == b'0';
        let is_whole = matches!(length, 1..=MAX_ID_DIGITS) && !has_fraction && !has_zeros;
        match u32::try_from(number) {
            Ok(id) if is_whole => {
                self.position = end;
                Ok(id)
            }
            _ => Err(ScanProblem("an id of 32 bits is missing")),
        }
    }

    /// Moves past the next value, which must be a number.
    ///
    /// # Errors
    /// It is not.
    pub(super) fn number(&mut self) -> Result<f64, ScanProblem> {
        self.peek();
        let bytes = &self.text.as_bytes()[self.position..];
        let is_part = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
        let length = bytes.iter().take_while(is_part).count();
        let number = serde_json::from_slice(&bytes[..length]);
        let number = number.map_err(|_| ScanProblem("a number is missing"))?;
        self.position += length;
        Ok(number)
    }

    /// Moves past the next value, in which only strings and brackets are recognized.
    ///
    /// # Errors
    /// A string or a bracket is not closed.
    pub(super) fn skip(&mut self) -> Result<(), ScanProblem> {
        let mut depth = 0_usize;
        loop {
            match self.peek() {
                None => return Err(ScanProblem("the file ends too early")),
                Some(b'}' | b']' | b',' | b':') if depth == 0 => {
                    return Err(ScanProblem("a value is missing"));
                }
                Some(b'"') => {
                    self.string()?;
                }
                Some(b'{' | b'[') => {
                    depth += 1;
                    self.position += 1;
                }
                Some(b'}' | b']') => {
                    depth -= 1;
                    self.position += 1;
                }
                Some(b',' | b':') => self.position += 1,
                Some(_) => self.skip_word(),
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// Moves past a number, `true`, `false` or `null`.
    fn skip_word(&mut self) {
        let bytes = &self.text.as_bytes()[self.position..];
        // Other blanks, such as a form feed, are no blanks of JSON, and `peek` does not pass them.
        let is_end = |byte: &u8| b" \n\t\r{}[],:\"".contains(byte);
        self.position += bytes.iter().position(is_end).unwrap_or(bytes.len());
    }

    /// The error that something is wrong here.
    #[cold]
    pub(super) fn error(&self, ScanProblem(problem): ScanProblem) -> ConvertError {
        let position = self.position.min(self.text.len());
        let before = &self.text.as_bytes()[..position];
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        let column = last_line(before).len() + 1;
        syntax(format!("{problem} at line {line} column {column}"))
    }
}

/// What is behind the last line feed.
fn last_line(text: &[u8]) -> &[u8] {
    let start = memchr::memrchr(b'\n', text).map_or(0, |at| at + 1);
    &text[start..]
}

/// The position behind the blanks that begin at `start`. Spaces, the most frequent blanks in
/// indented files, are passed eight at a time.
fn after_blanks(bytes: &[u8], start: usize) -> usize {
    let mut position = start;
    loop {
        match bytes.get(position) {
            Some(b' ') => {
                let chunk = bytes.get(position..).and_then(<[u8]>::first_chunk);
                let word = chunk.map(|chunk| u64::from_le_bytes(*chunk));
                let others = word.map_or(1 << 8, |word| word ^ in_each_byte(b' '));
                position += low_usize(u64::from(others.trailing_zeros() / 8));
            }
            Some(b'\n' | b'\t' | b'\r') => position += 1,
            _ => return position,
        }
    }
}

/// The position of the first quote, backslash or control character from `start` on; the end if
/// there is none, or `start` if it is past the end.
#[inline]
fn special_byte(bytes: &[u8], start: usize) -> usize {
    let mut position = start;
    while let Some(chunk) = bytes.get(position..).and_then(<[u8]>::first_chunk) {
        let special = special_bits(u64::from_le_bytes(*chunk));
        if special != 0 {
            return position + low_usize(u64::from(special.trailing_zeros() / 8));
        }
        position += 8;
    }
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\') || *byte < FIRST_UNESCAPED;
    let rest = bytes.get(position..).unwrap_or_default();
    position + rest.iter().position(is_special).unwrap_or(rest.len())
}

/// The highest bit of each byte that is a quote, a backslash or a control character. Bits above the
/// lowest set bit can be wrong.
#[inline]
fn special_bits(word: u64) -> u64 {
    let zero_bytes = |word: u64| word.wrapping_sub(ONES) & !word;
    let quotes = zero_bytes(word ^ in_each_byte(b'"'));
    let backslashes = zero_bytes(word ^ in_each_byte(b'\\'));
    let controls = word.wrapping_sub(in_each_byte(FIRST_UNESCAPED)) & !word;
    (quotes | backslashes | controls) & HIGHEST_BITS
}

/// A word whose bytes are all this one.
#[inline]
fn in_each_byte(byte: u8) -> u64 {
    ONES * u64::from(byte)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_example_of_the_module_page() {
        let mut scanner = JsonScanner::new(" [ \"a\" ,1\n] ");
        scanner.expect(b'[', "").unwrap();
        let string = scanner.string().unwrap();
        assert_eq!((string.range, string.has_escapes), (4..5, false));
        scanner.expect(b',', "").unwrap();
        assert_eq!(scanner.id().unwrap(), 1);
        scanner.expect(b']', "").unwrap();
        assert_eq!(scanner.peek(), None);
    }

    #[test]
    fn errors_name_line_and_column() {
        let mut scanner = JsonScanner::new("[1,\n  x]");
        scanner.expect(b'[', "").unwrap();
        scanner.id().unwrap();
        scanner.expect(b',', "").unwrap();
        let problem = scanner.id().unwrap_err();
        let error = scanner.error(problem).to_string();
        assert!(error.contains("line 2 column 3"), "{error}");
    }

    #[test]
    fn blanks_are_passed() {
        for spaces in 0..40 {
            for blanks in [
                " ".repeat(spaces),
                "\n\t \r".repeat(spaces),
                format!("\n{}\n", " ".repeat(spaces)),
            ] {
                for end in ["", "x", "\x0c", "\u{a0}", "\x1f        "] {
                    let text = format!("{blanks}{end}");
                    let mut scanner = JsonScanner::new(&text);
                    assert_eq!(scanner.peek(), end.as_bytes().first().copied(), "{text:?}");
                    assert_eq!(scanner.position(), blanks.len(), "{text:?}");
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// serde_json is the oracle for strings.
        #[test]
        fn strings_are_those_of_serde_json(
            parts in prop::collection::vec(prop::sample::select(vec![
                "a", "longer text", "é", "\u{1f600}", "\"", "\\", "\\\"", "\\n", "\\u0041", "\\ud83d\\ude00", "\\ud83d", "\u{1f}", "\n", "\\x", "\u{7f}",
            ]), 0..12)
        ) {
            let json = format!("\"{}\"", parts.concat());
            let mut scanner = JsonScanner::new(&json);
            let found = scanner.string().and_then(|string| match string.has_escapes {
                true => scanner.unescaped(&string),
                false => Ok(json[string.range].to_owned()),
            });
            let rest = json.get(scanner.position()..).unwrap_or_default();
            match serde_json::Deserializer::from_str(&json).into_iter::<String>().next() {
                Some(Ok(expected)) => prop_assert_eq!(found.unwrap(), expected),
                _ => prop_assert!(found.is_err(), "{rest:?}"),
            }
        }

        /// serde_json is the oracle for numbers.
        #[test]
        fn ids_are_those_of_serde_json(json in "[-+]?[0-9]{0,11}(\\.[0-9])?([eE][0-9])?") {
            let found = JsonScanner::new(&json).id();
            let expected: Result<u32, _> = serde_json::from_str(&json);
            prop_assert_eq!(found.ok(), expected.ok());
            let found = JsonScanner::new(&json).number();
            let expected: Result<f64, _> = serde_json::from_str(&json);
            prop_assert_eq!(found.ok(), expected.ok());
        }

        /// Values that serde_json accepts are skipped to their ends. Others are passed or refused;
        /// \x0C is no blank of JSON.
        #[test]
        fn values_are_skipped(text in "([\\[{]|\"[a\\]\\[{}]?\":|[\\]}]|,|1|true| |\t|\x0C|\x0B|null){0,14}") {
            let mut scanner = JsonScanner::new(&text);
            let skipped = scanner.skip();
            let mut values = serde_json::Deserializer::from_str(&text).into_iter::<serde_json::Value>();
            if let Some(Ok(_)) = values.next() {
                prop_assert!(skipped.is_ok());
                prop_assert_eq!(scanner.position(), values.byte_offset());
            }
        }
    }
}
