//! What the whole library shares about text: marks, stepping over UTF-8, scripts, offsets, flags,
//! arenas, and small number conversions.
//!
//! | module | job |
//! |---|---|
//! | [`utf8`] | step over characters of text that need not be UTF-8 |
//! | [`script`] | the script of a character in Unicode 9.0 |
//! | [`offsets`] | byte offsets -> character and UTF-16 offsets |
//! | [`hash`] | hashes of texts that can be joined and cut |
//! | [`num`] | conversions that cannot fail, hash mixing |
//! | [`flag`] | the texts that mean true and false |
//! | [`arena`] | many texts in one allocation |

pub(crate) mod arena;
#[cfg(feature = "train")]
pub(crate) mod flag;
pub(crate) mod hash;
pub(crate) mod num;
pub(crate) mod offsets;
#[cfg(feature = "train")]
pub(crate) mod script;
pub(crate) mod utf8;

#[cfg(feature = "train")]
pub(crate) use arena::Arena;
pub(crate) use arena::TextArena;
pub(crate) use utf8::{
    char_length, char_width, decode_char, is_char, is_char_start, lossy_string,
    plainly_normalized_char,
};

/// The whitespace mark: stands for a space inside pieces ("lower one eighth block").
pub(crate) const WHITESPACE_MARK: char = '\u{2581}';
/// [`WHITESPACE_MARK`] as text; `.as_bytes()` gives its three bytes.
pub(crate) const WHITESPACE_MARK_STR: &str = "\u{2581}";
/// The unknown mark: stands for a character outside the alphabet during training.
#[cfg(any(feature = "train", test))]
pub(crate) const UNKNOWN_MARK: char = '\u{2585}';
/// [`UNKNOWN_MARK`] as text.
#[cfg(test)]
pub(crate) const UNKNOWN_MARK_STR: &str = "\u{2585}";
/// The boundary mark: during training, no piece crosses it.
#[cfg(feature = "train")]
pub(crate) const BOUNDARY_MARK: char = '\u{1f}';

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_their_text() {
        assert_eq!(WHITESPACE_MARK_STR, WHITESPACE_MARK.to_string());
        assert_eq!(UNKNOWN_MARK_STR, UNKNOWN_MARK.to_string());
        assert_eq!(WHITESPACE_MARK_STR.as_bytes(), b"\xE2\x96\x81");
    }
}
