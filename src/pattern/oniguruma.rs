//! Expressions that mean the same to Oniguruma as to the crate `regex`.
//!
//! Few constructs of usual expressions mean something else there (`general`). They are replaced, and
//! what comes out is taken only if both engines make the same automaton of the two expressions; so the
//! replacements need no proof.
//!
//! | construct | replaced by |
//! |---|---|
//! | `$`, `^` | `\z`, `\A` |
//! | `{1,3}+` | `{1,3}`: possessive quantifiers that differ from greedy ones are refused when a pattern is made |
//! | `\w`, `\W` | classes with the two joiners, which `\w` does not have there |

use std::ops::Range;

use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{
    AssertionKind, Ast, ClassPerl, ClassPerlKind, ClassSet, ClassSetItem, RepetitionKind,
};
use regex_syntax::hir::{Hir, HirKind};

use super::general::{Alternatives, without_look_aheads};
use super::{Engine, Pattern, PatternSyntax};

impl Pattern {
    /// The pattern for Oniguruma that cuts every text as this one does, with the same expression if it
    /// means the same; `None` if none is known.
    pub(crate) fn for_oniguruma(&self) -> Option<Self> {
        if self.syntax == PatternSyntax::Oniguruma {
            return Some(self.clone());
        }
        let replaced = replaced(&self.expression);
        let expressions = std::iter::once(&*self.expression).chain(replaced.as_deref());
        let patterns =
            expressions.filter_map(|it| Self::with_syntax(it, PatternSyntax::Oniguruma).ok());
        patterns
            .into_iter()
            .find(|pattern| self.cuts_like(pattern).unwrap_or(false))
    }

    /// Whether every character is certainly part of a match.
    pub(crate) fn is_total(&self) -> bool {
        matches!(&self.engine, Engine::Scanner(scanner) if scanner.is_total())
    }

    /// Whether both certainly cut every text in the same way.
    fn cuts_like(&self, other: &Self) -> Option<bool> {
        if let (Engine::Scanner(ours), Engine::Scanner(theirs)) = (&self.engine, &other.engine) {
            return Some(ours == theirs);
        }
        let [ours, theirs] =
            [self, other].map(|it| Alternatives::new(&it.expression, it.syntax).ok());
        let (ours, theirs) = (ours?, theirs?);
        let plain = |hirs: &[Hir]| hirs.iter().map(without_groups).collect::<Vec<_>>();
        Some(ours.cut == theirs.cut && plain(&ours.patterns) == plain(&theirs.patterns))
    }
}

/// An expression without its capturing groups, which mark possessive quantifiers.
fn without_groups(hir: &Hir) -> Hir {
    let all = |hirs: &[Hir]| hirs.iter().map(without_groups).collect();
    match hir.kind() {
        HirKind::Capture(capture) => without_groups(&capture.sub),
        HirKind::Concat(parts) => Hir::concat(all(parts)),
        HirKind::Alternation(parts) => Hir::alternation(all(parts)),
        HirKind::Repetition(repetition) => Hir::repetition(regex_syntax::hir::Repetition {
            sub: Box::new(without_groups(&repetition.sub)),
            ..repetition.clone()
        }),
        _ => hir.clone(),
    }
}

/// An expression with what Oniguruma reads in another way replaced.
fn replaced(expression: &str) -> Option<String> {
    let readable = without_look_aheads(expression).1;
    let ast = Parser::new().parse(&readable).ok()?;
    let mut replacements = Vec::new();
    find_replacements(&ast, &mut replacements);
    let mut text = expression.to_owned();
    for (range, replacement) in replacements.into_iter().rev() {
        text.replace_range(range, replacement);
    }
    Some(text)
}

/// Ranges of an expression and what they are replaced by, in order.
type Replacements = Vec<(Range<usize>, &'static str)>;

fn find_replacements(ast: &Ast, found: &mut Replacements) {
    let mut replace = |span: &regex_syntax::ast::Span, by| {
        found.push((span.start.offset..span.end.offset, by));
    };
    match ast {
        Ast::Assertion(assertion) => match assertion.kind {
            AssertionKind::EndLine => replace(&assertion.span, r"\z"),
            AssertionKind::StartLine => replace(&assertion.span, r"\A"),
            _ => {}
        },
        Ast::Repetition(outer) => {
            find_replacements(&outer.ast, found);
            let is_possessive_range = matches!(outer.op.kind, RepetitionKind::OneOrMore)
                && matches!(&*outer.ast, Ast::Repetition(inner)
                    if inner.greedy && matches!(inner.op.kind, RepetitionKind::Range(_)));
            if is_possessive_range {
                found.push((outer.op.span.start.offset..outer.op.span.end.offset, ""));
            }
        }
        Ast::ClassPerl(class) => match word_class(class) {
            Some(true) => replace(&class.span, r"[\w\x{200C}\x{200D}]"),
            Some(false) => replace(&class.span, r"[^\w\x{200C}\x{200D}]"),
            None => {}
        },
        Ast::ClassBracketed(class) => find_in_class(&class.kind, found),
        Ast::Group(group) => find_replacements(&group.ast, found),
        Ast::Alternation(alternation) => {
            let asts = alternation.asts.iter();
            asts.for_each(|ast| find_replacements(ast, found));
        }
        Ast::Concat(concat) => {
            let asts = concat.asts.iter();
            asts.for_each(|ast| find_replacements(ast, found));
        }
        _ => {}
    }
}

fn find_in_class(class: &ClassSet, found: &mut Replacements) {
    match class {
        ClassSet::Item(item) => find_in_item(item, found),
        ClassSet::BinaryOp(operation) => {
            find_in_class(&operation.lhs, found);
            find_in_class(&operation.rhs, found);
        }
    }
}

fn find_in_item(item: &ClassSetItem, found: &mut Replacements) {
    match item {
        ClassSetItem::Perl(class) => {
            let range = class.span.start.offset..class.span.end.offset;
            match word_class(class) {
                Some(true) => found.push((range, r"\w\x{200C}\x{200D}")),
                Some(false) => found.push((range, r"[^\w\x{200C}\x{200D}]")),
                None => {}
            }
        }
        ClassSetItem::Bracketed(class) => find_in_class(&class.kind, found),
        ClassSetItem::Union(union) => union
            .items
            .iter()
            .for_each(|item| find_in_item(item, found)),
        _ => {}
    }
}

/// For `\w` and `\W`, whether it is the first.
fn word_class(class: &ClassPerl) -> Option<bool> {
    matches!(class.kind, ClassPerlKind::Word).then_some(!class.negated)
}
