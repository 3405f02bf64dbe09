//! Possessive quantifiers.
//!
//! A possessive quantifier, as in `\p{L}++`, is read as the greedy one where that cannot change a
//! match. Let X be the class that it repeats, K the rest of the alternative. Either K matches the
//! empty text everywhere: then the greedy loop, too, never gives back a character. Or every match
//! of K begins with a character outside X, or is empty at the end of the text: then K cannot match
//! where a character of X was given back, because that character follows.

use regex_syntax::ast::{self, Ast, GroupKind, RepetitionKind};
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look};

use super::super::{PatternError, PatternSyntax};
use super::refusal::unsupported;
use super::{class_of, for_each_child, repeated_class};

/// Replaces a quantifier with `+` after it by the greedy quantifier in a group, whose name is a
/// plus sign and the position of the quantifier.
pub(super) fn mark(
    ast: &mut Ast,
    expression: &str,
    syntax: PatternSyntax,
) -> Result<(), PatternError> {
    let Ast::Repetition(outer) = ast else {
        return for_each_child(ast, |child| mark(child, expression, syntax));
    };
    let is_plus = outer.greedy && matches!(outer.op.kind, RepetitionKind::OneOrMore);
    let Ast::Repetition(inner) = &mut *outer.ast else {
        return mark(&mut outer.ast, expression, syntax);
    };
    let at = inner.op.span.start.offset;
    if matches!(&*inner.ast, Ast::Repetition(_)) || is_plus && !inner.greedy {
        let range = at..outer.op.span.end.offset;
        return Err(unsupported(expression, range, "quantifier of a quantifier"));
    }
    mark(&mut inner.ast, expression, syntax)?;
    let is_range = matches!(inner.op.kind, RepetitionKind::Range(_));
    if !is_plus || is_range && syntax == PatternSyntax::Oniguruma {
        return Ok(());
    }
    let name = ast::CaptureName {
        span: outer.op.span,
        name: format!("+{at}"),
        index: 0,
    };
    *ast = Ast::group(ast::Group {
        span: outer.span,
        kind: GroupKind::CaptureName {
            starts_with_p: true,
            name,
        },
        ast: Box::new(std::mem::replace(&mut *outer.ast, Ast::empty(outer.span))),
    });
    Ok(())
}

/// Where the rest of an expression can match.
#[derive(Clone)]
struct Follow {
    /// The characters with which its matches can begin.
    first: ClassUnicode,
    empty: Empty,
}

/// Where the rest of an expression matches the empty text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Empty {
    Never,
    AtEnd,
    Sometimes,
    Always,
}

impl Follow {
    /// After the expression: what follows is free.
    fn nothing() -> Self {
        Self {
            first: ClassUnicode::empty(),
            empty: Empty::Always,
        }
    }

    fn or(mut self, other: &Self) -> Self {
        self.first.union(&other.first);
        self.empty = self.empty.max(other.empty);
        self
    }
}

/// Refuses possessive quantifiers that are not like greedy ones.
pub(super) fn check(hir: &Hir, expression: &str) -> Result<(), PatternError> {
    follow(hir, &Follow::nothing(), expression, true)?;
    Ok(())
}

/// What `hir` and then `rest` match. Refuses possessive quantifiers that are not like greedy ones,
/// if `check`.
fn follow(hir: &Hir, rest: &Follow, expression: &str, check: bool) -> Result<Follow, PatternError> {
    let one_of = |first| Follow {
        first,
        empty: Empty::Never,
    };
    Ok(match hir.kind() {
        HirKind::Empty => rest.clone(),
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).unwrap_or_default();
            one_of(text.chars().next().map_or_else(all_characters, class_of))
        }
        HirKind::Class(Class::Unicode(class)) => one_of(class.clone()),
        HirKind::Class(Class::Bytes(_)) => one_of(all_characters()),
        HirKind::Look(Look::End) => Follow {
            first: ClassUnicode::empty(),
            empty: rest.empty.min(Empty::AtEnd),
        },
        HirKind::Look(_) => Follow {
            first: rest.first.clone(),
            empty: rest.empty.min(Empty::Sometimes),
        },
        HirKind::Repetition(repetition) => {
            // After a repetition comes the next one or the rest.
            let again = follow(&repetition.sub, &Follow::nothing(), expression, false)?;
            let after = match repetition.max {
                Some(1) => rest.clone(),
                _ => again.or(rest),
            };
            let repeated = follow(&repetition.sub, &after, expression, check)?;
            match repetition.min {
                0 => repeated.or(rest),
                _ => repeated,
            }
        }
        HirKind::Capture(capture) => {
            let name = capture.name.as_deref().unwrap_or_default();
            if check
                && let Some(at) = name.strip_prefix('+')
                && !is_like_greedy(&capture.sub, rest)
            {
                let at = at.parse().unwrap_or_default();
                let quantifier = expression.get(at..).unwrap_or_default();
                let len = quantifier.find('+').map_or(1, |plus| plus.max(1) + 1);
                return Err(unsupported(
                    expression,
                    at..at + len,
                    "possessive quantifier",
                ));
            }
            follow(&capture.sub, rest, expression, check)?
        }
        HirKind::Concat(parts) => {
            let mut rest = rest.clone();
            for part in parts.iter().rev() {
                rest = follow(part, &rest, expression, check)?;
            }
            rest
        }
        HirKind::Alternation(alternatives) => {
            let mut any = one_of(ClassUnicode::empty());
            for alternative in alternatives {
                any = any.or(&follow(alternative, rest, expression, check)?);
            }
            any
        }
    })
}

/// Whether a possessive repetition and then `rest` match what the greedy one and `rest` do.
fn is_like_greedy(repetition: &Hir, rest: &Follow) -> bool {
    match repetition.kind() {
        HirKind::Repetition(_) => repeated_class(repetition).is_some_and(|mut class| {
            class.intersect(&rest.first);
            rest.empty == Empty::Always || rest.empty <= Empty::AtEnd && class.ranges().is_empty()
        }),
        // Repetitions of once, and of what is empty, are simplified.
        kind => matches!(kind, HirKind::Class(_) | HirKind::Empty),
    }
}

fn all_characters() -> ClassUnicode {
    ClassUnicode::new([ClassUnicodeRange::new('\0', char::MAX)])
}
