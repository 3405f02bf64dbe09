//! The text of a JSON record: one field of an object, found without building the rest.
//!
//! Input: the bytes of one record (a line of a JSON Lines file) and a path of names. Output: the
//! text, borrowed from the record unless it has escapes. Method: `serde_json` parses the record;
//! only values on the path are kept. A name that occurs twice in an object has its last value, as
//! in Python and JavaScript. Cost: one pass over the record, without allocation if the text has no
//! escapes.
//!
//! Example: the path `meta.body` of `{"id": 1, "meta": {"body": "one"}}` is `one`. In the path,
//! `\.` is a dot that belongs to a name.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Unexpected, Visitor};

/// Names of fields from the record inwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonField {
    names: Vec<String>,
}

/// What to do about a [`RecordError`].
pub const RECORD_REMEDY: &str = "correct the record, or name another field of the records";

/// A record without the text.
#[derive(Debug, PartialEq, Eq)]
pub struct RecordError {
    problem: String,
}

impl RecordError {
    /// The error with this message.
    pub fn new(problem: &str) -> Self {
        let problem = problem.to_owned();
        Self { problem }
    }

    /// The error of the record in this line, from 1.
    pub fn in_line(self, line: u64) -> Self {
        let problem = format!("line {line}: {}", self.problem);
        Self { problem }
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

impl std::error::Error for RecordError {}

impl JsonField {
    /// The field with this path; `None` if a name is empty or the path ends with an unescaped
    /// backslash.
    pub fn parse(path: &str) -> Option<Self> {
        let mut names = vec![String::new()];
        let mut chars = path.chars();
        while let Some(c) = chars.next() {
            match (c, names.last_mut()?) {
                ('.', _) => names.push(String::new()),
                ('\\', name) => name.push(chars.next()?),
                (c, name) => name.push(c),
            }
        }
        let is_complete = names.iter().all(|name| !name.is_empty());
        is_complete.then_some(Self { names })
    }

    /// The text of a record.
    ///
    /// # Errors
    /// The record is no JSON, or has no such field, or the field is no text.
    pub fn text_of<'r>(&self, record: &'r [u8]) -> Result<Cow<'r, str>, RecordError> {
        let mut json = serde_json::Deserializer::from_slice(record);
        let text = TextSeed { names: &self.names }.deserialize(&mut json);
        let text = text.and_then(|text| json.end().map(|()| text));
        text.map_err(|error| problem(&error))
    }
}

/// The error of the parser, with the column alone: a record is one line.
fn problem(error: &serde_json::Error) -> RecordError {
    let message = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    let problem = match message.strip_suffix(&position) {
        Some(message) => format!("{message}, column {}", error.column()),
        None => message,
    };
    RecordError { problem }
}

/// Whether a line is blank. Blank lines between records are skipped.
pub fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

/// Finds the text at the end of a path.
#[derive(Clone, Copy)]
struct TextSeed<'p> {
    names: &'p [String],
}

impl<'de> DeserializeSeed<'de> for TextSeed<'_> {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Cow<'de, str>, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TextSeed<'_> {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.names.first() {
            Some(name) => write!(f, "an object with the field {name:?}"),
            None => f.write_str("a text"),
        }
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Cow<'de, str>, E> {
        self.check_end(text)?;
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Cow<'de, str>, E> {
        self.check_end(text)?;
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Cow<'de, str>, A::Error> {
        let Some((name, names)) = self.names.split_first() else {
            return Err(Error::custom("the field is an object, which is no text"));
        };
        let mut found = None;
        while let Some(is_wanted) = map.next_key_seed(NameSeed(name))? {
            if is_wanted {
                found = Some(map.next_value_seed(TextSeed { names })?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        found.ok_or_else(|| Error::custom(format_args!("the field {name:?} is missing")))
    }
}

impl TextSeed<'_> {
    /// A text is the value only at the end of the path.
    fn check_end<E: Error>(&self, text: &str) -> Result<(), E> {
        if self.names.is_empty() {
            return Ok(());
        }
        Err(E::invalid_type(Unexpected::Str(text), self))
    }
}

/// Compares a name in an object with the wanted one.
struct NameSeed<'p>(&'p str);

impl<'de> DeserializeSeed<'de> for NameSeed<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<bool, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for NameSeed<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(path: &str, record: &str) -> Result<String, String> {
        let field = JsonField::parse(path).unwrap();
        let text = field.text_of(record.as_bytes());
        text.map(Cow::into_owned).map_err(|error| error.to_string())
    }

    #[test]
    fn texts_are_found_by_their_path() {
        for (path, record, expected) in [
            ("text", r#"{"text": "one"}"#, "one"),
            (
                "text",
                r#" {"a": [1, {"text": 2}], "text": "a\n\u00e9\ud83d\ude00"} "#,
                "a\n\u{e9}\u{1f600}",
            ),
            ("text", r#"{"text": "first", "text": "last"}"#, "last"),
            ("t\u{e9}", r#"{"t\u00e9": ""}"#, ""),
            ("a.b", r#"{"b": 0, "a": {"b": "deep"}}"#, "deep"),
            (r"a\.b.c", r#"{"a.b": {"c": "dots"}}"#, "dots"),
            (r"a\\", r#"{"a\\": "backslash"}"#, "backslash"),
        ] {
            assert_eq!(text_of(path, record).as_deref(), Ok(expected), "{record}");
        }
        assert!(matches!(
            JsonField::parse("text")
                .unwrap()
                .text_of(br#"{"text": "borrowed"}"#),
            Ok(Cow::Borrowed("borrowed"))
        ));
    }

    #[test]
    fn records_without_the_text_are_errors_that_say_why() {
        for (path, record, expected) in [
            ("text", r#"{"id": 1}"#, "\"text\" is missing"),
            ("a.b", r#"{"a": {}}"#, "\"b\" is missing"),
            (
                "a.b",
                r#"{"a": "b"}"#,
                "expected an object with the field \"b\"",
            ),
            (
                "text",
                r#"{"text": 1, "text": "a"}"#,
                "integer `1`, expected a text",
            ),
            (
                "text",
                r#"{"text": null}"#,
                "invalid type: null, expected a text",
            ),
            ("text", r#"{"text": {}}"#, "is an object"),
            ("text", r#"{"text": ["a"]}"#, "sequence, expected a text"),
            ("text", r#"["text"]"#, "expected an object"),
            (
                "text",
                r#"{"text": "a"} {"#,
                "trailing characters, column 15",
            ),
            ("text", r#"{"text": "a""#, "column 12"),
            ("text", "{\"text\": \"\\ud800 \"}", "escape"),
        ] {
            let error = text_of(path, record).unwrap_err();
            assert!(error.contains(expected), "{record}: {error}");
        }
        let not_utf8 = JsonField::parse("text").unwrap();
        assert!(not_utf8.text_of(b"{\"text\": \"\xff\"}").is_err());
        let nested = format!("{{\"a\":{}", "[".repeat(1 << 20));
        assert!(text_of("text", &nested).unwrap_err().contains("EOF"));
    }

    #[test]
    fn paths_without_a_name_are_refused() {
        for path in ["", ".", "a.", ".a", "a..b", "a\\"] {
            assert_eq!(JsonField::parse(path), None, "{path}");
        }
    }
}
