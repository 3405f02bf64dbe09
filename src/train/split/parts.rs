//! Text -> the parts that are counted one by one.
//!
//! The concatenation of the parts is the text, and no piece crosses from one part to the next, by
//! the rules of the [parent module](super) or of word models. Characters of equal [`Shape`] form a
//! class, and a table says which classes have a boundary between them: two loads for a character.
//!
//! Example: with the default options `▁in▁2024` has the parts `▁in` and `▁2024`.

use std::ops::Range;

use super::kept_pairs::KeptPairs;
use super::word_rules::WordRules;
use super::{Shape, SplitRules, split_between};
use crate::base::WHITESPACE_MARK;
use crate::base::num::low_u8;
use crate::model::ModelType;
use crate::train::options::TrainOptions;

/// How prepared text is divided into the parts that are counted.
#[derive(Debug, Clone)]
pub(crate) enum PartRules {
    /// At boundaries, which no piece crosses.
    Boundaries(SplitRules),
    /// At boundaries, except between two characters that are adjacent in a piece of the model.
    KeptPairs(SplitRules, KeptPairs),
    /// Into words.
    Words(WordRules),
}

impl PartRules {
    /// The rules for the model type. Char models use those of BPE models.
    pub(crate) fn new(options: &TrainOptions, kept_pairs: KeptPairs) -> Self {
        match options.model_type {
            ModelType::Word => Self::Words(WordRules::PREFIX),
            _ if kept_pairs.is_empty() => Self::Boundaries(SplitRules::new(options)),
            _ => Self::KeptPairs(SplitRules::new(options), kept_pairs),
        }
    }

    /// The pairs of characters between which text is not divided.
    pub(crate) fn kept_pairs(&self) -> Option<&KeptPairs> {
        match self {
            Self::KeptPairs(_, pairs) => Some(pairs),
            Self::Boundaries(_) | Self::Words(_) => None,
        }
    }
}

/// Divides prepared text.
pub(crate) enum PartSplitter {
    Boundaries(BoundarySplitter),
    KeptPairs(BoundarySplitter, KeptPairs),
    Words(WordRules),
}

impl PartSplitter {
    pub(crate) fn new(rules: &PartRules) -> Self {
        match rules {
            PartRules::Boundaries(rules) => Self::Boundaries(BoundarySplitter::new(*rules)),
            PartRules::KeptPairs(rules, pairs) => {
                Self::KeptPairs(BoundarySplitter::new(*rules), pairs.clone())
            }
            PartRules::Words(rules) => Self::Words(*rules),
        }
    }

    /// Calls `emit` with the parts of `text`, in order; their concatenation is `text`. Cost:
    /// linear.
    #[inline]
    pub(crate) fn split<'t>(&mut self, text: &'t str, emit: impl FnMut(&'t str)) {
        match self {
            Self::Boundaries(splitter) => splitter.split(text, emit),
            Self::KeptPairs(splitter, pairs) => splitter.split_except(pairs, text, emit),
            Self::Words(rules) => rules.split(text, emit),
        }
    }
}

/// Splits prepared text at its boundaries and at breaking characters.
pub(crate) struct BoundarySplitter {
    rules: SplitRules,
    /// By code point: the class, or [`UNSEEN`].
    class_of: Vec<u8>,
    /// By class. The first class is that of breaking characters, which have no shape.
    shapes: Vec<Option<Shape>>,
    /// By the left class and then the right: whether there is a boundary between the two.
    boundaries: Vec<bool>,
}

/// The class of a character that has not occurred yet.
const UNSEEN: u8 = u8::MAX;

impl BoundarySplitter {
    pub(crate) fn new(rules: SplitRules) -> Self {
        let mut splitter = Self {
            rules,
            class_of: vec![UNSEEN; 0x11_0000],
            shapes: vec![None],
            boundaries: vec![true],
        };
        for c in ('\0'..='\x7f').chain([WHITESPACE_MARK]) {
            splitter.add_character(c);
        }
        splitter
    }

    /// As [`split`](Self::split), for a text of so many whitespace marks followed by `ascii`. Calls
    /// `emit` with the range of each part in bytes.
    #[inline]
    pub(crate) fn split_ascii(
        &self,
        marks: usize,
        ascii: &[u8],
        mut emit: impl FnMut(Range<usize>),
    ) {
        let text = marks * WHITESPACE_MARK.len_utf8();
        let mark = self.class_of[WHITESPACE_MARK as usize];
        let mut start = 0;
        let mut left = None;
        for at in 0..marks {
            let at = at * WHITESPACE_MARK.len_utf8();
            if left.is_some_and(|left| self.has_boundary(left, mark)) {
                emit(start..at);
                start = at;
            }
            left = Some(mark);
        }
        for (at, byte) in (text..).zip(ascii) {
            let right = self.class_of[usize::from(*byte)];
            if left.is_some_and(|left| self.has_boundary(left, right)) {
                emit(start..at);
                start = at;
            }
            left = Some(right);
        }
        if start < text + ascii.len() {
            emit(start..text + ascii.len());
        }
    }

    /// Calls `emit` with every maximal part of `text` without a boundary inside, in order; breaking
    /// characters are parts of their own. The concatenation of the parts is `text`.
    pub(crate) fn split<'t>(&mut self, text: &'t str, emit: impl FnMut(&'t str)) {
        split_between(
            text,
            |left: Option<u8>, c| {
                let right = self.class(c);
                let is_boundary = left.is_some_and(|left| self.has_boundary(left, right));
                (right, is_boundary)
            },
            emit,
        );
    }

    /// As [`split`](Self::split), but two characters of `kept` are never divided.
    fn split_except<'t>(&mut self, kept: &KeptPairs, text: &'t str, emit: impl FnMut(&'t str)) {
        split_between(
            text,
            |left: Option<(u8, char)>, c| {
                let right = self.class(c);
                let is_boundary = left.is_some_and(|(left, before)| {
                    self.has_boundary(left, right) && !kept.contains(before, c)
                });
                ((right, c), is_boundary)
            },
            emit,
        );
    }

    #[inline]
    fn class(&mut self, c: char) -> u8 {
        match self.class_of[c as usize] {
            UNSEEN => self.add_character(c),
            class => class,
        }
    }

    #[inline]
    fn has_boundary(&self, left: u8, right: u8) -> bool {
        self.boundaries[usize::from(left) * self.shapes.len() + usize::from(right)]
    }

    #[cold]
    fn add_character(&mut self, c: char) -> u8 {
        let shape = self.rules.shape_of(c);
        let class = self.shapes.iter().position(|known| *known == shape);
        let class = class.unwrap_or_else(|| {
            self.shapes.push(shape);
            // Whether there is a boundary, for every left shape and then every right shape.
            self.boundaries.clear();
            for left in &self.shapes {
                let row = self.shapes.iter();
                self.boundaries
                    .extend(row.map(|right| self.rules.separates(left.zip(*right))));
            }
            self.shapes.len() - 1
        });
        // A shape of one character is a script or one of a few special kinds; Unicode 9 has 137
        // scripts.
        debug_assert!(class < usize::from(UNSEEN), "too many classes");
        let class = low_u8(class as u64);
        self.class_of[c as usize] = class;
        class
    }
}
