//! Words: the parts of prepared text between whitespace marks.
//!
//! Unigram models estimate scores on whole words, and word models consist of them; BPE training
//! divides text further, see [`split`](super).
//!
//! Example: the text `x▁▁a▁b▁` with the four settings of the options:
//!
//! | whitespace is | runs may be pieces | words |
//! |---|---|---|
//! | a prefix | no | `x` `▁` `▁a` `▁b` `▁` |
//! | a prefix | yes | `x` `▁▁a` `▁b` `▁` |
//! | a suffix | no | `x▁` `▁` `a▁` `b▁` |
//! | a suffix | yes | `x▁▁` `a▁` `b▁` |
//!
//! Source: function `SplitIntoWords` of SentencePiece 0.2.3.

use super::split_between;
use crate::base::WHITESPACE_MARK;
use crate::train::options::TrainOptions;

/// How words are divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WordRules {
    whitespace_is_suffix: bool,
    whitespace_runs: bool,
}

impl WordRules {
    /// The words of a word model: every whitespace mark begins a word.
    pub(crate) const PREFIX: Self = Self {
        whitespace_is_suffix: false,
        whitespace_runs: false,
    };

    /// The words of a unigram model.
    pub(crate) fn new(options: &TrainOptions) -> Self {
        Self {
            whitespace_is_suffix: options.treat_whitespace_as_suffix,
            whitespace_runs: options.allow_whitespace_only_pieces,
        }
    }

    /// Calls `emit` with the words of a text; their concatenation is the text.
    pub(crate) fn split<'t>(self, text: &'t str, emit: impl FnMut(&'t str)) {
        let classify = |left: Option<bool>, c| {
            let is_mark = c == WHITESPACE_MARK;
            let is_boundary = left.is_some_and(|left| self.is_boundary(left, is_mark));
            (is_mark, is_boundary)
        };
        split_between(text, classify, emit);
    }

    /// Whether a word begins between two characters; the arguments say whether each of them is a
    /// whitespace mark.
    fn is_boundary(self, left: bool, right: bool) -> bool {
        if self.whitespace_is_suffix {
            left && !(self.whitespace_runs && right)
        } else {
            right && !(self.whitespace_runs && left)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str, whitespace_is_suffix: bool, whitespace_runs: bool) -> Vec<&str> {
        let rules = WordRules {
            whitespace_is_suffix,
            whitespace_runs,
        };
        let mut words = Vec::new();
        rules.split(text, |word| words.push(word));
        words
    }

    #[test]
    fn words_are_split_at_whitespace() {
        let text = "x▁▁a▁b▁";
        assert_eq!(words(text, false, false), ["x", "▁", "▁a", "▁b", "▁"]);
        assert_eq!(words(text, false, true), ["x", "▁▁a", "▁b", "▁"]);
        assert_eq!(words(text, true, false), ["x▁", "▁", "a▁", "b▁"]);
        assert_eq!(words(text, true, true), ["x▁▁", "a▁", "b▁"]);
        assert!(words("", false, false).is_empty());
    }
}
