//! JSON Lines that no program wrote: a corpus in records.

use arbitrary::{Result, Unstructured};
use spiece::{Corpus, Model, TrainError};

use super::checks;
use super::counting::trainer;

/// Parts of records that belong together in some order.
const FRAGMENTS: &[&str] = &[
    "{\"text\": \"",
    "\"}\n",
    "\", \"text\": \"",
    "{\"a\": [1, {\"text\": null}], \"text\": \"",
    "{\"text\": {\"b\": \"",
    "\"}}\n",
    "\\n",
    "\\u00e9",
    "\\ud83d\\ude00",
    "\\ud800",
    " one two ",
    "\u{2581}\u{fffd}",
    "\r\n",
    "\n",
    "[",
    "]",
    "1e999",
];

/// The path of a field, a NUL, and a file; or the choices of such a file.
pub fn corpus(data: &[u8]) {
    if let Some(at) = data.iter().position(|byte| *byte == 0) {
        let (path, records) = data.split_at(at);
        check(&String::from_utf8_lossy(path), &records[1..]);
    }
    let mut choices = Unstructured::new(data);
    if let Ok(records) = built(&mut choices) {
        check("text", &records);
        check("text.b", &records);
    }
}

/// A file of fragments and a few bytes between them.
fn built(choices: &mut Unstructured) -> Result<Vec<u8>> {
    let mut file = Vec::new();
    while !choices.is_empty() {
        if choices.ratio(7, 8)? {
            file.extend(choices.choose(FRAGMENTS)?.as_bytes());
        } else {
            file.push(choices.arbitrary()?);
        }
    }
    Ok(file)
}

/// Training on the records equals training on their texts, or is refused with the line.
fn check(path: &str, records: &[u8]) {
    let records = records.to_vec();
    let corpus = match Corpus::reader(std::io::Cursor::new(records.clone())).with_json_field(path) {
        Ok(corpus) => corpus,
        Err(error) => return assert!(error.to_string().contains("json_field"), "{error}"),
    };
    let trained = trainer().train(corpus);
    let Some(texts) = texts_of(path, &records) else {
        return;
    };
    let expected = trainer().train(Corpus::reader(std::io::Cursor::new(texts)));
    match (trained, expected) {
        (Ok(trained), Ok(expected)) => checks::assert_same(&trained, &expected),
        (Err(error), expected) => check_error(&error, &expected),
        (Ok(_), Err(error)) => panic!("the texts alone are refused: {error}"),
    }
}

/// An error of records is about a record, or the texts alone are refused, too.
fn check_error(error: &TrainError, expected: &std::result::Result<Model, TrainError>) {
    let mut message = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        message.push_str(&cause.to_string());
        source = cause.source();
    }
    assert!(expected.is_err() || message.contains("line "), "{message}");
}

/// The texts of the records as lines, by another way to read JSON; `None` if it refuses a record.
fn texts_of(path: &str, records: &[u8]) -> Option<Vec<u8>> {
    let mut lines = Vec::new();
    for record in records.split(|byte| *byte == b'\n') {
        if record.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let value: serde_json::Value = serde_json::from_slice(record).ok()?;
        let text = path
            .split('.')
            .try_fold(&value, |value, name| value.get(name))?;
        let text = text.as_str()?;
        lines.extend(text.as_bytes());
        if !text.is_empty() && !text.ends_with('\n') {
            lines.push(b'\n');
        }
    }
    Some(lines)
}
