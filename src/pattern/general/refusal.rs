//! Errors about constructs that the engine does not have, by their names.

use std::ops::Range;

use regex_syntax::ast::{self, ErrorKind, Span};

use super::super::PatternError;

/// The bytes of an expression that a span covers.
pub(in crate::pattern) fn range_of(span: &Span) -> Range<usize> {
    span.start.offset..span.end.offset
}

/// Of the construct at a range of an expression.
pub(super) fn unsupported(
    expression: &str,
    range: Range<usize>,
    construct: &'static str,
) -> PatternError {
    PatternError::Unsupported {
        at: range.start,
        text: expression.get(range).unwrap_or_default().to_owned(),
        construct,
    }
}

/// What the parser does not accept, by its name if other engines have it.
pub(super) fn refusal(expression: &str, error: &ast::Error) -> PatternError {
    let Range { start, end } = range_of(error.span());
    // Errors inside `(?>` and `(?(` are reported at the flag that they are read as.
    let at = match expression.get(..start) {
        Some(before) if before.ends_with("(?") => start - 2,
        _ => start,
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
    let known = constructs.iter().find(|(text, _)| rest.starts_with(text));
    if let Some((text, construct)) = known {
        return unsupported(expression, at..at + text.len(), construct);
    }
    match error.kind() {
        ErrorKind::UnsupportedBackreference => unsupported(expression, at..end, "back reference"),
        kind => PatternError::Syntax {
            at: start,
            message: kind.to_string(),
        },
    }
}
