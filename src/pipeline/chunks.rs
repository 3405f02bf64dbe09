//! Where a text can be cut before everything else.
//!
//! Most words of a text were seen before. If a text can be cut between words such that the ids of the
//! parts are those of the text, whatever stands in them, then the ids of a part can be kept and looked
//! up by its bytes. So the stages need no fast path of their own: only new words go through them.
//!
//! A cut is made between a character *before* and a single space, after which there is another
//! character. [`conditions`] follows what each stage makes of the three: a stage that could see across
//! such a cut has conditions for the characters, and one that cannot be understood allows no cuts.
//! Characters are looked at when a text has them for the first time, except those of ASCII.
//!
//! That a stage makes of a character what it makes of it alone is certain only if no other one joins it:
//!
//! | beside the cut | what could join it | so |
//! |---|---|---|
//! | the character before | the one before that, in a normal form or a cluster | it is none that [joins](Sides::JOINS) another, and there is none [before which](Sides::LEADS) others join |
//! | the space | a mark after it | the character after it is none |
//! | the character after | marks after it | if a condition asks for it, the next one stays as it is, too, and no mark follows that |
//!
//! Example: GPT-2's expression matches ` ?\p{L}+`, but nothing with a space inside. So `one two` is
//! `one` and ` two` for all that follows.
//!
//! Text in Chinese has no spaces. Where the normalizer puts one on both sides of each Chinese character,
//! as BERT's does, and white space is removed after that, each such character is a chunk: what the
//! normalizer makes of the chunks is, one after the other, what it makes of the text, and the places
//! between have a space on one side.

mod conditions;

use std::sync::atomic::{AtomicU8, Ordering};

use unicode_normalization::char::{canonical_combining_class, is_combining_mark};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};
use unicode_segmentation::UnicodeSegmentation;

use self::conditions::Conditions;
use super::Pipeline;
use super::characters::is_chinese;
use super::normalizer::extends_no_cluster;
use crate::base::decode_char;
use crate::base::utf8::is_continuation;

/// See the [module page](self).
#[derive(Debug)]
pub(super) struct Chunks {
    conditions: Conditions,
    /// The sides of the characters of ASCII.
    ascii: Box<[Sides; 256]>,
    /// Those of the other characters of the first plane, once a text had them.
    others: Box<[AtomicU8]>,
}

/// On which sides of a cut a character may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sides(u8);

impl Sides {
    const UNKNOWN: Self = Self(0);
    const KNOWN: Self = Self(1);
    const BEFORE: Self = Self(2);
    const AFTER: Self = Self(4);
    /// In a normal form or a cluster, it can be one with the character before it.
    const JOINS: Self = Self(8);
    /// In a cluster, it can be one with the character after it.
    const LEADS: Self = Self(16);

    fn has(self, side: Self) -> bool {
        self.0 & side.0 != 0
    }

    fn with(self, side: Self, has: bool) -> Self {
        match has {
            true => Self(self.0 | side.0),
            false => self,
        }
    }
}

impl Chunks {
    /// `None` if the texts of a pipeline cannot be cut.
    pub(super) fn of(pipeline: &Pipeline) -> Option<Self> {
        let conditions = Conditions::of(pipeline)?;
        let sides = |byte: usize| match u8::try_from(byte) {
            Ok(byte) if byte.is_ascii() => conditions.sides(pipeline, char::from(byte)),
            _ => Sides::UNKNOWN,
        };
        let ascii: Box<[Sides; 256]> = Box::new(std::array::from_fn(sides));
        let any_letter = |side: Sides| {
            let mut letters = (b'A'..=b'z').filter(u8::is_ascii_alphabetic);
            letters.any(|letter| ascii[usize::from(letter)].has(side))
        };
        let is_useful = any_letter(Sides::BEFORE) && any_letter(Sides::AFTER);
        is_useful.then(|| Self {
            conditions,
            ascii,
            others: (0..=u16::MAX).map(|_| AtomicU8::default()).collect(),
        })
    }

    /// The last position after `start` at which a chunk begins, whatever follows the text.
    pub(super) fn last_start(
        &self,
        pipeline: &Pipeline,
        text: &[u8],
        start: usize,
    ) -> Option<usize> {
        let mut end = text.len();
        while let Some(at) = memchr::memrchr(b' ', text.get(start + 1..end)?) {
            let at = start + 1 + at;
            // Text that follows can join the last characters.
            let is_inside = text.len() - at > MAX_LOOK_AHEAD;
            if is_inside && self.is_cut(pipeline, text, at) {
                return Some(at);
            }
            end = at;
        }
        None
    }

    /// The end of the chunk that begins at `start`.
    #[inline]
    pub(super) fn end(&self, pipeline: &Pipeline, text: &[u8], start: usize) -> usize {
        let mut at = start;
        while let Some(byte) = text.get(at) {
            match byte {
                b' ' if at > start && self.is_cut(pipeline, text, at) => return at,
                // No Chinese character begins with a lower byte.
                0xE3.. if self.conditions.set_chinese_apart => {
                    let (c, width) = decode_char(&text[at..]);
                    if c.is_some_and(is_chinese) {
                        return if at == start { at + width } else { at };
                    }
                    at += width;
                }
                _ => at += 1,
            }
        }
        text.len()
    }

    /// Whether a text is cut before the space at a position, which is not the first one.
    #[inline]
    fn is_cut(&self, pipeline: &Pipeline, text: &[u8], at: usize) -> bool {
        let around = text.get(at.wrapping_sub(2)..).and_then(<[u8]>::first_chunk);
        let Some([_, before, _, after, next, _]) = around.filter(|it| it.is_ascii()) else {
            return self.is_cut_between(pipeline, text, at);
        };
        let sides = |byte: u8| self.ascii[usize::from(byte)];
        sides(*before).has(Sides::BEFORE)
            && sides(*after).has(Sides::AFTER)
            && (!self.conditions.ask_for_after || *next == b' ' || sides(*next).has(Sides::AFTER))
    }

    /// As [`is_cut`](Self::is_cut), for any characters and at the ends of a text.
    fn is_cut_between(&self, pipeline: &Pipeline, text: &[u8], at: usize) -> bool {
        let (left, right) = (&text[..at], &text[at + 1..]);
        let Some((before, rest)) = last_char(left) else {
            return false;
        };
        let leading = last_char(rest).map(|(c, _)| self.sides(pipeline, c));
        if leading.is_some_and(|sides| sides.has(Sides::LEADS))
            || !self.sides(pipeline, before).has(Sides::BEFORE)
        {
            return false;
        }
        let (Some(after), width) = decode_char(right) else {
            return false;
        };
        if !self.sides(pipeline, after).has(Sides::AFTER) {
            return false;
        }
        if !self.conditions.ask_for_after {
            return true;
        }
        let (next, next_width) = decode_char(&right[width..]);
        let (last, _) = decode_char(&right[width + next_width..]);
        let stays = |c: char| c == ' ' || self.sides(pipeline, c).has(Sides::AFTER);
        let joins = |c: char| self.sides(pipeline, c).has(Sides::JOINS);
        match next {
            None => next_width == 0,
            Some(next) => stays(next) && !last.is_some_and(joins),
        }
    }

    /// The sides of a character.
    #[inline]
    fn sides(&self, pipeline: &Pipeline, c: char) -> Sides {
        let index = u32::from(c) as usize;
        if c.is_ascii() {
            return self.ascii[index];
        }
        let Some(known) = self.others.get(index) else {
            return Sides::KNOWN
                .with(Sides::JOINS, true)
                .with(Sides::LEADS, true);
        };
        match Sides(known.load(Ordering::Relaxed)) {
            Sides::UNKNOWN => {
                let sides = self.conditions.sides(pipeline, c);
                known.store(sides.0, Ordering::Relaxed);
                sides
            }
            sides => sides,
        }
    }
}

/// A cut looks at no more bytes after its space: two characters and the beginning of a third.
const MAX_LOOK_AHEAD: usize = 12;

/// The last character of a text, and the text before it; `None` if it is malformed.
fn last_char(text: &[u8]) -> Option<(char, &[u8])> {
    let mut begin = text.len().checked_sub(1)?;
    while begin > 0 && text.len() - begin < 4 && is_continuation(text[begin]) {
        begin -= 1;
    }
    let (rest, last) = text.split_at(begin);
    match decode_char(last) {
        (Some(c), width) if width == last.len() => Some((c, rest)),
        _ => None,
    }
}

/// Whether a character can be one with the character before it, in a normal form or in a cluster.
/// Clusters of six bytes and more are not taken as a whole.
fn joins(c: char) -> bool {
    let first = std::iter::once(c).nfkd().next().unwrap_or(c);
    let is_mark = |c: char| is_combining_mark(c) || canonical_combining_class(c) != 0;
    let composes = |c: char| is_nfc_quick(std::iter::once(c)) == IsNormalized::Maybe;
    let others = ["a", "\u{1100}", "\u{AC00}", "\u{2764}\u{200D}"];
    let clusters = |other: &&str| format!("{other}{c}").graphemes(true).count() == 1;
    let may_cluster = !extends_no_cluster(c) && others.iter().any(clusters);
    is_mark(c) || is_mark(first) || composes(c) || composes(first) || may_cluster
}

/// Whether a character can be in one cluster with the one after it.
fn leads(c: char) -> bool {
    let clusters = |other: &&str| format!("{c}{other}").graphemes(true).count() == 1;
    !extends_no_cluster(c) && ["a", "\u{1161}"].iter().any(clusters)
}

#[cfg(test)]
mod tests;
