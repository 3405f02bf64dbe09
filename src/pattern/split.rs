//! Splits as in the files of the library tokenizers, and sequences of them.

use std::borrow::Cow;
use std::ops::Range;

use super::known::{DEEPSEEK, SUPERBPE, Scanner, expression_without_gaps, first_boundary};
use super::{Engine, Pattern, PatternError, PatternSyntax};

/// What becomes of the matches of a [`Split`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SplitBehavior {
    /// Each match is a part of its own.
    Isolated,
    /// Matches are no parts.
    Removed,
    /// A match is joined to the part before it, unless that is a match, too.
    MergedWithPrevious,
    /// A match is joined to the part after it, unless that is a match, too.
    MergedWithNext,
    /// Adjacent matches are joined.
    Contiguous,
}

/// The numbers of Unicode 17, unlike those of expressions.
const NUMBER: &str = r"[\p{N}\x{11DE0}-\x{11DE9}\x{16FF4}-\x{16FF6}]";

/// One step of a [`Pretokenizer`]: a pattern, and what becomes of its matches and of the texts
/// between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// What matches.
    pub pattern: Pattern,
    /// What becomes of it.
    pub behavior: SplitBehavior,
    /// The texts between matches take the place of matches, and the reverse. With
    /// [`SplitBehavior::Removed`], what matches is preserved.
    pub invert: bool,
}

impl Split {
    /// A split at the matches of a pattern.
    pub fn new(pattern: Pattern, behavior: SplitBehavior) -> Self {
        Self {
            pattern,
            behavior,
            invert: false,
        }
    }

    /// A split at each occurrence of a text.
    ///
    /// # Errors
    ///
    /// The text is too long for a pattern.
    pub fn at_text(text: &str, behavior: SplitBehavior) -> Result<Self, PatternError> {
        let mut expression = String::new();
        for c in text.chars() {
            if c.is_ascii_punctuation() {
                expression.push('\\');
            }
            expression.push(c);
        }
        let pattern = Pattern::new(&expression)?;
        Ok(Self::new(pattern, behavior))
    }

    /// The component `Digits`: a split at numbers, each a part of its own or all that are adjacent
    /// together. Its numbers are those of Unicode 17, unlike those of expressions.
    ///
    /// # Errors
    ///
    /// None in practice.
    pub fn at_numbers(individual: bool) -> Result<Self, PatternError> {
        let pattern = Pattern::new(NUMBER)?;
        let behavior = if individual {
            SplitBehavior::Isolated
        } else {
            SplitBehavior::Contiguous
        };
        Ok(Self::new(pattern, behavior))
    }

    /// Of a split [at numbers](Self::at_numbers), whether each is a part of its own.
    pub(crate) fn individual_numbers(&self) -> Option<bool> {
        let pattern = (self.pattern.expression(), self.pattern.syntax());
        match (pattern, self.behavior, self.invert) {
            ((NUMBER, PatternSyntax::Rust), SplitBehavior::Isolated, false) => Some(true),
            ((NUMBER, PatternSyntax::Rust), SplitBehavior::Contiguous, false) => Some(false),
            _ => None,
        }
    }

    /// Passes the parts of a text, none of them empty.
    fn for_each(&self, text: &[u8], mut on_part: impl FnMut(Range<usize>)) {
        let mut joiner = Joiner::new(self.behavior, self.invert);
        self.pattern.for_each(text, &mut |start, end, is_match| {
            joiner.push(start..end, is_match, &mut on_part);
        });
        joiner.finish(&mut on_part);
    }

    /// Whether the parts are those of the pattern `superbpe`.
    fn is_superbpe(&self) -> bool {
        let expression = self.pattern.expression();
        match (self.behavior, self.invert) {
            (SplitBehavior::Isolated, _) if expression == SUPERBPE => true,
            (SplitBehavior::Isolated, _) | (SplitBehavior::Removed, true) => {
                expression_without_gaps(expression) == Some(SUPERBPE)
            }
            _ => false,
        }
    }

    /// The scanner, if its parts are those of this split.
    fn scanner(&self) -> Option<Scanner> {
        match (&self.pattern.engine, self.behavior, self.invert) {
            (Engine::Scanner(scanner), SplitBehavior::Isolated, _) => Some(*scanner),
            (Engine::Scanner(scanner), SplitBehavior::Removed, true) if scanner.is_total() => {
                Some(*scanner)
            }
            _ => None,
        }
    }
}

/// Makes parts of matches and of the texts between them.
pub(crate) struct Joiner {
    behavior: SplitBehavior,
    invert: bool,
    /// The last part, which others may join.
    pending: Option<Range<usize>>,
    was_match: bool,
}

impl Joiner {
    pub(crate) fn new(behavior: SplitBehavior, invert: bool) -> Self {
        Self {
            behavior,
            invert,
            pending: None,
            was_match: false,
        }
    }

    /// Takes the next match or text between matches, and passes the parts that are done, none of
    /// them empty.
    #[inline]
    pub(crate) fn push(
        &mut self,
        range: Range<usize>,
        is_match: bool,
        on_part: &mut impl FnMut(Range<usize>),
    ) {
        let is_match = is_match != self.invert;
        let mut pass = |range: Range<usize>| {
            if !range.is_empty() {
                on_part(range);
            }
        };
        let joins = match self.behavior {
            SplitBehavior::Isolated => return pass(range),
            SplitBehavior::Removed if is_match => return,
            SplitBehavior::Removed => return pass(range),
            SplitBehavior::MergedWithPrevious => is_match && !self.was_match,
            SplitBehavior::MergedWithNext => !is_match && self.was_match,
            SplitBehavior::Contiguous => is_match == self.was_match,
        };
        self.was_match = is_match;
        match &mut self.pending {
            Some(pending) if joins => pending.end = range.end,
            _ => pass(self.pending.replace(range).unwrap_or_default()),
        }
    }

    /// Passes the last part.
    pub(crate) fn finish(self, on_part: &mut impl FnMut(Range<usize>)) {
        if let Some(last) = self.pending.filter(|range| !range.is_empty()) {
            on_part(last);
        }
    }
}

/// Cuts texts into pretokens.
#[derive(Clone, Debug)]
pub struct Pretokenizer {
    pub(super) splits: Vec<Split>,
    pub(super) plan: Plan,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// The whole text is one pretoken.
    Whole,
    /// All parts of this scanner are pretokens.
    Scanner(Scanner),
    /// One split after the other.
    Splits,
}

/// By the splits.
impl PartialEq for Pretokenizer {
    fn eq(&self, other: &Self) -> bool {
        self.splits == other.splits
    }
}

impl Eq for Pretokenizer {}

impl Pretokenizer {
    /// The matches of a pattern are the pretokens. Text between matches is in none.
    pub fn of(pattern: Pattern) -> Self {
        Self::new(vec![Split {
            pattern,
            behavior: SplitBehavior::Removed,
            invert: true,
        }])
    }

    /// Splits one after the other, each of the parts that the one before made. Without splits, a
    /// text is one pretoken.
    pub fn new(splits: Vec<Split>) -> Self {
        let is_isolated = |(split, expression): (&Split, &str)| {
            split.behavior == SplitBehavior::Isolated && split.pattern.expression() == expression
        };
        let plan = match &splits[..] {
            [] => Plan::Whole,
            [split] => split.scanner().map_or(Plan::Splits, Plan::Scanner),
            [_, _, _] if splits.iter().zip(DEEPSEEK).all(is_isolated) => {
                Plan::Scanner(Scanner::DeepSeek)
            }
            _ => Plan::Splits,
        };
        Self { splits, plan }
    }

    /// The pretokenizer that a text stands for: that of a [name](Self::named), or the matches of an
    /// expression in a syntax.
    ///
    /// A text of letters, digits, hyphens and underscores alone is a name: as an expression it would
    /// match only itself. The expression of such a text is a group, as in `(?:and)`.
    ///
    /// ```
    /// use spiece::{PatternError, PatternSyntax, Pretokenizer};
    ///
    /// let pretokenizer = Pretokenizer::parse("cl100k", PatternSyntax::Rust)?;
    /// assert_eq!(pretokenizer.pretokens("a  pen"), ["a", " ", " pen"]);
    /// let misspelled = Pretokenizer::parse("cl10k", PatternSyntax::Rust);
    /// assert!(matches!(misspelled, Err(PatternError::UnknownName { .. })));
    /// # Ok::<(), PatternError>(())
    /// ```
    ///
    /// # Errors
    /// The name is not known: [`PatternError::UnknownName`]; or those of [`Pattern::with_syntax`].
    pub fn parse(text: &str, syntax: PatternSyntax) -> Result<Self, PatternError> {
        let is_of_names = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        match Self::named(text) {
            Some(named) => Ok(named),
            None if !text.is_empty() && text.bytes().all(is_of_names) => {
                Err(PatternError::UnknownName {
                    name: text.to_owned(),
                })
            }
            None => Pattern::with_syntax(text, syntax).map(Self::of),
        }
    }

    /// The pretokenizer of a tokenizer: the names of [`Pattern::named`], `deepseek-v3`, and `none`,
    /// which does not cut.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::new(Vec::new())),
            "deepseek-v3" | "deepseek_v3" | "deepseek" => {
                let split = |expression| {
                    let pattern = Pattern::with_syntax(expression, PatternSyntax::Oniguruma);
                    Some(Split::new(pattern.ok()?, SplitBehavior::Isolated))
                };
                let [numbers, cjk, words] = DEEPSEEK.map(split);
                Some(Self::new(vec![numbers?, cjk?, words?]))
            }
            _ => Pattern::named(name).map(Self::of),
        }
    }

    /// The name with which [`named`](Self::named) makes a pretokenizer that cuts every text as this
    /// one does; `None` if there is none.
    pub fn name(&self) -> Option<&'static str> {
        match self.plan {
            Plan::Scanner(scanner) => scanner.name(),
            Plan::Whole => Some("none"),
            Plan::Splits => match &self.splits[..] {
                [split] if split.is_superbpe() => Some("superbpe"),
                _ => None,
            },
        }
    }

    /// The splits, in order.
    pub fn splits(&self) -> &[Split] {
        &self.splits
    }

    /// The pretokens of a text.
    pub fn pretokens<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let mut pretokens = Vec::new();
        let push: &mut dyn FnMut(_) = &mut |range| pretokens.extend(text.get(range));
        self.for_each(text.as_bytes(), push);
        pretokens
    }

    /// Passes the pretokens of a text, none of them empty, in order.
    ///
    /// Every scanner is compiled again for each closure. Where that speed is not needed, the
    /// argument is a `&mut dyn FnMut`, for which they are compiled once.
    #[inline]
    pub(crate) fn for_each(
        &self,
        text: &[u8],
        on_pretoken: &mut (impl FnMut(Range<usize>) + ?Sized),
    ) {
        match self.plan {
            Plan::Scanner(scanner) => {
                scanner.for_each(text, |start, end, _| on_pretoken(start..end))
            }
            Plan::Whole if text.is_empty() => {}
            Plan::Whole => on_pretoken(0..text.len()),
            Plan::Splits => {
                let (text, moved) = well_formed(text);
                let original = |at| at - 2 * moved.partition_point(|moved| *moved < at);
                split_all(&self.splits, &text, &mut |range| {
                    on_pretoken(original(range.start)..original(range.end));
                });
            }
        }
    }

    /// Whether a text can be a pretoken of a longer one; true if it is not known.
    ///
    /// With a scanner it is one only if it is one alone, unless it is white space. A scanner keeps
    /// no state, and none of its matches but those of white space depends on what follows, apart
    /// from ending where the text does not continue it. A group of numbers from the right is one match
    /// alone, too.
    pub(crate) fn may_cut_out(&self, text: &[u8]) -> bool {
        let is_space = |text: &str| text.chars().all(char::is_whitespace);
        if !matches!(self.plan, Plan::Scanner(_)) || std::str::from_utf8(text).is_ok_and(is_space) {
            return true;
        }
        let mut is_whole = false;
        let check: &mut dyn FnMut(Range<usize>) =
            &mut |range| is_whole |= range.len() == text.len();
        self.for_each(text, check);
        is_whole
    }

    /// Positions, ascending and at least `distance` bytes apart and from the ends, at which the
    /// text can be split: the pretokens of the parts are those of the text. None for patterns
    /// without scanner.
    pub(crate) fn find_boundaries(&self, text: &[u8], distance: usize) -> Vec<usize> {
        let mut found = Vec::new();
        if !matches!(self.plan, Plan::Scanner(_)) {
            return found;
        }
        let distance = distance.max(1);
        let mut from = distance;
        while let Some(last) = text.len().checked_sub(distance)
            && from <= last
            && let Some(at) = first_boundary(text, from..last + 1)
        {
            found.push(at);
            from = at + distance;
        }
        found
    }

    /// A position near the end of a text, which may go on after its end in any way, at which it can
    /// be split as by [`find_boundaries`](Self::find_boundaries).
    pub(crate) fn last_boundary(&self, text: &[u8]) -> Option<usize> {
        if !matches!(self.plan, Plan::Scanner(_)) {
            return None;
        }
        // The character at a boundary has to be complete.
        let end = text.len().checked_sub(4)?;
        // The first boundary of the last bytes is taken. Most texts have one in a few words.
        let mut length = 1 << 5;
        loop {
            let start = end.saturating_sub(length).max(1);
            if let Some(at) = first_boundary(text, start..end) {
                return Some(at);
            }
            if start == 1 {
                return None;
            }
            length = length.saturating_mul(8);
        }
    }
}

/// The parts that wait are those of one part for each split but the last: no recursion, since a file
/// decides how many splits there are.
fn split_all(splits: &[Split], text: &[u8], on_pretoken: &mut dyn FnMut(Range<usize>)) {
    let Some((last, others)) = splits.split_last() else {
        return on_pretoken(0..text.len());
    };
    // With the number of the split that cuts them next; the first part of the text stands last.
    let mut waiting = vec![(0, 0..text.len())];
    while let Some((number, part)) = waiting.pop() {
        let within = text.get(part.clone()).unwrap_or_default();
        let in_text = |range: Range<usize>| part.start + range.start..part.start + range.end;
        match others.get(number) {
            None => last.for_each(within, |range| on_pretoken(in_text(range))),
            Some(split) => {
                let first = waiting.len();
                split.for_each(within, |range| waiting.push((number + 1, in_text(range))));
                waiting[first..].reverse();
            }
        }
    }
}

/// The text with U+FFFF, which is assigned to no character and has no class, for each malformed
/// byte; and the positions of these in the new text, which has two bytes more for each.
fn well_formed(text: &[u8]) -> (Cow<'_, [u8]>, Vec<usize>) {
    if std::str::from_utf8(text).is_ok() {
        return (Cow::Borrowed(text), Vec::new());
    }
    let mut filled = Vec::with_capacity(text.len() + 64);
    let mut moved = Vec::new();
    for chunk in text.utf8_chunks() {
        filled.extend_from_slice(chunk.valid().as_bytes());
        for _ in chunk.invalid() {
            moved.push(filled.len());
            filled.extend_from_slice("\u{FFFF}".as_bytes());
        }
    }
    (Cow::Owned(filled), moved)
}
