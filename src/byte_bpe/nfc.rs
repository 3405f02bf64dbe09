//! Normalization form C, with the origins of what it changes.
//!
//! Most text is in this form, which a quick check finds out. Otherwise the text is divided before
//! each character that joins with none before it; the divisions that change are normalized, and every
//! position in one of them has the whole of it as its origin. A byte that is no part of well-formed
//! UTF-8 stays as it is.
//!
//! Example: `e\u{301}a` is divided into `e\u{301}` and `a`; the first becomes `é`. The span of `é`
//! is that of `e\u{301}`.

use std::ops::Range;

use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// A text in normalization form C.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct NfcText {
    text: Vec<u8>,
    /// What changed, from left to right: ranges in `text`, and in the raw text.
    changes: Vec<(Range<usize>, Range<usize>)>,
}

/// The text in normalization form C; `None` if it is its own.
pub(super) fn to_nfc(raw: &[u8]) -> Option<NfcText> {
    if raw.is_ascii() {
        return None;
    }
    let is_changed = |chunk: &str| is_nfc_quick(chunk.chars()) != IsNormalized::Yes;
    if !raw.utf8_chunks().any(|chunk| is_changed(chunk.valid())) {
        return None;
    }
    let mut nfc = NfcText::default();
    let mut at = 0;
    for chunk in raw.utf8_chunks() {
        let mut rest = chunk.valid();
        while !rest.is_empty() {
            let (part, after) = rest.split_at(division_end(rest));
            nfc.push(part, at);
            at += part.len();
            rest = after;
        }
        nfc.text.extend_from_slice(chunk.invalid());
        at += chunk.invalid().len();
    }
    (!nfc.changes.is_empty()).then_some(nfc)
}

/// The end of the first division: the next character that joins with none before it.
fn division_end(text: &str) -> usize {
    let begins_division = |c: char| {
        let first = std::iter::once(c).nfd().next().unwrap_or(c);
        is_nfc_quick(std::iter::once(first)) == IsNormalized::Yes
            && canonical_combining_class(first) == 0
    };
    let mut chars = text.char_indices().skip(1);
    let next = chars.find(|(_, c)| begins_division(*c));
    next.map_or(text.len(), |(at, _)| at)
}

impl NfcText {
    /// The whole text.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Appends a division, which begins at `raw_start`.
    fn push(&mut self, part: &str, raw_start: usize) {
        let start = self.text.len();
        self.text.extend(part.nfc().collect::<String>().bytes());
        if self.text[start..] != *part.as_bytes() {
            let raw = raw_start..raw_start + part.len();
            self.changes.push((start..self.text.len(), raw));
        }
    }

    /// The origin of a range: the bytes of the raw text that it comes from, those that changed
    /// together as a whole.
    pub(super) fn origin(&self, range: Range<usize>) -> Range<usize> {
        // The number of changes that begin before a position decides how far it has moved.
        let find = |at: usize, is_end: bool| {
            let count = self.changes.partition_point(|(own, _)| match is_end {
                true => own.start < at,
                false => own.start <= at,
            });
            let Some((own, raw)) = count.checked_sub(1).map(|last| &self.changes[last]) else {
                return at;
            };
            match (at < own.end || is_end && at == own.end, is_end) {
                (true, true) => raw.end,
                (true, false) => raw.start,
                (false, _) => raw.end + (at - own.end),
            }
        };
        find(range.start, false)..find(range.end, true)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn changed_characters_have_the_span_of_their_origin() {
        let text = "ae\u{301}o\u{4e00}\u{212B}\u{FF}".as_bytes();
        let nfc = to_nfc(text).unwrap();
        assert_eq!(nfc.text, "a\u{e9}o\u{4e00}\u{c5}\u{FF}".as_bytes());
        for (range, origin) in [
            (0..1, 0..1),
            (1..3, 1..4),
            (1..2, 1..4),
            (2..4, 1..5),
            (4..7, 5..8),
            (7..9, 8..11),
            (9..11, 11..13),
        ] {
            assert_eq!(nfc.origin(range.clone()), origin, "{range:?}");
        }
        assert_eq!(to_nfc("a\u{e9}\u{1100}".as_bytes()), None);
    }

    proptest! {
        #[test]
        fn divisions_give_the_form_of_the_whole_text(text in "[a\u{e9}e\u{301}\u{323}\u{1100}\u{1161}\u{11a8}\u{ac00}\u{212b}\u{344}\u{fb1d}\u{9c7}\u{9be}\u{9dc}]{0,12}") {
            let expected: String = text.nfc().collect();
            let found = to_nfc(text.as_bytes()).map_or(text.clone().into_bytes(), |nfc| nfc.text);
            prop_assert_eq!(found, expected.into_bytes());
        }

        #[test]
        fn malformed_bytes_stay(text in proptest::collection::vec(proptest::sample::select(&b"a\xC3\xA9\xCC\x81\xFF"[..]), 0..12)) {
            let found = to_nfc(&text).map_or(text.clone(), |nfc| nfc.text);
            let expected: Vec<u8> = text.utf8_chunks().flat_map(|chunk| {
                let mut part = chunk.valid().nfc().collect::<String>().into_bytes();
                part.extend(chunk.invalid());
                part
            }).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
