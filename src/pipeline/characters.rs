//! The classes of characters of the components, as the library tokenizers 0.23.3 has them.

use super::classes::{CHINESE, MARK, PUNCTUATION, REMOVED, SPACE, class};

/// What `clean_text` removes.
pub(super) fn is_removed(c: char) -> bool {
    class(c) & REMOVED != 0
}

/// White space.
pub(super) fn is_space(c: char) -> bool {
    class(c) & SPACE != 0
}

/// Characters of the blocks of Chinese characters.
pub(super) fn is_chinese(c: char) -> bool {
    class(c) & CHINESE != 0
}

/// Nonspacing marks, by Unicode 8.
pub(super) fn is_nonspacing_mark(c: char) -> bool {
    class(c) & MARK != 0
}

/// Punctuation, by Unicode 8, and all of ASCII that is neither letter, digit, control nor space.
pub(super) fn is_punctuation(c: char) -> bool {
    class(c) & PUNCTUATION != 0
}

/// Numbers, by Unicode 17.
pub(super) fn is_number(c: char) -> bool {
    c.is_numeric() || matches!(c, '\u{11DE0}'..='\u{11DE9}' | '\u{16FF4}'..='\u{16FF6}')
}

/// Whether the lower case of a character can be another text.
pub(super) fn has_lower_case(c: char) -> bool {
    match c {
        '\0'..='\u{7F}' => c.is_ascii_uppercase(),
        // No script from here to there has cases.
        '\u{2E80}'..='\u{A63F}' => false,
        _ => !lower_case(c).eq([c]),
    }
}

/// The lower case of a character, by Unicode 17.
pub(super) fn lower_case(c: char) -> std::char::ToLowercase {
    let distance = match c {
        '\u{A7CE}' | '\u{A7D2}' | '\u{A7D4}' => 1,
        '\u{16EA0}'..='\u{16EB8}' => 27,
        _ => 0,
    };
    char::from_u32(u32::from(c) + distance)
        .unwrap_or(c)
        .to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every character with its class.
    fn characters() -> impl Iterator<Item = (char, u8)> {
        ('\0'..=char::MAX).map(|c| (c, class(c)))
    }

    #[test]
    fn classes_are_those_of_tokenizers() {
        let golden = include_str!("../../testdata/wordpiece/classes.tsv");
        let bits = [
            ("removed", REMOVED),
            ("mark", MARK),
            ("punctuation", PUNCTUATION),
            ("space", SPACE),
            ("chinese", CHINESE),
        ];
        for ((name, bit), line) in bits.into_iter().zip(golden.lines()) {
            let ranges = line.strip_prefix(name).unwrap().split_whitespace();
            let mut expected = vec![false; 0x11_0000];
            for range in ranges {
                let (first, last) = range.split_once('-').unwrap();
                let [first, last] =
                    [first, last].map(|code| usize::from_str_radix(code, 16).unwrap());
                expected[first..=last].fill(true);
            }
            let differ =
                characters().filter(|(c, class)| (class & bit != 0) != expected[*c as usize]);
            let differ: Vec<char> = differ.map(|(c, _)| c).collect();
            assert!(differ.is_empty(), "{name}: {differ:?}");
        }
    }

    #[test]
    fn characters_without_a_lower_case_stay_as_they_are() {
        let differ = |c: &char| has_lower_case(*c) == lower_case(*c).eq([*c]);
        assert_eq!(('\0'..=char::MAX).find(differ), None);
    }

    #[test]
    fn new_letters_have_a_lower_case_whatever_the_standard_library_knows() {
        for (upper, lower) in [
            ('\u{A7CE}', '\u{A7CF}'),
            ('\u{A7D2}', '\u{A7D3}'),
            ('\u{A7D4}', '\u{A7D5}'),
            ('\u{16EA0}', '\u{16EBB}'),
            ('\u{16EB8}', '\u{16ED3}'),
        ] {
            assert!(lower_case(upper).eq([lower]), "{upper:?}");
        }
    }
}
