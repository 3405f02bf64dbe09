//! JSON (RFC 8259): strings, for `--output_format=json`, and whole documents, for reports.
//!
//! Input: bytes, or a [`JsonValue`]. Output: JSON in UTF-8. In strings the quotation mark, the
//! backslash and control characters are escaped; all other characters are written as UTF-8.
//! Documents have one line for each member of an object and for each object in a list; lists of
//! numbers and strings are one line. Cost: one pass.
//!
//! ```text
//! say "hi"<tab>  ->  "say \"hi\"\u0009"
//! ```

use std::io::Write;

use spiece::PieceId;

/// A value of a document. Members of objects keep their order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum JsonValue {
    Null,
    Bool(bool),
    /// A number that is written as it is given: decimal digits.
    Number(String),
    /// Text, which need not be UTF-8; see [`write_string`].
    Text(Vec<u8>),
    List(Vec<Self>),
    Object(Vec<(&'static str, Self)>),
}

impl JsonValue {
    /// A list of values.
    pub(crate) fn list(values: impl IntoIterator<Item = impl Into<Self>>) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }

    /// Whether the value is written on one line.
    fn is_flat(&self) -> bool {
        match self {
            Self::List(items) => !items.iter().any(Self::is_container),
            Self::Object(members) => members.is_empty(),
            _ => true,
        }
    }

    fn is_container(&self) -> bool {
        matches!(self, Self::List(_) | Self::Object(_))
    }

    /// Appends the value as a document, with a line feed.
    pub(crate) fn write_document(&self, out: &mut Vec<u8>) {
        self.write(0, out);
        out.push(b'\n');
    }

    /// Appends the value without spaces and line ends, for documents that no one reads.
    pub(crate) fn write_compact(&self, out: &mut Vec<u8>) {
        match self {
            Self::List(values) => {
                write_compact_members(b"[]", values, out, Self::write_compact);
            }
            Self::Object(members) => {
                write_compact_members(b"{}", members, out, |(name, value), out| {
                    write_string(name.as_bytes(), out);
                    out.push(b':');
                    value.write_compact(out);
                });
            }
            flat => flat.write(0, out),
        }
    }

    /// Appends the value, whose members are indented by one more than `depth`.
    fn write(&self, depth: usize, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"null"),
            Self::Bool(value) => out.extend_from_slice(value.to_string().as_bytes()),
            Self::Number(digits) => out.extend_from_slice(digits.as_bytes()),
            Self::Text(text) => write_string(text, out),
            Self::List(values) => self.write_members(depth, b"[]", values, out, |value, out| {
                value.write(depth + 1, out);
            }),
            Self::Object(members) => {
                self.write_members(depth, b"{}", members, out, |(name, value), out| {
                    write_string(name.as_bytes(), out);
                    out.extend_from_slice(b": ");
                    value.write(depth + 1, out);
                });
            }
        }
    }

    /// Appends members between brackets.
    fn write_members<T>(
        &self,
        depth: usize,
        brackets: &[u8; 2],
        members: &[T],
        out: &mut Vec<u8>,
        write: impl Fn(&T, &mut Vec<u8>),
    ) {
        let is_flat = self.is_flat();
        out.push(brackets[0]);
        for (index, member) in members.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            match (is_flat, index) {
                (false, _) => write_line_start(depth + 1, out),
                (true, 0) => {}
                (true, _) => out.push(b' '),
            }
            write(member, out);
        }
        if !is_flat {
            write_line_start(depth, out);
        }
        out.push(brackets[1]);
    }
}

/// Appends members between brackets, with nothing but commas between them.
fn write_compact_members<T>(
    brackets: &[u8; 2],
    members: &[T],
    out: &mut Vec<u8>,
    write: impl Fn(&T, &mut Vec<u8>),
) {
    out.push(brackets[0]);
    for (index, member) in members.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(member, out);
    }
    out.push(brackets[1]);
}

/// Begins a line with two spaces for each level.
fn write_line_start(depth: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    out.resize(out.len() + 2 * depth, b' ');
}

/// A list.
impl FromIterator<Self> for JsonValue {
    fn from_iter<I: IntoIterator<Item = Self>>(values: I) -> Self {
        Self::List(values.into_iter().collect())
    }
}

impl From<bool> for JsonValue {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<u64> for JsonValue {
    fn from(number: u64) -> Self {
        Self::Number(number.to_string())
    }
}

impl From<usize> for JsonValue {
    fn from(number: usize) -> Self {
        Self::Number(number.to_string())
    }
}

impl From<i32> for JsonValue {
    fn from(number: i32) -> Self {
        Self::Number(number.to_string())
    }
}

impl From<PieceId> for JsonValue {
    fn from(id: PieceId) -> Self {
        Self::Number(id.to_string())
    }
}

/// The shortest digits that give the number again. Infinite numbers and NaN, which JSON does not
/// have, become null.
impl From<f64> for JsonValue {
    fn from(number: f64) -> Self {
        if number.is_finite() {
            Self::Number(number.to_string())
        } else {
            Self::Null
        }
    }
}

/// See the conversion of 64-bit floats.
impl From<f32> for JsonValue {
    fn from(number: f32) -> Self {
        if number.is_finite() {
            Self::Number(number.to_string())
        } else {
            Self::Null
        }
    }
}

impl From<&[u8]> for JsonValue {
    fn from(text: &[u8]) -> Self {
        Self::Text(text.to_vec())
    }
}

impl From<&str> for JsonValue {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl<T: Into<Self>> From<Option<T>> for JsonValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Appends `text` as a JSON string; malformed UTF-8 becomes U+FFFD.
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
    use super::JsonValue;

    #[test]
    fn documents_have_a_line_for_each_member_of_an_object() {
        let document = JsonValue::Object(vec![
            ("none", JsonValue::from(f64::NAN)),
            ("numbers", JsonValue::list([1_u64, 2])),
            (
                "objects",
                JsonValue::List(vec![JsonValue::Object(vec![("a", (-0.5).into())])]),
            ),
            ("empty", JsonValue::Object(Vec::new())),
        ]);
        let mut out = Vec::new();
        document.write_document(&mut out);
        let expected = r#"{
  "none": null,
  "numbers": [1, 2],
  "objects": [
    {
      "a": -0.5
    }
  ],
  "empty": {}
}
"#;
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        let mut out = Vec::new();
        document.write_compact(&mut out);
        let expected = r#"{"none":null,"numbers":[1,2],"objects":[{"a":-0.5}],"empty":{}}"#;
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

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
