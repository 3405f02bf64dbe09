//! Boundaries at which text is not divided, because a piece of the model crosses them.
//!
//! In continued training the pieces of the model need not follow the rules for new pieces: Llama 2
//! has runs of spaces as pieces, but no new piece may have a whitespace mark inside. Between two
//! characters that the rules separate, text is divided only if the two are adjacent in no piece of
//! the model. Then no piece, old or new, crosses a division, and the parts can be encoded one by
//! one.
//!
//! Example: the pieces `▁▁` and `▁the`, and rules that allow whitespace at the beginning of a
//! piece only. The pair `▁▁` is kept; `▁t` need not be, since the rules do not separate it.
//! The text `a▁▁b` is divided into `a` and `▁▁b`.

use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashSet;

use super::SplitRules;
use crate::base::WHITESPACE_MARK;

/// Pairs of characters that are not divided; shared by copies.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeptPairs(Arc<HashSet<(char, char), FixedState>>);

impl KeptPairs {
    /// The pairs in `pieces` that `rules` separate.
    pub(crate) fn of<'p>(pieces: impl Iterator<Item = &'p str>, rules: &SplitRules) -> Self {
        let mut pairs = HashSet::default();
        for piece in pieces {
            let neighbours = piece.chars().zip(piece.chars().skip(1));
            pairs.extend(neighbours.filter(|(left, right)| separates(rules, *left, *right)));
        }
        Self(Arc::new(pairs))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether two adjacent characters are not divided.
    #[inline]
    pub(crate) fn contains(&self, left: char, right: char) -> bool {
        self.0.contains(&(left, right))
    }

    /// Whether a piece crosses the end of a word: it has a whitespace mark after another character.
    pub(crate) fn cross_words(&self) -> bool {
        let is_end = |(left, right): &(char, char)| is_space(*right) && !is_space(*left);
        self.0.iter().any(is_end)
    }

    /// Whether a piece has two adjacent whitespace marks.
    pub(crate) fn has_whitespace_runs(&self) -> bool {
        self.0
            .iter()
            .any(|(left, right)| is_space(*left) && is_space(*right))
    }
}

/// A whitespace mark, or the space that models without marks have.
fn is_space(c: char) -> bool {
    matches!(c, WHITESPACE_MARK | ' ')
}

/// Whether the rules allow no piece in which these two characters are adjacent.
fn separates(rules: &SplitRules, left: char, right: char) -> bool {
    rules.separates(rules.shape_of(left).zip(rules.shape_of(right)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::options::TrainOptions;
    use crate::train::split::parts::{PartRules, PartSplitter};

    #[test]
    fn text_is_not_divided_where_a_piece_lies_across() {
        let options = TrainOptions::default();
        let rules = SplitRules::new(&options);
        let pieces = ["\u{2581}\u{2581}", "\u{2581}the", "a\u{431}"];
        let pairs = KeptPairs::of(pieces.into_iter(), &rules);
        assert!(!pairs.cross_words());
        assert!(pairs.has_whitespace_runs());
        let mut splitter = PartSplitter::new(&PartRules::new(&options, pairs));
        let mut parts = Vec::new();
        splitter.split("a\u{2581}\u{2581}b\u{431}a\u{431}\u{431}", |part| {
            parts.push(part);
        });
        assert_eq!(
            parts,
            ["a", "\u{2581}\u{2581}b", "\u{431}", "a\u{431}\u{431}"]
        );
        let crossing = KeptPairs::of(["of\u{2581}the"].into_iter(), &rules);
        assert!(crossing.cross_words());
        let none = KeptPairs::of(["\u{2581}the"].into_iter(), &rules);
        assert!(none.is_empty());
    }
}
