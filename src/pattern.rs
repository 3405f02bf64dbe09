//! Cutting a text into pretokens by the regular expressions of byte-level tokenizers.
//!
//! A [`Pattern`] is an expression; the expressions of well-known tokenizers have scanners that are
//! written by hand (`scan`, `known`), all others run on the automata of the crate `regex`
//! (`general`), or by backtracking if they have look-around (`look_around`, `backtracking`). A [`Pretokenizer`] cuts by one pattern, or by several [`Split`]s one after the
//! other (`split`).
//!
//! A byte that is no part of well-formed UTF-8 is a character that is no letter, no number, no
//! white space and nothing else that a class names.
mod adjacency;
mod backtracking;
mod classes;
mod general;
mod known;
mod look_around;
mod oniguruma;
mod scan;
mod split;
#[cfg(test)]
mod tests;
mod within;

pub(crate) use self::adjacency::Adjacency;
use self::backtracking::{BacktrackingMachine, Refusal};
use self::general::Machine;
use self::known::Scanner;
#[cfg(feature = "formats")]
pub(crate) use self::known::{DEEPSEEK as DEEPSEEK_EXPRESSIONS, GPT2 as GPT2_EXPRESSION};
pub(crate) use self::split::Joiner;
pub use self::split::{Pretokenizer, Split, SplitBehavior};
pub(crate) use self::within::UncutStrings;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A regular expression that cuts texts into pretokens.
///
/// ```
/// use spiece::{Pattern, Pretokenizer};
///
/// let pretokenizer = Pretokenizer::of(Pattern::named("cl100k").unwrap());
/// let pretokens = pretokenizer.pretokens("Don't  ask\n");
/// assert_eq!(pretokens, ["Don", "'t", " ", " ask", "\n"]);
/// ```
#[derive(Clone)]
pub struct Pattern {
    expression: Arc<str>,
    syntax: PatternSyntax,
    engine: Engine,
}

#[derive(Clone)]
enum Engine {
    Scanner(Scanner),
    Machine(Arc<Machine>),
    /// Only in patterns that are made [with look-around](Pattern::with_look_around).
    Backtracking(Arc<BacktrackingMachine>),
}

/// Whose regular expressions a pattern is written for.
///
/// Both have the characters of Unicode 16. They differ in a few constructs: `\p{N}{1,3}+` is
/// possessive in one and repeats twice in the other; `$` is the end of the text or of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatternSyntax {
    /// The crates `regex` and `fancy-regex`: tiktoken, rustbpe, bpeasy.
    #[default]
    Rust,
    /// Oniguruma with the syntax of Ruby: `tokenizer.json`, the library tokenizers.
    Oniguruma,
}

impl Pattern {
    /// A pattern for the syntax of tiktoken.
    ///
    /// # Errors
    ///
    /// Expressions that are malformed, too long or too large, or that need what is not there:
    /// look-around other than in the alternative `\s+(?!\S)` (or another class of white space) and
    /// in `(?:A)|(?:(?!A)(?s:.))+`, which matches A and the texts between, and in expressions that are those of
    /// a [name](Self::named), or group numbers like one; back references, atomic
    /// groups, and possessive quantifiers that differ from greedy ones.
    pub fn new(expression: &str) -> Result<Self, PatternError> {
        Self::with_syntax(expression, PatternSyntax::Rust)
    }

    /// A pattern for a syntax.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new); and with [`PatternSyntax::Oniguruma`] the constructs that mean
    /// something else there and have no translation.
    pub fn with_syntax(expression: &str, syntax: PatternSyntax) -> Result<Self, PatternError> {
        let engine = match Scanner::of(expression, syntax == PatternSyntax::Oniguruma) {
            Some(scanner) => Engine::Scanner(scanner),
            None => Engine::Machine(Arc::new(Machine::new(expression, syntax)?)),
        };
        Ok(Self {
            expression: expression.into(),
            syntax,
            engine,
        })
    }

    /// A pattern for Oniguruma that may have look-around, atomic groups and back references, for a use
    /// that can fail: see [`try_for_each`](Self::try_for_each).
    ///
    /// # Errors
    ///
    /// The expression is malformed, or has a construct that is not supported.
    pub(crate) fn with_look_around(expression: &str) -> Result<Self, PatternError> {
        let syntax = PatternSyntax::Oniguruma;
        match Self::with_syntax(expression, syntax) {
            Err(error @ PatternError::Unsupported { .. }) => {
                let machine =
                    BacktrackingMachine::new(expression).map_err(|refusal| match refusal {
                        Refusal::Construct(construct) => PatternError::Unsupported {
                            at: 0,
                            text: expression.to_owned(),
                            construct,
                        },
                        Refusal::Other => error,
                    })?;
                Ok(Self {
                    expression: expression.into(),
                    syntax,
                    engine: Engine::Backtracking(Arc::new(machine)),
                })
            }
            made => made,
        }
    }

    /// An expression without look-around whose matches have every text that a match of this one has, with
    /// the same characters beside each other; most expressions are their own.
    fn wider_expression(&self) -> Cow<'_, str> {
        match self.engine {
            Engine::Scanner(_) => known::place_digits_base(&self.expression)
                .map_or(Cow::Borrowed(&*self.expression), Cow::Owned),
            _ => Cow::Borrowed(&*self.expression),
        }
    }

    /// The bytes of the compiled expression.
    pub(crate) fn memory_usage(&self) -> usize {
        match &self.engine {
            Engine::Scanner(_) => 0,
            Engine::Machine(machine) => machine.memory_usage(),
            Engine::Backtracking(machine) => machine.memory_usage(),
        }
    }

    /// Whether it is applied by backtracking, which can take too many steps.
    pub(crate) fn has_look_around(&self) -> bool {
        matches!(self.engine, Engine::Backtracking(_))
    }

    /// The pattern of a tokenizer, or `None` if the name is not one of these:
    ///
    /// | name | pattern |
    /// |---|---|
    /// | `gpt2`, `r50k`, `r50k_base`, `p50k`, `p50k_base`, `p50k_edit` | GPT-2 and GPT-3 |
    /// | `cl100k`, `cl100k_base` | GPT-4, as tiktoken has it |
    /// | `o200k`, `o200k_base`, `o200k_harmony`, `gpt4o` | GPT-4o |
    /// | `llama3` | Llama 3; cl100k in files of the library tokenizers |
    /// | `qwen2`, `qwen3` | Qwen 2 to 3 |
    /// | `kimi` | Kimi K2 |
    /// | `tekken` | Mistral |
    /// | `rustbpe`, `minbpe` | the default of rustbpe and of minbpe |
    /// | `nanochat` | nanochat |
    /// | `llama3-place-digits`, `o200k-place-digits` | those of Llama 3 and GPT-4o with numbers in groups of three from the right: `1234567` is `1`, `234`, `567` |
    /// | `superbpe` | the second stage of SuperBPE, which cuts out numbers, runs of symbols, and spaces at the ends of lines |
    ///
    /// DeepSeek V3 needs three patterns: [`Pretokenizer::named`].
    pub fn named(name: &str) -> Option<Self> {
        let expression = match name {
            "gpt2" | "r50k" | "r50k_base" | "p50k" | "p50k_base" | "p50k_edit" => known::R50K,
            "cl100k" | "cl100k_base" => known::CL100K,
            "o200k" | "o200k_base" | "o200k_harmony" | "gpt4o" => known::O200K,
            "llama3" => known::LLAMA3,
            "qwen2" | "qwen3" => known::QWEN2,
            "kimi" => known::KIMI,
            "tekken" => known::TEKKEN,
            "rustbpe" | "minbpe" => known::RUSTBPE,
            "nanochat" => known::NANOCHAT,
            "llama3-place-digits" => {
                return Self::new(&known::with_place_digits(known::LLAMA3)).ok();
            }
            "o200k-place-digits" => return Self::new(&known::with_place_digits(known::O200K)).ok(),
            "superbpe" => return Self::new(&known::expression_with_gaps(known::SUPERBPE)).ok(),
            _ => return None,
        };
        Self::new(expression).ok()
    }

    /// The expression of published vocabularies that cuts like this one, if tokenizers 1.0 knows it.
    pub(crate) fn published(&self) -> Option<&'static str> {
        match &self.engine {
            Engine::Scanner(scanner) => scanner.published(),
            _ => None,
        }
    }

    /// The expression as it was given.
    pub fn expression(&self) -> &str {
        &self.expression
    }

    /// The syntax for which it was given.
    pub fn syntax(&self) -> PatternSyntax {
        self.syntax
    }

    /// Passes the parts of a text with whether they are matches. The text is well-formed UTF-8, or
    /// the pattern has a scanner.
    fn for_each(&self, text: &[u8], on_part: &mut dyn FnMut(usize, usize, bool)) {
        match &self.engine {
            Engine::Scanner(scanner) => scanner.for_each(text, on_part),
            Engine::Machine(machine) => machine.for_each(text, on_part),
            Engine::Backtracking(_) => {
                debug_assert!(
                    false,
                    "patterns with look-around are applied by try_for_each"
                );
            }
        }
    }

    /// False only for texts without a match.
    pub(crate) fn may_match(&self, text: &str) -> bool {
        match &self.engine {
            Engine::Machine(machine) => machine.may_match(text.as_bytes()),
            Engine::Scanner(_) | Engine::Backtracking(_) => true,
        }
    }

    /// Passes the parts of a text with whether they are matches. Matches can be empty.
    ///
    /// # Errors
    ///
    /// The expression has look-around or the like, and a match takes too many steps.
    pub(crate) fn try_for_each(
        &self,
        text: &str,
        on_part: &mut dyn FnMut(usize, usize, bool),
    ) -> Result<(), PatternError> {
        match &self.engine {
            Engine::Backtracking(machine) => return machine.for_each(text, on_part),
            _ => self.for_each(text.as_bytes(), on_part),
        }
        Ok(())
    }
}

/// Passes the parts of a text, with whether they are matches; those between matches are if
/// `gaps_match`. `find` finds the first match at a place or after it. Empty matches are parts; there is none
/// at the end of another match.
fn parts_of_matches<E>(
    text: &[u8],
    gaps_match: bool,
    mut find: impl FnMut(usize) -> Result<Option<Range<usize>>, E>,
    on_part: &mut (impl FnMut(usize, usize, bool) + ?Sized),
) -> Result<(), E> {
    let mut done = 0;
    let mut at = 0;
    let mut last_end = None;
    while at <= text.len() {
        let Some(Range { start, end }) = find(at)? else {
            break;
        };
        at = end;
        if start == end {
            // No match begins within a character.
            at += 1;
            while text.get(at).is_some_and(|byte| byte & 0xC0 == 0x80) {
                at += 1;
            }
            if last_end == Some(end) {
                continue;
            }
        }
        last_end = Some(end);
        if done < start {
            on_part(done, start, gaps_match);
        }
        on_part(start, end, true);
        done = end;
    }
    if done < text.len() {
        on_part(done, text.len(), gaps_match);
    }
    Ok(())
}

/// By expression and syntax.
impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.expression == other.expression && self.syntax == other.syntax
    }
}

impl Eq for Pattern {}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pattern")
            .field("expression", &self.expression)
            .field("syntax", &self.syntax)
            .finish_non_exhaustive()
    }
}

/// Why a pattern cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatternError {
    /// The expression has more bytes than a pattern may have.
    TooLong {
        /// Its bytes.
        bytes: usize,
        /// How many it may have.
        limit: usize,
    },
    /// The expression is malformed.
    Syntax {
        /// The byte of the expression at which it is.
        at: usize,
        /// What is wrong.
        message: String,
    },
    /// The expression needs what an automaton cannot do.
    Unsupported {
        /// The byte of the expression at which the construct begins.
        at: usize,
        /// The text of the construct or its beginning.
        text: String,
        /// The name of the construct.
        construct: &'static str,
    },
    /// No pattern has this name.
    UnknownName {
        /// The name.
        name: String,
    },
    /// The matches of a text take more steps than they may.
    TooManySteps {
        /// How many they may take.
        limit: usize,
    },
    /// Quantifiers with numbers repeat more than they may.
    CountsTooFar {
        /// How often they may, the numbers of nested ones multiplied.
        limit: usize,
    },
    /// The compiled expression needs more memory than it may.
    TooLarge {
        /// How many bytes it may need.
        limit: usize,
    },
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { bytes, limit } => {
                write!(
                    f,
                    "the pattern has {bytes} bytes; it may have at most {limit}"
                )
            }
            Self::Syntax { at, message } => {
                write!(f, "the pattern is malformed at byte {at}: {message}")
            }
            Self::Unsupported {
                at,
                text,
                construct,
            } => write!(
                f,
                "the pattern has `{text}` at byte {at}, a construct that is not supported \
                 ({construct}); write the pattern without it"
            ),
            Self::UnknownName { name } => write!(
                f,
                "no pattern has the name {name}; names are gpt2, cl100k, o200k, llama3, qwen2, kimi, tekken, \
                 rustbpe, nanochat, llama3-place-digits, o200k-place-digits, superbpe, deepseek-v3 and none; an expression of this text is (?:{name})"
            ),
            Self::TooManySteps { limit } => write!(
                f,
                "the matches of the pattern take more than {limit} steps in a text; write it without nested \
                 repetitions"
            ),
            Self::CountsTooFar { limit } => write!(
                f,
                "the numbers of quantifiers such as {{1,3}} are more than {limit} in all; repeat less in the pattern"
            ),
            Self::TooLarge { limit } => write!(
                f,
                "the pattern needs more than {limit} bytes when it is compiled; repeat less in it"
            ),
        }
    }
}

impl std::error::Error for PatternError {}
