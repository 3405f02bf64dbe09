//! The classes of characters that patterns name, as bits of a byte.
//!
//! The tables are made by `build.rs` from Unicode 16.0, the version of tiktoken 0.14.0 and of
//! tokenizers 0.23.3. Characters that are assigned later have no class here, as in these programs,
//! whichever version of Unicode the crate `regex-syntax` has when the library is built.
//!
//! A byte that is no part of well-formed UTF-8 is a character of no class.

/// Upper and title case: `\p{Lu}`, `\p{Lt}`.
pub(super) const UPPER: u8 = 1;
/// `\p{Ll}`.
pub(super) const LOWER: u8 = 2;
/// Letters without case: `\p{Lm}`, `\p{Lo}`.
pub(super) const UNCASED: u8 = 4;
/// `\p{L}`.
pub(super) const LETTER: u8 = UPPER | LOWER | UNCASED;
/// `\p{M}`.
pub(super) const MARK: u8 = 8;
/// `\p{N}`.
pub(super) const NUMBER: u8 = 16;
/// `\s`, the property White_Space.
pub(super) const SPACE: u8 = 32;
/// `\p{P}`, `\p{S}`.
pub(super) const SYMBOL: u8 = 64;
/// `\p{Han}`, a script and not a category: set beside one of the other bits.
pub(super) const HAN: u8 = 128;

include!(concat!(env!("OUT_DIR"), "/character_classes.rs"));

/// The classes of ASCII; zero for bytes of longer characters.
pub(super) static ASCII: [u8; 256] = {
    let mut classes = [0; 256];
    let mut c = 0;
    while c < 128 {
        classes[c] = CLASSES[((PAGES[0] as usize) << 7) + c];
        c += 1;
    }
    classes
};

/// A bit for each code point below 2^16, in words of 64: whether it has three bytes in UTF-8 and is a
/// letter without case. Half of them are; so most letters of Chinese and Japanese text are found by
/// one load.
static UNCASED_OF_THREE_BYTES: [u64; 1 << 10] = {
    let mut words = [0; 1 << 10];
    let mut code = 0x800;
    while code < 1 << 16 {
        let class = CLASSES[((PAGES[code >> 7] as usize) << 7) + code % 128];
        if class & UNCASED != 0 {
            words[code / 64] |= 1 << (code % 64);
        }
        code += 1;
    }
    words
};

/// The end of the letters without case that have three bytes each, from `at`, or a position up to
/// it.
#[inline(always)]
pub(super) fn uncased_letters_end(text: &[u8], mut at: usize) -> usize {
    while let Some([lead, second, third]) = text.get(at..).and_then(|rest| rest.first_chunk()) {
        let bytes = u32::from_be_bytes([0, *lead, *second, *third]);
        let word = usize::from(lead & 0x0F) << 6 | usize::from(second & 0x3F);
        // Surrogates and code points of fewer bytes have no bit.
        let is_letter = UNCASED_OF_THREE_BYTES[word] >> (third & 0x3F) & 1 != 0;
        if bytes & 0xF0_C0_C0 != 0xE0_80_80 || !is_letter {
            break;
        }
        at += 3;
    }
    at
}

/// A character, or a byte that is part of none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Character {
    pub(super) class: u8,
    /// Bytes, 1 to 4.
    pub(super) len: usize,
    /// The code point; 0 for a malformed byte.
    pub(super) code: u32,
}

/// The character at `at`, or none at the end of the text.
#[inline(always)]
pub(super) fn character(text: &[u8], at: usize) -> Option<Character> {
    let first = *text.get(at)?;
    if first < 0x80 {
        return Some(Character {
            class: ASCII[usize::from(first)],
            len: 1,
            code: first.into(),
        });
    }
    Some(outlined_character(text, at))
}

#[inline(never)]
fn outlined_character(text: &[u8], at: usize) -> Character {
    long_character(text, at)
}

/// The same, for loops in which most characters are longer than a byte.
#[inline(always)]
pub(super) fn long_character(text: &[u8], at: usize) -> Character {
    // Most long characters, which need no more checks than these.
    if let Some([a, b, c]) = text.get(at..).and_then(|text| text.first_chunk()) {
        let (second, third) = (u32::from(b ^ 0x80), u32::from(c ^ 0x80));
        let lead = u32::from(*a);
        let code = (lead & 0x0F) << 12 | second << 6 | third;
        // Three bytes, not a code point of fewer bytes, and not a surrogate.
        if lead & 0xF0 == 0xE0 && second | third < 0x40 && code >> 11 != 0 && code >> 11 != 0x1B {
            return Character {
                class: class(code),
                len: 3,
                code,
            };
        }
        if lead.wrapping_sub(0xC2) < 0x1E && second < 0x40 {
            let code = (lead & 0x1F) << 6 | second;
            return Character {
                class: class(code),
                len: 2,
                code,
            };
        }
    }
    rare_character(text, at)
}

/// A character that is no ASCII, or a malformed byte.
#[inline(never)]
fn rare_character(text: &[u8], at: usize) -> Character {
    let text = text.get(at..).unwrap_or_default();
    let text = text.get(..4).unwrap_or(text);
    let valid = match std::str::from_utf8(text) {
        Ok(text) => text,
        Err(error) => {
            let valid = text.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(valid).unwrap_or_default()
        }
    };
    match valid.chars().next() {
        Some(c) => Character {
            class: class(c.into()),
            len: c.len_utf8(),
            code: c.into(),
        },
        None => Character {
            class: 0,
            len: 1,
            code: 0,
        },
    }
}

/// The class of a code point; 0 beyond Unicode.
#[inline(always)]
fn class(code: u32) -> u8 {
    let block = PAGES.get((code >> 7) as usize).copied().unwrap_or_default();
    let at = usize::from(block) << 7 | (code & 0x7F) as usize;
    CLASSES.get(at).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_uncased_letters_end_before_all_other_characters() {
        let letter = "\u{3042}";
        for c in '\0'..=char::MAX {
            let text = format!("{c}{letter}");
            let found = character(text.as_bytes(), 0).unwrap();
            let is_in_run = found.len == 3 && found.class & UNCASED != 0;
            let expected = if is_in_run { text.len() } else { 0 };
            assert_eq!(uncased_letters_end(text.as_bytes(), 0), expected, "{c:?}");
        }
    }

    #[test]
    fn malformed_bytes_are_no_letters() {
        // Overlong, a surrogate, and characters that are cut off or followed by no continuation.
        for text in [
            &b"\xE0\x80\x80"[..],
            b"\xED\xA0\x80",
            b"\xE3\x81",
            b"\xE3\x81a",
            b"\xE3a\x82",
            b"\xF3\x81\x82",
        ] {
            assert_eq!(uncased_letters_end(text, 0), 0, "{text:?}");
        }
    }
}
