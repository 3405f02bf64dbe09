//! Scanners against automata of the same expressions, and boundaries.

use std::ops::Range;

use super::general::Machine;
use super::known::{self, Scanner};
use super::{Engine, Pattern, PatternError, PatternSyntax, Pretokenizer};

/// Characters of every class that a pattern names, and those that it names itself.
const ALPHABET: &[&str] = &[
    "a",
    "B",
    "s",
    "S",
    "t",
    "l",
    "L",
    "v",
    "e",
    "r",
    "m",
    "D",
    "'",
    "1",
    "!",
    "/",
    "$",
    " ",
    "\n",
    "\r",
    "\t",
    "\u{A0}",
    "\u{2028}",
    "é",
    "Σ",
    "\u{1C5}",
    "\u{2B0}",
    "א",
    "中",
    "々",
    "〇",
    "⺀",
    "か",
    "ー",
    "・",
    "\u{3099}",
    "\u{301}",
    "Ⅷ",
    "٣",
    "한",
    "😀",
    "\u{200D}",
    "\u{1}",
    "\u{378}",
    "\u{17F}",
    "\u{212A}",
    "\u{16FF0}",
];

const RUST: [&str; 12] = [
    known::GPT2,
    known::R50K,
    known::R50K_BEFORE,
    known::CL100K,
    known::LLAMA3,
    known::RUSTBPE,
    known::NANOCHAT,
    known::QWEN2,
    known::O200K,
    known::TEKKEN,
    known::KIMI,
    known::DEEPSEEK[2],
];

type Parts = Vec<(usize, usize, bool)>;

fn scanned(scanner: Scanner, text: &[u8]) -> Parts {
    let mut parts = Vec::new();
    scanner.for_each(text, |start, end, is_match| {
        parts.push((start, end, is_match))
    });
    parts
}

fn searched(machine: &Machine, text: &[u8]) -> Parts {
    let mut parts = Vec::new();
    machine.for_each(text, |start, end, is_match| {
        parts.push((start, end, is_match))
    });
    parts
}

fn pretokens(pretokenizer: &Pretokenizer, text: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    pretokenizer.for_each(text, &mut |range| found.push(range));
    found
}

/// All texts of up to three characters, and random ones.
fn for_each_text(mut check: impl FnMut(&str)) {
    check("");
    for a in ALPHABET {
        check(a);
        for b in ALPHABET {
            check(&[*a, b].concat());
            for c in ALPHABET {
                check(&[*a, b, c].concat());
            }
        }
    }
    let mut state = 1_u64;
    for length in (0..8_000).map(|case| case % 40) {
        let text: String = (0..length)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let number = usize::try_from(state >> 33).unwrap();
                // Few different characters make long runs.
                ALPHABET[if length % 2 == 0 {
                    number % ALPHABET.len()
                } else {
                    number % 3 * 9 % 47
                }]
            })
            .collect();
        check(&text);
    }
}

#[test]
fn scanners_find_what_automata_of_the_same_expression_find() {
    let both = RUST
        .map(|expression| (expression, PatternSyntax::Rust))
        .into_iter()
        .chain(RUST.map(|expression| (expression, PatternSyntax::Oniguruma)));
    for (expression, syntax) in both {
        // `\s++$` with `$` before each line end differs from `\s+$`; only its scanner reads it.
        if syntax == PatternSyntax::Oniguruma && expression.contains(r"\s++$") {
            let refused = Machine::new(expression, syntax).unwrap_err();
            assert!(matches!(
                refused,
                PatternError::Unsupported {
                    construct: "possessive quantifier",
                    ..
                }
            ));
            continue;
        }
        let machine = Machine::new(expression, syntax).expect(expression);
        let scanner = Scanner::of(expression, syntax == PatternSyntax::Oniguruma).unwrap();
        for_each_text(|text| {
            let text = text.as_bytes();
            assert_eq!(
                scanned(scanner, text),
                searched(&machine, text),
                "{scanner:?} {:?}",
                text.escape_ascii().to_string()
            );
        });
    }
}

#[test]
fn the_three_splits_of_deepseek_are_cut_at_once_as_one_after_the_other() {
    let fused = Pretokenizer::named("deepseek-v3").unwrap();
    let splits = fused.splits().iter().map(|split| {
        let machine = Machine::new(split.pattern.expression(), PatternSyntax::Oniguruma).unwrap();
        let mut split = split.clone();
        split.pattern.engine = Engine::Machine(machine.into());
        split
    });
    let apart = Pretokenizer {
        splits: splits.collect(),
        plan: super::split::Plan::Splits,
    };
    for_each_text(|text| {
        assert_eq!(
            pretokens(&fused, text.as_bytes()),
            pretokens(&apart, text.as_bytes()),
            "{text:?}"
        );
    });
}

#[test]
fn texts_split_at_boundaries_have_the_pretokens_of_the_whole() {
    let all = RUST
        .map(|expression| Pretokenizer::of(Pattern::new(expression).unwrap()))
        .into_iter()
        .chain([Pretokenizer::named("deepseek-v3").unwrap()]);
    for pretokenizer in all {
        let mut count = 0;
        for_each_text(|text| {
            let bytes = text.as_bytes();
            let whole = pretokens(&pretokenizer, bytes);
            for distance in [1, 3] {
                let boundaries = pretokenizer.find_boundaries(bytes, distance);
                count += boundaries.len();
                let mut parts = Vec::new();
                let mut start = 0;
                for end in boundaries.into_iter().chain([bytes.len()]) {
                    assert!(end == bytes.len() || end - start >= distance, "{text:?}");
                    parts.extend(
                        pretokens(&pretokenizer, &bytes[start..end])
                            .into_iter()
                            .map(|range| range.start + start..range.end + start),
                    );
                    start = end;
                }
                assert_eq!(parts, whole, "{pretokenizer:?} {text:?}");
            }
        });
        assert!(count > 10_000 || !matches!(pretokenizer.plan, super::split::Plan::Scanner(_)));
    }
}
