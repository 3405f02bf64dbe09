//! What a step looks for: a text or an expression.

use std::ops::Range;

use memchr::memmem;

use super::PipelineError;
use crate::pattern::{Pattern, PatternError, Split, SplitBehavior};

/// A text or an expression that a step looks for.
#[derive(Debug, Clone)]
pub struct Matcher {
    pub(super) target: MatcherTarget,
}

/// See [`Matcher`]. An expression may have look-around, which other uses of patterns cannot apply, so
/// that it is not public.
#[derive(Debug, Clone)]
pub(crate) enum MatcherTarget {
    /// A text; an empty one is found between all characters.
    Text(String),
    /// An expression.
    Expression(Pattern),
}

impl Matcher {
    /// What it looks for.
    pub(crate) fn target(&self) -> &MatcherTarget {
        &self.target
    }

    /// A text; an empty one is found between all characters.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            target: MatcherTarget::Text(text.into()),
        }
    }

    /// An expression of the library tokenizers.
    ///
    /// # Errors
    /// It is malformed, or has a construct that is not supported.
    pub fn expression(expression: &str) -> Result<Self, PatternError> {
        let pattern = Pattern::with_look_around(expression)?;
        Ok(Self {
            target: MatcherTarget::Expression(pattern),
        })
    }

    /// The bytes of the compiled expression.
    pub(crate) fn memory_usage(&self) -> usize {
        match &self.target {
            MatcherTarget::Text(_) => 0,
            MatcherTarget::Expression(pattern) => pattern.memory_usage(),
        }
    }

    /// Whether it is a text of one character, which is found in the parts of a text as in the whole.
    pub(super) fn is_one_char(&self) -> bool {
        let MatcherTarget::Text(text) = &self.target else {
            return false;
        };
        text.chars().count() == 1
    }

    /// False only for texts without a match.
    pub(super) fn may_match(&self, text: &str) -> bool {
        match &self.target {
            MatcherTarget::Text(needle) => {
                memmem::find(text.as_bytes(), needle.as_bytes()).is_some()
            }
            MatcherTarget::Expression(pattern) => pattern.may_match(text),
        }
    }

    /// A split at the matches, if finding them cannot fail.
    pub(super) fn as_split(&self, behavior: SplitBehavior) -> Option<Split> {
        match &self.target {
            MatcherTarget::Text(text) if text.is_empty() => None,
            MatcherTarget::Text(text) => Split::at_text(text, behavior).ok(),
            MatcherTarget::Expression(pattern) if pattern.has_look_around() => None,
            MatcherTarget::Expression(pattern) => Some(Split::new(pattern.clone(), behavior)),
        }
    }

    /// Passes the parts of a text, with whether they match. Matches can be empty, other parts are
    /// not.
    pub(super) fn for_each(
        &self,
        text: &str,
        on_part: &mut dyn FnMut(Range<usize>, bool),
    ) -> Result<(), PipelineError> {
        // An empty text has no matches, not even of the empty text.
        if text.is_empty() {
            return Ok(());
        }
        match &self.target {
            MatcherTarget::Expression(pattern) => {
                pattern.try_for_each(text, &mut |begin, end, is_match| {
                    on_part(begin..end, is_match)
                })?;
            }
            // Of bytes, an empty text is found inside of characters, too.
            MatcherTarget::Text(needle) if needle.is_empty() => {
                pass_found(text, "", text.match_indices("").map(|(at, _)| at), on_part);
            }
            MatcherTarget::Text(needle) => {
                let found = memmem::find_iter(text.as_bytes(), needle);
                pass_found(text, needle, found, on_part);
            }
        }
        Ok(())
    }
}

/// Passes the parts of a text in which another one is found at these places.
fn pass_found(
    text: &str,
    needle: &str,
    found: impl Iterator<Item = usize>,
    on_part: &mut dyn FnMut(Range<usize>, bool),
) {
    let mut done = 0;
    for begin in found {
        if done < begin {
            on_part(done..begin, false);
        }
        done = begin + needle.len();
        on_part(begin..done, true);
    }
    if done < text.len() {
        on_part(done..text.len(), false);
    }
}
