//! Chunk boundaries in runs of ASCII characters, eight bytes at a time.
//!
//! Each byte after the first has a bit that says whether a chunk begins there. Most text is ASCII,
//! and for ASCII one load of a table of all pairs of bytes replaces the classes of both characters.
//!
//! The method is SWAR (SIMD within a register). A word of eight bytes is read, the number of its
//! leading ASCII bytes follows from the bits 0x80, and the eight pairs of adjacent bytes are tested
//! without a branch.
//!
//! Example: with the pieces `▁a` and `an`, the raw text ` an ant` has the bigrams ` a`, `an`, `n `,
//! ` a`, `an`, `nt`. The bytes at the positions 3 (` `) and 6 (`t`) begin chunks, because no piece
//! contains `n▁` or `nt`; the bits after position 0 are 0, 0, 1, 0, 0, 1.
//!
//! Cost: about four instructions per byte.

use super::char_table::CharTable;
use super::class_bigrams::ClassBigrams;
use crate::base::num::masked_index;
use crate::trie::prefix::PrefixTrie;

/// Words of a table with a bit for every two bytes.
const WORDS: usize = 1 << (16 - 6);

/// The bigrams of ASCII characters, by bytes, and the bytes with which no user-defined symbol
/// begins ("plain" bytes).
#[derive(Debug)]
pub(in crate::encode::bpe) struct AsciiBigrams {
    /// A bit for every two bytes: whether the second is plain ASCII and may follow the first inside
    /// a chunk. The number of the bit is the two bytes read as a little-endian number.
    adjacent: Box<[u64; WORDS]>,
    /// A bit for each plain byte.
    plain: [u64; 4],
    /// Whether all ASCII bytes are plain.
    is_ascii_plain: bool,
    /// Whether all other bytes are plain.
    is_wide_plain: bool,
}

impl AsciiBigrams {
    /// The table serves raw and normalized text: a space is a whitespace mark in raw text and an
    /// ordinary character in normalized text, and a byte that may follow one of the two may follow
    /// the space.
    pub(in crate::encode::bpe) fn new(
        chars: &CharTable,
        bigrams: &ClassBigrams,
        user_defined: &PrefixTrie,
    ) -> Self {
        let plain = plain_bytes(user_defined);
        let mut ascii = Self {
            adjacent: Box::new([0; WORDS]),
            plain,
            is_ascii_plain: plain[..2] == [u64::MAX; 2],
            is_wide_plain: plain[2..] == [u64::MAX; 2],
        };
        for before in 0..0x80 {
            let classes = [
                chars.ascii_class::<false>(before),
                chars.ascii_class::<true>(before),
            ];
            let [in_text, in_raw] = classes.map(|class| bigrams.ascii_followers(class));
            for (half, plain) in plain.iter().enumerate().take(2) {
                let mut rest = (in_text[half] | in_raw[half]) & plain;
                while rest != 0 {
                    // The second byte is 64 * half + rest.trailing_zeros().
                    let bit = 0x4000 * half + 0x100 * rest.trailing_zeros() as usize;
                    ascii.adjacent[(bit + usize::from(before)) / 64] |= 1 << (before % 64);
                    rest &= rest - 1;
                }
            }
        }
        ascii
    }

    /// 1 if, of the two lowest bytes of `pair`, the upper one is plain ASCII and may follow the
    /// lower one; 0 otherwise.
    #[inline]
    fn can_be_adjacent(&self, pair: u64) -> u64 {
        // The other bytes of `pair` are masked out, so the index is right on 32-bit targets too.
        self.adjacent[masked_index(pair / 64, WORDS - 1)] >> (pair % 64) & 1
    }

    /// Whether no user-defined symbol begins with the byte.
    #[inline]
    pub(in crate::encode::bpe) fn is_plain(&self, byte: u8) -> bool {
        self.plain[usize::from(byte / 64)] >> (byte % 64) & 1 != 0
    }

    /// As [`is_plain`](Self::is_plain), for a byte that is not ASCII.
    #[inline]
    pub(in crate::encode::bpe) fn is_plain_wide(&self, byte: u8) -> bool {
        self.is_wide_plain || self.is_plain(byte)
    }

    /// Where chunks begin among the bytes from `at` on, which is not 0: a bit for each byte, and
    /// the number of bytes that were examined, which is at most 64 and stops at the first byte that
    /// is not ASCII. No branch depends on the lengths of chunks, nor on where in eight bytes a run
    /// of ASCII ends; both would be mispredicted.
    ///
    /// Texts below 8 bytes are not examined. Nor is any text if an ASCII byte is not plain: runs of
    /// plain bytes may then be short, and the bytes after their ends would be examined in vain,
    /// which took 80 % more instructions.
    #[inline]
    pub(in crate::encode::bpe) fn chunk_starts(&self, text: &[u8], at: usize) -> (u64, usize) {
        let mut starts = 0;
        let mut count = 0;
        let Some(last) = text.last_chunk::<8>().filter(|_| self.is_ascii_plain) else {
            return (starts, count);
        };
        let mut before = u64::from(text[at - 1]);
        let (blocks, rest) = text[at..].as_chunks::<8>();
        for block in blocks.iter().take(8) {
            let word = u64::from_le_bytes(*block);
            let ascii = leading_ascii(word);
            if ascii == 0 {
                return (starts, count);
            }
            starts |= self.starts_in_word(word, ascii, before) << count;
            count += ascii;
            if ascii < 8 {
                return (starts, count);
            }
            before = word >> 56;
        }
        if blocks.len() < 8 && !rest.is_empty() {
            let word = u64::from_le_bytes(*last) >> (64 - 8 * rest.len());
            let ascii = leading_ascii(word).min(rest.len());
            starts |= self.starts_in_word(word, ascii, before) << count;
            count += ascii;
        }
        (starts, count)
    }

    /// A bit for each of the first `count` bytes of a word that does not continue the chunk of the
    /// byte before it.
    #[inline(always)]
    fn starts_in_word(&self, word: u64, count: usize, before: u64) -> u64 {
        let pairs = word << 8 | before;
        let mut continues = self.can_be_adjacent(word >> 48) << 7;
        for at in 0..7 {
            continues |= self.can_be_adjacent(pairs >> (8 * at)) << at;
        }
        !continues & ((1 << count) - 1)
    }

    /// The first position from `at` on, which is not 0, whose byte is not plain ASCII or begins a
    /// chunk.
    #[inline]
    pub(in crate::encode::bpe) fn chunk_end(&self, text: &[u8], mut at: usize) -> usize {
        let mut before = text[at - 1];
        while let Some(&byte) = text.get(at)
            && self.can_be_adjacent(u64::from(u16::from_le_bytes([before, byte]))) != 0
        {
            before = byte;
            at += 1;
        }
        at
    }
}

/// A bit for each byte with which no user-defined symbol begins.
fn plain_bytes(user_defined: &PrefixTrie) -> [u64; 4] {
    let is_plain = |byte: &u8| !user_defined.may_begin_with(*byte);
    let mut plain = [0; 4];
    for byte in (0..=u8::MAX).filter(is_plain) {
        plain[usize::from(byte / 64)] |= 1 << (byte % 64);
    }
    plain
}

/// The number of ASCII bytes of a word before the first other byte, from the lowest.
#[inline]
fn leading_ascii(word: u64) -> usize {
    (word & 0x8080_8080_8080_8080).trailing_zeros() as usize / 8
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Blocks of eight bytes and single steps find the same chunk starts.
        #[test]
        fn blocks_agree_with_steps(
            adjacent in proptest::collection::vec(any::<u64>(), WORDS / 2),
            text in proptest::collection::vec(prop_oneof![9 => 0..0x80u8, 1 => any::<u8>()], 1..200),
        ) {
            let mut bigrams = AsciiBigrams {
                adjacent: Box::new([0; WORDS]),
                plain: [u64::MAX; 4],
                is_ascii_plain: true,
                is_wide_plain: true,
            };
            bigrams.adjacent[..WORDS / 2].copy_from_slice(&adjacent);
            let (starts, count) = bigrams.chunk_starts(&text, 1);
            prop_assert!(count <= 64 && text[1..=count].is_ascii());
            let ascii = text[1..].iter().take(64).take_while(|byte| byte.is_ascii()).count();
            prop_assert_eq!(count, if text.len() < 8 { 0 } else { ascii });
            let mut at = 1;
            while at <= count {
                let end = bigrams.chunk_end(&text, at);
                prop_assert!((at..end.min(count + 1)).all(|at| starts >> (at - 1) & 1 == 0));
                if end <= count {
                    prop_assert!(starts >> (end - 1) & 1 == 1);
                }
                at = end + 1;
            }
        }
    }
}
