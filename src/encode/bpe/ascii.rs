//! ASCII characters that may stand next to each other in a chunk.
//!
//! Most text is ASCII, and for it a test of one bit says whether a chunk goes on, without classes.

use super::chars::CharTable;
use super::neighbours::Neighbours;
use crate::normalize::PrefixMatcher;
use crate::prefix::PrefixSet;

/// The ASCII part of [`Neighbours`], by bytes.
#[derive(Debug)]
pub(super) struct AsciiNeighbours {
    /// For each byte, a bit for each *plain* one that may follow.
    after: Box<[[u64; 4]; 256]>,
    /// A bit for each plain byte: an ASCII character that no user-defined symbol begins with.
    plain: [u64; 4],
}

impl AsciiNeighbours {
    /// For text raw or normalized. A space is a mark in raw text and itself in normalized text; what may follow
    /// either of the two may follow it.
    pub(super) fn new(chars: &CharTable, neighbours: &Neighbours, user_defined: &PrefixSet) -> AsciiNeighbours {
        let mut plain = [0; 4];
        for byte in (0..0x80u8).filter(|byte| !user_defined.may_begin_with(*byte)) {
            plain[usize::from(byte / 64)] |= 1 << (byte % 64);
        }
        let mut after = Box::new([[0; 4]; 256]);
        for byte in 0..0x80u8 {
            let other = if byte == b' ' { chars.mark_class() } else { 0 };
            let (of_byte, of_other) =
                (neighbours.ascii_after(chars.ascii_class::<false>(byte)), neighbours.ascii_after(other));
            for half in 0..2 {
                after[usize::from(byte)][half] = (of_byte[half] | of_other[half]) & plain[half];
            }
        }
        AsciiNeighbours { after, plain }
    }

    /// Whether the byte is plain.
    #[inline]
    pub(super) fn is_plain(&self, byte: u8) -> bool {
        has(&self.plain, byte)
    }

    /// The first place from `at` on whose byte is not plain or does not go on with the chunk of the plain one before.
    #[inline]
    pub(super) fn end(&self, text: &[u8], mut at: usize, mut before: u8) -> usize {
        while let Some(&byte) = text.get(at)
            && has(&self.after[usize::from(before)], byte)
        {
            (before, at) = (byte, at + 1);
        }
        at
    }
}

#[inline]
fn has(set: &[u64; 4], byte: u8) -> bool {
    set[usize::from(byte / 64)] >> (byte % 64) & 1 != 0
}
