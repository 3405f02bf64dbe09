//! Expressions that cut texts.

use spiece::{Pattern, PatternError, PatternSyntax, Pretokenizer, Split, SplitBehavior};

/// An expression, a NUL and a text. What is refused is refused at a position of the expression; what
/// is not cuts the text into parts that are in order, and all of it where no part is removed.
pub fn pattern(data: &[u8]) {
    let data = String::from_utf8_lossy(data);
    let (expression, text) = data
        .split_once('\0')
        .unwrap_or((&data, "a B'll 12\n  \u{e9}!\r"));
    for syntax in [PatternSyntax::Rust, PatternSyntax::Oniguruma] {
        let pattern = match Pattern::with_syntax(expression, syntax) {
            Ok(pattern) => pattern,
            Err(PatternError::Syntax { at, .. } | PatternError::Unsupported { at, .. }) => {
                assert!(at <= expression.len());
                continue;
            }
            Err(_) => continue,
        };
        assert_eq!(pattern.expression(), expression);
        let mut end = 0;
        for found in Pretokenizer::of(pattern.clone()).pretokens(text) {
            assert!(!found.is_empty());
            end += text[end..].find(found).expect("pretokens are in order") + found.len();
        }
        for behavior in [
            SplitBehavior::Isolated,
            SplitBehavior::MergedWithPrevious,
            SplitBehavior::MergedWithNext,
            SplitBehavior::Contiguous,
        ] {
            let split = Split::new(pattern.clone(), behavior);
            let parts = Pretokenizer::new(vec![split.clone(), split]).pretokens(text);
            assert!(parts.iter().all(|part| !part.is_empty()));
            assert_eq!(parts.concat(), text);
        }
    }
}
