//! What pairs of characters become that are ASCII or the whitespace mark, for the pairs that one
//! worker has seen.
//!
//! Most chunks begin with such pairs. Every pair has an entry of its own, so neither a hash nor a
//! comparison is needed. For example, `t h` is entry 0x74 · 130 + 0x68.
//!
//! Cost: one load. Memory: 132 KiB, once the first pair is inserted.

use super::symbol_table::SymbolMerge;
use crate::base::WHITESPACE_MARK_STR;

/// The number of a character in [`AsciiPairs`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::encode::bpe) struct AsciiCode(u8);

impl AsciiCode {
    const MARK: Self = Self(0x80);
    /// All other characters. Pairs with them are never stored.
    pub(in crate::encode::bpe) const OTHER: Self = Self(0x81);

    pub(in crate::encode::bpe) fn of(char: &[u8]) -> Self {
        match *char {
            [byte @ ..0x80] => Self(byte),
            _ if char == WHITESPACE_MARK_STR.as_bytes() => Self::MARK,
            _ => Self::OTHER,
        }
    }
}

/// The number of codes.
const CODES: usize = AsciiCode::OTHER.0 as usize + 1;

/// A square of merges.
#[derive(Debug, Default)]
pub(in crate::encode::bpe) struct AsciiPairs {
    /// Empty until a pair is inserted.
    merges: Vec<SymbolMerge>,
}

impl AsciiPairs {
    fn index(left: AsciiCode, right: AsciiCode) -> usize {
        usize::from(left.0) * CODES + usize::from(right.0)
    }

    pub(super) fn size_bytes(&self) -> usize {
        size_of_val(&self.merges[..])
    }

    /// What two characters become; [`SymbolMerge::UNSEEN`] if the pair was never inserted.
    #[inline]
    pub(in crate::encode::bpe) fn get(&self, left: AsciiCode, right: AsciiCode) -> SymbolMerge {
        self.merges
            .get(Self::index(left, right))
            .copied()
            .unwrap_or(SymbolMerge::UNSEEN)
    }

    /// Stores what two characters become, unless one of them is [`AsciiCode::OTHER`].
    pub(in crate::encode::bpe) fn insert(
        &mut self,
        left: AsciiCode,
        right: AsciiCode,
        merge: SymbolMerge,
    ) {
        if left == AsciiCode::OTHER || right == AsciiCode::OTHER {
            return;
        }
        if self.merges.is_empty() {
            self.merges.resize(CODES * CODES, SymbolMerge::UNSEEN);
        }
        self.merges[Self::index(left, right)] = merge;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ascii_pair_has_its_own_entry() {
        let ascii = (0..0x80).map(|byte| vec![byte]);
        let known: Vec<AsciiCode> = ascii
            .chain([WHITESPACE_MARK_STR.into()])
            .map(|char| AsciiCode::of(&char))
            .collect();
        let others = [
            "\u{80}".as_bytes(),
            "\u{2580}".as_bytes(),
            &[0x80],
            &[0xFF],
            &[],
        ]
        .map(AsciiCode::of);
        let pairs_of = |codes: &[AsciiCode]| -> Vec<(AsciiCode, AsciiCode)> {
            codes
                .iter()
                .flat_map(|left| codes.iter().map(|right| (*left, *right)))
                .collect()
        };
        let merge_of = |(left, right): (AsciiCode, AsciiCode)| {
            SymbolMerge::new(u32::from(left.0), u32::from(right.0))
        };
        let mut pairs = AsciiPairs::default();
        for (left, right) in pairs_of(&[&known[..], &others[..]].concat()) {
            assert!(pairs.get(left, right) == SymbolMerge::UNSEEN);
            pairs.insert(left, right, merge_of((left, right)));
        }
        for (left, right) in pairs_of(&[&known[..], &others[..]].concat()) {
            let is_known = known.contains(&left) && known.contains(&right);
            let expected = if is_known {
                merge_of((left, right))
            } else {
                SymbolMerge::UNSEEN
            };
            assert_eq!(pairs.get(left, right), expected);
        }
    }
}
