//! Pairs of bytes that are merged first, whatever else the text has.
//!
//! Half of all merges of byte-level models join two single bytes, and most of these need no
//! comparison with other candidates. Let `a` and `b` be two bytes of a text, `x` the byte before them
//! and `y` the one after them, and `ab` a token of rank r. The pair is *certain* if
//!
//! 1. no token that contains `ab` has a rank below r;
//! 2. every token that ends with `xa` has a rank above r;
//! 3. no token that begins with `by` has a rank below r.
//!
//! **Lemma.** Merging a text gives what merging gives if all its certain pairs are joined first.
//!
//! *Proof.* While `a` and `b` are single, their pair is a candidate of rank r. A merge that takes `a`
//! without `b` makes a token that ends with `xa`, and by 2 its rank is above r. A merge that takes `b`
//! without `a` makes a token that begins with `by`; its rank is not below r by 3, and if it is r, the
//! token is `ab` again, which begins further to the right, so that `ab` comes first. So no such merge is
//! chosen, and the pair is merged at some time; all merges until then have ranks of at most r. Joined
//! at the beginning, the pair takes no candidate away that is chosen until then, and the candidates that
//! it adds make tokens that contain `ab` and more bytes, whose ranks are above r by 1. So the same merges
//! are chosen. For several pairs apply this to one after the other: the conditions name bytes of the
//! text, which a merge does not change, and two certain pairs share no byte: if `ab` and `bc` were
//! certain, the rank of `bc` would not be below r by 3 of the first, and r would be above it by 2 of the
//! second. ∎
//!
//! Example: in cl100k `·tokens` has the certain pairs `·t`, `ok` and `en`, so that its merging begins
//! with the four symbols `·t ok en s`.
//!
//! Cost: one load for each byte of a text. Memory: 1 MiB, of which a text in one script needs a few
//! kilobytes.

use crate::piece::PieceTable;

/// No token.
pub(super) const NO_TOKEN: u32 = u32::MAX;

/// What is known of two adjacent bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct BytePair {
    /// The token that they are, or [`NO_TOKEN`].
    pub(super) token: u32,
    /// The same if no token before it contains them.
    first: u32,
    /// The first token that ends with them.
    first_end: u32,
    /// The first token that begins with them.
    first_start: u32,
}

impl BytePair {
    /// Two bytes that are in no token, or the end of a text.
    pub(super) const NONE: Self = Self {
        token: NO_TOKEN,
        first: NO_TOKEN,
        first_end: NO_TOKEN,
        first_start: NO_TOKEN,
    };

    /// Whether a pair is merged first between these neighbours.
    #[inline(always)]
    pub(super) fn is_certain(&self, before: &Self, after: &Self) -> bool {
        (self.first < before.first_end) & (self.first <= after.first_start)
    }
}

/// All pairs of bytes; see the [module page](self).
#[derive(Debug)]
pub(super) struct BytePairs(Vec<BytePair>);

impl BytePairs {
    /// The tokens are in the order of their ranks.
    pub(super) fn new(tokens: &PieceTable) -> Self {
        let mut pairs = vec![BytePair::NONE; 1 << 16];
        for (token, text) in (0..).zip((0..tokens.len()).map(|at| tokens.text(at))) {
            let Some(last) = text.len().checked_sub(2) else {
                continue;
            };
            for (at, bytes) in text.windows(2).enumerate() {
                let pair = &mut pairs[index([bytes[0], bytes[1]])];
                if last == 0 {
                    pair.token = token;
                }
                // Tokens come in the order of their ranks.
                pair.first = pair.first.min(token);
                if at == 0 {
                    pair.first_start = pair.first_start.min(token);
                }
                if at == last {
                    pair.first_end = pair.first_end.min(token);
                }
            }
        }
        for pair in pairs.iter_mut().filter(|pair| pair.first != pair.token) {
            pair.first = NO_TOKEN;
        }
        Self(pairs)
    }

    #[inline(always)]
    pub(super) fn get(&self, bytes: [u8; 2]) -> &BytePair {
        self.0.get(index(bytes)).unwrap_or(&BytePair::NONE)
    }
}

#[inline(always)]
fn index([first, second]: [u8; 2]) -> usize {
    usize::from(u16::from_be_bytes([first, second]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::piece::PieceKind;

    /// The starts of the certain pairs of a text.
    fn certain(tokens: &[&str], text: &str) -> Vec<usize> {
        let mut table = PieceTable::default();
        for token in tokens {
            table.push(token.as_bytes(), 0.0, PieceKind::Normal);
        }
        let pairs = BytePairs::new(&table);
        let bytes = text.as_bytes();
        let pair = |at: usize| match bytes.get(at..).and_then(|rest| rest.first_chunk()) {
            Some(bytes) => *pairs.get(*bytes),
            None => BytePair::NONE,
        };
        let before = |at: usize| at.checked_sub(1).map_or(BytePair::NONE, pair);
        let is_certain = |at: &usize| pair(*at).is_certain(&before(*at), &pair(at + 1));
        (0..bytes.len()).filter(is_certain).collect()
    }

    #[test]
    fn pairs_that_another_merge_can_take_apart_are_not_certain() {
        assert_eq!(certain(&["ab", "bc"], "abc"), [0]);
        assert_eq!(certain(&["bc", "ab"], "abc"), [1]);
        // The token `xxa` can be made first, and then `ab` never.
        assert_eq!(certain(&["xx", "xxa", "ab"], "xxab"), [0]);
        assert_eq!(certain(&["xx", "ab", "xxa"], "xxab"), [0, 2]);
        // A token that contains the pair comes first, so that joining the pair early could make it too
        // early.
        assert_eq!(certain(&["abc", "cd", "ab"], "abcd"), [1; 0]);
        // Of equal pairs the leftmost is first.
        assert_eq!(certain(&["aa"], "aaa"), [0]);
        assert_eq!(certain(&["aa"], "aaaa"), [0]);
    }
}
