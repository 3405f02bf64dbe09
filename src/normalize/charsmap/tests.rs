//! Reading refuses what the reference refuses; matching equals a slow search over the rules;
//! compiling refuses and writes what the reference does.

use proptest::prelude::*;

use super::compile::CompileError;
use super::*;
use crate::normalize::rules::{Rules, parse_tsv};

fn rules(pairs: &[(&str, &str)]) -> Rules {
    let points = |text: &str| text.chars().map(u32::from).collect();
    pairs
        .iter()
        .map(|(source, target)| (points(source), points(target)))
        .collect()
}

fn charsmap(pairs: &[(&str, &str)]) -> Charsmap {
    Charsmap::from_bytes(&compile(&rules(pairs)).unwrap()).unwrap()
}

#[test]
fn damaged_charsmaps_are_refused() {
    let good = compile(&rules(&[("a", "b")])).unwrap();
    assert!(Charsmap::from_bytes(&good).is_ok());
    let edit = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    let table: &[(&str, Vec<u8>, CharsmapError)] = &[
        ("nothing", vec![], CharsmapError::TooShort(0)),
        ("size only", good[..4].to_vec(), CharsmapError::TooShort(4)),
        (
            "no pool",
            good[..4 + 1024].to_vec(),
            CharsmapError::TrieTooLong {
                claimed: 1024,
                available: 1024,
            },
        ),
        (
            "huge size",
            edit(3, 0xFF),
            CharsmapError::TrieTooLong {
                claimed: 0xFF00_0400,
                available: 1026,
            },
        ),
        ("no trie", edit(1, 0), CharsmapError::TrieSize(0)),
        ("odd size", edit(0, 1), CharsmapError::TrieSize(1025)),
        (
            "pool without end",
            edit(good.len() - 1, b'x'),
            CharsmapError::Unterminated,
        ),
        (
            "root without base",
            [&good[..4], &[0; 1024], b"b\0"].concat(),
            CharsmapError::BadTrie,
        ),
    ];
    for (name, bytes, error) in table {
        assert_eq!(
            Charsmap::from_bytes(bytes).err().as_ref(),
            Some(error),
            "{name}"
        );
    }
}

#[test]
fn unusable_rules_are_refused() {
    let chain: Vec<_> = (1..=32).map(|n| "a".repeat(n)).collect();
    let chain: Vec<_> = chain.iter().map(|source| (source.as_str(), "x")).collect();
    assert_eq!(
        compile(&rules(&chain)),
        Err(CompileError::TooManyPrefixes(32))
    );
    assert!(compile(&rules(&chain[..31])).is_ok());
    let long = "a".repeat(1001);
    assert_eq!(
        compile(&rules(&[(&long, "x")])),
        Err(CompileError::SourceTooLong(1001))
    );
    assert!(compile(&rules(&[(&long[1..], "x")])).is_ok());
    let no_source = [(vec![], vec![0x41])].into_iter().collect();
    assert_eq!(compile(&no_source), Err(CompileError::EmptySource));
    let identity = CompileError::Identity {
        source_text: "U+0041 U+0300".into(),
    };
    let table: &[(&str, &[u8], CompileError)] = &[
        ("no rules", b"", CompileError::NoRules),
        ("identity", b"41 300\t41 300\n", identity),
        (
            "surrogate in the source",
            b"41 D800\t42\n",
            CompileError::Surrogate(0xD800),
        ),
        (
            "surrogate in the target",
            b"41\tDFFF\n",
            CompileError::Surrogate(0xDFFF),
        ),
        ("NUL first", b"0 41\t42\n", CompileError::NulSource),
    ];
    for (name, tsv, error) in table {
        let rules = parse_tsv(tsv).unwrap();
        assert_eq!(compile(&rules).as_ref(), Err(error), "{name}");
    }
}

#[test]
fn special_cases_of_the_format_equal_the_reference() {
    type Match = Option<(usize, &'static str)>;
    let table: &[(&str, &[u8], &str, Match)] = &[
        ("NUL cuts a source", b"41 0 42\t43\n", "AB", Some((1, "C"))),
        ("NUL cuts a target", b"41\t42 0 43\n", "A", Some((1, "B"))),
        (
            "a cut source yields",
            b"41 0 42\t43\n41\t44\n",
            "A",
            Some((1, "D")),
        ),
        (
            "beyond Unicode is U+FFFD",
            b"110000\t41\n",
            "\u{FFFD}",
            Some((3, "A")),
        ),
        (
            "the lowest position wins",
            b"110000\t42\nFFFFFFFF\t41\n",
            "\u{FFFD}",
            Some((3, "A")),
        ),
        (
            "a target is U+FFFD",
            b"41\tFFFFFF\n",
            "A",
            Some((1, "\u{FFFD}")),
        ),
        ("a deletion", b"41\n", "A", Some((1, ""))),
        (
            "identity only in the end",
            b"110000\tFFFD\n",
            "\u{FFFD}",
            Some((3, "\u{FFFD}")),
        ),
        ("no rule", b"41\n", "B", None),
    ];
    for (name, tsv, text, expected) in table {
        let blob = compile(&parse_tsv(tsv).unwrap()).unwrap();
        let map = Charsmap::from_bytes(&blob).unwrap();
        let expected = expected.map(|(length, target)| (length, target.as_bytes()));
        assert_eq!(map.longest_match(text.as_bytes()), expected, "{name}");
    }
}

#[test]
fn keys_and_replacements_are_searched_for_bytes() {
    let map = charsmap(&[("a b", "xy"), ("c", "▁z"), ("é", "")]);
    assert!(map.any_key_contains(b' '));
    assert!(!map.any_key_contains(b'x'));
    assert!(map.replacements_contain("▁".as_bytes()));
    assert!(map.replacements_contain(b"y"));
    assert!(!map.replacements_contain(b"a"));
    let nmt = Charsmap::from_bytes(builtin_charsmap("nmt_nfkc").unwrap().unwrap()).unwrap();
    assert!(!nmt.any_key_contains(b' '));
    assert!(!nmt.replacements_contain("▁".as_bytes()));
    assert!(nmt.replacements_contain(b" "));
}

#[test]
fn plain_runs_end_where_a_rule_may_match() {
    let map = charsmap(&[("é", "e"), ("x", "y"), ("pq", "r"), ("mü", "n")]);
    let table: &[(&[u8], usize)] = &[
        (b"", 0),
        (b"abc", 3),
        (b"abc d", 3),
        (b"abx", 2),
        (b"abpz", 2),
        (b"abmz", 4),
        (b"abm", 3),
        ("abmü".as_bytes(), 2),
        ("漢字é".as_bytes(), 6),
        (b"ab\xFFc", 2),
        (b"ab\xE6\xBC", 2),
        (b"a\0b", 3),
    ];
    for (text, length) in table {
        assert_eq!(map.leads().plain_length(text), *length, "{text:?}");
    }
}

fn small_text() -> impl Strategy<Value = String> {
    let letter = prop::sample::select(vec!['a', 'b', ' ', 'é', 'ê', '\u{301}', '漢']);
    prop::collection::vec(letter, 0..6).prop_map(String::from_iter)
}

proptest! {
    #[test]
    fn matches_equal_a_slow_search(
        pairs in prop::collection::btree_map(small_text(), small_text(), 1..20),
        text in small_text(),
    ) {
        let pairs: Vec<(&str, &str)> = pairs
            .iter()
            .map(|(source, target)| (source.as_str(), target.as_str()))
            .filter(|(source, target)| !source.is_empty() && source != target)
            .collect();
        prop_assume!(!pairs.is_empty());
        let map = charsmap(&pairs);
        let slow = pairs
            .iter()
            .filter(|(source, _)| text.starts_with(source))
            .max_by_key(|(source, _)| source.len())
            .map(|(source, target)| (source.len(), target.as_bytes()));
        prop_assert_eq!(map.longest_match(text.as_bytes()), slow);
        let plain = map.leads().plain_length(text.as_bytes());
        let rest = &text[..plain];
        prop_assert!(!rest.contains(' '));
        for (at, _) in rest.char_indices() {
            prop_assert_eq!(map.longest_match(&text.as_bytes()[at..]), None);
        }
    }

    #[test]
    fn damaged_charsmaps_never_panic(
        edits in prop::collection::vec((4_usize..1030, any::<u8>()), 1..4),
        text in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut bytes = compile(&rules(&[("a", "b"), ("ab", ""), ("é", "e")])).unwrap();
        for (at, byte) in edits {
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
        }
        if let Ok(map) = Charsmap::from_bytes(&bytes) {
            map.longest_match(&text);
            map.leads().plain_length(&text);
        }
    }
}
