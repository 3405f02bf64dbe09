//! What every module may use and what uses none of them: numbers, stepping over UTF-8, scripts,
//! offsets, hashes of texts, many texts in one allocation, random numbers, and the reserved marks.
//!
//! | module | job |
//! |---|---|
//! | [`arena`] | many texts in one allocation |
//! | `byte_chars` | bytes as printable characters |
//! | `fnv` | a hash of bytes that is the same in all releases |
//! | [`hash`] | hashes of texts that can be joined and cut |
//! | [`heap`] | a heap with the order of equal priorities of libstdc++ |
//! | [`log_sum`] | sums of numbers that are given as logarithms |
//! | [`num`] | conversions that cannot fail, hash mixing |
//! | [`offsets`] | byte offsets -> character and UTF-16 offsets |
//! | `packed` | short texts as a few machine words |
//! | [`rng`] | seeded random numbers |
//! | `script` | the script of a character in Unicode 9.0 |
//! | `steps` | counts steps in tests |
//! | [`utf8`] | step over characters of text that need not be UTF-8 |

pub(crate) mod arena;
#[cfg(feature = "formats")]
pub(crate) mod byte_chars;
#[cfg(feature = "formats")]
pub(crate) mod fnv;
pub(crate) mod hash;
pub(crate) mod heap;
pub(crate) mod log_sum;
pub(crate) mod num;
pub(crate) mod offsets;
#[cfg(feature = "train")]
pub(crate) mod packed;
pub(crate) mod rng;
#[cfg(feature = "formats")]
pub(crate) mod script;
pub(crate) mod steps;
pub(crate) mod utf8;

#[cfg(feature = "train")]
pub(crate) use arena::Arena;
pub(crate) use arena::TextArena;
pub(crate) use utf8::{
    begun_char, char_length, char_width, decode_char, is_char, is_char_start, lossy_string,
    may_become_char, plainly_normalized_char,
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
