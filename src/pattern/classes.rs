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
        classes[c] = BLOCKS[PAGES[0] as usize][c];
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
    Some(long_character(text, at))
}

#[inline]
fn long_character(text: &[u8], at: usize) -> Character {
    const MALFORMED: Character = Character {
        class: 0,
        len: 1,
        code: 0,
    };
    let rest = text.get(at..).unwrap_or_default();
    let continuation = |byte: u8| (byte ^ 0x80 < 0x40).then_some(u32::from(byte & 0x3F));
    let (code, len) = match *rest {
        [a @ 0xC2..=0xDF, b, ..] => match continuation(b) {
            Some(b) => (u32::from(a & 0x1F) << 6 | b, 2),
            None => return MALFORMED,
        },
        [a @ 0xE0..=0xEF, b, c, ..] => match (continuation(b), continuation(c)) {
            (Some(b), Some(c)) => {
                let code = u32::from(a & 0x0F) << 12 | b << 6 | c;
                // Shorter forms exist, or surrogates.
                if code < 0x800 || code >> 11 == 0x1B {
                    return MALFORMED;
                }
                (code, 3)
            }
            _ => return MALFORMED,
        },
        [a @ 0xF0..=0xF4, b, c, d, ..] => {
            match (continuation(b), continuation(c), continuation(d)) {
                (Some(b), Some(c), Some(d)) => {
                    let code = u32::from(a & 0x07) << 18 | b << 12 | c << 6 | d;
                    if !(0x1_0000..0x11_0000).contains(&code) {
                        return MALFORMED;
                    }
                    (code, 4)
                }
                _ => return MALFORMED,
            }
        }
        _ => return MALFORMED,
    };
    Character {
        class: class(code),
        len,
        code,
    }
}

/// The class of a code point; 0 beyond Unicode.
#[inline(always)]
fn class(code: u32) -> u8 {
    let block = PAGES.get((code >> 7) as usize).copied().unwrap_or_default();
    BLOCKS
        .get(usize::from(block))
        .map_or(0, |block| block[(code & 0x7F) as usize])
}
