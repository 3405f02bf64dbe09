//! The alternatives of an expression, and look-ahead in them.
//!
//! `X+(?!\S)` as an alternative of the whole expression, X being a class of white space, becomes two
//! alternatives: `X+\z`, and `X+\s` whose match is then cut by its last character. They match where
//! and what it matches: the whole run of X at the end of the text or before other white space;
//! elsewhere, from two characters on, all but the last.

use regex_syntax::ast::parse::ParserBuilder;
use regex_syntax::ast::{self, Ast, RepetitionKind};
use regex_syntax::hir::translate::TranslatorBuilder;
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look};

use super::super::{PatternError, PatternSyntax};
use super::refusal::{refusal, unsupported};
use super::{possessive, repeated_class, ruby};

/// Bytes of an expression. The longest known one has 400.
const MAX_LENGTH: usize = 16 << 10;
/// See [`counted`]. The matches that begin at different places of a text can be in so many different
/// states at one place, each of which is followed once.
const MAX_COUNTED: usize = 1024;
/// Depth of groups and repetitions, so that functions may recurse.
pub(in crate::pattern) const MAX_DEPTH: u32 = 100;

/// The alternatives of an expression, the first of which that matches counts.
pub(in crate::pattern) struct Alternatives {
    pub(in crate::pattern) patterns: Vec<Hir>,
    /// The numbers of the alternatives whose matches lose their last character.
    pub(in crate::pattern) cut: Vec<usize>,
}

impl Alternatives {
    pub(in crate::pattern) fn new(
        expression: &str,
        syntax: PatternSyntax,
    ) -> Result<Self, PatternError> {
        if expression.len() > MAX_LENGTH {
            return Err(PatternError::TooLong {
                bytes: expression.len(),
                limit: MAX_LENGTH,
            });
        }
        let (look_aheads, readable) = without_look_aheads(expression);
        let mut whole = ParserBuilder::new()
            .nest_limit(MAX_DEPTH)
            .build()
            .parse(&readable)
            .map_err(|error| refusal(expression, &error))?;
        if syntax == PatternSyntax::Oniguruma {
            ruby::translate(&mut whole, expression)?;
        }
        possessive::mark(&mut whole, expression, syntax)?;
        let found = Self::of(&whole, &look_aheads, |ast| {
            TranslatorBuilder::new()
                .multi_line(syntax == PatternSyntax::Oniguruma)
                .build()
                .translate(expression, ast)
                .map_err(|error| PatternError::Syntax {
                    at: error.span().start.offset,
                    message: error.kind().to_string(),
                })
        })?;
        if let Some(at) = look_aheads.first()
            && found.cut.len() != look_aheads.len()
        {
            let range = *at..at + LOOK_AHEAD.len();
            return Err(unsupported(expression, range, "look-around"));
        }
        for pattern in &found.patterns {
            possessive::check(pattern, expression)?;
            if syntax == PatternSyntax::Oniguruma {
                ruby::check(pattern, expression)?;
            }
            if counted(pattern) > MAX_COUNTED {
                return Err(PatternError::CountsTooFar { limit: MAX_COUNTED });
            }
        }
        Ok(found)
    }

    /// Those of a parsed expression. Look-aheads that are not at the end of a run of white space are
    /// left as they were parsed.
    fn of(
        whole: &Ast,
        look_aheads: &[usize],
        translate: impl Fn(&Ast) -> Result<Hir, PatternError>,
    ) -> Result<Self, PatternError> {
        let alternatives = match whole {
            Ast::Alternation(alternation) if !look_aheads.is_empty() => &alternation.asts[..],
            _ => std::slice::from_ref(whole),
        };
        let mut patterns = Vec::new();
        let mut cut = Vec::new();
        // Flags such as (?i) hold for the alternatives that follow as well.
        let mut flags = Vec::new();
        for alternative in alternatives {
            let with_flags = |parts: &[Ast]| {
                let span = *alternative.span();
                let asts = [&flags, parts].concat();
                translate(&Ast::concat(ast::Concat { span, asts }))
            };
            if let Some(run) = run_before_look_ahead(alternative, look_aheads) {
                let run = with_flags(std::slice::from_ref(run))?;
                if repeated_class(&run).is_some_and(|class| is_white_space(&class)) {
                    let space = Hir::class(Class::Unicode(white_space()));
                    patterns.push(Hir::concat(vec![run.clone(), Hir::look(Look::End)]));
                    patterns.push(Hir::concat(vec![run, space]));
                    cut.push(patterns.len() - 1);
                    continue;
                }
            }
            let parts = match alternative {
                Ast::Concat(concat) => &concat.asts[..],
                _ => std::slice::from_ref(alternative),
            };
            patterns.push(with_flags(parts)?);
            let own = parts.iter().filter(|ast| matches!(ast, Ast::Flags(_)));
            flags.extend(own.cloned());
        }
        Ok(Self { patterns, cut })
    }

    /// Whether a match may be empty, as far as is known.
    pub(in crate::pattern) fn may_be_empty(&self) -> bool {
        let mut patterns = self.patterns.iter();
        patterns.any(|pattern| pattern.properties().minimum_len() == Some(0))
    }
}

/// How often quantifiers with numbers repeat something, the numbers of nested ones multiplied.
fn counted(hir: &Hir) -> usize {
    let inner: usize = (hir.kind().subs().iter().map(counted)).fold(0, usize::saturating_add);
    match hir.kind() {
        HirKind::Repetition(repetition) => {
            let count = repetition.max.unwrap_or(0).max(repetition.min);
            match usize::try_from(count).unwrap_or(usize::MAX) {
                0 | 1 => inner,
                count => count.saturating_mul(inner.max(1)),
            }
        }
        _ => inner,
    }
}

const LOOK_AHEAD: &str = r"(?!\S)";

/// The positions of [`LOOK_AHEAD`], and the expression with something there that the parser knows,
/// of the same length, so that positions in it are those of the expression.
pub(in crate::pattern) fn without_look_aheads(expression: &str) -> (Vec<usize>, String) {
    let look_aheads = look_aheads(expression);
    let mut readable = expression.as_bytes().to_vec();
    for at in &look_aheads {
        readable[*at..*at + LOOK_AHEAD.len()].copy_from_slice(br"(?:\z)");
    }
    (look_aheads, String::from_utf8_lossy(&readable).into_owned())
}

/// The positions of [`LOOK_AHEAD`] outside classes.
fn look_aheads(expression: &str) -> Vec<usize> {
    let bytes = expression.as_bytes();
    let mut found = Vec::new();
    let mut depth = 0_u32;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'[' => {
                depth += 1;
                // A bracket at the beginning of a class does not close it.
                if bytes.get(at + 1) == Some(&b'^') {
                    at += 1;
                }
                if bytes.get(at + 1) == Some(&b']') {
                    at += 1;
                }
            }
            b']' => depth = depth.saturating_sub(1),
            b'(' if depth == 0 && bytes[at..].starts_with(LOOK_AHEAD.as_bytes()) => found.push(at),
            _ => {}
        }
        at += 1;
    }
    found
}

/// The repetition of an alternative that is `X+(?!\S)`.
fn run_before_look_ahead<'a>(alternative: &'a Ast, look_aheads: &[usize]) -> Option<&'a Ast> {
    let Ast::Concat(concat) = alternative else {
        return None;
    };
    let [run @ Ast::Repetition(repetition), Ast::Group(group)] = &concat.asts[..] else {
        return None;
    };
    let is_run = look_aheads.contains(&group.span.start.offset)
        && repetition.greedy
        && matches!(repetition.op.kind, RepetitionKind::OneOrMore);
    is_run.then_some(run)
}

/// The class `\s`, whose last character is U+3000.
fn white_space() -> ClassUnicode {
    let characters = ('\0'..='\u{3000}').filter(|c| c.is_whitespace());
    ClassUnicode::new(characters.map(|c| ClassUnicodeRange::new(c, c)))
}

fn is_white_space(class: &ClassUnicode) -> bool {
    let mut ranges = class.iter();
    ranges.all(|range| (range.start()..=range.end()).all(char::is_whitespace))
}
