//! What two characters become that are ASCII or the mark, as far as one thread has seen it.
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
    /// Pairs with it are never remembered.
    pub(super) const OTHER: Code = Code(0x81);

    pub(super) fn of(char: &[u8]) -> Code {
        match *char {
            [byte @ ..0x80] => Code(byte),
            _ if char == WHITESPACE_MARK_STR.as_bytes() => Code::MARK,
            _ => Code::OTHER,
        }
    }
}

/// One more than the highest code.
const CODES: usize = Code::OTHER.0 as usize + 1;

impl AsciiPairs {
    fn place(left: Code, right: Code) -> usize {
        usize::from(left.0) * CODES + usize::from(right.0)
    }

    /// What two characters become, if it is known.
    #[inline]
    pub(super) fn get(&self, left: Code, right: Code) -> Merge {
        self.merges
            .get(AsciiPairs::place(left, right))
            .copied()
            .unwrap_or(Merge::UNSEEN)
    }

    /// Remembers it, unless one of the characters is another one.
    pub(super) fn put(&mut self, left: Code, right: Code, merge: Merge) {
        if left == Code::OTHER || right == Code::OTHER {
            return;
        }
        if self.merges.is_empty() {
            self.merges.resize(CODES * CODES, Merge::UNSEEN);
        }
        self.merges[AsciiPairs::place(left, right)] = merge;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ascii_pair_has_a_place_of_its_own() {
        let ascii = (0..0x80).map(|byte| vec![byte]);
        let known: Vec<Code> = ascii
            .chain([WHITESPACE_MARK_STR.into()])
            .map(|char| Code::of(&char))
            .collect();
        let others = [
            "\u{80}".as_bytes(),
            "\u{2580}".as_bytes(),
            &[0x80],
            &[0xFF],
            &[],
        ]
        .map(Code::of);
        let pairs_of = |codes: &[Code]| -> Vec<(Code, Code)> {
            codes
                .iter()
                .flat_map(|left| codes.iter().map(|right| (*left, *right)))
                .collect()
        };
        let merge_of =
            |(left, right): (Code, Code)| Merge::new(u32::from(left.0), u32::from(right.0));
        let mut pairs = AsciiPairs::default();
        for (left, right) in pairs_of(&[&known[..], &others[..]].concat()) {
            assert!(pairs.get(left, right) == Merge::UNSEEN);
            pairs.put(left, right, merge_of((left, right)));
        }
        for (left, right) in pairs_of(&[&known[..], &others[..]].concat()) {
            let is_known = known.contains(&left) && known.contains(&right);
            let expected = if is_known {
                merge_of((left, right))
            } else {
                Merge::UNSEEN
            };
            assert_eq!(pairs.get(left, right), expected);
        }
    }
}
