//! Possessive quantifiers.
//!
//! A possessive quantifier, as in `\p{L}++`, is read as the greedy one where that cannot change a
//! match. Let X be the class that it repeats, K the rest of the alternative. Either K matches the
//! empty text everywhere: then the greedy loop, too, never gives back a character. Or every match
//! of K begins with a character outside X, or is empty at the end of the text: then K cannot match
//! where a character of X was given back, because that character follows.

use regex_syntax::ast::{self, Ast, GroupKind, RepetitionKind};
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look, Repetition};

use super::super::{PatternError, PatternSyntax};
use super::refusal::unsupported;
use super::{class_of, for_each_child, repeated_class};

/// Replaces a quantifier with `+` after it by the greedy quantifier in a group, whose name is a
/// plus sign and the position of the quantifier.
pub(in crate::pattern) fn mark(
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

/// Where an expression, such as what follows after a quantifier, can match.
#[derive(Clone)]
struct Follow {
    /// The characters with which its matches can begin.
    first: ClassUnicode,
    empty: Empty,
}

/// Where an expression matches the empty text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Empty {
    Never,
    AtEnd,
    Sometimes,
    Always,
}

impl Follow {
    fn new(first: ClassUnicode, empty: Empty) -> Self {
        Self { first, empty }
    }

    /// After the expression: what follows is free.
    fn nothing() -> Self {
        Self::new(ClassUnicode::empty(), Empty::Always)
    }

    fn of(hir: &Hir) -> Self {
        match hir.kind() {
            HirKind::Empty => Self::nothing(),
            HirKind::Literal(literal) => {
                let text = std::str::from_utf8(&literal.0).unwrap_or_default();
                let first = text.chars().next().map_or_else(all_characters, class_of);
                Self::new(first, Empty::Never)
            }
            HirKind::Class(Class::Unicode(class)) => Self::new(class.clone(), Empty::Never),
            HirKind::Class(Class::Bytes(_)) => Self::new(all_characters(), Empty::Never),
            HirKind::Look(Look::End) => Self::new(ClassUnicode::empty(), Empty::AtEnd),
            HirKind::Look(_) => Self::new(ClassUnicode::empty(), Empty::Sometimes),
            HirKind::Repetition(repetition) => match repetition.min {
                0 => Self::of(&repetition.sub).or(&Self::nothing()),
                _ => Self::of(&repetition.sub),
            },
            HirKind::Capture(capture) => Self::of(&capture.sub),
            HirKind::Concat(parts) => {
                (parts.iter().rev()).fold(Self::nothing(), |rest, part| Self::of(part).then(&rest))
            }
            HirKind::Alternation(alternatives) => alternatives.iter().fold(
                Self::new(ClassUnicode::empty(), Empty::Never),
                |any, alternative| any.or(&Self::of(alternative)),
            ),
        }
    }

    /// Either this or the other.
    fn or(mut self, other: &Self) -> Self {
        self.first.union(&other.first);
        self.empty = self.empty.max(other.empty);
        self
    }

    /// This, and `rest` after it.
    fn then(mut self, rest: &Self) -> Self {
        if self.empty > Empty::AtEnd {
            self.first.union(&rest.first);
        }
        self.empty = self.empty.min(rest.empty);
        self
    }

    /// What comes after the body of a repetition: the body again, or the rest.
    fn after_body(repetition: &Repetition, rest: &Self) -> Self {
        let mut after = rest.clone();
        if repetition.max == Some(1) {
            return after;
        }
        let body = Self::of(&repetition.sub);
        after.first.union(&body.first);
        if body.empty > Empty::Never {
            // Engines differ in whether a loop goes on after an empty body.
            after.empty = Empty::Sometimes;
        } else if repetition.min > 1 {
            // The second of two bodies has to match.
            after.empty = after.empty.min(Empty::Sometimes);
        }
        after
    }
}

/// Refuses possessive quantifiers that are not like greedy ones.
pub(super) fn check(hir: &Hir, expression: &str) -> Result<(), PatternError> {
    check_before(hir, &Follow::nothing(), expression)
}

/// Refuses those in `hir`, after which `rest` comes.
fn check_before(hir: &Hir, rest: &Follow, expression: &str) -> Result<(), PatternError> {
    match hir.kind() {
        // Possessive quantifiers are in groups.
        _ if hir.properties().explicit_captures_len() == 0 => Ok(()),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => Ok(()),
        HirKind::Repetition(repetition) => {
            let after = Follow::after_body(repetition, rest);
            check_before(&repetition.sub, &after, expression)
        }
        HirKind::Capture(capture) => {
            let name = capture.name.as_deref().unwrap_or_default();
            if let Some(at) = name.strip_prefix('+')
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
            check_before(&capture.sub, rest, expression)
        }
        HirKind::Concat(parts) => {
            let mut rest = rest.clone();
            for part in parts.iter().rev() {
                check_before(part, &rest, expression)?;
                rest = Follow::of(part).then(&rest);
            }
            Ok(())
        }
        HirKind::Alternation(alternatives) => (alternatives.iter())
            .try_for_each(|alternative| check_before(alternative, rest, expression)),
    }
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

#[cfg(test)]
mod tests;
