//! Batches of sentences, which the reader sends to the counting threads, and the rules by which
//! sentences are skipped.
//!
//! As in the reference, a sentence is skipped if it is empty, if it is longer than
//! `max_sentence_length` bytes, or if it contains U+2585 (the unknown mark); the first reason
//! counts. A row of a tsv file has exactly two fields, the sentence and its count; everything else
//! is an error, including an empty line.
//!
//! For example, with `max_sentence_length=10`:
//!
//! | line | result |
//! |---|---|
//! | `ok` | used, count 1; with `input_format=tsv` an error |
//! | `ok<tab>7` | used, count 1; with `input_format=tsv` the sentence `ok`, count 7 |
//! | (empty) | skipped: empty |
//! | `01234567890` | skipped: too long |
//! | U+2585 | skipped: reserved |

use std::ops::ControlFlow;
use std::path::PathBuf;

use memchr::memmem;

use crate::base::UNKNOWN_MARK;
use crate::train::TrainError;
use crate::train::options::{InputFormat, TrainOptions};
use crate::train::sentence_counts::SentenceCounts;

/// Some sentences with their counts, or bytes of whole lines.
#[derive(Debug)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    kind: BatchContent,
}

#[derive(Debug)]
enum BatchContent {
    /// Lines, each with its newline, from `path`; the first has the number `first_line`.
    Lines {
        path: Option<PathBuf>,
        first_line: u64,
        newlines: Newlines,
    },
    /// Sentences: the offset of the end of each, and its count.
    Texts(Vec<(usize, u64)>),
}

/// What the newline at the end of a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Newlines {
    /// No part of the sentence.
    Separators,
    /// A part of the sentence. The last line of the batch may lack it.
    Text,
}

impl BatchContent {
    fn path(&self) -> Option<&PathBuf> {
        match self {
            Self::Lines { path, .. } => path.as_ref(),
            Self::Texts(_) => None,
        }
    }

    /// The number of the first sentence.
    fn first_line(&self) -> u64 {
        match self {
            Self::Lines { first_line, .. } => *first_line,
            Self::Texts(_) => 1,
        }
    }
}

/// A position in the input, for errors.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct InputLocation {
    path: Option<PathBuf>,
    line: u64,
}

impl InputLocation {
    fn error(&self, problem: &'static str) -> TrainError {
        TrainError::Row {
            path: self.path.clone(),
            line: self.line,
            problem,
        }
    }
}

impl Batch {
    fn new(bytes: Vec<u8>, kind: BatchContent) -> Self {
        Self { bytes, kind }
    }

    /// Lines whose newlines separate them.
    pub(crate) fn lines(bytes: Vec<u8>, path: Option<PathBuf>, first_line: u64) -> Self {
        let kind = BatchContent::Lines {
            path,
            first_line,
            newlines: Newlines::Separators,
        };
        Self::new(bytes, kind)
    }

    /// Lines whose newlines are text. The last one may lack it.
    pub(crate) fn raw_lines(bytes: Vec<u8>, path: Option<PathBuf>, first_line: u64) -> Self {
        let kind = BatchContent::Lines {
            path,
            first_line,
            newlines: Newlines::Text,
        };
        Self::new(bytes, kind)
    }

    /// One text.
    pub(crate) fn text(bytes: Vec<u8>) -> Self {
        let ends = vec![(bytes.len(), 1)];
        Self::new(bytes, BatchContent::Texts(ends))
    }

    /// An empty batch of texts, to be filled with [`Batch::push`].
    pub(crate) fn texts() -> Self {
        Self::new(Vec::new(), BatchContent::Texts(Vec::new()))
    }

    pub(crate) fn push(&mut self, text: &[u8], count: u64) {
        if let BatchContent::Texts(ends) = &mut self.kind {
            self.bytes.extend_from_slice(text);
            ends.push((self.bytes.len(), count));
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The bytes of all sentences.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        match &self.kind {
            BatchContent::Lines { .. } => self.bytes.is_empty(),
            BatchContent::Texts(ends) => ends.is_empty(),
        }
    }

    /// Calls `visit` with the location, the text and the count of each sentence in turn. Lines have
    /// no count, since they are not parsed yet.
    pub(crate) fn for_each<E>(
        &self,
        mut visit: impl FnMut(&dyn Fn() -> InputLocation, &[u8], Option<u64>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut start = 0;
        let mut visit = |number: usize, end, separator, count| {
            let sentence = &self.bytes[start..end];
            start = end + separator;
            visit(&|| self.location(number), sentence, count)
        };
        match &self.kind {
            BatchContent::Lines {
                newlines: Newlines::Separators,
                ..
            } => memchr::memchr_iter(b'\n', &self.bytes)
                .enumerate()
                .try_for_each(|(number, newline)| visit(number, newline, 1, None)),
            BatchContent::Lines {
                newlines: Newlines::Text,
                ..
            } => {
                let length = self.bytes.len();
                let ends = memchr::memchr_iter(b'\n', &self.bytes).map(|newline| newline + 1);
                let unended = (self.bytes.last() != Some(&b'\n') && length > 0).then_some(length);
                ends.chain(unended)
                    .enumerate()
                    .try_for_each(|(number, end)| visit(number, end, 0, None))
            }
            BatchContent::Texts(ends) => ends
                .iter()
                .enumerate()
                .try_for_each(|(number, (end, count))| visit(number, *end, 0, Some(*count))),
        }
    }

    /// Calls `use_sentence` with each sentence that training uses and its count, until it returns
    /// `Break`; the sentences after that are not visited. Adds what became of the visited ones to
    /// `counts`.
    pub(crate) fn for_each_used(
        &self,
        rules: SentenceRules,
        counts: &mut SentenceCounts,
        mut use_sentence: impl FnMut(&[u8], u64) -> Result<ControlFlow<()>, TrainError>,
    ) -> Result<(), TrainError> {
        // Rarely in a batch at all; without it, the lines need not be searched.
        let may_be_reserved = rules.is_reserved(&self.bytes);
        let result = self.for_each(|location, line, count| {
            let counted = rules.counted_sentence(line, count);
            let (sentence, count) = counted.map_err(|problem| Some(location().error(problem)))?;
            let counter = if sentence.is_empty() {
                &mut counts.empty
            } else if sentence.len() > rules.max_length {
                &mut counts.too_long
            } else if may_be_reserved && rules.is_reserved(sentence) {
                &mut counts.reserved
            } else {
                counts.used += 1;
                return match use_sentence(sentence, count) {
                    Ok(ControlFlow::Continue(())) => Ok(()),
                    Ok(ControlFlow::Break(())) => Err(None),
                    Err(error) => Err(Some(error)),
                };
            };
            *counter += 1;
            Ok(())
        });
        result.or_else(|stopped: Option<TrainError>| stopped.map_or(Ok(()), Err))
    }

    /// The location of the sentence `number`, from 0.
    fn location(&self, number: usize) -> InputLocation {
        InputLocation {
            path: self.kind.path().cloned(),
            line: self.kind.first_line() + number as u64,
        }
    }
}

impl TrainOptions {
    /// Fails if no sentence was used.
    pub(crate) fn check_used(&self, sentences: &SentenceCounts) -> Result<(), TrainError> {
        if sentences.used > 0 {
            return Ok(());
        }
        Err(TrainError::NoText {
            sentences: *sentences,
            max_sentence_length: self.max_sentence_length,
        })
    }
}

/// Which sentences are used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SentenceRules {
    max_length: usize,
    is_tsv: bool,
    /// Whether no sentence with U+2585 is used.
    skips_reserved: bool,
}

impl SentenceRules {
    pub(crate) fn new(options: &TrainOptions) -> Self {
        Self {
            max_length: options.max_sentence_length as usize,
            is_tsv: options.input_format == InputFormat::Tsv,
            skips_reserved: true,
        }
    }

    /// All sentences that are not empty.
    pub(crate) fn of_all(format: InputFormat) -> Self {
        Self {
            max_length: usize::MAX,
            is_tsv: format == InputFormat::Tsv,
            skips_reserved: false,
        }
    }

    fn is_reserved(self, text: &[u8]) -> bool {
        let mut buffer = [0; 4];
        let reserved = UNKNOWN_MARK.encode_utf8(&mut buffer);
        self.skips_reserved && memmem::find(text, reserved.as_bytes()).is_some()
    }

    /// The sentence of a line, or the sentence itself if it has a count, and its count.
    #[inline]
    fn counted_sentence(
        self,
        line: &[u8],
        count: Option<u64>,
    ) -> Result<(&[u8], u64), &'static str> {
        match count {
            None if self.is_tsv => parse_row(line),
            None => Ok((line, 1)),
            Some(0) => Err("the count is 0; give a count of 1 or more"),
            Some(count) => Ok((line, count)),
        }
    }
}

fn parse_row(row: &[u8]) -> Result<(&[u8], u64), &'static str> {
    const FORM: &str = "a row has a sentence, one tab, and a count";
    let tab = memchr::memchr(b'\t', row).ok_or(FORM)?;
    let sentence = &row[..tab];
    let count = &row[tab + 1..];
    if count.contains(&b'\t') {
        return Err(FORM);
    }
    let count = parse_count(count).ok_or("the count is not a whole number below 2^63")?;
    match u64::try_from(count) {
        Ok(count) if count > 0 => Ok((sentence, count)),
        _ => Err("the count is less than 1"),
    }
}

/// The characters accepted around a number: those of `isspace` in C.
const C_SPACES: [char; 6] = [' ', '\t', '\n', '\x0b', '\x0c', '\r'];

fn parse_count(field: &[u8]) -> Option<i64> {
    let field = std::str::from_utf8(field).ok()?;
    field.trim_matches(C_SPACES).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_a_sentence_a_tab_and_a_count() {
        let good: &[(&str, (&str, u64))] = &[
            ("a\t1", ("a", 1)),
            ("\t7", ("", 7)),
            ("a b\t +12\r", ("a b", 12)),
            ("a\t9223372036854775807", ("a", i64::MAX as u64)),
        ];
        for (row, (text, count)) in good {
            assert_eq!(
                parse_row(row.as_bytes()),
                Ok((text.as_bytes(), *count)),
                "{row:?}"
            );
        }
        for row in [
            "",
            "a",
            "a\t",
            "a\t0",
            "a\t-2",
            "a\tb",
            "a\t1\t",
            "a\tb\t3",
            "a\t1 2",
            "a\t9223372036854775808",
        ] {
            assert!(parse_row(row.as_bytes()).is_err(), "{row:?}");
        }
    }

    #[test]
    fn sentences_are_skipped_by_the_first_reason_that_applies() {
        let mut options = TrainOptions::default();
        options.max_sentence_length = 10;
        let rules = SentenceRules::new(&options);
        let mut counts = SentenceCounts::default();
        let text = "ok\n\n0123456789\n01234567890\n\u{2585}\n\u{2581}\n";
        let mut used = Vec::new();
        Batch::lines(text.into(), None, 1)
            .for_each_used(rules, &mut counts, |sentence, count| {
                used.push((sentence.to_vec(), count));
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
        let expected = ["ok", "0123456789", "\u{2581}"].map(|text| (text.as_bytes().to_vec(), 1));
        assert_eq!(used, expected);
        assert_eq!(
            counts,
            SentenceCounts {
                used: 3,
                empty: 1,
                too_long: 1,
                reserved: 1,
                bad_records: 0,
            }
        );
    }

    #[test]
    fn a_bad_row_is_named_by_file_and_line() {
        let mut options = TrainOptions::default();
        options.input_format = InputFormat::Tsv;
        let batch = Batch::lines(b"a\t1\nb\n".to_vec(), Some("words.tsv".into()), 40);
        let rules = SentenceRules::new(&options);
        let error = batch
            .for_each_used(rules, &mut SentenceCounts::default(), |_, _| {
                Ok(ControlFlow::Continue(()))
            })
            .unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains("words.tsv") && message.contains("41"),
            "{message}"
        );
    }
}
