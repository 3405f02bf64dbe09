//! Which strings may be pieces, and the boundaries that no piece crosses, where text can be split.
//!
//! A piece is valid if it is no longer than `max_sentencepiece_length`, keeps to one script, has
//! whitespace only where the options allow it, and so on ([`SplitRules::is_valid_piece`] in the
//! tests is the definition over the whole text). Training asks this of every pair of symbols that
//! it sees, so a symbol carries a [`Shape`]: the few facts about its text that decide whether it
//! may grow, which join in constant time.
//!
//! Two neighbouring characters that no valid piece can contain have a boundary between them
//! ([`SplitRules::is_boundary_between`]). Text is split at its boundaries before it is counted.
//! That is exact. A merge across a boundary would make a symbol with both characters, which is no
//! valid piece, so its pair is never a candidate. Every pair that is a candidate lies in one part,
//! and its count is the sum over all parts, whichever words they come from. The split has two
//! advantages: the word in "word," and in "word" is counted as one, and whitespace splitting needs
//! no code of its own.
//!
//! For example, with the default options `▁in▁2024,Wörter` has these boundaries:
//!
//! ```text
//! ▁in | ▁2024, | Wörter
//!     1        2
//! 1: a whitespace mark may only be the first character of a piece
//! 2: the comma has the script Common, W the script Latin
//! ```
//!
//! `▁` and `2` have no boundary between them, because the mark takes the script of what follows;
//! digits and the comma both have the script Common.
//!
//! As in the reference, Hiragana, Katakana and U+30FC are Han. Characters of the script Inherited
//! and the whitespace mark take the script of the characters before them or, at the start of a
//! piece, of the character after them. With `split_by_number=false` a digit may be next to any
//! script.

pub(crate) mod kept_pairs;
pub(crate) mod parts;
pub(crate) mod word_rules;

use std::num::NonZeroU8;

use crate::base::script::{Script, script_of};
use crate::base::{BOUNDARY_MARK, UNKNOWN_MARK, WHITESPACE_MARK};
use crate::train::options::TrainOptions;

/// The options that decide what a piece may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SplitRules {
    max_length: u32,
    one_script: bool,
    digits_have_script: bool,
    lone_digits: bool,
    whitespace_splits: bool,
    whitespace_is_suffix: bool,
    whitespace_runs: bool,
    /// The maximum number of words in a piece.
    max_words: u16,
    /// Whether the rules of superwords apply: no whitespace mark after a colon.
    superwords: bool,
    /// Whether characters are bytes, among which the space is the whitespace mark, and may stand
    /// anywhere.
    of_bytes: bool,
}

/// The script of one end of a text, as far as it restricts the text's neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScriptRun {
    /// Takes the script of its neighbour: whitespace marks and inherited characters.
    Transparent,
    /// May be next to every script.
    Any,
    Of(Script),
}

impl ScriptRun {
    fn conflicts(self, right: Self) -> bool {
        matches!((self, right), (Self::Of(a), Self::Of(b)) if a != b)
    }

    /// This, or `other` if this takes the script of its neighbour.
    fn or(self, other: Self) -> Self {
        if self == Self::Transparent {
            other
        } else {
            self
        }
    }
}

/// Where a text has whitespace marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Whitespace {
    first: bool,
    last: bool,
    after_first: bool,
    before_last: bool,
    everywhere: bool,
}

impl Whitespace {
    /// The whitespace of one character.
    fn of_character(c: char) -> Self {
        let is_mark = c == WHITESPACE_MARK;
        Self {
            first: is_mark,
            last: is_mark,
            everywhere: is_mark,
            ..Self::default()
        }
    }

    fn followed_by(self, right: Self) -> Self {
        Self {
            first: self.first,
            last: right.last,
            after_first: self.after_first || right.first || right.after_first,
            before_last: self.last || self.before_last || right.before_last,
            everywhere: self.everywhere && right.everywhere,
        }
    }
}

/// The facts about the text of a symbol that decide whether the symbol may be merged with another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    length: u16,
    lead: ScriptRun,
    trail: ScriptRun,
    whitespace: Whitespace,
    is_digit: bool,
    /// No valid piece contains the text, since it breaks a rule itself. Only pieces of a model
    /// whose training is continued can.
    is_excluded: bool,
    /// The number of words: runs without whitespace marks.
    words: u16,
    /// No whitespace mark may follow.
    ends_superword: bool,
}

impl Shape {
    /// The shape of one character.
    fn of_character(c: char, run: ScriptRun) -> Self {
        Self {
            length: 1,
            lead: run,
            trail: run,
            whitespace: Whitespace::of_character(c),
            is_digit: is_digit(c),
            is_excluded: false,
            words: u16::from(c != WHITESPACE_MARK),
            ends_superword: false,
        }
    }

    /// The shape of so many bytes.
    fn of_bytes(length: usize) -> Self {
        Self {
            length: u16::try_from(length).unwrap_or(u16::MAX),
            words: 0,
            ..Self::of_character('a', ScriptRun::Any)
        }
    }

    /// The shape of a byte that may be a part of superwords.
    fn of_byte(byte: u8) -> Self {
        let c = match byte {
            b' ' => WHITESPACE_MARK,
            _ => 'a',
        };
        Self {
            ends_superword: byte == b':',
            ..Self::of_character(c, ScriptRun::Any)
        }
    }

    /// Length in characters, or in bytes.
    pub(crate) fn length(&self) -> u16 {
        self.length
    }

    /// The shape of a text of this shape followed by a text of shape `right`.
    pub(crate) fn followed_by(&self, right: &Self) -> Self {
        Self {
            length: self.length.saturating_add(right.length),
            lead: self.lead.or(right.lead),
            trail: right.trail.or(self.trail),
            whitespace: self.whitespace.followed_by(right.whitespace),
            is_digit: false,
            is_excluded: self.is_excluded | right.is_excluded,
            words: self.words_with(right),
            ends_superword: right.ends_superword,
        }
    }

    /// The number of words of a text of this shape followed by a text of shape `right`.
    fn words_with(&self, right: &Self) -> u16 {
        let is_inside_word = !self.whitespace.last && !right.whitespace.first;
        let words = self.words.saturating_add(right.words);
        words - u16::from(is_inside_word && words > 0)
    }

    /// Whether no superword continues with the text `right`.
    fn ends_before(&self, right: &Self) -> bool {
        self.ends_superword && right.whitespace.first
    }
}

/// Whether a character is never part of a piece of two or more characters.
pub(crate) fn is_breaking(c: char) -> bool {
    matches!(c, UNKNOWN_MARK | BOUNDARY_MARK | '\0' | ' ')
}

/// The digits of `split_digits` and `split_by_number`: ASCII and full-width.
fn is_digit(c: char) -> bool {
    matches!(c, '0'..='9' | '\u{ff10}'..='\u{ff19}')
}

impl SplitRules {
    pub(crate) fn new(options: &TrainOptions) -> Self {
        Self {
            max_length: options.max_sentencepiece_length,
            one_script: options.split_by_unicode_script,
            digits_have_script: options.split_by_number,
            lone_digits: options.split_digits,
            whitespace_splits: options.split_by_whitespace,
            whitespace_is_suffix: options.treat_whitespace_as_suffix,
            whitespace_runs: options.allow_whitespace_only_pieces,
            max_words: options
                .max_words
                .map_or(u16::MAX, |words| words.get().into()),
            superwords: options.max_words.is_some(),
            of_bytes: false,
        }
    }

    /// The rules of byte-level BPE: all joined texts up to `max_length` bytes are pieces.
    pub(crate) fn of_bytes(max_length: u32) -> Self {
        Self {
            max_length,
            one_script: false,
            digits_have_script: false,
            lone_digits: false,
            whitespace_splits: false,
            whitespace_is_suffix: false,
            whitespace_runs: false,
            max_words: u16::MAX,
            superwords: false,
            of_bytes: true,
        }
    }

    /// The same rules, and those of superwords: at most so many words, and no space after a colon.
    pub(crate) fn with_superwords(self, max_words: NonZeroU8) -> Self {
        Self {
            max_words: max_words.get().into(),
            superwords: true,
            ..self
        }
    }

    /// The shape of a token of bytes, which need not be a valid piece.
    pub(crate) fn shape_of_bytes(&self, bytes: &[u8]) -> Shape {
        // Without superwords nothing but the length matters.
        match (bytes, self.superwords) {
            ([first, rest @ ..], true) => {
                let first = Shape::of_byte(*first);
                rest.iter().fold(first, |left, byte| {
                    let right = Shape::of_byte(*byte);
                    let mut joined = left.followed_by(&right);
                    joined.is_excluded |= left.ends_before(&right);
                    joined
                })
            }
            _ => Shape::of_bytes(bytes.len()),
        }
    }

    /// The shape of a single character that may be part of longer pieces, or `None`.
    pub(crate) fn shape_of(&self, c: char) -> Option<Shape> {
        (!is_breaking(c)).then(|| self.shape_of_any(c))
    }

    /// As [`shape_of`](Self::shape_of), for any character.
    fn shape_of_any(&self, c: char) -> Shape {
        let mut shape = Shape::of_character(c, self.script_run(c));
        shape.ends_superword = self.superwords && c == ':';
        shape
    }

    fn script_run(&self, c: char) -> ScriptRun {
        if c == WHITESPACE_MARK || !self.one_script {
            return ScriptRun::Transparent;
        }
        let script = script_of(c);
        if matches!(script, Script::HIRAGANA | Script::KATAKANA) || c == '\u{30fc}' {
            return ScriptRun::Of(Script::HAN);
        }
        if is_digit(c) && !self.digits_have_script {
            return ScriptRun::Any;
        }
        if script == Script::INHERITED {
            ScriptRun::Transparent
        } else {
            ScriptRun::Of(script)
        }
    }

    /// The shape of `left` and `right` together, or `None` if they are not a valid piece together.
    /// Each must be valid by itself.
    pub(crate) fn join(&self, left: &Shape, right: &Shape) -> Option<Shape> {
        let joined = left.followed_by(right);
        let valid = u32::from(joined.length) <= self.max_length
            && !joined.is_excluded
            && joined.words <= self.max_words
            && !left.ends_before(right)
            && !self.isolates_digit(left, right)
            && !left.trail.conflicts(right.lead)
            && self.allows_whitespace(&joined.whitespace);
        valid.then_some(joined)
    }

    /// The shape of a text of one character or more that need not be a valid piece. Whitespace
    /// marks and the length are part of the shape; if another rule is broken, the text is excluded
    /// from all pieces.
    pub(crate) fn shape_of_text(&self, text: &str) -> Shape {
        let characters = text.chars().map(|c| {
            let mut shape = self.shape_of_any(c);
            shape.is_excluded = is_breaking(c);
            shape
        });
        let joined = characters.reduce(|left, right| {
            let is_excluded = self.isolates_digit(&left, &right)
                || left.trail.conflicts(right.lead)
                || left.ends_before(&right);
            let mut joined = left.followed_by(&right);
            joined.is_excluded |= is_excluded;
            joined
        });
        joined.unwrap_or_else(|| {
            let mut empty = Shape::of_character('\0', ScriptRun::Transparent);
            empty.is_excluded = true;
            empty
        })
    }

    /// Whether a text may be a piece.
    pub(crate) fn allows(&self, text: &str) -> bool {
        let mut characters = text.chars();
        let Some(mut shape) = characters.next().and_then(|c| self.shape_of(c)) else {
            return false;
        };
        for c in characters {
            let Some(next) = self.shape_of(c) else {
                return false;
            };
            if self.isolates_digit(&shape, &next) || shape.trail.conflicts(next.lead) {
                return false;
            }
            shape = shape.followed_by(&next);
        }
        shape.length == 1
            || (u32::from(shape.length) <= self.max_length
                && self.allows_whitespace(&shape.whitespace))
    }

    /// Whether one of the two is a digit and each digit is a piece of its own.
    fn isolates_digit(&self, left: &Shape, right: &Shape) -> bool {
        self.lone_digits && (left.is_digit || right.is_digit)
    }

    /// Whether the positions of whitespace marks in a text of two or more characters are valid.
    fn allows_whitespace(&self, whitespace: &Whitespace) -> bool {
        if self.of_bytes || self.whitespace_runs && whitespace.everywhere {
            return true;
        }
        !match (self.whitespace_is_suffix, self.whitespace_splits) {
            (false, true) => whitespace.after_first,
            (false, false) => whitespace.last,
            (true, true) => whitespace.before_last,
            (true, false) => whitespace.first,
        }
    }

    /// Whether no valid piece, however long, has `left` directly before `right`.
    pub(crate) fn is_boundary_between(&self, left: &Shape, right: &Shape) -> bool {
        self.max_length < 2
            || self.isolates_digit(left, right)
            || left.trail.conflicts(right.lead)
            || left.ends_before(right)
            || (self.whitespace_splits && self.is_whitespace_boundary(left, right))
    }

    /// Whether two characters of these shapes are adjacent in no valid piece; a breaking character
    /// has no shape.
    fn separates(&self, shapes: Option<(Shape, Shape)>) -> bool {
        shapes.is_none_or(|(left, right)| self.is_boundary_between(&left, &right))
    }

    fn is_whitespace_boundary(&self, left: &Shape, right: &Shape) -> bool {
        let left = left.whitespace.everywhere;
        let right = right.whitespace.everywhere;
        match (left && right, self.whitespace_is_suffix) {
            (true, _) => !self.whitespace_runs,
            (false, true) => left,
            (false, false) => right,
        }
    }
}

/// Calls `emit` with the parts of `text`, in order. `classify` takes the class of the previous
/// character, if there is one, and a character; it returns the character's class and whether a part
/// begins with the character.
#[inline]
fn split_between<'t, C: Copy>(
    text: &'t str,
    mut classify: impl FnMut(Option<C>, char) -> (C, bool),
    mut emit: impl FnMut(&'t str),
) {
    let mut start = 0;
    let mut left = None;
    for (at, c) in text.char_indices() {
        let (right, is_boundary) = classify(left, c);
        if is_boundary {
            emit(&text[start..at]);
            start = at;
        }
        left = Some(right);
    }
    if start < text.len() {
        emit(&text[start..]);
    }
}

#[cfg(test)]
mod tests;
