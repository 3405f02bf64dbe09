//! Normalization form C, with the origins of what it changes.
//!
//! Most text is in this form, which a quick check finds out. Otherwise the text is divided before
//! each character that joins with none before it; the divisions that change are normalized, and
//! every position in one of them has the whole of it as its origin. A byte that is no part of
//! well-formed UTF-8 stays as it is.
//!
//! Example: `e\u{301}a` is divided into `e\u{301}` and `a`; the first becomes `é`. The span of `é`
//! is that of `e\u{301}`.

use std::borrow::Cow;

use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::Change;

/// The text in normalization form C, and what changed.
pub(super) fn to_nfc(raw: &[u8]) -> (Cow<'_, [u8]>, Vec<Change>) {
    let mut changes = Vec::new();
    let is_changed = |chunk: &str| is_nfc_quick(chunk.chars()) != IsNormalized::Yes;
    if raw.is_ascii() || !raw.utf8_chunks().any(|chunk| is_changed(chunk.valid())) {
        return (Cow::Borrowed(raw), changes);
    }
    let mut text = Vec::with_capacity(raw.len());
    let mut at = 0;
    for chunk in raw.utf8_chunks() {
        let mut rest = chunk.valid();
        while !rest.is_empty() {
            let (part, after) = rest.split_at(division_end(rest));
            let start = text.len();
            text.extend(part.nfc().collect::<String>().bytes());
            let end = at + part.len();
            if text[start..] != *part.as_bytes() {
                changes.push((start..text.len(), at..end));
            }
            at = end;
            rest = after;
        }
        text.extend_from_slice(chunk.invalid());
        at += chunk.invalid().len();
    }
    (Cow::Owned(text), changes)
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Bound, origin};
    use super::*;

    #[test]
    fn changed_characters_have_the_span_of_their_origin() {
        let text = "ae\u{301}o\u{4e00}\u{212B}\u{FF}".as_bytes();
        let (nfc, changes) = to_nfc(text);
        assert_eq!(*nfc, *"a\u{e9}o\u{4e00}\u{c5}\u{FF}".as_bytes());
        for (range, expected) in [
            (0..1, 0..1),
            (1..3, 1..4),
            (1..2, 1..4),
            (2..4, 1..5),
            (4..7, 5..8),
            (7..9, 8..11),
            (9..11, 11..13),
        ] {
            let begin = origin(&changes, range.start, Bound::Start);
            let end = origin(&changes, range.end, Bound::End);
            assert_eq!(begin..end, expected, "{range:?}");
        }
        let unchanged = "a\u{e9}\u{1100}".as_bytes();
        assert_eq!(to_nfc(unchanged), (Cow::Borrowed(unchanged), Vec::new()));
    }

    proptest! {
        #[test]
        fn divisions_give_the_form_of_the_whole_text(text in "[a\u{e9}e\u{301}\u{323}\u{1100}\u{1161}\u{11a8}\u{ac00}\u{212b}\u{344}\u{fb1d}\u{9c7}\u{9be}\u{9dc}]{0,12}") {
            let expected: String = text.nfc().collect();
            prop_assert_eq!(to_nfc(text.as_bytes()).0, expected.as_bytes());
        }

        #[test]
        fn malformed_bytes_stay(text in proptest::collection::vec(proptest::sample::select(&b"a\xC3\xA9\xCC\x81\xFF"[..]), 0..12)) {
            let expected: Vec<u8> = text.utf8_chunks().flat_map(|chunk| {
                let mut part = chunk.valid().nfc().collect::<String>().into_bytes();
                part.extend(chunk.invalid());
                part
            }).collect();
            prop_assert_eq!(&*to_nfc(&text).0, &expected[..]);
        }
    }
}
