//! Comma-separated lists in the format of the reference's flags.
//!
//! A field that begins with a double quote extends to the closing quote; `""` inside is a quote.
//! Text between the closing quote and the next comma is dropped. A trailing comma does not begin
//! another field.

/// The fields of `text`, in order. Cost: linear.
pub(crate) fn split_csv(text: &str) -> Vec<String> {
    let mut fields = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (field, after) = match rest.strip_prefix('"') {
            Some(quoted) => take_quoted(quoted),
            None => take_plain(rest),
        };
        fields.push(field);
        rest = after.find(',').map_or("", |comma| &after[comma + 1..]);
    }
    fields
}

/// The field up to its closing quote (or the end) and the text after that quote.
fn take_quoted(text: &str) -> (String, &str) {
    let mut field = String::new();
    let mut rest = text;
    while let Some(quote) = rest.find('"') {
        field.push_str(&rest[..quote]);
        rest = &rest[quote + 1..];
        match rest.strip_prefix('"') {
            Some(after) => {
                field.push('"');
                rest = after;
            }
            None => return (field, rest),
        }
    }
    field.push_str(rest);
    (field, "")
}

/// The field up to the next comma (or the end) and the text from there.
fn take_plain(text: &str) -> (String, &str) {
    let end = text.find(',').unwrap_or(text.len());
    (text[..end].to_owned(), &text[end..])
}

/// The list that [`split_csv`] reads as `fields`.
pub(crate) fn join_csv(fields: &[String]) -> String {
    let written: Vec<String> = fields.iter().map(|field| write_field(field)).collect();
    written.join(",")
}

/// The field, in quotes if it would otherwise be read as something else.
fn write_field(field: &str) -> String {
    if is_plain(field) {
        field.to_owned()
    } else {
        format!("\"{}\"", field.replace('"', "\"\""))
    }
}

fn is_plain(field: &str) -> bool {
    !field.is_empty() && !field.contains(['"', ','])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{join_csv, split_csv};

    proptest! {
        #[test]
        fn written_lists_are_read(fields in proptest::collection::vec("[a\",]{0,4}", 0..5)) {
            prop_assert_eq!(split_csv(&join_csv(&fields)), fields);
        }
    }

    #[test]
    fn fields_are_split_and_unquoted() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            ("a", &["a"]),
            ("a,b", &["a", "b"]),
            ("a,", &["a"]),
            (",a", &["", "a"]),
            ("a,,b", &["a", "", "b"]),
            ("\"a,b\",c", &["a,b", "c"]),
            ("\"a\"\"b\"", &["a\"b"]),
            ("\"a\"dropped,b", &["a", "b"]),
            ("\"open,b", &["open,b"]),
            ("x\"y,z", &["x\"y", "z"]),
        ];
        for (text, fields) in cases {
            assert_eq!(split_csv(text), *fields, "{text}");
        }
    }
}
