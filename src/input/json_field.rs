//! The text of a JSON record: one field of an object, found without building the rest.
//!
//! `serde_json` parses the record, and only values on the path are kept. A name that occurs twice
//! in an object has its last value, as in Python and JavaScript. No allocation if the text has no
//! escapes. The rest of the record is checked no more than is necessary to find the field: `NaN`,
//! `Infinity` and `-Infinity` (which Python writes), unpaired surrogates and bytes that are not
//! UTF-8 are accepted there, and a byte order mark before the record.
//!
//! Example: the path `meta.body` of `{"id": NaN, "meta": {"body": "one"}}` is `one`. In the path,
//! `\.` is a dot that belongs to a name.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::InputError;

/// Names of fields from the record inwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonField {
    names: Vec<String>,
}

/// What to do about a record without the text.
const RECORD_REMEDY: &str = "correct the record, name another field with json_field, or skip such records with \
                             on_bad_record=skip";

/// The error of the record in this line, from 1.
pub fn record_error(line: u64, problem: &str) -> InputError {
    InputError {
        problem: format!("line {line}: {problem}").into(),
        remedy: RECORD_REMEDY.into(),
    }
}

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

    /// The text of the record in a line; `None` for a blank line.
    ///
    /// # Errors
    /// What is wrong: the record is no JSON, or has no such field, or the field is no text.
    pub fn text_in<'r>(&self, line: &'r [u8]) -> Result<Option<Cow<'r, str>>, String> {
        let record = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        if record.iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        let text = match self.parse_record(record) {
            // The column of an error is that of the record as it is.
            Err(problem) => match with_plain_numbers(record) {
                Some(plain) => self
                    .parse_record(&plain)
                    .map(|text| Cow::Owned(text.into_owned()))?,
                None => return Err(problem),
            },
            Ok(text) => text,
        };
        Ok(Some(text))
    }

    fn parse_record<'r>(&self, record: &'r [u8]) -> Result<Cow<'r, str>, String> {
        let mut json = serde_json::Deserializer::from_slice(record);
        let seed = TextSeed {
            name: None,
            names: &self.names,
        };
        let text = seed.deserialize(&mut json);
        let text = text.and_then(|text| json.end().map(|()| text));
        text.map_err(|error| problem(&error))
    }
}

/// The message of the parser. A record is one line, so only the column is kept, and only where the
/// message does not say which value is meant.
fn problem(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    let message = message.strip_suffix(&position).unwrap_or(&message);
    if error.is_data() {
        return message.to_owned();
    }
    let message = match message {
        "unexpected end of hex escape" | "lone leading surrogate in hex escape" => {
            "the text has half of a surrogate pair (\\ud800 to \\udfff)"
        }
        "invalid unicode code point" => "the text is not UTF-8",
        _ => return format!("no valid JSON: {message}, column {}", error.column()),
    };
    format!("{message}, column {}", error.column())
}

/// The record with 0 in place of the numbers that Python writes and JSON lacks; `None` if it has
/// none. The length stays.
fn with_plain_numbers(record: &[u8]) -> Option<Vec<u8>> {
    let mut plain = record.to_vec();
    let mut is_changed = false;
    let mut at = 0;
    while let Some(byte) = record.get(at) {
        let rest = &record[at..];
        if *byte == b'"' {
            at += 1;
            while record.get(at).is_some_and(|byte| *byte != b'"') {
                at += if record[at] == b'\\' { 2 } else { 1 };
            }
            at += 1;
            continue;
        }
        let numbers: [&[u8]; 3] = [b"-Infinity", b"Infinity", b"NaN"];
        match numbers.iter().find(|number| rest.starts_with(number)) {
            Some(number) => {
                plain[at..at + number.len()].fill(b' ');
                plain[at] = b'0';
                is_changed = true;
                at += number.len();
            }
            None => at += 1,
        }
    }
    is_changed.then_some(plain)
}

/// Finds the text at the end of a path.
#[derive(Clone, Copy)]
struct TextSeed<'p> {
    /// The field that is being read; `None` for the record.
    name: Option<&'p str>,
    /// The rest of the path.
    names: &'p [String],
}

impl TextSeed<'_> {
    /// The error if a value is of another kind than the path says.
    fn other_value<E: Error>(&self, found: impl fmt::Display) -> E {
        let wanted = if self.names.is_empty() {
            "a text"
        } else {
            "an object"
        };
        match self.name {
            Some(name) => E::custom(format_args!("the field {name:?} is {found}, not {wanted}")),
            None => E::custom(format_args!("the record is {found}, not {wanted}")),
        }
    }
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
        f.write_str("a text")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Cow<'de, str>, E> {
        if self.names.is_empty() {
            return Ok(Cow::Borrowed(text));
        }
        Err(self.other_value("a text"))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Cow<'de, str>, E> {
        if self.names.is_empty() {
            return Ok(Cow::Owned(text.to_owned()));
        }
        Err(self.other_value("a text"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Cow<'de, str>, A::Error> {
        let Some((name, names)) = self.names.split_first() else {
            return Err(self.other_value("an object"));
        };
        let seed = TextSeed {
            name: Some(name),
            names,
        };
        let mut found = None;
        while let Some(is_wanted) = map.next_key_seed(NameSeed(name))? {
            if is_wanted {
                found = Some(map.next_value_seed(seed)?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        found.ok_or_else(|| Error::custom(format_args!("the field {name:?} is missing")))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _list: A) -> Result<Cow<'de, str>, A::Error> {
        Err(self.other_value("a list"))
    }

    fn visit_unit<E: Error>(self) -> Result<Cow<'de, str>, E> {
        Err(self.other_value("null"))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Cow<'de, str>, E> {
        Err(self.other_value(value))
    }

    fn visit_i64<E: Error>(self, _number: i64) -> Result<Cow<'de, str>, E> {
        Err(self.other_value("a number"))
    }

    fn visit_u64<E: Error>(self, _number: u64) -> Result<Cow<'de, str>, E> {
        Err(self.other_value("a number"))
    }

    fn visit_f64<E: Error>(self, _number: f64) -> Result<Cow<'de, str>, E> {
        Err(self.other_value("a number"))
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

    fn text_of(path: &str, record: impl AsRef<[u8]>) -> Result<String, String> {
        let field = JsonField::parse(path).unwrap();
        let text = field.text_in(record.as_ref())?;
        Ok(text.expect("the line is not blank").into_owned())
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
        let field = JsonField::parse("text").unwrap();
        assert!(matches!(
            field.text_in(br#"{"text": "borrowed"}"#),
            Ok(Some(Cow::Borrowed("borrowed")))
        ));
        for blank in ["", " \t\r", "\u{feff}"] {
            assert_eq!(field.text_in(blank.as_bytes()), Ok(None), "{blank:?}");
        }
    }

    #[test]
    fn what_is_wrong_in_other_fields_does_not_matter() {
        let text = r#"say \"NaN\" and -Infinity\\"#;
        let others: &[&[u8]] = &[
            b"NaN",
            b"[-Infinity, Infinity,NaN]",
            b"null",
            br#""\ud800""#,
            b"\"\xff\"",
            b"1e999",
            br#"{"text": NaN, "x": "NaN\\"}"#,
        ];
        for other in others {
            let (before, after) = (br#"{"other": "#, format!(r#", "text": "{text}"}}"#));
            let record = [before, *other, after.as_bytes()].concat();
            let found = text_of("text", &record);
            assert_eq!(found.as_deref(), Ok(r#"say "NaN" and -Infinity\"#));
        }
        let marked = "\u{feff}{\"text\": \"a\"}";
        assert_eq!(text_of("text", marked).as_deref(), Ok("a"));
    }

    #[test]
    fn records_without_the_text_are_errors_that_say_why() {
        for (path, record, expected) in [
            ("text", r#"{"id": 1}"#, r#"the field "text" is missing"#),
            ("a.b", r#"{"a": {}}"#, r#"the field "b" is missing"#),
            (
                "a.b",
                r#"{"a": "b"}"#,
                r#"the field "a" is a text, not an object"#,
            ),
            (
                "a.b",
                r#"{"a": null}"#,
                r#"the field "a" is null, not an object"#,
            ),
            (
                "text",
                r#"{"text": 1, "text": "a"}"#,
                r#"the field "text" is a number, not a text"#,
            ),
            (
                "text",
                r#"{"text": null}"#,
                r#"the field "text" is null, not a text"#,
            ),
            (
                "text",
                r#"{"text": NaN}"#,
                r#"the field "text" is a number, not a text"#,
            ),
            (
                "text",
                r#"{"text": false}"#,
                r#"the field "text" is false, not a text"#,
            ),
            (
                "text",
                r#"{"text": {}}"#,
                r#"the field "text" is an object, not a text"#,
            ),
            (
                "text",
                r#"{"text": ["a"]}"#,
                r#"the field "text" is a list, not a text"#,
            ),
            ("text", r#"["text"]"#, "the record is a list, not an object"),
            ("text", "null", "the record is null, not an object"),
            (
                "text",
                r#"{"text": "a"} {"#,
                "no valid JSON: trailing characters, column 15",
            ),
            ("text", r#"{"text": "a""#, "column 12"),
            (
                "text",
                "plain text",
                "no valid JSON: expected value, column 1",
            ),
            (
                "text",
                "{\"text\": \"\\ud800 \"}",
                "half of a surrogate pair",
            ),
            (
                "text",
                "{\"text\": \"\\udfff\"}",
                "half of a surrogate pair",
            ),
        ] {
            let error = text_of(path, record).unwrap_err();
            assert!(error.contains(expected), "{record}: {error}");
        }
        let not_utf8 = text_of("text", b"{\"text\": \"\xff\"}").unwrap_err();
        assert!(not_utf8.contains("the text is not UTF-8"), "{not_utf8}");
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
