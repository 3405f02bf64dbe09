//! Expressions with possessive quantifiers against a naive matcher.

use proptest::prelude::*;

use crate::pattern::Pattern;

/// An expression, for a naive matcher.
#[derive(Clone, Debug)]
enum Expression {
    Class(&'static str),
    Sequence(Vec<Self>),
    Either(Vec<Self>),
    Repetition {
        body: Box<Self>,
        min: usize,
        max: usize,
        possessive: bool,
    },
}

impl Expression {
    fn text(&self) -> String {
        let join = |parts: &[Self], separator| {
            let parts: Vec<String> = parts.iter().map(Self::text).collect();
            format!("(?:{})", parts.join(separator))
        };
        match self {
            Self::Class(characters) => format!("[{characters}]"),
            Self::Sequence(parts) => join(parts, ""),
            Self::Either(parts) => join(parts, "|"),
            Self::Repetition {
                body,
                min,
                max,
                possessive,
            } => {
                let quantifier = match (*min, *max) {
                    (0, 1) => "?".to_owned(),
                    (0, usize::MAX) => "*".to_owned(),
                    (1, usize::MAX) => "+".to_owned(),
                    (min, usize::MAX) => format!("{{{min},}}"),
                    (min, max) => format!("{{{min},{max}}}"),
                };
                let plus = if *possessive { "+" } else { "" };
                format!("(?:{}){quantifier}{plus}", body.text())
            }
        }
    }

    /// Calls `then` with the ends of the matches that begin at `at`, the preferred one first, until
    /// it returns true.
    fn matches(&self, text: &[u8], at: usize, then: &mut dyn FnMut(usize) -> bool) -> bool {
        match self {
            Self::Class(characters) => match text.get(at) {
                Some(byte) if characters.as_bytes().contains(byte) => then(at + 1),
                _ => false,
            },
            Self::Sequence(parts) => match parts.split_first() {
                Some((first, rest)) => {
                    let rest = Self::Sequence(rest.to_vec());
                    first.matches(text, at, &mut |end| rest.matches(text, end, then))
                }
                None => then(at),
            },
            Self::Either(parts) => parts.iter().any(|part| part.matches(text, at, then)),
            Self::Repetition {
                body,
                min,
                max,
                possessive: false,
            } => {
                let again = Self::Repetition {
                    body: body.clone(),
                    min: min.saturating_sub(1),
                    max: match max {
                        &usize::MAX => usize::MAX,
                        max => max.saturating_sub(1),
                    },
                    possessive: false,
                };
                // A body that is not needed ends the loop if it is empty.
                let taken = *max > 0
                    && body.matches(text, at, &mut |end| match end == at && *min == 0 {
                        true => then(end),
                        false => again.matches(text, end, then),
                    });
                taken || *min == 0 && then(at)
            }
            Self::Repetition { body, min, max, .. } => {
                let greedy = Self::Repetition {
                    body: body.clone(),
                    min: *min,
                    max: *max,
                    possessive: false,
                };
                let mut last = None;
                greedy.matches(text, at, &mut |end| {
                    last = Some(end);
                    true
                });
                last.is_some_and(then)
            }
        }
    }
}

#[test]
fn accepted_possessive_quantifiers_match_what_a_naive_matcher_does() {
    let class = || prop::sample::select(&["a", "x", "ax", "b"][..]).prop_map(Expression::Class);
    let bounds = prop::sample::select(
        &[
            (0, 1),
            (0, usize::MAX),
            (1, usize::MAX),
            (2, 2),
            (1, 2),
            (2, usize::MAX),
        ][..],
    );
    let repeated = |body: Expression, (min, max), possessive| Expression::Repetition {
        body: Box::new(body),
        min,
        max,
        possessive,
    };
    let possessive = (
        class(),
        prop::sample::select(&[(0, 1), (0, usize::MAX), (1, usize::MAX)][..]),
    )
        .prop_map(move |(body, bounds)| repeated(body, bounds, true));
    let part = prop_oneof![class(), possessive].prop_recursive(4, 12, 3, move |inner| {
        let several = prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            3 => several.clone().prop_map(Expression::Sequence),
            1 => several.prop_map(Expression::Either),
            2 => (inner, bounds.clone()).prop_map(move |(body, bounds)| repeated(body, bounds, false)),
        ]
    });
    let accepted = std::cell::Cell::new(0);
    proptest!(ProptestConfig::with_cases(1000), |(part in part, texts in prop::collection::vec("[axb]{0,7}", 8))| {
        let expression = part.text();
        let Ok(pattern) = Pattern::new(&expression) else {
            return Ok(());
        };
        accepted.set(accepted.get() + usize::from(expression.contains(")++") || expression.contains(")*+")));
        for text in texts {
            let mut found = Vec::new();
            pattern.for_each(text.as_bytes(), &mut |start, end, is_match| {
                if is_match {
                    found.push((start, end));
                }
            });
            let expected = (0..=text.len()).find_map(|start| {
                let mut end = None;
                part.matches(text.as_bytes(), start, &mut |at| {
                    end = Some(at);
                    true
                });
                Some((start, end?))
            });
            prop_assert_eq!(found.first().copied(), expected, "{} {:?}", expression, text);
        }
    });
    assert!(accepted.get() > 50, "{}", accepted.get());
}

#[test]
fn nested_repetitions_are_read_in_time_that_does_not_double_with_each() {
    let nested = |depth| format!("{}(?:a|b+){}", "(?:".repeat(depth), "c?)*d".repeat(depth));
    for expression in [nested(28), format!("x++{}", nested(28))] {
        assert!(Pattern::new(&expression).is_ok(), "{expression}");
    }
}
