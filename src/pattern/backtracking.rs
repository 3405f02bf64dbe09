//! Expressions with look-around, atomic groups and back references, by the crate `fancy-regex`.
//!
//! That engine backtracks, so that a match can take exponential time. The number of its steps is
//! limited; beyond, a text has no result, but an error.

use std::borrow::Cow;

use fancy_regex::{Regex, RegexBuilder, RuntimeError};

use super::{PatternError, PatternSyntax};

/// The steps of a match.
const MAX_STEPS: usize = 1_000_000;
/// Bytes of an automaton that a part of an expression becomes. Most expressions have some such parts.
pub(super) const MAX_COMPILED: usize = 4 << 20;
/// Bytes of an expression, which bound the number of these parts.
const MAX_LENGTH: usize = 2000;

/// A compiled expression.
#[derive(Debug)]
pub(super) struct BacktrackingMachine {
    regex: Regex,
}

impl BacktrackingMachine {
    /// `None` if the engine does not accept the expression.
    pub(super) fn new(expression: &str, syntax: PatternSyntax) -> Option<Self> {
        if expression.len() > MAX_LENGTH {
            return None;
        }
        let expression = match syntax {
            PatternSyntax::Oniguruma => Cow::Owned(with_classes_of_oniguruma(expression)),
            PatternSyntax::Rust => Cow::Borrowed(expression),
        };
        let regex = RegexBuilder::new(&expression)
            .oniguruma_mode(syntax == PatternSyntax::Oniguruma)
            .multi_line(syntax == PatternSyntax::Oniguruma)
            .backtrack_limit(MAX_STEPS)
            .delegate_size_limit(MAX_COMPILED)
            .build();
        Some(Self { regex: regex.ok()? })
    }

    /// Passes the parts of a text, with whether they are matches.
    pub(super) fn for_each(
        &self,
        text: &str,
        on_part: &mut dyn FnMut(usize, usize, bool),
    ) -> Result<(), PatternError> {
        let mut done = 0;
        for found in self.regex.find_iter(text) {
            let found = found.map_err(|error| match error {
                fancy_regex::Error::RuntimeError(RuntimeError::BacktrackLimitExceeded) => {
                    PatternError::TooManySteps { limit: MAX_STEPS }
                }
                error => PatternError::Syntax {
                    at: 0,
                    message: error.to_string(),
                },
            })?;
            if done < found.start() {
                on_part(done, found.start(), false);
            }
            on_part(found.start(), found.end(), true);
            done = found.end();
        }
        if done < text.len() {
            on_part(done, text.len(), false);
        }
        Ok(())
    }
}

/// `\w` of Oniguruma in brackets: without joiners.
const WORD_IN_CLASS: &str = r"[\w--[\x{200C}\x{200D}]]";
/// The same outside brackets, with six numbers of Latin 1.
const WORD: &str = r"[[\w--[\x{200C}\x{200D}]]\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE}]";
const NO_WORD: &str = r"[^[\w--[\x{200C}\x{200D}]]\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE}]";

/// An expression of Oniguruma with the classes written out that have other characters there.
fn with_classes_of_oniguruma(expression: &str) -> String {
    let boundary = format!("(?:(?<={WORD})(?!{WORD})|(?<!{WORD})(?={WORD}))");
    let no_boundary = format!("(?:(?<={WORD})(?={WORD})|(?<!{WORD})(?!{WORD}))");
    let mut written = String::with_capacity(expression.len());
    let mut depth = 0;
    let mut rest = expression;
    while let Some(c) = rest.chars().next() {
        let (length, by) = match c {
            '\\' => {
                let escaped = rest[1..].chars().next();
                let length = 1 + escaped.map_or(0, char::len_utf8);
                let by = match (escaped, depth) {
                    (Some('w'), 0) => WORD.to_owned(),
                    (Some('W'), 0) => NO_WORD.to_owned(),
                    (Some('b'), 0) => boundary.clone(),
                    (Some('B'), 0) => no_boundary.clone(),
                    (Some('w'), _) => WORD_IN_CLASS.to_owned(),
                    (Some('W'), _) => format!("[^{WORD_IN_CLASS}]"),
                    (Some('h'), _) => "[0-9A-Fa-f]".to_owned(),
                    (Some('H'), _) => "[^0-9A-Fa-f]".to_owned(),
                    _ => rest[..length].to_owned(),
                };
                (length, by)
            }
            '[' => match posix_class(rest).filter(|_| depth > 0) {
                Some((length, class)) => (length, class),
                None => {
                    depth += 1;
                    (1, "[".to_owned())
                }
            },
            ']' => {
                depth = depth.max(1) - 1;
                (1, "]".to_owned())
            }
            _ => (c.len_utf8(), c.to_string()),
        };
        written.push_str(&by);
        rest = &rest[length..];
    }
    written
}

/// The class in brackets and colons at the start of a text: its length and its characters.
fn posix_class(text: &str) -> Option<(usize, String)> {
    let inner = text.strip_prefix("[:")?;
    let (name, _) = inner.split_once(":]")?;
    let class = match name.trim_start_matches('^') {
        "alnum" => r"\p{Alphabetic}\p{Nd}",
        "alpha" => r"\p{Alphabetic}",
        "ascii" => r"\x00-\x7F",
        "blank" => r"\p{Zs}\t",
        "cntrl" => r"\p{Cc}",
        "digit" => r"\p{Nd}",
        "graph" => r"[^\p{White_Space}\p{Cc}\p{Cn}]",
        "lower" => r"\p{Lowercase}",
        "print" => r"[^\p{White_Space}\p{Cc}\p{Cn}]\p{Zs}",
        "punct" => r"\p{P}\p{S}",
        "space" => r"\p{White_Space}",
        "upper" => r"\p{Uppercase}",
        "xdigit" => r"0-9A-Fa-f",
        "word" => WORD_IN_CLASS,
        _ => return None,
    };
    let not = if name.starts_with('^') { "^" } else { "" };
    Some(("[::]".len() + name.len(), format!("[{not}{class}]")))
}
