//! Expressions without a scanner: the automata of the crate `regex`.
//!
//! That engine takes linear time for each match because it has no look-around, no back references
//! and no atomic groups. The expressions of tokenizers need little of these, and this module makes
//! up for that:
//!
//! * `X+(?!\S)` as an alternative of the whole expression, X being a class of white space, becomes
//!   two alternatives: `X+\z`, and `X+\s` whose match is then cut by its last character. They match
//!   where and what it matches: the whole run of X at the end of the text or before other white
//!   space; elsewhere, from two characters on, all but the last.
//! * A possessive quantifier, as in `\p{L}++`, is read as the greedy one where that cannot change a
//!   match. Let X be the class that it repeats, K the rest of the alternative. Either K matches the
//!   empty text everywhere: then the greedy loop, too, never gives back a character. Or every match
//!   of K begins with a character outside X, or is empty at the end of the text: then K cannot
//!   match where a character of X was given back, because that character follows.
//!
//! * `(?:A)|(?:(?!A)(?s:.))+`, which cuts for tiktoken as the split at A does for the library
//!   tokenizers: the matches of A, and the texts between them.
//!
//! Everything else that the engine does not have is refused.
//!
//! # Oniguruma
//!
//! The library tokenizers uses Oniguruma with Ruby's syntax. Of the constructs that mean something
//! else there, some are translated (`$` and `^` are at line ends, `\w` has other characters,
//! `{1,3}+` repeats twice), the others are refused.

use regex_automata::Input;
use regex_automata::meta::Regex;
use regex_automata::nfa::thompson::WhichCaptures;
use regex_syntax::ast::parse::ParserBuilder;
use regex_syntax::ast::{
    self, AssertionKind, Ast, ClassPerlKind, ClassSet, ClassSetBinaryOpKind, ClassSetItem,
    ClassUnicodeKind, Flag, GroupKind, LiteralKind, RepetitionKind, RepetitionRange,
};
use regex_syntax::hir::translate::TranslatorBuilder;
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look};

use super::known::expression_without_gaps;
use super::{PatternError, PatternSyntax};

/// Bytes of an expression. The longest known one has 400.
const MAX_LENGTH: usize = 16 << 10;
/// Bytes of a compiled expression.
const MAX_COMPILED: usize = 16 << 20;
/// Depth of groups and repetitions, so that functions may recurse.
const MAX_DEPTH: u32 = 100;

/// A compiled expression.
#[derive(Debug)]
pub(super) struct Machine {
    regex: Regex,
    /// The numbers of the alternatives whose matches lose their last character.
    cut: Vec<usize>,
    /// Whether the texts between matches are matches, too.
    gaps_match: bool,
}

/// The alternatives of an expression, the first of which that matches counts.
pub(super) struct Alternatives {
    pub(super) patterns: Vec<Hir>,
    /// The numbers of the alternatives whose matches lose their last character.
    pub(super) cut: Vec<usize>,
}

impl Alternatives {
    pub(super) fn new(expression: &str, syntax: PatternSyntax) -> Result<Self, PatternError> {
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
            Oniguruma {
                expression,
                previous: None,
            }
            .translate(&mut whole, false)?;
        }
        mark_possessive(&mut whole, expression, syntax)?;
        let alternatives = match &mut whole {
            Ast::Alternation(alternation) if !look_aheads.is_empty() => {
                std::mem::take(&mut alternation.asts)
            }
            _ => vec![whole],
        };
        let translate = |ast: &Ast| {
            TranslatorBuilder::new()
                .multi_line(syntax == PatternSyntax::Oniguruma)
                .build()
                .translate(expression, ast)
                .map_err(|error| PatternError::Syntax {
                    at: error.span().start.offset,
                    message: error.kind().to_string(),
                })
        };
        let mut patterns = Vec::new();
        let mut cut = Vec::new();
        // Flags such as (?i) hold for the alternatives that follow as well.
        let mut flags = Vec::new();
        for alternative in alternatives {
            if let Some(run) = run_before_look_ahead(&alternative, &look_aheads) {
                let run = translate(run)?;
                if repeated_class(&run).is_some_and(|class| is_white_space(&class)) {
                    let space = Hir::class(Class::Unicode(white_space()));
                    patterns.push(Hir::concat(vec![run.clone(), Hir::look(Look::End)]));
                    patterns.push(Hir::concat(vec![run, space]));
                    cut.push(patterns.len() - 1);
                    continue;
                }
            }
            let own = match &alternative {
                Ast::Flags(_) => vec![alternative.clone()],
                Ast::Concat(concat) => concat
                    .asts
                    .iter()
                    .filter(|ast| matches!(ast, Ast::Flags(_)))
                    .cloned()
                    .collect(),
                _ => Vec::new(),
            };
            let span = *alternative.span();
            let mut asts = flags.clone();
            asts.push(alternative);
            patterns.push(translate(&Ast::concat(ast::Concat { span, asts }))?);
            flags.extend(own);
        }
        if cut.len() != look_aheads.len() {
            let at = look_aheads.first().copied().unwrap_or_default();
            return Err(unsupported(expression, at, LOOK_AHEAD.len(), "look-around"));
        }
        for pattern in &patterns {
            follow(pattern, &Follow::nothing(), expression, true)?;
        }
        Ok(Self { patterns, cut })
    }
}

impl Machine {
    /// Of an expression with gaps, or of another one.
    pub(super) fn with_gaps(expression: &str, syntax: PatternSyntax) -> Result<Self, PatternError> {
        match expression_without_gaps(expression) {
            Some(inner) if syntax == PatternSyntax::Rust && !may_be_empty(inner, syntax) => {
                let gaps_match = true;
                Self::new(inner, syntax).map(|machine| Self {
                    gaps_match,
                    ..machine
                })
            }
            _ => Self::new(expression, syntax),
        }
    }

    fn new(expression: &str, syntax: PatternSyntax) -> Result<Self, PatternError> {
        let Alternatives { patterns, cut } = Alternatives::new(expression, syntax)?;
        let regex = Regex::builder()
            .configure(
                Regex::config()
                    .nfa_size_limit(Some(MAX_COMPILED))
                    .which_captures(WhichCaptures::Implicit),
            )
            .build_many_from_hir(&patterns)
            .map_err(|_| PatternError::TooLarge {
                limit: MAX_COMPILED,
            })?;
        Ok(Self {
            regex,
            cut,
            gaps_match: false,
        })
    }

    /// Passes the parts of a text, which is well-formed UTF-8, with whether they are matches. Empty
    /// matches are parts, as in tokenizers; there is none at the end of another match.
    pub(super) fn for_each(&self, text: &[u8], mut on_part: impl FnMut(usize, usize, bool)) {
        let mut done = 0;
        let mut at = 0;
        let mut last_end = None;
        while at <= text.len() {
            let Some(found) = self.regex.search(&Input::new(text).range(at..)) else {
                break;
            };
            let (start, mut end) = (found.start(), found.end());
            if self.cut.contains(&found.pattern().as_usize()) {
                end -= 1;
                while text.get(end).is_some_and(|byte| byte & 0xC0 == 0x80) {
                    end -= 1;
                }
            }
            at = end;
            if start == end {
                at += 1;
                while text.get(at).is_some_and(|byte| byte & 0xC0 == 0x80) {
                    at += 1;
                }
                if last_end == Some(end) {
                    continue;
                }
            }
            last_end = Some(end);
            if done < start {
                on_part(done, start, self.gaps_match);
            }
            on_part(start, end, true);
            done = end;
        }
        if done < text.len() {
            on_part(done, text.len(), self.gaps_match);
        }
    }
}

/// Whether a match may be empty, as far as is known.
pub(super) fn may_be_empty(expression: &str, syntax: PatternSyntax) -> bool {
    let alternatives = Alternatives::new(expression, syntax);
    let minimum = |pattern: &Hir| pattern.properties().minimum_len();
    alternatives.is_ok_and(|it| {
        it.patterns
            .iter()
            .any(|pattern| minimum(pattern) == Some(0))
    })
}

const LOOK_AHEAD: &str = r"(?!\S)";

/// The positions of [`LOOK_AHEAD`], and the expression with something there that the parser knows,
/// of the same length, so that positions in it are those of the expression.
pub(super) fn without_look_aheads(expression: &str) -> (Vec<usize>, String) {
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

/// The characters that a repetition repeats, if it repeats one of a class.
fn repeated_class(run: &Hir) -> Option<ClassUnicode> {
    let HirKind::Repetition(repetition) = run.kind() else {
        return None;
    };
    match repetition.sub.kind() {
        HirKind::Class(Class::Unicode(class)) => Some(class.clone()),
        HirKind::Literal(literal) => first_char(&literal.0)
            .filter(|c| c.len_utf8() == literal.0.len())
            .map(|c| ClassUnicode::new([ClassUnicodeRange::new(c, c)])),
        _ => None,
    }
}

/// The class `\s`.
fn white_space() -> ClassUnicode {
    let ranges = [
        ('\t', '\r'),
        (' ', ' '),
        ('\u{85}', '\u{85}'),
        ('\u{a0}', '\u{a0}'),
        ('\u{1680}', '\u{1680}'),
        ('\u{2000}', '\u{200a}'),
        ('\u{2028}', '\u{2029}'),
        ('\u{202f}', '\u{202f}'),
        ('\u{205f}', '\u{205f}'),
        ('\u{3000}', '\u{3000}'),
    ];
    ClassUnicode::new(ranges.map(|(first, last)| ClassUnicodeRange::new(first, last)))
}

fn is_white_space(class: &ClassUnicode) -> bool {
    let mut others = class.clone();
    others.difference(&white_space());
    others.ranges().is_empty()
}

fn unsupported(expression: &str, at: usize, len: usize, construct: &'static str) -> PatternError {
    let text = expression.get(at..at + len).unwrap_or_default();
    PatternError::Unsupported {
        at,
        text: text.to_owned(),
        construct,
    }
}

/// What the parser does not accept, by its name if other engines have it.
fn refusal(expression: &str, error: &ast::Error) -> PatternError {
    let at = error.span().start.offset;
    // Errors inside `(?>` and `(?(` are reported at the flag that they are read as.
    let at = if expression
        .get(..at)
        .is_some_and(|before| before.ends_with("(?"))
    {
        at - 2
    } else {
        at
    };
    let rest = expression.get(at..).unwrap_or_default();
    let constructs = [
        ("(?=", "look-around"),
        ("(?!", "look-around"),
        ("(?<=", "look-around"),
        ("(?<!", "look-around"),
        ("(?>", "atomic group"),
        ("(?(", "conditional"),
        ("(?~", "absent operator"),
        ("(?|", "branch reset"),
        ("(?#", "comment"),
        ("(?&", "subroutine call"),
        ("(?R", "subroutine call"),
        (r"\k", "back reference"),
        (r"\g", "subroutine call"),
        (r"\K", "keep"),
        (r"\G", "position of the last match"),
        (r"\Z", "end before a last line end"),
        (r"\h", "class of hexadecimal digits"),
        (r"\H", "class of hexadecimal digits"),
        (r"\R", "line end"),
        (r"\X", "grapheme cluster"),
        (r"\N", "class of other than line ends"),
        (r"\O", "class of all characters"),
    ];
    if let Some((text, construct)) = constructs
        .into_iter()
        .find(|(text, _)| rest.starts_with(text))
    {
        return unsupported(expression, at, text.len(), construct);
    }
    match error.kind() {
        ast::ErrorKind::UnsupportedBackreference => {
            let len = error.span().end.offset - at;
            unsupported(expression, at, len, "back reference")
        }
        kind => PatternError::Syntax {
            at: error.span().start.offset,
            message: kind.to_string(),
        },
    }
}

/// Calls a function on the parts of an expression.
fn for_each_child<E>(
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

/// Replaces a quantifier with `+` after it by the greedy quantifier in a group, whose name is a
/// plus sign and the position of the quantifier.
fn mark_possessive(
    ast: &mut Ast,
    expression: &str,
    syntax: PatternSyntax,
) -> Result<(), PatternError> {
    let Ast::Repetition(outer) = ast else {
        return for_each_child(ast, |child| mark_possessive(child, expression, syntax));
    };
    let is_plus = outer.greedy && matches!(outer.op.kind, RepetitionKind::OneOrMore);
    let Ast::Repetition(inner) = &mut *outer.ast else {
        return mark_possessive(&mut outer.ast, expression, syntax);
    };
    let at = inner.op.span.start.offset;
    let is_range = matches!(inner.op.kind, RepetitionKind::Range(_));
    if matches!(&*inner.ast, Ast::Repetition(_)) || is_plus && !inner.greedy {
        let len = outer.op.span.end.offset - at;
        return Err(unsupported(
            expression,
            at,
            len,
            "quantifier of a quantifier",
        ));
    }
    if !is_plus || is_range && syntax == PatternSyntax::Oniguruma {
        return mark_possessive(&mut inner.ast, expression, syntax);
    }
    mark_possessive(&mut inner.ast, expression, syntax)?;
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

/// What `hir` and then `rest` match. Refuses possessive quantifiers that are not like greedy ones,
/// if `check`.
fn follow(hir: &Hir, rest: &Follow, expression: &str, check: bool) -> Result<Follow, PatternError> {
    let one_of = |first| Follow {
        first,
        empty: Empty::Never,
    };
    Ok(match hir.kind() {
        HirKind::Empty => rest.clone(),
        HirKind::Literal(literal) => one_of(match first_char(&literal.0) {
            Some(c) => ClassUnicode::new([ClassUnicodeRange::new(c, c)]),
            None => all_characters(),
        }),
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
            let behind = if repetition.max == Some(1) {
                rest.clone()
            } else {
                again.or(rest)
            };
            let repeated = follow(&repetition.sub, &behind, expression, check)?;
            if repetition.min == 0 {
                repeated.or(rest)
            } else {
                repeated
            }
        }
        HirKind::Capture(capture) => {
            let name = capture
                .name
                .as_deref()
                .and_then(|name| name.strip_prefix('+'));
            if let Some(at) = name.filter(|_| check) {
                let is_greedy = match capture.sub.kind() {
                    HirKind::Repetition(_) => {
                        repeated_class(&capture.sub).is_some_and(|mut class| {
                            class.intersect(&rest.first);
                            rest.empty == Empty::Always
                                || rest.empty <= Empty::AtEnd && class.ranges().is_empty()
                        })
                    }
                    // Repetitions of once, and of what is empty, are simplified.
                    _ => matches!(capture.sub.kind(), HirKind::Class(_) | HirKind::Empty),
                };
                if !is_greedy {
                    let at = at.parse().unwrap_or_default();
                    let quantifier = expression.get(at..).unwrap_or_default();
                    let len = quantifier.find('+').map_or(1, |plus| plus.max(1) + 1);
                    return Err(unsupported(expression, at, len, "possessive quantifier"));
                }
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

fn first_char(literal: &[u8]) -> Option<char> {
    std::str::from_utf8(literal).ok()?.chars().next()
}

fn all_characters() -> ClassUnicode {
    ClassUnicode::new([ClassUnicodeRange::new('\0', char::MAX)])
}

/// Translates what Ruby's syntax of Oniguruma means by an expression.
struct Oniguruma<'a> {
    expression: &'a str,
    /// The literal before, which can form a pair that folds with a single character.
    previous: Option<char>,
}

/// The scripts whose characters are the same in both engines, and the general categories.
const PROPERTIES: [&str; 60] = [
    "L",
    "Lu",
    "Ll",
    "Lt",
    "Lm",
    "Lo",
    "M",
    "Mn",
    "Mc",
    "Me",
    "N",
    "Nd",
    "Nl",
    "No",
    "P",
    "Pc",
    "Pd",
    "Ps",
    "Pe",
    "Pi",
    "Pf",
    "Po",
    "S",
    "Sm",
    "Sc",
    "Sk",
    "So",
    "Z",
    "Zs",
    "Zl",
    "Zp",
    "Cc",
    "Cf",
    "Co",
    "Han",
    "Hiragana",
    "Katakana",
    "Hangul",
    "Latin",
    "Greek",
    "Cyrillic",
    "Armenian",
    "Hebrew",
    "Arabic",
    "Syriac",
    "Thaana",
    "Devanagari",
    "Bengali",
    "Gurmukhi",
    "Gujarati",
    "Oriya",
    "Tamil",
    "Telugu",
    "Kannada",
    "Malayalam",
    "Sinhala",
    "Thai",
    "Lao",
    "Tibetan",
    "Khmer",
];

impl Oniguruma<'_> {
    /// `fold`: inside `(?i:...)`.
    fn translate(&mut self, ast: &mut Ast, fold: bool) -> Result<(), PatternError> {
        let refuse = |span: &ast::Span, construct| {
            let (at, end) = (span.start.offset, span.end.offset);
            Err(unsupported(self.expression, at, end - at, construct))
        };
        match ast {
            Ast::Flags(flags) => return refuse(&flags.span, "flags for the rest of a group"),
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
                        return refuse(&flags.span, "flags other than i");
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
                _ => return refuse(&assertion.span, "word boundary"),
            },
            Ast::Repetition(repetition)
                if !repetition.greedy
                    && matches!(
                        repetition.op.kind,
                        RepetitionKind::Range(RepetitionRange::Exactly(_))
                    ) =>
            {
                return refuse(&repetition.op.span, "lazy quantifier of a fixed number");
            }
            Ast::Literal(literal) => self.literal(literal, fold)?,
            Ast::ClassUnicode(class) => self.property(class)?,
            Ast::ClassPerl(class) if class.kind == ClassPerlKind::Word => {
                *ast = Ast::class_bracketed(word_class(class, false)?);
            }
            Ast::ClassBracketed(class) => self.class(&mut class.kind, fold)?,
            _ => {}
        }
        for_each_child(ast, |child| self.translate(child, fold))
    }

    /// Pairs of letters fold with single characters such as `ß` there, and with nothing here.
    fn literal(&mut self, literal: &ast::Literal, fold: bool) -> Result<(), PatternError> {
        let (at, end) = (literal.span.start.offset, literal.span.end.offset);
        let refuse = |construct| Err(unsupported(self.expression, at, end - at, construct));
        if matches!(literal.kind, LiteralKind::HexFixed(ast::HexLiteralKind::X))
            && !literal.c.is_ascii()
        {
            return refuse("byte that is no character");
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
            return refuse("letters without case that can be another number of characters");
        }
        Ok(())
    }

    fn property(&self, class: &ast::ClassUnicode) -> Result<(), PatternError> {
        let name = match &class.kind {
            ClassUnicodeKind::OneLetter(letter) => letter.to_string(),
            ClassUnicodeKind::Named(name) => name.clone(),
            ClassUnicodeKind::NamedValue { .. } => String::new(),
        };
        if PROPERTIES.contains(&&name[..]) {
            return Ok(());
        }
        let (at, end) = (class.span.start.offset, class.span.end.offset);
        Err(unsupported(self.expression, at, end - at, "property"))
    }

    fn class(&mut self, class: &mut ClassSet, fold: bool) -> Result<(), PatternError> {
        match class {
            ClassSet::Item(item) => self.class_item(item, fold),
            ClassSet::BinaryOp(operation) => {
                if operation.kind != ClassSetBinaryOpKind::Intersection {
                    let (at, end) = (operation.span.start.offset, operation.span.end.offset);
                    let construct = "difference of classes";
                    return Err(unsupported(self.expression, at, end - at, construct));
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
            ClassSetItem::Ascii(class) => {
                let (at, end) = (class.span.start.offset, class.span.end.offset);
                Err(unsupported(
                    self.expression,
                    at,
                    end - at,
                    "class in brackets and colons",
                ))
            }
            ClassSetItem::Unicode(class) => self.property(class),
            ClassSetItem::Perl(class) if class.kind == ClassPerlKind::Word => {
                *item = ClassSetItem::Bracketed(Box::new(word_class(class, true)?));
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
}

/// `\w` as it is in Oniguruma: without joiners, and outside brackets with six numbers of Latin 1.
fn word_class(
    class: &ast::ClassPerl,
    is_bracketed: bool,
) -> Result<ast::ClassBracketed, PatternError> {
    let text = match is_bracketed {
        true => r"[\w--[\x{200C}\x{200D}]]",
        false => r"[[\w--[\x{200C}\x{200D}]]\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE}]",
    };
    match &ast::parse::Parser::new().parse(text) {
        Ok(Ast::ClassBracketed(word)) => Ok(ast::ClassBracketed {
            negated: class.negated,
            ..(**word).clone()
        }),
        _ => Err(PatternError::Syntax {
            at: class.span.start.offset,
            message: text.to_owned(),
        }),
    }
}
