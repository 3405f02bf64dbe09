//! The chunks of a text: the parts between two bigram boundaries.
//!
//! A chunk ends between two characters that are adjacent in no piece, so no piece spans its end
//! (see [`bigrams`](crate::encode::bigrams)). Characters are numbered by their UTF-8 bytes, except
//! that the whitespace mark has the number of the space, which normalized text does not contain: so
//! the mark is one of the frequent characters.
//!
//! Example: with the pieces `▁a`, `ab` and `b`, the text `▁ab▁b` has the chunks `▁ab` (bigrams `▁
//! a` and `a b`), `▁` and `b`, because no piece contains `b ▁` or `▁ b`.

use crate::base::utf8::common_length;
use crate::base::{WHITESPACE_MARK_STR, char_length};
use crate::encode::bigrams::{BigramSet, BigramSetBuilder};

/// The length of a chunk in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Chunk {
    /// The chunk is a single character.
    Char(usize),
    /// The chunk has several characters.
    Several(usize),
}

/// Finds the chunks of texts.
#[derive(Debug)]
pub(super) struct ChunkFinder {
    bigrams: BigramSet,
    /// Whether a piece may have a whitespace mark or a space after its first character.
    pub(super) has_inner_marks: bool,
}

impl ChunkFinder {
    /// The pieces are well-formed UTF-8. If they are sorted, common beginnings are processed once.
    pub(super) fn new<'p>(pieces: impl Iterator<Item = &'p [u8]>) -> Self {
        let mut builder = BigramSetBuilder::new();
        let mut previous: &[u8] = &[];
        let mut has_inner_marks = false;
        for piece in pieces {
            // The bigrams of the beginning that the piece shares with the previous one were added
            // already.
            let shared = common_length(piece, previous);
            previous = piece;
            let (mut before, mut at) = code_at(piece);
            while at < piece.len() {
                let (code, width) = code_at(&piece[at..]);
                if at + width > shared {
                    builder.add(before, code);
                    has_inner_marks |= code == u32::from(b' ');
                }
                before = code;
                at += width;
            }
        }
        Self {
            bigrams: builder.build(),
            has_inner_marks,
        }
    }

    /// False only if two characters are adjacent in no piece. They are given by their bytes as a number, the
    /// first one highest; a space stands for the mark.
    #[inline(always)]
    pub(super) fn can_be_adjacent(&self, before: u32, after: u32) -> bool {
        self.bigrams.can_be_adjacent(before, after)
    }

    /// The first chunk of `text`, which is not empty. As a call of its own it costs 6 % of encoding.
    #[inline(always)]
    pub(super) fn first(&self, text: &[u8]) -> Chunk {
        let (mut before, first) = code_at(text);
        let mut at = first;
        while at < text.len() {
            let (code, width) = code_at(&text[at..]);
            if !self.bigrams.can_be_adjacent(before, code) {
                break;
            }
            before = code;
            at += width;
        }
        if at == first {
            Chunk::Char(at)
        } else {
            Chunk::Several(at)
        }
    }
}

/// The number of the first character of `text`, which is not empty, and its length in bytes. Equal
/// characters have equal numbers; ASCII has numbers below 128.
#[inline]
fn code_at(text: &[u8]) -> (u32, usize) {
    let mark = WHITESPACE_MARK_STR.as_bytes();
    if text[0] < 0x80 {
        return (u32::from(text[0]), 1);
    }
    // Tested first among the others, because every word begins with it.
    if text.starts_with(mark) {
        return (u32::from(b' '), mark.len());
    }
    let width = char_length(text);
    let join_byte = |code: u32, byte: &u8| code << 8 | u32::from(*byte);
    (text[..width].iter().fold(0, join_byte), width)
}
