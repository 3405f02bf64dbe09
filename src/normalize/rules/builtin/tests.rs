//! The compiled sets are the reference's, to the byte.

use sha2::{Digest, Sha256};

use super::*;
use crate::normalize::charsmap::builtin_charsmap;

/// Name, number of rules, size and SHA-256 of the blob in
/// `src/normalization_rule.h` of the sdist of sentencepiece 0.2.3.
const REFERENCE: [(&str, usize, usize, &str); 4] = [
    (
        "nfkc",
        225_232,
        240_008,
        "7e46d9e08af4b6a37991b04fb8388644c1595a0abcd0f26d6a5d575e2a3663ea",
    ),
    (
        "nmt_nfkc",
        225_276,
        240_007,
        "1e2c7b43d3ee9755ceaa2ac335e253d8703604e0249ee1e81156c92b46423844",
    ),
    (
        "nfkc_cf",
        226_640,
        247_165,
        "d8dfef3d6db0eef0742f8b55a73aee7fce6c1e21d26a09b8d3d4b52c42a791cb",
    ),
    (
        "nmt_nfkc_cf",
        226_684,
        247_164,
        "2c03512e62f9ed965ec90d85314211b63b5b8aa0395311ea2147eec9ff738907",
    ),
];

#[test]
fn charsmaps_equal_the_reference() {
    for (name, count, size, sha256) in REFERENCE {
        assert_eq!(builtin_rules(name).unwrap().len(), count, "{name}");
        let blob = builtin_charsmap(name).unwrap().unwrap();
        assert_eq!(blob.len(), size, "{name}");
        let digest: String = Sha256::digest(blob)
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        assert_eq!(digest, sha256, "{name}");
    }
}

#[test]
fn builtin_charsmaps_are_found_by_name() {
    assert_eq!(builtin_charsmap("identity"), Some(Ok(&[][..])));
    assert_eq!(builtin_charsmap("nfd"), None);
    assert_eq!(builtin_rules(""), None);
    for name in BUILTIN_NAMES {
        assert!(builtin_charsmap(name).is_some(), "{name}");
    }
}

#[test]
fn nothing_changes_beyond_the_last_changing_code_point() {
    use unicode_normalization::char::decompose_compatible;

    for c in (LAST_CHANGING..=char::MAX).skip(1) {
        decompose_compatible(c, |part| assert_eq!(part, c));
        assert_eq!(simple_fold(c), u32::from(c));
    }
}

#[test]
fn characters_fold_as_in_the_reference() {
    let table = [
        ('A', 'a'),
        ('a', 'a'),
        ('ß', 'ß'),
        ('\u{1E9E}', 'ß'),
        ('İ', 'İ'),
        ('ς', 'σ'),
        ('\u{AB70}', '\u{13A0}'),
        ('\u{A7D2}', '\u{A7D3}'),
        ('\u{16EA0}', '\u{16EBB}'),
        ('\u{16EB8}', '\u{16ED3}'),
    ];
    for (c, folded) in table {
        assert_eq!(simple_fold(c), u32::from(folded), "{c:?}");
    }
}
