//! Comma-separated lists in the format of the reference's flags.
//!
//! A field that begins with a double quote extends to the closing quote; `""` inside is a quote.
//! Text between the closing quote and the next comma is dropped. A trailing comma does not begin
//! another field.

/// The fields of `text`, in order.
pub(crate) fn split_csv(text: &str) -> Vec<String> {
    let mut fields = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (field, after) = match rest.strip_prefix('"') {
            Some(quoted) => take_quoted(quoted),
            None => {
                let (field, after) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
                (field.to_owned(), after)
            }
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

/// The list that [`split_csv`] reads as `fields`.
pub(crate) fn join_csv(fields: &[String]) -> String {
    // In quotes if it would otherwise be read as something else.
    let written = fields.iter().map(|field| {
        if field.is_empty() || field.contains(['"', ',']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field.clone()
        }
    });
    written.collect::<Vec<_>>().join(",")
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
