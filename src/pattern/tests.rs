//! Scanners against automata of the same expressions, and boundaries.

use std::ops::Range;
use std::sync::LazyLock;

use proptest::prelude::*;

use super::general::Machine;
use super::known::{self, Scanner};
use super::split::Plan;
use super::{
    BacktrackingMachine, Engine, Pattern, PatternError, PatternSyntax, Pretokenizer, Split,
    SplitBehavior, classes, parts_of_matches,
};
use crate::base::rng::SplitMix64;
use crate::base::steps::steps_of;

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

const RUST: [&str; 13] = [
    known::GPT2,
    known::R50K,
    known::R50K_BEFORE,
    known::CL100K,
    known::CL100K_PORTABLE,
    known::LLAMA3,
    known::RUSTBPE,
    known::NANOCHAT,
    known::QWEN2,
    known::O200K,
    known::TEKKEN,
    known::KIMI,
    known::DEEPSEEK[2],
];

/// Names of pretokenizers of which no automaton reads the expression, or of several.
const OTHER_NAMES: [&str; 3] = ["deepseek-v3", "llama3-place-digits", "o200k-place-digits"];

type Parts = Vec<(usize, usize, bool)>;

fn scanned(scanner: Scanner, text: &[u8]) -> Parts {
    let mut parts = Vec::new();
    scanner.for_each(text, &mut |start, end, is_match| {
        parts.push((start, end, is_match))
    });
    parts
}

fn searched(machine: &Machine, text: &[u8]) -> Parts {
    let mut parts = Vec::new();
    machine.for_each(text, &mut |start, end, is_match| {
        parts.push((start, end, is_match))
    });
    parts
}

fn pretokens(pretokenizer: &Pretokenizer, text: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    pretokenizer.for_each(text, &mut |range| found.push(range));
    found
}

/// The pretokenizer that runs the automaton of an expression, also if it has a scanner.
fn without_scanner(pretokenizer: &Pretokenizer) -> Pretokenizer {
    let splits = pretokenizer.splits.iter().map(|split| {
        let mut split = split.clone();
        let machine = Machine::new(split.pattern.expression(), split.pattern.syntax()).unwrap();
        split.pattern.engine = Engine::Machine(machine.into());
        split
    });
    Pretokenizer {
        splits: splits.collect(),
        plan: Plan::Splits,
    }
}

/// Names of patterns, each with its scanner and with the automata of its expressions, which take
/// milliseconds to make.
static SCANNERS_AND_AUTOMATA: LazyLock<Vec<(&str, Pretokenizer, Pretokenizer)>> =
    LazyLock::new(|| {
        let names = ["gpt2", "cl100k", "o200k", "kimi", "deepseek-v3"];
        let named = names.map(|name| {
            let scanner = Pretokenizer::named(name).unwrap();
            let automata = without_scanner(&scanner);
            (name, scanner, automata)
        });
        named.into()
    });

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
    let apart = without_scanner(&fused);
    for_each_text(|text| {
        assert_eq!(
            pretokens(&fused, text.as_bytes()),
            pretokens(&apart, text.as_bytes()),
            "{text:?}"
        );
    });
}

/// Texts with runs of up to 40 numbers.
fn for_each_text_of_numbers(mut check: impl FnMut(&str)) {
    for_each_text(&mut check);
    for first in ["", "a", " ", "-", "_", "\n", "'"] {
        for digits in ["1", "٣", "1٣", "²Ⅷ", "𝟙"] {
            for last in ["", "a", ".", " ", "\n1", "_1", "\u{301}", "中"] {
                for length in 1..=40 {
                    let run: String = digits.chars().cycle().take(length).collect();
                    check(&[first, &run, last].concat());
                }
            }
        }
    }
}

#[test]
fn numbers_from_the_right_are_those_of_the_run_of_numbers() {
    for (name, base) in [
        ("llama3-place-digits", "llama3"),
        ("o200k-place-digits", "o200k"),
    ] {
        let scanner = Pretokenizer::named(name).unwrap();
        assert_eq!(scanner.name(), Some(name));
        let base = Pretokenizer::named(base).unwrap();
        // A `Split` at the same expression is applied by backtracking.
        let expression = scanner.splits[0].pattern.expression();
        let forms = known::place_digits_forms(expression);
        let machines = forms.map(|form| {
            assert_eq!(
                Pretokenizer::parse(&form, PatternSyntax::Rust)
                    .unwrap()
                    .name(),
                Some(name)
            );
            BacktrackingMachine::new(&form).ok().unwrap()
        });
        for_each_text_of_numbers(|text| {
            let found = pretokens(&scanner, text.as_bytes());
            for machine in &machines {
                let mut matches = Vec::new();
                machine
                    .for_each(text, &mut |start, end, _| matches.push(start..end))
                    .unwrap();
                assert_eq!(found, matches, "{name} {text:?}");
            }
            // By hand: numbers of the base are joined, and cut from the right.
            let mut runs: Vec<Range<usize>> = Vec::new();
            let is_number = |range: &Range<usize>| {
                text[range.clone()].chars().all(|c| {
                    let mut buffer = [0; 4];
                    let c = classes::character(c.encode_utf8(&mut buffer).as_bytes(), 0).unwrap();
                    c.class & classes::NUMBER != 0
                })
            };
            for range in pretokens(&base, text.as_bytes()) {
                match runs.last_mut() {
                    Some(last) if is_number(last) && is_number(&range) => last.end = range.end,
                    _ => runs.push(range),
                }
            }
            let mut expected = Vec::new();
            for range in runs {
                if !is_number(&range) {
                    expected.push(range);
                    continue;
                }
                let mut ends: Vec<usize> = text[range.clone()]
                    .char_indices()
                    .map(|(at, _)| range.start + at)
                    .chain([range.end])
                    .rev()
                    .step_by(3)
                    .collect();
                if ends.last() != Some(&range.start) {
                    ends.push(range.start);
                }
                ends.reverse();
                expected.extend(ends.windows(2).map(|ends| ends[0]..ends[1]));
            }
            assert_eq!(found, expected, "{name} {text:?}");
        });
    }
}

#[test]
fn a_run_of_a_million_numbers_is_grouped_in_linear_time() {
    for name in ["llama3-place-digits", "o200k-place-digits"] {
        let pretokenizer = Pretokenizer::named(name).unwrap();
        for digit in ["1", "٣"] {
            let text = digit.repeat(1_000_000);
            let found = pretokens(&pretokenizer, text.as_bytes());
            assert_eq!(found.len(), 333_334);
            assert_eq!(found[0].len(), digit.len());
        }
    }
}

#[test]
fn pretokens_may_be_cut_out() {
    for name in [
        "gpt2",
        "cl100k",
        "o200k",
        "llama3",
        "qwen2",
        "kimi",
        "tekken",
        "nanochat",
        "deepseek-v3",
        "llama3-place-digits",
        "o200k-place-digits",
    ] {
        let pretokenizer = Pretokenizer::named(name).unwrap();
        for_each_text(|text| {
            for range in pretokens(&pretokenizer, text.as_bytes()) {
                let pretoken = &text.as_bytes()[range];
                assert!(pretokenizer.may_cut_out(pretoken), "{name}: {text:?}");
            }
        });
        assert!(!pretokenizer.may_cut_out(b"<|a|>"), "{name}");
    }
    let general = Pretokenizer::of(Pattern::new(r"a|\b.").unwrap());
    assert!(general.may_cut_out(b"<|a|>"));
}

#[test]
fn texts_split_at_boundaries_have_the_pretokens_of_the_whole() {
    let all = RUST
        .map(|expression| Pretokenizer::of(Pattern::new(expression).unwrap()))
        .into_iter()
        .chain(OTHER_NAMES.map(|name| Pretokenizer::named(name).unwrap()));
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
        assert!(count > 10_000 || !matches!(pretokenizer.plan, Plan::Scanner(_)));
    }
}

proptest! {
    #[test]
    fn a_malformed_byte_is_a_character_without_class(
        bytes in prop::collection::vec(
            prop::sample::select(&b"a A'.\n1\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80\xED\xA0\xC0\xF5\xFF"[..]),
            0..24,
        ),
    ) {
        for (name, pretokenizer, automata) in &*SCANNERS_AND_AUTOMATA {
            let found = pretokens(pretokenizer, &bytes);
            prop_assert_eq!(&found, &pretokens(automata, &bytes), "{}", name);
            let boundaries = pretokenizer.find_boundaries(&bytes, 1);
            for at in boundaries {
                let mut parts = pretokens(pretokenizer, &bytes[..at]);
                parts.extend(
                    pretokens(pretokenizer, &bytes[at..])
                        .into_iter()
                        .map(|range| range.start + at..range.end + at),
                );
                prop_assert_eq!(&found, &parts, "{}", name);
            }
        }
    }
}

#[test]
fn classes_are_those_of_unicode_16() {
    use super::classes::*;
    // The counts of tiktoken 0.14.0 and tokenizers 0.23.3.
    let counts = [
        (UPPER, 1_858 + 31),
        (LOWER, 2_258),
        (UNCASED, 404 + 136_477),
        (MARK, 2_501),
        (NUMBER, 1_911),
        (SPACE, 25),
        (SYMBOL, 855 + 8_514),
        (HAN, 99_030),
    ];
    let class = |c: char| {
        let mut buffer = [0; 4];
        let bytes = c.encode_utf8(&mut buffer).as_bytes();
        let found = character(bytes, 0).unwrap();
        assert_eq!((found.len, found.code), (bytes.len(), c.into()));
        found.class
    };
    for (bit, count) in counts {
        assert_eq!(
            ('\0'..=char::MAX).filter(|c| class(*c) & bit != 0).count(),
            count,
            "{bit}"
        );
    }
}

#[test]
fn expressions_without_scanner_find_what_their_engine_finds() {
    use PatternSyntax::{Oniguruma, Rust};
    let cases: &[(&str, PatternSyntax, &str, &[&str])] = &[
        ("(?i)k|\\s+(?!\\S)|l", Rust, "Kx  L", &["K", " ", "L"]),
        (
            "a| +(?!\\S)|[ \t]+(?!\\S)",
            Oniguruma,
            " a  a \n \t a\t\ta  ",
            &["a", " ", "a", " ", " ", "\t", "a", "\t", "a", "  "],
        ),
        (
            "\\p{L}++|\\p{N}{1,3}+",
            Rust,
            "ab12345",
            &["ab", "123", "45"],
        ),
        (
            "\\p{L}++|\\p{N}{1,3}+",
            Oniguruma,
            "ab12345",
            &["ab", "12345"],
        ),
        ("a$", Rust, "a\na", &["a"]),
        ("a$", Oniguruma, "a\na", &["a", "a"]),
        ("a*", Rust, "baac", &["aa"]),
        ("\\w", Rust, "\u{200C}\u{B2}a", &["\u{200C}", "a"]),
        ("\\w", Oniguruma, "\u{200C}\u{B2}a", &["\u{B2}", "a"]),
        ("[\\w]", Oniguruma, "\u{200C}\u{B2}a", &["a"]),
        ("(?:\\s+(?:a|b)++)+", Rust, " a b ", &[" a b"]),
    ];
    for (expression, syntax, text, expected) in cases {
        let pattern = match Pattern::with_syntax(expression, *syntax) {
            Ok(pattern) => pattern,
            Err(error) => panic!("{expression}: {error}"),
        };
        assert_eq!(
            Pretokenizer::of(pattern).pretokens(text),
            *expected,
            "{expression} {syntax:?}"
        );
    }
}

#[test]
fn a_text_stands_for_a_name_or_an_expression() {
    let parse = |text| Pretokenizer::parse(text, PatternSyntax::Rust);
    let Err(error) = parse("gtp2") else {
        panic!("gtp2 is a name")
    };
    let message = error.to_string();
    let (_, names) = message.split_once("names are ").unwrap();
    let (names, _) = names.split_once(';').unwrap();
    for name in names
        .split([',', ' '])
        .filter(|it| !matches!(*it, "" | "and"))
    {
        let named = parse(name).unwrap();
        assert_eq!(Some(&named), Pretokenizer::named(name).as_ref());
        // Names of one pattern have the name of one tokenizer.
        assert!(named.name().is_some(), "{name}");
    }
    for expression in ["(?:gtp2)", "[a-z]+", "a b", ""] {
        let pattern = Pattern::new(expression).unwrap();
        assert_eq!(parse(expression).unwrap(), Pretokenizer::of(pattern));
    }
}
#[test]
fn a_pattern_with_gaps_cuts_for_tiktoken_as_an_isolated_split_does() {
    let text = "It's 12345  \n (no): a b!! c\n";
    let expected = [
        "It's ", "123", "45", "  ", "\n (no", "):", " a b", "!!", " c\n",
    ];
    let superbpe = Pretokenizer::named("superbpe").unwrap();
    assert_eq!(superbpe.pretokens(text), expected);
    for expression in [known::SUPERBPE, "[ab]", "(?i)A|\\s+(?!\\S)"] {
        let split = Pattern::new(expression).unwrap();
        let with_gaps = split.with_gaps().unwrap();
        assert!(with_gaps.is_total(), "{expression}");
        assert_eq!(with_gaps.without_gaps().as_ref(), Some(&split));
        let isolated = Pretokenizer::new(vec![Split::new(split, SplitBehavior::Isolated)]);
        let matched = Pretokenizer::of(with_gaps);
        for text in [text, "", "ab", "xx", "a  "] {
            assert_eq!(
                matched.pretokens(text),
                isolated.pretokens(text),
                "{expression}"
            );
        }
        let name = (expression == known::SUPERBPE).then_some("superbpe");
        assert_eq!([matched.name(), isolated.name()], [name; 2]);
    }
    // Matches that may be empty, and comments, are not read like that.
    assert!(Pattern::new("a*").unwrap().with_gaps().is_none());
    assert!(Pattern::new("(?x)a #b").unwrap().with_gaps().is_none());
    assert!(Pattern::new("(?:a)|(?:(?!b)(?s:.))+").is_err());
}

#[test]
fn behaviors_join_and_remove_as_in_tokenizers() {
    let cases = [
        (
            SplitBehavior::Isolated,
            false,
            &["a", "-", "-", "b", "-"][..],
        ),
        (SplitBehavior::Removed, false, &["a", "b"]),
        (SplitBehavior::Removed, true, &["-", "-", "-"]),
        (SplitBehavior::MergedWithPrevious, false, &["a-", "-", "b-"]),
        (SplitBehavior::MergedWithNext, false, &["a", "-", "-b", "-"]),
        (SplitBehavior::Contiguous, false, &["a", "--", "b", "-"]),
        (SplitBehavior::Contiguous, true, &["a", "--", "b", "-"]),
    ];
    for (behavior, invert, expected) in cases {
        let mut split = Split::at_text("-", behavior).unwrap();
        split.invert = invert;
        assert_eq!(
            Pretokenizer::new(vec![split]).pretokens("a--b-"),
            expected,
            "{behavior:?} {invert}"
        );
    }
}

#[test]
fn what_an_automaton_cannot_do_is_refused_with_its_name_and_position() {
    use PatternSyntax::{Oniguruma, Rust};
    let cases = [
        (r"a(?=b)", Rust, 1, "look-around"),
        (r"a|\p{L}+(?!\S)", Rust, 8, "look-around"),
        (r"(\s+(?!\S))", Rust, 4, "look-around"),
        (r"(?<!a)b", Rust, 0, "look-around"),
        (r"(a)\1", Rust, 3, "back reference"),
        (r"(?>a)", Rust, 0, "atomic group"),
        (r"(a)(?(1)b)", Rust, 3, "conditional"),
        (r"a\Kb", Rust, 1, "keep"),
        (r"\p{L}++\p{Lu}", Rust, 5, "possessive quantifier"),
        (r"(?:ab)++c", Rust, 6, "possessive quantifier"),
        (r"x++(?:a?)+x", Rust, 1, "possessive quantifier"),
        (r"(?:a?x++){2}b?", Rust, 6, "possessive quantifier"),
        (r"(?U)x++y", Rust, 5, "possessive quantifier"),
        (r"(?U)a|\s+(?!\S)", Rust, 9, "look-around"),
        (r"(?-u)a|\s+(?!\S)", Rust, 10, "look-around"),
        (r"\s++$", Oniguruma, 2, "possessive quantifier"),
        (r"a+++", Rust, 2, "quantifier of a quantifier"),
        (r"(?m:a)", Oniguruma, 2, "flags other than i"),
        (r"a(?i)b", Oniguruma, 1, "flags for the rest of a group"),
        (r"\ba", Oniguruma, 0, "word boundary"),
        (r"[[:alpha:]]", Oniguruma, 1, "class in brackets and colons"),
        (r"\p{Punct}", Oniguruma, 0, "property"),
        (r"[a--b]", Oniguruma, 1, "difference of classes"),
        (
            r"(?i:ss)",
            Oniguruma,
            5,
            "letters without case that can be another number of characters",
        ),
        (r"a{2}?", Oniguruma, 1, "lazy quantifier of a fixed number"),
    ];
    for (expression, syntax, position, name) in cases {
        match Pattern::with_syntax(expression, syntax) {
            Err(PatternError::Unsupported {
                at,
                construct,
                text,
            }) => {
                assert_eq!((at, construct), (position, name), "{expression}");
                assert!(expression[at..].starts_with(&text), "{expression} {text}");
            }
            other => panic!("{expression}: {other:?}"),
        }
    }
}

#[test]
fn malformed_and_exploding_expressions_are_refused() {
    let refused = |expression: &str| Pattern::new(expression).unwrap_err();
    assert!(matches!(refused("a(b"), PatternError::Syntax { at: 1, .. }));
    assert!(matches!(
        refused(r"a|\p{Nonsense}"),
        PatternError::Syntax { at: 2, .. }
    ));
    assert!(matches!(
        refused(r"(?:\w{1000}){1000}"),
        PatternError::CountsTooFar { .. }
    ));
    assert!(matches!(
        refused(r"(?:[ab]{0,80}c){0,80}d"),
        PatternError::CountsTooFar { .. }
    ));
    assert!(matches!(
        refused(r"\w{4000}|[^\w\d]{4000}|\pL{96}"),
        PatternError::TooLarge { .. } | PatternError::CountsTooFar { .. }
    ));
    assert!(matches!(
        refused(&"a".repeat(1 << 20)),
        PatternError::TooLong { .. }
    ));
    assert!(matches!(
        refused(&"(".repeat(10_000)),
        PatternError::Syntax { .. }
    ));
}

#[test]
fn numbers_of_the_component_digits_are_those_of_unicode_17() {
    let text = "a12\u{B2}\u{11DE0}\u{16FF6}b";
    for (individual, expected) in [
        (
            true,
            &["a", "1", "2", "\u{B2}", "\u{11DE0}", "\u{16FF6}", "b"][..],
        ),
        (false, &["a", "12\u{B2}\u{11DE0}\u{16FF6}", "b"]),
    ] {
        let split = Split::at_numbers(individual).unwrap();
        assert_eq!(Pretokenizer::new(vec![split]).pretokens(text), expected);
    }
}

#[test]
fn any_number_of_splits_fits_a_small_stack() {
    let split = Split::at_text("b", SplitBehavior::Isolated).unwrap();
    let pretokenizer = Pretokenizer::new(vec![split; 100_000]);
    let thread = std::thread::Builder::new().stack_size(64 << 10);
    let cut = thread.spawn(move || pretokenizer.pretokens("abba").len());
    assert_eq!(cut.unwrap().join().unwrap(), 4);
}

#[test]
fn several_splits_pass_their_parts_in_the_order_of_the_text() {
    let split = |text: &str, behavior| Split::at_text(text, behavior).unwrap();
    let pretokenizer = Pretokenizer::new(vec![
        split("b", SplitBehavior::Isolated),
        split("c", SplitBehavior::Removed),
        split("d", SplitBehavior::MergedWithNext),
    ]);
    let text = "abcdabdcc dd b";
    assert_eq!(
        pretokenizer.pretokens(text),
        ["a", "b", "da", "b", "d", " ", "d", "d ", "b"]
    );
}

/// The matches of an expression, each found on its own.
fn parts_by_searches(expression: &str, text: &str) -> Vec<(usize, usize, bool)> {
    let regex = regex_automata::meta::Regex::new(expression).unwrap();
    let mut parts = Vec::new();
    let find = |from: usize| {
        let found = regex.search(&regex_automata::Input::new(text).range(from..));
        Ok(found.map(|found| found.range()))
    };
    let Ok(()): Result<(), std::convert::Infallible> =
        parts_of_matches(text.as_bytes(), false, find, &mut |start, end, is_match| {
            parts.push((start, end, is_match));
        });
    parts
}

#[test]
fn a_walk_finds_the_matches_that_searches_find() {
    let mut rng = SplitMix64::new(3);
    let mut pick = |from: &[&'static str]| {
        let number = rng.below(from.len() as u64);
        from[usize::try_from(number).unwrap()]
    };
    let atoms = [
        "a", "b", "[ab]", "[^a]", "é", r"\s", ".", "(?:ab|a)", "(?:b|ba)", "$", "^", r"(?m:$)",
    ];
    let quantifiers = ["", "", "", "*", "+", "?", "*?", "+?", "{2,3}"];
    let mut lookups = 0;
    for _ in 0..1000 {
        let mut expression = String::new();
        for _ in 0..4 {
            let atom = pick(&atoms);
            expression += atom;
            if !atom.contains(['^', '$']) || atom == "[^a]" {
                expression += pick(&quantifiers);
            }
            expression += pick(&["", "", "|"]);
        }
        let Ok(pattern) = Pattern::new(&expression) else {
            continue;
        };
        let text: String = (0..40)
            .map(|_| pick(&["a", "b", "a", "b", "é", " ", "\n", "c"]))
            .collect();
        // Long enough that states are kept.
        let long = text.repeat(40);
        for text in [&text[..], &long] {
            let mut parts = Vec::new();
            pattern.for_each(text.as_bytes(), &mut |start, end, is_match| {
                parts.push((start, end, is_match))
            });
            assert_eq!(
                parts,
                parts_by_searches(&expression, text),
                "{expression}: {text:?}"
            );
            lookups += 1;
        }
    }
    assert!(lookups > 1000, "{lookups}");
}

#[test]
fn expressions_that_look_far_ahead_and_fail_take_linear_time() {
    let text = "ab".repeat(1 << 19);
    for expression in [
        "a[ab]*c|b",
        "a[ab]{0,1000}c|b",
        "(?:a[ab]*)?c|b",
        "a[ab]*?c",
    ] {
        let pattern = Pattern::new(expression).unwrap();
        let mut count = 0;
        pattern.for_each(text.as_bytes(), &mut |_, _, is_match| {
            count += usize::from(is_match)
        });
        let expected = if expression.ends_with('b') {
            1 << 19
        } else {
            0
        };
        assert_eq!(count, expected, "{expression}");
    }
}

/// The matches of an expression with look-around.
fn matches_of<'t>(pattern: &Pattern, text: &'t str) -> Result<Vec<&'t str>, PatternError> {
    let mut matches = Vec::new();
    pattern.try_for_each(text, &mut |start, end, is_match| {
        if is_match {
            matches.push(&text[start..end]);
        }
    })?;
    Ok(matches)
}

#[test]
fn look_around_takes_a_number_of_steps_that_grows_with_the_text() {
    // What an atomic group matches depends on more than its place.
    let pattern = Pattern::with_look_around("a(?=(?>[ab]*)c)|b").unwrap();
    let count = |text: &str| matches_of(&pattern, text).map(|matches| matches.len());
    assert_eq!(count(&"ab".repeat(2000)), Ok(2000));
    let error = count(&"ab".repeat(1 << 16)).unwrap_err();
    assert!(
        matches!(error, PatternError::TooManySteps { .. }),
        "{error}"
    );
}

#[test]
fn look_ahead_to_the_end_of_a_run_takes_linear_time() {
    let digits = 300_001_usize;
    let groups = digits.div_ceil(3);
    let table = [
        (r"\d{1,3}(?=(?:\d{3})*\b)", groups),
        (r"\d{1,3}(?=(\d{3})*(?!\d))", groups),
        (r"\p{N}{1,3}(?=(?:\p{N}{3})*(?:\P{N}|$))", groups),
        (r"(?<=\d)(?=(?:\d{3})+(?!\d))", groups - 1),
        (r"\B(?=(\d{3})+(?!\d))", groups - 1),
        (r"\A\p{Nd}{1,2}(?=\p{Nd}{3}+\z)", 1),
        (r"\A\p{Nd}{3}|\G\p{Nd}{3}", digits / 3),
        (r"\d(?=\d*[a-z])|\d\d", digits / 2),
        (r"\d(?!(?:\d\d)+\b)", digits / 2 + 1),
        (r"\d(?=\d*?(?:\d{2})+!)|\d{3}", digits / 3),
    ];
    let text = "1".repeat(digits);
    for (expression, expected) in table {
        let pattern = Pattern::with_look_around(expression).unwrap();
        assert!(pattern.has_look_around(), "{expression}");
        let taken = steps_of(|| {
            let matches = matches_of(&pattern, &text).expect(expression);
            assert_eq!(matches.len(), expected, "{expression}");
        });
        assert!(taken < 100 * digits, "{expression}: {taken}");
    }
}

#[test]
fn look_around_and_the_like_match_as_in_oniguruma() {
    let table: [(&str, &str, &[&str]); 18] = [
        (r"\A(?!(?:\<x\>)\z)(?=[\s\S])", "<x>y", &[""]),
        (r"(?<=\ )[\é\<]", " é < <", &["é", "<", "<"]),
        (
            r"\d{1,3}(?=(?:\d{3})*\b)",
            "1234567 89",
            &["1", "234", "567", "89"],
        ),
        (
            r"\Ga|\Gb|c",
            "ababcaabbxab",
            &["a", "b", "a", "b", "c", "a", "a", "b", "b"],
        ),
        (
            r"\p{N}{1,2}(?=(?>\p{N}{2})*(?:\P{N}|$))|\G\p{N}{2}",
            "12345\n12",
            &["1", "23", "45", "12"],
        ),
        (r"(?<=a)b", "abb", &["b"]),
        (r"(?<!a|bc)c", "acbcc", &["c"]),
        (r"(?<!a)c", "acc", &["c"]),
        (r"(?>a+|b)a", "aaba", &["ba"]),
        (r"a++b|a", "aab", &["aab"]),
        (r"(a|b)\1", "abba", &["bb"]),
        (r"\bé", "é aé", &["é"]),
        (r"(?!a)\w", "ab", &["b"]),
        (r"(?=(a+))\1b", "aab", &["aab"]),
        (r"a{2}?b(?=c)", "aabc", &["aab"]),
        (r"\w+(?# letters)\Z", "ab cd\n", &["cd"]),
        (r"(?i)A(?=b)", "aB", &["a"]),
        (r"(?:a|(?<=a)b)+$", "ab\nb", &["ab"]),
    ];
    for (expression, text, expected) in table {
        let pattern = Pattern::with_look_around(expression).unwrap();
        assert_eq!(
            matches_of(&pattern, text).unwrap(),
            expected,
            "{expression}"
        );
    }
    // Oniguruma has rules of its own for these.
    for expression in [
        r"(?=a)(a)\10",
        r"(?=(a\1))a",
        r"(?=a)(?:b??){2}",
        r"(?m:a)(?=b)",
        r"\Ga|b?",
    ] {
        assert!(
            Pattern::with_look_around(expression).is_err(),
            "{expression}"
        );
    }
}
