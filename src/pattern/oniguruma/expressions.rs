//! Reading expressions, for what depends on the automaton that they make.

use std::convert::Infallible;
use std::ops::Range;

use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{
    self, AssertionKind, Ast, ClassPerl, ClassPerlKind, ClassSetItem, RepetitionKind, Span, Visitor,
};
use regex_syntax::hir::{ClassUnicode, Hir, HirKind};

use super::super::Pattern;
use super::super::general::alternatives::{Alternatives, without_look_aheads};
use super::super::general::refusal::range_of;
use super::super::general::single_class;

/// Whether every character is certainly part of a match.
pub(super) fn is_total(pattern: &Pattern) -> bool {
    let Ok(alternatives) = Alternatives::new(&pattern.expression, pattern.syntax) else {
        return false;
    };
    // Where the empty text matches, no other alternative is tried.
    if alternatives.may_be_empty() {
        return false;
    }
    let mut others = union_of_single_characters(&alternatives.patterns);
    others.negate();
    others.ranges().is_empty()
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
        HirKind::Class(_) | HirKind::Literal(_) => {
            single_class(hir).unwrap_or_else(ClassUnicode::empty)
        }
        HirKind::Capture(capture) => single_characters(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min <= 1 && repetition.max != Some(0) => {
            single_characters(&repetition.sub)
        }
        HirKind::Alternation(alternatives) => union_of_single_characters(alternatives),
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

fn union_of_single_characters(alternatives: &[Hir]) -> ClassUnicode {
    let mut all = ClassUnicode::empty();
    for alternative in alternatives {
        all.union(&single_characters(alternative));
    }
    all
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
    let Ok(replacements) = ast::visit(&ast, Replacements(Vec::new()));
    let mut text = expression.to_owned();
    for (range, replacement) in replacements.into_iter().rev() {
        text.replace_range(range, replacement);
    }
    Some(text)
}

/// Ranges of an expression and what they are replaced by, in order.
struct Replacements(Vec<(Range<usize>, &'static str)>);

impl Replacements {
    fn replace(&mut self, span: &Span, by: &'static str) {
        self.0.push((range_of(span), by));
    }

    /// `not_negated` replaces `\w`.
    fn replace_word(&mut self, class: &ClassPerl, not_negated: &'static str) {
        match class.kind {
            ClassPerlKind::Word if class.negated => {
                self.replace(&class.span, r"[^\w\x{200C}\x{200D}]");
            }
            ClassPerlKind::Word => self.replace(&class.span, not_negated),
            _ => {}
        }
    }
}

impl Visitor for Replacements {
    type Output = Vec<(Range<usize>, &'static str)>;
    type Err = Infallible;

    fn finish(self) -> Result<Self::Output, Infallible> {
        Ok(self.0)
    }

    fn visit_post(&mut self, ast: &Ast) -> Result<(), Infallible> {
        match ast {
            Ast::Assertion(assertion) => match assertion.kind {
                AssertionKind::EndLine => self.replace(&assertion.span, r"\z"),
                AssertionKind::StartLine => self.replace(&assertion.span, r"\A"),
                _ => {}
            },
            Ast::Repetition(outer) => {
                let is_possessive_range = matches!(outer.op.kind, RepetitionKind::OneOrMore)
                    && matches!(&*outer.ast, Ast::Repetition(inner)
                        if inner.greedy && matches!(inner.op.kind, RepetitionKind::Range(_)));
                if is_possessive_range {
                    self.replace(&outer.op.span, "");
                }
            }
            Ast::ClassPerl(class) => self.replace_word(class, r"[\w\x{200C}\x{200D}]"),
            _ => {}
        }
        Ok(())
    }

    fn visit_class_set_item_post(&mut self, item: &ClassSetItem) -> Result<(), Infallible> {
        if let ClassSetItem::Perl(class) = item {
            self.replace_word(class, r"\w\x{200C}\x{200D}");
        }
        Ok(())
    }
}
