//! Tokens as lines of text, for files of required and forbidden tokens.
//!
//! A token is written as it is, spaces at both ends included. `\n`, `\r` and `\t` are a line feed, a
//! carriage return and a tab, `\x` and two hexadecimal digits any byte, and `\\` is a backslash.
//! Empty lines say nothing, nor does a byte order mark, or a carriage return at the end of a line.

use super::options::ByteTrainOptions;
use crate::train::options::OptionError;

/// What a line of forbidden tokens is.
const FORBIDDEN_LINE: &str =
    "never_made or never_merged, a space and a token, in which \\n, \\t, \\\\ or \\xE2 is one byte";
/// What a line of required tokens is.
const REQUIRED_LINE: &str =
    "a token, which is UTF-8, and in which \\n, \\t, \\\\ or \\x20 is one byte";

impl ByteTrainOptions {
    /// Adds the tokens of the lines to [`required_tokens`](Self::required_tokens), one a line.
    ///
    /// A line feed, a carriage return, a tab and a backslash in a token are written `\n`, `\r`, `\t`
    /// and `\\`, any byte `\xNN` with two hexadecimal digits; all else, spaces too, is the token. Empty
    /// lines, a byte order mark, and carriage returns at the ends of lines are left out.
    ///
    /// ```
    /// use spiece::train::{ByteTieOrder, ByteTrainOptions};
    ///
    /// let mut options = ByteTrainOptions::new(300, ByteTieOrder::Rustbpe.pretokenizer("none")?);
    /// options.add_required_lines("SELECT\n the\n\\t\\t\n")?;
    /// assert_eq!(options.required_tokens, ["SELECT", " the", "\t\t"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`OptionError::Value`] for a line with another backslash, or whose bytes are not UTF-8.
    pub fn add_required_lines(&mut self, text: &str) -> Result<(), OptionError> {
        for line in lines(text) {
            let token = unescaped(line).and_then(|token| String::from_utf8(token).ok());
            let token = token.ok_or_else(|| OptionError::Value {
                option: "required_tokens",
                value: line.to_owned(),
                expected: REQUIRED_LINE,
            })?;
            self.required_tokens.push(token);
        }
        Ok(())
    }

    /// Adds the tokens of the lines to [`never_made`](Self::never_made) and
    /// [`never_merged`](Self::never_merged): a line is one of these two names, a space, and a token
    /// as in [`add_required_lines`](Self::add_required_lines). Lines that begin with `#` are comments.
    ///
    /// ```
    /// use spiece::train::{ByteTieOrder, ByteTrainOptions};
    ///
    /// let mut options = ByteTrainOptions::new(300, ByteTieOrder::Rustbpe.pretokenizer("none")?);
    /// options.add_forbidden_lines("# names\nnever_made Smith\nnever_merged \\n\n")?;
    /// assert_eq!(options.never_made, [b"Smith"]);
    /// assert_eq!(options.never_merged, [b"\n"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`OptionError::Value`] for a line of another form.
    pub fn add_forbidden_lines(&mut self, text: &str) -> Result<(), OptionError> {
        for line in lines(text).filter(|line| !line.starts_with('#')) {
            let error = || OptionError::Value {
                option: "forbidden_tokens",
                value: line.to_owned(),
                expected: FORBIDDEN_LINE,
            };
            let (rule, token) = line.split_once(' ').ok_or_else(error)?;
            let list = match rule {
                "never_made" => &mut self.never_made,
                "never_merged" => &mut self.never_merged,
                _ => return Err(error()),
            };
            list.push(unescaped(token).ok_or_else(error)?);
        }
        Ok(())
    }
}

/// The lines that are not empty.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.split('\n');
    let lines = lines.map(|line| line.strip_suffix('\r').unwrap_or(line));
    lines.filter(|line| !line.is_empty())
}

/// The bytes of a token; `None` if a backslash begins nothing that is known.
fn unescaped(line: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('\\') {
        bytes.extend_from_slice(before.as_bytes());
        let (byte, length) = match after.as_bytes().first()? {
            b'\\' => (b'\\', 1),
            b'n' => (b'\n', 1),
            b'r' => (b'\r', 1),
            b't' => (b'\t', 1),
            b'x' => {
                let digits = after.get(1..3)?;
                // `from_str_radix` also reads a sign.
                let are_digits = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
                (
                    u8::from_str_radix(digits, 16).ok().filter(|_| are_digits)?,
                    3,
                )
            }
            _ => return None,
        };
        bytes.push(byte);
        rest = &after[length..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_spaces_are_written_as_they_are_or_by_escapes() {
        let cases: &[(&str, Option<&[u8]>)] = &[
            (" a b ", Some(b" a b ")),
            (r"\\n\n\r\t", Some(b"\\n\n\r\t")),
            (r"\xe2\x96\x81x", Some(b"\xe2\x96\x81x")),
            (r"\x20", Some(b" ")),
            ("é#", Some("é#".as_bytes())),
            (r"\", None),
            (r"\u0041", None),
            (r"\x+1", None),
            (r"\xé", None),
            (r"\x1", None),
        ];
        for (line, expected) in cases {
            assert_eq!(unescaped(line).as_deref(), *expected, "{line}");
        }
    }

    #[test]
    fn lines_of_another_form_are_refused() {
        let options = || ByteTrainOptions::from_flags([]).unwrap();
        for line in [
            "ab",
            "never_made",
            "made ab",
            r"never_made \q",
            " never_made ab",
        ] {
            let error = options().add_forbidden_lines(line).unwrap_err();
            assert!(
                matches!(&error, OptionError::Value { option: "forbidden_tokens", value, .. } if value == line),
                "{line}: {error}"
            );
        }
        for line in [r"\q", r"\xff"] {
            let error = options().add_required_lines(line).unwrap_err();
            assert!(
                matches!(
                    error,
                    OptionError::Value {
                        option: "required_tokens",
                        ..
                    }
                ),
                "{line}"
            );
        }
        let mut read = options();
        read.add_forbidden_lines("\u{feff}# a\r\n\r\nnever_made  ab \r\nnever_merged #\r")
            .unwrap();
        assert_eq!(
            (read.never_made, read.never_merged),
            (vec![b" ab ".to_vec()], vec![b"#".to_vec()])
        );
    }
}
