//! The normalizer equals the reference's: a table made by the Python wheel of
//! sentencepiece 0.2.3 (a model trained for each line's options, then
//! `normalize(bytes, with_offsets=True)`); and its fast path equals single steps.

use proptest::prelude::*;

use super::charsmap::{Charsmap, builtin_charsmap};
use super::*;

/// Name, rules, options, input, normalized text, offsets. Options: `d`ummy prefix,
/// `r`emove extra spaces, `e`scape spaces, `s`uffix, `u`ser-defined [`SYMBOLS`].
type Case = (
    &'static str,
    &'static str,
    &'static str,
    &'static [u8],
    &'static str,
    &'static [usize],
);

const SYMBOLS: [&str; 3] = ["<sep>", "a b", " x"];

#[rustfmt::skip]
const CASES: &[Case] = &[
    ("empty text", "nmt_nfkc", "dre", b"", "", &[]),
    ("only spaces, removed", "nmt_nfkc", "dre", "  \u{3000} ".as_bytes(), "", &[]),
    ("only spaces, kept", "nmt_nfkc", "de", "  \u{3000}".as_bytes(), "▁▁▁▁", &[0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 5]),
    ("only deletions", "nmt_nfkc", "dre", "\u{1}\u{2}".as_bytes(), "", &[0]),
    ("only deletions, spaces kept", "nmt_nfkc", "de", "\u{1}\u{2}".as_bytes(), "▁", &[0, 0, 0, 2]),
    ("plain", "nmt_nfkc", "dre", b"hello world", "▁hello▁world", &[0, 0, 0, 0, 1, 2, 3, 4, 5, 5, 5, 6, 7, 8, 9, 10, 11]),
    ("plain, no prefix", "nmt_nfkc", "re", b"hello world", "hello▁world", &[0, 1, 2, 3, 4, 5, 5, 5, 6, 7, 8, 9, 10, 11]),
    ("plain, identity", "identity", "dre", b"hello world", "▁hello▁world", &[0, 0, 0, 0, 1, 2, 3, 4, 5, 5, 5, 6, 7, 8, 9, 10, 11]),
    ("spaces everywhere", "nmt_nfkc", "dre", b"  a   b  ", "▁a▁b", &[2, 2, 2, 2, 3, 3, 3, 6, 7]),
    ("spaces everywhere, kept", "nmt_nfkc", "de", b"  a   b  ", "▁▁▁a▁▁▁b▁▁", &[0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 7, 7, 7, 8, 8, 8, 9]),
    ("spaces everywhere, kept, no prefix", "nmt_nfkc", "e", b"  a   b  ", "▁▁a▁▁▁b▁▁", &[0, 0, 0, 1, 1, 1, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 7, 7, 7, 8, 8, 8, 9]),
    ("spaces everywhere, identity", "identity", "dre", b"  a   b  ", "▁a▁b", &[2, 2, 2, 2, 3, 3, 3, 6, 7]),
    ("ideographic space", "nmt_nfkc", "dre", "日本\u{3000}\u{3000}語\u{3000}".as_bytes(), "▁日本▁語", &[0, 0, 0, 0, 0, 0, 3, 3, 3, 6, 6, 6, 12, 12, 12, 15]),
    ("ideographic space, identity", "identity", "dre", "日本\u{3000}語".as_bytes(), "▁日本\u{3000}語", &[0, 0, 0, 0, 0, 0, 3, 3, 3, 6, 6, 6, 9, 9, 9, 12]),
    ("controls as spaces", "nmt_nfkc", "dre", "a\u{9}\u{A}b\u{200B}c\u{FEFF}".as_bytes(), "▁a▁b▁c", &[0, 0, 0, 0, 1, 1, 1, 3, 4, 4, 4, 7, 8]),
    ("controls under nfkc", "nfkc", "dre", "a\u{9}\u{200B}b".as_bytes(), "▁a\u{9}\u{200B}b", &[0, 0, 0, 0, 1, 2, 2, 2, 5, 6]),
    ("deletion between spaces", "nmt_nfkc", "dre", "a \u{1} b".as_bytes(), "▁a▁b", &[0, 0, 0, 0, 1, 1, 1, 4, 5]),
    ("deletion at the start", "nmt_nfkc", "dre", "\u{1} a".as_bytes(), "▁a", &[0, 0, 0, 2, 3]),
    ("deletion at the end", "nmt_nfkc", "dre", "a \u{1}".as_bytes(), "▁a", &[0, 0, 0, 0, 1]),
    ("a mark in the text", "nmt_nfkc", "dre", "▁a▁▁b▁".as_bytes(), "▁a▁b", &[3, 3, 3, 3, 4, 4, 4, 10, 11]),
    ("a mark in the text, identity", "identity", "dre", "▁a▁ ▁b▁".as_bytes(), "▁▁a▁▁▁b", &[0, 0, 0, 0, 0, 0, 3, 4, 4, 4, 7, 7, 7, 8, 8, 8, 11, 12]),
    ("a mark in the text, kept", "identity", "de", "a▁ ".as_bytes(), "▁a▁▁", &[0, 0, 0, 0, 1, 1, 1, 4, 4, 4, 5]),
    ("longer result", "nfkc", "dre", "㍿㎏".as_bytes(), "▁株式会社kg", &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 3, 6]),
    ("result with spaces", "nfkc", "dre", "a ´b".as_bytes(), "▁a▁\u{301}b", &[0, 0, 0, 0, 1, 1, 1, 2, 2, 4, 5]),
    ("result with spaces, kept", "nfkc", "de", "a ´ b".as_bytes(), "▁a▁▁\u{301}▁b", &[0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 4, 4, 4, 5, 6]),
    ("composition", "nfkc", "dre", "e\u{301} か\u{3099} ᄀ\u{1161}\u{11A8}".as_bytes(), "▁é▁が▁각", &[0, 0, 0, 0, 0, 3, 3, 3, 4, 4, 4, 10, 10, 10, 11, 11, 11, 20]),
    ("half width", "nmt_nfkc", "dre", "ｶﾞＡ～".as_bytes(), "▁ガA～", &[0, 0, 0, 0, 0, 0, 6, 9, 9, 9, 12]),
    ("half width under nfkc", "nfkc", "dre", "ｶﾞ～".as_bytes(), "▁ガ~", &[0, 0, 0, 0, 0, 0, 6, 9]),
    ("case folding", "nfkc_cf", "dre", "ÀßẞİΣς".as_bytes(), "▁àßßİσσ", &[0, 0, 0, 0, 0, 2, 2, 4, 4, 7, 7, 9, 9, 11, 11, 13]),
    ("nmt and case folding", "nmt_nfkc_cf", "dre", "Ａ\u{9}É".as_bytes(), "▁a▁é", &[0, 0, 0, 0, 3, 3, 3, 4, 4, 6]),
    ("broken UTF-8", "nmt_nfkc", "dre", b"a\xFF\xE3\x81 \xF0\x9F\x98b\xC3", "▁a\u{FFFD}\u{FFFD}\u{FFFD}▁\u{FFFD}\u{FFFD}\u{FFFD}b\u{FFFD}", &[0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6, 7, 7, 7, 8, 9, 9, 9, 10]),
    ("broken UTF-8, identity", "identity", "dre", b"\xED\xA0\x80x\xC0\x80", "▁\u{FFFD}\u{FFFD}\u{FFFD}x\u{FFFD}\u{FFFD}", &[0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 4, 4, 4, 5, 5, 5, 6]),
    ("a real U+FFFD", "nmt_nfkc", "dre", "a\u{FFFD}b".as_bytes(), "▁a▁b", &[0, 0, 0, 0, 1, 1, 1, 4, 5]),
    ("NUL", "nmt_nfkc", "dre", "a\u{0}b".as_bytes(), "▁a\u{0}b", &[0, 0, 0, 0, 1, 2, 3]),
    ("as suffix", "nmt_nfkc", "dres", b" hello  world ", "hello▁world▁", &[1, 2, 3, 4, 5, 6, 6, 6, 8, 9, 10, 11, 12, 13, 13, 13, 13]),
    ("as suffix, kept", "nmt_nfkc", "des", b" a ", "▁a▁▁", &[0, 0, 0, 1, 2, 2, 2, 3, 3, 3, 3]),
    ("as suffix, only deletions", "nmt_nfkc", "dres", "\u{1}".as_bytes(), "▁", &[1, 1, 1, 1]),
    ("not escaped", "nmt_nfkc", "dr", " a  b\u{3000}".as_bytes(), " a b", &[1, 1, 2, 4, 5]),
    ("not escaped, kept", "nmt_nfkc", "d", b" a  b ", "  a  b ", &[0, 0, 1, 2, 3, 4, 5, 6]),
    ("not escaped, a mark in the text", "identity", "dr", "a▁ ".as_bytes(), " a▁", &[0, 0, 1, 1, 1, 4]),
    ("symbols", "nmt_nfkc", "dreu", "<sep>Ａ<sep>".as_bytes(), "▁<sep>A<sep>", &[0, 0, 0, 0, 0, 0, 0, 0, 5, 8, 8, 8, 8, 8, 13]),
    ("symbol with a space", "nmt_nfkc", "dreu", "ａ b a b  x".as_bytes(), "▁a▁b▁a▁b▁x", &[0, 0, 0, 0, 3, 3, 3, 4, 5, 5, 5, 6, 6, 6, 6, 6, 9, 9, 9, 10, 12]),
    ("symbol with a space, kept", "nmt_nfkc", "deu", b"  x a b", "▁▁▁x▁a▁b", &[0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 3, 3, 3, 4, 4, 4, 4, 4, 7]),
    ("symbol starts with a removed space", "nmt_nfkc", "dreu", b" x", "▁x", &[0, 0, 0, 0, 2]),
];

fn trie(symbols: &[&str]) -> Arc<PrefixTrie> {
    let keys = symbols.iter().map(|symbol| symbol.as_bytes());
    Arc::new(PrefixTrie::new(keys).unwrap())
}

fn normalizer(rules: &str, options: &str) -> Normalizer {
    let blob = builtin_charsmap(rules).unwrap().unwrap();
    let charsmap = (!blob.is_empty()).then(|| Charsmap::from_bytes(blob).unwrap());
    let options = NormalizerOptions {
        add_dummy_prefix: options.contains('d'),
        remove_extra_whitespaces: options.contains('r'),
        escape_whitespaces: options.contains('e'),
        treat_whitespace_as_suffix: options.contains('s'),
    };
    Normalizer::new(options, charsmap.map(Arc::new))
}

#[test]
fn normalization_equals_the_reference() {
    for &(name, rules, options, input, text, offsets) in CASES {
        let symbols: &[_] = if options.contains('u') { &SYMBOLS } else { &[] };
        let normalizer = normalizer(rules, options).with_symbols(trie(symbols));
        let (mut out, mut traced, mut places) = (vec![b'?'], vec![b'?'], vec![7]);
        normalizer.normalize(input, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), text, "{name}");
        normalizer.normalize_with_offsets(input, &mut traced, &mut places);
        assert_eq!(String::from_utf8(traced).unwrap(), text, "{name}");
        assert_eq!(places, offsets, "{name}");
    }
}

#[test]
fn steps_consume_and_write_what_the_table_says() {
    let normalizer = normalizer("nmt_nfkc", "dre").with_symbols(trie(&SYMBOLS));
    let table: &[(&[u8], &str, usize)] = &[
        (b"", "", 0),
        (b"ab", "a", 1),
        (b"a bc", "a b", 3),
        (b"\x01x", "", 1),
        (b"\t\t", " ", 1),
        ("ｶﾞx".as_bytes(), "ガ", 6),
        ("漢字".as_bytes(), "漢", 3),
        (b"\xE3\x81", "\u{FFFD}", 1),
    ];
    for &(input, replacement, consumed) in table {
        let expected = (replacement.as_bytes(), consumed);
        assert_eq!(normalizer.next(input), expected, "{input:?}");
    }
}

#[test]
fn default_options_equal_those_of_the_reference() {
    assert_eq!(
        normalizer("identity", "dre").options(),
        NormalizerOptions::default()
    );
}

fn messy_bytes() -> impl Strategy<Value = Vec<u8>> {
    let snippets = vec![
        " ", "  ", "a", "e", "\u{301}", "é", "漢", "ｶ", "ﾞ", "\u{3000}", "▁", "\u{1}", "\t", "Σ",
        "각",
    ];
    let snippet = prop_oneof![
        4 => prop::sample::select(snippets).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 1..3),
        1 => any::<char>().prop_map(|c| c.to_string().into_bytes()),
    ];
    prop::collection::vec(snippet, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn bulk_copies_equal_single_steps(input in messy_bytes(), which in 0_usize..5, set in 0_usize..16) {
        let rules = super::rules::BUILTIN_NAMES[which];
        let options: String = "dres".chars().enumerate()
            .filter(|(bit, _)| set >> bit & 1 == 1)
            .map(|(_, letter)| letter)
            .collect();
        let fast = normalizer(rules, &options);
        let slow = normalizer(rules, &options).with_symbols(Arc::new(PrefixTrie::without_shortcuts()));
        let (mut out, mut places) = (Vec::new(), Vec::new());
        let (mut slow_out, mut slow_places) = (Vec::new(), Vec::new());
        fast.normalize_with_offsets(&input, &mut out, &mut places);
        slow.normalize_with_offsets(&input, &mut slow_out, &mut slow_places);
        prop_assert_eq!(&out, &slow_out);
        prop_assert_eq!(&places, &slow_places);
        prop_assert!(std::str::from_utf8(&out).is_ok());
        prop_assert!(places.is_empty() || places.len() == out.len() + 1);
        prop_assert!(places.is_sorted() && places.iter().all(|&place| place <= input.len()));
        let mut plain_out = Vec::new();
        fast.normalize(&input, &mut plain_out);
        prop_assert_eq!(plain_out, out);
    }
}

#[test]
fn many_symbols_in_a_row_take_linear_time() {
    let symbols = trie(&["<x>"]);
    let text = b"<x>".repeat(300_000);
    for rules in ["identity", "nmt_nfkc"] {
        let mut out = Vec::new();
        normalizer(rules, "de")
            .with_symbols(symbols.clone())
            .normalize(&text, &mut out);
        assert_eq!(out.len(), text.len() + WHITESPACE_MARK_STR.len());
    }
}

#[test]
fn raw_spaces_that_extend_a_run_of_whitespace_are_found() {
    let table: &[(&str, &str, bool)] = &[
        ("d", "a b  c", false),
        ("d", "  a", false),
        ("d", "a\t b", true),
        ("d", "a \tb", false),
        ("d", "a \t", false),
        ("d", "a \u{1} b", true),
        ("d", "a\u{1} b", false),
        ("d", "a\u{3000}b c", false),
        ("d", "a\u{3000}\u{1} c", true),
        ("d", "\u{1} a", true),
        ("", "\u{1} a", false),
        ("", "\t a", true),
        ("", "  \u{1}a", false),
    ];
    for (options, text, expected) in table {
        let normalizer = normalizer("nmt_nfkc", options);
        let found = normalizer.extends_run_by_raw_space(text.as_bytes());
        assert_eq!(found, *expected, "{text:?} with options {options:?}");
    }
    assert!(!normalizer("identity", "d").extends_run_by_raw_space(b"a\t b"));
}

#[test]
fn rest_of_a_character_after_a_symbol_is_malformed() {
    let symbol: &[u8] = b"\xE0\xB8";
    let symbols = PrefixTrie::new([symbol]).unwrap();
    for rules in ["identity", "nmt_nfkc"] {
        let normalizer = normalizer(rules, "de").with_symbols(Arc::new(symbols.clone()));
        let mut out = Vec::new();
        // U+0E16, an ordinary character, then the same again.
        normalizer.normalize(b"\xE0\xB8\x96a\xE0\xB8\x96", &mut out);
        let expected = b"\xE2\x96\x81\xE0\xB8\xEF\xBF\xBDa\xE0\xB8\xEF\xBF\xBD";
        assert_eq!(out, expected, "{rules}");
    }
}
