//! Reads expressions with look-around, atomic groups and back references.
//!
//! The parser of the crate `regex` does not know these constructs. They are written as groups with names
//! that no expression can have, such as `(?<.ahead.1>` for `(?=`, and found again in what it makes of the
//! expression. Classes that have other characters in Oniguruma are written out.

use std::convert::Infallible;

use regex_syntax::ast::parse::ParserBuilder;
use regex_syntax::ast::{self, Ast, RepetitionKind, RepetitionRange};
use regex_syntax::hir::translate::TranslatorBuilder;
use regex_syntax::hir::{Capture, Class, Hir, HirKind};

use super::PatternSyntax;
use super::general::{MAX_DEPTH, for_each_child, mark_possessive};

/// Bytes of an expression.
const MAX_LENGTH: usize = 2000;

/// What is written for the beginning of a construct, before a number and `>`.
const CONSTRUCTS: [(&str, &str); 5] = [
    ("(?=", "ahead"),
    ("(?!", "not_ahead"),
    ("(?<=", "behind"),
    ("(?<!", "not_behind"),
    ("(?>", "atomic"),
];
/// The same for a back reference, before the number of the group, a point, a number and `>`.
const AGAIN: &str = "again";
/// The same for `\G`.
const SEARCH_START: &str = "search_start";
/// The beginning of all these names. The second character can be in no name of Oniguruma.
const OWN: &str = "_.";

/// An expression, read.
pub(super) struct LookAround {
    pub(super) hir: Hir,
    /// The indices of the captures that are groups of the expression, in order.
    groups: Vec<u32>,
}

/// What a capture is.
pub(super) enum Construct {
    /// The group with this number, from 0.
    Group(usize),
    /// The text of the group with this number.
    Again(usize),
    /// Also a possessive quantifier.
    Atomic,
    /// Where the search for the match began.
    SearchStart,
    Look {
        is_behind: bool,
        is_negative: bool,
    },
}

impl LookAround {
    /// Of an expression of Oniguruma; `None` if it is malformed, too long, or has a construct that is
    /// not supported.
    pub(super) fn of(expression: &str) -> Option<Self> {
        if expression.len() > MAX_LENGTH {
            return None;
        }
        let readable = readable(expression)?;
        let mut ast = ParserBuilder::new()
            .nest_limit(MAX_DEPTH)
            .empty_min_range(true)
            .build()
            .parse(&readable)
            .ok()?;
        mark_optional(&mut ast);
        mark_possessive(&mut ast, &readable, PatternSyntax::Oniguruma).ok()?;
        let hir = TranslatorBuilder::new()
            .multi_line(true)
            .build()
            .translate(&readable, &ast)
            .ok()?;
        let mut groups = Vec::new();
        list_groups(&hir, &mut groups);
        groups.sort_unstable();
        groups.dedup();
        Some(Self { hir, groups })
    }

    /// The number of groups of the expression.
    pub(super) fn groups(&self) -> usize {
        self.groups.len()
    }

    /// Whether it has references to the text of a group.
    pub(super) fn has_back_references(&self) -> bool {
        has(AGAIN, &self.hir)
    }

    /// Whether a part of it depends on where the search began.
    pub(super) fn has_search_start(part: &Hir) -> bool {
        has(SEARCH_START, part)
    }

    /// What a capture is; `None` if it refers to a group that does not exist.
    pub(super) fn construct(&self, capture: &Capture) -> Option<Construct> {
        let name = capture.name.as_deref().unwrap_or_default();
        if name.starts_with('+') {
            return Some(Construct::Atomic);
        }
        let Some(own) = name.strip_prefix(OWN) else {
            let number = self.groups.binary_search(&capture.index).ok()?;
            return Some(Construct::Group(number));
        };
        let (kind, number) = own.split_once('.')?;
        Some(match kind {
            "atomic" => Construct::Atomic,
            SEARCH_START => Construct::SearchStart,
            AGAIN => {
                let (group, _) = number.split_once('.')?;
                let number: usize = group.parse().ok()?;
                let number = number.checked_sub(1)?;
                Construct::Again(Some(number).filter(|number| *number < self.groups.len())?)
            }
            kind => Construct::Look {
                is_behind: kind.ends_with("behind"),
                is_negative: kind.starts_with("not"),
            },
        })
    }
}

/// How many characters an expression matches.
#[derive(Clone, Copy)]
pub(super) struct Length {
    pub(super) least: usize,
    /// `usize::MAX`: any number.
    pub(super) most: usize,
}

impl Length {
    const EMPTY: Self = Self { least: 0, most: 0 };
}

impl LookAround {
    pub(super) fn length(&self, hir: &Hir) -> Length {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) | HirKind::Class(Class::Bytes(_)) => Length::EMPTY,
            HirKind::Literal(literal) => {
                let count = String::from_utf8_lossy(&literal.0).chars().count();
                Length {
                    least: count,
                    most: count,
                }
            }
            HirKind::Class(Class::Unicode(_)) => Length { least: 1, most: 1 },
            HirKind::Repetition(repetition) => {
                let one = self.length(&repetition.sub);
                let times = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
                Length {
                    least: one.least.saturating_mul(times(repetition.min)),
                    most: match repetition.max {
                        Some(max) => one.most.saturating_mul(times(max)),
                        None if one.most == 0 => 0,
                        None => usize::MAX,
                    },
                }
            }
            HirKind::Capture(capture) => match self.construct(capture) {
                Some(Construct::Again(_)) => Length {
                    least: 0,
                    most: usize::MAX,
                },
                Some(Construct::Look { .. }) => Length::EMPTY,
                _ => self.length(&capture.sub),
            },
            HirKind::Concat(parts) => {
                let lengths = parts.iter().map(|part| self.length(part));
                lengths.fold(Length::EMPTY, |sum, one| Length {
                    least: sum.least.saturating_add(one.least),
                    most: sum.most.saturating_add(one.most),
                })
            }
            HirKind::Alternation(alternatives) => {
                let lengths = alternatives.iter().map(|one| self.length(one));
                let either = lengths.reduce(|one, other| Length {
                    least: one.least.min(other.least),
                    most: one.most.max(other.most),
                });
                either.unwrap_or(Length::EMPTY)
            }
        }
    }
}

/// Adds the indices of the groups of the expression.
fn list_groups(hir: &Hir, groups: &mut Vec<u32>) {
    if let HirKind::Capture(capture) = hir.kind() {
        let name = capture.name.as_deref().unwrap_or_default();
        if !name.starts_with('+') && !name.starts_with(OWN) {
            groups.push(capture.index);
        }
    }
    hir.kind()
        .subs()
        .iter()
        .for_each(|sub| list_groups(sub, groups));
}

/// Whether an expression has a construct of a kind.
fn has(kind: &str, hir: &Hir) -> bool {
    let is_one = match hir.kind() {
        HirKind::Capture(capture) => {
            let name = capture.name.as_deref().unwrap_or_default();
            let own = name.strip_prefix(OWN).and_then(|own| own.split_once('.'));
            own.is_some_and(|(own, _)| own == kind)
        }
        _ => false,
    };
    is_one || hir.kind().subs().iter().any(|sub| has(kind, sub))
}

/// `\w` of Oniguruma in brackets: without joiners.
const WORD_IN_CLASS: &str = r"[\w--[\x{200C}\x{200D}]]";
/// The same outside brackets, with six numbers of Latin 1.
const WORD: &str = r"[[\w--[\x{200C}\x{200D}]]\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE}]";
const NO_WORD: &str = r"[^[\w--[\x{200C}\x{200D}]]\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE}]";

/// The expression as the parser can read it; `None` if it has a construct that is not supported.
fn readable(expression: &str) -> Option<String> {
    let mut written = String::with_capacity(expression.len());
    let mut depth = 0;
    let mut count = 0;
    let mut rest = expression;
    while let Some(c) = rest.chars().next() {
        let construct = CONSTRUCTS.iter().find(|(text, _)| rest.starts_with(text));
        let (length, by) = match c {
            '\\' => {
                let escaped = rest[1..].chars().next();
                let length = 1 + escaped.map_or(0, char::len_utf8);
                // More than nine groups, or a character by its number.
                let is_digit = |c: char| c.is_ascii_digit();
                if escaped.is_some_and(is_digit) && rest[length..].starts_with(is_digit) {
                    return None;
                }
                (
                    length,
                    escape(escaped, depth > 0, &mut count, &rest[..length])?,
                )
            }
            '[' => match posix_class(rest).filter(|_| depth > 0) {
                Some((length, class)) => (length, class),
                None => {
                    depth += 1;
                    (1, "[".to_owned())
                }
            },
            ']' => {
                depth = depth.max(1) - 1;
                (1, "]".to_owned())
            }
            '(' if depth == 0 && construct.is_some() => {
                let (text, kind) = construct?;
                count += 1;
                (text.len(), format!("(?<{OWN}{kind}.{count}>"))
            }
            '(' if depth == 0 && rest.starts_with("(?#") => {
                (rest.find(')')? + 1, "(?:)".to_owned())
            }
            '(' if depth == 0 && has_other_flags(rest, written.is_empty()) => return None,
            _ => (c.len_utf8(), c.to_string()),
        };
        written.push_str(&by);
        rest = &rest[length..];
    }
    Some(written)
}

/// Whether a group has flags that mean something else to the parser: those other than `i` and `x`, and those
/// for the rest of a group, which for Ruby includes the alternatives after it, unless that is all.
fn has_other_flags(group: &str, is_first: bool) -> bool {
    let Some(flags) = group.strip_prefix("(?") else {
        return false;
    };
    let end = flags.find([':', ')']).unwrap_or(flags.len());
    let is_for_rest = flags[end..].starts_with(')');
    let flags = &flags[..end];
    flags.chars().all(|c| c.is_ascii_alphabetic() || c == '-')
        && (flags.contains(|c| !matches!(c, 'i' | 'x' | '-')) || is_for_rest && !is_first)
}

/// Makes `a{2}?` what it means to Ruby: `(?:a{2})?`.
fn mark_optional(ast: &mut Ast) {
    let _: Result<(), Infallible> = for_each_child(ast, |child| {
        mark_optional(child);
        Ok(())
    });
    let Ast::Repetition(repetition) = ast else {
        return;
    };
    let is_fixed = matches!(
        repetition.op.kind,
        RepetitionKind::Range(RepetitionRange::Exactly(_))
    );
    if is_fixed && !repetition.greedy {
        repetition.greedy = true;
        let (span, op_span) = (repetition.span, repetition.op.span);
        *ast = Ast::repetition(ast::Repetition {
            span,
            op: ast::RepetitionOp {
                span: op_span,
                kind: RepetitionKind::ZeroOrOne,
            },
            greedy: true,
            ast: Box::new(std::mem::replace(ast, Ast::empty(span))),
        });
    }
}

/// What an escape is for the parser.
fn escape(
    escaped: Option<char>,
    is_in_class: bool,
    count: &mut u32,
    whole: &str,
) -> Option<String> {
    let mut look = |kind: &str, class: &str| {
        *count += 1;
        format!("(?<{OWN}{kind}.{count}>{class})")
    };
    Some(match (escaped, is_in_class) {
        (Some('w'), false) => WORD.to_owned(),
        (Some('W'), false) => NO_WORD.to_owned(),
        (Some('b'), false) => {
            let begins = look("not_behind", WORD) + &look("ahead", WORD);
            let ends = look("behind", WORD) + &look("not_ahead", WORD);
            format!("(?:{begins}|{ends})")
        }
        (Some('B'), false) => {
            let inside = look("behind", WORD) + &look("ahead", WORD);
            let outside = look("not_behind", WORD) + &look("not_ahead", WORD);
            format!("(?:{inside}|{outside})")
        }
        (Some('w'), true) => WORD_IN_CLASS.to_owned(),
        (Some('W'), true) => format!("[^{WORD_IN_CLASS}]"),
        // Beginnings and ends of words to the parser, or nothing that can be escaped.
        (Some(c @ ('<' | '>' | ' ')), _) => c.to_string(),
        (Some(c), _) if !c.is_ascii() => c.to_string(),
        (Some('e'), _) => r"\x1B".to_owned(),
        (Some('h'), _) => "[0-9A-Fa-f]".to_owned(),
        (Some('H'), _) => "[^0-9A-Fa-f]".to_owned(),
        (Some('G'), false) => look(SEARCH_START, ""),
        (Some('Z'), false) => look("ahead", r"\n?\z"),
        (Some('N'), false) => r"[^\n]".to_owned(),
        (Some('O'), false) => "(?s:.)".to_owned(),
        (Some('R'), false) => look("atomic", r"\r\n|[\n\x0B\f\r\x{85}\x{2028}\x{2029}]"),
        (Some(digit @ '1'..='9'), false) => look(&format!("{AGAIN}.{digit}"), "."),
        _ => whole.to_owned(),
    })
}

/// The class in brackets and colons at the start of a text: its length and its characters.
fn posix_class(text: &str) -> Option<(usize, String)> {
    let inner = text.strip_prefix("[:")?;
    let (name, _) = inner.split_once(":]")?;
    let class = match name.trim_start_matches('^') {
        "alnum" => r"\p{Alphabetic}\p{Nd}",
        "alpha" => r"\p{Alphabetic}",
        "ascii" => r"\x00-\x7F",
        "blank" => r"\p{Zs}\t",
        "cntrl" => r"\p{Cc}",
        "digit" => r"\p{Nd}",
        "graph" => r"[^\p{White_Space}\p{Cc}\p{Cn}]",
        "lower" => r"\p{Lowercase}",
        "print" => r"[^\p{White_Space}\p{Cc}\p{Cn}]\p{Zs}",
        "punct" => r"\p{P}\p{S}",
        "space" => r"\p{White_Space}",
        "upper" => r"\p{Uppercase}",
        "xdigit" => r"0-9A-Fa-f",
        "word" => WORD_IN_CLASS,
        _ => return None,
    };
    let not = if name.starts_with('^') { "^" } else { "" };
    Some(("[::]".len() + name.len(), format!("[{not}{class}]")))
}
