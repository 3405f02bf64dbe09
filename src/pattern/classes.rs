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
        let [second, third] = [b, c].map(|byte| u32::from(byte ^ 0x80));
        let lead = u32::from(*a);
        let code = (lead & 0x0F) << 12 | second << 6 | third;
        // Three bytes, and not a surrogate.
        if lead.wrapping_sub(0xE1) < 0x0F && second | third < 0x40 && code >> 11 != 0x1B {
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
