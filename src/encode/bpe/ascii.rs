//! ASCII characters that may stand next to each other in a chunk.
//!
//! Most text is ASCII, and for it a test of one bit says whether a chunk goes on, without classes.

use super::chars::CharTable;
use super::neighbours::Neighbours;
use crate::text::num::low_usize;
use crate::trie::prefix::PrefixTrie;

/// The ASCII part of [`Neighbours`], by bytes.
#[derive(Debug)]
pub(super) struct AsciiNeighbours {
    /// For each two bytes a bit: whether the second is plain ASCII and may follow the first. The place of a bit is the
    /// two bytes as one number, so that finding it takes hardly more than reading them.
    touching: Box<[u64; WORDS]>,
    /// A bit for each plain byte: one that no user-defined symbol begins with.
    plain: [u64; 4],
    /// Whether all of ASCII is plain.
    all_plain: bool,
    /// Whether all other bytes are plain.
    others_plain: bool,
}

/// Words that hold a bit for every two bytes.
const WORDS: usize = 1 << (16 - 6);

impl AsciiNeighbours {
    /// For text raw or normalized. A space is a mark in raw text and itself in normalized text; what may follow
    /// either of the two may follow it.
    pub(super) fn new(
        chars: &CharTable,
        neighbours: &Neighbours,
        user_defined: &PrefixTrie,
    ) -> AsciiNeighbours {
        let mut plain = [0; 4];
        for byte in (0..=u8::MAX).filter(|byte| !user_defined.may_begin_with(*byte)) {
            plain[usize::from(byte / 64)] |= 1 << (byte % 64);
        }
        let all_plain = plain[..2] == [u64::MAX; 2];
        let others_plain = plain[2..] == [u64::MAX; 2];
        let mut ascii = AsciiNeighbours {
            touching: Box::new([0; WORDS]),
            plain,
            all_plain,
            others_plain,
        };
        for before in 0..0x80 {
            let classes = [
                chars.ascii_class::<false>(before),
                chars.ascii_class::<true>(before),
            ];
            for byte in 0..0x80 {
                let touches = classes
                    .iter()
                    .any(|class| neighbours.may_touch_ascii(*class, byte));
                if touches && ascii.is_plain(byte) {
                    let pair = u16::from_le_bytes([before, byte]);
                    ascii.touching[usize::from(pair / 64)] |= 1 << (pair % 64);
                }
            }
        }
        ascii
    }

    /// 1 if, of the last two bytes of a number, the higher one is plain ASCII and may stand behind the lower one.
    #[inline]
    fn touches(&self, pair: u64) -> u64 {
        self.touching[low_usize(pair / 64) % WORDS] >> (pair % 64) & 1
    }

    /// Whether the byte is plain.
    #[inline]
    pub(super) fn is_plain(&self, byte: u8) -> bool {
        self.plain[usize::from(byte / 64)] >> (byte % 64) & 1 != 0
    }

    /// Whether the byte is plain; it is not ASCII.
    #[inline]
    pub(super) fn is_plain_other(&self, byte: u8) -> bool {
        self.others_plain || self.is_plain(byte)
    }

    /// Where chunks begin among the bytes from `at` on, which is not 0: a bit for each byte, and how many of them were
    /// looked at, 64 at most and only ASCII. No branch depends on how long the chunks are, nor on where a run of ASCII
    /// ends within eight bytes, which cannot be foretold.
    /// Where not all of ASCII is plain, runs of plain bytes may be short, and what is looked at behind their ends would
    /// be in vain (80 % more instructions were seen); so there it looks at nothing, and nor at a text below 8 bytes.
    #[inline]
    pub(super) fn begins(&self, text: &[u8], at: usize) -> (u64, usize) {
        let (mut begins, mut count) = (0, 0);
        let Some(last) = text.last_chunk::<8>().filter(|_| self.all_plain) else {
            return (begins, count);
        };
        let mut before = u64::from(text[at - 1]);
        let (eights, rest) = text[at..].as_chunks::<8>();
        for eight in eights.iter().take(8) {
            let word = u64::from_le_bytes(*eight);
            let ascii = leading_ascii(word);
            if ascii == 0 {
                return (begins, count);
            }
            begins |= self.begins_in(word, ascii, before) << count;
            count += ascii;
            if ascii < 8 {
                return (begins, count);
            }
            before = word >> 56;
        }
        if eights.len() < 8 && !rest.is_empty() {
            let word = u64::from_le_bytes(*last) >> (64 - 8 * rest.len());
            let ascii = leading_ascii(word).min(rest.len());
            begins |= self.begins_in(word, ascii, before) << count;
            count += ascii;
        }
        (begins, count)
    }

    /// A bit for each of the first `count` bytes of a word that does not go on with the chunk of the one before.
    #[inline(always)]
    fn begins_in(&self, word: u64, count: usize, before: u64) -> u64 {
        let pairs = (0..7)
            .map(|place| (word << 8 | before) >> (8 * place))
            .chain([word >> 48]);
        let goes_on = pairs
            .enumerate()
            .fold(0, |bits, (place, pair)| bits | self.touches(pair) << place);
        !goes_on & ((1 << count) - 1)
    }

    /// The first place from `at` on, which is not 0, whose byte is not plain ASCII or does not go on with the chunk of
    /// the one before.
    #[inline]
    pub(super) fn end(&self, text: &[u8], mut at: usize) -> usize {
        let mut before = text[at - 1];
        while let Some(&byte) = text.get(at)
            && self.touches(u64::from(u16::from_le_bytes([before, byte]))) != 0
        {
            (before, at) = (byte, at + 1);
        }
        at
    }
}

/// How many bytes of a word, from the lowest, are ASCII.
#[inline]
fn leading_ascii(word: u64) -> usize {
    (word & 0x8080_8080_8080_8080).trailing_zeros() as usize / 8
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Both ways of finding where chunks begin find the same places.
        #[test]
        fn blocks_agree_with_steps(
            touching in proptest::collection::vec(any::<u64>(), WORDS / 2),
            text in proptest::collection::vec(prop_oneof![9 => 0..0x80u8, 1 => any::<u8>()], 1..200),
        ) {
            let plain = [u64::MAX; 4];
            let touching_none = Box::new([0; WORDS]);
            let mut neighbours =
                AsciiNeighbours { touching: touching_none, plain, all_plain: true, others_plain: true };
            neighbours.touching[..WORDS / 2].copy_from_slice(&touching);
            let (begins, count) = neighbours.begins(&text, 1);
            prop_assert!(count <= 64 && text[1..=count].is_ascii());
            let ascii = text[1..].iter().take(64).take_while(|byte| byte.is_ascii()).count();
            prop_assert_eq!(count, if text.len() < 8 { 0 } else { ascii });
            let mut at = 1;
            while at <= count {
                let end = neighbours.end(&text, at);
                prop_assert!((at..end.min(count + 1)).all(|place| begins >> (place - 1) & 1 == 0));
                if end <= count {
                    prop_assert!(begins >> (end - 1) & 1 == 1);
                }
                at = end + 1;
            }
        }
    }
}
