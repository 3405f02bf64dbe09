//! Expressions without a scanner: the automata of the crate `regex`.
//!
//! That engine takes linear time for each match because it has no look-around, no back references
//! and no atomic groups. All matches together take linear time, too (`walk`). The expressions of
//! tokenizers need little of what the engine has not, and this module makes up for that:
//!
//! * `X+(?!\S)`, X being a class of white space (`alternatives`);
//! * possessive quantifiers (`possessive`);
//! * `(?:A)|(?:(?!A)(?s:.))+`, which cuts for tiktoken as the split at A does for the library
//!   tokenizers: the matches of A, and the texts between them.
//!
//! Everything else that the engine does not have is refused (`refusal`). What means something else
//! to Oniguruma is translated or refused (`ruby`).

pub(super) mod alternatives;
mod possessive;
pub(super) mod refusal;
mod ruby;
mod walk;

use std::convert::Infallible;

use memchr::memmem::Finder;
use regex_automata::Input;
use regex_automata::meta::Regex;
use regex_automata::nfa::thompson::WhichCaptures;
use regex_syntax::ast::Ast;
use regex_syntax::hir::literal::{Extractor, Seq};
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look};

use self::alternatives::Alternatives;
pub(super) use self::alternatives::MAX_DEPTH;
pub(super) use self::possessive::mark as mark_possessive;
use self::walk::Walk;
use super::known::expression_without_gaps;
use super::{PatternError, PatternSyntax, parts_of_matches};

/// Bytes of a compiled expression.
const MAX_COMPILED: usize = 16 << 20;

/// Searching for so many texts costs less than following the automaton.
const MAX_PREFIXES: usize = 4;

/// A compiled expression.
#[derive(Debug)]
pub(super) struct Machine {
    engine: Engine,
    /// Texts with one of which each match begins; none if there are many, or a match can be empty.
    prefixes: Vec<Finder<'static>>,
    /// The numbers of the alternatives whose matches lose their last character.
    cut: Vec<usize>,
    /// Whether the texts between matches are matches, too.
    gaps_match: bool,
    /// Whether the start of a line can match. After a line feed at its end, a text has none for
    /// Oniguruma.
    finds_line_starts: bool,
}

#[derive(Debug)]
enum Engine {
    Walk(Box<Walk>),
    /// For word boundaries, which a walk does not have.
    Search(Box<Regex>),
}

/// See [`Machine::prefixes`].
fn prefixes(patterns: &[Hir]) -> Vec<Finder<'static>> {
    let mut all = Seq::empty();
    for pattern in patterns {
        all.union(&mut Extractor::new().extract(pattern));
    }
    let literals = all.literals().unwrap_or_default();
    let are_few = literals.len() <= MAX_PREFIXES && !literals.iter().any(|it| it.is_empty());
    let literals = literals.iter().filter(|_| are_few);
    literals
        .map(|literal| Finder::new(literal.as_bytes()).into_owned())
        .collect()
}

/// A match before it is cut.
struct Found {
    start: usize,
    end: usize,
    alternative: usize,
}

impl Machine {
    /// Of an expression with gaps, or of another one.
    pub(super) fn new(expression: &str, syntax: PatternSyntax) -> Result<Self, PatternError> {
        let inner = expression_without_gaps(expression).filter(|inner| {
            let alternatives = Alternatives::new(inner, syntax);
            syntax == PatternSyntax::Rust && !alternatives.is_ok_and(|it| it.may_be_empty())
        });
        let Alternatives { patterns, cut } =
            Alternatives::new(inner.unwrap_or(expression), syntax)?;
        let too_large = PatternError::TooLarge {
            limit: MAX_COMPILED,
        };
        let engine = match Walk::new(&patterns, MAX_COMPILED) {
            Some(walk) => Engine::Walk(Box::new(walk)),
            None => {
                let config = Regex::config()
                    .nfa_size_limit(Some(MAX_COMPILED))
                    .which_captures(WhichCaptures::Implicit);
                let regex = Regex::builder()
                    .configure(config)
                    .build_many_from_hir(&patterns);
                Engine::Search(Box::new(regex.map_err(|_| too_large)?))
            }
        };
        Ok(Self {
            engine,
            prefixes: prefixes(&patterns),
            cut,
            gaps_match: inner.is_some(),
            finds_line_starts: patterns
                .iter()
                .any(|hir| hir.properties().look_set().contains(Look::StartLF)),
        })
    }

    /// The bytes of the compiled expression.
    pub(super) fn memory_usage(&self) -> usize {
        match &self.engine {
            Engine::Walk(walk) => walk.memory_usage(),
            Engine::Search(regex) => regex.memory_usage(),
        }
    }

    /// False only for texts without a match.
    pub(super) fn may_match(&self, text: &[u8]) -> bool {
        self.prefixes.is_empty() || self.prefixes.iter().any(|it| it.find(text).is_some())
    }

    /// Passes the parts of a text, which is well-formed UTF-8, with whether they are matches. Empty
    /// matches are parts, as in tokenizers; there is none at the end of another match.
    pub(super) fn for_each(&self, text: &[u8], on_part: &mut dyn FnMut(usize, usize, bool)) {
        match &self.engine {
            _ if !self.may_match(text) => self.pass_parts(text, |_| None, on_part),
            Engine::Walk(walk) => {
                let mut walk = walk.through(text);
                self.pass_parts(text, |from| walk.find(from), on_part);
            }
            Engine::Search(regex) => {
                let find = |from: usize| {
                    let found = regex.search(&Input::new(text).range(from..))?;
                    Some(Found {
                        start: found.start(),
                        end: found.end(),
                        alternative: found.pattern().as_usize(),
                    })
                };
                self.pass_parts(text, find, on_part);
            }
        }
    }

    /// Passes the parts of a text of which `find` finds the next match.
    fn pass_parts(
        &self,
        text: &[u8],
        mut find: impl FnMut(usize) -> Option<Found>,
        on_part: &mut dyn FnMut(usize, usize, bool),
    ) {
        let find_and_cut = |from: usize| {
            let Some(found) = find(from) else {
                return Ok(None);
            };
            let Found {
                start,
                mut end,
                alternative,
            } = found;
            if self.finds_line_starts && start == text.len() && text.ends_with(b"\n") {
                return Ok(None);
            }
            if self.cut.contains(&alternative) {
                end -= 1;
                while text.get(end).is_some_and(|byte| byte & 0xC0 == 0x80) {
                    end -= 1;
                }
            }
            Ok(Some(start..end))
        };
        let Ok(()): Result<(), Infallible> =
            parts_of_matches(text, self.gaps_match, find_and_cut, on_part);
    }
}

/// Calls a function on the parts of an expression.
pub(super) fn for_each_child<E>(
    ast: &mut Ast,
    mut on_child: impl FnMut(&mut Ast) -> Result<(), E>,
) -> Result<(), E> {
    match ast {
        Ast::Repetition(repetition) => on_child(&mut repetition.ast),
        Ast::Group(group) => on_child(&mut group.ast),
        Ast::Alternation(alternation) => alternation.asts.iter_mut().try_for_each(on_child),
        Ast::Concat(concat) => concat.asts.iter_mut().try_for_each(on_child),
        _ => Ok(()),
    }
}

/// The characters that an expression matches, if it matches one of a class.
pub(super) fn single_class(hir: &Hir) -> Option<ClassUnicode> {
    match hir.kind() {
        HirKind::Class(Class::Unicode(class)) => Some(class.clone()),
        HirKind::Literal(literal) => {
            let mut chars = std::str::from_utf8(&literal.0).ok()?.chars();
            let first = chars.next()?;
            chars.next().is_none().then(|| class_of(first))
        }
        _ => None,
    }
}

/// The characters that a greedy repetition repeats, if it repeats one of a class.
fn repeated_class(run: &Hir) -> Option<ClassUnicode> {
    match run.kind() {
        HirKind::Repetition(repetition) if repetition.greedy => single_class(&repetition.sub),
        _ => None,
    }
}

fn class_of(c: char) -> ClassUnicode {
    ClassUnicode::new([ClassUnicodeRange::new(c, c)])
}
