//! The steps that cut a text into the parts that the model gets.

use std::ops::Range;
use std::sync::LazyLock;

use super::PipelineError;
use super::characters::{is_number, is_punctuation, is_space};
use super::matcher::{Matcher, MatcherTarget};
use super::normalizer::byte_chars;
use super::scripts;
use super::text::MappedText;
use crate::pattern::{Joiner, Pattern, PatternError, PatternSyntax, Split, SplitBehavior};

/// A step that cuts a text into the parts that the model gets.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum PreTokenizerStep {
    /// At white space, which is removed, and around punctuation.
    Bert,
    /// By the expression of GPT-2; then each byte becomes the character that stands for it.
    ByteLevel {
        /// Whether parts that begin with no space get one.
        add_prefix_space: bool,
        /// Whether the expression is used.
        use_regex: bool,
    },
    /// At a character, which is removed.
    CharDelimiter(char),
    /// Around numbers.
    Digits {
        /// Each number is a part of its own.
        individual: bool,
    },
    /// Into parts of as many characters, at least 1.
    FixedLength(usize),
    /// Spaces become a mark, which is put before texts.
    Metaspace(Metaspace),
    /// At punctuation.
    Punctuation(SplitBehavior),
    /// At the matches of a pattern.
    Split {
        /// What matches.
        pattern: Matcher,
        /// What becomes of it.
        behavior: SplitBehavior,
        /// Whether the texts between matches take the place of matches.
        invert: bool,
    },
    /// Where the script changes.
    UnicodeScripts,
    /// Into runs of word characters and of others, without white space.
    Whitespace,
    /// At white space, which is removed.
    WhitespaceSplit,
}

/// The component `Metaspace`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metaspace {
    /// The mark.
    pub replacement: char,
    /// Which parts get a mark before them.
    pub prepend_scheme: PrependScheme,
    /// Whether parts begin at each mark.
    pub split: bool,
}

/// Which parts get a mark before them, unless they begin with one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrependScheme {
    /// Those at the start of the text.
    First,
    /// None.
    Never,
    /// All of them.
    Always,
}

/// The expression of GPT-2.
static GPT2: LazyLock<Result<Pattern, PatternError>> = LazyLock::new(|| {
    let expression = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
    Pattern::with_syntax(expression, PatternSyntax::Oniguruma)
});

/// Word characters and others, in the crate `regex`.
static WORDS: LazyLock<Result<Pattern, PatternError>> =
    LazyLock::new(|| Pattern::new(r"\w+|[^\w\s]+"));

impl PreTokenizerStep {
    /// The expression of GPT-2.
    pub(super) fn gpt2() -> Option<&'static Pattern> {
        GPT2.as_ref().ok()
    }

    /// The step that cuts as a split.
    pub(super) fn of_split(split: &Split) -> Self {
        Self::Split {
            pattern: Matcher {
                target: MatcherTarget::Expression(split.pattern.clone()),
            },
            behavior: split.behavior,
            invert: split.invert,
        }
    }

    /// The step as a split that cannot fail, if it is one.
    pub(super) fn as_split(&self) -> Option<Split> {
        match self {
            Self::Split {
                pattern,
                behavior,
                invert,
            } => {
                let split = pattern.as_split(*behavior)?;
                Some(Split {
                    invert: *invert,
                    ..split
                })
            }
            Self::Digits { individual } => Split::at_numbers(*individual).ok(),
            _ => None,
        }
    }

    /// Applies the step.
    pub(super) fn apply(&self, text: &mut MappedText) -> Result<(), PipelineError> {
        match self {
            Self::Bert => {
                cut_at(text, is_space, SplitBehavior::Removed)?;
                cut_at(text, is_punctuation, SplitBehavior::Isolated)
            }
            Self::ByteLevel {
                add_prefix_space,
                use_regex,
            } => {
                if *add_prefix_space {
                    text.change(|part| -> Result<(), PipelineError> {
                        match part.part().text.starts_with(' ') {
                            true => part.keep(),
                            false => part.prepend(" "),
                        }
                        Ok(())
                    })?;
                }
                if *use_regex {
                    cut_by(text, &GPT2, SplitBehavior::Isolated, false)?;
                }
                text.change(|part| -> Result<(), PipelineError> {
                    byte_chars(part);
                    Ok(())
                })
            }
            Self::CharDelimiter(delimiter) => {
                cut_at(text, |c| c == *delimiter, SplitBehavior::Removed)
            }
            Self::Digits { individual: true } => cut_at(text, is_number, SplitBehavior::Isolated),
            Self::Digits { individual: false } => {
                cut_at(text, is_number, SplitBehavior::Contiguous)
            }
            Self::FixedLength(length) => text.cut(|text, on_part| {
                let starts = text.char_indices().map(|(at, _)| at);
                let mut starts = starts.step_by((*length).max(1)).peekable();
                while let Some(start) = starts.next() {
                    let end = starts.peek().copied();
                    on_part(start..end.unwrap_or(text.len()), None);
                }
                Ok(())
            }),
            Self::Metaspace(metaspace) => metaspace.apply(text),
            Self::Punctuation(behavior) => cut_at(text, is_punctuation, *behavior),
            Self::Split {
                pattern,
                behavior,
                invert,
            } => text.cut(|text, on_part| {
                let mut joiner = Joiner::new(*behavior, *invert);
                let mut pass = |range| on_part(range, None);
                pattern.for_each(text, &mut |range, is_match| {
                    joiner.push(range, is_match, &mut pass);
                })?;
                joiner.finish(&mut pass);
                Ok(())
            }),
            Self::UnicodeScripts => text.cut(|text, on_part| {
                scripts::cut(text, |range| on_part(range, None));
                Ok(())
            }),
            Self::Whitespace => cut_by(text, &WORDS, SplitBehavior::Removed, true),
            Self::WhitespaceSplit => cut_at(text, is_space, SplitBehavior::Removed),
        }
    }
}

impl Metaspace {
    fn apply(self, text: &mut MappedText) -> Result<(), PipelineError> {
        text.change(|part| -> Result<(), PipelineError> {
            let old = part.part();
            let mut done = 0;
            for (at, space) in old.text.match_indices(' ') {
                part.keep_range(done..at);
                done = at + space.len();
                part.insert(self.replacement, done);
            }
            part.keep_range(done..old.text.len());
            Ok(())
        })?;
        text.change(|part| -> Result<(), PipelineError> {
            let old = part.part();
            let prepends = match self.prepend_scheme {
                PrependScheme::First => old.begin == 0,
                PrependScheme::Never => false,
                PrependScheme::Always => true,
            };
            match prepends && !old.text.starts_with(self.replacement) {
                true => part.prepend(self.replacement.encode_utf8(&mut [0; 4])),
                false => part.keep(),
            }
            Ok(())
        })?;
        if self.split {
            let is_mark = |c| c == self.replacement;
            cut_at(text, is_mark, SplitBehavior::MergedWithNext)?;
        }
        Ok(())
    }
}

/// Cuts at the characters of a class.
fn cut_at(
    text: &mut MappedText,
    is_match: impl Fn(char) -> bool,
    behavior: SplitBehavior,
) -> Result<(), PipelineError> {
    text.cut(|text, on_part| {
        let mut joiner = Joiner::new(behavior, false);
        let mut pass = |range| on_part(range, None);
        let mut done = 0;
        for (at, c) in text.char_indices().filter(|(_, c)| is_match(*c)) {
            if done < at {
                joiner.push(done..at, false, &mut pass);
            }
            done = at + c.len_utf8();
            joiner.push(at..done, true, &mut pass);
        }
        if done < text.len() {
            joiner.push(done..text.len(), false, &mut pass);
        }
        joiner.finish(&mut pass);
        Ok(())
    })
}

/// Cuts by a pattern that this module made.
fn cut_by(
    text: &mut MappedText,
    pattern: &Result<Pattern, PatternError>,
    behavior: SplitBehavior,
    invert: bool,
) -> Result<(), PipelineError> {
    let pattern = pattern.as_ref().map_err(Clone::clone)?;
    text.cut(|text, on_part| {
        let mut joiner = Joiner::new(behavior, invert);
        let mut pass = |range: Range<usize>| on_part(range, None);
        pattern.try_for_each(text, &mut |begin, end, is_match| {
            joiner.push(begin..end, is_match, &mut pass);
        })?;
        joiner.finish(&mut pass);
        Ok(())
    })
}
