//! Reading expressions, for what depends on the automaton that they make.

use std::ops::Range;

use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{
    AssertionKind, Ast, ClassPerl, ClassPerlKind, ClassSet, ClassSetItem, RepetitionKind,
};
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind};

use super::super::Pattern;
use super::super::general::alternatives::{Alternatives, without_look_aheads};

/// Whether every character is certainly part of a match.
pub(super) fn is_total(pattern: &Pattern) -> bool {
    let Ok(alternatives) = Alternatives::new(&pattern.expression, pattern.syntax) else {
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

/// Whether both certainly make the same automaton.
pub(super) fn are_equal(patterns: [&Pattern; 2]) -> bool {
    let [ours, theirs] = patterns.map(|it| Alternatives::new(&it.expression, it.syntax).ok());
    let (Some(ours), Some(theirs)) = (ours, theirs) else {
        return false;
    };
    let plain = |hirs: &[Hir]| hirs.iter().map(without_groups).collect::<Vec<_>>();
    ours.cut == theirs.cut && plain(&ours.patterns) == plain(&theirs.patterns)
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
pub(super) fn replaced(expression: &str) -> Option<String> {
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
