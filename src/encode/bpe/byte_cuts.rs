//! Positions inside of pretokens that no token crosses.
//!
//! Text without spaces, such as Chinese, has pretokens of whole phrases, which are hardly ever seen
//! twice; most of their characters are adjacent in no token. Between two such characters a pretoken
//! can be cut, and the parts are cached.
//!
//! **Lemma.** Let no token have an occurrence in the pretoken that covers both the byte before a
//! position and the byte after it. Then the tokens of the pretoken are those of the part before the
//! position, and then those of the other part. Proof: a merge across the position would make such a
//! token; so no pair across it is ever a candidate, and the merges of each part depend on that part
//! alone. (As for bigram boundaries; see [`bigrams`](crate::encode::bigrams).)
//!
//! An occurrence that covers both bytes around a position has at least two bytes on each side, and
//! then it covers these four bytes; or one byte on a side, and then it begins or ends with the two
//! bytes. So all four bytes that stand around a character start inside of some token are in a
//! Bloom filter, and all two bytes around a character start that is one byte from an end of a token
//! are in a table of bits. Only starts of characters of three or four bytes are tested: in other
//! scripts nearly all characters are adjacent in some token.
//!
//! Example: 中文字符 in cl100k. No token has the bytes `96 87 | E5 AD` of 文字, so a cut is there.
//!
//! Cost: two loads for each character of three or four bytes. Memory: 8 KiB, and one or two bytes
//! for each character start inside of a token.

use crate::base::num::mix_high;
use crate::encode::bloom_filter::BloomFilter;
use crate::piece::PieceTable;

/// Words of a table with a bit for every two bytes.
const WORDS: usize = 1 << (16 - 6);
/// Hashes that the filter has room for, at least.
const MIN_CAPACITY: usize = 1 << 12;

/// The positions that some token crosses; see the [module page](self).
#[derive(Debug)]
pub(super) struct ByteCuts {
    /// Four bytes around a character start inside of a token.
    inner: BloomFilter,
    /// Two bytes around a character start that is one byte from the start or the end of a token.
    at_ends: Box<[u64; WORDS]>,
}

impl ByteCuts {
    pub(super) fn new(tokens: &PieceTable) -> Self {
        Self::of((0..tokens.len()).map(|symbol| tokens.text(symbol)))
    }

    /// The positions that one of these tokens crosses.
    pub(super) fn of<'t>(tokens: impl Iterator<Item = &'t [u8]>) -> Self {
        let mut inner = Vec::new();
        let mut at_ends = Box::new([0; WORDS]);
        for token in tokens {
            for at in (1..token.len()).filter(|at| is_tested(token[*at])) {
                match around(token, at) {
                    Some(four) => inner.push(hash(four)),
                    None => {
                        let (word, bit) = bit(token[at - 1], token[at]);
                        at_ends[word] |= 1 << bit;
                    }
                }
            }
        }
        // Few tokens have few false positives.
        let mut filter = BloomFilter::with_capacity(inner.len().max(MIN_CAPACITY));
        inner.iter().for_each(|hash| filter.insert(*hash));
        Self {
            inner: filter,
            at_ends,
        }
    }

    /// Whether a text has a character of three or four bytes.
    #[inline]
    pub(super) fn may_cut(text: &[u8]) -> bool {
        let highest = text.iter().fold(0, |highest, byte| *byte.max(&highest));
        is_tested(highest)
    }

    /// A position after `at` where `text` can be cut, or the end of the text. If characters begin
    /// at `at` and from there on, it is the first one.
    #[inline]
    pub(super) fn next(&self, text: &[u8], mut at: usize) -> usize {
        while let Some(byte) = text.get(at) {
            at += match byte {
                0xE0..=0xEF => 3,
                _ => 1,
            };
            if text.get(at).is_some_and(|byte| is_tested(*byte)) && self.is_cut(text, at) {
                return at;
            }
        }
        text.len()
    }

    /// Whether no token crosses a position at which a character of three or four bytes begins.
    #[inline]
    pub(super) fn is_cut(&self, text: &[u8], at: usize) -> bool {
        // One byte from an end of the pretoken there is less to compare, and little to gain.
        let Some(four) = around(text, at) else {
            return false;
        };
        let (word, bit) = bit(text[at - 1], text[at]);
        self.at_ends[word] >> bit & 1 == 0 && !self.inner.may_contain(hash(four))
    }
}

/// Whether a byte begins a character of three or four bytes.
#[inline]
fn is_tested(byte: u8) -> bool {
    byte >= 0xE0
}

/// The two bytes before a position and the two after it.
#[inline]
fn around(text: &[u8], at: usize) -> Option<[u8; 4]> {
    text.get(at.checked_sub(2)?..)?.first_chunk().copied()
}

#[inline]
fn hash(four: [u8; 4]) -> u64 {
    mix_high(u64::from(u32::from_le_bytes(four)))
}

/// The word and the bit of two bytes.
#[inline]
fn bit(before: u8, after: u8) -> (usize, u32) {
    let number = u16::from_le_bytes([before, after]);
    (usize::from(number / 64), u32::from(number % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::piece::PieceKind;

    #[test]
    fn texts_are_cut_where_no_token_is() {
        let tokens = [
            "\u{4e2d}\u{6587}",
            "a\u{4e2d}",
            "\u{5b57}",
            "\u{ac00}\u{ac01}b",
        ];
        let mut table = PieceTable::default();
        for token in tokens {
            table.push(token.as_bytes(), 0.0, PieceKind::Normal);
        }
        // One byte of 一 begins a token, and one byte ends one.
        table.push(b"\x80\xE5\xAD", 0.0, PieceKind::Normal);
        table.push(b"\xAD\x97\xE4", 0.0, PieceKind::Normal);
        let cuts = ByteCuts::new(&table);
        for (text, expected) in [
            ("\u{4e2d}\u{6587}\u{5b57}\u{5b57}", &[6, 9][..]),
            ("aa\u{4e2d}\u{4e2d}", &[5]),
            ("\u{4e00}\u{5b57}\u{4e00}", &[]),
            ("\u{ac00}\u{ac01}bb\u{ac01}\u{ac01}", &[8, 11]),
            ("ab", &[]),
            ("", &[]),
        ] {
            let mut found = Vec::new();
            let mut at = 0;
            while at < text.len() {
                at = cuts.next(text.as_bytes(), at);
                found.push(at);
            }
            assert_eq!(found.pop().unwrap_or_default(), text.len(), "{text}");
            assert_eq!(found, expected, "{text}");
        }
    }
}
