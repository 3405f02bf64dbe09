//! Bigram boundaries of a text.
//!
//! At these positions a text can be divided into parts that several threads encode. The
//! [scan](super) uses [`class_at`] and [`can_be_adjacent`] too.
//!
//! Example: the boundaries of `the cat` that are at least 2 bytes from each other: position 3, if
//! no piece contains `e ▁`.
//!
//! Cost: two or three loads for each character.

use crate::encode::bpe::classes::char_table::CharTable;
use crate::encode::bpe::classes::class_bigrams::ClassBigrams;

/// Bigram boundaries of `text`, at least `distance` bytes apart.
pub(in crate::encode::bpe) fn find_boundaries<const RAW: bool>(
    text: &[u8],
    distance: usize,
    chars: &CharTable,
    bigrams: &ClassBigrams,
) -> Vec<usize> {
    let mut boundaries = Vec::new();
    let mut at = 0;
    let mut last_class = 0;
    let mut last_boundary = 0;
    while at < text.len() {
        let (class, width) = class_at::<RAW>(chars, &text[at..]);
        let is_far = at - last_boundary >= distance;
        if is_far && !can_be_adjacent(bigrams, last_class, text[at], class) {
            boundaries.push(at);
            last_boundary = at;
        }
        last_class = class;
        at += width;
    }
    boundaries
}

/// The class and the length of the character at the start of `rest`.
#[inline(always)]
pub(super) fn class_at<const RAW: bool>(chars: &CharTable, rest: &[u8]) -> (u32, usize) {
    if RAW {
        chars.raw_class_at(rest)
    } else {
        chars.class_at(rest)
    }
}

/// Whether a character of class `class`, whose first byte is `byte`, may follow a character of
/// class `last`.
#[inline(always)]
pub(super) fn can_be_adjacent(bigrams: &ClassBigrams, last: u32, byte: u8, class: u32) -> bool {
    match byte {
        ..0x80 => bigrams.can_precede_ascii(last, byte),
        _ => bigrams.can_be_adjacent(last, class),
    }
}
