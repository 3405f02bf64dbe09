//! Where a text can be cut.
//!
//! In: the pieces, then texts. Out: the length of the chunk that a text begins with. A chunk ends where two
//! neighbouring characters stand next to each other in no piece, so that no piece reaches across.
//!
//! Which characters are neighbours is told by bits: one for each pair of ASCII characters, of which the mark
//! is one in place of the space, and of other pairs one that is found by a hash. The answer may be yes where it is
//! no, if two pairs share a bit. That only joins chunks which could be apart.
//!
//! Cost: one or two loads for each character.

use crate::encode::filter::BloomFilter;
use crate::text::num::mix64;
use crate::text::{WHITESPACE_MARK_STR, char_length};

/// How long a chunk is, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Chunk {
    /// It is a single character.
    Char(usize),
    /// It has more of them, or may have.
    Long(usize),
}

/// Which characters stand next to each other in some piece.
#[derive(Debug)]
pub(super) struct Cuts {
    /// For each ASCII character a bit for each that may follow.
    ascii: Box<[[u64; 2]; 128]>,
    others: BloomFilter,
}

impl Cuts {
    /// The places between characters that no piece has inside; `pieces` are well-formed and sorted, which is only
    /// faster.
    pub(super) fn new<'p>(pieces: impl Iterator<Item = &'p [u8]>) -> Cuts {
        let mut ascii = Box::new([[0; 2]; 128]);
        let mut far = Vec::new();
        let mut previous: &[u8] = &[];
        for piece in pieces {
            // What it has in common with the previous piece is known.
            let known = piece
                .iter()
                .zip(previous)
                .take_while(|(one, other)| one == other)
                .count();
            previous = piece;
            let (mut before, mut at) = code_at(piece);
            while at < piece.len() {
                let (code, width) = code_at(&piece[at..]);
                if (before | code) < 128 {
                    ascii[before as usize][code as usize / 64] |= 1 << (code % 64);
                } else if at + width > known {
                    far.push(spread_pair(before, code));
                }
                (before, at) = (code, at + width);
            }
        }
        // Most pairs come several times; sorting them out would cost more than the room they are given.
        let mut others = BloomFilter::with_room(far.len());
        far.into_iter().for_each(|hash| others.insert(hash));
        Cuts { ascii, others }
    }

    /// The first chunk of `text`, which is not empty.
    #[inline]
    pub(super) fn first(&self, text: &[u8]) -> Chunk {
        let (mut before, first) = code_at(text);
        let mut at = first;
        while at < text.len() {
            let (code, width) = code_at(&text[at..]);
            if !self.may_touch(before, code) {
                break;
            }
            (before, at) = (code, at + width);
        }
        if at == first {
            Chunk::Char(at)
        } else {
            Chunk::Long(at)
        }
    }

    /// Whether these characters may stand next to each other in a piece.
    #[inline]
    fn may_touch(&self, before: u32, code: u32) -> bool {
        if (before | code) < 128 {
            return self.ascii[before as usize][code as usize / 64] >> (code % 64) & 1 != 0;
        }
        self.others.may_have(spread_pair(before, code))
    }
}

/// The first character of `text`, which is not empty, as a number, and its length. Equal characters have equal
/// numbers, those of ASCII below 128.
#[inline]
fn code_at(text: &[u8]) -> (u32, usize) {
    match text[0] {
        byte @ ..0x80 => (u32::from(byte), 1),
        // Every word begins with it.
        _ if text.starts_with(WHITESPACE_MARK_STR.as_bytes()) => {
            (u32::from(b' '), WHITESPACE_MARK_STR.len())
        }
        _ => {
            let width = char_length(text);
            (
                text[..width]
                    .iter()
                    .fold(0, |code, byte| code << 8 | u32::from(*byte)),
                width,
            )
        }
    }
}

fn spread_pair(before: u32, code: u32) -> u64 {
    mix64(u64::from(before) << 32 | u64::from(code))
}
