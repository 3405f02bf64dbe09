//! What Ruby's syntax of Oniguruma means by an expression.
//!
//! The library tokenizers uses Oniguruma with Ruby's syntax. Of the constructs that mean something
//! else there, some are translated (`$` and `^` are at line ends, `\w` has other characters,
//! `{1,3}+` repeats twice), the others are refused.

use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{
    self, AssertionKind, Ast, ClassPerlKind, ClassSet, ClassSetBinaryOpKind, ClassSetItem,
    ClassUnicodeKind, Flag, GroupKind, LiteralKind, RepetitionKind, RepetitionRange,
};

use regex_syntax::hir::{Hir, HirKind, Look};

use super::super::PatternError;
use super::for_each_child;
use super::refusal::{range_of, unsupported};

/// Translates an expression into one that means the same to the engine.
pub(super) fn translate(ast: &mut Ast, expression: &str) -> Result<(), PatternError> {
    let mut ruby = Ruby {
        expression,
        previous: None,
    };
    ruby.translate(ast, false)
}

/// Refuses an expression of which the engine makes something else, although it reads the same.
pub(super) fn check(hir: &Hir, expression: &str) -> Result<(), PatternError> {
    let is_line_start = |hir: &Hir| matches!(hir.kind(), HirKind::Look(Look::StartLF));
    let rest = match hir.kind() {
        HirKind::Concat(parts) if is_line_start(&parts[0]) => &parts[1..],
        _ if is_line_start(hir) => &[],
        _ => std::slice::from_ref(hir),
    };
    let has_line_start = |hir: &Hir| hir.properties().look_set().contains(Look::StartLF);
    let whole = 0..expression.len();
    // At the end of a text there is none.
    if rest.iter().any(has_line_start) {
        let construct = "start of a line after the beginning";
        return Err(unsupported(expression, whole, construct));
    }
    if repeats_what_can_be_empty(hir) {
        let construct = "repetition of what can be empty";
        return Err(unsupported(expression, whole, construct));
    }
    Ok(())
}

/// An empty round ends a loop of Oniguruma. The engine goes on with another way through the body.
fn repeats_what_can_be_empty(hir: &Hir) -> bool {
    let can_be_empty = |hir: &Hir| hir.properties().minimum_len() == Some(0);
    let is_loop = matches!(
        hir.kind(),
        HirKind::Repetition(repetition) if repetition.max != Some(1) && can_be_empty(&repetition.sub)
    );
    is_loop || hir.kind().subs().iter().any(repeats_what_can_be_empty)
}

struct Ruby<'a> {
    expression: &'a str,
    /// The literal before, which can form a pair that folds with a single character.
    previous: Option<char>,
}

/// The scripts whose characters are the same in both engines, and the general categories.
const PROPERTIES: &str = "\
    L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp \
    Cc Cf Co \
    Han Hiragana Katakana Hangul Latin Greek Cyrillic Armenian Hebrew Arabic Syriac Thaana \
    Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Thai Lao \
    Tibetan Khmer";

impl Ruby<'_> {
    /// `fold`: inside `(?i:...)`.
    fn translate(&mut self, ast: &mut Ast, fold: bool) -> Result<(), PatternError> {
        match ast {
            Ast::Flags(flags) => return self.refuse(&flags.span, "flags for the rest of a group"),
            Ast::Group(group) => {
                let mut fold = fold;
                if let GroupKind::NonCapturing(flags) = &group.kind
                    && !flags.items.is_empty()
                {
                    let is_fold = matches!(
                        &flags.items[..],
                        [item] if item.kind == ast::FlagsItemKind::Flag(Flag::CaseInsensitive)
                    );
                    if !is_fold {
                        return self.refuse(&flags.span, "flags other than i");
                    }
                    fold = true;
                    self.previous = None;
                }
                return self.translate(&mut group.ast, fold);
            }
            Ast::Assertion(assertion) => match assertion.kind {
                AssertionKind::StartLine
                | AssertionKind::EndLine
                | AssertionKind::StartText
                | AssertionKind::EndText => {}
                _ => return self.refuse(&assertion.span, "word boundary"),
            },
            Ast::Repetition(repetition)
                if !repetition.greedy
                    && matches!(
                        repetition.op.kind,
                        RepetitionKind::Range(RepetitionRange::Exactly(_))
                    ) =>
            {
                return self.refuse(&repetition.op.span, "lazy quantifier of a fixed number");
            }
            Ast::Literal(literal) => self.literal(literal, fold)?,
            Ast::ClassUnicode(class) => self.property(class)?,
            Ast::ClassPerl(class) if class.kind == ClassPerlKind::Word => {
                *ast = Ast::ClassBracketed(word_class(class, false)?);
            }
            Ast::ClassBracketed(class) => self.class(&mut class.kind, fold)?,
            _ => {}
        }
        for_each_child(ast, |child| self.translate(child, fold))
    }

    /// Pairs of letters fold with single characters such as `ß` there, and with nothing here.
    fn literal(&mut self, literal: &ast::Literal, fold: bool) -> Result<(), PatternError> {
        if matches!(literal.kind, LiteralKind::HexFixed(ast::HexLiteralKind::X))
            && !literal.c.is_ascii()
        {
            return self.refuse(&literal.span, "byte that is no character");
        }
        let pair = self
            .previous
            .replace(literal.c)
            .map(|before| [before.to_ascii_lowercase(), literal.c.to_ascii_lowercase()]);
        if fold
            && (!literal.c.is_ascii()
                || pair
                    .is_some_and(|pair| matches!(pair, ['s', 's' | 't'] | ['f', 'f' | 'i' | 'l'])))
        {
            return self.refuse(
                &literal.span,
                "letters without case that can be another number of characters",
            );
        }
        Ok(())
    }

    fn property(&self, class: &ast::ClassUnicode) -> Result<(), PatternError> {
        let name = match &class.kind {
            ClassUnicodeKind::OneLetter(letter) => letter.to_string(),
            ClassUnicodeKind::Named(name) => name.clone(),
            ClassUnicodeKind::NamedValue { .. } => String::new(),
        };
        if PROPERTIES.split_whitespace().any(|known| known == name) {
            return Ok(());
        }
        self.refuse(&class.span, "property")
    }

    fn class(&mut self, class: &mut ClassSet, fold: bool) -> Result<(), PatternError> {
        match class {
            ClassSet::Item(item) => self.class_item(item, fold),
            ClassSet::BinaryOp(operation) => {
                if operation.kind != ClassSetBinaryOpKind::Intersection {
                    return self.refuse(&operation.span, "difference of classes");
                }
                self.class(&mut operation.lhs, fold)?;
                self.class(&mut operation.rhs, fold)
            }
        }
    }

    fn class_item(&mut self, item: &mut ClassSetItem, fold: bool) -> Result<(), PatternError> {
        match item {
            ClassSetItem::Empty(_) => Ok(()),
            ClassSetItem::Literal(literal) => self.literal(literal, fold),
            ClassSetItem::Range(range) => {
                self.literal(&range.start, fold)?;
                self.literal(&range.end, fold)
            }
            ClassSetItem::Ascii(class) => self.refuse(&class.span, "class in brackets and colons"),
            ClassSetItem::Unicode(class) => self.property(class),
            ClassSetItem::Perl(class) if class.kind == ClassPerlKind::Word => {
                *item = ClassSetItem::Bracketed(word_class(class, true)?);
                Ok(())
            }
            ClassSetItem::Perl(_) => Ok(()),
            ClassSetItem::Bracketed(class) => self.class(&mut class.kind, fold),
            ClassSetItem::Union(union) => union
                .items
                .iter_mut()
                .try_for_each(|item| self.class_item(item, fold)),
        }
    }

    fn refuse(&self, span: &ast::Span, construct: &'static str) -> Result<(), PatternError> {
        Err(unsupported(self.expression, range_of(span), construct))
    }
}

/// `\w` as it is in Oniguruma: without joiners, and outside brackets with six numbers of Latin 1.
fn word_class(
    class: &ast::ClassPerl,
    is_bracketed: bool,
) -> Result<Box<ast::ClassBracketed>, PatternError> {
    let text = match is_bracketed {
        true => r"[\w--[\x{200C}\x{200D}]]",
        false => r"[[\w--[\x{200C}\x{200D}]]\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE}]",
    };
    match Parser::new().parse(text).as_mut() {
        Ok(Ast::ClassBracketed(word)) => {
            word.negated = class.negated;
            Ok(word.clone())
        }
        _ => Err(PatternError::Syntax {
            at: class.span.start.offset,
            message: text.to_owned(),
        }),
    }
}
