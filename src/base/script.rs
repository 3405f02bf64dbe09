//! The script of a character in Unicode 9.0, which the reference uses.
//!
//! The reference contains `Scripts-9.0.0.txt`; characters that this file does not list are Common.
//! A current table differs in two ways: it lists characters that were assigned after 9.0, and it
//! corrects the scripts of four older ones. So this module uses the current table only for
//! characters of age 9.0 or older, reads Unknown as Common, and undoes the four corrections.
//! (`build.rs` makes a table of these characters from the `Age` property, which never changes once
//! a character is assigned.) The test compares the result at every code point.
//!
//! A look-up takes two binary searches; callers cache the results.

use std::cmp::Ordering;

use unicode_script::{Script as UnicodeScript, UnicodeScript as _};

/// A script of Unicode 9.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Script(UnicodeScript);

impl Script {
    pub(crate) const COMMON: Self = Self(UnicodeScript::Common);
    #[cfg(feature = "train")]
    pub(crate) const INHERITED: Self = Self(UnicodeScript::Inherited);
    pub(crate) const HAN: Self = Self(UnicodeScript::Han);
    pub(crate) const HIRAGANA: Self = Self(UnicodeScript::Hiragana);
    pub(crate) const KATAKANA: Self = Self(UnicodeScript::Katakana);

    /// The name in Unicode's files, such as `Canadian_Aboriginal`.
    #[cfg(test)]
    pub(crate) fn name(self) -> &'static str {
        self.0.full_name()
    }
}

impl From<Script> for u8 {
    fn from(script: Script) -> Self {
        script.0 as Self
    }
}

/// The script of `c` in Unicode 9.0; Common if `c` was not assigned by then.
#[cfg(any(feature = "train", test))]
pub(crate) fn script_of(c: char) -> Script {
    listed_script_of(c).unwrap_or(Script::COMMON)
}

/// The script of `c` in Unicode 9.0; `None` if it lists none.
pub(crate) fn listed_script_of(c: char) -> Option<Script> {
    if c.is_ascii() {
        return Some(if c.is_ascii_alphabetic() {
            Script(UnicodeScript::Latin)
        } else {
            Script::COMMON
        });
    }
    match c {
        // Their scripts were changed after 9.0.
        '\u{061C}' | '\u{0589}' => Some(Script::COMMON),
        '\u{0953}' | '\u{0954}' => Some(Script(UnicodeScript::Devanagari)),
        _ if !is_assigned(c) => None,
        _ => match c.script() {
            UnicodeScript::Unknown => None,
            script => Some(Script(script)),
        },
    }
}

// Ranges of characters, ascending: `ASSIGNED`.
include!(concat!(env!("OUT_DIR"), "/assigned_in_unicode_9.rs"));

/// Whether Unicode 9.0 had assigned `c`.
fn is_assigned(c: char) -> bool {
    let place = |&(first, last): &(char, char)| match c {
        _ if last < c => Ordering::Less,
        _ if first > c => Ordering::Greater,
        _ => Ordering::Equal,
    };
    ASSIGNED.binary_search_by(place).is_ok()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use sha2::{Digest, Sha256};

    use super::*;

    /// The SHA-256 of the lines "XXXX Name" over all scalar values in order, written from the table
    /// of `src/unicode_script_map.h` in the sdist of sentencepiece 0.2.3 (what it leaves out is
    /// Common).
    const UNICODE_9_SCRIPTS: &str =
        "3f76f700c05d089e70221d16e7eb33de00afbfe6469b2dda1e89452748eef05a";

    #[test]
    fn agrees_with_unicode_9_at_every_code_point() {
        let mut lines = String::new();
        for c in '\0'..=char::MAX {
            writeln!(lines, "{:04X} {}", u32::from(c), script_of(c).name()).unwrap();
        }
        let digest = Sha256::digest(lines.as_bytes());
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(digest, UNICODE_9_SCRIPTS);
    }

    #[test]
    fn well_known_characters_have_their_scripts() {
        let table = [
            ('a', "Latin"),
            (' ', "Common"),
            ('漢', "Han"),
            ('ひ', "Hiragana"),
            ('カ', "Katakana"),
            ('ー', "Common"),
            ('\u{0301}', "Inherited"),
            ('\u{061C}', "Common"),
            ('\u{0953}', "Devanagari"),
            ('\u{1C90}', "Common"), // Georgian of Unicode 11
            ('\u{10FFFF}', "Common"),
        ];
        for (c, name) in table {
            assert_eq!(script_of(c).name(), name, "{c:?}");
        }
        assert_ne!(u8::from(Script::HAN), u8::from(Script::COMMON));
    }
}
