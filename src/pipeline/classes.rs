//! The classes of characters that the normalizer and the pre-tokenizer of BERT name, as bits of a
//! byte.
//!
//! The tables are made by `build.rs` for the versions of Unicode that tokenizers 0.23.3 has:
//! general categories are those of Unicode 8.0, canonical decompositions and combining classes
//! those of Unicode 9.0.

/// What `clean_text` removes: control and format characters, private use, U+0000 and U+FFFD; not
/// the tab and the line ends.
pub(super) const REMOVED: u8 = 1;
/// Nonspacing marks, which `strip_accents` removes.
pub(super) const MARK: u8 = 2;
/// Punctuation, with all of ASCII that is neither letter, digit, control nor space.
pub(super) const PUNCTUATION: u8 = 4;
/// White space.
pub(super) const SPACE: u8 = 8;
/// Characters that `handle_chinese_chars` makes words.
pub(super) const CHINESE: u8 = 16;

include!(concat!(env!("OUT_DIR"), "/bert_classes.rs"));

/// The class of a character.
#[inline]
pub(super) fn class(c: char) -> u8 {
    let code = c as usize;
    CLASSES[(usize::from(PAGES[code >> 7]) << 7) + (code & 127)]
}
