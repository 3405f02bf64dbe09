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
    /// For each byte, a bit for each *plain* ASCII one that may follow.
    after: Box<[[u64; 4]; 256]>,
    /// A bit for each plain byte: one that no user-defined symbol begins with.
    plain: [u64; 4],
    /// Whether all of ASCII is plain.
    all_plain: bool,
}

impl AsciiNeighbours {
    /// For text raw or normalized. A space is a mark in raw text and itself in normalized text; what may follow
    /// either of the two may follow it.
    pub(super) fn new(chars: &CharTable, neighbours: &Neighbours, user_defined: &PrefixSet) -> AsciiNeighbours {
        let mut plain = [0; 4];
        for byte in (0..=u8::MAX).filter(|byte| !user_defined.may_begin_with(*byte)) {
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
        let all_plain = plain[..2] == [u64::MAX; 2];
        AsciiNeighbours { after, plain, all_plain }
    }

    /// Whether the byte is plain.
    #[inline]
    pub(super) fn is_plain(&self, byte: u8) -> bool {
        has(&self.plain, byte)
    }

    /// Where chunks begin among the bytes from `at` on, of which `before` is the one before: a bit for each byte, and
    /// how many of them were looked at, 64 at most and only ASCII. No branch depends on how long the chunks are, which
    /// cannot be foretold. Where not all of ASCII is plain, runs of plain bytes may be short, and what is looked at
    /// behind their ends would be in vain (80 % more instructions were seen); so there it looks at nothing.
    #[inline]
    pub(super) fn begins(&self, text: &[u8], at: usize, mut before: u8) -> (u64, usize) {
        let (mut begins, mut count) = (0, 0);
        let eights = if self.all_plain { 8 } else { 0 };
        for eight in text[at..].as_chunks::<8>().0.iter().take(eights) {
            if !eight.is_ascii() {
                break;
            }
            let mut goes_on = 0u64;
            for (at, byte) in eight.iter().enumerate() {
                goes_on |= u64::from(has(&self.after[usize::from(before)], *byte)) << at;
                before = *byte;
            }
            begins |= (goes_on ^ 0xFF) << count;
            count += 8;
        }
        (begins, count)
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Both ways of finding where chunks begin find the same places.
        #[test]
        fn blocks_agree_with_steps(
            followers in proptest::collection::vec(any::<[u64; 2]>(), 128),
            text in proptest::collection::vec(prop_oneof![9 => 0..0x80u8, 1 => any::<u8>()], 1..200),
        ) {
            let mut after = Box::new([[0; 4]; 256]);
            for (after, [low, high]) in after.iter_mut().zip(followers) {
                *after = [low, high, 0, 0];
            }
            let neighbours = AsciiNeighbours { after, plain: [u64::MAX, u64::MAX, 0, 0], all_plain: true };
            let (begins, count) = neighbours.begins(&text, 1, text[0]);
            prop_assert!(count <= 64 && text[1..=count].is_ascii());
            let whole_eights = text[1..].iter().take(64).take_while(|byte| byte.is_ascii()).count() / 8;
            prop_assert_eq!(count / 8, whole_eights.min((text.len() - 1) / 8));
            let mut at = 1;
            while at <= count {
                let end = neighbours.end(&text, at, text[at - 1]);
                prop_assert!((at..end.min(count + 1)).all(|place| begins >> (place - 1) & 1 == 0));
                if end <= count {
                    prop_assert!(begins >> (end - 1) & 1 == 1);
                }
                at = end + 1;
            }
        }
    }
}
