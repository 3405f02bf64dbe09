//! What two ASCII characters become, or the mark and one of them, as far as one thread has seen it.
//!
//! Most chunks begin with such pairs. Each has a place of its own, so that neither hash nor comparison is needed.

use super::symbols::Merge;
use crate::text::WHITESPACE_MARK_STR;

/// What pairs of characters become, by both.
#[derive(Debug, Default)]
pub(super) struct AsciiPairs {
    /// None until a pair is remembered.
    merges: Vec<Merge>,
}

/// A character as [`AsciiPairs`] knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Code(u8);

impl Code {
    const MARK: Code = Code(0x80);
    pub(super) const OTHER: Code = Code(0xFF);

    #[inline]
    pub(super) fn of(char: &[u8]) -> Code {
        match *char {
            [byte @ ..0x80] => Code(byte),
            _ if char == WHITESPACE_MARK_STR.as_bytes() => Code::MARK,
            _ => Code::OTHER,
        }
    }
}

impl AsciiPairs {
    /// Where a pair is, if the first one is ASCII or the mark and the second one ASCII.
    #[inline]
    pub(super) fn place(left: Code, right: Code) -> Option<usize> {
        (left.0 <= Code::MARK.0 && right.0 < Code::MARK.0).then(|| usize::from(left.0) << 7 | usize::from(right.0))
    }

    #[inline]
    pub(super) fn get(&self, place: usize) -> Merge {
        self.merges.get(place).copied().unwrap_or(Merge::UNSEEN)
    }

    pub(super) fn put(&mut self, place: usize, merge: Merge) {
        if self.merges.is_empty() {
            self.merges.resize((usize::from(Code::MARK.0) + 1) << 7, Merge::UNSEEN);
        }
        self.merges[place] = merge;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ascii_pair_has_a_place_of_its_own() {
        let ascii: Vec<Vec<u8>> = (0..0x80).map(|byte| vec![byte]).collect();
        let mark = WHITESPACE_MARK_STR.as_bytes().to_vec();
        let others = ["\u{80}".as_bytes().to_vec(), "\u{2580}".as_bytes().to_vec(), vec![0x80], vec![0xFF], Vec::new()];
        let place = |left: &[u8], right: &[u8]| AsciiPairs::place(Code::of(left), Code::of(right));
        let mut pairs = AsciiPairs::default();
        for (at, left) in ascii.iter().chain([&mark]).enumerate() {
            for right in &ascii {
                let found = place(left, right).unwrap();
                assert!(pairs.get(found) == Merge::UNSEEN);
                pairs.put(found, Merge::new(u32::try_from(at).unwrap(), u32::from(right[0])));
            }
            assert!([&mark].into_iter().chain(&others).all(|right| place(left, right).is_none()));
        }
        for (left, right) in others.iter().zip(&ascii) {
            assert_eq!(place(left, right), None);
        }
        for (at, left) in ascii.iter().chain([&mark]).enumerate() {
            for right in &ascii {
                let expected = Merge::new(u32::try_from(at).unwrap(), u32::from(right[0]));
                assert_eq!(pairs.get(place(left, right).unwrap()), expected);
            }
        }
    }
}
