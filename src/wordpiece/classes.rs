//! The classes of characters that the normalizer and the pre-tokenizer of BERT name, as bits of a
//! byte.
//!
//! The tables are made by `build.rs` for the versions of Unicode that tokenizers 0.23.3 has:
//! general categories are those of Unicode 8.0, canonical decompositions and combining classes
//! those of Unicode 9.0. Lower case is that of Unicode 17.0, from the standard library and
//! [`lower_case`](super::normalize::lower_case).

use crate::base::decode_char;

/// What `clean_text` removes: control and format characters, private use, U+0000 and U+FFFD; not
/// the tab and the line ends.
pub(crate) const REMOVED: u8 = 1;
/// Nonspacing marks, which `strip_accents` removes.
pub(crate) const MARK: u8 = 2;
/// Punctuation, with all of ASCII that is neither letter, digit, control nor space.
pub(crate) const PUNCTUATION: u8 = 4;
/// White space.
pub(crate) const SPACE: u8 = 8;
/// Characters that `handle_chinese_chars` makes words.
pub(crate) const CHINESE: u8 = 16;
/// Characters whose decompositions and combining classes are known.
pub(crate) const ASSIGNED: u8 = 32;

include!(concat!(env!("OUT_DIR"), "/bert_classes.rs"));

/// The class of a character.
#[inline]
pub(crate) fn class(c: char) -> u8 {
    let code = c as usize;
    CLASSES[(usize::from(PAGES[code >> 7]) << 7) + (code & 127)]
}

/// The first character of a text that is not empty, with its length; U+FFFD for a byte that is no
/// part of well-formed UTF-8.
#[inline]
pub(crate) fn first_char(text: &[u8]) -> (char, usize) {
    match text {
        [byte @ ..0x80, ..] => (char::from(*byte), 1),
        _ => {
            let (c, width) = decode_char(text);
            (c.unwrap_or(char::REPLACEMENT_CHARACTER), width)
        }
    }
}
