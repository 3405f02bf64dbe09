//! Expressions that mean the same to Oniguruma and to the crate `regex`.
//!
//! Few constructs of usual expressions mean something else to the other (`general`). For Oniguruma
//! they are replaced. What comes out is taken only if both engines make the same automaton of the
//! two expressions; so the replacements need no proof.
//!
//! | construct | for Oniguruma |
//! |---|---|
//! | `$`, `^` | `\z`, `\A` |
//! | `{1,3}+` | `{1,3}`: possessive quantifiers that differ from greedy ones are refused when a pattern is made |
//! | `\w`, `\W` | classes with the two joiners, which `\w` does not have there |

use std::ops::Range;

use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{
    AssertionKind, Ast, ClassPerl, ClassPerlKind, ClassSet, ClassSetItem, RepetitionKind,
};
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind};

use super::general::{Alternatives, without_look_aheads};
use super::known::{expression_with_gaps, expression_without_gaps};
use super::{Engine, Pattern, PatternSyntax};

impl Pattern {
    /// The pattern of a syntax that cuts every text as this one does, with the same expression if
    /// it means the same; `None` if none is known.
    pub(crate) fn for_syntax(&self, syntax: PatternSyntax) -> Option<Self> {
        if self.syntax == syntax {
            return Some(self.clone());
        }
        let replaced = match syntax {
            PatternSyntax::Oniguruma => replaced(&self.expression),
            PatternSyntax::Rust => None,
        };
        let expressions = std::iter::once(&*self.expression).chain(replaced.as_deref());
        let mut patterns = expressions.filter_map(|it| Self::with_syntax(it, syntax).ok());
        patterns.find(|pattern| self.cuts_like(pattern).unwrap_or(false))
    }

    /// Whether every character is certainly part of a match.
    pub(crate) fn is_total(&self) -> bool {
        if let Engine::Scanner(scanner) = &self.engine {
            return scanner.is_total();
        }
        if self.without_gaps().is_some() {
            return true;
        }
        let Ok(alternatives) = Alternatives::new(&self.expression, self.syntax) else {
            return false;
        };
        let mut matched = ClassUnicode::empty();
        for pattern in &alternatives.patterns {
            // Where the empty text matches, no other alternative is tried.
            if pattern.properties().minimum_len() == Some(0) {
                return false;
            }
            matched.union(&single_characters(pattern));
        }
        matched.negate();
        matched.ranges().is_empty()
    }

    /// The pattern for tiktoken that matches what this one does, and the texts between; `None` if
    /// there is none.
    pub(crate) fn with_gaps(&self) -> Option<Self> {
        let syntax = PatternSyntax::Rust;
        let matches = self.for_syntax(syntax)?;
        Self::with_syntax(&expression_with_gaps(matches.expression()), syntax).ok()
    }

    /// The pattern of which this is the one [with gaps](Self::with_gaps).
    pub(crate) fn without_gaps(&self) -> Option<Self> {
        let is_machine = matches!(self.engine, Engine::Machine(_));
        let inner = expression_without_gaps(&self.expression).filter(|_| is_machine)?;
        Self::with_syntax(inner, self.syntax).ok()
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

/// The characters that are matched alone, whatever is around them.
fn single_characters(hir: &Hir) -> ClassUnicode {
    match hir.kind() {
        HirKind::Class(Class::Unicode(class)) => class.clone(),
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).unwrap_or_default();
            let mut chars = text.chars();
            match (chars.next(), chars.next()) {
                (Some(c), None) => ClassUnicode::new([ClassUnicodeRange::new(c, c)]),
                _ => ClassUnicode::empty(),
            }
        }
        HirKind::Capture(capture) => single_characters(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min <= 1 && repetition.max != Some(0) => {
            single_characters(&repetition.sub)
        }
        HirKind::Alternation(alternatives) => {
            let mut all = ClassUnicode::empty();
            for alternative in alternatives {
                all.union(&single_characters(alternative));
            }
            all
        }
        HirKind::Concat(parts) => {
            let mut all = ClassUnicode::empty();
            for (at, part) in parts.iter().enumerate() {
                let mut others = parts.iter().enumerate().filter(|(other, _)| *other != at);
                if others.all(|(_, other)| is_optional(other)) {
                    all.union(&single_characters(part));
                }
            }
            all
        }
        _ => ClassUnicode::empty(),
    }
}

/// Whether the empty text matches, whatever is around it.
fn is_optional(hir: &Hir) -> bool {
    hir.properties().minimum_len() == Some(0) && hir.properties().look_set().is_empty()
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
